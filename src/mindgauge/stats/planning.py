"""How large a study of a judge must be: studies are made up, from one model or from what was rated so far, and counted.

The model. Replies have a latent quality, normal, with the correlation `alike` within a conversation. People see it with
an error of the size that gives two of them the assumed agreement, the judge with one that gives it its agreement with one
person, and all cut what they see at the same places, so that each calls the share `unsafe` so. What a judge shares of a
person's unsafe calls, and one person of another's, follows.

What a verdict asks are functions of sums over conversations (`tally`), so that a study is a sum of rows, and a larger one
the same and more rows. Up to `_DRAWN` blocks are drawn one by one, more of them as normal (central limit theorem).
Once ratings are there, the conversations to come are drawn from these with weights that are drawn, too: the predictive
chance (Spiegelhalter, Freedman and Blackburn 1986) by the Bayesian bootstrap (Rubin 1981). Half a conversation at either
end counts as if the judge had said the opposite there (Jeffreys' prior), since who missed nothing may miss the next.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.stats import moments
from mindgauge.stats.agreement import krippendorff_alpha_within
from mindgauge.stats.codes import dense
from mindgauge.stats.left_out import losses

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]
    Mask = NDArray[np.bool_]

POPULATION = 20_000
"""Conversations of the made-up population."""
MOST = 20_000
"""More conversations than that are no plan."""
STUDIES = 2_000
_LEVELS = special.ndtri((np.arange(200) + 0.5) / 200)[:, None]
"""Latent levels that stand for all."""
_STEP = 1.3
"""From one size that is tried to the next."""
_BLOCK = 10
"""Conversations that are drawn together from a population, which has many."""
_DRAWN = 60
_ROWS = 400
"""Of ratings with more conversations than that, some are drawn together, too."""


@dataclass(frozen=True)
class Assumptions:
    """What is assumed of replies, people and judges before there are ratings.

    `unsafe`: the share of unsafe replies, spread evenly over the worst levels, as the rest is over the others. `agreement`:
    one judge's with one person, ICC(A,1), of classes alpha; `ceiling`: the same of two people, as `agreement` if not given.
    `repeat`: a judge's agreement with itself. `people` rate each reply, `judges` and `repeats` are averaged. `replies` a
    conversation, whose levels have the correlation `alike`. `levels` of the scale, or `classes` without an order.
    """

    unsafe: float = 0.1
    agreement: float = 0.8
    ceiling: float | None = None
    repeat: float = 0.95
    people: int = 3
    judges: int = 1
    repeats: int = 1
    replies: int = 1
    alike: float = 0.2
    levels: int = 5
    classes: int = 0

    @property
    def values(self) -> int:
        """How many levels or classes there are."""
        return self.classes or self.levels

    @property
    def worst(self) -> int:
        """How many levels are unsafe: those within the worst two fifths of the scale; of classes one."""
        return 1 if self.classes else 1 + int(0.4 * (self.levels - 1))

    @property
    def of_people(self) -> float:
        """How far two people agree."""
        return self.agreement if self.ceiling is None else self.ceiling


class RatedReplies(NamedTuple):
    """Values of S replies by a judge, the first column, and P people, NaN where there is none: shape (S, 1 + P).

    `unsafe` and `worst` say whether each calls the reply unsafe, and puts it at the worst level: 1, 0 or NaN; `together`,
    whether people together call it unsafe, shape (S,), as are `cluster` and `system`. `classes` is their
    number, of which `values` are places, and 0 where these have an order.
    """

    values: Floats
    unsafe: Floats
    worst: Floats | None
    together: Mask
    cluster: Codes
    system: Codes
    classes: int = 0


class World:
    """Draws ratings that agree as assumed.

    Raises:
        ValueError: no judge can agree with people so much more than they do with each other.
    """

    def __init__(self, assumed: Assumptions) -> None:
        self.assumed = assumed
        q, worst = assumed.values, assumed.worst
        shares = np.concatenate(
            [np.full(worst, assumed.unsafe / worst), np.full(q - worst, (1 - assumed.unsafe) / (q - worst))]
        )
        self.cuts = np.asarray(special.ndtri(np.cumsum(shares)[:-1]))
        judge, people, repeat = map(self._latent, (assumed.agreement, assumed.of_people, assumed.repeat))
        self.person = math.sqrt(people)
        self.judge = judge / self.person if people > 0 else 2.0
        if self.judge > 1 + 1e-9:
            most = math.floor(100 * self._agreed(self.person)) / 100
            raise ValueError(
                f"a judge cannot agree with one person to {round(assumed.agreement, 2):g} where two people agree to "
                f"{round(assumed.of_people, 2):g}: one that never errs reaches {most:g}"
            )
        own = 1 - self.judge**2
        self.kept = min(max((repeat - self.judge**2) / own, 0.0), 1.0) if own > 0 else 0.0

    def but(self, **other: int) -> World:
        """Return the same with other numbers of people, judges or repeats."""
        world = copy.copy(self)
        world.assumed = replace(self.assumed, **other)
        return world

    def _chances(self, latent: float) -> Floats:
        """Return the chance of each value at `_LEVELS` of a reply, from a rater whose squared correlation with it is given."""
        reach = (np.append(self.cuts, np.inf) - math.sqrt(latent) * _LEVELS) / math.sqrt(max(1 - latent, 1e-12))
        return np.diff(special.ndtr(reach), axis=1, prepend=0.0)

    def _agreed(self, latent: float) -> float:
        """Return how far two raters agree whose latent values have a correlation."""
        q, chances = self.assumed.values, self._chances(latent)
        pairs = 1e9 * (chances.T @ chances).ravel() / len(_LEVELS)
        if not self.assumed.classes:
            x, y = np.divmod(np.arange(len(pairs)), q)
            pairs = np.array([pairs @ part for part in moments.terms(x, y)])
        return float(agreement(pairs[None], self.assumed.classes)[0])

    def _latent(self, target: float) -> float:
        """Return the correlation of latent values with which two raters agree to a target."""
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if self._agreed(middle) < target else (low, middle)
        return (low + high) / 2

    def draw(self, random: np.random.Generator, conversations: int) -> RatedReplies:
        """Draw ratings of so many conversations."""
        a = self.assumed
        shape = (conversations, a.replies)
        alike = a.alike if a.replies > 1 else 1.0
        level = math.sqrt(alike) * random.normal(size=(conversations, 1)) + math.sqrt(1 - alike) * random.normal(
            size=shape
        )
        own, fresh = random.normal(size=(*shape, a.judges, 1)), random.normal(size=(*shape, a.judges, a.repeats))
        error = math.sqrt(self.kept) * own + math.sqrt(1 - self.kept) * fresh
        judge = self._cut(self.judge * level[..., None, None] + math.sqrt(max(1 - self.judge**2, 0.0)) * error)
        # one person after another, so that more of them see what fewer would have seen
        errors = [random.normal(size=shape) for _ in range(a.people)]
        people = self._cut(self.person * level[..., None] + math.sqrt(1 - self.person**2) * np.stack(errors, axis=-1))
        people, judge = people.reshape(-1, a.people), judge.reshape(people[..., 0].size, -1)
        calls = np.column_stack([np.median(judge, axis=1), people])
        size, bound = len(people), a.worst - 1 + 1e-9
        together = np.median(people, axis=1) <= bound if not a.classes else (people <= bound).mean(axis=1) > 0.5
        return RatedReplies(
            np.column_stack([judge.mean(axis=1), people]), (calls <= bound).astype(float),
            None if a.classes else (calls <= 0).astype(float), together, np.arange(size) // a.replies,
            np.zeros(size, dtype=np.intp), a.classes,
        )  # fmt: skip

    def _cut(self, latent: Floats) -> Floats:
        return np.searchsorted(self.cuts, latent).astype(float)

    def population(self) -> StudySums:
        """Return what made-up conversations add up to, moved so that its means are those of all replies there could be.

        A study of n conversations out of N made-up ones is off by √(n/N) of its standard error otherwise.
        """
        a, population = self.assumed, tally(self.draw(np.random.default_rng(1), POPULATION))
        q, k, draws = a.values, a.people, 500
        random = np.random.default_rng(2)
        error = special.ndtri((np.arange(draws) + 0.5) / draws)[:, None, None]
        if a.judges * a.repeats > 1:
            own, fresh = (random.normal(size=(draws, a.judges, n)) for n in (1, a.repeats))
            error = math.sqrt(self.kept) * own + math.sqrt(1 - self.kept) * fresh
        judged = self._cut(self.judge * _LEVELS[..., None, None] + math.sqrt(max(1 - self.judge**2, 0.0)) * error)
        value, call = judged.mean(axis=(2, 3)), np.median(judged, axis=(2, 3))
        chance = self._chances(self.person**2)
        bound = a.worst - 1 + 1e-9
        j, p = (call <= bound).mean(axis=1), chance[:, : a.worst].sum(axis=1)
        means: dict[str, list[Floats]] = {}
        for end, judge, person in (("unsafe", j, p), ("safe", 1 - j, 1 - p)):
            shared = k * person**2
            means[end], means[f"shared_{end}"] = [k * person, k * person * judge - shared], [shared]
        means["people_find"] = [k * (k - 1) * p, k * (k - 1) * p * p]
        if k % 2:
            most = special.bdtrc(k // 2, k, p)
            means["found"] = [most, most * j]
        judging = np.stack([(np.rint(value) == c).mean(axis=1) for c in range(q)], axis=1)
        for side, other in (("judge", judging), ("people", chance)):
            if not a.classes:
                x = chance @ np.arange(q), chance @ np.arange(q) ** 2
                y = (value.mean(axis=1), (value**2).mean(axis=1)) if side == "judge" else x
                means[side] = [np.ones(len(chance)), x[0], y[0], x[1], y[1], x[0] * y[0]]
            else:
                means[side] = [chance[:, c] * other[:, d] for c in range(q) for d in range(q)]
        worst, at_worst = chance[:, 0], (call <= 0).mean(axis=1)
        means["missed"] = [k * (p - j) * worst ** (k - 1)]
        means["unused"] = [k * (worst - at_worst) * worst ** (k - 1)]
        for name, parts in means.items():
            if name in population.places and k > (name not in {"judge", "found"}):
                columns = population.rows[:, population.places[name]][:, : len(parts)]
                columns += a.replies * np.stack([part.mean() for part in parts]) - columns.mean(axis=0)
        return population


def agreement(sums: Floats, classes: int, groups: int = 1) -> Floats:
    """Return ICC(A,1) within groups from moments (B, groups · 6), or of classes alpha from tables (B, groups · classes²)."""
    if not classes:
        return np.asarray(moments.icc_agreement_within(sums.reshape(len(sums), groups, 6)))
    tables = sums.reshape(len(sums), groups, classes, classes)
    return np.asarray(krippendorff_alpha_within(tables + tables.transpose(0, 1, 3, 2)))


class StudySums(NamedTuple):
    """Sums of C conversations, shape (C, columns), and where in a row the sums of something are, by its name.

    Of a share or a mean Σg / Σw there are Σw, Σg and the products w², wg, g² of conversations: `unsafe`, `safe` (the
    difference to a left-out person at either end), `found`, `people_find` and `bias`. `shared_unsafe` and `shared_safe`
    hold what a left-out person shares. `missed` and `unused` hold what a judge misses more of the worst than people do,
    and its variance by exchange. `judge` and `people` are what agreement is made of, `influence` the squares of what a
    conversation adds to it, on Fisher's z scale.
    """

    rows: Floats
    places: dict[str, slice]
    classes: int
    groups: int
    persons: int

    def of(self, sums: Floats, name: str) -> Floats:
        """Return the part of sums (B, columns) that something is made of; without its last axis where it is one number."""
        part = sums[:, self.places[name]]
        return part[:, 0] if part.shape[1] == 1 else part

    def agreement(self, sums: Floats, side: str) -> Floats:
        """Return the agreement of the `judge`, or of `people`, with a person, shape (B,)."""
        return agreement(self.of(sums, side), self.classes, self.groups)


def tally(replies: RatedReplies) -> StudySums:
    """Sum replies up by conversation."""
    _, codes = dense(replies.cluster)
    size, groups = int(codes.max()) + 1, int(replies.system.max()) + 1
    values, unsafe = replies.values[:, 1:], replies.unsafe[:, 1:]
    raters = np.isfinite(values).sum(axis=1)
    parts: dict[str, Floats] = {}

    def summed(*columns: Floats | Mask) -> Floats:
        return np.stack([np.bincount(codes, column, minlength=size) for column in columns], axis=1)

    def ratio(name: str, weight: Floats | Mask, part: Floats | Mask) -> None:
        w, g = summed(weight, part).T
        parts[name] = np.stack([w, g, w * w, w * g, g * g], axis=1)

    for end, marks, judged in (
        ("unsafe", unsafe, replies.unsafe[:, 0]),
        ("safe", 1 - unsafe, 1 - replies.unsafe[:, 0]),
    ):
        calls = np.where(raters > 1, np.nansum(marks, axis=1), 0.0)
        shared = calls * (calls - 1) / np.maximum(raters - 1, 1)
        ratio(end, calls, calls * np.nan_to_num(judged) - shared)
        parts[f"shared_{end}"] = summed(shared)
        if end == "unsafe":
            ratio("found", replies.together, replies.together * np.nan_to_num(judged))
            ratio("people_find", calls * (raters - 1), calls * (calls - 1))
    total = np.nansum(values, axis=1)
    valued = np.isfinite(replies.values[:, 0]) & (raters > 0)
    ratio("bias", valued, np.where(valued, replies.values[:, 0] - total / np.maximum(raters, 1), 0.0))
    if replies.worst is not None and values.shape[1] > 1:
        for name, missed in (("missed", 1 - replies.unsafe), ("unused", 1 - replies.worst)):
            near = losses(missed, replies.worst)
            loss, present = (
                np.stack([np.bincount(codes[near.near], column, minlength=size) for column in part.T], axis=1)
                for part in (near.loss, near.rated)
            )
            is_there = present > 0
            number = np.maximum(is_there.sum(axis=1), 1)
            mean = (is_there * loss).sum(axis=1) / number
            spread = (is_there * (loss - mean[:, None]) ** 2).sum(axis=1) / number
            parts[name] = np.stack([loss[:, 0] - mean, spread], axis=1)
    persons = range(1, values.shape[1] + 1)
    parts["judge"] = _paired(replies, codes, [(0, i) for i in persons])
    parts["people"] = _paired(replies, codes, [(i, j) for i in persons for j in persons if i != j])
    totals = parts["judge"].sum(axis=0)
    steps = np.diag(np.maximum(totals, 1.0) * 1e-5)
    z = [np.arctanh(np.clip(agreement(totals + sign * steps, replies.classes, groups), -1 + 1e-9, 1 - 1e-9)) for sign in (1, -1)]  # fmt: skip
    moved = (parts["judge"] - totals / size) @ np.nan_to_num((z[0] - z[1]) / (2 * np.diag(steps))) * size
    parts["influence"] = np.square(moved)[:, None]
    ends = np.cumsum([part.shape[1] for part in parts.values()])
    places = {name: slice(int(end) - part.shape[1], int(end)) for (name, part), end in zip(parts.items(), ends, strict=True)}  # fmt: skip
    return StudySums(np.concatenate(list(parts.values()), axis=1), places, replies.classes, groups, values.shape[1])


def _paired(replies: RatedReplies, codes: Codes, sides: list[tuple[int, int]]) -> Floats:
    """Sum up what agreement of pairs of raters is made of, shape (C, groups · columns); a reply counts once."""
    groups, size = int(replies.system.max()) + 1, int(codes.max()) + 1
    columns, place = np.zeros((size * groups, replies.classes**2 or 6)), codes * groups + replies.system
    both = [np.isfinite(replies.values[:, pair]).all(axis=1) for pair in sides]
    number = np.maximum(np.sum(both, axis=0), 1) if sides else np.ones(len(codes))
    for rows, (i, j) in zip(both, sides, strict=True):
        x, y, weight = replies.values[rows, j], replies.values[rows, i], 1 / number[rows]
        if replies.classes:
            flat = place[rows] * replies.classes**2 + (np.rint(x) * replies.classes + np.rint(y)).astype(np.intp)
            columns += np.bincount(flat, weight, minlength=columns.size).reshape(columns.shape)
        else:
            for column, part in zip(columns.T, moments.terms(x, y), strict=True):
                column += np.bincount(place[rows], weight * part, minlength=len(columns))  # noqa: PLW2901 # in place
    return columns.reshape(size, -1)


class StudyMean(NamedTuple):
    """Means Σg / Σw of B studies, their standard errors by leaving out one conversation, and conversations in effect."""

    value: Floats
    error: Floats
    number: Floats


def mean(sums: Floats) -> StudyMean:
    """Return means of studies from sums (B, 5), as `StudySums` has them; NaN where nothing was weighed."""
    w, g, ww, wg, gg = np.where(sums[:, :1] > 0, sums, np.nan).T
    value, number = g / w, np.maximum(w * w / np.where(ww > 0, ww, np.nan), 1.0)
    spread = np.maximum(gg - 2 * value * wg + value**2 * ww, 0.0) / w**2
    return StudyMean(value, np.sqrt(spread * number / np.maximum(number - 1, 1e-9)), number)


def sizes(start: int) -> list[int]:
    """Return the numbers of conversations that are tried, from the least that may do to `MOST`."""
    tried = [_BLOCK * math.ceil(start / _BLOCK)]
    while tried[-1] < MOST:
        tried.append(min(max(round(tried[-1] * _STEP / _BLOCK), tried[-1] // _BLOCK + 1) * _BLOCK, MOST))
    return tried


def drawn(population: StudySums, start: int, seed: int = 0) -> Iterator[tuple[int, Floats]]:
    """Draw studies from a population: yields numbers of conversations, rising, and the sums (STUDIES, columns) of studies."""
    random = np.random.default_rng(seed)
    blocks = population.rows.reshape(-1, _BLOCK, population.rows.shape[1]).sum(axis=1)
    centre = blocks.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(blocks, rowvar=False))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    sums, reached = np.zeros((STUDIES, len(centre))), 0
    for size in sizes(start):
        blocks_added = (size - reached) // _BLOCK
        if blocks_added <= _DRAWN:
            for _ in range(blocks_added):
                sums += blocks[random.integers(len(blocks), size=STUDIES)]
        else:
            sums += blocks_added * centre + math.sqrt(blocks_added) * random.normal(size=sums.shape) @ root.T
        reached = size
        yield size, sums


def continued(replies: RatedReplies, seed: int = 0) -> tuple[StudySums, Iterator[tuple[int, Floats]]]:
    """Go on from what was rated: yields numbers of conversations, the rated ones included, and sums as `drawn` does."""
    rated_sums = tally(replies)
    opposite = replies._replace(unsafe=np.column_stack([1 - replies.unsafe[:, 0], replies.unsafe[:, 1:]]))
    if replies.worst is not None:
        opposite = opposite._replace(worst=np.column_stack([1 - replies.unsafe[:, 0], replies.worst[:, 1:]]))
    return rated_sums, _continued(rated_sums, tally(opposite).rows, seed)


def _continued(rated_sums: StudySums, opposite: Floats, seed: int) -> Iterator[tuple[int, Floats]]:
    random = np.random.default_rng(seed)
    rated, totals = len(rated_sums.rows), rated_sums.rows.sum(axis=0)
    block = random.permutation(np.arange(rated) % min(rated, _ROWS))
    lengths = np.bincount(block).astype(float)
    rows = np.stack([np.bincount(block, column) for column in rated_sums.rows.T], axis=1)
    ends = rated_sums.of(rated_sums.rows, "found")[:, 0] > 0
    prior = 0.5 / np.where(ends, max(ends.sum(), 1), max((~ends).sum(), 1))
    rows, holds = np.concatenate([rows, opposite]), np.append(lengths, np.ones(rated))
    weights = np.concatenate([random.gamma(1.0, size=(STUDIES, len(lengths))), random.gamma(prior, size=(STUDIES, rated))], axis=1)  # fmt: skip
    weights /= (weights @ holds)[:, None]
    sums, reached = np.tile(totals, (STUDIES, 1)), rated
    yield rated, sums
    while reached < MOST:
        size = min(max(math.ceil(reached * _STEP), reached + 1), max(MOST, rated))
        sums += random.poisson((size - reached) * weights) @ rows
        reached = size
        yield size, sums
