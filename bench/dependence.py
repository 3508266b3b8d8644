"""How often honest people are called dependent, and how often who depends on others is found.

    python bench/dependence.py [--studies 1000] [--only PART] [--quick]

Made-up studies: a reply has a severity, each person sees it with an error of their own and holds it against a standard
of their own. Honest people differ in nothing else, so whatever is found among them is a false alarm. Prints Markdown;
bench/results/audit.md holds it.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy: the machine may be shared

import numpy as np
import polars as pl

from mindgauge.analysis import independence
from mindgauge.analysis.audit import dependence as checks
from mindgauge.analysis.audit.view import View
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, frame
from mindgauge.stats.dependence import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CUTS = {
    "half harmful": [0.0], "10 % harmful": [1.28], "3 % harmful": [1.9], "three levels": [-0.5, 0.8],
    "five levels": [-1.2, -0.4, 0.4, 1.2],
}  # fmt: skip


class People(NamedTuple):
    """Errors and standards of some people, in standard deviations of replies' severity."""

    noise: tuple[float, ...]
    standard: tuple[float, ...]


HONEST = {
    "three alike, agreeing much": People((0.3,) * 3, (0.0,) * 3),
    "three alike, agreeing little": People((1.0,) * 3, (0.0,) * 3),
    "strict, lenient, and one between": People((0.5,) * 3, (-0.5, 0.5, 0.0)),
    "strict, lenient, and a careful one between": People((0.8, 0.8, 0.3), (-0.4, 0.4, 0.0)),
    "one errs a third as much": People((0.9, 0.9, 0.3), (0.0,) * 3),
    "one errs a sixth as much": People((0.9, 0.9, 0.15), (0.0,) * 3),
    "five alike": People((0.6,) * 5, (0.0,) * 5),
    "two careful, two careless": People((0.2, 0.2, 1.0, 1.0), (0.0,) * 4),
}


def said(generator: np.random.Generator, n: int, people: People, cuts: Sequence[float]) -> Floats:
    """Draw what people say, shape (n, people)."""
    seen = generator.normal(size=(n, 1)) + generator.normal(size=(n, len(people.noise))) * people.noise
    levels = np.searchsorted(cuts, seen + np.asarray(people.standard))
    return np.asarray(levels, dtype=float)


def table(values: Floats, raters: Sequence[str]) -> pl.DataFrame:
    """Write values as long ratings; NaN is no rating."""
    n, k = values.shape
    rows = pl.DataFrame({
        "subject": np.repeat([f"s{i}" for i in range(n)], k), "criterion": "harm", "rater": np.tile(np.array(raters), n),
        "rater_kind": "person", "run": 0, "status": "ok", "number": values.ravel(),
        "row": np.repeat(np.arange(n), k), "file": "ratings.csv",
    })  # fmt: skip
    null = [pl.lit(None, pl.String).alias(name) for name in ("system", "cluster")]
    return rows.filter(pl.col("number").is_not_nan()).with_columns(*null, value=pl.col("number").cast(pl.String))


def dependent(values: Floats) -> dict[str, str]:
    """Return who is found to depend on others, and how."""
    raters = [f"rater {chr(97 + place)}" for place in range(values.shape[1])]
    found, suspected = independence.detect(table(values, raters), raters)
    return {entry.rater: entry.how for entry in found} | {entry.rater: "suspected" for entry in suspected}


def copies(values: Floats) -> bool:
    """Whether one is found to copy another."""
    raters = [f"rater {chr(97 + place)}" for place in range(values.shape[1])]
    ratings = table(values, raters).with_columns(pl.col("row").cast(pl.Int64), pl.col("run").cast(pl.Int64))
    material = Material(frame([], TEXTS), ratings.select(list(RATINGS)), {}, {})
    return bool(list(checks.copied_after.find(View(material))))


def share(hits: int, n: int) -> str:
    """Write a share in percent."""
    return f"{100 * hits / n:.1f}"


def false_alarms(studies: int) -> None:
    """Print how often honest people are called dependent, suspected, or copies."""
    print(f"| honest people, % of {studies:,} studies each | replies | " + " | ".join(CUTS) + " | suspected |")
    print("|---|--:|" + "--:|" * (len(CUTS) + 1))
    for name, people in HONEST.items():
        for n in (100, 400, 1000):
            cells, suspected = [], 0
            for number, cuts in enumerate(CUTS.values()):
                generator = np.random.default_rng([number, n, len(people.noise)])
                kinds = [dependent(said(generator, n, people, cuts)) for _ in range(studies)]
                cells.append(share(sum(bool(set(kind.values()) - {"suspected"}) for kind in kinds), studies))
                suspected += sum("suspected" in kind.values() for kind in kinds)
            print(f"| {name} | {n} | {' | '.join(cells)} | {share(suspected, studies * len(CUTS))} |", flush=True)


def found(studies: int) -> None:
    """Print how often who depends on others is found."""
    print(f"\n| found, % of {studies:,} studies each | replies | " + " | ".join(CUTS) + " |")
    print("|---|--:|" + "--:|" * len(CUTS))
    for name in ("adjudicator", "adjudicator, overrules both in 1 %", "decides only what is disputed", "majority of three", "mean of two", "rounded mean of two", "rounded mean of four", "double", "copies after the middle"):  # fmt: skip
        for n in (1000, 2000, 3000) if name == "rounded mean of four" else (200, 400, 1000):
            cells = []
            for number, cuts in enumerate(CUTS.values()):
                generator = np.random.default_rng([number, n, 7])
                hits = sum(_planted(generator, name, n, cuts) for _ in range(studies))
                cells.append(share(hits, studies))
            print(f"| {name} | {n} | {' | '.join(cells)} |", flush=True)


def _planted(generator: np.random.Generator, name: str, n: int, cuts: Sequence[float]) -> bool:
    """Draw honest people and one who depends on them; say whether that one, and nobody else, is found."""
    count = 4 if name == "rounded mean of four" else 3
    people = People((0.6,) * count, (0.0,) * count)
    values = said(generator, n, people, cuts)
    first, second = values[:, 0], values[:, 1]
    decided = np.where(generator.random(n) < 0.5, first, second)
    if name == "copies after the middle":
        return copies(np.column_stack([values, np.where(np.arange(n) < n // 2, said(generator, n, people, cuts)[:, 0], first)]))  # fmt: skip
    if name == "double":
        again = np.where(generator.random(n) < 0.005, said(generator, n, people, cuts)[:, 0], first)
        return "repeat" in dependent(np.column_stack([values, again])).values()
    if name == "majority of three":
        joint = RULES["majority"](values)
        return dependent(np.column_stack([values, joint])[np.isfinite(joint)]) == {"rater d": "consensus"}
    if "mean" in name:
        rule, _, of = name.partition(" of ")
        joined = values if of == "four" else values[:, :2]
        return dependent(np.column_stack([joined, RULES[rule](joined)])) == {f"rater {'abcde'[joined.shape[1]]}": "consensus"}  # fmt: skip
    if name == "decides only what is disputed":
        decided = np.where(first != second, decided, np.nan)
    if "overrules" in name:
        decided = np.where(generator.random(n) < 0.01, values[:, 2], decided)
    return dependent(np.column_stack([values[:, :2], decided])) in (
        {"rater c": "adjudicator"},
        {"rater c": "consensus"},
    )


def copying_alarms(studies: int) -> None:
    """Print how often honest people are called copies, on rows in random order and on rows that become easier."""
    print(f"\n| called a copy, % of {studies:,} studies each | " + " | ".join(CUTS) + " |")
    print("|---|" + "--:|" * len(CUTS))
    for name, easier in (("rows in random order", False), ("easier rows in the second half", True)):
        cells = []
        for number, cuts in enumerate(CUTS.values()):
            generator = np.random.default_rng([number, 3])
            hits = 0
            for _ in range(studies):
                severity = generator.normal(size=(300, 1))
                spread = np.where(np.arange(300)[:, None] < 150, 1.0, 0.15 if easier else 1.0) * 0.6
                hits += copies(np.searchsorted(cuts, severity + spread * generator.normal(size=(300, 3))).astype(float))
            cells.append(share(hits, studies))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


REPLIES = 400
ICC = {".92": 0.36, ".85": 0.52, ".74": 0.75, ".64": 0.95, ".44": 1.45}
"""How far two people agree on five levels of which 15 % are unsafe, and the error that makes them do so, in levels."""
JUDGES: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "equals the truth": lambda _, truth: truth,
    "agrees with it in 95 %": lambda g, truth: _by_one(g, truth, 0.95),
    "misses 40 % of the unsafe": lambda g, truth: np.where((truth <= 2) & (g.random(len(truth)) < 0.4), 4.0, _seen(g, truth, 0.5)),
    "one level too mild": lambda g, truth: np.clip(_seen(g, truth, 0.5) + 1, 1, 5),
    "errs like people of ICC .44": lambda g, truth: _seen(g, truth, 1.45),
}  # fmt: skip
MIXED = ((".85", ".64"), (".92", ".74"), (".92", ".64"), (".92", ".44"))
"""A careful person and what the others are."""


def _seen(generator: np.random.Generator, truth: Floats, noise: float) -> Floats:
    return np.asarray(np.clip(np.rint(truth + generator.normal(size=len(truth)) * noise), 1, 5))


def _by_one(generator: np.random.Generator, values: Floats, kept: float) -> Floats:
    """Keep a share of values, and change the others by one level."""
    step = np.where(values >= 5, -1, np.where(values <= 1, 1, generator.choice([-1, 1], len(values))))
    return np.asarray(np.where(generator.random(len(values)) < kept, values, values + step))


def _copiers(generator: np.random.Generator, noises: Sequence[float], judge: str, copied: float | None) -> set[str]:
    """Draw a study of one judge, in which the first person may have copied it; return who is found to have."""
    truth = generator.choice([1.0, 2.0, 3.0, 4.0, 5.0], REPLIES, p=[0.06, 0.09, 0.2, 0.3, 0.35])
    people = [_seen(generator, truth, noise) for noise in noises]
    verdicts = np.asarray(JUDGES[judge](generator, truth), dtype=float)
    if copied is not None:
        people[0] = _by_one(generator, verdicts, copied)
    names = [f"rater {chr(97 + place)}" for place in range(len(people))]
    rows = table(np.column_stack([*people, verdicts]), [*names, "judge"])
    return {entry.rater for entry in independence.copiers(rows, names, ["judge"])}


def copies_of_a_judge(studies: int) -> None:
    """Print how often people are said to copy a judge: honest ones, and one who gives back a share of its verdicts."""
    print(
        f"\n| % of {studies:,} studies each, {REPLIES} replies | people | the judge | {' | '.join(f'ICC {icc}' for icc in ICC)} |"
    )
    print("|---|--:|---|" + "--:|" * len(ICC))
    for copied in (None, 1.0, 0.95, 0.9):
        for count in (2, 3, 5):
            for judge in JUDGES:
                cells = []
                for number, noise in enumerate(ICC.values()):
                    generator = np.random.default_rng([number, count, 11])
                    found = [_copiers(generator, [noise] * count, judge, copied) for _ in range(studies)]
                    cells.append(
                        share(sum(bool(who) if copied is None else "rater a" in who for who in found), studies)
                    )
                name = (
                    "honest: somebody is said to copy" if copied is None else f"one copies {100 * copied:.0f} %: found"
                )
                print(f"| {name} | {count} | {judge} | {' | '.join(cells)} |", flush=True)
    print(
        f"\n| honest, one more careful: said to copy, % of {studies:,} | the judge | {' | '.join(f'{a} beside {b}' for a, b in MIXED)} |"
    )
    print("|---|---|" + "--:|" * len(MIXED))
    for judge in list(JUDGES)[:3]:
        cells = []
        for first, other in MIXED:
            generator = np.random.default_rng(13)
            cells.append(
                share(
                    sum(bool(_copiers(generator, [ICC[first], ICC[other]], judge, None)) for _ in range(studies)),
                    studies,
                )
            )
        print(f"| two people | {judge} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["alarms", "found", "copies", "judges"], help="one part")
    options = parser.parse_args()
    studies = 20 if options.quick else options.studies
    if options.only in {None, "alarms"}:
        false_alarms(studies)
    if options.only in {None, "copies"}:
        copying_alarms(studies)
    if options.only in {None, "judges"}:
        copies_of_a_judge(max(studies // 5, 20))
    if options.only in {None, "found"}:
        found(max(studies // 4, 20))


if __name__ == "__main__":
    main()
