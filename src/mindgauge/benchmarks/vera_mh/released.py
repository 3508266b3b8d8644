"""The authors' files as they released them: which there are, the personas, the words a client is told, the table of scores.

Files are found by their names wherever they lie below the folder given, zips included. Of their contents nothing stands here
but the headers by which they are read.

Where an answer leads, its cell GOTO says: the id of a question; `END`, after which no dimension applies; `ASSIGN_END`, which
rates the question's dimension and ends; `NOT_RELEVANT>>ID`, by which the dimension does not apply, and the walk goes on at ID.
An empty cell is the next question of the file; a question without answers is one of yes and no, and a yes leads to the next
dimension. A yes gives the dimension the question's severity; one that ends without any has its best level.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.benchmarks.released import source_name
from mindgauge.raters.question_tree import Option, Question, QuestionTree
from mindgauge.raters.verdict import NO, YES
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import folder, tables
from mindgauge.records.files.bounds import clean
from mindgauge.records.files.folder import Readable
from mindgauge.records.files.texts import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.records.files.input_table import InputTable

DIMENSIONS = ("detects", "confirms", "guides", "supports", "boundaries")
"""Our names of the five dimensions, in the authors' order."""
_STEMS = ("detect", "confirm", "guide", "support", "boundar")
"""What of a dimension's name in a file tells which it is."""
_PATTERNS = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        "personas": r"personas\.tsv",
        "rubric": r"rubric\.tsv",
        "template": r"persona_prompt_template\.txt",
        "reminder": r"persona_prompt_reminder\.txt",
        "scores": r".*_detailed\.csv",
        "transcript": r"[0-9a-f]{4,}_[^_]+_.+_run\d+\.txt",
    }.items()
}
_FOLDERS = ("data",)
EXPECTED = (
    "vera_mh expects the authors' personas.tsv, rubric.tsv, persona_prompt_template.txt, a table …_detailed.csv of scores, or a zip "
    "of transcripts ID_PERSONA_MODEL_runN.txt"
)
OBTAIN = "copy data/ of the authors' repository SpringCare/VERA-MH there, and what else of it you have"
_SLOT = re.compile(r"\{([^{}\n]+)\}")
_RISK = re.compile(r"short\b.*\brisk level", re.IGNORECASE)
_LONG_RISK = re.compile(r"(?!short).*\brisk level", re.IGNORECASE)
NAME = "Name"
RUNGS = {"none": "distress", "low": "passive", "high": "active", "immediate": "imminent"}
"""The highest of our rungs of risk that a persona of each of the authors' levels comes to."""
_FIGURES = {"%HPH": "hph", "%BP": "bp", "Score": "score"}
"""How the headers of the table of scores end, and what stands below them."""


class VeraFile(msgspec.Struct, frozen=True):
    """One released file: `source` is its path below the authors' folder, the same wherever the user keeps that."""

    path: Readable
    source: str
    kind: str


class VeraRelease(msgspec.Struct, frozen=True):
    """The released files that are there, in the order of their places; `notes` say what was not read."""

    root: Path
    files: tuple[VeraFile, ...]
    notes: tuple[str, ...]

    def of(self, kind: str) -> list[VeraFile]:
        """Return the files of a kind."""
        return [file for file in self.files if file.kind == kind]

    def one(self, kind: str) -> VeraFile:
        """Return the file of a kind of which one is needed; of several the first, which a note names.

        Raises:
            MissingDataError: there is none.
        """
        files = self.of(kind)
        if not files:
            name = _PATTERNS[kind].pattern.replace("\\", "").replace(".*_", "…_")
            raise MissingDataError(f"{self.root}: no {name} here; {OBTAIN}")
        return files[0]


def find(data: Path) -> VeraRelease:
    """Find the released files below a folder.

    Raises:
        DataError: there is no such folder, or nothing of theirs in it.
    """
    folder.need(data, EXPECTED)
    lying = folder.below(data)
    notes = [f"{line}; not read" for line in lying.broken]
    files: list[VeraFile] = []
    for path in lying.all:
        kind = next((kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(path.name)), None)
        if kind is None:
            continue
        lies_in = Path() if kind == "transcript" else data  # transcripts lie beside the authors' folder
        file = VeraFile(path, source_name(path.place, lies_in, _FOLDERS), kind)
        first = next((other for other in files if other.kind == kind), None)
        if first is not None and kind != "transcript":
            notes.append(f"{file.source}: a second file of this name, not read (first: {first.source})")
        else:
            files.append(file)
    if not files:
        raise MissingDataError(f"{data}: none of the released files here; {EXPECTED}; {OBTAIN}")
    return VeraRelease(data, tuple(sorted(files, key=lambda file: (file.kind, file.source))), tuple(notes))


def dimension(title: str) -> str | None:
    """Return our name of a dimension that a file names; None where it is none of the five."""
    words = title.casefold()
    return next((name for name, stem in zip(DIMENSIONS, _STEMS, strict=True) if stem in words), None)


def text(file: VeraFile) -> str:
    """Read a text file.

    Raises:
        DataError: it cannot be read, or is empty.
    """
    try:
        content = clean(decoded(file.path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{file.path}: expected UTF-8, found another encoding at byte {error.start}") from error
    if not content.strip():
        raise DataError(f"{file.path}: expected text, found an empty file")
    return content.replace("\r\n", "\n")


def rows(file: VeraFile, needed: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a table's rows with their places (`path:line`); empty cells and cells of blanks are not there.

    Raises:
        DataError: it cannot be read, or lacks a column.
    """
    table: InputTable = tables.open_table(file.path)
    missing = [name for name in needed if name not in table.headers]
    if missing:
        headers = ", ".join(filter(None, table.headers)) or "nothing"
        raise DataError(f"{file.path}:1: expected a column {missing[0]!r}, found {headers}")
    for line, row in table.rows():
        yield f"{file.path}:{line}", {name: str(cell).strip() for name, cell in row.items() if str(cell).strip()}


# -- the people ---------------------------------------------------------------------------------------------------------


class VeraPersona(msgspec.Struct, frozen=True):
    """A persona: a name, the highest rung of risk, and all its cells by the headers of the authors' table."""

    name: str
    planned: str
    cells: dict[str, str]


def personas(files: VeraRelease) -> tuple[list[VeraPersona], list[str]]:
    """Read the personas in the order of their table, and what is odd about it.

    Raises:
        DataError: the table is missing or broken, a name is missing or comes twice, or a level of risk is none of the four.
    """
    file = files.one("personas")
    people: dict[str, VeraPersona] = {}
    notes: list[str] = []
    for place, cells in rows(file, (NAME,)):
        name = cells.get(NAME, "")
        if not name or name in people:
            content = f"{name!r}, which stands further up, too" if name else "an empty cell"
            raise DataError(f"{place}: expected a name of its own in column {NAME!r}, found {content}")
        short = next((cell for header, cell in cells.items() if _RISK.fullmatch(header)), "")
        if short.casefold() not in RUNGS:
            raise DataError(f"{place}: expected a level of risk ({', '.join(RUNGS)}), found {short[:40]!r}")
        long = next((cell for header, cell in cells.items() if _LONG_RISK.fullmatch(header)), short)
        if not long.casefold().startswith(short.casefold()):
            notes.append(
                f"{file.source}: {name}'s level of risk in words does not begin with {short!r}, the level in short; the short one counts"
            )
        people[name] = VeraPersona(name, RUNGS[short.casefold()], cells)
    if not people:
        raise DataError(f"{file.path}: expected personas, found a table without rows")
    return [*people.values()], notes


class ClientPrompt(msgspec.Struct, frozen=True):
    """What the authors tell the model that plays a person: a text with the headers of the personas' table in braces."""

    path: str
    words: str

    def filled(self, persona: VeraPersona) -> str:
        """Write it for a persona.

        Raises:
            DataError: it names a column that the persona's row has not.
        """

        def cell(match: re.Match[str]) -> str:
            if match[1] not in persona.cells:
                line = self.words.count("\n", 0, match.start()) + 1
                raise DataError(
                    f"{self.path}:{line}: expected a column of the personas in braces, found {match[0][:60]!r}, of which "
                    f"{persona.name} has no cell"
                )
            return persona.cells[match[1]]

        return _SLOT.sub(cell, self.words)


def client_prompt(files: VeraRelease) -> ClientPrompt:
    """Read what the authors tell a client.

    Raises:
        DataError: the file is missing, empty, or names no column in braces.
    """
    file = files.one("template")
    words = text(file)
    if not _SLOT.search(words):
        raise DataError(f"{file.path}: expected columns of the personas in braces, found none")
    return ClientPrompt(str(file.path), words)


# -- the table of scores ------------------------------------------------------------------------------------------------


def stated_scores(files: VeraRelease) -> dict[str, dict[str, dict[str, float]]]:
    """Read what the table says of each model, as printed: dimension or `overall` → `score`, `hph` or `bp` → number.

    Raises:
        DataError: it is missing or broken, or a cell is no number from 0 to 100.
    """
    file = files.one("scores")
    stated: dict[str, dict[str, dict[str, float]]] = {}
    for place, cells in rows(file, ()):
        headers = list(cells)
        scores: dict[str, dict[str, float]] = {}
        for header in headers[1:]:
            named = _figure(header)
            if named is None:
                raise DataError(f"{place}: expected a column of a score, %HPH or %BP, found {header[:60]!r}")
            scores.setdefault(named[0], {})[named[1]] = _percentage(cells[header], header, place)
        if cells[headers[0]] in stated:
            raise DataError(f"{place}: expected each model once, found {cells[headers[0]]!r} again")
        stated[cells[headers[0]]] = scores
    if not stated:
        raise DataError(f"{file.path}: expected a row for each model, found none")
    return stated


def _figure(header: str) -> tuple[str, str] | None:
    """Return the dimension, or `overall`, and the figure that a header names."""
    kind = next((kind for ending, kind in _FIGURES.items() if header.endswith(ending)), None)
    name = "overall" if header.casefold().startswith("overall") else dimension(header)
    return (name, kind) if name and kind else None


def _percentage(cell: str, header: str, place: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise DataError(f"{place}: expected a number from 0 to 100 in column {header!r}, found {cell[:40]!r}")
    return number


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
    return tree_of(find(data))


def tree_of(files: VeraRelease) -> QuestionTree:
    """Read the tree of a release; see `read_tree`."""
    file = files.one("rubric")
    questions = _of_table([*rows(file, _COLUMNS)])
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


def tree_notes(files: VeraRelease) -> list[str]:
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
    about = dimension(cells.get(_DIMENSION, ""))
    if about is None:
        raise DataError(f"{place}: expected one of the five dimensions, found {cells.get(_DIMENSION, '')[:40]!r}")
    if _QUESTION not in cells:
        raise DataError(f"{place}: expected the words of question {ident!r}, found an empty cell")
    severity = cells.get(_SEVERITY, "").casefold()
    if severity and severity not in _SEVERITIES:
        expected = ", ".join(_SEVERITIES)
        raise DataError(f"{place}: expected a severity ({expected}) or an empty cell, found {cells[_SEVERITY][:40]!r}")
    text = "\n\n".join(dict.fromkeys(filter(None, (cells[_QUESTION], cells.get(_EXAMPLES)))))
    return _Rows(ident, about, _SEVERITIES.get(severity), text, place, [])


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
