"""Every coefficient of a pair of raters, with its interval under what may be resampled: conversations, systems, both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import agreement, bootstrap, icc, moments
from mindgauge.stats.jackknife import effective, student
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.pairs import Pairs
    from mindgauge.analysis.reliability.scale import Scale

    Floats = NDArray[np.float64]
    Values: TypeAlias = dict[str, Floats]

CONVERSATIONS, SYSTEMS, BOTH = "conversations", "systems", "both"
WIDTHS = ("icc_a1", "icc_c1", "alpha", "bias", "system_icc_c1", "system_icc_a1")
"""Coefficients whose interval widths are compared between the three ways of resampling."""
CORRELATIONS = {
    "kappa", "kappa_quadratic", "alpha", "alpha_within", "ac", "icc_a1", "icc_a1_within", "icc_c1", "pearson", "ccc",
}  # fmt: skip
"""Coefficients between -1 and 1."""
SHARES = {"percent", "within_1", "people_top", "judge_top"}
ALIKE = 1e-9
"""An interval that is no wider has no width: the conversations say the same."""
_ALIKE = "all conversations, or all but one, say the same: bounded by how many may not (exact), as if these differed by the whole scale"
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
            best = int(np.searchsorted(values, pairs.scale.best))
            found["people_top"] = joint[:, best, :].sum(axis=1) / total
            found["judge_top"] = joint[:, :, best].sum(axis=1) / total
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


def of_blocks(pairs: Pairs, blocks: Floats) -> Values:
    """Compute the coefficients for single subjects from blocks (B, systems, m), that within systems among them."""
    found = of_subjects(pairs, blocks.sum(axis=1))
    if pairs.scale.ordered:
        found["icc_a1_within"] = moments.icc_agreement_within(pairs.moments(blocks))
    else:
        joint = pairs.joint(blocks)
        found["alpha_within"] = agreement.krippendorff_alpha_within(joint + joint.transpose(0, 1, 3, 2))
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

    `counts` has shape (K,): how many conversations there are of a kind; `sizes` (K, systems) how many subjects of each
    system a conversation of a kind holds.
    """

    of_all: Values
    of_each: Values
    counts: NDArray[np.intp]
    sizes: Floats

    @property
    def clusters(self) -> float:
        """The effective number of conversations."""
        return effective(self.sizes.sum(axis=1), self.counts)


def leave_out(pairs: Pairs) -> LeftOut:
    """Leave out one conversation at a time; those that say the same are done together."""
    kinds, counts = bootstrap.types(pairs.cells)
    whole = pairs.whole()
    of_all, of_each, sizes = [], [], []
    rows = max(1, _CELLS // (pairs.systems * pairs.width))
    for start in range(0, len(counts), rows):
        part = kinds[start : start + rows]
        own = pairs.blocks(part if isinstance(part, np.ndarray) else part.toarray())
        blocks = whole - own
        of_all.append(of_blocks(pairs, blocks))
        of_each.append(of_each_system(pairs, blocks) if pairs.systems > 1 else {})
        sizes.append(pairs.sizes(own))
    return LeftOut(_joined(of_all), _joined(of_each), counts, np.concatenate(sizes))


def of_each_system(pairs: Pairs, blocks: Floats) -> Values:
    """Compute, for each system apart, what can be compared between systems; each has shape (B, systems)."""
    flat = blocks.reshape(-1, pairs.width)
    found = of_subjects(pairs, flat)
    names = ("bias", "icc_a1", "percent", "alpha")
    return {name: found[name].reshape(blocks.shape[:2]) for name in names if name in found}


def _joined(parts: list[Values]) -> Values:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def bound(name: str, value: float, left_out: LeftOut, scale: Scale, opposed: float = np.nan) -> Bound:
    """Put an estimate over all subjects together with its interval.

    Student's by the jackknife, whose coverage is better than percentiles'. Where all conversations say the same it has
    no width; then the interval is what it would be if as many of them differed by the whole scale as there may be, by
    the exact bound on 0 of their number.

    Args:
        name: of the estimate.
        value: the estimate.
        left_out: the estimates without one conversation of each kind.
        scale: of the values.
        opposed: the coefficient if that many conversations differed so; see `unseen` and `Pairs.opposed`.
    """
    spread = student(
        value, left_out.of_all[name], left_out.counts, correlation=name in CORRELATIONS, clusters=left_out.clusters
    )
    if spread.value is None:
        return Bound(None, note=spread.undefined)
    if spread.low is not None and spread.high is not None and spread.high - spread.low > ALIKE:
        return Bound(value, *_within_its_ends(name, spread.low, spread.high))
    if left_out.clusters <= 1:
        return Bound(value, note=spread.undefined or "no interval: fewer than two conversations")
    if name not in CORRELATIONS:
        return Bound(value, *_of_alike(name, value, unseen(left_out.clusters), scale), note=_ALIKE)
    finite = left_out.of_all[name][np.isfinite(left_out.of_all[name])]
    if not opposed < value:
        return Bound(value, note=spread.undefined)
    return Bound(value, float(opposed), float(max(value, finite.max(initial=value))), note=_ALIKE)


def of_system(name: str, value: float, left_out: LeftOut, place: int) -> Bound:
    """Put an estimate of one system together with Student's interval by the jackknife; nothing where it has no width."""
    seen = left_out.sizes[:, place] > 0
    sizes, counts = left_out.sizes[seen, place], left_out.counts[seen]
    values = left_out.of_each[name][seen, place]
    spread = student(value, values, counts, correlation=name in CORRELATIONS, clusters=effective(sizes, counts))
    if spread.value is None or spread.low is None or spread.high is None or spread.high - spread.low <= ALIKE:
        return Bound(spread.value, note=spread.undefined or "no interval: all conversations say the same")
    return Bound(value, *_within_its_ends(name, spread.low, spread.high))


def unseen(clusters: float) -> float:
    """Return the share of conversations that may differ where none of so many did: the exact upper bound."""
    return clopper_pearson(0, clusters).high or 1.0


def _within_its_ends(name: str, low: float, high: float) -> tuple[float, float]:
    """Cut an interval at what the estimate cannot pass: shares at 0 and 1, squares at 0."""
    if name in SHARES:
        return max(low, 0.0), min(high, 1.0)
    return (max(low, 0.0) if name == "mse" else low), high


def _of_alike(name: str, value: float, share: float, scale: Scale) -> tuple[float, float]:
    """Return between which values a mean lies if a share of conversations may be anything that the scale allows."""
    span = scale.high - scale.low
    ends = {"bias": (-span, span), "mse": (0.0, span**2)} | dict.fromkeys(SHARES, (0.0, 1.0))
    low, high = ends.get(name, (scale.low, scale.high))
    return value + share * (low - value), value + share * (high - value)


def estimate(pairs: Pairs, left_out: LeftOut | None = None) -> dict[str, Bound]:
    """Estimate the coefficients for single subjects, with intervals over conversations.

    Args:
        pairs: the values.
        left_out: of these pairs, if they are there already.
    """
    blocks = pairs.whole()
    left_out = left_out or leave_out(pairs)
    opposed = of_blocks(pairs, pairs.opposed(blocks, unseen(left_out.clusters)))
    return {
        name: bound(name, float(value[0]), left_out, pairs.scale, float(opposed[name][0]))
        for name, value in of_blocks(pairs, blocks).items()
    }
