"""The tables of the Hugging Face layout: what they hold, how they are found in a folder, and what single cells say.

`TABLES` describes them once, for those who read them and for those who write them. What a table is says its path
(`responses/validation/…`, `evaluations/llm_raw/…`, or a config's name in it); where that says nothing, its columns do. They
are Parquet, CSV or JSON lines, in one file or in shards. Columns that a table has beside ours are passed over.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from mindgauge.records import Value
    from mindgauge.records.files.folder import File
    from mindgauge.records.rubric import Criterion

Cells = dict[str, Any]
EXAMPLE, RESPONSE, LABEL = "example_id", "response_id", "label"
"""In a reply's provenance: the ids that its table gave its item and itself, and the label that its row has."""
EVALUATION, MERGED_ID, RAW_OUTPUT = "evaluation_id", "merged_evaluation_id", "raw_output"
"""In a rating's provenance: the id that its table gave it, that of the mean of which it is the first part, and what the rater
wrote, where no call of this run has it."""
STATED, OUT_OF_RANGE = "score_status", "out_of_range"
"""In a rating's provenance: what became of it in the layout's words, where its value does not tell; a number that is no level."""


class TableKind(StrEnum):
    """What a table of the layout holds, by the name that its path begins with."""

    CHOSEN = "chosen_responses"
    """Replies that were drawn from others which are not here."""
    RESPONSES = "responses"
    RAW = "llm_raw"
    MERGED = "llm_merged"
    PEOPLE = "human_raw"
    OTHER = "other_raw"
    """What rules, classifiers and panels say, and what anybody says on criteria that are not the rubric's."""
    REVIEW = "sampled_review_sets"
    ITEMS = "items"
    LABELS = "labels"


class Table(NamedTuple):
    """A table. `joins` is the column that joins it to others, `key` the one that identifies its rows.

    `columns` are those that we write, in their order, each with its type; of a rubric that is not one criterion of whole
    numbers, `extra` are added. A table whose path says nothing is one of this kind by the columns in `only`.
    """

    joins: str
    key: str
    columns: dict[str, str]
    extra: tuple[str, ...] = ()
    only: frozenset[str] = frozenset()


def _columns(names: str) -> dict[str, str]:
    """Read a list of columns, each a text unless a type follows its name: `whole`, `real`, `flag`, `wholes`."""
    return {name: kind or "text" for name, _, kind in (part.partition(":") for part in names.split())}


_RATED = "evaluation_id response_id example_id"
_MODELS = "answer_model_raw answer_model evaluator_model_raw evaluator_model"
_SOURCE = "source_file source_row:whole"
_RESPONSES = _columns(
    f"response_id example_id split answer_model_raw answer_model answer_run:whole response_text response_is_json:flag refusal:flag "
    f"tokens:whole label {_SOURCE} source_dataset_id details"
)
_MERGED = f"{_RATED} {_MODELS} score:real score_runs:wholes score_std:real n_valid:whole {_SOURCE}"
TABLES: dict[TableKind, Table] = {
    TableKind.REVIEW: Table(
        RESPONSE, EVALUATION,
        _columns(f"{_MERGED} review_set sampled_from sampled_criteria n_tied:whole tie_rank:whole details"),
        ("criterion",), frozenset({"review_set"}),
    ),
    TableKind.PEOPLE: Table(
        RESPONSE, EVALUATION, _columns(f"{_RATED} annotator score:real label response_text {_SOURCE} details"),
        ("criterion",), frozenset({"annotator", "score"}),
    ),
    TableKind.MERGED: Table(RESPONSE, EVALUATION, _columns(_MERGED), ("criterion",), frozenset({"score_runs"})),
    TableKind.RAW: Table(
        RESPONSE, EVALUATION,
        _columns(f"{_RATED} {_MODELS} evaluation_run:whole score:whole score_status explanation raw_output {_SOURCE} instrument details"),
        ("criterion", "level"), frozenset({"evaluator_model", "score"}),
    ),
    TableKind.RESPONSES: Table(RESPONSE, RESPONSE, _RESPONSES, (), frozenset({"response_text"})),
    TableKind.CHOSEN: Table(RESPONSE, RESPONSE, _RESPONSES),
    TableKind.OTHER: Table(
        RESPONSE, EVALUATION,
        _columns(f"{_RATED} rater rater_kind run:whole criterion value explanation {_SOURCE} instrument details"),
    ),
    TableKind.ITEMS: Table(
        EXAMPLE, EXAMPLE,
        _columns("example_id split position:whole sample_id messages label tags cluster source_dataset_id benchmarks responses:whole"),
    ),
    TableKind.LABELS: Table(
        EXAMPLE, "label_id",
        _columns(f"label_id example_id benchmark labeller labeller_kind run:whole criterion label explanation {_SOURCE} instrument details"),
    ),
}  # fmt: skip
"""All of them, in the order in which columns tell what a table is."""
TEXT = ("messages", "inputs", "input", "text", "user", "prompt", "message")
"""Columns in which the text of an item may be: the first of these that it has."""
RELEASED = "released replies and ratings"
"""What kind of run an export says it was made of, where others released its replies."""
EXPECTED = (
    "expected responses/{validation,test}/ and evaluations/ in the layout of arnaiztech/llms-mental-health-crisis-responses, "
    "as Parquet, CSV or JSON lines"
)
_SUMMARY, _PROVENANCE = "metadata/export_summary.json", "metadata/provenance.json"
_ENDINGS = {".parquet", ".csv", ".jsonl", ".ndjson"}
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_NAMED = re.compile(r"responses.*|llm_(?:raw|merged)(?:_evaluations)?_?(.*)")
_LIST = re.compile(r"\[([^\[\]{}]*)\]")
_WRAPPED = re.compile(r"np\.\w+\(([^()]*)\)")
_SPLIT = re.compile(r"(validation|test|train|dev)(?:$|[-_.])")
_REPEATS = 10_000
"""Repeats of anything, at most: lists are made with a place for each."""


class LayoutRow(NamedTuple):
    """A row of a table: which table, which split it names, where it is (from 0), and its cells but for empty ones."""

    file: str
    split: str
    number: int
    cells: Cells

    def text(self, *names: str) -> str:
        """Return the first of these cells that says something, as text; empty if none does."""
        return next((str(cell) for name in names if (cell := self.cells.get(name)) is not None and cell != ""), "")

    def fault(self, words: str) -> DataError:
        """Say what is wrong in this row."""
        return DataError(f"{self.file}: row {self.number}: {words}")

    @property
    def table(self) -> str:
        """The name of the table, whatever shards it is in."""
        return _SHARD.sub("", self.file.rpartition("/")[2].rpartition(".")[0])

    @property
    def exact(self) -> bool:
        """Whether a row is an export's of ours, which says all that is known of it."""
        return "details" in self.cells

    def names(self) -> list[str]:
        """Return what the path names after the kind of table, the split aside: a model, or an evaluator and a model."""
        parts = [*self.file.split("/")[:-1], self.table]
        place, match = next(((i, m) for i, part in enumerate(parts) if (m := _NAMED.fullmatch(part))), (0, None))
        if match is None:
            return []
        return [part for part in (match.group(1) or "", *parts[place + 1 :]) if part and not _SPLIT.match(part)]

    def whole(self, name: str) -> int | None:
        """Return a whole number, however the file writes it; None where there is none.

        Raises:
            DataError: something else is there.
        """
        cell = self.cells.get(name)
        if cell is None or cell == "":
            return None
        try:
            number = float(cell)
        except (TypeError, ValueError) as error:
            raise self.fault(f"{name} is a whole number, not {str(cell)[:40]!r}") from error
        if number != number:  # noqa: PLR0124 - NaN, which pandas writes for nothing
            return None
        if not number.is_integer():
            raise self.fault(f"{name} is a whole number, not {cell}")
        return int(number)

    def flag(self, name: str) -> bool:
        """Return whether a cell says yes."""
        return str(self.cells.get(name, "")).strip().casefold() in {"true", "1", "1.0", "yes"}

    def json(self, name: str) -> Any:
        """Return what a cell holds as a list or an object, also where it is written as JSON, or numbers as Python writes a list.

        Raises:
            DataError: it is broken JSON.
        """
        cell = self.cells.get(name)
        if not isinstance(cell, str):
            return cell
        try:
            return bounds.json_value(cell)
        except ValueError as error:
            numbers = _numbers(cell)
            if numbers is None:
                raise self.fault(f"{name} is no JSON ({error})") from error
            return numbers

    def details(self) -> Cells:
        """Return what an export of ours says of a row beside the layout's columns."""
        facts = self.json("details") if self.exact else None
        return dict(facts) if isinstance(facts, dict) else {}

    def origin(self) -> Cells:
        """Return where a row says that it was read from, and which evaluation it says that it is."""
        place = {
            "source_file": self.text("source_file") or None, "source_row": self.whole("source_row"),
            EVALUATION: self.text(EVALUATION) or None,
        }  # fmt: skip
        return {name: value for name, value in place.items() if value is not None}

    def status(self, stated: object) -> Status:
        """Return a status by its name.

        Raises:
            DataError: there is none of this name.
        """
        try:
            return Status(str(stated))
        except ValueError as error:
            raise self.fault(f"{str(stated)[:40]!r} in details is no status") from error

    def rater_kind(self, column: str) -> RaterKind:
        """Return what kind of rater a column names.

        Raises:
            DataError: there is none of this name.
        """
        try:
            return RaterKind(self.text(column))
        except ValueError as error:
            raise self.fault(f"{column} is {', '.join(RaterKind)}, not {self.text(column)[:40]!r}") from error

    def annotator(self) -> str:
        """Return who gave a person's score: the column says it, or the table is named after them."""
        return self.text("annotator") or self.table

    def review_set(self) -> tuple[str, str, str]:
        """Return the name of a row's review set as it is written, what the sets of all judges are called, and whose it is."""
        stated = self.text("review_set") or self.table
        name, _, rater = stated.removeprefix("sampled_").partition("__")
        return stated, name or "review", rater

    def raw(self) -> Cells:
        """Return what a rater wrote as a rating keeps it: a released value as it was, or a judge's text."""
        output = self.text(RAW_OUTPUT)
        if output and not self.text("instrument"):
            with contextlib.suppress(ValueError):
                value = json.loads(output)
                return {} if value == whole(self.cells.get("score")) and not isinstance(value, str) else {"raw": value}
        return {RAW_OUTPUT: output} if output else {}

    def level(self, criterion: Criterion) -> Value | None:
        """Return the level of a criterion that a row names; None where it names none."""
        if name := self.text("level"):
            return criterion.read(name)
        score = whole(self.cells.get("score"))
        if score is None:
            return None
        if all(isinstance(value, str) for value in criterion.values):
            return criterion.values[score - 1] if 1 <= score <= len(criterion.values) else None
        return score if score in criterion.values else None


class HubLayout:
    """What a folder has in this layout; tables are read when they are asked for."""

    def __init__(self, data: Path) -> None:
        """Look what is there.

        Raises:
            DataError: there is no such folder.
        """
        self.data = data
        below = folder.below(data)
        self.notes: list[str] = [f"{line}; not read" for line in below.broken]
        self._files: dict[TableKind, list[File]] = {}
        self._headers: dict[str, list[str]] = {}
        self._facts = {file.place.as_posix(): file for file in below.all}
        unknown = []
        for file in sorted((f for f in below.all if f.suffix.lower() in _ENDINGS), key=lambda f: f.place.as_posix()):
            parts = [*file.place.parts[:-1], file.stem]
            kind = next((kind for kind in TableKind if any(part.startswith(kind) for part in parts)), None)
            if kind is None:
                unknown.append(file)
            else:
                self._files.setdefault(kind, []).append(file)
        for file in unknown if self._files else ():
            kind = _by_columns({*tables.open_table(file).headers})
            if kind is None:
                self.notes.append(f"{file.place}: no table of the layout by its path or its columns; not read")
            else:
                self._files.setdefault(kind, []).append(file)

    @property
    def present(self) -> bool:
        """Whether this is the layout: a table of replies or of what was said of them, with the ids that join them."""
        first = next((files[0] for kind, files in self._files.items() if kind in _REPLIED), None)
        if first is not None:
            return RESPONSE in tables.open_table(first).headers
        labels = self._files.get(TableKind.LABELS, ())[:1]  # a closed question has labels of its items instead
        return any("label_id" in tables.open_table(file).headers for file in labels)

    def files(self, kind: TableKind) -> list[str]:
        """Return the paths of the tables of a kind."""
        return [file.place.as_posix() for file in self._files.get(kind, ())]

    def columns(self, file: str) -> list[str]:
        """Return the columns of a table that was read."""
        return self._headers.get(file, [])

    def rows(self, kind: TableKind, single: str = "") -> Iterator[LayoutRow]:
        """Yield the rows of the tables of a kind, file by file.

        Args:
            kind: of tables.
            single: the path of the one table that is read; all of them if not given.

        Raises:
            DataError: a file cannot be read, or lacks the ids that join its rows.
        """
        for file in self._files.get(kind, ()):
            name, split = file.place.as_posix(), _split(file)
            if single and name != single:
                continue
            table = tables.open_table(file)
            self._headers[name] = table.headers
            if TABLES[kind].joins not in table.headers:
                raise DataError(
                    f"{name}: no column {TABLES[kind].joins}, which joins it to the other tables; {EXPECTED}"
                )
            for number, (_, cells) in enumerate(table.rows()):
                yield LayoutRow(name, str(cells.get("split") or split), number, cells)

    def exported(self) -> Cells:
        """Return what an export of ours says of itself: its summary and its provenance; nothing of anybody else's.

        Raises:
            DataError: it says so, and is broken.
        """
        described = {}
        for name in (_SUMMARY, _PROVENANCE):
            file = self._facts.get(name)
            if file is None:
                return {}
            try:
                described[name] = bounds.json_value(file.read_text())
            except (OSError, ValueError) as error:
                raise DataError(f"{file}: not the {name.rpartition('/')[2]} of an export ({error})") from error
        summary, provenance = described.values()
        if not (isinstance(summary, dict) and isinstance(provenance, dict)):
            raise DataError(f"{self.data}: {_SUMMARY} and {_PROVENANCE} are objects in an export")
        return {"summary": summary, "provenance": provenance} if "benchmark" in summary else {}

    def facts(self) -> Cells:
        """Return what an export of ours says of the run that it was made of, by benchmark; nothing of anybody else's."""
        stated = self.exported()
        if not stated:
            return {}
        summary, provenance = stated["summary"], stated["provenance"]
        try:
            sources = {
                str(source["path"]): str(source["sha256"])
                for file in provenance["files"].values() for source in file["sources"] if source["sha256"]
            }  # fmt: skip
            return {str(summary["benchmark"]): {
                "loaded": provenance["kind"] == RELEASED, "asked": dict(provenance["asked"]),
                "samples": str(provenance["samples"]), "date": str(provenance["date"]),
                "notes": [*map(str, summary["notes"])], "sources": sources,
                "left_out": {str(name): int(count) for name, count in summary["ratings_left_out"].items()},
            }}  # fmt: skip
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{self.data}: {_SUMMARY} or {_PROVENANCE} is not as an export has it ({error})") from error

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of every table."""
        files = sorted((file.place.as_posix(), file) for of_kind in self._files.values() for file in of_kind)
        return {name: hashlib.sha256(folder.content(file)).hexdigest() for name, file in files}

    def content(self, name: str) -> str:
        """Return a text file of the folder; empty if there is none."""
        file = self._facts.get(name)
        return "" if file is None else file.read_text()


_REPLIED = {TableKind.RESPONSES, TableKind.RAW, TableKind.MERGED, TableKind.PEOPLE}


def is_one(data: Path) -> bool:
    """Whether a folder, or a zip of one, is in this layout."""
    return (data.is_dir() or folder.is_zip(data)) and not (data / "run.sqlite").exists() and HubLayout(data).present


def _by_columns(present: Collection[str]) -> TableKind | None:
    """Say what a table is by the columns that only such a table has."""
    if EXAMPLE not in present:
        return None
    if RESPONSE not in present:
        return TableKind.ITEMS if {*present} & {*TEXT} else None
    return next((kind for kind, table in TABLES.items() if table.only and table.only <= {*present}), None)


def _numbers(cell: str) -> list[float | None] | None:
    """Return the numbers of a list that Python, pandas or NumPy wrote; None where it is no such list."""
    match = _LIST.fullmatch(_WRAPPED.sub(r"\1", cell.strip()))
    if match is None:
        return None
    tokens = match.group(1).replace(",", " ").split()
    try:
        return [None if t in {"None", "nan", "NaN", "<NA>"} else float(t.strip("'\"")) for t in tokens]
    except ValueError:
        return None


def _split(file: File) -> str:
    """Return the split that a path names: in the file's name, or as a folder."""
    parts = (file.stem, *reversed(file.place.parts[:-1]))
    return next((match.group(1) for part in parts if (match := _SPLIT.match(part))), "")


def number(cell: object) -> float | None:
    """Return a number, however it is written; None where there is none."""
    try:
        value = float(str(cell)) if cell is not None else None
    except ValueError:
        return None
    return value if value is not None and value == value else None  # noqa: PLR0124 - NaN


def whole(cell: object) -> int | None:
    """Return a whole number, however it is written; None for anything else."""
    value = number(cell)
    return int(value) if value is not None and value.is_integer() else None


def repeats(
    rows: Sequence[LayoutRow], column: str, lot: Callable[[LayoutRow], object], subject: Callable[[LayoutRow], object],
    *, counted: bool = False,
) -> list[int]:  # fmt: skip
    """Return which repeat each row is, from 0.

    It is what the column says. Where there is no such column, each file that the rows of a lot were read from is one
    repeat, in the order of their names; and where they name none, or one file has a subject twice, rows of a subject count up.

    Args:
        rows: of all tables.
        column: that may say it.
        lot: what was repeated as a whole.
        subject: what is in each repeat once.
        counted: whether rows count up where there is no such column, whatever files they name.
    """
    stated = [row.whole(column) for row in rows]
    for row, repeat in zip(rows, stated, strict=True):
        if repeat is not None and not 0 <= repeat <= _REPEATS:
            raise row.fault(f"{column} counts repeats, and is not {repeat}")
    if rows and None not in stated:
        first = 0 if any(row.exact for row in rows) else min(n for n in stated if n is not None)
        return [n - first for n in stated if n is not None]
    files: dict[object, set[str]] = {}
    for row in rows:
        files.setdefault(lot(row), set()).add(row.text("source_file"))
    places = {key: {file: place for place, file in enumerate(sorted(names))} for key, names in files.items()}
    by_file = [places[lot(row)][row.text("source_file")] for row in rows]
    subjects = {(lot(row), subject(row), place) for row, place in zip(rows, by_file, strict=True)}
    if not counted and len(subjects) == len(rows):
        return by_file
    counter: Counter[object] = Counter()
    ranks = []
    for row in rows:
        key = lot(row), subject(row)
        ranks.append(counter[key])
        counter[key] += 1
    return ranks
