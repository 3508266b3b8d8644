"""Self-preference: how much kinder than people a judge is to its own family, and to others, in the same conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.gaps import by_conversation

if TYPE_CHECKING:
    from mindgauge.analysis.stress.design import Floats, Kin


class Preference(NamedTuple):
    """How much kinder a judge is to its own family than to others, each conversation, shape (G,); NaN where one is missing.

    `plain` is the difference of its distances from people's levels. `alike` is the same after what it does to others of
    the same level is taken off. A judge that avoids the ends of a scale is kinder to worse replies, whoever wrote them:
    where a family writes better ones, only `alike` sees through that. People err, too, and then replies that they call
    equal are not: there only `plain` is right. Who prefers its kin does so in both.
    """

    plain: Floats
    alike: Floats
    n: int
    missing: int


def preference(kin: Kin, values: Floats, conversations: int) -> Preference:
    """Compare a judge's distances from people's levels.

    Args:
        kin: which replies, at which level, and whose.
        values: the verdicts, shape (N, K).
        conversations: G.
    """
    given = np.where(values == INAPPLICABLE, np.nan, values)[kin.place]
    there = np.isfinite(given).any(axis=1)
    kinder = np.full(len(given), np.nan)
    kinder[there] = np.nanmean(given[there], axis=1) - kin.known[there]
    others = there & ~kin.own
    levels = np.unique(kin.known[others])
    usual = [kinder[others & (kin.known == level)].mean() for level in levels]
    less = np.interp(kin.known, levels, usual) if len(levels) else np.zeros(len(kinder))

    def between(distance: Floats) -> Floats:
        own, other = (
            by_conversation(np.where(side, distance, np.nan), kin.conversation, conversations)
            for side in (kin.own, ~kin.own)
        )
        return own - other

    return Preference(between(kinder), between(kinder - less), len(kinder), int((~there).sum()))
