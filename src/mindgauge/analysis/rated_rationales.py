"""What people say of judges' reasons: how good they are, judge by judge, and how far people agree about them."""

from __future__ import annotations

import msgspec
import polars as pl

from mindgauge.analysis.judging.paired import bound_of_mean
from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reliability.estimates import estimate
from mindgauge.analysis.reliability.pairs import among
from mindgauge.analysis.reliability.scale import Scale

SCALE = Scale((1.0, 2.0, 3.0, 4.0, 5.0))
_SHOWN = ("percent", "within_1", "kappa_quadratic", "alpha", "icc_a1")


class RatedRationales(msgspec.Struct, frozen=True):
    """People's ratings of reasons by one question: `means` by judge, and `agreement` among people where several rated."""

    question: str
    n: int
    missing: int
    clusters: int
    people: list[str]
    means: dict[str, Bound]
    agreement: dict[str, Bound]


def rated(rows: pl.DataFrame, question: str, *, resamples: int = 2000, seed: int = 0) -> RatedRationales:
    """Sum up the ratings by one question.

    Args:
        rows: columns subject (the verdict), judge, cluster, rater, number (null where missing).
        question: rationality, traceability or consistency.
        resamples: of conversations.
        seed: of the generator.
    """
    valued = rows.filter(pl.col("number").is_not_null())
    means = {
        str(judge): bound_of_mean(
            its.group_by("subject", maintain_order=True).agg(pl.col("cluster").first(), pl.col("number").mean()),
            (SCALE.values[0], SCALE.values[-1]),
        )
        for (judge,), its in sorted(valued.group_by("judge", maintain_order=True), key=lambda group: str(group[0]))
    }
    people = valued["rater"].unique().sort().to_list()
    agreement: dict[str, Bound] = {"icc_a1": Bound(None, note="no verdict was rated by two people")}
    index = [pl.col(column).rank("dense").cast(pl.Int64) - 1 for column in ("subject", "cluster")]
    several = among(valued.with_columns(*index, system=pl.lit(0)), SCALE, by="rater") if len(people) > 1 else None
    if several is not None and several.subjects:
        agreement = {k: v for k, v in estimate(several, resamples, seed).items() if k in _SHOWN}
    missing = len(rows) - len(valued)
    return RatedRationales(question, len(rows), missing, rows["cluster"].n_unique(), people, means, agreement)
