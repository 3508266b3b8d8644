"""From what somebody brings to sheets: every table of files, folders, zips and workbooks, as columns of text."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.records import inspect_logs
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, csv_rows, folder, texts
from mindgauge.records.files import tables as reader
from mindgauge.records.files.folder import File
from mindgauge.records.files.input_table import InputTable, RecordTable
from mindgauge.records.inspect_logs import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.ratings.layout import RatingLayout

NO_LINES = pl.Series("line", [], pl.Int64)
_WHOLE = r"^(-?\d+)\.0+$"
"""A whole number as a table with gaps has it."""


class Sheet(NamedTuple):
    """One table: its place among what was brought, and its cells as texts without blanks around them, null where empty."""

    place: PurePosixPath
    part: str
    """The sheet of a workbook with several; else empty."""
    frame: pl.DataFrame
    alone: bool
    """Whether it is all that was brought."""
    above: int = 0
    """Rows below the headers of the file that are none of its ratings."""
    shape: str = ""
    """How it was read, where it is no table but a log whose scores are ratings, one a row."""
    lines: pl.Series = NO_LINES
    """The line of its file on which each row begins that it had when it was opened; of Parquet and tables in memory, the row."""

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.place} ({self.part})" if self.part else str(self.place)

    @property
    def rows(self) -> pl.Expr:
        """The number of each of its rows, from 1 below the headers, as `row`."""
        return pl.int_range(1 + self.above, pl.len() + 1 + self.above).alias("row")

    def placed(self, ratings: pl.DataFrame) -> pl.DataFrame:
        """Say of ratings that were read from its rows in which file and line they stand."""
        line = pl.col("row") if self.shape else self.lines.gather(ratings["row"] - 1).alias("line")
        return ratings.with_columns(file=pl.lit(self.name), line=line)

    @property
    def folder(self) -> str:
        """Where its file lies."""
        return str(self.place.parent)

    @property
    def stem(self) -> str:
        """Its file's name without the ending, or the sheet's."""
        return self.part or self.place.stem


def opened(
    sources: Sequence[str | Path | File | Frame], layout: RatingLayout, left_out: list[str], notes: list[str] | None
) -> list[Sheet]:
    """Open every table of some sources.

    A file in a folder that is no table, or that cannot be read, is left out; of one that is named itself it is said.

    Args:
        sources: files, folders, zips, members of zips, and tables in memory.
        layout: how they are read.
        left_out: where to write what is left out, and why.
        notes: where to write what is odd in a file; if not given, that is refused.

    Raises:
        DataError: a file that is named is missing or broken, or nothing in a folder can be read.
    """
    sheets: list[Sheet] = []
    faults: list[str] = []
    for source in sources:
        if not isinstance(source, str | Path | File):
            sheets.append(_sheet(PurePosixPath("the table"), reader.open_table(source)))
            continue
        for place, file, named in _files(source, left_out, several=len(sources) > 1):
            if place.name in layout.drop or place.stem in layout.drop:
                left_out.append(f"{place}: dropped")
                continue
            try:
                sheets += _sheets(place, file, layout, notes, left_out)
            except DataError as error:
                if named:
                    raise
                reason = str(error).removeprefix(f"{file}: ")
                left_out.append(f"{place}: cannot be read ({reason})")
                faults.append(str(error))
    if not sheets and faults:
        raise DataError(faults[0])
    return [
        sheet._replace(alone=len(sheets) == 1) for sheet in sheets if sheet.part not in layout.drop or not sheet.part
    ]


def _files(
    source: str | Path | File, left_out: list[str], *, several: bool
) -> Iterator[tuple[PurePosixPath, Readable, bool]]:
    """Yield what lies in a source: its place, the file, and whether the user named it itself."""
    path = folder.at(Path(source)) if isinstance(source, str | Path) else source
    if isinstance(path, File) or (path.is_file() and path.suffix.lower() != ".zip"):
        yield PurePosixPath(Path(str(path)).as_posix() if several else path.name), path, True
        return
    members, broken = reader.lying_in(path)
    left_out += [f"{fault}, not read" for fault in broken]
    tables = [file for file in members if file.suffix.lower() in reader.ENDINGS]
    if not tables:
        raise DataError("; ".join([f"{path}: no table here ({', '.join(sorted(reader.ENDINGS))})", *broken]))
    for file in sorted(tables, key=lambda file: _natural(file.place.as_posix())):
        yield file.place, file, len(tables) == 1
    others = sorted({file.suffix.lower() or "no ending" for file in members} - set(reader.ENDINGS) - {".toml"})
    if others:
        left_out.append(f"files that are no tables ({', '.join(others)})")


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sorting key that takes digits as numbers."""
    parts, word = [], ""
    for letter in name:
        if word and letter.isdigit() != word[-1].isdigit():
            parts.append(word)
            word = ""
        word += letter
    return [(int(part), "") if part.isdigit() and part.isascii() else (-1, part) for part in [*parts, word]]


def _sheets(
    place: PurePosixPath, file: Readable, layout: RatingLayout, notes: list[str] | None, left_out: list[str]
) -> Iterator[Sheet]:
    file_layout = reader.suited(file, layout.file)
    if (log := inspect_logs.opened(file)) is not None:
        logged = rows.ratings(log)
        left_out += logged.left_out
        frame = pl.DataFrame(logged.rows, dict.fromkeys(rows.ScoreRow._fields, pl.String) | {"row": pl.Int64}, orient="row")  # fmt: skip
        yield Sheet(place, "", frame, alone=False, shape="scores of an Inspect log, changes by people included")
        return
    try:
        for table in reader.open_tables(file, file_layout, notes, left_out):
            yield _sheet(place, table)
    except bounds.Fault as fault:
        raise DataError(fault.at(str(file))) from fault


def _sheet(place: PurePosixPath, table: InputTable) -> Sheet:
    """Return a table's cells as texts: whole numbers without decimals, lists and objects as JSON; rows that say nothing are left out."""
    plain = not isinstance(table, RecordTable) and all(table.headers) and len(set(table.headers)) == len(table.headers)
    numbered = table.numbered() if plain else None
    if numbered is None or any(kind.is_nested() or kind == pl.Object for kind in numbered.frame.schema.values()):
        headers = [header.strip() or f"#{number}" for number, header in enumerate(table.headers, 1)]
        with texts.faults(table, b""):
            bounds.refuse_twice(headers)
            numbered = csv_rows.frame_of(table.texts(), len(headers))
    else:
        headers = table.headers
    frame = numbered.frame.rename(dict(zip(numbered.frame.columns, headers, strict=True)))
    text = pl.all().cast(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.when(text != "").then(text.str.replace(_WHOLE, "$1")).name.keep())
    lines = numbered.lines
    if frame.width:
        filled = frame.select(~pl.all_horizontal(pl.all().is_null())).to_series()
        frame, lines = frame.filter(filled), lines.filter(filled)
    return Sheet(place, table.part, frame, alone=False, lines=lines)
