"""Permutation tests: would labels dealt out by chance do the same? (Fisher, The Design of Experiments, 1935)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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
    means = np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)
    return np.asarray(means.std(axis=1))
