"""CSV, read in one way: what its rows are, whoever asks for them, row by row or as a whole.

`rows` alone says what a file holds and what is wrong with it. `plain_frame` reads a file as a whole some ten times as
fast, and only one of which every reader makes the same: no line ends or quotes within cells, no empty lines.
"""

from __future__ import annotations

import codecs
import csv
import io
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.files import bounds
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

csv.field_size_limit(bounds.CELL)  # of the process: nothing else of ours reads CSV
_LINE_END = regex(rb"\r\n|\n|\r")
_ENDS = regex(r"\r\n|\n|\r")
_QUOTED = regex(rb'"[^"]*"')
_NAMED = regex(rb"(?i)sep=([,;\t|])(?:\r\n|\n|\r)")
_CHUNK = 50_000
"""Rows that are held as Python's texts at once while a table is put together."""
_TAKEN_OTHERWISE = (codecs.BOM_UTF8, b"\n", b"\r", b"x\x01", b"x\x5e")
"""Beginnings of texts that polars leaves out, or takes for those of a packed file."""
_LOOKED_AT = 128 * bounds.MIB
"""Bytes of a file whose quotes are looked at, which takes memory of twice its size."""
_BROKEN = {
    "expected after": 'a quote within a quoted cell; write it twice, ""',
    "unexpected end": "a quote is opened here and never closed; close it, or write a quote within a cell twice",
}


class BrokenQuotesError(bounds.Fault):
    """Quotes are out of place."""


class NumberedFrame(NamedTuple):
    """A table as a whole: its cells, a column for each header in their order, and the line on which each row begins."""

    frame: pl.DataFrame
    lines: pl.Series


def numbered(frame: pl.DataFrame, first: int = 1) -> NumberedFrame:
    """Return a table whose rows stand on one line each, without a gap."""
    import polars as pl

    return NumberedFrame(frame, pl.int_range(first, first + frame.height, eager=True))


def separator(content: bytes, header: int) -> str:
    """Guess what separates cells, by the line that holds the headers (the first that is not empty if none is named)."""
    start = 0
    for number in range(1, (header or 1_000) + 1):
        end = _LINE_END.search(content, start)
        line = content[start : end.start() if end else len(content)][: bounds.ROW]
        if number == header or (not header and line.strip()) or end is None:
            break
        start = end.end()
    bare = _QUOTED.sub(b"", line)
    return max(",;\t|", key=lambda mark: bare.count(mark.encode()))


def named_separator(content: bytes) -> str:
    """Return the separator that Excel's first line names, `sep=;`; empty where there is no such line."""
    named = _NAMED.match(content)
    return named[1].decode() if named else ""


def rows(content: bytes, delimiter: str, *, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, empty ones aside: the line on which each begins, and its cells.

    Args:
        content: the file, in UTF-8 without a byte order mark.
        delimiter: between cells.
        strict: whether quotes that are out of place are a fault.

    Raises:
        Fault: it is broken, or has more rows, columns or cells, or longer ones, than are read.
        UnicodeDecodeError: it is in another encoding.
    """
    bounds.refuse_lines(content, quotes=True)
    lines = _Lines(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline=""))
    reader = csv.reader(lines, delimiter=delimiter, strict=strict)
    count = cells = last = 0
    try:
        for row in reader:
            lines.length = 0
            line, last = last + 1, reader.line_num
            if not row:
                continue
            if len(row) > bounds.COLUMNS:
                raise bounds.Fault(bounds.excess(len(row), "columns", bounds.COLUMNS, "leave out those that are not needed"), line)  # fmt: skip
            count += 1
            cells += len(row)
            if count > bounds.ROWS + 1:
                raise bounds.Fault(f"it has more than {bounds.ROWS:,} rows, the most that are read; split it into several files")  # fmt: skip
            if cells > bounds.CELLS:
                raise bounds.Fault(f"it has more than {bounds.CELLS:,} cells, the most that are read; split it into several files")  # fmt: skip
            yield line, row
    except csv.Error as error:
        if "field larger" in str(error):
            raise bounds.Fault(f"a cell has more than {bounds.CELL:,} characters, the most that are read; is a quote left open?", reader.line_num) from error  # fmt: skip
        words = next((words for mark, words in _BROKEN.items() if mark in str(error)), str(error))
        raise BrokenQuotesError(f"broken CSV ({words})", last + 1 if "unexpected end" in str(error) else reader.line_num) from error  # fmt: skip


class _Lines:
    """The lines of a file, with what they have in characters since a row began."""

    def __init__(self, file: io.TextIOWrapper) -> None:
        self._read = file.readline
        self._number = 0
        self.length = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._read(bounds.ROW + 1)
        if not line:
            raise StopIteration
        self._number += 1
        self.length += len(line)
        if self.length > bounds.ROW:
            raise bounds.Fault(f"a row has more than {bounds.ROW:,} characters, the most that are read; is a quote left open?", self._number)  # fmt: skip
        return line


def mended_rows(content: bytes, delimiter: str, path: object, notes: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as `rows` does; where quotes are out of place, say so and go on, taking them as they stand.

    Raises:
        Fault, UnicodeDecodeError: as `rows`, quotes aside.
    """
    last = 0
    try:
        for line, row in rows(content, delimiter):
            last = line
            yield line, row
    except BrokenQuotesError as fault:
        note = f"{fault.at(path)}, taken as it stands"
        notes += [note] if note not in notes else []
        yield from ((line, row) for line, row in rows(content, delimiter, strict=False) if line > last)


def has_lone_quotes(content: bytes, delimiter: str) -> bool:
    """Whether a quote stands between separators and line ends, as a ditto mark does; it opens or ends a cell."""
    ends = (b"\r", b"\n", delimiter.encode())
    marks = [start + b'"' + end for start in ends for end in ends]
    texts = (content, b"\n" + content[:2], content[-2:] + b"\n") if b'"' in content else ()
    return any(mark in text for text in texts for mark in marks)


def is_swallowed(row: Sequence[str], width: int, delimiter: str) -> bool:
    """Whether a cell is what two lone quotes make of the rows between them: the rest of a line, lines, and the beginning of one."""
    ends = {delimiter, "\n", "\r"}
    for place, cell in enumerate(row):
        if width < 2 or cell[:1] not in ends or cell[-1:] not in ends:
            continue
        counts = [line.count(delimiter) for line in _ENDS.split(cell)]
        lacking = width - len(row)
        of_lines = [width - 1 - place, *[width - 1] * (len(counts) - 2), lacking + place]
        if counts == (of_lines if len(counts) > 1 else [lacking]):
            return True
    return False


def plain_frame(content: bytes, delimiter: str, header_line: int, width: int) -> NumberedFrame | None:
    """Read the rows below a file's headers as a whole; None where `rows` might make something else of them.

    Args:
        content: the file, in UTF-8 without a byte order mark.
        delimiter: between cells.
        header_line: the line of the headers; 0 where there are none.
        width: how many columns there are.
    """
    bare = content.rstrip(b"\r\n")
    ends = content.count(b"\n")
    if ends > bounds.ROWS + 1 or content.count(b"\r") != content.count(b"\r\n") or not _is_plain(bare, delimiter):
        return None
    import polars as pl

    try:
        frame = pl.read_csv(
            bare, has_header=False, skip_lines=max(header_line - 1, 0), infer_schema=False, separator=delimiter, n_rows=bounds.ROWS + 1,
        )  # fmt: skip
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None
    frame = _without_empty(frame.slice(min(header_line, 1)))
    if frame.width != width or (header_line + frame.height) * width > bounds.CELLS:
        return None
    return numbered(frame, header_line + 1)


def _is_plain(content: bytes, delimiter: str) -> bool:
    """Whether each line is a row, and each row's cells are what stands between separators, some of them between quotes."""
    if len(delimiter.encode()) > 1 or content.startswith(_TAKEN_OTHERWISE):
        return False
    return (
        b"\n\n" not in content
        and b"\n\r" not in content
        and not bounds.has_long_line(content)
        and (b'"' not in content or _quotes_enclose_cells(content, delimiter))
    )


def _quotes_enclose_cells(content: bytes, delimiter: str) -> bool:
    """Whether quotes stand around whole cells alone, each on one line, and none within one; of large files this is not looked at."""
    if len(content) > _LOOKED_AT:
        return False
    import numpy as np

    letters = np.frombuffer(content, np.uint8)
    quotes = np.flatnonzero(letters == ord('"'))
    opening, closing = quotes[::2], quotes[1::2]
    if len(opening) != len(closing):
        return False
    ends = np.zeros(256, bool)
    ends[[*b"\r\n", ord(delimiter)]] = True
    line_ends = np.flatnonzero(letters == ord("\n"))
    return bool(
        ends[letters[opening[opening > 0] - 1]].all()
        and ends[letters[closing[closing < len(content) - 1] + 1]].all()
        and (np.searchsorted(line_ends, opening) == np.searchsorted(line_ends, closing)).all()
    )


def frame_of(rows: Iterator[tuple[int, Sequence[str | None]]], width: int) -> NumberedFrame:
    """Put rows of texts together as a whole; what a row has beyond the columns is left out, and an empty cell is null.

    Raises:
        Fault: they have more cells, empty ones counted, than are read.
    """
    import polars as pl

    names = [f"column_{number}" for number in range(1, width + 1)]
    schema = dict.fromkeys(names, pl.String)
    parts, lines = [pl.DataFrame(schema=schema)], [pl.Series(dtype=pl.Int64)]
    height = 0
    while chunk := list(islice(rows, _CHUNK)):
        height += len(chunk)
        if height * width > bounds.CELLS:
            raise bounds.Fault(bounds.excess(height, f"rows of {width} columns", bounds.CELLS // width))
        columns = [*zip_longest(*(cells for _, cells in chunk))][:width]
        columns += [(None,) * len(chunk)] * (width - len(columns))
        parts.append(_without_empty(pl.DataFrame(dict(zip(names, columns, strict=True)), schema)))
        lines.append(pl.Series([line for line, _ in chunk], dtype=pl.Int64))
    return NumberedFrame(pl.concat(parts), pl.concat(lines))


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Put null for texts without a character."""
    import polars as pl

    return frame.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())
