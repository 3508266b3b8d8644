"""Files below a folder of the user's, wherever they lie in it, zips looked into; and their faults, named."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.errors import DataError, MissingData

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LARGEST_CELL = 1 << 30


class File(msgspec.Struct, frozen=True):
    """A file, in a folder or in a zip; `source` is how messages name it."""

    source: str
    read: Callable[[], bytes]

    def text(self, encoding: str = "utf-8") -> str:
        """Return its text, without a byte-order mark; line ends stay as they are.

        Raises:
            DataError: it is in another encoding.
        """
        found = self.read()
        try:
            return found.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            told = f"{self.source}: expected {encoding.upper()}, found other bytes at {error.start} of {len(found)}"
            raise DataError(told) from None

    def lines(self) -> list[str]:
        """Return its lines, without their ends; the last may lack one."""
        return self.text().replace("\r\n", "\n").removesuffix("\n").split("\n")

    def json(self, kind: type) -> Any:
        """Return its JSON value.

        Raises:
            DataError: it breaks off, or is something else than a list or an object as expected.
        """
        try:
            found = json.loads(self.text())
        except ValueError as error:
            raise DataError(f"{self.source}: expected JSON, found {error}") from None
        if not isinstance(found, kind):
            raise DataError(
                f"{self.source}: expected a JSON {_KINDS[kind]}, found a {_KINDS.get(type(found), 'value')}"
            )
        return found

    def objects(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Return the objects of a JSON Lines file, blank lines aside.

        Raises:
            DataError: a line is no object, or lacks a key.
        """
        found = []
        for number, line in enumerate(self.lines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{self.source}:{number}: expected a JSON object, found {error}") from None
            self.require(row, keys, number)
            found.append(row)
        return found

    def require(self, row: object, keys: Sequence[str], number: int) -> None:
        """Refuse what is no object with these keys.

        Raises:
            DataError: it is not.
        """
        if not isinstance(row, dict):
            raise DataError(f"{self.source}:{number}: expected an object, found a {type(row).__name__}")
        lacking = [key for key in keys if key not in row]
        if lacking:
            found = ", ".join(map(str, row))
            raise DataError(f"{self.source}:{number}: expected {', '.join(lacking)}, found {found or 'nothing'}")

    def table(self, columns: Sequence[str], text: str | None = None) -> list[dict[str, str]]:
        """Return the rows of a CSV file.

        Args:
            columns: that it has to have.
            text: what is read in its place, where the bytes had to be mended first.

        Raises:
            DataError: a column is missing, or a row has too few or too many cells.
        """
        csv.field_size_limit(_LARGEST_CELL)
        reader = csv.DictReader(io.StringIO(self.text() if text is None else text, newline=""), strict=True)
        try:
            lacking = [column for column in columns if column not in (reader.fieldnames or ())]
            if lacking:
                found = ", ".join(reader.fieldnames or ()) or "nothing"
                raise DataError(f"{self.source}: expected columns {', '.join(lacking)}, found {found}")
            rows = [*reader]
        except csv.Error as error:
            raise DataError(f"{self.source}: line {reader.line_num}: {error}") from None
        for number, row in enumerate(rows, 1):
            if None in row or None in row.values():
                raise DataError(
                    f"{self.source}: row {number}: expected {len(reader.fieldnames or ())} cells, found another number"
                )
        return rows

    def counted(self, what: str, found: int, expected: int) -> list[str]:
        """Return a note where there are more or fewer than were released."""
        return [] if found == expected else [f"{self.source}: expected {expected} {what}, found {found}"]


_KINDS: dict[object, str] = {list: "list", dict: "object", str: "text"}


class Files(msgspec.Struct, frozen=True):
    """All files below a folder by their paths in it, those in zips under the zip's folder."""

    folder: Path
    known: dict[str, File]

    @classmethod
    def below(cls, folder: Path) -> Files:
        """Look at everything below a folder.

        Raises:
            DataError: there is no such folder, or a zip in it is broken.
        """
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder")
        known: dict[str, File] = {}
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            if path.suffix == ".zip":
                known |= {name: file for name, file in _zipped(path, folder) if name not in known}
            else:
                known[path.relative_to(folder).as_posix()] = File(str(path), path.read_bytes)
        return cls(folder, known)

    def all(self, ending: str) -> list[File]:
        """Return the files whose path ends so, whole names only, in the order of their paths."""
        return [file for path, file in sorted(self.known.items()) if f"/{path}".endswith(f"/{ending}")]

    def matching(self, pattern: str) -> list[tuple[str, File]]:
        """Return name and file of those whose path matches a pattern of the shell's (`*/outputs/*.json`)."""
        return [(path, file) for path, file in sorted(self.known.items()) if fnmatchcase(f"/{path}", pattern)]

    def find(self, ending: str) -> File | None:
        """Return the first file whose path ends so."""
        return next(iter(self.all(ending)), None)

    def require(self, ending: str, obtain: str) -> File:
        """Return the file whose path ends so.

        Raises:
            MissingData: there is none; the message says how to get it.
        """
        found = self.find(ending)
        if found is None:
            raise MissingData(f"{self.folder}: no {ending} here; {obtain}")
        return found


def _zipped(path: Path, folder: Path) -> Iterator[tuple[str, File]]:
    try:
        with zipfile.ZipFile(path) as zipped:
            names = [info.filename for info in zipped.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{path}: expected a zip, found {error}") from None

    def reader(name: str) -> Callable[[], bytes]:
        def read() -> bytes:
            try:
                with zipfile.ZipFile(path) as zipped:
                    return zipped.read(name)
            except (zipfile.BadZipFile, OSError, EOFError) as error:
                raise DataError(f"{path}: {name} cannot be unpacked: {error}") from None

        return read

    parent = path.parent.relative_to(folder)
    yield from (((parent / name).as_posix(), File(f"{path}:{name}", reader(name))) for name in names)
