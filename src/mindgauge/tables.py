"""Reading what people bring: CSV, JSONL and Parquet tables, and JSON files, with the line of a fault.

Rows are dictionaries with the file's own column names; `line` numbers count from 1.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from mindgauge.errors import DataError
from mindgauge.files import File, Readable
from mindgauge.records import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

csv.field_size_limit(2**31 - 1)
_CONTROL = re.compile(r"[\x00\ud800-\udfff]")
_FORMULA = r"^'*[=+\-@\t\r]"
_NEUTRALISED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = r"^[+-]?\d+(\.\d+)?$"


def read_text(path: Readable) -> str:
    """Read a UTF-8 file, with or without a byte order mark.

    Raises:
        DataError: the file is missing, unreadable or not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")  # as written: newlines inside cells stay what they are
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except OSError as error:
        raise DataError(f"{path}: cannot read it ({error.strerror})") from error


def read_json(path: Readable) -> Any:
    """Read a JSON file; NaN and Infinity, which spreadsheets and Python write but JSON lacks, become None.

    Raises:
        DataError: the file cannot be read, or is broken; the message names the line.
    """
    text = read_text(path)
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: broken JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: broken JSON ({_broken(error)})") from error


def _broken(error: Exception) -> str:
    """Say what Python's reader of JSON stumbled over; it takes no depth and no number of thousands."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "nested too deeply" if isinstance(error, RecursionError) else "a number of thousands of digits"


def read_records(path: Readable) -> list[dict[str, Any]]:
    """Read a JSON file that holds a list of objects.

    Raises:
        DataError: it holds something else, or cannot be read.
    """
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: expected a list of objects, found {type(rows).__name__}")
    return rows


class Frame(Protocol):
    """A polars, pandas or Arrow table: whatever hands its columns over as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def read_table(source: str | Readable | Frame) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a CSV, JSONL or Parquet file as (line, row) pairs, or a table in memory; a file's name says its kind.

    Raises:
        DataError: the file is missing, of another kind, or broken; the message names the line.
    """
    if not isinstance(source, str | Path | File):
        yield from _rows(_frame(source))
        return
    path = Path(source) if isinstance(source, str) else source
    if isinstance(path, Path) and not path.is_file():
        raise DataError(f"{path}: no such file")
    match path.suffix.lower():
        case ".csv" | ".tsv":
            yield from _read_csv(path)
        case ".jsonl" | ".ndjson":
            yield from _read_jsonl(path)
        case ".parquet":
            yield from _read_parquet(path)
        case suffix:
            raise DataError(f"{path}: expected .csv, .jsonl or .parquet, found {suffix or 'no ending'}")


def _read_csv(path: Readable) -> Iterator[tuple[int, dict[str, Any]]]:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if None in row:
                raise DataError(f"{path}:{reader.line_num}: more cells than the header has columns")
            yield reader.line_num, {name: cell for name, cell in row.items() if cell not in {"", None}}
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: broken CSV ({error})") from error


def _read_jsonl(path: Readable) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}:{number}: broken JSON ({_broken(error)})") from error
        if not isinstance(row, dict):
            raise DataError(f"{path}:{number}: expected an object, found {type(row).__name__}")
        yield number, row


def _read_parquet(path: Readable) -> Iterator[tuple[int, dict[str, Any]]]:
    import polars as pl

    try:
        frame = pl.read_parquet(path if isinstance(path, Path) else path.read_bytes())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path}: not a Parquet file ({error})") from error
    yield from _rows(frame)


def _frame(source: Frame) -> pl.DataFrame:
    import polars as pl

    if not hasattr(source, "__arrow_c_stream__"):
        raise DataError(f"expected a path or a polars, pandas or Arrow table, found {type(source).__name__}")
    return pl.DataFrame(source)


def _rows(frame: pl.DataFrame) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, row in enumerate(frame.iter_rows(named=True), 1):
        yield number, {name: cell for name, cell in row.items() if cell is not None}


def neutralised(rows: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before all text that a spreadsheet could take for a formula."""
    import polars as pl

    return rows.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA) & ~(pl.lit(name == "value") & pl.col(name).str.contains(_NUMBER)))
        .then("'" + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name, kind in rows.schema.items()
        if kind == pl.String
    )


def restored(cell: str) -> str:
    """Take away the apostrophe that `neutralised` put before a text."""
    return cell[1:] if _NEUTRALISED.match(cell) else cell


def clean(text: str) -> str:
    """Replace what no store or protocol can carry (null bytes, lone surrogates) by the replacement character."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def dialogue(row: Mapping[str, Any], where: str) -> tuple[Message, ...]:
    """Read the dialogue of a row: `user` (one message) or `messages` (a list, in a CSV as JSON).

    Raises:
        DataError: neither is there, or the messages are not messages; the text names `where`.
    """
    messages = row.get("messages")
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: the column `messages` is not JSON ({_broken(error)})") from error
    if messages is None and isinstance(row.get("user"), str):
        messages = [{"role": "user", "content": row["user"]}]
    if messages is None:
        raise DataError(
            f"{where}: needs `user` (one message) or `messages` (a list), found {', '.join(row) or 'nothing'}"
        )
    try:
        found = msgspec.convert(messages, tuple[Message, ...])
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: not a list of messages ({error})") from error
    if not any(message.content.strip() for message in found):
        raise DataError(f"{where}: an empty dialogue")
    return tuple(Message(message.role, clean(message.content)) for message in found)


def whole(value: object, where: str, name: str) -> int:
    """Read a whole number from a cell.

    Raises:
        DataError: it is something else.
    """
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever is no number raises
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not number.is_integer():
        raise DataError(f"{where}: {name} must be a whole number, found {value!r}")
    return int(number)
