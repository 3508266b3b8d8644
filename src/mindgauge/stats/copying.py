"""Whether a person gives a judge's verdicts back: closer to the judge than other people, and closer where these say it errs.

A sound judge and a careful person agree, for both are near the truth. A copier is near the judge wherever it is. On each
subject with a value from the person, the judge and another person, one of the two people may be farther from the judge.
Were the two alike, each would be so equally often; were the person's odds of departing from the judge a share `ALIKE` of
the other's, the person would be the farther one in at least ALIKE / (1 + ALIKE) of such subjects. That is the null
hypothesis. Three things keep honest people out of it:

- Distances are taken from each person's usual distance (the median), so that a standard of one's own is none.
- Where the other departs, only differences in both directions count, twice the smaller number: a judge and a person with
  one standard, beside a strict or a lenient person, differ from that one in one direction.
- With three people or more the same is asked of subjects on which a third departs from the judge, too. Where the judge
  errs, all people depart but the copier; where it is right, whoever departs says nothing about the other two.

The evidence is an e-value, a product of bets over conversations that nobody wins in the mean while the null hypothesis
holds (Waudby-Smith and Ramdas 2024, Journal of the Royal Statistical Society B 86, with a mixture of fixed stakes): the
chance that it reaches 1 / p is at most p (Markov), whatever ties the subjects of a conversation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.stats.dependence import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mindgauge.stats.dependence import RaterCodes

    Floats = NDArray[np.float64]

ALIKE = 0.35
"""An honest person's odds of departing from a judge are at least this share of another person's."""
STAKES = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1.0])
"""Shares of the largest stake that cannot lose everything."""


class Copying(NamedTuple):
    """A person beside a judge and other people.

    Of `n` subjects that both rated the person gives the judge's value on `equal`; the other people give it on the share
    `others` of those that they rated. Of the comparisons with another person on a subject, the person is the farther one in
    `farther` and the nearer one in `nearer`. `p` is at least the chance of such an e-value among honest people.
    """

    n: int
    equal: int
    others: float
    farther: float
    nearer: float
    p: float


def copying(criteria: Sequence[RaterCodes], person: int, judge: int, people: Sequence[int]) -> Copying:
    """Compare a person's distance from a judge with other people's, over one criterion or several.

    Args:
        criteria: the ratings, the same raters in the same columns.
        person: the column.
        judge: its column.
        people: the columns of the other people.
    """
    sums: list[tuple[Floats, ...]] = []
    counts = np.zeros(4, dtype=int)
    for ratings in criteria:
        distance, direction = _distances(ratings, judge, [person, *people])
        both = np.isfinite(distance[:, 0])
        beside = both[:, None] & np.isfinite(distance[:, 1:])
        same = ratings.codes == ratings.codes[:, [judge]]
        counts += [both.sum(), (both & same[:, person]).sum(), beside.sum(), (beside & same[:, people]).sum()]
        own, others = distance[:, :1], distance[:, 1:]
        farther, nearer, departs = (beside & mask for mask in (own > others, own < others, others > 0))
        weight = _both_directions(nearer, direction)
        third = departs.sum(axis=1, keepdims=True) > departs  # another than the one compared departs, too
        parts = [
            (value * mask).sum(axis=1) / max(len(people), 1) for mask in (beside, third) for value in (farther, weight)
        ]
        sums.append((ratings.cluster[both].astype(float), *(part[both] for part in parts)))
    cluster, *columns = (np.concatenate(column) for column in zip(*sums, strict=True))
    _, place, size = np.unique(cluster, return_inverse=True, return_counts=True)
    means = [np.bincount(place, column, len(size)) / np.maximum(size, 1) for column in columns]
    evidence = [_evidence(*means[:2])] + ([_evidence(*means[2:])] if len(people) > 1 else [])
    n, equal, rated, alike = counts.tolist()
    share = alike / rated if rated else np.nan
    return Copying(
        n, equal, share, float(columns[0].sum()), float(columns[1].sum()), min(1.0, 1 / float(np.mean(evidence)))
    )


def _distances(ratings: RaterCodes, judge: int, raters: Sequence[int]) -> tuple[Floats, NDArray[np.intp]]:
    """Return how far some raters are from a judge, NaN where either has no value, and in which direction all but the first.

    Of numbers the median difference of each is taken off first. Of words a distance is 0 or 1, and a direction which of
    two words is whose.
    """
    codes, own = ratings.codes[:, raters], ratings.codes[:, [judge]]
    both = (codes != MISSING) & (own != MISSING)
    if ratings.numbers is None:
        distance = np.where(both, (codes != own).astype(float), np.nan)
        q = int(ratings.codes.max(initial=0)) + 1
        pair = 1 + np.minimum(codes, own) * q + np.maximum(codes, own)
        return distance, np.asarray(np.sign(codes - own) * pair)[:, 1:]
    difference = np.where(both, ratings.numbers[:, raters] - ratings.numbers[:, [judge]], np.nan)
    for place in np.flatnonzero(both.any(axis=0)):
        difference[:, place] -= np.nanpercentile(difference[:, place], 50, method="lower")
    return np.abs(difference), np.nan_to_num(np.sign(difference)).astype(np.intp)[:, 1:]


def _both_directions(nearer: NDArray[np.bool_], direction: NDArray[np.intp]) -> Floats:
    """Weigh what counts as evidence by how much of it occurs in both directions."""
    weight = np.zeros(nearer.shape)
    for column, (mask, sign) in enumerate(zip(nearer.T, direction.T, strict=True)):
        values, counts = np.unique(sign[mask], return_counts=True)
        times = dict(zip(values.tolist(), counts.tolist(), strict=True))
        smaller = {value: min(times[value], times.get(-value, 0)) / times[value] for value in times if value}
        weight[mask, column] = [smaller.get(value, 0.0) for value in sign[mask].tolist()]
    return weight


def _evidence(farther: Floats, nearer: Floats) -> float:
    """Return the e-value that the share of `farther` in both is below that of the null hypothesis."""
    share = ALIKE / (1 + ALIKE)
    gain = share * nearer - (1 - share) * farther
    largest = 1 / (1 - share)  # a conversation's sums are at most 1
    logs = np.log1p(np.maximum(STAKES[:, None] * largest * gain[None, :], -1 + 1e-12)).sum(axis=1)
    return float(np.exp(np.minimum(logs, 700)).mean())
