"""Who diverges: each person beside single others, over all and category by category, with agreement below chance named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis.reliability import coefficients as estimates
from mindgauge.analysis.reliability.card import Bound, PersonProfile
from mindgauge.analysis.reliability.pairs import pair
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import ValueScale

BELOW, MAY_BE = "below chance", "may be below chance"
ALPHA = 0.05
FEWEST = 10
"""Conversations from which a profile has numbers, as everywhere on a card (rule.toml)."""
_NOTHING = Bound(None, note="classes have no order")


class _ProfilePart(NamedTuple):
    rater: str
    category: str
    n: int
    conversations: int
    bounds: dict[str, Bound]


def profiles(rated: pl.DataFrame, raters: Sequence[str], scale: ValueScale) -> list[PersonProfile]:
    """Put each person beside the others, one at a time.

    Args:
        rated: people's valued rows on one criterion: subject, cluster, category, rater, run, number.
        raters: the people whose values are their own.
        scale: of the values.
    """
    own = rated.filter(pl.col("rater").is_in(list(raters))).sort("run", maintain_order=True)
    first = own.unique(["subject", "rater"], keep="first", maintain_order=True).with_columns(system=0)
    categories = first["category"].drop_nulls().unique().sort().to_list()
    parts = [
        part
        for rater in raters
        for category in ("", *(categories if len(categories) > 1 else []))
        if (part := _part(first, rater, category, scale)) is not None
    ]
    main = "icc_a1" if scale.ordered else "kappa"
    kappa = "kappa_quadratic" if scale.ordered else "kappa"
    adjusted = holm(np.array([_p(part.bounds[main], part.conversations) for part in parts]))
    worse = scale.unsafe is not None and scale.unsafe.falling
    return [
        PersonProfile(
            part.rater, part.category, part.n, part.conversations,
            _severity(part.bounds.get("bias", _NOTHING), worse=worse), part.bounds[main], part.bounds.get(kappa, _NOTHING),
            _named(part.bounds[main], float(p)),
        )
        for part, p in zip(parts, adjusted, strict=True)
    ]  # fmt: skip


def _part(first: pl.DataFrame, rater: str, category: str, scale: ValueScale) -> _ProfilePart | None:
    rows = first.filter(pl.col("category") == category) if category else first
    own, rest = rows.filter(pl.col("rater") == rater), rows.filter(pl.col("rater") != rater)
    shared = own.join(rest, on="subject", how="semi")
    if shared.is_empty():
        return None
    conversations = shared["cluster"].n_unique()
    names = ("icc_a1", "bias", "kappa_quadratic") if scale.ordered else ("kappa",)
    if conversations < FEWEST:
        few = Bound(None, note=f"{conversations} conversations, at least {FEWEST} are needed")
        return _ProfilePart(rater, category, len(shared), conversations, dict.fromkeys(names, few))
    bounds = estimates.estimate(pair(rest, own, scale), names)
    return _ProfilePart(rater, category, len(shared), conversations, bounds)


def _severity(bias: Bound, *, worse: bool) -> Bound:
    if worse:
        return bias
    value, low, high = (None if number is None else -number for number in (bias.value, bias.high, bias.low))
    return Bound(value, low, high, bias.note)


def _p(bound: Bound, conversations: int) -> float:
    """Return Student's p that agreement is not 0, read off the interval, which is one on Fisher's scale."""
    if bound.value is None or bound.low is None or bound.high is None or not -1 < bound.low < bound.high < 1:
        return math.nan
    freedom = max(conversations - 1, 1)
    half = (math.atanh(bound.high) - math.atanh(bound.low)) / 2
    error = half / float(special.stdtrit(freedom, 0.975))
    return 2 * float(special.stdtr(freedom, -abs(math.atanh(bound.value)) / error))


def _named(bound: Bound, p: float) -> str:
    if bound.value is None or bound.value >= 0:
        return ""
    return BELOW if bound.high is not None and bound.high < 0 and p <= ALPHA else MAY_BE
