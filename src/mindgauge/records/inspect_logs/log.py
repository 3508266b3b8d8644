"""Opening a log: a zip (`.eval`, packed in any way that Inspect packs) or JSON, one sample at a time.

A log that is not finished has no `header.json` but the journal of its beginning, and the samples that were done by then.
A sample that was logged again stands in the zip twice; the last counts, as it does for Inspect.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder
from mindgauge.records.files.folder import Archive
from mindgauge.records.inspect_logs import stream
from mindgauge.records.inspect_logs.shapes import VERSION, LoggedSample, LoggedTask, LogHeader
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.files.folder import Readable

ENDING = ".eval"
_HEADER, _START = "header.json", "_journal/start.json"
_WHOLE = regex(r"samples/.+_epoch_\d+\.json", re.DOTALL)
_SHELL = regex(r"(samples/.+_epoch_\d+)/sample\.json", re.DOTALL)
_PIECE = regex(r"(samples/.+_epoch_\d+)/(messages|attachments)/(\d{1,15})\.json", re.DOTALL)
_ODD = regex(rb"NaN|Infinity|\\u[dD][89a-fA-F]|\\u0000")
"""What JSON of Inspect's may hold and strict readers refuse."""
_SHOWN = 5
Shape = TypeVar("Shape")


class LogEntry(NamedTuple):
    """A sample, and where it stands: its number, from 1, and how messages call it."""

    number: int
    sample: LoggedSample
    place: str


class InspectLog:
    """A log, of which the samples are read as they are asked for, each time anew."""

    def __init__(self, path: Readable) -> None:
        """Describe it; nothing is read."""
        self.path = path
        self.name = path.name
        self.stem = path.stem

    def __str__(self) -> str:
        return str(self.path)

    @property
    def header(self) -> LogHeader:
        """All but the samples."""
        raise NotImplementedError

    def entries(self) -> Iterator[LogEntry]:
        """Yield the samples, one after the other.

        Raises:
            DataError: one cannot be read, or there is none.
        """
        number = 0
        for number, (content, place) in enumerate(self._contents(), 1):
            yield LogEntry(number, self._sample(content, place), place)
        if not number:
            unfinished = "" if self.header.status == "success" else f", which did not finish ({self.header.status})"
            raise DataError(f"{self}: no samples in this log of {self.header.eval.task or 'an evaluation'}{unfinished}")

    def _contents(self) -> Iterator[tuple[bytes, str]]:
        raise NotImplementedError

    def _sample(self, content: bytes, place: str) -> LoggedSample:
        return _read(content, LoggedSample, place, "is no sample of an Inspect log")

    @property
    def remarks(self) -> list[str]:
        """What must be known of it, a sentence each: it did not finish."""
        if self.header.status == "success":
            return []
        return [f"{self}: the evaluation did not finish ({self.header.status}), so its log holds the samples that were done by then"]  # fmt: skip


def opened(path: Readable) -> InspectLog | None:
    """Open a log; None where a file of JSON is none.

    Raises:
        DataError: it is damaged, a zip that holds no log, or of another version.
    """
    if path.suffix.lower() == ENDING:
        log: InspectLog = _Zipped(path)
    elif path.suffix.lower() == ".json" and stream.is_log(path):
        log = _Plain(path)
    else:
        return None
    version = log.header.version
    if version > VERSION or version < 1:
        raise DataError(f"{path}: an Inspect log of schema version {version}, and versions 1 and {VERSION} are read; write it anew with an inspect-ai of these, or with a newer mindgauge")  # fmt: skip
    return log


class _Zipped(InspectLog):
    """A zip with a member for each sample, or several for one that is kept in pieces."""

    @cached_property
    def _archive(self) -> Archive:
        try:
            return Archive(self.path, folder.PACKED)
        except DataError as error:
            if isinstance(error.__cause__, zipfile.BadZipFile) and self._begins_as_zip():
                raise DataError(f"{self}: a log that is cut off: it begins as an .eval file does, and its end is missing; copy it again") from error  # fmt: skip
            if isinstance(error.__cause__, zipfile.BadZipFile):
                raise DataError(f"{self}: not an Inspect log: an .eval file is a zip, and this is none") from error
            raise

    def _begins_as_zip(self) -> bool:
        if isinstance(self.path, Path):
            with self.path.open("rb") as file:
                return file.read(4) == b"PK\x03\x04"
        return self.path.read_bytes()[:4] == b"PK\x03\x04"

    @cached_property
    def _members(self) -> dict[str, zipfile.ZipInfo]:
        return {entry.filename: entry for entry in self._archive.entries}

    @cached_property
    def _header(self) -> LogHeader:
        name = next((name for name in (_HEADER, _START) if name in self._members), None)
        if name is None:
            inside = ", ".join([*self._members][:_SHOWN]) or "nothing"
            raise DataError(f"{self}: a zip that holds no Inspect log: neither {_HEADER} nor {_START} is in it, but {inside}")  # fmt: skip
        content = self._unpacked(name)
        if name == _START and not any(_WHOLE.fullmatch(member) or _SHELL.fullmatch(member) for member in self._members):
            task = _read(content, LogHeader, f"{self}, {name}", "is no header of an Inspect log").eval.task
            raise DataError(f"{self}: an unfinished log of {task or 'an evaluation'} that holds the journal of its beginning and no samples")  # fmt: skip
        return _header(content, f"{self}, {name}")

    @property
    def header(self) -> LogHeader:
        """See `InspectLog`."""
        return self._header

    def _unpacked(self, name: str) -> bytes:
        try:
            return self._archive.read(self._members[name])
        except OSError as error:
            raise DataError(f"{self}: {error.strerror or error}") from error

    def _contents(self) -> Iterator[tuple[bytes, str]]:
        for name in self._members:
            if _WHOLE.fullmatch(name):
                yield self._unpacked(name), f"{self}, {name}"
            elif shell := _SHELL.fullmatch(name):
                yield self._joined(shell[1]), f"{self}, {shell[1]}"

    @cached_property
    def _pieces(self) -> dict[tuple[str, str], list[tuple[int, str]]]:
        """Sample and kind → its pieces, each with the place of its first item."""
        pieces: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for name in self._members:
            if piece := _PIECE.fullmatch(name):
                pieces.setdefault((piece[1], piece[2]), []).append((int(piece[3]), name))
        return pieces

    def _joined(self, prefix: str) -> bytes:
        """Put a sample together that is kept in pieces."""
        place = f"{self}, {prefix}"
        messages, attachments = (
            [
                item
                for _, name in sorted(self._pieces.get((prefix, kind), []))
                for item in _read(self._unpacked(name), list[Any], place, "is not in pieces as Inspect writes them")
            ]
            for kind in ("messages", "attachments")
        )
        shell = _read(self._unpacked(f"{prefix}/sample.json"), dict[str, Any], place, "is no sample of an Inspect log")
        ranges = _converted(shell.get("message_refs", []), list[tuple[int, int]], place, "has no conversation")
        metadata = f"{prefix}/metadata.json"
        if metadata in self._members:
            shell["metadata"] = _read(self._unpacked(metadata), dict[str, Any], place, "has no metadata")
        shell["messages"] = self._conversation(messages, ranges, place)
        shell["attachments"] = {str(number): text for number, text in enumerate(attachments)}
        return json.dumps(shell).encode()

    def _conversation(self, messages: list[Any], ranges: list[tuple[int, int]], place: str) -> list[Any]:
        """Return the messages of some ranges. Those that are alike are kept once, so that ranges may name one again.

        Raises:
            DataError: they name so much again that it is more than is read.
        """
        parts = [range(*slice(start, end).indices(len(messages))) for start, end in ranges]
        if sum(map(len, parts)) > len(messages):
            upto = [0, *accumulate(len(json.dumps(message)) for message in messages)]
            if sum(upto[part.stop] - upto[part.start] for part in parts if part) > bounds.FILE:
                raise DataError(
                    f"{place}: its conversation has more than {bounds.FILE // bounds.MIB:,} MiB, the most that are read"
                )
        return [messages[number] for part in parts for number in part]


class _Plain(InspectLog):
    """A file of JSON, whose samples are cut out of it one by one."""

    @cached_property
    def _header(self) -> LogHeader:
        parts = {key: content for key, content in stream.parts(self.path) if key in LogHeader.__struct_fields__}
        return _header(b"{%s}" % b",".join(b'"%s":%s' % (key.encode(), content) for key, content in parts.items()), str(self))  # fmt: skip

    @property
    def header(self) -> LogHeader:
        """See `InspectLog`."""
        return self._header

    def _contents(self) -> Iterator[tuple[bytes, str]]:
        for number, content in enumerate(stream.samples(self.path), 1):
            yield content, f"{self}, sample {number}"


def _header(content: bytes, place: str) -> LogHeader:
    """Read a header; where its version is not known, only that, since all else may have changed."""
    raw = _read(content, dict[str, Any], place, "is no header of an Inspect log")
    version = raw.get("version")
    if isinstance(version, int) and not 1 <= version <= VERSION:
        return LogHeader(version, LoggedTask())
    return _converted(raw, LogHeader, place, "is no header of an Inspect log")


def _read(content: bytes, shape: type[Shape], place: str, otherwise: str) -> Shape:
    """Read JSON as Inspect writes it, with `NaN`, which is no JSON."""
    try:
        if not _ODD.search(content):
            return msgspec.json.decode(content, type=shape)
        value = bounds.carried(json.loads(content.decode("utf-8", "replace")))
    except msgspec.ValidationError as error:
        raise DataError(f"{place} {otherwise} ({error})") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DataError(f"{place} {otherwise}: broken JSON ({reason[:200]})") from error
    return _converted(value, shape, place, otherwise)


def _converted(value: Any, shape: type[Shape], place: str, otherwise: str) -> Shape:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise DataError(f"{place} {otherwise} ({error})") from error


def not_a_number(value: object) -> bool:
    """Whether a value stands for a score that was not given."""
    return isinstance(value, float) and math.isnan(value)
