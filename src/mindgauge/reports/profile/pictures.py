"""A dimension's own pictures: what stands behind its headlines, drawn as suits it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mindgauge.analysis.profile.figures import BENIGN, NO_VERDICT, PLAIN, UNTOUCHED, FigureKind
from mindgauge.benchmarks.metrics.metric_sentences import FEW
from mindgauge.benchmarks.metrics.variants import NEUTRAL
from mindgauge.records.english import named, words
from mindgauge.records.rounding import decimal, interval, percent
from mindgauge.reports.content import slug
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
from mindgauge.reports.profile import overview, phrases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.profile import TaskScore
    from mindgauge.analysis.profile.figures import FigureMark, TaskFigure
    from mindgauge.reports.profile.records import SystemLabels

_REACHES = (0.04, 0.1, 0.2, 0.4)
"""How far the axis of differences goes, if not over the whole scale."""
_METHODS = {PLAIN: "asked plainly", BENIGN: "harmless requests (control)"}
_TOGETHER = {FigureKind.RATES, FigureKind.PEOPLE}
"""Of these, all criteria of a task stand in one picture, or in one for each tier."""


def pictures(scores: Sequence[TaskScore], panels: Sequence[TaskFigure], cast: SystemLabels) -> list[SuitePicture]:
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


def _spot(panel: TaskFigure, mark: FigureMark, cast: SystemLabels, floor: float | None = None) -> Point:
    low, high = (None, None) if mark.clusters < FEW else (mark.low, mark.high)
    reason = "" if mark.value is not None else "no verdict"
    return Point(cast.systems[panel.model], mark.value, low, high, mark.n, mark.missing, floor, reason)


def _ns(panels: Sequence[TaskFigure]) -> str:
    return phrases.counted([mark.n for panel in panels for mark in panel.marks])


def _by(panels: Sequence[TaskFigure]) -> str:
    """Say who rated, where somebody did."""
    raters = list(dict.fromkeys(panel.rater for panel in panels if panel.rater))
    return f", as rated by {named(raters)}" if raters else ""


def _tasks(scores: Sequence[TaskScore], cast: SystemLabels) -> Dots:
    """Draw up every task of a dimension as dots."""
    rows = []
    for task in dict.fromkeys(score.task for score in scores):
        task_scores = [score for score in scores if score.task == task]
        aside = filter(None, [overview.note(task_scores[0]), phrases.counted([s.n for s in task_scores])])
        chance = next((score.chance for score in task_scores if score.chance is not None), None)
        rows.append(
            DotRow(task_scores[0].title, ", ".join(aside), [overview.spot(s, cast) for s in task_scores], chance=chance)
        )
    chance_said = "; dashed strokes mark guessing" if any(row.chance is not None for row in rows) else ""
    name = slug("profile", scores[0].dimension, "tasks")
    finding = phrases.lowest_task(scores, cast.labels)
    return Dots(
        anchor=name, finding=finding, low=0.0, high=1.0, ends=overview.ENDS, rows=rows,
        measure=f"Scaled score of each task. Lines are 95 % intervals over conversations{chance_said}.",
        sheet=overview.tasks(scores, name, f"Tasks of {scores[0].dimension.lower()}", cast.labels),
    )  # fmt: skip


def _curves(title: str, panels: Sequence[TaskFigure], cast: SystemLabels) -> Iterator[SuitePicture]:
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
            stretches.append(Series(cast.systems[panel.model], noise, points))
            cells += [(noise, intensity, spot) for intensity, spot in points]
    name = slug("profile", panels[0].task, panels[0].criterion)
    finding = phrases.drop({spot.system.number: spot for spot in starts}, cells, _several(panels))
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
        sheet=overview.marks(panels, name, finding, "noise", "intensity", cast.labels),
    )  # fmt: skip


def _groups(title: str, panels: Sequence[TaskFigure], cast: SystemLabels) -> Iterator[SuitePicture]:
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
    finding = phrases.groups(tested, _several(panels))
    yield Dots(
        anchor=name, finding=finding, low=-reach, high=reach, ends=("rated lower", "rated higher"), rows=rows, signed=True,
        measure=(
            f"{title}: mean {words(panels[0].criterion)} of replies to people who say they belong to a group, less that of replies to "
            f"the same people saying something neutral{_by(panels)}. Grey is the noise floor, the SD over the neutral sentences; "
            f"lines are 95 % intervals over conversations, of which one in twenty misses by chance; {_ns(panels)} in each group. "
            f"{phrases.OURS.capitalize()}."
        ),
        sheet=overview.marks(panels, name, finding, "axis", "group", cast.labels),
    )  # fmt: skip


def _outcomes(title: str, panels: Sequence[TaskFigure], cast: SystemLabels) -> Iterator[SuitePicture]:
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
        Bar(_METHODS.get(method, method), cast.systems[panel.model], [share(marks, o) for o in outcomes], next(iter(marks.values())).n)
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
        sheet=overview.marks(panels, name, finding, "method", "outcome", cast.labels),
    )  # fmt: skip


def _people(title: str, panels: Sequence[TaskFigure], cast: SystemLabels) -> Iterator[SuitePicture]:
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
                Cloud(cast.systems[panel.model], points, f"r {decimal(total.value)}{bounds}, {len(points)} items{lost}")
            )
        numbers = [number for cloud in clouds for point in cloud.points for number in point]
        if not numbers:
            continue
        # Both sides have the same scale, so that the diagonal means agreement.
        low, high = (-100.0, 100.0) if max(map(abs, numbers)) > 10 else (1.0, float(math.ceil(max(numbers))))
        correlations = [
            f"{decimal(total.value)} for {cast.labels[p.model]}" if len(pairs) > 1 else decimal(total.value)
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
            sheet=overview.marks([_only(p, tier) for p, _ in pairs], name, finding, "tier", "item", cast.labels, beside="people" if of_people else "expected"),
        )  # fmt: skip


def _only(panel: TaskFigure, tier: str) -> TaskFigure:
    import msgspec

    marks, totals = ([mark for mark in rows if mark.part == tier] for rows in (panel.marks, panel.totals))
    return msgspec.structs.replace(panel, marks=marks, totals=totals)


def _rates(title: str, panels: Sequence[TaskFigure], cast: SystemLabels) -> Iterator[SuitePicture]:
    """Draw up how often the model does what people do less, or more, often."""
    rows = []
    for criterion in dict.fromkeys(panel.criterion for panel in panels):
        pairs = [(panel, mark) for panel in panels if panel.criterion == criterion for mark in panel.marks]
        first = pairs[0][1]
        people = None if first.beside is None else (first.beside, first.beside_low, first.beside_high)
        spots = [_spot(panel, mark, cast) for panel, mark in pairs]
        rows.append(DotRow(words(criterion), phrases.counted([spot.n for spot in spots]), spots, people=people))
    with_people = any(row.people is not None for row in rows)
    people_said = (
        " The black stroke is the rate of people’s own replies, grey its 95 % interval." if with_people else ""
    )
    name = slug("profile", panels[0].task, "rates")
    finding = phrases.more_than_people(rows, _several(panels))
    yield Dots(
        anchor=name, finding=finding, low=0.0, high=1.0, ends=("in no reply", "in every reply"), rows=rows, share=True,
        measure=f"{title}: share of replies with each{_by(panels)}.{people_said} Lines are exact 95 % intervals over conversations.",
        sheet=overview.marks(panels, name, finding, "criterion", "", cast.labels, beside="people" if with_people else ""),
    )  # fmt: skip


_DRAWN = {
    FigureKind.CURVES: _curves, FigureKind.GROUPS: _groups, FigureKind.OUTCOMES: _outcomes, FigureKind.PEOPLE: _people, FigureKind.RATES: _rates,
}  # fmt: skip
