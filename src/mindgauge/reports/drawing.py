"""Records as pictures: which is drawn by what, wide and narrow, so that the page shows what fits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mindgauge.reports import paired_chart
from mindgauge.reports.charts import NARROW, WIDE
from mindgauge.reports.compared_section import Contrast
from mindgauge.reports.profile import curves, dots, outcomes, radar, scatter
from mindgauge.reports.profile.picture import Curves, Dots, Outcomes, Radar, Scatter

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

_DRAW: dict[type, Callable[[Any, int], str]] = {
    Contrast: paired_chart.draw,
    Curves: curves.draw,
    Dots: dots.draw,
    Outcomes: outcomes.draw,
    Radar: radar.draw,
    Scatter: scatter.draw,
}


def drawn(record: Any) -> list[tuple[str, Markup]]:
    """Return a record's picture as SVG by the name of its width."""
    return both(partial(_DRAW[type(record)], record))


def both(draw: Callable[[int], str]) -> list[tuple[str, Markup]]:
    """Return what is drawn wide and narrow, by the names of these widths."""
    from markupsafe import Markup

    return [(name, Markup(draw(width))) for name, width in (("wide", WIDE), ("narrow", NARROW))]  # noqa: S704 - drawn by us, texts are escaped there
