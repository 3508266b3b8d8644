"""Which released files a figure of ours was measured on: with other files it is not compared.

Each `[measured_on.NAME]` of `published.toml` says which files count and what their contents hash to, whether they lie in an
archive or unpacked, behind a link, and under whatever folder; a table rests on all of them, or on those that it names.
"""

from __future__ import annotations

import hashlib
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files.folder import below, members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.records.files.folder import Readable


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
        for file in _released(data):
            if self._counts(str(file)):
                try:
                    yield hashlib.sha256(file.read_bytes()).hexdigest()
                except OSError as error:
                    raise DataError(f"{file}: cannot be read ({error.strerror or error})") from error

    def _counts(self, place: str) -> bool:
        return any(fnmatchcase(f"/{place}", pattern) for pattern in self.files)


def _released(data: Path) -> Iterator[Readable]:
    """Yield what is looked at where the data are read, too: through links and in zips, and nothing that is hidden.

    Raises:
        DataError: an archive cannot be read.
    """
    if data.is_dir():
        content = below(data)
        if content.broken:
            raise DataError(content.broken[0])
        yield from (*content.files, *content.packed)
    else:
        yield from members(data, PurePosixPath()) if data.suffix.lower() == ".zip" else [data]
