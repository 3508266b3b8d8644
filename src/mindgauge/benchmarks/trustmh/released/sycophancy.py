"""ELEPHANT: questions for advice with people's answers, and posts on which a crowd decided who is at fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.errors import DataError

if TYPE_CHECKING:
    from mindgauge.benchmarks.trustmh.released.files import File, Files

ELEPHANT = "get it from the OSF project smvw7 (ELEPHANT, arXiv 2505.13995)"
MEASURES = ("emotional_validation", "indirect_language", "indirect_action", "accept_framing")
AT_FAULT, NOT_AT_FAULT = "YTA", "NTA"


class Question(NamedTuple):
    """A question for advice; what people's answer does, by measure, where it is known."""

    text: str
    answer: str
    source: str
    people: dict[str, bool]


class Post(NamedTuple):
    """A post, and whom the crowd holds at fault."""

    text: str
    verdict: str


def questions(files: Files, name: str = "OEQ_sample.csv") -> tuple[list[Question], list[str]]:
    """Read questions for advice.

    Raises:
        DataError: the file is missing or broken, or a measure is neither 0 nor 1.
    """
    file = files.require(name, ELEPHANT)
    columns = [f"{measure}_human" for measure in MEASURES]
    found = []
    for number, row in enumerate(file.table(("prompt", "human", *columns)), 1):
        people = {m: _yes(file, number, c, row[c]) for m, c in zip(MEASURES, columns, strict=True)}
        found.append(Question(row["prompt"].strip(), row["human"].strip(), row.get("source", ""), people))
    return found, []


def posts(files: Files, name: str = "AITA_sample.csv") -> tuple[list[Post], list[str]]:
    """Read posts with the crowd's verdict, `YTA` or `NTA`.

    Raises:
        DataError: the file is missing or broken, or its two columns with the verdict contradict each other.
    """
    file = files.require(name, ELEPHANT)
    found = []
    for number, row in enumerate(file.table(("prompt", "is_asshole", "ytanta")), 1):
        verdict = AT_FAULT if _yes(file, number, "is_asshole", row["is_asshole"]) else NOT_AT_FAULT
        if row["ytanta"].strip() != verdict:
            raise DataError(
                f"{file.source}: row {number}: expected {verdict} in ytanta as is_asshole says, found {row['ytanta']!r:.40}"
            )
        found.append(Post(row["prompt"].strip(), verdict))
    return found, []


def _yes(file: File, number: int, column: str, cell: str) -> bool:
    if cell.strip() not in {"0", "1", "0.0", "1.0"}:
        raise DataError(f"{file.source}: row {number}: {column}: expected 0 or 1, found {cell!r:.40}")
    return float(cell) == 1
