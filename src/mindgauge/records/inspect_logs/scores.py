"""Scores of a log as ratings, one a row: what scorers said first, and what people made of it.

A score that was changed has a history: its first state is the scorer's, and each that follows is a rating by the author of
the change, of whom the last counts. Of a score of several criteria an author rates those that the change altered.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.errors import DataError
from mindgauge.records.inspect_logs.log import SOLE_SCORE, UNCHANGED, not_a_number
from mindgauge.records.records import RaterKind, Status
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mindgauge.records.inspect_logs.log import InspectLog, LogEntry, LoggedScore

SEEN = "changes of scores that people saw in Inspect"
"""How what people changed came to them."""
_UNNAMED = "nobody named"
_OF_TURN = re.compile(r"(.+)@(client )?(\d+)")
"""A criterion, and the turn, or the client's message, that it is of."""
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
    for entry in log.entries():
        samples += 1
        if entry.sample.invalidation is not None:
            invalid += 1
            continue
        own = list(_of_sample(log, entry))
        broken += bool(entry.sample.failure and not own)
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


def _of_sample(log: InspectLog, entry: LogEntry) -> Iterator[ScoreRow]:
    sample, task = entry.sample, log.header.eval
    facts = {key: str(value) for key, value in (sample.metadata or {}).items() if isinstance(value, str | int | float)}
    scores = dict(sample.scores or {})
    if sample.score is not None:
        scores[SOLE_SCORE] = sample.score
    subject = f"{sample.id}" if sample.epoch == 1 else f"{sample.id} epoch {sample.epoch}"
    cluster = facts.get("cluster") or facts.get("persona") or str(sample.id)
    for name, score in scores.items():
        scorer = _scorer(log.header.scorer if name == SOLE_SCORE else name, score, task.grader)
        for rating in (*_said(scorer, score), *_changed(scorer, score)):
            criterion, turn = scorer.split(rating.criterion)
            system = f"client of {task.model}" if turn.startswith("client") else task.model
            yield ScoreRow(
                f"{subject} {turn}" if turn else subject, criterion, rating.rater, _written(rating.value), rating.kind,
                rating.status, system, cluster, facts.get("language"), facts.get("category"), rating.selection, scorer.run,
                entry.number,
            )  # fmt: skip


class _Scorer(NamedTuple):
    """Who gave a score, and of what."""

    rater: str
    criterion: str
    """What a score with a single value is of."""
    kind: str
    run: str | None = None
    turn: str = ""
    complete: bool = False
    """Whether Mindgauge wrote it, so that its metadata says all that a rating does."""

    others: Mapping[str, str] = {}
    """Criterion → who rated it, where that is somebody else: a rule."""

    def split(self, criterion: str) -> tuple[str, str]:
        """Return the criterion and what of a dialogue it is of, in words; nothing where it is of the whole."""
        match = _OF_TURN.fullmatch(criterion) if self.complete else None
        return (match[1], _words(match[2] or "", int(match[3]))) if match is not None else (criterion, self.turn)


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
        _words(str(facts.get("unit", "")), turn) if isinstance(turn, int) else "", complete=True,
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
        yield _Rated(criterion, rater or scorer.rater, kind, part, _status(facts, criterion, part, score.reason))


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
                    criterion, author, RaterKind.PERSON.value, part, _status({}, criterion, part, None), selection
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


def _status(facts: Mapping[str, Any], criterion: str, value: object, reason: str | None) -> str | None:
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
