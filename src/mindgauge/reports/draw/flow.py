"""The decision path as static SVG: a rail down the nodes, what ends at each beside it, and how many go on.

It is more a drawn table than a chart: a row for each outcome, its bar on one common scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import words
from mindgauge.records.rounding import count, percent
from mindgauge.reports.draw.canvas import (
    GREY,
    INK,
    LINE,
    MUTED,
    NARROW,
    SHAPES,
    SMALL,
    Canvas,
    LinearAxis,
    Style,
    colour,
    cut,
)
from mindgauge.reports.flows import share_right

if TYPE_CHECKING:
    from mindgauge.analysis.decision_path import DecisionPath, Visited
    from mindgauge.reports.sections import Flow

_RAIL, _TEXT = 11, 30
_UNREAD = "no usable answer"


def draw(flow: Flow, width: int) -> str:
    """Draw a flow as SVG, `width` pixels wide."""
    drawing = _PathDrawing(flow.path, colour(flow.system), narrow=width == NARROW)
    drawing.beginning()
    for node in flow.path.nodes:
        drawing.node(node)
    if flow.path.lost:
        drawing.y += 10
        drawing.outcome(_UNREAD if drawing.narrow else f"{_UNREAD}, step not known", flow.path.lost, None, GREY)
    rail = Canvas()
    rail.line((_RAIL, 20), (_RAIL, drawing.last), MUTED, thick=1.5)
    drawing.canvas.parts[:0] = rail.parts
    return drawing.canvas.svg(width, drawing.y + 14)


class _PathDrawing:
    """Parts of a picture, drawn from the top down; `y` is the line of writing."""

    def __init__(self, path: DecisionPath, fill: str, *, narrow: bool) -> None:
        self.path, self.fill, self.narrow = path, fill, narrow
        self.bars = LinearAxis(0, 1, *((_TEXT, 320) if narrow else (226, 500)))
        self.answers, self.labels = (262, 320) if narrow else (610, 680)
        self.y = self.last = 12.0
        self.canvas = Canvas()

    def beginning(self) -> None:
        """Write the heads of the columns, and how many answers there are."""
        self.canvas.text("answers", self.answers, self.y, shade=MUTED, size=SMALL, anchor="end")
        if self.path.targets:
            self.canvas.text("labels", self.labels, self.y, shade=MUTED, size=SMALL, anchor="end")
        self.y += 20
        self._passed("all", self.path.n, self.path.targets)

    def node(self, node: Visited) -> None:
        """Draw a node: its number, its question, how often it is rightly decided, what ends there, and how many go on."""
        self.y += 34
        self.last = self.y - 5
        self.canvas.mark(Style(INK, SHAPES[0]), _RAIL, self.last, hollow=True, size=9, stroke=0.11)
        self.canvas.text(str(node.number), _RAIL, self.y, size=SMALL, anchor="middle")
        single = len(node.decides) == 1 and not node.otherwise
        question = f"{words(node.decides[0])}?" if single else "Which of these?"
        self.canvas.text(cut(question, 36 if self.narrow else 80), _TEXT, self.y, bold=True)
        if share := share_right(node):
            self.y += 18
            self.canvas.text(share, _TEXT, self.y, shade=MUTED, size=SMALL)
        for outcome in node.outcomes:
            self.outcome(words(outcome.label), outcome.answers, outcome.targets, self.fill)
        if node.unread:
            self.outcome(_UNREAD, node.unread, None, GREY)
        if node.number < len(self.path.nodes):
            following = self.path.nodes[node.number]
            self.y += 28
            self._passed("go on", following.answers, following.targets)

    def outcome(self, label: str, answers: int, targets: int | None, fill: str) -> None:
        """Draw a row: answers as a bar and, as a stroke, where it would end by the labels."""
        self.y += 25
        end = self.canvas.lines(label, _TEXT, self.y, 27) - LINE
        self._counts(answers, targets)
        top = end + 8 if self.narrow else self.y - 9
        long = max(self.bars.at(answers / self.path.n) - self.bars.left, 1.0 if answers else 0.0)
        self.canvas.box(self.bars.left, top, long, 8, fill)
        if targets is not None and self.path.targets:
            x = self.bars.at(targets / self.path.targets)
            self.canvas.line((x, top - 4), (x, top + 12), INK, thick=1.5)
        self.y = end + (16 if self.narrow else 0)

    def _passed(self, label: str, answers: int, targets: int) -> None:
        """Say how many come to the next node, with the head of an arrow on the rail."""
        self.canvas.text(label, _TEXT, self.y, shade=MUTED)
        self._counts(answers, targets)
        tip = self.y + 1
        self.canvas.polyline([(_RAIL - 4, tip - 6), (_RAIL, tip), (_RAIL + 4, tip - 6)], MUTED, thick=1.5)

    def _counts(self, answers: int, targets: int | None) -> None:
        """Write a count of answers, with its share where there is room, and one of labels."""
        share = "" if self.narrow else f" ({percent(answers / self.path.n)})"
        self.canvas.text(f"{count(answers)}{share}", self.answers, self.y, anchor="end")
        if targets is not None and self.path.targets:
            self.canvas.text(count(targets), self.labels, self.y, shade=MUTED, anchor="end")
