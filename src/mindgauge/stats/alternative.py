"""Is a judge as good as one more person? The alternative annotator test, with subjects in clusters.

Calderon, Reichart and Dror (ACL 2025). One person j is left out at a time. On each subject i that j rated, the judge and
j are held against the others who rated it, G: by the share of them that have the same value where values are classes,
by minus the root mean square of the distances to them where values have an order. With

    W_f(i, j) = 1 if the judge is at least as close to the others as j, else 0;  W_h(i, j) the other way round,
    ρ_f(j) = mean of W_f(i, j),  ρ_h(j) = mean of W_h(i, j),  d = W_h - W_f  (both are 1 where they are equally close)

the judge wins against j where mean(d) ≥ ε is rejected, one-sided, with the false discovery rate over people controlled
(Benjamini and Yekutieli 2001): ε is what the judge may be worse by, since it costs less. ω is the share of people it wins
against, and it passes where ω ≥ .5; ρ, the mean of ρ_f over people, compares judges.

The paper's test is the paired t over subjects. Here subjects stand in clusters (conversations), and where d is rarely
other than 0 the paired t rejects too often (of 30 subjects with P(d = 1) = ε = .2 and no d = -1, in 12 % of studies).
So the variance is the one that d has at the limit itself, by restricted maximum likelihood (Tango 1998, for
non-inferiority of paired shares), times the design effect of clusters from the jackknife, and never less than the jackknife's;
Student's t has the effective number of clusters less one as degrees of freedom.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.codes import dense
from mindgauge.stats.interval import Interval
from mindgauge.stats.jackknife import effective, student
from mindgauge.stats.significance import benjamini_yekutieli

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

_CLOSER = 1e-9
"""Distances that differ by less than this are the same."""


class BesidePerson(NamedTuple):
    """A judge beside one person, held against the others.

    `judge` is ρ_f, `person` ρ_h, `worse` is ρ_h - ρ_f; `p` that the judge is worse by ε or more, `adjusted` over all
    people. `undefined` says why this person does not count.
    """

    n: int
    missing: int
    clusters: float
    judge: Interval
    person: Interval
    worse: Interval
    p: float | None
    adjusted: float | None
    wins: bool
    undefined: str = ""


class Alternative(NamedTuple):
    """The test over all people: ω as `winning`, ρ as `advantage` (None where nobody counts), and each person's part."""

    winning: float | None
    advantage: Interval
    people: list[BesidePerson]

    @property
    def counted(self) -> int:
        """How many people the rates are of."""
        return sum(not person.undefined for person in self.people)


def alternative(
    judge: Floats,
    people: Floats,
    clusters: Codes,
    *,
    ordered: bool,
    epsilon: float,
    subjects: int = 30,
    fewest: float = 2,
    rate: float = 0.05,
) -> Alternative:
    """Test a judge as one more person among those who rated.

    Args:
        judge: shape (n,), NaN where its verdict is missing: it loses there.
        people: shape (n, k), NaN where a person did not rate the subject.
        clusters: shape (n,), the cluster of each subject.
        ordered: whether values have an order, else they are classes.
        epsilon: by what share of the subjects the judge may be closer less often than the person; fixed beforehand.
        subjects: a person with fewer does not count (the paper's 30).
        fewest: nor one with fewer clusters in effect.
        rate: of false discoveries among the people it wins against.

    Raises:
        ValueError: ε does not lie between 0 and 1, or shapes differ.
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"ε must lie between 0 and 1, not {epsilon}")
    if people.ndim != 2 or len(judge) != len(people) or len(clusters) != len(people):
        raise ValueError(f"shapes {judge.shape}, {people.shape} and {clusters.shape} are of no one table")
    places, wins = [], []
    for person in range(people.shape[1]):
        rest = np.delete(people, person, axis=1)
        place = np.flatnonzero(np.isfinite(people[:, person]) & np.isfinite(rest).any(axis=1))
        places.append(place)
        wins.append(_closer(judge[place], people[place, person], rest[place], ordered=ordered))
    parts = [
        _beside(won, clusters[place], int(np.isnan(judge[place]).sum()), epsilon, subjects, fewest)
        for place, won in zip(places, wins, strict=True)
    ]
    adjusted = benjamini_yekutieli(np.array([np.nan if part.p is None else part.p for part in parts]))
    parts = [
        part if part.p is None else part._replace(adjusted=float(p), wins=bool(p <= rate))
        for part, p in zip(parts, adjusted, strict=True)
    ]
    counted = [i for i, part in enumerate(parts) if not part.undefined]
    if not counted:
        return Alternative(None, Interval(None, undefined="nobody has enough subjects"), parts)
    advantage = _mean_over_people([places[i] for i in counted], [wins[i][0] for i in counted], clusters)
    return Alternative(sum(parts[i].wins for i in counted) / len(counted), advantage, parts)


def _closer(judge: Floats, person: Floats, rest: Floats, *, ordered: bool) -> tuple[Floats, Floats]:
    """Return W_f and W_h, shape (n,) each; a missing verdict is not close to anybody."""
    rated = np.isfinite(rest)
    number = rated.sum(axis=1)

    def distance(values: Floats) -> Floats:
        gap = rest - values[:, None]
        apart = gap**2 if ordered else (np.abs(gap) > _CLOSER).astype(float)
        mean = np.where(rated, apart, 0.0).sum(axis=1) / number
        return np.asarray(np.sqrt(mean)) if ordered else mean

    of_judge, of_person = np.where(np.isnan(judge), np.inf, distance(judge)), distance(person)
    return (of_judge <= of_person + _CLOSER).astype(float), (of_person <= of_judge + _CLOSER).astype(float)


def _beside(
    won: tuple[Floats, Floats], clusters: Codes, missing: int, epsilon: float, subjects: int, fewest: float
) -> BesidePerson:
    judge, person = won
    n = len(judge)
    codes = dense(clusters)[1]
    sizes = np.bincount(codes).astype(float)
    number = effective(sizes)
    few = (
        f"{n} of the {subjects} subjects it takes"
        if n < subjects
        else f"{math.floor(number)} of the {fewest:g} conversations it takes"
        if number < fewest - 1e-9
        else ""
    )
    if few:
        nothing = Interval(None, undefined=few)
        return BesidePerson(n, missing, number, nothing, nothing, nothing, None, None, wins=False, undefined=few)
    of_judge, of_person = (_mean(values, codes, sizes, _SHARE) for values in won)
    worse = _mean(person - judge, codes, sizes, (-1.0, 1.0))
    p = _p_value(person - judge, codes, sizes, epsilon)
    return BesidePerson(n, missing, number, of_judge, of_person, worse, p, None, wins=False)


_SHARE = (0.0, 1.0)


def _mean(values: Floats, codes: Codes, sizes: Floats, ends: tuple[float, float]) -> Interval:
    sums = np.bincount(codes, values).astype(float)
    value, left_out = _left_out(sums, sizes)
    return student(value, left_out, np.ones(len(sizes), dtype=np.intp), ends=ends, clusters=effective(sizes))


def _left_out(sums: Floats, sizes: Floats) -> tuple[float, Floats]:
    """Return a mean, and what it is without each cluster."""
    total, n = float(sums.sum()), float(sizes.sum())
    rest = np.where(n - sizes > 0, n - sizes, np.nan)
    return total / n, (total - sums) / rest


def _p_value(d: Floats, codes: Codes, sizes: Floats, epsilon: float) -> float:
    """Return the one-sided p of mean(d) ≥ ε."""
    number = effective(sizes)
    value, left_out = _left_out(np.bincount(codes, d).astype(float), sizes)
    error = _error(d, left_out, epsilon, number)
    if error <= 0:  # ε is 0, and the two never differ
        return 1.0
    return float(special.stdtr(number - 1, (value - epsilon) / error))


def _error(d: Floats, left_out: Floats, epsilon: float, number: float) -> float:
    """Return the standard error of mean(d) at the limit, clusters reckoned with."""
    n, clusters = len(d), len(left_out)
    jackknife = (clusters - 1) / clusters * float(((left_out - left_out.mean()) ** 2).sum())
    plain = float(d.var(ddof=1)) / n
    design = max(jackknife / plain, 1.0) if plain > 1e-12 else n / number
    return math.sqrt(max(at_limit(d, epsilon) / n * design, jackknife))


def at_limit(d: Floats, epsilon: float) -> float:
    """Return the variance of d in {-1, 0, 1} where its mean is ε, by restricted maximum likelihood (Tango 1998).

    With b the count of 1, c that of -1 and q = P(d = -1), the likelihood of P(d = 1) = q + ε is greatest at the larger
    root of 2n q² + ((2n - b + c) ε - b - c) q - c ε (1 - ε) = 0; the variance is 2q + ε - ε².

    Args:
        d: shape (n,).
        epsilon: the mean.
    """
    n, b, c = len(d), int((d > 0).sum()), int((d < 0).sum())
    linear = (2 * n - b + c) * epsilon - b - c
    q = (math.sqrt(max(linear**2 + 8 * n * c * epsilon * (1 - epsilon), 0.0)) - linear) / (4 * n)
    return 2 * min(max(q, 0.0), (1 - epsilon) / 2) + epsilon * (1 - epsilon)


def _mean_over_people(places: list[Codes], wins: list[Floats], clusters: Codes) -> Interval:
    """Return ρ, the mean over people of ρ_f, by leaving out one cluster at a time."""
    codes = dense(clusters)[1]
    number = int(codes.max()) + 1
    sums = np.stack([np.bincount(codes[place], won, number) for place, won in zip(places, wins, strict=True)])
    sizes = np.stack([np.bincount(codes[place], minlength=number) for place in places]).astype(float)
    present = sizes.sum(axis=0) > 0
    sums, sizes = sums[:, present], sizes[:, present]
    rest = sizes.sum(axis=1, keepdims=True) - sizes
    left_out = ((sums.sum(axis=1, keepdims=True) - sums) / np.where(rest > 0, rest, np.nan)).mean(axis=0)
    value = float((sums.sum(axis=1) / sizes.sum(axis=1)).mean())
    ones = np.ones(int(present.sum()), dtype=np.intp)
    return student(value, left_out, ones, ends=_SHARE, clusters=effective(sizes.sum(axis=0)))
