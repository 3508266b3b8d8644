"""What is printed of what papers' authors released, and of data sets and classifiers of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import answer, render
from mindgauge.records.english import ended
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rounding import count, decimal, percent
from mindgauge.records.shell import command_line
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from mindgauge.analysis.beside_published import NewRow
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.classifier_card import Trained
    from mindgauge.commands.data.fetch import FetchedData
    from mindgauge.commands.data.released import DataListings
    from mindgauge.commands.dataset.build import DatasetBuilt
    from mindgauge.commands.dataset.gold import DatasetLabelled
    from mindgauge.commands.dataset.label import LabelledByPanel
    from mindgauge.commands.dataset.release import DatasetReleased
    from mindgauge.commands.dataset.transform import DatasetTransformed
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


def show_dataset_build(result: DatasetBuilt, call: CommandCall) -> None:
    """Print how many items there are, and what each step dropped."""
    for line in result.summary():
        render.sentence(visible(line))
    rows = [[step.step, count(step.rows), count(step.dropped)] for step in result.steps]
    render.table("", ["step", "rows", "dropped"], rows)
    answer.then("audit", call.arguments["out"] / "items.parquet")


def show_dataset_transform(result: DatasetTransformed, call: CommandCall) -> None:
    """Print what was written in other forms."""
    for line in result.summary():
        render.sentence(visible(line))
    if result.sample:
        queue = call.arguments["out"] / "sample.csv"
        items = result.transforms[-1].run
        answer.then("annotate", "new", "labels", "--items", items, "--order", queue, "--annotators", "ana,ben")


def show_dataset_label(result: LabelledByPanel, call: CommandCall) -> None:
    """Print what a panel of models said."""
    for line in result.summary():
        render.sentence(visible(line))
    out = call.arguments["out"]
    answer.then("dataset", "label", out, "--annotators", "ana,ben", "--out", f"{out}-people")


def show_dataset_gold(result: DatasetLabelled) -> None:
    """Print how far a panel is from people."""
    for line in [*result.summary()][:2]:
        render.sentence(visible(line))
    rows = [[entry.label, percent(entry.panel), entry.people.written("share"), entry.recall.written("share")] for entry in result.classes]  # fmt: skip
    render.table("Shares of all items", ["label", "by the panel", "by people", "of these the panel finds"], rows)
    cells = [[cell.panel, cell.people, cell.share.written("share"), count(cell.share.n)] for cell in result.met]
    render.table("What people say of what the panel says", ["the panel says", "people say", "share", "labelled"], cells)
    answer.then("dataset", "release", result.out, "--to", "hub", "--out", f"{result.out}-hub")


def show_dataset_release(result: DatasetReleased) -> None:
    """Print what was released."""
    for line in result.summary():
        render.sentence(visible(line))


def show_train(result: Trained) -> None:
    """Print what came of a training."""
    print(result)
