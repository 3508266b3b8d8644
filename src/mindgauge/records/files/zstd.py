"""Files in a zip that are packed with Zstandard, also in several frames, which Python's `zipfile` does not read."""

from __future__ import annotations

import io
import struct
import sys
import zipfile
import zlib
from typing import IO, cast

METHOD = 93
"""Of packing, as a zip's table of contents has it (APPNOTE 6.3.10, 4.4.5)."""
_HEADER = struct.Struct("<4s22xHH")
"""Of a file in a zip: its mark, and how long the name and the extra field are that stand between it and the content."""
_MARK = b"PK\x03\x04"
_WINDOW = 27
"""Of how many bytes a frame may ask a reader to remember, the logarithm; the format's own default."""


def opened(file: IO[bytes], entry: zipfile.ZipInfo) -> IO[bytes]:
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
