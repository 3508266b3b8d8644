"""Division where there may be nothing to divide by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def ratio(part: ArrayLike, total: ArrayLike, otherwise: float = math.nan, *, above: float = 0.0) -> NDArray[np.float64]:
    """Divide where the divisor lies above a limit, and put `otherwise` elsewhere."""
    shape = np.broadcast_shapes(np.shape(part), np.shape(total))
    return np.asarray(np.divide(part, total, out=np.full(shape, otherwise), where=np.asarray(total) > above))
