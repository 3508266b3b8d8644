"""The picture of agreement as static SVG: a row for each card, agreement and bias side by side, the verdict in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.english import words
from mindgauge.records.rounding import decimal
from mindgauge.reports.draw.canvas import GREY, INK, LINE, MUTED, NARROW, SMALL, Canvas, LinearAxis, broken, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.trust_section import AgreementPanel, Axis, JudgeRow

_TOP, _GAP = 22, 24
_RIGHT, _LEFT = "M-6,-5L3,0L-6,5Z", "M6,-5L-3,0L6,5Z"
_STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100)
_TICKS = (-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1)
_SHORTEST = 4
"""Pixels from which on a bias is drawn as an arrow, below as a stroke."""


class _CardWords(NamedTuple):
    """A line of words beside the marks, or over them."""

    text: str
    shade: str
    size: int


class _CardRow(NamedTuple):
    """A card's row: its marks between `top` and `bottom`, with the words at the left and at the right."""

    row: JudgeRow
    top: float
    bottom: float
    left: list[_CardWords]
    right: list[_CardWords]

    @property
    def y(self) -> float:
        """The middle of the marks."""
        return (self.top + self.bottom) / 2


def draw(panel: AgreementPanel, scales: Axis, width: int) -> str:
    """Draw a panel as SVG, `width` pixels wide."""
    narrow = width == NARROW
    agreement = LinearAxis(scales.low, 1, *((8, 186) if narrow else (142, 364)))
    bias = LinearAxis(-scales.reach, scales.reach, agreement.right + _GAP, agreement.right + _GAP + 100)
    rows, bottom = _rows(panel, narrow=narrow)
    extents = [(row.top, row.bottom) for row in rows] if narrow else [(_TOP, bottom)]
    canvas = Canvas()
    _scales(canvas, scales, (agreement, bias), extents, bottom)
    for row in rows:
        _agreement(canvas, agreement, row)
        _bias(canvas, bias, row)
        for lines, x in ((row.left, 0), (row.right, bias.right + _GAP)):
            first = row.top - LINE * len(lines) + 10 if narrow else row.y - LINE * (len(lines) - 1) / 2 + 4.5
            for number, line in enumerate(lines):
                canvas.text(line.text, x, first + LINE * number, shade=line.shade, size=line.size)
    return canvas.svg(width, bottom + 58)


def _rows(panel: AgreementPanel, *, narrow: bool) -> tuple[list[_CardRow], float]:
    """Put rows under each other: words and marks beside each other or, where it is narrow, words above."""
    rows, y = [], float(_TOP)
    for row in panel.rows:
        name = words(row.criterion) if panel.judge is not None else row.judge.label
        names = [_CardWords(line, INK, 13) for line in broken(name, 36 if narrow else 16)]
        verdicts = [
            _CardWords(line, MUTED if narrow else INK, 13) for line in broken(row.verdict, 40 if narrow else 25)
        ]
        if row.ranking:
            verdicts.append(_CardWords(f"ranking systems: {row.ranking.partition(':')[0]}", MUTED, SMALL))
        if narrow:
            lines = [*names, *verdicts]
            top = y + LINE * len(lines) + 4
            rows.append(_CardRow(row, top, top + 24, lines, []))
            y = top + 38
        else:
            depth = max(34, LINE * max(len(names), len(verdicts)) + 12)
            rows.append(_CardRow(row, y, y + depth, names, verdicts))
            y += depth
    return rows, y


def _scales(
    canvas: Canvas, scales: Axis, axes: tuple[LinearAxis, LinearAxis], extents: Sequence[tuple[float, float]], bottom: float
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
            canvas.line((agreement.at(limit), top), (agreement.at(limit), end), MUTED, dash="2 3")
        canvas.box(bias.at(-scales.zone), top, bias.at(scales.zone) - bias.at(-scales.zone), end - top, GREY)
        canvas.line((bias.at(0), top), (bias.at(0), end), MUTED)

    def write(text: str, x: float, y: float, anchor: str = "middle") -> None:
        canvas.text(text, x, y, anchor=anchor, shade=MUTED, size=SMALL)

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


def _agreement(canvas: Canvas, axis: LinearAxis, card: _CardRow) -> None:
    """Draw a judge's agreement with its interval, people's behind it."""
    people, judge = card.row.ceiling, card.row.agreement
    if people.value is not None:
        if people.low is not None and people.high is not None:
            canvas.box(axis.at(people.low), card.y - 9, axis.at(people.high) - axis.at(people.low), 18, GREY)
        canvas.line((axis.at(people.value), card.y - 9), (axis.at(people.value), card.y + 9), INK, thick=1.5)
    if judge.value is not None:
        bounds = (judge.value, judge.low, judge.high)
        canvas.estimate(style(card.row.judge), axis, bounds, card.y, hollow=not card.row.firm)


def _bias(canvas: Canvas, axis: LinearAxis, card: _CardRow) -> None:
    """Draw a judge's bias as an arrow from 0, its interval behind it; of next to none, a stroke."""
    value, low, high = card.row.bias.value, card.row.bias.low, card.row.bias.high
    if value is None:
        return
    shade, x, y = style(card.row.judge).shade, axis.at(value), card.y
    if low is not None and high is not None:
        canvas.box(axis.at(low), y - 5, axis.at(high) - axis.at(low), 10, shade, opacity=0.35)
    canvas.line((axis.at(0), y), (x, y), shade, thick=2)
    if abs(x - axis.at(0)) > _SHORTEST:
        canvas.head(x, y, _RIGHT if value > 0 else _LEFT, shade)
    else:
        canvas.line((x, y - 5), (x, y + 5), shade, thick=2)
