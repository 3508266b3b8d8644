"""What is recomputed of a paper, beside what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mindgauge.analysis.reproduce import compare, load_published

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mindgauge.analysis.reproduce import CellComparison
    from mindgauge.benchmarks import RecomputedCell

    Key: TypeAlias = tuple[str, str, str]


def as_published_and_ours(
    published: Path, cells: Iterable[RecomputedCell]
) -> tuple[dict[Key, CellComparison], dict[Key, CellComparison]]:
    """Return the figures that are held against the published ones, and the repaired ones, by table, row and column."""
    compared = compare(load_published(published), cells)
    as_published, ours = (
        {(c.table, c.row, c.column): c for c in compared if (c.verdict == "repaired") == is_ours}
        for is_ours in (False, True)
    )
    return as_published, ours
