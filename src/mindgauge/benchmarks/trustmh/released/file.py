"""One file of the user's, in a folder or in a zip: its text, its rows, and its faults, named."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SHOWN = 120
"""Characters of what was found that a message shows, at most."""
_BY_LINE = re.compile(r"\.[ct]sv$|tier_\d\w?\.txt$", re.IGNORECASE)
"""Files that were released with a line end at their end; what else is cut off, other than in its last number, shows it."""


class SourceFile(msgspec.Struct, frozen=True):
    """A file, in a folder or in a zip; `source` is how messages name it."""

    source: str
    read: Callable[[], bytes]
    copies: tuple[SourceFile, ...] = ()
    """Other files of the same name, which are not read."""

    def text(self, encoding: str = "utf-8") -> str:
        """Return its text, without a byte-order mark; line ends stay as they are.

        Raises:
            DataError: it is empty, or in another encoding.
        """
        content = self.read()
        try:
            text = content.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            message = (
                f"{self.source}: expected {encoding.upper()}, found other bytes at {error.start} of {len(content)}"
            )
            raise DataError(message) from None
        self._refuse_zeros(text)
        if not text.strip():
            raise DataError(f"{self.source}: expected text, found an empty file")
        return text

    def _refuse_zeros(self, text: str) -> None:
        if "\0" in text:  # English in UTF-16 without a byte-order mark is UTF-8, too, with a zero after each letter
            raise DataError(f"{self.source}: expected UTF-8, found zero bytes, as in UTF-16")

    def lines(self) -> list[str]:
        """Return its lines, without their ends; the last may lack one."""
        return self.text().replace("\r\n", "\n").removesuffix("\n").split("\n")

    def json(self, kind: type) -> Any:
        """Return its JSON value.

        Raises:
            DataError: it breaks off, is empty, or is something else than a list or an object as expected.
        """
        try:
            value = _loaded(self.text())
        except ValueError as error:
            raise DataError(f"{self.source}: expected JSON, found {error}") from None
        if not isinstance(value, kind):
            raise DataError(
                f"{self.source}: expected a JSON {_KINDS[kind]}, found a {_KINDS.get(type(value), 'value')}"
            )
        if not value:
            raise DataError(f"{self.source}: expected a JSON {_KINDS[kind]}, found an empty one")
        return value

    def objects(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Return the objects of a JSON Lines file, blank lines aside.

        Raises:
            DataError: a line is no object, or lacks a key.
        """
        rows = []
        for number, line in enumerate(self.lines(), 1):
            if not line.strip():
                continue
            try:
                row = _loaded(line)
            except ValueError as error:
                raise DataError(f"{self.source}:{number}: expected a JSON object, found {error}") from None
            self.require(row, keys, number)
            rows.append(row)
        return rows

    def require(self, row: object, keys: Sequence[str], number: int) -> None:
        """Refuse what is no object with these keys.

        Raises:
            DataError: it is not.
        """
        if not isinstance(row, dict):
            raise DataError(f"{self.source}:{number}: expected an object, found a {type(row).__name__}")
        lacking = [key for key in keys if key not in row]
        if lacking:
            raise DataError(f"{self.source}:{number}: expected {', '.join(lacking)}, found {_shown(row)}")

    def table(self, columns: Sequence[str], text: str | None = None) -> list[dict[str, str]]:
        """Return the rows of a CSV file; CRLF within a cell is read as LF.

        Args:
            columns: that it has to have.
            text: what is read in its place, where the bytes had to be mended first.

        Raises:
            DataError: a column is missing, a row has too few or too many cells, or there is none.
        """
        content = self.text() if text is None else text
        self._refuse_zeros(content)
        try:
            numbered = bounds.rows(content.replace("\r\n", "\n").encode(), ",")
            line, names = next(numbered, (0, []))
            lacking = [column for column in columns if column not in names]
            if lacking:
                raise DataError(f"{self.source}: expected columns {', '.join(lacking)}, found {_shown(names)}")
            bounds.refuse_twice(names, line)
            rows = [cells for _, cells in numbered]
        except bounds.Fault as fault:
            raise DataError(f"{self.source}: line {fault.line}: expected CSV, found {fault}") from None
        if not rows:
            raise DataError(f"{self.source}: expected rows, found only the columns' names")
        for number, cells in enumerate(rows, 1):
            if len(cells) != len(names):
                raise DataError(f"{self.source}: row {number}: expected {len(names)} cells, found another number")
        return [dict(zip(names, cells, strict=True)) for cells in rows]

    def counted(self, noun: str, count: int, expected: int) -> list[str]:
        """Return a note where there are more or fewer than were released, and others on what else is odd about it."""
        notes = [] if count == expected else [f"{self.source}: expected {expected} {noun}, found {count}"]
        if _BY_LINE.search(self.source) and not self.read().endswith(b"\n"):
            notes.append(f"{self.source}: expected a line end after the last line, found none; it may be cut off")
        differing = [copy.source for copy in self.copies if not _same(self, copy)]
        return notes + [
            f"{self.source}: {other} has its name and other content, and is not read" for other in differing
        ]


def _loaded(text: str) -> Any:
    """Read JSON, whose escapes may write halves of characters that no text can hold: those are a fault.

    Raises:
        ValueError: it is none, or one of its texts has such a half.
    """
    return bounds.json_value(text, mended=False)


def _same(file: SourceFile, other: SourceFile) -> bool:
    try:
        return file.read() == other.read()
    except DataError:
        return False


def _shown(names: Iterable[object]) -> str:
    """Return names in one line, which is cut where it is long, or `nothing`."""
    return shorten(", ".join(map(str, names)), _SHOWN, placeholder=" …") or "nothing"


_KINDS: dict[object, str] = {list: "list", dict: "object", str: "text"}
