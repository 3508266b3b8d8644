"""From a file's bytes to tables: rows of named cells, nested ones flattened, with remarks on what was odd."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.analysis.audit.reading.members import natural

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
        except RecursionError:
            notes.append(f"{member.name}: nested too deeply, not read")
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
    text = content.decode("utf-8", "replace")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        notes.append(f"{member.name}: not UTF-8 at byte {error.start}; what cannot be read is U+FFFD")
    if text.startswith("\ufeff"):
        notes.append(f"{member.name}: begins with a byte order mark, which some readers take for a part of the first column's name")  # fmt: skip
        text = text[1:]
    return text


def _read(member: Member, notes: list[str]) -> Iterator[Table]:
    match PurePosixPath(member.name).suffix.lower():
        case ".csv" | ".tsv":
            yield from _read_csv(member, notes)
        case ".txt":
            yield _lines(member.name, decode(member, notes), notes)
        case ".jsonl" | ".ndjson":
            yield Table(member.name, list(_read_jsonl(member, notes)))
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
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            yield Table(member.name, list(_named(rows, member.name, notes)))
        except csv.Error as error:
            notes.append(f"{member.name}: broken CSV ({error}), not read")


def _named(rows: Iterator[list[str]], name: str, notes: list[str]) -> Iterator[Row]:
    header = next(rows, [])
    columns = _headers(header, name, notes)
    ragged = 0
    for cells in rows:
        if cells:
            ragged += len(cells) != len(columns)
            yield dict(zip(columns, cells, strict=False))
    if ragged:
        notes.append(f"{name}: {ragged} rows with more or fewer cells than the header")


def _headers(header: list[str], name: str, notes: list[str]) -> list[str]:
    """Return column names without blanks around them; say which had them, had no name, or came twice."""
    columns: list[str] = []
    for number, column in enumerate(header):
        bare = column.strip()
        if bare != column and bare:
            notes.append(f"{name}: the column name {column!r} has blanks around it")
        if not bare or re.fullmatch(r"Unnamed: \d+", bare):
            notes.append(f"{name}: column {number} has no name")
            bare = bare or f"column {number}"
        if bare in columns:
            notes.append(f"{name}: the column {bare!r} occurs twice")
            bare = f"{bare} ({number})"
        columns.append(bare)
    return columns


def _read_jsonl(member: Member, notes: list[str]) -> Iterator[Row]:
    for number, line in enumerate(decode(member, notes).split("\n")):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_constant=str)
        except json.JSONDecodeError as error:
            notes.append(f"{member.name}:{number}: broken JSON ({error.msg}), not read")
            continue
        yield flat(record if isinstance(record, dict) else {"value": record})


def _read_json(member: Member, notes: list[str]) -> Iterator[Table]:
    try:
        content = json.loads(decode(member, notes), parse_constant=str)
    except json.JSONDecodeError as error:
        notes.append(f"{member.name}:{error.lineno}: broken JSON ({error.msg}), not read")
        return
    if isinstance(content, dict):
        lists = {key: value for key, value in content.items() if _is_table(value)}
        if lists:
            for key, records in lists.items():
                yield Table(member.name, [flat(record) for record in records], key)
        else:
            yield Table(member.name, [flat(content)])
    elif _is_table(content) or (isinstance(content, list) and content and isinstance(content[0], dict)):
        yield Table(member.name, [flat(record) if isinstance(record, dict) else {"value": _cell(record)} for record in content])  # fmt: skip
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
    import polars as pl

    source = io.BytesIO(member.content)
    try:
        if member.name.lower().endswith(".parquet"):
            sheets = {"": pl.read_parquet(source)}
        else:
            sheets = pl.read_excel(source, sheet_id=0, infer_schema_length=0, raise_if_empty=False)
    except Exception as error:  # noqa: BLE001 - the readers raise what their Rust parts raise
        notes.append(f"{member.name}: cannot be read ({' '.join(str(error).split())[:120]})")
        return
    for sheet, frame in sheets.items():
        columns = _headers(frame.columns, member.name, notes)
        rows = [
            {name: _cell(cell) for name, cell in zip(columns, cells, strict=True) if cell is not None}
            for cells in frame.iter_rows()
        ]
        yield Table(member.name, rows, sheet if len(sheets) > 1 else "")


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
