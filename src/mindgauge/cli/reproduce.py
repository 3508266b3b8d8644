"""`mindgauge reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import answer, options, render
from mindgauge.records.english import ended
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rounding import decimal

if TYPE_CHECKING:
    from mindgauge.analysis.beside_published import NewRow
    from mindgauge.commands.reproduce import Reproduction

_GRAVEST_FIRST = {"differs": 0, "missing": 2}
"""Verdicts by what is shown first; the others stand between."""


def reproduce(
    name: options.Name,
    data: Annotated[Path, typer.Option(help="A copy of the authors' released files, whole or in part.")],
    beside: Annotated[
        Path | None,
        typer.Option(
            help="A run, whose rows are added below the published ones: comparable, comparable but for what, or not and why."
        ),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Go on where the files contradict what their release says of them.")
    ] = False,
    full: options.Full = False,
    json: options.Json = False,
) -> None:
    """Recompute a paper's tables from its released files, beside the published numbers."""
    from mindgauge.commands.reproduce import reproduce as function

    with render.working("Recomputing"):
        result = function(name, data=data, beside=beside, anyway=anyway)
    if json:
        render.as_json(result)
    else:
        _show(result, full=full)
    if not (result.from_files or result.beside):
        raise MindgaugeError(
            f"nothing of {name} could be recomputed from {data}: the files that its tables need are missing there; "
            "the notes say which, and the card how to get them (mindgauge list)"
        )


def _show(result: "Reproduction", *, full: bool) -> None:
    """Print how many published numbers the files give again, and the numbers: those that differ first."""
    answer.first(*map(ended, result.summary()[: 2 + len(result.notes)]))
    answer.first(*map(ended, result.summary()[:2]))
    render.notes(result.faults, full=full)
    cells = result.cells if full else sorted(result.cells, key=lambda cell: _GRAVEST_FIRST.get(cell.verdict, 1))
    listed = cells if full else cells[: answer.ROWS]
    rows = [
        [c.table, c.row, c.column, _shown(c.published), _shown(c.recomputed), f"{c.tolerance:g}", c.verdict, c.note]
        for c in listed
    ]  # fmt: skip
    render.table(
        result.benchmark, ["table", "row", "column", "published", "recomputed", "tolerance", "verdict", "note"], rows
    )
    render.more(len(cells) - len(listed))
    for table in dict.fromkeys(row.table for row in result.beside):
        _below([row for row in result.beside if row.table == table])
    for place in result.places:
        print(ended(place.told))


def _below(rows: "list[NewRow]") -> None:
    """Print a published table, and below it the rows of a run, each with whether it is comparable."""
    columns = [*rows[0].values]
    lines = [[name, *(_shown(values.get(column)) for column in columns)] for name, values in rows[0].published.items()]
    added = [[f"new: {row.row}", *(_shown(row.values[column]) for column in columns)] for row in rows]
    render.table(rows[0].title, ["row", *columns], [*lines, *added])
    for row in rows:
        print(ended(row.told))


def _shown(value: float | str | None) -> str:
    """Write a number with four decimals, as most papers print fewer; a word as it is."""
    return value if isinstance(value, str) else decimal(value, 4)
