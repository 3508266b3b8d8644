"""Which judges this machine has seen pass their entry test, with which instrument, under which limits.

A small file in the user's own state folder: `$MINDGAUGE_STATE`, or `mindgauge` below `$XDG_STATE_HOME` or
`~/.local/state`. It holds names of models and hashes of instruments, and nothing that people or models said. One that
cannot be read or written is no reason to fail: the test is then taken again.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge import bounds, manifest
from mindgauge.analysis.fitness import limits
from mindgauge.records import digest

if TYPE_CHECKING:
    from mindgauge.models.request import Model
    from mindgauge.raters.judge import Instrument

FOLDER = "MINDGAUGE_STATE"
NAME = "passed.json"


class Passed(msgspec.Struct, frozen=True):
    """A judge that passed, with what it worked with, and when."""

    judge: str
    instrument: str
    limits: str
    at: str


def place() -> Path:
    """Return the file."""
    named = os.environ.get(FOLDER)
    if named:
        return Path(named) / NAME
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "mindgauge" / NAME


def seen(judge: Model, instrument: Instrument) -> bool:
    """Say whether this machine has seen a judge pass with an instrument, under the limits of today."""
    return _key(judge, instrument) in _read()


def remember(judge: Model, instrument: Instrument) -> None:
    """Note that a judge passed."""
    known = _read()
    rater = instrument.rater(judge.name)
    known[_key(judge, instrument)] = Passed(rater, instrument.name, limits().name, manifest.now())
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: there is no home
        path = place()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written aside and put in its place at once, readable by its owner alone, as temporary files are.
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=NAME)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(known))
        Path(draft).replace(path)


def _key(judge: Model, instrument: Instrument) -> str:
    """Hash who judges, where it answers, with which words, by which method, and under which limits."""
    return digest(judge.name, judge.host, instrument.rater(""), str(instrument.mode), instrument.name, limits().name)


def _read() -> dict[str, Passed]:
    with contextlib.suppress(OSError, RuntimeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(bounds.content(place()), type=dict[str, Passed])
    return {}
