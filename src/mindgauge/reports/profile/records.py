"""What a report says of a suite, as records; each model with its colour and label on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.profile.records import Profile
from mindgauge.analysis.reliability.card import LIMITED, NOT_ESTIMABLE
from mindgauge.reports.content import Case, Cited, ReportTable, System
from mindgauge.reports.draw.records import Dots, Radar, SuitePicture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.profile import DimensionScore, TaskScore
    from mindgauge.reports.reliability_gate import RunCard
    from mindgauge.reports.runs import OpenRun, Section


class HeatCell(msgspec.Struct, frozen=True):
    """One system in one task: its scaled score, or why there is none; `worst` is the system's lowest."""

    value: float | None
    said: str
    why: str = ""
    worst: bool = False


class HeatRow(msgspec.Struct, frozen=True):
    """One task; `dimension` is named where it begins."""

    dimension: str
    title: str
    note: str
    cells: list[HeatCell]


class Heat(msgspec.Struct):
    """Tasks by models, scaled scores, as a table with shaded cells."""

    finding: str
    measure: str
    systems: list[System]
    rows: list[HeatRow]
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


# Who is profiled: each model of a profile as the system that carries its colour and label on the page.


class SystemLabels(msgspec.Struct, frozen=True):
    """The systems by the names that a profile calls them."""

    systems: dict[str, System]

    @property
    def labels(self) -> dict[str, str]:
        """What each is called on the page."""
        return {name: system.label for name, system in self.systems.items()}


def cast(profile: Profile, systems: Sequence[System]) -> SystemLabels:
    """Find the system of each model: that of the first run that measured it, called by the model's own name."""
    by_model: dict[str, System] = {}
    for model in profile.models:
        match = next((system for system in systems if system.model == model), None)
        number = match.number if match else max([s.number for s in (*systems, *by_model.values())], default=-1) + 1
        by_model[model] = System(model, model, match.run if match else 0, number)
    return SystemLabels(by_model)


def section_of(runs: Sequence[OpenRun], score: TaskScore) -> tuple[OpenRun, Section] | None:
    """Find where a model did a task: of several runs, the first counts, as in the profile."""
    for run in runs:
        for section in run.sections:
            if section.benchmark.name == score.benchmark and (section.ratings["model"] == score.model).any():
                return run, section
    return None


def allowed(profile: Profile, runs: Sequence[OpenRun]) -> Profile:
    """Take out, or mark, the scores of judges that may not give them, and the dimensions that are made of these."""
    limited = {(s.task, s.model): _limited(runs, s) for s in profile.tasks}
    show_unreliable = all(run.standings.shown for run in runs)
    tasks = [_marked(s, shown=show_unreliable) if limited[s.task, s.model] else s for s in profile.tasks]
    dimensions = [
        _without(d) if not show_unreliable and any(limited.get((task, d.model)) for task in d.tasks) else d
        for d in profile.dimensions
    ]
    return msgspec.structs.replace(profile, tasks=tasks, dimensions=dimensions)


def _limited(runs: Sequence[OpenRun], score: TaskScore) -> bool:
    """Whether a judge's card on one of the criteria says that people must rate."""
    return any(standing.limited for standing in _cards(runs, score))


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
    blank = dict.fromkeys(
        (
            "value",
            "low",
            "high",
            "scaled",
            "scaled_low",
            "scaled_high",
            "worst",
            "best",
            "rank",
            "rank_low",
            "rank_high",
        )
    )
    return msgspec.structs.replace(score, note=note, **blank)


def _without(score: DimensionScore) -> DimensionScore:
    blank = dict.fromkeys(("value", "low", "high", "rank", "rank_low", "rank_high", "mean_rank", "rank_of_mean_rank"))
    return msgspec.structs.replace(score, indistinguishable=(), **blank)
