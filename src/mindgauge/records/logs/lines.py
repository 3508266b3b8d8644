"""A log line by line, within bounds, and the times that stand in it."""

from __future__ import annotations

import datetime
import io
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.records.files.folder import Readable

_HEAD = 1 << 22
"""Bytes of a file that are looked at to tell what it is."""
_LONGEST = 64
"""MiB of a line."""
_BILLION = 1_000_000_000
_UNITS = ((1e11, _BILLION), (1e14, 1_000_000), (1e17, 1_000), (1e20, 1))
"""Up to which number a time is in seconds, milliseconds, microseconds or nanoseconds, and how many nanoseconds these are."""
_LATEST = 9e18
"""Nanoseconds that have a date: the year 2255. What is later is no time."""
_NUMBER = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,9})?")


def first_object(file: Readable) -> Mapping[str, Any] | None:
    """Return the first object of a file; None where there is none."""
    try:
        head = _head(file)
    except OSError:
        return None  # whoever reads it says so
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    line = text.partition(b"\n")[0]
    for candidate in (line, text):
        try:
            value = msgspec.json.decode(candidate)
        except (ValueError, RecursionError):
            continue
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, dict) else None
    if file.suffix.lower() == ".json" and len(head) == _HEAD:  # an object that is larger than what was looked at
        keys = {b'"resourceSpans"': "resourceSpans", b'"resourceLogs"': "resourceLogs"}
        return next(({name: []} for key, name in keys.items() if key in head[:256]), None)
    return None


def _head(file: Readable) -> bytes:
    if isinstance(file, Path):
        bounds.check(file)
        with file.open("rb") as content:
            return content.read(_HEAD)
    return file.read_bytes()[:_HEAD]


def lines(file: Readable) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers; of one value over many lines, that value.

    Raises:
        DataError: it cannot be read, or a line is longer than is read.
    """
    if file.suffix.lower() == ".json":
        yield from _values(file)
        return
    try:
        with _stream(file) as stream:
            for number, line in enumerate(stream, 1):
                if len(line) > _LONGEST * bounds.MIB:
                    raise DataError(f"{file}:{number}: a line of more than {_LONGEST} MiB")
                if line.strip(b"\xef\xbb\xbf \t\r\n"):
                    yield number, line.removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise DataError(f"{file}: cannot read it ({error.strerror or error})") from error


def _stream(file: Readable) -> IO[bytes]:
    if isinstance(file, Path):
        bounds.check(file)
        return file.open("rb")
    return io.BytesIO(file.read_bytes())


def _values(file: Readable) -> Iterator[tuple[int, bytes]]:
    """Yield the objects of a JSON file: one, those of a list, or, whatever its name says, one a line."""
    raw = file.read_bytes() if not isinstance(file, Path) else bounds.content(file)
    try:
        value = msgspec.json.decode(raw, type=list[msgspec.Raw] | msgspec.Raw)
    except (ValueError, RecursionError):
        yield from ((number, line) for number, line in enumerate(raw.splitlines(), 1) if line.strip())
        return
    yield from enumerate(map(bytes, value) if isinstance(value, list) else [bytes(value)], 1)


def decoded(file: Readable, number: int, line: bytes, kind: Any = Any) -> Any:
    """Read a line.

    Raises:
        DataError: it is no JSON, or not of that kind; the message names the line.
    """
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError as error:
        raise DataError(f"{file}:{number}: not as the format has it ({error}); is it of another version?") from error
    except (ValueError, RecursionError) as error:
        what = "half a line of JSON" if "truncated" in str(error) else f"broken JSON ({error})"
        raise DataError(f"{file}:{number}: {what}; remove the line, or wait until it is written whole") from error


def nanoseconds(value: object) -> int:
    """Return a time in nanoseconds since 1970, written in any unit since then or as ISO 8601; 0 where it is none.

    In seconds, milliseconds, microseconds and nanoseconds the times of this century lie far apart.
    """
    if isinstance(value, datetime.datetime):
        moment = value
    elif isinstance(value, int | float):
        return _in_nanoseconds(value)
    else:
        text = str(value or "").strip()
        if _NUMBER.fullmatch(text):
            return _in_nanoseconds(int(text) if text.isdecimal() else float(text))
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            return 0
    try:
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    except (OverflowError, ValueError):
        return 0
    return int(seconds * _BILLION) if 0 < seconds * _BILLION < _LATEST else 0


def _in_nanoseconds(number: float) -> int:
    if not 0 < number < _LATEST:  # which NaN is not, either
        return 0
    unit = next(unit for most, unit in _UNITS if number < most)
    return int(number * unit)
