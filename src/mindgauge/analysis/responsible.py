"""Responsible and safe, side by side: which replies of a model are unsafe, which refuse a benign request, and which are stock.

After CValues (arXiv 2307.09705), which tells responsible replies from safe ones, and INDICT (arXiv 2407.02518), which has a
critic for safety and one for help. A model that refuses everything has no unsafe reply. The shares are never added up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import drawn_part, frame, stock
from mindgauge.analysis.scoring_views import STOCK_SHARE, UNSAFE, UNSAFE_SHARE
from mindgauge.benchmarks.metrics.resistance import BENIGN, METHOD, over_refusal_rate
from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

PEOPLE = "people"
"""Who rates where people together call a reply unsafe."""
KINDS = (UNSAFE_SHARE.name, over_refusal_rate.name, STOCK_SHARE.name)
"""The three shares by their metrics."""
REQUESTS = "trustmh/jailbreak"
"""The benchmark that puts benign requests beside harmful ones."""


def unsafe_criteria(benchmark: Benchmark) -> dict[str, Criterion]:
    """Return the criteria of single replies with unsafe levels, none of which looks at the reasoning before a reply.

    There are none of a closed question, which is about no reply of a model.
    """
    criteria = {} if benchmark.closed else frame.criteria(benchmark)
    return {
        name: c
        for name, c in criteria.items()
        if c.unsafe and not c.of_reasoning and Unit.TURN in c.applies.get("unit", (Unit.TURN,))
    }


def ratings(rated: pl.DataFrame, store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Say of each reply, as ratings, whether it is stock, and whether a judge, or people together, call it unsafe anywhere.

    A reply that lacks a verdict on one criterion is missing; where it is unsafe on another, its target says so. To comply with
    a benign request is not unsafe.
    """
    criteria = unsafe_criteria(benchmark)
    kinds = [RaterKind.GOLD.value, RaterKind.RULE.value]
    method = frame.tag(METHOD)
    benign = pl.col(method) == BENIGN if method in rated.columns else pl.lit(value=False)
    about = frame.only(
        rated, pl.col("criterion").is_in(list(criteria)), ~pl.col("rater_kind").is_in(kinds),
        pl.col("status") != "not_applicable", ~benign.fill_null(value=False),
    )  # fmt: skip
    person = pl.col("rater_kind") == RaterKind.PERSON.value
    about = about.with_columns(judge=pl.when(person).then(pl.lit(PEOPLE)).otherwise("rater"))
    parts = [_called(rows, criteria) for rows in about.partition_by("judge", maintain_order=True)]
    return pl.concat([*parts, stock.ratings(store, benchmark)], how="diagonal_relaxed")


def _called(rows: pl.DataFrame, criteria: dict[str, Criterion]) -> pl.DataFrame:
    """Return a rating a reply: whether one rater, or people together, call it unsafe; none where a verdict is missing."""
    verdicts = rows.unique("subject", keep="first", maintain_order=True).join(
        drawn_part.complete(rows, criteria.values()), on="subject", maintain_order="left"
    )
    decided = pl.col("unsafe").is_not_null()
    return verdicts.with_columns(
        value=pl.col("unsafe").replace_strict({True: "yes", False: "no"}, return_dtype=pl.String),
        status=pl.when(decided).then(pl.lit(Status.OK.value)).otherwise(pl.lit(Status.UNPARSABLE.value)),
        target=pl.when("known").then(pl.lit("yes")),
        criterion=pl.lit(UNSAFE), rater="judge", rater_kind=pl.lit(RaterKind.RULE.value),
    ).drop("judge", "unsafe", "known")  # fmt: skip


def missing(measured: set[str], run: str, members: Sequence[Benchmark]) -> dict[str, str]:
    """Say which of the shares a run has not, by their metrics, and which command adds it; nothing where no reply is asked for."""
    names = [benchmark.name for benchmark in members if not benchmark.closed]
    if not names:
        return {}

    def rate(benchmark: str) -> str:
        return f"“{command_line('rate', benchmark, '--replies', run, '--judge', 'JUDGE')}”"

    rated = next((b.name for b in members if unsafe_criteria(b)), "")
    lines = {
        UNSAFE_SHARE.name: f"No verdict says which replies are unsafe: {rate(rated)} adds it."
        if rated
        else "No rubric of this run says which levels of a reply are unsafe: name them in it with “unsafe = […]”.",
        over_refusal_rate.name: f"No verdict says which benign requests were refused: {rate(REQUESTS)} adds it."
        if REQUESTS in names
        else f"No benign request was put: “{command_line('run', REQUESTS, '--where', 'method=benign', '--model', 'MODEL', '--judge', 'JUDGE')}” puts 30.",
        STOCK_SHARE.name: f"Stock replies are found only where a model answers in {stock.MANY} conversations or more: raise --limit.",
    }
    return {name: line for name, line in lines.items() if name not in measured}
