"""The decision path as static SVG: a rail down the nodes, what ends at each beside it, and how many go on.

It is written by hand, since it is more a drawn table than a chart: a row for each outcome, its bar on one common scale.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.english import words
from mindgauge.reports.charts import GREY, INK, MUTED, NARROW, PAPER, colour
from mindgauge.reports.flows import share_right
from mindgauge.rounding import count, percent

if TYPE_CHECKING:
    from mindgauge.analysis.decision_path import Visited
    from mindgauge.reports.sections import Flow

_RAIL, _TEXT = 11, 30
_SIZE, _SMALL = 14, 12
_UNREAD = "no usable answer"


class Layout(NamedTuple):
    """Where columns stand, in pixels: bars from `bar` to `end`, under the words of their row if `under`; right ends of counts."""

    bar: int
    end: int
    answers: int
    labels: int
    under: bool


_WIDE, _NARROW = Layout(226, 500, 610, 680, under=False), Layout(_TEXT, 320, 262, 320, under=True)


def draw(flow: Flow, width: int) -> str:
    """Draw a flow as SVG, `width` pixels wide."""
    drawing = Drawing(flow, _NARROW if width == NARROW else _WIDE)
    drawing.beginning()
    for node in flow.path.nodes:
        drawing.node(node)
    if flow.path.lost:
        drawing.y += 10
        drawing.outcome(_UNREAD if width == NARROW else f"{_UNREAD}, step not known", flow.path.lost, None, GREY)
    return drawing.svg(width)


class Drawing:
    """Parts of a picture, drawn from the top down; `y` is the line of writing."""

    def __init__(self, flow: Flow, layout: Layout) -> None:
        self.path, self.layout, self.fill = flow.path, layout, colour(flow.system)
        self.y = 12.0
        self.last = self.y
        self.parts: list[str] = []

    def beginning(self) -> None:
        """Write the heads of the columns, and how many answers there are."""
        self.text("answers", self.layout.answers, shade=MUTED, size=_SMALL, anchor="end")
        if self.path.targets:
            self.text("labels", self.layout.labels, shade=MUTED, size=_SMALL, anchor="end")
        self.y += 20
        self.text("all", _TEXT, shade=MUTED)
        self.counts(self.path.n, self.path.targets)
        self._arrow()

    def node(self, node: Visited) -> None:
        """Draw a node: its number, its question, how often it is rightly decided, what ends there, and how many go on."""
        self.y += 34
        self.last = self.y - 5
        self.parts.append(f'<circle cx="{_RAIL}" cy="{self.last:g}" r="9" fill="{PAPER}" stroke="{INK}"/>')
        self.text(str(node.number), _RAIL, size=_SMALL, anchor="middle")
        single = len(node.decides) == 1 and not node.otherwise
        self.text(f"{words(node.decides[0])}?" if single else "Which of these?", _TEXT, bold=True)
        if share := share_right(node):
            self.y += 18
            self.text(share, _TEXT, shade=MUTED, size=_SMALL)
        for outcome in node.outcomes:
            self.outcome(words(outcome.label), outcome.answers, outcome.targets, self.fill)
        if node.unread:
            self.outcome(_UNREAD, node.unread, None, GREY)
        if node.number < len(self.path.nodes):
            following = self.path.nodes[node.number]
            self.y += 28
            self.text("go on", _TEXT, shade=MUTED)
            self.counts(following.answers, following.targets)
            self._arrow()

    def outcome(self, said: str, answers: int, targets: int | None, fill: str) -> None:
        """Draw a row: answers as a bar and, as a stroke, where it would end by the labels."""
        self.y += 25
        self.text(said, _TEXT)
        self.counts(answers, targets)
        span, top = self.layout.end - self.layout.bar, self.y + 8 if self.layout.under else self.y - 9
        long = max(answers / self.path.n * span, 1.0 if answers else 0.0)
        self.parts.append(f'<rect x="{self.layout.bar}" y="{top:g}" width="{long:.1f}" height="8" fill="{fill}"/>')
        if targets is not None and self.path.targets:
            x = self.layout.bar + targets / self.path.targets * span
            self.parts.append(_line(x, top - 4, x, top + 12, INK))
        self.y += 16 if self.layout.under else 0

    def counts(self, answers: int, targets: int | None) -> None:
        """Write a count of answers, with its share where there is room, and one of labels."""
        share = "" if self.layout.under else f" ({percent(answers / self.path.n)})"
        self.text(f"{count(answers)}{share}", self.layout.answers, anchor="end")
        if targets is not None and self.path.targets:
            self.text(count(targets), self.layout.labels, shade=MUTED, anchor="end")

    def text(
        self, said: str, x: float, *, shade: str = INK, size: int = _SIZE, anchor: str = "start", bold: bool = False
    ) -> None:
        """Write words on the line."""
        weight = ' font-weight="600"' if bold else ""
        place = f'x="{x:g}" y="{self.y:g}" font-size="{size}" text-anchor="{anchor}"'
        self.parts.append(f'<text {place} fill="{shade}"{weight}>{escape(said)}</text>')

    def _arrow(self) -> None:
        """Draw the head of an arrow on the rail."""
        tip = self.y + 1
        corner = f"M{_RAIL - 4},{tip - 6:g}L{_RAIL},{tip:g}L{_RAIL + 4},{tip - 6:g}"
        self.parts.append(f'<path d="{corner}" fill="none" stroke="{MUTED}" stroke-width="1.5"/>')

    def svg(self, width: int) -> str:
        """Return the picture, with the rail behind it."""
        rail = _line(_RAIL, 20, _RAIL, self.last, MUTED)
        frame = f'width="{width}" height="{self.y + 14:g}" viewBox="0 0 {width} {self.y + 14:g}"'
        return f"<svg {frame}>{rail}{''.join(self.parts)}</svg>"


def _line(x1: float, y1: float, x2: float, y2: float, shade: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{shade}" stroke-width="1.5"/>'
