"""Which judges this machine has seen pass their entry test, with which instrument, under which limits.

Names of models and hashes of instruments (`state`). Where they cannot be read or written, the test is taken again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks.entry_limits import limits
from mindgauge.records import digest
from mindgauge.records.files import state
from mindgauge.store import manifest

if TYPE_CHECKING:
    from mindgauge.raters.judge import Instrument
    from mindgauge.records.request import Model

NAME = "passed.json"


class Passed(msgspec.Struct, frozen=True):
    """A judge that passed, with what it worked with, and when."""

    judge: str
    instrument: str
    limits: str
    at: str


def seen(judge: Model, instrument: Instrument) -> bool:
    """Say whether this machine has seen a judge pass with an instrument, under the limits of today."""
    return _key(judge, instrument) in _read()


def remember(judge: Model, instrument: Instrument) -> None:
    """Note that a judge passed."""
    passed = _read()
    rater = instrument.rater(judge.name)
    passed[_key(judge, instrument)] = Passed(rater, instrument.name, limits().name, manifest.now())
    state.write(NAME, passed)


def _key(judge: Model, instrument: Instrument) -> str:
    """Hash who judges, where it answers, with which words, by which method, and under which limits."""
    return digest(judge.name, judge.host, instrument.rater(""), str(instrument.mode), instrument.name, limits().name)


def _read() -> dict[str, Passed]:
    return state.read(NAME, dict[str, Passed]) or {}
