"""Agreement between raters who put one of a few values on each subject: how much, and how much beyond chance.

**From ratings to coefficients.** Every coefficient is a function of a table that is a sum over subjects:

    confusion      two raters: how often the first said i where the second said j
    pairs          any number of raters, missing cells allowed; each subject counts once (Fleiss, Gwet)
    coincidences   the same, but each rating counts once (Krippendorff)

A resample gives each subject a weight, so B resamples of a table are one matrix product, `weights @ tables`, and the
coefficient never sees n. Weights may be summed over clusters first; counts need not be whole.

**Chance.** Percentages apart, each coefficient is 1 - D_o / D_e: the disagreement observed over that expected if values
were given by chance. They differ in what chance is, and so each fails somewhere; show several.

    Cohen          each rater draws from its own distribution of values
    Fleiss         all draw from the pooled distribution
    Krippendorff   the same, from the values themselves, without putting back: fair to small samples
    Gwet           only ratings that are hard to make are guesses, so a value that prevails costs little

Where nearly all ratings have one value, the first three approach 0 however often raters agree, and Gwet's stays high.

**Not defined.** Where all raters used one single value, D_e is 0: nothing shows that they could have disagreed. Then the
coefficient is not defined; it is not 1. Functions of tables say NaN (and never a numpy warning), those of ratings, at
the end, return an `Interval` that says why. Gwet's coefficient is defined there if the scale has other values (`levels`).

Shapes: n subjects, k raters, q values of the scale, B resamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypedDict, Unpack

import numpy as np

from mindgauge.stats import bootstrap
from mindgauge.stats.interval import Interval
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Levels: TypeAlias = Sequence[float] | Sequence[str] | None
    Ratings: TypeAlias = ArrayLike | Sequence[Sequence[object]]

Weighting: TypeAlias = Literal["nominal", "linear", "quadratic", "ordinal"]
"""How disagreement grows with distance, see `disagreement`."""
Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
"""Levels of measurement, see `krippendorff_alpha`."""


# -- tables: sums over subjects ---------------------------------------------------------------------------------------


def confusion(first: Codes, second: Codes, labels: int, weights: Floats | None = None) -> Floats:
    """Count pairs of labels, shape (B, labels, labels + 1); the last column holds `second` = -1, no label.

    Without its last column it is the joint table of those that both labelled.

    Args:
        first: shape (n,), codes 0 to labels-1; pairs whose first is -1 are left out.
        second: shape (n,), codes -1 to labels-1.
        labels: how many labels there are.
        weights: shape (B, n); ones if not given.
    """
    cells = labels * (labels + 1)
    valued = first >= 0
    cell = first[valued] * (labels + 1) + np.where(second[valued] < 0, labels, second[valued])
    if weights is None:
        return np.bincount(cell, minlength=cells).astype(float).reshape(1, labels, labels + 1)
    one_hot = np.zeros((len(cell), cells))
    one_hot[np.arange(len(cell)), cell] = 1.0
    return np.asarray(weights[:, valued] @ one_hot).reshape(-1, labels, labels + 1)


def counts(codes: Codes, labels: int) -> Floats:
    """Count how many raters gave each subject each label, shape (n, labels).

    Args:
        codes: shape (n, k), one column per rater, codes -1 (missing) to labels-1; `encode` makes them from values.
        labels: how many labels there are.
    """
    valued = codes >= 0
    cell = np.arange(len(codes))[:, None] * labels + codes
    return np.bincount(cell[valued], minlength=len(codes) * labels).astype(float).reshape(len(codes), labels)


def pairs(counts: Floats, weights: Floats | None = None) -> Floats:
    """Sum the subjects' joint tables of two raters, shape (B, q, q); each subject with two or more ratings counts 1.

    A subject's table is the mean over all ordered pairs of its r raters: r_c r_d / (r (r-1)) off the diagonal and
    r_c (r_c-1) / (r (r-1)) on it, with r_c how many of them gave value c. The result takes the place of the joint table
    of two raters in `percent`, `within` and `gwet_ac`.

    Args:
        counts: shape (n, q), how many raters gave each subject each value.
        weights: shape (B, n); ones if not given.
    """
    return _sum(_pairs(counts), weights)


def coincidences(counts: Floats, weights: Floats | None = None) -> Floats:
    """Sum the subjects' coincidence matrices, shape (B, q, q); each rating that has another to pair with counts 1.

    o_cd = Σ_subjects (ordered pairs with values c and d) / (r - 1), Krippendorff 2011, "Computing Krippendorff's
    alpha-reliability", step 2. Subjects with fewer than two ratings are left out. Two raters' joint table J gives
    J + Jᵀ.

    Args:
        counts: shape (n, q), how many raters gave each subject each value.
        weights: shape (B, n); ones if not given.
    """
    return _sum(_coincidences(counts), weights)


def shares(counts: Floats, weights: Floats | None = None) -> Floats:
    """Sum the subjects' shares r_c / r of each value, shape (B, q); each subject with a rating counts 1.

    Args:
        counts: shape (n, q), how many raters gave each subject each value.
        weights: shape (B, n); ones if not given.
    """
    return _sum(_shares(counts), weights)


def _sum(parts: Floats, weights: Floats | None) -> Floats:
    return np.asarray(parts.sum(axis=0, keepdims=True) if weights is None else np.tensordot(weights, parts, axes=1))


def _pairs(counts: Floats) -> Floats:
    ratings = counts.sum(axis=1)
    products = counts[:, :, None] * counts[:, None, :]
    np.einsum("nii->ni", products)[...] -= counts  # no rating is paired with itself
    products /= np.where(ratings > 1, ratings * (ratings - 1), 1.0)[:, None, None]
    return np.asarray(products)


def _coincidences(counts: Floats) -> Floats:
    return np.asarray(_pairs(counts) * counts.sum(axis=1)[:, None, None])


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def _paired_ratings(counts: Floats) -> Floats:
    return np.asarray(counts * (counts.sum(axis=1, keepdims=True) > 1))


# -- coefficients: functions of tables --------------------------------------------------------------------------------


def disagreement(weighting: Weighting | Floats, q: int, values: Floats | None = None) -> Floats:
    """Return how far apart each two values count, shape (q, q), from 0 (the same) to 1 (the ends of the scale).

        nominal     1 unless they are the same
        linear      |v_i - v_j| / range                      (Cicchetti and Allison 1971)
        quadratic   (v_i - v_j)² / range²                    (Fleiss and Cohen 1973)
        ordinal     C(|i-j| + 1, 2) / C(q, 2), order alone   (Gwet 2014, chapter 3)

    Args:
        weighting: one of these, or a matrix of disagreement weights as in Cohen 1968, to be scaled to 1.
        q: how many values there are.
        values: shape (q,), the values in rising order; evenly spaced if not given.

    Raises:
        ValueError: no such weighting.
    """
    if not isinstance(weighting, str):
        return np.asarray(weighting / np.max(weighting))
    positions = np.arange(q, dtype=float) if values is None else np.asarray(values, dtype=float)
    gaps = np.abs(np.subtract.outer(positions, positions)) / (np.ptp(positions) or 1.0)
    steps = np.abs(np.subtract.outer(np.arange(q), np.arange(q)))
    kinds = {
        "nominal": (steps > 0).astype(float),
        "linear": gaps,
        "quadratic": gaps**2,
        "ordinal": steps * (steps + 1) / max(q * (q - 1), 1),
    }
    if weighting not in kinds:
        raise ValueError(f"no weighting is called {weighting!r}; there are {', '.join(kinds)}")
    return np.asarray(kinds[weighting])


def percent(table: Floats) -> Floats:
    """Return the share of pairs that agree, shape (B,): p_o = Σ_c p_cc.

    Published example: two abstractors on 100 patients (Gwet 2014; 13 0 0 | 0 20 7 | 0 4 56) give 0.89.

    Args:
        table: shape (B, q, q); or (B, q, q+1), where the last column agrees with nothing.
    """
    return ratio(np.einsum("bii->b", table[:, :, : table.shape[1]]), table.sum(axis=(1, 2)))


def within(table: Floats, values: Floats, distance: float = 1.0) -> Floats:
    """Return the share of pairs whose values are at most `distance` apart, shape (B,).

    Args:
        table: shape (B, q, q); or (B, q, q+1), where the last column is near to nothing.
        values: shape (q,).
        distance: in units of the values.
    """
    near = np.abs(np.subtract.outer(values, values)) <= distance * (1 + 1e-9)  # 0.4 - 0.3 is more than 0.1
    return ratio(_inner(table[:, :, : table.shape[1]], near.astype(float)), table.sum(axis=(1, 2)))


def cohen_kappa(table: Floats, weighting: Weighting | Floats = "nominal", values: Floats | None = None) -> Floats:
    """Return Cohen's kappa of two raters, shape (B,) (Cohen 1960; weighted: Cohen 1968).

    κ = 1 - Σ v_ij p_ij / Σ v_ij p_i. p_.j, with v the disagreement weights; for nominal ones (p_o - p_e) / (1 - p_e),
    p_e = Σ_c p_c. p_.c. A missing second label stays in n and agrees with nothing. NaN where both used one and the same
    value only.

    Published examples: the proportions of Cohen 1968, table 1 (.44 .05 .01 | .07 .20 .03 | .09 .05 .06), give 0.492,
    and with his weights (0 1 3 | 1 0 6 | 3 6 0) 0.348. Two radiologists on 85 mammograms (Boyd et al. 1982, in the
    manual of Stata's `kap`; 21 12 0 0 | 4 17 1 0 | 3 9 15 2 | 0 0 0 1) give 0.473, and with linear weights 0.568.

    Args:
        table: shape (B, q, q), the joint table; or (B, q, q+1), where the last column holds missing second labels.
        weighting: see `disagreement`; or the weights v themselves.
        values: shape (q,), the values in rising order; evenly spaced if not given.
    """
    q = table.shape[1]
    distance = disagreement(weighting, q, values)
    distance = np.pad(distance, ((0, 0), (0, table.shape[2] - q)), constant_values=1.0)
    expected = ((table.sum(axis=2) @ distance) * table.sum(axis=1)).sum(axis=1)
    return 1 - ratio(_inner(table, distance) * table.sum(axis=(1, 2)), expected)


def gwet_ac(
    table: Floats,
    weighting: Weighting | Floats = "nominal",
    values: Floats | None = None,
    shares: Floats | None = None,
) -> Floats:
    """Return Gwet's agreement coefficient, shape (B,): AC1 for nominal weighting (Gwet 2008), else AC2 (Gwet 2014).

    (p_a - p_e) / (1 - p_e), p_e = T / (q (q-1)) Σ_c π_c (1 - π_c), with T the sum of all q² agreement weights (1 less
    the disagreement) and π_c the mean over subjects of the share of ratings with value c; subjects with one rating
    count in π, but not in p_a. p_e depends on q, so unused values of the scale matter. NaN where the scale has one
    value.

    Published examples: two abstractors on 100 patients (Gwet 2014; table under `percent`) give AC1 0.849, and AC2 0.900
    linear, 0.925 ordinal, 0.940 quadratic. Four raters on twelve units (Gwet 2014, page 120; the data are
    Krippendorff's) give AC1 0.775, and AC2 0.859 linear, 0.899 ordinal, 0.914 quadratic.

    Args:
        table: shape (B, q, q): the joint table of two raters, or `pairs`.
        weighting: see `disagreement`.
        values: shape (q,), the values in rising order; evenly spaced if not given.
        shares: shape (B, q), from `shares`; taken from the table if not given, which is the same if nothing is missing.
    """
    q = table.shape[1]
    if q < 2:
        return np.full(len(table), np.nan)
    distance = disagreement(weighting, q, values)
    used = table.sum(axis=1) + table.sum(axis=2) if shares is None else shares
    rated = used.sum(axis=1)
    guessed = (1 - distance).sum() / (q * (q - 1)) * (used * (rated[:, None] - used)).sum(axis=1)
    return 1 - ratio(_inner(table, distance) * rated**2, table.sum(axis=(1, 2)) * (rated**2 - guessed))


def fleiss_kappa(counts: Floats, weights: Floats | None = None) -> Floats:
    """Return Fleiss' kappa of any number of raters, not the same for each subject, shape (B,) (Fleiss 1971).

    P_i = (Σ_c r_ic² - r) / (r (r-1)), P_e = Σ_c p_c², κ = (mean P - P_e) / (1 - P_e). Subjects may differ in r; those
    with fewer than two ratings say nothing about agreement and are left out. Published example: Fleiss 1971, table 1
    (30 patients, 6 raters, 5 categories) gives 0.430.

    Args:
        counts: shape (n, q), how many raters gave each subject each value.
        weights: shape (B, n); ones if not given.
    """
    return fleiss_kappa_of_tables(pairs(counts, weights), _sum(_paired_ratings(counts), weights))


def fleiss_kappa_of_tables(table: Floats, ratings: Floats) -> Floats:
    """Return Fleiss' kappa from sums over subjects, shape (B,); see `fleiss_kappa`.

    Args:
        table: shape (B, q, q), from `pairs`.
        ratings: shape (B, q), how many ratings have each value, of subjects with two or more.
    """
    distance = disagreement("nominal", table.shape[1])
    expected = ((ratings @ distance) * ratings).sum(axis=1)
    return 1 - ratio(_inner(table, distance) * ratings.sum(axis=1) ** 2, table.sum(axis=(1, 2)) * expected)


def krippendorff_alpha(coincidences: Floats, values: Floats, level: Level = "nominal") -> Floats:
    """Return Krippendorff's alpha, shape (B,) (Krippendorff 2004, chapter 11; 2011).

    α = 1 - (n - 1) Σ o_cd δ²_cd / Σ n_c n_d δ²_cd, with n_c = Σ_d o_cd, n = Σ_c n_c and

        nominal    δ² = 1 unless c = d
        ordinal    δ = ratings between the two in rank: Σ_{c≤g≤d} n_g - (n_c + n_d) / 2
        interval   δ = v_c - v_d
        ratio      δ = (v_c - v_d) / (v_c + v_d), values from 0 up

    NaN where all ratings that have another to pair with are equal. Published example: four observers on twelve units
    with seven missing cells (Krippendorff 2011, example C) give nominal 0.743, ordinal 0.815, interval 0.849 and
    ratio 0.797.

    Args:
        coincidences: shape (B, q, q), from `coincidences`; J + Jᵀ for the joint table J of two raters.
        values: shape (q,), in rising order.
        level: of measurement.

    Raises:
        ValueError: no such level, or values below 0 at level ratio.
    """
    used = coincidences.sum(axis=2)
    distance = _squared_difference(used, np.asarray(values, dtype=float), level)
    observed = (coincidences * distance).sum(axis=(1, 2))
    expected = (used[:, :, None] * used[:, None, :] * distance).sum(axis=(1, 2))
    return 1 - ratio((used.sum(axis=1) - 1) * observed, expected)


def krippendorff_alpha_within(coincidences: Floats) -> Floats:
    """Return nominal alpha pooled within groups, shape (B,): 1 - Σ_g D_o / Σ_g D_e, each group with its own chance.

    What groups differ in counts for nothing: raters who know only which group a unit is of reach 0. With one group it
    is Krippendorff's alpha. NaN where no group has two different values.

    Args:
        coincidences: shape (B, groups, q, q), from `coincidences`.
    """
    used = coincidences.sum(axis=3)
    number = used.sum(axis=2)
    observed = number - np.einsum("bgii->bg", coincidences)
    expected = ratio(number**2 - (used**2).sum(axis=2), number - 1, otherwise=0.0)
    return 1 - ratio(np.where(number > 1, observed, 0.0).sum(axis=1), expected.sum(axis=1))


def _squared_difference(used: Floats, values: Floats, level: Level) -> Floats:
    """Return δ², shape (q, q), or (B, q, q) where it depends on how often each value was used."""
    if level == "nominal":
        return disagreement("nominal", len(values))
    if level == "interval":
        return disagreement("quadratic", len(values), values)
    if level == "ordinal":
        rank = np.cumsum(used, axis=1) - used / 2
        return np.asarray((rank[:, :, None] - rank[:, None, :]) ** 2)
    if level != "ratio":
        raise ValueError(f"no level of measurement is called {level!r}; there are nominal, ordinal, interval, ratio")
    if np.any(values < 0):
        raise ValueError("the level ratio needs values from 0 up; use interval")
    return ratio(np.subtract.outer(values, values), np.add.outer(values, values), otherwise=0.0) ** 2


def _inner(table: Floats, matrix: Floats) -> Floats:
    return np.asarray(np.tensordot(table, matrix, axes=2))


# -- intervals: functions of ratings ----------------------------------------------------------------------------------


class CodedRatings(NamedTuple):
    """Ratings as `codes`, shape (n, k), -1 for a missing one, which index `values`, shape (q,), numbers in rising order.

    Labels stand for numbers 0 to q-1; they are `ordered` only if their order was given.
    """

    codes: Codes
    values: Floats
    ordered: bool


def encode(ratings: Ratings, levels: Levels = None) -> CodedRatings:
    """Turn ratings into codes of the scale's values.

    Args:
        ratings: shape (n, k), a row per subject and a column per rater; numbers or labels, None or NaN for a missing
            one. Do not put missing cells and labels into one numpy array of strings, where NaN becomes the label "nan".
        levels: all values of the scale, labels in their order; those that occur if not given.

    Raises:
        ValueError: another shape, a value that is not one of the levels, numbers mixed with labels, an infinite number.
    """
    cells = np.array(ratings, dtype=object)
    if cells.ndim != 2:
        raise ValueError(f"ratings need two dimensions, subjects and raters, but have shape {cells.shape}")
    present = np.array([_present(value) for value in cells.flat], dtype=bool).reshape(cells.shape)
    labels = cells[present].tolist()
    alphabet = labels if levels is None else list(levels)
    kinds = {isinstance(value, str) for value in (*labels, *alphabet)}
    if len(kinds) > 1:
        raise ValueError("numbers and labels are mixed, but a scale has either")
    labelled = True in kinds
    scale = list(dict.fromkeys(alphabet)) if labelled and levels is not None else sorted(set(alphabet))
    index = {value: code for code, value in enumerate(scale)}
    stray = [value for value in labels if value not in index]
    if stray:
        raise ValueError(f"{stray[0]!r} was given, but the levels are {', '.join(map(str, scale))}")
    if not labelled and not np.isfinite(np.array(scale, dtype=float)).all():
        raise ValueError("ratings and levels must be finite; mark a missing rating as NaN")
    codes = np.full(cells.shape, -1, dtype=np.intp)
    codes[present] = [index[value] for value in labels]
    values = np.arange(len(scale), dtype=float) if labelled else np.array(scale, dtype=float)
    return CodedRatings(codes, values, ordered=not labelled or levels is not None)


def _present(value: object) -> bool:
    return value is not None and not (isinstance(value, float | np.floating) and np.isnan(value))


class EstimateOptions(TypedDict, total=False):
    """What every function below takes as keywords.

    levels: all values of the scale, as in `encode`.
    cluster: shape (n,), what subjects were drawn together (conversation, source); each on its own if not given.
    resamples: how many bootstrap resamples of clusters, 2,000 if not given.
    seed: of the bootstrap, 0 if not given.
    """

    levels: Levels
    cluster: ArrayLike | None
    resamples: int
    seed: int


def kappa(ratings: Ratings, weighting: Weighting = "nominal", **options: Unpack[EstimateOptions]) -> Interval:
    """Estimate Cohen's kappa of two raters; see `cohen_kappa`.

    Args:
        ratings: shape (n, 2), as in `encode`; subjects that one of them did not rate are left out.
        weighting: see `disagreement`.
        **options: see `EstimateOptions`.

    Raises:
        ValueError: more than two raters, unusable ratings, or labels without an order where it matters.
    """
    return _estimate(
        ratings,
        _joint,
        lambda table, values: cohen_kappa(table, weighting, values),
        ordered=weighting != "nominal",
        **options,
    )


def fleiss(ratings: Ratings, **options: Unpack[EstimateOptions]) -> Interval:
    """Estimate Fleiss' kappa of any number of raters; see `fleiss_kappa`.

    Args:
        ratings: shape (n, k), as in `encode`; subjects with fewer than two ratings are left out.
        **options: see `EstimateOptions`.

    Raises:
        ValueError: unusable ratings.
    """
    return _estimate(
        ratings,
        lambda codes, q: _with_margin(counts(codes, q), _paired_ratings),
        lambda table, _: fleiss_kappa_of_tables(table[:, :-1], table[:, -1]),
        ordered=False,
        **options,
    )


def alpha(ratings: Ratings, level: Level = "nominal", **options: Unpack[EstimateOptions]) -> Interval:
    """Estimate Krippendorff's alpha of any number of raters; see `krippendorff_alpha`.

    Args:
        ratings: shape (n, k), as in `encode`; subjects with fewer than two ratings are left out.
        level: of measurement.
        **options: see `EstimateOptions`.

    Raises:
        ValueError: unusable ratings, or labels without an order where it matters.
    """
    return _estimate(
        ratings,
        lambda codes, q: _coincidences(counts(codes, q)),
        lambda table, values: krippendorff_alpha(table, values, level),
        ordered=level != "nominal",
        **options,
    )


def _with_margin(counts: Floats, margin: Callable[[Floats], Floats]) -> Floats:
    """Return `_pairs` with one more row below, shape (n, q+1, q)."""
    return np.concatenate([_pairs(counts), margin(counts)[:, None]], axis=1)


def _joint(codes: Codes, q: int) -> Floats:
    """Return a table for each subject, shape (n, q, q), with a 1 for what the two raters gave it if both did."""
    if codes.shape[1] > 2:
        raise ValueError(f"kappa is for two raters, not {codes.shape[1]}; use fleiss or alpha")
    both = np.flatnonzero((codes >= 0).all(axis=1))
    tables = np.zeros((len(codes), q, q))
    tables[both, codes[both, 0], codes[both, 1]] = 1.0
    return tables


def _estimate(
    ratings: Ratings,
    tables: Callable[[Codes, int], Floats],
    coefficient: Callable[[Floats, Floats], Floats],
    *,
    ordered: bool,
    ends: Ends | None = None,
    levels: Levels = None,
    cluster: ArrayLike | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Put an estimate together with its interval over resamples of clusters; for what is not said here see `EstimateOptions`.

    `tables` takes codes (n, k) and q to the subjects' tables (n, rows, q) whose sum the coefficient needs, `coefficient` such
    sums (B, rows, q) and the scale's values (q,) to values (B,). `ordered`: whether the values must have an order. `ends`
    are the coefficient's, where it is a mean over subjects.
    """
    codes, values, has_order = encode(ratings, levels)
    if ordered and not has_order:
        raise ValueError("labels have no order of their own; give them in their order as levels, or use nominal")
    if codes.shape[1] < 2:
        return Interval(None, undefined="fewer than two raters")
    if not ((codes >= 0).sum(axis=1) > 1).any():
        return Interval(None, undefined="no subject has two ratings")
    totals = _totals(codes, len(values), tables, cluster)
    interval = bootstrap.interval_of_sums(
        lambda sums: coefficient(sums.reshape(len(sums), -1, len(values)), values),
        totals,
        resamples=resamples,
        seed=seed,
        ends=ends,
        valued=int((np.asarray(totals.sum(axis=1)) > 0).sum()),
    )
    return (
        interval
        if interval.value is not None
        else Interval(None, undefined="all ratings that can be compared are equal")
    )


def _totals(codes: Codes, q: int, tables: Callable[[Codes, int], Floats], cluster: ArrayLike | None) -> csr_array:
    """Sum the subjects' tables over clusters, shape (clusters, rows * q): few raters fill few cells of a long scale."""
    from scipy.sparse import csr_array, vstack

    n = len(codes)
    size = max(1, bootstrap.CHUNK // q**2)
    parts = (tables(codes[start : start + size], q) for start in range(0, n, size))
    stacked = vstack([csr_array(part.reshape(len(part), -1)) for part in parts], format="csr")
    if cluster is None:
        return stacked
    if np.shape(cluster) != (n,):
        raise ValueError(f"cluster has shape {np.shape(cluster)}, but there are {n} subjects")
    names, index = np.unique(np.asarray(cluster), return_inverse=True)
    return csr_array((np.ones(n), (index, np.arange(n))), shape=(len(names), n)) @ stacked
