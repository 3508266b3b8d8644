"""`papers reproduce`: a paper's tables, recomputed from its released files, beside the published numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from mindgauge import benchmarks
from mindgauge.analysis.beside_published import NewRow, new_rows, rank_places
from mindgauge.analysis.reproduce import CellComparison, compare, counts, load_published
from mindgauge.benchmarks import self_stated
from mindgauge.benchmarks.released import RankPlace
from mindgauge.commands.command import command
from mindgauge.records.command_result import Tabular, first_of
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count, decimal, plural


class Reproduction(Tabular, msgspec.Struct, frozen=True):
    """Every published number beside the recomputed one. `counts` says how many match, differ, are missing or repaired.

    `from_files` counts those that were recomputed from released files, and not from other printed numbers alone.
    """

    benchmark: str
    cells: list[CellComparison]
    counts: dict[str, int]
    from_files: int = 0
    beside: list[NewRow] = []
    """The rows of a run, each for a published table: comparable, comparable but for what, or not and why."""
    places: list[RankPlace] = []
    """Where its models come in the paper's table of ranks, or why no place can be given."""
    notes: list[str] = []
    """Which file of two was read, and whose a further one is."""
    faults: list[str] = []
    """Where the release contradicts what it says of itself; none, unless `anyway`."""
    checked: dict[str, int] = {}
    """How much of what it says of itself was compared."""

    def summary(self) -> list[str]:
        """Say how many published numbers the files give again, and name those that differ."""
        counts = ", ".join(f"{count(n)} {verdict}" for verdict, n in self.counts.items())
        differing = [
            f"differs: {cell.table}, {cell.row}, {cell.column}: published {_written(cell.published)}, recomputed {_written(cell.recomputed)}"
            for cell in self.cells
            if cell.verdict == "differs"
        ]
        return [
            f"{self.benchmark}: {counts}, of {plural(len({(c.table, c.row, c.column) for c in self.cells}), 'published number')}",
            *(
                []
                if self.from_files
                else ["Nothing could be recomputed from the files; the notes in .table say which are missing."]
            ),
            *self.notes,
            *first_of(differing, 6),
            *(row.told for row in self.beside),
            *(place.told for place in self.places),
            *first_of(self.faults, 6),
        ]

    def _listed(self) -> list[CellComparison]:
        return self.cells


def _written(value: float | str | None) -> str:
    return value if isinstance(value, str) else decimal(value, 4)


@command(doing="Recomputing")
def papers_reproduce(
    name: str, *, data: str | Path, beside: str | Path | None = None, anyway: bool = False
) -> Reproduction:
    """Recompute a paper's tables from its released files, next to the published numbers.

    Args:
        name: A benchmark.
        data: A copy of the authors' released files, whole or in part.
        beside: A run, whose rows are added below the published ones: comparable, comparable but for what, or not and
            why.
        anyway: Go on where the files contradict what their release says of them.

    Raises:
        MindgaugeError: the release contradicts what it says of itself.
        UsageError: the run is of another benchmark, or the benchmark has no published numbers.
        DataError: nothing usable is there, or a file is broken.
    """
    asked = benchmarks.asked_family(name)
    # A paper's tables are one family's: naming one of its benchmarks names them all.
    family = asked if benchmarks.is_path(name) else benchmarks.asked_family(name.partition("/")[0])
    members = [b for b in family if b.reproduce is not None and b.published is not None]
    if not members:
        raise UsageError(f"{name}: nothing published is recorded here, so nothing can be reproduced")
    checked = Counter[str]()
    notes: list[str] = []
    faults = self_stated.check(Path(data), members, checked, notes, anyway=anyway)
    cells: list[CellComparison] = []
    from_files = 0
    for benchmark in members:
        assert benchmark.reproduce is not None
        assert benchmark.published is not None
        published = load_published(benchmark.published)
        of_print = {number.table for number in published if number.of_print}
        compared = compare(published, benchmark.reproduce(Path(data)), Path(data))
        from_files += sum(cell.verdict != "missing" and cell.table not in of_print for cell in compared)
        cells += compared
    rows = [] if beside is None else new_rows(Path(beside), family)
    places = [] if beside is None else rank_places(Path(beside), family, Path(data))
    notes += [line for benchmark in members if benchmark.files_read for line in benchmark.files_read(Path(data))]
    return Reproduction(name, cells, counts(cells), from_files, rows, places, notes, faults, dict(checked))
