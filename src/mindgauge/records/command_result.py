"""What a command returns: a record that prints as a few lines, is a table, and shows itself in a notebook."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.rounding import count, plural
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl

LINES = 10
"""Lines that a result prints at most."""
WIDTH = 120
"""Characters of such a line."""


class Tabular:
    """A result that lists records. It prints what a reader wants first; a notebook shows its tables."""

    __slots__ = ()

    @property
    def table(self) -> pl.DataFrame:
        """What it lists as a table, one row each."""
        import polars as pl

        rows = [row if isinstance(row, dict) else msgspec.structs.asdict(row) for row in self._listed()]
        return pl.DataFrame(rows, infer_schema_length=None)

    def summary(self) -> Iterable[str]:
        """Say what a reader wants first, a line each: what was looked at, what came of it, what is missing, where to read on."""
        raise NotImplementedError

    def _listed(self) -> Iterable[msgspec.Struct | dict[str, Any]]:
        """Return the records, or the rows that stand for them."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(_fitted([visible(" ".join(text.split())) for text in _views.summary(self)]))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return _views.page(self)


class _Views:
    """How results are shown: by themselves, unless a layer above, which knows more of some of them, does."""

    summary: Callable[[Tabular], Iterable[str]] = staticmethod(lambda result: result.summary())
    page: Callable[[Tabular], str] = staticmethod(lambda result: result.table._repr_html_())


_views = _Views()


def show_by(summary: Callable[[Tabular], Iterable[str]], page: Callable[[Tabular], str]) -> None:
    """Let results be shown by functions of a layer above this one.

    Args:
        summary: returns the lines that a result prints.
        page: returns the HTML that a notebook shows.
    """
    _views.summary, _views.page = summary, page


def first_of(lines: Sequence[str], most: int) -> list[str]:
    """Return so many lines at most; of more, the first ones and how many follow."""
    return [*lines] if len(lines) <= most else [*lines[: most - 1], f"… and {count(len(lines) - most + 1)} more"]


def noted(notes: Sequence[str], limit: int = 1) -> list[str]:
    """Return the first notes as lines, the last of them with how many follow."""
    more = f" (and {plural(len(notes) - limit, 'more note')})" if len(notes) > limit else ""
    lines = [f"Note: {note}" for note in notes[:limit]]
    return [*lines[:-1], f"{_cut(lines[-1], WIDTH - len(more))}{more}"] if lines else []


def _fitted(texts: Sequence[str]) -> list[str]:
    """Put texts into lines that are not too long, and not too many: a long one goes on in the next as far as there is room."""
    if len(texts) > LINES:
        texts = [*texts[: LINES - 1], f"… {count(len(texts) - LINES + 1)} lines more"]
    spare, lines = LINES - len(texts), []
    for text in texts:
        parts = textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False) or [""]
        if len(parts) > 1 + spare:
            parts = [*parts[:spare], _cut(" ".join(parts[spare:]), WIDTH)]
        spare -= len(parts) - 1
        lines += parts
    return lines


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
