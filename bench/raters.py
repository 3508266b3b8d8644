"""People as a sample of people: how long it takes, whether intervals hold, how often somebody is accused for nothing.

    python bench/raters.py [--only PART ...] [--times N]

Parts: speed, coverage, profiles, invariance. Truths are exact: of values on a scale they are integrals over the model.
Prints Markdown; bench/results/reliability.md and bench/results/coverage.md hold it.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: the machine may be shared

import numpy as np
import polars as pl
from scipy import special

from mindgauge.analysis.reliability import favour, people
from mindgauge.analysis.reliability.correction import SubjectMeans
from mindgauge.analysis.reliability.scale import ValueScale
from mindgauge.stats import crossed
from mindgauge.stats.rater_sample import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from mindgauge.stats.interval import Interval

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]

SCALE = ValueScale((1.0, 2.0, 3.0, 4.0, 5.0))
EVEN, TOP = (-1.5, -0.5, 0.5, 1.5), (-4.0, -3.2, -2.4, -1.6)
"""Cuts of the latent level: all five levels are used; four fifths and more of the values are the best level."""


def table(title: str, columns: list[str], rows: Iterable[list[str]]) -> None:
    """Print a table, each row as soon as it is there."""
    print(f"\n**{title}**\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def cut(latent: Floats, cuts: tuple[float, ...] | None) -> Floats:
    return latent if cuts is None else np.asarray(1.0 + np.searchsorted(np.array(cuts), latent), dtype=float)


# Speed


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _large(n: int, subjects: int, raters: int) -> tuple[Floats, dict[str, Codes]]:
    random = np.random.default_rng(0)
    subject = random.integers(0, subjects, n)
    codes = {
        "subject": subject,
        "conversation": subject // 8,
        "system": subject % 9,
        "rater": random.integers(0, raters, n),
    }
    spread = {"subject": 1.0, "conversation": 0.7, "system": 0.3, "rater": 0.5}
    values = random.normal(size=n) + np.sum([s * random.normal(size=int(codes[f].max()) + 1)[codes[f]] for f, s in spread.items()], axis=0)  # fmt: skip
    return values, codes


def _dense_deviance(values: Floats, codes: dict[str, Codes], ratios: Floats) -> float:
    n = len(values)
    v = np.eye(n)
    for ratio, code in zip(ratios, codes.values(), strict=True):
        v += ratio * (code[:, None] == code)
    factor = np.linalg.cholesky(v)
    one, left = (np.linalg.solve(factor, part) for part in (np.ones(n), values))
    squares = left @ left - (one @ left) ** 2 / (one @ one)
    return float(
        2 * np.log(np.diag(factor)).sum() + np.log(one @ one) + (n - 1) * (1 + np.log(2 * np.pi * squares / (n - 1)))
    )


def speed(_: int) -> None:
    rows = []
    for n, subjects in ((50_000, 2_500), (50_000, 20_000)):
        values, codes = _large(n, subjects, 20)
        begin = time.perf_counter()
        design = crossed.Design(values, codes)
        fit = crossed.fit(design)
        fitted = time.perf_counter() - begin
        told = _timed(partial(sample, design, fit, rater="rater", subject=["subject", "conversation", "system"]))
        rows.append([f"{n:,}", f"{subjects:,}", "20", f"{fitted:.2f} s", f"{told:.2f} s"])
    table(
        "Crossed effects with subjects, conversations, systems and raters",
        ["ratings", "subjects", "raters", "fit", "intervals"],
        rows,
    )
    rows = []
    for n in (500, 1_000, 2_000):
        values, codes = _large(n, n // 5, 20)
        design, ratios = crossed.Design(values, codes), np.array([1.0, 0.5, 0.1, 0.2])
        sparse = min(_timed(partial(design.deviance, ratios)) for _ in range(5))
        dense = min(_timed(partial(_dense_deviance, values, codes, ratios)) for _ in range(3))
        gap = abs(design.deviance(ratios[None])[0] - _dense_deviance(values, codes, ratios))
        rows.append(
            [f"{n:,}", f"{sparse * 1e3:.2f} ms", f"{dense * 1e3:.0f} ms", f"{dense / sparse:.0f}", f"{gap:.0e}"]
        )
    table(
        "One step beside dense algebra", ["ratings", "absorbed", "dense", "ratio", "difference of the deviance"], rows
    )


# Coverage


class Truth(NamedTuple):
    """ICC(A,1), the SD of raters' means, and the mean of all."""

    single: float
    rater_sd: float
    mean: float


class World(NamedTuple):
    """Latent SDs of subjects, conversations, raters and errors; `per` replies a conversation, `each` raters a reply."""

    name: str
    n: int
    raters: int
    each: int
    per: int = 1
    cuts: tuple[float, ...] | None = None
    rater: float = 0.5


def truth(world: World) -> Truth:
    """Integrate: with s the subject's and r the rater's latent part, ICC(A,1) = var E[x | s] / var x."""
    nodes, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    subject, rater, error = 1.0, world.rater, 0.7
    if world.cuts is None:
        return Truth(subject**2 / (subject**2 + rater**2 + error**2), rater, 0.0)

    def mean(at: Floats, rest: float, power: int = 1) -> Floats:
        above = special.ndtr((at[:, None] - np.array(world.cuts)) / rest)
        chances = -np.diff(np.hstack([np.ones((len(at), 1)), above, np.zeros((len(at), 1))]), axis=1)
        return np.asarray(chances @ (np.arange(1.0, 6.0) ** power))

    given_subject = mean(subject * nodes, (rater**2 + error**2) ** 0.5)
    given_rater = mean(rater * nodes, (subject**2 + error**2) ** 0.5)
    centre = float(weight @ given_subject)
    total = float(mean(np.zeros(1), (subject**2 + rater**2 + error**2) ** 0.5, 2)[0]) - centre**2
    return Truth(
        float(weight @ given_subject**2 - centre**2) / total, float(weight @ given_rater**2 - centre**2) ** 0.5, centre
    )


def _ratings(world: World, random: np.random.Generator) -> tuple[Floats, dict[str, Codes], Floats]:
    within = 0.5 if world.per > 1 else 1.0
    conversation = np.arange(world.n) // world.per
    level = random.normal(size=world.n) * within**0.5 + (
        random.normal(size=world.n)[conversation] * (1 - within) ** 0.5
    )
    severity = world.rater * random.normal(size=world.raters)
    chosen = np.argsort(random.random((world.n, world.raters)), axis=1)[:, : world.each]
    subject, rater = np.repeat(np.arange(world.n), world.each), chosen.ravel()
    latent = level[subject] + severity[rater] + 0.7 * random.normal(size=len(subject))
    codes = {"subject": subject, "rater": rater}
    if world.per > 1:
        codes["conversation"] = conversation[subject]
    return cut(latent, world.cuts), codes, severity


WORLDS = [
    World("2 people, all", 60, 2, 2), World("3 people, all", 60, 3, 3), World("6 people, all", 200, 6, 6),
    World("8 people, 2 each", 200, 8, 2), World("20 people, 3 each", 300, 20, 3),
    World("6 people, 3 each, 4 a conversation", 200, 6, 3, 4), World("3 people, no severity", 100, 3, 3, rater=0.0),
    World("2 people, 5 levels", 60, 2, 2, cuts=EVEN), World("3 people, 5 levels", 100, 3, 3, cuts=EVEN),
    World("8 people, 2 each, 5 levels", 200, 8, 2, cuts=EVEN), World("3 people, mostly best", 100, 3, 3, cuts=TOP),
    World("8 people, 2 each, mostly best", 200, 8, 2, cuts=TOP),
]  # fmt: skip


def _ends(interval: Interval) -> tuple[float, float]:
    """Return the ends of an interval, which of a fitted design is always there."""
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def _holds(interval: Interval, exact: float) -> bool:
    low, high = _ends(interval)
    return low <= exact <= high


def coverage(times: int) -> None:
    table(
        f"95 % intervals that hold the truth, {times} studies each",
        [
            "design",
            "replies",
            "ICC(A,1)",
            "ICC(A,1) held",
            "SD of people",
            "mean",
            "another pair",
            "severity",
            "width of ICC(A,1)",
            "none",
        ],
        _coverage(times),
    )


def _coverage(times: int) -> Iterator[list[str]]:
    for world in WORLDS:
        exact, random = truth(world), np.random.default_rng(11)
        held: dict[str, list[bool]] = {name: [] for name in ("single", "sd", "mean", "another", "severity")}
        width, none = [], 0
        for _ in range(times):
            values, codes, severity = _ratings(world, random)
            try:
                design = crossed.Design(values, codes)
                fit = crossed.fit(design)
            except ValueError:
                none += 1
                continue
            told = sample(design, fit, rater="rater", subject=[name for name in fit.names if name != "rater"])
            others = world.rater * random.normal(size=2)
            pair = _expected(world, others).mean()
            own = _expected(world, severity) - exact.mean
            held["single"].append(_holds(told.single, exact.single))
            held["sd"].append(_holds(told.sds["rater"], exact.rater_sd))
            held["mean"].append(_holds(told.mean, exact.mean))
            held["another"].append(_holds(told.another, float(pair)))
            held["severity"] += [_holds(i, float(effect)) for i, effect in zip(told.severities, own, strict=True)]
            low, high = _ends(told.single)
            width.append(high - low)
        yield ([
            world.name, str(world.n), f"{exact.single:.2f}", *(f"{np.mean(part):.3f}" for part in held.values()),
            f"{np.mean(width):.2f}", str(none),
        ])  # fmt: skip


def _expected(world: World, severity: Floats) -> Floats:
    """Return what raters of some severities give on average."""
    if world.cuts is None:
        return severity
    above = special.ndtr((severity[:, None] - np.array(world.cuts)) / (1 + 0.49) ** 0.5)
    return np.asarray(1 + above.sum(axis=1))


# Profiles


def profiles(times: int) -> None:
    rows = []
    for name, sign in (
        ("people who say nothing (true agreement 0)", 0.0),
        ("one of three turns the scale round", -1.0),
    ):
        random = np.random.default_rng(5)
        named = possible = right = 0
        for _ in range(times):
            n, categories = 120, 6
            level = random.normal(size=n)
            weight = (0.0, 0.0, 0.0) if sign == 0 else (1.0, 1.0, sign)
            parts = [
                pl.DataFrame({
                    "subject": np.arange(n), "cluster": np.arange(n), "category": [f"c{i % categories}" for i in range(n)],
                    "rater": f"p{p}", "run": 0, "number": cut(w * level + 0.7 * random.normal(size=n), EVEN),
                })
                for p, w in enumerate(weight)
            ]  # fmt: skip
            told = people.profiles(pl.concat(parts), ["p0", "p1", "p2"], SCALE)
            below = [part for part in told if part.negative == people.BELOW]
            named += bool([part for part in below if sign == 0 or part.rater != "p2"])
            right += any(part.rater == "p2" and not part.category for part in below)
            possible += any(part.negative for part in told)
        rows.append([name, f"{named / times:.3f}", f"{right / times:.3f}" if sign else "", f"{possible / times:.3f}"])
    table(f"Who is called below chance: 120 replies, three people, six categories, {times} studies",
          ["study", "somebody wrongly, as a study", "the right one, over all", "any ‘may be’ or ‘is’"], rows)  # fmt: skip


# Invariance


def _one(random: np.random.Generator, n: int, gap: float, shift: float, cuts: tuple[float, ...], people: int) -> str:
    group = np.arange(2 * n) % 2
    level = random.normal(size=2 * n) + gap * group
    frames = []
    for p in range(people):
        values = cut(level + 0.6 * random.normal(size=2 * n), cuts)
        frames.append(pl.DataFrame({"subject": np.arange(2 * n), "rater": f"p{p}", "run": 0, "number": values}))
    judge = cut(level + 0.6 * random.normal(size=2 * n) + 0.1, cuts) + shift * group
    place = pl.DataFrame({
        "subject": np.arange(2 * n), "cluster": np.arange(2 * n), "system": 0, "language": np.where(group == 1, "zh", "en"),
    })  # fmt: skip
    rated = pl.concat(frames).join(place, on="subject")
    judged = place.with_columns(number=pl.Series(judge))
    wide = SCALE._replace(levels=False)  # a planted shift is no whole level
    told = favour.invariance(SubjectMeans.of(judged, rated), judged, rated, [""], wide)
    return told[-1].outcome


def invariances(times: int) -> None:
    table(
        f"A judge in two languages, {times} studies: called shifted, and on one level",
        ["scale", "people", "replies each", "no shift: shifted", "on one level", "no shift, groups .7 apart: shifted", "on one level",
         "half a level, .7 apart: shifted", "on one level", "a level, .7 apart: shifted", "on one level"],
        _invariances(times),
    )  # fmt: skip


def _invariances(times: int) -> Iterator[list[str]]:
    for cuts, used in ((EVEN, "even"), (TOP, "mostly best")):
        for judging in (1, 2):
            for n in (30, 100):
                cells = []
                for gap, shift in ((0.0, 0.0), (0.7, 0.0), (0.7, 0.5), (0.7, 1.0)):
                    random = np.random.default_rng(3)
                    outcomes = [_one(random, n, gap, shift, cuts, judging) for _ in range(times)]
                    cells += [
                        f"{np.mean([o == favour.SHIFTED for o in outcomes]):.3f}",
                        f"{np.mean([o == favour.ON_LEVEL for o in outcomes]):.3f}",
                    ]
                yield ([used, str(people), str(n), *cells])


PARTS = {"speed": speed, "coverage": coverage, "profiles": profiles, "invariance": invariances}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--times", type=int, default=400)
    options = parser.parse_args()
    for name in options.only:
        PARTS[name](options.times)


if __name__ == "__main__":
    main()
