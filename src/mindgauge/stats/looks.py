"""Bounds that hold at all looks together, while data come in up to a number that was fixed beforehand.

The sum of n independent contributions of N runs like a Brownian motion B on [0, 1], at t = n / N. By its reflection
P(B(t) > c for any t ≤ 1) = 2 (1 - Φ(c)), so with c = z(1 - α/2) the bound

    estimate - c / √t standard errors

is above the truth at any look with a chance of at most α, however many looks there are and whatever makes one stop:
repeated confidence intervals (Jennison and Turnbull 1989, *JRSS B* 51) with the limits of O'Brien and Fleming (1979) and
Lan and DeMets (1983). Early looks ask for much, the last one for little more than a single look does: 1.96 standard
errors in place of 1.64. It is asymptotic, as the estimate's normal distribution is.
"""

from __future__ import annotations

import math

from scipy import special

LEAST = 1e-6
"""A bound misses with at least this chance at one look: nothing is known of tails further out."""


def level(of_one: float, share: float | None) -> float:
    """Return the level of a two-sided interval with which it is to be made at one look, to hold at all with that `of_one` has.

    Args:
        of_one: the level with which an interval of one look, and then those of all looks together, holds.
        share: of the planned data that are there, above 0 and at most 1; None where one looks once.

    Raises:
        ValueError: there are no data, or more than were planned.
    """
    if share is None:
        return of_one
    if not 0 < share <= 1:
        raise ValueError(f"a share of the planned data lies above 0 and up to 1, not at {share}")
    reach = -float(special.ndtri((1 - of_one) / 4)) / math.sqrt(share)
    return 1 - 2 * max(float(special.ndtr(-reach)), LEAST)
