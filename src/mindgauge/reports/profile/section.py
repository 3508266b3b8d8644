"""The section of a suite: who stands where in each dimension, what lies behind it, and which tasks are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis import profile as analysis
from mindgauge.analysis.profile.panels import panels
from mindgauge.benchmarks import suite as suites
from mindgauge.records.rounding import plural
from mindgauge.records.rubric import Scale
from mindgauge.reports.profile import overview, phrases, pictures, tables
from mindgauge.reports.profile.cast import allowed, cast, section_of
from mindgauge.reports.profile.examples import examples
from mindgauge.reports.profile.records import DimensionPart, ProfileSection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.profile import Profile, TaskScore
    from mindgauge.analysis.profile.panel import TaskFigure
    from mindgauge.reports.content import ConfusionSection, System
    from mindgauge.reports.profile.cast import SystemLabels
    from mindgauge.reports.runs import OpenRun

FEWEST = 2
"""Tasks of a suite that make a section of it worth while."""


def section(
    runs: Sequence[OpenRun], systems: Sequence[System], confusions: Sequence[ConfusionSection], shown: set[str]
) -> ProfileSection | None:
    """Draw up the section of the suite that runs hold two or more tasks of; None where they do not.

    Args:
        runs: of the report.
        systems: that they measured.
        confusions: what was taken for what in all closed questions.
        shown: the anchors of what the page shows elsewhere; those of the examples are added.
    """
    benchmarks = {s.benchmark.name for run in runs for s in run.sections}
    counts = {
        name: sum(t.benchmark in benchmarks for t in suite.tasks)
        for name in suites.names()
        if (suite := suites.find(name))
    }
    if max(counts.values(), default=0) < FEWEST:
        return None
    return of(analysis.profile([run.folder for run in runs]), runs, systems, confusions, shown)


def of(
    profile: Profile,
    runs: Sequence[OpenRun],
    systems: Sequence[System],
    confusions: Sequence[ConfusionSection],
    shown: set[str],
) -> ProfileSection:
    """Draw up the section of a profile of these runs."""
    profile, models = allowed(profile, runs), cast(profile, systems)
    suite = suites.find(profile.suite)
    names = dict.fromkeys(score.dimension for score in profile.dimensions)
    return ProfileSection(
        title=suite.title if suite else profile.suite,
        suite=profile.suite,
        said=_said(profile),
        radar=overview.radar(profile, models),
        dots=overview.dots(profile, models),
        heat=overview.heat(profile, models),
        dimensions=[
            dimension
            for name in names
            if (dimension := _dimension(name, profile, runs, models, confusions, shown)) is not None
        ],
        ranks=tables.dimensions(profile.dimensions, {s.task: s.title for s in profile.tasks}, models.labels),
        lacking=profile.lacking,
        notes=profile.notes,
        scores=profile,
    )


def _said(profile: Profile) -> list[str]:
    """Say over what the profile is, and whose definitions its scores are."""
    tasks = {score.task: score for score in profile.tasks}
    dimensions = {score.dimension for score in profile.dimensions if score.value is not None}
    own_definition = [task for task in tasks.values() if task.defined == "ours"]
    judged = f" Replies are scored as {profile.judge} rated them." if profile.judge else ""
    extent = f"{plural(len(tasks), 'task')} of {plural(len(dimensions), 'dimension')}"
    without_definition = (
        "There is no overall score: dimensions stand beside each other, and each is the mean of its tasks."
    )
    sentences = [f"{plural(len(profile.models), 'model')} in {extent}.{judged} {without_definition}"]
    if own_definition:
        sentences.append(
            f"In {len(own_definition)} of {plural(len(tasks), 'task')} the score is {phrases.OURS}, since the authors published none or one that "
            "does not measure what it is named for; these are marked."
        )
    return sentences


def _dimension(
    name: str,
    profile: Profile,
    runs: Sequence[OpenRun],
    who: SystemLabels,
    confusions: Sequence[ConfusionSection],
    shown: set[str],
) -> DimensionPart | None:
    scores = [score for score in profile.tasks if score.dimension == name]
    if not scores:
        return None
    standing = [score for score in profile.dimensions if score.dimension == name]
    suite = suites.find(profile.suite)
    titles = {task.name: task.title for task in suite.tasks} if suite else {}
    lacking = next((score.lacking for score in standing), ())
    lacking_note = [f"Not in it: {'; '.join(titles.get(task, task) for task in lacking)}."] if lacking else []
    unread = (
        []
        if any(score.scaled is not None for score in scores)
        else ["No model has a score in it; the heat map says why."]
    )
    confused = _confused(scores, runs, confusions)
    anchor = f"profile-{name.casefold().replace(' ', '-')}"
    readings, linked = examples(scores, runs, who, shown)
    return DimensionPart(
        anchor=anchor,
        name=name,
        said=[*phrases.standing(standing, who.labels, few=name in overview.few(profile)), *lacking_note, *unread],
        pictures=pictures.pictures(scores, _panels(scores, runs), who)
        if any(s.scaled is not None for s in scores)
        else [],
        confused=confused,
        confused_said=[_sided(c, _levels(runs, c.benchmark)) for c in confusions if c.benchmark in confused],
        sheet=tables.tasks(scores, anchor, f"{name}: every score", who.labels),
        examples=readings,
        linked=linked,
    )


def _panels(scores: Sequence[TaskScore], runs: Sequence[OpenRun]) -> list[TaskFigure]:
    """Gather what stands behind the scores that may be shown."""
    gathered: list[TaskFigure] = []
    for score in scores:
        place = section_of(runs, score) if score.value is not None else None
        if place is not None:
            run, section = place
            gathered += panels(run.store, section.benchmark, section.ratings, score)
    return gathered


def _confused(
    scores: Sequence[TaskScore], runs: Sequence[OpenRun], confusions: Sequence[ConfusionSection]
) -> list[str]:
    """Return the tasks of one question whose labels have an order, so that it matters how far off an answer is."""
    ordered = {
        s.benchmark.name for run in runs for s in run.sections
        if [c.scale for c in s.benchmark.rubric.criteria] == [Scale.ORDINAL] and len(s.benchmark.rubric.criteria[0].values) > 2
    }  # fmt: skip
    names = {c.benchmark for c in confusions}
    return [name for name in dict.fromkeys(score.benchmark for score in scores) if name in ordered & names]


def _levels(runs: Sequence[OpenRun], name: str) -> int:
    """Count the levels of a closed question."""
    return next(
        len(s.benchmark.rubric.criteria[0].values) for run in runs for s in run.sections if s.benchmark.name == name
    )


def _sided(confusion: ConfusionSection, levels: int) -> str:
    """Say how many answers lie on either side of the label, of levels that stand mildest first."""
    milder = severer = other = total = 0
    for label, row in zip(confusion.labels, confusion.counts, strict=True):
        place = confusion.columns.index(label)
        total += sum(row)
        milder += sum(row[:place])
        severer += sum(row[place + 1 : levels])
        other += sum(row[levels:])
    rest = f", {other:,} cannot be read" if other else ""
    return f"{confusion.system.label} answers milder than the label in {milder:,} of {total:,} cases, more severe in {severer:,}{rest}"
