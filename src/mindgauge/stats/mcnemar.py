"""Two yes-or-no answers about the same things: does the one say yes more often than the other?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special  # scipy.stats has the same and takes 40 MB more to import

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
