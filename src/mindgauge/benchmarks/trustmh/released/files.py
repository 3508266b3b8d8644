"""Files below a folder of the user's, wherever they lie in it, zips looked into."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from mindgauge.benchmarks.trustmh.released import bytes_of
from mindgauge.benchmarks.trustmh.released.file import File
from mindgauge.errors import DataError, MissingDataError


class Files(msgspec.Struct, frozen=True):
    """All files below a folder by their paths in it, those in zips under the zip's folder.

    What hidden files hold, those that a Mac puts into zips among them, is left out.
    """

    folder: Path
    known: dict[str, File]
    broken: tuple[str, ...] = ()
    """One line for each zip that cannot be opened."""

    @classmethod
    def below(cls, folder: Path) -> Files:
        """Look at everything below a folder.

        Raises:
            DataError: there is no such folder.
        """
        if not folder.is_dir():
            raise DataError(f"{folder}: no such folder")
        packed: dict[str, File] = {}
        plain: dict[str, File] = {}
        broken = []
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            name = path.relative_to(folder).as_posix()
            if path.suffix.lower() != ".zip":
                plain[name] = File(str(path), bytes_of.plain(path))
                continue
            try:
                inside = bytes_of.packed(path)
            except DataError as error:
                broken.append(str(error))
                continue
            place = path.parent.relative_to(folder)
            found = {(place / name).as_posix(): File(f"{path}:{name}", read) for name, read in inside.items()}
            packed = {**found, **packed}
        twins = {
            name: msgspec.structs.replace(file, copies=(packed[name],))
            for name, file in plain.items()
            if name in packed
        }
        known = {name: file for name, file in {**packed, **plain, **twins}.items() if not _hidden(name)}
        return cls(folder, known, tuple(broken))

    def all(self, ending: str) -> list[File]:
        """Return the files whose path ends so, whole names only, in the order of their paths.

        Where there is none, letter case does not matter.
        """
        named = sorted(self.known.items())
        exact = [file for path, file in named if f"/{path}".endswith(f"/{ending}")]
        return exact or [file for path, file in named if f"/{path}".lower().endswith(f"/{ending}".lower())]

    def matching(self, pattern: str) -> list[tuple[str, File]]:
        """Return name and file of those whose path matches a pattern of the shell's (`*/outputs/*.json`), in any case."""
        found = sorted(self.known.items())
        return [(path, file) for path, file in found if fnmatchcase(f"/{path}".lower(), pattern.lower())]

    def find(self, ending: str) -> File | None:
        """Return the first file whose path ends so."""
        first, *others = self.all(ending) or (None,)
        return first and msgspec.structs.replace(first, copies=(*first.copies, *others))

    def require(self, ending: str, obtain: str) -> File:
        """Return the file whose path ends so.

        Raises:
            MissingDataError: there is none; the message says how to get it.
            DataError: there is none, and it may be in a zip that cannot be opened, or a folder has its name.
        """
        found = self.find(ending)
        if found is None:
            raise self.lacking(ending, obtain)
        return found

    def lacking(self, name: str, obtain: str) -> DataError:
        """Return what is to be said where a file is not here."""
        folder = next((path for path in self.folder.rglob(name) if path.is_dir()), None)
        if folder is not None:
            return DataError(f"{folder}: expected a file, found a folder; {obtain}")
        told = f"{self.folder}: no {name} here; {obtain}"
        if self.broken:
            return DataError(f"{told}; it may be in a zip that cannot be opened: {'; '.join(self.broken)}")
        return MissingDataError(told)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))
