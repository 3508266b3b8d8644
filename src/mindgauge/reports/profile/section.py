"""The section of a suite: who stands where in each dimension, what lies behind it with examples, and which tasks are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis import profile as analysis
from mindgauge.analysis.profile.figures import criteria_of, panels
from mindgauge.benchmarks import suite as suites
from mindgauge.records.english import words
from mindgauge.records.rounding import decimal, plural
from mindgauge.records.rubric import Scale
from mindgauge.reports import texts
from mindgauge.reports.content import Case, Cited
from mindgauge.reports.profile import overview, phrases, pictures
from mindgauge.reports.profile.records import DimensionPart, ProfileSection, allowed, cast, section_of
from mindgauge.reports.texts import verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.profile import Profile, TaskScore
    from mindgauge.analysis.profile.figures import TaskFigure
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import ConfusionSection, System
    from mindgauge.reports.profile.records import SystemLabels
    from mindgauge.reports.runs import OpenRun, Section


MOST = 3
"""Examples of one dimension."""


def examples(
    scores: Sequence[TaskScore], runs: Sequence[OpenRun], cast: SystemLabels, shown: set[str]
) -> tuple[list[Case], list[Cited]]:
    """Return an example of each of the worst cells, and those of them that stand elsewhere on the page.

    Args:
        scores: of a dimension's tasks.
        runs: that hold them.
        cast: the models.
        shown: the anchors of what the page shows elsewhere; those of new examples are added.
    """
    readings: list[Case] = []
    linked: list[Cited] = []
    scored = sorted((s for s in scores if s.scaled is not None), key=lambda score: (score.scaled or 0.0, score.task))
    for score in scored:
        if len(readings) + len(linked) == MOST:
            break
        place = section_of(runs, score)
        subject = _worst(place[1], score) if place else None
        if place is None or subject is None:
            continue
        run, section = place
        anchor = texts.anchor("message" if section.benchmark.closed else "reply", subject)
        if anchor in shown:
            linked.append(Cited(subject, score.title, anchor))
            continue
        shown.add(anchor)
        readings.append(_reading(run, section, score, subject, cast.systems[score.model]))
    return readings, linked


def _worst(section: Section, score: TaskScore) -> str | None:
    """Return what went worst: the lowest mean level as a share of its scale, or the largest distance from the target."""
    criteria = criteria_of(section.benchmark)
    rows = section.ratings.filter(
        pl.col("model") == score.model, pl.col("status") == "ok", pl.col("selection").is_null(),
        pl.col("rater").is_in([score.rater or score.model, *(r.rater for r in section.benchmark.readings)]),
    )  # fmt: skip
    parts = []
    for name in dict.fromkeys(part.partition(" (")[0] for part in score.criterion.split(" + ")):
        criterion = criteria.get(name)
        if criterion is None:
            continue
        parts.append(
            rows.filter(pl.col("criterion") == name).select(
                "subject", bad=_badness(criterion, closed=section.benchmark.closed)
            )
        )
    if not parts:
        return None
    bad = pl.concat(parts).group_by("subject").agg(pl.col("bad").mean()).filter(pl.col("bad") > 0)
    ranked = bad.sort(["bad", "subject"], descending=[True, False])
    return str(ranked["subject"][0]) if len(ranked) else None


def _badness(criterion: Criterion, *, closed: bool) -> pl.Expr:
    """Return how bad each value is, from 0 to 1: an answer by its distance from the target, a verdict from the best level."""
    if criterion.scale is Scale.NOMINAL and (closed or not criterion.unsafe):
        return (pl.col("value") != pl.col("target")).cast(pl.Float64)
    place = frame.share(criterion)
    return (place - frame.share(criterion, "target")).abs() if closed else 1 - place


def _reading(run: OpenRun, section: Section, score: TaskScore, subject: str, system: System) -> Case:
    """Make an example ready to read."""
    benchmark = section.benchmark
    category = f"{score.title}, scored {decimal(score.scaled)}"
    if benchmark.closed:
        sample = run.store.sample(benchmark.name, subject)
        marks = [v for v in verdicts(run, section, subject, sample, people=False) if v.rater == score.model]
        answers = section.ratings.filter(
            pl.col("subject") == subject, pl.col("model") == score.model, pl.col("status") == "ok"
        )
        answered = answers["value"][0] if len(answers) else "nothing usable"
        target_note = f"Answered {words(answered)}; the target is {words(sample.target or 'not known')}."
        dialogue, about = texts.chat(section, sample, texts.quoted(marks))
        hidden = texts.withheld(run, section, sample.id)
        return Case(
            texts.anchor("message", subject),
            category,
            f"answered {words(answered)}",
            target_note,
            system,
            dialogue,
            about,
            marks,
            hidden,
            texts.words(section, sample),
        )
    rated = run.store.reply(benchmark.name, subject)
    assert rated is not None
    sample = rated.answered(run.store.sample(benchmark.name, rated.sample))
    marks = verdicts(run, section, subject, sample)
    quotes = texts.quoted(marks)
    reply = texts.reply(section, sample, rated.text, quotes)
    return Case(
        texts.anchor("reply", subject), category, _variant(sample.tags), "", system, texts.chat(section, sample, quotes)[0], reply, marks,
        texts.withheld(run, section, sample.id), texts.words(section, sample),
    )  # fmt: skip


_VARIANTS = ("method", "noise", "intensity", "axis", "group", "category", "question", "tier")


def _variant(tags: dict[str, str]) -> str:
    """Say in which form a sample was put."""
    parts = [f"{name} {words(tags[name])}" for name in _VARIANTS if tags.get(name)]
    return ", ".join(parts) or "the worst of its replies"


FEWEST = 2
"""Tasks of a suite that make a section of it worth while."""


def section(
    runs: Sequence[OpenRun], systems: Sequence[System], confusions: Sequence[ConfusionSection], on_page: set[str]
) -> ProfileSection | None:
    """Draw up the section of the suite that runs hold two or more tasks of; None where they do not.

    Args:
        runs: of the report.
        systems: that they measured.
        confusions: what was taken for what in all closed questions.
        on_page: the anchors of what the page shows elsewhere; those of the examples are added.
    """
    benchmarks = {s.benchmark.name for run in runs for s in run.sections}
    counts = {
        name: sum(t.benchmark in benchmarks for t in suite.tasks)
        for name in suites.names()
        if (suite := suites.find(name))
    }
    if max(counts.values(), default=0) < FEWEST:
        return None
    return of(analysis.profile([run.folder for run in runs]), runs, systems, confusions, on_page)


def of(
    profile: Profile,
    runs: Sequence[OpenRun],
    systems: Sequence[System],
    confusions: Sequence[ConfusionSection],
    on_page: set[str],
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
            if (dimension := _dimension(name, profile, runs, models, confusions, on_page)) is not None
        ],
        ranks=overview.dimensions(profile.dimensions, {s.task: s.title for s in profile.tasks}, models.labels),
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
    cast: SystemLabels,
    confusions: Sequence[ConfusionSection],
    on_page: set[str],
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
    readings, linked = examples(scores, runs, cast, on_page)
    return DimensionPart(
        anchor=anchor,
        name=name,
        said=[*phrases.standing(standing, cast.labels, few=name in overview.few(profile)), *lacking_note, *unread],
        pictures=pictures.pictures(scores, _panels(scores, runs), cast)
        if any(s.scaled is not None for s in scores)
        else [],
        confused=confused,
        confused_said=[_sided(c, _levels(runs, c.benchmark)) for c in confusions if c.benchmark in confused],
        sheet=overview.tasks(scores, anchor, f"{name}: every score", cast.labels),
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
