"""How long statistics take: ours beside pingouin's, in one run, medians of several.

    python bench/stats.py [--data DIR] [--repeats 5] [--json FILE]

The cells are made up, of the shape of MentalAlign-70k: 28 judge × attribute cells of 9 systems × 1,000 conversations.
With `--data` (a copy of MentalBench's released files) the whole of `mindgauge papers reproduce mentalbench` is timed as well.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.stats import bootstrap, icc, moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CELLS, SYSTEMS, CONVERSATIONS = 28, 9, 1000
SEED = 0


def cells() -> tuple[Floats, Floats]:
    """Make people's and judges' ratings, each of shape (cells, systems, conversations)."""
    generator = np.random.default_rng(SEED)
    quality = generator.normal(4, 0.5, (CELLS, SYSTEMS, 1)) + generator.normal(0, 0.5, (CELLS, SYSTEMS, CONVERSATIONS))
    people = np.clip(np.rint(quality + generator.normal(0, 0.5, quality.shape)), 1, 5)
    judges = np.clip(np.rint(quality + 0.3 + generator.normal(0, 0.7, quality.shape)), 1, 5)
    return people, judges


def ours(people: Floats, judges: Floats, resamples: int) -> Floats:
    """All statistics of all cells: both ICCs with exact and bootstrap intervals over systems, bias, MSE, correlation."""
    means = np.stack([people.mean(axis=2), judges.mean(axis=2)], axis=-1)
    [weights] = bootstrap.draw(np.ones(SYSTEMS, dtype=np.intp), resamples, SEED)
    squares = icc.mean_squares(means[:, None], weights)
    drawn = np.stack([icc.consistency(squares), icc.agreement(squares)])
    ends = np.nanquantile(drawn, [0.025, 0.975], axis=-1)
    for cell in range(CELLS):
        exact = icc.icc(means[cell])
        sums = moments.moments(people[cell].ravel(), judges[cell].ravel())
        found = (moments.bias(sums), moments.mse(sums), moments.pearson(sums), moments.concordance(sums))
        assert exact.consistency.value is not None
        assert all(np.isfinite(value).all() for value in found)
    return ends


def pingouin_loop(people: Floats, judges: Floats, resamples: int) -> Floats:
    """Compute the same ICCs and their bootstrap intervals by a loop over pingouin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pandas as pd
        import pingouin

        means = np.stack([people.mean(axis=2), judges.mean(axis=2)], axis=-1)
        generator = np.random.default_rng(SEED)
        targets, raters = np.repeat(np.arange(SYSTEMS), 2), np.tile([0, 1], SYSTEMS)
        drawn = np.empty((2, len(means), resamples))
        for cell, table in enumerate(means):
            for b in range(resamples):
                rows = table[generator.integers(0, SYSTEMS, SYSTEMS)]
                frame = pd.DataFrame({"targets": targets, "raters": raters, "ratings": rows.ravel()})
                found = pingouin.intraclass_corr(frame, targets="targets", raters="raters", ratings="ratings")["ICC"]
                drawn[:, cell, b] = found.iloc[2], found.iloc[1]
    return np.asarray(np.nanquantile(drawn, [0.025, 0.975], axis=-1))


def conversations(people: Floats, judges: Floats, resamples: int = 10_000) -> Floats:
    """Bootstrap conversations: 28 cells × 10,000 resamples × 1,000 conversations; both ICCs of the system means."""
    sums = np.concatenate([people, judges], axis=1).reshape(-1, CONVERSATIONS).T
    drawn = [_coefficients(totals) for totals in bootstrap.resampled_sums(sums, resamples, SEED)]
    return np.asarray(np.nanquantile(np.concatenate(drawn, axis=1), [0.025, 0.975], axis=1))


def _coefficients(totals: Floats) -> Floats:
    means = totals.reshape(-1, CELLS, 2, SYSTEMS).swapaxes(2, 3) / CONVERSATIONS
    squares = icc.mean_squares(means)
    return np.stack([icc.consistency(squares), icc.agreement(squares)])


def timed(work: Callable[[], object], repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def whole(*command: str, repeats: int) -> tuple[float, float, float]:
    """Run a command; return its median seconds of wall clock, of CPU, and its peak memory in MB."""
    rows = []
    for _ in range(repeats):
        code = (
            "import resource, subprocess, sys, time\n"
            "began = time.perf_counter()\n"
            "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)\n"
        )
        said = subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True).stdout
        rows.append([float(number) for number in said.split()])
    wall, cpu, memory = (statistics.median(column) for column in zip(*rows, strict=True))
    return wall, cpu, memory


def million(folder: Path) -> dict[str, Path]:
    """Write two files of a million ratings: one judge beside one person, and seven criteria of nine systems."""
    generator = np.random.default_rng(SEED)
    n = 500_000
    person = generator.integers(1, 6, n)
    judge = np.clip(person + generator.integers(-1, 2, n), 1, 5)
    flat = pl.DataFrame({
        "subject": [f"reply {i}" for i in range(n)] * 2, "criterion": "safety", "rater": ["person"] * n + ["judge"] * n,
        "rater_kind": ["person"] * n + ["model"] * n, "value": np.concatenate([person, judge]),
    })  # fmt: skip
    names = {
        "criterion": [f"c{i}" for i in range(7)],
        "system": [f"s{i}" for i in range(9)],
        "cluster": [f"dialogue {i}" for i in range(3968)],
    }
    base = pl.DataFrame({"criterion": names["criterion"]})
    for column in ("system", "cluster"):
        base = base.join(pl.DataFrame({column: names[column]}), how="cross")
    base = base.with_columns(subject=pl.concat_str("cluster", "system", separator="/"))
    truth = generator.normal(3.5, 1, len(base))
    raters = (("anna", "person"), ("bea", "person"), ("carl", "person"), ("judge", "model"))
    crossed = pl.concat([
        base.with_columns(
            rater=pl.lit(rater), rater_kind=pl.lit(kind),
            value=pl.Series(np.clip(np.rint(truth + generator.normal(0, 0.6, len(base))), 1, 5).astype(int)),
        )
        for rater, kind in raters
    ])  # fmt: skip
    paths: dict[str, Path] = {}
    for name, frame in (("one judge, one person", flat), ("7 criteria × 9 systems × 4 raters", crossed)):
        paths[name] = folder / f"{len(paths)}.csv"
        frame.write_csv(paths[name])
        print(f"  {name}: {len(frame):,} rows", flush=True)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="MentalBench's released files, for the reproduction")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", help="also write the figures to this file")
    asked = parser.parse_args()
    people, judges = cells()
    found: dict[str, float] = {}

    resamples = 1000
    ours(people, judges, 10)
    found["28 cells, 1,000 resamples, ours (s)"] = timed(lambda: ours(people, judges, resamples), max(asked.repeats, 5))
    few = 2
    taken = timed(lambda: pingouin_loop(people[:few], judges[:few], resamples), 1)
    found[f"the same ICCs by pingouin, {few} cells timed × {CELLS // few} (s)"] = taken * CELLS / few
    found["pingouin ÷ ours"] = taken * CELLS / few / found["28 cells, 1,000 resamples, ours (s)"]

    found["conversation bootstrap, 28 × 10,000 × 1,000 (s)"] = timed(lambda: conversations(people, judges), 3)
    found["its peak memory, with pingouin loaded (MB)"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    mindgauge = str(Path(sys.executable).with_name("mindgauge"))
    with tempfile.TemporaryDirectory() as folder:
        for name, path in million(Path(folder)).items():
            wall, cpu, memory = whole(
                mindgauge, "reliability", str(path), "--scale", "1:5", "--json", repeats=asked.repeats
            )
            found |= {
                f"1,000,000 rows, {name} (s)": wall,
                f"1,000,000 rows, {name} (CPU s)": cpu,
                f"1,000,000 rows, {name} (MB)": memory,
            }
    if asked.data:
        wall, cpu, memory = whole(
            mindgauge, "papers", "reproduce", "mentalbench", "--data", asked.data, "--json", repeats=asked.repeats
        )
        found |= {
            "reproduce mentalbench (s)": wall,
            "reproduce mentalbench (CPU s)": cpu,
            "reproduce mentalbench (MB)": memory,
        }

    print(f"\n{os.cpu_count()} cores, medians of {asked.repeats}")
    for name, value in found.items():
        print(f"  {name:<64} {value:>10,.3f}" if value < 100 else f"  {name:<64} {value:>10,.0f}")
    if asked.json:
        Path(asked.json).write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
