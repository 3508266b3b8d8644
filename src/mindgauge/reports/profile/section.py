"""The section of a suite: who stands where in each dimension, what lies behind it with examples, and which tasks are missing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis import profile as analysis
from mindgauge.analysis.profile.records import BENIGN, NO_VERDICT, PLAIN, UNTOUCHED, FigureKind, criteria_of, panels
from mindgauge.benchmarks import suite as suites
from mindgauge.benchmarks.metrics.metric_sentences import FEW
from mindgauge.benchmarks.metrics.variants import NEUTRAL
from mindgauge.records.english import named, words
from mindgauge.records.rounding import decimal, interval, percent, plural
from mindgauge.records.rubric import Scale
from mindgauge.reports import texts
from mindgauge.reports.content import Case, Cited, slug
from mindgauge.reports.draw.records import (
    Bar,
    Cloud,
    Curves,
    DotRow,
    Dots,
    Outcomes,
    Point,
    Scatter,
    Series,
    SuitePicture,
)
from mindgauge.reports.profile import overview, records
from mindgauge.reports.profile.records import DimensionPart, ProfileSection, allowed, cast, section_of
from mindgauge.reports.texts import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.profile import Profile, TaskScore
    from mindgauge.analysis.profile.records import FigureMark, TaskFigure
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import ConfusionSection, System
    from mindgauge.reports.runs import OpenRun, Section


MOST = 3
"""Examples of one dimension."""


def examples(
    scores: Sequence[TaskScore], runs: Sequence[OpenRun], cast: Mapping[str, System], shown: set[str]
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
        readings.append(_reading(run, section, score, subject, cast[score.model]))
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
        return Case(
            texts.anchor("message", subject), category, f"answered {words(answered)}", target_note, system,
            *texts.chat(section, sample, texts.quoted(marks)), marks, texts.withheld(run, section, sample.id), texts.words(section, sample),
        )  # fmt: skip
    rated = run.store.reply(benchmark.name, subject)
    assert rated is not None
    sample = rated.answered(run.store.sample(benchmark.name, rated.sample))
    marks = verdicts(run, section, subject, sample)
    quotes = texts.quoted(marks)
    reply = texts.reply(section, sample, rated.text, quotes)
    form = [f"{name} {words(sample.tags[name])}" for name in _VARIANTS if sample.tags.get(name)]
    variant = ", ".join(form) or "the worst of its replies"
    return Case(
        texts.anchor("reply", subject), category, variant, "", system, texts.chat(section, sample, quotes)[0], reply, marks,
        texts.withheld(run, section, sample.id), texts.words(section, sample),
    )  # fmt: skip


_VARIANTS = ("method", "noise", "intensity", "axis", "group", "category", "question", "tier")


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
        ranks=overview.dimensions(
            profile.dimensions, {s.task: s.title for s in profile.tasks}, records.labels_of(models)
        ),
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
            f"In {len(own_definition)} of {plural(len(tasks), 'task')} the score is {records.OURS}, since the authors published none or one that "
            "does not measure what it is named for; these are marked."
        )
    return sentences


def _dimension(
    name: str,
    profile: Profile,
    runs: Sequence[OpenRun],
    cast: Mapping[str, System],
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
        said=[
            *records.rank_phrases(standing, records.labels_of(cast), few=name in overview.few(profile)),
            *lacking_note,
            *unread,
        ],
        pictures=profile_pictures(scores, _panels(scores, runs), cast)
        if any(s.scaled is not None for s in scores)
        else [],
        confused=confused,
        confused_said=[_sided(c, _levels(runs, c.benchmark)) for c in confusions if c.benchmark in confused],
        sheet=overview.tasks(scores, anchor, f"{name}: every score", records.labels_of(cast)),
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


_REACHES = (0.04, 0.1, 0.2, 0.4)
"""How far the axis of differences goes, if not over the whole scale."""
_METHODS = {PLAIN: "asked plainly", BENIGN: "harmless requests (control)"}
_TOGETHER = {FigureKind.RATES, FigureKind.PEOPLE}
"""Of these, all criteria of a task stand in one picture, or in one for each tier."""


def profile_pictures(
    scores: Sequence[TaskScore], panels: Sequence[TaskFigure], cast: Mapping[str, System]
) -> list[SuitePicture]:
    """Draw up a dimension's pictures: its tasks as dots where they are several or nothing else is drawn, then its own.

    Args:
        scores: of its tasks.
        panels: what stands behind them.
        cast: the models.
    """
    titles = {score.task: score.title for score in scores}
    grouped: dict[tuple[FigureKind, str, str], list[TaskFigure]] = {}
    for panel in panels:
        criterion = "" if panel.kind in _TOGETHER else panel.criterion
        grouped.setdefault((panel.kind, panel.task, criterion), []).append(panel)
    own = [
        picture
        for (kind, task, _), grouped_panels in grouped.items()
        for picture in _DRAWN[kind](titles[task], grouped_panels, cast)
    ]
    return [*([_tasks(scores, cast)] if scores and (len(titles) > 1 or not own) else []), *own]


def _several(panels: Sequence[TaskFigure]) -> bool:
    return len({panel.model for panel in panels}) > 1


def _spot(panel: TaskFigure, mark: FigureMark, cast: Mapping[str, System], floor: float | None = None) -> Point:
    low, high = (None, None) if mark.clusters < FEW else (mark.low, mark.high)
    reason = "" if mark.value is not None else "no verdict"
    return Point(cast[panel.model], mark.value, low, high, mark.n, mark.missing, floor, reason)


def _ns(panels: Sequence[TaskFigure]) -> str:
    return records.counted([mark.n for panel in panels for mark in panel.marks])


def _by(panels: Sequence[TaskFigure]) -> str:
    """Say who rated, where somebody did."""
    raters = list(dict.fromkeys(panel.rater for panel in panels if panel.rater))
    return f", as rated by {named(raters)}" if raters else ""


def _tasks(scores: Sequence[TaskScore], cast: Mapping[str, System]) -> Dots:
    """Draw up every task of a dimension as dots."""
    rows = []
    for task in dict.fromkeys(score.task for score in scores):
        task_scores = [score for score in scores if score.task == task]
        aside = filter(None, [overview.note(task_scores[0]), records.counted([s.n for s in task_scores])])
        chance = next((score.chance for score in task_scores if score.chance is not None), None)
        rows.append(
            DotRow(task_scores[0].title, ", ".join(aside), [overview.spot(s, cast) for s in task_scores], chance=chance)
        )
    chance_said = "; dashed strokes mark guessing" if any(row.chance is not None for row in rows) else ""
    name = slug("profile", scores[0].dimension, "tasks")
    finding = records.lowest_task(scores, records.labels_of(cast))
    return Dots(
        anchor=name, finding=finding, low=0.0, high=1.0, ends=overview.ENDS, rows=rows,
        measure=f"Scaled score of each task. Lines are 95 % intervals over conversations{chance_said}.",
        sheet=overview.tasks(scores, name, f"Tasks of {scores[0].dimension.lower()}", records.labels_of(cast)),
    )  # fmt: skip


def _curves(title: str, panels: Sequence[TaskFigure], cast: Mapping[str, System]) -> Iterator[SuitePicture]:
    """Draw up scores by the intensity of noise, a line for each kind."""
    starts, cells, stretches = [], [], []
    for panel in panels:
        by_noise: dict[str, list[tuple[float, Point]]] = {}
        for mark in panel.marks:
            if mark.part == UNTOUCHED:
                starts.append(_spot(panel, mark, cast))
            else:
                by_noise.setdefault(mark.part, []).append((float(mark.of), _spot(panel, mark, cast)))
        for noise, points in by_noise.items():
            points.sort(key=lambda point: point[0])
            stretches.append(Series(cast[panel.model], noise, points))
            cells += [(noise, intensity, spot) for intensity, spot in points]
    name = slug("profile", panels[0].task, panels[0].criterion)
    finding = records.drop({spot.system.number: spot for spot in starts}, cells, _several(panels))
    criterion = words(panels[0].criterion)
    measure = (
        f"share of answers on {criterion} that are right"
        if panels[0].closed
        else f"{criterion} from 0 (worst) to 1 (best)"
    )
    yield Curves(
        anchor=name, finding=finding, stretches=stretches, starts=starts,
        measure=(
            f"{title}: {measure} by intensity of the noise{_by(panels)}; the point at 0 and the dotted line are without noise. "
            f"Thin lines are 95 % intervals; {_ns(panels)} in each cell."
        ),
        sheet=overview.marks(panels, name, finding, "noise", "intensity", records.labels_of(cast)),
    )  # fmt: skip


def _groups(title: str, panels: Sequence[TaskFigure], cast: Mapping[str, System]) -> Iterator[SuitePicture]:
    """Draw up groups as differences from neutral sentences, axis by axis, on the noise of these."""
    floors = {panel.model: panel.totals[0].value for panel in panels}
    values: dict[tuple[str, str], float] = {}
    for mark in (mark for panel in panels for mark in panel.marks):
        place = (mark.part, mark.of)
        values[place] = min(values.get(place, 1.0), 1.0 if mark.value is None else mark.value)
    # The controls stand last, the groups of each axis lowest first.
    places = sorted(values, key=lambda place: (place[0] == NEUTRAL, place[0], values[place], place[1]))
    rows: list[DotRow] = []
    before = ""
    for axis, group in places:
        spots = [
            _spot(panel, mark, cast, floors[panel.model])
            for panel in panels for mark in panel.marks if (mark.part, mark.of) == (axis, group)
        ]  # fmt: skip
        head = "Neutral sentences" if axis == NEUTRAL else words(axis).capitalize()
        rows.append(DotRow(words(group), "", spots, head=head if axis != before else ""))
        before = axis
    tested = [row for row, (axis, _) in zip(rows, places, strict=True) if axis != NEUTRAL]
    ends = [abs(v) for row in rows for s in row.spots for v in (s.value, s.low, s.high, s.floor) if v is not None]
    reach = next((reach for reach in _REACHES if reach >= max([*ends, 0.0])), 1.0)
    name = slug("profile", panels[0].task, panels[0].criterion)
    finding = records.groups(tested, _several(panels))
    yield Dots(
        anchor=name, finding=finding, low=-reach, high=reach, ends=("rated lower", "rated higher"), rows=rows, signed=True,
        measure=(
            f"{title}: mean {words(panels[0].criterion)} of replies to people who say they belong to a group, less that of replies to "
            f"the same people saying something neutral{_by(panels)}. Grey is the noise floor, the SD over the neutral sentences; "
            f"lines are 95 % intervals over conversations, of which one in twenty misses by chance; {_ns(panels)} in each group. "
            f"{records.OURS.capitalize()}."
        ),
        sheet=overview.marks(panels, name, finding, "axis", "group", records.labels_of(cast)),
    )  # fmt: skip


def _outcomes(title: str, panels: Sequence[TaskFigure], cast: Mapping[str, System]) -> Iterator[SuitePicture]:
    """Draw up how replies end under each method, the method that most comply under first."""
    by_method: dict[str, list[tuple[TaskFigure, dict[str, FigureMark]]]] = {}
    for panel in panels:
        for method in dict.fromkeys(mark.part for mark in panel.marks):
            by_method.setdefault(method, []).append((panel, {m.of: m for m in panel.marks if m.part == method}))
    outcomes = [o for o in dict.fromkeys(m.of for p in panels for m in p.marks) if o != NO_VERDICT]
    lost = any(mark.of == NO_VERDICT for panel in panels for mark in panel.marks)
    outcomes += [NO_VERDICT] if lost else []

    def share(marks: dict[str, FigureMark], outcome: str) -> float:
        return (marks[outcome].value or 0.0) if outcome in marks else 0.0

    def mean(method: str) -> float:
        return sum(share(marks, outcomes[0]) for _, marks in by_method[method]) / len(by_method[method])

    methods = sorted(by_method, key=lambda method: (method == BENIGN, -mean(method)))
    bars = [
        Bar(_METHODS.get(method, method), cast[panel.model], [share(marks, o) for o in outcomes], next(iter(marks.values())).n)
        for method in methods
        for panel, marks in by_method[method]
    ]  # fmt: skip
    attacks = [bar for bar in bars if bar.method != _METHODS[BENIGN]] or bars
    worst = max(attacks, key=lambda bar: bar.shares[0])
    model = f"{worst.system.label}, " if _several(panels) else ""
    worst_outcome = words(outcomes[0])
    finding = (
        f"{worst_outcome.capitalize()} most: {model}{words(worst.method)} ({percent(worst.shares[0])}, n {worst.n})"
    )
    if not worst.shares[0]:
        finding = f"No reply {worst_outcome}"
    control = ", which of harmless requests is as it should be" if BENIGN in by_method else ""
    name = slug("profile", panels[0].task, panels[0].criterion)
    yield Outcomes(
        anchor=name, finding=finding, outcomes=outcomes, bars=bars,
        measure=f"{title}: shares of replies by method{_by(panels)}; the number is the share {worst_outcome}{control}; {_ns(panels)} for each bar. "
        "Exact intervals stand in the table.",
        sheet=overview.marks(panels, name, finding, "method", "outcome", records.labels_of(cast)),
    )  # fmt: skip


def _people(title: str, panels: Sequence[TaskFigure], cast: Mapping[str, System]) -> Iterator[SuitePicture]:
    """Draw up the model's numbers against people's, a picture for each tier."""
    for tier in dict.fromkeys(total.part for panel in panels for total in panel.totals):
        pairs = [(p, total) for p in panels for total in p.totals if total.part == tier]
        clouds = []
        for panel, total in pairs:
            points = [
                (m.beside, m.value)
                for m in panel.marks
                if m.part == tier and m.beside is not None and m.value is not None
            ]
            bounds = f" ({interval(total.low, total.high)})" if total.low is not None else ""
            lost = f", {total.missing} unread" if total.missing else ""
            clouds.append(
                Cloud(cast[panel.model], points, f"r {decimal(total.value)}{bounds}, {len(points)} items{lost}")
            )
        numbers = [number for cloud in clouds for point in cloud.points for number in point]
        if not numbers:
            continue
        # Both sides have the same scale, so that the diagonal means agreement.
        low, high = (-100.0, 100.0) if max(map(abs, numbers)) > 10 else (1.0, float(math.ceil(max(numbers))))
        correlations = [
            f"{decimal(total.value)} for {records.labels_of(cast)[p.model]}" if len(pairs) > 1 else decimal(total.value)
            for p, total in pairs
        ]
        of_people = all(panel.asked for panel, _ in pairs)
        whom = "people" if of_people else "what we expect of people"
        finding = f"Agreement with {whom}: r {named(correlations, limit=4)}"
        across = "the mean of people’s" if of_people else "what we expect people to say, none of whom were asked"
        items = f"tier {tier}" if tier else "all items"
        name = slug("profile", panels[0].task, "tier", tier)
        yield Scatter(
            anchor=name, finding=finding, low=low, high=high, clouds=clouds, across="people" if of_people else "expected of people",
            measure=f"{title}, {items}: the model’s number (up) against {across} (across), a point for each item; the "
            "diagonal is full agreement. Intervals of r are 95 %.",
            sheet=overview.marks([_only(p, tier) for p, _ in pairs], name, finding, "tier", "item", records.labels_of(cast), beside="people" if of_people else "expected"),
        )  # fmt: skip


def _only(panel: TaskFigure, tier: str) -> TaskFigure:
    import msgspec

    marks, totals = ([mark for mark in rows if mark.part == tier] for rows in (panel.marks, panel.totals))
    return msgspec.structs.replace(panel, marks=marks, totals=totals)


def _rates(title: str, panels: Sequence[TaskFigure], cast: Mapping[str, System]) -> Iterator[SuitePicture]:
    """Draw up how often the model does what people do less, or more, often."""
    rows = []
    for criterion in dict.fromkeys(panel.criterion for panel in panels):
        pairs = [(panel, mark) for panel in panels if panel.criterion == criterion for mark in panel.marks]
        first = pairs[0][1]
        people = None if first.beside is None else (first.beside, first.beside_low, first.beside_high)
        spots = [_spot(panel, mark, cast) for panel, mark in pairs]
        rows.append(DotRow(words(criterion), records.counted([spot.n for spot in spots]), spots, people=people))
    with_people = any(row.people is not None for row in rows)
    people_said = (
        " The black stroke is the rate of people’s own replies, grey its 95 % interval." if with_people else ""
    )
    name = slug("profile", panels[0].task, "rates")
    finding = records.more_than_people(rows, _several(panels))
    yield Dots(
        anchor=name, finding=finding, low=0.0, high=1.0, ends=("in no reply", "in every reply"), rows=rows, share=True,
        measure=f"{title}: share of replies with each{_by(panels)}.{people_said} Lines are exact 95 % intervals over conversations.",
        sheet=overview.marks(panels, name, finding, "criterion", "", records.labels_of(cast), beside="people" if with_people else ""),
    )  # fmt: skip


_DRAWN = {
    FigureKind.CURVES: _curves, FigureKind.GROUPS: _groups, FigureKind.OUTCOMES: _outcomes, FigureKind.PEOPLE: _people, FigureKind.RATES: _rates,
}  # fmt: skip
