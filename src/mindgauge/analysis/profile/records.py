"""What a profile holds: every model's score in every task and dimension, and what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded, decimal, plural

if TYPE_CHECKING:
    import polars as pl


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
