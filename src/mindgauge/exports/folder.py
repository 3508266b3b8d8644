"""The folder an export goes to: written whole or not at all, with the digest of every file, and never over a stranger's.

A folder is ours as long as it holds exactly what its `checksums/sha256_manifest.json` lists: only then is it replaced.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import shutil
import socket
from typing import TYPE_CHECKING, Any, Self

import msgspec

from mindgauge import private
from mindgauge.errors import MindgaugeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import polars as pl

MANIFEST = "checksums/sha256_manifest.json"


class Written(msgspec.Struct, frozen=True):
    """One file of an export. `rows` is None where it is no table."""

    file: str
    rows: int | None
    size: int
    sha256: str


class Folder:
    """Gathers files beside their destination and moves them there together when the `with` block ends well."""

    def __init__(self, out: Path) -> None:
        """Claim a destination.

        Raises:
            UsageError: it is a file, or holds anything that is not an earlier export as it was written.
        """
        self.out = str(out.resolve())
        self.written: list[Written] = []
        self._target = out.resolve()
        stranger = _stranger(self._target)
        if stranger is not None:
            raise holds_other(str(out), stranger)
        self._draft = self._target.with_name(f".{self._target.name}.{socket.gethostname()}.{os.getpid()}")

    def __enter__(self) -> Self:
        try:
            # Those of other machines may still be written.
            here = f".{glob.escape(self._target.name)}.{glob.escape(socket.gethostname())}.*"
            remove_abandoned(self._target.parent.glob(here))
            self._draft.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise UsageError(f"{self.out}: cannot write here ({error.strerror})") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        try:
            if error is None:
                self._settle()
        except OSError as problem:
            raise MindgaugeError(f"{self.out}: {problem.strerror or problem}; nothing was exported") from problem
        finally:
            shutil.rmtree(self._draft, ignore_errors=True)
        if isinstance(error, OSError):
            raise MindgaugeError(f"{self.out}: {error.strerror or error}; nothing was exported") from error

    def text(self, name: str, content: str) -> None:
        """Write a text file."""
        self._path(name).write_text(content, encoding="utf-8", newline="\n")
        self._note(name, None)

    def json(self, name: str, content: Any) -> None:
        """Write a JSON file whose bytes depend on its content only."""
        self.text(name, json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n")

    def parquet(self, name: str, rows: pl.DataFrame) -> None:
        """Write a Parquet file."""
        rows.write_parquet(self._path(name), compression="zstd", row_group_size=65_536)
        self._note(name, rows.height)

    def csv(self, name: str, rows: pl.DataFrame) -> None:
        """Write a CSV file: all text quoted, and marked as UTF-8 so that spreadsheets read every script."""
        self.csv_stream(name, [rows])

    def csv_stream(self, name: str, frames: Iterable[pl.DataFrame]) -> None:
        """Write a CSV file from frames of the same columns, at least one, of which only one is held at a time."""
        rows = 0
        with self._path(name).open("wb") as file:
            for number, frame in enumerate(frames):
                frame.write_csv(file, include_bom=not number, include_header=not number, quote_style="non_numeric")
                rows += frame.height
        self._note(name, rows)

    def _list(self) -> None:
        """Write the manifest."""
        files = {w.file: {"sha256": w.sha256, "size": w.size} for w in self.written}
        self.json(MANIFEST, {"algorithm": "sha256", "files": files})

    def _path(self, name: str) -> Path:
        path = self._draft / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() or any(written.file == name for written in self.written):
            raise MindgaugeError(f"{self.out}: two tables would both be {name}; rename a model or rater")
        return path

    def _note(self, name: str, rows: int | None) -> None:
        path = self._draft / name
        self.written.append(Written(name, rows, path.stat().st_size, _sha256(path)))

    def _settle(self) -> None:
        """Put everything in its place."""
        self._list()
        for path in self._draft.rglob("*"):
            private.close(path)
        if self._target.exists():
            shutil.rmtree(self._target)
        self._draft.rename(self._target)


def holds_other(out: str, stranger: str) -> UsageError:
    """Return the refusal of a destination that holds something which is not ours."""
    return UsageError(f"{out}: holds {stranger}, which no export left there like this; choose another --out")


def remove_abandoned(drafts: Iterable[Path]) -> None:
    """Remove what killed exports left: drafts whose names end with `.` and the number of a process that is gone."""
    for draft in drafts:
        with contextlib.suppress(ValueError, PermissionError):
            try:
                os.kill(int(draft.name.rpartition(".")[2]), 0)
            except ProcessLookupError:
                shutil.rmtree(draft, ignore_errors=True)


def _stranger(folder: Path) -> str | None:
    """Return the first thing in a folder that an earlier export did not leave there as it is now."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        return "a file"
    try:
        listed = json.loads((folder / MANIFEST).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        listed = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()):
        if listed and path == folder / MANIFEST:
            continue
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or name not in listed or listed[name].get("sha256") != _sha256(path):
            return name
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
