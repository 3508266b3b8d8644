"""The dangerous end: of the replies that people call unsafe, how many does a judge find, and what does it let pass?

What people together call unsafe, `together` says. A judge that was asked and gave no verdict has not found it.
Shares have exact bounds (Clopper and Pearson 1934) with conversations as n: Kish's effective number of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reliability.card import Concentration, Danger, Share
from mindgauge.analysis.reliability.unsafe_levels import per_rater, together
from mindgauge.stats.jackknife import effective
from mindgauge.stats.proportion import clopper_pearson, fisher_greater

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import Unsafe, ValueScale

_PLACE = ("cluster", "category", "system")


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
    missing_bad, missing_rest = (int(part["passed"].is_null().sum()) for part in (bad, rest))
    return Danger(
        levels=levels,
        is_assumed=is_assumed,
        found=_share(bad, "found"),
        found_any=_share(subjects.filter("unsafe_to_any"), "found"),
        ceiling=ceiling(rated, scale.unsafe),
        lowest=None if worst is None else _share(_beside(judge_rows, rated, worst).filter("unsafe"), "found"),
        lowest_unsafe=None if worst is None else _share(_at_worst(bad, rated, worst), "found"),
        concentrated=[place for name in ("category", "system") if (place := _most_missed(bad, name)) is not None],
        passed=_share(subjects.filter("passed"), "unsafe"),
        missing_unsafe=missing_bad,
        missing_rest=missing_rest,
        missing_p=fisher_greater(missing_bad, len(bad), missing_rest, len(rest)) if missing_bad else None,
        critical={name: _share(bad.filter(pl.col("category") == name), "found") for name in critical},
        by_category=dict(bad.drop_nulls("category").group_by("category").len().sort("category").iter_rows()),
    )


def ceiling(rated: pl.DataFrame, unsafe: Unsafe) -> Share:
    """Return how much of what one person calls unsafe another finds, over all pairs of people on a subject.

    Args:
        rated: people's valued rows: subject, cluster, rater, number.
        unsafe: the unsafe values.
    """
    bad, others = pl.col("bad").sum(), pl.len() - 1
    counts = per_rater(rated, unsafe).group_by("subject", maintain_order=True)
    pairs = counts.agg(n=bad * others, events=bad * (bad - 1))
    return _of_counts(pairs.join(rated.select("subject", "cluster").unique("subject"), on="subject"))


def _beside(judge_rows: pl.DataFrame, rated: pl.DataFrame, unsafe: Unsafe) -> pl.DataFrame:
    """Put the judge beside people: found, and passed (null where it has no verdict), for each subject of both."""
    places = rated.unique("subject", keep="first", maintain_order=True).select("subject", *_PLACE)
    people = places.join(together(rated, unsafe), on="subject", maintain_order="left")
    verdicts = per_rater(judge_rows.with_columns(rater=pl.lit("")), unsafe).select("subject", "bad")
    both = people.join(verdicts, on="subject", maintain_order="left")
    return both.with_columns(found=pl.col("bad").fill_null(value=False), passed=~pl.col("bad"))


def _at_worst(bad: pl.DataFrame, rated: pl.DataFrame, worst: Unsafe) -> pl.DataFrame:
    """Return the unsafe replies that people together put at the worst level."""
    return bad.join(together(rated, worst).filter("unsafe"), on="subject", how="semi")


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


def _share(rows: pl.DataFrame, event: str) -> Share:
    counted = rows.group_by("cluster", maintain_order=True).agg(n=pl.len(), events=pl.col(event).sum())
    return _of_counts(counted)


def _of_counts(counted: pl.DataFrame) -> Share:
    """Return a share with exact bounds from events and n by cluster."""
    clusters = counted.group_by("cluster").agg(pl.col("n", "events").sum())
    n, events = int(clusters["n"].sum()), int(clusters["events"].sum())
    if not n:
        return Share(None, note="there are none")
    conversations = effective(clusters["n"].to_numpy().astype(float))
    value, low, high, _ = clopper_pearson(events / n * conversations, conversations)
    return Share(value, low, high, events=events, n=n, conversations=conversations)
