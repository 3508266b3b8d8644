"""How often a stress test accuses a judge that has no bias, and how often it finds one that has: tried on its own design.

The judge of this study gives every version of a reply the level that its authors gave it, except that chance moves each
verdict, by itself, one level up or down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.stress.effects import BIASED, outcome
from mindgauge.analysis.stress.probes import ordinal
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.analysis.stress.effects import Effect, Floats, Injections, StressDesign
    from mindgauge.benchmarks import Benchmark
    from mindgauge.stats.interval import Interval


class Alarms(NamedTuple):
    """In how many of the studies anything at all was called biased (the family-wise rate), and which effects were."""

    rate: Interval
    seeds: int
    shares: Mapping[str, float]
    """`probe: version` → share of the studies in which it was called biased on any criterion."""


def alarms(
    design: StressDesign,
    benchmark: Benchmark,
    *,
    seeds: int = 400,
    noise: float = 0.2,
    runs: int = 2,
    shift: Floats | None = None,
) -> Alarms:
    """Judge the design again and again.

    Args:
        design: of a stress test.
        benchmark: that it is about.
        seeds: how often.
        noise: the chance that a verdict is one level off.
        runs: K, verdicts on each version.
        shift: shape (N,), a planted bias: the chance that a verdict is one level higher; none if not given.
    """
    loud, accusations = 0, dict[str, int]()
    for seed in range(seeds):
        values = drawn(design, benchmark, noise, runs, seed, shift)
        accused = _accused(*outcome(design, values, seed=seed)[:2])
        loud += bool(accused)
        for name in accused:
            accusations[name] = accusations.get(name, 0) + 1
    return Alarms(
        clopper_pearson(loud, seeds), seeds, {name: count / seeds for name, count in sorted(accusations.items())}
    )


def drawn(
    design: StressDesign, benchmark: Benchmark, noise: float, runs: int, seed: int, shift: Floats | None = None
) -> Floats:
    """Draw verdicts, shape (N, C, K), in shares of the scale; where a level is not known, the middle one is the truth."""
    chance = np.random.default_rng([seed, 7])
    known = stated(design)
    shape = (*known.shape, runs)
    tops = [len(criterion.values) - 1 for criterion in ordinal(benchmark.rubric.criteria)]
    top = np.broadcast_to(np.array(tops)[:, None], shape)
    truth = np.where(np.isfinite(known)[:, :, None], np.rint(known[:, :, None] * top), top // 2)
    moved = (chance.random(shape) < noise) * chance.choice([-1, 1], size=shape)
    raised = chance.random(shape) < shift[:, None, None] if shift is not None else 0
    return np.asarray(np.clip(truth + moved + raised, 0, top) / top)


def stated(design: StressDesign) -> Floats:
    """Return the level that the authors of each version's original gave it, shape (N, C); NaN where they gave none."""
    return np.asarray(design.stated[design.original])


def _accused(effects: list[Effect], injections: list[Injections]) -> set[str]:
    return {f"{e.probe}: {e.version}" for e in effects if e.verdict == BIASED} | {
        f"injection: {i.slice}" for i in injections if i.verdict == BIASED
    }
