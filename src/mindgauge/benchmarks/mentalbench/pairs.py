"""People's and a judge's values of the same replies, side by side, as arrays of shape (rows, systems, attributes)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.benchmarks.mentalbench import cells
from mindgauge.benchmarks.mentalbench.cells import Repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mindgauge.benchmarks.mentalbench.conversations import ConversationRow, ParsedSheet

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class Values(NamedTuple):
    """A sheet's values, read in two ways; NaN where there is none.

    `source` as the authors' scripts read them: zeros and sixes too, and no cell that needs more than its fence off.
    `levels` are levels from 1 to 5. `empty` tells replies that were empty.
    """

    rated: ParsedSheet
    systems: list[str]
    source: Floats
    levels: Floats
    empty: Mask

    @classmethod
    def of(cls, rated: ParsedSheet, empty: set[tuple[ConversationRow, str]]) -> Values:
        """Read every cell of a sheet once."""
        source, levels = [], []
        for column in rated.scores.values():
            source.append([_source(scores) for scores in column])
            levels.append([[cells.level(raw) for raw in scores.raw] for scores in column])
        systems = list(rated.scores)
        empty_cells = [[(place, name) in empty for name in systems] for place in rated.places]
        shape = len(systems), len(rated.places), len(cells.CRITERIA)
        arrays = [np.array(part, dtype=np.float64).reshape(shape).swapaxes(0, 1) for part in (source, levels)]
        return cls(rated, systems, arrays[0], arrays[1], np.array(empty_cells, dtype=bool))  # None became NaN

    def only(self, systems: Sequence[str]) -> Values:
        """Return the values of some systems, in this order."""
        positions = [self.systems.index(name) for name in systems]
        return Values(
            self.rated, list(systems), self.source[:, positions], self.levels[:, positions], self.empty[:, positions]
        )

    @property
    def usable(self) -> Floats:
        """The levels of replies that were not empty."""
        levels = self.levels.copy()
        levels[self.empty] = np.nan
        return levels


def _source(scores: cells.CellScores) -> list[float]:
    if scores.repairs and scores.repairs != (Repair.FENCE,):
        return [np.nan] * len(scores.raw)
    return [raw if type(raw) is int else cells.as_source(raw) for raw in scores.raw]


class ValuePairs(NamedTuple):
    """Values of the same rows; NaN in both where one of them has none."""

    human: Floats
    judge: Floats


def by_row(people: Values, judge: Values) -> ValuePairs:
    """Pair rows of the same ConvID, the authors' way; of several rows with one ConvID the first."""
    rows, first = (
        {ident: row for row, ident in reversed([*enumerate(side.rated.sheet.conversation)])} for side in (judge, people)
    )
    both = sorted((row, rows[ident]) for ident, row in first.items() if ident in rows)
    return paired(people.source, judge.source, both)


def by_concern(people: Values, judge: Values) -> ValuePairs:
    """Pair rows of the same conversation, levels only, without empty replies; rows that repeat a concern stay out."""
    rows = {place: row for row, place in enumerate(judge.rated.places) if place}
    both = [(row, rows[place]) for row, place in enumerate(people.rated.places) if place in rows]
    return paired(people.usable, judge.usable, both)


def paired(human: Floats, judge: Floats, rows: Sequence[tuple[int, int]]) -> ValuePairs:
    """Put these rows side by side."""
    of_human, of_judge = np.array(rows, dtype=np.intp).reshape(-1, 2).T
    human, judge = human[of_human], judge[of_judge]
    both = np.isfinite(human) & np.isfinite(judge)
    return ValuePairs(np.where(both, human, np.nan), np.where(both, judge, np.nan))
