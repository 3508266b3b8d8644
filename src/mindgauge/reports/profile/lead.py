"""The answer of a report on a suite, in one paragraph: each sentence follows from the profile by rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.benchmarks import suite as suites
from mindgauge.benchmarks.card import BenchmarkCard
from mindgauge.benchmarks.metrics.metric_sentences import FEW, SMALL
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, percent, plural
from mindgauge.reports.profile import overview, phrases
from mindgauge.reports.profile.records import not_estimable
from mindgauge.reports.reliability_gate import DOUBT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.profile import DimensionScore, Profile, TaskScore
    from mindgauge.reports.profile.records import ProfileSection
    from mindgauge.reports.runs import OpenRun

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
    rough_dimensions = overview.few(profile)
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


def first(section: ProfileSection, runs: Sequence[OpenRun], unchecked: str) -> list[str]:
    """Return the same in two sentences: what was found, and how far to trust it."""
    profile, labels = section.scores, {system.model: system.label for system in section.heat.systems}
    judged = _judged(profile, runs)
    trust = unchecked if judged and unchecked else judged or next(_rough(profile), "") or next(_own_samples(runs), "")
    return [
        " ".join(_weakest(profile, labels, overview.few(profile))),
        trust or "Every score here is of answers held against labels.",
    ]


def first_words(profile: Profile) -> tuple[str, str]:
    """Return where models are weakest, and how rough that is, a sentence each."""
    labels = {model: model for model in profile.models}
    weakest = _weakest(profile, labels, overview.few(profile))
    doubts = [*_rough(profile), *_apart(profile, labels, overview.few(profile)), *_without(profile), *_ours(profile)]
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
    leads, compared = phrases.leads(profile.dimensions, labels, rough)
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
        yield f"{_of(len(own_definition), len(tasks)).capitalize()} are marked “{phrases.OURS}”: how they are scored is not the authors’ but ours."


def _of(part: int, all_: int) -> str:
    if part == all_:
        return "the only task" if all_ == 1 else f"all {count(all_)} tasks"
    return f"{count(part)} of {plural(all_, 'task')}"
