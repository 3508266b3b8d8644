"""A suite at a glance: its dimensions as dots and as a radar, and the tables behind all its pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.metrics.metric_sentences import FEW
from mindgauge.records.english import named
from mindgauge.records.rounding import decimal, interval
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.draw.radar import FEWEST
from mindgauge.reports.draw.records import DotRow, Dots, Point, Radar
from mindgauge.reports.profile import phrases
from mindgauge.reports.profile.phrases import defined
from mindgauge.reports.profile.records import Heat, HeatCell, HeatRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.profile import DimensionScore, Profile, TaskScore
    from mindgauge.analysis.profile.records import TaskFigure
    from mindgauge.reports.content import Cell
    from mindgauge.reports.profile.records import SystemLabels


SCALED = "Scaled scores lie between 0 (worst) and 1 (best); chance is what guessing would get on the same scale."


def dimensions(scores: Sequence[DimensionScore], titles: dict[str, str], labels: Mapping[str, str]) -> ReportTable:
    """Write every model's score and ranks in every dimension."""
    columns = [
        Column("dimension"), Column("model"), Column("score", "level"), Column("from", "level"), Column("to", "level"),
        Column("rank", "level"), Column("rank from", "level"), Column("rank to", "level"),
        Column("cannot be told apart from"), Column("over the tasks"), Column("without"),
        Column("mean of task ranks", "level"), Column("rank of that mean", "level"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            s.dimension, labels[s.model], s.value, s.low, s.high, s.rank, s.rank_low, s.rank_high,
            ", ".join(labels.get(m, m) for m in s.indistinguishable), _task_names(s.tasks, titles), _task_names(s.lacking, titles),
            s.mean_rank, s.rank_of_mean_rank,
        ]
        for s in scores
    ]  # fmt: skip
    note = (
        "A score is the mean of the scaled scores of the tasks that all these models have. The last two columns are the "
        "source's own way: ranks per task are averaged and ranked again, which hides how far apart models are."
    )
    return ReportTable("profile-dimensions", "Scores and ranks by dimension", columns, rows, note)


def _task_names(tasks: Sequence[str], titles: dict[str, str]) -> str:
    return ", ".join(titles.get(task, task.replace("_", " ")) for task in tasks)


def tasks(scores: Sequence[TaskScore], name: str, title: str, labels: Mapping[str, str]) -> ReportTable:
    """Write every model's score in every task, in its own unit and scaled."""
    columns = [
        Column("dimension"), Column("task"), Column("model"), Column("scaled", "level"), Column("from", "level"),
        Column("to", "level"), Column("chance", "level"), Column("measure"), Column("criterion"), Column("value", "level"),
        Column("value from", "level"), Column("value to", "level"), Column("better is"), Column("n", "count"),
        Column("conversations", "count"), Column("missing", "count"), Column("if all worst", "level"),
        Column("if all best", "level"), Column("defined by"), Column("rank", "level"), Column("rank from", "level"),
        Column("rank to", "level"), Column("rated by"), Column("note"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            s.dimension, s.title, labels[s.model], s.scaled, s.scaled_low, s.scaled_high, s.chance, s.metric,
            s.criterion, s.value, s.low, s.high, s.better, s.n, s.clusters, s.missing, s.worst, s.best,
            defined(s.defined), s.rank, s.rank_low, s.rank_high, s.rater, s.note,
        ]
        for s in scores
    ]  # fmt: skip
    return ReportTable(name, title, columns, rows, SCALED)


def marks(
    panels: Sequence[TaskFigure], name: str, title: str, part: str, of: str, labels: Mapping[str, str], beside: str = ""
) -> ReportTable:
    """Write what panels show, one row for each mark.

    Args:
        panels: of one kind.
        name: of the file.
        title: of the table.
        part: what `part` is called.
        of: what `of` is called; empty leaves the column out.
        labels: what each model is called.
        beside: what stands beside each value, if anything.
    """
    columns = [
        Column("task"), Column("model"), Column(part), *([Column(of)] if of else []), Column("value", "level"),
        Column("from", "level"), Column("to", "level"),
        *([Column(beside, "level"), Column(f"{beside} from", "level"), Column(f"{beside} to", "level")] if beside else []),
        Column("n", "count"), Column("conversations", "count"), Column("missing", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            panel.task, labels[panel.model], m.part, *([m.of] if of else []), m.value, m.low, m.high,
            *([m.beside, m.beside_low, m.beside_high] if beside else []), m.n, m.clusters, m.missing,
        ]
        for panel in panels
        for m in (*panel.marks, *panel.totals)
    ]  # fmt: skip
    return ReportTable(name, title, columns, rows)


ENDS = ("0, worst", "1, best")
_SCORE = "Mean of the scaled scores of each dimension’s tasks, 0 worst and 1 best"


def dots(profile: Profile, cast: SystemLabels) -> Dots | None:
    """Draw up the plain picture of all dimensions; None where none has a score."""
    rows = _rows(profile, cast)
    if not any(spot.value is not None for row in rows for spot in row.spots):
        return None
    chance = "; dashed strokes mark guessing, where it is known" if any(row.chance is not None for row in rows) else ""
    return Dots(
        anchor="profile-dimensions", finding=phrases.ahead(profile.dimensions, cast.labels, few(profile)),
        measure=f"{_SCORE}. Lines are 95 % intervals over conversations{chance}; n is of conversations.",
        low=0.0, high=1.0, ends=ENDS, rows=rows,
        sheet=dimensions(profile.dimensions, _titles(profile), cast.labels),
    )  # fmt: skip


def radar(profile: Profile, cast: SystemLabels) -> Radar | None:
    """Draw up the radar; None where too few dimensions have a score for a circle."""
    rows = [row for row in _rows(profile, cast) if any(spot.value is not None for spot in row.spots)]
    if len(rows) < FEWEST:
        return None
    return Radar(
        anchor="profile-radar", finding=phrases.weakest(rows, list(cast.systems.values())),
        measure=f"{_SCORE}; 0 is at the centre. Bands are 95 % intervals; the picture below says the same on one axis.",
        rows=rows, sheet=dimensions(profile.dimensions, _titles(profile), cast.labels),
    )  # fmt: skip


def few(profile: Profile) -> set[str]:
    """Return the dimensions that hold a task with too few conversations to say who is better."""
    inside = {task for score in profile.dimensions for task in score.tasks}
    return {s.dimension for s in profile.tasks if s.task in inside and s.scaled is not None and s.clusters < FEW}


def _titles(profile: Profile) -> dict[str, str]:
    return {score.task: score.title for score in profile.tasks}


def _rows(profile: Profile, cast: SystemLabels) -> list[DotRow]:
    by_dimension: dict[str, list[DimensionScore]] = {}
    for score in profile.dimensions:
        by_dimension.setdefault(score.dimension, []).append(score)
    return [_row(profile, name, scores, cast) for name, scores in by_dimension.items()]


def _row(profile: Profile, name: str, scores: Sequence[DimensionScore], cast: SystemLabels) -> DotRow:
    inside = {task for score in scores for task in score.tasks}
    scored = [score for score in profile.tasks if score.task in inside]
    spots = [_dimension_spot(score, [t for t in scored if t.model == score.model], cast) for score in scores]
    guesses = [next((t.chance for t in scored if t.task == task and t.chance is not None), None) for task in inside]
    chances = [guess for guess in guesses if guess is not None]
    chance = sum(chances) / len(chances) if chances and len(chances) == len(guesses) else None
    titles = _titles(profile)
    names = named([titles[task] for task in dict.fromkeys(t.task for t in scored)], limit=2)
    ns = phrases.counted([spot.n for spot in spots])
    return DotRow(name, "; ".join(filter(None, [names, ns])), spots, chance=chance)


def _dimension_spot(score: DimensionScore, tasks: Sequence[TaskScore], cast: SystemLabels) -> Point:
    n, missing = sum(t.clusters for t in tasks), sum(t.missing for t in tasks)
    reason = "" if score.value is not None else next((t.note for t in tasks if t.note), "no task of it was done")
    thin = bool(tasks) and min(t.clusters for t in tasks) < FEW
    low, high = (None, None) if thin else (score.low, score.high)
    return Point(cast.systems[score.model], score.value, low, high, n, missing, why=reason)


def spot(score: TaskScore, cast: SystemLabels) -> Point:
    """Return one model's scaled score in one task; an interval over a handful of conversations is none."""
    low, high = (None, None) if score.clusters < FEW else (score.scaled_low, score.scaled_high)
    reason = "" if score.scaled is not None else (score.note or "no score")
    return Point(cast.systems[score.model], score.scaled, low, high, score.n, score.missing, why=reason)


def note(score: TaskScore) -> str:
    """Say beside a task's name that its score is ours."""
    return phrases.OURS if score.defined == "ours" else ""


def heat(profile: Profile, cast: SystemLabels) -> Heat:
    """Draw up the heat map: tasks by models, the lowest cell of each model outlined."""
    by_task: dict[str, dict[str, TaskScore]] = {}
    for score in profile.tasks:
        by_task.setdefault(score.task, {})[score.model] = score
    lowest = {
        model: min((s.scaled for s in profile.tasks if s.model == model and s.scaled is not None), default=None)
        for model in profile.models
    }
    rows: list[HeatRow] = []
    before = ""
    for scores in by_task.values():
        first = next(iter(scores.values()))
        chance = next((s.chance for s in scores.values() if s.chance is not None), None)
        aside = [note(first), "" if chance is None else f"guessing {decimal(chance)}",
                 phrases.counted([s.n for s in scores.values()])]  # fmt: skip
        cells = [_cell(scores.get(model), lowest[model]) for model in profile.models]
        rows.append(
            HeatRow(
                first.dimension if first.dimension != before else "", first.title, ", ".join(filter(None, aside)), cells
            )
        )
        before = first.dimension
    measure = (
        "Scaled scores, 0 worst and 1 best; a cell is shaded the more strongly the lower it is, and each model’s lowest is "
        "outlined."
    )
    sheet = tasks(profile.tasks, "profile-tasks", "Every task", cast.labels)
    return Heat(phrases.lowest_task(profile.tasks, cast.labels), measure, list(cast.systems.values()), rows, sheet)


def _cell(score: TaskScore | None, lowest: float | None) -> HeatCell:
    if score is None or score.scaled is None:
        return HeatCell(None, "", (score.note if score else "") or "not run")
    bounds = "" if score.scaled_low is None else f" ({interval(score.scaled_low, score.scaled_high)})"
    return HeatCell(score.scaled, f"{decimal(score.scaled)}{bounds}", worst=score.scaled == lowest)
