"""How far people agree among themselves, with or without a judge beside them, and who of them is stricter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reliability import estimates
from mindgauge.analysis.reliability.among import among
from mindgauge.analysis.reliability.card import Bound, People, Person
from mindgauge.analysis.reliability.danger import ceiling
from mindgauge.analysis.reliability.pairs import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import Scale

_DEPENDENT = re.compile(r"adjudicat|consensus|majority|aggregate", re.IGNORECASE)
"""Names of those who have seen what others said; their values are nobody's independent word."""
CEILING = {
    "percent": "same_level", "within_1": "within_1", "alpha": "krippendorff_alpha", "kappa": "fleiss_kappa",
    "ac": "gwet_ac", "icc_a1": "icc_a1", "icc_c1": "icc_c1", "unsafe_found": "unsafe_found",
}  # fmt: skip
"""A card's name of a coefficient → its name among people."""


def independent(raters: Sequence[str]) -> list[str]:
    """Return the people whose values are their own, by their names."""
    return [rater for rater in raters if not _DEPENDENT.search(rater)]


def people(name: str, rated: pl.DataFrame, scale: Scale) -> People | None:
    """Sum up people's agreement on one criterion; None where fewer than two of them rated it.

    Args:
        name: of the criterion.
        rated: people's valued rows: subject, cluster, category, rater, run, number.
        scale: of the values.
    """
    raters = rated["rater"].unique().sort().to_list()
    own = independent(raters)
    if len(own) < 2:
        return None
    first = rated.filter(pl.col("rater").is_in(own)).sort("run", maintain_order=True)
    first = first.unique(["subject", "rater"], keep="first", maintain_order=True)
    sums = among(first, scale, by="rater")
    if sums is None:
        why = "no subject has values from two people"
        main = "icc_a1" if scale.ordered else "krippendorff_alpha"
        return People(name, len(raters), len(own), 0, {main: Bound(None, note=why)}, [])
    found = sums.estimates()
    if scale.unsafe is not None:
        found["unsafe_found"] = ceiling(first, scale.unsafe).bound
    persons = [_person(rater, first, scale) for rater in own]
    return People(name, len(raters), len(own), sums.subjects, found, persons)


def _person(rater: str, rated: pl.DataFrame, scale: Scale) -> Person:
    """Put one person beside the mean of the others, on the subjects that they share."""
    own = rated.filter(pl.col("rater") == rater)
    rest = (
        rated.filter(pl.col("rater") != rater)
        .group_by("subject", maintain_order=True)
        .agg(pl.col("cluster").first(), pl.col("number").mean())
        .join(own.select("subject"), on="subject", how="semi")
        .with_columns(system=0)
    )
    if not scale.ordered or rest.is_empty():
        why = "no subject has a value from this person and another" if scale.ordered else "classes have no order"
        nothing = Bound(None, note=why)
        return Person(rater, len(rest), nothing, nothing)
    beside = estimates.estimate(pair(rest, own, scale._replace(levels=False)))
    high_is_worse = scale.unsafe is not None and scale.unsafe.falling
    bias = beside["bias"]
    return Person(rater, len(rest), bias if high_is_worse else _turned(bias), beside["icc_a1"])


def _turned(bound: Bound) -> Bound:
    """Turn the sign of an estimate."""
    value, low, high = (None if number is None else -number for number in (bound.value, bound.high, bound.low))
    return Bound(value, low, high, bound.note)
