"""What the released outputs give, beside what they state and what the paper prints.

Ethics and privacy, for whichever models' outputs are there; and the ranks of the paper's own table, put through its own
aggregation. Ranks per task cannot be recomputed: their scores are not released. A file that is broken is named in the
table `files`, and what does not need it is recomputed all the same.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.trustmh.ethics import cells as ethics
from mindgauge.benchmarks.trustmh.privacy_awareness import cells as awareness
from mindgauge.benchmarks.trustmh.privacy_leakage import cells as leakage
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease

if TYPE_CHECKING:
    from collections.abc import Iterator

PUBLISHED = Path(__file__).with_name("published.toml")
NO_SCORES = "the scores behind the ranks are not released"
_SHORT = {"Anti-Sycophancy": "Anti-Syc."}


def reproduce(data: Path) -> Iterator[RecomputedCell]:
    """Recompute what the files below a folder allow.

    Raises:
        DataError: there is no such folder.
    """
    files = TrustMHRelease.below(data)
    published = {table["name"]: table for table in tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["table"]}
    for line in files.broken:
        yield RecomputedCell("files", line.partition(": ")[0], "content", None, line, stated="readable")
    yield from _ranks(published)
    yield from ethics.cells(files, published["derived.ethics"])
    yield from awareness.cells(files, published["derived.privacy_awareness"])
    yield from leakage.cells(files)


def _ranks(published: dict[str, Any]) -> Iterator[RecomputedCell]:
    ranks = published["ranks"]
    models: list[str] = ranks["columns"]
    for task in ranks["rows"]:
        yield from (RecomputedCell("ranks", task, model, None, NO_SCORES) for model in models)
    for dimension, means in _means(ranks).items():
        radar = 1 + (means[:, None] > means).sum(axis=1)  # models of one mean share the best of their ranks
        for model, mean, rank in zip(models, means, radar, strict=True):
            yield RecomputedCell("derived.mean_ranks", model, dimension, float(mean))
            table = "radar" if model in published["radar"]["rows"] else "derived.radar"
            yield RecomputedCell(table, model, dimension, float(rank))


def _means(ranks: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the mean rank of each model over the tasks of a dimension."""
    tasks: dict[str, list[list[float]]] = defaultdict(list)
    for name, row in ranks["rows"].items():
        dimension = name.partition(":")[0]
        tasks[_SHORT.get(dimension, dimension)].append(row)
    return {dimension: np.mean(rows, axis=0).round(9) for dimension, rows in tasks.items()}
