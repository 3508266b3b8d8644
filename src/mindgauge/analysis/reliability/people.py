"""How far people agree among themselves, with or without a judge beside them, and who of them is stricter."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.reliability import coefficients as estimates
from mindgauge.analysis.reliability.among import among
from mindgauge.analysis.reliability.card import Bound, DesignStudy, NumberNeeded, People, PersonBesideOthers
from mindgauge.analysis.reliability.danger import ceiling
from mindgauge.analysis.reliability.pairs import pair
from mindgauge.stats import generalizability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import ValueScale

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


def people(name: str, rated: pl.DataFrame, scale: ValueScale) -> People | None:
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
    sums = among(first, scale, key="rater")
    if sums is None:
        reason = "no subject has values from two people"
        main = "icc_a1" if scale.ordered else "krippendorff_alpha"
        return People(name, len(raters), len(own), 0, {main: Bound(None, note=reason)}, [])
    coefficients = sums.estimates()
    if scale.unsafe is not None:
        coefficients["unsafe_found"] = ceiling(first, scale.unsafe).bound
    persons = [_person(rater, first, scale) for rater in own]
    return People(name, len(raters), len(own), sums.subjects, coefficients, persons)


def _person(rater: str, rated: pl.DataFrame, scale: ValueScale) -> PersonBesideOthers:
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
        reason = "no subject has a value from this person and another" if scale.ordered else "classes have no order"
        undefined = Bound(None, note=reason)
        return PersonBesideOthers(rater, len(rest), undefined, undefined)
    agreement = estimates.estimate(pair(rest, own, scale._replace(levels=False)), ("bias", "icc_a1"))
    high_is_worse = scale.unsafe is not None and scale.unsafe.falling
    bias = agreement["bias"]
    return PersonBesideOthers(rater, len(rest), bias if high_is_worse else _turned(bias), agreement["icc_a1"])


def _turned(bound: Bound) -> Bound:
    """Turn the sign of an estimate."""
    value, low, high = (None if number is None else -number for number in (bound.value, bound.high, bound.low))
    return Bound(value, low, high, bound.note)


TARGET = 0.80
"""The dependability that the numbers needed are for; Brennan (2001) and others ask it of decisions about groups."""
UNKNOWN = "so nothing is said of how many people and conversations it takes"


def design(name: str, rated: pl.DataFrame, resamples: int, seed: int) -> tuple[DesignStudy | None, str]:
    """Study people's ratings of every system's reply to the same conversations by the same raters.

    Only this crossed design is covered. Nested and partially crossed ones are not: the sentence says so, and which
    conversations were left out of a study. There is neither where fewer than two people rated.

    Args:
        name: of the criterion.
        rated: people's valued rows: subject, cluster, system, rater, run, number.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    first = rated.filter(pl.col("run") == pl.col("run").min().over("subject", "rater"))
    key = ("system", "cluster", "rater")
    people = first["rater"].n_unique()
    if people < 2:
        return None, ""
    if len(first.unique(key)) < len(first):
        return None, (
            f"{name}: a conversation holds several replies of one system, and a design study of replies within conversations "
            f"is not covered, {UNKNOWN}"
        )
    place = [first[column].rank("dense").to_numpy().astype(np.intp) - 1 for column in key]
    ratings = np.full([int(index.max()) + 1 for index in place], np.nan)
    ratings[tuple(place)] = first["number"].to_numpy()
    result = generalizability.study(ratings, target=TARGET, resamples=resamples, seed=seed)
    conversations = result.conversations + result.left_out
    if result.undefined or result.needs is None:
        return None, f"{name}: {_uncrossed(ratings, people)}, which a design study does not cover, {UNKNOWN}"
    parts = result.components.used
    study = DesignStudy(
        name, result.systems, result.conversations, result.raters, result.left_out,
        {
            part.replace("_", " × "): Bound(value, getattr(result.low, part), getattr(result.high, part))
            for part, value in parts._asdict().items()
            if value is not None
        },
        Bound(*result.generalizability), Bound(*result.dependability), TARGET,
        NumberNeeded(*result.needs.raters), NumberNeeded(*result.needs.conversations),
    )  # fmt: skip
    if not result.left_out:
        return study, ""
    return study, (
        f"{name}: people's ratings are crossed in part only: the design study rests on {result.conversations} of {conversations} "
        "conversations, in which all people rated every system, and says nothing of the others"
    )


def _uncrossed(ratings: np.ndarray[tuple[int, ...], np.dtype[np.float64]], people: int) -> str:
    """Say what the design is instead: ratings have shape (systems, conversations, raters)."""
    rated = np.isfinite(ratings)
    raters = f"{people} people" if people > 2 else "two people"
    if (rated.any(axis=0).sum(axis=1) <= 1).all():
        return f"raters are nested in conversations: no conversation was rated by more than one of {raters}"
    if (rated.any(axis=1).sum(axis=1) <= 1).all():
        return f"raters are nested in systems: no system was rated by more than one of {raters}"
    if (rated.any(axis=2).sum(axis=0) <= 1).all() and len(ratings) > 1:
        return "conversations are nested in systems: no conversation was answered by two of them"
    return f"raters and conversations are crossed in part only: in fewer than two conversations did all of {raters} rate every system"
