"""Records as pictures: which is drawn by what, wide and narrow, so that the page shows what fits.

Shares of outcomes are more a drawn table than a chart: a row for each outcome, its bar on one common scale.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mindgauge.records.english import words
from mindgauge.records.rounding import count, percent, write
from mindgauge.reports.closed_answers import share_right
from mindgauge.reports.compared import MeasureComparison
from mindgauge.reports.content import Figure
from mindgauge.reports.draw import canvas as svg
from mindgauge.reports.draw import dot_rows, plots
from mindgauge.reports.draw.records import ControlChart, Curves, Dots, Outcomes, Radar, Scatter, Survival
from mindgauge.reports.sections import AgreementPanel, CalibrationSection, Escalated, Flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from mindgauge.analysis.closed_answers import DecisionPath, Visited
    from mindgauge.reports.draw.records import Bar, Ribbon, RibbonTurn, SurvivalLine


RIBBON = 320
_STEPS_LEFT, _RIGHT, _STEPS_TOP, _STEP, _TINY = 70, 6, 20, 13, 11
_CROSS = "M-1,-.7L-.7,-1L0,-.3L.7,-1L1,-.7L.3,0L1,.7L.7,1L0,.3L-.7,1L-1,.7L-.3,0Z"
_PUSH = "M-4,-3.5L3,0L-4,3.5Z"


def draw_ribbon(ribbon: Ribbon) -> str:
    """Draw a dialogue: a step for every turn, as high as the person might go, with what was found in the reply below it."""
    canvas = svg.Canvas()
    high = max(len(ribbon.rungs), 1) * _STEP
    floor, cell = _STEPS_TOP + high, (RIBBON - _STEPS_LEFT - _RIGHT) / max(ribbon.length, 1)
    look = svg.style(ribbon.system)
    for level, rung in enumerate(ribbon.rungs):
        bold = level >= ribbon.plain
        y = floor - level * _STEP
        canvas.text(svg.cut(rung.replace("_", " "), 10), 0, y - 3, shade=svg.INK if bold else svg.MUTED, size=_TINY)
    for turn in ribbon.turns:
        if turn.came and turn.allowed is not None:
            top = floor - (turn.allowed + 1) * _STEP
            canvas.box(_STEPS_LEFT + (turn.turn - 1) * cell + 0.5, top, cell - 1, floor - top, svg.GREY)
    if ribbon.rungs:
        edge = floor - ribbon.plain * _STEP
        canvas.line((_STEPS_LEFT, edge), (RIBBON - _RIGHT, edge), svg.MUTED, dash="2 3")
    canvas.line((_STEPS_LEFT, floor), (RIBBON - _RIGHT, floor), svg.MUTED)
    _perceived(canvas, ribbon, cell, floor)
    for turn in ribbon.turns:
        _marks(canvas, turn, look, _STEPS_LEFT + (turn.turn - 0.5) * cell, floor)
    if len(ribbon.turns) < ribbon.length:
        x = _STEPS_LEFT + len(ribbon.turns) * cell + 2
        canvas.line((x, _STEPS_TOP - 4), (x, floor), svg.INK, thick=2)
    return canvas.svg(RIBBON, floor + 40)


def _marks(canvas: svg.Canvas, turn: RibbonTurn, look: svg.Style, middle: float, floor: float) -> None:
    """Mark what was found in the reply of a turn, and that the person pushes back there."""
    canvas.text(str(turn.turn), middle, floor + 34, anchor="middle", shade=svg.MUTED, size=_TINY)
    if turn.reaction:
        canvas.head(middle, _STEPS_TOP - 8, _PUSH, svg.MUTED)
    if turn.recognised:
        canvas.mark(look, middle, floor + 12)
    elif turn.recognised is False:
        canvas.line((middle - 3, floor + 12), (middle + 3, floor + 12), svg.MUTED)
    elif turn.came:
        canvas.text("?", middle, floor + 16, anchor="middle", shade=svg.MUTED, size=_TINY)
    if turn.veto:
        canvas.mark(svg.Style(svg.INK, _CROSS), middle, floor - 9, size=7, stroke=0.1)


def _perceived(canvas: svg.Canvas, ribbon: Ribbon, cell: float, floor: float) -> None:
    points = [
        (_STEPS_LEFT + (turn.turn - 1 + side) * cell, floor - (turn.perceived + 0.5) * _STEP)
        for turn in ribbon.turns
        if turn.perceived is not None
        for side in (0, 1)
    ]
    if points:
        canvas.polyline(points, svg.INK, thick=1.6)


def draw_key(ribbon: Ribbon, width: int, *, perceived: bool) -> str:
    """Say what the marks of ribbons mean, in lines where there is little room."""
    canvas, look = svg.Canvas(), svg.Style(svg.MUTED, svg.style(ribbon.system).outline)

    def band(x: float, y: float) -> None:
        canvas.box(x, y - 11, 20, 12, svg.GREY)

    def across(x: float, y: float, *, shade: str = svg.INK, dash: str = "", wide: int = 20) -> None:
        canvas.line((x + 10 - wide / 2, y - 5), (x + 10 + wide / 2, y - 5), shade, thick=1.6, dash=dash)

    def point(x: float, y: float, *, of: svg.Style = look, size: float = 5) -> None:
        canvas.mark(of, x + 10, y - 5, size=size, stroke=0.1)

    entries: list[tuple[str, Callable[[float, float], None]]] = [
        *([("what the person may show", band)] if ribbon.rungs and not ribbon.unplanned else []),
        *([("what a reader sees by then", across)] if perceived else []),
        *([("plain risk from here up", partial(across, shade=svg.MUTED, dash="2 3"))] if ribbon.rungs else []),
        ("asks about the risk, or acts", point),
        ("does not", partial(across, shade=svg.MUTED, wide=6)),
        ("not known", lambda x, y: canvas.text("?", x + 10, y, anchor="middle", shade=svg.MUTED, size=_TINY)),
        ("something that must never be said", partial(point, of=svg.Style(svg.INK, _CROSS), size=7)),
        ("the person pushes back", lambda x, y: canvas.head(x + 10, y - 5, _PUSH, svg.MUTED)),
        ("ends early", lambda x, y: canvas.line((x + 10, y - 12), (x + 10, y + 2), svg.INK, thick=2)),
    ]
    return canvas.svg(width, canvas.key(entries, 20, width, 16))


_PLOT_LEFT, _PLOT_TOP, _PLOT_HIGH = 48, 30, 220


def draw_survival(picture: Survival, width: int) -> str:
    """Draw curves as SVG, `width` pixels wide, with the numbers of dialogues that go on unrecognised below."""
    canvas = svg.Canvas()
    last = max((len(line.shares) - 1 for line in picture.lines), default=1) or 1
    plot = svg.Plot(_PLOT_LEFT, _PLOT_TOP, width - 16, _PLOT_TOP + _PLOT_HIGH)
    plot.rule(canvas, [], [(tick, percent(tick)) for tick in svg.QUARTERS])
    plot.marks(canvas, [(step / last, str(step)) for step in range(last + 1)])
    plot.title(canvas, "replies since the first plain sign", "share not yet recognised")
    for number, line in enumerate(picture.lines):
        _steps(canvas, plot, line, last, number - (len(picture.lines) - 1) / 2)
    y = plot.bottom + 66
    canvas.small("dialogues that go on unrecognised:", 0, y)
    for line in picture.lines:
        y += svg.LINE + 6
        canvas.line((0, y - 4), (28, y - 4), svg.colour(line.system), thick=2, dash=_dash(line))
        canvas.mark(svg.style(line.system), 14, y - 4, size=4)
        canvas.text(svg.cut(line.system.label, int((width - 40) / svg.LETTER)), 36, y, size=svg.SMALL)
        y += svg.LINE
        for step, n in enumerate(line.at_risk):
            canvas.text(str(n), plot.at(step / last, 0)[0], y, anchor="middle", size=svg.SMALL)
    return canvas.svg(width, y + 10)


def _steps(canvas: svg.Canvas, plot: svg.Plot, line: SurvivalLine, last: int, aside: float) -> None:
    """Draw one curve; lines that lie on each other stand a pixel or two aside."""
    points = []
    for step, share in enumerate(line.shares):
        x, y = plot.at(step / last, share)
        if step:
            points.append((x, plot.at(0, line.shares[step - 1])[1] + 2 * aside))
        points.append((x, y + 2 * aside))
    canvas.polyline(points, svg.colour(line.system), dash=_dash(line))
    for step, share in line.censored:
        x, y = plot.at(step / last, share)
        canvas.line((x, y - 6 + 2 * aside), (x, y + 6 + 2 * aside), svg.colour(line.system), thick=1.5)
    if points:
        canvas.mark(svg.style(line.system), *points[-1], size=4)


def _dash(line: SurvivalLine) -> str:
    return svg.DASHES[line.system.number % len(svg.DASHES)]


_THICK, _EACH, _GAP = 12, 17, 12
_SHADES = (1.0, 0.4, 0.0)
"""How strongly the system's colour fills the bar of each outcome, the worst first; the last is empty."""


def draw_outcomes(picture: Outcomes, width: int) -> str:
    """Draw bars as SVG, `width` pixels wide."""
    narrow = width == svg.NARROW
    axis = svg.LinearAxis(0, 1, *((0, 272) if narrow else (200, 630)))
    letters = 40 if narrow else 26
    canvas = svg.Canvas()
    entries = [(words(outcome), partial(_sample, canvas, number)) for number, outcome in enumerate(picture.outcomes)]
    y = canvas.key(entries, 18, width, 14.0) + 8
    for method in dict.fromkeys(bar.method for bar in picture.bars):
        bars = [bar for bar in picture.bars if bar.method == method]
        high = svg.LINE * len(svg.broken(words(method), letters))
        deep = _EACH * len(bars)
        top = y + high + 2 if narrow else y
        canvas.lines(words(method), 0, y + 13 if narrow else y + max(deep - high, 0) / 2 + 12.5, letters)
        for number, bar in enumerate(bars):
            _bar(canvas, bar, axis, top + _EACH * number)
        y = max(top + deep, y + high) + _GAP
    for tick, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        canvas.small(percent(tick), axis.at(tick), y + 8, anchor=anchor)
    canvas.small("share of replies", axis.at(0.5), y + 26, anchor="middle")
    return canvas.svg(width, y + 34)


def _bar(canvas: svg.Canvas, bar: Bar, axis: svg.LinearAxis, y: float) -> None:
    """Draw one bar, with the share of its worst outcome in words."""
    before = 0.0
    for number, share in enumerate(bar.shares):
        edge = axis.at(before)
        before += share
        if share:
            _fill(canvas, number, svg.colour(bar.system), edge, y, axis.at(before) - edge)
    canvas.box(axis.left, y, axis.right - axis.left, _THICK, "none", stroke=svg.colour(bar.system))
    canvas.text(percent(bar.shares[0]), axis.right + 8, y + 11, size=svg.SMALL)


def _fill(canvas: svg.Canvas, outcome: int, shade: str, x: float, y: float, width: float) -> None:
    strong = _SHADES[outcome] if outcome < len(_SHADES) else 1.0
    fill = svg.GREY if outcome >= len(_SHADES) else shade if strong else svg.PAPER
    canvas.box(x, y, width, _THICK, fill, opacity=strong or 1)


def _sample(canvas: svg.Canvas, outcome: int, x: float, y: float) -> None:
    _fill(canvas, outcome, svg.INK, x, y - 10, 18)
    if outcome < len(_SHADES):
        canvas.box(x, y - 10, 18, _THICK, "none", stroke=svg.INK)


_RAIL, _TEXT = 11, 30
_UNREAD = "no usable answer"


def draw_flow(flow: Flow, width: int) -> str:
    """Draw a flow as SVG, `width` pixels wide."""
    drawing = _PathDrawing(flow.path, svg.colour(flow.system), narrow=width == svg.NARROW)
    drawing.beginning()
    for node in flow.path.nodes:
        drawing.node(node)
    if flow.path.lost:
        drawing.y += 10
        drawing.outcome(_UNREAD if drawing.narrow else f"{_UNREAD}, step not known", flow.path.lost, None, svg.GREY)
    rail = svg.Canvas()
    rail.line((_RAIL, 20), (_RAIL, drawing.last), svg.MUTED, thick=1.5)
    drawing.canvas.parts[:0] = rail.parts
    return drawing.canvas.svg(width, drawing.y + 14)


class _PathDrawing:
    """Parts of a picture, drawn from the top down; `y` is the line of writing."""

    def __init__(self, path: DecisionPath, fill: str, *, narrow: bool) -> None:
        self.path, self.fill, self.narrow = path, fill, narrow
        self.bars = svg.LinearAxis(0, 1, *((_TEXT, 320) if narrow else (226, 500)))
        self.answers, self.labels = (262, 320) if narrow else (610, 680)
        self.y = self.last = 12.0
        self.canvas = svg.Canvas()

    def beginning(self) -> None:
        """Write the heads of the columns, and how many answers there are."""
        self.canvas.small("answers", self.answers, self.y, anchor="end")
        if self.path.targets:
            self.canvas.small("labels", self.labels, self.y, anchor="end")
        self.y += 20
        self._passed("all", self.path.n, self.path.targets)

    def node(self, node: Visited) -> None:
        """Draw a node: its number, its question, how often it is rightly decided, what ends there, and how many go on."""
        self.y += 34
        self.last = self.y - 5
        self.canvas.mark(svg.Style(svg.INK, svg.SHAPES[0]), _RAIL, self.last, hollow=True, size=9, stroke=0.11)
        self.canvas.text(str(node.number), _RAIL, self.y, size=svg.SMALL, anchor="middle")
        single = len(node.decides) == 1 and not node.otherwise
        question = f"{words(node.decides[0])}?" if single else "Which of these?"
        self.canvas.text(svg.cut(question, 36 if self.narrow else 80), _TEXT, self.y, bold=True)
        if share := share_right(node):
            self.y += 18
            self.canvas.small(share, _TEXT, self.y)
        for outcome in node.outcomes:
            self.outcome(words(outcome.label), outcome.answers, outcome.targets, self.fill)
        if node.unread:
            self.outcome(_UNREAD, node.unread, None, svg.GREY)
        if node.number < len(self.path.nodes):
            following = self.path.nodes[node.number]
            self.y += 28
            self._passed("go on", following.answers, following.targets)

    def outcome(self, label: str, answers: int, targets: int | None, fill: str) -> None:
        """Draw a row: answers as a bar and, as a stroke, where it would end by the labels."""
        self.y += 25
        end = self.canvas.lines(label, _TEXT, self.y, 27) - svg.LINE
        self._counts(answers, targets)
        top = end + 8 if self.narrow else self.y - 9
        long = max(self.bars.at(answers / self.path.n) - self.bars.left, 1.0 if answers else 0.0)
        self.canvas.box(self.bars.left, top, long, 8, fill)
        if targets is not None and self.path.targets:
            x = self.bars.at(targets / self.path.targets)
            self.canvas.line((x, top - 4), (x, top + 12), svg.INK, thick=1.5)
        self.y = end + (16 if self.narrow else 0)

    def _passed(self, label: str, answers: int, targets: int) -> None:
        """Say how many come to the next node, with the head of an arrow on the rail."""
        self.canvas.text(label, _TEXT, self.y, shade=svg.MUTED)
        self._counts(answers, targets)
        tip = self.y + 1
        self.canvas.polyline([(_RAIL - 4, tip - 6), (_RAIL, tip), (_RAIL + 4, tip - 6)], svg.MUTED, thick=1.5)

    def _counts(self, answers: int, targets: int | None) -> None:
        """Write a count of answers, with its share where there is room, and one of labels."""
        share = "" if self.narrow else f" ({percent(answers / self.path.n)})"
        self.canvas.text(f"{count(answers)}{share}", self.answers, self.y, anchor="end")
        if targets is not None and self.path.targets:
            self.canvas.text(count(targets), self.labels, self.y, shade=svg.MUTED, anchor="end")


_LEFT, _TOP, _HIGH = 52, 30, 190
_MOST_MARKS = {True: 5, False: 10}
"""Numbers of looks that are written below a narrow and a wide chart."""
_LOOK, _ALARM = svg.Style(svg.COLOURS[0], svg.SHAPES[0]), svg.Style(svg.COLOURS[0], svg.SHAPES[3])


def draw_control(chart: ControlChart, width: int) -> str:
    """Draw a chart as SVG, `width` pixels wide."""
    canvas = svg.Canvas()
    plot = svg.Plot(_LEFT, _TOP, width - 16, _TOP + _HIGH)
    low, high = chart.ends
    up = [(share, write(low + share * (high - low), chart.unit)) for share in (0.0, 0.5, 1.0)]
    plot.rule(canvas, [], up)
    last = max(len(chart.points) - 1, 1)
    step = -(-len(chart.points) // _MOST_MARKS[width == svg.NARROW])
    plot.marks(
        canvas, [(place / last, str(point.number)) for place, point in enumerate(chart.points) if place % step == 0]
    )
    plot.title(canvas, "look", chart.measure)

    def height(value: float) -> float:
        return (min(max(value, low), high) - low) / (high - low)

    start, end = plot.at(0, height(chart.limit)), plot.at(1, height(chart.limit))
    canvas.line(start, end, svg.INK, thick=1.5, dash="9 4")
    canvas.text(f"limit {write(chart.limit, chart.unit)}", end[0], end[1] - 6, anchor="end", size=svg.SMALL)
    path = []
    for place, point in enumerate(chart.points):
        if point.value is None:
            continue
        x, y = plot.at(place / last, height(point.value))
        path.append((x, y))
        if point.low is not None and point.high is not None:
            canvas.line((x, plot.at(0, height(point.low))[1]), (x, plot.at(0, height(point.high))[1]), svg.MUTED)
        canvas.mark(_ALARM if point.alarm else _LOOK, x, y, size=8 if point.alarm else 4, hollow=point.doubtful)
        if point.alarm and not (place and chart.points[place - 1].alarm):
            canvas.text("alarm", x, y - 14, anchor="middle", size=svg.SMALL, bold=True)
    if len(path) > 1:
        canvas.polyline(path, svg.COLOURS[0], thick=1)
    return canvas.svg(width, plot.bottom + 48)


_DRAW: dict[type, Callable[..., str]] = {
    CalibrationSection: plots.draw_calibration,
    MeasureComparison: dot_rows.draw_paired,
    ControlChart: draw_control,
    Curves: plots.draw_curves,
    Dots: dot_rows.draw_dots,
    Escalated: plots.draw_escalation,
    Figure: dot_rows.draw_figure,
    Flow: draw_flow,
    Outcomes: draw_outcomes,
    AgreementPanel: dot_rows.draw_agreement,
    Radar: plots.draw,
    Scatter: plots.draw_scatter,
    Survival: draw_survival,
}


_LINKED: dict[type, Callable[..., str]] = {Figure: dot_rows.draw_figure, Dots: dot_rows.draw_dots}
"""What is drawn with links into a reader, where there is one."""


def drawn(record: Any, *context: Any, reader: str = "") -> list[tuple[str, Markup]]:
    """Return a record's picture as SVG by the name of its width.

    Args:
        record: what is drawn.
        context: what else its kind is drawn from.
        reader: the page of the reader that dots lead to; empty where there is none.
    """
    if reader and type(record) in _LINKED:
        linked = _LINKED[type(record)]
        return both(lambda width: linked(record, width, reader=reader))
    draw = _DRAW[type(record)]
    return both(lambda width: draw(record, *context, width))


def ribbon(record: Ribbon) -> Markup:
    """Return a dialogue's ribbon as SVG, which is as wide on every page."""
    from markupsafe import Markup

    return Markup(draw_ribbon(record))  # noqa: S704 - drawn by us, texts are escaped there


def ribbon_key(record: Ribbon, perceived: bool) -> list[tuple[str, Markup]]:
    """Return what the marks of ribbons mean."""
    return both(lambda width: draw_key(record, width, perceived=perceived))


def both(draw: Callable[[int], str]) -> list[tuple[str, Markup]]:
    """Return what is drawn wide and narrow, by the names of these widths."""
    from markupsafe import Markup

    return [(name, Markup(draw(width))) for name, width in (("wide", svg.WIDE), ("narrow", svg.NARROW))]  # noqa: S704 - drawn by us, texts are escaped there
