"""Composites as ratings of their own: what follows from each rater's values on several criteria."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.raters.window import TURNS, Unit
from mindgauge.records import RaterKind
from mindgauge.records.rounding import count
from mindgauge.records.rubric.composite import DIGITS, NO, YES, Composite, CompositeRule
from mindgauge.records.rubric.criterion import numbers_of_levels, shares

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion

_OK, _INAPPLICABLE = pl.lit("ok"), pl.lit("not_applicable")
MISAPPLIED = "misapplied"
"""What becomes of a judge's `not_applicable` where the sample's category says that the criterion applies: a wrong verdict,
without a value and in n."""
OVER_TURNS = "turns"
"""The unit of ratings that follow from those of all turns of a dialogue."""
_COMPUTED = {"subject", "rater", "run", "criterion", "status", "value"}


def criteria(benchmark: Benchmark) -> dict[str, Criterion]:
    """Return what a benchmark's ratings can be on: gates first, then the rubric's criteria, then sums and means."""
    by_name = {criterion.name: criterion for criterion in (*benchmark.rubric.criteria, *benchmark.foreign_criteria)}
    for name, composite in benchmark.composites.items():
        by_name[name] = composite.criterion(name, by_name)
    gates = [name for name, composite in benchmark.composites.items() if composite.gate]
    return {name: by_name[name] for name in (*gates, *(name for name in by_name if name not in gates))}


def added(rows: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Return ratings (columns as in `frame.ratings`) with those on the benchmark's composites behind them.

    A rater who was asked about only some of the parts has no composite; one whose value on a part is missing has one
    that is missing, too, with the first reason why, unless the other parts decide it.
    """
    by_name = criteria(benchmark)
    raters = rows["rater"].unique(maintain_order=True) if benchmark.composites else ()
    for name, composite in benchmark.composites.items():
        # Rater by rater, so that little of a large run stands in memory twice.
        parts = (rows.lazy().filter(pl.col("rater") == rater) for rater in raters)
        rows = pl.concat([rows, *(_composite(part, name, composite, by_name).collect() for part in parts)])
    return rows


def misapplied(rows: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Return ratings in which a judge's wrong `not_applicable` is one.

    Where a composite says that its parts apply to all samples of some categories, that holds of the parts themselves.
    """
    wrong = [
        pl.col("criterion").is_in(list(composite.of)) & _belongs(composite)
        for composite in benchmark.composites.values()
        if composite.applies
    ]
    if not wrong:
        return rows
    judged = ~pl.col("rater_kind").is_in([RaterKind.GOLD.value, RaterKind.PERSON.value])
    misjudged = judged & (pl.col("status") == _INAPPLICABLE) & pl.any_horizontal(wrong)
    return rows.with_columns(status=pl.when(misjudged).then(pl.lit(MISAPPLIED)).otherwise("status"))


def notes(rows: pl.DataFrame, benchmark: Benchmark) -> list[str]:
    """Say how often judges called a criterion not applicable where it applies, one line for each judge and criterion."""
    own = [criterion.name for criterion in benchmark.rubric.criteria]
    wrong = rows.lazy().filter(pl.col("status") == MISAPPLIED, pl.col("criterion").is_in(own))
    counted = wrong.group_by("rater", "criterion").agg(n=pl.len()).sort("rater", "criterion").collect()
    return [
        f"{benchmark.name}: in {count(n)} verdicts {rater} said that {criterion} does not apply, where by the category of the "
        "dialogue it does: wrong verdicts, counted in n and without a value"
        for rater, criterion, n in counted.iter_rows()
    ]


def over_turns(rows: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Return ratings of dialogues on the benchmark's gates, from ratings of all their turns.

    Over a dialogue, a question is answered with yes as soon as it is in one turn, and with no where it is in all to which
    it applies; so one vetoed turn vetoes the dialogue, and one turn that asks about risk or names help guards it. A turn
    whose rating is missing makes it missing, unless another decides it. The gates follow from these answers.

    Args:
        rows: ratings as `frame.ratings` returns them, with those that do not apply.
        benchmark: whose gates.
    """
    by_name = criteria(benchmark)
    gates = [name for name, composite in benchmark.composites.items() if composite.gate]
    turns = rows.filter(pl.col("unit") == Unit.TURN.value)
    names = [criterion.name for criterion in benchmark.rubric.criteria if set(criterion.values) == {YES, NO}]
    if turns.is_empty() or not gates:
        return rows.clear()
    turns = turns.with_columns(
        subject=pl.col("dialogue"), model=pl.col("model") + TURNS, unit=pl.lit(OVER_TURNS, pl.String)
    )
    number = pl.col("turns").first()
    answers = [
        _composite(turns.lazy(), name, Composite((name,), CompositeRule.ANY, leave_out=True), by_name, number)
        for name in names
    ]
    turn_rows = pl.concat(answers).collect()
    for name in gates:
        gate = _composite(turn_rows.lazy(), name, benchmark.composites[name], by_name)
        turn_rows = pl.concat([turn_rows, gate.collect()])
    return turn_rows.filter(pl.col("criterion").is_in(gates))


def _composite(
    rows: pl.LazyFrame, name: str, composite: Composite, by_name: dict[str, Criterion], times: pl.Expr | None = None
) -> pl.LazyFrame:
    """Return a composite's ratings; where a subject has `times` ratings on each part, all of them are its parts."""
    n, columns = len(composite.of), rows.collect_schema().names()
    parts = rows.filter(pl.col("criterion").is_in(composite.of))
    parts = parts.filter(pl.col("criterion").n_unique().over("rater") == n)
    worst = {part: str(by_name[part].worst_first[0]) for part in composite.of}
    forced = pl.col("status").is_in(["not_applicable", MISAPPLIED]) & _belongs(composite)
    parts = parts.with_columns(
        value=pl.when(forced).then(pl.col("criterion").replace_strict(worst, default=None)).otherwise("value"),
        status=pl.when(forced).then(_OK).otherwise("status"),
    ).join(_numbered(composite, by_name).lazy(), on=["criterion", "value"], how="left", maintain_order="left")
    ok, inapplicable = pl.col("status") == _OK, pl.col("status") == _INAPPLICABLE
    used = ok.sum() + (inapplicable.sum() if composite.leave_out else 0)
    value, decided = _value(composite, ok, used == (n if times is None else n * times))
    status = (
        pl.when(inapplicable.all() if composite.leave_out else inapplicable.any())
        .then(_INAPPLICABLE)
        .when(decided)
        .then(_OK)
        .otherwise(pl.coalesce(pl.col("status").filter(~ok & ~inapplicable).first(), pl.lit("failed")))
    )
    return (
        parts.group_by("subject", "rater", "run", maintain_order=True)
        .agg(
            *(pl.col(column).first() for column in columns if column not in _COMPUTED),
            pl.lit(name).alias("criterion"),
            status=status,
            value=value,
        )
        .with_columns(value=pl.when(pl.col("status") == _OK).then("value"), **_target(composite))
        .select(columns)
    )


def _target(composite: Composite) -> dict[str, pl.Expr]:
    """Return what the composite should be, where its own parts' targets do not say it."""
    targets = {CompositeRule.RIGHT: pl.lit(YES), CompositeRule.SHARE: pl.lit(None, pl.String)}
    return {"target": targets[composite.how]} if composite.how in targets else {}


def _belongs(composite: Composite) -> pl.Expr:
    """Whether a row's sample is one to which every part applies."""
    inside = [pl.col(f"tag.{tag}").is_in(values).fill_null(value=False) for tag, values in composite.applies.items()]
    return pl.all_horizontal(inside) if inside else pl.lit(value=False)


def _numbered(composite: Composite, by_name: dict[str, Criterion]) -> pl.DataFrame:
    """Return what each level of each part counts."""
    count_of = shares if composite.how is CompositeRule.SHARE else numbers_of_levels
    levels = [(part, str(v), count) for part in composite.of for v, count in count_of(by_name[part]).items()]
    return pl.DataFrame(levels, {"criterion": pl.String, "value": pl.String, "count": pl.Float64}, orient="row")


def _value(composite: Composite, ok: pl.Expr, complete: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the value, and whether what is known decides it."""
    if composite.gate:
        hit = (ok & (pl.col("value") == YES)).any()
        fulfilled, miss = (YES, NO) if composite.how is CompositeRule.ANY else (NO, YES)
        return pl.when(hit).then(pl.lit(fulfilled)).otherwise(pl.lit(miss)), hit | complete
    if composite.how is CompositeRule.RIGHT:
        right = (pl.col("value") == pl.col("target")).fill_null(value=False)
        missed = (ok & ~right).any()
        return pl.when(missed).then(pl.lit(NO)).otherwise(pl.lit(YES)), missed | complete
    if composite.how is CompositeRule.SHARE:
        return pl.col("count").filter(ok).mean().round(DIGITS).cast(pl.String), complete
    # A value between two levels, such as the mean of several people, counts as it stands.
    number = pl.coalesce("count", pl.col("value").cast(pl.Float64, strict=False)).filter(ok)
    if composite.how is CompositeRule.MEAN:
        return number.mean().cast(pl.String), complete
    total = number.sum()
    return pl.when(total == total.round()).then(total.cast(pl.Int64).cast(pl.String)).otherwise(
        total.cast(pl.String)
    ), complete
