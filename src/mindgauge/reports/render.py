"""The page: templates, style sheet and pictures put together into one file that asks nothing of a network."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.reports import charts, numbers, sheets

if TYPE_CHECKING:
    import jinja2

    from mindgauge.reports.content import Figure, Report

TEMPLATES = Path(__file__).parent / "templates"
_UNIT = re.compile(r"(\d|n) (?=%|\d)")


def page(report: Report, json_name: str) -> str:
    """Write the whole page."""
    from markupsafe import Markup

    def drawn(figure: Figure, width: int) -> Markup:
        return Markup(charts.draw(figure, width))  # noqa: S704 - drawn by us, and its texts are escaped there

    widths = (("wide", charts.WIDE), ("narrow", charts.NARROW))
    pictures = {f.anchor: [(name, drawn(f, width)) for name, width in widths] for f in report.weak.figures}
    style = Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return (
        environment()
        .get_template("report.html.j2")
        .render(r=report, pictures=pictures, style=style, json_name=json_name)
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
    env.filters |= {"typeset": typeset, "shown": sheets.shown, "csv": sheets.data_link, "words": numbers.words}
    env.globals |= {"colour_number": _colour_number, "shape": charts.shape, "shade": shade}
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
