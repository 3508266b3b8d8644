"""Questions with options: examinations, and EmoBench's emotions and causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from mindgauge.benchmarks.trustmh.released import files as lists
from mindgauge.benchmarks.variants.options import MultipleChoice
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

USMLE, CRISIS_QA = "USMLE-mental.jsonl", "Crisis_Response_QA.jsonl"
UNDERSTANDING = "EU.jsonl"
PSY_EVAL = "they come with PsyEval (MIT)"
EMOBENCH = "they come with EmoBench (MIT)"
_TOLD = {USMLE: ("meta_info1", "meta_info2")}
"""What a file says of its questions beside them: the step of the examination, the condition."""


class ChoiceItem(NamedTuple):
    """A question, the row it stands in, what else the file says of it, and the language."""

    question: MultipleChoice
    row: str
    about: dict[str, str]
    language: str = "en"


class _ExaminationRow(msgspec.Struct, frozen=True):
    question: str
    options: dict[str, str]
    answer: str
    meta_info1: str | None = None
    meta_info2: list[str] | str | None = None

    @property
    def about(self) -> dict[str, str]:
        """The step of the examination and the condition, as far as they are there."""
        conditions = self.meta_info2 or []
        condition = conditions if isinstance(conditions, str) else ", ".join(conditions)
        tags = {"step": (self.meta_info1 or "").removeprefix("step"), "condition": condition}
        return {name: value for name, value in tags.items() if value}


class _UnderstandingRow(msgspec.Struct, frozen=True):
    qid: str | int
    language: Literal["en", "zh"]
    scenario: str
    subject: str
    coarse_category: str
    emotion_choices: list[str] | str
    emotion_label: str
    cause_choices: list[str] | str
    cause_label: str


def examination(files: TrustMHRelease, name: str, count: int) -> tuple[list[ChoiceItem], list[str]]:
    """Read a file of examination questions (`question`, `options` by letter, `answer`).

    Where the file says so, an item is about a `step` of the examination and a `condition`.

    Raises:
        DataError: it is missing or broken, or an answer is none of the options.
    """
    file = files.require(name, PSY_EVAL)
    items, rows = [], file.records(_ExaminationRow)
    for place, (number, row) in enumerate(rows, 1):
        letters = sorted(row.options)
        answer = row.answer.strip()
        if answer not in letters:
            raise DataError(f"{file.source}:{number}: expected an answer among {', '.join(letters)}, found {answer!r}")
        options = tuple(row.options[letter].strip() for letter in letters)
        question = MultipleChoice(row.question.strip(), options, letters.index(answer))
        items.append(ChoiceItem(question, str(place), row.about))
    untold = [key for key in _TOLD.get(name, ()) if not any(getattr(row, key) for _, row in rows)]
    notes = [f"{file.source}: expected {key} in the rows, found it in none; nothing is sliced by it" for key in untold]
    return items, file.counted("questions", len(items), count) + notes


def understanding(files: TrustMHRelease) -> tuple[list[tuple[ChoiceItem, ChoiceItem]], list[str]]:
    """Read EmoBench's emotional understanding: for each scenario the emotion and its cause.

    Raises:
        DataError: the file is missing or broken.
    """
    file = files.require(UNDERSTANDING, EMOBENCH)
    pairs = []
    for number, row in file.records(_UnderstandingRow):
        about = {"subject": row.subject, "category": row.coarse_category}
        where = f"{file.source}:{number}"
        emotion = _question(where, row.scenario, row.emotion_choices, row.emotion_label, "emotion_")
        cause = _question(where, row.scenario, row.cause_choices, row.cause_label, "cause_")
        feels, because = (ChoiceItem(question, str(row.qid), about, row.language) for question in (emotion, cause))
        pairs.append((feels, because))
    return pairs, file.counted("rows", len(pairs), 400)


def _question(where: str, scenario: str, choices: list[str] | str, label: str, part: str = "") -> MultipleChoice:
    """Return a question; its columns' names begin with `part`."""
    try:
        options = lists.read(choices)[0] if isinstance(choices, str) else choices
    except ValueError as error:
        raise DataError(f"{where}: {part}choices: expected a list, found {error}") from None
    if label not in options:
        raise DataError(f"{where}: expected {part}label among {part}choices, found {label!r:.60}")
    return MultipleChoice(scenario.strip(), tuple(options), options.index(label))
