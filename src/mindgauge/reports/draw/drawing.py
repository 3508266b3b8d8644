"""Records as pictures: which is drawn by what, wide and narrow, so that the page shows what fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.reports.compared import MeasureComparison
from mindgauge.reports.content import Figure
from mindgauge.reports.draw import plots, radar, rows, shares
from mindgauge.reports.draw.canvas import NARROW, WIDE
from mindgauge.reports.draw.records import Curves, Dots, Outcomes, Radar, Scatter
from mindgauge.reports.sections import AgreementPanel, CalibrationSection, Escalated, Flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

_DRAW: dict[type, Callable[..., str]] = {
    CalibrationSection: plots.draw_calibration,
    MeasureComparison: rows.draw_paired,
    Curves: plots.draw_curves,
    Dots: rows.draw_dots,
    Escalated: plots.draw_escalation,
    Figure: rows.draw_figure,
    Flow: shares.draw_flow,
    Outcomes: shares.draw_outcomes,
    AgreementPanel: rows.draw_agreement,
    Radar: radar.draw,
    Scatter: plots.draw_scatter,
}


def drawn(record: Any, *context: Any) -> list[tuple[str, Markup]]:
    """Return a record's picture as SVG by the name of its width; `context` is what else its kind is drawn from."""
    draw = _DRAW[type(record)]
    return both(lambda width: draw(record, *context, width))


def both(draw: Callable[[int], str]) -> list[tuple[str, Markup]]:
    """Return what is drawn wide and narrow, by the names of these widths."""
    from markupsafe import Markup

    return [(name, Markup(draw(width))) for name, width in (("wide", WIDE), ("narrow", NARROW))]  # noqa: S704 - drawn by us, texts are escaped there
