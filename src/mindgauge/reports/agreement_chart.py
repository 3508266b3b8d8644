"""The picture of agreement as static SVG: a row for each card, agreement and bias side by side, the verdict in words.

It is written as Vega-Lite itself: what stands where follows from the words of each row, in pixels, and is no scale's choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.english import words
from mindgauge.reports.charts import GREY, INK, MUTED, NARROW, PAPER, broken, colour, shape, slim
from mindgauge.rounding import decimal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.reports.trust_section import Axis, Panel, Row

_TOP, _BOTTOM = 22, 40
_ABOVE, _BELOW = 10, 33
_LINE = 17
_RIGHT, _LEFT = "M-.6,-1L1,0L-.6,1Z", "M.6,-1L-1,0L.6,1Z"
_STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 25, 50, 100)
_SIGNED = "(datum.value > 0 ? '+' : datum.value < 0 ? '−' : '') + format(abs(datum.value), '~g')"


class Line(NamedTuple):
    """A line of words, `y` pixels from the top."""

    y: float
    text: str
    shade: str
    size: int


class Place(NamedTuple):
    """Where a row stands: its marks between `top` and `bottom`, words at the left, words at the right."""

    top: float
    bottom: float
    left: list[Line]
    right: list[Line]

    @property
    def y(self) -> float:
        """The middle of the marks."""
        return (self.top + self.bottom) / 2


class Layout(NamedTuple):
    """Widths of the columns for names (0: names and verdicts stand above the marks), agreement and bias, and their gaps."""

    names: int
    agreement: int
    bias: int
    gap: int


_WIDE, _NARROW = Layout(118, 222, 104, 24), Layout(0, 192, 104, 24)


def draw(panel: Panel, axis: Axis, width: int) -> str:
    """Draw a panel as SVG, `width` pixels wide."""
    import vl_convert

    layout = _NARROW if width == NARROW else _WIDE
    places, height = _places(panel, layout)
    names = [_names(places, height, layout)] if layout.names else []
    spec = {
        "hconcat": [*names, _agreement(panel, axis, places, height, layout), _bias(panel, axis, places, height, layout)],
        "spacing": layout.gap, "bounds": "flush", "background": "transparent", "autosize": "none",
        "padding": {"left": 0, "top": _TOP, "right": 0, "bottom": _BOTTOM},
        "config": {"aria": False, "view": {"stroke": None}, "axis": {"labelFontSize": 12, "gridColor": "#dddddd"}},
    }  # fmt: skip
    vega = vl_convert.vegalite_to_vega(spec) | {"width": width, "height": height}
    return slim(str(vl_convert.vega_to_svg(vega)))


def _places(panel: Panel, layout: Layout) -> tuple[list[Place], float]:
    """Put rows under each other; return where each stands and the height of all."""
    places, top = [], 0.0
    for row in panel.rows:
        name = words(row.criterion) if panel.judge is not None else row.judge.label
        place, depth = (_wide if layout.names else _narrow)(row, name, top)
        places.append(place)
        top += depth
    return places, top


def _verdicts(row: Row, shade: str) -> list[tuple[str, str, int]]:
    ranking = [(f"ranking systems: {row.ranking.partition(':')[0]}", MUTED, 12)] if row.ranking else []
    return [(row.verdict, shade, 13), *ranking]


def _wide(row: Row, name: str, top: float) -> tuple[Place, float]:
    """Put name, marks and verdicts beside each other."""
    left, right = [(line, INK, 13) for line in broken(name, 16)], _verdicts(row, INK)
    depth = max(34, _LINE * max(len(left), len(right)) + 12)

    def lines(said: Sequence[tuple[str, str, int]]) -> list[Line]:
        first = top + depth / 2 - _LINE * (len(said) - 1) / 2
        return [Line(first + _LINE * i, *one) for i, one in enumerate(said)]

    return Place(top, top + depth, lines(left), lines(right)), depth


def _narrow(row: Row, name: str, top: float) -> tuple[Place, float]:
    """Put name and verdicts above the marks."""
    said = [*((line, INK, 13) for line in broken(name, 36)), *_verdicts(row, MUTED)]
    lines = [Line(top + 10 + _LINE * i, *one) for i, one in enumerate(said)]
    marks = top + _LINE * len(said) + 4
    return Place(marks, marks + 24, lines, []), marks + 38 - top


class Column(NamedTuple):
    """A column of the picture: its own scale and axis across, pixels from the top down."""

    scale: dict[str, Any]
    axis: dict[str, Any]
    width: int
    height: float

    def layer(self, mark: dict[str, Any], values: Sequence[Mapping[str, object]], **fields: str) -> dict[str, Any]:
        """Draw marks: x, x2, y and y2 are fields of `values`; any other channel takes its field's values as they are."""
        down = {"type": "quantitative", "scale": {"domain": [0, self.height], "range": [0, self.height]}, "axis": None}
        across = {"type": "quantitative", "scale": self.scale, "axis": self.axis}
        known: dict[str, dict[str, Any]] = {"x": across, "y": down, "x2": {}, "y2": {}}
        given: dict[str, Any] = {"type": "nominal", "scale": None}
        encoding = {channel: {"field": field} | known.get(channel, given) for channel, field in fields.items()}
        return {"data": {"values": list(values)}, "mark": mark, "encoding": encoding}

    def text(self, said: str, x: float, align: str, y: float) -> dict[str, Any]:
        """Write a word at a place in pixels."""
        mark = {"type": "text", "text": said, "align": align, "baseline": "middle", "fontSize": 12, "fill": MUTED}
        return {"data": {"values": [{}]}, "mark": mark, "encoding": {"x": {"value": x}, "y": {"value": y}}}

    def lines(self, lines: Sequence[Line], x: float) -> dict[str, Any]:
        """Write lines of words that begin at `x` pixels."""
        mark = {"type": "text", "align": "left", "baseline": "middle"}
        layer = self.layer(mark, [line._asdict() for line in lines], y="y", text="text", color="shade", size="size")
        layer["encoding"] |= {"x": {"value": x}, "text": {"field": "text"}}
        return layer

    def layered(self, layers: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Put layers over each other."""
        return {"layer": list(layers), "width": self.width, "height": self.height}


def _names(places: Sequence[Place], height: float, layout: Layout) -> dict[str, Any]:
    """Write the column of names and, from there, the verdicts at the far end."""
    column = Column({}, {}, layout.names, height)
    far = layout.names + layout.agreement + layout.bias + 3 * layout.gap
    left, right = [line for place in places for line in place.left], [line for place in places for line in place.right]
    return column.layered([column.lines(left, 0), column.lines(right, far)])


def _stretches(places: Sequence[Place], height: float, layout: Layout) -> list[dict[str, float]]:
    """Return where lines may run down: all the way, or around the marks where words stand above them."""
    if layout.names:
        return [{"top": 0, "bottom": height}]
    return [{"top": place.top, "bottom": place.bottom} for place in places]


def _agreement(panel: Panel, axis: Axis, places: Sequence[Place], height: float, layout: Layout) -> dict[str, Any]:
    """Draw each judge's agreement with its interval, people's behind it, and the limits of the rule."""
    ticks = [tick for tick in (-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1) if tick >= axis.low]
    if len(ticks) > (6 if layout.names else 5):
        ticks = [tick for tick in ticks if tick % 0.5 == 0]
    column = Column(
        {"domain": [axis.low, 1], "nice": False, "clamp": True},
        {"values": ticks, "format": ".2~f", "grid": bool(layout.names), **_BARE},
        layout.agreement, height,
    )  # fmt: skip
    rows = list(zip(panel.rows, places, strict=True))
    people = [
        {"value": row.ceiling.value, "low": row.ceiling.low, "high": row.ceiling.high, "top": place.y - 9, "bottom": place.y + 9}
        for row, place in rows if row.ceiling.value is not None
    ]  # fmt: skip
    judges = [
        {"value": row.agreement.value, "low": row.agreement.low, "high": row.agreement.high, "y": place.y, "shape": shape(row.judge),
         "shade": colour(row.judge), "inside": colour(row.judge) if row.firm else PAPER}
        for row, place in rows if row.agreement.value is not None
    ]  # fmt: skip
    limits = [
        {"at": at, **stretch} for stretch in _stretches(places, height, layout) for at in (axis.moderate, axis.good)
    ]
    at = [(limit - axis.low) / (1 - axis.low) * layout.agreement for limit in (axis.moderate, axis.good)]
    return column.layered([
        column.layer({"type": "rect", "fill": GREY}, _bounded(people), x="low", x2="high", y="top", y2="bottom"),
        column.layer({"type": "rule", "stroke": INK, "strokeWidth": 1.5}, people, x="value", y="top", y2="bottom"),
        column.layer({"type": "rule", "stroke": MUTED, "strokeDash": [2, 3]}, limits, x="at", y="top", y2="bottom"),
        column.layer({"type": "rule", "strokeWidth": 2}, _bounded(judges), x="low", x2="high", y="y", color="shade"),
        column.layer({"type": "point", "size": 80, "filled": True, "strokeWidth": 2, "opacity": 1}, judges,
                     x="value", y="y", stroke="shade", fill="inside", shape="shape"),
        column.text(_from("validate", axis.moderate), at[0] + 6, "right", -_ABOVE),
        column.text(_from("good", axis.good), at[1] - 6, "left", -_ABOVE),
        column.text("agreement with people", layout.agreement / 2, "center", height + _BELOW),
        *([] if layout.names else [column.lines([line for place in places for line in place.left], 0)]),
    ])  # fmt: skip


_BARE = {"title": None, "domain": False, "ticks": False, "labelPadding": 8, "labelFlush": False}


def _from(word: str, limit: float) -> str:
    return f"{word} from {decimal(limit)}".replace("0.", ".")


def _bounded(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [value for value in values if value["low"] is not None]


def _bias(panel: Panel, axis: Axis, places: Sequence[Place], height: float, layout: Layout) -> dict[str, Any]:
    """Draw bias as an arrow from 0, its interval behind it, on a zone in which it is as good as none."""
    step = max((step for step in _STEPS if step <= axis.reach), default=axis.reach)
    column = Column(
        {"domain": [-axis.reach, axis.reach], "nice": False},
        {"values": [-step, 0, step], "labelExpr": _SIGNED, "grid": False, **_BARE}, layout.bias, height,
    )  # fmt: skip
    visible = 4 * 2 * axis.reach / layout.bias
    values: list[dict[str, Any]] = [
        {"zero": 0, "value": bias, "low": row.bias.low, "high": row.bias.high, "y": place.y, "top": place.y - 5, "bottom": place.y + 5,
         "shade": colour(row.judge), "head": _RIGHT if bias > 0 else _LEFT, "long": abs(bias) > visible}
        for row, place in zip(panel.rows, places, strict=True) if (bias := row.bias.value) is not None
    ]  # fmt: skip
    long, short = [v for v in values if v["long"]], [v for v in values if not v["long"]]
    zone = [
        {"low": -axis.zone, "high": axis.zone, "zero": 0, **stretch} for stretch in _stretches(places, height, layout)
    ]
    return column.layered([
        column.layer({"type": "rect", "fill": GREY}, zone, x="low", x2="high", y="top", y2="bottom"),
        column.layer({"type": "rule", "stroke": MUTED}, zone, x="zero", y="top", y2="bottom"),
        column.layer({"type": "rect", "opacity": 0.35}, _bounded(values), x="low", x2="high", y="top", y2="bottom", fill="shade"),
        column.layer({"type": "rule", "strokeWidth": 2}, values, x="zero", x2="value", y="y", color="shade"),
        column.layer({"type": "point", "size": 45, "filled": True, "opacity": 1}, long, x="value", y="y", fill="shade", shape="head"),
        column.layer({"type": "rule", "strokeWidth": 2}, short, x="value", y="top", y2="bottom", color="shade"),
        column.text("bias", layout.bias / 2, "center", -_ABOVE),
        column.text("harsher", 0, "left", height + _BELOW),
        column.text("kinder", layout.bias, "right", height + _BELOW),
    ])  # fmt: skip
