"""The files of a folder and the members of zips, one at a time, however large or broken the rest is."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from mindgauge import files
from mindgauge.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".txt")


class Member(NamedTuple):
    """A file: its name below what was given, with `/`, and its bytes."""

    name: str
    content: bytes


def members(paths: Iterable[Path], notes: list[str]) -> Iterator[Member]:
    """Yield the readable files, in natural order (2 before 10); say in `notes` what could not be read."""
    for path in paths:
        if path.is_dir():
            for file in sorted(files.walk(path), key=lambda file: natural(file.as_posix())):
                yield from _file(file, file.relative_to(path).as_posix(), notes)
        else:
            yield from _file(path, path.name, notes)


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sorting key that takes digits as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _file(path: Path, name: str, notes: list[str]) -> Iterator[Member]:
    suffix = path.suffix.lower()
    if suffix == ".zip":
        yield from _zip(path, name, notes)
    elif suffix in KINDS:
        try:
            yield Member(name, files.content(path))
        except OSError as error:
            notes.append(f"{name}: cannot read it ({error.strerror})")
    else:
        notes.append(f"{name}: not a table or text, not read")


def _zip(path: Path, name: str, notes: list[str]) -> Iterator[Member]:
    try:
        archive = files.Archive(path)
    except DataError as error:
        notes.append(f"{name}: not a readable zip ({str(error).removeprefix(f'{path}: ')})")
        return
    for entry in sorted(archive.entries, key=lambda e: natural(e.filename)):
        inside = PurePosixPath(entry.filename)
        if any(map(files.hidden, inside.parts)):
            continue
        where = f"{name}/{inside}"
        if inside.suffix.lower() not in KINDS:
            what = "a zip inside a zip" if inside.suffix.lower() == ".zip" else "not a table or text"
            notes.append(f"{where}: {what}, not read")
            continue
        try:
            yield Member(where, archive.read(entry))
        except OSError as error:
            notes.append(f"{where}: not read ({error.strerror})")
