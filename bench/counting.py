"""Counting how often intervals hold the truth, and the tables of it; see coverage.py."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.benchmarks import metrics
    from mindgauge.stats.interval import Interval

    Floats = NDArray[np.float64]
    Ends: TypeAlias = Interval | Bound | metrics.Estimate

LOW = 0.90
"""A coverage below this is printed bold."""


class Tally:
    """What one interval did: a row per repetition of how many were there, held the truth, lay above it, and below it.

    A repetition may bring several intervals (one for each pair of systems); they count together.
    """

    def __init__(self) -> None:
        self.rows: list[Floats] = []

    def see(self, true: Floats | float, low: Floats | float | None, high: Floats | float | None) -> None:
        """Count a repetition's intervals; None or NaN is none."""
        ends = np.array([low, high], dtype=float).reshape(2, -1)
        defined = np.isfinite(ends).all(axis=0)
        low, high = ends
        above, below = defined & (low > true + 1e-9), defined & (high < true - 1e-9)
        columns = (np.ones_like(low), defined, defined & ~above & ~below, above, below, high == low, high - low)
        self.rows.append(np.array([np.nansum(column) for column in columns]))

    def hold(self, held: bool) -> None:
        """Count a statement that holds or does not, and has no ends."""
        self.rows.append(np.array([1, 1, held, 0, 0, 0, np.nan]))

    def counted(self, weights: Floats | None = None) -> dict[str, float]:
        """Return shares and the mean width; the standard error is that of a mean over repetitions."""
        rows = np.array(self.rows)
        tried, defined, held, above, below, points, width = rows.sum(axis=0) if weights is None else weights @ rows
        there = defined or math.nan
        error = math.sqrt(float(((rows[:, 2] - held / there * rows[:, 1]) ** 2).sum())) / there
        return {
            "coverage": held / there, "error": 0.0 if weights is not None else error, "above": above / there,
            "below": below / there, "width": width / there, "none": 1 - defined / tried, "points": points / there,
        }  # fmt: skip


class Grid:
    """A table: settings in rows, intervals in columns, a tally in each cell."""

    def __init__(self, title: str, *settings: str) -> None:
        self.title, self.settings = title, settings
        self.tallies: dict[tuple[str, ...], dict[str, Tally]] = {}
        self.weights: dict[tuple[str, ...], Floats] = {}

    def tally(self, row: tuple[str, ...], column: str) -> Tally:
        """Return the tally of a cell."""
        return self.tallies.setdefault(row, {}).setdefault(column, Tally())

    def see(self, row: tuple[str, ...], column: str, true: float, found: Ends) -> None:
        """Count the interval of one repetition."""
        self.tally(row, column).see(true, found.low, found.high)

    def cells(self) -> Iterator[tuple[tuple[str, ...], str, dict[str, float]]]:
        """Yield row, column and what was counted."""
        for row, tallies in self.tallies.items():
            for column, tally in tallies.items():
                yield row, column, tally.counted(self.weights.get(row))

    def __str__(self) -> str:
        columns = list(dict.fromkeys(column for tallies in self.tallies.values() for column in tallies))
        found = {(row, column): _cell(counted) for row, column, counted in self.cells()}
        body = [[*row, *(found.get((row, column), "") for column in columns)] for row in self.tallies]
        return table(self.title, [*self.settings, *columns], body)


def table(title: str, head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *body]
    return "\n".join([f"### {title}", "", *(f"| {' | '.join(line)} |" for line in lines), ""])


def _cell(counted: dict[str, float]) -> str:
    said = short(counted["coverage"])
    if counted["coverage"] < LOW:
        said = f"**{said}**"
    if counted["error"]:
        said += f" ± {short(counted['error'])}"
    if not math.isnan(counted["width"]):
        said += f" ({100 * counted['above']:.1f} / {100 * counted['below']:.1f}) {counted['width']:.2g}"
    lost = [f"{100 * counted[name]:.2g} % {name}" for name in ("none", "points") if counted[name] >= 0.0005]
    return f"{said} [{', '.join(lost)}]" if lost else said


def short(value: float) -> str:
    """Write a share as papers do: .95."""
    return "–" if math.isnan(value) else f"{value:.3f}".removeprefix("0")
