"""`mindgauge reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rounding import decimal

if TYPE_CHECKING:
    from mindgauge.commands.reproduce import Reproduction


def reproduce(
    name: options.Name,
    data: Annotated[Path, typer.Option(help="A copy of the authors' released files, whole or in part.")],
    json: options.Json = False,
) -> None:
    """Recompute a paper's tables from its released files, beside the published numbers."""
    from mindgauge.commands.reproduce import reproduce as function

    result = function(name, data=data)
    if json:
        render.as_json(result)
    else:
        _show(result)
    if not result.from_files:
        raise MindgaugeError(
            f"nothing of {name} could be recomputed from {data}: the files that its tables need are missing there; "
            "the notes say which, and the card how to get them (mindgauge list)"
        )


def _show(result: "Reproduction") -> None:
    rows = [
        [c.table, c.row, c.column, _shown(c.published), _shown(c.recomputed), f"{c.tolerance:g}", c.verdict, c.note]
        for c in result.cells
    ]  # fmt: skip
    render.table(
        result.benchmark, ["table", "row", "column", "published", "recomputed", "tolerance", "verdict", "note"], rows
    )
    print(", ".join(f"{n} {verdict}" for verdict, n in result.counts.items()))


def _shown(value: float | str | None) -> str:
    """Write a number with four decimals, as most papers print fewer; a word as it is."""
    return value if isinstance(value, str) else decimal(value, 4)
