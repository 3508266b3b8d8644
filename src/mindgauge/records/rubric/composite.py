"""A composite is derived from several criteria of one rating: a mean, a sum, or a gate."""

from __future__ import annotations

import functools
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.rubric.criterion import Criterion, Level, Scale, numbers_of_levels, rising, shares

if TYPE_CHECKING:
    from collections.abc import Mapping


YES, NO = "yes", "no"
DIGITS = 6
"""Decimals of a mean share: enough to tell all apart, few enough to be the same wherever it is computed."""


class CompositeRule(StrEnum):
    """What is made of the parts. A gate (`any`, `none`) has parts whose levels are yes and no, and is one of them."""

    MEAN = "mean"
    SUM = "sum"
    ANY = "any"
    """Yes where one part is yes, whatever is known of the others; no where all are no."""
    NONE = "none"
    """No where one part is yes, whatever is known of the others; yes where all are no."""
    SHARE = "share"
    """The mean of how far each part stands on the way from its worst level, 0, to its best, 1."""
    RIGHT = "right"
    """Yes where every part is its own target, which is what it should be."""


class Composite(msgspec.Struct, frozen=True):
    """What follows from a rater's values on several criteria, or on composites named before it.

    Where a value that it hangs on is missing, so is the composite. Words that are levels count 0, 1, … from the worst.
    """

    of: tuple[str, ...]
    how: CompositeRule = CompositeRule.MEAN
    leave_out: bool = False
    """Parts that do not apply are left out; otherwise one of them makes the whole not apply."""
    applies: dict[str, tuple[str, ...]] = {}
    """Tag → values of the samples to which every part applies: there, not applicable counts as the worst level."""

    @property
    def gate(self) -> bool:
        """Whether it is a yes or no that stands before any sum."""
        return self.how in {CompositeRule.ANY, CompositeRule.NONE}

    def criterion(self, name: str, criteria: Mapping[str, Criterion]) -> Criterion:
        """Return it as a criterion, its levels worst to best: every value that it can take.

        Args:
            name: of the composite.
            criteria: the criteria by name, those of its parts among them.
        """
        parts = [criteria[part] for part in self.of]
        if self.gate:
            low = {part.worst_first[0] for part in parts}
            if len(low) > 1 or any(set(part.values) != {YES, NO} for part in parts):
                raise ValueError(f"{name}: the parts of a gate must all be yes or no, with the same one worst")
            worst, best = (YES, NO) if (low == {YES}) == (self.how is CompositeRule.ANY) else (NO, YES)
            look = next((part.look for part in parts if part.of_reasoning), {})
            return Criterion(name, Scale.ORDINAL, (Level(worst), Level(best)), unsafe=(worst,), look=look)
        if self.how is CompositeRule.RIGHT:
            return Criterion(name, Scale.ORDINAL, (Level(NO), Level(YES)))
        if self.how is CompositeRule.SHARE:
            ends = tuple(tuple(shares(part).values()) for part in parts)
            return Criterion(name, Scale.ORDINAL, tuple(Level(v) for v in _mean_shares(ends, self.leave_out)))
        if len({rising(part) for part in parts}) > 1:
            raise ValueError(f"{name}: more is better in some of its parts and worse in others; make it a share")
        turn = 1 if rising(parts[0]) else -1
        bounds = [list(numbers_of_levels(part).values()) for part in parts]
        low_, high = sum(min(b) for b in bounds), sum(max(b) for b in bounds)
        totals = range(round(low_), round(high) + 1)
        if self.how is CompositeRule.SUM:
            return Criterion(name, Scale.ORDINAL, tuple(Level(total) for total in totals[::turn]))
        means = {total / len(parts) for total in totals}
        if self.leave_out:
            always = sum(not part.not_applicable for part in parts)
            means |= {mean for n in range(max(always, 1), len(parts)) for mean in _means(bounds[0], n)}
        return Criterion(name, Scale.ORDINAL, tuple(Level(mean) for mean in sorted(means)[::turn]))


@functools.cache  # every look at a benchmark's criteria asks for it
def _mean_shares(parts: tuple[tuple[float, ...], ...], leave_out: bool) -> list[float]:
    """Return every mean that the parts' shares can have, with some of them left out where that is allowed."""
    sums = {(0.0, 0)}
    for levels in parts:
        with_it = {(round(total + share, 2 * DIGITS), n + 1) for total, n in sums for share in levels}
        sums = with_it | sums if leave_out else with_it
    return sorted({round(total / n, DIGITS) for total, n in sums if n})


def _means(scale: list[float], n: int) -> set[float]:
    """Return the means that n parts on one scale can have."""
    return {total / n for total in range(round(min(scale)) * n, round(max(scale)) * n + 1)}
