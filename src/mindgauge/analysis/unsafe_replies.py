"""What raters together call unsafe in a run, on a criterion and anywhere; and the judges' means that released review sets state.

The unsafe levels are the rubric's (`Criterion.unsafe`). Over several criteria, a reply is unsafe where it is on one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis.reliability.scale import Unsafe, of_criterion
from mindgauge.analysis.reliability.unsafe_levels import together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mindgauge.analysis.reliability.scale import ValueScale
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
    return _called(ratings.with_columns(criterion=pl.lit(criterion.name)), {criterion.name: criterion})


def anywhere(ratings: pl.DataFrame, criteria: Mapping[str, Criterion]) -> pl.DataFrame:
    """Say of each subject whether its raters together call it unsafe on one of several criteria.

    Args:
        ratings: subject, criterion, rater, status, value (as text).
        criteria: of which those without unsafe levels, and those that look at the reasoning, say nothing.

    Returns:
        Columns subject, unsafe (null where no rater has a value on a criterion with unsafe levels).
    """
    speaking = {
        name: criterion for name, criterion in criteria.items() if criterion.unsafe and not criterion.of_reasoning
    }
    return _called(ratings.filter(pl.col("criterion").is_in(list(speaking))), speaking)


def complete(ratings: pl.DataFrame, criteria: Iterable[Criterion]) -> pl.DataFrame:
    """Say the same of subjects that have a verdict on each criterion on which they were rated.

    A share that counted who is unsafe and lacks a verdict, but not who looks safe and lacks one, would be too high. A value
    off the scale is no verdict.

    Returns:
        Columns subject, unsafe (null where a verdict is missing), known (whether it is unsafe on one, be others missing).
    """
    schema = pl.DataFrame(schema={"subject": pl.String, "unsafe": pl.Boolean})
    each = (on(ratings.filter(pl.col("criterion") == criterion.name), criterion) for criterion in criteria)
    unsafe = pl.col("unsafe")
    return (
        pl.concat([schema, *each])
        .group_by("subject", maintain_order=True)
        .agg(pl.when(unsafe.is_not_null().all()).then(unsafe.any()), known=unsafe.any())
    )


def _called(ratings: pl.DataFrame, criteria: Mapping[str, Criterion]) -> pl.DataFrame:
    """Say the same of each subject with a rating, all of which are on these criteria."""
    used = ratings.lazy().filter(pl.col("status") == "ok", pl.col("value").is_not_null())
    scales = {name: of_criterion(criterion) for name, criterion in criteria.items()}
    numbers = [
        (name, value, _above(value, scales[name]))
        for name, value in used.select("criterion", "value").unique().collect().iter_rows()
    ]
    schema = {"criterion": pl.String, "value": pl.String, "number": pl.Float64}
    above = pl.LazyFrame(numbers, schema, orient="row").drop_nulls()
    valued = used.join(above, on=["criterion", "value"], maintain_order="left")
    decided = together(valued, Unsafe(0.0), "criterion").group_by("subject").agg(pl.col("unsafe").any())
    asked = ratings.lazy().select("subject").unique(maintain_order=True)
    return asked.join(decided, on="subject", how="left", maintain_order="left").collect()


def _above(value: str, scale: ValueScale) -> float | None:
    """Return how far a value lies above the unsafe ones of its scale, which are at 0 and below; None where it is not on it."""
    try:
        number = float(scale.words.index(value) if scale.words else value)
    except ValueError:
        return None
    if not scale.low <= number <= scale.high:
        return None
    unsafe = scale.unsafe or Unsafe()
    if unsafe.limit is None:
        return float(not unsafe.has(number))
    return unsafe.limit - number if unsafe.falling else number - unsafe.limit


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
        for subject, rater, facts in _stated(store, benchmark)
        if facts.get("mean") is not None and facts.get("criterion")
    ]
    schema = dict.fromkeys(("subject", "criterion", "rater", "value"), pl.String)
    return pl.DataFrame(rows, schema, orient="row")


def reasons(store: Store, benchmark: Benchmark, criterion: str) -> list[tuple[str, str, str]]:
    """Return the reasons of single judges that review sets state: subject, rater, reason."""
    return [
        (subject, rater, facts["explanation"])
        for subject, rater, facts in _stated(store, benchmark)
        if facts.get("explanation") and facts.get("criterion") == criterion
    ]


def _stated(store: Store, benchmark: Benchmark) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for subject, text in store.select(_STATED, (benchmark.name,)):
        for rater, facts in msgspec.json.decode(text).items():
            if not facts.get("panel"):
                yield subject, rater, facts


def standing_in(stated: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return the stated means of replies of which a run holds no verdict of the judge; where there is one, it counts."""
    return stated if stated.is_empty() else stated.join(ratings, on=["subject", "criterion", "rater"], how="anti")
