"""As good as one more person? How often the alternative annotator test passes a judge that is, and one that is not.

    python bench/one_more.py [--times N]

Replies have a level, people and judges see it with error and say the nearest of five; `worse by ε` is a judge whose error is
so large that against each person it loses by exactly ε = .2 of the replies, the border of what may pass. Replies stand in
conversations of 1 or 4, whose levels, and errors, are alike (correlation .3). Prints Markdown; docs/reliability.md holds it.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: the machine may be shared

import numpy as np
from scipy import stats

from mindgauge.stats.alternative import Alternative, alternative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EPSILON, ALIKE = 0.2, 0.3
PEOPLE_ERROR = 0.7


class World(NamedTuple):
    """How people use their scale, and how many they are."""

    name: str
    cuts: tuple[float, ...]
    people: int = 3


EVEN = World("even use of five levels", (-1.5, -0.5, 0.5, 1.5))
TOP = World("four fifths at the best level", (-3.2, -2.6, -2.0, -1.2))
FIVE = World("even use, five people", EVEN.cuts, 5)


def drawn(random: np.random.Generator, n: int, size: int) -> Floats:
    """Draw standard normals whose clusters of some size are alike."""
    shared = np.repeat(random.normal(size=-(-n // size)), size)[:n]
    return np.asarray(np.sqrt(ALIKE) * shared + np.sqrt(1 - ALIKE) * random.normal(size=n))


def study(random: np.random.Generator, world: World, n: int, size: int, error: float) -> tuple[Floats, Floats]:
    level = 1.2 * drawn(random, n, size)
    errors = [error, *[PEOPLE_ERROR] * world.people]
    latent = np.stack([level + sd * drawn(random, n, size) for sd in errors], axis=1)
    values = np.asarray(1.0 + np.searchsorted(np.array(world.cuts), latent), dtype=float)
    return values[:, 0], values[:, 1:]


def at_limit(world: World) -> float:
    """Return the error with which a judge is worse than each person by ε."""
    low, high = PEOPLE_ERROR, 50.0
    for _ in range(25):
        middle = float(np.sqrt(low * high))
        judge, people = study(np.random.default_rng(1), world, 60_000, 1, middle)
        parts = alternative(judge, people, np.arange(len(judge)), ordered=True, epsilon=EPSILON).people
        worse = np.mean([part.worse.value or 0.0 for part in parts])
        low, high = (middle, high) if worse < EPSILON else (low, middle)
    return low


def plain(judge: Floats, people: Floats) -> Floats:
    """Return the paper's own p-values: paired t over replies."""
    p = []
    for j in range(people.shape[1]):
        rest = np.delete(people, j, axis=1)
        apart = [np.sqrt(((rest - own[:, None]) ** 2).mean(axis=1)) for own in (judge, people[:, j])]
        d = (apart[1] <= apart[0] + 1e-9).astype(float) - (apart[0] <= apart[1] + 1e-9)
        p.append(stats.ttest_1samp(d, EPSILON, alternative="less").pvalue)
    return np.asarray(np.nan_to_num(np.array(p), nan=0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    times = parser.parse_args().times
    print("| people's scale | replies | a conversation | one more person passes | worse by ε: wins against a person, unadjusted p ≤ .05 | the paper's t: the same | worse by ε passes | the paper's t: passes | much worse passes |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for world in (EVEN, TOP, FIVE):
        limit = at_limit(world)
        for n, size in ((30, 1), (60, 1), (120, 1), (120, 4), (240, 4)):
            counts = np.zeros(6)
            random = np.random.default_rng([n, size, world.people])
            for _ in range(times):
                clusters = np.arange(n) // size
                person, border, bad = (
                    (study(random, world, n, size, error)) for error in (PEOPLE_ERROR, limit, max(3 * limit, 10.0))
                )
                results: list[Alternative] = [
                    alternative(*values, clusters, ordered=True, epsilon=EPSILON, fewest=10)
                    for values in (person, border, bad)
                ]
                t = plain(*border)
                rejected = stats.false_discovery_control(t, method="by") <= 0.05
                p = [part.p for part in results[1].people if part.p is not None]
                counts += [
                    (results[0].winning or 0) >= 0.5, np.mean(np.array(p) <= 0.05), (t <= 0.05).mean(),
                    (results[1].winning or 0) >= 0.5, rejected.mean() >= 0.5, (results[2].winning or 0) >= 0.5,
                ]  # fmt: skip
            shares = " | ".join(f"{100 * share:.1f}" for share in counts / times)
            print(f"| {world.name} | {n} | {size} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
