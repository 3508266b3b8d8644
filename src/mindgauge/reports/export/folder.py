"""The folder an export goes to: written whole or not at all, with the digest of every file, and never over a stranger's.

A folder is ours as long as it holds exactly what its `checksums/sha256_manifest.json` lists: only then is it replaced.
Making an export takes time, in which others may put something into the old one. So that is moved aside, looked at once
more, and put back if it is not ours any more; of one that is, the listed files are removed, and nothing else.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import socket
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Self

import msgspec

from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import checksum, private
from mindgauge.records.files.texts import neutralised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import polars as pl

MANIFEST = "checksums/sha256_manifest.json"


class Written(msgspec.Struct, frozen=True):
    """One file of an export. `rows` is None where it is no table."""

    file: str
    rows: int | None
    size: int
    sha256: str


class ExportFolder:
    """Gathers files beside their destination and moves them there together when the `with` block ends well."""

    def __init__(self, target: Path) -> None:
        """Claim a destination.

        Raises:
            UsageError: it is a file, or holds anything that is not an earlier export as it was written.
        """
        self.out = str(target.resolve())
        self.written: list[Written] = []
        self._target = target.resolve()
        self._aside = self._target.with_name(f".{self._target.name}.{socket.gethostname()}~.{os.getpid()}")
        self._recover()
        stranger = stranger_in(self._target)
        if stranger is not None:
            raise holds_other(str(target), stranger)
        self._draft = self._target.with_name(f".{self._target.name}.{socket.gethostname()}.{os.getpid()}")

    def __enter__(self) -> Self:
        with private.writing(self._target):
            remove_abandoned(self._beside())
            self._draft.mkdir(mode=0o700, parents=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            with private.writing(self._target):
                if error is not None:
                    raise error
                self._settle()
        finally:
            shutil.rmtree(self._draft, ignore_errors=True)

    def text(self, name: str, content: str) -> None:
        """Write a text file."""
        with self.binary(name) as file:
            file.write(content.encode())

    @contextlib.contextmanager
    def binary(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file to be written in any format of its own."""
        with private.made(self._path(name)) as file:
            yield file
        self._note(name, None)

    def json(self, name: str, content: Any) -> None:
        """Write a JSON file whose bytes depend on its content only."""
        self.text(name, json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n")

    def parquet(self, name: str, rows: pl.DataFrame) -> None:
        """Write a Parquet file."""
        with private.made(self._path(name)) as file:
            rows.write_parquet(file, compression="zstd", row_group_size=65_536)
        self._note(name, rows.height)

    def csv(self, name: str, rows: pl.DataFrame) -> None:
        """Write a CSV file: all text quoted and `neutralised`, and marked as UTF-8 so that spreadsheets read every script."""
        self.csv_stream(name, [rows])

    def csv_stream(self, name: str, frames: Iterable[pl.DataFrame]) -> None:
        """Write a CSV file from frames of the same columns, at least one, of which only one is held at a time."""
        rows = 0
        with private.made(self._path(name)) as file:
            for number, frame in enumerate(map(neutralised, frames)):
                frame.write_csv(file, include_bom=not number, include_header=not number, quote_style="non_numeric")
                rows += frame.height
        self._note(name, rows)

    def _list(self) -> None:
        """Write the manifest."""
        files = {w.file: {"sha256": w.sha256, "size": w.size} for w in self.written}
        self.json(MANIFEST, {"algorithm": "sha256", "files": files})

    def _path(self, name: str) -> Path:
        path = self._draft / name
        if ".." in path.parts or not path.is_relative_to(self._draft):
            raise MindgaugeError(f"{self.out}: {name!r} is no name of a file within it; rename a model or rater")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() or any(record.file == name for record in self.written):
            raise MindgaugeError(f"{self.out}: two tables would both be {name}; rename a model or rater")
        return path

    def _note(self, name: str, rows: int | None) -> None:
        path = self._draft / name
        self.written.append(Written(name, rows, path.stat().st_size, checksum.sha256(path)))

    def _settle(self) -> None:
        """Put everything in its place."""
        self._list()
        for path in self._draft.rglob("*"):
            private.close(path)
        if not self._target.exists():
            self._draft.rename(self._target)
            return
        self._target.rename(self._aside)
        stranger = stranger_in(self._aside)
        if stranger is None:
            try:
                self._draft.rename(self._target)
            except OSError:  # somebody made a folder in its place
                with contextlib.suppress(OSError):
                    self._aside.rename(self._target)
                raise
            remove_listed(self._aside)
            return
        self._aside.rename(self._target)
        raise UsageError(
            f"{self.out}: {stranger} was put there, or changed, while the export was made; nothing was exported, choose "
            "another --out"
        )

    def _recover(self) -> None:
        """Put back the earlier export that a killed one had moved aside, or remove it where its place is taken."""
        for aside in abandoned(self._beside("~")):
            if not self._target.exists():
                aside.rename(self._target)
            elif stranger_in(aside) is None:
                remove_listed(aside)

    def _beside(self, mark: str = "") -> Iterator[Path]:
        """Return what exports to this place left beside it on this machine; those of other machines may still be written."""
        pattern = f".{glob.escape(self._target.name)}.{glob.escape(socket.gethostname())}{mark}.*"
        return self._target.parent.glob(pattern)


def holds_other(target: str, stranger: str) -> UsageError:
    """Return the refusal of a destination that holds something which is not ours."""
    return UsageError(f"{target}: holds {stranger}, which no export left there like this; choose another --out")


def remove_abandoned(drafts: Iterable[Path]) -> None:
    """Remove what killed exports left: drafts, which nobody else has reason to write in."""
    for draft in abandoned(drafts):
        shutil.rmtree(draft, ignore_errors=True)


def abandoned(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield those folders whose names end with `.` and the number of a process that is gone."""
    for folder in list(folders):
        with contextlib.suppress(ValueError, PermissionError):
            try:
                os.kill(int(folder.name.rpartition(".")[2]), 0)
            except ProcessLookupError:
                yield folder


def remove_listed(folder: Path) -> None:
    """Remove the files of an export, and the folders that are empty then; what somebody else put there stays."""
    for name in [*_listed(folder), MANIFEST]:
        path = folder / name
        path.unlink(missing_ok=True)
        for parent in path.relative_to(folder).parents:
            with contextlib.suppress(OSError):  # not empty yet, or never
                (folder / parent).rmdir()


def stranger_in(folder: Path) -> str | None:
    """Return the first thing in a folder that an earlier export did not leave there as it is now."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        return "a file"
    listed = _listed(folder)
    own_folders = {parent.as_posix() for name in [*listed, MANIFEST] for parent in PurePosixPath(name).parents}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            return name
        if path.is_dir():
            if name not in own_folders:
                return name
        elif not (listed and name == MANIFEST) and (name not in listed or listed[name] != checksum.sha256(path)):
            return name
    return None


def _listed(folder: Path) -> dict[str, str]:
    """Return the digests of the files that an export's manifest lists; nothing where there is none, or none of ours."""
    path = folder / MANIFEST
    if path.is_symlink() or path.parent.is_symlink():
        return {}
    try:
        files = json.loads(path.read_bytes())["files"]
        listed = {str(name): str(files[name]["sha256"]) for name in files}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {} if any(".." in PurePosixPath(name).parts or name.startswith("/") for name in listed) else listed
