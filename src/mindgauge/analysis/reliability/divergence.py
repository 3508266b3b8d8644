"""Who diverges: each person beside single others, over all and category by category, with agreement below chance named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis.reliability import coefficients as estimates
from mindgauge.analysis.reliability.card import Bound, PersonProfile
from mindgauge.analysis.reliability.pairs import beside_others, numbered, pair, pair_each
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.analysis.reliability.pairs import RatingPairs
    from mindgauge.analysis.reliability.scale import ValueScale

BELOW, MAY_BE = "below chance", "may be below chance"
ALPHA = 0.05
FEWEST = 10
"""Conversations from which a profile has numbers, as everywhere on a card (rule.toml)."""
_NOTHING = Bound(None, note="classes have no order")


class _ProfilePart(NamedTuple):
    rater: str
    category: str
    pairs: RatingPairs


def profiles(rated: pl.DataFrame, raters: Sequence[str], scale: ValueScale) -> list[PersonProfile]:
    """Put each person beside the others, one at a time.

    Args:
        rated: people's valued rows on one criterion: subject, cluster, category, rater, run, number.
        raters: the people whose values are their own.
        scale: of the values.
    """
    first = rated.sort("run", maintain_order=True).unique(["subject", "rater"], keep="first", maintain_order=True)
    first = first.with_columns(system=0)
    several = first.filter(pl.col("rater").is_in(list(raters)))["category"].drop_nulls().n_unique() > 1
    parts = [part for rows in beside_others(first, raters) for part in _parts(*rows, scale, categories=several)]
    main = "icc_a1" if scale.ordered else "kappa"
    kappa = "kappa_quadratic" if scale.ordered else "kappa"
    names = dict.fromkeys(("bias", main, kappa))
    estimable = [part.pairs for part in parts if part.pairs.clusters >= FEWEST]
    estimated = iter(estimates.estimate_each(estimable, names))
    bounds = [next(estimated) if part.pairs.clusters >= FEWEST else _few(part.pairs, names) for part in parts]
    adjusted = holm(
        np.array([_p(estimate[main], part.pairs.clusters) for part, estimate in zip(parts, bounds, strict=True)])
    )
    worse = scale.unsafe is not None and scale.unsafe.falling
    return [
        PersonProfile(
            part.rater, part.category, part.pairs.subjects, part.pairs.clusters,
            bias if worse else -bias, estimate[main], estimate.get(kappa, _NOTHING), _named(estimate[main], float(p)),
        )
        for part, estimate, p in zip(parts, bounds, adjusted, strict=True)
        for bias in [estimate.get("bias", _NOTHING)]
    ]  # fmt: skip


def _parts(
    rater: str, own: pl.DataFrame, rest: pl.DataFrame, scale: ValueScale, *, categories: bool
) -> Iterator[_ProfilePart]:
    """Yield a person compared with the others, over all, and by category if asked; nothing where no others rated."""
    overall = pair(rest, own, scale)
    if not overall.subjects:
        return
    yield _ProfilePart(rater, "", overall)
    names, group = numbered(rest["category"])
    if categories:
        for place, pairs in pair_each(rest, own, scale, group).items():
            yield _ProfilePart(rater, names[place], pairs)


def _few(pairs: RatingPairs, names: Iterable[str]) -> dict[str, Bound]:
    return dict.fromkeys(names, Bound(None, note=f"{pairs.clusters} conversations, at least {FEWEST} are needed"))


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
