"""Which of several systems is better, on the same conversations, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats import bootstrap, rank
from mindgauge.stats.interval import Interval
from mindgauge.stats.ratio import ratio
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from mindgauge.stats.interval import Ends

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


PAIRS = 64
"""Pairs of systems that are looked at together."""
FEW = 20
"""With fewer conversations percentiles of a difference are too near, and Student's interval is given where it is wider."""
KNOWN = 0.1
"""The least share of the whole sample's error at which a resample's own error can be believed."""


class MeanDifference(NamedTuple):
    """By how much the first system's mean exceeds the second's, on the `n` conversations that both have.

    `p` is two-sided, `adjusted` for all pairs of systems together.
    """

    first: int
    second: int
    difference: Interval
    p: float | None
    adjusted: float | None
    n: int


class MeanRank(NamedTuple):
    """Where one system stands: 1 is best, ties share the mean of their ranks.

    `certain` is the range of ranks that all systems' ranks lie in at once with the confidence asked for; it and `rank`
    are None where two systems share fewer than 2 conversations. `best` is the share of resamples in which it was first, ties split. `missing`
    conversations have no score of it.
    """

    mean: Interval
    rank: float | None
    certain: tuple[int, int] | None
    best: float | None
    n: int
    missing: int


class Comparison(NamedTuple):
    """All pairs of systems, and where each system stands."""

    differences: tuple[MeanDifference, ...]
    standings: tuple[MeanRank, ...]


def compare(
    scores: ArrayLike,
    *,
    better: Literal["higher", "lower"] = "higher",
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    ends: Ends | None = None,
    gaps: ArrayLike | None = None,
) -> Comparison:
    """Compare all systems with each other on the conversations that they share.

    **Differences** are means of paired differences, so what makes a conversation hard for all cancels. Each conversation
    counts once. Intervals are percentiles over resampled conversations; of fewer than 20 they reach as far as Student's
    (d ± t s / √n), with which the p-value agrees better. p-values are those of the sign-flip test (Fisher
    1935, section 21): if two systems do not differ, each conversation's difference could as well have had the other
    sign, so p is the share of random signs that give a mean at least as far from 0, (1 + hits) / (1 + flips); all signs
    are tried where there are no more than `resamples` of them. It is exact for differences that are symmetric around 0
    and, the square sum being the same under all signs, a test of Student's t, which holds for any distribution as n
    grows. It is adjusted by Holm 1979 over all pairs. p is never below 1 / (1 + resamples): S systems make
    S (S-1) / 2 pairs, so 10,000 flips can tell 32 systems apart at .05, and more systems need more flips.
    Published example: Darwin's 15 pairs of maize plants in Fisher 1935: p = 1726 / 32768 = .0527.

    **Ranks**: a system's rank is 1, and 1 more for each system that is better than it on the conversations both have, ½
    for one that is equal. Percentile intervals of ranks are too narrow where systems are close (Hall and Miller 2009),
    and a high share of being best says too much; the ranges of `certain` do not. They count the systems that are surely
    better or worse by simultaneous intervals of all differences, d ± q se, with q the quantile of the largest
    |d* - d| / se* over resamples (Mogstad, Romano, Shaikh and Wilhelm 2024, without the stepwise refinement). Where a
    resample has none of the few conversations in which two systems differ, se* is 0 and the whole sample's se stands.
    Where two systems differ by the same in every conversation, se is 0; that is certain if a sign test, adjusted for all
    pairs, could say so. No interval is shorter than Student's for its pair alone.

    A missing score leaves the conversation out of that system's mean and of its pairs, and nowhere else: see `n` and
    `missing`. Where the missing are the hard ones, the means mislead and the differences do not.

    Args:
        scores: shape (n, S), the mean score of each system in each conversation; NaN where there is none.
        better: whether higher or lower is better.
        resamples: of conversations, and of signs.
        seed: of the generators.
        level: of confidence.
        ends: the lowest and the highest score there can be, if that is known. Where all conversations say the same, no
            resample differs, and only with them is there an interval (`unanimous`).
        gaps: shape (n, P), the difference of each pair (in `np.triu_indices` order) in each conversation, where two systems'
            scores rest on other samples than their difference; NaN where there is none.

    Raises:
        ValueError: `scores` is not two-dimensional.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"scores has shape {values.shape}; conversations × systems are needed")
    data = _Data.of(values, None if gaps is None else np.asarray(gaps, dtype=np.float64))
    observed = data.means(data.copies[None, :].astype(data.scores.dtype))
    resampled = _resampled(data, resamples, seed)
    p = _sign_flips(data, resamples, seed)
    return Comparison(
        _differences(data, observed, resampled, p, level, ends),
        _standings(data, observed, resampled, better, level, ends),
    )


class _Means(NamedTuple):
    """Means of systems (B, S), of paired differences (B, P), and the standard errors of the latter (B, P)."""

    systems: Floats
    differences: Floats
    errors: Floats


class _Data(NamedTuple):
    """Scores, 0 where there is none, and where there are any; conversations that are equal are one row of K, if many are.

    The P pairs of systems are (first, second). Whole scores are held in single precision where every sum of them and of
    the squares of their differences is exact in it, since products of such matrices take half the time.
    """

    scores: Floats
    present: Floats
    copies: Codes
    first: Codes
    second: Codes
    own_gaps: Floats
    """Differences, 0 where there is none, and then where there are any, (K, 2P); no columns where those of the scores do."""

    @classmethod
    def of(cls, scores: Floats, gaps: Floats | None) -> _Data:
        systems = scores.shape[1]
        columns = [part for x in (scores, gaps) if x is not None for part in (np.nan_to_num(x), np.isfinite(x))]
        rows, copies, _ = bootstrap.types(np.hstack(columns))
        dense = np.asarray(rows)
        if len(copies) * 2 > copies.sum():  # each on its own, so that all measures can share what is drawn
            dense, copies = np.repeat(dense, copies, axis=0), np.ones(copies.sum(), dtype=np.intp)
        table: Floats = dense.astype(_precision(dense, int(copies.sum())))
        present = table[:, systems : 2 * systems]
        return cls(table[:, :systems], present, copies, *np.triu_indices(systems, 1), table[:, 2 * systems :])

    @property
    def systems(self) -> int:
        return int(self.scores.shape[1])

    @property
    def conversations(self) -> int:
        return int(self.copies.sum())

    @property
    def noise(self) -> float:
        """Means that differ by less differ by rounding."""
        return 1e-12 * float(np.abs(self.scores).max(initial=1.0))

    def pairs(self) -> Iterator[slice]:
        """Yield the pairs, some at a time, P in all."""
        for start in range(0, len(self.first), PAIRS):
            yield slice(start, min(start + PAIRS, len(self.first)))

    def gaps(self, pairs: slice) -> tuple[Floats, Floats]:
        """Return the differences of some pairs, 0 where there is none, and where there are any, each (K, p)."""
        if self.own_gaps.shape[1]:
            return self.own_gaps[:, pairs], self.own_gaps[:, len(self.first) :][:, pairs]
        first, second = self.first[pairs], self.second[pairs]
        both = self.present[:, first] * self.present[:, second]
        return (self.scores[:, first] - self.scores[:, second]) * both, both

    def shared(self) -> Codes:
        """Return how many conversations each pair shares, shape (P,)."""
        parts = [self.copies @ self.gaps(pairs)[1] for pairs in self.pairs()]
        return np.concatenate([np.zeros(0), *parts]).astype(np.intp)

    def means(self, weights: Floats) -> _Means:
        """Return the means under weights (B, K), whole numbers in the scores' precision that add up to the conversations."""
        sums, drawn = (weights @ self.scores).astype(np.float64), float(self.conversations)
        # Few rows lack a score, so what all rows give is summed once for all pairs, and taken back for those.
        lacking = np.flatnonzero((self.present == 0).any(axis=1))
        own, scores = weights[:, lacking], self.scores[lacking]
        systems = ratio(sums, drawn - own @ (1 - self.present[lacking]))
        differences, errors = [np.zeros((len(weights), 0))], [np.zeros((len(weights), 0))]
        for pairs in self.pairs():
            gap, both = self.gaps(pairs)
            if self.own_gaps.shape[1]:
                n, difference = (np.asarray(weights @ part, dtype=np.float64) for part in (both, gap))
            else:
                first, second, alone = self.first[pairs], self.second[pairs], 1 - both[lacking]
                n = drawn - own @ alone
                difference = sums[:, first] - sums[:, second] - own @ ((scores[:, first] - scores[:, second]) * alone)
            mean = ratio(difference, n)
            variance = ratio((weights @ (gap * gap)).astype(np.float64), n) - mean**2
            differences.append(np.where(np.abs(mean) <= self.noise, 0.0, mean))
            errors.append(ratio(np.sqrt(np.maximum(variance, 0.0)), np.sqrt(n)))
        return _Means(systems, np.concatenate(differences, axis=1), np.concatenate(errors, axis=1))


def _precision(scores: Floats, conversations: int) -> type[np.float32 | np.float64]:
    """Return the least precision in which sums over resampled conversations are exact, and double where none is."""
    exact = 2 ** np.finfo(np.float32).nmant
    largest = conversations * max(2 * float(np.abs(scores).max(initial=0.0)), 1.0) ** 2
    return np.float32 if largest < exact and (scores == np.rint(scores)).all() else np.float64


def _resampled(data: _Data, resamples: int, seed: int) -> _Means:
    empty, precision = data.means(np.zeros((0, len(data.copies)))), data.scores.dtype.type
    drawn = (
        bootstrap.draw(data.copies, resamples, seed, columns=data.systems, precision=precision)
        if data.conversations
        else ()
    )
    parts = [empty, *(data.means(weights) for weights in drawn)]
    return _Means(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _differences(
    data: _Data, observed: _Means, resampled: _Means, p: Floats, level: float, ends: Ends | None
) -> tuple[MeanDifference, ...]:
    shared = data.shared()
    gap_ends = None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])
    p = np.where(shared > 1, p, np.nan)
    adjusted = holm(p)
    student = _student(shared, level) * observed.errors[0]
    return tuple(
        MeanDifference(
            int(data.first[i]),
            int(data.second[i]),
            _interval(observed.differences[0, i], resampled.differences[:, i], int(n), level, gap_ends, student[i]),
            None if np.isnan(p[i]) else float(p[i]),
            None if np.isnan(p[i]) else float(adjusted[i]),
            int(n),
        )
        for i, n in enumerate(shared)
    )


def _student(n: Codes, level: float) -> Floats:
    """Return how many errors, of variances over n, Student's interval reaches to each side."""
    return np.asarray(special.stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * np.sqrt(ratio(n, n - 1)))


def _interval(
    value: float, values: Floats, n: int, level: float, ends: Ends | None, student: float = 0.0
) -> Interval:  # fmt: skip
    if not n:
        return Interval(None, undefined="no conversations")
    if n < 2:
        return Interval(float(value), undefined="fewer than 2 conversations")
    interval = bootstrap.percentile_interval(float(value), values, level, ends=ends, clusters=n)
    if n >= FEW or interval.low is None or interval.high is None:
        return interval
    floor, ceiling = ends or (-np.inf, np.inf)
    low, high = (
        max(min(interval.low, float(value - student)), floor),
        min(max(interval.high, float(value + student)), ceiling),
    )
    return Interval(interval.value, low, high, interval.undefined)


def _sign_flips(data: _Data, resamples: int, seed: int) -> Floats:
    """Return the p-value of each pair, shape (P,)."""
    parts = (data.gaps(pairs)[0] for pairs in data.pairs())
    gaps = np.concatenate([np.zeros((len(data.copies), 0), dtype=data.scores.dtype), *parts], axis=1)
    return sign_flip(gaps, data.copies, resamples=resamples, seed=seed, noise=data.noise)


def sign_flip(
    gaps: Floats, copies: Codes | None = None, *, resamples: int = 10_000, seed: int = 0, noise: float = 1e-12
) -> Floats:
    """Return two-sided p-values that mean differences are 0, shape (T,), by flipping conversations' signs (Fisher 1935).

    All flips are tried where there are at most `resamples`; otherwise as many are drawn, the same for all tests.

    Args:
        gaps: shape (K, T), a conversation's difference in each test; 0 where it has none.
        copies: shape (K,), how many conversations each row stands for; one, if not given.
        resamples: flips.
        seed: of their generator.
        noise: means that lie nearer differ by rounding.
    """
    copies = np.ones(len(gaps), dtype=np.intp) if copies is None else copies
    conversations = int(copies.sum())
    total = copies @ gaps
    observed = np.abs(total) - noise * conversations
    exact = conversations < 63 and 2**conversations <= resamples
    flips = 2**conversations if exact else resamples
    hits = np.zeros(gaps.shape[1])
    for signs in _kept(copies, flips, None if exact else np.random.default_rng([seed, 1])):
        sums = (signs.astype(gaps.dtype) @ gaps).astype(np.float64)
        hits += (np.abs(2 * sums - total) >= observed).sum(axis=0)
    return hits / flips if exact else (hits + 1) / (flips + 1)


def _kept(copies: Codes, flips: int, generator: np.random.Generator | None) -> Iterator[NDArray[np.uint8 | np.intp]]:
    """Yield how many copies of each row keep their sign, shape (b, K): at random, or without a generator all there can be."""
    n = int(copies.sum())
    by_type = generator is not None and len(copies) * bootstrap.DRAWS_PER_TYPE < n
    rows = max(1, bootstrap.CHUNK // max(len(copies) if by_type else n, 1))
    starts = np.cumsum(copies) - copies
    for start in range(0, flips, rows):
        size = min(rows, flips - start)
        if generator is None:
            bits = (np.arange(start, start + size)[:, None] >> np.arange(n) & 1).astype(np.uint8)
        elif by_type:
            yield generator.binomial(copies, 0.5, size=(size, len(copies)))
            continue
        else:
            words = generator.integers(0, 2**32, size=(size, -(-n // 32)), dtype=np.uint32)
            bits = np.unpackbits(words.view(np.uint8), axis=1, count=n)
        yield bits if len(copies) == n else np.add.reduceat(bits, starts, axis=1, dtype=np.intp)


def _standings(
    data: _Data, observed: _Means, resampled: _Means, better: str, level: float, ends: Ends | None
) -> tuple[MeanRank, ...]:
    n = (data.copies @ data.present).astype(int)
    isolated = np.flatnonzero(data.shared() < 2)
    sign = 1.0 if better == "higher" else -1.0
    best: list[float | None] = [None] * data.systems
    certain: Sequence[tuple[int, int] | None] = [None] * data.systems
    ranks: list[float | None] = [None] * data.systems
    if data.conversations > 1 and not len(isolated):
        point, drawn = (_ranks(sign * means.differences, data) for means in (observed, resampled))
        ranks = [float(value) for value in point[0]]
        best = _shares_of_first(drawn)
        certain = _certain(sign, data, observed, resampled, level)
    return tuple(
        MeanRank(
            _interval(observed.systems[0, s], resampled.systems[:, s], int(n[s]), level, ends),
            ranks[s],
            certain[s],
            best[s],
            int(n[s]),
            data.conversations - int(n[s]),
        )
        for s in range(data.systems)
    )


def _ranks(differences: Floats, data: _Data) -> Floats:
    """Return ranks (B, S) from differences (B, P) of which more is better; NaN where one of them is not defined."""
    incidence = np.zeros((len(data.first), data.systems))
    incidence[np.arange(len(data.first)), data.first] = 1.0
    incidence[np.arange(len(data.first)), data.second] = -1.0
    return np.asarray((data.systems + 1) / 2 - np.sign(differences) @ incidence / 2)


def _shares_of_first(ranks: Floats) -> list[float | None]:
    defined = ranks[np.isfinite(ranks).all(axis=1)]
    if not len(defined):
        return [None] * ranks.shape[1]
    first = defined == defined.min(axis=1, keepdims=True)
    return [float(share) for share in (first / first.sum(axis=1, keepdims=True)).mean(axis=0)]


def _certain(sign: float, data: _Data, observed: _Means, resampled: _Means, level: float) -> list[tuple[int, int]]:
    """Return each system's best and worst rank that simultaneous intervals of all differences allow."""
    difference, error = sign * observed.differences[0], observed.errors[0]
    deviation = np.abs(resampled.differences - observed.differences)
    drawn = np.isfinite(deviation).all(axis=1)
    # A resample without the few conversations in which two systems differ knows nothing of their difference's error.
    errors = np.where(resampled.errors < KNOWN * observed.errors, observed.errors, resampled.errors)
    distance = np.divide(
        deviation, errors, out=np.zeros_like(deviation), where=(deviation > data.noise) & (errors > data.noise)
    )[drawn]
    reach = float(np.quantile(distance.max(axis=1, initial=0.0), level, method="higher")) if drawn.any() else np.inf
    # A few conversations have so few resamples that no interval is shorter than Student's for that pair alone.
    n = data.shared()
    alone = _student(n, level)
    margin = np.maximum(reach, alone) * error if np.isfinite(reach) else np.full(len(error), np.inf)
    same = rank.sign_test_rejects(n, len(error), level)
    distinct = np.where(error > data.noise, np.abs(difference) > margin, same & (np.abs(difference) > data.noise))
    better = np.zeros((data.systems, data.systems), dtype=bool)
    better[data.first, data.second] = distinct & (difference > 0)
    better[data.second, data.first] = distinct & (difference < 0)
    return rank.ranges(better)
