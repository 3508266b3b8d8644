"""What lies below a folder that people bring: linked folders are followed, each once, and zips are looked into.

Hidden files and folders are left out, those that a Mac puts into zips among them.
"""

from __future__ import annotations

import errno
import zipfile
import zlib
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mindgauge.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LARGEST = 2 * 2**30
"""Bytes that a member of a zip may have, unpacked; a small zip may claim to hold more than a disk."""
_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError, RuntimeError)
"""What reading a damaged zip raises; a RuntimeError where it is encrypted."""


class File:
    """A file in a folder or in a zip, with as much of a `Path` as reading it takes."""

    def __init__(self, place: PurePosixPath, shown: str, read: Callable[[], bytes]) -> None:
        """Describe it; nothing is read.

        Args:
            place: its path below the folder that was looked at; of a member of a zip, as if that were unpacked where it lies.
            shown: how messages call it.
            read: reads it.
        """
        self.known: dict[PurePosixPath, File] = {}
        """All files that were found with it, by place."""
        self.place = place
        self.name = place.name
        self.stem = place.stem
        self.suffix = place.suffix
        self._shown = shown
        self._read = read

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"File({self._shown!r})"

    def read_bytes(self) -> bytes:
        """Read it.

        Raises:
            OSError: it cannot be read; of a member of a zip, because that is damaged, encrypted or too large.
        """
        return self._read()

    def beside(self, name: str) -> File | None:
        """Return the file of another name in the same place; None if there is none."""
        return self.known.get(self.place.with_name(name))

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Read it as text; see `read_bytes`."""
        return self.read_bytes().decode(encoding, errors)


Readable: TypeAlias = Path | File
"""What a reader of one file takes."""


class Folder(NamedTuple):
    """The files below a folder, by place; `packed` are those in zips, and `broken` says which zips cannot be opened."""

    path: Path
    files: tuple[File, ...]
    packed: tuple[File, ...]
    broken: tuple[str, ...]

    @property
    def all(self) -> tuple[File, ...]:
        """Every file once: where one lies unpacked beside its zip, that one."""
        plain = {file.place for file in self.files}
        return (*self.files, *(file for file in self.packed if file.place not in plain))


def below(folder: Path) -> Folder:
    """Look at everything below a folder.

    Raises:
        DataError: there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    plain, broken = [], []
    packed: dict[PurePosixPath, File] = {}
    for path in walk(folder):
        place = PurePosixPath(path.relative_to(folder).as_posix())
        if path.suffix.lower() != ".zip":
            plain.append(File(place, str(path), partial(_content, path)))
            continue
        try:
            for file in members(path, place.parent):
                packed.setdefault(file.place, file)
        except DataError as error:
            broken.append(str(error))
    found = Folder(folder, tuple(plain), tuple(packed.values()), tuple(broken))
    known = {file.place: file for file in found.all}
    for file in (*found.files, *found.packed):
        file.known = known
    return found


def _content(path: Path) -> bytes:
    return path.read_bytes()


def walk(folder: Path) -> list[Path]:
    """Return every file below a folder in the order of their paths.

    A linked folder is followed, unless it was looked at already: so a link to a folder above ends, and what lies here
    itself has its own path.
    """
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    links: list[Path] = [folder]
    while links:
        waiting = [links.pop(0)]
        while waiting:
            here = waiting.pop()
            status = here.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            for path in sorted(_inside(here)):
                if not path.is_dir():
                    found += [path] if path.is_file() else []
                else:
                    (links if path.is_symlink() else waiting).append(path)
    return sorted(found)


def _inside(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.iterdir() if not hidden(path.name))
    except OSError as error:
        raise DataError(f"{folder}: cannot look into this folder ({error.strerror})") from error


def members(path: Path, place: PurePosixPath) -> list[File]:
    """Return the files in a zip, as if they were unpacked into a folder.

    Raises:
        DataError: it cannot be opened.
    """
    try:
        archive = zipfile.ZipFile(
            path
        )  # open as long as somebody may read: a zip of thousands has a long table of contents
        named = [(entry, PurePosixPath(entry.filename)) for entry in archive.infolist() if not entry.is_dir()]
    except _UNREADABLE as error:
        raise DataError(f"{path}: expected a zip, found {error}") from error
    return [
        File(place / name, f"{path}:{name}", _unpacking(archive, path, entry))
        for entry, name in named
        if not any(map(hidden, name.parts)) and not name.is_absolute() and ".." not in name.parts
    ]


def hidden(name: str) -> bool:
    """Whether a file or folder of this name is left out."""
    return name.startswith(".") or name == "__MACOSX"


def _unpacking(archive: zipfile.ZipFile, path: Path, entry: zipfile.ZipInfo) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            with archive.open(entry) as stream:
                content = stream.read(LARGEST + 1)
        except _UNREADABLE as error:
            raise OSError(errno.EIO, f"{entry.filename} in {path.name} cannot be unpacked: {error}") from error
        if len(content) > LARGEST:
            raise OSError(errno.EFBIG, f"{entry.filename} in {path.name} is larger than {LARGEST >> 30} GiB unpacked")
        return content

    return read
