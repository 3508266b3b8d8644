"""How far one rater's values are from another's, in levels: the errors that papers print of a judge beside a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class RaterErrors(NamedTuple):
    """Errors over the `n` subjects that both gave a value; NaN where there are none. `within_1` is a share."""

    mae: float
    rmse: float
    within_1: float
    bias: float
    n: int


def rater_errors(judge: Floats, person: Floats) -> RaterErrors:
    """Return mean absolute error, root mean square error, the share at most one level off, and mean error.

    Args:
        judge: a value for each subject, NaN where there is none.
        person: likewise, in the same order.
    """
    error = (judge - person)[np.isfinite(judge) & np.isfinite(person)]
    if not len(error):
        return RaterErrors(np.nan, np.nan, np.nan, np.nan, 0)
    absolute = np.abs(error)
    root = np.sqrt((error**2).mean())
    return RaterErrors(
        float(absolute.mean()), float(root), float((absolute <= 1).mean()), float(error.mean()), len(error)
    )
