"""What a report says of a suite, as records; each model with its colour and label on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.analysis.profile.records import Profile
from mindgauge.analysis.reliability.card import LIMITED, NOT_ESTIMABLE
from mindgauge.benchmarks.metrics.metric_sentences import FEW
from mindgauge.records.english import named
from mindgauge.records.rounding import count, counts, decimal, interval, percent, plural
from mindgauge.reports.content import Case, Cited, ReportTable, System
from mindgauge.reports.draw.records import Dots, Radar, SuitePicture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.profile import DimensionScore, TaskScore
    from mindgauge.reports.draw.records import DotRow, Point
    from mindgauge.reports.reliability_gate import RunCard
    from mindgauge.reports.runs import OpenRun, Section


class Heat(msgspec.Struct):
    """Tasks by models, scaled scores, as a table with shaded cells.

    A row has `dimension` (empty but where one begins), title, note and a cell for each system: `value`, the scaled score, and
    what is `said` of it, or `why` there is none; `worst` is the system's lowest.
    """

    finding: str
    measure: str
    systems: list[System]
    rows: list[dict[str, Any]]
    sheet: ReportTable


class DimensionPart(msgspec.Struct):
    """One dimension: who stands where, its pictures, and examples from its worst cells.

    `confused` are the benchmarks whose confusions belong here; `linked` are examples that stand elsewhere on the page.
    """

    anchor: str
    name: str
    said: list[str]
    pictures: list[SuitePicture]
    confused: list[str]
    confused_said: list[str]
    sheet: ReportTable
    examples: list[Case]
    linked: list[Cited]


class ProfileSection(msgspec.Struct):
    """A suite in a report."""

    title: str
    suite: str
    said: list[str]
    radar: Radar | None
    dots: Dots | None
    heat: Heat
    dimensions: list[DimensionPart]
    ranks: ReportTable
    lacking: list[str]
    notes: list[str]
    scores: Profile

    @property
    def confused(self) -> list[str]:
        """The benchmarks whose confusions stand in this section."""
        return [name for dimension in self.dimensions for name in dimension.confused]


def labels_of(systems: Mapping[str, System]) -> dict[str, str]:
    """Return what each model of a profile is called on the page."""
    return {name: system.label for name, system in systems.items()}


def cast(profile: Profile, systems: Sequence[System]) -> dict[str, System]:
    """Find the system of each model: that of the first run that measured it, called by the model's own name."""
    by_model: dict[str, System] = {}
    for model in profile.models:
        match = next((system for system in systems if system.model == model), None)
        number = match.number if match else max([s.number for s in (*systems, *by_model.values())], default=-1) + 1
        by_model[model] = System(model, model, match.run if match else 0, number)
    return by_model


def section_of(runs: Sequence[OpenRun], score: TaskScore) -> tuple[OpenRun, Section] | None:
    """Find where a model did a task: of several runs, the first counts, as in the profile."""
    for run in runs:
        for section in run.sections:
            if section.benchmark.name == score.benchmark and (section.ratings["model"] == score.model).any():
                return run, section
    return None


def allowed(profile: Profile, runs: Sequence[OpenRun]) -> Profile:
    """Take out, or mark, the scores of judges that may not give them, and the dimensions that are made of these."""
    limited = {(s.task, s.model): any(card.limited for card in _cards(runs, s)) for s in profile.tasks}
    show_unreliable = all(run.standings.shown for run in runs)
    tasks = [_marked(s, shown=show_unreliable) if limited[s.task, s.model] else s for s in profile.tasks]
    dimensions = [
        _without(d) if not show_unreliable and any(limited.get((task, d.model)) for task in d.tasks) else d
        for d in profile.dimensions
    ]
    return msgspec.structs.replace(profile, tasks=tasks, dimensions=dimensions)


def not_estimable(runs: Sequence[OpenRun], score: TaskScore) -> bool:
    """Whether a judge's card on one of the criteria says that nobody can tell how far to trust it."""
    return any(standing.card.verdict.startswith(NOT_ESTIMABLE) for standing in _cards(runs, score))


def _cards(runs: Sequence[OpenRun], score: TaskScore) -> list[RunCard]:
    place = section_of(runs, score)
    if place is None or not score.rater:
        return []
    criteria = {part.partition(" (")[0] for part in score.criterion.split(" + ")}
    cards = place[0].standings.cards
    standings = (cards.get((score.benchmark, criterion, score.rater)) for criterion in criteria)
    return [standing for standing in standings if standing is not None]


def _marked(score: TaskScore, *, shown: bool) -> TaskScore:
    note = f"{LIMITED}; {score.note}".removesuffix("; ")
    if shown:
        return msgspec.structs.replace(score, note=f"unreliable: {note}")
    names = "value low high scaled scaled_low scaled_high worst best rank rank_low rank_high"
    return msgspec.structs.replace(score, note=note, **dict.fromkeys(names.split()))


def _without(score: DimensionScore) -> DimensionScore:
    blank = dict.fromkeys(("value", "low", "high", "rank", "rank_low", "rank_high", "mean_rank", "rank_of_mean_rank"))
    return msgspec.structs.replace(score, indistinguishable=(), **blank)


FEW_MODELS = 4
"""Of so many models every two that cannot be told apart are named."""
OURS = "our definition"
_DEFINED = {"ours": OURS, "upstream": "the data set’s own paper", "authors": "the authors"}


def defined(author: str) -> str:
    """Say who defined a score."""
    return _DEFINED.get(author, author)


def counted(ns: Sequence[int]) -> str:
    """Write one n, or between which they lie; empty where there is none."""
    sizes = [n for n in ns if n]
    return f"n {counts(sizes)}" if sizes else ""


def weakest(rows: Sequence[DotRow], systems: Sequence[System]) -> str:
    """Name where each system is weakest; of many systems, where most are."""
    lowest = {}
    for system in systems:
        spots = [(spot.value, row.label) for row in rows for spot in row.spots
                 if spot.system.number == system.number and spot.value is not None]  # fmt: skip
        if spots:
            lowest[system.label] = min(spots)
    if not lowest:
        return "No dimension has a score"
    if len(lowest) == 1:
        value, label = next(iter(lowest.values()))
        return f"Weakest in {label.lower()} ({decimal(value)})"
    if len(lowest) <= FEW_MODELS:
        clauses = [f"{label} in {place.lower()} ({decimal(value)})" for label, (value, place) in lowest.items()]
        return f"Weakest: {named(clauses, limit=FEW_MODELS)}"
    places = [place for _, place in lowest.values()]
    dimension = max(dict.fromkeys(places), key=places.count)
    return f"{places.count(dimension)} of {len(lowest)} models are weakest in {dimension.lower()}"


def ahead(scores: Sequence[DimensionScore], labels: dict[str, str], rough: set[str]) -> str:
    """Say in which dimensions one model can be told apart from all others as the best, and in how many none can.

    Those in `few` rest on too few conversations to say so.
    """
    led, compared = leads(scores, labels, rough)
    if not compared:
        values = [(score.value, score.dimension) for score in scores if score.value is not None]
        if not values:
            return "No dimension has a score"
        value, name = max(values)
        return f"Strongest in {name.lower()} ({decimal(value)})"
    open_ = compared - sum(map(len, led.values()))
    if not led:
        return f"In none of {plural(compared, 'dimension')} is one model ahead of all others"
    clauses = [f"{model} in {named(names)}" for model, names in led.items()]
    rest = f". In {count(open_)} of {compared} the first cannot be told apart from the next" if open_ else ""
    return f"Ahead of all others: {'; '.join(clauses)}{rest}"


def leads(
    scores: Sequence[DimensionScore], labels: dict[str, str], rough: set[str]
) -> tuple[dict[str, list[str]], int]:
    """Return the dimensions in which one model is ahead of all others, by its label, and in how many several have a score."""
    by_dimension: dict[str, list[DimensionScore]] = {}
    for score in scores:
        if score.value is not None:
            by_dimension.setdefault(score.dimension, []).append(score)
    compared = {name: group for name, group in by_dimension.items() if len(group) > 1}
    led: dict[str, list[str]] = {}
    for name, group in compared.items():
        best = min(group, key=lambda score: score.rank or len(group))
        if not best.indistinguishable and name not in rough:
            led.setdefault(labels[best.model], []).append(name.lower())
    return led, len(compared)


def rank_phrases(scores: Sequence[DimensionScore], labels: dict[str, str], *, few: bool) -> list[str]:
    """Say of one dimension which ranks the models may have, and which of them cannot be told apart.

    With `few`, too few conversations stand behind one of its tasks to say either.
    """
    ranked = sorted((s for s in scores if s.value is not None and s.rank is not None), key=lambda s: s.rank or 0.0)
    if not ranked:
        return []
    if few and len(ranked) > 1:
        return [f"One of its tasks has fewer than {FEW} conversations, too few to say who is better."]
    if len(ranked) == 1:
        score = ranked[0]
        bounds = f" ({interval(score.low, score.high)})" if score.low is not None and not few else ""
        return [f"Score {decimal(score.value)}{bounds}."]
    names = [f"{labels[s.model]} {_rank(s)}" for s in ranked]
    return [f"Possible ranks: {named(names, limit=8)}.", f"{_untold(ranked, labels)}."]


def _rank(score: DimensionScore) -> str:
    low, high = (f"{r:g}" for r in (score.rank_low or score.rank or 0, score.rank_high or score.rank or 0))
    return low if low == high else f"{low} to {high}"


def _untold(ranked: Sequence[DimensionScore], labels: dict[str, str]) -> str:
    """Say who cannot be told apart from whom."""
    inside = {score.model for score in ranked}
    pairs = [(better.model, other.model) for place, better in enumerate(ranked) for other in ranked[place + 1 :]]
    indistinguishable = {score.model: score.indistinguishable for score in ranked}
    open_ = [pair for pair in pairs if pair[1] in indistinguishable[pair[0]]]
    if not open_:
        return "Each of them can be told apart from every other" if len(ranked) > 2 else "They can be told apart"
    if len(open_) == len(pairs):
        return "They cannot be told apart" if len(ranked) == 2 else "None of them can be told apart from any other"
    if len(ranked) <= FEW_MODELS:
        names = [f"{labels[better]} and {labels[other]}" for better, other in open_]
        return f"These cannot be told apart: {named(names, limit=6)}"
    first = ranked[0]
    others = [labels[model] for model in first.indistinguishable if model in inside]
    if not others:
        return f"{labels[first.model]}, the first, can be told apart from all others"
    return f"{labels[first.model]}, the first, cannot be told apart from {named(others)}"


def lowest_task(scores: Sequence[TaskScore], labels: dict[str, str]) -> str:
    """Name the task with the lowest scaled score, and whose it is."""
    scored = [score for score in scores if score.scaled is not None]
    if not scored:
        return "No task has a score"
    worst = min(scored, key=lambda score: score.scaled or 0.0)
    model = f", {labels[worst.model]}" if len({score.model for score in scored}) > 1 else ""
    guess = worst.chance
    guessing = f"; guessing gives {decimal(guess)}" if guess is not None and (worst.scaled_low or 0) <= guess else ""
    return f"Lowest: {worst.title} ({decimal(worst.scaled)}{model}{guessing})"


def drop(starts: dict[int, Point], cells: Sequence[tuple[str, float, Point]], with_model: bool) -> str:
    """Name the largest fall from the score without noise."""
    falls = [
        (start.value - spot.value, noise, intensity, spot)
        for noise, intensity, spot in cells
        if spot.value is not None and (start := starts.get(spot.system.number)) is not None and start.value is not None
    ]
    if not falls:
        return "There is nothing without noise to compare with"
    fall, noise, intensity, spot = max(falls, key=lambda fall: fall[0])
    model = f"{spot.system.label}, " if with_model else ""
    before = starts[spot.system.number].value
    if fall <= 0:
        return "No kind of noise lowers the score"
    return f"Falls most: {model}from {decimal(before)} to {decimal(spot.value)} under {noise} noise of intensity {intensity:g}"


def groups(rows: Sequence[DotRow], with_model: bool) -> str:
    """Name the group that is treated most differently from a neutral sentence, if any goes beyond the noise."""
    cells = [(row.label, spot) for row in rows for spot in row.spots if spot.value is not None]
    outside = [
        (label, spot) for label, spot in cells
        if spot.floor is not None and spot.low is not None and spot.high is not None
        and (spot.high < -spot.floor or spot.low > spot.floor)
    ]  # fmt: skip
    if not cells:
        return "No group has a score"
    if not outside:
        return "No group differs from a neutral sentence by more than noise"
    label, spot = max(outside, key=lambda cell: abs(cell[1].value or 0.0))
    model = f" by {spot.system.label}" if with_model else ""
    way = "lower" if (spot.value or 0.0) < 0 else "higher"
    rest = f"; {len(outside)} of {len(cells)} differ by more than noise" if len(outside) > 1 else ""
    return f"Replies{model} to “{label}” are rated {decimal(abs(spot.value or 0.0))} {way} than to a neutral sentence{rest}"


def more_than_people(rows: Sequence[DotRow], with_model: bool) -> str:
    """Name what is done most beyond what people do; without people, what is done most."""
    gaps = [
        (spot.value - (row.people[0] if row.people else 0.0), row, spot)
        for row in rows
        for spot in row.spots
        if spot.value is not None
    ]
    compared = [gap for gap in gaps if gap[1].people is not None]
    if not gaps:
        return "No reply has a verdict"
    excess, row, spot = max(compared or gaps, key=lambda gap: gap[0])
    model = f"{spot.system.label}: " if with_model else ""
    if row.people is None:
        return f"{model}{row.label} in {percent(spot.value)} of the replies"
    if excess <= 0:
        return "Nothing is done more often than by people"
    return f"{model}{row.label} in {percent(spot.value)} of the replies, in people’s {percent(row.people[0])}"
