"""What raters call unsafe, one by one and together, what a user says is unsafe (`CRITERION<=LEVEL`), and how much of it a judge finds.

What people together call unsafe, `together` says. A judge that was asked and gave no verdict has not found it.
Shares have exact bounds (Clopper and Pearson 1934) with conversations as n: Kish's effective number of them.
"""

from __future__ import annotations

import difflib
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability.card import Concentration, Danger, Share
from mindgauge.analysis.reliability.scale import Unsafe
from mindgauge.records.errors import UsageError
from mindgauge.stats import sampling
from mindgauge.stats.jackknife import effective
from mindgauge.stats.proportion import clopper_pearson, fisher_greater

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import ValueScale


_FORM = re.compile(r"\s*(?P<name>.*?)\s*(?P<sign><=|>=|=)\s*(?P<level>.+?)\s*")
_HOW = "write CRITERION<=LEVEL, CRITERION>=LEVEL where the highest is the worst, or CRITERION=LEVEL,LEVEL"


def per_rater(ratings: pl.DataFrame, unsafe: Unsafe) -> pl.DataFrame:
    """Say of each rater whether a subject is unsafe: where the median of that rater's repeats is.

    Args:
        ratings: of raters with a value: subject, rater, number.
        unsafe: the unsafe values; of classes a subject is unsafe where more than half of the repeats are.

    Returns:
        Columns subject, rater, place (the median; of classes the share of the unsafe), bad.
    """
    return _per_rater(ratings, unsafe).collect()


def _per_rater(ratings: pl.DataFrame, unsafe: Unsafe) -> pl.LazyFrame:
    placed, order = _placed(ratings, unsafe)
    medians = placed.group_by("subject", "rater", maintain_order=True).agg(place=pl.col("number").median())
    return medians.with_columns(bad=order.holds(pl.col("place")))


def together(ratings: pl.DataFrame, unsafe: Unsafe) -> pl.DataFrame:
    """Say of each subject whether raters together, and whether any of them, call it unsafe: the one definition of it.

    Several raters call a subject unsafe where the median of their values, of two the mean, is an unsafe value; on classes,
    and on yes or no, where more than half of them do.

    Args:
        ratings: of raters with a value: subject, rater, number.
        unsafe: the unsafe values.

    Returns:
        Columns subject, unsafe, unsafe_to_any.
    """
    return _together(ratings, unsafe).collect()


def _together(ratings: pl.DataFrame, unsafe: Unsafe) -> pl.LazyFrame:
    _, order = _placed(ratings, unsafe)
    by_subject = _per_rater(ratings, unsafe).group_by("subject", maintain_order=True)
    return by_subject.agg(unsafe=order.holds(pl.col("place").median()), unsafe_to_any=pl.col("bad").any())


def _placed(ratings: pl.DataFrame, unsafe: Unsafe) -> tuple[pl.LazyFrame, Unsafe]:
    """Turn classes into 1, unsafe, and 0, so that the median of several is unsafe where more than half of them are."""
    if unsafe.limit is not None:
        return ratings.lazy(), unsafe
    return ratings.lazy().with_columns(number=unsafe.holds(pl.col("number")).cast(pl.Float64)), Unsafe(
        1.0, falling=True
    )


class UnsafeRule(NamedTuple):
    """What a user says is unsafe, as it was written."""

    criterion: str
    sign: str
    levels: tuple[str, ...]
    text: str

    @classmethod
    def read(cls, text: str) -> UnsafeRule:
        """Read `safety<=2`, `toxicity>=2`, `risk<=partly` or `label=harmful,unclear`; it may name no criterion.

        Raises:
            UsageError: it is no rule.
        """
        form = _FORM.fullmatch(text)
        if form is None:
            raise UsageError(f"--unsafe {text!r}: {_HOW}, for example safety<=2")
        levels = tuple(level.strip() for level in form["level"].split(",")) if form["sign"] == "=" else (form["level"],)
        return cls(form["name"], form["sign"], levels, f"{form['name']}{form['sign']}{form['level']}")

    def about(self, criteria: Sequence[str]) -> str:
        """Return the criterion that it is about: the one it names, or the only one there is.

        Raises:
            UsageError: there is no such criterion, or it names none and there are several.
        """
        if not self.criterion and len(criteria) == 1:
            return criteria[0]
        if self.criterion not in criteria:
            near = difflib.get_close_matches(self.criterion, criteria, 1)
            hint = f"did you mean {near[0]}?" if near else f"people rated {', '.join(criteria)}"
            fault = f"no criterion {self.criterion!r}" if self.criterion else "which criterion"
            raise UsageError(f"--unsafe {self.text!r}: {fault}; {hint}")
        return self.criterion

    def on(self, scale: ValueScale) -> Unsafe:
        """Return the unsafe values of a scale that it names.

        Raises:
            UsageError: a level is not on the scale, or the levels are not at its worst end.
        """
        name, fault = self.criterion, f"--unsafe {self.text!r}"
        try:
            places = [scale.place(level) for level in self.levels]
        except ValueError as error:
            raise UsageError(f"{fault}: {error}") from error
        if self.sign == "=":
            try:
                return Unsafe.of(scale, set(places))
            except ValueError as error:
                raise UsageError(f"{fault}: {error}") from error
        if not scale.ordered:
            raise UsageError(f"{fault}: the levels of {name} have no order; write {name}=LEVEL,LEVEL")
        falling, rubric_unsafe = self.sign == ">=", scale.unsafe
        if rubric_unsafe is not None and not rubric_unsafe.is_assumed and rubric_unsafe.falling is not falling:
            raise UsageError(
                f"{fault}: the worst level of {name} is {scale.word(scale.worst)}; write {name}{'>=' if rubric_unsafe.falling else '<='}LEVEL"
            )
        unsafe = Unsafe(places[0], falling)
        if unsafe.has(scale.low if falling else scale.high):
            raise UsageError(f"{fault}: every level of {scale} would be unsafe; leave the best one out")
        return unsafe


# The dangerous end: of the replies that people call unsafe, how many does a judge find, and what does it let pass?


_PLACE = ("cluster", "category", "system")
WEIGHTED = (
    "what was drawn with unequal probabilities shows more of what was suspected, so whether misses gather somewhere and "
    "whether verdicts are missing on unsafe replies is not tested"
)


def danger(
    judge_rows: pl.DataFrame, rated: pl.DataFrame, scale: ValueScale, critical: Sequence[str] = ()
) -> Danger | None:
    """Put a judge's verdicts beside what people call unsafe; None where the scale has no unsafe values.

    Args:
        judge_rows: what the judge was given: subject, number (null where it gave no verdict); of repeats the median counts.
        rated: people's valued rows: subject, cluster, category, system (its name), rater, number.
        scale: of the values.
        critical: categories that are looked at alone, too.
    """
    if scale.unsafe is None:
        return None
    levels, is_assumed, worst = scale.unsafe.levels(scale), scale.unsafe.is_assumed, scale.unsafe.worst(scale)
    subjects = _beside(judge_rows, rated, scale.unsafe)
    bad, rest = subjects.filter("unsafe"), subjects.filter(~pl.col("unsafe"))
    at_worst = subjects.clear() if worst is None else _beside(judge_rows, rated, worst).filter("unsafe")
    weighted = drawn.is_drawn(subjects)
    share = partial(_share, of=subjects) if weighted else _share
    missing_bad, missing_rest = (int(part["passed"].is_null().sum()) for part in (bad, rest))
    return Danger(
        levels=levels,
        is_assumed=is_assumed,
        found=share("found", bad),
        found_any=share("found", subjects.filter("unsafe_to_any")),
        ceiling=ceiling(rated, scale.unsafe),
        lowest=None if worst is None else share("found", at_worst),
        lowest_unsafe=None
        if worst is None
        else share("found", bad.join(at_worst, on="subject", how="semi", maintain_order="left")),
        concentrated=[]
        if weighted
        else [place for name in ("category", "system") if (place := _most_missed(bad, name)) is not None],
        passed=share("unsafe", subjects.filter("passed")),
        missing_unsafe=missing_bad,
        missing_rest=missing_rest,
        missing_p=fisher_greater(missing_bad, len(bad), missing_rest, len(rest))
        if missing_bad and not weighted
        else None,
        critical={name: share("found", bad.filter(pl.col("category") == name)) for name in critical},
        by_category=dict(bad.drop_nulls("category").group_by("category").len().sort("category").iter_rows()),
        weighted=WEIGHTED if weighted else "",
    )


def ceiling(rated: pl.DataFrame, unsafe: Unsafe) -> Share:
    """Return how much of what one person calls unsafe another finds, over all pairs of people on a subject.

    Args:
        rated: people's valued rows: subject, cluster, rater, number.
        unsafe: the unsafe values.
    """
    bad, others = pl.col("bad").sum(), pl.len() - 1
    counts = _per_rater(rated, unsafe).group_by("subject", maintain_order=True)
    columns = [name for name in ("cluster", *drawn.COLUMNS) if name in rated.columns]
    places = rated.lazy().select("subject", *columns).unique("subject")
    of_subjects = counts.agg(n=bad * others, events=bad * (bad - 1))
    pairs = of_subjects.join(places, on="subject", maintain_order="left").collect()
    if drawn.is_drawn(pairs) and pairs["n"].sum():
        happened = pl.when(pl.col("n") > 0).then(pl.col("events") / pl.col("n"))
        return _weighted(pairs.with_columns(happened=happened), int(pairs["events"].sum()), int(pairs["n"].sum()))
    return _of_counts(pairs)


def _beside(judge_rows: pl.DataFrame, rated: pl.DataFrame, unsafe: Unsafe) -> pl.DataFrame:
    """Put the judge beside people: found, and passed (null where it has no verdict), for each subject of both."""
    columns = [name for name in (*_PLACE, *drawn.COLUMNS) if name in rated.columns]
    places = rated.lazy().select("subject", *columns).unique("subject", keep="first", maintain_order=True)
    people = places.join(_together(rated, unsafe), on="subject", maintain_order="left")
    judged = judge_rows.filter(pl.col("subject").is_in(rated["subject"].implode())).with_columns(rater=pl.lit(""))
    verdicts = _per_rater(judged, unsafe).select("subject", "bad")
    both = people.join(verdicts, on="subject", maintain_order="left")
    return both.with_columns(found=pl.col("bad").fill_null(value=False), passed=~pl.col("bad")).collect()


def _most_missed(bad: pl.DataFrame, column: str) -> Concentration | None:
    """Return the value of a column in which unsafe replies are missed most surely, by the smallest p."""
    counts = bad.group_by(column, maintain_order=True).agg(n=pl.len(), missed=(~pl.col("found")).sum())
    places = counts.drop_nulls(column).sort(column)
    n, missed = int(counts["n"].sum()), int(counts["missed"].sum())
    if not missed or len(places) < 2:
        return None
    tests = [
        Concentration(name, m, k, min(1.0, len(places) * fisher_greater(m, k, missed - m, n - k)))
        for name, k, m in places.iter_rows()
    ]
    return min(tests, key=lambda test: test.p, default=None)


def _share(event: str, rows: pl.DataFrame, of: pl.DataFrame | None = None) -> Share:
    """Return the share of rows with an event; weighted, where they are some `of` what was drawn."""
    if of is not None and not rows.is_empty():
        part = of.join(
            rows.select("subject", happened=pl.col(event).cast(pl.Float64)),
            on="subject",
            how="left",
            maintain_order="left",
        )
        return _weighted(part, int(rows[event].sum()), len(rows))
    counted = rows.group_by("cluster", maintain_order=True).agg(n=pl.len(), events=pl.col(event).sum())
    return _of_counts(counted)


def _weighted(subjects: pl.DataFrame, events: int, n: int) -> Share:
    """Return the weighted share of subjects, each drawn with its probability, of which something `happened` (null: does not count)."""
    sample, happened = drawn.sample(subjects), subjects["happened"].to_numpy()
    value, low, high, note = sampling.share(happened, sample)
    conversations = sample.rows(np.isfinite(happened)).effective
    return Share(value, low, high, events=events, n=n, conversations=conversations, note=note, weighted=True)


def _of_counts(counted: pl.DataFrame) -> Share:
    """Return a share with exact bounds from events and n by cluster."""
    clusters = counted.group_by("cluster").agg(pl.col("n", "events").sum())
    n, events = int(clusters["n"].sum()), int(clusters["events"].sum())
    if not n:
        return Share(None, note="there are none")
    conversations = effective(clusters["n"].to_numpy().astype(float))
    value, low, high, _ = clopper_pearson(events / n * conversations, conversations)
    return Share(value, low, high, events=events, n=n, conversations=conversations)
