"""Records as pictures: which is drawn by what, wide and narrow, so that the page shows what fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.reports.compared import MeasureComparison
from mindgauge.reports.content import Figure
from mindgauge.reports.draw import (
    agreement,
    calibration,
    curves,
    dots,
    escalation,
    flow,
    outcomes,
    paired,
    radar,
    scatter,
)
from mindgauge.reports.draw.canvas import NARROW, WIDE
from mindgauge.reports.draw.records import Curves, Dots, Outcomes, Radar, Scatter
from mindgauge.reports.sections import Flow
from mindgauge.reports.trust_section import AgreementPanel, CalibrationSection, Escalated

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

_DRAW: dict[type, Callable[..., str]] = {
    CalibrationSection: calibration.draw,
    MeasureComparison: paired.draw,
    Curves: curves.draw,
    Dots: dots.draw,
    Escalated: escalation.draw,
    Figure: dots.draw_figure,
    Flow: flow.draw,
    Outcomes: outcomes.draw,
    AgreementPanel: agreement.draw,
    Radar: radar.draw,
    Scatter: scatter.draw,
}


def drawn(record: Any, *context: Any) -> list[tuple[str, Markup]]:
    """Return a record's picture as SVG by the name of its width; `context` is what else its kind is drawn from."""
    draw = _DRAW[type(record)]
    return both(lambda width: draw(record, *context, width))


def both(draw: Callable[[int], str]) -> list[tuple[str, Markup]]:
    """Return what is drawn wide and narrow, by the names of these widths."""
    from markupsafe import Markup

    return [(name, Markup(draw(width))) for name, width in (("wide", WIDE), ("narrow", NARROW))]  # noqa: S704 - drawn by us, texts are escaped there
