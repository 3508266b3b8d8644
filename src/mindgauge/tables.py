"""Reading what people bring: CSV, JSONL and Parquet tables, and JSON files, with the line of a fault.

Rows are dictionaries with the file's own column names; `line` numbers count from 1.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import math
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from mindgauge import bounds, confined, files
from mindgauge.errors import DataError
from mindgauge.files import File, Readable
from mindgauge.records import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import polars as pl

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_CONTROL = re.compile(r"[\x00\ud800-\udfff]")
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"  # full-width signs compute, too
_NEUTRALISED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")
_NUMBER = r"^[+-]?\d+(\.\d+)?$"


_PACKED = {b"\x1f\x8b": "packed with gzip", b"PK\x03\x04": "a zip or a workbook", b"PAR1": "Parquet"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_bytes(path: Readable) -> bytes:
    """Read a text file as UTF-8 without a byte order mark; null bytes become the replacement character.

    Raises:
        DataError: the file is missing, unreadable, larger than is read, or of another kind or encoding.
    """
    try:
        content = files.content(path).removeprefix(codecs.BOM_UTF8)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except OSError as error:
        raise DataError(f"{path}: cannot read it ({error.strerror})") from error
    what = next((what for mark, what in _PACKED.items() if content.startswith(mark)), None)
    if what is not None:
        raise DataError(f"{path}: expected text, found a file that is {what}; unpack it, or give it its own ending")
    if content.startswith(_UTF_16) or (content[1:2] == b"\0" and content[3:4] == b"\0") or content[:2] == b"\0\0":
        raise DataError(f"{path}: not UTF-8 at byte 0 (it looks like UTF-16); save it as UTF-8")
    nulls = content.count(b"\0")
    if nulls > 100 + len(content) // 100:
        raise DataError(f"{path}: not text: {nulls:,} of its bytes are null; save it again")
    return content.replace(b"\0", _REPLACEMENT) if nulls else content


def refuse_encoding(path: Readable, content: bytes, encoding: str = "UTF-8", advice: str = "save it as UTF-8") -> None:
    """Say where a file is not of an encoding, and what to do.

    Raises:
        DataError: somewhere.
    """
    decoder, size = (
        codecs.getincrementaldecoder(encoding)(),
        1 << 20,
    )  # in pieces: a text takes up to four times its bytes
    for start in range(0, len(content), size):
        kept = len(decoder.getstate()[0])
        try:
            decoder.decode(content[start : start + size], final=start + size >= len(content))
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: not {encoding} at byte {start - kept + error.start}; {advice}") from error


def read_text(path: Readable) -> str:
    """Read a UTF-8 file, with or without a byte order mark; see `read_bytes`.

    Raises:
        DataError: the file is missing, unreadable, larger than is read, or not UTF-8.
    """
    content = read_bytes(path)
    refuse_encoding(path, content)
    return content.decode()  # as written: newlines inside cells stay what they are


@contextlib.contextmanager
def faults(path: Readable, content: bytes) -> Iterator[None]:
    """Say of a file what is wrong with what stands in it.

    Raises:
        DataError: what `bounds` finds.
    """
    try:
        yield
    except bounds.Fault as fault:
        raise DataError(fault.at(path)) from fault
    except UnicodeDecodeError:
        refuse_encoding(path, content)
        raise


def read_json(path: Readable) -> Any:
    """Read a JSON file; NaN and Infinity, which spreadsheets and Python write but JSON lacks, become None.

    Raises:
        DataError: the file cannot be read, is broken, or holds more than is read; the message names the line.
    """
    with faults(path, b""):
        return bounds.json_value(read_text(path))


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
    content = read_bytes(path)
    with faults(path, content):
        table = bounds.rows(content, delimiter)
        line, names = next(table, (0, []))
        bounds.refuse_twice(names, line)
        for number, cells in table:
            if len(cells) > len(names):
                raise bounds.Fault("more cells than the header has columns", number)
            yield number, {name: cell for name, cell in zip(names, cells, strict=False) if cell and name}


def _read_jsonl(path: Readable) -> Iterator[tuple[int, dict[str, Any]]]:
    content = read_bytes(path)
    names: set[str] = set()
    with faults(path, content):
        for number, row in bounds.json_lines(content):
            if not isinstance(row, dict):
                raise bounds.Fault(f"expected an object, found {type(row).__name__}", number)
            names.update(row)
            if len(names) > bounds.COLUMNS:
                raise bounds.Fault(f"its rows have more than {bounds.COLUMNS:,} columns (keys) together, the most that are read; leave out those that are not needed", number)  # fmt: skip
            yield number, row


def _read_parquet(path: Readable) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from _rows(without_nulls(confined.parquet(path)))


def without_nulls(frame: pl.DataFrame) -> pl.DataFrame:
    """Put the replacement character for null characters in texts, which no store can carry."""
    import polars as pl

    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    odd = [name for name in texts if frame[name].str.contains("\0", literal=True).any()]
    return (
        frame.with_columns(pl.col(odd).str.replace_all("\0", "\N{REPLACEMENT CHARACTER}", literal=True))
        if odd
        else frame
    )


def csv_frame(path: Readable, delimiter: str, *, ragged: bool = False, lossy: bool = False) -> pl.DataFrame:
    """Read a CSV file fast, all columns as text; where that fails, the slow reader says in which line and why.

    Args:
        path: the file.
        delimiter: between cells.
        ragged: leave out what a row has beyond the header.
        lossy: put the replacement character for bytes that are not UTF-8.

    Raises:
        DataError: it cannot be read, has no rows, two columns of one name, or more than is read.
    """
    import polars as pl

    content = read_bytes(path)
    if lossy:
        content = _lossy(content)
    else:
        refuse_encoding(path, content)
    with faults(path, content):
        line, names = next(bounds.rows(content, delimiter, strict=not lossy), (0, []))
        bounds.refuse_twice(names, line)
        most = min(bounds.ROWS, bounds.CELLS // max(1, len(names)))
        try:
            frame = pl.read_csv(
                io.BytesIO(content),
                infer_schema=False,
                separator=delimiter,
                n_rows=most + 1,
                truncate_ragged_lines=ragged,
            )
        except pl.exceptions.NoDataError as error:
            raise DataError(f"{path}: no rows in it (an empty file)") from error
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            for number, cells in bounds.rows(content, delimiter):
                if len(cells) > len(names):
                    raise bounds.Fault("more cells than the header has columns", number) from error
            raise DataError(f"{path}: cannot read it ({' '.join(str(error).split())[:200]})") from error
        if frame.height > most:
            raise bounds.Fault(f"it has more than {most:,} rows of {len(names)} columns, the most that are read; split it into several files")  # fmt: skip
        if len(content) > bounds.CELL:
            _refuse_long_cells(frame)
    return frame


def _refuse_long_cells(frame: pl.DataFrame) -> None:
    import polars as pl

    for name, longest in frame.select(pl.all().str.len_bytes().max()).row(0, named=True).items():
        if (longest or 0) > bounds.CELL and (length := frame[name].str.len_chars().max()) > bounds.CELL:  # type: ignore[operator]
            raise bounds.Fault(bounds.excess(length, f"characters in a cell of the column {name[:60]!r}", bounds.CELL))  # type: ignore[arg-type]


def _lossy(content: bytes) -> bytes:
    """Put the replacement character for bytes that are not UTF-8, a megabyte at a time."""
    decoder, size = codecs.getincrementaldecoder("utf-8")("replace"), 1 << 20
    starts = range(0, len(content), size)
    return b"".join(decoder.decode(content[at : at + size], final=at == starts[-1]).encode() for at in starts)


def json_frame(path: Readable, columns: Collection[str]) -> pl.DataFrame:
    """Read the columns of a file of JSON lines that are wanted, as text: fast where its rows are plain, else one by one.

    A column of which all is null or missing stands there only if one of the first rows names it.

    Raises:
        DataError: it cannot be read, is broken, or has more than is read; or a wanted column holds lists or objects.
    """
    import polars as pl

    content = read_bytes(path)
    with faults(path, content):
        first = [row for _, row in islice(bounds.json_lines(content), 100)]
    if not all(isinstance(row, dict) for row in first):
        _all_rows(path)
    names = dict.fromkeys(name for row in first for name in row)
    frame = _plain_lines(content, columns) if len(names) <= bounds.COLUMNS else None
    if frame is None:
        frame = _text_columns(path, columns)
    else:
        refuse_encoding(path, content)
    if frame.height * max(1, frame.width) > bounds.CELLS or frame.height > bounds.ROWS:
        raise DataError(f"{path}: {bounds.excess(frame.height, f'rows of {frame.width} columns', min(bounds.ROWS, bounds.CELLS // frame.width))}")  # fmt: skip
    absent = [name for name in frame.columns if name not in names and frame[name].null_count() == frame.height]
    others = [pl.lit(None, pl.Null).alias(name) for name in names if name not in columns]
    return frame.drop(absent).with_columns(others)


_ESCAPED = re.compile(rb"""\\u(?:[dD][89a-fA-F]|0000)|\\u[0-9a-fA-F]{4}[^"\\]{0,64}"\s*:""")
"""Halves of characters, null characters, and keys that are not written out."""


def _plain_lines(content: bytes, columns: Collection[str]) -> pl.DataFrame | None:
    """Read columns of rows without lists and objects in which no key stands twice; None if there may be other rows."""
    import polars as pl

    if b"[" in content or _ESCAPED.search(content):
        return None
    try:
        frame = pl.read_ndjson(io.BytesIO(content), schema=dict.fromkeys(columns, pl.String), n_rows=bounds.ROWS + 1)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    if content.count(b"{") != frame.height:
        return None
    lines: pl.Series | None = None
    for name in columns:
        key = f'"{name}"'.encode()
        count = content.count(key)
        if count in {0, frame.height} and not (count and frame[name].null_count()):
            continue
        if lines is None:
            lines = pl.Series(content.split(b"\n"), dtype=pl.Binary).cast(pl.String, strict=False)
        if (lines.str.count_matches(key.decode(), literal=True).max() or 0) > 1:  # type: ignore[operator]
            return None
    return frame


def _text_columns(path: Readable, columns: Collection[str]) -> pl.DataFrame:
    import polars as pl

    found: dict[str, list[str | None]] = {name: [] for name in columns}
    for number, row in _read_jsonl(path):
        for name, cells in found.items():
            cell = row.get(name)
            if isinstance(cell, list | dict):
                raise DataError(
                    f"{path}:{number}: the column {name} holds lists or objects; one value per row is needed"
                )
            cells.append(cell if cell is None or isinstance(cell, str) else str(cell).lower() if isinstance(cell, bool) else str(cell))  # fmt: skip
    return pl.DataFrame(found, schema=dict.fromkeys(columns, pl.String))


def _all_rows(path: Readable) -> None:
    for _ in _read_jsonl(path):
        pass


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
            messages = bounds.json_value(messages)
        except bounds.Fault as error:
            raise DataError(f"{where}: the column `messages` is not JSON ({error})") from error
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
    if not number.is_integer() or abs(number) >= 2**53:
        raise DataError(f"{where}: {name} must be a whole number, found {str(value)[:60]!r}")
    return int(number)
