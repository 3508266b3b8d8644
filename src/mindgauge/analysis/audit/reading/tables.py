"""From a file's bytes to tables: rows of named cells, nested ones flattened, with remarks on what was odd."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge import bounds, confined
from mindgauge.analysis.audit.reading.members import natural
from mindgauge.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.analysis.audit.reading.members import Member

Row = dict[str, str]
_ROLE, _CONTENT = ("role", "speaker", "author", "from"), ("content", "text", "utterance", "value")
_BULKY = {"usage", "logprobs", "raw"}
_BLOCK = re.compile(r"^(?=<BEGIN>)", re.MULTILINE)
REPORT = 0.5
"""A text of which fewer lines than this are distinct is no list of items."""
_DEPTH = 4
_NAMED = 100
"""Broken lines of a file that are named each for itself."""


class Table(NamedTuple):
    """Rows of one file, sheet or list inside a file. `part` names the latter two; `lines` marks a text without columns."""

    file: str
    rows: list[Row]
    part: str = ""
    lines: bool = False

    @property
    def name(self) -> str:
        """Its file and part."""
        return f"{self.file}#{self.part}" if self.part else self.file


def tables(members: Iterable[Member], notes: list[str]) -> list[Table]:
    """Read members into tables; files that hold one record each become one table per folder."""
    found: list[Table] = []
    single: dict[str, list[tuple[str, Row]]] = {}
    for member in members:
        try:
            parsed = list(_read(member, notes))
        except bounds.Fault as fault:
            notes.append(f"{fault.at(member.name)}, not read")
            continue
        except DataError as error:
            notes.append(f"{error}, not read")
            continue
        for table in parsed:
            if len(parsed) == 1 and len(table.rows) == 1 and member.name.endswith(".json"):
                folder = str(PurePosixPath(member.name).parent)
                single.setdefault(folder, []).append((member.name, table.rows[0]))
            elif table.rows:
                found.append(table)
            elif not table.lines:
                notes.append(f"{table.name}: no rows")
    for folder, records in single.items():
        if len(records) == 1:
            found.append(Table(records[0][0], [records[0][1]]))
        else:
            found.append(Table(folder, [row for _, row in sorted(records, key=lambda r: natural(r[0]))]))
    return found


def decode(member: Member, notes: list[str]) -> str:
    """Decode a file: UTF-8, or UTF-16 with its mark; bytes that are neither become the replacement character."""
    content = member.content
    if content[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        notes.append(f"{member.name}: UTF-16, read as such")
        return content.decode("utf-16", "replace")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        text = content.decode("utf-8", "replace")
        notes.append(f"{member.name}: not UTF-8 at byte {error.start}; what cannot be read is U+FFFD")
    if text.startswith("\ufeff"):
        notes.append(f"{member.name}: begins with a byte order mark, which some readers take for a part of the first column's name")  # fmt: skip
        text = text[1:]
    return text


def _read(member: Member, notes: list[str]) -> Iterator[Table]:
    suffix = PurePosixPath(member.name).suffix.lower()
    if suffix in {".csv", ".tsv", ".txt", ".jsonl", ".ndjson"}:
        bounds.refuse_lines(member.content, quotes=suffix in {".csv", ".tsv"})
    match suffix:
        case ".csv" | ".tsv":
            yield from _read_csv(member, notes)
        case ".txt":
            yield _lines(member.name, decode(member, notes), notes)
        case ".jsonl" | ".ndjson":
            yield Table(member.name, _within_bounds(_read_jsonl(member, notes)))
        case ".json":
            yield from _read_json(member, notes)
        case _:
            yield from _read_binary(member, notes)


def _lines(name: str, text: str, notes: list[str]) -> Table:
    """Read a text: blocks that begin with <BEGIN>, or else lines; row numbers are those of the blocks or lines."""
    parts = _BLOCK.split(text)[1:] if len(_BLOCK.findall(text)) > 1 else text.splitlines()
    lines = [part for part in parts if part.strip()]
    if len(set(lines)) < REPORT * len(lines):
        notes.append(f"{name}: most lines repeat each other, so it is taken for a report and not audited")
        lines = []
    return Table(name, [{"line": line} for line in lines], lines=True)


def _read_csv(member: Member, notes: list[str]) -> Iterator[Table]:
    text = decode(member, notes)
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t|", key=head.count)
    if not text.strip():
        yield Table(member.name, [])
    elif member.name.lower().endswith(".tsv") and "\t" not in head:
        notes.append(f"{member.name}: no tab in it, read line by line")
        yield _lines(member.name, text, notes)
    else:
        rows = bounds.rows(text.encode(), delimiter, strict=False)
        yield Table(member.name, list(_named((cells for _, cells in rows), member.name, notes)))


def _named(rows: Iterator[list[str]], name: str, notes: list[str]) -> Iterator[Row]:
    header = next(rows, [])
    columns = _headers(header, name, notes)
    ragged = 0
    for cells in rows:
        ragged += len(cells) != len(columns)
        yield dict(zip(columns, cells, strict=False))
    if ragged:
        notes.append(f"{name}: {ragged} rows with more or fewer cells than the header")


def _headers(header: list[str], name: str, notes: list[str]) -> list[str]:
    """Return column names without blanks around them; say which had them, had no name, or came twice."""
    columns: dict[str, None] = {}
    unnamed: list[int] = []
    for number, column in enumerate(header):
        bare = column.strip()
        if bare != column and bare:
            notes.append(f"{name}: the column name {column!r} has blanks around it")
        if not bare or re.fullmatch(r"Unnamed: \d+", bare):
            unnamed.append(number)
            bare = bare or f"column {number}"
        if bare in columns:
            notes.append(f"{name}: the column {bare!r} occurs twice")
            bare = f"{bare} ({number})"
        columns[bare] = None
    if unnamed:
        several = f"s {', '.join(map(str, unnamed[:10]))}{', …' if len(unnamed) > 10 else ''} have"
        notes.append(f"{name}: column{several if len(unnamed) > 1 else f' {unnamed[0]} has'} no name")
    return list(columns)


def _read_jsonl(member: Member, notes: list[str]) -> Iterator[Row]:
    broken = 0
    for number, line in enumerate(decode(member, notes).split("\n")):
        if not line.strip():
            continue
        if len(line) > bounds.ROW:
            notes.append(f"{member.name}:{number}: {len(line):,} characters in a line, of which at most {bounds.ROW:,} are read, not read")  # fmt: skip
            continue
        try:
            record = bounds.json_value(line, as_written=True)
        except bounds.Fault as fault:
            broken += 1
            if broken <= _NAMED:
                notes.append(f"{member.name}:{number}: {fault}, not read")
            continue
        yield flat(record if isinstance(record, dict) else {"value": record})
    if broken > _NAMED:
        notes.append(f"{member.name}: {broken - _NAMED:,} more lines are broken JSON, not read")


def _within_bounds(rows: Iterator[Row]) -> list[Row]:
    """Take rows, each with columns of its own, as long as their table is no larger than is read.

    Raises:
        Fault: it is larger.
    """
    found: list[Row] = []
    columns: set[str] = set()
    cells = 0
    for row in rows:
        found.append(row)
        columns.update(row)
        cells += len(row)
        if len(columns) > bounds.COLUMNS:
            raise bounds.Fault(f"its rows have more than {bounds.COLUMNS:,} columns together, the most that are read")
        if len(found) > bounds.ROWS or cells > bounds.CELLS:
            raise bounds.Fault(f"it has more than {bounds.ROWS:,} rows or {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
    return found


def _read_json(member: Member, notes: list[str]) -> Iterator[Table]:
    content = bounds.json_value(decode(member, notes), as_written=True)
    if isinstance(content, dict):
        lists = {key: value for key, value in content.items() if _is_table(value)}
        if lists:
            for key, records in lists.items():
                yield Table(member.name, _within_bounds(flat(record) for record in records), key)
        else:
            yield Table(member.name, [flat(content)])
    elif _is_table(content) or (isinstance(content, list) and content and isinstance(content[0], dict)):
        yield Table(member.name, _within_bounds(flat(record) if isinstance(record, dict) else {"value": _cell(record)} for record in content))  # fmt: skip
    elif isinstance(content, list):
        yield Table(member.name, [{"dialogue": _cell(content)}] if content else [])
    else:
        notes.append(f"{member.name}: neither a list nor an object, not read")


def _is_table(value: object) -> bool:
    """Whether a value is a list of records, not the turns of one dialogue."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(record, dict) for record in value):
        return False
    return not (any(k in value[0] for k in _ROLE) and any(k in value[0] for k in _CONTENT))


def _read_binary(member: Member, notes: list[str]) -> Iterator[Table]:
    if member.name.lower().endswith(".parquet"):
        frame = confined.parquet(member.content, member.name)
        columns = _headers(frame.columns, member.name, notes)
        yield Table(member.name, [_filled(columns, cells) for cells in frame.iter_rows()])
        return
    sheets = confined.workbook(member.content, member.name)
    for sheet, frame in sheets.items():
        rows = [cells for cells in frame.iter_rows() if any(cell not in {None, ""} for cell in cells)]
        columns = _headers([cell or "" for cell in rows[0]], member.name, notes) if rows else []
        yield Table(member.name, [_filled(columns, cells) for cells in rows[1:]], sheet if len(sheets) > 1 else "")


def _filled(columns: list[str], cells: tuple[Any, ...]) -> Row:
    return {name: _cell(cell) for name, cell in zip(columns, cells, strict=True) if cell is not None}


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
