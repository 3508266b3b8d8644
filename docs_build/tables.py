"""Markdown tables and fences whose cells stand for themselves, whatever is written in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.records.text import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MADE = "<!-- Made by `make docs` from the code; what is changed here is lost. -->"
"""How a generated page begins."""
_CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def prose(content: str) -> str:
    """Write a docstring's text, in which code stays code and nothing else is markup."""
    parts, place = [], 0
    for match in _CODE.finditer(content):
        parts += [text(content[place : match.start()]), code(match[2])]
        place = match.end()
    blanks = [part for part in (*parts, text(content[place:])) if part]
    return _joined(blanks)


def _joined(parts: Sequence[str]) -> str:
    """Join with a blank, but none before what closes and none behind what opens."""
    line = ""
    for part in parts:
        apart = line and part[0] not in ",.;:)!?'’-/" and line[-1] not in "(/“-"
        line += f" {part}" if apart else part
    return line


def code(content: object) -> str:
    """Write code for a table's cell: a bar keeps its place behind a backslash."""
    line = " ".join(str(content).split())
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line[:1] == "`" or line[-1:] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}".replace("|", "\\|") if line else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table of cells that are Markdown already."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fence(content: str, language: str = "text") -> str:
    """Write a text as it stands, in a fence that nothing in it closes."""
    ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", content)), default=0))
    return f"{ticks}{language}\n{content.rstrip()}\n{ticks}"


def page(title: str, *parts: str) -> str:
    """Put a generated page together."""
    return "\n\n".join((MADE, f"# {title}", *(part for part in parts if part))) + "\n"
