"""The files of a folder and the members of zips, one at a time, however large or broken the rest is."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from mindgauge import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".txt")
LARGEST = 512 * 2**20
"""Bytes of one file or member, unpacked; larger ones are named, not read."""
ALL = 2 * 2**30
"""Bytes of all members of a zip together, unpacked: a small zip may claim to hold more than a disk."""
MOST = 200_000
"""Members of a zip that are looked at."""


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
        if path.stat().st_size > LARGEST:
            notes.append(f"{name}: larger than {LARGEST // 2**20} MiB, not read")
            return
        try:
            yield Member(name, path.read_bytes())
        except OSError as error:
            notes.append(f"{name}: cannot read it ({error.strerror})")
    else:
        notes.append(f"{name}: not a table or text, not read")


def _zip(path: Path, name: str, notes: list[str]) -> Iterator[Member]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        notes.append(f"{name}: not a readable zip ({error})")
        return
    left = ALL
    with archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(entries) > MOST:
            notes.append(f"{name}: {len(entries):,} members, the first {MOST:,} are read")
        for entry in sorted(entries[:MOST], key=lambda e: natural(e.filename)):
            inside = PurePosixPath(entry.filename)
            if any(map(files.hidden, inside.parts)):
                continue
            where = f"{name}/{inside}"
            if inside.suffix.lower() not in KINDS:
                what = "a zip inside a zip" if inside.suffix.lower() == ".zip" else "not a table or text"
                notes.append(f"{where}: {what}, not read")
                continue
            content = _unpack(archive, entry, min(LARGEST, left))
            if isinstance(content, str):
                notes.append(f"{where}: {content}, not read")
                continue
            left -= len(content)
            yield Member(where, content)


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes | str:
    """Unpack a member, or say why not. No more than the limit is unpacked, whatever size the zip claims."""
    if entry.flag_bits & 1:
        return "encrypted"
    try:
        with archive.open(entry) as stream:
            content = stream.read(limit + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        return f"broken ({error})"
    return content if len(content) <= limit else "larger unpacked than is read"
