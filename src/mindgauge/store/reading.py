"""Who read which reply in `view`, when and for how long: lines beside the run, which change no rating.

A line is added by one write to a file that is only ever added to, so that it grows, too, while another process writes the
run, and a kill costs the last line at most. What of a rating was taken back is told here as well.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records import encode
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "reading.jsonl"
ENOUGH = 3.0
"""Seconds from which on what was open counts as read; who steps past it has not read it."""


class OpenedReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a person had open: a reply, or a closed question's sample. `at` is when it was closed, in UTC.

    `blind`: neither a model's name nor a verdict stood beside it. `withdrawn` is the rating that was taken back then, by
    criterion, if one was.
    """

    benchmark: str
    subject: str
    who: str
    at: str
    seconds: float = 0.0
    blind: bool = False
    withdrawn: dict[str, Any] = {}


_decode = msgspec.json.Decoder(OpenedReply).decode


def note(folder: Path, entry: OpenedReply) -> None:
    """Add a line.

    Raises:
        OSError: it cannot be written.
        UsageError: a link stands in the file's place.
    """
    handle = private.opened(folder / FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(handle).st_size
        cut = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        os.write(handle, (b"\n" if cut else b"") + encode(entry) + b"\n")
    finally:
        os.close(handle)


def entries(folder: Path) -> Iterator[OpenedReply]:
    """Yield the lines that can be read, oldest first; none where nobody ever read anything there."""
    path = folder / FILE
    if not path.is_file():
        return
    for line in bounds.content(path).splitlines():
        with contextlib.suppress(msgspec.MsgspecError):  # cut off by a kill
            yield _decode(line)


def seconds_by_reader(folder: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Return (benchmark, subject) → reader → for how long it was open, in all."""
    totals: dict[tuple[str, str], dict[str, float]] = {}
    for entry in entries(folder):
        readers = totals.setdefault((entry.benchmark, entry.subject), {})
        readers[entry.who] = readers.get(entry.who, 0.0) + entry.seconds
    return totals


def read_subjects(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return (benchmark, subject) → who read it: had it open for long enough."""
    return {
        subject: names
        for subject, readers in seconds_by_reader(folder).items()
        if (names := sorted(name for name, seconds in readers.items() if seconds >= ENOUGH))
    }
