"""Two raters' values on one criterion as tables of how often they met, conversation by conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from scipy import sparse

from mindgauge.analysis.reliability.card import Bound
from mindgauge.stats import agreement, bootstrap, classification, moments, proportion, rank
from mindgauge.stats.jackknife import student
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Values: TypeAlias = dict[str, Floats]

ACCURACY, F1_YES = "accuracy", "f1_yes"
_YES = "yes"
CORRELATIONS = {"kappa", "kappa_quadratic", "pearson", "spearman", "kendall"}
FEWEST_SYSTEMS = 5
"""With fewer systems a correlation of their means says nothing: four in the same order happen by chance once in 24."""
MOST_CELLS = 40_000
"""A larger table of values is a continuum, whose ranks are not computed."""
_HELD = 4_000_000
"""Numbers held at once (32 MB)."""


class JudgePair(NamedTuple):
    """Single values met `singles`, shape (C, q²), subjects' means met `means`, shape (C, u · v); rows are conversations.

    Each subject weighs 1, however often it was rated. Conversations are in the order of `clusters`.
    """

    scale: ValueScale
    singles: csr_array
    means: csr_array
    first: Floats
    second: Floats
    clusters: Codes
    subjects: int

    def coefficients(self, singles: Floats, means: Floats) -> Values:
        """Compute every coefficient from sums of rows, shapes (B, q²) and (B, u · v); each has shape (B,)."""
        values: Values = {}
        if self.scale.levels:
            q = len(self.scale.values)
            joint = singles.reshape(-1, q, q)
            values[ACCURACY] = agreement.percent(joint)
            values["f1"] = classification.macro_f1(np.concatenate([joint, np.zeros((len(joint), q, 1))], axis=2))
            if q == 2 and _YES in self.scale.words:
                values[F1_YES] = _f1(joint, self.scale.words.index(_YES))
            values["kappa"] = agreement.cohen_kappa(joint)
            if self.scale.ordered and q > 2:
                values["kappa_quadratic"] = agreement.cohen_kappa(joint, "quadratic", np.array(self.scale.values))
        if self.scale.ordered:
            u, v = len(self.first), len(self.second)
            x, y = np.repeat(self.first, v), np.tile(self.second, u)
            values["pearson"] = moments.pearson(moments.moments(x, y, means))
            if u * v <= MOST_CELLS:
                joint = means.reshape(-1, u, v)
                values |= {"spearman": rank.spearman(joint), "kendall": rank.kendall_tau_b(joint)}
        return values

    def whole(self) -> Values:
        """Compute every coefficient of all conversations; each has shape (1,)."""
        return self.coefficients(*(np.asarray(part.sum(axis=0))[None, :] for part in (self.singles, self.means)))

    def left_out(self) -> Values:
        """Compute every coefficient without each conversation in turn; each has shape (C,)."""
        parts = [self.coefficients(*sums) for sums in self._without_one()]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _without_one(self) -> Iterator[tuple[Floats, Floats]]:
        width = max(self.singles.shape[1], self.means.shape[1], 1)
        rows = max(1, _HELD // width)
        totals = [np.asarray(part.sum(axis=0)) for part in (self.singles, self.means)]
        for start in range(0, len(self.clusters), rows):
            own = (part[start : start + rows].toarray() for part in (self.singles, self.means))
            first, second = (total - own_sums for total, own_sums in zip(totals, own, strict=True))
            yield first, second


def pair(reference: pl.DataFrame, judged: pl.DataFrame, scale: ValueScale) -> JudgePair | None:
    """Put a judge's values beside the reference's, subject by subject; None where they share none.

    Args:
        reference: columns subject, cluster, number; rows with a value only.
        judged: columns subject, number.
        scale: of the values.
    """
    singles = reference.join(judged.select("subject", other="number"), on="subject")
    if singles.is_empty():
        return None
    means = singles.group_by("subject", maintain_order=True).agg(
        pl.col("cluster").first(), pl.col("number", "other").mean()
    )
    clusters = np.unique(singles["cluster"].to_numpy())
    first, second = (np.unique(np.round(means[side].to_numpy(), rank.DIGITS)) for side in ("number", "other"))
    values = np.round(np.array(scale.values), rank.DIGITS)
    weight = singles.select(1.0 / pl.len().over("subject")).to_series().to_numpy()
    return JudgePair(
        scale,
        _table(singles, weight, clusters, (values, values)) if scale.levels else _nothing(len(clusters)),
        _table(means, np.ones(len(means)), clusters, (first, second)) if scale.ordered else _nothing(len(clusters)),
        first,
        second,
        clusters,
        len(means),
    )


def _f1(joint: Floats, level: int) -> Floats:
    """Return the F1 of one level, shape (B,); NaN where neither gave it, and a figure of 0 would blame the judge."""
    times = joint[:, level, :].sum(axis=1) + joint[:, :, level].sum(axis=1)
    return ratio(2 * joint[:, level, level], times, above=1e-9)


def _table(rows: pl.DataFrame, weight: Floats, clusters: Codes, values: tuple[Floats, Floats]) -> csr_array:
    row = np.searchsorted(clusters, rows["cluster"].to_numpy())
    x, y = (
        np.searchsorted(levels, np.round(rows[side].to_numpy(), rank.DIGITS))
        for levels, side in zip(values, ("number", "other"), strict=True)
    )
    shape = (len(clusters), len(values[0]) * len(values[1]))
    return sparse.coo_array((weight, (row, x * len(values[1]) + y)), shape=shape).tocsr()


def _nothing(conversations: int) -> csr_array:
    return sparse.coo_array((conversations, 0), dtype=np.float64).tocsr()


def bounds(paired: JudgePair) -> dict[str, Bound]:
    """Estimate every coefficient: of accuracy exact bounds with conversations as n, of others Student's (jackknife)."""
    left_out, counts = paired.left_out(), np.ones(len(paired.clusters), dtype=np.intp)
    estimates: dict[str, Bound] = {}
    if paired.scale.ordered and len(paired.first) * len(paired.second) > MOST_CELLS:
        reason = f"not computed: more than {MOST_CELLS} pairs of different values"
        estimates |= dict.fromkeys(("spearman", "kendall"), Bound(None, note=reason))
    for name, (value,) in paired.whole().items():
        if name == F1_YES and not np.isfinite(value):
            estimates[name] = Bound(None, note="not defined: nobody says yes")
            continue
        if name == ACCURACY:
            estimates[name] = Bound(*proportion.share(float(value), len(counts)))
            continue
        spread = student(float(value), left_out[name], counts, correlation=name in CORRELATIONS)
        low, high = spread.low, spread.high
        if name in {"f1", F1_YES} and low is not None and high is not None:
            low, high = max(low, 0.0), min(high, 1.0)
        estimates[name] = Bound(spread.value, low, high, spread.undefined)
    return estimates


def of_systems(
    reference: pl.DataFrame, judged: pl.DataFrame, systems: Sequence[str], resamples: int, seed: int
) -> dict[str, Bound]:
    """Correlate the systems' mean values, with percentile intervals over resampled conversations.

    Args:
        reference: columns subject, cluster, system (its name), number; rows with a value only.
        judged: columns subject, number.
        systems: those that both have rated.
        resamples: of conversations.
        seed: of the generator.
    """
    names = ("system_pearson", "system_spearman", "system_kendall")
    if len(systems) < FEWEST_SYSTEMS:
        number = "one system" if len(systems) == 1 else f"{len(systems)} systems"
        return dict.fromkeys(names, Bound(None, note=f"refused: {number}, at least {FEWEST_SYSTEMS} are needed"))
    joined = reference.join(judged.select("subject", other="number"), on="subject")
    means = joined.group_by("subject", maintain_order=True).agg(
        pl.col("cluster", "system").first(), pl.col("number", "other").mean()
    )
    _, row = np.unique(means["cluster"].to_numpy(), return_inverse=True)
    column = means["system"].replace_strict(systems, range(len(systems)), return_dtype=pl.Int64).to_numpy() * 3
    terms = (np.ones(len(means)), means["number"].to_numpy(), means["other"].to_numpy())
    data, places = np.concatenate(terms), np.concatenate([column + i for i in range(3)])
    sums = sparse.coo_array((data, (np.tile(row, 3), places)), shape=(int(row.max()) + 1, 3 * len(systems))).tocsr()
    point = _of_sums(np.asarray(sums.sum(axis=0))[None, :])
    drawn = [_of_sums(np.asarray(part)) for part in bootstrap.resampled_sums(sums, resamples, seed)]
    correlations = {}
    for name in names:
        value = float(point[name][0])
        if not np.isfinite(value):
            correlations[name] = Bound(None, note="not defined: all systems have the same mean")
        else:
            correlations[name] = Bound(
                *bootstrap.percentile_interval(value, np.concatenate([part[name] for part in drawn]))
            )
    return correlations


def _of_sums(sums: Floats) -> Values:
    n, x, y = np.moveaxis(sums.reshape(len(sums), -1, 3), -1, 0)
    # Rounded, so that means that are equal tie, in whatever order their terms were added.
    x, y = (np.round(ratio(side, n), 10) for side in (x, y))
    return {
        "system_pearson": rank.pearson_of_columns(x, y),
        "system_spearman": rank.spearman_of_columns(x, y),
        "system_kendall": rank.kendall_of_columns(x, y),
    }
