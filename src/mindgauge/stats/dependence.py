"""Whether a rater speaks for themselves: one who decides between others, a rule of others' values, one who follows another.

**Who never stands alone.** Of three raters or more on a subject, all but one may say the same: that one stands alone. Were
raters exchangeable, each of n would be the one with a chance of 1/n. An adjudicator stands alone never, since they agree
wherever the others agree; but so does, at times, a careful person, and nearly so one whose standard lies between that of
a strict and of a lenient one. So three things are asked at once:

- Only subjects on which somebody stands alone are evidence. Where all agree, agreement costs nothing, however often it
  occurs: an easy criterion or a rare level adds none.
- A rater whose standard lies between two others' follows the one here and the other there, but these two differ in one
  direction only. Of each two others and each two values only differences in both directions count, twice the smaller
  number.
- The null hypothesis is not that of equal raters: it is a rater who stands alone at least `MARGIN` times as often as an
  equal one would, which is one who errs about a quarter as often as two others.

Under it the number of conversations in which the rater stands alone is at least binomial, whatever ties the subjects of
a conversation, if each conversation counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats.proportion import fisher_greater

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

MARGIN = 0.3
"""An honest rater stands alone at least so many times as often as one who is like the others."""
APART = 0.2
"""Of the cases in which one of two honest raters departs from all others, the other does not follow in so many at least."""
MISSING = -1
"""The code of no value."""


class RaterCodes(NamedTuple):
    """Ratings on one criterion: `codes` of values, shape (subjects, raters), `MISSING` where there is none.

    `numbers` has the values themselves, NaN where there is none; None where they are words. `cluster`, shape (subjects,),
    says which conversation a subject is of.
    """

    codes: Codes
    numbers: Floats | None
    cluster: Codes


class DisputedShare(NamedTuple):
    """Of the `rated` subjects of a rater the others differ on `split`; `p` is the chance of so many in a random draw.

    It is compared with all that the same others rated; 1 where the rater rated all of that.
    """

    rated: int
    split: int
    p: float


class Adjudication(NamedTuple):
    """How one rater stands to the others, on subjects that at least two others rated.

    Of `unanimous` subjects, on which the others agree, the rater agrees with them on `agreed`; of `split` ones the rater
    sides with one of the others on `sided`. `alone` counts the conversations in which the rater stands alone,
    `evidence` those in which another does so and that count (see the module). `p` is the chance of standing alone so
    seldom under the null hypothesis, `p_equal` that of a rater who is like the others. `drawn`: see there.
    """

    unanimous: int
    agreed: int
    split: int
    sided: int
    alone: int
    evidence: int
    p: float
    p_equal: float
    drawn: DisputedShare


class Departures(NamedTuple):
    """Who departs from most others: on which subject, who, with what value, and what most say."""

    subject: Codes
    rater: Codes
    value: Codes
    others: Codes


def departures(codes: Codes, *, alone: bool = True) -> Departures:
    """Find who departs from what more than half of at least three raters say: of each subject, or only who does so alone."""
    rated = codes != MISSING
    common = _mode(codes)
    holds = rated & (codes == common[:, None])
    departs = rated & ~holds & (2 * holds.sum(axis=1) > np.maximum(rated.sum(axis=1), 2))[:, None]
    if alone:
        departs &= (departs.sum(axis=1) == 1)[:, None]
    subject, rater = np.nonzero(departs)
    return Departures(subject, rater, codes[subject, rater], common[subject])


def _mode(codes: Codes) -> Codes:
    """Return the most frequent code of each row, the lowest of several; `MISSING` of a row without any."""
    levels = np.arange(codes.max(initial=MISSING) + 1)
    if not len(levels):
        return np.full(len(codes), MISSING)
    counts = np.stack([(codes == level).sum(axis=1) for level in levels], axis=1)
    return np.where(counts.max(axis=1) > 0, counts.argmax(axis=1), MISSING)


def adjudication(criteria: Sequence[RaterCodes], rater: int, cases: Sequence[Departures] | None = None) -> Adjudication:
    """Put one rater beside the others, over one criterion or several with the same raters in the same columns.

    Over several, a conversation counts once, however many criteria of it there are, and `drawn` is not known.

    Args:
        criteria: the ratings.
        rater: its column.
        cases: the `departures` of each criterion, where they are known already; who stands alone if not given.
    """
    counts = np.zeros(4, dtype=int)
    evidence, panel_size = 0.0, 3
    alone: list[Codes] = []
    clusters: list[Codes] = []
    for ratings, lone in zip(criteria, cases or [departures(part.codes) for part in criteria], strict=True):
        own, others = ratings.codes[:, rater], np.delete(ratings.codes, rater, axis=1)
        valued = own != MISSING
        unanimous, split, common = _others_agree(others)
        counts += [
            (unanimous & valued).sum(), (unanimous & valued & (own == common)).sum(), (split & valued).sum(),
            (split & valued & (others == own[:, None]).any(axis=1)).sum(),
        ]  # fmt: skip
        by_rater = lone.rater == rater
        alone.append(np.unique(ratings.cluster[lone.subject[by_rater]]))
        by_others = ~by_rater & valued[lone.subject]
        if by_others.any():
            of_others = Departures(*(column[by_others] for column in lone))
            clusters.append(ratings.cluster[of_others.subject])
            panel_size = max(panel_size, int((ratings.codes[lone.subject] != MISSING).sum(axis=1).max()))
            evidence += _two_sided(ratings, of_others, rater)
    conversations = len(np.unique(np.concatenate(clusters))) if clusters else 0
    times = len(np.unique(np.concatenate(alone))) if alone else 0
    weight = int(min(evidence, conversations))
    p, p_equal = (float(special.bdtr(times, times + weight, share / panel_size)) for share in (MARGIN, 1.0))
    only_split = _only_split(criteria[0].codes, rater) if len(criteria) == 1 else DisputedShare(0, 0, 1.0)
    unanimous_n, agreed, split_n, sided = (int(n) for n in counts)
    return Adjudication(unanimous_n, agreed, split_n, sided, times, weight, p, p_equal, only_split)


def _others_agree(others: Codes) -> tuple[Mask, Mask, Codes]:
    """Say of each subject with two others or more whether these agree, whether they differ, and what the highest says."""
    highest = others.max(axis=1, initial=MISSING)
    lowest = np.where(others == MISSING, np.iinfo(np.intp).max, others).min(axis=1, initial=np.iinfo(np.intp).max)
    shared = (others != MISSING).sum(axis=1) >= 2
    return shared & (highest == lowest), shared & (highest != lowest), highest


def _only_split(codes: Codes, rater: int) -> DisputedShare:
    """Compare what a rater rated with all that the same others rated: are the subjects drawn from those that they dispute?"""
    others = np.delete(codes, rater, axis=1)
    valued = codes[:, rater] != MISSING
    unanimous, split, _ = _others_agree(others)
    shared = unanimous | split
    if not (shared & valued).any() or not (shared & ~valued).any():
        return DisputedShare(int((shared & valued).sum()), int((split & valued).sum()), 1.0)
    _, panel = np.unique(others != MISSING, axis=0, return_inverse=True)
    panel = panel.reshape(-1)
    same = shared & (panel == np.bincount(panel[shared & valued]).argmax())
    rated, disputed = int((same & valued).sum()), int((same & valued & split).sum())
    passed = same & ~valued
    return DisputedShare(
        rated, disputed, fisher_greater(disputed, rated, int((passed & split).sum()), int(passed.sum()))
    )


def _two_sided(ratings: RaterCodes, cases: Departures, rater: int) -> float:
    """Count the differences between each two others that occur in both directions, a conversation once for each."""
    _, first = np.unique(
        np.stack([ratings.cluster[cases.subject], cases.rater, cases.value, cases.others]), axis=1, return_index=True
    )
    codes = ratings.codes[cases.subject[first]]
    raters = codes.shape[1]
    rest = codes == cases.others[first][:, None]
    rest[:, rater] = False
    if not rest.any():
        return 0.0
    case, other = np.nonzero(rest)
    departing, value, common = (column[first][case] for column in cases[1:])
    weight = 1.0 / np.maximum(rest.sum(axis=1), 1)[case]
    q = int(ratings.codes.max()) + 1
    forward = departing < other
    pair = np.where(forward, departing * raters + other, other * raters + departing)
    x, y = np.where(forward, value, common), np.where(forward, common, value)
    keys, index = np.unique((pair * q + x) * q + y, return_inverse=True)
    total = np.bincount(index, weight)
    opposite = (keys // (q * q) * q + keys % q) * q + keys // q % q
    place = np.minimum(np.searchsorted(keys, opposite), len(keys) - 1)
    reversed_total = np.where(keys[place] == opposite, total[place], 0.0)
    return float(np.minimum(total, reversed_total).sum())


# A rule of the others' values.


class FollowedRule(NamedTuple):
    """A rule whose result is a rater's value on `equal` of `n` subjects; the others differ on `split` of them.

    `fractions` counts the values between levels that no other rater gives.
    """

    rule: str
    n: int
    equal: int
    split: int
    fractions: int


def _majority(codes: Floats) -> Floats:
    levels = np.unique(codes[np.isfinite(codes)])
    counts = np.stack([(codes == level).sum(axis=1) for level in levels], axis=1)
    top = counts.max(axis=1)
    single = (counts == top[:, None]).sum(axis=1) == 1
    return np.where(single, levels[counts.argmax(axis=1)], np.nan)


RULES: dict[str, Callable[[Floats], Floats]] = {
    "majority": _majority,
    "median": lambda values: np.nanmedian(values, axis=1),
    "mean": lambda values: np.nanmean(values, axis=1),
    "rounded mean": lambda values: np.floor(np.nanmean(values, axis=1) + 0.5 + 1e-9),
    "mean rounded down": lambda values: np.ceil(np.nanmean(values, axis=1) - 0.5 - 1e-9),
    "mean rounded to the even": lambda values: np.asarray(np.round(np.nanmean(values, axis=1))),
}
"""Name → what it makes of the others' values, shape (subjects, raters) → (subjects,); NaN where it says nothing."""
ROUGH = 0.005
"""A mean that was written with two decimals equals itself."""


def rules(ratings: RaterCodes, rater: int) -> list[FollowedRule]:
    """Compare a rater with every rule, on subjects that at least two others rated and on which the rule says something."""
    values = ratings.codes.astype(float) if ratings.numbers is None else ratings.numbers
    values = np.where(ratings.codes == MISSING, np.nan, values)
    own, others = values[:, rater], np.delete(values, rater, axis=1)
    shared = np.isfinite(own) & (np.isfinite(others).sum(axis=1) >= 2)
    if not shared.any():
        return []
    own, others = own[shared], others[shared]
    split = np.nanmax(others, axis=1) != np.nanmin(others, axis=1)
    new = ~np.isin(own, others[np.isfinite(others)])
    followed = []
    for name, rule in RULES.items():
        if ratings.numbers is None and name != "majority":
            continue
        result = rule(others)
        defined = np.isfinite(result)
        equal = defined & (np.abs(result - own) <= (ROUGH if name == "mean" else 1e-9))
        followed.append(FollowedRule(name, int(defined.sum()), int(equal.sum()), int((defined & split).sum()), int((equal & new).sum())))  # fmt: skip
    return followed


# Two raters who err together.


class Together(NamedTuple):
    """Two raters beside at least two others who agree: how often they depart from these together, and how often apart.

    Conversations are counted. `p` is the chance of so few departures apart if at least `APART` of all are.
    """

    together: int
    apart: int
    p: float


def together(criteria: Sequence[RaterCodes], first: int, second: int) -> Together:
    """Count the conversations in which two raters depart from all others, together (with one value) or apart.

    A conversation in which they do both counts as apart.
    """
    joint: list[Codes] = []
    separate: list[Codes] = []
    for ratings in criteria:
        first_codes, second_codes = ratings.codes[:, first], ratings.codes[:, second]
        unanimous, _, common = _others_agree(np.delete(ratings.codes, [first, second], axis=1))
        agreed = unanimous & (first_codes != MISSING) & (second_codes != MISSING)
        joint.append(ratings.cluster[agreed & (first_codes == second_codes) & (first_codes != common)])
        separate.append(ratings.cluster[agreed & (first_codes != second_codes)])
    alone = np.unique(np.concatenate(separate))
    both = np.setdiff1d(np.concatenate(joint), alone)
    n = len(both) + len(alone)
    return Together(len(both), len(alone), float(special.bdtr(len(alone), n, APART)) if n else 1.0)
