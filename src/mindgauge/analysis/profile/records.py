"""What a profile holds: every model's score in every task and dimension, and what it lacks.

Which panels of figures a task has follows from the tags of its samples, so a new task that sets them needs nothing here.

Ratings have the columns that `panels` gives them: `ok`, `number` (the level itself), `item_score` in [0, 1], and tags.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis import frame as levels
from mindgauge.benchmarks.metrics.scores import EXPECTED, HUMAN
from mindgauge.benchmarks.metrics.variants import NEUTRAL, NOBODY, NONE
from mindgauge.benchmarks.variants.perturbation import Depth
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded, decimal, plural
from mindgauge.records.rubric.composite import NO, YES
from mindgauge.stats import bootstrap
from mindgauge.stats.interval import Interval
from mindgauge.stats.proportion import clopper_pearson
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

    Floats = NDArray[np.float64]


class TaskScore(msgspec.Struct, frozen=True):
    """The headline of one model in one task, on the items that all models have who did the task.

    `value` is in the metric's own unit, `scaled` lies in [0, 1], 1 is best. `low`, `high` and their scaled kin are 95 %
    percentile bounds over resamples of conversations. `rank_low` and `rank_high` bound the ranks of all models at once
    (`stats.rank.surely_better`).
    """

    suite: str
    dimension: str
    task: str
    title: str
    benchmark: str
    model: str
    rater: str
    """Who rated; empty where the model answers itself and where a reply is read by rule."""
    metric: str
    """Of the headline; the names of several parts are joined with " + ", its value is their mean."""
    criterion: str
    better: str
    """`higher` or `lower`."""
    value: float | None
    low: float | None
    high: float | None
    scaled: float | None
    scaled_low: float | None
    scaled_high: float | None
    chance: float | None
    """The scaled value of guessing, where it is known."""
    n: int
    clusters: int
    missing: int
    worst: float | None
    """What the value would be were all missing ratings as bad as they can be, in the metric's own unit."""
    best: float | None
    defined: str
    """Who defined the score: `authors`, `upstream` (the data set's own paper) or `ours`."""
    rank: float | None
    """1 is best, ties share the mean of their ranks; None for a model without a score."""
    rank_low: float | None
    rank_high: float | None
    note: str


class DimensionScore(msgspec.Struct, frozen=True):
    """The mean of a model's scaled task scores, over the tasks that all compared models have.

    All tasks are resampled together, each by its own conversations, the same for all models.
    """

    suite: str
    dimension: str
    model: str
    value: float | None
    low: float | None
    high: float | None
    tasks: tuple[str, ...]
    """The tasks that are in it."""
    lacking: tuple[str, ...]
    """The tasks of the dimension that are not."""
    rank: float | None
    rank_low: float | None
    rank_high: float | None
    indistinguishable: tuple[str, ...]
    """The models that this one cannot be told from, all pairs of models looked at together."""
    mean_rank: float | None
    """The source's way: the mean of the ranks in these tasks."""
    rank_of_mean_rank: float | None
    """The rank of that mean, ties at the better rank."""


class Profile(Tabular, msgspec.Struct, frozen=True):
    """A suite's scores of some models."""

    suite: str
    runs: list[str]
    models: list[str]
    judge: str
    """Who rated the judged tasks; empty where none was judged."""
    tasks: list[TaskScore]
    dimensions: list[DimensionScore]
    lacking: list[str]
    """The tasks without data, one line each: which, and how to get it."""
    notes: list[str]
    """What must be known of these scores: common items, judges that failed, names that look alike."""

    @property
    def table(self) -> pl.DataFrame:
        """Every model's score in every task, one row each.

        The first columns are `model`, `benchmark`, `metric` (the task's title), `value`, `low`, `high` (95 %, in the metric's own
        unit), `n`, `missing`, `dimension`, `scaled` (0 worst, 1 best) and `rank`; `name` is the metric's name.
        """
        import polars as pl

        first = (
            "model", "benchmark", "metric", "value", "low", "high", "n", "missing", "dimension", "scaled", "rank", "scaled_low",
            "scaled_high", "rank_low", "rank_high", "rater",
        )  # fmt: skip
        rows = [{**msgspec.structs.asdict(score), "metric": score.title, "name": score.metric} for score in self.tasks]
        columns = dict.fromkeys((*first, "name", *TaskScore.__struct_fields__))
        del columns["title"]
        return (
            pl.DataFrame(rows, infer_schema_length=None).select(*columns) if rows else pl.DataFrame(schema=[*columns])
        )

    @property
    def by_dimension(self) -> pl.DataFrame:
        """The scores of dimensions, a row per dimension and a column per model."""
        import polars as pl

        values = {(score.dimension, score.model): score.value for score in self.dimensions}
        names = list(dict.fromkeys(score.dimension for score in self.dimensions))
        rows = [(name, *(values[name, model] for model in self.models)) for name in names]
        columns = {"dimension": pl.String, **dict.fromkeys(self.models, pl.Float64)}
        return pl.DataFrame(rows, columns, orient="row")

    def summary(self) -> list[str]:
        """Say what each model scores in each dimension, which tasks are lacking, and what must be known."""
        judged = f", replies rated by {self.judge}" if self.judge else ""
        lacking = [line.partition(" (")[0] for line in self.lacking]
        return [
            f"{self.suite}: {plural(len({score.task for score in self.tasks}), 'task')} of {named(self.models)}{judged}",
            *_by_model(self.dimensions),
            f"Lacking: {named(lacking, limit=6)}" if self.lacking else "No task is lacking.",
            *noted(self.notes),
            "Scores are scaled, 0 worst and 1 best. .by_dimension, .table; mindgauge.report has the whole.",
        ]


def _by_model(scores: list[DimensionScore], most: int = 6) -> list[str]:
    """Write each model's dimensions in a line, or each dimension where there is one model."""
    scores = [score for score in scores if score.value is not None]
    models = list(dict.fromkeys(score.model for score in scores))
    if (len(models) if len(models) > 1 else len(scores)) > most:  # the worst are named
        scores.sort(key=lambda score: score.value or 0.0)
        models = list(dict.fromkeys(score.model for score in scores))
    if len(models) == 1:
        lines = [f"{score.dimension}: {bounded(score.value, score.low, score.high)}" for score in scores]
    else:
        lines = [
            f"{model}: "
            + ", ".join(f"{score.dimension} {decimal(score.value)}" for score in scores if score.model == model)
            for model in models
        ]
    return first_of(lines, most)


UNTOUCHED = ""
"""The noise of samples without any."""
PLAIN, BENIGN = "none", "benign"
"""The methods of what is asked plainly, and of harmless requests that no reply should refuse."""
NO_VERDICT = "no verdict"


class FigureKind(StrEnum):
    """What a panel's marks are."""

    CURVES = "curves"
    """Scores by noise (`part`) and intensity (`of`); of the samples without noise, both are empty."""
    GROUPS = "groups"
    """Differences of groups (`of`) on axes (`part`) from the mean under sentences that should change nothing."""
    OUTCOMES = "outcomes"
    """Shares of outcomes (`of`) under methods (`part`), of all replies, those without a verdict among them."""
    PEOPLE = "people"
    """The model's number for each item (`of`) of a tier (`part`), `beside` people's, or what the item's author expects."""
    RATES = "rates"
    """How often the model does something (`part`), `beside` how often people do, where that is known."""


class FigureMark(msgspec.Struct, frozen=True):
    """One value with its 95 % interval, by conversations; `missing` of the `n` ratings have no value."""

    part: str
    of: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    missing: int
    beside: float | None = None
    beside_low: float | None = None
    beside_high: float | None = None


class TaskFigure(msgspec.Struct, frozen=True):
    """One task of one model as marks. `totals` sum them up: the correlation of each tier, the noise floor of groups."""

    kind: FigureKind
    benchmark: str
    task: str
    model: str
    rater: str
    criterion: str
    closed: bool
    marks: list[FigureMark]
    totals: list[FigureMark] = []
    asked: bool = True
    """Whether people were asked what stands beside; otherwise it is what we expect of them."""


# What stands behind one headline, as far as a picture can show it: scores under noise, by group, by method, beside people.


def panels(store: Store, benchmark: Benchmark, rated: pl.DataFrame, score: TaskScore) -> list[TaskFigure]:
    """Return what can be shown of one model in one task; nothing where its samples have none of the tags.

    Args:
        store: of the run.
        benchmark: the task.
        rated: its ratings (columns as in `frame.ratings`).
        score: the headline, which says whose ratings on which criteria count.
    """
    by_name = criteria_of(benchmark)
    named = (part.partition(" (")[0] for part in score.criterion.split(" + "))
    criteria = [name for name in dict.fromkeys(named) if name in by_name]
    rows = _rows(rated, benchmark, score).join(_tags(store, benchmark), on="sample", how="left", maintain_order="left")
    result: list[TaskFigure] = []
    for name in criteria:
        part = _valued(rows.filter(pl.col("criterion") == name), by_name[name], closed=benchmark.closed)
        if part.is_empty():
            continue
        for kind, kind_marks, totals in _kinds(part, by_name[name], closed=benchmark.closed):
            about = (score.model, score.rater, name, benchmark.closed)
            has_people = kind is not FigureKind.PEOPLE or part[HUMAN].drop_nulls().len() > 0
            result.append(TaskFigure(kind, benchmark.name, score.task, *about, kind_marks, totals, has_people))
    return result


def criteria_of(benchmark: Benchmark) -> dict[str, Criterion]:
    """Return what headlines can be on: the rubric's criteria, composites, and what is read from replies by rule."""
    return {reading.criterion.name: reading.criterion for reading in benchmark.readings} | frame.criteria(benchmark)


def _rows(rated: pl.DataFrame, benchmark: Benchmark, score: TaskScore) -> pl.DataFrame:
    """Return the ratings that the headline is made of."""
    rows = rated.filter(
        pl.col("model") == score.model, pl.col("selection").is_null(), pl.col("status") != "not_applicable"
    )
    if benchmark.closed:
        return rows.filter(pl.col("rater") == score.model)
    read = [reading.rater for reading in benchmark.readings]
    return rows.filter((pl.col("rater") == score.rater) | pl.col("rater").is_in(read))


_TAGS = ("noise", "intensity", "axis", "group", "method", HUMAN, EXPECTED, "tier")


def _tags(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return the tags that pictures are made of, whether or not scores are sliced by them."""
    rows = [(s.id, *(s.tags.get(name) for name in _TAGS)) for s in store.samples(benchmark.name)]
    return pl.DataFrame(rows, dict.fromkeys(("sample", *_TAGS), pl.String), orient="row")


def _valued(rows: pl.DataFrame, criterion: Criterion, *, closed: bool) -> pl.DataFrame:
    """Add `ok`, `number` (the level itself) and `item_score` in [0, 1].

    A closed answer is worth 1 where it is the target, and 0 where it is not or cannot be read; a level is worth its share
    of the way from the worst to the best, and null where there is none.
    """
    ok = pl.col("status") == "ok"
    right = (ok & (pl.col("value") == pl.col("target"))).fill_null(value=False).cast(pl.Float64)
    return rows.with_columns(
        ok=ok,
        number=pl.when(ok).then(levels.number(criterion)),
        item_score=right if closed else pl.when(ok).then(levels.share(criterion)),
    )


def _kinds(
    rows: pl.DataFrame, criterion: Criterion, *, closed: bool
) -> Iterator[tuple[FigureKind, list[FigureMark], list[FigureMark]]]:
    present = {name for name in _TAGS if rows[name].drop_nulls().len() > 0}
    if {"noise", "intensity"} <= present:
        yield FigureKind.CURVES, list(curves(rows)), []
    if "axis" in present and (group_marks := groups(rows)) is not None:
        yield FigureKind.GROUPS, *group_marks
    if "method" in present and len(criterion.values) > 2 and all(isinstance(value, str) for value in criterion.values):
        yield FigureKind.OUTCOMES, list(outcomes(rows, criterion)), []
    if present & {HUMAN, EXPECTED}:
        yield FigureKind.PEOPLE, *people(rows)
    if not closed and set(criterion.values) == {YES, NO}:
        yield FigureKind.RATES, [rate(rows, criterion)], []


# The values of a panel: means, shares and correlations of ratings, with intervals by conversations.


def _totals(rows: pl.DataFrame, *columns: pl.Expr) -> Floats:
    """Sum columns over each conversation, shape (C, m)."""
    summed = rows.group_by("cluster", maintain_order=True).agg(
        *(column.sum().alias(str(number)) for number, column in enumerate(columns))
    )
    return summed.drop("cluster").to_numpy().astype(np.float64)


def _mean(rows: pl.DataFrame, part: str, label: str) -> FigureMark:
    valued = pl.col("item_score").is_not_null()
    sums = _totals(rows, pl.col("item_score").fill_null(0.0), valued)
    interval = bootstrap.interval_of_sums(
        lambda total: ratio(total[:, 0], total[:, 1]), sums, ends=(0.0, 1.0), valued=int((sums[:, 1] > 0).sum())
    )
    return _mark(part, label, interval, rows)


def _mark(
    part: str, label: str, interval: Interval, rows: pl.DataFrame, reference: Interval | None = None
) -> FigureMark:
    low, high = (None, None) if interval.value is None else (interval.low, interval.high)
    missing = rows.height - int(rows["ok"].sum())
    other = (None, None, None) if reference is None else (reference.value, reference.low, reference.high)
    return FigureMark(part, label, interval.value, low, high, rows.height, rows["cluster"].n_unique(), missing, *other)


def curves(rows: pl.DataFrame) -> Iterator[FigureMark]:
    """Return the mean worth of every cell of noise and intensity, untouched samples first."""
    untouched = pl.col("noise").fill_null(NONE) == NONE
    rows = rows.with_columns(
        pl.when(untouched).then(pl.lit(UNTOUCHED)).otherwise(pl.col(name)).alias(name)
        for name in ("noise", "intensity")
    )
    for (noise, intensity), cell in sorted(rows.group_by("noise", "intensity"), key=_depth):
        yield _mean(cell, str(noise), str(intensity))


def _depth(cell: tuple[tuple[object, ...], pl.DataFrame]) -> tuple[int, str]:
    (noise, intensity), _ = cell
    return [UNTOUCHED, *(depth.value for depth in Depth)].index(str(noise)), str(intensity)


def groups(rows: pl.DataFrame) -> tuple[list[FigureMark], list[FigureMark]] | None:
    """Return each group's mean worth less that under neutral sentences, in the same conversations, and the noise floor.

    The noise floor is the standard deviation (n below) of the means under the neutral sentences.
    """
    neutral = rows.filter(pl.col("axis") == NEUTRAL)
    if neutral.is_empty():
        return None
    marks = []
    for (axis, group), part in rows.filter(pl.col("axis") != NOBODY).group_by("axis", "group", maintain_order=True):
        in_group = (pl.col("axis") == axis) & (pl.col("group") == group)
        both = rows.filter(in_group | (pl.col("axis") == NEUTRAL))
        valued, item_score = pl.col("item_score").is_not_null(), pl.col("item_score").fill_null(0.0)
        control = pl.col("axis") == NEUTRAL
        sums = _totals(both, item_score * in_group, valued & in_group, item_score * control, valued & control)
        interval = bootstrap.interval_of_sums(_difference, sums)
        marks.append(_mark(str(axis), str(group), interval, part))
    means = np.array([m.value for m in marks if m.part == NEUTRAL and m.value is not None])
    floor = float(means.std()) if len(means) > 1 else None
    floor_mark = _mark(NEUTRAL, "noise floor", Interval(floor, None, None), neutral)
    return marks, [floor_mark]


def _difference(total: Floats) -> Floats:
    return np.asarray(ratio(total[:, 0], total[:, 1]) - ratio(total[:, 2], total[:, 3]))


def outcomes(rows: pl.DataFrame, criterion: Criterion) -> Iterator[FigureMark]:
    """Return the share of each outcome under each method, with exact bounds on conversations."""
    rows = rows.with_columns(
        pl.col("method").fill_null(PLAIN), outcome=pl.when("ok").then("value").otherwise(pl.lit(NO_VERDICT))
    )
    outcomes = [*map(str, criterion.values), NO_VERDICT]
    for (method,), part in rows.group_by("method", maintain_order=True):
        for outcome in outcomes:
            hits = part["outcome"] == outcome
            if outcome != NO_VERDICT or hits.any():
                yield _mark(str(method), outcome, _share(hits, part), part)


def people(rows: pl.DataFrame) -> tuple[list[FigureMark], list[FigureMark]]:
    """Return the model's mean number for every item beside people's, and Pearson's r of each tier."""
    rows = rows.with_columns(
        pl.col("tier").fill_null(""), people=pl.coalesce(HUMAN, EXPECTED).cast(pl.Float64, strict=False)
    )
    items, totals = [], []
    for (tier,), part in rows.group_by("tier", maintain_order=True):
        means = part.group_by("sample", "cluster", maintain_order=True).agg(
            pl.col("number").mean(), pl.col("people").first(), pl.len(), (~pl.col("ok")).sum().alias("missing")
        )
        for sample, _, number, people, n, missing in means.iter_rows():
            items.append(FigureMark(str(tier), str(sample), number, None, None, n, 1, missing, people))
        both = means.filter(pl.col("number").is_not_null(), pl.col("people").is_not_null())
        x, y = pl.col("people"), pl.col("number")
        sums = _totals(both, pl.lit(1.0) + 0 * x, x, y, x * x, y * y, x * y)
        totals.append(_mark(str(tier), "Pearson's r", bootstrap.interval_of_sums(_pearson, sums), part))
    return items, totals


def _pearson(total: Floats) -> Floats:
    n, x, y, xx, yy, xy = total.T
    spread = np.maximum(n * xx - x**2, 0.0) * np.maximum(n * yy - y**2, 0.0)
    return ratio(n * xy - x * y, np.sqrt(spread))


def rate(rows: pl.DataFrame, criterion: Criterion) -> FigureMark:
    """Return how often the model does it, and how often people did in the same place, with exact bounds.

    The bound on the bad side counts missing verdicts as bad.
    """
    valued, people_rows = rows.filter("ok"), rows.unique("sample").filter(pl.col("target").is_in([YES, NO]))
    people = _share(people_rows["target"] == YES, people_rows) if len(people_rows) else None
    interval = _share(valued["value"] == YES, valued)
    bad = criterion.worst_first[0] == YES
    feared = _share((rows["ok"] & (rows["value"] == YES)).fill_null(value=False) | (~rows["ok"] & bad), rows)
    if interval.value is not None:
        interval = interval._replace(high=feared.high) if bad else interval._replace(low=feared.low)
    return _mark(criterion.name, "", interval, rows, people)


def _share(hits: pl.Series, rows: pl.DataFrame) -> Interval:
    """Return a share with exact bounds, conversations as n; repeats of one count once."""
    n = rows["cluster"].n_unique()
    share = float(hits.sum()) / len(hits) if len(hits) else 0.0
    return clopper_pearson(share * n, n)
