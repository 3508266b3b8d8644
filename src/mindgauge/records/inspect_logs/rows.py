"""What a log says, as rows of tables: replies (the last, with the dialogue before it), whole dialogues, and ratings.

Metadata of a sample that is one value is a tag; a reply that never came has a `status` that says why. A score that was
changed has a history: its first state is the scorer's, and each that follows is a rating by the author of the change, of
whom the last counts. Of a score of several criteria an author rates those that the change altered.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records import content as message_content
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.files.mapping import TAG
from mindgauge.records.inspect_logs.log import UNCHANGED, not_a_number
from mindgauge.records.records import REASONING, RaterKind, Status
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mindgauge.records.inspect_logs.log import InspectLog, LoggedSample, LoggedScore, LoggedTask

_ATTACHED = "attachment://"
_OWN = ("category", "language", "risk", "graphic", "cluster", "persona", "participant")
"""Metadata that has a column of its own name; all else is a tag."""
_SPOKEN = ("system", "user", "assistant")
_NO_MODEL = ("", "none/none", "none")
STATUS = "status"
"""In a model's output, in its metadata: the status of the reply, where Mindgauge wrote the log."""
_Row = dict[str, Any]


def replies(log: InspectLog) -> RecordTable:
    """Return a log as a table of replies: of each sample the last message of the assistant."""
    return _table(log, _replies)


def dialogues(log: InspectLog, left_out: list[str]) -> RecordTable:
    """Return a log as a table of dialogues: of each sample all messages.

    Args:
        log: that holds them.
        left_out: where to write which samples are left out, and why: one that ended with an error is no dialogue.
    """
    return _table(log, partial(_dialogues, left_out=left_out))


def _table(log: InspectLog, rows: Callable[[InspectLog], Iterator[tuple[int, _Row]]]) -> RecordTable:
    """Return a table which is read through once to learn its columns, and once for its rows."""
    table = RecordTable(log.path, lambda: rows(log))
    table.remarks = log.remarks
    return table


def _replies(log: InspectLog) -> Iterator[tuple[int, _Row]]:
    for number, sample, _ in log.entries():
        spoken = list(_spoken(sample))
        last = next((place for place in reversed(range(len(spoken))) if spoken[place]["role"] == "assistant"), None)
        answer = _answer(sample) if last is None else spoken[last]["content"]
        before = spoken if last is None else spoken[:last]
        status = _status(sample, answer)
        reasoning = _reasoning(sample)
        row: _Row = {
            **_known(log, sample), "messages": before, "reply": answer if status is Status.OK else "",
            **({REASONING: reasoning} if reasoning else {}),
        }  # fmt: skip
        yield number, row if status is Status.OK else {**row, "status": status.value}


def _dialogues(log: InspectLog, left_out: list[str]) -> Iterator[tuple[int, _Row]]:
    for number, sample, place in log.entries():
        if sample.failure:
            line = f"{place}: {sample.failure}"
            left_out.extend([line] if line not in left_out else [])
            continue
        messages = [_resolved(message, sample.attachments) for message in sample.messages or _asked(sample)]
        yield number, {**_known(log, sample), "messages": messages}


def _known(log: InspectLog, sample: LoggedSample) -> _Row:
    """Return what a row says beside its texts."""
    model = log.header.eval.model
    model = sample.output.model if model in _NO_MODEL else model
    target = sample.target[0] if isinstance(sample.target, list) and len(sample.target) == 1 else sample.target
    facts = {key: _cell(value) for key, value in (sample.metadata or {}).items()}
    return {
        "id": str(sample.id), "model": model or log.stem, "run": sample.epoch - 1,
        **({"target": target} if isinstance(target, str | int | float) and target != "" else {}),
        **{key if key in _OWN else f"{TAG}{key}": cell for key, cell in facts.items() if cell},
    }  # fmt: skip


def _cell(value: object) -> str:
    """Return metadata as a tag has it; nothing for what is no single value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else ""


def _status(sample: LoggedSample, answer: str) -> Status:
    """Say what became of a reply: an error comes before all else, a limit only where it left no reply."""
    if sample.failure or sample.output.error:
        return Status.FAILED
    if any(choice.stop_reason == "content_filter" for choice in sample.output.choices[:1]):
        return Status.FILTERED
    stated = (sample.output.metadata or {}).get(STATUS)
    if stated in {Status.FAILED, Status.FILTERED, Status.REFUSED, Status.UNPARSABLE}:
        return Status(stated)
    if not answer.strip():
        return Status.FAILED if sample.limited else Status.UNPARSABLE
    return Status.OK


def _answer(sample: LoggedSample) -> str:
    """Return what the model put out, where no message of the conversation holds it."""
    return next((_text(_resolved(choice.message, sample.attachments)) for choice in sample.output.choices), "")


def _reasoning(sample: LoggedSample) -> str:
    """Return the reasoning in the last message of the assistant."""
    messages = (m for m in reversed(sample.messages or ()) if m.get("role") == "assistant")
    message = next(messages, next((choice.message for choice in sample.output.choices), {}))
    parts = message_content.read(_resolved(message, sample.attachments).get("content"))
    return bounds.clean("\n\n".join(parts.reasoning)) if parts is not None else ""


def _asked(sample: LoggedSample) -> list[dict[str, Any]]:
    return [{"role": "user", "content": sample.input}] if isinstance(sample.input, str) else sample.input


def _spoken(sample: LoggedSample) -> Iterator[dict[str, str]]:
    """Yield what was said: a model's calls of tools, and what tools answer, are no part of the dialogue."""
    for message in sample.messages or _asked(sample):
        role = message.get("role")
        if role not in _SPOKEN:
            continue
        text = _text(_resolved(message, sample.attachments))
        if text or not message.get("tool_calls"):
            yield {"role": str(role), "content": text}


def _text(message: Mapping[str, Any]) -> str:
    """Return the text of a message; of its parts, those that are said: reasoning, pictures and calls of tools are none."""
    parts = message_content.read(message.get("content"))
    return bounds.clean(parts.text()) if parts is not None else ""


def _resolved(message: Mapping[str, Any], attachments: Mapping[str, str]) -> dict[str, Any]:
    """Return a message with the texts that Inspect keeps apart."""
    content = message.get("content")
    if not attachments or content is None:
        return dict(message)
    if isinstance(content, list):
        content = [
            {**part, **{key: _attached(part[key], attachments) for key in ("text", REASONING) if key in part}}
            if isinstance(part, dict)
            else part
            for part in content
        ]
    return {**message, "content": _attached(content, attachments)}


def _attached(text: Any, attachments: Mapping[str, str]) -> Any:
    if not isinstance(text, str) or not text.startswith(_ATTACHED):
        return text
    return attachments.get(text.removeprefix(_ATTACHED), text)


# Scores as ratings.

SEEN = "changes of scores that people saw in Inspect"
"""How what people changed came to them."""
_UNNAMED = "nobody named"
_UNREAD = {"grader_failed": Status.UNPARSABLE, "scoring_failed": Status.FAILED, "refusal": Status.UNPARSABLE}
"""Why a score was not given (`ScoreReason`) → the status of the rating."""
_KINDS = {kind.value for kind in RaterKind}
_STATUSES = {status.value for status in Status}


class ScoreRow(NamedTuple):
    """A rating as a row of a long table."""

    subject: str
    criterion: str
    rater: str
    value: str | None
    rater_kind: str | None
    status: str | None
    system: str
    cluster: str | None
    language: str | None
    category: str | None
    selection: str | None
    run: str | None
    row: int


class LoggedRatings(NamedTuple):
    """The ratings of a log, and what was left out of it, a line each."""

    rows: list[ScoreRow]
    left_out: list[str]


def ratings(log: InspectLog) -> LoggedRatings:
    """Read the ratings of a log.

    Raises:
        DataError: it cannot be read, or nobody scored its samples.
    """
    rows: list[ScoreRow] = []
    broken = invalid = samples = 0
    for number, sample, _ in log.entries():
        samples += 1
        if sample.invalidation is not None:
            invalid += 1
            continue
        own = list(_of_sample(log.header.eval, number, sample))
        broken += bool(sample.failure and not own)
        rows += own
    if not rows:
        failed = ", each of which ended with an error" if broken == samples else ""
        raise DataError(f"{log}: nobody scored the {plural(samples, 'sample')} of this log{failed}")
    left_out = list(log.remarks)
    if broken:
        left_out.append(f"{log.name}: {plural(broken, 'sample')} that ended with an error and that nobody scored")
    if invalid:
        left_out.append(f"{log.name}: the scores of {plural(invalid, 'sample')} that somebody called invalid")
    return LoggedRatings(rows, left_out)


def _of_sample(task: LoggedTask, number: int, sample: LoggedSample) -> Iterator[ScoreRow]:
    facts = {key: str(value) for key, value in (sample.metadata or {}).items() if isinstance(value, str | int | float)}
    subject = f"{sample.id}" if sample.epoch == 1 else f"{sample.id} epoch {sample.epoch}"
    cluster = facts.get("cluster") or facts.get("persona") or str(sample.id)
    for name, score in (sample.scores or {}).items():
        scorer = _scorer(name, score, task.grader)
        for rating in (*_said(scorer, score), *_changed(scorer, score)):
            turn = scorer.turn
            system = f"client of {task.model}" if turn.startswith("client") else task.model
            yield ScoreRow(
                f"{subject} {turn}" if turn else subject, rating.criterion, rating.rater, _written(rating.value), rating.kind,
                rating.status, system, cluster, facts.get("language"), facts.get("category"), rating.selection, scorer.run,
                number,
            )  # fmt: skip


class _Scorer(NamedTuple):
    """Who gave a score, and of what."""

    rater: str
    criterion: str
    """What a score with a single value is of."""
    kind: str
    run: str | None = None
    turn: str = ""
    others: Mapping[str, str] = {}
    """Criterion → who rated it, where that is somebody else: a rule."""


def _scorer(name: str, score: LoggedScore, grader: str) -> _Scorer:
    facts = score.metadata or {}
    if facts.get("rater_kind") not in _KINDS:
        by_model = bool(grader) or name.startswith("model_graded")
        kind = RaterKind.MODEL if by_model else RaterKind.RULE
        return _Scorer(f"{name} ({grader})" if grader else name, name, kind.value)
    turn, run, others = facts.get("turn"), facts.get("run"), facts.get("rater_of")
    rater = str(facts.get("rater") or name)
    return _Scorer(
        rater, rater, str(facts["rater_kind"]), str(run) if isinstance(run, int) else None,
        _words(str(facts.get("unit", "")), turn) if isinstance(turn, int) else "",
        others={str(key): str(value) for key, value in others.items()} if isinstance(others, dict) else {},
    )  # fmt: skip


def _words(unit: str, turn: int) -> str:
    return f"client {turn}" if unit.startswith("client") else f"turn {turn}"


class _Rated(NamedTuple):
    """A value that somebody gave."""

    criterion: str
    rater: str
    kind: str
    value: Any
    status: str | None = None
    selection: str | None = None


def _said(scorer: _Scorer, score: LoggedScore) -> Iterator[_Rated]:
    """Yield what a scorer said itself."""
    own_values = [value for author, value in _states(score) if not author][:1]
    facts = score.metadata or {}
    for criterion, part in (item for value in own_values for item in _by_criterion(value, scorer.criterion).items()):
        rater = scorer.others.get(criterion, "")
        kind = RaterKind.RULE.value if rater else scorer.kind
        yield _Rated(criterion, rater or scorer.rater, kind, part, _score_status(facts, criterion, part, score.reason))


def _changed(scorer: _Scorer, score: LoggedScore) -> Iterable[_Rated]:
    """Return what people made of a score: the last that each of them said of each criterion."""
    last: dict[tuple[str, str], _Rated] = {}
    before: dict[str, Any] = {}
    selection = None
    for author, value in _states(score):
        state = _by_criterion(value, scorer.criterion)
        for criterion, part in state.items() if author else ():
            if len(state) == 1 or criterion not in before or not _same(before[criterion], part):
                last[author, criterion] = _Rated(
                    criterion, author, RaterKind.PERSON.value, part, _score_status({}, criterion, part, None), selection
                )  # fmt: skip
        before, selection = state, SEEN
    return last.values()


def _states(score: LoggedScore) -> list[tuple[str, Any]]:
    """Return the values that a score had, each with who gave it: empty for the scorer."""
    if not score.history:
        return [("", score.value)]
    states: list[tuple[str, Any]] = []
    for number, change in enumerate(score.history):
        if isinstance(change.value, str) and change.value == UNCHANGED:
            continue  # its explanation was changed, or what is known of it
        original = number == 0 and change.provenance is None
        author = "" if original else str((change.provenance or {}).get("author") or _UNNAMED)
        states.append((author, change.value))
    return states


def _by_criterion(value: Any, name: str) -> dict[str, Any]:
    """Return the values of a score by criterion; the name of one that has a single value is the scorer's."""
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, list):
        return {f"{name}.{number}": part for number, part in enumerate(value, 1)}
    return {name: value}


def _same(first: object, second: object) -> bool:
    return first == second or (not_a_number(first) and not_a_number(second))


def _score_status(facts: Mapping[str, Any], criterion: str, value: object, reason: str | None) -> str | None:
    """Say why there is no value: as the log does where Mindgauge scored, else as far as the scorer's reason tells."""
    statuses = facts.get("status")
    stated = statuses.get(criterion) if isinstance(statuses, dict) else None
    if stated in _STATUSES:
        return str(stated)
    if value is None or not_a_number(value):
        return _UNREAD.get(reason or str(facts.get("unscored_reason", "")), Status.UNPARSABLE).value
    return None


def _written(value: object) -> str | None:
    if value is None or not_a_number(value) or isinstance(value, dict | list):
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
