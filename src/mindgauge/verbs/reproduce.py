"""`reproduce`: a paper's tables, recomputed from its released files, beside the published numbers."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl

from mindgauge import benchmark as benchmarks
from mindgauge.analysis.reproduce import Comparison, compare, counts, load_published
from mindgauge.errors import UsageError


class Reproduction(msgspec.Struct, frozen=True):
    """Every published number beside the recomputed one. `counts` says how many match, differ, are missing or repaired."""

    benchmark: str
    cells: list[Comparison]
    counts: dict[str, int]

    @property
    def table(self) -> pl.DataFrame:
        """The cells as a table, one row each."""
        return pl.DataFrame([msgspec.structs.asdict(cell) for cell in self.cells], infer_schema_length=None)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def reproduce(name: str, *, data: str | Path) -> Reproduction:
    """Recompute a paper's tables from its released files, as far as they are there.

    Args:
        name: a benchmark or a family of them.
        data: a copy of the authors' released files, whole or in part.

    Raises:
        UsageError: the benchmark has no published numbers.
        DataError: nothing usable is there, or a file is broken.
    """
    found = [b for b in benchmarks.of_family(name) if b.reproduce is not None and b.published is not None]
    if not found:
        raise UsageError(f"{name}: nothing published is recorded here, so nothing can be reproduced")
    cells = []
    for benchmark in found:
        assert benchmark.reproduce is not None
        assert benchmark.published is not None
        cells += compare(load_published(benchmark.published), benchmark.reproduce(Path(data)))
    return Reproduction(name, cells, counts(cells))
