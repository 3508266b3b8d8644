"""Entry tests that judges passed, as this machine remembers them: which judge, where, with which instrument and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.benchmarks.anchors import limits
from mindgauge.records.files import private
from mindgauge.records.request import Setup
from mindgauge.store import manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.store import Store

NAME = "passed.json"
_ANSWERED = """
SELECT DISTINCT series.benchmark, series.rater, origins.instrument,
    json_extract('{' || rtrim(origins.members, ',') || '}', '$.endpoint')
FROM series JOIN rated ON rated.series = series.id JOIN origins ON origins.id = rated.origin"""


class Passed(msgspec.Struct, frozen=True):
    """A judge that passed, with where it answered, what it worked with, and when."""

    judge: str
    endpoint: str
    """As ratings name it in their provenance."""
    instrument: str
    limits: str
    at: str
    model: str
    """Its name without what the instrument adds."""
    setup: str
    """A hash of what it was set up with, as runs record it: of a function, its code. Empty for a model that is its name."""
    worst: tuple[tuple[str, str], ...]
    """Criterion, and why it does not use the worst level as people do; empty where it gave that level.

    No criterion of which too few such replies were rated. A record without all this, of an older version, is not read, and
    the test is taken again.
    """


def passed(store: Store) -> dict[Passed, set[str]]:
    """Return what this machine remembers of a run's judges, under the limits of today, and on which benchmarks it counts.

    A name is easily given to another: a pass counts only for a judge that answered where it passed, with the same
    instrument, and that was set up as it was then.
    """
    setups = manifest.read(store.folder).get("models", {})
    entries = [
        entry
        for entry in read().values()
        if entry.limits == limits().name and entry.setup == Setup(setups.get(entry.model, {})).hash
    ]
    places: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for benchmark, rater, instrument, place in store.select(_ANSWERED):
        places.setdefault((rater, instrument), set()).add((benchmark, place))
    known: dict[Passed, set[str]] = {}
    for judge, answered in places.items():
        own = [entry for entry in entries if (entry.judge, entry.instrument) == judge]
        if {place for _, place in answered} <= {entry.endpoint for entry in own}:
            known |= {e: {b for b, place in answered if place == e.endpoint} for e in own}
    return known


def read() -> dict[str, Passed]:
    """Return all that is remembered, by the hash of who passed which test; nothing where it cannot be read."""
    return private.read_state(NAME, dict[str, Passed]) or {}


def write(content: Mapping[str, Passed]) -> None:
    """Replace what is remembered."""
    private.write_state(NAME, content)
