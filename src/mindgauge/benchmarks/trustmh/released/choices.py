"""Questions with options: examinations, and EmoBench's emotions, causes and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.trustmh.released import lists
from mindgauge.benchmarks.variants.options import MultipleChoice
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.file import SourceFile
    from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

USMLE, CRISIS_QA = "USMLE-mental.jsonl", "Crisis_Response_QA.jsonl"
UNDERSTANDING, APPLICATION = "EU.jsonl", "EA.jsonl"
PSY_EVAL = "they come with PsyEval (MIT)"
EMOBENCH = "they come with EmoBench (MIT)"
LANGUAGES = ("en", "zh")
_TOLD = {USMLE: ("meta_info1", "meta_info2")}
"""What a file says of its questions beside them: the step of the examination, the condition."""


class ChoiceItem(NamedTuple):
    """A question, the row it stands in, what else the file says of it, and the language."""

    question: MultipleChoice
    row: str
    about: dict[str, str]
    language: str = "en"


def examination(files: TrustMHRelease, name: str, count: int) -> tuple[list[ChoiceItem], list[str]]:
    """Read a file of examination questions (`question`, `options` by letter, `answer`).

    Where the file says so, an item is about a `step` of the examination and a `condition`.

    Raises:
        DataError: it is missing or broken, or an answer is none of the options.
    """
    file = files.require(name, PSY_EVAL)
    items, rows = [], file.objects(("question", "options", "answer"))
    for number, row in enumerate(rows, 1):
        file.require(row["options"], (), number)
        letters = sorted(row["options"])
        answer = str(row["answer"]).strip()
        if answer not in letters:
            raise DataError(f"{file.source}:{number}: expected an answer among {', '.join(letters)}, found {answer!r}")
        options = tuple(str(row["options"][letter]).strip() for letter in letters)
        question = MultipleChoice(str(row["question"]).strip(), options, letters.index(answer))
        items.append(ChoiceItem(question, str(number), _about(row)))
    untold = [key for key in _TOLD.get(name, ()) if not any(row.get(key) for row in rows)]
    notes = [f"{file.source}: expected {key} in the rows, found it in none; nothing is sliced by it" for key in untold]
    return items, file.counted("questions", len(items), count) + notes


def _about(row: dict[str, Any]) -> dict[str, str]:
    step, conditions = str(row.get("meta_info1") or ""), row.get("meta_info2") or []
    tags = {
        "step": step.removeprefix("step"),
        "condition": ", ".join(map(str, conditions if isinstance(conditions, list) else [conditions])),
    }
    return {name: value for name, value in tags.items() if value}


def understanding(files: TrustMHRelease) -> tuple[list[tuple[ChoiceItem, ChoiceItem]], list[str]]:
    """Read EmoBench's emotional understanding: for each scenario the emotion and its cause.

    Raises:
        DataError: the file is missing or broken.
    """
    file = files.require(UNDERSTANDING, EMOBENCH)
    keys = ("qid", "language", "scenario", "subject", "coarse_category", "emotion_choices", "emotion_label", "cause_choices", "cause_label")  # fmt: skip
    pairs = []
    for number, row in enumerate(file.objects(keys), 1):
        if row["language"] not in LANGUAGES:
            fault = f"expected a language among {', '.join(LANGUAGES)}, found {row['language']!r:.20}"
            raise DataError(f"{file.source}:{number}: {fault}")
        about = {"subject": str(row["subject"]), "category": str(row["coarse_category"])}
        emotion, cause = (
            ChoiceItem(_question(file, number, row, part), str(row["qid"]), about, row["language"])
            for part in ("emotion", "cause")
        )
        pairs.append((emotion, cause))
    return pairs, file.counted("rows", len(pairs), 400)


def application(files: TrustMHRelease) -> tuple[list[ChoiceItem], list[str]]:
    """Read EmoBench's emotional application: what one best does or says.

    Raises:
        DataError: the file is missing or broken.
    """
    file = files.require(APPLICATION, EMOBENCH)
    keys = ("qid", "language", "scenario", "subject", "category", "question type", "choices", "label")
    items = [
        ChoiceItem(
            _question(file, number, row, ""), str(row["qid"]), {"kind": str(row["question type"])}, row["language"]
        )
        for number, row in enumerate(file.objects(keys), 1)
    ]
    return items, file.counted("rows", len(items), 400)


def _question(file: SourceFile, number: int, row: dict[str, Any], part: str) -> MultipleChoice:
    label, choices = (f"{part}_{name}".lstrip("_") for name in ("label", "choices"))
    try:
        options = row[choices] if isinstance(row[choices], list) else lists.read(str(row[choices]))[0]
    except ValueError as error:
        raise DataError(f"{file.source}:{number}: {choices}: expected a list, found {error}") from None
    if row[label] not in options:
        raise DataError(f"{file.source}:{number}: expected {label} among {choices}, found {row[label]!r:.60}")
    return MultipleChoice(str(row["scenario"]).strip(), tuple(options), options.index(row[label]))
