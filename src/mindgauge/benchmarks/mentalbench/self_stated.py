"""The authors' sheets, held against each other: every rater was shown the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.mentalbench.released import find

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks.self_stated import Fault


def faults(data: Path, checked: Counter[str]) -> Iterator[Fault]:
    """Yield the sheets that have fewer rows than another. `Overall` is a value of its own, and no mean of the seven.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    sheets = find(data).sheets
    longest = max(sheets, key=lambda sheet: len(sheet.row), default=None)
    for sheet in sheets:
        checked["numbers of rows"] += 1
        if longest is not None and len(sheet.row) < len(longest.row):
            yield sheet.source, f"{len(sheet.row):,} rows, and {longest.source} has {len(longest.row):,}"
