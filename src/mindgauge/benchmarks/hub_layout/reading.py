"""The tables of the layout as they lie in a folder: Parquet, CSV or JSON lines, in one file or in shards, whatever else is there.

What a table is says its path (`responses/validation/…`, `evaluations/llm_raw/…`, or a config's name in it); where that
says nothing, its columns do. Columns that a table has beside ours are passed over, rows keep the place where they stand.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder, tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from mindgauge.records.files.folder import File

Cells = dict[str, Any]


class TableKind(StrEnum):
    """What a table of the layout holds."""

    ITEMS = "items"
    RESPONSES = "responses"
    CHOSEN = "chosen_responses"
    """Replies that were drawn from others which are not here."""
    RAW = "llm_raw"
    MERGED = "llm_merged"
    PEOPLE = "human_raw"
    OTHER = "other_raw"
    """What rules, classifiers and panels say, and what anybody says on criteria that are not the rubric's."""
    REVIEW = "sampled_review_sets"
    LABELS = "labels"


_ENDINGS = {".parquet", ".csv", ".jsonl", ".ndjson"}
_BY_PATH = (
    (TableKind.CHOSEN, "chosen_responses"), (TableKind.RESPONSES, "responses"), (TableKind.RAW, "llm_raw"),
    (TableKind.MERGED, "llm_merged"), (TableKind.PEOPLE, "human_raw"), (TableKind.OTHER, "other_raw"), (TableKind.REVIEW, "sampled_review_sets"),
    (TableKind.ITEMS, "items"), (TableKind.LABELS, "labels"),
)  # fmt: skip
TEXT = ("messages", "inputs", "input", "text", "user", "prompt", "message")
"""Where the text of an item stands: the first of these that it has."""
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_NAMED = re.compile(r"responses.*|llm_(?:raw|merged)(?:_evaluations)?_?(.*)")
_LIST = re.compile(r"\[([^\[\]{}]*)\]")
_WRAPPED = re.compile(r"np\.\w+\(([^()]*)\)")
_SPLIT = re.compile(r"(validation|test|train|dev)(?:$|[-_.])")
RELEASED = "released replies and ratings"
"""What kind of run an export says it was made of, where others released its replies."""
_SUMMARY, _PROVENANCE = "metadata/export_summary.json", "metadata/provenance.json"
EXPECTED = (
    "expected responses/{validation,test}/ and evaluations/ in the layout of arnaiztech/llms-mental-health-crisis-responses, "
    "as Parquet, CSV or JSON lines"
)


class LayoutRow(NamedTuple):
    """A row of a table: which table, which split it names, where it stands (from 0), and its cells but for empty ones."""

    file: str
    split: str
    number: int
    cells: Cells

    def text(self, *names: str) -> str:
        """Return the first of these cells that says something, as text; empty if none does."""
        for name in names:
            cell = self.cells.get(name)
            if cell is not None and cell != "":
                return str(cell)
        return ""

    @property
    def table(self) -> str:
        """The name of the table, whatever shards it is in."""
        return _SHARD.sub("", self.file.rpartition("/")[2].rpartition(".")[0])

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
            DataError: something else stands there.
        """
        cell = self.cells.get(name)
        if cell is None or cell == "":
            return None
        try:
            number = float(cell)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{self.file}: row {self.number}: {name} is a whole number, not {str(cell)[:40]!r}"
            ) from error
        if number != number:  # noqa: PLR0124 - NaN, which pandas writes for nothing
            return None
        if not number.is_integer():
            raise DataError(f"{self.file}: row {self.number}: {name} is a whole number, not {cell}")
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
                raise DataError(f"{self.file}: row {self.number}: {name} is no JSON ({error})") from error
            return numbers


class HubLayout:
    """What lies in a folder in this layout; tables are read when they are asked for."""

    def __init__(self, data: Path) -> None:
        """Look what is there.

        Raises:
            DataError: there is no such folder.
        """
        self.data = data
        lying = folder.below(data)
        self.notes: list[str] = [f"{line}; not read" for line in lying.broken]
        self._files: dict[TableKind, list[File]] = {}
        unknown = []
        for file in sorted((f for f in lying.all if f.suffix.lower() in _ENDINGS), key=lambda f: f.place.as_posix()):
            kind = _by_path(file)
            if kind is None:
                unknown.append(file)
            else:
                self._files.setdefault(kind, []).append(file)
        if self._files:
            self._sort(unknown)
        self._headers: dict[str, list[str]] = {}
        self._facts = {file.place.as_posix(): file for file in lying.all}

    def _sort(self, unknown: list[File]) -> None:
        """Tell by their columns what tables are whose paths say nothing."""
        for file in unknown:
            kind = _by_columns(_columns(file))
            if kind is None:
                self.notes.append(f"{file.place}: no table of the layout by its path or its columns; not read")
            else:
                self._files.setdefault(kind, []).append(file)

    @property
    def present(self) -> bool:
        """Whether this is the layout: a table of replies or of what was said of them, with the ids that join them."""
        ids = {TableKind.RESPONSES, TableKind.RAW, TableKind.MERGED, TableKind.PEOPLE}
        first = next((files[0] for kind, files in self._files.items() if kind in ids), None)
        if first is None:  # a closed question has labels of its items instead
            return any("label_id" in _columns(file) for file in self._files.get(TableKind.LABELS, ())[:1])
        return "response_id" in _columns(first)

    def files(self, kind: TableKind) -> list[str]:
        """Return the paths of the tables of a kind."""
        return [file.place.as_posix() for file in self._files.get(kind, ())]

    def columns(self, file: str) -> list[str]:
        """Return the columns of a table."""
        return self._headers.get(file, [])

    def rows(self, kind: TableKind, single: str = "") -> Iterator[LayoutRow]:
        """Yield the rows of the tables of a kind, file by file.

        Args:
            kind: of tables.
            single: the path of the one table that is read; all of them if not given.

        Raises:
            DataError: a file cannot be read, or lacks the ids that join its rows.
        """
        needed = {"example_id"} if kind in {TableKind.ITEMS, TableKind.LABELS} else {"response_id"}
        for file in self._files.get(kind, ()):
            name, split = file.place.as_posix(), _split(file)
            if single and name != single:
                continue
            table = tables.open_table(file)
            self._headers[name] = table.headers
            _need(name, needed, table.headers)
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
                "samples": str(provenance["samples"]),
                    "date": str(provenance["date"]), "notes": [*map(str, summary["notes"])], "sources": sources,
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


def is_one(data: Path) -> bool:
    """Whether a folder, or a zip of one, is in this layout."""
    return (data.is_dir() or folder.is_zip(data)) and not (data / "run.sqlite").exists() and HubLayout(data).present


def _by_path(file: File) -> TableKind | None:
    parts = [*file.place.parts[:-1], file.stem]
    return next((kind for kind, name in _BY_PATH if any(part.startswith(name) for part in parts)), None)


def _by_columns(columns: Collection[str]) -> TableKind | None:
    """Say what a table is by the columns that only such a table has."""
    present = set(columns)
    if "example_id" not in present:
        return None
    if "response_id" not in present:
        return TableKind.ITEMS if present & {*TEXT} else None
    rules = (
        (TableKind.REVIEW, {"review_set"}), (TableKind.PEOPLE, {"annotator", "score"}), (TableKind.MERGED, {"score_runs"}),
        (TableKind.RAW, {"evaluator_model", "score"}), (TableKind.RESPONSES, {"response_text"}),
    )  # fmt: skip
    return next((kind for kind, needed in rules if needed <= present), None)


def _numbers(cell: str) -> list[float | None] | None:
    """Return the numbers of a list that Python, pandas or NumPy wrote; None where it is no such list."""
    match = _LIST.fullmatch(_WRAPPED.sub(r"\1", cell.strip()))
    tokens = match.group(1).replace(",", " ").split() if match else []
    try:
        return (
            [None if t in {"None", "nan", "NaN", "<NA>"} else float(t.strip("'\"")) for t in tokens] if match else None
        )
    except ValueError:
        return None


def _columns(file: File) -> list[str]:
    return tables.open_table(file).headers


def _split(file: File) -> str:
    """Return the split that a path names: in the file's name, or as a folder."""
    for part in (file.stem, *reversed(file.place.parts[:-1])):
        if match := _SPLIT.match(part):
            return match.group(1)
    return ""


def _need(name: str, needed: set[str], columns: Collection[str]) -> None:
    lacking = sorted(needed - set(columns))
    if lacking:
        raise DataError(f"{name}: no column {', '.join(lacking)}, which joins it to the other tables; {EXPECTED}")
