"""Dialogues as static SVG: a ribbon of turns for each, and how long models take to see a risk."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mindgauge.records.rounding import percent
from mindgauge.reports.draw.canvas import (
    DASHES,
    GREY,
    INK,
    LETTER,
    LINE,
    MUTED,
    QUARTERS,
    SMALL,
    Canvas,
    Plot,
    Style,
    colour,
    cut,
    style,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.reports.dialogue_records import Ribbon, RibbonTurn, Survival, SurvivalLine

RIBBON = 320
_LEFT, _RIGHT, _TOP, _STEP, _TINY = 70, 6, 20, 13, 11
_CROSS = "M-1,-.7L-.7,-1L0,-.3L.7,-1L1,-.7L.3,0L1,.7L.7,1L0,.3L-.7,1L-1,.7L-.3,0Z"
_PUSH = "M-4,-3.5L3,0L-4,3.5Z"


def draw_ribbon(ribbon: Ribbon) -> str:
    """Draw a dialogue: a step for every turn, as high as the person might go, with what was found in the reply below it."""
    canvas = Canvas()
    high = max(len(ribbon.rungs), 1) * _STEP
    floor, cell = _TOP + high, (RIBBON - _LEFT - _RIGHT) / max(ribbon.length, 1)
    look = style(ribbon.system)
    for level, rung in enumerate(ribbon.rungs):
        bold = level >= ribbon.plain
        y = floor - level * _STEP
        canvas.text(cut(rung.replace("_", " "), 10), 0, y - 3, shade=INK if bold else MUTED, size=_TINY)
    for turn in ribbon.turns:
        if turn.came and turn.allowed is not None:
            top = floor - (turn.allowed + 1) * _STEP
            canvas.box(_LEFT + (turn.turn - 1) * cell + 0.5, top, cell - 1, floor - top, GREY)
    if ribbon.rungs:
        edge = floor - ribbon.plain * _STEP
        canvas.line((_LEFT, edge), (RIBBON - _RIGHT, edge), MUTED, dash="2 3")
    canvas.line((_LEFT, floor), (RIBBON - _RIGHT, floor), MUTED)
    _perceived(canvas, ribbon, cell, floor)
    for turn in ribbon.turns:
        _marks(canvas, turn, look, _LEFT + (turn.turn - 0.5) * cell, floor)
    if len(ribbon.turns) < ribbon.length:
        x = _LEFT + len(ribbon.turns) * cell + 2
        canvas.line((x, _TOP - 4), (x, floor), INK, thick=2)
    return canvas.svg(RIBBON, floor + 40)


def _marks(canvas: Canvas, turn: RibbonTurn, look: Style, middle: float, floor: float) -> None:
    """Mark what was found in the reply of a turn, and that the person pushes back there."""
    canvas.text(str(turn.turn), middle, floor + 34, anchor="middle", shade=MUTED, size=_TINY)
    if turn.reaction:
        canvas.head(middle, _TOP - 8, _PUSH, MUTED)
    if turn.recognised:
        canvas.mark(look, middle, floor + 12)
    elif turn.recognised is False:
        canvas.line((middle - 3, floor + 12), (middle + 3, floor + 12), MUTED)
    elif turn.came:
        canvas.text("?", middle, floor + 16, anchor="middle", shade=MUTED, size=_TINY)
    if turn.veto:
        canvas.mark(Style(INK, _CROSS), middle, floor - 9, size=7, stroke=0.1)


def _perceived(canvas: Canvas, ribbon: Ribbon, cell: float, floor: float) -> None:
    points = [
        (_LEFT + (turn.turn - 1 + side) * cell, floor - (turn.perceived + 0.5) * _STEP)
        for turn in ribbon.turns
        if turn.perceived is not None
        for side in (0, 1)
    ]
    if points:
        canvas.polyline(points, INK, thick=1.6)


def draw_key(ribbon: Ribbon, width: int, *, perceived: bool) -> str:
    """Say what the marks of ribbons mean, in lines where there is little room."""
    canvas, look = Canvas(), Style(MUTED, style(ribbon.system).outline)

    def band(x: float, y: float) -> None:
        canvas.box(x, y - 11, 20, 12, GREY)

    def across(x: float, y: float, *, shade: str = INK, dash: str = "", wide: int = 20) -> None:
        canvas.line((x + 10 - wide / 2, y - 5), (x + 10 + wide / 2, y - 5), shade, thick=1.6, dash=dash)

    def point(x: float, y: float, *, of: Style = look, size: float = 5) -> None:
        canvas.mark(of, x + 10, y - 5, size=size, stroke=0.1)

    entries: list[tuple[str, Callable[[float, float], None]]] = [
        *([("what the person may show", band)] if ribbon.rungs and not ribbon.unplanned else []),
        *([("what a reader sees by then", across)] if perceived else []),
        *([("plain risk from here up", partial(across, shade=MUTED, dash="2 3"))] if ribbon.rungs else []),
        ("asks about the risk, or acts", point),
        ("does not", partial(across, shade=MUTED, wide=6)),
        ("not known", lambda x, y: canvas.text("?", x + 10, y, anchor="middle", shade=MUTED, size=_TINY)),
        ("something that must never be said", partial(point, of=Style(INK, _CROSS), size=7)),
        ("the person pushes back", lambda x, y: canvas.head(x + 10, y - 5, _PUSH, MUTED)),
        ("ends early", lambda x, y: canvas.line((x + 10, y - 12), (x + 10, y + 2), INK, thick=2)),
    ]
    return canvas.svg(width, canvas.key(entries, 20, width, 16))


# How long until a risk is recognised: steps, with the numbers at risk below.


_PLOT_LEFT, _PLOT_TOP, _PLOT_HIGH = 48, 30, 220


def draw_survival(picture: Survival, width: int) -> str:
    """Draw curves as SVG, `width` pixels wide, with the numbers of dialogues that go on unrecognised below."""
    canvas = Canvas()
    last = max((len(line.shares) - 1 for line in picture.lines), default=1) or 1
    plot = Plot(_PLOT_LEFT, _PLOT_TOP, width - 16, _PLOT_TOP + _PLOT_HIGH)
    plot.rule(canvas, [], [(tick, percent(tick)) for tick in QUARTERS])
    plot.marks(canvas, [(step / last, str(step)) for step in range(last + 1)])
    plot.title(canvas, "replies since the first plain sign", "share not yet recognised")
    for number, line in enumerate(picture.lines):
        _steps(canvas, plot, line, last, number - (len(picture.lines) - 1) / 2)
    y = plot.bottom + 66
    canvas.small("dialogues that go on unrecognised:", 0, y)
    for line in picture.lines:
        y += LINE + 6
        canvas.line((0, y - 4), (28, y - 4), colour(line.system), thick=2, dash=_dash(line))
        canvas.mark(style(line.system), 14, y - 4, size=4)
        canvas.text(cut(line.system.label, int((width - 40) / LETTER)), 36, y, size=SMALL)
        y += LINE
        for step, n in enumerate(line.at_risk):
            canvas.text(str(n), plot.at(step / last, 0)[0], y, anchor="middle", size=SMALL)
    return canvas.svg(width, y + 10)


def _steps(canvas: Canvas, plot: Plot, line: SurvivalLine, last: int, aside: float) -> None:
    """Draw one curve; lines that lie on each other stand a pixel or two aside."""
    points = []
    for step, share in enumerate(line.shares):
        x, y = plot.at(step / last, share)
        if step:
            points.append((x, plot.at(0, line.shares[step - 1])[1] + 2 * aside))
        points.append((x, y + 2 * aside))
    canvas.polyline(points, colour(line.system), dash=_dash(line))
    for step, share in line.censored:
        x, y = plot.at(step / last, share)
        canvas.line((x, y - 6 + 2 * aside), (x, y + 6 + 2 * aside), colour(line.system), thick=1.5)
    if points:
        canvas.mark(style(line.system), *points[-1], size=4)


def _dash(line: SurvivalLine) -> str:
    return DASHES[line.system.number % len(DASHES)]
