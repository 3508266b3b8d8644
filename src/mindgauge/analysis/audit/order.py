"""Checks of the order of rows: standards that shift while somebody rates, and files sorted by label or text."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis.audit.finding import CheckResult, Severity, check, limited
from mindgauge.analysis.audit.raters import scale
from mindgauge.analysis.audit.view import by_raters
from mindgauge.records.rounding import decimal, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.audit.view import View

    Floats = NDArray[np.float64]

ALPHA = 0.001
"""The chance that a check which tests calls clean data faulty, over all raters and criteria of the material.

Each of the seven or so checks that test keeps to it, so that an audit of clean data gives a false alarm in fewer than
one case of a hundred.
"""
PERMUTATIONS = 1999
LEAST = 40
"""Fewer positions than these show no drift that could be told from chance."""
BINS = 1000
"""Longer files are averaged into so many stretches, so that a million rows take no longer."""
BELOW_SIGNIFICANCE = 1.6
"""Below this the statistic is far from significance (Kolmogorov: p = .01 at 1.63) and nothing need be permuted."""
SHIFT = 0.05
"""A shift below 5 % of the scale changes no conclusion, however significant in a long file."""
SORTED = 30
"""In fewer rows an order may be chance."""
RISING = 0.9
"""Neighbours in alphabetical order, of which chance would put half; a sorted file that was edited keeps most."""
STRAIGHT = "(all criteria equal)"


class Course(NamedTuple):
    """One rater's ratings of one criterion along the rows: position, level there, and level without the systems' means."""

    rater: str
    criterion: str
    row: NDArray[np.int64]
    level: Floats
    residual: Floats
    width: float


def statistic(values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the CUSUM statistic of each series and where it is largest: max_k |Σ_{i≤k} (x_i - mean)| / (s √n).

    Its square root law under exchangeable rows is the Kolmogorov distribution (Brown, Durbin and Evans 1975).

    Args:
        values: shape (b, n).
    """
    centred = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=1))
    sums = np.abs(np.cumsum(centred, axis=1)[:, :-1])
    largest = sums.argmax(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(spread > 0, sums[np.arange(len(sums)), largest] / spread, 0.0)
    return value, largest


def critical(courses: list[Course]) -> float:
    """Return what the largest statistic of all courses reaches by chance with probability ALPHA.

    Rows are permuted, the same way for all courses of one length, and the maximum over the courses is taken in each
    permutation (Westfall and Young 1993): so the error is that of the whole family, whatever ties the courses.
    """
    generator = np.random.default_rng(0)
    largest = np.zeros(PERMUTATIONS)
    for n in sorted({len(course.residual) for course in courses}):
        orders = generator.permuted(np.tile(np.arange(n), (PERMUTATIONS, 1)), axis=1)
        for course in courses:
            if len(course.residual) == n:
                largest = np.maximum(largest, statistic(course.residual[orders])[0])
    allowed = int(ALPHA * (PERMUTATIONS + 1))  # so many permutations, the data included, may reach it
    return float(np.sort(largest)[-allowed])


@check(
    "drift",
    Severity.WARNING,
    "the standard changed while the rows were rated: agreement and bias depend on which rows one looks at",
)
def drift(view: View) -> Iterator[CheckResult]:
    """Raters whose level shifts along the rows, systems and conversations being equal."""
    tested_courses = courses(view)
    tested = {(c.rater, c.criterion): statistic(c.residual[None, :])[0][0] for c in tested_courses}
    if not tested or max(tested.values()) < BELOW_SIGNIFICANCE:
        return
    limit = critical(tested_courses)
    for rater, own_courses in itertools.groupby(tested_courses, key=lambda course: course.rater):  # which are sorted
        own: list[str] = []
        shared: list[str] = []
        for course in own_courses:
            if tested[rater, course.criterion] <= limit:
                continue
            cut = int(statistic(course.residual[None, :])[1][0]) + 1
            shift = course.residual[cut:].mean() - course.residual[:cut].mean()
            if abs(shift) < SHIFT * course.width:
                continue
            others = _others(tested_courses, course, course.row[cut])
            description = _told(course, segments(course.residual, limit), others)
            like = others and np.median(others) * np.sign(shift) >= SHIFT * course.width
            (shared if like else own).append(description)
        if own:
            yield CheckResult(len(own), f"{rater} shifts on {plural(len(own), 'criterion', 'criteria')}", limited(own))
        if shared:
            yield CheckResult(len(shared), f"{rater} shifts on {plural(len(shared), 'criterion', 'criteria')}, other raters with it: the rows differ along the file", limited(shared), Severity.NOTE)  # fmt: skip


def courses(view: View) -> list[Course]:
    """Return what can be tested for drift: each rater × criterion, and how often a rater's criteria are all equal."""
    places = pl.concat(map(_places, by_raters(view.scores)))
    tested = []
    for (rater, criterion), own in places.sort("rater", "criterion", "row").group_by("rater", "criterion", maintain_order=True):  # fmt: skip
        if own.height < LEAST:
            continue
        ends = scale(view, str(criterion)) or (own["number"].min(), own["number"].max())
        width = 1.0 if criterion == STRAIGHT else float(ends[1]) - float(ends[0])  # type: ignore[arg-type]
        bins = np.arange(own.height) * min(BINS, own.height) // own.height
        row, level, residual = (_binned(own[name].to_numpy(), bins) for name in ("row", "number", "residual"))
        tested.append(Course(str(rater), str(criterion), row.astype(np.int64), level, residual, width))
    return tested


def _places(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the mean level at each row, by rater and criterion: of conversations, each of which counts once."""
    numbers = scores.select(
        "rater", "criterion", "system", "row", "run", "subject", "number", unit=pl.coalesce("cluster", "subject")
    )
    straight = numbers.group_by("rater", "system", "unit", "subject", "run").agg(
        pl.col("row").min(), number=(pl.col("number").n_unique() == 1).cast(pl.Float64), size=pl.col("criterion").n_unique()
    )  # fmt: skip
    straight = straight.filter(pl.col("size") >= 3).with_columns(criterion=pl.lit(STRAIGHT))
    columns = ["rater", "criterion", "system", "row", "unit", "number"]
    rows = pl.concat([numbers.select(columns), straight.select(columns)])
    rows = rows.with_columns(residual=pl.col("number") - pl.col("number").mean().over("rater", "criterion", "system"))
    units = rows.group_by("rater", "criterion", "unit").agg(pl.col("row").min(), pl.col("number", "residual").mean())
    return units.group_by("rater", "criterion", "row").agg(pl.col("number", "residual").mean())


def _binned(values: Floats, bins: NDArray[np.intp]) -> Floats:
    return np.asarray(np.bincount(bins, values) / np.bincount(bins))


def segments(values: Floats, limit: float) -> list[tuple[int, int]]:
    """Cut a series where it shifts, again and again, while the statistic of a part exceeds the limit."""
    ends, parts = [(0, len(values))], []
    while ends:
        start, stop = ends.pop()
        value, largest = (
            statistic(values[None, start:stop]) if stop - start >= LEAST else (np.zeros(1), np.zeros(1, np.intp))
        )
        if value[0] > limit:
            cut = start + int(largest[0]) + 1
            ends += [(cut, stop), (start, cut)]
        else:
            parts.append((start, stop))
    return parts


def _others(all_courses: list[Course], course: Course, row: int) -> list[float]:
    """Return by how much the other raters shift at the same row, on the same criterion."""
    shifts = []
    for other in all_courses:
        if other.criterion == course.criterion and other.rater != course.rater:
            after = other.row >= row
            if after.any() and not after.all():
                shifts.append(float(other.residual[after].mean() - other.residual[~after].mean()))
    return shifts


def _told(course: Course, parts: list[tuple[int, int]], others: list[float]) -> str:
    levels = ", ".join(
        f"rows {course.row[start]}-{course.row[stop - 1]}: {decimal(course.level[start:stop].mean())}"
        for start, stop in parts
    )
    comparison = (
        f" (other raters shift by {', '.join(decimal(shift, signed=True) for shift in others)})" if others else ""
    )
    return f"{course.rater}, {course.criterion}: {levels}{comparison}"


@check(
    "sorted_by_label",
    Severity.NOTE,
    "the first rows are no random sample: a limit or a split by position sees some labels and not others",
)
def sorted_by_label(view: View) -> Iterator[CheckResult]:
    """Files whose labels stand in far longer stretches than chance would put them."""
    rows = view.asked.filter(pl.col("label").is_not_null()).sort("file", "row")
    for (file,), own in rows.group_by("file", maintain_order=True):
        codes = own["label"].rank("dense").to_numpy().astype(np.intp)
        n, shares = len(codes), np.bincount(codes) / max(len(codes), 1)
        if n < SORTED or (shares > 0).sum() < 2:
            continue
        changes = int((codes[1:] != codes[:-1]).sum())
        expected = (n - 1) * (1 - (shares**2).sum())
        if changes > 0.5 * expected or (expected - changes) ** 2 < 16 * expected:
            continue
        starts = np.flatnonzero(np.diff(codes) < 0) + 1
        blocks = f"; sorted within {len(starts) + 1} blocks" if 0 < len(starts) <= 3 else ""
        facts = [f"{file}:{own['row'][int(start)]} begins another block" for start in starts] if blocks else []
        yield CheckResult(
            n,
            f"{file}: labels change {changes} times in {n} rows, {decimal(expected, 0)} expected{blocks}",
            limited(facts),
        )


@check(
    "sorted_by_text",
    Severity.WARNING,
    "the rows are in alphabetical order: the first n of them are no sample of the whole",
)
def sorted_by_text(view: View) -> Iterator[CheckResult]:
    """Files whose texts stand in alphabetical order."""
    rows = view.asked.sort("file", "row").with_columns(word=pl.col("input").str.to_lowercase())
    for (file,), own in rows.group_by("file", maintain_order=True):
        before, after = own["word"][:-1], own["word"][1:]
        differ = before.str.replace_all(r"\d", "") != after.str.replace_all(r"\d", "")  # numbered texts tell nothing
        rising = int(((before < after) & differ).sum())
        differing = int(differ.sum())
        if differing >= SORTED and rising >= RISING * differing:
            yield CheckResult(own.height, f"{file}: {rising} of {differing} neighbours in alphabetical order", [])


CHECKS = (drift, sorted_by_label, sorted_by_text)
