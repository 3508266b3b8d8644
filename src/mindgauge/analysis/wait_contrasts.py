"""How long systems take to recognise a risk, beside each other: differences of restricted means, paired by persona."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.analysis.compared import SystemDifference, SystemStanding
from mindgauge.analysis.pairing import ALPHA
from mindgauge.benchmarks.metrics import estimate
from mindgauge.benchmarks.metrics.conversations import HORIZON
from mindgauge.stats import survival
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks.metrics import Metric, RatingTable
    from mindgauge.benchmarks.metrics.table import Codes, Recognition


def contrasts(
    metric: Metric, names: Sequence[str], table: RatingTable, system: Codes, *, resamples: int = 2000, seed: int = 0
) -> tuple[list[SystemStanding], list[SystemDifference]]:
    """Compare systems in pairs on the personas that both have waits of; the quickest first, without ranks.

    Args:
        metric: of waits.
        names: of the S systems.
        table: ratings of all systems together.
        system: shape (n,), the system of each rating, 0 to S-1.
        resamples: of personas, and swaps.
        seed: of their generators.
    """
    assert metric.waits is not None
    tables = {
        place: table.at(np.flatnonzero(system == place)) for place in range(len(names)) if (system == place).any()
    }
    followed = {place: metric.waits(own) for place, own in tables.items()}
    followed = {place: waits for place, waits in followed.items() if (waits.waits.time >= 0).any()}
    standings = [_standing(metric, names[place], tables[place], resamples, seed) for place in followed]
    pairs = [
        (a, b, between)
        for a, b in itertools.combinations(followed, 2)
        if (between := _between(followed[a], followed[b], resamples, seed)) is not None
    ]
    adjusted = iter(holm(np.array([between.p for *_, between in pairs if between.p is not None], dtype=np.float64)))
    differences = []
    for first, second, between in pairs:
        value, low, high, *_ = between.difference
        p = float(next(adjusted)) if between.p is not None else None
        apart = None if p is None or low is None or high is None else bool(p <= ALPHA and not low <= 0 <= high)
        better = (names[first] if (value or 0) < 0 else names[second]) if apart else ""
        n = sum(int((followed[place].waits.time >= 0).sum()) for place in (first, second))
        differences.append(
            SystemDifference(
                names[first],
                names[second],
                value,
                low,
                high,
                between.p,
                p,
                apart,
                better,
                n,
                between.clusters,
                None,
                None,
            )
        )
    return sorted(standings, key=lambda standing: np.inf if standing.value is None else standing.value), differences


def _standing(metric: Metric, name: str, table: RatingTable, resamples: int, seed: int) -> SystemStanding:
    figure = estimate(metric, table, resamples=resamples, seed=seed)
    return SystemStanding(
        name, figure.value, figure.low, figure.high, None, None, None, None, figure.n, figure.clusters, figure.missing
    )


def _between(first: Recognition, second: Recognition, resamples: int, seed: int) -> survival.WaitDifference | None:
    """Compare the waits of two systems with the personas that both have; None where there is none."""
    of_first, of_second = (side.waits.cluster[side.waits.time >= 0] for side in (first, second))
    both = np.intersect1d(of_first, of_second)
    if not len(both):
        return None
    sides = [side.waits.rows((side.waits.time >= 0) & np.isin(side.waits.cluster, both)) for side in (first, second)]
    horizon = min(HORIZON, first.followed, second.followed)
    return survival.difference(sides[0], sides[1], float(horizon), resamples=resamples, seed=seed)
