"""How the bytes of a file are read, of one in a folder and of one in a zip; what keeps them from being read, named."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

from mindgauge.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def plain(path: Path) -> Callable[[], bytes]:
    """Return what reads a file in a folder."""

    def read() -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise DataError(f"{path}: expected a file that can be read, found {error.strerror}") from None

    return read


def packed(path: Path) -> dict[str, Callable[[], bytes]]:
    """Return what reads each file of a zip, by its name there.

    Raises:
        DataError: it cannot be opened.
    """
    try:
        with zipfile.ZipFile(path) as zipped:
            names = [info.filename for info in zipped.infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{path}: expected a zip, found {error}") from None
    return {name: _unpacking(path, name) for name in names}


def _unpacking(path: Path, name: str) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            with zipfile.ZipFile(path) as zipped:
                return zipped.read(name)
        # a RuntimeError: it is encrypted, or packed in a way that is not known
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
            raise DataError(f"{path}: expected {name} in it to unpack, found {error}") from None

    return read
