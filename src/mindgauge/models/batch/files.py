"""Batches on this machine's disk: requests on their way out, results on their way in. Neither is held in memory whole.

The files have no name, so nothing of them stays behind, however the process ends.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from mindgauge.models.completion import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST_LINE = 16 << 20
"""Bytes; a longer line of results is taken for broken."""
_MOST_STRANGERS = 100_000
"""Keys of lines that are not ours, of which is known whose they are."""


def reader(file: BinaryIO) -> BinaryIO:
    """Return another handle on a file, at its beginning, which whoever sends it may close."""
    file.flush()
    other = os.fdopen(os.dup(file.fileno()), "rb")
    other.seek(0)
    return other


class Requests:
    """The requests of one batch, written as they come."""

    def __init__(self, folder: Path, opening: bytes, between: bytes, closing: bytes) -> None:
        self.keys: list[bytes] = []
        self.size = len(opening) + len(closing)
        self._file = cast("BinaryIO", tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - closed by `close`
        self._file.write(opening)
        self._between = between
        self._closing = closing

    def add(self, key: bytes, request: bytes) -> None:
        """Put a request in."""
        if self.keys:
            self._file.write(self._between)
        self._file.write(request)
        self.keys.append(key)
        self.size += len(request) + len(self._between)

    def sealed(self) -> BinaryIO:
        """Return the whole file; nothing can be put in after."""
        self._file.write(self._closing)
        self._file.flush()
        return self._file

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class Oddities(NamedTuple):
    """How many lines of results were of no use."""

    unknown: int = 0
    doubled: int = 0
    broken: int = 0

    def __str__(self) -> str:
        counts = ((self.unknown, "of calls that were not in it"), (self.doubled, "doubled"), (self.broken, "broken"))
        return ", ".join(f"{count} {description}" for count, description in counts if count)


class Results:
    """The results of one batch: which line is whose. A success counts more than a failure, an earlier line more than a later."""

    def __init__(self, folder: Path) -> None:
        self.files: list[BinaryIO] = []
        self.oddities = Oddities()
        self.cut = False
        """Whether a file goes on, and could not be had to its end."""
        self._folder = folder
        self._places: dict[bytes, tuple[int, int, bool]] = {}
        self._strange: list[bytes] = []

    def __len__(self) -> int:
        return len(self._places)

    @property
    def good(self) -> bool:
        """Whether any call that is left here succeeded."""
        return any(good for _, _, good in self._places.values())

    def file(self) -> BinaryIO:
        """Return a new file to write results to."""
        self.files.append(cast("BinaryIO", tempfile.TemporaryFile(dir=self._folder)))  # noqa: SIM115 - closed by `close`
        return self.files[-1]

    def index(self, keys: set[bytes]) -> None:
        """Find the lines of the calls that are ours."""
        unknown = doubled = broken = 0
        for number, file in enumerate(self.files):
            for place, line in _lines(file):
                read = _whose(line)
                if read is None:
                    broken += 1
                    continue
                key, good = read
                if key not in keys:
                    unknown += 1
                    if len(self._strange) < _MOST_STRANGERS:
                        self._strange.append(key[:16])
                    continue
                before = self._places.get(key)
                doubled += before is not None
                if before is None or (good and not before[2]):
                    self._places[key] = (number, place, good)
        self.oddities = Oddities(unknown, doubled, broken)

    def strangers(self) -> list[bytes]:
        """Return the keys of lines that are not ours."""
        return self._strange

    def take(self, key: bytes) -> dict[str, Any] | None:
        """Return what a call's line says, if there is one, once."""
        position = self._places.pop(key, None)
        if position is None:
            return None
        file = self.files[position[0]]
        file.seek(position[1])
        return read(file.readline(LONGEST_LINE))

    def close(self) -> None:
        """Let go of the files."""
        for file in self.files:
            file.close()


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Read line by line, with where each begins; blank ones are left out, and of those that are too long the rest."""
    file.seek(0)
    place = 0
    while line := file.readline(LONGEST_LINE):
        start, place = place, place + len(line)
        if not line.endswith(b"\n") and len(line) == LONGEST_LINE:
            while rest := file.readline(LONGEST_LINE):
                place += len(rest)
                if rest.endswith(b"\n"):
                    break
        if line.strip():
            yield start, line


def read(line: bytes) -> dict[str, Any]:
    """Read a line of results; empty where it is broken."""
    try:
        value = parsed(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _whose(line: bytes) -> tuple[bytes, bool] | None:
    """Return whose line this is, and whether it tells of a success; None if it is broken."""
    record = read(line)
    custom_id = record.get("custom_id")
    if not isinstance(custom_id, str):
        return None
    try:
        key = bytes.fromhex(custom_id)
    except ValueError:
        key = b""
    response, result = record.get("response"), record.get("result")
    good = isinstance(response, dict) and response.get("status_code") == 200
    return key, good or (isinstance(result, dict) and result.get("type") == "succeeded")
