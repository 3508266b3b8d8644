"""ELEPHANT: questions for advice with people's answers, posts on which a crowd decided who is at fault, and statements.

The whole sets are not published with the code; each may have any of the names given here, and wins over the sample of ten.
Rows that repeat a text are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks.trustmh.released.files import SourceFile, TrustMHRelease

ELEPHANT = "get it from the OSF project smvw7 (ELEPHANT, arXiv 2505.13995)"
MEASURES = ("emotional_validation", "indirect_language", "indirect_action", "accept_framing")
SAMPLE = 10
"""Rows of the samples that were published with the code."""
AT_FAULT, NOT_AT_FAULT = "YTA", "NTA"
OEQ = ("OEQ.csv", "oeq.csv", "OEQ_sample.csv")
AITA = ("AITA-YTA.csv", "AITA_YTA.csv", "AITA.csv", "AITA_sample.csv")
PAS = ("PAS.csv", "pas.csv", "SS.csv", "PAS_sample.csv", "SS_sample.csv")
"""Names of each set's file, the first that is there counts. The revised ELEPHANT has its statements in `SS.csv`."""


class AdviceQuestion(NamedTuple):
    """A question for advice; what people's answer does, by measure, where it is known."""

    text: str
    answer: str
    source: str
    people: dict[str, bool]


class Post(NamedTuple):
    """A post, and whom the crowd holds at fault."""

    text: str
    verdict: str


class Statement(NamedTuple):
    """A statement that rests on an assumption; what people's answer does, by measure, where it is known."""

    text: str
    people: dict[str, bool]


def questions(files: TrustMHRelease, names: Sequence[str] = OEQ) -> tuple[list[AdviceQuestion], list[str]]:
    """Read questions for advice.

    Raises:
        MissingDataError: no file has one of the names.
        DataError: the file is broken, or a measure is neither 0 nor 1.
    """
    file = _first(files, names)
    by_text: dict[str, AdviceQuestion] = {}
    rows = file.table(("prompt", "human", *map(_column, MEASURES)))
    for number, row in rows:
        text = _text(file, number, row)
        people = {measure: _yes(file, number, _column(measure), row) for measure in MEASURES}
        by_text.setdefault(text, AdviceQuestion(text, row["human"].strip(), row.get("source", ""), people))
    untold = [f"{file.source}: expected a column source, found none; nothing is sliced by it"]
    return [*by_text.values()], _odd(file, len(rows), len(by_text)) + untold * ("source" not in rows[0][1])


def posts(files: TrustMHRelease, names: Sequence[str] = AITA) -> tuple[list[Post], list[str]]:
    """Read posts with the crowd's verdict, `YTA` or `NTA`; of the two columns that say it, one will do.

    Raises:
        MissingDataError: no file has one of the names.
        DataError: the file is broken, or the two columns contradict each other.
    """
    file = _first(files, names)
    by_text: dict[str, Post] = {}
    rows = file.table(("prompt",))
    if not {"is_asshole", "ytanta"} & rows[0][1].keys():
        raise DataError(f"{file.source}: expected columns is_asshole or ytanta, found {', '.join(rows[0][1])}")
    for number, row in rows:
        text = _text(file, number, row)
        by_text.setdefault(text, Post(text, _verdict(file, number, row)))
    return [*by_text.values()], _odd(file, len(rows), len(by_text))


def statements(files: TrustMHRelease, names: Sequence[str] = PAS) -> tuple[list[Statement], list[str]]:
    """Read statements; what people's answers do is known of the measures that have a column (`accept_framing_human`).

    Raises:
        MissingDataError: no file has one of the names.
        DataError: the file is broken, or a measure is neither 0 nor 1.
    """
    file = _first(files, names)
    by_text: dict[str, Statement] = {}
    rows = file.table(("prompt",))
    for number, row in rows:
        text = _text(file, number, row)
        measured = [measure for measure in MEASURES if _column(measure) in row]
        by_text.setdefault(text, Statement(text, {m: _yes(file, number, _column(m), row) for m in measured}))
    return [*by_text.values()], _odd(file, len(rows), len(by_text))


def _first(files: TrustMHRelease, names: Sequence[str]) -> SourceFile:
    """Return the file that has the first of the names; the message of a missing one asks for that."""
    present = (file for name in names if (file := files.find(name)) is not None)
    return next(present, None) or files.require(names[0], f"{ELEPHANT}; {', '.join(names[1:])} will do, too")


def _column(measure: str) -> str:
    return f"{measure}_human"


def _text(file: SourceFile, number: int, row: dict[str, str]) -> str:
    text = row["prompt"].strip()
    if not text:
        raise DataError(f"{file.source}:{number}: expected a text in prompt, found nothing")
    return text


def _verdict(file: SourceFile, number: int, row: dict[str, str]) -> str:
    stated = row.get("ytanta", "").strip()
    if stated not in {AT_FAULT, NOT_AT_FAULT, ""} or (not stated and "is_asshole" not in row):
        raise DataError(f"{file.source}:{number}: ytanta: expected YTA or NTA, found {stated!r:.40}")
    if "is_asshole" not in row:
        return stated
    verdict = AT_FAULT if _yes(file, number, "is_asshole", row) else NOT_AT_FAULT
    if "ytanta" in row and stated != verdict:
        raise DataError(
            f"{file.source}:{number}: expected {verdict} in ytanta as is_asshole says, found {stated!r:.40}"
        )
    return verdict


def _yes(file: SourceFile, number: int, column: str, row: dict[str, str]) -> bool:
    cell = row[column].strip()
    if cell not in {"0", "1", "0.0", "1.0"}:
        raise DataError(f"{file.source}:{number}: {column}: expected 0 or 1, found {cell!r:.40}")
    return float(cell) == 1


def _odd(file: SourceFile, rows: int, texts: int) -> list[str]:
    """Return notes on repeated texts, and on a sample that has not ten rows; how many the whole sets have is not known."""
    repeated = [f"{file.source}: {rows - texts} rows repeat a text; left out"] if rows > texts else []
    return file.counted("rows", rows, SAMPLE if "_sample." in file.source else rows) + repeated
