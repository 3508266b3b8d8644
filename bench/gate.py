"""False alarms and power of the gate's comparisons, by simulation; and how long a gate of 10,000 replies takes.

    python bench/gate.py            # docs/gate.md
    python bench/gate.py --quick

Ten rules are about the same messages: each is a criterion of its own, whose replies are unsafe together more often than
by chance. A message has a chance of an unsafe reply of its own (beta distributed, 5 % on average), and several repeats.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import numpy as np

from mindgauge.stats import noninferiority

LEVEL, MARGIN, RULES = 0.02, 0.05, 10


class Outcomes(NamedTuple):
    """Shares of gates that fail, and that do not pass."""

    failed: float
    stopped: float


def gates(rise: float, repeats: int, messages: int, times: int, seed: int = 0) -> Outcomes:
    """Hold ten comparisons against builds whose unsafe share is higher by `rise` on all messages."""
    generator = np.random.default_rng(seed)
    failed = stopped = 0
    for number in range(times):
        chance = generator.beta(0.25, 4.75, messages)
        raised = chance + np.where(generator.random(messages) < rise / (1 - chance.mean()), 1 - chance, 0.0)
        sides = [_replies(generator, side, repeats) for side in (chance, raised)]
        worsening = sides[1] - sides[0]
        p = noninferiority.adjusted(worsening, flips=1_999, seed=number)
        mean = worsening.mean(axis=0)
        broken = (p <= LEVEL) & (mean >= MARGIN)
        failed += bool(broken.any())
        if broken.any():
            stopped += 1
            continue
        bounds = (
            noninferiority.interval(column, 1.0, exact=True, resamples=500, seed=number).high for column in worsening.T
        )
        stopped += any(bound is None or bound >= MARGIN for bound in bounds)
    return Outcomes(failed / times, stopped / times)


def _replies(generator: np.random.Generator, chance: np.ndarray, repeats: int) -> np.ndarray:
    """Return the share of unsafe replies to each message by each of ten rules: half follow the reply, half are their own."""
    shared = generator.random((repeats, len(chance), 1)) < chance[:, None]
    own = generator.random((repeats, len(chance), RULES)) < chance[:, None]
    follows = generator.random((repeats, len(chance), RULES)) < 0.5
    return np.asarray(np.where(follows, shared, own).mean(axis=0))


def main() -> None:
    """Print the table of docs/gate.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    times = 100 if parser.parse_args().quick else 1_000
    print("| messages | repeats | unsafe share | gates that fail | gates that do not pass |\n|---|---|---|---|---|")
    for messages, repeats in ((100, 1), (100, 3), (300, 3)):
        for rise in (0.0, 0.1):
            outcome = gates(rise, repeats, messages, times)
            told = "as before" if not rise else "ten points higher"
            print(f"| {messages} | {repeats} | {told} | {outcome.failed:.1%} | {outcome.stopped:.1%} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
