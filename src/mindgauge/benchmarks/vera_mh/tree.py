"""The authors' rubric as a tree of questions: a question's row names its dimension and severity, its answers stand in rows below.

Where an answer leads, its cell GOTO says: the id of a question; `END`, after which no dimension applies; `ASSIGN_END`, which
rates the question's dimension and ends; `NOT_RELEVANT>>ID`, by which the dimension does not apply, and the walk goes on at ID.
An empty cell is the next question of the file; a question without answers is one of yes and no, and a yes leads to the next
dimension. A yes gives the dimension the question's severity; one that ends without any has its best level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks.vera_mh import released
from mindgauge.benchmarks.vera_mh.released import DIMENSIONS
from mindgauge.raters.question_tree import Option, Question, QuestionTree
from mindgauge.raters.verdict import NO, YES
from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.benchmarks.vera_mh.released import VeraRelease

HARMFUL, WEAK, BEST = "harmful", "weak", "best"
"""Our names of the three levels, the worst first."""
_SEVERITIES = {"red": HARMFUL, "yellow": WEAK}
_ID, _DIMENSION, _SEVERITY, _QUESTION = "Question ID", "Dimension", "Severity", "Question"
_EXAMPLES, _ANSWER, _GOTO = "Examples", "Answer", "GOTO"
_COLUMNS = (_ID, _DIMENSION, _SEVERITY, _QUESTION, _ANSWER, _GOTO)
_END, _ASSIGN_END, _NOT_RELEVANT = "END", "ASSIGN_END", "NOT_RELEVANT>>"


class _Rows(NamedTuple):
    """A question as its rows have it, and where it stands; an answer with its GOTO and place."""

    ident: str
    dimension: str
    level: str | None
    text: str
    place: str
    answers: list[tuple[str, str, str]]


def read_tree(data: Path) -> QuestionTree:
    """Read the tree below a folder.

    Raises:
        MissingDataError: there is none.
        DataError: it cannot be walked; the message names the line.
    """
    return tree_of(released.find(data))


def tree_of(files: VeraRelease) -> QuestionTree:
    """Read the tree of a release; see `read_tree`."""
    file = files.one("rubric")
    questions = _of_table([*released.rows(file, _COLUMNS)])
    if not questions:
        raise DataError(f"{file.path}: expected questions, found a table without rows")
    missing = next((name for name in DIMENSIONS if name not in {entry.dimension for entry in questions}), None)
    if missing is not None:
        raise DataError(f"{file.path}: expected questions on all of {', '.join(DIMENSIONS)}, found none on {missing}")
    tree = QuestionTree(tuple(_question(questions, number) for number in range(len(questions))))
    places = {entry.ident: entry.place for entry in reversed(questions)}
    for fault in tree.faults():
        raise DataError(f"{places[fault.question]}: {fault.problem}")
    return tree


def notes(files: VeraRelease) -> list[str]:
    """Say which questions no walk comes to."""
    if not files.of("rubric"):
        return []
    lost = tree_of(files).unreachable
    return [f"{files.one('rubric').source}: no walk comes to question {', '.join(lost)}"] if lost else []


def _of_table(rows: Sequence[tuple[str, dict[str, str]]]) -> list[_Rows]:
    questions: list[_Rows] = []
    for place, cells in rows:
        ident = cells.get(_ID, "").removesuffix(".0")
        if ident:
            if ident in {entry.ident for entry in questions}:
                raise DataError(f"{place}: expected an id of its own, found {ident!r}, which stands further up, too")
            questions.append(_of_row(ident, cells, place))
        elif not questions:
            raise DataError(f"{place}: expected a question with its id first, found {', '.join(cells) or 'nothing'}")
        if answer := cells.get(_ANSWER):
            questions[-1].answers.append((answer, cells.get(_GOTO, "").removesuffix(".0"), place))
        elif cells.get(_GOTO):
            raise DataError(f"{place}: expected an answer beside {cells[_GOTO]!r}, found an empty cell")
    return questions


def _of_row(ident: str, cells: dict[str, str], place: str) -> _Rows:
    dimension = released.dimension(cells.get(_DIMENSION, ""))
    if dimension is None:
        raise DataError(f"{place}: expected one of the five dimensions, found {cells.get(_DIMENSION, '')[:40]!r}")
    if _QUESTION not in cells:
        raise DataError(f"{place}: expected the words of question {ident!r}, found an empty cell")
    severity = cells.get(_SEVERITY, "").casefold()
    if severity and severity not in _SEVERITIES:
        expected = ", ".join(_SEVERITIES)
        raise DataError(f"{place}: expected a severity ({expected}) or an empty cell, found {cells[_SEVERITY][:40]!r}")
    text = "\n\n".join(dict.fromkeys(filter(None, (cells[_QUESTION], cells.get(_EXAMPLES)))))
    return _Rows(ident, dimension, _SEVERITIES.get(severity), text, place, [])


def _question(questions: Sequence[_Rows], number: int) -> Question:
    question = questions[number]
    following = questions[number + 1].ident if number + 1 < len(questions) else ""
    if not question.answers:
        next_dimension = next(
            (entry.ident for entry in questions[number + 1 :] if entry.dimension != question.dimension), ""
        )
        options = [Option(YES, next_dimension, question.level), Option(NO, following)]
    else:
        options = [_option(question, answer, goto or following, place) for answer, goto, place in question.answers]
    return Question(question.ident, question.dimension, question.text, tuple(options))


def _option(question: _Rows, answer: str, goto: str, place: str) -> Option:
    level = question.level if answer.casefold() == YES else None
    if goto == _END:
        return Option(answer, "", None, DIMENSIONS)
    if goto == _ASSIGN_END:
        if level is None:
            raise DataError(
                f"{place}: expected {_ASSIGN_END} after a yes to a question with a severity, found it after {answer[:40]!r}"
            )
        return Option(answer, "", level)
    if goto.startswith(_NOT_RELEVANT):
        return Option(answer, goto.removeprefix(_NOT_RELEVANT).strip(), None, (question.dimension,))
    return Option(answer, goto, level)
