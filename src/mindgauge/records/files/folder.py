"""What lies below a folder that people bring: linked folders are followed, each once, and zips are looked into.

Hidden files and folders are left out, those that a Mac puts into zips among them.
"""

from __future__ import annotations

import errno
import io
import lzma
import os
import re
import stat
import struct
import sys
import weakref
import zipfile
import zlib
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias, cast

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,
    MemoryError,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
)
"""What reading a damaged zip raises; a RuntimeError where it is encrypted."""


_SHOWN = 30
"""Members of a zip that a message names."""


class File:
    """A file in a folder or in a zip, with as much of a `Path` as reading it takes."""

    def __init__(self, place: PurePosixPath, label: str, read: Callable[[], bytes]) -> None:
        """Describe it; nothing is read.

        Args:
            place: its path below the folder that was looked at; of a member of a zip, as if that were unpacked where it lies.
            label: how messages call it.
            read: reads it.
        """
        self.known: dict[PurePosixPath, File] = {}
        """All files that were found with it, by place."""
        self.place = place
        self.name = place.name
        self.stem = place.stem
        self.suffix = place.suffix
        self._shown = label
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


def need(folder: Path, expected: str = "") -> None:
    """See that a folder is there.

    Args:
        folder: that is needed.
        expected: what it should hold, in words.

    Raises:
        DataError: there is none, or a file of that name that is no zip.
    """
    if folder.is_dir() or is_zip(folder):
        return
    kind = "no zip that can be opened" if folder.suffix.lower() == ".zip" else "a file, and a folder or a zip is needed"
    problem = kind if folder.exists() else "no such folder"
    raise DataError(f"{folder}: {problem}{f'; {expected}' if expected else ''}")


def is_zip(path: Path) -> bool:
    """Whether a path names a zip that is there, which is then read as the folder it was made of."""
    return path.suffix.lower() == ".zip" and path.is_file() and zipfile.is_zipfile(path)


def below(folder: Path, expected: str = "") -> Folder:
    """Look at everything below a folder, or in a zip.

    Args:
        folder: or the zip.
        expected: what it should hold, in words.

    Raises:
        DataError: there is no such folder, or the zip cannot be opened.
    """
    need(folder, expected)
    root = folder.parent if is_zip(folder) else folder
    plain, broken = [], []
    packed: dict[PurePosixPath, File] = {}
    for path in walk(folder) if root is folder else [folder]:
        place = PurePosixPath(path.relative_to(root).as_posix())
        if path.suffix.lower() != ".zip":
            plain.append(File(place, str(path), partial(bounds.content, path)))
            continue
        try:
            for file in members(path, place.parent):
                packed.setdefault(file.place, file)
        except DataError as error:
            broken.append(str(error))
    content = Folder(folder, tuple(plain), tuple(packed.values()), tuple(broken))
    by_place = {file.place: file for file in content.all}
    for file in (*content.files, *content.packed):
        file.known = by_place
    return content


def content(path: Readable) -> bytes:
    """Read a file, or a member of a zip, as far as `bounds` allows.

    Raises:
        OSError: it cannot be read, or has more than is read; `strerror` says it.
    """
    return path.read_bytes() if isinstance(path, File) else bounds.content(path)


def at(path: Path) -> Readable:
    """Return the file or folder that a path names; `archive.zip/member` is a file in a zip.

    Raises:
        DataError: the zip cannot be opened, or holds no such file.
    """
    archive = next((folder for folder in path.parents if folder.suffix.lower() == ".zip" and folder.is_file()), None)
    if archive is None:
        return path
    lying = members(archive, PurePosixPath())
    wanted = PurePosixPath(path.relative_to(archive).as_posix())
    member = next((file for file in lying if file.place == wanted), None)
    if member is None:
        listed = ", ".join(str(file.place) for file in lying[:_SHOWN]) + (", …" if len(lying) > _SHOWN else "")
        raise DataError(f"{archive}: no file {wanted} in it; it has {listed or 'none'}")
    return member


def walk(folder: Path) -> list[Path]:
    """Return every file below a folder in the order of their paths.

    A linked folder is followed, unless it was looked at already: so a link to a folder above ends, and what lies here
    itself has its own path.
    """
    files: list[Path] = []
    visited: set[tuple[int, int]] = set()
    links: list[Path] = [folder]
    while links:
        waiting = [links.pop(0)]
        while waiting:
            current = waiting.pop()
            status = current.stat()
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            for path in sorted(_inside(current)):
                if not path.is_dir():
                    files += [path] if path.is_file() else []
                    if len(files) > bounds.FILES:
                        raise DataError(f"{folder}: more than {bounds.FILES:,} files lie below it, the most that are looked at; name the folder that holds the data")  # fmt: skip
                else:
                    (links if path.is_symlink() else waiting).append(path)
    return sorted(files)


def _inside(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.iterdir() if not hidden(path.name))
    except OSError as error:
        raise DataError(f"{folder}: cannot look into this folder ({error.strerror})") from error


def members(path: Path, place: PurePosixPath) -> list[File]:
    """Return the files in a zip, as if they were unpacked into a folder; links and names outside of it are left out.

    Raises:
        DataError: it cannot be opened.
    """
    archive = Archive(path)  # open as long as somebody may read: a zip of thousands has a long table of contents
    lying = []
    for entry in archive.entries:
        parts = [part for part in entry.filename.split("/") if part not in {"", "."}]
        if not any(map(hidden, parts)):
            name = "/".join(parts)
            lying.append(File(place / name, f"{path}/{name}", partial(archive.read, entry)))
    by_place = {file.place: file for file in lying}
    if len(by_place) < len(lying):
        repeated = bounds.twice([str(file.place) for file in lying])
        raise DataError(f"{path}: it holds two files called {repeated}, and it is not clear which one counts; rename or remove one of them")  # fmt: skip
    for file in lying:
        file.known = by_place
    return lying


class Archive:
    """An open zip. No more of it is unpacked than `bounds` allows, whatever sizes it claims."""

    def __init__(self, path: Readable, together: int | None = None) -> None:
        """Open it.

        Args:
            path: the zip, which may itself lie in one.
            together: bytes that its files may have together, unpacked; `bounds.ARCHIVE` if not given.

        Raises:
            DataError: it is none, or has more than is read.
        """
        self.path = path
        self.entries: list[zipfile.ZipInfo] = []
        """Its files that lie within it and are no links, in their order."""
        self._unpacked: dict[int, int] = {}
        self._total = 0
        self._together = bounds.ARCHIVE if together is None else together
        try:
            file = self._file = io.BytesIO(path.read_bytes()) if isinstance(path, File) else _Directory.at(path)
            weakref.finalize(self, file.close)
            self._zip = zipfile.ZipFile(file)
            if isinstance(file, _Directory):
                file.opened = True
        except OSError as error:
            raise DataError(f"{path}: cannot read the zip ({error.strerror or error})") from error
        except _UNREADABLE as error:
            raise DataError(f"{path}: expected a zip, found {error}") from error
        entries = self._zip.infolist()
        if len(entries) > bounds.FILES:
            raise DataError(f"{path}: {bounds.excess(len(entries), 'files', bounds.FILES)}")
        for entry in entries:
            entry.filename = _written(entry)
        self.entries = [entry for entry in entries if not entry.is_dir() and _within(entry)]

    def read(self, entry: zipfile.ZipInfo) -> bytes:
        """Unpack a file.

        Raises:
            OSError: it is damaged, encrypted or too large.
        """
        title = f"{entry.filename} in {self.path.name}"
        before = self._unpacked.get(entry.header_offset, 0)  # read again, it counts once
        room = min(bounds.FILE, self._together - self._total + before)
        if entry.flag_bits & 1:
            raise OSError(errno.EACCES, f"{title} is encrypted; unpack it yourself")
        if entry.file_size > room:
            raise self._too_large(title, room)
        content = io.BytesIO()
        try:
            with self._opened(entry) as stream:
                while content.tell() <= room and (part := stream.read(1 << 20)):
                    content.write(part)
        except _UNREADABLE as error:
            raise OSError(errno.EIO, f"{title} cannot be unpacked: {error or type(error).__name__}") from error
        if content.tell() > room:
            raise self._too_large(title, room)
        self._unpacked[entry.header_offset] = content.tell()
        self._total += content.tell() - before
        return content.getvalue()

    def _opened(self, entry: zipfile.ZipInfo) -> IO[bytes]:
        """Open a file, however it is packed."""
        if entry.compress_type == METHOD:
            return zstd_stream(self._file, entry)
        return self._zip.open(entry)

    def _too_large(self, title: str, room: int) -> OSError:
        if room < bounds.FILE:
            reason = f"its files have more than {self._together // bounds.MIB:,} MiB together, unpacked, the most that are read"
            return OSError(errno.EFBIG, f"{title} is not read, since {reason}; split the zip, or unpack it yourself")
        return OSError(errno.EFBIG, f"{title} has more than {bounds.FILE // bounds.MIB:,} MiB, unpacked, the most that are read; split it into several files")  # fmt: skip


def _written(entry: zipfile.ZipInfo) -> str:
    """Return a file's name, in the encoding that it is seen to be in where the zip does not say it.

    Zips of macOS hold UTF-8 and those of a Chinese Windows GBK; both say code page 437, as the format has it.
    """
    if entry.flag_bits & _UTF8:
        return entry.filename
    try:
        written = entry.filename.encode("cp437")
    except UnicodeError:
        return entry.filename
    try:
        return written.decode()
    except UnicodeError:
        return written.decode("gb18030") if _HANZI.fullmatch(written) else entry.filename


_HANZI = re.compile(rb"[\x00-\x7f]*(?:[\xb0-\xf7][\xa1-\xfe][\x00-\x7f]*)+")
"""A name whose letters beyond ASCII are all characters of GB 2312: in code page 437 these would be frames and signs."""
_UTF8 = 0x800
"""The flag of a name that is said to be in UTF-8; all others are in code page 437 by the format."""
PACKED = 64 * bounds.ARCHIVE
"""Bytes of a zip itself, which is not read as a whole: its files may be many that nobody needs."""


class _Directory(io.FileIO):
    """A zip's bytes, which are not asked for by the gigabyte while its table of contents is read."""

    opened = False

    @classmethod
    def at(cls, path: Path) -> _Directory:
        """Open a zip.

        Raises:
            OSError: it cannot be read, or is larger than any that is.
        """
        bounds.check(path, PACKED)
        return cls(path)

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = size if size is not None and size >= 0 else os.fstat(self.fileno()).st_size - self.tell()
        if not self.opened and wanted > bounds.DIRECTORY:
            raise OSError(errno.EFBIG, f"its table of contents has more than {bounds.DIRECTORY // bounds.MIB:,} MiB, the most that are read; unpack it yourself")  # fmt: skip
        return super().read(size)


def _within(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename
    return not (stat.S_ISLNK(entry.external_attr >> 16) or name.startswith("/") or ".." in name.split("/"))


def hidden(name: str) -> bool:
    """Whether a file or folder of this name is left out."""
    return name.startswith(".") or name == "__MACOSX"


METHOD = 93
"""Of packing, as a zip's table of contents has it (APPNOTE 6.3.10, 4.4.5)."""
_HEADER = struct.Struct("<4s22xHH")
"""Of a file in a zip: its mark, and how long the name and the extra field are that stand between it and the content."""
_MARK = b"PK\x03\x04"
_WINDOW = 27
"""Of how many bytes a frame may ask a reader to remember, the logarithm; the format's own default."""


def zstd_stream(file: IO[bytes], entry: zipfile.ZipInfo) -> IO[bytes]:
    """Open a file in a zip; it is unpacked as it is read, and compared with its checksum at its end.

    Args:
        file: the zip.
        entry: which of its files.

    Raises:
        BadZipFile: it is not where the table of contents says. Reading raises it, or an `OSError`, where it is damaged.
    """
    file.seek(entry.header_offset)
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_MARK):
        raise zipfile.BadZipFile("there is no file where the table of contents says")
    _, name, extra = _HEADER.unpack(header)
    return cast("IO[bytes]", _Unpacked(file, entry.header_offset + _HEADER.size + name + extra, entry))


class _Unpacked(io.RawIOBase):
    """What a file holds."""

    def __init__(self, file: IO[bytes], start: int, entry: zipfile.ZipInfo) -> None:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        self._checksum, self._entry, self._fault = 0, entry, zstd.ZstdError
        packed = io.BufferedReader(_Packed(file, start, entry.compress_size))
        self._frames = zstd.ZstdFile(packed, options={zstd.DecompressionParameter.window_log_max: _WINDOW})

    def read(self, size: int = -1, /) -> bytes:
        try:
            part = bytes(self._frames.read(size))
        except (self._fault, EOFError) as error:
            raise OSError(f"it is damaged ({error})") from error
        self._checksum = zlib.crc32(part, self._checksum)
        if not part and self._checksum != self._entry.CRC:
            raise zipfile.BadZipFile("it is damaged: its content is not that of its checksum")
        return part


class _Packed(io.RawIOBase):
    """The bytes of a part of a file."""

    def __init__(self, file: IO[bytes], start: int, length: int) -> None:
        self._file, self._place, self._end = file, start, start + length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what `BufferedReader` hands over
        self._file.seek(self._place)
        part = self._file.read(min(len(buffer), self._end - self._place))
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)
