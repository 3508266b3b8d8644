"""Every number that the paper prints, and those derived from the same files beforehand, recomputed from the released files."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.help_or_harm import judge_tables, label_tables, released, score_tables
from mindgauge.benchmarks.help_or_harm.inputs import inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

PUBLISHED = Path(__file__).parent / "published.toml"


def reproduce(data: Path) -> Iterator[RecomputedCell]:
    """Recompute the paper's tables from whatever files are there; a cell without its files says which it needs.

    Tables whose names begin with `derived.` are not in the paper: their published values are those that were computed
    from the same files beforehand.

    Raises:
        DataError: nothing usable is there, or a file is broken.
    """
    files = released.find(data)
    released_inputs = inputs(files)
    published = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["table"]
    (part,) = (table["part"] for table in published if table["name"] == "derived.judges.archived")
    computed = set()
    for tables in (
        label_tables.cells(files, released_inputs),
        judge_tables.cells(files, part),
        score_tables.cells(files, released_inputs),
    ):
        for cell in tables:
            computed.add((cell.table, cell.row, cell.column))
            yield cell
    for table in published:
        for row, values in table["rows"].items():
            for column, value in zip(table["columns"], values, strict=True):
                if not math.isnan(value) and (table["name"], row, column) not in computed:
                    yield RecomputedCell(
                        table["name"], row, column, None, f"needs {table['needs']}, whole; not all are here"
                    )
