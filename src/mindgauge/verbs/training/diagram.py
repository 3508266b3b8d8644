"""The reliability diagram: how often a classifier is right when it says that it is so and so sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindgauge.classifiers.calibration import Calibration
    from mindgauge.verbs.training.result import Trained

SIZE = 260
_INK, _BLUE, _GREY = "#1c2226", "#0072b2", "#8a939a"


def draw(found: Trained) -> str:
    """Draw it as SVG, without and with the temperature."""
    import altair as alt
    import vl_convert

    sides = {"As trained": f"{found.tested}, before", "With the temperature": found.tested}
    charts = [
        _side(f"{title}: {found.tested}, n {found.calibration[part].n}", found.calibration[part])
        for title, part in sides.items()
    ]
    chart = alt.hconcat(*charts, background="#ffffff").configure_view(stroke=None)
    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def _side(title: str, calibration: Calibration) -> Any:
    """Draw one diagram: the dashed line is the ideal, bars are 95 % intervals, numbers are how many dialogues."""
    import altair as alt

    rows = [
        {"sure": b.confidence, "right": b.accuracy, "low": b.accuracy_low, "high": b.accuracy_high, "n": b.n}
        for b in calibration.bins
        if b.n
    ]
    axis = alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1], domain=False, ticks=False, gridColor="#e3e6e9")
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("sure:Q", title="How sure it is", scale=scale, axis=axis)
    y = alt.Y("right:Q", title="How often it is right", scale=scale, axis=axis)
    points = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    ideal = alt.Chart(alt.InlineData(values=[{"sure": 0, "right": 0}, {"sure": 1, "right": 1}])).encode(x=x, y=y)
    return alt.layer(
        ideal.mark_line(color=_GREY, strokeDash=[4, 4], strokeWidth=1),
        points.mark_rule(color=_BLUE, strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
        points.mark_circle(color=_BLUE, size=50, opacity=1),
        points.mark_text(baseline="top", dy=4, fontSize=10, color=_INK).encode(y=alt.Y("low:Q"), text="n:Q"),
    ).properties(width=SIZE, height=SIZE, title=title)
