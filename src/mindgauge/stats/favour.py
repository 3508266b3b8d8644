"""Whether a judge rates some replies higher than it should by what people, and other judges, think of them.

Some replies may simply be better, and a judge may be stricter, milder or flatter than people. So what is compared is not
the judge's distance from people, but what is left of its verdicts once it is calibrated on people's values, which are
measured with error themselves; and what is left of other judges' verdicts on the same replies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from mindgauge.stats import jackknife, moments
from mindgauge.stats.codes import dense
from mindgauge.stats.interval import Interval
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

FEWEST = 10
"""Conversations of each side from which anything is said."""
PAIRED = 30
"""Subjects rated by two people or more, of both sides together, from which their error is taken off by pairs of them."""
_TINY, _SINGULAR = 1e-12, 1e10


class FavourRatings(NamedTuple):
    """Subjects: the judge's verdicts (n,), each person's (n, P), other judges' (n, K), NaN where one has none.

    `own` (n,) marks those that the judge may favour; `shifts` takes several groups, (n, G). An other judge has NaN for
    replies that it may favour itself.
    """

    judge: Floats
    people: Floats
    others: Floats
    own: Mask
    cluster: Codes


class FavourEstimate(NamedTuple):
    """By how much the judge rates its own higher, in units of the scale, beyond people and beyond other judges.

    `p` is two-sided, that both are 0 or below; 1 where they do not both lie above 0; None where either is not known.
    """

    beyond_people: Interval
    beyond_judges: Interval
    p: float | None
    n: int
    clusters: int


def favour(rated: FavourRatings, *, level: float = 0.95) -> FavourEstimate:
    """Estimate by how much a judge favours its own.

    **Beyond people.** A judge says x = g(t) + δ own + e of a reply of true value t; people say y = t + u. Better replies
    of its own, severity and slope are in g. With t unseen, regressing x on y finds too flat a g, and a δ where there is
    none. Two curves are fitted:

    - where enough replies were rated by several people, a line and a parabola, with one person's rating as instrument for
      another's: E[z (x - δ own - c0 - c1 y - c2 y²)] = 0 with z of other persons, averaged over all ordered pairs
      (instrumental variables under errors in variables; Fuller 1987, section 1.4). The parabola follows a judge that
      runs into an end of the scale, a line is steadier. The interval holds both;
    - elsewhere the slope of x on y, which is too flat, and the reverse one, which is too steep (Frisch 1934): the true δ
      lies between what the two leave, and so does the interval.

    **Beyond judges.** The same for each other judge on the same subjects, brought to this one's scale by the ratio of
    their slopes; the difference of the two δ, averaged. What all judges see in these replies and people do not is no
    favour of this one's. A judge that does not surely follow people (its slope's interval) controls nothing.

    Intervals and p are Student's, by the jackknife over clusters. bench/results/coverage.md has false accusations and power.

    Args:
        rated: subjects; those without the judge's verdict, or any person's, are left out.
        level: of confidence.
    """
    complete = np.isfinite(rated.judge) & np.isfinite(rated.people).any(axis=1)
    rated = _kept(rated, complete, rated.judge)
    clusters = len(np.unique(rated.cluster))
    reason = _lacking(rated)
    if reason:
        undefined = Interval(None, undefined=reason)
        return FavourEstimate(undefined, undefined, None, int(complete.sum()), clusters)
    [[fitted]] = _fits(rated, rated.judge[:, None])
    beyond_people, p = _test(fitted.favours, level)
    controls = [other for other in rated.others.T if not _lacking(_kept(rated, np.isfinite(other), other))]
    if not controls:
        undefined = Interval(None, undefined="no judge of another family rated the same replies")
        return FavourEstimate(beyond_people, undefined, None, int(complete.sum()), clusters)
    excess = _beyond(rated, controls, level)
    if not excess:
        undefined = Interval(
            None, undefined="no judge of another family that rated the same replies surely follows people"
        )
        return FavourEstimate(beyond_people, undefined, None, int(complete.sum()), clusters)
    beyond_judges, other_p = _test(excess, level)
    both = None if p is None or other_p is None else max(p, other_p)
    return FavourEstimate(beyond_people, beyond_judges, both, int(complete.sum()), clusters)


def shifts(rated: FavourRatings, *, level: float = 0.95) -> list[tuple[Interval, float | None]]:
    """Estimate by how much a judge rates groups of subjects otherwise than the rest at the same level of people, either way.

    What `favour` takes as beyond people, with a p that is two-sided in direction, too: the uniform part of differential
    item functioning, with people's level measured with error. 1 where the two fits have not the same sign.

    Args:
        rated: subjects; `own` (n, G) marks each group, `others` are not looked at.
        level: of confidence.
    """
    complete = np.isfinite(rated.judge) & np.isfinite(rated.people).any(axis=1)
    rated = _kept(rated, complete, rated.judge)
    reasons = [_lacking(rated._replace(own=own), ("the group", "the other groups")) for own in rated.own.T]
    estimable = np.array([not reason for reason in reasons], dtype=bool)
    [fits] = _fits(rated._replace(own=rated.own[:, estimable]), rated.judge[:, None])
    estimates = (_either_way(fitted.favours, level) for fitted in fits)
    return [(Interval(None, undefined=reason), None) if reason else next(estimates) for reason in reasons]


def _either_way(fits: Sequence[Floats], level: float) -> tuple[Interval, float | None]:
    interval, higher = _test(fits, level)
    lower = _test([-fit for fit in fits], level)[1]
    return interval, None if higher is None or lower is None else min(higher, lower)


def _lacking(rated: FavourRatings, names: tuple[str, str] = ("its kin", "others")) -> str:
    """Return why nothing can be said of these subjects; nothing if something can."""
    for side, name in zip((rated.own, ~rated.own), names, strict=True):
        count = len(np.unique(rated.cluster[side]))
        if count < FEWEST:
            return f"people and judge rated replies of {name} in {count} conversations, at least {FEWEST} are needed"
    if np.ptp(rated.judge) <= _TINY:
        return "all of the judge's verdicts are the same"
    return ""


def _kept(rated: FavourRatings, rows: Mask, judge: Floats) -> FavourRatings:
    """Keep some subjects, and take another's verdicts as the judge's."""
    return FavourRatings(judge[rows], rated.people[rows], rated.others[rows], rated.own[rows], rated.cluster[rows])


class _Fitted(NamedTuple):
    """What a judge favours its own by, by two fits, and its slope on people's values.

    Each has shape (1 + C,): from all clusters, and without each. There is no slope where people's values do not vary.
    """

    favours: list[Floats]
    slope: Floats | None


def _beyond(rated: FavourRatings, controls: Sequence[Floats], level: float) -> list[Floats]:
    """Return what the judge favours its own by beyond other judges, by each fit; nothing where none is a control."""
    estimates = []
    for control in controls:
        rows = np.isfinite(control)
        part = _kept(rated, rows, rated.judge)
        [own], [other] = _fits(part, np.stack([part.judge, control[rows]], axis=1))
        scale = np.ones(1)
        if own.slope is not None and other.slope is not None:
            interval, _ = _test([other.slope], level)
            if interval.low is None or interval.low <= 0:
                continue
            scale = ratio(own.slope, other.slope)
        gaps = (first - scale * second for first, second in zip(own.favours, other.favours, strict=True))
        estimates.append([_spread(gap, part.cluster, rated.cluster) for gap in gaps])
    return [np.mean(column, axis=0) for column in zip(*estimates, strict=True)]


def _spread(values: Floats, part: Codes, outer: Codes) -> Floats:
    """Give an estimate from some clusters, shape (1 + c,), the shape (1 + C,): without any other, nothing changes."""
    clusters = np.unique(outer)
    full = np.full(len(clusters) + 1, values[0])
    full[1:][np.isin(clusters, part)] = values[1:]
    return full


def _fits(rated: FavourRatings, verdicts: Floats) -> list[list[_Fitted]]:
    """Fit each column of verdicts, shape (n, k), on people's values, for each group of `own`."""
    groups = rated.own.reshape(len(rated.judge), -1)
    repeated = np.isfinite(rated.people).sum(axis=1) > 1
    sides = [
        min(len(np.unique(rated.cluster[repeated & side])) for side in (own, ~own)) if repeated.sum() >= PAIRED else 0
        for own in groups.T
    ]
    paired = np.array(sides) >= FEWEST
    bounded = [_bounded(rated._replace(own=own), verdicts) for own in groups.T[~paired]]
    part = _kept(rated._replace(own=groups[:, paired]), repeated, rated.judge)
    by_column = []
    for i, column in enumerate(verdicts.T):
        of_bounded, of_paired = (
            (fits[i] for fits in bounded),
            iter(_instrumental(part, column[repeated], rated.cluster)),
        )
        by_column.append([next(of_paired if is_paired else of_bounded) for is_paired in paired])
    return by_column


def _instrumental(rated: FavourRatings, verdicts: Floats, outer: Codes) -> list[_Fitted]:
    """Fit a line and a parabola in people's values, one person's rating the instrument of another's, for each group.

    A group is a column of ones and zeros beside 1, y and y²; it is the same for all who rated a subject, so that its
    sums are those of the first column over the group's subjects.

    Args:
        rated: subjects that two people rated or more; `own` has shape (n, G).
        verdicts: shape (n,).
        outer: the clusters of all subjects, those among them that are not here.
    """
    if not rated.own.shape[1]:
        return []
    valued = np.isfinite(rated.people)
    count = valued.sum(axis=1)[:, None]
    middle, spread = np.nanmean(rated.people), max(float(np.nanstd(rated.people)), _TINY)
    values = np.where(valued, (rated.people - middle) / spread, 0.0)
    highest = min(2, len(np.unique(rated.people[valued])) - 1)
    terms = np.stack([valued * values**power for power in range(highest + 1)], axis=-1)
    sums = terms.sum(axis=1)
    pairs = sums[:, :, None] * sums[:, None, :] - terms.swapaxes(1, 2) @ terms
    table, right = pairs / (count * (count - 1))[:, :, None], sums / count * verdicts[:, None]
    own = rated.own.astype(float)
    of_all, of_group = (
        [_without_each(rows, rated.cluster) for rows in sides]
        for sides in ((table, right), (table[:, None, 0] * own[:, :, None], right[:, :1] * own))
    )
    line, parabola = (_solved(of_all, of_group, degree) for degree in (min(1, highest), highest))
    return [
        _Fitted(
            [_spread(fit[:, group, -1], rated.cluster, outer) for fit in (line, parabola)],
            _spread(line[:, group, 1], rated.cluster, outer) if highest else None,
        )
        for group in range(own.shape[1])
    ]


def _solved(of_all: Sequence[Floats], of_group: Sequence[Floats], degree: int) -> Floats:
    """Solve for c0, c1, …, δ of each group, shape (1 + C, G, degree + 2), from the sums of all and of groups; NaN where that is not possible."""
    terms = degree + 1
    right = np.empty((*of_group[1].shape, terms + 1))
    right[..., :terms], right[..., terms] = of_all[1][:, None, :terms], of_group[1]
    table = np.empty((*right.shape, terms + 1))
    table[..., :terms, :terms] = of_all[0][:, None, :terms, :terms]
    table[..., terms, :terms] = table[..., :terms, terms] = of_group[0][..., :terms]
    table[..., terms, terms] = of_group[0][..., 0]
    bends = np.abs(np.linalg.eigvalsh(table))  # the ratio of the largest to the smallest is the condition number
    solvable = bends.max(axis=-1) < _SINGULAR * bends.min(axis=-1)
    estimate = np.full(right.shape, np.nan)
    estimate[solvable] = np.linalg.solve(table[solvable], right[solvable][..., None])[..., 0]
    return estimate


def _bounded(rated: FavourRatings, verdicts: Floats) -> list[_Fitted]:
    """Fit with the slope that takes people as free of error, and with that which takes the judge as free of it.

    For other columns than the first the second slope is the first's reliability of people, by which all are too flat.
    """
    y = np.nanmean(rated.people, axis=1)
    own = rated.own.astype(float)
    reliability: Floats | None = None
    intervals = []
    for x in verdicts.T:
        columns = np.stack(moments.terms(x, y), axis=1)
        inside, gaps = np.zeros(0), []
        for side in (own, 1 - own):
            n, sx, sy, sxx, syy, sxy = _without_each(columns * side[:, None], rated.cluster).T
            squares = np.stack([sxx - sx * sx / n, syy - sy * sy / n, sxy - sx * sy / n])
            inside = squares if not inside.size else inside + squares
            gaps.append((sx / n, sy / n))
        xx, yy, xy = inside
        of_x, of_y = (gaps[0][i] - gaps[1][i] for i in (0, 1))
        varies = yy > _TINY
        slope = np.divide(xy, yy, out=np.zeros_like(xy), where=varies)
        if reliability is None:
            reliability = np.divide(xy * xy, xx * yy, out=np.full_like(xy, np.nan), where=varies & (xx > _TINY))
            reliability = np.where(varies, reliability, 1.0)
        steep = slope / np.where(reliability > _TINY, reliability, np.nan)
        intervals.append(_Fitted([of_x - slope * of_y, of_x - steep * of_y], slope if varies.all() else None))
    return intervals


def _without_each(rows: Floats, cluster: Codes) -> Floats:
    """Return totals of rows (n, …) of all clusters, and without each, shape (1 + C, …)."""
    names, place = dense(cluster)
    member = sparse.csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=(len(names), len(place)))
    sums = (member @ rows.reshape(len(rows), -1)).reshape(len(names), *rows.shape[1:])
    total = sums.sum(axis=0)
    return np.concatenate([total[None], total - sums])


def _test(fits: Sequence[Floats], level: float) -> tuple[Interval, float | None]:
    """Return an interval that holds those of all fits around the estimate nearest to 0, and the largest of their p.

    p is 1 where they do not all lie above 0; both are None where a fit is not defined.
    """
    if not all(np.isfinite(fit).all() for fit in fits):
        return Interval(None, undefined="people's values vary too little, or too unlike the judge's"), None
    values = [float(fit[0]) for fit in fits]
    value, counts = min(values, key=abs), np.ones(len(fits[0]) - 1, dtype=np.intp)
    p = max(_p(fit, counts) for fit in fits) if min(values) > 0 else 1.0
    if all(np.ptp(fit) <= _TINY for fit in fits):
        return Interval(value, undefined="no interval: every conversation tells the same"), p
    ends = [jackknife.student(float(fit[0]), fit[1:], counts, level=level)[1:3] for fit in fits]
    low, high = (np.array(side, dtype=float) for side in zip(*ends, strict=True))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return Interval(value, undefined="no interval: one of the two fits is the same without any one conversation"), p
    return Interval(value, float(low.min()), float(high.max())), p


def _p(fit: Floats, counts: Codes) -> float:
    """Return Student's p; where every cluster tells the same, the least that flips of their signs could give."""
    p = jackknife.p_value(float(fit[0]), fit[1:], counts)
    return float(2.0 ** (1 - len(counts))) if p is None else p
