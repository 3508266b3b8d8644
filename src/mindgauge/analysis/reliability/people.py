"""How far people agree among themselves, and a judge with itself, with or without each other beside them; who is stricter.

Every coefficient is one of single raters: any two that rated the same subject are put beside each other. Four sums of a
conversation are kept: Krippendorff's coincidences, in which each value that has another to pair with counts once; the
joint table of two raters and the shares of each value, in which each subject counts once; and the moments of each pair
of raters, which pooled give ICC(A,1) and ICC(C,1) of McGraw and Wong (1996), also where some values are missing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability import coefficients as estimates
from mindgauge.analysis.reliability.card import (
    BiasAtLarge,
    Bound,
    People,
    PersonBesideOthers,
    PersonProfile,
    RatersAtLarge,
)
from mindgauge.analysis.reliability.coefficients import ALIKE, kinds_of, latent_truth, of_alike, portions, unseen
from mindgauge.analysis.reliability.pairs import MOST_BESIDE, beside_others, numbered, pair, pair_each, summed
from mindgauge.analysis.reliability.unsafe_levels import ceiling
from mindgauge.stats import agreement, crossed, moments
from mindgauge.stats.jackknife import effective, student
from mindgauge.stats.rater_sample import mean_at_large, sample
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from mindgauge.analysis.independence import Dependence
    from mindgauge.analysis.reliability.pairs import RatingPairs
    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]


PAIR = 2
"""Another pair of clinicians: the smallest group that can be compared with itself."""
FEWEST_LEVELS = 5
"""Fewer systems or conversations are taken as they are, not as a sample of others."""
MOST_ALIKE = 0.8
"""With more conversations to a subject than this they cannot be told from subjects, and are not a factor of their own."""
RATER, SUBJECT = "rater", "subject"


def at_large(rated: pl.DataFrame, raters: Sequence[str], scale: ValueScale, seed: int) -> RatersAtLarge | None:
    """Say what people's ratings of one criterion tell of other people; None of classes, and of one person.

    Args:
        rated: people's valued rows: subject, cluster, system, rater, run, number.
        raters: the people whose values are their own.
        scale: of the values.
        seed: of the draws.
    """
    if not scale.ordered or len(raters) < 2:
        return None
    rows = _first_runs(rated, raters)
    try:
        _require_shared(rows)
        design = crossed.Design(rows["number"].to_numpy(), _factors(rows))
        fit = crossed.fit(design)
        rater_sample = sample(
            design, fit, rater=RATER, subject=[name for name in fit.names if name != RATER], k=PAIR, seed=seed
        )
    except ValueError as error:
        empty = Bound(None, note=str(error))
        levels = {name: rows[column].n_unique() for name, column in ((SUBJECT, "subject"), (RATER, "rater"))}
        return RatersAtLarge(levels, len(rows), PAIR, {}, {}, [], empty, empty, empty, empty, {}, str(error))
    worse = 1.0 if scale.unsafe is not None and scale.unsafe.falling else -1.0
    names = rows["rater"].unique().sort().to_list()
    span = scale.high - scale.low
    severity = {
        name: (Bound(*interval) if worse > 0 else -Bound(*interval)).clipped(-span, span)
        for name, interval in zip(names, rater_sample.severities, strict=True)
    }
    at_zero = [name for name, ratio in zip(fit.names, fit.ratios, strict=True) if ratio == 0]
    return RatersAtLarge(
        dict(zip(fit.names, fit.levels, strict=True)), fit.n, PAIR,
        {name: Bound(*interval).clipped(0.0, span / 2) for name, interval in rater_sample.sds.items()},
        {name: Bound(*interval) for name, interval in rater_sample.shares.items()}, at_zero, Bound(*rater_sample.single),
        Bound(*rater_sample.mean_of), Bound(*rater_sample.apart).clipped(0.0, span), Bound(*rater_sample.ratings_apart).clipped(0.0, span), severity,
    )  # fmt: skip


def bias_at_large(judged: pl.DataFrame, first: pl.DataFrame, scale: ValueScale, seed: int) -> BiasAtLarge | None:
    """Say how far a judge's mean lies from people's, where other people might have rated; None of classes.

    Args:
        judged: the judge's valued rows: subject, number.
        first: first ratings of each subject by people whose values are their own: subject, cluster, system, rater, number.
        scale: of the values.
        seed: of the draws.
    """
    if not scale.ordered:
        return None
    means = judged.group_by("subject").agg(judge=pl.col("number").mean())
    rows = first.join(means, on="subject", maintain_order="left")
    present = rows["rater"].n_unique()
    if present < 2:
        reason = "one person is no sample of people" if present else "no subject has a value from both"
        return BiasAtLarge(present, len(rows), PAIR, Bound(None, note=reason), Bound(None, note=reason))
    try:
        _require_shared(rows)
        design = crossed.Design((rows["judge"] - rows["number"]).to_numpy(), _factors(rows))
        overall = mean_at_large(design, crossed.fit(design), rater=RATER, k=PAIR, seed=seed)
    except ValueError as error:
        empty = Bound(None, note=str(error))
        return BiasAtLarge(present, len(rows), PAIR, empty, empty)
    span = scale.high - scale.low
    bounds = (Bound(*interval).clipped(-span, span) for interval in (overall.mean, overall.another))
    return BiasAtLarge(present, len(rows), PAIR, *bounds)


def _require_shared(rows: pl.DataFrame) -> None:
    """Raise a ValueError where no subject has two people's values, or people are a crowd."""
    crossed.require_few(rows["rater"].n_unique(), rows["subject"].n_unique())
    if rows["subject"].n_unique() == len(rows):
        raise ValueError("no subject has values from two people")


def _first_runs(rated: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    """Keep each person's first rating of a subject."""
    own = rated.filter(pl.col("rater").is_in(list(raters))).sort("run", maintain_order=True)
    return own.unique(["subject", "rater"], keep="first", maintain_order=True)


def _factors(rows: pl.DataFrame) -> dict[str, Codes]:
    """Return subjects and raters, and conversations and systems where they are enough and not the subjects again."""
    columns = {SUBJECT: "subject", "conversation": "cluster", "system": "system", RATER: "rater"}
    factors = {}
    for name, column in columns.items():
        levels = rows[column].n_unique()
        repeated = levels > MOST_ALIKE * rows["subject"].n_unique()
        if name in {SUBJECT, RATER} or (levels >= FEWEST_LEVELS and not repeated):
            factors[name] = rows[column].rank("dense").to_numpy().astype(np.intp) - 1
    return factors


def another_group(bias: BiasAtLarge) -> float | None:
    """Return by how much another group of people may differ: the half width of what it may say."""
    interval = bias.another
    return None if interval.low is None or interval.high is None else (interval.high - interval.low) / 2


CEILING = {
    "percent": "same_level", "within_1": "within_1", "alpha": "krippendorff_alpha", "kappa": "fleiss_kappa",
    "ac": "gwet_ac", "icc_a1": "icc_a1", "icc_c1": "icc_c1", "unsafe_found": "unsafe_found",
}  # fmt: skip
"""A card's name of a coefficient → its name among people."""


def people(
    name: str, rated: pl.DataFrame, scale: ValueScale, dependent: Sequence[Dependence] = (), seed: int = 0
) -> People | None:
    """Sum up agreement among independent people on one criterion; None where fewer than two of them rated it.

    Args:
        name: of the criterion.
        rated: people's valued rows: subject, cluster, category, rater, run, number.
        scale: of the values.
        dependent: who is not independent; they are left out, and the figures with them stand beside.
        seed: of what is drawn.
    """
    raters = rated["rater"].unique().sort().to_list()
    others = [entry for entry in dependent if entry.rater in raters]
    own = _own(raters, dependent)
    if len(own) < 2:
        return None
    everybody = _first(rated)
    first = everybody.filter(pl.col("rater").is_in(own))
    n, coefficients = _among_people(first, scale)
    together = _among_people(everybody, scale)[1] if others else {}
    level: Literal["ordinal", "nominal"] = "ordinal" if scale.ordered else "nominal"
    persons = _persons(own, first, scale) if n else []
    if not n:
        return People(
            name,
            len(raters),
            len(own),
            n,
            coefficients,
            persons,
            dependent=others,
            with_dependent=together,
            level=level,
        )
    return People(
        name, len(raters), len(own), n, coefficients, persons, at_large(first, own, scale, seed), profiles(first, own, scale),
        others, together, latent_truth(first, own, scale), level,
    )  # fmt: skip


def coefficients(rated: pl.DataFrame, scale: ValueScale, dependent: Sequence[Dependence] = ()) -> dict[str, Bound]:
    """Return the coefficients of `people` alone, which are soon computed; none where fewer than two of them rated it."""
    own = _own(rated["rater"].unique().sort().to_list(), dependent)
    return _among_people(_first(rated).filter(pl.col("rater").is_in(own)), scale)[1] if len(own) > 1 else {}


def _own(raters: Sequence[str], dependent: Sequence[Dependence]) -> list[str]:
    """Return who of some raters is independent."""
    others = {entry.rater for entry in dependent}
    return [rater for rater in raters if rater not in others]


def _first(rated: pl.DataFrame) -> pl.DataFrame:
    """Keep each person's first rating of a subject."""
    return rated.sort("run", maintain_order=True).unique(["subject", "rater"], keep="first", maintain_order=True)


def _among_people(first: pl.DataFrame, scale: ValueScale) -> tuple[int, dict[str, Bound]]:
    """Return how many subjects two people rated, and the coefficients."""
    sums = among(first, scale, key="rater")
    if sums is None:
        main = "icc_a1" if scale.ordered else "krippendorff_alpha"
        return 0, {main: Bound(None, note="no subject has values from two people")}
    coefficients = sums.estimates()
    if scale.unsafe is not None:
        coefficients["unsafe_found"] = ceiling(first, scale.unsafe).bound
    return sums.subjects, coefficients


def _persons(raters: Sequence[str], rated: pl.DataFrame, scale: ValueScale) -> list[PersonBesideOthers]:
    """Put each person beside the mean of the others, on the subjects that they share."""
    raters_of, total = pl.len().over("subject"), pl.col("number").sum().over("subject")
    shared = rated.with_columns(system=0, others=(total - pl.col("number")) / (raters_of - 1)).filter(raters_of > 1)
    columns = [
        name
        for name in ("subject", "cluster", "system", "number", "others", "rater", *drawn.COLUMNS)
        if name in shared.columns
    ]
    rows_of = shared.select(columns).partition_by("rater", as_dict=True, maintain_order=True)
    own = [rows_of.get((rater,), shared.clear()) for rater in raters]
    continuum = scale._replace(levels=False)
    parts = [pair(rows.with_columns(number="others"), rows, continuum) for rows in own if scale.ordered and len(rows)]
    estimated = iter(estimates.estimate_each(parts, ("bias", "icc_a1")))
    high_is_worse = scale.unsafe is not None and scale.unsafe.falling
    persons = []
    for rater, rows in zip(raters, own, strict=True):
        if not scale.ordered or rows.is_empty():
            reason = "no subject has a value from this person and another" if scale.ordered else "classes have no order"
            undefined = Bound(None, note=reason)
            persons.append(PersonBesideOthers(rater, len(rows), undefined, undefined))
            continue
        agreement = next(estimated)
        bias = agreement["bias"] if high_is_worse else -agreement["bias"]
        persons.append(PersonBesideOthers(rater, len(rows), bias, agreement["icc_a1"]))
    return persons


# Raters of the same subjects among themselves, as sums by conversation: people with people, a judge with itself.


MOMENTS = 6
MOST_PAIRS = 500
"""With more pairs of raters than that, as in a crowd, all are one: any rater compared with any other. MOST_BESIDE raters have fewer."""
SHARES = {"same_level", "within_1"}
GWET = "gwet_ac"


class Among(NamedTuple):
    """`cells` has shape (conversations, 2 q² + q + 6 p), q levels and p pairs of raters; without levels 6 p."""

    cells: Floats | csr_array
    scale: ValueScale
    pairs: int
    subjects: int

    @property
    def levels(self) -> int:
        """q, 0 for a continuum."""
        return len(self.scale.values) if self.scale.levels else 0

    def values(self, sums: Floats) -> dict[str, Floats]:
        """Compute every coefficient from sums (B, columns); each has shape (B,)."""
        q = self.levels
        coefficients: dict[str, Floats] = {}
        if q:
            coincidences, joint = (sums[:, i * q * q : (i + 1) * q * q].reshape(-1, q, q) for i in range(2))
            shares, values = sums[:, 2 * q * q : 2 * q * q + q], np.array(self.scale.values)
            ordered = self.scale.ordered
            coefficients["krippendorff_alpha"] = agreement.krippendorff_alpha(
                coincidences, values, "ordinal" if ordered else "nominal"
            )
            coefficients["fleiss_kappa"] = agreement.fleiss_kappa_of_tables(joint, coincidences.sum(axis=2))
            coefficients[GWET] = agreement.gwet_ac(joint, "quadratic" if ordered else "nominal", values, shares)
            coefficients["same_level"] = agreement.percent(joint)
            if ordered:
                coefficients["within_1"] = agreement.within(joint, values)
        if self.scale.ordered:
            blocks = sums[:, 2 * q * q + q :].reshape(-1, self.pairs, MOMENTS)
            coefficients["icc_a1"] = moments.icc_agreement_within(blocks)
            coefficients["icc_c1"] = moments.icc_consistency_within(blocks)
        return coefficients

    def opposed(self, sums: Floats, share: float) -> Floats:
        """Return sums (1, columns) in which a share of what is paired stands at the two ends of the scale."""
        q, span = self.levels, self.scale.high - self.scale.low
        extremes = np.zeros_like(sums)
        if q:
            for start in (0, q * q):
                table = sums[0, start : start + q * q].sum()
                extremes[0, start + q - 1] = extremes[0, start + q * (q - 1)] = table / 2
            shares = sums[0, 2 * q * q : 2 * q * q + q].sum()
            extremes[0, 2 * q * q] = extremes[0, 2 * q * q + q - 1] = shares / 2
        if self.scale.ordered:
            start = 2 * q * q + q
            counts = sums[0, start::MOMENTS]
            ends = np.array([1.0, span / 2, span / 2, span**2 / 2, span**2 / 2, 0.0])
            extremes[0, start:] = (counts[:, None] * ends).ravel()
        return np.asarray((1 - share) * sums + share * extremes)

    def estimates(self) -> dict[str, Bound]:
        """Return every coefficient with Student's interval, by leaving out one conversation at a time.

        Only Gwet's AC hangs on conversations in which nobody rated beside another, by the shares of values.
        """
        kinds, counts, _ = kinds_of(self.cells)
        total = np.asarray(self.cells.sum(axis=0)).reshape(1, -1)
        parts, sizes = [], []
        for own in portions(kinds):
            parts.append(self.values(total - own))
            sizes.append(own[:, self._first : self._last].sum(axis=1))
        held = np.concatenate(sizes)
        clusters = effective(held, counts)
        opposed = self.values(self.opposed(total, unseen(clusters)))
        bounds = {}
        for name, value in self.values(total).items():
            counted = slice(None) if name == GWET else held > 0
            left_out = np.concatenate([part[name] for part in parts])[counted]
            bounds[name] = _bound(name, float(value[0]), left_out, counts[counted], clusters, float(opposed[name][0]))
        return bounds

    @property
    def _first(self) -> int:
        """The first column of what is added up to say how much a conversation holds: joint tables, or moments."""
        return self.levels**2

    @property
    def _last(self) -> int:
        return 2 * self.levels**2 if self.levels else self.cells.shape[1]


def _bound(name: str, value: float, left_out: Floats, counts: Codes, clusters: float, opposed: float) -> Bound:
    spread = student(value, left_out, counts, correlation=name not in SHARES, clusters=clusters)
    if spread.value is None or spread.low is None or spread.high is None or spread.high - spread.low <= ALIKE:
        if spread.value is None or clusters <= 1:
            return Bound(spread.value, note=spread.undefined)
        return of_alike(value, left_out, opposed, spread.undefined)
    if name in SHARES:
        return Bound(value, max(spread.low, 0.0), min(spread.high, 1.0))
    return Bound(value, spread.low, spread.high)


def among(rows: pl.DataFrame, scale: ValueScale, *, key: str) -> Among | None:
    """Put the raters of each subject beside each other; None where no subject has values from two.

    Args:
        rows: columns subject, cluster, number (all known), and `key`: `rater`, or `run` for one rater's repeats. Of
            several values of a rater on a subject the first counts.
        scale: of the values.
        key: what tells two raters of a subject apart.
    """
    rated = rows.unique(["subject", key], keep="first", maintain_order=True)
    rated = rated.with_columns(
        stands_for=drawn.weights(rated),
        cluster=pl.col("cluster").rank("dense").cast(pl.Int64) - 1,
        rater=pl.col(key).rank("dense").cast(pl.Int64) - 1,
        raters=pl.len().over("subject"),
    )
    shared = rated.filter(pl.col("raters") > 1)
    if shared.is_empty():
        return None
    is_crowd = int(shared["raters"].max()) > MOST_BESIDE  # type: ignore[arg-type]
    q = len(scale.values) if scale.levels else 0
    entries: list[tuple[Floats, Codes, Codes]] = []
    if q or not is_crowd:
        paired = _paired(shared, by="number" if is_crowd else "rater")
    if q:
        entries += _tables(rated, paired, scale, q)
    pairs = 0
    if scale.ordered:
        start = 2 * q * q + q
        moment, pairs = _crowd_moments(shared, scale, start) if is_crowd else _moments(paired, scale, start)
        entries += moment
    data, row, column = (np.concatenate([entry[i] for entry in entries]) for i in range(3))
    shape = (int(rated["cluster"].max()) + 1, 2 * q * q + q + MOMENTS * pairs)  # type: ignore[arg-type]
    return Among(summed(data, row, column, shape), scale, pairs, shared["subject"].n_unique())


def _paired(shared: pl.DataFrame, by: str) -> pl.DataFrame:
    """Pair each two raters of a subject, or each two values, `times` as often as it is by two raters."""
    held = ["subject", "cluster", "stands_for", "raters", "number"]
    rows = shared.group_by([*held, *({by} - {"number"})], maintain_order=True).agg(times=pl.len())
    others = rows.select("subject", pl.exclude(held).name.prefix("other_"), other_number="number")
    same = pl.when(pl.col(by) == pl.col(f"other_{by}")).then("times").otherwise(0)
    paired = rows.join(others, on="subject")
    return paired.with_columns(times=pl.col("times") * pl.col("other_times") - same).filter(pl.col("times") > 0)


def _tables(rated: pl.DataFrame, paired: pl.DataFrame, scale: ValueScale, q: int) -> list[tuple[Floats, Codes, Codes]]:
    """Return the entries of coincidences, joint tables and shares."""
    x, y = (np.searchsorted(scale.values, paired[name].to_numpy()) for name in ("number", "other_number"))
    cluster, raters = paired["cluster"].to_numpy(), paired["raters"].to_numpy().astype(float)
    weight = paired["stands_for"].to_numpy() * paired["times"].to_numpy()
    level = np.searchsorted(scale.values, rated["number"].to_numpy())
    return [
        (weight / (raters - 1), cluster, x * q + y),
        (weight / (raters * (raters - 1)), cluster, q * q + x * q + y),
        (
            rated["stands_for"].to_numpy() / rated["raters"].to_numpy().astype(float),
            rated["cluster"].to_numpy(),
            2 * q * q + level,
        ),
    ]


def _crowd_moments(
    shared: pl.DataFrame, scale: ValueScale, start: int
) -> tuple[list[tuple[Floats, Codes, Codes]], int]:
    """Return the entries of the moments of any two raters of a crowd, from the sums of each subject's values."""
    x = pl.col("number") - scale.low
    sums = shared.group_by("subject", "cluster", "stands_for", "raters", maintain_order=True).agg(
        x=x.sum(), xx=(x**2).sum()
    )
    cluster, weight, raters, x_sum, xx = (
        sums[name].to_numpy() for name in ("cluster", "stands_for", "raters", "x", "xx")
    )
    others = raters.astype(float) - 1
    terms = (raters * others, others * x_sum, others * x_sum, others * xx, others * xx, x_sum**2 - xx)
    return [(weight * term / 2, cluster, np.full(len(sums), start + i)) for i, term in enumerate(terms)], 1


def _moments(paired: pl.DataFrame, scale: ValueScale, start: int) -> tuple[list[tuple[Floats, Codes, Codes]], int]:
    """Return the entries of the moments of each pair of raters, and how many pairs there are."""
    raters = int(paired["rater"].max()) + 1  # type: ignore[arg-type]
    one_way = paired.filter(pl.col("rater") < pl.col("other_rater"))
    codes = one_way["rater"].to_numpy() * raters + one_way["other_rater"].to_numpy()
    names, block = np.unique(codes, return_inverse=True)
    part = 1.0
    if len(names) > MOST_PAIRS:
        one_way, names, part = paired, names[:1], 0.5
        block = np.zeros(len(paired), dtype=np.intp)
    x, y = (one_way[name].to_numpy() - scale.low for name in ("number", "other_number"))
    cluster = one_way["cluster"].to_numpy()
    weight = part * one_way["stands_for"].to_numpy()
    return [(weight * term, cluster, start + block * MOMENTS + i) for i, term in enumerate(moments.terms(x, y))], len(
        names
    )


BELOW, MAY_BE = "below chance", "may be below chance"
ALPHA = 0.05
FEWEST = 10
"""Conversations from which a profile has numbers, as everywhere on a card (rule.toml)."""
_NOTHING = Bound(None, note="classes have no order")


def profiles(rated: pl.DataFrame, raters: Sequence[str], scale: ValueScale) -> list[PersonProfile]:
    """Put each person beside the others, one at a time.

    Args:
        rated: people's valued rows on one criterion: subject, cluster, category, rater, run, number.
        raters: the people whose values are their own.
        scale: of the values.
    """
    first = rated.sort("run", maintain_order=True).unique(["subject", "rater"], keep="first", maintain_order=True)
    first = first.with_columns(system=0)
    several = first.filter(pl.col("rater").is_in(list(raters)))["category"].drop_nulls().n_unique() > 1
    parts = [part for rows in beside_others(first, raters) for part in _parts(*rows, scale, categories=several)]
    main = "icc_a1" if scale.ordered else "kappa"
    kappa = "kappa_quadratic" if scale.ordered else "kappa"
    names = dict.fromkeys(("bias", main, kappa))
    estimable = [pairs for *_, pairs in parts if pairs.clusters >= FEWEST]
    estimated = iter(estimates.estimate_each(estimable, names))
    bounds = [next(estimated) if pairs.clusters >= FEWEST else _few(pairs, names) for *_, pairs in parts]
    adjusted = holm(
        np.array([_p(estimate[main], pairs.clusters) for (*_, pairs), estimate in zip(parts, bounds, strict=True)])
    )
    worse = scale.unsafe is not None and scale.unsafe.falling
    return [
        PersonProfile(
            rater, category, pairs.subjects, pairs.clusters,
            bias if worse else -bias, estimate[main], estimate.get(kappa, _NOTHING), _named(estimate[main], float(p)),
        )
        for (rater, category, pairs), estimate, p in zip(parts, bounds, adjusted, strict=True)
        for bias in [estimate.get("bias", _NOTHING)]
    ]  # fmt: skip


def _parts(
    rater: str, own: pl.DataFrame, rest: pl.DataFrame, scale: ValueScale, *, categories: bool
) -> Iterator[tuple[str, str, RatingPairs]]:
    """Yield a person compared with the others, over all, and by category if asked; nothing where no others rated."""
    overall = pair(rest, own, scale)
    if not overall.subjects:
        return
    yield rater, "", overall
    names, group = numbered(rest["category"])
    if categories:
        for place, pairs in pair_each(rest, own, scale, group).items():
            yield rater, names[place], pairs


def _few(pairs: RatingPairs, names: Iterable[str]) -> dict[str, Bound]:
    return dict.fromkeys(names, Bound(None, note=f"{pairs.clusters} conversations, at least {FEWEST} are needed"))


def _p(bound: Bound, conversations: int) -> float:
    """Return Student's p that agreement is not 0, read off the interval, which is one on Fisher's scale."""
    if bound.value is None or bound.low is None or bound.high is None or not -1 < bound.low < bound.high < 1:
        return math.nan
    freedom = max(conversations - 1, 1)
    half = (math.atanh(bound.high) - math.atanh(bound.low)) / 2
    error = half / float(special.stdtrit(freedom, 0.975))
    return 2 * float(special.stdtr(freedom, -abs(math.atanh(bound.value)) / error))


def _named(bound: Bound, p: float) -> str:
    if bound.value is None or bound.value >= 0:
        return ""
    return BELOW if bound.high is not None and bound.high < 0 and p <= ALPHA else MAY_BE
