"""The released answers as replies, and what it takes to join a score to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.help_or_harm import released
from mindgauge.benchmarks.help_or_harm.inputs import inputs, new_sample
from mindgauge.benchmarks.help_or_harm.released import plural
from mindgauge.records import Rating, Reply, Status

if TYPE_CHECKING:
    from mindgauge.benchmarks.help_or_harm.released import HelpOrHarmRelease, ReleasedFile
    from mindgauge.records import RaterKind, Sample

CRITERION = "appropriateness"

Origin = tuple[str, str, str]
"""Model (as in file names), set and time stamp: what names an answer file."""


class AnswerRow(NamedTuple):
    """One row of an answer file: its input, its answer as text, and the reply it became."""

    text: str
    answer: str
    reply: Reply


def origin(file: ReleasedFile) -> Origin:
    """Return which answer file a file is, or is about."""
    return file.model, file.dataset, file.time


def sampled_from(row: dict[str, Any]) -> Origin | None:
    """Return which answer file a row of a set of lowest scores was drawn from, if it says so."""
    named = named_source(row)
    return (named["model"], named["dataset"], named["time"]) if named else None


def named_source(row: dict[str, Any]) -> dict[str, str]:
    """Return the parts of the name of the judge's file that a row of a set of lowest scores was taken from, if any."""
    for column in ("sampled_from", "source_file"):
        parts = released.parse_name(str(row.get(column) or ""))
        if parts is not None and "time" in parts[1]:
            return parts[1]
    return {}


def reply_status(row: dict[str, Any]) -> Status:
    """Return what became of an answer: a refusal and an error were stored in the answer's place."""
    answer = row.get("answer")
    if row.get("refusal"):
        return Status.REFUSED
    if isinstance(answer, str) and answer.strip():
        return Status.OK
    if answer is None or isinstance(answer, str) or (isinstance(answer, dict) and "error" in answer):
        return Status.FAILED
    return Status.UNPARSABLE


def answer_text(row: dict[str, Any]) -> str:
    """Return an answer as text; what is not text as canonical JSON."""
    return released.as_text(row.get("answer"))


def at(answers: list[AnswerRow], number: int, text: str) -> tuple[AnswerRow | None, bool]:
    """Return the answer at this position if its input is the same, or else the only one to this input.

    The second value tells whether it stood at the position.
    """
    if number < len(answers) and answers[number].text == text:
        return answers[number], True
    others = [answer for answer in answers if answer.text == text]
    return (others[0], False) if len(others) == 1 else (None, False)


def rate(
    reply: Reply, row: dict[str, Any], provenance: dict[str, Any], *, rater: str, kind: RaterKind, run: int
) -> Rating:
    """Build the rating that a row holds. The authors score no item without a label; a refusal has no score."""
    raw = row.get("evaluation")
    value = released.score(raw)
    if raw is None and "label" in row and row["label"] is None:
        status = Status.NOT_APPLICABLE
    elif reply.status is not Status.OK:
        status = reply.status  # a score of an error message says nothing about the model
    else:
        status = Status.OK if value is not None else Status.UNPARSABLE
    if status is not Status.OK or type(raw) is not int:
        provenance["raw"] = raw
    explanation = released.as_text(row.get("explanation"))
    if released.is_json(row.get("explanation")):
        provenance["explanation_is_json"] = True
    value = value if status is Status.OK else None
    return Rating(reply.id, CRITERION, rater, kind, run, status, value, explanation, provenance=provenance)


class Loader:
    """What has been read so far: replies by id, the rows of each answer file, ratings and notes."""

    def __init__(self, files: HelpOrHarmRelease) -> None:
        self.files = files
        released_inputs = inputs(files)
        self.samples: dict[str, Sample] = dict(released_inputs.samples)
        self.sets = released_inputs.sets
        self.notes = released_inputs.notes
        self.replies: dict[str, Reply] = {}
        self.rows: dict[Origin, list[AnswerRow]] = {}
        self.ratings: list[Rating] = []
        # The first judge's set of lowest scores comes first; the other judges' repeat its rows, a jury's unnamed.
        self.lowest = [(file, file.rows()) for file in files.of("lowest")]
        self.lowest.sort(key=lambda pair: (pair[0].rater != "", not any(sampled_from(row) for row in pair[1])))
        kinds = ("answers", "judgements", "merged_judgements")
        origins = {origin(file) for kind in kinds for file in files.of(kind)}
        origins |= {source for _, rows in self.lowest for row in rows if (source := sampled_from(row))}
        self.runs = {o: sorted(p for p in origins if p[:2] == o[:2]).index(o) for o in origins}

    def note(self, file: ReleasedFile, *findings: tuple[list[int], str]) -> None:
        """Note what some rows of a file have, for those findings that have rows."""
        self.notes += [f"{file.source}: {plural(rows)} {finding}" for rows, finding in findings if rows]

    def add(self, source: Origin, row: dict[str, Any], file: ReleasedFile, number: int, **extra: str) -> AnswerRow:
        """Make a row a reply; a second one with the same input, model, run and text is the same reply."""
        text = released.text(row["inputs"])
        sample = self.samples.setdefault(text, new_sample(row))
        provenance = {
            "source_file": file.source,
            "source_row": number,
            "model_raw": source[0],
            "source_dataset_id": row.get("dataset_id"),
            "tokens": row.get("tokens"),
            "is_json": released.is_json(row.get("answer")),
            **extra,
        }
        model, run, status = released.model(source[0]), self.runs.setdefault(source, 0), reply_status(row)
        candidate = Reply.of(sample.id, model, run, status, answer_text(row), provenance=provenance)
        reply = self.replies.setdefault(candidate.id, candidate)
        if reply is not candidate:
            self.notes.append(f"{file.source}: row {number} repeats another row's text and answer; both are one reply")
        return AnswerRow(text, candidate.text, reply)

    def answers(self, source: Origin) -> None:
        """Read an answer file, or where it is missing a judge's copy of it."""
        model, dataset, time = source
        answer_files = self.files.of("answers", model=model, dataset=dataset, time=time)
        file = (answer_files or self.files.of("judgements", model=model, dataset=dataset, time=time))[0]
        if not answer_files:
            name = f"llm_answer/{model}-answers-{dataset}-{time}.json"
            self.notes.append(
                f"{name}: missing; replies are taken from a judge's copies, so overwritten ones go unnoticed ({file.source})"
            )
        rows, texts = file.rows(), self.sets[dataset].texts
        astray = [i for i, row in enumerate(rows) if released.text(row["inputs"]) not in texts[i : i + 1]]
        self.note(file, (astray, "another place in the set, or none; joined by their text"))
        if len(rows) < len(texts):
            self.notes.append(f"{file.source}: {len(rows)} rows where the set has {len(texts)}")
        self.rows[source] = [self.add(source, row, file, number) for number, row in enumerate(rows)]
        for status in (Status.REFUSED, Status.FAILED, Status.UNPARSABLE):
            places = [i for i, answer in enumerate(self.rows[source]) if answer.reply.status == status]
            self.note(file, (places, f"no answer; kept as {status}"))
