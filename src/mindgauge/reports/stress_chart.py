"""The picture of a stress test as static SVG: a row for each comparison, a mark for each criterion, no effect in the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.analysis.stress.effects import MARGIN
from mindgauge.analysis.stress.found import BIASED, CANNOT_TELL
from mindgauge.english import words
from mindgauge.reports.agreement_chart import Column, Line
from mindgauge.reports.charts import COLOURS, GREY, INK, MUTED, PAPER, SHAPES, broken, slim
from mindgauge.reports.stress_phrases import contrast, kinds, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.stress.found import Effect, Stress

_LINE, _MARK, _GAP = 17, 13, 10
_BOTTOM = 46
_REACHES = (0.1, 0.2, 0.3, 0.5, 1.0)
_SIGNED = "(datum.value > 0 ? '+' : datum.value < 0 ? '−' : '') + format(abs(datum.value), '.2~f')"
_LETTERS = 7
"""Pixels that a letter of a row's name takes, at most."""


def draw(found: Stress, width: int) -> str:
    """Draw the effects as SVG, `width` pixels wide; those on one comparison stand under its name."""
    rows: dict[str, list[Effect]] = {}
    for effect in found.effects:
        if effect.value is not None:
            rows.setdefault(contrast(effect), []).append(effect)
    reach = _reach([effect for effects in rows.values() for effect in effects])
    lines, marks, top = _stacked(
        [(name, [_mark(effect, reach) for effect in effects]) for name, effects in rows.items()], width
    )
    column = Column(
        {"domain": [-reach, reach], "nice": False, "clamp": True},
        {"values": [-reach, -reach / 2, 0, reach / 2, reach], "labelExpr": _SIGNED, **_BARE}, width, top,
    )  # fmt: skip
    zone = [{"low": -MARGIN, "high": MARGIN, "zero": 0, "top": 0, "bottom": top}]
    return _drawn(column, [
        column.layer({"type": "rect", "fill": GREY}, zone, x="low", x2="high", y="top", y2="bottom"),
        column.layer({"type": "rule", "stroke": MUTED}, zone, x="zero", y="top", y2="bottom"),
        *_marks(column, marks, lines), column.text("harsher", 0, "left", top + 34), column.text("kinder", width, "right", top + 34),
    ])  # fmt: skip


def draw_injections(found: Stress, width: int) -> str:
    """Draw how often the attempts of each kind got the level they wanted, with exact bounds."""
    rows = []
    for kind in kinds(found):
        name = f"{words(kind.slice.partition('=')[2])}: {kind.reached} of {kind.n}"
        share = kind.share
        marks = [_placed(share.value, share.low, share.high, kind.verdict, "")] if share.value is not None else []
        rows.append((name, marks))
    lines, marks, top = _stacked(rows, width)
    column = Column(
        {"domain": [0, 1], "nice": False}, {"values": [0, 0.25, 0.5, 0.75, 1], "format": ".0%", **_BARE}, width, top
    )
    return _drawn(column, [
        *_marks(column, marks, lines), column.text("share of attempts that got what they wanted", width / 2, "center", top + 34),
    ])  # fmt: skip


_BARE = {"title": None, "domain": False, "ticks": False, "labelPadding": 8, "labelFlush": False, "grid": False}


def _reach(effects: Sequence[Effect]) -> float:
    """Return how far the axis goes: as far as the effects, and as the intervals of most."""
    ends = sorted(max(abs(e.low or 0), abs(e.high or 0)) for e in effects)
    far = max([abs(e.value or 0) for e in effects] + [ends[9 * len(ends) // 10] if ends else 0, 2 * MARGIN])
    return next((reach for reach in _REACHES if reach >= far), 1.0)


def _mark(effect: Effect, reach: float) -> dict[str, Any]:
    said = f"{words(effect.criterion)} {signed(effect.value)}".strip() if effect.verdict == BIASED else ""
    low, high = (None if end is None else min(max(end, -reach), reach) for end in (effect.low, effect.high))
    return {**_placed(effect.value, low, high, effect.verdict, said), "room": (high or 0) <= reach / 2}


def _placed(value: float | None, low: float | None, high: float | None, verdict: str, said: str) -> dict[str, Any]:
    shade = COLOURS[1] if verdict == BIASED else COLOURS[0]
    return {
        "value": value, "low": value if low is None else low, "high": value if high is None else high, "shade": shade, "said": said,
        "inside": PAPER if verdict == CANNOT_TELL else shade, "shape": SHAPES[3 if verdict == BIASED else 0],
    }  # fmt: skip


def _stacked(
    rows: Sequence[tuple[str, list[dict[str, Any]]]], width: int
) -> tuple[list[Line], list[dict[str, Any]], float]:
    """Put names and, below each, its marks under each other; return them with their heights, and the height of all."""
    lines, placed, top = [], [], 0.0
    for name, marks in rows:
        for part in broken(name, width // _LETTERS):
            lines.append(Line(top + _LINE / 2, part, INK, 13))
            top += _LINE
        for mark in marks:
            placed.append({**mark, "y": top + _MARK / 2})
            top += _MARK
        top += _GAP
    return lines, placed, top


def _marks(column: Column, marks: Sequence[dict[str, Any]], lines: Sequence[Line]) -> list[dict[str, Any]]:
    said = [mark for mark in marks if mark["said"]]
    right = {"type": "text", "align": "left", "baseline": "middle", "dx": 8, "fontSize": 12, "fill": INK}
    left = right | {"align": "right", "dx": -8}
    told = [
        column.layer(right, [m for m in said if m["room"]], x="high", y="y", text="said"),
        column.layer(left, [m for m in said if not m["room"]], x="low", y="y", text="said"),
    ]
    for layer in told:
        layer["encoding"]["text"] = {"field": "said"}
    return [
        column.layer({"type": "rule", "strokeWidth": 2}, marks, x="low", x2="high", y="y", color="shade"),
        column.layer({"type": "point", "size": 55, "filled": True, "strokeWidth": 2, "opacity": 1}, marks,
                     x="value", y="y", stroke="shade", fill="inside", shape="shape"),
        *(layer for layer in told if layer["data"]["values"]), column.lines(lines, 0),
    ]  # fmt: skip


def _drawn(column: Column, layers: Sequence[dict[str, Any]]) -> str:
    import vl_convert

    spec = {
        **column.layered(layers), "background": "transparent", "autosize": "none",
        "padding": {"left": 14, "top": 4, "right": 14, "bottom": _BOTTOM},
        "config": {"aria": False, "view": {"stroke": None}, "axis": {"labelFontSize": 12}},
    }  # fmt: skip
    return slim(str(vl_convert.vegalite_to_svg(spec)))
