"""A paper's published numbers beside those recomputed from its released files.

Published numbers, and words such as a class, stand in a TOML file, one array entry per table::

    [[table]]
    name = "agreement"
    source = "Table 2"                 # where it is printed
    needs = "ratings/*.json"           # which released files it takes; none if it follows from what is printed
    columns = ["kappa", "n", "class"]
    tolerance = [0.0005, 0, 0]         # half a unit in the last printed digit; one number, or one per column
    part = ["first model"]             # of whose files it was measured, where the authors have more; all if not given
    n = 206                            # of how many subjects; figures of another number are not compared
    [table.rows]
    "first model" = [0.549, 206, "A"]  # nan where nothing is printed; a word must be the same word

    [measured_on.labels]               # of tables named `derived.…`, which are ours
    files = ["*/ratings/*.json"]
    sha256 = "…"

Each `[measured_on.NAME]` of `published.toml` says which files count and what their contents hash to, whether they lie in an
archive or unpacked, behind a link, and under whatever folder; a table rests on all of them, or on those that it names.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files.folder import below, members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mindgauge.benchmarks import RecomputedCell
    from mindgauge.records.files.folder import Readable

Verdict: TypeAlias = Literal["match", "differs", "missing", "repaired"]
VERDICTS: tuple[Verdict, ...] = ("match", "differs", "missing", "repaired")
OURS = "derived."
"""Before the names of tables whose figures are ours, measured on the files that `[measured_on]` names."""
_SLACK = 1e-9  # a value that lies exactly half a unit away must not fail by the last bit of a float


class Published(NamedTuple):
    """One printed number, and how far from it a recomputed one may lie; or a printed word."""

    table: str
    row: str
    column: str
    value: float | str
    tolerance: float
    n: int = 0
    """How many subjects it was measured on; 0 where that is not recorded."""
    of_print: bool = False
    """Whether it follows from other printed numbers, without a released file."""
    of_files: tuple[MeasuredOn, ...] = ()
    """The files that it was measured on by us; none where the paper prints it."""


class CellComparison(msgspec.Struct, frozen=True):
    """A published number or word beside the recomputed one (None where that could not be; `note` says why).

    What was published of another number of subjects is not compared: its verdict is `missing`, too.
    """

    table: str
    row: str
    column: str
    published: float | str
    recomputed: float | str | None
    tolerance: float
    verdict: Verdict
    note: str = ""


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    columns: list[str]
    rows: dict[str, list[float | str]]
    tolerance: float | list[float]
    source: str = ""
    needs: str = ""
    part: list[str] = []
    n: int = 0
    measured_on: list[str] = []
    """Which of the sets of files a table of ours rests on; all if none is named."""


def load_published(path: Path) -> list[Published]:
    """Read a benchmark's published numbers.

    Raises:
        DataError: the file is missing or broken, a row has another length than `columns`, or a cell occurs twice.
    """
    try:
        content: Any = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = msgspec.convert(content.get("table", []), list[_Table])
        measured_on = msgspec.convert(content.get("measured_on", {}), dict[str, MeasuredOn])
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise DataError(f"{path}: cannot read the published numbers ({error})") from error
    published = [cell for table in tables for cell in _cells(table, path, measured_on)]
    twice = [key for key, count in Counter(cell[:3] for cell in published).items() if count > 1]
    if twice:
        raise DataError(f"{path}: {' / '.join(twice[0])} occurs twice")
    return published


def _cells(table: _Table, path: Path, measured_on: dict[str, MeasuredOn]) -> Iterator[Published]:
    of_files: tuple[MeasuredOn, ...] = ()
    if table.needs and table.name.startswith(OURS):
        unknown = next((name for name in table.measured_on if name not in measured_on), None)
        if unknown is not None:
            raise DataError(f"{path}: {table.name} rests on {unknown!r}, and [measured_on] has no such files")
        of_files = tuple(measured_on[name] for name in table.measured_on or measured_on)
    width = len(table.columns)
    tolerances = table.tolerance if isinstance(table.tolerance, list) else [table.tolerance] * width
    for row, n in [*((row, len(values)) for row, values in table.rows.items()), ("tolerance", len(tolerances))]:
        if n != width:
            raise DataError(f"{path}: {table.name} / {row} has {n} values for {width} columns")
    for row, values in table.rows.items():
        for column, value, tolerance in zip(table.columns, values, tolerances, strict=True):
            if isinstance(value, str) or not math.isnan(value):
                yield Published(table.name, row, column, value, tolerance, table.n, not table.needs, of_files)


def compare(
    published: Iterable[Published], cells: Iterable[RecomputedCell], data: Path | None = None
) -> list[CellComparison]:
    """Put each published number beside its recomputed one, in the published order; those that files state come last.

    A repaired cell follows the number that it corrects, as a comparison of its own.

    Args:
        published: the printed numbers, and ours of `derived.` tables.
        cells: the recomputed ones.
        data: the files that these were computed from; where they are not those that ours were measured on, ours are not
            compared.

    Raises:
        ValueError: a recomputed cell has no published number, or occurs twice.
    """
    cells = [*cells]
    printed = {number[:3]: number for number in published}
    for cell in cells:
        if cell.stated is not None:
            place = (cell.table, cell.row, cell.column)
            printed[place] = Published(*place, cell.stated, cell.tolerance)
    by_cell: dict[tuple[str, str, str, bool], RecomputedCell] = {}
    for cell in cells:
        key = (cell.table, cell.row, cell.column)
        if key not in printed:
            raise ValueError(f"{' / '.join(key)} is recomputed, but no such number is published")
        if (*key, cell.repaired) in by_cell:
            raise ValueError(f"{' / '.join(key)} is recomputed twice")
        by_cell[*key, cell.repaired] = cell
    comparisons = []
    sets = {files for number in printed.values() for files in number.of_files}
    other_files = {files for files in sets if data is not None and not files.holds(data)}
    for place, number in printed.items():
        if not other_files.isdisjoint(number.of_files):
            comparisons.append(_of_other_files(number, by_cell.get((*place, False))))
            continue
        comparisons.append(_beside(number, by_cell.get((*place, False))))
        if (*place, True) in by_cell:
            comparisons.append(_beside(number, by_cell[*place, True]))
    return comparisons


def _beside(published: Published, cell: RecomputedCell | None) -> CellComparison:
    published = published._replace(tolerance=max(published.tolerance, cell.tolerance if cell else 0.0))
    value = cell.value if cell else None
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    note = cell.note if cell else "not recomputed"
    if value is None:
        verdict: Verdict = "missing"
        note = note or "not defined on these files"
    elif cell and cell.n and published.n and cell.n != published.n:
        verdict = "missing"
        note = f"not compared: measured on {published.n} subjects, and these files have {cell.n} of them"
    elif cell and cell.repaired:
        verdict = "repaired"
    else:
        verdict = "match" if _same(value, published) else "differs"
    table, row, column, printed, tolerance, *_ = published
    return CellComparison(table, row, column, printed, value, tolerance, verdict, note)


def _of_other_files(published: Published, cell: RecomputedCell | None) -> CellComparison:
    """Leave a figure of ours uncompared, since what lies here is not what it was measured on."""
    note = "not compared: measured on other files than these (their checksum differs)"
    return CellComparison(*published[:4], cell.value if cell else None, published.tolerance, "missing", note)


def _same(value: float | str, published: Published) -> bool:
    if isinstance(value, str) or isinstance(published.value, str):
        return value == published.value
    return abs(value - published.value) <= published.tolerance + _SLACK


def counts(comparisons: Iterable[CellComparison]) -> dict[str, int]:
    """Count comparisons by verdict, every verdict named."""
    by_verdict = Counter(comparison.verdict for comparison in comparisons)
    return {verdict: by_verdict[verdict] for verdict in VERDICTS}


class MeasuredOn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files of a measurement."""

    files: tuple[str, ...]
    """Patterns of their paths; a part of an archive stands below it."""
    sha256: str
    """Over the hashes of their contents, sorted."""

    def holds(self, data: Path) -> bool:
        """Say whether the files below a folder are those.

        Raises:
            DataError: an archive cannot be read.
        """
        return self.digest(data) == self.sha256

    def digest(self, data: Path) -> str:
        """Hash what lies below a folder and counts.

        Raises:
            DataError: an archive cannot be read.
        """
        contents = sorted({*self._contents(data)})
        return hashlib.sha256("\n".join(contents).encode()).hexdigest()

    def _contents(self, data: Path) -> Iterator[str]:
        for file in _released(data):
            if self._counts(str(file)):
                try:
                    yield hashlib.sha256(file.read_bytes()).hexdigest()
                except OSError as error:
                    raise DataError(f"{file}: cannot be read ({error.strerror or error})") from error

    def _counts(self, place: str) -> bool:
        return any(fnmatchcase(f"/{place}", pattern) for pattern in self.files)


def _released(data: Path) -> Iterator[Readable]:
    """Yield what is looked at where the data are read, too: through links and in zips, and nothing that is hidden.

    Raises:
        DataError: an archive cannot be read.
    """
    if data.is_dir():
        content = below(data)
        if content.broken:
            raise DataError(content.broken[0])
        yield from (*content.files, *content.packed)
    else:
        yield from members(data, PurePosixPath()) if data.suffix.lower() == ".zip" else [data]
