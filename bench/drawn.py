"""Estimates from what was drawn with known probabilities; a part of coverage.py, and, alone, on people's released ratings.

    python bench/coverage.py --only drawn
    python bench/drawn.py --data ../shared/data [--studies 500]

The second draws from replies that people rated all of, again and again, and counts how often the interval of these
replies alone, and that of conversations like these, hold the mean and the share of unsafe ones that all ratings have.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from counting import Grid
from mindgauge.analysis.reliability import coefficients
from mindgauge.analysis.reliability.pairs import pair
from mindgauge.analysis.reliability.scale import ValueScale
from mindgauge.stats import agreement, moments, sampling
from mindgauge.stats.jackknife import effective
from mindgauge.stats.sampling import DrawnSample
from simulated import VALUES, Raters, latent, moments_of_joint, tuned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.stats.interval import Interval

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

UNSAFE = 2.0
ENDS = (1.0, 5.0)
SHAPES = ("even", "85 % at 5")
FRAMES = ((800, 1), (200, 4), (60, 12))
"""Conversations × replies of each."""


class Study(NamedTuple):
    """What was drawn of a frame: its rows, as a sample, and the order of these rows in the frame."""

    rows: Codes
    sample: DrawnSample


def study(judge: Floats, cluster: Codes, blocks: tuple[tuple[int, int], ...], generator: np.random.Generator) -> Study:
    """Draw so many of each block of the judge's order, lowest first; the size of the last block is what is left."""
    order = np.lexsort([generator.permutation(len(judge)), judge])
    sizes = [size for size, _ in blocks[:-1]]
    sizes.append(len(judge) - sum(sizes))
    lots = sampling.draw(sizes, [number for _, number in blocks], int(generator.integers(2**31)))
    starts = np.cumsum([0, *sizes[:-1]])
    rows = np.concatenate([order[start + lot] for start, lot in zip(starts, lots, strict=True)])
    stratum = np.repeat(np.arange(len(lots)), [len(lot) for lot in lots])
    size = np.array(sizes, dtype=float)[stratum]
    number = np.array([len(lot) for lot in lots])[stratum]
    inside = np.argsort(rows)
    clusters = effective(np.bincount(cluster).astype(float))
    sample = DrawnSample.of(number / size, stratum, cluster[rows], size, clusters).rows(inside)
    return Study(rows[inside], sample)


def plans(replies: int) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the designs: the fifth that is flagged four times as often as the rest, and the lowest with a lot."""
    flagged = replies // 5
    return {
        "120, flagged fourfold": ((flagged, 60), (0, 60)),
        "80: 30 lowest + 50": ((30, 30), (0, 50)),
        "240, three blocks": ((60, 60), (flagged, 80), (0, 100)),
    }


def drawn(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Weighted means, shares, corrected means and coefficients where the judge's lowest are drawn more often."""
    repetitions = max(repetitions, 1)
    grid = Grid("Estimates for all from what was drawn with known probabilities", "ratings", "frame", "drawn")
    scale = ValueScale(tuple(VALUES.tolist()))
    for shape in SHAPES:
        raters = tuned(moments.pearson, 0.7, shape, bias=0.2)
        truth = _truth(raters)
        for conversations, each in FRAMES:
            for name, blocks in plans(conversations * each).items():
                row = (shape, f"{conversations} × {each}", name)
                for _ in range(repetitions):
                    people, judge = (side.ravel() for side in raters.rate(latent(generator, conversations, each)))
                    cluster = np.repeat(np.arange(conversations), each)
                    _see(grid, row, people, judge, cluster, study(judge, cluster, blocks, generator), truth, scale)
    yield grid


def _truth(raters: Raters) -> dict[str, float]:
    joint = raters.joint()
    bad, passed = VALUES <= UNSAFE, VALUES > UNSAFE
    sums = moments_of_joint(1e9 * joint[None], VALUES)
    return {
        "mean": float(joint.sum(axis=1) @ VALUES),
        "unsafe": float(joint[bad].sum()),
        "found": float(joint[np.ix_(bad, bad)].sum() / joint[bad].sum()),
        "passed": float(joint[np.ix_(bad, passed)].sum() / joint[:, passed].sum()),
        "bias": float(moments.bias(sums)[0]),
        "icc": float(moments.icc_agreement(sums)[0]),
        "kappa": float(agreement.cohen_kappa(joint[None], "quadratic", VALUES)[0]),
    }


def _see(
    grid: Grid, row: tuple[str, ...], people: Floats, judge: Floats, cluster: Codes, made: Study,
    truth: dict[str, float], scale: ValueScale,
) -> None:  # fmt: skip
    rows, sample = made
    value, verdict = people[rows], judge[rows]
    bad = value <= UNSAFE
    found = sampling.statistic(lambda weights: weights @ value / weights.sum(axis=1), sample, ends=ENDS)
    grid.see(row, "people's mean", truth["mean"], found.interval)
    grid.see(row, "people's mean, of the frame alone", float(people.mean()), found.frame)
    grid.see(row, "unsafe share", truth["unsafe"], sampling.share(bad, sample))
    known = np.full(len(people), np.nan)
    known[rows] = value
    powered = sampling.prediction_powered_mean(judge, known, cluster, sample, ends=ENDS)
    grid.see(row, "people and judge", truth["mean"], powered.corrected)
    grid.see(
        row,
        "unsafe found by the judge",
        truth["found"],
        sampling.share(np.where(bad, verdict <= UNSAFE, np.nan), sample),
    )
    passes = np.where(verdict > UNSAFE, bad, np.nan)
    grid.see(row, "unsafe of what it passes", truth["passed"], sampling.share(passes, sample))
    frame = {"subject": rows, "cluster": cluster[rows], "system": np.zeros(len(rows), dtype=np.int64)}
    how = {"probability": 1 / sample.weight, "draw": ["d"] * len(rows)}
    pairs = pair(
        pl.DataFrame({**frame, **how, "number": value}), pl.DataFrame({"subject": rows, "number": verdict}), scale
    )
    names = ("bias", "icc_a1", "kappa_quadratic")
    bounds = coefficients.estimate(pairs, names)
    for name, column in zip(names, ("bias", "icc", "kappa"), strict=True):
        grid.see(row, name, truth[column], bounds[name])
    mean, error = value.mean(), value.std(ddof=1) / np.sqrt(len(value))
    grid.tally(row, "mean, weights left out").see(truth["mean"], mean - 1.99 * error, mean + 1.99 * error)


# On people's released ratings.


def released(data: Path, studies: int) -> None:
    """Draw again and again from replies that people rated all of."""
    from mindgauge.analysis import frame
    from mindgauge.analysis.score import open_run
    from mindgauge.commands.load import papers_load

    generator = np.random.default_rng(2026)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        papers_load("mentalbench", data=data / "mentalbench", out=run)
        store, (benchmark,), _ = open_run(run)
        with store:
            rows = frame.ratings(store, benchmark)
    print(
        "| criterion | judge | drawn | mean, of these alone | mean | unsafe (≤ 2) | people and judge | mean without weights |"
    )
    print("|---|---|---|---|---|---|---|---|")
    judge = rows.filter(pl.col("rater_kind") == "model")["rater"].unique().sort()[0]
    for criterion in ("empathy", "safety", "guidance", "helpfulness"):
        table = _both(rows.filter(pl.col("criterion") == criterion), judge)
        if table is None:
            continue
        people, verdict, cluster = table
        for name, blocks in plans(len(people)).items():
            _count(
                people,
                verdict,
                cluster,
                f"| {criterion} | {judge} | {name} of {len(people):,} |",
                blocks,
                studies,
                generator,
            )


def _both(rows: pl.DataFrame, judge: str) -> tuple[Floats, Floats, Codes] | None:
    number = pl.col("value").cast(pl.Float64, strict=False)
    valued = rows.filter(pl.col("status") == "ok").with_columns(number=number)
    people = (
        valued.filter(pl.col("rater_kind") == "person")
        .group_by("subject")
        .agg(pl.col("cluster").first(), people=pl.col("number").mean())
    )
    judged = valued.filter(pl.col("rater") == judge).group_by("subject").agg(judge=pl.col("number").mean())
    both = people.join(judged, on="subject").sort("subject")
    if both.is_empty():
        return None
    cluster = both["cluster"].rank("dense").to_numpy().astype(np.intp) - 1
    return both["people"].to_numpy(), both["judge"].to_numpy(), cluster


def _count(
    people: Floats, judge: Floats, cluster: Codes, title: str, blocks: tuple[tuple[int, int], ...], studies: int,
    generator: np.random.Generator,
) -> None:  # fmt: skip
    held = np.zeros(5)
    mean, unsafe = float(people.mean()), float((people <= UNSAFE).mean())
    for _ in range(studies):
        rows, sample = study(judge, cluster, blocks, generator)
        value = people[rows]
        found = sampling.statistic(partial(_mean, value), sample, ends=ENDS)
        known = np.full(len(people), np.nan)
        known[rows] = value
        powered = sampling.prediction_powered_mean(judge, known, cluster, sample, ends=ENDS).corrected
        share = sampling.share(value <= UNSAFE, sample)
        held[:4] += [
            _holds(i, aim) for i, aim in ((found.frame, mean), (found.interval, mean), (share, unsafe), (powered, mean))
        ]
        held[4] += abs(value.mean() - mean) < 1.99 * value.std(ddof=1) / np.sqrt(len(value))
    print(title, " | ".join(f"{share:.3f}" for share in held / studies), "|", flush=True)


def _mean(values: Floats, weights: Floats) -> Floats:
    return np.asarray(weights @ values / weights.sum(axis=1))


def _holds(interval: Interval, aim: float) -> bool:
    return interval.low is not None and interval.high is not None and interval.low - 1e-9 <= aim <= interval.high + 1e-9


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--studies", type=int, default=500)
    asked = parser.parse_args()
    began = time.process_time()
    released(asked.data, asked.studies)
    print(f"({asked.studies} studies each, {time.process_time() - began:.0f} s)")
