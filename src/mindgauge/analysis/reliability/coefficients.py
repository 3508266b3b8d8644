"""Every coefficient of a pair of raters, with its interval under what may be resampled: conversations, systems, both."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy import sparse

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability.card import Bound, LatentTruth, RaterAccuracy
from mindgauge.analysis.reliability.pairs import numbered
from mindgauge.stats import agreement, bootstrap, icc, moments
from mindgauge.stats.jackknife import effective, student
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.analysis.reliability.pairs import RatingPairs
    from mindgauge.analysis.reliability.scale import Unsafe, ValueScale

    Floats = NDArray[np.float64]
    Values: TypeAlias = dict[str, Floats]
    Codes = NDArray[np.intp]

CONVERSATIONS, SYSTEMS, BOTH = "conversations", "systems", "both"
WIDTHS = ("icc_a1", "icc_c1", "alpha", "bias", "system_icc_c1", "system_icc_a1")
"""Coefficients whose interval widths are compared between the three ways of resampling."""
OF_EACH_SYSTEM = ("bias", "icc_a1", "percent", "alpha")
"""Coefficients that are shown of each system apart."""
CORRELATIONS = {
    "kappa", "kappa_quadratic", "alpha", "alpha_within", "ac", "icc_a1", "icc_a1_within", "icc_c1", "pearson", "ccc",
}  # fmt: skip
"""Coefficients between -1 and 1."""
SHARES = {"percent", "within_1", "people_top", "judge_top"}
LEVEL = 0.95
ALIKE = 1e-9
"""An interval that is no wider has no width: the conversations say the same."""
_ALIKE = "all conversations, or all but one, say the same: bounded by how many may not (exact), as if these differed by the whole scale"
_CELLS = 4_000_000
"""Numbers held at once per chunk of resamples (32 MB)."""


def of_subjects(pairs: RatingPairs, sums: Floats, names: Collection[str] | None = None) -> Values:
    """Compute coefficients for single subjects, all or some by name, from sums (B, m); each has shape (B,)."""
    forms: dict[str, Callable[[], Floats]] = {}
    if pairs.scale.levels:
        joint, values = pairs.joint(sums), np.array(pairs.scale.values)
        ordered = pairs.scale.ordered
        forms = {
            "percent": lambda: agreement.percent(joint),
            "kappa": lambda: agreement.cohen_kappa(joint),
            "alpha": lambda: agreement.krippendorff_alpha(
                joint + joint.transpose(0, 2, 1), values, "ordinal" if ordered else "nominal"
            ),
            "ac": lambda: agreement.gwet_ac(joint, "quadratic" if ordered else "nominal", values),
        }
        if ordered:
            best = int(np.searchsorted(values, pairs.scale.best))
            forms |= {
                "within_1": lambda: agreement.within(joint, values),
                "kappa_quadratic": lambda: agreement.cohen_kappa(joint, "quadratic", values),
                "people_top": lambda: joint[:, best, :].sum(axis=1) / _counted(joint),
                "judge_top": lambda: joint[:, :, best].sum(axis=1) / _counted(joint),
            }
    if pairs.scale.ordered:
        moment = pairs.moments(sums)
        centred = moments.centred(moment)
        forms |= {
            "icc_a1": lambda: moments.icc_agreement(centred),
            "icc_c1": lambda: moments.icc_consistency(centred),
            "pearson": lambda: moments.pearson(centred),
            "ccc": lambda: moments.concordance(centred),
            "bias": lambda: moments.bias(centred),
            "mse": lambda: moments.mse(centred),
            "people_mean": lambda: moments.mean_first(moment, origin=pairs.origin),
            "judge_mean": lambda: moments.mean_second(moment, origin=pairs.origin),
        }
    return {name: form() for name, form in forms.items() if names is None or name in names}


def _counted(joint: Floats) -> Floats:
    """Return how many subjects tables (B, q, q) hold, shape (B,); NaN where there are none."""
    rated = joint.sum(axis=(1, 2))
    return np.where(rated > 0, rated, np.nan)


def of_blocks(pairs: RatingPairs, blocks: Floats, names: Collection[str] | None = None) -> Values:
    """Compute coefficients for single subjects from blocks (B, systems, m), that within systems among them."""
    values = of_subjects(pairs, blocks.sum(axis=1), names)
    main = within(pairs.scale)
    if names is not None and main not in names:
        return values
    if pairs.scale.ordered:
        return values | {main: moments.icc_agreement_within(pairs.moments(blocks))}
    joint = pairs.joint(blocks)
    return values | {main: agreement.krippendorff_alpha_within(joint + joint.transpose(0, 1, 3, 2))}


def within(scale: ValueScale) -> str:
    """Return the coefficient that a verdict on single replies rests on: within systems, so that no ranking helps it."""
    return "icc_a1_within" if scale.ordered else "alpha_within"


def of_systems(pairs: RatingPairs, blocks: Floats, weights: Floats | None = None) -> Values:
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
    return np.asarray((weights[..., None] * np.stack(moments.terms(x, y), axis=-1)).sum(axis=1))


def chunks(pairs: RatingPairs, resamples: int, seed: int) -> Iterator[Floats]:
    """Resample conversations: yields blocks (b, systems, m), where the b add up to `resamples`."""
    for sums in bootstrap.resampled_sums(sparse.csr_array(pairs.cells), resamples, seed):
        yield pairs.blocks(sums)


def resample(pairs: RatingPairs, resamples: int, seed: int) -> dict[str, Values]:
    """Compute the coefficients whose widths are shown under the three ways of resampling: scheme → name → (resamples,).

    With one system only conversations can vary.
    """
    totals = pairs.whole()
    gathered: dict[str, list[Values]] = {CONVERSATIONS: [], SYSTEMS: [], BOTH: []}
    generator = np.random.default_rng([seed, 1])
    for blocks in chunks(pairs, resamples, seed):
        gathered[CONVERSATIONS].append(of_subjects(pairs, blocks.sum(axis=1), WIDTHS))
        if pairs.systems == 1:
            continue
        gathered[CONVERSATIONS][-1] |= of_systems(pairs, blocks)
        drawn = generator.multinomial(pairs.systems, np.full(pairs.systems, 1 / pairs.systems), size=len(blocks))
        weights = drawn.astype(float)
        for scheme, tables in ((SYSTEMS, totals), (BOTH, blocks)):
            pooled = weights @ tables[0] if len(tables) == 1 else np.einsum("bs,bsm->bm", weights, tables)
            gathered[scheme].append(of_subjects(pairs, pooled, WIDTHS) | of_systems(pairs, tables, weights))
    return {scheme: _joined(parts) for scheme, parts in gathered.items() if parts}


class LeftOut(NamedTuple):
    """Coefficients of all conversations, of all as if unseen ones stood at the scale's two ends, and without one of each kind.

    So for all systems together, shape (2 + K,), and for each apart, shape (2 + K, systems). `counts` has shape (K,): how
    many conversations there are of a kind; `sizes` (K, systems) how many subjects of each system a conversation of a
    kind holds.
    """

    of_all: Values
    of_each: Values
    counts: NDArray[np.intp]
    sizes: Floats

    @property
    def clusters(self) -> float:
        """The effective number of conversations."""
        return effective(self.sizes.sum(axis=1), self.counts)


def leave_out(
    parts: Sequence[RatingPairs],
    names: Collection[str] | None = None,
    *,
    per_system: bool = False,
    level: float = LEVEL,
) -> list[LeftOut]:
    """Leave out one conversation at a time of each part; those that say the same are done together, and small parts in one pass.

    Args:
        parts: on one scale, each with the same number of systems.
        names: of the coefficients; all if not given.
        per_system: whether each system is looked at alone, too.
        level: of confidence, for what unseen conversations may say.
    """
    kinds = [kinds_of(pairs.cells) for pairs in parts]
    sizes = [_sizes(pairs, kind.rows) for pairs, kind in zip(parts, kinds, strict=True)]
    blocks = (
        block
        for pairs, kind, size in zip(parts, kinds, sizes, strict=True)
        for block in _without_each(pairs, kind.rows, unseen(effective(size.sum(axis=1), kind.counts), level))
    )
    of_all, of_each = [], []
    for joined in _passes(blocks):
        of_all.append(of_blocks(parts[0], joined, names))
        of_each.append(of_each_system(parts[0], joined) if per_system else {})
    cuts = np.cumsum([2 + len(kind.counts) for kind in kinds])[:-1]
    values = zip(_cut(_joined(of_all), cuts), _cut(_joined(of_each), cuts), strict=True)
    return [LeftOut(*value, kind.counts, size) for value, kind, size in zip(values, kinds, sizes, strict=True)]


def kinds_of(cells: Floats | csr_array) -> bootstrap.Types:
    """Return the kinds of conversations by what they say; in a small table each is its own."""
    if not isinstance(cells, np.ndarray):
        return bootstrap.types(cells)
    place = np.arange(len(cells))
    return bootstrap.Types(cells, np.ones_like(place), place)


def _sizes(pairs: RatingPairs, kinds: Floats | csr_array) -> Floats:
    """Return how many subjects of each system a conversation of each kind holds, shape (K, systems)."""
    return np.concatenate([pairs.sizes(pairs.blocks(rows)) for rows in portions(kinds)])


def _without_each(pairs: RatingPairs, kinds: Floats | csr_array, share: float) -> Iterator[Floats]:
    """Yield blocks (b, systems, m) of everything, of what is opposed in it by a share, and of what is left without one of each kind."""
    totals = pairs.whole()
    yield np.concatenate([totals, pairs.opposed(totals, share)])
    for rows in portions(kinds):
        yield totals - pairs.blocks(rows)


def _passes(blocks: Iterable[Floats]) -> Iterator[Floats]:
    """Put small blocks together, as far as some 32 MB hold them."""
    joined: list[Floats] = []
    size = 0
    for block in blocks:
        if joined and size + block.size > _CELLS:
            yield np.concatenate(joined)
            joined, size = [], 0
        joined.append(block)
        size += block.size
    yield np.concatenate(joined)


def _cut(values: Values, cuts: NDArray[np.intp]) -> list[Values]:
    """Cut values at some rows."""
    columns = {name: np.split(column, cuts) for name, column in values.items()}
    return [{name: column[i] for name, column in columns.items()} for i in range(len(cuts) + 1)]


def portions(rows: Floats | csr_array) -> Iterator[Floats]:
    """Cut rows into dense portions of some 32 MB."""
    size = max(1, _CELLS // max(rows.shape[1], 1))
    for start in range(0, rows.shape[0], size):
        part = rows[start : start + size]
        yield part if isinstance(part, np.ndarray) else part.toarray()


def of_each_system(pairs: RatingPairs, blocks: Floats) -> Values:
    """Compute, for each system apart, what can be compared between systems; each has shape (B, systems)."""
    flat = blocks.reshape(-1, pairs.width)
    values = of_subjects(pairs, flat, OF_EACH_SYSTEM)
    return {name: values[name].reshape(blocks.shape[:2]) for name in OF_EACH_SYSTEM if name in values}


def _joined(parts: list[Values]) -> Values:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def bound(name: str, left_out: LeftOut, scale: ValueScale, level: float = LEVEL) -> Bound:
    """Put an estimate over all subjects together with its interval.

    Student's by the jackknife, whose coverage is better than percentiles'. Where all conversations say the same it has
    no width; then the interval is what it would be if as many of them differed by the whole scale as there may be, by
    the exact bound on 0 of their number; see `unseen` and `RatingPairs.opposed`.

    Args:
        name: of the estimate.
        left_out: the estimate over all, and without one conversation of each kind.
        scale: of the values.
        level: of confidence.
    """
    value, opposed = map(float, left_out.of_all[name][:2])
    values, clusters = left_out.of_all[name][2:], left_out.clusters
    spread = student(value, values, left_out.counts, correlation=name in CORRELATIONS, level=level, clusters=clusters)
    if spread.value is None:
        return Bound(None, note=spread.undefined)
    if spread.low is not None and spread.high is not None and spread.high - spread.low > ALIKE:
        return Bound(value, spread.low, spread.high).clipped(*_ends(name, scale))
    if clusters <= 1:
        return Bound(value, note=spread.undefined or "no interval: fewer than two conversations")
    if name not in CORRELATIONS:
        return Bound(value, *_mean_of_alike(name, value, unseen(clusters, level), scale), note=_ALIKE)
    return of_alike(value, values, opposed, spread.undefined)


def of_alike(value: float, left_out: Floats, opposed: float, undefined: str) -> Bound:
    """Bound a coefficient on which all conversations agree by what it were if unseen ones stood at the scale's two ends.

    Args:
        value: the coefficient.
        left_out: the same without one conversation of each kind.
        opposed: the same if as many conversations as may be were so; see `unseen`.
        undefined: why there is no interval where that is not below the coefficient.
    """
    if not opposed < value:
        return Bound(value, note=undefined)
    return Bound(value, float(opposed), float(np.nanmax(np.append(left_out, value))), note=_ALIKE)


def of_system(name: str, left_out: LeftOut, place: int, scale: ValueScale) -> Bound:
    """Put an estimate of one system together with Student's interval by the jackknife; nothing where it has no width."""
    present = left_out.sizes[:, place] > 0
    sizes, counts = left_out.sizes[present, place], left_out.counts[present]
    value, values = float(left_out.of_each[name][0, place]), left_out.of_each[name][2:, place][present]
    spread = student(value, values, counts, correlation=name in CORRELATIONS, clusters=effective(sizes, counts))
    if spread.value is None or spread.low is None or spread.high is None or spread.high - spread.low <= ALIKE:
        return Bound(spread.value, note=spread.undefined or "no interval: all conversations say the same")
    return Bound(value, spread.low, spread.high).clipped(*_ends(name, scale))


def unseen(clusters: float, level: float = LEVEL) -> float:
    """Return the share of conversations that may differ where none of so many did: the exact upper bound."""
    return clopper_pearson(0, clusters, level).high or 1.0


def _ends(name: str, scale: ValueScale) -> tuple[float, float]:
    """Return what an estimate cannot pass."""
    span = scale.high - scale.low
    ends = {
        "bias": (-span, span),
        "mse": (0.0, span**2),
        "people_mean": (scale.low, scale.high),
        "judge_mean": (scale.low, scale.high),
    }
    return (ends | dict.fromkeys(SHARES, (0.0, 1.0))).get(name, (-1.0, 1.0))


def _mean_of_alike(name: str, value: float, share: float, scale: ValueScale) -> tuple[float, float]:
    """Return between which values a mean lies if a share of conversations may be anything that the scale allows."""
    low, high = _ends(name, scale)
    return value + share * (low - value), value + share * (high - value)


def estimate(pairs: RatingPairs, names: Collection[str] | None = None, level: float = LEVEL) -> dict[str, Bound]:
    """Estimate the coefficients for single subjects, all or some by name, with intervals over conversations."""
    return estimate_each([pairs], names, level)[0]


def estimate_each(
    parts: Sequence[RatingPairs], names: Collection[str] | None = None, level: float = LEVEL
) -> list[dict[str, Bound]]:
    """Estimate the same of several parts on one scale, each with the same number of systems."""
    return [_bounds(part, parts[0].scale, level) for part in (leave_out(parts, names, level=level) if parts else [])]


def _bounds(left_out: LeftOut, scale: ValueScale, level: float) -> dict[str, Bound]:
    return {name: bound(name, left_out, scale, level) for name in left_out.of_all}


class Numbers(NamedTuple):
    """`by_system` has the estimates of each present system, `leave_one_out` ICC(C,1) of the system means without it.

    `clusters` is the effective number of conversations.
    """

    bounds: dict[str, Bound]
    clusters: float
    widths: dict[str, dict[str, float | None]]
    bias_parts: dict[str, float | None]
    by_system: list[dict[str, Bound]]
    leave_one_out: list[float | None]


def card_numbers(pairs: RatingPairs, resamples: int, seed: int, level: float = LEVEL) -> Numbers:
    """Compute everything that a card shows of paired values.

    Intervals of coefficients for single subjects leave out conversations (Student's t); those of system means are exact
    (F), since so few systems are no sample for a bootstrap; bench/results/coverage.md has the coverage of both. `level` is that of
    coefficients for single subjects of all systems.
    """
    tables = pairs.whole()
    resampled = resample(pairs, resamples, seed)
    [left_out] = leave_out([pairs], per_system=pairs.systems > 1, level=level)
    bounds = _bounds(left_out, pairs.scale, level)
    if pairs.scale.ordered:
        bounds["limits"] = _limits(pairs, tables)
    several_systems = pairs.systems > 1
    if several_systems and pairs.scale.ordered:
        bounds |= _systems(pairs, tables, resampled[BOTH])
    return Numbers(
        bounds,
        left_out.clusters,
        _widths(resampled),
        _parts(pairs, tables),
        [
            {name: of_system(name, left_out, place, pairs.scale) for name in left_out.of_each}
            for place in range(pairs.systems)
        ]
        if several_systems
        else [],
        _without(pairs, tables) if several_systems and pairs.scale.ordered else [],
    )


def _limits(pairs: RatingPairs, tables: Floats) -> Bound:
    """Bland and Altman's limits: where the judge's difference from people lies for 95 % of the subjects."""
    sums = pairs.moments(tables.sum(axis=1))
    low, high = (float(limit[0]) for limit in moments.limits_of_agreement(sums))
    bias = float(moments.bias(sums)[0])
    if not np.isfinite(low):
        return Bound(bias, note="fewer than two subjects")
    return Bound(bias, low, high).clipped(*_ends("bias", pairs.scale))


def _systems(pairs: RatingPairs, tables: Floats, both: dict[str, Floats]) -> dict[str, Bound]:
    sums = pairs.moments(tables)[0]
    means = sums[:, 1:3] / sums[:, :1]
    exact = icc.icc(means)
    bounds = {}
    for name, form in (("system_icc_c1", exact.consistency), ("system_icc_a1", exact.agreement)):
        bounds[name] = _wide(Bound(form.value, form.low, form.high, form.undefined).clipped(-1.0, 1.0))
    point = of_systems(pairs, tables)["system_pearson"]
    low, high = bootstrap.percentile(both["system_pearson"])
    value, lower, upper = (float(v) if np.isfinite(v) else None for v in (point[0], low, high))
    bounds["system_pearson"] = _wide(Bound(value, lower, upper))
    return bounds


def _wide(bound: Bound) -> Bound:
    """Return an estimate without its interval where that has no width: it would say that nothing is uncertain."""
    if bound.low is None or bound.high is None or bound.high - bound.low > ALIKE:
        return bound
    return Bound(bound.value, note="no interval: no system differs")


def _without(pairs: RatingPairs, tables: Floats) -> list[float | None]:
    if pairs.systems < 3:
        return [None] * pairs.systems
    coefficients = of_systems(pairs, tables, 1 - np.eye(pairs.systems))["system_icc_c1"]
    return [float(value) if np.isfinite(value) else None for value in coefficients]


def _widths(resampled: dict[str, Values]) -> dict[str, dict[str, float | None]]:
    widths: dict[str, dict[str, float | None]] = {}
    for scheme, values in resampled.items():
        widths[scheme] = {}
        for name in (name for name in WIDTHS if name in values):
            low, high = bootstrap.percentile(values[name])
            widths[scheme][name] = float(high - low) if np.isfinite(high - low) else None
    return widths


def _parts(pairs: RatingPairs, tables: Floats) -> dict[str, float | None]:
    """Split the mean square of judge minus people into a constant, the systems' own shift, and the rest."""
    if not pairs.scale.ordered:
        return {}
    sums = pairs.moments(tables)
    mean_square = float(moments.mse(sums.sum(axis=1))[0])
    bias = float(moments.bias(sums.sum(axis=1))[0])
    biases, weight = moments.bias(sums[0]), sums[0, :, 0]
    between = float((weight * (biases - bias) ** 2).sum() / weight.sum())
    return {"constant": bias**2, "system": between, "item": max(mean_square - bias**2 - between, 0.0)}


MOST_RATERS, MOST_LEVELS = 20, 7
"""With more people nothing is estimated; with more levels, only whether a value is unsafe counts."""


def latent_truth(
    first: pl.DataFrame, raters: Sequence[str], scale: ValueScale, judge_rows: pl.DataFrame | None = None, selected: str = ""
) -> LatentTruth | None:  # fmt: skip
    """Estimate each rater's errors at the unsafe cut; None of a scale without unsafe values.

    Args:
        first: first ratings of each subject by people whose values are their own: subject, cluster, rater, number.
        raters: these people; who rated nothing here is left out.
        scale: of the values.
        judge_rows: those of a judge, as one more rater; of repeats the first value counts.
        selected: why people rated just these subjects, where that depended on a judge.
    """
    if scale.unsafe is None:
        return None
    rows, present = first.select("subject", "cluster", "rater", "number"), set(first["rater"].unique())
    people = [rater for rater in raters if rater in present]
    names = list(people)
    if judge_rows is not None and judge_rows.height:
        own = judge_rows.filter(pl.col("number").is_not_null(), pl.col("subject").is_in(first["subject"].implode()))
        own = own.sort("run", maintain_order=True).unique("subject", keep="first", maintain_order=True)
        names += [judge_rows["rater"][0]]
        rows = pl.concat([rows, own.select("subject", "cluster", "rater", "number").cast(rows.schema)])
    reasons = {
        "replies were drawn with unequal probabilities": drawn.is_drawn(first),
        f"people rated a selection that depends on a judge ({selected})": bool(selected),
        f"{len(people)} people: errors are estimated of at most {MOST_RATERS}": len(people) > MOST_RATERS,
    }
    reason = next((text for text, holds in reasons.items() if holds), "")
    if reason:
        return LatentTruth([], Bound(None), rows["subject"].n_unique(), rows["cluster"].n_unique(), note=reason)
    return _estimated(rows, names, len(people), scale, scale.unsafe)


def _estimated(rows: pl.DataFrame, names: list[str], people: int, scale: ValueScale, unsafe: Unsafe) -> LatentTruth:
    level, levels, cut = _levels(rows["number"].to_numpy(), scale, unsafe)
    subject, conversation = (
        np.unique(rows[name].to_numpy(), return_inverse=True)[1] for name in ("subject", "cluster")
    )
    present, code = numbered(rows["rater"])
    rater = np.array([names.index(name) for name in present], dtype=np.intp)[code]
    ratings = np.zeros((int(subject.max(initial=-1)) + 1, len(names), levels))
    ratings[subject, rater, level] = 1.0
    cluster = np.zeros(len(ratings), dtype=np.intp)
    cluster[subject] = conversation
    from mindgauge.stats import latent  # it loads all of scipy.special, which scores do without

    estimated = latent.raters(ratings, cluster, np.arange(len(names)) < people, cut, ordered=scale.ordered)
    counts = ratings.sum(axis=(0, 2)).astype(int).tolist()
    errors = [
        RaterAccuracy(name, n, Bound(*of_unsafe), Bound(*of_safe))
        for name, n, of_unsafe, of_safe in zip(
            names, counts, estimated.sensitivity, estimated.specificity, strict=False
        )
    ]
    clusters = len(np.unique(cluster))
    return LatentTruth(errors, Bound(*estimated.prevalence), len(ratings), clusters, note=estimated.undefined)


def _levels(numbers: Floats, scale: ValueScale, unsafe: Unsafe) -> tuple[Codes, int, int]:
    """Return the level of each value, the worst first, how many levels there are, and how many of them are unsafe."""
    bad = unsafe.among(numbers)
    values = np.array(scale.values)
    if (
        not scale.ordered
        or not scale.levels
        or not 2 < len(values) <= MOST_LEVELS
        or not np.isin(numbers, values).all()
    ):
        return np.where(bad, 0, 1), 2, 1
    level = np.searchsorted(values, numbers)
    cut = int(unsafe.among(values).sum())
    return (len(values) - 1 - level if unsafe.falling else level), len(values), cut
