"""The texts of what people bring: files in any encoding, JSON, and what stands in a cell."""

from __future__ import annotations

import codecs
import contextlib
import math
import re
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder
from mindgauge.records.records import Message
from mindgauge.records.text import UNSEEN, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import polars as pl

    from mindgauge.records.files.folder import Readable

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"  # full-width signs compute, too
_NEUTRALISED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")
SAID = {"reply", "user", "messages"}
"""Columns in which an empty text is a text."""
_NUMBER = r"^[+-]?\d+(\.\d+)?$"
_PACKED = {b"\x1f\x8b": "packed with gzip", b"PK\x03\x04": "a zip or a workbook", b"PAR1": "Parquet"}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_WIDE = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le",
    (True, True, True, False): "utf-32-be",
}
"""Which of the first four bytes are null where a text begins in Latin letters."""
_PIECE = 1 << 20
"""Bytes that are decoded at once: a text takes up to four times its bytes."""


class Frame(Protocol):
    """A polars, pandas or Arrow table: whatever hands its columns over as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def decoded(path: Readable, encoding: str = "", notes: list[str] | None = None) -> bytes:
    """Read a text file as UTF-8 without a byte order mark; null bytes become the replacement character.

    UTF-16 is known by its mark. Whether what has none is UTF-8 is seen by whoever decodes it; see `faults`.

    Args:
        path: the file.
        encoding: of the file, where it is neither UTF-8 nor UTF-16 with its mark.
        notes: where to say what is odd; what is not of the encoding then becomes the replacement character.

    Raises:
        DataError: the file is missing, unreadable, larger than is read, or of another kind or encoding.
    """
    try:
        content = folder.content(path)
        b"a".decode(encoding or "utf-8", "replace")
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except OSError as error:
        raise DataError(f"{path}: cannot read it ({error.strerror})") from error
    except (LookupError, ValueError) as error:
        raise DataError(f"{path}: unknown encoding: {encoding[:60]}; name one of texts, as gb18030") from error
    kind = next((kind for mark, kind in _PACKED.items() if content.startswith(mark)), None)
    if kind is not None:
        raise DataError(f"{path}: expected text, found a file that is {kind}; unpack it, or give it its own ending")
    if not encoding and _is_utf_16(path, content):
        encoding = "utf-16"
        if notes is not None:
            notes.append(f"{path}: UTF-16, read as such")
    if encoding and codecs.lookup(encoding).name != "utf-8":
        if notes is None:
            refuse_encoding(path, content, encoding, "name another encoding with --map encoding=NAME")
        content = _recoded(content, encoding)
    elif notes is not None:
        content = _mended(path, content, notes)
    return _without_nulls(path, content.removeprefix(codecs.BOM_UTF8))


def _is_utf_16(path: Readable, content: bytes) -> bool:
    """Say whether a file has the mark of UTF-16. That of UTF-32 may begin like it, and is refused."""
    if content.startswith(_UTF_32):
        raise DataError(f"{path}: not UTF-8 at byte 0 (it looks like UTF-32); save it as UTF-8, or say --map encoding=utf-32")  # fmt: skip
    return content.startswith(UTF_16)


def _without_nulls(path: Readable, content: bytes) -> bytes:
    nulls = content.count(b"\0")
    if not nulls:
        return content
    null = tuple(byte == 0 for byte in content[:4])
    if null in _WIDE:
        encoding = _WIDE[null]
        raise DataError(f"{path}: not UTF-8 at byte 0 (it looks like {encoding[:6].upper()}); save it as UTF-8, or say --map encoding={encoding}")  # fmt: skip
    if nulls > 100 + len(content) // 100:
        raise DataError(f"{path}: not text: {nulls:,} of its bytes are null; save it again")
    return content.replace(b"\0", _REPLACEMENT)


def _mended(path: Readable, content: bytes, notes: list[str]) -> bytes:
    if content.startswith(codecs.BOM_UTF8):
        notes.append(f"{path}: begins with a byte order mark, which some readers take for a part of the first column's name")  # fmt: skip
    position = _fault(content.removeprefix(codecs.BOM_UTF8), "utf-8")
    if position is None:
        return content
    notes.append(f"{path}: not UTF-8 at byte {position}; what cannot be read is U+FFFD")
    return _recoded(content, "utf-8")


def _recoded(content: bytes, encoding: str) -> bytes:
    """Write bytes of an encoding as UTF-8; what is not of it becomes the replacement character."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    starts = range(0, len(content), _PIECE)
    pieces = (decoder.decode(content[start : start + _PIECE], final=start == starts[-1]) for start in starts)
    return b"".join(piece.encode("utf-8", "replace") for piece in pieces)


def _fault(content: bytes, encoding: str) -> int | None:
    """Return the first byte that is not of an encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for start in range(0, len(content), _PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(content[start : start + _PIECE], final=start + _PIECE >= len(content))
        except UnicodeDecodeError as error:
            return start - pending + error.start
        except UnicodeError:  # UTF-16 that ends within a character
            return len(content) - 1
    return None


def refuse_encoding(path: object, content: bytes, encoding: str = "UTF-8", advice: str = "") -> None:
    """Say where a file is not of an encoding, and what to do.

    Raises:
        DataError: somewhere.
    """
    position = _fault(content, encoding)
    if position is not None:
        raise DataError(f"{path}: not {encoding} at byte {position}; {advice or _OTHERWISE}")


_OTHERWISE = (
    "save it as UTF-8, or name its encoding: --map encoding=cp1252 (Western Europe), gb18030 (Chinese) or another"
)


def read_text(path: Readable, encoding: str = "") -> str:
    """Read a text file, newlines inside cells as they are; see `decoded`.

    Raises:
        DataError: the file is missing, unreadable, larger than is read, or in another encoding.
    """
    content = decoded(path, encoding)
    refuse_encoding(path, content)
    return content.decode()


@contextlib.contextmanager
def faults(path: object, content: bytes) -> Iterator[None]:
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


def read_json(path: Readable, encoding: str = "", *, as_written: bool = False, mended: bool = True) -> Any:
    """Read a JSON file; NaN and Infinity, which spreadsheets and Python write but JSON lacks, become None.

    `as_written` and `mended` are those of `bounds.json_value`.

    Raises:
        DataError: the file cannot be read, is broken, or holds more than is read; the message names the line.
    """
    with faults(path, b""):
        return bounds.json_value(read_text(path, encoding), as_written=as_written, mended=mended)


def read_records(
    path: Readable, encoding: str = "", *, as_written: bool = False, mended: bool = True
) -> list[dict[str, Any]]:
    """Read a JSON file that holds a list of objects, or an object with one, as interfaces answer: `{"data": […], "meta": {…}}`.

    Raises:
        DataError: it holds something else, or cannot be read; see `read_json`.
    """
    rows = unwrapped(read_json(path, encoding, as_written=as_written, mended=mended), path)
    if not isinstance(rows, list):
        raise DataError(f"{path}: expected a list of objects, found {type(rows).__name__}")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError(f"{path}: expected a list of objects, found {type(row).__name__} as entry {number}")
    return rows


def unwrapped(value: Any, path: object) -> Any:
    """Return the only list of objects that an object holds; what is no such object stays as it is.

    Raises:
        DataError: it holds several.
    """
    if not isinstance(value, dict):
        return value
    lists = {
        name: part
        for name, part in value.items()
        if isinstance(part, list) and part and all(isinstance(row, dict) for row in part)
    }
    if len(lists) > 1:
        raise DataError(f"{path}: expected a list of objects, found several ({', '.join(lists)}); write one to a file of its own")  # fmt: skip
    return next(iter(lists.values()), value)


def neutralised(rows: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before all text that a spreadsheet could take for a formula, and leave out invisible characters, also of headers."""
    import polars as pl

    names: dict[str, str] = {}
    for place, name in enumerate(rows.columns, 1):
        names[name] = f"{shown(name)} ({place})" if shown(name) in names.values() else shown(name)
    rows = rows.rename(names)
    hidden = [name for name, kind in rows.schema.items() if kind == pl.String and rows[name].str.contains(UNSEEN).any()]
    rows = rows.with_columns(pl.col(hidden).map_elements(shown, pl.String)) if hidden else rows
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


def filled(row: Mapping[str, Any], said: Collection[str] = SAID) -> dict[str, Any]:
    """Return the cells of a row that say something; one that is empty, null or no number is not there.

    Args:
        row: name → cell.
        said: the columns in which an empty text is a text.
    """
    return {name: cell for name, cell in row.items() if not _empty(cell) or (name in said and isinstance(cell, str))}


def _empty(cell: object) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def words(row: Mapping[str, Any], *names: str) -> dict[str, str]:
    """Return the cells of some columns as text, those that are there; a table may have made 1.0 of 1."""
    cells = {name: row[name] for name in names if name in row}
    normalised = {name: int(c) if isinstance(c, float) and c.is_integer() else c for name, c in cells.items()}
    return {name: bounds.clean(str(cell)).strip() for name, cell in normalised.items()}


def dialogue(row: Mapping[str, Any], place: str) -> tuple[Message, ...]:
    """Read the dialogue of a row: `user` (one message) or `messages` (a list, in a CSV as JSON).

    Raises:
        DataError: neither is there, they are empty, or the messages are not messages; the text names `place`.
    """
    dialogue_read = messages(row, place)
    if not any(message.content.strip() for message in dialogue_read):
        raise DataError(f"{place}: an empty dialogue")
    return dialogue_read


def messages(row: Mapping[str, Any], place: str) -> tuple[Message, ...]:
    """Read the same, which may be empty.

    Raises:
        DataError: neither is there, or the messages are not messages; the text names `place`.
    """
    turns = row.get("messages")
    if isinstance(turns, str):
        try:
            turns = bounds.json_value(turns)
        except bounds.Fault as error:
            raise DataError(f"{place}: the column `messages` is not JSON ({error})") from error
    if turns is None and isinstance(row.get("user"), str):
        turns = [{"role": "user", "content": row["user"]}]
    if turns is None:
        raise DataError(
            f"{place}: needs `user` (one message) or `messages` (a list), found {', '.join(row) or 'nothing'}"
        )
    try:
        dialogue_read = msgspec.convert(turns, tuple[Message, ...])
    except msgspec.ValidationError as error:
        raise DataError(f"{place}: not a list of messages ({error})") from error
    return tuple(m if m.content == (text := bounds.clean(m.content)) else Message(m.role, text) for m in dialogue_read)


def whole(value: object, place: str, name: str) -> int:
    """Read a whole number from a cell.

    Raises:
        DataError: it is something else.
    """
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever is no number raises
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not number.is_integer() or abs(number) >= 2**53:
        raise DataError(f"{place}: {name} must be a whole number, found {str(value)[:60]!r}")
    return int(number)
