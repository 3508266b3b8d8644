"""The process in which Parquet files and workbooks are unpacked; `confined` begins it and says what it may take.

It imports nothing of ours, reads requests from its input, and answers with tables as Arrow streams or with a fault.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import resource
import sys
import zipfile
from typing import IO, Any

LIMITS: dict[str, int] = {}
_FAR = re.compile(rb"""<(?:\w+:)?c\b[^>]{0,200}?\br\s*=\s*["']([A-Za-z]{1,3})(\d{1,7})["']""")
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
    """Read a workbook's sheets as texts."""
    import fastexcel
    import polars as pl

    source: Any = request["path"] or content
    beginning = content[:4]
    if request["path"]:
        with open(request["path"], "rb") as file:  # noqa: PTH123 - starts sooner than pathlib
            beginning = file.read(4)
    _refuse_far(request["path"] or io.BytesIO(content))
    sheets: dict[str, Any] = {}
    try:
        book = fastexcel.read_excel(source)
        names = [name for name in book.sheet_names if request["sheet"] in {"", name}]
        if len(names) > 1_000:
            raise _excess(len(names), "sheets", 1_000)
        cells = 0
        for name in names:
            frame = book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string").to_polars()
            cells += frame.height * frame.width
            _shape(frame.height, frame.width)
            if cells > LIMITS["cells"]:
                raise _excess(cells, "cells (rows times columns)", LIMITS["cells"])
            _refuse_large(frame)
            sheets[name] = frame
    except (
        fastexcel.FastExcelError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        ValueError,
    ) as error:
        reason = next((reason for mark, reason in _BEGINNINGS.items() if beginning.startswith(mark)), _line(error))
        raise FaultError(f"not a workbook that can be read ({reason}); save it again as .xlsx") from error
    return sheets


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
    return {"names": list(frames)}, streams


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
