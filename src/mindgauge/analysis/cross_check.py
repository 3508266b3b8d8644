"""Do a judge and a rule see the same? A judge's criterion beside what is read from the same replies by rule.

A rule is no judge: what it misses is no error of the judge's. But where the two hardly agree, one of them has to be looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.rubric.composite import NO, YES
from mindgauge.stats import agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

_REPLY = ["model", "subject"]


class CrossCheck(msgspec.Struct, frozen=True):
    """A judge's ratings of a model's replies beside a rule's reading of them.

    Of the judge's `n` ratings, `missing` lack a value, or the reply a reading. `judged` and `read` say how often each found
    it in the others; `kappa` is Cohen's, with its bounds over conversations, None where it is not defined, and `undefined`
    says why.
    """

    model: str
    judge: str
    n: int
    missing: int
    judged: float | None
    read: float | None
    kappa: float | None
    low: float | None
    high: float | None
    undefined: str = ""


def cross_check(
    rows: pl.DataFrame, criterion: str, reading: str, yes: Sequence[str], *, resamples: int = 2000, seed: int = 0
) -> list[CrossCheck]:
    """Compare each judge's criterion with a reading, by model and judge.

    Args:
        rows: ratings, as `frame.ratings` returns them.
        criterion: the judge's.
        reading: the criterion that is read by rule, with the levels yes and no.
        yes: the judge's levels that amount to yes; all others amount to no.
        resamples: of conversations.
        seed: of the bootstrap.
    """
    read = rows.filter((pl.col("criterion") == reading) & (pl.col("rater_kind") == "rule"))
    asked = rows.filter((pl.col("criterion") == criterion) & ~pl.col("rater_kind").is_in(["rule", "gold"]))
    found = pl.when(pl.col("value").is_in(list(yes))).then(pl.lit(YES)).otherwise(pl.lit(NO))
    both = asked.with_columns(value=pl.when(pl.col("value").is_not_null()).then(found)).join(
        read.select(*_REPLY, by_rule="value"), on=_REPLY, how="left", maintain_order="left"
    )
    return [
        _compared(str(model), str(judge), its, resamples, seed)
        for (model, judge), its in sorted(both.group_by("model", "rater"), key=lambda group: tuple(map(str, group[0])))
    ]


def _compared(model: str, judge: str, rows: pl.DataFrame, resamples: int, seed: int) -> CrossCheck:
    known = rows.drop_nulls(["value", "by_rule"])
    found = agreement.kappa(
        known.select("value", "by_rule").to_numpy(),
        levels=[NO, YES],
        cluster=known["cluster"].to_numpy(),
        resamples=resamples,
        seed=seed,
    )
    judged, read = (_share(known[column]) for column in ("value", "by_rule"))
    return CrossCheck(model, judge, len(rows), len(rows) - len(known), judged, read, *found)


def _share(said: pl.Series) -> float | None:
    return said.to_list().count(YES) / len(said) if len(said) else None
