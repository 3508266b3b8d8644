"""Judges' answers, kept in a folder by what was asked, so that another run that asks the same pays for nothing twice.

A call's key is the hash of judge, messages, parameters, schema and repeat (`records.request`), the same in every run and
on every machine. Only judges' answers are kept, never those of a model under test, which is what a run is there to
measure; and only answers that came, so that a call that failed is made again.

Whoever can write into the folder can write verdicts. An entry that was damaged by chance is noticed and asked for anew;
one that somebody forged is not.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from mindgauge.records import Exchange, Status
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.files import private

if TYPE_CHECKING:
    from typing import Self

VARIABLE = "MINDGAUGE_CACHE"
"""The variable of the environment that names the folder where no option does."""
_FORM = "verdicts-1"


class _Entry(msgspec.Struct, frozen=True):
    """A file: an answer as JSON, and its checksum."""

    check: int
    exchange: msgspec.Raw


class VerdictCache:
    """The folder of one command. `found` counts the answers that it gave."""

    def __init__(self, folder: Path) -> None:
        """Open a folder, or make it.

        Raises:
            UsageError: it cannot be written.
        """
        self.folder = folder
        self.found = 0
        private.folder(folder / _FORM)

    @classmethod
    def of(cls, folder: str | None) -> Self | None:
        """Open the folder that a command names, or else the environment; None where neither does."""
        name = folder if folder is not None else os.environ.get(VARIABLE, "")
        return cls(Path(name).expanduser()) if name else None

    def find(self, key: bytes) -> Exchange | None:
        """Return the answer to a call, as one that cost nothing here; None where there is none, or it is damaged."""
        try:
            entry = msgspec.json.decode(self._place(key).read_bytes(), type=_Entry)
            if crc32(bytes(entry.exchange)) != entry.check:
                return None
            exchange = msgspec.json.decode(entry.exchange, type=Exchange)
        except (OSError, ValueError, RecursionError):
            return None
        self.found += 1
        return msgspec.structs.replace(exchange, cost=0.0, seconds=0.0, overdue=0, at_most=None)

    def keep(self, key: bytes, exchange: Exchange) -> None:
        """Keep an answer that came. That it cannot be written is no reason to lose the run."""
        if exchange.status is not Status.OK:
            return
        content = msgspec.json.encode(exchange)
        place = self._place(key)
        with contextlib.suppress(MindgaugeError):
            private.folder(place.parent)
            with private.written(place) as file:
                file.write(msgspec.json.encode(_Entry(crc32(content), msgspec.Raw(content))))

    def _place(self, key: bytes) -> Path:
        name = key.hex()
        return self.folder / _FORM / name[:2] / f"{name[2:]}.json"
