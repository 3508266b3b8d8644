"""A run that is killed a hundred times: what is lost, doubled, and paid twice.

    python bench/scale_kills.py [--quick]

The kills are those of the fault campaign (tests/faults/test_kills.py): seeded, in the middle of calls and commits.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from scale_ratings import Figure

KILLS, QUICK = 100, 5


def measure(*, quick: bool = False, seed: int = 0) -> list[Figure]:
    """Kill one run so often, give the same command after each kill, and compare what came of it with an unharmed run."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.faults.campaign import CONCURRENCY, Work
    from tests.faults.test_kills import Killed

    kills, work = (QUICK, Work(30)) if quick else (KILLS, Work(112, 16))
    with tempfile.TemporaryDirectory() as folder:
        killed = Killed(Path(folder), kills, work, seed)
    found = killed.account
    return [
        Figure("kills", killed.kills, ""),
        Figure("rows lost", found.lost, "", 0),
        Figure("rows doubled", found.doubled, "", 0),
        Figure("wrong statuses", found.wrong, "", 0),
        Figure("calls paid", found.paid, ""),
        Figure("calls repeated", found.repeated, "", CONCURRENCY * killed.kills),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    for figure in measure(quick=parser.parse_args().quick):
        print(figure)
