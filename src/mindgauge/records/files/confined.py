"""Parquet files and workbooks, read in a process of their own that may take little memory.

Their libraries cannot be told how much to take: 144 KB of Parquet unpack to gigabytes, one far cell makes a workbook's
sheet as large as a disk, and where memory ends, so does the process. So another process unpacks them
(`confined_reader.py`) and hands back tables that are within `bounds`. It is begun once, when the first such file is read.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import io
import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder

if TYPE_CHECKING:
    import polars as pl

    from mindgauge.records.files.folder import Readable

_PROGRAM = Path(__file__).with_name("confined_reader.py")
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")
"""Of the environment, what starting Python may take; the rest, keys among it, is nothing for a reader of files."""
_MOST = 3 * bounds.TABLE
"""Bytes of an answer: texts, and what tables have beside them."""
_lock = threading.Lock()
_reader: _ReaderProcess | None = None


def parquet(source: Readable | bytes, name: str = "") -> pl.DataFrame:
    """Read a Parquet file.

    Args:
        source: the file, or what stands in it.
        name: how messages call it; its path if not given.

    Raises:
        DataError: it cannot be read, or has more than is read.
    """
    return _tables("parquet", source, name)[0][""]


def workbook(source: Readable, sheet: str = "", header: int | None = None) -> tuple[dict[str, pl.DataFrame], str]:
    """Read a workbook's sheets, or only the one of this name, and say what is hidden in it, which is left out.

    Each row begins with its number; all else is text, headers among them. A hidden column is empty.

    Raises:
        DataError: it cannot be read, or has more than is read.
    """
    return _tables("workbook", source, sheet=sheet, header="" if header is None else str(header))


def _tables(kind: str, source: Readable | bytes, name: str = "", **said: str) -> tuple[dict[str, pl.DataFrame], str]:
    place = name or str(source)
    try:
        if isinstance(source, Path):
            bounds.check(source)
        content = b"" if isinstance(source, Path) else source if isinstance(source, bytes) else folder.content(source)
    except OSError as error:
        raise DataError(f"{place}: cannot read it ({error.strerror})") from error
    request = {"kind": kind, "path": str(source.absolute()) if isinstance(source, Path) else "", **said}
    with _lock:
        reader = _begun()
        import polars as pl  # loads here while the other process loads it, too

        answer, tables = _ask(reader, request, content)
    if "fault" in answer:
        raise DataError(f"{place}: {answer['fault']}")
    frames = {name: pl.read_ipc_stream(io.BytesIO(table)) for name, table in zip(answer["names"], tables, strict=True)}
    return frames, answer["note"]


def _begun() -> _ReaderProcess:
    """Return the other process; it is begun where there is none."""
    global _reader  # noqa: PLW0603 - one process for all files
    if _reader is None or not _reader.alive():
        _end()
        _reader = _ReaderProcess()
    return _reader


def _ask(reader: _ReaderProcess, request: dict[str, str], content: bytes) -> tuple[dict[str, Any], list[bytearray]]:
    try:
        return reader.ask(request, content)
    except TimeoutError:
        _end()
        return {"fault": f"unpacking it takes more than {bounds.SECONDS:g} seconds; split it, or save it as CSV"}, []
    except (OSError, EOFError):
        _end()
        far = "; delete empty rows and columns around its tables" if request["kind"] == "workbook" else ""
        fault = f"unpacking it takes more than {bounds.MEMORY // bounds.MIB:,} MiB of memory{far}; or it is damaged: split it, or save it as CSV"
        return {"fault": fault}, []


def _end() -> None:
    global _reader  # noqa: PLW0603 - as above
    if _reader is not None:
        _reader.end()
        _reader = None


atexit.register(_end)


class _ReaderProcess:
    """The other process."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        # Neither the environment, nor what lies beside the program, nor what packages do at each start (-I, -S) is for it.
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, bufsize=0, close_fds=True,
            env={**{name: os.environ[name] for name in _KEPT if name in os.environ}, "POLARS_MAX_THREADS": "2"},
        )  # fmt: skip
        with contextlib.suppress(AttributeError, OSError):  # larger than the usual 64 KiB, where the system lets us
            fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)  # type: ignore[arg-type]
        figures = {
            name.lower(): getattr(bounds, name)
            for name in ("ROWS", "COLUMNS", "CELLS", "CELL", "DEPTH", "TABLE", "FILE", "MEMORY", "MIB")
        }
        self._send(json.dumps({"figures": figures, "path": [entry for entry in sys.path if entry]}).encode())

    def alive(self) -> bool:
        """Whether it runs, and is ours: not the one of the process that this one was forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, request: dict[str, str], content: bytes) -> tuple[dict[str, Any], list[bytearray]]:
        """Have a file read.

        Raises:
            OSError, EOFError: the process has ended.
            TimeoutError: it takes too long.
        """
        until = time.monotonic() + bounds.SECONDS
        self._send(json.dumps(request).encode())
        self._send(content)
        answer = json.loads(self._receive(until))
        return answer, [self._receive(until) for _ in answer.get("names", ())]

    def _send(self, content: bytes) -> None:
        assert self._process.stdin is not None
        view = memoryview(len(content).to_bytes(8, "big") + content)
        while view:
            view = view[self._process.stdin.write(view) :]

    def _receive(self, until: float) -> bytearray:
        size = int.from_bytes(self._read(8, until), "big")
        if size > _MOST:
            raise EOFError
        return self._read(size, until)

    def _read(self, size: int, until: float) -> bytearray:
        assert self._process.stdout is not None
        waiting = select.poll()  # `select` itself takes no numbers above 1,023, which many connections reach
        waiting.register(self._process.stdout, select.POLLIN)
        buffer = bytearray(size)
        room = memoryview(buffer)
        while room:
            if not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
                raise TimeoutError
            count = os.readv(self._process.stdout.fileno(), [room])
            if not count:
                raise EOFError
            room = room[count:]
        return buffer

    def end(self) -> None:
        """End it."""
        if self._owner != os.getpid():
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
