"""Records as pictures: which is drawn by what, wide and narrow, so that the page shows what fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindgauge.reports.compared import MeasureComparison
from mindgauge.reports.content import Figure
from mindgauge.reports.dialogue_records import Survival
from mindgauge.reports.draw import control, dialogues, dot_rows, plots, radar, shares
from mindgauge.reports.draw.canvas import NARROW, WIDE
from mindgauge.reports.draw.records import ControlChart, Curves, Dots, Outcomes, Radar, Scatter
from mindgauge.reports.sections import AgreementPanel, CalibrationSection, Escalated, Flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

    from mindgauge.reports.dialogue_records import Ribbon

_DRAW: dict[type, Callable[..., str]] = {
    CalibrationSection: plots.draw_calibration,
    MeasureComparison: dot_rows.draw_paired,
    ControlChart: control.draw,
    Curves: plots.draw_curves,
    Dots: dot_rows.draw_dots,
    Escalated: plots.draw_escalation,
    Figure: dot_rows.draw_figure,
    Flow: shares.draw_flow,
    Outcomes: shares.draw_outcomes,
    AgreementPanel: dot_rows.draw_agreement,
    Radar: radar.draw,
    Scatter: plots.draw_scatter,
    Survival: dialogues.draw_survival,
}


_LINKED: dict[type, Callable[..., str]] = {Figure: dot_rows.draw_figure, Dots: dot_rows.draw_dots}
"""What is drawn with links into a reader, where there is one."""


def drawn(record: Any, *context: Any, reader: str = "") -> list[tuple[str, Markup]]:
    """Return a record's picture as SVG by the name of its width.

    Args:
        record: what is drawn.
        context: what else its kind is drawn from.
        reader: the page of the reader that dots lead to; empty where there is none.
    """
    if reader and type(record) in _LINKED:
        linked = _LINKED[type(record)]
        return both(lambda width: linked(record, width, reader=reader))
    draw = _DRAW[type(record)]
    return both(lambda width: draw(record, *context, width))


def ribbon(record: Ribbon) -> Markup:
    """Return a dialogue's ribbon as SVG, which is as wide on every page."""
    from markupsafe import Markup

    return Markup(dialogues.draw_ribbon(record))  # noqa: S704 - drawn by us, texts are escaped there


def ribbon_key(record: Ribbon, perceived: bool) -> list[tuple[str, Markup]]:
    """Return what the marks of ribbons mean."""
    return both(lambda width: dialogues.draw_key(record, width, perceived=perceived))


def both(draw: Callable[[int], str]) -> list[tuple[str, Markup]]:
    """Return what is drawn wide and narrow, by the names of these widths."""
    from markupsafe import Markup

    return [(name, Markup(draw(width))) for name, width in (("wide", WIDE), ("narrow", NARROW))]  # noqa: S704 - drawn by us, texts are escaped there
