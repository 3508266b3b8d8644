"""A run's ratings of the released replies as the authors' scripts would take them: people's, the released judges', and those of judges that rated here.

The authors pair by ConvID. A reply's ConvID is that of the released judges' rows, which were written from the replies; of
a judge that rated the reply here, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.benchmarks.mentalbench.cells import CRITERIA, CellFault, Repair
from mindgauge.benchmarks.mentalbench.released import ORIGINAL, PEOPLE
from mindgauge.benchmarks.mentalbench.reproduce import ValuePairs, paired
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from mindgauge.records import Rating, Reply

_UNREAD = {CellFault.EMPTY_CELL, CellFault.REFUSAL, CellFault.NO_VERDICT}


class RunValues(NamedTuple):
    """What a run holds; of each rater an array (ConvIDs, systems, attributes), NaN where there is no value."""

    systems: list[str]
    """In the order in which the authors resample them."""
    by_rater: dict[str, NDArray[np.float64]]
    asked: dict[str, list[Rating]]
    """The verdicts of the judges that rated here, and not in a released file."""
    unsent: frozenset[str]
    """The replies that came to nothing, so that no judge is shown them."""

    def beside_people(self, judge: str, systems: Sequence[str]) -> ValuePairs:
        """Pair people's values and a judge's, of these systems."""
        places = [self.systems.index(name) for name in systems]
        human, judged = (self.by_rater[rater][:, places] for rater in (PEOPLE, judge))
        return paired(human, judged, [(row, row) for row in range(len(human))])


def of_run(replies: Iterable[Reply], ratings: Iterable[Rating]) -> RunValues | None:
    """Read the values of a run; None where it holds none of the panel, as every run but a loaded one."""
    of_reply = {reply.id: reply for reply in replies}
    attributes = {name: k for k, name in enumerate(CRITERIA)}
    home: dict[str, str] = {}
    values: dict[str, dict[tuple[str, str, int], float]] = {}
    asked: dict[str, list[Rating]] = {}
    for rating in ratings:
        attribute, reply = attributes.get(rating.criterion), of_reply.get(rating.subject)
        if attribute is None or reply is None or rating.rater_kind is RaterKind.RULE:
            continue
        ident = rating.provenance.get("conv_id")
        if ident is None:
            asked.setdefault(rating.rater, []).append(rating)
            continue
        values.setdefault(rating.rater, {})[ident, reply.model, attribute] = _as_source(rating)
        if rating.rater_kind is RaterKind.MODEL:
            home[reply.id] = ident
    if PEOPLE not in values:
        return None
    for judge, verdicts in asked.items():
        values[judge] = {}
        for rating in verdicts:
            reply = of_reply[rating.subject]
            ident = home.get(reply.id, reply.provenance.get("conv_id"))
            if ident is not None:
                key = (ident, reply.model, attributes[rating.criterion])
                values[judge].setdefault(key, _as_source(rating))
    idents = {ident: row for row, ident in enumerate(dict.fromkeys(key[0] for key in values[PEOPLE]))}
    systems = sorted({key[1] for key in values[PEOPLE]}, key=lambda name: (name != ORIGINAL, name))
    places = {name: place for place, name in enumerate(systems)}
    arrays = {}
    for rater, of_rater in values.items():
        arrays[rater] = np.full((len(idents), len(systems), len(CRITERIA)), np.nan)
        for (ident, system, attribute), value in of_rater.items():
            if ident in idents and system in places:
                arrays[rater][idents[ident], places[system], attribute] = value
    unsent = frozenset(reply.id for reply in of_reply.values() if reply.status is not Status.OK)
    return RunValues(systems, arrays, asked, unsent)


def _as_source(rating: Rating) -> float:
    """Return what the authors' scripts read in a released cell: zeros and sixes too, and no cell that needs more than its fence off."""
    provenance = rating.provenance
    if provenance.get("fault") in _UNREAD or provenance.get("repair", Repair.FENCE) != Repair.FENCE:
        return math.nan
    return cells.as_source(provenance.get("released") if rating.value is None else rating.value)
