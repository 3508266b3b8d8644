"""Tables of text: columns as wide as their widest cell, and folded where they do not fit side by side.

The layout is Rich's, whose own tables take longer to load and to draw than a small run takes to score.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

BOLD, NORMAL = "\033[1m", "\033[0m"
_WORD = re.compile(r"(?:(?<!\s)\s++)?+\S+\s*")


NARROWEST = 8
"""The width below which no column is folded so that another stays whole."""


def lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    rigid: Collection[int] = (),
    styled: bool = False,
) -> Iterator[str]:
    """Yield the lines of a table.

    Args:
        columns: their names.
        rows: of cells; neither these nor the names hold line ends.
        width: of the page, in columns of the terminal.
        rigid: columns that are folded only where the others cannot be.
        styled: whether the names are bold.
    """
    last = len(columns) - 1
    sides = [(int(place > 0), int(place < last)) for place in range(len(columns))]
    gaps = [left + right for left, right in sides]
    cells = [[cell.expandtabs() for cell in row] for row in (columns, *rows)]
    natural = [max(map(measure, column)) + gap for column, gap in zip(zip(*cells, strict=True), gaps, strict=True)]
    if sum(natural) > width:
        for place in rigid:  # their names may be folded
            values = max((measure(row[place]) for row in cells[1:]), default=0)
            natural[place] = max(values, *map(measure, cells[0][place].split()), 1) + gaps[place]
    widths = _with_whole([max(1, min(column, width)) for column in natural], width, rigid)
    for place, row in enumerate(cells):
        folded = [_folded(cell, column - gap) for cell, column, gap in zip(row, widths, gaps, strict=True)]
        height = max(map(len, folded))
        # Names stand at the foot of their row, all else at its head.
        columns_of_parts = [
            ["" for _ in range(height - len(parts))] + parts
            if place == 0
            else parts + ["" for _ in range(height - len(parts))]
            for parts in folded
        ]
        for parts in zip(*columns_of_parts, strict=True):
            yield "".join(
                _cell(" " * left + part, column, styled=styled and place == 0)
                for part, column, (left, _) in zip(parts, widths, sides, strict=True)
            )


def measure(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _cell(text: str, width: int, *, styled: bool) -> str:
    padded = text + " " * (width - measure(text))
    return f"{BOLD}{padded}{NORMAL}" if styled else padded


def _with_whole(widths: list[int], width: int, rigid: Collection[int]) -> list[int]:
    """Fit columns into a page; those that are to stay whole keep their width where that leaves the others enough."""
    folded = [place for place in range(len(widths)) if place not in rigid]
    room = width - sum(widths[place] for place in rigid)
    if not folded or room < NARROWEST * len(folded):
        return _fitted(widths, width)
    narrowed = dict(zip(folded, _fitted([widths[place] for place in folded], room), strict=True))
    return [narrowed.get(place, column) for place, column in enumerate(widths)]


def _fitted(widths: list[int], width: int) -> list[int]:
    """Take from the widest columns, until they are as wide as the next, what does not fit the page; then from all."""
    excess = sum(widths) - width
    while excess > 0:
        widest = max(widths)
        step = widest - max((column for column in widths if column != widest), default=0)
        if step == widest:
            break  # all are as wide, or there is but one
        widths = _less(widths, excess, [step if column == widest else 0 for column in widths])
        excess = sum(widths) - width
    return _less(widths, excess, widths) if excess > 0 else widths


def _less(widths: list[int], excess: int, most: list[int]) -> list[int]:
    """Take an excess from columns in equal parts, from each at most so much."""
    narrowed, sharing = [], sum(map(bool, most))
    for column, limit in zip(widths, most, strict=True):
        part = min(limit, round(excess / sharing)) if limit else 0
        excess, sharing = excess - part, sharing - bool(limit)
        narrowed.append(column - part)
    return narrowed


def _folded(text: str, width: int) -> list[str]:
    """Break a text between words; a word that is wider than a line is broken inside."""
    if measure(text) <= width:
        return [text]
    from rich.cells import chop_cells, set_cell_size

    breaks, used = [], 0
    for match in _WORD.finditer(text):
        start, word = match.start(), match[0]
        needed = measure(word.rstrip())
        if needed <= width - used:
            used += measure(word)
        elif needed > width:
            parts = chop_cells(word, width)
            for part in parts:
                breaks += [start] if start else []
                start += len(part)
            used = measure(parts[-1])
        elif used and start:
            breaks.append(start)
            used = measure(word)
    parts = [text[start:end] for start, end in zip([0, *breaks], [*breaks, len(text)], strict=True)]
    kept = [_without_end(part, width) for part in parts]
    return [part if measure(part) <= width else set_cell_size(part, width) for part in kept]


def _without_end(text: str, width: int) -> str:
    """Leave out blanks at the end of a line that is too long, as far as it is."""
    blanks = len(text) - len(text.rstrip())
    return text[: len(text) - min(blanks, len(text) - width)] if len(text) > width else text
