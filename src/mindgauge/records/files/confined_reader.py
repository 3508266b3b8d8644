"""The process in which Parquet files and workbooks are unpacked; `confined` begins it and says what it may take.

It imports nothing of ours, reads requests from its input, and answers with tables as Arrow streams or with a fault.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import json
import re
import resource
import sys
import zipfile
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIMITS: dict[str, int] = {}
_FAR = re.compile(rb"""<(?:\w+:)?c\b[^>]{0,200}?\br\s*=\s*["']([A-Za-z]{1,3})(\d{1,7})["']""")
_MARKED = re.compile(rb"""hidden|\b(?:ht|width)\s*=\s*["']0""")
_ZERO = re.compile(r"0+(?:\.0*)?[a-z]*")
_OPEN_DOCUMENT = {
    "style", "table-row-properties", "table-column-properties", "table", "table-row", "table-column",
}  # fmt: skip
_SHOWN, _LONGEST = 5, 40
_INT64 = 2**63
_DAYS = (-719_162, 2_932_896)
"""Of dates that Python has, from 1970."""
_UNITS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_BEGINNINGS = {
    b"\xd0\xcf\x11\xe0": "it is an old .xls, or protected by a password",
    b"<": "it holds HTML or XML",
}


class FaultError(Exception):
    """What is wrong with a file, for whoever handed it in."""


def _excess(amount: int, unit: str, limit: int, advice: str = "split it into several files") -> FaultError:
    return FaultError(f"it has {amount:,} {unit}, and at most {limit:,} are read; {advice}")


def _shape(rows: int, columns: int) -> None:
    if columns > LIMITS["columns"]:
        raise _excess(columns, "columns", LIMITS["columns"], "leave out those that are not needed")
    if rows > LIMITS["rows"]:
        raise _excess(rows, "rows", LIMITS["rows"])
    if rows * columns > LIMITS["cells"]:
        raise _excess(rows * columns, "cells (rows times columns)", LIMITS["cells"])


def parquet(request: dict[str, str], content: bytes) -> dict[str, Any]:
    """Read a Parquet file."""
    import polars as pl

    source: Any = request["path"] or io.BytesIO(content)
    try:
        lazy = pl.scan_parquet(source)
        schema = lazy.collect_schema()
        for kind in schema.values():
            _refuse_deep(kind)
        _shape(0, len(schema))
        _shape(lazy.select(pl.len()).collect().item(), len(schema))
        frame = pl.read_parquet(request["path"] or io.BytesIO(content))
    except pl.exceptions.DuplicateError as error:
        name = next(iter(re.findall(r"""['"`]([^'"`]+)['"`]""", str(error))), "")
        raise FaultError(f"the column {name[:60]!r} is there twice; rename or remove one of them") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise FaultError(f"not a Parquet file that can be read ({_line(error)})") from error
    _shape(frame.height, frame.width)
    _refuse_large(frame)
    return {"": _plain(frame)}


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _refuse_deep(kind: Any, depth: int = 1) -> None:
    if depth > LIMITS["depth"]:
        raise FaultError(f"nested too deeply: at most {LIMITS['depth']} lists and objects within each other are read")
    for inner in [*([kind.inner] if hasattr(kind, "inner") else []), *(f.dtype for f in getattr(kind, "fields", ()))]:
        _refuse_deep(inner, depth + 1)


def _refuse_large(frame: Any) -> None:
    """Refuse long texts, and many that a file holds once and names often."""
    size = sum(_size(series) for series in frame.get_columns())
    if size > LIMITS["table"]:
        raise FaultError(
            f"unpacked it has {-(-size // LIMITS['mib']):,} MiB, and at most {LIMITS['table'] // LIMITS['mib']:,} MiB are read; "
            "split it into several files"
        )


def _size(series: Any) -> int:
    """Return what a column's values take, each for itself, in bytes."""
    import polars as pl

    kind = series.dtype
    if isinstance(kind, pl.String | pl.Binary | pl.Categorical | pl.Enum):
        lengths = series.bin.size() if kind == pl.Binary else series.cast(pl.String).str.len_bytes()
        longest = int(lengths.max() or 0)
        if longest > LIMITS["cell"] and kind != pl.Binary:
            longest = series.cast(pl.String).str.len_chars().max()
        if longest > LIMITS["cell"]:
            raise _excess(longest, f"characters in a cell of the column {series.name[:60]!r}", LIMITS["cell"], "shorten it, or leave it out")  # fmt: skip
        return int(lengths.sum() or 0) + 8 * len(series)
    if isinstance(kind, pl.List | pl.Array):
        lengths = series.list.len() if isinstance(kind, pl.List) else series.arr.to_list().list.len()
        count = int(lengths.sum() or 0)
        if count > LIMITS["cells"]:
            raise _excess(count, f"values in the lists of the column {series.name[:60]!r}", LIMITS["cells"])
        return 8 * len(series) + _size(series.explode())
    if isinstance(kind, pl.Struct):
        return sum(_size(part) for part in series.struct.unnest().get_columns())
    return 8 * len(series)


def _plain(frame: Any) -> Any:
    """Make of numbers and times that Python or a store cannot hold texts, column by column."""
    import polars as pl

    changed = []
    for series in frame.get_columns():
        kind = series.dtype
        if kind in {pl.UInt64, pl.Int128} or kind.__class__.__name__ == "UInt128" or isinstance(kind, pl.Decimal):
            fits = not isinstance(kind, pl.Decimal) and _between(series, -_INT64, _INT64 - 1)
            changed.append(series.cast(pl.Int64 if fits else pl.String))
        elif kind == pl.Date and not _between(series.to_physical(), *_DAYS):
            changed.append(series.to_physical().cast(pl.String))
        elif isinstance(kind, pl.Duration):
            changed.append(series.dt.to_string("iso"))
        elif isinstance(kind, pl.Binary):
            words = series.cast(pl.String, strict=False)
            changed += [words] if words.null_count() == series.null_count() else []
        elif isinstance(kind, pl.Datetime):
            second = _UNITS[kind.time_unit]
            latest = (_DAYS[1] - 1) * 86_400 * second
            earliest = (_DAYS[0] + 1) * 86_400 * second
            if not _between(series.to_physical(), earliest, latest):
                changed.append(series.to_physical().cast(pl.String))
    return frame.with_columns(changed)


def _between(series: Any, low: int, high: int) -> bool:
    return series.null_count() == len(series) or bool(series.min() >= low and series.max() <= high)


def workbook(request: dict[str, str], content: bytes) -> dict[str, Any]:
    """Read what a person sees of a workbook's sheets as texts, each row behind its number; what is hidden is named under `NOTE`."""
    import fastexcel
    import polars as pl

    source: Any = request["path"] or content
    beginning = content[:4]
    if request["path"]:
        with open(request["path"], "rb") as file:  # noqa: PTH123 - starts sooner than pathlib
            beginning = file.read(4)
    sheets: dict[str, Any] = {}
    notes: list[str] = []
    _refuse_far(request["path"] or io.BytesIO(content))
    try:
        hidden = _hidden(request["path"] or io.BytesIO(content))
        book = fastexcel.read_excel(source)
        names = [name for name in book.sheet_names if request["sheet"] in {"", name}]
        if len(names) > 1_000:
            raise _excess(len(names), "sheets", 1_000)
        cells = 0
        for name in names:
            sheet = book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string")
            frame = sheet.to_polars()
            cells += frame.height * frame.width
            _shape(frame.height, frame.width)
            if cells > LIMITS["cells"]:
                raise _excess(cells, "cells (rows times columns)", LIMITS["cells"])
            _refuse_large(frame)
            if sheet.visible == "visible":
                first = next((column.absolute_index for column in sheet.available_columns()), 0)
                sheets[name] = _seen(name, frame, first, hidden, request["header"], notes)
            else:
                rows = len(_filled(frame))
                notes += [f"the sheet {name!r} ({rows:,} row{'s' * (rows != 1)})"] if rows else []
    except (
        fastexcel.FastExcelError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        expat.ExpatError,
        OSError,
        ValueError,
        KeyError,
    ) as error:
        reason = next((reason for mark, reason in _BEGINNINGS.items() if beginning.startswith(mark)), _line(error))
        raise FaultError(f"not a workbook that can be read ({reason}); save it again as .xlsx") from error
    if names and not sheets:
        raise FaultError(
            f"hidden in the workbook: the sheet {_some([*map(repr, names)])}; unhide there what is to be read"
        )
    remarks = [f"{HIDDEN}: {'; '.join(notes)}; unhide it there to have it read"] if notes else []
    if hidden is None:
        remarks.append("which rows and columns are hidden is not seen in this format; save it as .xlsx")
    return sheets | {NOTE: "; ".join(remarks)}


def _seen(name: str, frame: Any, first: int, hidden: Any, header: str, notes: list[str]) -> Any:
    """Return a sheet, whose columns begin at `first`, without hidden rows, its hidden columns empty or left out at its end; note them."""
    import polars as pl

    row_spans, column_spans = (hidden or {}).get(name, ([], []))
    rows = pl.Series(_within(row_spans, frame.height), dtype=pl.Boolean)
    columns = [n for n, gone in enumerate(_within(column_spans, first + frame.width)[first:]) if gone]
    filled = _filled(frame)
    line = int(header or next(iter(filled), 0) + 1)
    if line and rows[line - 1 : line].any():
        raise FaultError(
            f"row {line} of the sheet {name!r}, which has its headers, is hidden; unhide it, or name another with --map header=N"
        )
    gone = [n for n in filled if rows[n]]
    parts = [f"{len(gone):,} row{'s' * (len(gone) > 1)} ({_spans(gone)})"] if gone else []
    numbered = frame.with_row_index("row", 1).filter(~rows)
    for n in columns:
        column = numbered.to_series(n + 1)
        if column.null_count() < len(column):
            parts.append(f"column {_letters(first + n)} ({column.drop_nulls()[0][:_LONGEST]!r})")
    if parts:
        notes.append(f"of the sheet {name!r} {_some(parts)}")
    width = 1 + max({*range(frame.width)}.difference(columns), default=-1)
    return numbered.with_columns(pl.lit(None, pl.String).alias(frame.columns[n]) for n in columns).select(
        "row", *frame.columns[:width]
    )


def _filled(frame: Any) -> list[int]:
    """Return the rows that are not empty, from 0."""
    import polars as pl

    return (
        frame.select(pl.any_horizontal(pl.all().is_not_null()).arg_true()).to_series().to_list() if frame.width else []
    )


def _within(spans: Sequence[tuple[int, int]], size: int) -> list[bool]:
    """Return which of N places, counted from 0, are in one of some spans."""
    steps = [0] * (size + 1)
    for start, end in spans:
        if start < end:
            steps[min(max(start, 0), size)] += 1
            steps[min(max(end, 0), size)] -= 1
    return [depth > 0 for depth in itertools.accumulate(steps[:-1])]


def _spans(places: Sequence[int]) -> str:
    """Name rows, counted from 0, by their numbers."""
    starts = [n for at, n in enumerate(places) if not at or places[at - 1] != n - 1]
    ends = [n for at, n in enumerate(places, 1) if at == len(places) or places[at] != n + 1]
    return _some([str(a + 1) if a == b else f"{a + 1}–{b + 1}" for a, b in zip(starts, ends, strict=True)])


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:_SHOWN], *([f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else [])])


def _letters(place: int) -> str:
    return (_letters(place // 26 - 1) if place > 25 else "") + chr(65 + place % 26)


Spans = list[tuple[int, int]]


def _hidden(source: str | IO[bytes]) -> dict[str, tuple[Spans, Spans]] | None:
    """Return the hidden rows and columns of each sheet, counted from 0; None of a format that does not say it in XML."""
    if not zipfile.is_zipfile(source):
        return None
    with zipfile.ZipFile(source) as archive:
        parts = archive.namelist()
        if "content.xml" in parts:
            return _of_opendocument(_elements(archive, "content.xml", _OPEN_DOCUMENT))
        if "xl/workbook.xml" not in parts:
            return None
        relations = _elements(archive, "xl/_rels/workbook.xml.rels", {"Relationship"})
        targets, spans = {relation["Id"]: relation["Target"] for _, relation in relations}, {}
        for _, sheet in _elements(archive, "xl/workbook.xml", {"sheet"}):
            target = targets.get(sheet.get("id", ""), "").lstrip("/")
            part = target if target.startswith("xl/") else f"xl/{target}"
            if part in parts and _MARKED.search(archive.read(part)):
                spans[sheet["name"]] = _of_sheet(_elements(archive, part, {"row", "col"}))
        return spans


def _of_sheet(elements: Iterator[tuple[str, dict[str, str]]]) -> tuple[Spans, Spans]:
    rows, columns, row = [], [], 0
    for tag, said in elements:
        row = int(said.get("r", row + 1)) if tag == "row" else row
        if said.get("hidden") in {"1", "true"} or _ZERO.fullmatch(said.get("ht" if tag == "row" else "width", "1")):
            if tag == "row":
                rows.append((row - 1, row))
            else:
                columns.append((int(said["min"]) - 1, int(said["max"])))
    return rows, columns


def _of_opendocument(elements: Iterator[tuple[str, dict[str, str]]]) -> dict[str, tuple[Spans, Spans]]:
    spans: dict[str, tuple[Spans, Spans]] = {}
    flat, style, sheet, ends = set(), "", "", [0, 0]
    for tag, said in elements:
        if tag == "style":
            style = said.get("name", "")
        elif tag.endswith("properties"):
            if _ZERO.fullmatch(said.get("row-height") or said.get("column-width") or "1"):
                flat.add(style)
        elif tag == "table":
            sheet, ends = said.get("name", ""), [0, 0]
            spans[sheet] = [], []
        else:
            kind = ("table-row", "table-column").index(tag)
            start, ends[kind] = ends[kind], ends[kind] + int(said.get(f"number-{tag[6:]}s-repeated", 1))
            if said.get("visibility") in {"collapse", "filter"} or said.get("style-name") in flat:
                spans[sheet][kind].append((start, ends[kind]))
    return spans


def _elements(archive: zipfile.ZipFile, part: str, wanted: set[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield some elements of a part of a workbook with their attributes, their names without prefixes."""
    elements: list[tuple[str, dict[str, str]]] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if (name := tag.rpartition(":")[2]) in wanted:
            elements.append((name, {key.rpartition(":")[2]: value for key, value in attributes.items()}))

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    with archive.open(part) as stream:
        while portion := stream.read(LIMITS["mib"]):
            parser.Parse(portion)
            yield from elements
            elements.clear()


def _refuse_far(source: str | IO[bytes]) -> None:
    """Refuse a workbook that unpacks to more than is read, or with a cell so far out that its sheet has too many cells.

    What it cannot see, the limit of memory ends.
    """
    with (
        contextlib.suppress(zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, ValueError, EOFError),
        zipfile.ZipFile(source) as archive,
    ):
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > LIMITS["table"]:
            raise FaultError(
                f"unpacked it has {-(-size // LIMITS['mib']):,} MiB, and at most {LIMITS['table'] // LIMITS['mib']:,} MiB are read; "
                "split it into several files"
            )
        for entry in entries:
            if entry.filename.lower().endswith(".xml") and "sheets/" in entry.filename.lower():
                _refuse_far_cells(archive, entry)


def _refuse_far_cells(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Refuse a sheet by its last row and column. Its last row is mostly said last, so its end is looked at first."""
    with archive.open(entry) as stream:
        xml = stream.read(LIMITS["table"])
    ends = [int(n) for n in re.findall(rb"""<(?:\w+:)?row\b[^>]{0,200}?\br\s*=\s*["'](\d{1,7})["']""", xml[-100_000:])]
    widest = 16_384 if re.search(rb"""\br\s*=\s*["'][A-Za-z]{3}\d""", xml) else 702
    if ends and max(ends) * widest <= LIMITS["cells"] and max(ends) < LIMITS["rows"]:
        return
    rows = columns = 0
    for letters, digits in set(_FAR.findall(xml)) if len(xml) < LIMITS["mib"] else _FAR.findall(xml):
        place = 0
        for letter in letters.upper():
            place = place * 26 + letter - 64
        rows, columns = max(rows, int(digits)), max(columns, place)
    if rows * columns > LIMITS["cells"]:
        raise FaultError(
            f"a sheet has {rows:,} rows and {columns:,} columns up to its last cell, {rows * columns:,} cells, and at most "
            f"{LIMITS['cells']:,} are read; delete the empty rows and columns around its table"
        )


def _receive(stream: IO[bytes]) -> bytes:
    size = int.from_bytes(stream.read(8), "big")
    return stream.read(size)


def _send(stream: IO[bytes], *parts: bytes | memoryview) -> None:
    for part in parts:
        stream.write(len(part).to_bytes(8, "big"))
        stream.write(part)
    stream.flush()


def _answer(request: dict[str, str], content: bytes) -> tuple[dict[str, Any], list[memoryview]]:
    try:
        frames = READERS[request["kind"]](request, content)
        note = frames.pop(NOTE, "")
        streams = []
        for frame in frames.values():
            stream = io.BytesIO()
            frame.write_ipc_stream(stream)
            streams.append(stream.getbuffer())
    except FaultError as error:
        return {"fault": str(error)}, []
    except MemoryError:
        return {
            "fault": f"unpacking it takes more than {LIMITS['memory'] // LIMITS['mib']:,} MiB of memory; split it into several files"
        }, []
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - libraries panic on a file that is damaged
        return {"fault": f"cannot be read ({_line(error)})"}, []
    return {"names": list(frames), "note": note}, streams


NOTE, HIDDEN = "\0note", "hidden in the workbook, so not read"
READERS = {"parquet": parquet, "workbook": workbook}


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    told = json.loads(_receive(requests))
    LIMITS.update(told["figures"])
    sys.path[:] = told["path"]
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = LIMITS["memory"] if hard == resource.RLIM_INFINITY else min(LIMITS["memory"], hard)
    with contextlib.suppress(ValueError, OSError):  # where the system keeps no such limit
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ImportError, MemoryError):  # whoever asks for a file is told
        importlib.import_module("polars")  # it takes longest, and whoever began this is still busy
    while line := _receive(requests):
        answer, tables = _answer(json.loads(line), _receive(requests))
        _send(answers, json.dumps(answer).encode(), *tables)


if __name__ == "__main__":
    main()
