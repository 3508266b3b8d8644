"""Self-preference: whether a judge favours its own family, beyond what people and other judges say of the same replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.analysis.reliability.favour import favour
from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.stats.favour import Rated

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Favour
    from mindgauge.analysis.stress.design import Floats, Kin


def preference(kin: Kin, values: Floats) -> tuple[Favour, int]:
    """Say whether a judge favours its own family, in shares of the scale, and count replies without a verdict of it.

    Args:
        kin: which replies, whose, and what others say of them.
        values: the verdicts, shape (N, K).
    """
    given = np.where(values == INAPPLICABLE, np.nan, values)[kin.place]
    there = np.isfinite(given)
    known = there.any(axis=1)
    total = np.where(there, given, 0.0).sum(axis=1)
    mean = np.divide(total, there.sum(axis=1), out=np.full(len(given), np.nan), where=known)
    rated = Rated(mean, kin.people, kin.others, kin.own, kin.conversation)
    return favour(rated, kin.models, kin.judges, 1.0), int((~known).sum())
