"""What is printed of what papers' authors released: fetched, loaded, recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import answer, render
from mindgauge.records.english import ended
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rounding import count, decimal
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from mindgauge.analysis.published_row import NewRow
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.data.fetch import FetchedData
    from mindgauge.commands.data.released import DataListings
    from mindgauge.commands.load import Loaded
    from mindgauge.commands.reproduce import Reproduction

_GRAVEST_FIRST = {"differs": 0, "missing": 2}
"""Verdicts by what is shown first; the others stand between."""


def show_papers_load(result: Loaded, *, full: bool = False) -> None:
    """Print what was loaded into which run."""
    answer.first(*map(ended, result.summary()[: 1 + bool(result.ratings)]))
    render.notes(result.notes, full=full)
    print(f"The run: {result.run}")
    answer.then("report", result.run)


def end_papers_load(result: Loaded) -> int:
    """Return 1 where a file is damaged; what could be read is in the run."""
    return int(result.lacks_damaged())


def end_papers_reproduce(result: Reproduction, call: CommandCall) -> None:
    """Leave with 1 where nothing could be recomputed.

    Raises:
        MindgaugeError: the files that the tables need are missing.
    """
    if not (result.from_files or result.beside):
        raise MindgaugeError(
            f"nothing of {call.arguments['name']} could be recomputed from {call.arguments['data']}: the files that its tables need are missing "
            "there; the notes say which, and the card how to get them (mindgauge list)"
        )


def show_papers_reproduce(result: Reproduction, *, full: bool = False) -> None:
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


def _below(rows: list[NewRow]) -> None:
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


def show_papers_list(result: DataListings) -> None:
    """Print which files there are."""
    rows = [
        [
            e.benchmark,
            str(e.files),
            decimal(e.size / 1e6, 1) if e.size else "",
            str(e.here),
            e.folder,
            str(len(e.on_request)),
        ]
        for e in result.data
    ]
    render.table("", ["benchmark", "files to be had freely", "MB", "here", "in", "others"], rows)
    print("mindgauge papers fetch NAME brings them, and says under which terms, and how to ask for the others.")


def show_papers_fetch(result: FetchedData, call: CommandCall) -> None:
    """Print which files are here now, under which terms, and how to ask for others."""
    from mindgauge.commands.data.released import families, terms

    name = call.arguments["name"]
    if result.files:
        here = len(result.files) - len(result.failed)
        print(
            f"{here} of {count(len(result.files))} files of {name} are in {result.folder}. Terms: {terms(families([name])[0])}"
        )
    if result.on_request:
        print(f"Not fetched: {', '.join(result.on_request)}. {result.obtain}")
    if result:
        print(command_line("run", name, "--data", result.folder, "--model", "MODEL"))


def end_papers_fetch(result: FetchedData) -> int:
    """Return 1 where not all could be had."""
    return 0 if result else 1
