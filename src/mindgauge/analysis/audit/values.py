"""Checks of single values: on the scale, of one type, and such as their producer can write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.audit.finding import CheckResult, Severity, check, counted, places
from mindgauge.analysis.audit.view import SHARED
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.audit.view import View

LIKERT = ((1, 5), (1, 7))
"""Scales that are recognised without being named, by nearly all values."""
BULK = 0.99
"""This share of values must lie on a scale for the scale to be recognised."""
MOST_LEVELS = 20
"""A scale of more steps is a continuum."""
NUMERIC = 0.5
"""A criterion of which this share of values are numbers is meant to be numeric."""
_PLACEHOLDERS = r"^(?i:nan|none|null|n/?a|#n/a|-|–|\.|\?|missing|unknown|not available|nil|inf|-inf)?$"
_UNQUOTED = pl.col("value").str.strip_chars('" \t\r\n')


def scale(view: View, criterion: str) -> tuple[float, float] | None:
    """Return a criterion's declared scale, or a Likert scale on which nearly all of its values lie."""
    if criterion not in view.ends:
        view.ends[criterion] = view.scales.get(criterion) or _recognised(view, criterion)
    return view.ends[criterion]


def _recognised(view: View, criterion: str) -> tuple[float, float] | None:
    numbers = view.rated.filter(pl.col("criterion") == criterion)["number"].drop_nulls()
    if not len(numbers) or not (numbers == numbers.round()).all():
        return None
    for low, high in LIKERT:
        on_scale = numbers.filter(numbers.is_between(low, high))
        if len(on_scale) >= BULK * len(numbers) and on_scale.n_unique() == high - low + 1:
            return float(low), float(high)
    return None


def _scaled(view: View) -> pl.DataFrame:
    """Return the rated values with the ends of their criterion's scale as `low` and `high`, null where it has none."""
    scales = {name: ends_found for name in view.rated["criterion"].unique() if (ends_found := scale(view, name))}
    low, high = ({name: ends[side] for name, ends in scales.items()} for side in (0, 1))
    end = pl.col("criterion").replace_strict
    return view.rated.with_columns(
        low=end(low, default=None, return_dtype=pl.Float64), high=end(high, default=None, return_dtype=pl.Float64)
    )


@check(
    "out_of_scale",
    Severity.ERROR,
    "a mean takes these values as if they were levels; a 0 that stands for `none` pulls it down",
)
def out_of_scale(view: View) -> Iterator[CheckResult]:
    """Numbers below or above the criterion's scale."""
    rows = _scaled(view).filter((pl.col("number") < pl.col("low")) | (pl.col("number") > pl.col("high")))
    if rows.height:
        assumed = sorted(set(rows["criterion"]) - view.scales.keys())
        text = f"{plural(rows.height, 'value')} off the scale ({counted(rows, 'value')}) by {counted(rows, 'rater')}"
        if assumed:
            text += f"; the scale of {', '.join(assumed[:3])} was taken from the other values, say --scale to be sure"
        yield CheckResult(rows.height, text, places(rows), Severity.WARNING if assumed else None)


@check(
    "impossible_values",
    Severity.ERROR,
    "the rater could not give this value: it was computed, edited or read wrongly, and is no verdict",
)
def impossible_values(view: View) -> Iterator[CheckResult]:
    """Fractions where nearly all values are whole, and labels that are not among the options."""
    rows = view.rated.filter(pl.col("number").is_not_null())
    fraction = pl.col("number") != pl.col("number").round()
    keys = ["criterion", "rater"]
    odd = rows.filter(fraction & (fraction.mean().over(keys) < 1 - BULK + 0.04) & (pl.len().over(keys) >= 20))
    if odd.height:
        yield CheckResult(
            odd.height, f"{plural(odd.height, 'fraction')} among whole numbers, by {counted(odd, 'rater')}", places(odd)
        )
    for criterion, options in view.options.items():
        answers = view.rated.filter(pl.col("criterion") == criterion)
        unknown = answers.filter(~_UNQUOTED.is_in(list(options)))
        if unknown.height:
            yield CheckResult(unknown.height, f"{plural(unknown.height, 'value')} of {criterion} that are none of its options, by {counted(unknown, 'rater')}", places(unknown))  # fmt: skip


@check(
    "placeholder_values",
    Severity.ERROR,
    "a word for `nothing` passes as a verdict: it is counted as rated, or breaks the computation",
)
def placeholder_values(view: View) -> Iterator[CheckResult]:
    """Values such as nan, none or N/A with the status of a verdict."""
    options = [value for values in view.options.values() for value in values]
    rows = view.rated.filter(_UNQUOTED.str.contains(_PLACEHOLDERS))
    rows = rows.filter(~_UNQUOTED.is_in(options))
    if rows.height:
        yield CheckResult(rows.height, f"{plural(rows.height, 'value')} that say there is none, by {counted(rows, 'rater')}", places(rows))  # fmt: skip


@check(
    "mixed_types",
    Severity.WARNING,
    'a reader drops or misreads one of the kinds: 4, "4" and words are not compared as equals',
)
def mixed_types(view: View) -> Iterator[CheckResult]:
    """Numbers, numbers written as text, and words on one criterion by one rater."""
    value = pl.col("value")
    kind = (
        pl.when(value.str.strip_chars().str.contains(_PLACEHOLDERS)).then(None)
        .when(pl.col("number").is_null()).then(pl.lit("words"))
        .when(value.str.starts_with('"')).then(pl.lit("numbers as text"))
        .otherwise(pl.lit("numbers"))
    )  # fmt: skip
    keys = ["criterion", "rater"]
    rows = view.rated.with_columns(kind=kind).filter(pl.col("kind").is_not_null())
    rows = rows.filter(
        pl.col("kind").n_unique().over(keys) > 1, pl.col("number").is_not_null().mean().over(keys) >= NUMERIC
    )
    for (rater,), own in rows.group_by("rater", maintain_order=True):
        common = own.group_by("kind").len().sort("len", descending=True)["kind"][0]
        odd = own.filter(pl.col("kind") != common)
        yield CheckResult(odd.height, f"{rater}: {counted(own, 'kind')}", places(odd))


@check(
    "stray_blanks",
    Severity.WARNING,
    "a label with a blank is another label to a computer: it agrees with nothing",
)
def stray_blanks(view: View) -> Iterator[CheckResult]:
    """Values with blanks at their ends, and values that differ in case only."""
    value = pl.col("value")
    rows = view.rated.filter(value.str.strip_chars() != value)
    if rows.height:
        yield CheckResult(rows.height, f"{plural(rows.height, 'value')} with blanks around them, by {counted(rows, 'rater')}", places(rows))  # fmt: skip
    words = view.rated.filter(pl.col("number").is_null()).with_columns(bare=value.str.strip_chars().str.to_lowercase())
    words = words.with_columns(exact=value.str.strip_chars())
    cased = words.filter(pl.col("exact").n_unique().over("criterion", "bare") > 1)
    common = pl.col("exact").mode().first().over("criterion", "bare")
    odd = cased.filter(pl.col("exact") != common)
    if odd.height:
        yield CheckResult(odd.height, f"{plural(odd.height, 'value')} written in another case than the rest ({counted(odd, 'value')})", places(odd))  # fmt: skip


@check(
    "unused_level",
    Severity.NOTE,
    "nobody can tell whether it never occurs or is never chosen; a weighted kappa or an ordinal alpha over the declared scale is not that over the levels in use",
)
def unused_level(view: View) -> Iterator[CheckResult]:
    """Levels of a declared scale, and options, that no rater of a kind ever gives."""
    kinds = view.opinions.with_columns(kind=pl.col("rater_kind").fill_null("rater"))
    for criterion in kinds["criterion"].unique().sort():
        declared = _levels(view, criterion)
        for (kind,), own in (
            kinds.filter(pl.col("criterion") == criterion).sort("kind").group_by("kind", maintain_order=True)
        ):
            value = pl.coalesce(pl.col("number").cast(pl.Int64, strict=False).cast(pl.String), _UNQUOTED)
            used = set(own.select(value).to_series())
            unused = [level for level in declared if level not in used]
            if unused and own.height >= SHARED:
                group = {"person": "people", "model": "models"}.get(str(kind), f"{kind}s")
                yield CheckResult(
                    len(unused),
                    f"{criterion}: {group} never give {', '.join(unused)} in {plural(own.height, 'rating')}",
                    [],
                )


def _levels(view: View, criterion: str) -> list[str]:
    """Return the levels of a declared scale of whole numbers, or the options; nothing where neither was declared."""
    if criterion in view.options:
        return list(view.options[criterion])
    low, high = view.scales.get(criterion, (0.0, -1.0))
    is_listed = float(low).is_integer() and float(high).is_integer() and high - low <= MOST_LEVELS
    return [str(level) for level in range(int(low), int(high) + 1)] if is_listed else []


CHECKS = (out_of_scale, impossible_values, placeholder_values, mixed_types, stray_blanks, unused_level)
