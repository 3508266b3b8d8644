"""Files below a folder of the user's, wherever they lie in it, zips looked into."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from mindgauge.benchmarks.trustmh.released.file import SourceFile
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files import folder as files


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
