"""What several judges are worth together: whether they err independently, and how much less their mean errs.

The two are different things. Judges that say anything at random err independently and are worth nothing; judges that all
follow people well may err alike. Both take people's value as what should have been said, and both know that people err,
too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats import jackknife
from mindgauge.stats.interval import Interval
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

FOLDS = 10
_CHUNK = 4_000_000
"""Numbers that stand in memory at once."""
_TINY = 1e-9


class JuryMeanSquares(NamedTuple):
    """Mean squares of raters' values less people's true value, and what follows from them.

    Each rater is first put on people's scale by a line that was fitted on other conversations. `constant` says people's
    mean every time, `average` is the mean of all members', `best` that of the member that was best on the other
    conversations, `jury` that of the members' mean. `skill` is 1 - jury / constant: 0 for a jury that knows nothing of
    what people think, 1 for one that always says it. `gain` is 1 - jury / best.
    """

    constant: float | None
    average: float | None
    best: float | None
    jury: float | None
    skill: Interval
    gain: Interval


class JuryEstimate(NamedTuple):
    """`independent` is a number of judges, at most as many as there are; `floored` says that people's error is known."""

    independent: Interval
    errors: JuryMeanSquares
    floored: bool


class JuryRatings(NamedTuple):
    """Subjects that people and all members rated.

    `verdicts` has shape (n, k), `people` (n,) is the mean of `raters` (n,) persons whose deviations from it, each
    person's own severity taken out, have the sum of squares `squares` (n,); `persons` there are in all.
    """

    verdicts: Floats
    people: Floats
    raters: Floats
    squares: Floats
    persons: int
    cluster: Codes


def jury(rated: JuryRatings, *, seed: int = 0, level: float = 0.95) -> JuryEstimate:
    """Say how independently k judges err, and how much less their mean errs than one of them.

    **Independence given people's value.** A judge says x_j = a_j + b_j t + e_j of a subject whose true value, that which
    endless people would give it, is t: severity a and slope b are its own, e its error. k judges err like

        m = k / (1 + (k - 1) r)

    independent ones (the design effect of Kish 1965), r the mean correlation of two judges' e; below 0 counts as 0. People's
    mean is y = t + u. b_j is estimated on other conversations as cov(x_j, y) / (var(y) - σ²_u), since an error in y
    flattens a slope (errors in variables; Fuller 1987, section 1.2), and so of what x_j - b_j y and x_k - b_k y vary
    together b_j b_k σ²_u is u's and is taken off. σ²_u comes from subjects that several persons rated, less what a person
    is milder or stricter throughout. Where none was, u stays in r, and m is too small.

    **Error.** See `JuryMeanSquares`. From each mean square the mean of σ²_u is subtracted, where it is known.

    Intervals are Student's by the jackknife over clusters, of r on Fisher's z scale where that is defined.

    Args:
        rated: the subjects.
        seed: of the folds.
        level: of confidence.
    """
    n, k = rated.verdicts.shape
    sums, counts = _sums(rated)
    clusters = len(sums)
    if n < 2 or clusters < 2:
        undefined = Interval(None, undefined="fewer than two conversations that people and every member rated")
        return JuryEstimate(undefined, JuryMeanSquares(None, None, None, None, undefined, undefined), floored=False)
    folds = np.random.default_rng(seed).permutation(clusters) % min(FOLDS, clusters)
    lost = rated.persons - 1
    result = _found(_by_fold(sums, folds)[None], k, lost)
    left_out = np.concatenate([_found(part, k, lost) for part in _without_each(sums, folds)])
    value = {name: float(v) for name, v in zip(_SampleErrors._fields, result[0], strict=True)}

    def interval(name: str) -> Interval:
        column = left_out[:, _SampleErrors._fields.index(name)]
        # Less people's error, few errors may come out to correlate by more than 1, where Fisher's z is not defined.
        correlation = name == "r" and bool((np.abs(np.append(column, value[name])) < 1).all())
        return jackknife.student(value[name], column, counts, correlation=correlation, level=level)

    finite = {name: v if np.isfinite(v) else None for name, v in value.items()}
    return JuryEstimate(
        _independent(interval("r"), k),
        JuryMeanSquares(
            finite["constant"], finite["average"], finite["best"], finite["jury"], interval("skill"), interval("gain")
        ),
        floored=bool((rated.raters > 1).any()),
    )


def _independent(r: Interval, k: int) -> Interval:
    if r.value is None:
        return Interval(None, undefined="a member never errs, or no more than people do among themselves")

    def worth(correlation: float) -> float:
        return k / (1 + (k - 1) * min(max(correlation, 0.0), 1.0))

    if r.low is None or r.high is None or r.high - r.low <= _TINY:
        return Interval(worth(r.value), undefined=r.undefined or "no interval: members' errors are the same throughout")
    if r.high <= 0:
        return Interval(worth(r.value), undefined="no interval: members' errors are opposed rather than alike")
    return Interval(worth(r.value), worth(r.high), worth(r.low))


class _SampleErrors(NamedTuple):
    """Columns of what is computed of many samples at once."""

    r: Floats
    constant: Floats
    average: Floats
    best: Floats
    jury: Floats
    skill: Floats
    gain: Floats


class _ErrorTotals:
    """Totals of many samples, split by name; the leading axes are samples, or samples and folds."""

    def __init__(self, sums: Floats, k: int) -> None:
        self.n, self.squares, self.freedom, self.shares, self.y, self.yy = np.moveaxis(sums[..., :6], -1, 0)
        self.x, self.xy = sums[..., 6 : 6 + k], sums[..., 6 + k : 6 + 2 * k]
        self.xx = sums[..., 6 + 2 * k :].reshape(*sums.shape[:-1], k, k)

    def noise(self, lost: int) -> Floats:
        """Return the mean of σ²_u over subjects; 0 where it is not known. `lost` are the persons' severities."""
        freedom = self.freedom - lost
        return ratio(self.squares * self.shares, freedom * self.n, 0.0)

    def missed(self, intercept: Floats, slopes: Floats) -> Floats:
        """Return the sum of squares of people's value less a line; slopes have a last axis k."""
        return np.asarray(
            self.n * intercept**2
            + np.einsum("...j,...jl,...l->...", slopes, self.xx, slopes)
            + self.yy
            + 2 * intercept * (np.einsum("...j,...j->...", slopes, self.x) - self.y)
            - 2 * np.einsum("...j,...j->...", slopes, self.xy)
        )


def _sums(rated: JuryRatings) -> tuple[Floats, Codes]:
    """Return totals of each cluster, shape (C, 6 + 2 k + k²), values measured from people's mean, and ones."""
    centre = rated.people.mean() if len(rated.people) else 0.0
    x, y = rated.verdicts - centre, rated.people - centre
    products = (x[:, :, None] * x[:, None, :]).reshape(len(y), x.shape[1] ** 2)
    rows = np.column_stack(
        [np.ones_like(y), rated.squares, rated.raters - 1, 1 / rated.raters, y, y * y, x, x * y[:, None], products]
    )
    labels, cluster = np.unique(rated.cluster, return_inverse=True)
    sums = np.zeros((len(labels), rows.shape[1]))
    np.add.at(sums, cluster, rows)
    return sums, np.ones(len(labels), dtype=np.intp)


def _by_fold(sums: Floats, folds: Codes) -> Floats:
    totals = np.zeros((int(folds.max()) + 1, sums.shape[1]))
    np.add.at(totals, folds, sums)
    return totals


def _without_each(sums: Floats, folds: Codes) -> Iterator[Floats]:
    """Yield totals by fold with each cluster left out, shape (b, F, m), all C in turn."""
    folded = _by_fold(sums, folds)
    size = max(1, _CHUNK // folded.size)
    for start in range(0, len(sums), size):
        part = sums[start : start + size]
        totals = np.repeat(folded[None], len(part), axis=0)
        totals[np.arange(len(part)), folds[start : start + size]] -= part
        yield totals


def _found(by_fold: Floats, k: int, lost: int) -> Floats:
    """Compute everything of samples given as totals by fold (B, F, m); shape (B, columns of `_SampleErrors`)."""
    total = by_fold.sum(axis=1)
    overall, inner, rest = _ErrorTotals(total, k), _ErrorTotals(by_fold, k), _ErrorTotals(total[:, None] - by_fold, k)
    noise = overall.noise(lost)
    r = _correlation(inner, rest, noise, k)
    members = [_missed(inner, rest, np.eye(k)[j]) for j in range(k)]
    inside = np.stack([_missed(rest, rest, np.eye(k)[j]) for j in range(k)])
    best = np.take_along_axis(np.stack(members), inside.argmin(axis=0)[None], axis=0)[0]
    together, constant = _missed(inner, rest, np.full(k, 1 / k)), _missed(inner, rest, np.zeros(k))
    missed = np.stack([constant, np.mean(members, axis=0), best, together]).sum(axis=-1) / overall.n - noise
    skill, gain = (1 - ratio(missed[3], missed[i], above=_TINY) for i in (0, 2))
    return np.stack(_SampleErrors(r, missed[0], missed[1], missed[2], missed[3], skill, gain), axis=-1)


def _missed(inside: _ErrorTotals, rest: _ErrorTotals, weights: Floats) -> Floats:
    """Return squares of people's value less a rater's that is put on people's scale by a line fitted on the rest.

    Args:
        inside: totals of the folds, (B, F).
        rest: totals of the other folds.
        weights: of members in the rater's value, shape (k,); zeros say people's mean.
    """
    x, xy, xx = rest.x @ weights, rest.xy @ weights, weights @ rest.xx @ weights
    n = np.where(rest.n > 0, rest.n, np.nan)
    spread, together = xx - x * x / n, xy - x * rest.y / n
    slope = np.divide(together, spread, out=np.zeros_like(spread), where=spread > _TINY * n)
    return inside.missed((rest.y - slope * x) / n, slope[..., None] * weights)


def _correlation(inside: _ErrorTotals, rest: _ErrorTotals, noise: Floats, k: int) -> Floats:
    """Return the mean correlation of two judges' errors, shape (B,)."""
    n = np.where(rest.n > 0, rest.n, np.nan)
    varies = rest.yy / n - (rest.y / n) ** 2 - noise[:, None]
    slopes = (rest.xy / n[..., None] - rest.x * (rest.y / n**2)[..., None]) / np.where(varies > _TINY, varies, np.nan)[
        ..., None
    ]
    level = (rest.x - slopes * rest.y[..., None]) / n[..., None]
    # Products of the residuals x - level - slope y, summed over folds.
    tilt, flat = slopes[..., :, None], level[..., :, None]
    y, yy, count = (column[..., None, None] for column in (inside.y, inside.yy, inside.n))
    x, xy = inside.x[..., :, None], inside.xy[..., :, None]
    products = (
        inside.xx
        - x * flat.swapaxes(-1, -2) - flat * x.swapaxes(-1, -2)
        - xy * tilt.swapaxes(-1, -2) - tilt * xy.swapaxes(-1, -2)
        + count * flat * flat.swapaxes(-1, -2)
        + y * (flat * tilt.swapaxes(-1, -2) + tilt * flat.swapaxes(-1, -2))
        + yy * tilt * tilt.swapaxes(-1, -2)
    )  # fmt: skip
    own = inside.n[..., None, None] * tilt * tilt.swapaxes(-1, -2) * noise[:, None, None, None]
    covariance = (products - own).sum(axis=1) / inside.n.sum(axis=1)[:, None, None]
    spread = np.sqrt(np.maximum(np.einsum("bii->bi", covariance), 0.0))
    scale = spread[:, :, None] * spread[:, None, :]
    r = ratio(covariance, scale, above=_TINY)
    return np.asarray((r.sum(axis=(1, 2)) - np.einsum("bii->b", r)) / (k * (k - 1)))
