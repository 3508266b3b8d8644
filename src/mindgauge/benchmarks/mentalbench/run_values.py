"""A run's ratings of the released replies as the authors' scripts would take them: people's, the released judges', and those of judges that rated here.

The authors pair by ConvID. A reply's ConvID is that of the released judges' rows, which were written from the replies; of
a judge that rated the reply here, too.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.benchmarks.mentalbench.cells import CRITERIA, CellFault, Repair
from mindgauge.benchmarks.mentalbench.released import ORIGINAL, PEOPLE
from mindgauge.benchmarks.mentalbench.reproduce import ValuePairs, paired, source_values
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from mindgauge.benchmarks.mentalbench.cells import CellScores
    from mindgauge.records import Rating, Reply

    Floats = NDArray[np.float64]

_Place: TypeAlias = tuple[str, str, int]
"""A ConvID, a system, an attribute."""
_ATTRIBUTES = {name: k for k, name in enumerate(CRITERIA)}
_UNREAD = {CellFault.EMPTY_CELL, CellFault.REFUSAL, CellFault.NO_VERDICT}


class RunValues(NamedTuple):
    """What a run holds; of each rater an array (ConvIDs, systems, attributes), NaN where there is no value."""

    systems: list[str]
    """In the order in which the authors resample them."""
    by_rater: dict[str, Floats]
    verdicts: dict[str, list[Rating]]
    """The verdicts of the judges that rated here, and not in a released file."""
    empty: frozenset[str]
    """The replies that came to nothing, so that no judge is shown them."""

    def beside_people(self, judge: str, systems: Sequence[str]) -> ValuePairs:
        """Pair people's values and a judge's, of these systems."""
        places = [self.systems.index(name) for name in systems]
        human, judged = (self.by_rater[rater][:, places] for rater in (PEOPLE, judge))
        return paired(human, judged, [(row, row) for row in range(len(human))])


def of_run(
    replies: Iterable[Reply], ratings: Iterable[Rating], answer: Callable[[str], str | None]
) -> RunValues | None:
    """Read the values of a run; None where it holds none of the panel, as every run but a loaded one.

    Args:
        replies: of the run.
        ratings: of the run.
        answer: returns the text of a judge's answer by its call, if the run keeps it.
    """
    of_reply = {reply.id: reply for reply in replies}
    home: dict[str, str] = {}
    values: dict[str, dict[_Place, float]] = {}
    verdicts: dict[str, list[Rating]] = {}
    for rating in ratings:
        if rating.criterion not in _ATTRIBUTES or rating.subject not in of_reply or rating.rater_kind is RaterKind.RULE:
            continue
        if (ident := rating.provenance.get("conv_id")) is None:
            verdicts.setdefault(rating.rater, []).append(rating)
            continue
        place = ident, of_reply[rating.subject].model, _ATTRIBUTES[rating.criterion]
        values.setdefault(rating.rater, {})[place] = _of_cell(rating)
        if rating.rater_kind is RaterKind.MODEL:
            home[rating.subject] = ident
    if PEOPLE not in values:
        return None
    for judge, of_judge in verdicts.items():
        values[judge] = {}
        read = functools.lru_cache(maxsize=1)(lambda call: cells.read(answer(call)))  # of one call, all seven follow
        for rating in sorted(of_judge, key=lambda rating: (rating.subject, rating.run)):
            reply = of_reply[rating.subject]
            if (ident := home.get(reply.id, reply.provenance.get("conv_id"))) is not None:
                place = ident, reply.model, _ATTRIBUTES[rating.criterion]
                values[judge].setdefault(place, _of_answer(rating, read))
    empty = frozenset(reply.id for reply in of_reply.values() if reply.status is not Status.OK)
    return RunValues(*_arrays(values), verdicts, empty)


def _arrays(values: dict[str, dict[_Place, float]]) -> tuple[list[str], dict[str, Floats]]:
    """Return the systems that people rated, and each rater's values of these and of people's ConvIDs."""
    idents = {ident: row for row, ident in enumerate(dict.fromkeys(ident for ident, *_ in values[PEOPLE]))}
    names = {system for _, system, _ in values[PEOPLE]}
    systems = [*sorted(names, key=lambda name: (name != ORIGINAL, name))]
    places = {name: place for place, name in enumerate(systems)}
    arrays = {}
    for rater, of_rater in values.items():
        arrays[rater] = np.full((len(idents), len(systems), len(CRITERIA)), np.nan)
        for (ident, system, attribute), value in of_rater.items():
            if ident in idents and system in places:
                arrays[rater][idents[ident], places[system], attribute] = value
    return systems, arrays


def _of_cell(rating: Rating) -> float:
    """Return what the authors' scripts read in a released cell: zeros and sixes too, and no cell that needs more than its fence off."""
    provenance = rating.provenance
    if provenance.get("fault") in _UNREAD or provenance.get("repair", Repair.FENCE) != Repair.FENCE:
        return math.nan
    return cells.as_source(provenance.get("released") if rating.value is None else rating.value)


def _of_answer(rating: Rating, read: Callable[[str], CellScores]) -> float:
    """Return what the same scripts would read in a judge's answer; where it is in no form of theirs, the value that we read."""
    scores = read(rating.provenance.get("call", ""))
    place = _ATTRIBUTES[rating.criterion]
    if scores.fault is not None or scores.raw[place] is msgspec.UNSET:
        return cells.as_source(rating.value)
    return source_values(scores)[place]
