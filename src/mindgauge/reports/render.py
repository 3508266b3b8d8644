"""The page: templates, style sheet and pictures put together into one file that asks nothing of a network."""

from __future__ import annotations

import functools
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import english
from mindgauge.reports import (
    agreement_chart,
    calibration_chart,
    charts,
    drawing,
    escalation_chart,
    flow_chart,
    folded,
    sheets,
)

if TYPE_CHECKING:
    import jinja2

    from mindgauge.reports.sections import Report

TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS = 250
"""Rows of a table that the page shows; the CSV holds all."""
_UNIT = re.compile(r"(\d|n) (?=%|\d)")


def page(report: Report, json_name: str) -> str:
    """Write the whole page."""
    from markupsafe import Markup

    figures = [*report.weak.figures, *(f for test in report.trust.entry for f in test.figures)]
    pictures = {f.anchor: drawing.both(partial(charts.draw, f)) for f in figures}
    for agreement in report.trust.agreement:
        for panel in agreement.panels:
            pictures[panel.anchor] = drawing.both(partial(agreement_chart.draw, panel, agreement.axis))
    pictures |= {flow.anchor: drawing.both(partial(flow_chart.draw, flow)) for flow in report.weak.flows}
    pictures |= {c.anchor: drawing.both(partial(calibration_chart.draw, c)) for c in report.trust.calibration}
    pictures |= {e.anchor: drawing.both(partial(escalation_chart.draw, e)) for e in report.trust.escalated}
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return (
        environment()
        .get_template("report.html.j2")
        .render(r=report, pictures=pictures, style=style, json_name=json_name, folded=folded)
    )


@functools.cache
def environment() -> jinja2.Environment:
    """Return the templates' environment: everything is escaped, and a misspelt name is an error."""
    import jinja2

    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "drawn": drawing.drawn,
        "typeset": typeset,
        "written": sheets.written,
        "csv": sheets.data_link,
        "words": english.words,
        "sentence": english.sentence,
        "ended": english.ended,
    }
    env.tests["long"] = sheets.is_long
    env.globals |= {"colour_number": _colour_number, "shape": charts.shape, "shade": shade, "most_rows": MOST_ROWS}
    return env


def typeset(text: str) -> str:
    """Keep a number and its unit on one line."""
    return _UNIT.sub("\\1\N{NO-BREAK SPACE}", text)


def _colour_number(system: Any) -> int:
    return int(system.number) % len(charts.COLOURS)


def shade(n: int, row: list[int]) -> str:
    """Return how dark a cell is: its share of its row, in percent of the darkest."""
    total = sum(row)
    return f"{round(100 * n / total)}" if total else "0"
