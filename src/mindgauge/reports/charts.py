"""Dots and intervals as static SVG, drawn wide and narrow; colours and fonts are the page's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mindgauge.english import words
from mindgauge.rounding import count

if TYPE_CHECKING:
    from mindgauge.reports.content import Figure, System

WIDE, NARROW = 680, 320
INK, MUTED, GREY, PAPER = "#1c2226", "#57616a", "#d8dde1", "#ffffff"
"""The style sheet gives each its shade per theme, as it does with colours."""
# Okabe and Ito's set, which people with colour blindness can tell apart; the style sheet sets each shade per theme.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#8c6d1f")
SHAPES = (
    "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "M-.88,-.88H.88V.88H-.88Z",
    "M0,-1.1L1.05,.85H-1.05Z",
    "M0,-1.25L1.1,0L0,1.25L-1.1,0Z",
    "M0,1.1L1.05,-.85H-1.05Z",
    "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
    "M-.55,-1H.55L1.15,0L.55,1H-.55L-1.15,0Z",
    "M-.4,-1.1L0,-.5L.4,-1.1L1.1,-.4L.5,0L1.1,.4L.4,1.1L0,.5L-.4,1.1L-1.1,.4L-.5,0L-1.1,-.4Z",
)
_LABEL = 14
_PLACE = re.compile(r"\d+\.\d+")
_NOTHING = re.compile(
    r' (?:xmlns(?::xlink)?|version|font-family|role|aria-[a-z]+|pointer-events)="[^"]*"| opacity="1"'
    r'|<path class="(?:back|fore)ground"(?![^>]* (?:fill|stroke)=)[^>]*/>'
)
_LETTER = 0.56
"""A letter's mean width in ems, on the wide side, since the reader's font is not known here."""


def colour(system: System) -> str:
    """Return a system's colour."""
    return COLOURS[system.number % len(COLOURS)]


def shape(system: System) -> str:
    """Return a system's point as a path; beyond eight systems, colours come again with other shapes."""
    return SHAPES[(system.number + system.number // len(COLOURS)) % len(SHAPES)]


def draw(figure: Figure, width: int) -> str:
    """Draw a figure as SVG, `width` pixels wide."""
    import altair as alt
    import vl_convert

    systems = figure.systems
    names = {row: _name(figure, row, width) for row in figure.rows}
    values = [
        {
            "row": names[dot.row], "system": str(dot.system.number), "value": dot.value,
            "low": dot.value if dot.low is None else dot.low, "high": dot.value if dot.high is None else dot.high, "thin": dot.thin and not figure.targets,
        }
        for dot in figure.dots
    ]  # fmt: skip
    order = [str(system.number) for system in systems]
    share = figure.unit == "share"
    scale = alt.Scale(domain=[figure.low, figure.high], nice=False)
    ticks = [0, 0.25, 0.5, 0.75, 1] if share else list(range(int(figure.low), int(figure.high) + 1))
    axis = alt.Axis(
        values=ticks,
        labelExpr="format(datum.value * 100, 'd') + ' %'" if share else "format(datum.value, 'd')",
        title=None,
        orient="bottom",
        domain=False,
        ticks=False,
        labelPadding=8,
    )
    rows = alt.Axis(
        title=None, domain=False, ticks=False, grid=False, labelExpr="split(datum.label, '\\n')", labelLimit=0, labelPadding=12,
        labelLineHeight=16, minExtent=_LETTER * _LABEL * max(len(line) for name in names.values() for line in name.split("\n")) + 12,
    )  # fmt: skip
    y = alt.Y("row:N", sort=list(names.values()), axis=rows, scale=alt.Scale(paddingInner=0.25, paddingOuter=0.15))
    offset = alt.YOffset("system:N", sort=order, scale=alt.Scale(paddingInner=0.2, paddingOuter=0.3))
    colours = alt.Color("system:N", scale=alt.Scale(domain=order, range=[colour(s) for s in systems]), legend=None)
    base = alt.Chart(alt.InlineData(values=values)).encode(y=y, yOffset=offset)
    lines = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", color=colours)
    points = base.mark_point(size=80, filled=True, strokeWidth=2, opacity=1).encode(
        x=alt.X("value:Q", scale=scale, axis=axis),
        stroke=alt.Stroke("system:N", scale=alt.Scale(domain=order, range=[colour(s) for s in systems]), legend=None),
        fill=alt.condition("datum.thin", alt.value(PAPER), colours),
        shape=alt.Shape("system:N", scale=alt.Scale(domain=order, range=[shape(s) for s in systems]), legend=None),
    )
    lines_in_label = max(name.count("\n") + 1 for name in names.values())
    depth = max(34, 15 * len(systems) + 8, 16 * lines_in_label + 12)
    targets = [{"row": names[row], "value": value} for row, value in figure.targets.items()]
    bars = alt.Chart(alt.InlineData(values=targets)).mark_tick(color=INK, thickness=1.5, bandSize=0.7 * depth).encode(
        x=alt.X("value:Q", scale=scale, axis=axis), y=y
    )  # fmt: skip
    chart: Any = (
        alt.layer(*([bars] if targets else []), lines, points)
        .properties(
            width=width,
            height=len(names) * depth,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
            background="transparent",
            padding=4,
        )
        .configure(aria=False, view={"stroke": None}, axis={"labelFontSize": _LABEL, "gridColor": "#dddddd"})
    )
    return slim(str(vl_convert.vegalite_to_svg(chart.to_dict())))


def _name(figure: Figure, row: str, width: int) -> str:
    """Write a row's label with its n; narrow ones in several lines."""
    ns = sorted({dot.n for dot in figure.dots if dot.row == row})
    n = f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])}–{count(ns[-1])}" if ns else ""
    label, few = words(row), ["not ranked"] if row in figure.few and len(figure.few) < len(figure.rows) else []
    if width > NARROW:
        return f"{label}  ({', '.join([n, *few])})"
    return "\n".join([*broken(label, 14), n, *few])


def broken(text: str, most: int) -> list[str]:
    """Break a name into lines of about so many letters: at blanks, or else after the signs that join parts of names."""
    lines = [""]
    for word in re.findall(rf"[^\s/_.#:-]{{1,{most}}}[/_.#:-]*\s*|[/_.#:-]+\s*", text):
        if lines[-1] and len(lines[-1]) + len(word.rstrip()) > most:
            lines.append("")
        lines[-1] += word
    return [line.strip() for line in lines]


def slim(svg: str) -> str:
    """Drop what a page does not need: XML names, fonts, which the style sheet sets, what says nothing, parts of a pixel."""
    return re.sub("<[^>]+>", lambda tag: _PLACE.sub(_rounded, tag[0]), _NOTHING.sub("", svg))


def _rounded(place: re.Match[str]) -> str:
    return f"{float(place[0]):.1f}".removesuffix(".0")
