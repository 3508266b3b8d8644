"""Every coefficient of a pair of raters, with its interval under what may be resampled: conversations, systems, both."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import agreement, bootstrap, icc, moments
from mindgauge.stats.jackknife import student

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.pairs import Pairs

    Floats = NDArray[np.float64]
    Values: TypeAlias = dict[str, Floats]

CONVERSATIONS, SYSTEMS, BOTH = "conversations", "systems", "both"
WIDTHS = ("icc_a1", "icc_c1", "alpha", "bias", "system_icc_c1", "system_icc_a1")
"""Coefficients whose interval widths are compared between the three ways of resampling."""
CORRELATIONS = {"kappa", "kappa_quadratic", "alpha", "ac", "icc_a1", "icc_c1", "pearson", "ccc"}
"""Coefficients between -1 and 1."""
SHARES = {"percent", "within_1", "people_top", "judge_top"}
_CELLS = 4_000_000
"""Numbers held at once per chunk of resamples (32 MB)."""


def of_subjects(pairs: Pairs, sums: Floats) -> Values:
    """Compute the coefficients for single subjects from sums (B, m); each has shape (B,)."""
    found: Values = {}
    if pairs.scale.levels:
        joint = pairs.joint(sums)
        values = np.array(pairs.scale.values)
        ordered = pairs.scale.ordered
        found["percent"] = agreement.percent(joint)
        found["kappa"] = agreement.cohen_kappa(joint)
        coincidences = joint + joint.transpose(0, 2, 1)
        found["alpha"] = agreement.krippendorff_alpha(coincidences, values, "ordinal" if ordered else "nominal")
        found["ac"] = agreement.gwet_ac(joint, "quadratic" if ordered else "nominal", values)
        if ordered:
            found["within_1"] = agreement.within(joint, values)
            found["kappa_quadratic"] = agreement.cohen_kappa(joint, "quadratic", values)
            rated = joint.sum(axis=(1, 2))
            total = np.where(rated > 0, rated, np.nan)
            found["people_top"] = joint[:, -1, :].sum(axis=1) / total
            found["judge_top"] = joint[:, :, -1].sum(axis=1) / total
    if pairs.scale.ordered:
        moment = pairs.moments(sums)
        found |= {
            "icc_a1": moments.icc_agreement(moment),
            "icc_c1": moments.icc_consistency(moment),
            "pearson": moments.pearson(moment),
            "ccc": moments.concordance(moment),
            "bias": moments.bias(moment),
            "mse": moments.mse(moment),
            "people_mean": moments.mean_first(moment, origin=pairs.origin),
            "judge_mean": moments.mean_second(moment, origin=pairs.origin),
        }
    return found


def of_systems(pairs: Pairs, blocks: Floats, weights: Floats | None = None) -> Values:
    """Compute the coefficients between the systems' means from blocks (B, systems, m); each has shape (B,).

    Args:
        pairs: what the blocks are of.
        blocks: shape (B, systems, m), or (1, systems, m) for all weights.
        weights: shape (B, systems), how often each system was drawn.
    """
    if not pairs.scale.ordered:
        return {}
    sums = pairs.moments(blocks)
    filled = sums[..., 0] > 0
    total = np.where(filled, sums[..., 0], 1.0)
    means = np.stack([sums[..., 1] / total, sums[..., 2] / total], axis=-1)
    drawn = filled.astype(float) if weights is None else weights * filled
    squares = icc.mean_squares(np.where(filled[..., None], means, 0.0), drawn)
    return {
        "system_icc_c1": icc.consistency(squares),
        "system_icc_a1": icc.agreement(squares),
        "system_pearson": moments.pearson(_weighted_sums(means, drawn)),
    }


def _weighted_sums(means: Floats, weights: Floats) -> Floats:
    """Return the moments (B, 6) of systems' means (B, systems, 2) under weights (B, systems)."""
    x, y = means[..., 0], means[..., 1]
    terms = np.stack(np.broadcast_arrays(1.0, x, y, x * x, y * y, x * y), axis=-1)
    return np.asarray((weights[..., None] * terms).sum(axis=1))


def chunks(pairs: Pairs, resamples: int, seed: int) -> Iterator[Floats]:
    """Resample conversations: yields blocks (b, systems, m), where the b add up to `resamples`."""
    for sums in bootstrap.resampled_sums(pairs.cells, resamples, seed):
        yield pairs.blocks(sums)


def resample(pairs: Pairs, resamples: int, seed: int) -> dict[str, Values]:
    """Compute every coefficient under the three ways of resampling: scheme → name → (resamples,).

    With one system only conversations can vary.
    """
    whole = pairs.whole()
    gathered: dict[str, list[Values]] = {CONVERSATIONS: [], SYSTEMS: [], BOTH: []}
    generator = np.random.default_rng([seed, 1])
    for blocks in chunks(pairs, resamples, seed):
        gathered[CONVERSATIONS].append(of_subjects(pairs, blocks.sum(axis=1)))
        if pairs.systems == 1:
            continue
        gathered[CONVERSATIONS][-1] |= of_systems(pairs, blocks)
        drawn = generator.multinomial(pairs.systems, np.full(pairs.systems, 1 / pairs.systems), size=len(blocks))
        weights = drawn.astype(float)
        for scheme, tables in ((SYSTEMS, whole), (BOTH, blocks)):
            pooled = weights @ tables[0] if len(tables) == 1 else np.einsum("bs,bsm->bm", weights, tables)
            gathered[scheme].append(of_subjects(pairs, pooled) | of_systems(pairs, tables, weights))
    return {scheme: _joined(parts) for scheme, parts in gathered.items() if parts}


class LeftOut(NamedTuple):
    """Coefficients without one conversation of each kind, shape (K,), and for each system apart, shape (K, systems).

    `counts` has shape (K,): how many conversations there are of a kind; `seen` (K, systems) where a kind has a system.
    """

    of_all: Values
    of_each: Values
    counts: NDArray[np.intp]
    seen: NDArray[np.bool_]


def leave_out(pairs: Pairs) -> LeftOut:
    """Leave out one conversation at a time; those that say the same are done together."""
    kinds, counts = bootstrap.types(pairs.cells)
    whole = pairs.whole()
    of_all, of_each, seen = [], [], []
    rows = max(1, _CELLS // (pairs.systems * pairs.width))
    for start in range(0, len(counts), rows):
        part = kinds[start : start + rows]
        own = pairs.blocks(part if isinstance(part, np.ndarray) else part.toarray())
        blocks = whole - own
        of_all.append(of_subjects(pairs, blocks.sum(axis=1)))
        of_each.append(of_each_system(pairs, blocks) if pairs.systems > 1 else {})
        seen.append(own.any(axis=2))
    return LeftOut(_joined(of_all), _joined(of_each), counts, np.concatenate(seen))


def of_each_system(pairs: Pairs, blocks: Floats) -> Values:
    """Compute, for each system apart, what can be compared between systems; each has shape (B, systems)."""
    flat = blocks.reshape(-1, pairs.width)
    found = of_subjects(pairs, flat)
    names = ("bias", "icc_a1", "percent", "alpha")
    return {name: found[name].reshape(blocks.shape[:2]) for name in names if name in found}


def _joined(parts: list[Values]) -> Values:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def bound(
    name: str,
    value: float,
    left_out: Floats,
    counts: NDArray[np.intp],
    resampled: Callable[[str], Floats] | None = None,
) -> Bound:
    """Put an estimate together with its interval: Student's by the jackknife, whose coverage is better than percentiles'.

    Args:
        name: of the estimate.
        value: the estimate.
        left_out: shape (K,), the estimate without one conversation of each kind.
        counts: shape (K,), how many conversations there are of each kind.
        resampled: from a name to its values over resamples, (resamples,), whose percentiles stand in where the
            jackknife gives no interval.
    """
    found = student(value, left_out, counts, correlation=name in CORRELATIONS)
    low, high = found.low, found.high
    if low is not None and high is not None and name in SHARES:
        low, high = max(low, 0.0), min(high, 1.0)
    if found.value is None or low is not None or resampled is None or counts.sum() < 2:
        return Bound(found.value, low, high, found.undefined)
    least, most = bootstrap.percentile(resampled(name))
    if not np.isfinite(least):
        return Bound(found.value, note=found.undefined)
    return Bound(found.value, float(least), float(most), found.undefined.replace("no interval", "by percentiles"))


def estimate(pairs: Pairs, resamples: int, seed: int) -> dict[str, Bound]:
    """Estimate the coefficients for single subjects, with intervals over conversations."""
    point = of_subjects(pairs, pairs.whole().sum(axis=1))
    left_out = leave_out(pairs)

    @functools.cache
    def resampled() -> Values:
        return _joined([of_subjects(pairs, blocks.sum(axis=1)) for blocks in chunks(pairs, resamples, seed)])

    return {
        name: bound(name, float(value[0]), left_out.of_all[name], left_out.counts, lambda of: resampled()[of])
        for name, value in point.items()
    }
