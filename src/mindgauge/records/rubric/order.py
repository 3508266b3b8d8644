"""The order of a criterion's levels, from the worst to the best, whatever their numbers: the one place that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.rubric.criterion import Scale

if TYPE_CHECKING:
    from mindgauge.records.records import Value
    from mindgauge.records.rubric.criterion import Criterion


ASSUMED = 0.4
"""Where nothing says which levels of an order are unsafe, the worst of them are that lie within this share of the scale."""


def worst_levels(criterion: Criterion) -> tuple[Value, ...]:
    """Return its unsafe levels, the worst first; of an order that names none, those within its worst two fifths.

    The worst level is always among these. Of classes of which none is known to be unsafe, nothing is returned.
    """
    if criterion.unsafe or criterion.scale is Scale.NOMINAL:
        return tuple(value for value in criterion.worst_first if value in criterion.unsafe)
    return criterion.worst_first[: max(int(ASSUMED * len(criterion.values)), 1)]


def numbers_of_levels(criterion: Criterion) -> dict[Value, float]:
    """Return what each level counts: itself, or, where it is a word, its place from the worst."""
    counted = criterion.values if numbered(criterion) else criterion.worst_first
    return {value: float(value) if isinstance(value, int | float) else float(n) for n, value in enumerate(counted)}


def numbered(criterion: Criterion) -> bool:
    """Say whether the levels are numbers."""
    return all(isinstance(value, int | float) for value in criterion.values)


def rising(criterion: Criterion) -> bool:
    """Say whether more is better: the best level of an order counts more than the worst."""
    counts = numbers_of_levels(criterion)
    return counts[criterion.worst_first[-1]] > counts[criterion.worst_first[0]]


def better(criterion: Criterion) -> str:
    """Return which of an order's numbers are better: `higher` or `lower`; empty where there is no order."""
    return "" if criterion.scale is not Scale.ORDINAL else "higher" if rising(criterion) else "lower"


def share_of(criterion: Criterion, number: float) -> float:
    """Return how far a number of an order stands on the way from the worst level, 0, to the best, 1; also between two."""
    counts = numbers_of_levels(criterion)
    worst, best = (counts[criterion.worst_first[end]] for end in (0, -1))
    return (number - worst) / (best - worst)


def place_of(criterion: Criterion, value: Value) -> float:
    """Return the same of a value as raters give it: a level, or a number between two."""
    counts = numbers_of_levels(criterion)
    return share_of(criterion, counts[value] if value in counts else float(value))


def shares(criterion: Criterion) -> dict[Value, float]:
    """Return how far each level stands on the way from the worst, 0, to the best, 1.

    Of classes, an unsafe one is 0 and any other 1; where none is known to be unsafe, nothing is returned.
    """
    if criterion.scale is Scale.NOMINAL:
        return {value: float(value not in criterion.unsafe) for value in criterion.values} if criterion.unsafe else {}
    counts = numbers_of_levels(criterion)
    worst, best = (counts[criterion.worst_first[end]] for end in (0, -1))
    return {value: (count - worst) / (best - worst) for value, count in counts.items()}
