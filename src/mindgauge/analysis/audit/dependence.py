"""Checks of who depends on whom, as adjudicators and copies do, and of the order of rows: drift, and files that are sorted."""

from __future__ import annotations

import itertools
from itertools import combinations, permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import independence
from mindgauge.analysis.audit.raters import scale
from mindgauge.analysis.audit.view import ALIKE, ALPHA, SHARED, VARIED, CheckResult, Severity, by_raters, check, limited
from mindgauge.analysis.independence import OWN_NOISE, only_repeats
from mindgauge.records.english import named
from mindgauge.records.rounding import decimal, percent, plural
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.audit.view import View

    Floats = NDArray[np.float64]


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


RISE = 0.1
"""Agreement must rise by so much before it looks like copying."""
MOST_LEVELS = 20
"""Of more values there are no levels that two people could both choose."""


@check(
    "adjudicator_among_raters",
    Severity.WARNING,
    "agreement among people is raised by construction: whoever decides between others agrees with one of them; "
    "leave the rater out, `reliability --adjudicator RATER`",
)
def adjudicator_among_raters(view: View) -> Iterator[CheckResult]:
    """People who agree wherever others agree and side with one of them where these differ; a note where it may be care."""
    dependent, suspected = view.dependent
    for entry in dependent:
        if entry.how == "adjudicator":
            yield CheckResult(entry.unanimous + entry.split, entry.evidence, [])
    for suspicion in suspected:
        yield CheckResult(
            suspicion.n, f"{suspicion.evidence}: an adjudicator, or somebody more careful than the others", [], Severity.NOTE
        )  # fmt: skip


@check(
    "consensus_of_raters",
    Severity.WARNING,
    "each person is compared with a value that contains their own: agreement with it, and among all raters, is too high",
)
def consensus_of_raters(view: View) -> Iterator[CheckResult]:
    """Raters, and gold labels, that are the majority, the median or the mean of the people beside them."""
    for entry in view.dependent[0]:
        if entry.how == "consensus":
            yield CheckResult(entry.unanimous + entry.split, entry.evidence, [])
    people = view.people
    for gold in view.rated.filter(pl.col("rater_kind") == "gold")["rater"].unique().sort():
        raters = [*(rater for rater in people if rater != gold), gold]
        if len(raters) > independence.MOST_RATERS:
            continue
        for criterion, ratings in independence.coded(view.rated, raters).items():
            if rule := independence.followed([ratings], len(raters) - 1, ALPHA, equal=True):
                yield CheckResult(rule[1], f"the gold labels {gold} are the {rule[0]} ({criterion})", [])


@check(
    "repeats_as_raters",
    Severity.WARNING,
    "one rater counts as several: agreement is that of the rater with themselves, and means are weighted towards them",
)
def repeats_as_raters(view: View) -> Iterator[CheckResult]:
    """Names that say which repeat they are; numbered models far more alike than any others; raters who err together."""
    kinds = view.opinions.group_by("rater").agg(pl.col("rater_kind").drop_nulls().first()).sort("rater")
    names = kinds["rater"].to_list()
    for repeats in independence.repeats_by_name(names).values():
        yield CheckResult(len(repeats), f"{named(repeats, limit=8)} are by their names repeats of one rater", [])
    reported = {
        frozenset(pair) for repeats in independence.repeats_by_name(names).values() for pair in combinations(repeats, 2)
    }
    people = set(view.people)
    models = [name for name in names if name not in people]
    for repeats in independence.numbered(models).values():
        if fact := _alike(view, repeats):
            reported |= {frozenset(pair) for pair in combinations(repeats, 2)}
            yield CheckResult(len(repeats), f"{named(repeats, limit=8)} differ in a number only, and {fact}", [])
    identical = {frozenset(pair[:2]) for pair in view.pairs if pair.equal == pair.n}
    for group in (sorted(people), models):
        for first, second, evidence, _ in independence.same(view.opinions, group):
            if frozenset((first, second)) not in reported | identical:
                yield CheckResult(2, evidence, [])


def _alike(view: View, raters: list[str]) -> str:
    """Say how alike some raters are, if each two of them are surely more so than any other two on every criterion."""
    facts = []
    for criterion in view.opinions["criterion"].unique().sort():
        pairs = [pair for pair in view.pairs if pair.criterion == criterion and pair.varied]
        own = [pair for pair in pairs if {pair.first, pair.second} <= set(raters)]
        rest = [pair.equal / pair.n for pair in pairs if not {pair.first, pair.second} <= set(raters)]
        if not own:
            continue
        lowest = min(clopper_pearson(pair.equal, pair.n, 1 - 2 * ALPHA).low or 0.0 for pair in own)
        if lowest <= max(rest, default=1.0):
            return ""
        facts.append(f"agree on {percent(min(pair.equal / pair.n for pair in own))} ({criterion}), any others on {percent(max(rest))} at most")  # fmt: skip
    return "; ".join(facts[:3])


@check(
    "judge_copied",
    Severity.WARNING,
    "a judge that is compared with this person is compared with itself; `reliability` leaves the person out",
)
def judge_copied(view: View) -> Iterator[CheckResult]:
    """People who are far nearer to a model than other people are, also where these depart from it."""
    people = view.people
    models = [rater for rater in view.opinions["rater"].unique().sort() if rater not in people]
    for entry in independence.copiers(view.opinions, people, models):
        yield CheckResult(view.opinions.filter(pl.col("rater") == entry.rater).height, entry.evidence, [])


# Copying after a point.


class _Course(NamedTuple):
    """How often two raters agree along one's rows, beyond what the value given leads one to expect; `equal` as it is.

    `others` is how often the others agree with the two, NaN where nobody else rated.
    """

    residual: Floats
    equal: Floats
    others: Floats
    row: NDArray[np.int64]
    varied: NDArray[np.bool_]


@check("copied_after", Severity.WARNING, "from there on the two are one opinion: agreement is that of a copy")
def copied_after(view: View) -> Iterator[CheckResult]:
    """Two people who differ up to some row and hardly ever after it, others not becoming more alike there."""
    people = view.people
    if not 2 <= len(people) <= independence.MOST_RATERS:
        return
    courses: dict[tuple[str, str], _Course] = {}
    for first, second in permutations(people, 2):
        course, turned = _course(view, first, second, people), courses.get((second, first))
        if course is not None and (turned is None or not np.array_equal(course.equal, turned.equal)):
            courses[first, second] = course  # in the order of each, if these differ
    tested = {pair: statistic(course.residual[None, :]) for pair, course in courses.items()}
    if not tested or max(value[0] for value, _ in tested.values()) < BELOW_SIGNIFICANCE:
        return
    limit = critical([Course("", "", c.row, c.equal, c.residual, 1.0) for c in courses.values()])
    for (first, second), course in courses.items():
        value, largest = tested[first, second]
        cut = int(largest[0]) + 1
        head, tail = course.equal[:cut], course.equal[cut:]
        rise = float(tail.mean() - head.mean())
        alone = bool(np.isnan(course.others).all())
        if value[0] <= limit or rise < RISE or tail.mean() < ALIKE or course.varied[cut:].sum() < VARIED:
            continue
        if not alone and rise - _rise(course.others, cut) < RISE:
            continue  # all agree more from there on: the rows are easier
        yield CheckResult(
            len(tail),
            f"{first} and {second} agree on {percent(float(head.mean()))} up to row {course.row[cut - 1]} and on "
            f"{percent(float(tail.mean()))} from row {course.row[cut]} on, {plural(len(tail), 'conversation')}"
            + ("; with nobody beside them, easier rows may be the reason" if alone else ""),
            [],
            Severity.NOTE if alone else None,
        )


def _rise(values: Floats, cut: int) -> float:
    """Return by how much values are higher from a point on, those that are there; 0 where one side has none."""
    head, tail = (part[np.isfinite(part)] for part in (values[:cut], values[cut:]))
    return float(tail.mean() - head.mean()) if len(head) and len(tail) else 0.0


def _course(view: View, first: str, second: str, people: list[str]) -> _Course | None:
    """Return how two raters agree along the rows, conversations averaged; None where they share too few."""
    value = pl.coalesce(pl.col("number").cast(pl.String), pl.col("value").str.strip_chars())
    keys = ["subject", "criterion"]
    rows = view.opinions.filter(pl.col("rater").is_in(people)).with_columns(
        word=value, unit=pl.coalesce("cluster", "subject")
    )
    rows = rows.unique([*keys, "rater"], keep="first", maintain_order=True)
    first_rows, second_rows = (
        rows.filter(pl.col("rater") == rater).select(*keys, "unit", "row", "word") for rater in (first, second)
    )
    both = first_rows.join(second_rows.select(*keys, other="word"), on=keys)
    if both["unit"].n_unique() < LEAST:
        return None
    others = rows.filter(~pl.col("rater").is_in([first, second]))
    pairs = others.select(*keys, third="word").join(both.select(*keys, "word", "other"), on=keys)
    others_agreement = pairs.group_by(keys).agg(
        rest=((pl.col("third") == pl.col("word")).mean() + (pl.col("third") == pl.col("other")).mean()) / 2
    )
    both = both.join(others_agreement, on=keys, how="left").with_columns(
        equal=(pl.col("word") == pl.col("other")).cast(pl.Float64),
        common=pl.col("word").mode().sort().first().over("criterion"),
    )
    # What the value leads one to expect, and what others' agreement with the two does: easy rows are no copies.
    both = both.with_columns(
        beyond=pl.col("equal") - pl.col("equal").mean().over("criterion", "word"),
        others=pl.col("rest"),
        rest=(pl.col("rest") - pl.col("rest").mean().over("criterion", "word")).fill_null(0.0),
    )
    units = (
        both.group_by("unit")
        .agg(
            pl.col("beyond", "rest", "equal", "others").mean(),
            pl.col("row").min(),
            varied=(pl.col("word") != pl.col("common")).any(),
        )
        .sort("row", "unit")
    )
    excess, rest = units["beyond"].to_numpy(), units["rest"].to_numpy()
    slope = float(excess @ rest / (rest @ rest)) if rest.any() else 0.0
    equal, agreement, row, varied = (units[name].to_numpy() for name in ("equal", "others", "row", "varied"))
    return _Course(excess - max(slope, 0.0) * rest, equal, np.asarray(agreement, dtype=float), row, varied)


@check(
    "no_joint_events",
    Severity.NOTE,
    "nothing can be said about agreement on it: percent agreement and AC, at whatever level, are carried by the other levels, however high they are",
)
def no_joint_events(view: View) -> Iterator[CheckResult]:
    """Classes that people use on subjects of two raters or more, and never two of them on one; a warning if unsafe.

    Of ordered levels only unsafe ones are looked at, where a rubric says which these are; `reliability` takes others' word.
    """
    value = pl.coalesce(pl.col("number").cast(pl.String), pl.col("value").str.strip_chars())
    people = view.opinions.filter(pl.col("rater").is_in(view.people)).with_columns(word=value)
    people = people.unique(["criterion", "subject", "rater"], keep="first", maintain_order=True)
    shared = people.filter(pl.len().over("criterion", "subject") > 1)
    for criterion in shared["criterion"].unique().sort():
        rows = shared.filter(pl.col("criterion") == criterion)
        n = rows["subject"].n_unique()
        unsafe = [str(level) for level in view.material.unsafe.get(criterion, ())]
        levels = rows["word"].n_unique()
        ordered = (
            rows["number"].null_count() < rows.height and levels > 2
        )  # beside 1 there is 2, which is as good as that
        if n < SHARED or levels > MOST_LEVELS or (ordered and not unsafe):
            continue
        groups = [("unsafe", unsafe)] if unsafe else [(level, [level]) for level in rows["word"].unique().sort()]
        events = [(name, calls) for name, levels in groups if (calls := _uses(rows, levels))]
        events = [(name, calls) for name, calls in events if unsafe or len(calls) > 1]  # one person's slip is no event
        facts = [f"{name}: {', '.join(f'{rater} {times}' for rater, times in calls)}" for name, calls in events]
        if facts:
            total = sum(times for _, calls in events for _, times in calls)
            bound = clopper_pearson(0, total).high or 1.0
            kind = "unsafe" if unsafe else plural(len(facts), "level")
            text = (
                f"{criterion}: of {plural(n, 'subject')} that two people or more rated, not one was called {kind} by two of them"
                if unsafe
                else f"{criterion}: on {kind} no two people ever agree, of {plural(n, 'subject')} that two or more rated"
            )
            yield CheckResult(total, f"{text}; at most {percent(bound)} of such calls are shared", limited(facts), Severity.WARNING if unsafe else None)  # fmt: skip


def _uses(rows: pl.DataFrame, levels: list[str]) -> list[tuple[str, int]]:
    """Return who uses some levels how often, if no two people use them on one subject; nothing otherwise."""
    numbers = [float(level) for level in levels if level.replace(".", "", 1).lstrip("-").isdigit()]
    used = rows.filter(pl.col("word").is_in(levels) | pl.col("number").is_in(numbers))
    if used.is_empty() or used["subject"].is_duplicated().any():
        return []
    return list(used.group_by("rater").len().sort("rater").iter_rows())


@check("repeats_as_units", Severity.WARNING, OWN_NOISE)
def repeats_as_units(view: View) -> Iterator[CheckResult]:
    """Raters whose repeats are all that varies: they rated one conversation of each system, again and again."""
    for rater, text in only_repeats(view.opinions):
        yield CheckResult(view.opinions.filter(pl.col("rater") == rater).height, text, [])
