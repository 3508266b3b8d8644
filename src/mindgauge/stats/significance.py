"""Tests: two yes-or-no answers about the same things, labels dealt out by chance, and p-values of many tests at once.

An adjusted p-value is the smallest level at which the procedure rejects the hypothesis. NaN stands for a test that
could not be made: it stays NaN and does not count among the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ranks = NDArray[np.int_]


class McNemar(NamedTuple):
    """How many pairs are yes on one side only, of `n`, and the two-sided `p` that neither side says it more often."""

    only_first: int
    only_second: int
    n: int
    p: float


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """Test the difference of two paired shares exactly (McNemar, Psychometrika 12, 1947).

    Pairs that say the same tell nothing. Of the b + c others, those that are yes first only are binomial with 1/2 where
    there is no difference: p = min(1, 2 P(X ≤ min(b, c))), X ~ Bin(b + c, 1/2); without any such pair it is 1.
    By hand: b = 1, c = 6 gives 2 (1 + 7) / 2⁷ = .125.

    Args:
        first: yes or no, shape (n,).
        second: the same about the same things, shape (n,); each pair has to be independent of the others.

    Raises:
        ValueError: they are not of one length.
    """
    first_hits, second_hits = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if first_hits.shape != second_hits.shape or first_hits.ndim != 1:
        raise ValueError(f"pairs of two lists of one length are needed, not {first_hits.shape} and {second_hits.shape}")
    b, c = int((first_hits & ~second_hits).sum()), int((second_hits & ~first_hits).sum())
    return McNemar(b, c, len(first_hits), min(1.0, 2 * float(special.bdtr(min(b, c), b + c, 0.5))))


# Permutation tests: would labels dealt out by chance do the same? (Fisher, The Design of Experiments, 1935).


CHUNK = 1 << 20
"""Values that are permuted at once."""
_ROUNDING = 1e-12


class Spread(NamedTuple):
    """The population SD of groups' means, None where it is not defined, and the p-value of their being alike."""

    value: float | None
    p: float | None


def spread_within_blocks(values: Floats, *, permutations: int = 10_000, seed: int = 0) -> Spread:
    """Test whether groups differ, when each block holds one value of every group.

    The statistic is the population SD over groups of their means, each value counted from its block's mean. Labels are
    permuted within blocks; p = (1 + permutations with at least this SD) / (1 + permutations).

    Args:
        values: shape (blocks, groups); NaN where there is none. A missing value is permuted like any other.
        permutations: how many are drawn.
        seed: of their generator.
    """
    counts = np.isfinite(values).sum(axis=1, keepdims=True)
    blocks = values[counts[:, 0] > 1]
    if blocks.shape[1] < 2 or not len(blocks):
        return Spread(None, None)
    blocks = blocks - np.nanmean(blocks, axis=1, keepdims=True)
    observed = _spread(blocks[None])[0]
    if not np.isfinite(observed):
        return Spread(None, None)
    generator = np.random.default_rng([seed, 2])
    size, hits = max(1, CHUNK // blocks.size), 0
    for start in range(0, permutations, size):
        copies = np.broadcast_to(blocks, (min(size, permutations - start), *blocks.shape))
        # A permutation that leaves a group without values has no SD; it counts against a difference.
        hits += int((~(_spread(generator.permuted(copies, axis=2)) < observed - _ROUNDING)).sum())
    return Spread(float(observed), (hits + 1) / (permutations + 1))


def _spread(values: Floats) -> Floats:
    """Return the SD over groups of their means, shape (b,), of values of shape (b, blocks, groups)."""
    counts = np.isfinite(values).sum(axis=1)
    totals = np.nan_to_num(values).sum(axis=1)
    return np.asarray(ratio(totals, counts).std(axis=1))


# Adjusted p-values for many tests at once.


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for the chance of any false rejection (Holm 1979), in the order given.

    With p sorted upwards, adjusted(i) = max over j ≤ i of (m - j + 1) p(j), at most 1. Never less powerful than
    Bonferroni's m p, and as free of assumptions: for claims. Published example: of the 15 tests of Neuhaus et al. 1992
    (in Benjamini and Hochberg 1995, section 3.2) it rejects 3 at .05.

    Args:
        p: shape (m,), between 0 and 1; NaN for a test that could not be made.

    Raises:
        ValueError: a value is outside 0 to 1.
    """
    return _adjusted(p, lambda values, ranks: np.maximum.accumulate(values * ranks[::-1]))


def _adjusted(p: Floats, adjust: Callable[[Floats, Ranks], Floats]) -> Floats:
    """Adjust p-values by their values in rising order and their ranks, at most to 1."""
    valued = np.flatnonzero(~np.isnan(p))
    order = valued[np.argsort(p[valued], kind="stable")]
    values = p[order]
    if len(values) and not 0 <= values[0] <= values[-1] <= 1:
        raise ValueError("p-values must lie between 0 and 1")
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(adjust(values, np.arange(1, len(values) + 1)), 1.0)
    return adjusted
