"""From files to tables of text, as an audit looks at them: nested records flattened, with remarks on what was odd."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, mapping
from mindgauge.records.files import folder as files
from mindgauge.records.files import tables as reader
from mindgauge.records.files.folder import File
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.files.texts import decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.records.files.mapping import ColumnMap

Row = dict[str, str]
KINDS = (*reader.ENDINGS, ".txt")
_ROLE, _CONTENT = ("role", "speaker", "author", "from"), ("content", "text", "utterance", "value")
_BULKY = {"usage", "logprobs", "raw"}
_BLOCK = re.compile(r"^(?=<BEGIN>)", re.MULTILINE)
REPORT = 0.5
"""A text of which fewer lines than this are distinct is no list of items."""
_DEPTH = 4


class AuditTable(NamedTuple):
    """Rows of one file, sheet or list inside a file. `part` names the latter two; `lines` marks a text without columns."""

    file: str
    rows: list[Row]
    part: str = ""
    lines: bool = False

    @property
    def name(self) -> str:
        """Its file and part."""
        return f"{self.file}#{self.part}" if self.part else self.file


def tables(paths: Iterable[Path | File], notes: list[str], column_map: ColumnMap = mapping.NOTHING) -> list[AuditTable]:
    """Read files, folders and zips into tables; files that hold one record each become one table per folder."""
    tables_read: list[AuditTable] = []
    single: dict[str, list[tuple[str, Row]]] = {}
    for file in _files(paths, notes):
        name = str(file)
        try:
            parsed = list(_read(file, notes, column_map))
        except bounds.Fault as fault:
            notes.append(f"{fault.at(name)}, not read")
            continue
        except DataError as error:
            notes.append(f"{error}, not read")
            continue
        for table in parsed:
            if len(parsed) == 1 and len(table.rows) == 1 and name.endswith(".json"):
                single.setdefault(str(PurePosixPath(name).parent), []).append((name, table.rows[0]))
            elif table.rows:
                tables_read.append(table)
            elif not table.lines:
                notes.append(f"{table.name}: no rows")
    for folder, records in single.items():
        if len(records) == 1:
            tables_read.append(AuditTable(records[0][0], [records[0][1]]))
        else:
            tables_read.append(AuditTable(folder, [row for _, row in sorted(records, key=lambda r: natural(r[0]))]))
    return tables_read


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sorting key that takes digits as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _files(paths: Iterable[Path | File], notes: list[str]) -> Iterator[File]:
    """Yield files by their names below what was given, in natural order (2 before 10); say what cannot be read."""
    for path in paths:
        inside = [(path.name, path)] if isinstance(path, File) or not path.is_dir() else [
            (file.relative_to(path).as_posix(), file) for file in files.walk(path)
        ]  # fmt: skip
        for name, file in sorted(inside, key=lambda pair: natural(pair[0])):
            if file.suffix.lower() == ".zip" and isinstance(file, Path):
                yield from _members(file, name, notes)
            elif file.suffix.lower() in KINDS:
                yield named(file, name)
            else:
                notes.append(f"{name}: not a table or text, not read")


def named(file: Path | File, name: str) -> File:
    """Return a file under the name that an audit gives it."""
    return File(PurePosixPath(name), name, lambda: files.content(file))


def _members(path: Path, name: str, notes: list[str]) -> Iterator[File]:
    try:
        lying = files.members(path, PurePosixPath())
    except DataError as error:
        notes.append(f"{name}: not a readable zip ({str(error).removeprefix(f'{path}: ')})")
        return
    for member in sorted(lying, key=lambda file: natural(file.place.as_posix())):
        place = f"{name}/{member.place}"
        if member.suffix.lower() in KINDS:
            yield named(member, place)
        else:
            kind = "a zip inside a zip" if member.suffix.lower() == ".zip" else "not a table or text"
            notes.append(f"{place}: {kind}, not read")


def _read(file: File, notes: list[str], column_map: ColumnMap) -> Iterator[AuditTable]:
    name, suffix = str(file), file.suffix.lower()
    if suffix in {".txt", ".json"}:
        text = decoded(file, column_map.layout.encoding, notes).decode()
        yield from [_lines(name, text, notes)] if suffix == ".txt" else _read_json(name, text, notes)
        return
    for table in reader.open_tables(file, column_map.layout, notes):
        if suffix == ".tsv" and not column_map.columns and len(table.headers) == 1:
            notes.append(f"{name}: no tab in it, read line by line")
            yield _lines(name, decoded(file, column_map.layout.encoding, []).decode(), notes)
        elif isinstance(table, RecordTable):
            yield AuditTable(name, _within_bounds(flat(row) for _, row in table.rows(column_map.columns)))
        else:
            places = table.places(column_map.columns)
            names = [*(header for header in table.headers if header not in places), *places]
            positions = [*(n for n, header in enumerate(table.headers) if header not in places), *places.values()]
            rows = ([cells[n] if n < len(cells) else None for n in positions] for _, cells in table.cells())
            yield AuditTable(name, [_filled(names, cells) for cells in rows], table.part)


def _filled(columns: list[str], cells: list[Any]) -> Row:
    return {name: _cell(cell) for name, cell in zip(columns, cells, strict=True) if cell is not None}


def _lines(name: str, text: str, notes: list[str]) -> AuditTable:
    """Read a text: blocks that begin with <BEGIN>, or else lines; row numbers are those of the blocks or lines."""
    bounds.refuse_lines(text.encode(), quotes=False)
    parts = _BLOCK.split(text)[1:] if len(_BLOCK.findall(text)) > 1 else text.splitlines()
    lines = [part for part in parts if part.strip()]
    if len(set(lines)) < REPORT * len(lines):
        notes.append(f"{name}: most lines repeat each other, so it is taken for a report and not audited")
        lines = []
    return AuditTable(name, [{"line": line} for line in lines], lines=True)


def _within_bounds(rows: Iterator[Row]) -> list[Row]:
    """Take rows, each with columns of its own, as long as their table is no larger than is read.

    Raises:
        Fault: it is larger.
    """
    taken_rows: list[Row] = []
    columns: set[str] = set()
    cells = 0
    for row in rows:
        taken_rows.append(row)
        columns.update(row)
        cells += len(row)
        if len(columns) > bounds.COLUMNS:
            raise bounds.Fault(f"its rows have more than {bounds.COLUMNS:,} columns together, the most that are read")
        if len(taken_rows) > bounds.ROWS or cells > bounds.CELLS:
            raise bounds.Fault(f"it has more than {bounds.ROWS:,} rows or {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
    return taken_rows


def _read_json(name: str, text: str, notes: list[str]) -> Iterator[AuditTable]:
    content = bounds.json_value(text, as_written=True)
    if isinstance(content, dict):
        lists = {key: value for key, value in content.items() if _is_table(value)}
        if lists:
            for key, records in lists.items():
                yield AuditTable(name, _within_bounds(flat(record) for record in records), key)
        else:
            yield AuditTable(name, [flat(content)])
    elif _is_table(content) or (isinstance(content, list) and content and isinstance(content[0], dict)):
        yield AuditTable(name, _within_bounds(flat(record) if isinstance(record, dict) else {"value": _cell(record)} for record in content))  # fmt: skip
    elif isinstance(content, list):
        yield AuditTable(name, [{"dialogue": _cell(content)}] if content else [])
    else:
        notes.append(f"{name}: neither a list nor an object, not read")


def _is_table(value: object) -> bool:
    """Whether a value is a list of records, not the turns of one dialogue."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(record, dict) for record in value):
        return False
    return not (any(k in value[0] for k in _ROLE) and any(k in value[0] for k in _CONTENT))


def flat(record: dict[str, Any], prefix: str = "", depth: int = 0) -> Row:
    """Flatten a record: `item.label`; lists become lines, dialogues lines of `role: text`, options `A. text`."""
    row: Row = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]  # noqa: PLW2901 - a list of one record is the record
        if isinstance(value, dict) and key in _BULKY:
            continue
        if isinstance(value, dict) and depth < _DEPTH and not _is_options(value):
            row |= flat(value, f"{name}.", depth + 1)
        elif value is not None:
            row[name] = _cell(value)
    return row


def _is_options(value: dict[str, Any]) -> bool:
    return bool(value) and all(re.fullmatch(r"[A-Z]", key) for key in value)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if _is_options(value):
            return "\n".join(f"{letter}. {text}" for letter, text in value.items())
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, list):
        return "\n".join(_turn(part) for part in value)
    return str(value)


def _turn(part: Any) -> str:
    if isinstance(part, dict):
        role = next((str(part[key]) for key in _ROLE if key in part), "")
        content = next((str(part[key]) for key in _CONTENT if key in part), None)
        if content is not None:
            return f"{role}: {' '.join(content.split())}" if role else content
    return _cell(part)
