"""What people say of judges' reasons: how good they are, judge by judge, and how far people agree about them."""

from __future__ import annotations

import msgspec
import polars as pl

from mindgauge.analysis.judging.paired import bound_of_mean
from mindgauge.analysis.reliability.among import among
from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reliability.scale import ValueScale

SCALE = ValueScale((1.0, 2.0, 3.0, 4.0, 5.0))
_SHOWN = ("same_level", "within_1", "krippendorff_alpha", "icc_a1")


class RatedRationales(msgspec.Struct, frozen=True):
    """People's ratings of reasons by one question: `means` by judge, and `agreement` among people where several rated."""

    question: str
    n: int
    missing: int
    clusters: int
    people: list[str]
    means: dict[str, Bound]
    agreement: dict[str, Bound]


def rated(rows: pl.DataFrame, question: str) -> RatedRationales:
    """Sum up the ratings by one question.

    Args:
        rows: columns subject (the verdict), judge, cluster, rater, number (null where missing).
        question: rationality, traceability or consistency.
    """
    valued = rows.filter(pl.col("number").is_not_null())
    means = {
        str(judge): bound_of_mean(
            judge_rows.group_by("subject", maintain_order=True).agg(pl.col("cluster").first(), pl.col("number").mean()),
            (SCALE.values[0], SCALE.values[-1]),
        )
        for (judge,), judge_rows in sorted(
            valued.group_by("judge", maintain_order=True), key=lambda group: str(group[0])
        )
    }
    people = valued["rater"].unique().sort().to_list()
    agreement: dict[str, Bound] = {"icc_a1": Bound(None, note="no verdict was rated by two people")}
    shared = among(valued, SCALE, key="rater")
    if shared is not None:
        agreement = {name: bound for name, bound in shared.estimates().items() if name in _SHOWN}
    missing = len(rows) - len(valued)
    return RatedRationales(question, len(rows), missing, rows["cluster"].n_unique(), people, means, agreement)
