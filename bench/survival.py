"""How often the intervals of turns to recognition hold the truth, and how often models are ranked that clients decide.

    python bench/survival.py [--only mean difference clients speed] [--times N]

Personas differ in how long their risk goes unseen (a chance of being seen each turn, from a beta distribution), dialogues of
one persona are repeats, and follow-ups have different lengths, so that some are censored. Truths are sums over the model.
Prints Markdown; bench/results/coverage.md holds it.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: the machine may be shared

import numpy as np
import polars as pl
from scipy import special

from counting import Tally
from mindgauge.analysis import client_study
from mindgauge.stats.survival import Waits, difference, mean_interval, restricted_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HORIZON = 5
FOLLOWED = (3, 9)
"""Turns from the first plain sign on, from so many to so many, all equally likely."""


def seen_late(personas: Floats, repeats: int, generator: np.random.Generator) -> Waits:
    """Draw the turns until each dialogue's risk is seen, with a chance each turn by persona."""
    chance = np.repeat(personas, repeats)
    time = generator.geometric(np.maximum(chance, 1e-12)) - 1
    followed = generator.integers(FOLLOWED[0], FOLLOWED[1] + 1, len(chance))
    event = time < followed
    cluster = np.repeat(np.arange(len(personas)), repeats)
    return Waits(np.where(event, time, followed - 1).astype(float), event, cluster)


def true_mean(first: float, second: float) -> float:
    """Return E min(time, HORIZON) = Σ_k E (1 - p)^(k + 1), k below HORIZON, of p ~ Beta(first, second)."""
    k = np.arange(1, HORIZON + 1)
    return float(np.exp(special.betaln(first, second + k) - special.betaln(first, second)).sum())


def counted(tally: Tally) -> str:
    n = tally.counted()
    return f"{n['coverage']:.3f} ± {n['error']:.3f} ({100 * n['above']:.1f} / {100 * n['below']:.1f}) {n['width']:.2f}"


def means(times: int) -> None:
    print(
        "\n| personas × repeats | chance each turn | true mean | coverage (above / below, %) width |\n|---|---|---|---|"
    )
    for n, repeats in ((8, 3), (12, 2), (24, 1), (24, 3), (60, 1)):
        for first, second in ((2.0, 2.0), (1.0, 5.0), (5.0, 1.0)):
            tally, generator = Tally(), np.random.default_rng([0, n, repeats])
            for seed in range(times):
                waits = seen_late(generator.beta(first, second, n), repeats, generator)
                interval = mean_interval(waits, HORIZON, resamples=1000, seed=seed)
                tally.see(true_mean(first, second), interval.low, interval.high)
            print(
                f"| {n} × {repeats} | Beta({first:g}, {second:g}) | {true_mean(first, second):.2f} | {counted(tally)} |",
                flush=True,
            )


def differences(times: int) -> None:
    print("\n| personas × repeats | difference | coverage (above / below, %) width | p ≤ .05 |\n|---|---|---|---|")
    for n, repeats in ((8, 3), (24, 1), (24, 3)):
        for power in (1.0, 0.5):
            # The second sees with chance 1 - (1 - p)^power: for the same persona never sooner.
            grid = (np.arange(20_000) + 0.5) / 20_000
            p = special.betaincinv(2.0, 2.0, grid)
            missed = [1 - p, (1 - p) ** power]
            truth = float(np.diff([sum((miss**k).mean() for k in range(1, HORIZON + 1)) for miss in missed])[0])
            tally, claims, generator = Tally(), 0, np.random.default_rng([1, n, repeats])
            for seed in range(times):
                chance = generator.beta(2.0, 2.0, n)
                first, second = (
                    seen_late(chances, repeats, generator) for chances in (chance, 1 - (1 - chance) ** power)
                )
                found = difference(second, first, HORIZON, resamples=1000, seed=seed)
                tally.see(truth, found.difference.low, found.difference.high)
                claims += found.p is not None and found.p <= 0.05
            print(f"| {n} × {repeats} | {truth:.2f} | {counted(tally)} | {claims / times:.3f} |", flush=True)


def ranks(times: int) -> None:
    print("\n| models × clients × personas | SD of models, clients, model × client | ranked |\n|---|---|---|")
    for sizes in ((4, 2, 8), (4, 3, 8)):
        for model, client, both in (
            (0.1, 0.0, 1.5),
            (0.5, 0.7, 0.0),
            (0.7, 0.5, 0.0),
            (1.0, 0.3, 0.3),
            (1.5, 0.1, 0.0),
        ):
            generator = np.random.default_rng([2, *sizes])
            ranked = 0
            for seed in range(times):
                m, c, p = np.indices(sizes).reshape(3, -1)
                value = model * generator.normal(size=sizes[0])[m] + client * generator.normal(size=sizes[1])[c]
                value += both * generator.normal(size=sizes[:2])[m, c] + 0.5 * generator.normal(size=sizes[2])[p]
                value += 0.5 * generator.normal(size=len(m))
                columns = {"model": m, "client": c, "persona": p, "repeat": 0 * m, "judge": 0 * m, "number": value}
                ranked += client_study.study(pl.DataFrame(columns), seed).ranked
            print(f"| {' × '.join(map(str, sizes))} | {model}, {client}, {both} | {ranked / times:.2f} |", flush=True)


def speed(_: int) -> None:
    generator = np.random.default_rng(0)
    waits = seen_late(generator.beta(2, 2, 1000), 1, generator)
    start = time.perf_counter()
    mean_interval(waits, HORIZON)
    took = time.perf_counter() - start
    value = float(restricted_mean(waits, HORIZON)[0])
    print(f"\nInterval over 2,000 resamples of 1,000 dialogues of 1,000 personas: {took:.2f} s (mean {value:.2f}).")


PARTS = {"mean": means, "difference": differences, "clients": ranks, "speed": speed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--times", type=int, default=1000)
    options = parser.parse_args()
    for name in options.only:
        start = time.perf_counter()
        PARTS[name](options.times if name != "clients" else max(options.times // 10, 1))
        print(f"\n({name}: {time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
