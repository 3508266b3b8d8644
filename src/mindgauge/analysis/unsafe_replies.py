"""What raters together call unsafe in a run, on a criterion and anywhere; and the judges' means that released review sets state.

The unsafe levels are the rubric's (`Criterion.unsafe`). Over several criteria, a reply is unsafe where it is on one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis.reliability.scale import Unsafe, of_criterion
from mindgauge.analysis.reliability.unsafe_levels import together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store


def on(ratings: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
    """Say of each subject whether its raters together call it unsafe on one criterion.

    Args:
        ratings: on that criterion, by one rater or several: subject, rater, status, value (as text).
        criterion: with unsafe levels.

    Returns:
        Columns subject, unsafe (null where no rater has a value).
    """
    scale = of_criterion(criterion)
    places = {word: float(place) for place, word in enumerate(scale.words)}
    value = pl.col("value").cast(pl.Float64, strict=False)
    if scale.words:
        value = pl.col("value").replace_strict(places, default=None, return_dtype=pl.Float64)
    valued = ratings.with_columns(number=pl.when(pl.col("status") == "ok").then(value)).filter(
        pl.col("number").is_not_null()
    )
    decided = together(valued, scale.unsafe or Unsafe()).select("subject", "unsafe")
    return (
        ratings.select("subject")
        .unique(maintain_order=True)
        .join(decided, on="subject", how="left", maintain_order="left")
    )


def anywhere(ratings: pl.DataFrame, criteria: Mapping[str, Criterion]) -> pl.DataFrame:
    """Say of each subject whether its raters together call it unsafe on one of several criteria.

    Args:
        ratings: subject, criterion, rater, status, value (as text).
        criteria: of which those without unsafe levels say nothing.

    Returns:
        Columns subject, unsafe (null where no rater has a value on a criterion with unsafe levels).
    """
    schema = {"subject": pl.String, "unsafe": pl.Boolean}
    parts = [
        on(rows, criterion).cast(schema)  # type: ignore[arg-type]
        for name, criterion in criteria.items()
        if criterion.unsafe and not (rows := ratings.filter(pl.col("criterion") == name)).is_empty()
    ]
    # max: true where one is true, null only where all are.
    return (
        pl.concat([pl.DataFrame(schema=schema), *parts])
        .group_by("subject", maintain_order=True)
        .agg(pl.col("unsafe").max())
    )


# What released review sets state of judges' verdicts on replies, where the verdicts themselves were not released.


_STATED = """
SELECT replies.id, json_each.value FROM replies, json_each(replies.provenance, '$.review_sets')
WHERE benchmark = ?"""


def means(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return the mean verdicts that review sets state of single judges; a panel's are nobody's.

    Returns:
        Columns subject, criterion, rater, value (the mean, as text).
    """
    rows = [
        (subject, facts["criterion"], rater, str(facts["mean"]))
        for subject, text in store.select(_STATED, (benchmark.name,))
        for rater, facts in msgspec.json.decode(text).items()
        if facts.get("mean") is not None and facts.get("criterion") and not facts.get("panel")
    ]
    schema = dict.fromkeys(("subject", "criterion", "rater", "value"), pl.String)
    return pl.DataFrame(rows, schema, orient="row")


def reasons(store: Store, benchmark: Benchmark, criterion: str) -> list[tuple[str, str, str]]:
    """Return the reasons of single judges that review sets state: subject, rater, reason."""
    return [
        (subject, rater, facts["explanation"])
        for subject, text in store.select(_STATED, (benchmark.name,))
        for rater, facts in msgspec.json.decode(text).items()
        if facts.get("explanation") and facts.get("criterion") == criterion and not facts.get("panel")
    ]


def standing_in(stated: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return the stated means of replies of which a run holds no verdict of the judge; where there is one, it counts."""
    return stated if stated.is_empty() else stated.join(ratings, on=["subject", "criterion", "rater"], how="anti")
