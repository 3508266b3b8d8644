"""How well the latent-truth model finds each rater's errors: bias, and how often the 95 % intervals hold.

    python bench/latent.py [--times N]

Three people of differing skill (ICC with the truth) and a judge rate replies on five levels, conversations of five replies
whose quality, and errors, are alike (correlation .3); a tenth of the ratings is missing. `misses two fifths` sees the
quality itself, and calls two fifths of what is unsafe level 4. `classes` draws replies that are unsafe or not, on which
raters err at random: there the model of quality is wrong, and in the others that of classes. Prints Markdown;
bench/results/reliability.md holds it.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: the machine may be shared

import numpy as np
from scipy import optimize, special

from mindgauge.stats import latent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALIKE, SIZE, MISSING = 0.3, 5, 0.1
PEOPLE = np.array([True, True, True, False])


class World(NamedTuple):
    """Skills of three people and a judge (ICC), how far each one's unsafe cut is off, and the share at or below each level."""

    name: str
    skills: tuple[float, ...]
    shifts: tuple[float, ...] = (0, 0, 0, 0)
    levels: tuple[float, ...] = (0.05, 0.15, 0.35, 0.6)
    missed: float = 0.0


WORLDS = (
    World("people .74 .64 .44, judge .64", (0.74, 0.64, 0.44, 0.64)),
    World("people .92 .85 .74, judge .90", (0.92, 0.85, 0.74, 0.90), (0, 0.3, -0.3, 0)),
    World("people .64 .64 .64, mild judge .20", (0.64, 0.64, 0.64, 0.2), (0, 0, 0, -0.6)),
    World("few unsafe, people .74 .64 .44, judge .64", (0.74, 0.64, 0.44, 0.64), levels=(0.03, 0.08, 0.15, 0.3)),
    World("people .64 .64 .64, judge sees the quality", (0.64, 0.64, 0.64, 0.985)),
    World("people .64 .64 .64, judge misses two fifths", (0.64, 0.64, 0.64, 0.985), missed=0.4),
)
CLASSES = (0.15, (0.6, 0.7, 0.8, 0.7), (0.9, 0.95, 0.98, 0.95))
"""Prevalence, sensitivities and specificities of replies of two classes."""


def alike(random: np.random.Generator, conversations: int) -> Floats:
    shared = np.repeat(random.normal(size=conversations), SIZE)
    return np.asarray(np.sqrt(ALIKE) * shared + np.sqrt(1 - ALIKE) * random.normal(size=len(shared)))


def tabled(random: np.random.Generator, level: NDArray[np.intp]) -> Floats:
    ratings = np.asarray(level[:, :, None] == np.arange(5), dtype=float)
    ratings[random.random(level.shape) < MISSING] = 0
    return ratings


def graded(random: np.random.Generator, world: World, conversations: int) -> tuple[Floats, Floats]:
    """Draw a study, and return its ratings and the true sensitivities, specificities and prevalence."""
    skill = np.array(world.skills)
    slope = np.sqrt(skill / (1 - skill))
    mean = slope[:3].mean()
    cuts = special.ndtri(world.levels) * np.hypot(1, mean) / mean * slope[:, None] + np.array(world.shifts)[:, None]
    limit = optimize.brentq(lambda x: special.ndtr(cuts[:3, 1] - slope[:3] * x).mean() - 0.5, -5, 5)
    grid = np.linspace(-8, 8, 20_001)
    calls, weight = special.ndtr(cuts[:, 1] - slope * grid[:, None]), np.exp(-0.5 * grid**2)
    unsafe, safe = (np.where(side, weight, 0) / weight[side].sum() for side in (grid < limit, grid >= limit))
    truth = np.array([*unsafe @ calls, *safe @ (1 - calls), special.ndtr(limit)])
    quality = alike(random, conversations)
    level = np.column_stack(
        [np.searchsorted(c, a * quality + alike(random, conversations)) for a, c in zip(slope, cuts, strict=True)]
    )
    if world.missed:
        missed = (quality < limit) & (level[:, 3] <= 1) & (random.random(len(quality)) < world.missed)
        level[missed, 3] = 3
        truth[3] *= 1 - world.missed
    return tabled(random, level), truth


def classed(random: np.random.Generator, conversations: int) -> tuple[Floats, Floats]:
    prevalence, sensitivity, specificity = CLASSES
    unsafe = (random.random(conversations * SIZE) < prevalence)[:, None]
    calls = random.random((conversations * SIZE, 4)) < np.where(unsafe, sensitivity, 1 - np.array(specificity))
    return tabled(random, np.where(calls, 1, 3)), np.array([*sensitivity, *specificity, prevalence])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=200)
    times = parser.parse_args().times
    print("| replies | ratings | model | nothing said | sensitivity off by: people | judge | held: people's sensitivity | judge's sensitivity | specificity | prevalence |")  # fmt: skip
    print("| --- " * 10 + "|")
    for conversations in (30, 80):
        cells: list[tuple[str, World | None, bool]] = [(WORLDS[0].name, WORLDS[0], False)]
        cells += [(world.name, world, True) for world in WORLDS]
        cells += [("classes", None, False), ("classes", None, True)]
        for name, world, ordered in cells:
            random = np.random.default_rng(7)
            cluster = np.repeat(np.arange(conversations), SIZE)
            off, held = [], []
            for _ in range(times):
                ratings, truth = graded(random, world, conversations) if world else classed(random, conversations)
                found = latent.raters(ratings, cluster, PEOPLE, 2, ordered=ordered)
                if not found.undefined:
                    bounds = np.array(
                        [bound[:3] for bound in (*found.sensitivity, *found.specificity, found.prevalence)]
                    )
                    off.append(bounds[:, 0] - truth)
                    held.append((bounds[:, 1] <= truth) & (truth <= bounds[:, 2]))
            bias, share = np.mean(off, axis=0), np.mean(held, axis=0)
            numbers = [bias[:3].mean(), bias[3], share[:3].mean(), share[3], share[4:8].mean(), share[8]]
            model = "quality" if ordered else "classes"
            shown = " | ".join(f"{number:+.2f}" if i < 2 else f"{number:.2f}" for i, number in enumerate(numbers))
            print(f"| {conversations * SIZE} | {name} | {model} | {1 - len(off) / times:.2f} | {shown} |", flush=True)
    print(f"\n{times} studies a row: the standard error of a share of .95 is {np.sqrt(0.95 * 0.05 / times):.3f}.")


if __name__ == "__main__":
    main()
