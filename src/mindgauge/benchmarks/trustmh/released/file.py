"""One file of the user's, in a folder or in a zip: its text, its rows as typed records, and its faults, named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds
from mindgauge.records.files.folder import File
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.files.tables import open_table
from mindgauge.records.files.texts import faults, read_json, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.records.files.input_table import InputTable

T = TypeVar("T")
_BY_LINE = re.compile(r"\.[ct]sv$|tier_\d\w?\.txt$", re.IGNORECASE)
"""Files that were released with a line end at their end; what else is cut off, other than in its last number, shows it."""


class SourceFile(msgspec.Struct, frozen=True):
    """A file, in a folder or in a zip."""

    file: File
    copies: tuple[SourceFile, ...] = ()
    """Other files of the same name, which are not read."""

    @property
    def source(self) -> str:
        """How messages name it."""
        return str(self.file)

    def read(self) -> bytes:
        """Return its bytes.

        Raises:
            DataError: it cannot be read.
        """
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise DataError(f"{self.source}: cannot read it ({error.strerror})") from error

    def lines(self) -> list[str]:
        """Return its lines, without their ends; the last may lack one.

        Raises:
            DataError: it is empty, or cannot be read.
        """
        text = read_text(self.file).replace("\r\n", "\n")
        if not text.strip():
            raise DataError(f"{self.source}: expected text, found an empty file")
        return text.removesuffix("\n").split("\n")

    def json(self, kind: type[T]) -> T:
        """Return what stands in a file of JSON.

        Raises:
            DataError: it is something else, or empty.
        """
        value = self.typed(read_json(self.file), kind)
        if not value:
            raise DataError(f"{self.source}: expected JSON, found an empty list or object")
        return value

    def records(self, kind: type[T], content: bytes | None = None) -> list[tuple[int, T]]:
        """Return the rows of a table, each with its line (in a JSON list, its number); CRLF within a cell is read as LF.

        Args:
            kind: of a row, a record by column.
            content: what is read in its place, where the bytes had to be mended first.

        Raises:
            DataError: it is no table, has no rows, or one of them has other cells than it should.
        """
        file = self.file if content is None else File(self.file.place, self.source, lambda: content)
        table = open_table(file)
        rows = table.rows() if isinstance(table, RecordTable) else self._full_rows(table)
        records = [(number, self.typed(row, kind, number)) for number, row in rows]
        if not records:
            raise DataError(f"{self.source}: expected rows, found none")
        return records

    def _full_rows(self, table: InputTable) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield rows with every cell, also an empty one; a row that lacks one is cut off."""
        with faults(table, b""):
            bounds.refuse_twice(table.headers)
        for number, cells in table.cells():
            if len(cells) != len(table.headers):
                raise DataError(f"{self.source}:{number}: expected {len(table.headers)} cells, found {len(cells)}")
            yield number, dict(zip(table.headers, (cell.replace("\r\n", "\n") for cell in cells), strict=True))

    def typed(self, value: object, kind: type[T], number: int = 0) -> T:
        """Return a value as the record that it should be; `number` is that of its line.

        Raises:
            DataError: it is another.
        """
        try:
            return msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError as error:
            where = f"{self.source}:{number}" if number else self.source
            raise DataError(f"{where}: not as it was released ({' '.join(str(error).split())[:200]})") from None

    def table(self, columns: Sequence[str]) -> list[dict[str, str]]:
        """Return the rows of a CSV file; see `records`.

        Args:
            columns: that it has to have.

        Raises:
            DataError: one is missing, or the file is broken.
        """
        rows = [row for _, row in self.records(dict[str, str])]
        lacking = [column for column in columns if column not in rows[0]]
        if lacking:
            raise DataError(f"{self.source}: expected columns {', '.join(lacking)}, found {', '.join(rows[0])[:120]}")
        return rows

    def counted(self, noun: str, count: int, expected: int) -> list[str]:
        """Return a note where there are more or fewer than were released, and others on what else is odd about it."""
        notes = [] if count == expected else [f"{self.source}: expected {expected} {noun}, found {count}"]
        if _BY_LINE.search(self.source) and not self.read().endswith(b"\n"):
            notes.append(f"{self.source}: expected a line end after the last line, found none; it may be cut off")
        differing = [copy.source for copy in self.copies if not _same(self, copy)]
        return notes + [
            f"{self.source}: {other} has its name and other content, and is not read" for other in differing
        ]


def _same(file: SourceFile, other: SourceFile) -> bool:
    try:
        return file.read() == other.read()
    except DataError:
        return False
