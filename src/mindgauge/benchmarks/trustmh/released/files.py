"""Files below a folder of the user's, zips looked into: each one's text, its rows as typed records, and its faults, named."""

from __future__ import annotations

import ast
import re
import warnings
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
from msgspec import inspect

from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import bounds
from mindgauge.records.files import folder as files
from mindgauge.records.files.folder import File
from mindgauge.records.files.input_table import RecordTable
from mindgauge.records.files.mapping import FileLayout
from mindgauge.records.files.tables import open_table
from mindgauge.records.files.texts import UTF_16, decoded, faults, read_json, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mindgauge.records.files.input_table import InputTable

    Reader: TypeAlias = Callable[["TrustMHRelease"], tuple[object, list[str]]]

    """Reads something of a folder's files, and says what is odd about them, one line each."""


def notes_of(*readers: Reader) -> Callable[[Path], list[str]]:
    """Return what says of a folder all that some readers find odd about its files.

    Raises (when called):
        DataError: a file is missing or broken.
    """

    def noted(data: Path) -> list[str]:
        files = TrustMHRelease.below(data)
        return [note for reader in readers for note in reader(files)[1]]

    return noted


# Lists of texts that were written into a cell as Python writes them, some of them cut off.


_OPENING, _BETWEEN = re.compile(r"\s*\[\s*"), re.compile(r"\s*(?:,\s*|(?=\])|$)")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:x[0-9a-f]?|u[0-9a-f]{0,3}|U[0-9a-f]{0,7})?)$")


def read(cell: str) -> tuple[list[str], bool]:
    """Read a list of texts; nothing in it is run.

    Where the cell was cut off, the last text ends where the cell does.

    Returns:
        The texts, and whether the list was cut off.

    Raises:
        ValueError: it is no list of texts, whole or cut off.
    """
    opening = _OPENING.match(cell)
    if opening is None:
        raise ValueError("no list")
    texts, place = [], opening.end()
    while match := _STRING.match(cell, place):
        texts.append(_text(match[0]))
        between = _BETWEEN.match(cell, match.end())
        if between is None:
            raise ValueError(f"no comma after text {len(texts)}")
        place = between.end()
    rest = cell[place:].rstrip()
    if rest == "]":
        return texts, False
    if rest[:1] in {"'", '"'}:
        mended = _CUT_ESCAPE.sub(lambda cut: cut[0].removesuffix(cut[1]), rest)
        texts.append(_text(mended + rest[0]))
    elif rest:
        raise ValueError(f"no text after text {len(texts)}")
    return texts, True


_PLAIN = re.compile(r"[^\\\x00\ud800-\udfff]*")
"""What stands for itself between quotes."""


def _text(literal: str) -> str:
    if _PLAIN.fullmatch(literal):  # a tenth of the time
        return literal[1:-1]
    try:
        with warnings.catch_warnings(action="ignore"):  # a backslash that escapes nothing
            return str(ast.literal_eval(literal.replace("\n", "\\n").replace("\r", "\\r")))
    except (ValueError, SyntaxError, MemoryError) as error:
        raise ValueError(f"a text that cannot be read: {error}") from None


# One file of the user's, in a folder or in a zip: its text, its rows as typed records, and its faults, named.


T = TypeVar("T")
_BY_LINE = re.compile(r"\.[ct]sv$|tier_\d\w?\.txt$", re.IGNORECASE)
"""Files that were released with a line end at their end; what else is cut off, other than in its last number, shows it."""
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<number>\d+)\]")
"""A step on msgspec's way to a value that is of another kind (`$.dialog[0].speaker`)."""
_SHOWN = 120
"""Characters of what was found that a message shows, at most."""


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
        text = read_text(self._holding(self.read())).replace("\r\n", "\n")
        if not text.strip():
            raise DataError(f"{self.source}: expected text, found an empty file")
        return text.removesuffix("\n").split("\n")

    def json(self, kind: type[T]) -> T:
        """Return what stands in a file of JSON.

        Raises:
            DataError: it is something else, or empty.
        """
        value = self.typed(read_json(self._holding(self.read()), mended=False), kind)
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
        table = self.opened(content)
        lined = isinstance(table, RecordTable)
        rows = table.rows() if lined else self._full_rows(table, _required(inspect.type_info(kind)))
        records = [(number, self.typed(row, kind, number)) for number, row in rows]
        if not records:
            nothing = "none" if lined else "only the columns' names"
            raise DataError(f"{self.source}: expected rows, found {nothing}")
        return records

    def opened(self, content: bytes | None = None, layout: FileLayout | None = None) -> InputTable:
        """Open it as a table. Half a character is a fault: mended, it would be asked in another wording than was released.

        Args:
            content: what is read in its place.
            layout: of the file, where it is not seen from it.

        Raises:
            DataError: it is none.
        """
        return open_table(
            self._holding(self.read() if content is None else content), layout or FileLayout(), mended=False
        )

    def _holding(self, content: bytes) -> File:
        """Return the file with its bytes, if none of them is null: mended, those would change the wording, too."""
        file = File(self.file.place, self.source, lambda: content)
        if b"\0" in content and not content.startswith(UTF_16):
            decoded(file)  # which knows UTF-16 without its mark
            raise DataError(f"{self.source}: not text: {content.count(0):,} of its bytes are null; save it again")
        return file

    def _full_rows(self, table: InputTable, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield rows with every cell, also an empty one; a row that lacks one is cut off."""
        if not table.headers:
            raise DataError(f"{self.source}: expected rows, found an empty file")
        self._refuse_lacking(columns, table.headers)
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
            raise DataError(f"{where}: {_departure(str(error), value, inspect.type_info(kind))}") from None

    def table(self, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
        """Return the rows of a CSV file with their lines; see `records`.

        Args:
            columns: that it has to have.

        Raises:
            DataError: one is missing, or the file is broken.
        """
        rows = self.records(dict[str, str])
        self._refuse_lacking(columns, rows[0][1])
        return rows

    def _refuse_lacking(self, columns: Sequence[str], headers: Iterable[str]) -> None:
        lacking = [column for column in columns if column not in headers]
        if lacking:
            raise DataError(f"{self.source}: expected columns {', '.join(lacking)}, found {_listed(headers)}")

    def counted(self, noun: str, count: int, expected: int) -> list[str]:
        """Return a note where there are more or fewer than were released, and others on what else is odd about it."""
        notes = [] if count == expected else [f"{self.source}: expected {expected} {noun}, found {count}"]
        if _BY_LINE.search(self.source) and not self.read().endswith(b"\n"):
            notes.append(f"{self.source}: expected a line end after the last line, found none; it may be cut off")
        differing = [copy.source for copy in self.copies if not _same(self, copy)]
        return notes + [
            f"{self.source}: {other} has its name and other content, and is not read" for other in differing
        ]


def _departure(error: str, value: Any, kind: inspect.Type) -> str:
    """Say what was expected in a value, and what stands there, in the place that msgspec's message names."""
    message, _, way = error.removesuffix("`").partition(" - at `$")
    for step in _STEP.finditer(way):
        kind = _of_value(kind, value)
        if isinstance(kind, inspect.StructType) and step["name"]:
            kind, value = next(f.type for f in kind.fields if f.encode_name == step["name"]), value[step["name"]]
        elif isinstance(kind, inspect.ListType) and step["number"]:
            kind, value = kind.item_type, value[int(step["number"])]
    place = f"{way.removeprefix('.')}: " if way else ""
    if "[...]" in way and isinstance(kind, inspect.DictType):  # msgspec does not say under which key
        return f"{place}expected {_noun(kind.value_type)}, found {message.rpartition(' got ')[2].strip('`')}"
    kind = _of_value(kind, value)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        lacking = [name for name in _required(kind) if name not in value]
        return f"{place}expected {', '.join(lacking)}, found {_listed(value)}"
    return f"{place}expected {_noun(kind)}, found {_shown(value)}"


def _of_value(kind: inspect.Type, value: object) -> inspect.Type:
    """Return which of several kinds a value should be of: of a list, that of lists."""
    containers: dict[type, tuple[type, ...]] = {list: (inspect.ListType,), dict: (inspect.StructType, inspect.DictType)}
    members = kind.types if isinstance(kind, inspect.UnionType) else ()
    return next((member for member in members if isinstance(member, containers.get(type(value), ()))), kind)


def _required(kind: inspect.Type) -> list[str]:
    return (
        [field.encode_name for field in kind.fields if field.required] if isinstance(kind, inspect.StructType) else []
    )


_NOUNS: dict[type[inspect.Type], str] = {
    inspect.StrType: "a text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.ListType: "a list",
    inspect.DictType: "an object",
    inspect.StructType: "an object",
    inspect.NoneType: "null",
}


def _noun(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.UnionType):
        return " or ".join(map(_noun, kind.types))
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(map(str, kind.values))}"
    return _NOUNS[type(kind)]


def _shown(value: object) -> str:
    containers = {list: "a list", dict: "an object", type(None): "null"}
    return containers.get(type(value)) or f"{value!r:.40}"


def _listed(names: Iterable[object]) -> str:
    """Return names in one line, which is cut where it is long, or `nothing`."""
    return shorten(", ".join(str(name) for name in names if name), _SHOWN, placeholder=" …") or "nothing"


def _same(file: SourceFile, other: SourceFile) -> bool:
    try:
        return file.read() == other.read()
    except DataError:
        return False


# Files below a folder of the user's, wherever they lie in it, zips looked into.


class TrustMHRelease(msgspec.Struct, frozen=True):
    """All files below a folder by their paths in it, those in zips under the zip's folder."""

    folder: Path
    files: dict[str, SourceFile]
    broken: tuple[str, ...] = ()
    """One line for each zip that cannot be opened."""

    @classmethod
    def below(cls, folder: Path) -> TrustMHRelease:
        """Look at everything below a folder.

        Raises:
            DataError: there is no such folder.
        """
        lying = files.below(folder)
        packed, plain = (
            {file.place.as_posix(): SourceFile(file) for file in kind} for kind in (lying.packed, lying.files)
        )
        twins = {
            name: msgspec.structs.replace(file, copies=(packed[name],))
            for name, file in plain.items()
            if name in packed
        }
        return cls(folder, {**packed, **plain, **twins}, lying.broken)

    def all(self, ending: str) -> list[SourceFile]:
        """Return the files whose path ends so, whole names only, in the order of their paths.

        Where there is none, letter case does not matter.
        """
        named = sorted(self.files.items())
        exact = [file for path, file in named if f"/{path}".endswith(f"/{ending}")]
        return exact or [file for path, file in named if f"/{path}".lower().endswith(f"/{ending}".lower())]

    def matching(self, pattern: str) -> list[tuple[str, SourceFile]]:
        """Return name and file of those whose path matches a pattern of the shell's (`*/outputs/*.json`), in any case."""
        known_files = sorted(self.files.items())
        return [(path, file) for path, file in known_files if fnmatchcase(f"/{path}".lower(), pattern.lower())]

    def find(self, ending: str) -> SourceFile | None:
        """Return the first file whose path ends so."""
        first, *others = self.all(ending) or (None,)
        return first and msgspec.structs.replace(first, copies=(*first.copies, *others))

    def require(self, ending: str, obtain: str) -> SourceFile:
        """Return the file whose path ends so.

        Raises:
            MissingDataError: there is none; the message says how to get it.
            DataError: there is none, and it may be in a zip that cannot be opened, or a folder has its name.
        """
        file = self.find(ending)
        if file is None:
            raise self.lacking(ending, obtain)
        return file

    def lacking(self, name: str, obtain: str) -> DataError:
        """Return what is to be said where a file is not here."""
        folder = next((path for path in self.folder.rglob(name) if path.is_dir()), None)
        if folder is not None:
            return DataError(f"{folder}: expected a file, found a folder; {obtain}")
        message = f"{self.folder}: no {name} here; {obtain}"
        if self.broken:
            return DataError(f"{message}; it may be in a zip that cannot be opened: {'; '.join(self.broken)}")
        return MissingDataError(message)
