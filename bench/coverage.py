"""How often the 95 % intervals that Mindgauge prints hold the true value.

    python bench/coverage.py [--only PART ...] [--quick] [--json FILE]

Each part draws data of a known truth again and again, asks Mindgauge's own functions for intervals, and counts. Truths
are exact: computed from the model that the data are drawn from, never estimated from a large draw. Shares of
independent observations are not simulated but summed over all outcomes. Prints Markdown; bench/results/coverage.md holds it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy: the machine may be shared

import numpy as np
from scipy.sparse import csr_array
from scipy.special import bdtr, fdtri

from accelerated import bca
from counting import Grid, short, table
from drawn import drawn
from kinship import kinship
from mindgauge.analysis.profile.profiled import averaged
from mindgauge.analysis.reliability import coefficients, rule
from mindgauge.analysis.reliability.card import GOOD, LIMITED, MODERATE, Bound
from mindgauge.analysis.reliability.pairs import RatingPairs
from mindgauge.analysis.reliability.scale import ValueScale
from mindgauge.benchmarks import metrics
from mindgauge.stats import (
    bootstrap,
    comparison,
    correction,
    escalation,
    generalizability,
    icc,
    moments,
    proportion,
    rank,
)
from mindgauge.stats.interval import Interval
from mindgauge.stats.jackknife import effective
from panel import panel
from simulated import VALUES, Raters, latent, moments_of_joint, tuned
from unequal import unequal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from counting import Ends

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]

SEED = 0
RESAMPLES = 1000
"""Mindgauge takes 2,000 (comparisons 10,000). With 1,000 the ends are noisier, which costs about .001 of coverage."""
REFITS = 200
"""Resamples where an order of reading is learned anew on each; Mindgauge takes 1,000."""

# -- system means -----------------------------------------------------------------------------------------------------


def systems(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """ICCs of system means: the exact interval of the card beside three bootstraps over systems."""
    consistent = Grid("ICC(C,1) of system means", "how systems differ", "systems", "true")
    agreeing = Grid("ICC(A,1) of system means", "judge's bias", "systems", "ICC(C,1)", "true")
    classes, licences = [], []
    for n in (3, 5, 9, 20, 50):
        for rho in (0.5, 0.8, 0.95):
            widths = []
            given: dict[str, list[str]] = {"normally": [], "a few far below": []}
            at = (str(n), short(rho))
            for seed in range(repetitions):
                error = math.sqrt(1 - rho) * generator.normal(size=(n, 2))
                drawn = {
                    "normally": generator.normal(size=(n, 1)),
                    "a few far below": 1 - generator.exponential(size=(n, 1)),
                }
                for how, quality in drawn.items():
                    means = math.sqrt(rho) * quality + error
                    found = _over_systems(means, icc.consistency, seed)
                    exact = icc.icc(means).consistency
                    consistent.see((how, *at), "exact F, as printed", rho, exact)
                    given[how].append(_ranking(means, exact))
                    for name, interval in found.items():
                        consistent.see((how, *at), name, rho, interval)
                    if how == "normally":
                        _, low, high, _ = found[SOURCE]
                        widths.append(np.nan if low is None or high is None else high - low)
                means = math.sqrt(rho) * drawn["normally"] + error
                for bias, size in (("none", 0.0), ("0.5 SD", 0.5), ("random, 0.5 SD", 0.5 * generator.normal())):
                    shifted = means + np.array([0.0, size])
                    true = rho / (1 if bias == "none" else 1 + 0.5**2 / 2)
                    row = (bias, *at, short(true))
                    agreeing.see(row, "exact F, as printed", true, icc.icc(shifted).agreement)
                    if not bias.startswith("random"):
                        found = _over_systems(shifted, icc.agreement, seed)
                        agreeing.see(row, "percentile", true, found["percentile"])
                        agreeing.see(row, "BCa", true, found["BCa"])
            classes.append([*at, *_classes(np.array(widths))])
            licences += [[how, *at, *_often(verdicts)] for how, verdicts in given.items()]
    yield consistent
    yield agreeing
    yield table(
        "May it rank systems? How often each verdict comes out (exact F, and with any one system left out)",
        ["how systems differ", "systems", "true", *SAID],
        licences,
    )
    yield table(
        "The source's verdicts: the width of its interval of ICC(C,1), and how often each class comes out",
        ["systems", "true", "10 to 90 % of widths", *SAID],
        classes,
    )
    yield table(
        "The least ICC(C,1) of system means whose exact lower bound reaches a limit",
        ["systems", ".50", ".75"],
        [[str(n), short(_least(n, 0.5)), short(_least(n, 0.75))] for n in (3, 4, 5, 7, 9, 10, 15, 20, 30, 50)],
    )


SAID = ("good", "moderate", "limited")
_RULE = rule.load(rule.MINDGAUGE)
SOURCE = "percentile, values below 0 dropped (the source)"


def _over_systems(means: Floats, form: Callable[[icc.MeanSquares], Floats], seed: int) -> dict[str, Interval]:
    n = len(means)
    [weights] = bootstrap.draw(np.ones(n, dtype=np.intp), RESAMPLES, seed)
    values = form(icc.mean_squares(means, np.concatenate([np.ones((1, n)), weights, 1 - np.eye(n)])))
    value, drawn, left_out = float(values[0]), values[1 : RESAMPLES + 1], values[RESAMPLES + 1 :]
    return {
        "percentile": bootstrap.percentile_interval(value, drawn),
        SOURCE: Interval(value, *bootstrap.percentile(drawn[(drawn >= 0) & (drawn <= 1)])),
        "BCa": bca(value, drawn, left_out),
    }


def _classes(widths: Floats) -> list[str]:
    low, high = np.nanquantile(widths, [0.1, 0.9])
    good, moderate = float((widths <= 0.355).mean()), float(((widths > 0.355) & (widths <= 0.560)).mean())
    return [f"{low:.2f} to {high:.2f}", short(good), short(moderate), short(1 - good - moderate)]


def _ranking(means: Floats, exact: Interval) -> str:
    """Return whether the card lets the judge rank systems."""
    without = icc.consistency(icc.mean_squares(means, 1 - np.eye(len(means))))
    facts = rule.Facts(
        ordered=True, span=1, subjects=1000, clusters=1000, absent=(0, 1000), people=2, people_agreement=None, people_bias=None, systems=len(means), agreement=Bound(0),
        bias=None, ranking=Bound(exact.value, exact.low, exact.high), without_one=float(without.min()), selected="",
    )  # fmt: skip
    return rule.decide(facts, _RULE)[1].verdict


def _often(verdicts: list[str]) -> list[str]:
    return [short(verdicts.count(verdict) / len(verdicts)) for verdict in (GOOD, MODERATE, LIMITED)]


def _least(n: int, limit: float) -> float:
    f = (1 + limit) / (1 - limit) / float(fdtri(n - 1, n - 1, 0.025))
    return (f - 1) / (f + 1)


def both(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """System means under the card's ways of resampling. Systems and conversations are both drawn anew each time."""
    settings = ("systems × conversations", "true")
    grids = {name: Grid(f"{title} of system means, by what is resampled", *settings) for name, title in _SYSTEM.items()}
    rho, of_system, of_conversation, of_reply, bias = 0.8, 0.3, 0.3, 0.7, 0.2
    for n in (5, 9, 20):
        for conversations in (20, 100):
            same = (rho * of_system + 0.5 * of_reply / conversations) / (of_system + of_reply / conversations)
            variance = of_system + of_reply / conversations
            true = dict.fromkeys(_SYSTEM, same) | {"system_icc_a1": same / (1 + bias**2 / 2 / variance)}
            for seed in range(repetitions):
                ratings = (
                    math.sqrt(of_system) * _alike(generator, rho, n, 1)
                    + math.sqrt(of_conversation) * _alike(generator, 0.5, 1, conversations)
                    + math.sqrt(of_reply) * _alike(generator, 0.5, n, conversations)
                )
                ratings[1] += bias
                pairs = _continuous(*ratings)
                exact = icc.icc(ratings.mean(axis=2).T)
                drawn = coefficients.resample(pairs, RESAMPLES, seed)
                for name, grid in grids.items():
                    row = (f"{n} × {conversations}", short(true[name]))
                    for scheme, values in drawn.items():
                        grid.see(row, scheme, true[name], Interval(None, *bootstrap.percentile(values[name])))
                    if name != "system_pearson":
                        form = exact.consistency if name == "system_icc_c1" else exact.agreement
                        grid.see(row, "exact F", true[name], form)
    yield from grids.values()


_SYSTEM = {"system_icc_c1": "ICC(C,1)", "system_icc_a1": "ICC(A,1)", "system_pearson": "Pearson's r"}


def _alike(generator: np.random.Generator, correlation: float, *shape: int) -> Floats:
    """Draw what people and judge see, shape (2, *shape), standard normal with some correlation."""
    own = generator.normal(size=(2, *shape))
    return np.asarray(math.sqrt(correlation) * generator.normal(size=shape) + math.sqrt(1 - correlation) * own)


def _continuous(people: Floats, judge: Floats) -> RatingPairs:
    """Make the card's sums of ratings (systems, conversations) on a continuum."""
    n, conversations = people.shape
    terms = np.stack([np.ones_like(people), people, judge, people**2, judge**2, people * judge], axis=-1)
    cells = csr_array(terms.swapaxes(0, 1).reshape(conversations, -1))
    return RatingPairs(cells, ValueScale((0.0, 1.0), levels=False), np.arange(n), np.full(n, conversations))


# -- single replies ---------------------------------------------------------------------------------------------------

MAIN = ("icc_a1", "alpha", "kappa_quadratic", "ac", "bias")
OTHERS = ("icc_c1", "pearson", "ccc", "mse", "percent", "within_1", "kappa", "people_mean", "judge_mean", "judge_top")
SIZES = ((5, 1), (10, 1), (10, 3), (10, 5), (20, 1), (20, 5), (30, 1), (50, 1), (50, 5), (200, 1), (200, 5))
PRINTED, PERCENTILE, BCA = (
    "Student's t by the jackknife over conversations, as printed",
    "percentile over conversations",
    "BCa over conversations",
)
NAIVE = "percentile over replies, as if each were a conversation"
OTHER = "other coefficients"
_LAYOUT = RatingPairs(
    csr_array((1, 31)), ValueScale(tuple(VALUES)), np.zeros(1, dtype=np.intp), np.ones(1, dtype=np.intp)
)


def replies(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """The card's coefficients of single replies, by leaving out or resampling conversations, and the verdicts they lead to."""
    settings = ("ratings", "true A1", "conversations × replies")
    grids = {method: Grid(f"Single replies: {method}", *settings) for method in (PRINTED, PERCENTILE, BCA, NAIVE)}
    grids[OTHER] = Grid(f"Single replies, other coefficients: {PRINTED}", *settings)
    truths, verdicts = [], []
    for shape in ("even", "85 % at 5"):
        for target in (0.4, 0.75, 0.9):
            raters = tuned(moments.icc_agreement, target, shape)
            true = _truth(raters)
            truths.append([shape, *(f"{true[name]:.2f}" for name in (*MAIN, *OTHERS))])
            for size in SIZES:
                row = (shape, short(target), f"{size[0]} × {size[1]}")
                given: dict[str, list[str]] = {PRINTED: [], PERCENTILE: []}
                for seed in range(repetitions):
                    each = _sums(*raters.rate(latent(generator, *size)))
                    found = _intervals(each.sum(axis=1), seed, (*MAIN, *OTHERS) if target == 0.75 else MAIN)
                    for method, verdict in given.items():
                        verdict.append(_verdict(found, method, *size))
                    if target == 0.75 and size[1] == 5:
                        naive = _intervals(each.reshape(-1, each.shape[-1]), seed, MAIN)
                        found |= {(NAIVE, name): naive[PERCENTILE, name] for name in MAIN}
                    for (method, name), interval in found.items():
                        grids[method].see(row, name, true[name], interval)
                if size[0] * size[1] >= _RULE.data.subjects:
                    verdicts.append([*row, *_often(given[PRINTED]), *_often(given[PERCENTILE])])
    yield table("Single replies: true values", ["ratings", *MAIN, *OTHERS], truths)
    yield from grids.values()
    head = [f"{said}, {how}" for how in ("as printed", "by percentiles") for said in SAID]
    yield table("Single replies: how often each verdict comes out", [*settings, *head], verdicts)


def _truth(raters: Raters) -> dict[str, float]:
    """Return the coefficients of endless replies."""
    joint = 1e9 * raters.joint()
    whole = np.concatenate([moments_of_joint(joint[None], VALUES, origin=1)[0], joint.ravel()])
    return {name: float(value[0]) for name, value in coefficients.of_subjects(_LAYOUT, whole[None]).items()}


def _sums(people: Floats, judge: Floats) -> Floats:
    """Return the card's sums for each reply: six moments and the table of levels, shape (conversations, replies, 31)."""
    x, y = people - 1, judge - 1
    terms = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)
    return np.concatenate([terms, np.eye(25)[(5 * x + y).astype(int)]], axis=-1)


def _intervals(cells: Floats, seed: int, names: tuple[str, ...]) -> dict[tuple[str, str], Ends]:
    """Return the intervals of some coefficients by each method, from the sums of conversations (C, 31)."""
    kinds, counts, _ = bootstrap.types(cells)
    rows = np.asarray(kinds)
    total = (counts @ rows)[None]
    drawn = [weights @ rows for weights in bootstrap.draw(counts, RESAMPLES, seed)]
    unseen = coefficients.unseen(effective(rows[:, 0], counts))
    opposed = _LAYOUT.opposed(_LAYOUT.blocks(total), unseen).sum(axis=1)
    values = coefficients.of_subjects(_LAYOUT, np.concatenate([total, opposed, total - rows, *drawn]))
    left = {name: each[: len(rows) + 2] for name, each in values.items()}
    left_out = coefficients.LeftOut(left, {}, counts, rows[:, :1])
    found: dict[tuple[str, str], Ends] = {}
    for name in names:
        value, resamples = float(left[name][0]), values[name][len(rows) + 2 :]
        found[PRINTED if name in MAIN else OTHER, name] = coefficients.bound(name, left_out, _LAYOUT.scale)
        if name in MAIN:
            found[PERCENTILE, name] = bootstrap.percentile_interval(value, resamples)
            found[BCA, name] = bca(value, resamples, left[name][2:], counts=counts)
    return found


def _verdict(found: dict[tuple[str, str], Ends], method: str, conversations: int, size: int) -> str:
    """Return what the card says of the judge, were its intervals made by this method."""
    agreement, bias = (
        Bound(0.0, found[method, name].low, found[method, name].high, "none") for name in ("icc_a1", "bias")
    )
    facts = rule.Facts(
        ordered=True, span=4, subjects=conversations * size, clusters=conversations, absent=(0, 1000), people=2, people_agreement=None, people_bias=None, systems=1,
        agreement=agreement, bias=bias, ranking=None, without_one=None, selected="",
    )  # fmt: skip
    return rule.decide(facts, _RULE)[0].verdict


# -- scores -----------------------------------------------------------------------------------------------------------


def shares(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Shares: over all outcomes where observations are independent, by simulation where replies repeat."""
    exact = Grid("Shares of independent observations, summed over all outcomes", "true", "n")
    for p in (0.01, 0.05, 0.5):
        for n in (20, 100, 500):
            at = (f"{p:g}", str(n))
            exact.weights[at] = np.diff(bdtr(np.arange(n + 1.0), n, p), prepend=0)
            for count in range(n + 1):
                exact.see(at, "Clopper–Pearson", p, proportion.clopper_pearson(count, n))
    yield exact
    grid = Grid("Shares, several replies a conversation", "true", "conversations × replies", "alike in a conversation")
    for p in (0.05, 0.5):
        for conversations in (20, 100):
            for kind in ("5", "1 or 20"):
                for alike in (0.0, 0.5, 1.0):
                    row = (f"{p:g}", f"{conversations} × {kind}", f"{alike:g}")
                    for _ in range(repetitions):
                        sizes = np.full(conversations, 5) if kind == "5" else np.tile([1, 20], conversations // 2)
                        cluster = np.repeat(np.arange(conversations), sizes)
                        yes = generator.random(len(cluster)) < _chances(generator, p, alike, conversations)[cluster]
                        found = metrics.estimate(metrics.share_of(1), _table((0, 1), yes.astype(np.intp), cluster))
                        plain = proportion.clopper_pearson(yes.mean() * conversations, conversations)
                        grid.see(row, "Clopper–Pearson, conversations as n", p, plain)
                        grid.see(row, "Kish's n of conversations, as printed", p, found)
                        grid.see(row, "replies as n", p, proportion.clopper_pearson(int(yes.sum()), len(yes)))
                        grid.see(row, "Student's t over conversations", p, _student(yes, cluster))
    yield grid


def _chances(generator: np.random.Generator, p: float, alike: float, conversations: int) -> Floats:
    """Draw each conversation's own chance, so that two of its replies correlate as `alike` says."""
    if alike in {0.0, 1.0}:
        return np.full(conversations, p) if alike == 0 else (generator.random(conversations) < p).astype(float)
    return generator.beta(p * (1 - alike) / alike, (1 - p) * (1 - alike) / alike, size=conversations)


def _table(levels: tuple[int, ...], codes: Codes, cluster: Codes, target: Codes | None = None) -> metrics.RatingTable:
    n = len(codes)
    nothing = np.full(n, -1, dtype=np.intp)
    return metrics.RatingTable(
        levels, codes, nothing if target is None else target, cluster, cluster, np.full(n, "ok", object)
    )


def _student(values: NDArray[np.generic], cluster: Codes) -> Interval:
    """Return a mean's interval by Student's t over clusters, as a judge's own mean has it on the card."""
    nobody = np.full(len(values), np.nan)
    return correction.prediction_powered_mean(values, nobody, cluster).judge_only


def means(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Mean levels: the percentile bootstrap over conversations, and Student's t."""
    grid = Grid("Mean level", "ratings", "conversations × replies")
    for shape in ("even", "85 % at 5", "97 % at 5"):
        true = Raters(0.5, shape).means()[0]
        for conversations in (3, 5, 10, 20, 50, 200):
            for size in (1, 5):
                row = (shape, f"{conversations} × {size}")
                cluster = np.repeat(np.arange(conversations), size)
                for seed in range(repetitions):
                    people = Raters(0.5, shape).rate(latent(generator, conversations, size))[0].ravel()
                    codes = (people - 1).astype(np.intp)
                    found = metrics.estimate(
                        metrics.mean_level, _table((1, 2, 3, 4, 5), codes, cluster), resamples=RESAMPLES, seed=seed
                    )
                    grid.see(row, "percentile over conversations, as printed", true, found)
                    grid.see(row, "Student's t over conversations", true, _student(people, cluster))
    yield grid


def closed(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Closed questions of four classes, one of them rare, and the agreement of three repeats."""
    grid = Grid("Closed questions, as printed", "right", "samples")
    prevalence = np.array([0.55, 0.25, 0.15, 0.05])
    for right in (0.6, 0.9):
        given = np.full((4, 4), (1 - right) / 3) + (right - (1 - right) / 3) * np.eye(4)
        joint = prevalence[:, None] * given
        called = joint.sum(axis=0)
        f1 = float((2 * np.diagonal(joint) / (prevalence + called)).mean())
        expected = float(prevalence @ called)
        kappa = (right - expected) / (1 - expected)
        repeated, chance = float(prevalence @ (given**2).sum(axis=1)), float(called @ called)
        fleiss = (repeated - chance) / (1 - chance)
        for n in (20, 50, 200):
            row = (f"{right:g}", str(n))
            for seed in range(repetitions):
                target = generator.choice(4, size=n, p=prevalence)
                cluster = np.repeat(np.arange(n), 3)
                answers = (generator.random((n * 3, 1)) > np.cumsum(given, axis=1)[target[cluster], :3]).sum(axis=1)
                once = _table((0, 1, 2, 3), answers[::3], np.arange(n), target)
                thrice = _table((0, 1, 2, 3), answers, cluster, target[cluster])
                for metric, true, on in (
                    (metrics.accuracy, right, once),
                    (metrics.cohen_kappa, kappa, once),
                    (metrics.macro_f1, f1, once),
                    (metrics.fleiss_kappa, fleiss, thrice),
                ):
                    found = metrics.estimate(metric, on, resamples=RESAMPLES, seed=seed)
                    grid.see(row, f"{metric.name}", true, found)
    yield grid


# -- corrections ------------------------------------------------------------------------------------------------------


def corrected(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Prediction-powered means of 1,000 replies, of which people labelled few, with and without the ends of the scale."""
    grid = Grid("Mean of 1,000 replies, some labelled by people", "ratings", "r", "replies", "labelled")
    for shape in ("even", "85 % at 5", "90 % at 5", "95 % at 5", "97 % at 5"):
        for r in (0.3, 0.8):
            raters = tuned(moments.pearson, r, shape, bias=0.3)
            true = raters.means()[0]
            for labelled in (20, 50, 100):
                for _ in range(repetitions):
                    for kind, size, together in _LABELLING:
                        people, judge = (a.ravel() for a in raters.rate(latent(generator, 1000 // size, size)))
                        drawn = generator.permutation(1000 // together)[: labelled // together]
                        known = (drawn[:, None] * together + np.arange(together)).ravel()
                        people = np.where(np.isin(np.arange(1000), known), people, np.nan)
                        asked = (judge, people, np.arange(1000) // size)
                        found = correction.prediction_powered_mean(*asked, ends=(1.0, 5.0))
                        row = (shape, f"{r:g}", kind, str(labelled))
                        grid.see(row, "people and judge", true, found.corrected)
                        grid.see(row, "people only", true, found.human_only)
                        grid.see(row, "judge only", true, found.judge_only)
                        student = correction.prediction_powered_mean(*asked)
                        grid.see(row, "people and judge, Student's t, as before", true, student.corrected)
    yield grid


_LABELLING = (("1,000 × 1", 1, 1), ("200 × 5, any replies", 5, 1), ("200 × 5, whole conversations", 5, 5))


# -- several systems --------------------------------------------------------------------------------------------------


def ranks(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Paired differences, claims that survive Holm's adjustment, and ranges of ranks, which hold all at once or do not."""
    settings = ("ratings", "gap between neighbours", "systems", "conversations")
    grid = Grid("Several systems on the same conversations", *settings)
    widths: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for shape, gap in (("even", 0.0), ("even", 0.3), ("85 % at 5", 0.0), ("85 % at 5", 0.3)):
        for n in (2, 5, 10):
            raters = [Raters(0.5, shape, quality=gap * (i - (n - 1) / 2)) for i in range(n)]
            true = np.array([of.means()[0] for of in raters])
            gaps = true[:, None] - true
            place = 1 + (gaps.T > 0).sum(axis=1) + ((gaps == 0).sum(axis=1) - 1) / 2
            for conversations in (10, 20, 50, 200):
                row = (shape, f"{gap:g} SD", str(n), str(conversations))
                for seed in range(repetitions):
                    drawn = latent(generator, conversations, n)
                    scores = np.stack([of.rate(drawn[:, :, i])[0] for i, of in enumerate(raters)], axis=1)
                    found = comparison.compare(scores, resamples=RESAMPLES, seed=seed)
                    pairs = [(gaps[d.first, d.second], d.difference.low, d.difference.high) for d in found.differences]
                    grid.tally(row, "means").see(true, *_ends([s.mean for s in found.standings]))
                    grid.tally(row, "differences").see(*np.array(pairs, dtype=float).T)
                    claims = [d for d in found.differences if d.adjusted is not None and d.adjusted <= 0.05]
                    right = [(d.difference.value or 0) * gaps[d.first, d.second] > 0 for d in claims]
                    grid.tally(row, "no false claim by Holm").hold(all(right))
                    [weights] = bootstrap.draw(np.ones(conversations, dtype=np.intp), RESAMPLES, seed)
                    over = weights @ scores / conversations
                    better = rank.surely_better(scores.mean(axis=0), over, conversations)
                    assert better is not None
                    compared = np.array([s.certain for s in found.standings], dtype=float)
                    profiled = np.array(rank.ranges(better), dtype=float)
                    for name, ends in (
                        ("ranges of `compare`, all at once", compared),
                        ("ranges of `profile`, all at once", profiled),
                    ):
                        grid.tally(row, name).hold(bool(((ends[:, 0] <= place) & (place <= ends[:, 1])).all()))
                    spread = (
                        float((compared[:, 1] - compared[:, 0]).mean()),
                        float((profiled[:, 1] - profiled[:, 0]).mean()),
                    )
                    widths.setdefault(row, []).append(spread)
                    ends = np.array([bootstrap.percentile(column) for column in averaged(over).T])
                    held = (ends[:, 0] <= place) & (place <= ends[:, 1])
                    grid.tally(row, "percentiles of ranks, all at once").hold(bool(held.all()))
    yield grid
    rows = [[*row, *(f"{width:.2g}" for width in np.mean(each, axis=0))] for row, each in widths.items()]
    yield table("How many ranks a range spans, less one", [*settings, "`compare`", "`profile`"], rows)


def _ends(found: list[Interval]) -> tuple[Floats, Floats]:
    low, high = np.array([interval[1:3] for interval in found], dtype=float).T
    return low, high


def studies(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Generalizability studies: the systems and raters at hand, and systems and raters at large."""
    settings = ("systems × conversations × raters",)
    at_hand = Grid("Generalizability study: for the systems and raters at hand, as printed", *settings)
    at_large = Grid("Generalizability study: the same intervals for systems and raters at large", *settings)
    enough = Grid("How many it takes to a dependability of .8: raters like those drawn, the systems at hand", *settings)
    for s, r in ((1, 2), (5, 3), (9, 3)):
        large = (
            generalizability.Components(None, 0.6, 0.05, None, None, None, 0.4)
            if s == 1
            else generalizability.Components(0.3, 0.3, 0.05, 0.2, 0.05, 0.1, 0.5)
        )
        of = {name: math.sqrt(value) for name, value in large._asdict().items() if value is not None}
        for c in (10, 30, 50, 100):
            row = (f"{s} × {c} × {r}",)
            for seed in range(repetitions):
                system = of.get("system", 0.0) * generator.normal(size=(s, 1, 1))
                rater = of["rater"] * generator.normal(size=(1, 1, r))
                crossed = of.get("system_rater", 0.0) * generator.normal(size=(s, 1, r))
                ratings = (
                    system + rater + crossed
                    + of["conversation"] * generator.normal(size=(1, c, 1))
                    + of.get("system_conversation", 0.0) * generator.normal(size=(s, c, 1))
                    + of.get("conversation_rater", 0.0) * generator.normal(size=(1, c, r))
                    + of["residual"] * generator.normal(size=(s, c, r))
                )  # fmt: skip
                found = generalizability.study(ratings, resamples=RESAMPLES, seed=seed)
                hand = _at_hand(large, (system + rater + crossed)[:, 0])
                for grid, true in ((at_hand, hand), (at_large, large)):
                    parts = np.array(true, dtype=float)
                    order, number = (
                        float(generalizability.coefficient(parts, c, r, absolute=absolute))
                        for absolute in (False, True)
                    )
                    grid.see(row, "Eρ²", order, found.generalizability)
                    grid.see(row, "Φ", number, found.dependability)
                needed = large if s == 1 else large._replace(system=float(system.var(ddof=1)))
                numbers = generalizability.needed(np.array(needed, dtype=float), c, r, 0.8)
                for name, n, needs in zip(
                    ("raters", "conversations"), map(float, numbers), found.needs or (), strict=True
                ):
                    if name == "raters" or s > 1:  # of one system, conversations are what is measured
                        enough.tally(row, name).hold((needs.low or math.inf) <= n <= (needs.high or math.inf))
                        enough.tally(row, f"{name}, an upper end").hold(needs.high is not None)
                        enough.tally(row, f"{name}, the bare number").hold((needs.value or math.inf) == n)
                for name, value in hand._asdict().items():
                    if value is not None:
                        ends = getattr(found.low, name), getattr(found.high, name)
                        at_hand.tally(row, f"σ²({name.replace('_', ' × ')})").see(value, *ends)
    yield at_hand
    yield at_large
    yield enough


def _at_hand(large: generalizability.Components, fixed: Floats) -> generalizability.Components:
    """Return the components that a study of these systems and raters (s, r) finds with endless conversations."""
    s, r = fixed.shape
    if s == 1:
        return large._replace(rater=float(fixed.var(ddof=1)))
    of_system, of_rater = fixed.mean(axis=1), fixed.mean(axis=0)
    rest = fixed - of_system[:, None] - of_rater + fixed.mean()
    crossed = float((rest**2).sum()) / ((s - 1) * (r - 1))
    return large._replace(
        system=float(of_system.var(ddof=1)) - crossed / r,
        rater=float(of_rater.var(ddof=1)) - crossed / s,
        system_rater=crossed,
    )


LEVELS, UNSAFE = np.array([0.12, 0.14, 0.18, 0.26, 0.30]), np.array([0.85, 0.55, 0.30, 0.10, 0.03])
"""Shares of a judge's levels, worst first, and of each level's replies that people call unsafe: 28 %."""


def reading(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """What people must read to find 95 % of the unsafe: in a judge's order, and in one learned from that judge."""
    grid = Grid("Share to be read in a judge's order, and in one that is learned from it", "conversations × replies")
    true = _to_read(escalation.TARGET)
    for conversations, replies_ in ((50, 1), (100, 1), (190, 1), (95, 2), (400, 1), (80, 5)):
        row, cluster = (f"{conversations} × {replies_}",), np.repeat(np.arange(conversations), replies_)
        for seed in range(repetitions):
            own = generator.choice(5, size=len(cluster), p=LEVELS)
            shared = generator.choice(5, size=conversations, p=LEVELS)[cluster]
            level = np.where(generator.random(conversations)[cluster] < 0.3, shared, own)
            unsafe, risk = generator.random(len(level)) < UNSAFE[level], 1 - level / 4
            weights = np.concatenate(list(bootstrap.cluster_weights(cluster, REFITS, seed)))
            ends = bootstrap.percentile(escalation.effort(risk, unsafe, weights))
            grid.tally(row, "the judge's order").see(true, *ends)
            known = escalation.Features(risk[:, None], np.array([True]), np.array([1]))
            risks = escalation.crossfits(known, unsafe, cluster, weights, seed=seed)
            efforts = [
                escalation.effort(each[n > 0], unsafe[n > 0], n[None, n > 0])[0]
                for each, n in zip(risks, weights, strict=True)
            ]
            grid.tally(row, "learned, cross-fitted").see(true, *bootstrap.percentile(np.array(efforts)))
    yield grid


def _to_read(target: float) -> float:
    """Return what share of endless replies holds a share of the unsafe ones, worst level first, ties in any order."""
    found, read = (np.concatenate([[0.0], np.cumsum(each)]) for each in (LEVELS * UNSAFE, LEVELS))
    return float(np.interp(target * found[-1], found, read))


PARTS = {
    "systems": (systems, 1000, 0), "both": (both, 1000, 1), "replies": (replies, 1000, 2), "shares": (shares, 2000, 3),
    "means": (means, 1000, 4), "closed": (closed, 1000, 5), "corrected": (corrected, 1000, 6), "ranks": (ranks, 1000, 8),
    "studies": (studies, 1000, 9), "reading": (reading, 300, 10), "unequal": (unequal, 1000, 11),
    "panel": (panel, 300, 12), "kinship": (kinship, 200, 13), "drawn": (drawn, 500, 14),
}  # fmt: skip
"""What there is, with how many repetitions and its own seed: a part's numbers do not hang on the parts before it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument("--json", help="also write every number to this file")
    asked = parser.parse_args()
    found = []
    for name, (part, repetitions, seed) in PARTS.items():
        if name not in asked.only:
            continue
        began = time.process_time()
        for made in part(repetitions // 10 if asked.quick else repetitions, np.random.default_rng([SEED, seed])):
            print(made, flush=True)
            if isinstance(made, Grid):
                found += [
                    {
                        "part": name,
                        "table": made.title,
                        **dict(zip(made.settings, row, strict=True)),
                        "interval": column,
                    }
                    | counted
                    for row, column, counted in made.cells()
                ]
        print(f"({name}: {time.process_time() - began:.0f} s)\n", flush=True)
    if asked.json:
        Path(asked.json).write_text(json.dumps(found, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
