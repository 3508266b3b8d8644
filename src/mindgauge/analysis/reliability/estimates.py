"""Every coefficient of a pair of raters, with its interval under what may be resampled: conversations, systems, both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import agreement, bootstrap, icc, moments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.pairs import Pairs

    Floats = NDArray[np.float64]
    Values: TypeAlias = dict[str, Floats]

CONVERSATIONS, SYSTEMS, BOTH = "conversations", "systems", "both"
WIDTHS = ("icc_a1", "icc_c1", "alpha", "bias", "system_icc_c1", "system_icc_a1")
"""Coefficients whose interval widths are compared between the three ways of resampling."""
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


class Resampled(NamedTuple):
    """Values of each coefficient over resamples: scheme → name → (resamples,); `by_system` → name → (resamples, systems)."""

    values: dict[str, Values]
    by_system: Values


def resample(pairs: Pairs, resamples: int, seed: int) -> Resampled:
    """Compute every coefficient under the three ways of resampling; with one system only conversations can vary."""
    whole = pairs.whole()
    several = pairs.systems > 1
    gathered: dict[str, list[Values]] = {CONVERSATIONS: [], SYSTEMS: [], BOTH: []}
    each: list[Values] = []
    generator = np.random.default_rng([seed, 1])
    for blocks in chunks(pairs, resamples, seed):
        gathered[CONVERSATIONS].append(of_subjects(pairs, blocks.sum(axis=1)))
        if not several:
            continue
        gathered[CONVERSATIONS][-1] |= of_systems(pairs, blocks)
        each.append(of_each_system(pairs, blocks))
        drawn = generator.multinomial(pairs.systems, np.full(pairs.systems, 1 / pairs.systems), size=len(blocks))
        weights = drawn.astype(float)
        for scheme, tables in ((SYSTEMS, whole), (BOTH, blocks)):
            pooled = weights @ tables[0] if len(tables) == 1 else np.einsum("bs,bsm->bm", weights, tables)
            gathered[scheme].append(of_subjects(pairs, pooled) | of_systems(pairs, tables, weights))
    return Resampled({scheme: _joined(parts) for scheme, parts in gathered.items() if parts}, _joined(each))


def of_each_system(pairs: Pairs, blocks: Floats) -> Values:
    """Compute, for each system apart, what can be compared between systems; each has shape (B, systems)."""
    flat = blocks.reshape(-1, pairs.width)
    found = of_subjects(pairs, flat)
    names = ("bias", "icc_a1", "percent", "alpha")
    return {name: found[name].reshape(blocks.shape[:2]) for name in names if name in found}


def _joined(parts: list[Values]) -> Values:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def bound(value: float, values: Floats | None, *, clusters: int) -> Bound:
    """Put an estimate together with its percentile interval over resamples."""
    if not np.isfinite(value):
        return Bound(None, note="not defined: one of the two gave every subject the same value")
    if values is None or clusters < 2:
        return Bound(float(value), note="no interval: fewer than two conversations")
    low, high = bootstrap.percentile(values)
    if not (np.isfinite(low) and np.isfinite(high)):
        return Bound(float(value), note="no interval: not defined in most resamples")
    return Bound(float(value), float(low), float(high))


def estimate(pairs: Pairs, resamples: int, seed: int, prefix: str = "") -> dict[str, Bound]:
    """Estimate the coefficients for single subjects, with intervals over conversations."""
    whole = pairs.whole().sum(axis=1)
    values = _joined([of_subjects(pairs, blocks.sum(axis=1)) for blocks in chunks(pairs, resamples, seed)])
    point = of_subjects(pairs, whole)
    return {prefix + name: bound(float(point[name][0]), values.get(name), clusters=pairs.clusters) for name in point}
