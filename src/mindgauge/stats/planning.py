"""How large a study of a judge must be, before it begins and while it goes on.

Each clause of a verdict asks a bound to reach a limit, and has a chance of doing so with C conversations:

- a lower bound θ̂ - t s of an estimate with variance v/C: noncentral t, P(T'(C-1, (θ - limit) √(C/v)) ≥ t(C-1; .975));
  agreement on Fisher's z scale, a bias within ±limit by two such clauses;
- what is found of the unsafe: V conversations with unsafe replies are binomial, so are misses among them, and the exact
  lower bound (Clopper and Pearson 1934) allows so many: a finite sum.

v comes from the influence of one conversation on the estimate (the delta method; Hampel 1974) in a large made-up
population with the assumed agreement, levels and people. The chance that all clauses hold is at least 1 - Σ (1 - each)
(Bonferroni), whatever their dependence: that is what must reach the wanted power.

Once C₀ conversations are rated, the chance is the predictive one (Spiegelhalter, Freedman and Blackburn 1986): with
C - C₀ more the estimate is θ̂₀ + N(0, ((C - C₀)/C)² (v/(C - C₀) + v/C₀)), and misses are beta-binomial (Jeffreys).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats import moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]

POPULATION = 20_000
"""Conversations of the made-up population."""
MOST = 20_000
"""More conversations than that are no plan."""
_LEVEL = 0.95


class ExpectedEstimate(NamedTuple):
    """An estimate and C times its variance; `done` conversations already say so, else it is assumed."""

    value: float
    variance: float
    done: float = 0.0

    def above(self, limit: float, conversations: int) -> float:
        """Return the chance that the lower 95 % bound reaches a limit.

        Args:
            limit: on the scale of the estimate.
            conversations: in all.
        """
        freedom = conversations - 1
        t = float(special.stdtrit(freedom, (1 + _LEVEL) / 2))
        error = math.sqrt(self.variance / conversations)
        room = self.value - limit
        if not self.done:
            return 1 - float(special.nctdtr(freedom, room / error, t))
        more = conversations - self.done
        if more <= 0:
            return float(room >= t * error)
        spread = more / conversations * math.sqrt(self.variance / more + self.variance / self.done)
        return float(special.ndtr((room - t * error) / spread))

    def within(self, limit: float, conversations: int) -> float:
        """Return at least the chance that the whole 95 % interval lies within ±limit."""
        turned = self._replace(value=-self.value)
        return max(self.above(-limit, conversations) + turned.above(-limit, conversations) - 1, 0.0)


class Detection(NamedTuple):
    """What is found of unsafe replies: `share` of conversations have one, of which the share `sensitivity` is found.

    `events` conversations with unsafe ones are rated already, `hits` of which were found, among `done` in all.
    """

    share: float
    sensitivity: float
    hits: float = 0.0
    events: float = 0.0
    done: float = 0.0

    def above(self, limit: float, conversations: int) -> float:
        """Return the chance that the exact lower 95 % bound of what is found reaches a limit."""
        more = max(conversations - round(self.done), 0)
        events = np.arange(more + 1)
        middle, reach = more * self.share, 9 * math.sqrt(more * self.share * (1 - self.share)) + 9
        events = events[(events >= middle - reach) & (events <= middle + reach)]
        chance = np.diff(special.bdtr(np.append(events[0] - 1, events), more, self.share), prepend=0.0)[1:]
        if events[0] == 0:
            chance[0] = (1 - self.share) ** more
        held = round(self.events)
        missed = round(self.events - self.hits)
        allowed = _allowed(limit, int(events[-1]) + held)[events + held] - missed
        if not self.done:
            passes = np.where(allowed >= 0, special.bdtr(np.maximum(allowed, 0), events, 1 - self.sensitivity), 0.0)
        else:
            passes = np.array(
                [
                    _beta_binomial(int(a), int(n), missed + 0.5, held - missed + 0.5)
                    for a, n in zip(allowed, events, strict=True)
                ]
            )
        return float(chance @ passes)


@lru_cache(maxsize=8)
def _allowed_up_to(limit: float, size: int) -> Floats:
    misses, allowed = -1, np.full(size + 1, -1.0)
    for n in range(1, size + 1):
        while misses + 1 < n and special.bdtrc(n - misses - 2, n, limit) <= (1 - _LEVEL) / 2:
            misses += 1
        allowed[n] = misses
    return allowed


def _allowed(limit: float, size: int) -> Floats:
    """Return how many of n may be missed for the exact lower bound to reach a limit, for n from 0; -1 where none will do."""
    return _allowed_up_to(limit, max(1 << size.bit_length(), 256))


def _beta_binomial(most: int, n: int, a: float, b: float) -> float:
    """Return P(X ≤ most), X of n with a chance that is Beta(a, b)."""
    if most < 0:
        return 0.0
    k = np.arange(min(most, n) + 1)
    choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return min(float(np.exp(choose + special.betaln(k + a, n - k + b) - special.betaln(a, b)).sum()), 1.0)


def fewest(power: Callable[[int], float], wanted: float, least: int) -> int | None:
    """Return the least number of conversations with which a power is reached; None where `MOST` are too few.

    Args:
        power: of a number of conversations; it rises.
        wanted: the power.
        least: no fewer than these.
    """
    high = least
    while power(high) < wanted:
        if high >= MOST:
            return None
        high = min(2 * high, MOST)
    low = max(high // 2, least - 1) if high > least else least - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high


class Assumed(NamedTuple):
    """A population of replies, people and judges.

    `agreement` is one judge's with one person, asked once: ICC(A,1), of classes alpha; `ceiling` the same of two people,
    `repeat` of a judge with itself. `unsafe` is the share of the worst levels, over which it is spread evenly, as the
    rest is over the others. Replies of a conversation have levels with the correlation `alike`.
    """

    unsafe: float
    agreement: float
    ceiling: float
    repeat: float
    people: int
    judges: int = 1
    repeats: int = 1
    replies: int = 1
    alike: float = 0.2
    levels: int = 5
    ordered: bool = True

    @property
    def worst(self) -> int:
        """How many levels are unsafe: those within the worst two fifths of the scale; of classes one."""
        return 1 + int(0.4 * (self.levels - 1)) if self.ordered else 1


class Population(NamedTuple):
    """Effects of agreement, on Fisher's z scale, and of a bias of 0, in shares of the scale; of classes None."""

    agreement: ExpectedEstimate
    bias: ExpectedEstimate | None
    level: float
    """The agreement itself: with several judges, or asked several times, it is more than assumed of one."""


class SimulatedRatings(NamedTuple):
    """Values of people, shape (n, replies, people), and of the judge or the mean of several, (n, replies)."""

    people: Floats
    judge: Floats


class World:
    """Draws ratings that agree as assumed.

    Raises:
        ValueError: no judge can agree with people so much more than they do with each other.
    """

    def __init__(self, assumed: Assumed) -> None:
        self.assumed = assumed
        q, worst = assumed.levels, assumed.worst
        shares = np.concatenate(
            [np.full(worst, assumed.unsafe / worst), np.full(q - worst, (1 - assumed.unsafe) / (q - worst))]
        )
        self.cuts = np.asarray(special.ndtri(np.cumsum(shares)[:-1]))
        random = np.random.default_rng(0)
        noise = random.normal(size=(2, POPULATION))
        judge, people, repeat = (
            self._latent(target, noise) for target in (assumed.agreement, assumed.ceiling, assumed.repeat)
        )
        self.person = math.sqrt(people)
        self.judge = judge / self.person if people > 0 else 2.0
        if self.judge > 1 + 1e-9:
            raise ValueError(
                f"a judge cannot agree with one person to {round(assumed.agreement, 2):g} where two people agree to {round(assumed.ceiling, 2):g}"
            )
        self.judge = min(self.judge, 1.0)
        own = 1 - self.judge**2
        self.kept = min(max((repeat - self.judge**2) / own, 0.0), 1.0) if own > 0 else 0.0

    def _latent(self, target: float, noise: Floats) -> float:
        """Return the correlation of latent levels with which values agree to a target."""
        q = self.assumed.levels
        first = np.searchsorted(self.cuts, noise[0]) * q
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            other = middle * noise[0] + math.sqrt(1 - middle**2) * noise[1]
            code = first + sum(other > cut for cut in self.cuts)  # quicker than a search, where cuts are few
            low, high = (middle, high) if self._agreed(np.bincount(code, minlength=q * q)) < target else (low, middle)
        return (low + high) / 2

    def _agreed(self, pairs: Codes) -> float:
        """Return the agreement of two raters of whose pairs of values there are so many, shape (levels²,)."""
        if not self.assumed.ordered:
            return float(self.coefficient(pairs[None].astype(float))[0])
        x, y = np.divmod(np.arange(len(pairs)), self.assumed.levels)
        return float(self.coefficient(np.array([[pairs @ part for part in moments.terms(x, y)]]))[0])

    def _values(self, latent: Floats) -> Floats:
        return np.searchsorted(self.cuts, latent).astype(float)

    def draw(self, random: np.random.Generator, conversations: int) -> SimulatedRatings:
        """Draw ratings of so many conversations."""
        a = self.assumed
        shape = (conversations, a.replies)
        level = math.sqrt(a.alike) * random.normal(size=(conversations, 1)) + math.sqrt(1 - a.alike) * random.normal(
            size=shape
        )
        people = self.person * level[..., None] + math.sqrt(1 - self.person**2) * random.normal(size=(*shape, a.people))
        own = random.normal(size=(*shape, a.judges, 1))
        again = random.normal(size=(*shape, a.judges, a.repeats))
        error = math.sqrt(self.kept) * own + math.sqrt(1 - self.kept) * again
        judge = self.judge * level[..., None, None] + math.sqrt(1 - self.judge**2) * error
        return SimulatedRatings(self._values(people), self._values(judge).mean(axis=(2, 3)))

    def cells(self, drawn: SimulatedRatings) -> Floats:
        """Return the sums of each conversation: six moments, or of classes a table, in which a reply has weight 1."""
        x, y = drawn.people, np.broadcast_to(drawn.judge[..., None], drawn.people.shape)
        weight = 1 / x.shape[2]
        if self.assumed.ordered:
            return np.stack([weight * part.sum(axis=(1, 2)) for part in moments.terms(x, y)], axis=1)
        q = self.assumed.levels
        code = (x * q + np.rint(y)).astype(int)
        rows = np.arange(len(x))[:, None, None] * q * q
        table = np.bincount((rows + code).ravel(), minlength=len(x) * q * q).reshape(len(x), q * q)
        return np.asarray(weight * table)

    def coefficient(self, sums: Floats) -> Floats:
        """Return agreement from sums of conversations, shape (B, columns)."""
        if self.assumed.ordered:
            return np.asarray(moments.icc_agreement_within(sums[:, None]))
        q = self.assumed.levels
        joint = sums.reshape(-1, q, q) / sums.sum(axis=1)[:, None, None]
        shares = (joint.sum(axis=1) + joint.sum(axis=2)) / 2
        return np.asarray(1 - (1 - np.trace(joint, axis1=1, axis2=2)) / (1 - (shares**2).sum(axis=1)))

    def agreement(self, drawn: SimulatedRatings) -> float:
        """Return the agreement of what was drawn."""
        return float(self.coefficient(self.cells(drawn).sum(axis=0, keepdims=True))[0])

    def population(self, seed: int = 0) -> Population:
        """Return what one conversation tells of agreement and of bias, in a large draw."""
        cells = self.cells(self.draw(np.random.default_rng([seed, 1]), POPULATION))
        total = cells.sum(axis=0)
        steps = np.diag(np.maximum(total, 1.0) * 1e-5)
        value = float(self.coefficient(total[None])[0])
        slopes = (np.arctanh(self.coefficient(total + steps)) - np.arctanh(self.coefficient(total - steps))) / (
            2 * np.diag(steps)
        )
        influence = POPULATION * (cells - total / POPULATION) @ slopes
        if self.assumed.judges == self.assumed.repeats == 1:
            value = self.assumed.agreement
        agreement = ExpectedEstimate(math.atanh(value), float(influence.var()))
        if not self.assumed.ordered:
            return Population(agreement, None, value)
        gap = (cells[:, 2] - cells[:, 1]) / (self.assumed.replies * (self.assumed.levels - 1))
        return Population(agreement, ExpectedEstimate(0.0, float(gap.var())), value)
