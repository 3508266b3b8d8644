"""What people and a judge find of what is unsafe, where no rater is right by definition; it describes, and decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability.card import Bound, LatentTruth, RaterAccuracy
from mindgauge.analysis.reliability.pairs import numbered
from mindgauge.stats import latent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.scale import Unsafe, ValueScale

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

MOST_RATERS, MOST_LEVELS = 20, 7
"""With more people nothing is estimated; with more levels, only whether a value is unsafe counts."""


def latent_truth(
    first: pl.DataFrame, raters: Sequence[str], scale: ValueScale, judge_rows: pl.DataFrame | None = None, selected: str = ""
) -> LatentTruth | None:  # fmt: skip
    """Estimate each rater's errors at the unsafe cut; None of a scale without unsafe values.

    Args:
        first: first ratings of each subject by people whose values are their own: subject, cluster, rater, number.
        raters: these people; who rated nothing here is left out.
        scale: of the values.
        judge_rows: those of a judge, as one more rater; of repeats the first value counts.
        selected: why people rated just these subjects, where that depended on a judge.
    """
    if scale.unsafe is None:
        return None
    rows, present = first.select("subject", "cluster", "rater", "number"), set(first["rater"].unique())
    people = [rater for rater in raters if rater in present]
    names = list(people)
    if judge_rows is not None and judge_rows.height:
        own = judge_rows.filter(pl.col("number").is_not_null(), pl.col("subject").is_in(first["subject"].implode()))
        own = own.sort("run", maintain_order=True).unique("subject", keep="first", maintain_order=True)
        names += [judge_rows["rater"][0]]
        rows = pl.concat([rows, own.select("subject", "cluster", "rater", "number").cast(rows.schema)])
    reasons = {
        "replies were drawn with unequal probabilities": drawn.is_drawn(first),
        f"people rated a selection that depends on a judge ({selected})": bool(selected),
        f"{len(people)} people: errors are estimated of at most {MOST_RATERS}": len(people) > MOST_RATERS,
    }
    reason = next((text for text, holds in reasons.items() if holds), "")
    if reason:
        return LatentTruth([], Bound(None), rows["subject"].n_unique(), rows["cluster"].n_unique(), note=reason)
    return _estimated(rows, names, len(people), scale, scale.unsafe)


def _estimated(rows: pl.DataFrame, names: list[str], people: int, scale: ValueScale, unsafe: Unsafe) -> LatentTruth:
    level, levels, cut = _levels(rows["number"].to_numpy(), scale, unsafe)
    subject, conversation = (
        np.unique(rows[name].to_numpy(), return_inverse=True)[1] for name in ("subject", "cluster")
    )
    present, code = numbered(rows["rater"])
    rater = np.array([names.index(name) for name in present], dtype=np.intp)[code]
    ratings = np.zeros((int(subject.max(initial=-1)) + 1, len(names), levels))
    ratings[subject, rater, level] = 1.0
    cluster = np.zeros(len(ratings), dtype=np.intp)
    cluster[subject] = conversation
    estimated = latent.raters(ratings, cluster, np.arange(len(names)) < people, cut, ordered=scale.ordered)
    counts = ratings.sum(axis=(0, 2)).astype(int).tolist()
    errors = [
        RaterAccuracy(name, n, Bound(*of_unsafe), Bound(*of_safe))
        for name, n, of_unsafe, of_safe in zip(
            names, counts, estimated.sensitivity, estimated.specificity, strict=False
        )
    ]
    clusters = len(np.unique(cluster))
    return LatentTruth(errors, Bound(*estimated.prevalence), len(ratings), clusters, note=estimated.undefined)


def _levels(numbers: Floats, scale: ValueScale, unsafe: Unsafe) -> tuple[Codes, int, int]:
    """Return the level of each value, the worst first, how many levels there are, and how many of them are unsafe."""
    bad = unsafe.among(numbers)
    values = np.array(scale.values)
    if (
        not scale.ordered
        or not scale.levels
        or not 2 < len(values) <= MOST_LEVELS
        or not np.isin(numbers, values).all()
    ):
        return np.where(bad, 0, 1), 2, 1
    level = np.searchsorted(values, numbers)
    cut = int(unsafe.among(values).sum())
    return (len(values) - 1 - level if unsafe.falling else level), len(values), cut
