"""Tables of estimates with their intervals, in parts that fit the terminal, and why an estimate is not there."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mindgauge.cli import render
from mindgauge.rounding import bounded

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Bound

_GAP = 2
_NAMED = 3


def bound(estimate: "Bound | None", *, share: bool = False) -> str:
    """Write an estimate as `0.50 [0.40, 0.60]`: a dash where it is not defined, nothing where it is not asked."""
    if estimate is None:
        return ""
    return bounded(estimate.value, estimate.low, estimate.high, "share" if share else "level")


def table(title: str, named: Sequence[str], measured: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; where it is wider than the terminal, the measured columns stand in several tables of the same rows.

    Args:
        title: of the first one.
        named: columns that every table has, first.
        measured: the other columns; those that are empty throughout are not printed.
        rows: cells in the order of the columns.
    """
    first = len(named)
    width = [max(map(len, column)) + _GAP for column in zip([*named, *measured], *rows, strict=True)]
    filled = [i for i in range(first, len(width)) if any(row[i] for row in rows)]
    parts: list[list[int]] = [[]]
    for place in filled:
        if parts[-1] and sum(width[:first]) + sum(width[i] for i in parts[-1]) + width[place] > _room():
            parts.append([])
        parts[-1].append(place)
    for number, part in enumerate(parts):
        columns = [*range(first), *part]
        header = [[*named, *measured][i] for i in columns]
        render.table("" if number else title, header, [[row[i] for i in columns] for row in rows])


def _room() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 160


def missing(estimates: Iterable[tuple[str, str, "Bound"]]) -> list[str]:
    """Say why estimates or their intervals are not there, each reason once.

    Args:
        estimates: of whom, the measure, and what was found.
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for whose, measure, estimate in estimates:
        if estimate.note and (estimate.value is None or estimate.low is None):
            reasons.setdefault(estimate.note, {}).setdefault(whose, []).append(measure)
    return [f"{reason}: {_listed(by)}" for reason, by in reasons.items()]


def _listed(by: dict[str, list[str]]) -> str:
    shown = [f"{whose} ({', '.join(measures)})" for whose, measures in list(by.items())[:_NAMED]]
    return "; ".join(shown) + (f"; and {len(by) - _NAMED} more" if len(by) > _NAMED else "")
