"""Which released files a figure of ours was measured on: with other files it is not compared.

Each `[measured_on.NAME]` of `published.toml` says which files count and what their contents hash to, whether they lie in an
archive or unpacked, and under whatever folder; a table rests on all of them, or on those that it names.
"""

from __future__ import annotations

import hashlib
import zipfile
from fnmatch import fnmatchcase
from typing import IO, TYPE_CHECKING

import msgspec

from mindgauge.records.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PIECE = 1 << 20


class MeasuredOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of a measurement."""

    files: tuple[str, ...]
    """Patterns of their paths; a part of an archive stands below it."""
    sha256: str
    """Over the hashes of their contents, sorted."""

    def holds(self, data: Path) -> bool:
        """Say whether the files below a folder are those.

        Raises:
            DataError: an archive cannot be read.
        """
        return self.digest(data) == self.sha256

    def digest(self, data: Path) -> str:
        """Hash what lies below a folder and counts.

        Raises:
            DataError: an archive cannot be read.
        """
        contents = sorted({*self._contents(data)})
        return hashlib.sha256("\n".join(contents).encode()).hexdigest()

    def _contents(self, data: Path) -> Iterator[str]:
        for path in sorted(data.rglob("*")) if data.is_dir() else [data]:
            if path.suffix.lower() == ".zip":
                yield from self._members(path)
            elif path.is_file() and self._counts(path.as_posix()):
                with path.open("rb") as file:
                    yield hashlib.file_digest(file, "sha256").hexdigest()

    def _members(self, path: Path) -> Iterator[str]:
        try:
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if not name.endswith("/") and self._counts(f"{path.as_posix()}/{name}"):
                        with archive.open(name) as file:
                            yield _hash(file)
        except (OSError, zipfile.BadZipFile, RuntimeError) as error:
            raise DataError(f"{path}: cannot be read ({error})") from error

    def _counts(self, place: str) -> bool:
        return any(fnmatchcase(f"/{place}", pattern) for pattern in self.files)


def _hash(file: IO[bytes]) -> str:
    total = hashlib.sha256()
    while piece := file.read(_PIECE):
        total.update(piece)
    return total.hexdigest()
