"""A suite at a glance: its dimensions as dots and as a radar, and the tables behind all its pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mindgauge.benchmarks import suite as suites
from mindgauge.benchmarks.card import BenchmarkCard
from mindgauge.benchmarks.metrics.metric_sentences import FEW, SMALL
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, interval, percent, plural
from mindgauge.reports.content import Column, ReportTable, heads
from mindgauge.reports.draw.plots import FEWEST
from mindgauge.reports.draw.records import DotRow, Dots, Point, Radar
from mindgauge.reports.profile import records
from mindgauge.reports.profile.records import Heat, defined, not_estimable
from mindgauge.reports.reliability_gate import DOUBT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.profile import DimensionScore, Profile, TaskScore
    from mindgauge.analysis.profile.records import TaskFigure
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.profile.records import ProfileSection
    from mindgauge.reports.runs import OpenRun


SCALED = "Scaled scores lie between 0 (worst) and 1 (best); chance is what guessing would get on the same scale."


def dimensions(scores: Sequence[DimensionScore], titles: dict[str, str], labels: Mapping[str, str]) -> ReportTable:
    """Write every model's score and ranks in every dimension."""
    columns = heads(
        "dimension | model | score:level± | rank:level | rank from:level | rank to:level | cannot be told apart from | "
        "over the tasks | without | mean of task ranks:level | rank of that mean:level"
    )
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
    columns = heads(
        "dimension | task | model | scaled:level± | chance:level | measure | criterion | value:level | "
        "value from:level | value to:level | better is | n:count | conversations:count | missing:count | "
        "if all worst:level | if all best:level | defined by | rank:level | rank from:level | rank to:level | "
        "rated by | note"
    )
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
        *heads(f"task | model | {part}"), *([Column(of)] if of else []), *heads("value:level±"),
        *(heads(f"{beside}:level | {beside} from:level | {beside} to:level") if beside else []),
        *heads("n:count | conversations:count | missing:count"),
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


def dots(profile: Profile, cast: Mapping[str, System]) -> Dots | None:
    """Draw up the plain picture of all dimensions; None where none has a score."""
    rows = _rows(profile, cast)
    if not any(spot.value is not None for row in rows for spot in row.spots):
        return None
    chance = "; dashed strokes mark guessing, where it is known" if any(row.chance is not None for row in rows) else ""
    return Dots(
        anchor="profile-dimensions", finding=records.ahead(profile.dimensions, records.labels_of(cast), few(profile)),
        measure=f"{_SCORE}. Lines are 95 % intervals over conversations{chance}; n is of conversations.",
        low=0.0, high=1.0, ends=ENDS, rows=rows,
        sheet=dimensions(profile.dimensions, _titles(profile), records.labels_of(cast)),
    )  # fmt: skip


def radar(profile: Profile, cast: Mapping[str, System]) -> Radar | None:
    """Draw up the radar; None where too few dimensions have a score for a circle."""
    rows = [row for row in _rows(profile, cast) if any(spot.value is not None for spot in row.spots)]
    if len(rows) < FEWEST:
        return None
    return Radar(
        anchor="profile-radar", finding=records.weakest(rows, list(cast.values())),
        measure=f"{_SCORE}; 0 is at the centre. Bands are 95 % intervals; the picture below says the same on one axis.",
        rows=rows, sheet=dimensions(profile.dimensions, _titles(profile), records.labels_of(cast)),
    )  # fmt: skip


def few(profile: Profile) -> set[str]:
    """Return the dimensions that hold a task with too few conversations to say who is better."""
    inside = {task for score in profile.dimensions for task in score.tasks}
    return {s.dimension for s in profile.tasks if s.task in inside and s.scaled is not None and s.clusters < FEW}


def _titles(profile: Profile) -> dict[str, str]:
    return {score.task: score.title for score in profile.tasks}


def _rows(profile: Profile, cast: Mapping[str, System]) -> list[DotRow]:
    by_dimension: dict[str, list[DimensionScore]] = {}
    for score in profile.dimensions:
        by_dimension.setdefault(score.dimension, []).append(score)
    return [_row(profile, name, scores, cast) for name, scores in by_dimension.items()]


def _row(profile: Profile, name: str, scores: Sequence[DimensionScore], cast: Mapping[str, System]) -> DotRow:
    inside = {task for score in scores for task in score.tasks}
    scored = [score for score in profile.tasks if score.task in inside]
    spots = [_dimension_spot(score, [t for t in scored if t.model == score.model], cast) for score in scores]
    guesses = [next((t.chance for t in scored if t.task == task and t.chance is not None), None) for task in inside]
    chances = [guess for guess in guesses if guess is not None]
    chance = sum(chances) / len(chances) if chances and len(chances) == len(guesses) else None
    titles = _titles(profile)
    names = named([titles[task] for task in dict.fromkeys(t.task for t in scored)], limit=2)
    ns = records.counted([spot.n for spot in spots])
    return DotRow(name, "; ".join(filter(None, [names, ns])), spots, chance=chance)


def _dimension_spot(score: DimensionScore, tasks: Sequence[TaskScore], cast: Mapping[str, System]) -> Point:
    n, missing = sum(t.clusters for t in tasks), sum(t.missing for t in tasks)
    reason = "" if score.value is not None else next((t.note for t in tasks if t.note), "no task of it was done")
    thin = bool(tasks) and min(t.clusters for t in tasks) < FEW
    low, high = (None, None) if thin else (score.low, score.high)
    return Point(cast[score.model], score.value, low, high, n, missing, why=reason)


def spot(score: TaskScore, cast: Mapping[str, System]) -> Point:
    """Return one model's scaled score in one task; an interval over a handful of conversations is none."""
    low, high = (None, None) if score.clusters < FEW else (score.scaled_low, score.scaled_high)
    reason = "" if score.scaled is not None else (score.note or "no score")
    return Point(cast[score.model], score.scaled, low, high, score.n, score.missing, why=reason)


def note(score: TaskScore) -> str:
    """Say beside a task's name that its score is ours."""
    return records.OURS if score.defined == "ours" else ""


def heat(profile: Profile, cast: Mapping[str, System]) -> Heat:
    """Draw up the heat map: tasks by models, the lowest cell of each model outlined."""
    by_task: dict[str, dict[str, TaskScore]] = {}
    for score in profile.tasks:
        by_task.setdefault(score.task, {})[score.model] = score
    lowest = {
        model: min((s.scaled for s in profile.tasks if s.model == model and s.scaled is not None), default=None)
        for model in profile.models
    }
    rows: list[dict[str, Any]] = []
    before = ""
    for scores in by_task.values():
        first = next(iter(scores.values()))
        chance = next((s.chance for s in scores.values() if s.chance is not None), None)
        aside = [note(first), "" if chance is None else f"guessing {decimal(chance)}",
                 records.counted([s.n for s in scores.values()])]  # fmt: skip
        cells = [_cell(scores.get(model), lowest[model]) for model in profile.models]
        rows.append({
            "dimension": first.dimension if first.dimension != before else "", "title": first.title, "note": ", ".join(filter(None, aside)),
            "cells": cells,
        })  # fmt: skip
        before = first.dimension
    measure = (
        "Scaled scores, 0 worst and 1 best; a cell is shaded the more strongly the lower it is, and each model’s lowest is "
        "outlined."
    )
    sheet = tasks(profile.tasks, "profile-tasks", "Every task", records.labels_of(cast))
    return Heat(records.lowest_task(profile.tasks, records.labels_of(cast)), measure, list(cast.values()), rows, sheet)


def _cell(score: TaskScore | None, lowest: float | None) -> dict[str, Any]:
    if score is None or score.scaled is None:
        return {"value": None, "said": "", "why": (score.note if score else "") or "not run", "worst": False}
    bounds = "" if score.scaled_low is None else f" ({interval(score.scaled_low, score.scaled_high)})"
    return {
        "value": score.scaled,
        "said": f"{decimal(score.scaled)}{bounds}",
        "why": "",
        "worst": score.scaled == lowest,
    }


MOST = 4
"""Models, or tasks, that a sentence names."""


def lead(section: ProfileSection, runs: Sequence[OpenRun], unchecked: str) -> list[str]:
    """Return the sentences of the answer.

    Args:
        section: of the suite.
        runs: that it is about.
        unchecked: what is to be said of judges that nobody has checked; empty where there are none.
    """
    profile, labels = section.scores, {system.model: system.label for system in section.heat.systems}
    rough_dimensions = few(profile)
    judged = _judged(profile, runs)
    return [
        _scope(profile, section.title),
        *_weakest(profile, labels, rough_dimensions),
        *_apart(profile, labels, rough_dimensions),
        *_without(profile),
        *_own_samples(runs),
        *_rough(profile),
        *([judged] if judged else []),
        *([unchecked] if judged and unchecked else []),
        *_ours(profile),
    ]


def opening(section: ProfileSection, runs: Sequence[OpenRun], unchecked: str) -> list[str]:
    """Return the same in two sentences: what was found, and how far to trust it."""
    profile, labels = section.scores, {system.model: system.label for system in section.heat.systems}
    judged = _judged(profile, runs)
    trust = unchecked if judged and unchecked else judged or next(_rough(profile), "") or next(_own_samples(runs), "")
    return [
        " ".join(_weakest(profile, labels, few(profile))),
        trust or "Every score here is of answers held against labels.",
    ]


def first_words(profile: Profile) -> tuple[str, str]:
    """Return where models are weakest, and how rough that is, a sentence each."""
    labels = {model: model for model in profile.models}
    weakest = _weakest(profile, labels, few(profile))
    doubts = [*_rough(profile), *_apart(profile, labels, few(profile)), *_without(profile), *_ours(profile)]
    return next(weakest), next(iter(doubts), "")


def not_shown(section: ProfileSection) -> list[str]:
    """Return what the suite as a whole does not measure, a sentence each."""
    return re.split(r"(?<=\.) ", BenchmarkCard.of(suites.HERE / section.suite).does_not_measure)


def findings(section: ProfileSection) -> dict[str, str]:
    """Say of each benchmark how it came out, where several models are to be named; of one, its first sentence says it."""
    labels = {system.model: system.label for system in section.heat.systems}
    by_benchmark: dict[str, list[TaskScore]] = {}
    for score in section.scores.tasks if len(labels) > 1 else ():
        by_benchmark.setdefault(score.benchmark, []).append(score)
    return {name: _finding(scores, labels) for name, scores in by_benchmark.items()}


def headlines(section: ProfileSection, runs: Sequence[OpenRun]) -> dict[tuple[str, str], str]:
    """Say of each benchmark and model what its score is, and of what."""
    return {
        (score.benchmark, score.model): _headline(score, doubtful=not_estimable(runs, score))
        for score in section.scores.tasks
    }


def _headline(score: TaskScore, *, doubtful: bool) -> str:
    if score.scaled is None:
        return f"No score{f': {score.note}' if score.note else ''}."
    thin = score.scaled_low is None or score.clusters < FEW
    bounds = "" if thin else f" (the data allow {points(score.scaled_low)} to {points(score.scaled_high)})"
    guess = "" if score.chance is None else f"; guessing gives {points(score.chance)}"
    rater = f", as rated by {score.rater}{f' ({DOUBT})' if doubtful else ''}" if score.rater else ""
    return (
        f"It scores {points(score.scaled)} of 100{bounds}{guess}. The score is {words(score.metric)} on {words(score.criterion)}{rater}, which is "
        f"{decimal(score.value)} in {plural(score.clusters, 'conversation')}, where {score.better} is better."
    )


def _finding(scores: Sequence[TaskScore], labels: dict[str, str]) -> str:
    scored = sorted((s for s in scores if s.scaled is not None), key=lambda s: -(s.scaled or 0.0))
    if not scored:
        return "no model has a score"
    if len(scored) <= MOST:
        return f"{named([f'{labels[s.model]} {points(s.scaled)}' for s in scored], limit=MOST)} of 100"
    return f"from {points(scored[-1].scaled)} ({labels[scored[-1].model]}) to {points(scored[0].scaled)} ({labels[scored[0].model]}) of 100"


def points(scaled: float | None) -> str:
    """Write a scaled score as a whole number from 0 to 100; what is neither end never rounds to it."""
    if scaled is None:
        return "nothing"
    return percent(scaled).removesuffix(" %").replace("<", "less than ").replace(">", "more than ")


def _scope(profile: Profile, title: str) -> str:
    subject = "The model was" if len(profile.models) == 1 else f"{count(len(profile.models))} models were"
    tasks = {score.task for score in profile.tasks}
    dimensions = {score.dimension for score in profile.tasks}
    return (
        f"{subject} put to {plural(len(tasks), 'task')} of {title}, which stand for {plural(len(dimensions), 'dimension')}; "
        "each dimension has a score from 0, the worst, to 100, the best."
    )


def _weakest(profile: Profile, labels: dict[str, str], rough: set[str]) -> Iterator[str]:
    """Name where each model is weakest; of many models, where most are."""
    lowest: dict[str, list[DimensionScore]] = {}
    for model in profile.models:
        scored = [d for d in profile.dimensions if d.model == model and d.value is not None]
        lowest_points = min((points(d.value) for d in scored), key=_size, default="")
        if scored:
            lowest[model] = [d for d in scored if points(d.value) == lowest_points]
    if not lowest:
        yield "No dimension has a score that may be shown."
    elif len(profile.models) == 1:
        yield f"It is weakest in {_places(next(iter(lowest.values())), rough)}."
    elif len(lowest) <= MOST:
        alike: dict[tuple[str, ...], list[str]] = {}
        for model, weakest in lowest.items():
            alike.setdefault(tuple(d.dimension for d in weakest), []).append(model)
        sentence = "; ".join(
            _together([lowest[model] for model in models], [labels[m] for m in models], rough)
            for models in alike.values()
        )
        yield f"{sentence[:1].upper() if len(alike) == 1 else sentence[:1]}{sentence[1:]}."
    else:
        names = [d.dimension for weakest in lowest.values() for d in weakest]
        dimension = max(dict.fromkeys(names), key=names.count)
        scores = [d for weakest in lowest.values() for d in weakest if d.dimension == dimension]
        last = min(scores, key=lambda d: d.value or 0.0)
        yield (
            f"{count(len(scores))} of {count(len(lowest))} models are weakest in {dimension.lower()}, the lowest of them "
            f"{labels[last.model]} with {_amount(last, rough)}."
        )


def _together(weakest: Sequence[Sequence[DimensionScore]], labels: Sequence[str], rough: set[str]) -> str:
    """Say where some models, each by its label, are weakest, which is in the same dimensions."""
    if len(labels) == 1:
        return f"{labels[0]} is weakest in {_places(weakest[0], rough)}"
    dimensions = named([d.dimension.lower() for d in weakest[0]], limit=MOST)
    amounts = [f"{label} with {_amount(scores[0], rough)}" for label, scores in zip(labels, weakest, strict=True)]
    return f"{'both' if len(labels) == 2 else 'these'} are weakest in {dimensions}: {named(amounts, limit=MOST)}"


def _size(amount: str) -> int:
    return {"less than 1": 0, "more than 99": 100}.get(amount, int(amount) if amount.isdigit() else 0)


def _places(scores: Sequence[DimensionScore], rough: set[str]) -> str:
    return named([f"{d.dimension.lower()}, with {_amount(d, rough)}" for d in scores], limit=MOST)


def _amount(score: DimensionScore, rough: set[str]) -> str:
    """Write a score with what the data allow."""
    if score.dimension in rough or score.low is None:
        return f"{points(score.value)} (too few conversations to say how near that is)"
    return f"{points(score.value)} (the data allow {points(score.low)} to {points(score.high)})"


def _apart(profile: Profile, labels: dict[str, str], rough: set[str]) -> Iterator[str]:
    """Say where a model is ahead of all others, and where that cannot be told."""
    leads, compared = records.leads(profile.dimensions, labels, rough)
    if not compared:
        return
    pair = len(profile.models) == 2
    clauses = [
        f"{label} is {'better' if pair else 'ahead of all others'} in {named(names, limit=8)}"
        for label, names in leads.items()
    ]
    undecided = compared - sum(map(len, leads.values()))
    open_ = "they cannot be told apart" if pair else "the first cannot be told apart from the next"
    if not leads:
        yield f"In none of {plural(compared, 'dimension')} can {'they be told apart' if pair else 'the first be told apart from the next'}."
    else:
        yield f"{'; '.join(clauses)}{f'; in the other {count(undecided)} {open_}' if undecided else ''}."


def _without(profile: Profile) -> Iterator[str]:
    """Name the tasks that no data were there for, and those that some model has no score in."""
    suite = suites.find(profile.suite)
    titles = {score.task: score.title for score in profile.tasks}
    absent = [task.title for task in suite.tasks if task.name not in titles] if suite else []
    if absent:
        yield f"{_tasks(absent)} missing, for want of data or because {'it was' if len(absent) == 1 else 'they were'} not run: {_quoted(absent)}."
    unscored = list(dict.fromkeys(score.title for score in profile.tasks if score.scaled is None))
    if unscored:
        yield f"{_tasks(unscored)} left out, since some model has no score in {'it' if len(unscored) == 1 else 'them'}: {_quoted(unscored)}."


def _quoted(titles: Sequence[str]) -> str:
    return named([f"“{title}”" for title in titles], limit=MOST)


def _tasks(names: Sequence[str]) -> str:
    return "1 task is" if len(names) == 1 else f"{count(len(names))} tasks are"


def _own_samples(runs: Sequence[OpenRun]) -> Iterator[str]:
    """Say where no released data were read."""
    sources = [
        run.manifest.get("data") or any(run.manifest.get("plan", {}).get(k) for k in ("data", "loaded")) for run in runs
    ]
    if not any(sources):
        yield (
            "The messages are samples that this project wrote itself, not the benchmark’s own, so nothing here can be compared with "
            "published results."
        )


def _rough(profile: Profile) -> Iterator[str]:
    """Say how many tasks rest on few conversations."""
    fewest: dict[str, int] = {}
    for score in profile.tasks:
        fewest[score.task] = min(score.clusters, fewest.get(score.task, score.clusters))
    thin = sum(n < SMALL for n in fewest.values())
    if thin:
        yield f"In {_of(thin, len(fewest))} fewer than {SMALL} conversations stand behind the score, so it is rough."


def _judged(profile: Profile, runs: Sequence[OpenRun]) -> str:
    tasks = {score.task for score in profile.tasks}
    judged = {score.task for score in profile.tasks if score.rater}
    unsure = {score.task for score in profile.tasks if score.rater and not_estimable(runs, score)}
    doubt = f" (in {_of(len(unsure), len(tasks))} {DOUBT})" if unsure else ""
    return (
        f"In {_of(len(judged), len(tasks))} the score is what the judge {profile.judge} thought of the replies{doubt}."
        if judged
        else ""
    )


def _ours(profile: Profile) -> Iterator[str]:
    tasks = {score.task for score in profile.tasks}
    own_definition = {score.task for score in profile.tasks if score.defined == "ours"}
    if own_definition:
        yield f"{_of(len(own_definition), len(tasks)).capitalize()} are marked “{records.OURS}”: how they are scored is not the authors’ but ours."


def _of(part: int, all_: int) -> str:
    if part == all_:
        return "the only task" if all_ == 1 else f"all {count(all_)} tasks"
    return f"{count(part)} of {plural(all_, 'task')}"
