"""The tables of the Hugging Face layout: what they hold, how they are found in a folder, and what single cells say.

`TABLES` describes them once, for those who read them and for those who write them. The path says what a table is
(`responses/…`, `evaluations/llm_raw/…`, or a name that begins so). Columns that a table has beside ours are passed over.
"""

from __future__ import annotations

import copy
import hashlib
import re
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion

Cells = dict[str, Any]
Word = TypeVar("Word", bound=StrEnum)
EXAMPLE, RESPONSE = "example_id", "response_id"
"""The columns that join the tables: the id of an item, and that of a reply to it."""


class TableKind(StrEnum):
    """What a table of the layout holds, by the name that its path begins with."""

    CHOSEN = "chosen_responses"
    """Replies that were drawn from others which are not here."""
    RESPONSES = "responses"
    JUDGES = "llm_raw"
    PEOPLE = "human_raw"
    OTHER = "other_raw"
    """What rules, classifiers and panels say."""
    ITEMS = "items"


REPLIES = (TableKind.RESPONSES, TableKind.CHOSEN)
RATER = {TableKind.JUDGES: "evaluator_model", TableKind.PEOPLE: "annotator", TableKind.OTHER: "rater"}
"""In which column a table of ratings says who rated."""


def _columns(names: str) -> dict[str, str]:
    """Read a list of columns, each a text unless a type follows its name: `whole`, `real`."""
    return {name: kind or "text" for name, _, kind in (part.partition(":") for part in names.split())}


_SOURCE = "source_file source_row:whole details"
_REPLY = _columns(f"response_id example_id answer_model answer_run:whole response_text status tokens:whole {_SOURCE}")
_RATING = f"evaluation_run:whole criterion score:real level score_status explanation instrument {_SOURCE}"
TABLES: dict[TableKind, dict[str, str]] = {
    TableKind.ITEMS: _columns("example_id position:whole messages target tags cluster parts"),
    TableKind.RESPONSES: _REPLY,
    TableKind.CHOSEN: _REPLY,
    TableKind.JUDGES: _columns(f"response_id example_id evaluator_model {_RATING}"),
    TableKind.PEOPLE: _columns(f"response_id example_id annotator {_RATING}"),
    TableKind.OTHER: _columns(f"response_id example_id rater rater_kind {_RATING}"),
}
"""The columns of each table as we write it, in their order, each with its type.

A rating without `response_id` is about the item. `level` is its value where that is a word; `score` is its value where that is
a number, and else the level's place in the rubric, counted from 1. `details` has, as JSON, what is known and has no column.
"""
EXPECTED = (
    "expected responses/ and evaluations/ in the layout of arnaiztech/llms-mental-health-crisis-responses, as Parquet, CSV "
    "or JSON lines"
)
SUMMARY = "metadata/export_summary.json"
_ENDINGS = {".parquet", ".csv", ".jsonl", ".ndjson"}
_REPEATING = ("llm_merged", "sampled_review_sets")
"""Tables of others that say again what the single ratings say."""
_SPLIT = re.compile(r"(validation|test|train|dev)(?:$|[-_.])")


class OtherExportError(DataError):
    """A folder is the export of another benchmark, or has nothing that this one could read."""


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
    def exact(self) -> bool:
        """Whether a row is an export's of ours, which says all that is known of it."""
        return "details" in self.cells

    @property
    def subject(self) -> str:
        """The id of the reply that a rating is about, or of the item where it is about that."""
        return self.text(RESPONSE, EXAMPLE)

    @property
    def table(self) -> str:
        """The name of the table: a person's, or a model's where it has replies."""
        return self.file.rpartition("/")[2].rpartition(".")[0]

    def rater(self, kind: TableKind, spelled: Callable[[str], str] = str) -> str:
        """Return who rated: a column says it, or a person's table is named after them.

        Args:
            kind: of table.
            spelled: how a model is named here that the table names in another way.

        Raises:
            DataError: nothing says it.
        """
        name = self.text(RATER[kind]) or spelled(self.text("evaluator_model_raw"))
        if not name and kind is not TableKind.PEOPLE:
            raise self.fault(f"no {RATER[kind]}: who rated is not said")
        return name or self.table

    def whole(self, name: str) -> int | None:
        """Return a whole number, however the file writes it; None where there is none.

        Raises:
            DataError: something else is there.
        """
        if not self.text(name):
            return None
        value = number(self.cells[name])
        if value is None and self.text(name).casefold() == "nan":  # which pandas writes for nothing
            return None
        if value is None or not value.is_integer():
            raise self.fault(f"{name} is a whole number, not {self.text(name)[:40]!r}")
        return int(value)

    def json(self, name: str) -> Any:
        """Return what a cell holds as a list or an object, also where it is written as JSON.

        Raises:
            DataError: it is broken JSON.
        """
        cell = self.cells.get(name)
        if not isinstance(cell, str):
            return cell
        try:
            return bounds.json_value(cell)
        except ValueError as error:
            raise self.fault(f"{name} is no JSON ({error})") from error

    def details(self) -> Cells:
        """Return what an export of ours says of a row beside the columns, and where the row was read from."""
        facts = self.json("details") if self.exact else None
        source = {"source_file": self.text("source_file") or None, "source_row": self.whole("source_row")}
        stated = dict(facts) if isinstance(facts, dict) else {}
        return {**{name: value for name, value in source.items() if value is not None}, **stated}

    def word(self, words: type[Word], column: str) -> Word:
        """Return a word of a fixed list, such as a status.

        Raises:
            DataError: there is none of this name.
        """
        try:
            return words(self.text(column))
        except ValueError as error:
            raise self.fault(f"{column} is {', '.join(words)}, not {self.text(column)[:40]!r}") from error

    def value(self, criterion: Criterion | None) -> Value | None:
        """Return the value of a rating; None where there is none, or where it is no level in a table of others."""
        score = number(self.cells.get("score"))
        if self.exact or criterion is None:
            return self.text("level") or (int(score) if score is not None and score.is_integer() else score)
        if level := self.text("level"):
            return criterion.read(level)
        if score is None or not score.is_integer():
            return None
        if all(isinstance(value, str) for value in criterion.values):
            return criterion.values[int(score) - 1] if 1 <= score <= len(criterion.values) else None
        return int(score) if int(score) in criterion.values else None


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
        self._root = ""
        self._all = {file.place.as_posix(): file for file in sorted(below.all, key=lambda file: file.place.as_posix())}
        self._kinds: dict[str, TableKind] = {}
        unknown = []
        for name, file in self._all.items():
            if file.suffix.lower() in _ENDINGS:
                parts = [*file.place.parts[:-1], file.stem]
                kind = next((kind for kind in TableKind if any(part.startswith(kind) for part in parts)), None)
                if kind is not None:
                    self._kinds[name] = kind
                elif not any(part.startswith(_REPEATING) for part in parts):
                    unknown.append(name)
        self.notes += [f"{name}: no table of the layout by its path; not read" for name in unknown if self._kinds]

    @property
    def present(self) -> bool:
        """Whether this is the layout: a table of replies or of what was said of them, with the ids that join them."""
        first = next((name for name, kind in self._kinds.items() if kind is not TableKind.ITEMS), None)
        return first is not None and RESPONSE in tables.open_table(self._all[first]).headers

    def files(self, kind: TableKind) -> list[str]:
        """Return the paths of the tables of a kind."""
        return [name for name, of in self._kinds.items() if of is kind and name.startswith(self._root)]

    def rows(self, kind: TableKind, single: str = "") -> Iterator[LayoutRow]:
        """Yield the rows of the tables of a kind, file by file.

        Args:
            kind: of tables.
            single: the path of the one table that is read; all of them if not given.

        Raises:
            DataError: a file cannot be read, or lacks the ids that join its rows.
        """
        for name in [single] if single else self.files(kind):
            table = tables.open_table(self._all[name])
            joins = EXAMPLE if kind is TableKind.ITEMS else RESPONSE
            if joins not in table.headers:
                raise DataError(f"{name}: no column {joins}, which joins it to the other tables; {EXPECTED}")
            parts = (self._all[name].stem, *reversed(self._all[name].place.parts[:-1]))
            split = next((match.group(1) for part in parts if (match := _SPLIT.match(part))), "")
            labels = {"label": None} if "label" in table.headers else {}  # an empty one says that there is none
            for place, (_, cells) in enumerate(table.rows()):
                yield LayoutRow(name, str(cells.get("split") or split), place, labels | cells)

    @cached_property
    def exports(self) -> dict[str, tuple[str, Cells]]:
        """By benchmark, where an export of ours has it in the folder, and what it says of the run that it was made of.

        Raises:
            DataError: it says so, and is broken.
        """
        found = {}
        for name, file in self._all.items():
            if f"/{name}".endswith(f"/{SUMMARY}"):
                try:
                    summary = bounds.json_value(file.read_text())
                    if "run" in summary:
                        found[str(summary["benchmark"])] = name.removesuffix(SUMMARY), dict(summary["run"])
                except (OSError, ValueError, KeyError, TypeError) as error:
                    raise DataError(f"{self.data}: {name} is not as an export has it ({error})") from error
        return found

    def part(self, benchmark: str) -> HubLayout:
        """Return what an export of ours has of one benchmark; all that is here where it is of others.

        Raises:
            OtherExportError: it has nothing of this one.
            DataError: what it says of itself is broken.
        """
        if not self.exports:
            return self
        if benchmark not in self.exports:
            raise OtherExportError(f"{self.data}: an export of {', '.join(self.exports)}, not of {benchmark}")
        own = copy.copy(self)
        own._root = self.exports[benchmark][0]  # noqa: SLF001 - of its own class
        return own

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 of every table."""
        return {name: hashlib.sha256(folder.content(self._all[name])).hexdigest() for name in self._kinds}

    def content(self, name: str) -> str:
        """Return a text file of the folder; empty if there is none."""
        file = self._all.get(self._root + name)
        return "" if file is None else file.read_text()


def is_one(data: Path) -> bool:
    """Whether a folder, or a zip of one, is in this layout."""
    return (data.is_dir() or folder.is_zip(data)) and not (data / "run.sqlite").exists() and HubLayout(data).present


def number(cell: object) -> float | None:
    """Return a number, however it is written; None where there is none."""
    try:
        value = float(str(cell)) if cell is not None else None
    except ValueError:
        return None
    return value if value is not None and value == value else None  # noqa: PLR0124 - NaN
