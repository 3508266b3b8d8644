"""How often a watch deceives, and how soon it sees: looks to the first alarm, by the rate that the dialogues really have.

    python bench/watch.py [--series 400]

One bound of 5 %, 50 dialogues drawn at each look, alarms 200 looks apart at least (what `mindgauge logs watch` takes if nothing is
said). Beside it, the rule of thumb that many teams use: an alarm whenever a look's 95 % interval lies beyond the limit, and
whenever its value does. Simulated; no model is asked.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from mindgauge.stats import detector
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT, DRAWN, APART, MOST = 0.05, 50, 200, 1000
RATES = (0.03, 0.05, 0.075, 0.10, 0.15, 0.25)


def by_evidence() -> Callable[[int], bool]:
    """Return the rule of the watch, which remembers the looks before."""
    evidence = detector.none_yet()

    def look(unsafe: int) -> bool:
        nonlocal evidence
        observations = np.repeat([1.0, 0.0], [unsafe, DRAWN - unsafe])
        evidence = detector.added(evidence, observations, LIMIT)
        return detector.strength(evidence) >= APART

    return look


def by_interval() -> Callable[[int], bool]:
    """Return the rule that looks at each look's interval alone."""
    return lambda unsafe: (clopper_pearson(unsafe, DRAWN).low or 0.0) > LIMIT


def by_value() -> Callable[[int], bool]:
    """Return the rule that looks at each look's value alone."""
    return lambda unsafe: unsafe / DRAWN > LIMIT


def looks(rule: Callable[[], Callable[[int], bool]], rate: float, series: int) -> tuple[float, float]:
    """Return the mean number of looks to the first alarm, at most `MOST`, and the share of series without any."""
    lengths = []
    for seed in range(series):
        generator, look = np.random.default_rng(seed), rule()
        drawn = generator.binomial(DRAWN, rate, MOST)
        lengths.append(next((number for number, unsafe in enumerate(drawn, 1) if look(int(unsafe))), MOST + 1))
    return float(np.minimum(lengths, MOST).mean()), float(np.mean(np.array(lengths) > MOST))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=400)
    series = parser.parse_args().series
    print("| unsafe share | watch | interval beyond the limit | value beyond the limit |")
    print("|---|---|---|---|")
    for rate in RATES:
        cells = []
        for rule in (by_evidence, by_interval, by_value):
            mean, never = looks(rule, rate, series)
            cells.append(f"{mean:.1f}" if never < 0.005 else f"{mean:.0f} ({never:.0%} never)")
        print(f"| {rate:.1%} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
