"""Rows as static SVG: dots with intervals, a row for each system, card or comparison, on one axis."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mindgauge.analysis.stress.effects import BIASED, CANNOT_TELL, MARGIN
from mindgauge.records.english import words
from mindgauge.records.rounding import count, decimal, percent
from mindgauge.reports.draw import canvas as svg
from mindgauge.reports.draw.records import DotRow, Dots, Point

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.stress.effects import Effect, Stress
    from mindgauge.reports.compared import MeasureComparison, SystemPlace
    from mindgauge.reports.content import Figure
    from mindgauge.reports.sections import AgreementPanel, Axis, JudgeRow


_DOTS_EACH = 13


def draw_dots(picture: Dots, width: int, *, reader: str = "") -> str:
    """Draw dots as SVG, `width` pixels wide; each leads to its lines of the reader, if its page is named."""
    step = (picture.high - picture.low) / 4
    ticks = [picture.low + step * number for number in range(5)]
    write = percent if picture.share else partial(decimal, signed=picture.signed)
    chart, axis = _dots_rows(picture, width, reader=reader)
    chart.rule(axis, ticks, write, strong=0.0 if picture.signed else None)
    chart.ends(axis, *picture.ends)
    return chart.canvas.svg(width, chart.y + 40)


def draw_figure(figure: Figure, width: int, *, reader: str = "") -> str:
    """Draw a figure as SVG, `width` pixels wide; its dots as in `draw_dots`."""
    rows = [_dots_row(figure, row) for row in figure.rows]
    low, high = figure.low, figure.high
    picture = Dots(
        anchor=figure.anchor, finding=figure.finding, measure=figure.measure, sheet=figure.sheet, low=low, high=high, ends=("", ""), rows=rows
    )  # fmt: skip
    chart, axis = _dots_rows(picture, width, exact=bool(figure.targets), reader=reader)
    if figure.unit == "share":
        chart.rule(axis, svg.QUARTERS, percent)
    else:
        chart.rule(axis, svg.level_ticks(low, high, 8), partial(decimal, digits=0))
    lines = chart.title(axis, svg.axis_title(figure.measure))
    return chart.canvas.svg(width, chart.y + 25 + 15 * lines)


def _dots_row(figure: Figure, name: str) -> DotRow:
    """Put a row's dots in the order of the systems; a system without one says so."""
    dots = {dot.system.number: dot for dot in figure.dots if dot.row == name}
    ns = sorted({dot.n for dot in dots.values()})
    n = [f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])}–{count(ns[-1])}"] if ns else []
    unranked = ["not ranked"] if name in figure.few and len(figure.few) < len(figure.rows) else []
    spots = [
        Point(system, dot.value, dot.low, dot.high, dot.n, dot.missing, opens=dot.opens)
        if dot
        else Point(system, None, None, None)
        for system in figure.systems
        for dot in [dots.get(system.number)]
    ]
    target = (figure.targets[name], None, None) if name in figure.targets else None
    return DotRow(words(name), ", ".join([*n, *unranked]), spots, people=target)


def _dots_rows(
    picture: Dots, width: int, *, exact: bool = False, reader: str = ""
) -> tuple[svg.RowChart, svg.LinearAxis]:
    """Draw the rows; `exact` values need no interval, and are full without one."""
    narrow = width == svg.NARROW
    axis = svg.LinearAxis(picture.low, picture.high, *((20, 300) if narrow else (228, 660)))
    chart = svg.RowChart(40 if narrow else 29, above=narrow)
    for row in picture.rows:
        if row.head:
            chart.head(row.head)
        marks = _DOTS_EACH * len(row.spots)
        top = chart.row(row.label, row.note, marks)
        _behind(chart, axis, row, top, top + marks)
        for number, spot in enumerate(row.spots):
            _spot(chart, axis, spot, top + _DOTS_EACH * (number + 0.5), exact=exact, reader=reader)
    return chart, axis


def _behind(chart: svg.RowChart, axis: svg.LinearAxis, row: DotRow, top: float, bottom: float) -> None:
    """Draw what guessing and what people would give."""
    if row.people is not None:
        value, low, high = row.people
        if low is not None and high is not None:
            chart.canvas.box(axis.at(low), top, axis.at(high) - axis.at(low), bottom - top, svg.GREY)
        chart.canvas.line((axis.at(value), top - 3), (axis.at(value), bottom + 3), svg.INK, thick=2)
    if row.chance is not None:
        chance_x = axis.at(row.chance)
        chart.canvas.line((chance_x, top - 3), (chance_x, bottom + 3), svg.MUTED, thick=1.5, dash="2 3")


def _spot(chart: svg.RowChart, axis: svg.LinearAxis, spot: Point, y: float, *, exact: bool, reader: str) -> None:
    canvas = chart.canvas
    if spot.floor is not None:
        canvas.box(axis.at(-spot.floor), y - 6, axis.at(spot.floor) - axis.at(-spot.floor), 12, svg.GREY)
    if spot.value is None:
        canvas.small(svg.cut(spot.why or "no value", 44), axis.left + 4, y + 4)
        return
    hollow = spot.low is None and not exact
    with canvas.link(f"{reader}{spot.opens}" if reader and spot.opens else ""):
        canvas.estimate(svg.style(spot.system), axis, (spot.value, spot.low, spot.high), y, hollow=hollow)


def draw_paired(contrast: MeasureComparison, width: int) -> str:
    """Draw a contrast as SVG, `width` pixels wide."""
    narrow = width == svg.NARROW
    edge, right, first, last = (14, 176, 206, 276) if narrow else (228, 478, 520, 620)
    values = svg.LinearAxis(contrast.low, contrast.high, edge, right)
    ranks = svg.LinearAxis(1, max(len(contrast.places), 2), first, last)
    ranked = any(place.rank_low is not None for place in contrast.places)
    chart = svg.RowChart(36 if narrow else 26, above=narrow, y=28 if ranked else 6)
    for place in contrast.places:
        _paired_row(chart, place, values, ranks, width)
    if ranked:
        chart.canvas.small(f"possible ranks of {len(contrast.places)}", width, 14, anchor="end")
    if all(place.value is None for place in contrast.places):
        return chart.canvas.svg(width, chart.y)
    if contrast.unit == "share":
        chart.rule(values, (0, 0.5, 1) if narrow else svg.QUARTERS, percent)
    else:
        chart.rule(values, svg.level_ticks(contrast.low, contrast.high, 5), partial(decimal, digits=0))
    lines = chart.title(values, svg.axis_title(contrast.measure))
    return chart.canvas.svg(width, chart.y + 25 + 15 * lines)


def _paired_row(
    chart: svg.RowChart, place: SystemPlace, values: svg.LinearAxis, ranks: svg.LinearAxis, width: int
) -> None:
    y = chart.row(place.label, "", 17) + 8.5
    look, canvas = svg.style(place.system), chart.canvas
    if place.value is not None:
        hollow = place.system is None or place.low is None
        canvas.estimate(look, values, (place.value, place.low, place.high), y, hollow=hollow)
    if place.rank_low is None or place.rank_high is None:
        return
    canvas.line((ranks.left, y), (ranks.right, y), svg.GREY)
    canvas.line((ranks.at(place.rank_low) - 3, y), (ranks.at(place.rank_high) + 3, y), look.shade, thick=6)
    span = f"{place.rank_low}" if place.rank_low == place.rank_high else f"{place.rank_low}–{place.rank_high}"
    canvas.text(span, width, y + 5, anchor="end", shade=svg.INK if place.system else svg.MUTED)


_TOP, _GAP = 22, 24
_RIGHT, _LEFT = "M-6,-5L3,0L-6,5Z", "M6,-5L-3,0L6,5Z"
_STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100)
_TICKS = (-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1)
_SHORTEST = 4
"""Pixels from which on a bias is drawn as an arrow, below as a stroke."""


_Words: TypeAlias = tuple[str, str, int]
_CardRow: TypeAlias = "tuple[JudgeRow, float, float, list[_Words], list[_Words]]"
"""A card's row: its marks from top to bottom, and the lines of words at the left and at the right, each with its shade and size."""


def draw_agreement(panel: AgreementPanel, scales: Axis, width: int) -> str:
    """Draw a panel as SVG, `width` pixels wide."""
    narrow = width == svg.NARROW
    agreement = svg.LinearAxis(scales.low, 1, *((8, 186) if narrow else (142, 364)))
    bias = svg.LinearAxis(-scales.reach, scales.reach, agreement.right + _GAP, agreement.right + _GAP + 100)
    rows, bottom = _agreement_rows(panel, narrow=narrow)
    extents = [(top, end) for _, top, end, *_ in rows] if narrow else [(_TOP, bottom)]
    canvas = svg.Canvas()
    _scales(canvas, scales, (agreement, bias), extents, bottom)
    for row, top, end, *sides in rows:
        y = (top + end) / 2
        _agreement(canvas, agreement, row, y)
        _bias(canvas, bias, row, y)
        for lines, x in zip(sides, (0, bias.right + _GAP), strict=True):
            first = top - svg.LINE * len(lines) + 10 if narrow else y - svg.LINE * (len(lines) - 1) / 2 + 4.5
            for number, (text, shade, size) in enumerate(lines):
                canvas.text(text, x, first + svg.LINE * number, shade=shade, size=size)
    return canvas.svg(width, bottom + 58)


def _agreement_rows(panel: AgreementPanel, *, narrow: bool) -> tuple[list[_CardRow], float]:
    """Put rows under each other: words and marks beside each other or, where it is narrow, words above."""
    rows: list[_CardRow] = []
    y = float(_TOP)
    for row in panel.rows:
        name = words(row.criterion) if panel.judge is not None else row.judge.label
        names = [(line, svg.INK, 13) for line in svg.broken(name, 36 if narrow else 16)]
        verdicts = [
            (line, svg.MUTED if narrow else svg.INK, 13) for line in svg.broken(row.verdict, 40 if narrow else 25)
        ]
        verdicts += [(f"ranking systems: {row.ranking.partition(':')[0]}", svg.MUTED, svg.SMALL)] if row.ranking else []
        if narrow:
            lines = [*names, *verdicts]
            top = y + svg.LINE * len(lines) + 4
            rows.append((row, top, top + 24, lines, []))
            y = top + 38
        else:
            depth = max(34, svg.LINE * max(len(names), len(verdicts)) + 12)
            rows.append((row, y, y + depth, names, verdicts))
            y += depth
    return rows, y


def _scales(
    canvas: svg.Canvas, scales: Axis, axes: tuple[svg.LinearAxis, svg.LinearAxis], extents: Sequence[tuple[float, float]], bottom: float
) -> None:  # fmt: skip
    """Draw what lies behind the marks and what the axes mean: the limits of the rule, and the zone of no bias."""
    agreement, bias = axes
    across = len(extents) == 1
    ticks = [tick for tick in _TICKS if tick >= scales.low]
    if len(ticks) > 5 + across:
        ticks = [tick for tick in ticks if tick % 0.5 == 0]
    step = max((step for step in _STEPS if step <= scales.reach), default=scales.reach)
    for top, end in extents:
        for tick in ticks:
            canvas.line((agreement.at(tick), top), (agreement.at(tick), end))
        for limit in (scales.moderate, scales.good):
            canvas.line((agreement.at(limit), top), (agreement.at(limit), end), svg.MUTED, dash="2 3")
        canvas.box(bias.at(-scales.zone), top, bias.at(scales.zone) - bias.at(-scales.zone), end - top, svg.GREY)
        canvas.line((bias.at(0), top), (bias.at(0), end), svg.MUTED)

    def write(text: str, x: float, y: float, anchor: str = "middle") -> None:
        canvas.small(text, x, y, anchor=anchor)

    for tick in ticks:
        write(f"{tick:g}".replace("-", "−"), agreement.at(tick), bottom + 16)
    for value in (-step, 0, step):
        write(f"{value:+g}".replace("-", "−") if value else "0", bias.at(value), bottom + 16)
    write(_from("validate", scales.moderate), agreement.at(scales.moderate) + 6, _TOP - 6, "end")
    write(_from("good", scales.good), agreement.at(scales.good) - 6, _TOP - 6, "start")
    write("bias", bias.at(0), _TOP - 6)
    write("agreement with people", (agreement.left + agreement.right) / 2, bottom + 35)
    write("harsher", bias.left, bottom + 35, "start")
    write("kinder", bias.right, bottom + 35, "end")
    write(f"in {scales.unit}", bias.at(0), bottom + 51)


def _from(verdict: str, limit: float) -> str:
    return f"{verdict} from {decimal(limit)}".replace("0.", ".")


def _agreement(canvas: svg.Canvas, axis: svg.LinearAxis, row: JudgeRow, y: float) -> None:
    """Draw a judge's agreement with its interval, people's behind it."""
    people, judge = row.ceiling, row.agreement
    if people.value is not None:
        if people.low is not None and people.high is not None:
            canvas.box(axis.at(people.low), y - 9, axis.at(people.high) - axis.at(people.low), 18, svg.GREY)
        canvas.line((axis.at(people.value), y - 9), (axis.at(people.value), y + 9), svg.INK, thick=1.5)
    if judge.value is not None:
        bounds = (judge.value, judge.low, judge.high)
        canvas.estimate(svg.style(row.judge), axis, bounds, y, hollow=not row.firm)


def _bias(canvas: svg.Canvas, axis: svg.LinearAxis, row: JudgeRow, y: float) -> None:
    """Draw a judge's bias as an arrow from 0, its interval behind it; of next to none, a stroke."""
    value, low, high = row.bias.value, row.bias.low, row.bias.high
    if value is None:
        return
    shade, x = svg.style(row.judge).shade, axis.at(value)
    if low is not None and high is not None:
        canvas.box(axis.at(low), y - 5, axis.at(high) - axis.at(low), 10, shade, opacity=0.35)
    canvas.line((axis.at(0), y), (x, y), shade, thick=2)
    if abs(x - axis.at(0)) > _SHORTEST:
        canvas.head(x, y, _RIGHT if value > 0 else _LEFT, shade)
    else:
        canvas.line((x, y - 5), (x, y + 5), shade, thick=2)


_STRESS_EACH, _EDGE = 15, 20
_REACHES = (0.1, 0.2, 0.3, 0.5, 1.0)


def draw(stress: Stress, width: int) -> str:
    """Draw the effects as SVG, `width` pixels wide; those on one comparison stand under its name."""
    rows: dict[str, list[Effect]] = {}
    for effect in stress.effects:
        if effect.value is not None:
            rows.setdefault(effect.contrast, []).append(effect)
    reach = _reach([effect for effects in rows.values() for effect in effects])
    axis = svg.LinearAxis(-reach, reach, _EDGE, width - _EDGE)
    chart = svg.RowChart(width // 7, above=True)
    for name, effects in rows.items():
        high = _STRESS_EACH * len(effects)
        top = chart.row(name, "", high)
        chart.canvas.box(axis.at(-MARGIN), top - 4, axis.at(MARGIN) - axis.at(-MARGIN), high + 8, svg.GREY)
        chart.canvas.line((axis.at(0), top - 4), (axis.at(0), top + high + 4), svg.MUTED)
        for number, effect in enumerate(effects):
            _effect(chart, axis, effect, top + _STRESS_EACH * (number + 0.5), width)
    chart.rule(axis, [reach * share for share in (-1, -0.5, 0, 0.5, 1)], partial(decimal, signed=True))
    chart.ends(axis, "harsher", "kinder")
    chart.title(axis, "share of the scale")
    return chart.canvas.svg(width, chart.y + 40)


def draw_injections(stress: Stress, width: int) -> str:
    """Draw how often the attempts of each kind got the level they wanted, with exact bounds."""
    axis = svg.LinearAxis(0, 1, _EDGE, width - _EDGE)
    chart = svg.RowChart(width // 7, above=True)
    for kind in stress.kinds:
        share = kind.share
        y = (
            chart.row(words(kind.slice.partition("=")[2]), f"{kind.reached} of {kind.n}", _STRESS_EACH)
            + _STRESS_EACH / 2
        )
        if share.value is not None:
            bounds = (share.value, share.low, share.high)
            chart.canvas.estimate(_look(kind.verdict), axis, bounds, y, hollow=kind.verdict == CANNOT_TELL)
    chart.rule(axis, svg.QUARTERS, percent)
    lines = chart.title(axis, "share of attempts that got what they wanted")
    return chart.canvas.svg(width, chart.y + 25 + 15 * lines)


def _reach(effects: Sequence[Effect]) -> float:
    """Return how far the axis goes: as far as the effects, and as the intervals of most."""
    ends = sorted(max(abs(e.low or 0), abs(e.high or 0)) for e in effects)
    far = max([abs(e.value or 0) for e in effects] + [ends[9 * len(ends) // 10] if ends else 0, 2 * MARGIN])
    return next((reach for reach in _REACHES if reach >= far), 1.0)


def _look(verdict: str) -> svg.Style:
    """Return how a verdict looks: a bias has another colour and another shape."""
    return svg.Style(svg.COLOURS[1], svg.SHAPES[3]) if verdict == BIASED else svg.Style(svg.COLOURS[0], svg.SHAPES[0])


def _effect(chart: svg.RowChart, axis: svg.LinearAxis, effect: Effect, y: float, width: int) -> None:
    """Draw an effect; a bias is named on the side where there is room."""
    value = effect.value or 0.0
    bounds = (value, effect.low, effect.high)
    chart.canvas.estimate(_look(effect.verdict), axis, bounds, y, hollow=effect.verdict == CANNOT_TELL)
    if effect.verdict != BIASED:
        return
    name = f"{words(effect.criterion)} {decimal(value, signed=True)}".strip()
    ends = [axis.at(end) for end in bounds if end is not None]
    edge, right = min(ends) - 14, max(ends) + 14
    if right + svg.SMALL_LETTER * len(name) <= width or edge < width - right:
        chart.canvas.text(name, right, y + 4, size=svg.SMALL)
    else:
        chart.canvas.text(name, edge, y + 4, anchor="end", size=svg.SMALL)
