"""The pictures of a stress test as static SVG: a row for each comparison, a mark for each criterion, no effect in the middle."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.analysis.stress.effects import MARGIN
from mindgauge.analysis.stress.result import BIASED, CANNOT_TELL
from mindgauge.records.english import words
from mindgauge.records.rounding import decimal, percent
from mindgauge.reports.draw.canvas import (
    COLOURS,
    GREY,
    MUTED,
    QUARTERS,
    SHAPES,
    SMALL,
    SMALL_LETTER,
    LinearAxis,
    RowChart,
    Style,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.stress.result import Effect, Stress

_EACH, _EDGE = 15, 20
_REACHES = (0.1, 0.2, 0.3, 0.5, 1.0)


def draw(stress: Stress, width: int) -> str:
    """Draw the effects as SVG, `width` pixels wide; those on one comparison stand under its name."""
    rows: dict[str, list[Effect]] = {}
    for effect in stress.effects:
        if effect.value is not None:
            rows.setdefault(effect.contrast, []).append(effect)
    reach = _reach([effect for effects in rows.values() for effect in effects])
    axis = LinearAxis(-reach, reach, _EDGE, width - _EDGE)
    chart = RowChart(width // 7, above=True)
    for name, effects in rows.items():
        high = _EACH * len(effects)
        top = chart.row(name, "", high)
        chart.canvas.box(axis.at(-MARGIN), top - 4, axis.at(MARGIN) - axis.at(-MARGIN), high + 8, GREY)
        chart.canvas.line((axis.at(0), top - 4), (axis.at(0), top + high + 4), MUTED)
        for number, effect in enumerate(effects):
            _effect(chart, axis, effect, top + _EACH * (number + 0.5), width)
    chart.rule(axis, [reach * share for share in (-1, -0.5, 0, 0.5, 1)], partial(decimal, signed=True))
    chart.ends(axis, "harsher", "kinder")
    chart.title(axis, "share of the scale")
    return chart.canvas.svg(width, chart.y + 40)


def draw_injections(stress: Stress, width: int) -> str:
    """Draw how often the attempts of each kind got the level they wanted, with exact bounds."""
    axis = LinearAxis(0, 1, _EDGE, width - _EDGE)
    chart = RowChart(width // 7, above=True)
    for kind in stress.kinds:
        share = kind.share
        y = chart.row(words(kind.slice.partition("=")[2]), f"{kind.reached} of {kind.n}", _EACH) + _EACH / 2
        if share.value is not None:
            bounds = (share.value, share.low, share.high)
            chart.canvas.estimate(_look(kind.verdict), axis, bounds, y, hollow=kind.verdict == CANNOT_TELL)
    chart.rule(axis, QUARTERS, percent)
    lines = chart.title(axis, "share of attempts that got what they wanted")
    return chart.canvas.svg(width, chart.y + 25 + 15 * lines)


def _reach(effects: Sequence[Effect]) -> float:
    """Return how far the axis goes: as far as the effects, and as the intervals of most."""
    ends = sorted(max(abs(e.low or 0), abs(e.high or 0)) for e in effects)
    far = max([abs(e.value or 0) for e in effects] + [ends[9 * len(ends) // 10] if ends else 0, 2 * MARGIN])
    return next((reach for reach in _REACHES if reach >= far), 1.0)


def _look(verdict: str) -> Style:
    """Return how a verdict looks: a bias has another colour and another shape."""
    return Style(COLOURS[1], SHAPES[3]) if verdict == BIASED else Style(COLOURS[0], SHAPES[0])


def _effect(chart: RowChart, axis: LinearAxis, effect: Effect, y: float, width: int) -> None:
    """Draw an effect; a bias is named on the side where there is room."""
    value = effect.value or 0.0
    bounds = (value, effect.low, effect.high)
    chart.canvas.estimate(_look(effect.verdict), axis, bounds, y, hollow=effect.verdict == CANNOT_TELL)
    if effect.verdict != BIASED:
        return
    name = f"{words(effect.criterion)} {decimal(value, signed=True)}".strip()
    ends = [axis.at(end) for end in bounds if end is not None]
    left, right = min(ends) - 14, max(ends) + 14
    if right + SMALL_LETTER * len(name) <= width or left < width - right:
        chart.canvas.text(name, right, y + 4, size=SMALL)
    else:
        chart.canvas.text(name, left, y + 4, anchor="end", size=SMALL)
