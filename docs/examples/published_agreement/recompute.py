"""Recompute the published agreement of "When LLMs are Reliable for Judging Empathic Communication" from its released files.

    python recompute.py FOLDER

FOLDER holds `annotations/` as the authors released it: a folder for each framework, a file for each rater, and their
table of weighted kappas. Every published cell is held against two readings of "quadratically weighted kappa": over the
values that occur, each one step from the next, and over the declared scale, by the distance between values.
"""

import ast
import csv
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import mindgauge
from mindgauge.stats.agreement import cohen_kappa, confusion

FOLDER = Path("annotations")
PUBLISHED = "all_annotator_pairs_spearman_kappa.csv"
EXPERTS = ["expert1", "expert2", "expert3"]
SCALES = {"level_": (0, 2), "m_": (1, 7), "": (1, 5)}
"""How a criterion's name begins → its declared scale."""
ROUNDED = 0.00501
"""Half of the last published digit."""


class Cell(NamedTuple):
    """A published kappa, and what it is over the values that occur, and over the declared scale."""

    criterion: str
    first: str
    second: str
    published: float
    occurring: float
    declared: float


def kappa(first: np.ndarray, second: np.ndarray, values: np.ndarray, *, by_place: bool) -> float:
    """Return the quadratically weighted kappa: distances between places among the values, or between the values."""
    codes = [np.searchsorted(values, ratings) for ratings in (first, second)]
    table = confusion(codes[0], codes[1], len(values))
    return float(cohen_kappa(table, "quadratic", None if by_place else values.astype(float))[0])


def cells(folder: Path) -> list[Cell]:
    """Recompute every published cell whose raters were released."""
    # The combined file holds the same ratings once more; the crowd's are there twice.
    layout = mindgauge.RatingLayout(drop="combined_annotations_across_methods_and_datasets.csv,crowdsourced")
    ratings = mindgauge.ratings(folder / FOLDER, layout=layout).table
    wide = ratings.with_columns(pl.col("value").cast(pl.Float64)).pivot(
        on="rater", index=["subject", "criterion"], values="value"
    )
    wide = wide.with_columns(experts=pl.concat_list(EXPERTS).list.median())
    recomputed = []
    with (folder / FOLDER / PUBLISHED).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            criterion, (first, second) = row["Dimension"], ast.literal_eval(row["Annotator Pair"])
            if "llm" in {first, second}:
                continue  # a median of models, one of which was released in another version
            own = wide.filter(pl.col("criterion") == criterion).drop_nulls([first, second])
            x, y = own[first].to_numpy(), own[second].to_numpy()
            low, high = next(scale for begins, scale in SCALES.items() if criterion.startswith(begins))
            occurring = np.union1d(x, y)
            scale = np.union1d(np.arange(low, high + 1), occurring)  # means of several people lie between levels
            recomputed.append(
                Cell(
                    criterion, first, second, float(row["Weighted Cohen's Kappa"]), kappa(x, y, occurring, by_place=True),
                    kappa(x, y, scale, by_place=False),
                )
            )  # fmt: skip
    return recomputed


def same(value: float, cell: Cell) -> bool:
    """Whether a recomputed value is the published one."""
    return abs(value - cell.published) < ROUNDED


def main(folder: Path) -> None:
    """Print how many cells are the published ones, and those that differ."""
    recomputed = cells(folder)
    for name, wanted in (
        ("two experts", lambda c: c.first in EXPERTS),
        ("experts and crowd", lambda c: c.first not in EXPERTS),
    ):
        own = [cell for cell in recomputed if wanted(cell)]
        by_occurring = sum(same(cell.occurring, cell) for cell in own)
        by_scale = sum(same(cell.declared, cell) for cell in own)
        print(
            f"{name}: {len(own)} cells; {by_occurring} as published over the values that occur, {by_scale} over the declared scale"
        )
        for cell in own:
            if not same(cell.declared, cell):
                print(f"  {cell.criterion}, {cell.first} and {cell.second}: published {cell.published:.2f}, over the declared scale {cell.declared:.2f}")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
