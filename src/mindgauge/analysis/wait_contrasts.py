"""How long systems take to recognise a risk, beside each other: differences of restricted means, paired by persona."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.analysis.pairing import ALPHA, PairedScores, SystemDifference, SystemStanding
from mindgauge.benchmarks.metrics import estimate
from mindgauge.benchmarks.metrics.conversations import HORIZON
from mindgauge.stats import survival
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks.metrics import Metric, RatingTable
    from mindgauge.benchmarks.metrics.table import Codes, Floats, Recognition
    from mindgauge.stats.survival import Waits


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
    sides = _of_both([first, second])
    if sides is None:
        return None
    return survival.difference(*sides, _horizon([first, second]), resamples=resamples, seed=seed)


def _horizon(sides: Sequence[Recognition]) -> float:
    return float(min(HORIZON, *(side.followed for side in sides)))


def _of_both(sides: Sequence[Recognition]) -> tuple[Waits, Waits] | None:
    """Return the waits of two systems with the personas of which something is known on both sides; None without any."""
    first, second = (side.waits.rows(side.waits.time >= 0) for side in sides)
    both = np.intersect1d(first.cluster, second.cluster)
    if not len(both):
        return None
    return first.rows(np.isin(first.cluster, both)), second.rows(np.isin(second.cluster, both))


def pair(metric: Metric, table: RatingTable, system: Codes) -> PairedScores | None:
    """Give each of two systems a wait for each persona that both talked with; None where there is none.

    A persona's wait is what it says of the restricted mean (`survival.cluster_means`), so that means over personas are the
    restricted means, censored dialogues and all. Missing ratings are bounded with yes throughout and with no throughout.

    Args:
        metric: of waits.
        table: ratings of both systems together.
        system: shape (n,), the system of each rating, 0 or 1.
    """
    assert metric.waits is not None
    tables = [table.at(np.flatnonzero(system == place)) for place in (0, 1)]
    sides = [metric.waits(own) for own in tables]
    personas = np.intersect1d(sides[0].waits.cluster, sides[1].waits.cluster)
    if not len(personas):
        return None
    horizon = _horizon(sides)
    value = _by_persona(_of_both(sides), personas, horizon)
    fills = [[metric.waits(filled) for filled in metric.fills(own)] for own in tables]
    filled = [_by_persona(_of_both(pair), personas, horizon) for pair in zip(*fills, strict=True)]
    bounds = np.stack([value, *filled])
    # Where a turn is not there at all, nothing can be filled in: the wait may be any.
    lowest, highest = np.nan_to_num(np.fmin.reduce(bounds)), np.nan_to_num(np.fmax.reduce(bounds), nan=horizon)
    own = [np.isin(side.waits.cluster, personas) for side in sides]
    dialogues = np.bincount(np.searchsorted(personas, sides[0].waits.cluster[own[0]]))
    return PairedScores(
        value, lowest, highest, np.ones(value.shape, dtype=bool), personas, dialogues,
        np.array([mask.sum() for mask in own]), np.array([side.missing[mask].sum() for side, mask in zip(sides, own, strict=True)]),
        "", _by_system(value), (0.0, horizon), 0,
    )  # fmt: skip


def _by_system(value: Floats) -> Floats:
    of_both = value[np.isfinite(value).all(axis=1)]
    return np.asarray(of_both.mean(axis=0)) if len(of_both) else np.full(value.shape[1], np.nan)


def _by_persona(sides: tuple[Waits, Waits] | None, personas: Codes, horizon: float) -> Floats:
    """Return a wait for each persona and side, shape (C, 2); NaN where nothing is known of one on either side."""
    result = np.full((len(personas), 2), np.nan)
    for column, waits in enumerate(sides or ()):
        clusters, means = survival.cluster_means(waits, horizon)
        result[np.searchsorted(personas, clusters), column] = means
    return result
