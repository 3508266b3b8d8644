"""The one reader of tables that people bring: whatever the file is, its cells are read as they stand, or one line says why not.

CSV with any separator, workbooks, JSON, JSON lines, Parquet, logs of Inspect, tables in memory; in a folder, behind a link, or in a zip
(`archive.zip/member.csv`). `docs/reference/files.md` says what may be handed in; `bounds` says how much of it.

A reader that is given `notes` goes on where another refuses, and writes down what it met: an audit is to say what is odd.
"""

from __future__ import annotations

import functools
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from mindgauge.records import inspect_logs
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, confined, folder, frames, input_table, mapping
from mindgauge.records.files.csv_rows import numbered
from mindgauge.records.files.folder import File
from mindgauge.records.files.input_table import HEADED, SEPARATED, WORKBOOKS, InputTable, RecordTable
from mindgauge.records.files.mapping import FileLayout
from mindgauge.records.files.texts import decoded, faults, read_records
from mindgauge.records.inspect_logs.rows import replies

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    import polars as pl

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.mapping import ColumnMap
    from mindgauge.records.files.texts import Frame

LINES = {".jsonl", ".ndjson"}
ENDINGS = (
    ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", inspect_logs.ENDING,
)  # fmt: skip
_SHOWN = 30
_SEEN = FileLayout()
"""How a file is read of which nothing is said."""
_NAMED = 100
"""Broken lines of a file that are named each for itself."""
Source: TypeAlias = "str | Path | File | Frame | InputTable"


def is_table(source: object) -> bool:
    """Whether a source is a table in memory, a file, or a folder of tables, rather than a run or a name."""
    if not isinstance(source, str | Path):
        return True
    path = Path(source)
    return path.suffix.lower() in ENDINGS or path.is_file() or (path.is_dir() and not is_run(path))


def is_run(source: object) -> bool:
    """Whether a path is a folder that holds, or should hold, a run: no run lies in a folder of tables."""
    if not isinstance(source, str | Path) or not Path(source).is_dir():
        return False
    if (Path(source) / "run.sqlite").exists() or (Path(source) / "manifest.toml").exists():
        return True
    return not any(path.suffix.lower() in {*ENDINGS, ".zip"} for path in folder.walk(Path(source)))


def name_of(source: object) -> str:
    """Return how messages call a source."""
    return str(source) if isinstance(source, str | Path | File) else "the table"


def find(source: str | Readable) -> Readable:
    """Return the file that a path names, links followed: also a member of a zip, or the only table in a folder or zip.

    Raises:
        DataError: there is none, or several.
    """
    path = folder.at(Path(source)) if isinstance(source, str | Path) else source
    if isinstance(path, File) or (path.exists() and not path.is_dir() and path.suffix.lower() != ".zip"):
        return path
    members, broken = lying_in(path)
    lying = [file for file in members if file.suffix.lower() in ENDINGS]
    if not lying:
        raise DataError("; ".join([f"{path}: no table here ({', '.join(sorted(ENDINGS))})", *broken]))
    if len(lying) > 1:
        named = ", ".join(file.place.as_posix() for file in lying[:_SHOWN])
        raise DataError(f"{path}: several tables here; name one of them, {path}/NAME ({named})")
    return lying[0]


def lying_in(path: Path) -> tuple[list[File], tuple[str, ...]]:
    """Return the files in a folder or zip, and what of it cannot be opened; files that an office program locks with are none.

    Raises:
        DataError: it is not there, or a zip that cannot be opened.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    broken: tuple[str, ...] = ()
    if path.is_dir():
        content = folder.below(path)
        members, broken = content.all, content.broken
    else:
        members = tuple(folder.members(path, PurePosixPath()))
    return [file for file in members if not file.name.startswith("~$")], broken


def open_table(
    source: Source, file_layout: FileLayout = _SEEN, left_out: list[str] | None = None, *, mended: bool = True
) -> InputTable:
    """Open a table.

    Args:
        source: a path, a file in a zip, a polars, pandas or Arrow table, or a table that is open.
        file_layout: its sheet, the row of its headers, its encoding and separator, where they are not seen from the file.
        left_out: as `open_tables` has it.
        mended: whether half a character in JSON becomes the replacement character; otherwise it is a fault.

    Raises:
        DataError: it is missing, of another kind, broken, or has more than is read; the message names the line.
    """
    if isinstance(source, InputTable):
        return source
    if not isinstance(source, str | Path | File):
        return _of_frame(None, _frame(source))
    path = find(source)
    tables = open_tables(path, file_layout, left_out=left_out, mended=mended)
    full = [table for table in tables if next(table.cells(), None) is not None] if len(tables) > 1 else tables
    if len(full) > 1:
        raise DataError(f"{path}: several sheets hold rows ({', '.join(t.part for t in full)}); choose one with --map sheet=NAME")  # fmt: skip
    return (full or tables)[0]


def open_tables(
    path: Readable,
    file_layout: FileLayout = _SEEN,
    notes: list[str] | None = None,
    left_out: list[str] | None = None,
    *,
    as_written: bool = False,
    mended: bool = True,
) -> list[InputTable]:
    """Open every table of a file: the sheets of a workbook, else one.

    Args:
        path: the file.
        file_layout: as `open_table` has it.
        notes: where to write what is odd; if not given, that is refused.
        left_out: where to write what is left out of a workbook, since it is hidden; else among `notes`, or as a warning.
        as_written: whether NaN and numbers that no table can hold stay, as texts; see `bounds.json_value`.
        mended: as `open_table` has it; where `notes` are given, it always is.

    Raises:
        DataError: as `open_table`.
    """
    suffix = path.suffix.lower()
    _refuse_idle(path, suffix, file_layout)
    if suffix in WORKBOOKS:
        return input_table.sheets(path, file_layout, notes, left_out) or [InputTable(path, (), lambda: iter(()))]
    if suffix in SEPARATED:
        return [input_table.separated(path, file_layout, notes)]
    if suffix in LINES:
        return [_lines(path, file_layout, notes, as_written=as_written, mended=mended)]
    if (log := inspect_logs.opened(path)) is not None:
        return [replies(log)]
    if suffix == ".json":
        read = functools.partial(read_records, path, file_layout.encoding, as_written=as_written, mended=mended)
        return [RecordTable(path, lambda: enumerate(read(), 1))]
    if suffix == ".parquet":
        return [_of_frame(path, frames.without_nulls(confined.parquet(path)), notes)]
    raise DataError(f"{path}: expected {', '.join(ENDINGS[:7])}, found {suffix or 'no ending'}")


def rows(
    source: Source, mapped: Mapping[str, str] | None = None, names: Collection[str] = (), prefixes: Iterable[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Open a table and yield its rows under our names.

    Args:
        source: as `open_table` takes it.
        mapped: a mapping.
        names: that may stand in it, see `mapping.read`.
        prefixes: of names that may stand in it.

    Raises:
        UsageError: the mapping names something else.
        DataError: as `open_table` and `InputTable.rows`.
    """
    column_map = mapping.read(mapped, names, prefixes)
    yield from open_table(source, column_map.layout).rows(column_map.columns)


def beside(source: Source, names: Collection[str]) -> ColumnMap:
    """Return what `columns.toml` beside a file says of some columns and of how the file is to be read.

    It is for commands that do not take `--map`, and may name columns that only other commands read.

    Raises:
        UsageError, DataError: it says it badly, or the file is missing.
    """
    if not isinstance(source, str | Path | File):
        return mapping.NOTHING
    wanted = {*names, *mapping.LAYOUT}
    return mapping.read(
        {name: column for name, column in mapping.beside(find(source)).items() if name in wanted}, names
    )


def suited(path: Readable, file_layout: FileLayout) -> FileLayout:
    """Return what of a layout for files of several kinds applies to one of them."""
    return file_layout._replace(**{name: getattr(_SEEN, name) for name in _idle(path.suffix.lower(), file_layout)})


def _idle(suffix: str, file_layout: FileLayout) -> list[str]:
    idle = {
        "sheet": file_layout.sheet and suffix not in WORKBOOKS,
        "header": file_layout.header is not None and suffix not in HEADED,
        "encoding": file_layout.encoding and suffix in WORKBOOKS | {".parquet", inspect_logs.ENDING},
        "separator": file_layout.separator and suffix not in SEPARATED,
    }
    return [name for name, idle_value in idle.items() if idle_value]


def _refuse_idle(path: Readable, suffix: str, file_layout: FileLayout) -> None:
    name = next(iter(_idle(suffix, file_layout)), None)
    if name is not None:
        raise DataError(f"{path}: --map {name}=… does not apply to a {suffix} file; leave it out")


def _frame(source: Frame) -> pl.DataFrame:
    import polars as pl

    if not hasattr(source, "__arrow_c_stream__"):
        raise DataError(f"expected a path or a polars, pandas or Arrow table, found {type(source).__name__}")
    return pl.DataFrame(source)


def _of_frame(path: Readable | None, frame: pl.DataFrame, notes: list[str] | None = None) -> InputTable:
    headers = frame.columns if notes is None else input_table.noted(frame.columns, path, notes)
    return InputTable(path, headers, lambda: enumerate(frame.iter_rows(), 1), numbered=lambda: numbered(frame))


def _lines(
    path: Readable, file_layout: FileLayout, notes: list[str] | None, *, as_written: bool, mended: bool
) -> InputTable:
    content = decoded(path, file_layout.encoding, notes)

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        if notes is not None:
            yield from _noted_lines(path, content, notes)
            return
        names: set[str] = set()
        with faults(path, content):
            for number, row in bounds.json_lines(content, as_written=as_written, mended=mended):
                if not isinstance(row, dict):
                    raise bounds.Fault(f"expected an object, found {type(row).__name__}", number)
                names.update(row)
                if len(names) > bounds.COLUMNS:
                    raise bounds.Fault(f"its rows have more than {bounds.COLUMNS:,} columns (keys) together, the most that are read; leave out those that are not needed", number)  # fmt: skip
                yield number, row

    return RecordTable(path, rows, lambda wanted: frames.json_frame(path, content, wanted, rows))


def _noted_lines(path: Readable, content: bytes, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines that are JSON, as they are written, and say which are not."""
    broken = 0
    bounds.refuse_lines(content, quotes=False)
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        if not line.strip():
            continue
        if len(line) > bounds.ROW:
            notes.append(f"{path}:{number}: a line of {len(line):,} characters, not read; at most {bounds.ROW:,} are read")  # fmt: skip
            continue
        try:
            record = bounds.json_value(line, as_written=True)
        except bounds.Fault as fault:
            broken += 1
            if broken <= _NAMED:
                notes.append(f"{path}:{number}: {fault}, not read")
            continue
        yield number, record if isinstance(record, dict) else {"value": record}
    if broken > _NAMED:
        notes.append(f"{path}: {broken - _NAMED:,} more lines are broken JSON, not read")
