"""How often a judge that is worse than a clinician by just the margin passes the left-out comparison.

python bench/left_out.py [--studies 1000]
"""

from __future__ import annotations

import argparse

import numpy as np

from mindgauge.stats.left_out import left_out
from tests.analysis.reliability.harmful import SKILL, study

MARGIN = 0.10
LARGE = 100_000


def handicap(agreement: float, people: int, share: float) -> float:
    """Return the share of its unsafe calls that one more clinician must drop to share 10 points fewer, by one large draw."""
    of = study(0, LARGE, round(share * LARGE), agreement, SKILL[people])
    called = (of.people <= 2).astype(float)
    found = left_out((of.reader(1.0) <= 2).astype(float), called, np.arange(LARGE), MARGIN)
    assert found.rater is not None
    assert found.difference.value is not None
    return (MARGIN + found.difference.value) / found.rater


def passes(agreement: float, people: int, unsafe: int, replies: int, studies: int) -> float:
    """Return the share of studies in which that judge's lower bound reaches the margin."""
    dropped, passed = handicap(agreement, people, unsafe / replies), 0
    for seed in range(studies):
        of = study(seed, replies, unsafe, agreement, SKILL[people])
        calls = (of.reader(1.0) <= 2) & (of.random.random(replies) >= dropped)
        low = left_out(calls.astype(float), (of.people <= 2).astype(float), np.arange(replies), MARGIN).difference.low
        passed += low is not None and low >= -MARGIN
    return passed / studies


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--studies", type=int, default=1000)
    studies = options.parse_args().studies
    designs = ((20, 133), (40, 266), (60, 400), (120, 800))
    print("| people, ICC | " + " | ".join(f"{unsafe} unsafe" for unsafe, _ in designs) + " |")
    print("|---" + "|--:" * len(designs) + "|")
    for agreement in (0.92, 0.74, 0.64):
        for people in (2, 3, 5):
            cells = [f"{100 * passes(agreement, people, *design, studies):.1f}" for design in designs]
            print(f"| {people}, {agreement:.2f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
