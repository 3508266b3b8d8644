"""All numbers of one judge beside people: estimates, what each interval's width owes to, and the parts of the error."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.reliability import estimates
from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reliability.estimates import ALIKE, BOTH, WIDTHS
from mindgauge.stats import bootstrap, icc, moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.estimates import LeftOut, Values
    from mindgauge.analysis.reliability.pairs import Pairs

    Floats = NDArray[np.float64]


class Numbers(NamedTuple):
    """`by_system` has the estimates of each present system, `without` ICC(C,1) of the system means without it.

    `clusters` is the effective number of conversations.
    """

    bounds: dict[str, Bound]
    clusters: float
    widths: dict[str, dict[str, float | None]]
    bias_parts: dict[str, float | None]
    by_system: list[dict[str, Bound]]
    without: list[float | None]


def numbers(pairs: Pairs, resamples: int, seed: int) -> Numbers:
    """Compute everything that a card shows of paired values.

    Intervals of coefficients for single subjects leave out conversations (Student's t); those of system means are exact
    (F), since so few systems are no sample for a bootstrap; docs/coverage.md has the coverage of both.
    """
    tables = pairs.whole()
    resampled = estimates.resample(pairs, resamples, seed)
    left_out = estimates.leave_out(pairs)
    bounds = estimates.estimate(pairs, left_out)
    if pairs.scale.ordered:
        bounds["limits"] = _limits(pairs, tables)
    several = pairs.systems > 1
    if several and pairs.scale.ordered:
        bounds |= _systems(pairs, tables, resampled[BOTH])
    return Numbers(
        bounds,
        left_out.clusters,
        _widths(resampled),
        _parts(pairs, tables),
        _by_system(pairs, tables, left_out) if several else [],
        _without(pairs, tables) if several and pairs.scale.ordered else [],
    )


def _by_system(pairs: Pairs, tables: Floats, left_out: LeftOut) -> list[dict[str, Bound]]:
    each = estimates.of_each_system(pairs, tables)
    return [
        {name: estimates.of_system(name, float(value[0, place]), left_out, place) for name, value in each.items()}
        for place in range(pairs.systems)
    ]


def _limits(pairs: Pairs, tables: Floats) -> Bound:
    """Bland and Altman's limits: where the judge's difference from people lies for 95 % of the subjects."""
    sums = pairs.moments(tables.sum(axis=1))
    low, high = (float(limit[0]) for limit in moments.limits_of_agreement(sums))
    bias = float(moments.bias(sums)[0])
    return Bound(bias, low, high) if np.isfinite(low) else Bound(bias, note="fewer than two subjects")


def _systems(pairs: Pairs, tables: Floats, both: dict[str, Floats]) -> dict[str, Bound]:
    sums = pairs.moments(tables)[0]
    means = sums[:, 1:3] / sums[:, :1]
    exact = icc.icc(means)
    found = {}
    for name, form in (("system_icc_c1", exact.consistency), ("system_icc_a1", exact.agreement)):
        found[name] = _wide(Bound(form.value, form.low, form.high, form.undefined))
    point = estimates.of_systems(pairs, tables)["system_pearson"]
    low, high = bootstrap.percentile(both["system_pearson"])
    value, least, most = (float(v) if np.isfinite(v) else None for v in (point[0], low, high))
    found["system_pearson"] = _wide(Bound(value, least, most))
    return found


def _wide(bound: Bound) -> Bound:
    """Return an estimate without its interval where that has no width: it would say that nothing is uncertain."""
    if bound.low is None or bound.high is None or bound.high - bound.low > ALIKE:
        return bound
    return Bound(bound.value, note="no interval: no system differs")


def _without(pairs: Pairs, tables: Floats) -> list[float | None]:
    if pairs.systems < 3:
        return [None] * pairs.systems
    left = estimates.of_systems(pairs, tables, 1 - np.eye(pairs.systems))["system_icc_c1"]
    return [float(value) if np.isfinite(value) else None for value in left]


def _widths(resampled: dict[str, Values]) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for scheme, values in resampled.items():
        found[scheme] = {}
        for name in (name for name in WIDTHS if name in values):
            low, high = bootstrap.percentile(values[name])
            found[scheme][name] = float(high - low) if np.isfinite(high - low) else None
    return found


def _parts(pairs: Pairs, tables: Floats) -> dict[str, float | None]:
    """Split the mean square of judge minus people into a constant, the systems' own shift, and the rest."""
    if not pairs.scale.ordered:
        return {}
    sums = pairs.moments(tables)
    mean_square = float(moments.mse(sums.sum(axis=1))[0])
    bias = float(moments.bias(sums.sum(axis=1))[0])
    each, weight = moments.bias(sums[0]), sums[0, :, 0]
    between = float((weight * (each - bias) ** 2).sum() / weight.sum())
    return {"constant": bias**2, "system": between, "item": max(mean_square - bias**2 - between, 0.0)}
