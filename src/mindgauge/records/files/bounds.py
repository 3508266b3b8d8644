"""How much is read of a file that somebody hands in, and its first readers, which hold to that: bytes, rows, JSON, TOML.

A small file may unpack to more than a machine holds, never end, or be nested deeper than any reader follows. So what a
file has is compared with the figures here before memory is taken for it. `docs/reference/files.md` lists them.

Readers raise `OSError` for what cannot be read, with the reason as `strerror`, and `Fault` for what stands in it.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import stat
import tomllib
from typing import TYPE_CHECKING, Any

from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 1 << 20
FILE = 512 * MIB
"""Bytes of a file, or of a member of a zip once it is unpacked."""
TABLE = 1024 * MIB
"""Bytes of a table's texts and numbers, unpacked, where the file is packed itself: Parquet and workbooks."""
ARCHIVE = 1024 * MIB
"""Bytes of all members of a zip together, unpacked."""
DIRECTORY = 32 * MIB
"""Bytes of a zip's table of contents: some 300,000 members."""
FILES = 200_000
"""Files below a folder, and members of a zip."""
SETTINGS = 4 * MIB
"""Bytes of a file of settings or words: rubrics, rules, suites, mappings, manifests, prompts."""
WEIGHTS = 64 * 1024 * MIB
"""Bytes of a classifier's weights, which are mapped, not read."""
ROWS = 3_000_000
COLUMNS = 16_384
"""As many as a spreadsheet has."""
CELLS = 25_000_000
"""Rows times columns; of JSON, values of any kind."""
CELL = 8 * MIB
"""Characters of a cell, and of a text in JSON."""
ROW = 2 * CELL
"""Characters of a row, and of a line of JSON."""
TURNS = 2_000
"""Turns of a dialogue. Each is rated with all before it, so that what a run keeps and sends grows with the square."""
DEPTH = 64
"""Lists and objects within each other."""
MEMORY = 3 * 1024 * MIB
"""Bytes that the process may take in which Parquet files and workbooks are unpacked (`confined`)."""
SECONDS = 120.0
"""How long that may take for one file."""

_DIGITS = 18
"""Digits of a whole number that every store and table can hold."""
_HALF = regex(r"\\u(?:[dD][89a-fA-F]|0000)")
_ODD = regex(r"[\x00\ud800-\udfff]")
"""What no store or protocol can carry: null characters and halves of characters."""
_HALVES = regex(r"[\ud800-\udfff]")
_LONG_NAME = regex(rf"""(?:(?:"[^"\n]*"|'[^'\n]*'|(?<![\w-])[\w-]++)[ \t]*+\.[ \t]*+){{{DEPTH}}}""")
_TEXTS = regex(r'"(?:[^"\\]|\\[\s\S])*+(?:"|\\?\Z)')
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str, *, nulls: bool = True) -> str:
    """Replace what no store or protocol can carry by the replacement character; null characters only where that is said."""
    if text.isascii() and "\0" not in text:  # the same, five times as fast
        return text
    return _ODD.sub(lambda match: match[0] if match[0] == "\0" and not nulls else _REPLACEMENT, text)


class Fault(ValueError):  # noqa: N818 - what is wrong with a file, not with the program
    """What is wrong with a text, and on which of its lines, from 1; 0 where no line can be named."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line

    def at(self, place: object) -> str:
        """Say it of a file, or of a line of one."""
        return f"{place}:{self.line}: {self}" if self.line else f"{place}: {self}"


def excess(amount: int, unit: str, limit: int, advice: str = "split it into several files") -> str:
    """Say that something has more than is read, and what to do."""
    if unit == "bytes":
        return f"it has {-(-amount // MIB):,} MiB, and at most {limit // MIB:,} MiB are read; {advice}"
    return f"it has {amount:,} {unit}, and at most {limit:,} are read; {advice}"


def content(path: Path, limit: int = FILE, *, links: bool = True) -> bytes:
    """Read a file: no folder, pipe or device, and no more than this many bytes, however it grows meanwhile.

    Raises:
        OSError: it is none of those, larger, cannot be read, or is a symbolic link where there are to be no `links`.
    """
    if not links and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link; put the file itself there", str(path))
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW))
    with open(handle, "rb", buffering=0) as file:  # noqa: PTH123 - a handle, which is known to be a file
        size = _size(handle, path, limit)
        parts: list[bytes] = []
        room = limit + 1
        while room > 0 and (part := file.read(min(room, size + 1 if not parts else 1 << 16))):
            parts.append(part)
            room -= len(part)
    if room <= 0:
        raise OSError(errno.EFBIG, f"it grows beyond {limit // MIB:,} MiB while it is read", str(path))
    return b"".join(parts)


def check(path: Path, limit: int = FILE) -> int:
    """Return a file's size in bytes, if it is one that `content` would begin to read.

    Raises:
        OSError: it is not.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return _size(handle, path, limit)
    finally:
        os.close(handle)


def _size(handle: int, path: Path, limit: int) -> int:
    status = os.fstat(handle)
    refuse_other(status, path)
    if status.st_size > limit:
        raise OSError(errno.EFBIG, excess(status.st_size, "bytes", limit), str(path))
    return status.st_size


def refuse_other(status: os.stat_result, path: Path) -> None:
    """Refuse what is no file.

    Raises:
        OSError: it is a folder, a pipe, a device or something else.
    """
    if not stat.S_ISREG(status.st_mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
        kind = kinds.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a file; name a file", str(path))


def refuse_lines(content: bytes, *, quotes: bool) -> None:
    """Refuse more lines than rows are read, before any is read; where quotes may hold line ends, ten times as many.

    Raises:
        Fault: there are more.
    """
    lines = content.count(b"\n")
    if lines > (10 * ROWS if quotes and b'"' in content else ROWS + 1):
        raise Fault(excess(lines, "lines", ROWS))


def has_long_line(content: bytes) -> bool:
    """Whether a text has a line with more bytes than a cell may have characters."""
    start = 0
    while len(content) - start > CELL:
        end = content.rfind(b"\n", start, start + CELL + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def twice(names: list[str]) -> str | None:
    """Return the first name that occurs twice; columns without a name are none."""
    if len(set(names)) == len(names):
        return None
    earlier_names: set[str] = set()
    for name in names:
        if name and name in earlier_names:
            return name
        earlier_names.add(name)
    return None


def refuse_twice(names: list[str], line: int = 0) -> None:
    """Refuse columns of one name: it is not clear which one counts.

    Raises:
        Fault: there are some.
    """
    name = twice(names)
    if name is not None:
        raise Fault(f"the column {name[:60]!r} is there twice; rename or remove one of them", line)


def json_lines(content: bytes, *, as_written: bool = False, mended: bool = True) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file of JSON lines, blank lines aside, with their lines; see `json_value`.

    Raises:
        Fault: a line is broken, or there is more than is read.
        UnicodeDecodeError: a line is not UTF-8.
    """
    refuse_lines(content, quotes=False)
    file = io.BytesIO(content)
    count = number = values = 0
    while line := file.readline(ROW + 1):
        number += 1
        if len(line) > ROW:
            raise Fault(f"a line has more than {ROW // MIB} MiB, the most that are read; split it into several lines", number)  # fmt: skip
        text = line.decode()
        if not text.strip():
            continue
        count += 1
        values += _most_values(text)
        if count > ROWS:
            raise Fault(f"it has more than {ROWS:,} rows, the most that are read; split it into several files")
        if values > CELLS:
            raise Fault(f"it has more than {CELLS:,} values, the most that are read; split it into several files")
        try:
            yield number, json_value(text, as_written=as_written, mended=mended)
        except Fault as fault:
            raise Fault(str(fault), number) from fault


def json_value(text: str, *, as_written: bool = False, mended: bool = True) -> Any:
    """Read JSON. NaN and Infinity, which spreadsheets and Python write but JSON lacks, become None.

    Args:
        text: the JSON.
        as_written: keep NaN, Infinity and numbers that are too large for a table as texts.
        mended: put the replacement character in the place of half a character, which no store or protocol can carry;
            otherwise half a character is a fault.

    Raises:
        Fault: it is broken, names a key twice, or has more or larger values, or deeper ones, than are read.
    """
    if len(text) > CELL and _most_values(text) > CELLS:
        count = _most_values(_TEXTS.sub("", text))
        if count > CELLS:
            raise Fault(excess(count, "values", CELLS))
    try:
        value = (_AS_WRITTEN if as_written else _STRICT).decode(text)
    except json.JSONDecodeError as error:
        raise Fault(f"broken JSON ({error.msg})", error.lineno) from error
    except RecursionError as error:
        raise Fault(_TOO_DEEP) from error
    if text.count("[") + text.count("{") > DEPTH:
        _refuse_deep(value)
    if len(text) > CELL:
        _refuse_long(value)
    if _HALF.search(text):
        value = carried(value, nulls=not as_written, mended=mended)
    return value


_TOO_DEEP = f"broken JSON (nested too deeply: at most {DEPTH} lists and objects within each other are read)"


def _most_values(text: str) -> int:
    """Return a number of values that JSON cannot exceed; commas and brackets in its texts count, too."""
    return text.count(",") + text.count("[") + text.count("{") + 1


def _refuse_deep(value: Any) -> None:
    level = [value] if isinstance(value, list | dict) else []
    for _ in range(DEPTH):
        if not level:
            return
        level = [
            part
            for container in level
            for part in (container.values() if type(container) is dict else container)
            if type(part) is dict or type(part) is list
        ]
    if level:
        raise Fault(_TOO_DEEP)


def _refuse_long(value: Any) -> None:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if type(part) is str and len(part) > CELL:
            raise Fault(excess(len(part), "characters in a text", CELL, "shorten it, or leave it out"))
        waiting += part.values() if type(part) is dict else part if type(part) is list else ()


def carried(value: Any, *, nulls: bool = True, mended: bool = True) -> Any:
    """Replace, in texts and keys of a value whose depth is known to be small, what no store or protocol can carry.

    Args:
        value: of JSON.
        nulls: null characters, too.
        mended: half a character is replaced; otherwise it is a fault.

    Raises:
        Fault: two keys become one, or there is half a character.
    """
    if isinstance(value, str):
        if not mended and _HALVES.search(value):
            raise Fault("broken JSON (half a character)")
        return clean(value, nulls=nulls)
    if isinstance(value, list):
        return [carried(part, nulls=nulls, mended=mended) for part in value]
    if isinstance(value, dict):
        pairs = (tuple(carried(part, nulls=nulls, mended=mended) for part in pair) for pair in value.items())
        return _object([(key, part) for key, part in pairs])
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        name = twice([key for key, _ in pairs]) or ""
        raise Fault(f"broken JSON (the key {name[:60]!r} is there twice; rename or remove one of them)")
    return record


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS and not -(2**63) <= _long(digits) < 2**63:
        raise Fault(f"broken JSON (a number of {len(digits):,} digits; write it as text)")
    return int(digits)


def _long(digits: str) -> int:
    return int(digits) if len(digits) < 30 else 2**64


def _fraction(numeral: str) -> float:
    value = float(numeral)
    if math.isinf(value):
        raise Fault(f"broken JSON (the number {numeral[:20]} is too large; write it as text)")
    return value


def _decoder(
    integer: Callable[[str], Any], fraction: Callable[[str], Any], odd: Callable[[str], Any]
) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_object, parse_int=integer, parse_float=fraction, parse_constant=odd)


_STRICT = _decoder(_whole, _fraction, lambda _: None)
_AS_WRITTEN = _decoder(
    lambda w: int(w) if len(w) <= _DIGITS else w, lambda w: w if math.isinf(float(w)) else float(w), str
)


def toml(path: Path) -> dict[str, Any]:
    """Read a file of settings in TOML.

    Raises:
        OSError: it cannot be read.
        ValueError: it is broken.
    """
    return toml_value(content(path, SETTINGS))


def toml_value(content: bytes) -> dict[str, Any]:
    """Read TOML.

    Raises:
        ValueError: it is broken, or nested more deeply than is read.
    """
    if len(content) > SETTINGS:
        raise Fault(excess(len(content), "bytes", SETTINGS, "is it a file of settings?"))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Fault(f"not UTF-8 at byte {error.start}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > DEPTH and _LONG_NAME.search(line):  # it takes the square of its parts
            raise Fault(f"a name of more than {DEPTH} parts", number)
    try:
        table = tomllib.loads(text)
        _refuse_deep(table)
    except RecursionError as error:
        raise Fault("nested too deeply") from error
    return table
