"""The page: templates, style sheet and pictures put together into one file that asks nothing of a network."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import english
from mindgauge.reports import folded, sheets
from mindgauge.reports.draw import canvas, drawing

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

    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return (
        environment().get_template("report.html.j2").render(r=report, style=style, json_name=json_name, folded=folded)
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
    env.globals |= {"colour_number": _colour_number, "shape": canvas.shape, "shade": shade, "most_rows": MOST_ROWS}
    return env


def typeset(text: str) -> str:
    """Keep a number and its unit on one line."""
    return _UNIT.sub("\\1\N{NO-BREAK SPACE}", text)


def _colour_number(system: Any) -> int:
    return int(system.number) % len(canvas.COLOURS)


def shade(n: int, row: list[int]) -> str:
    """Return how dark a cell is: its share of its row, in percent of the darkest."""
    total = sum(row)
    return f"{round(100 * n / total)}" if total else "0"
