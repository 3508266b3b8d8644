"""Opening a log: a zip (`.eval`, packed in any way that Inspect packs) or JSON, one sample at a time.

What is read has Inspect's own names (inspect_ai.log, schema version 2); all else is skipped. A log that is not finished
has no `header.json` but the journal of its beginning, and the samples that were done by then. A sample that was logged
again is in the zip twice; the last counts, as it does for Inspect. A log in JSON is read as a whole.
"""

from __future__ import annotations

import errno
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
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.files.folder import Readable

ENDING = ".eval"
VERSION = 2
"""The newest version of the schema that is read."""
UNCHANGED = "UNCHANGED"
"""What an edit says of a part of a score that it leaves as it is."""
SOLE_SCORE = "88F74D2C"
"""What Inspect calls the score of a sample that has but one, in its oldest logs, until it knows the scorer."""
_HEADER, _START = "header.json", "_journal/start.json"
_WHOLE = regex(r"samples/.+_epoch_\d+\.json", re.DOTALL)
_SHELL = regex(r"(samples/.+_epoch_\d+)/sample\.json", re.DOTALL)
_PIECE = regex(r"(samples/.+_epoch_\d+)/(messages|attachments)/(\d{1,15})\.json", re.DOTALL)
_ODD = regex(rb"NaN|Infinity|\\u[dD][89a-fA-F]|\\u0000")
"""What JSON of Inspect's may hold and strict readers refuse."""
_KEYS = {
    "version", "status", "eval", "plan", "results", "stats", "error", "invalidated", "log_updates", "config_updates", "tags",
    "metadata", "samples", "reductions", "location", "etag",
}  # fmt: skip
"""Of a log in JSON, in the order in which Inspect writes them."""
_BEGINNING = regex(rb'(?:\xef\xbb\xbf)?\s*+\{\s*+"(\w+)"')
_SHOWN = 5
Shape = TypeVar("Shape")


class LoggedTask(msgspec.Struct, frozen=True):
    """What was evaluated: `eval` of a log."""

    task: str = ""
    model: str = ""
    model_roles: Any = None

    @property
    def grader(self) -> str:
        """The model that has the role of the grader; empty where none has, or several have."""
        role = self.model_roles.get("grader") if isinstance(self.model_roles, dict) else None
        name = role.get("model") if isinstance(role, dict) else None
        return name if isinstance(name, str) else ""


class LogHeader(msgspec.Struct, frozen=True):
    """All of a log but its samples; in the oldest logs `scorer` of the results is the only one."""

    version: int
    eval: LoggedTask
    status: str = "started"
    results: dict[str, Any] | None = None

    @property
    def scorer(self) -> str:
        """Who gave a score that has no name of its own."""
        results = self.results or {}
        scorers = [*(results.get("scores") or ()), results.get("scorer")]
        return next((str(s["name"]) for s in scorers if isinstance(s, dict) and s.get("name")), "score")


class ScoreChange(msgspec.Struct, frozen=True):
    """A state of a score; the first of a history is what the scorer said, unless a provenance says who changed it."""

    value: Any = UNCHANGED
    provenance: dict[str, Any] | None = None


class LoggedScore(msgspec.Struct, frozen=True):
    """What a scorer says of a sample, and how it was changed."""

    value: Any = None
    reason: str | None = None
    metadata: dict[str, Any] | None = None
    history: list[ScoreChange] = []


class LoggedChoice(msgspec.Struct, frozen=True):
    """One of a model's answers."""

    message: dict[str, Any] = {}
    stop_reason: str = ""


class LoggedOutput(msgspec.Struct, frozen=True):
    """What the model answered last."""

    model: str = ""
    choices: list[LoggedChoice] = []
    error: str | None = None
    metadata: dict[str, Any] | None = None


class LoggedSample(msgspec.Struct, frozen=True):
    """One sample, once: `epoch` counts from 1. `score` is the only one, in the oldest logs."""

    id: int | str
    epoch: int = 1
    input: str | list[dict[str, Any]] = ""
    target: Any = ""
    messages: list[dict[str, Any]] = []
    output: LoggedOutput = LoggedOutput()
    scores: dict[str, LoggedScore] | None = None
    score: LoggedScore | None = None
    metadata: dict[str, Any] | None = None
    error: Any = None
    limit: Any = None
    invalidation: Any = None
    attachments: dict[str, str] = {}

    @property
    def failure(self) -> str:
        """Why it does not count, in one line; empty where it does."""
        if self.error is not None:
            message = self.error.get("message") if isinstance(self.error, dict) else self.error
            return f"the sample ended with an error: {' '.join(str(message or 'no message').split())[:300]}"
        if self.invalidation is not None:
            reason = self.invalidation.get("reason") if isinstance(self.invalidation, dict) else None
            return f"somebody called the sample invalid{f': {reason}' if reason else ''}"
        return ""

    @property
    def limited(self) -> str:
        """The limit that it reached; empty where it reached none."""
        return str((self.limit.get("type") if isinstance(self.limit, dict) else self.limit) or "")


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

    @cached_property
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
            read = _read if isinstance(content, bytes) else _converted
            yield LogEntry(number, read(content, LoggedSample, place, "is no sample of an Inspect log"), place)
        if not number:
            unfinished = "" if self.header.status == "success" else f", which did not finish ({self.header.status})"
            raise DataError(f"{self}: no samples in this log of {self.header.eval.task or 'an evaluation'}{unfinished}")

    def _contents(self) -> Iterator[tuple[Any, str]]:
        """Yield the samples, as JSON or what is read of it, each with its place."""
        raise NotImplementedError

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
    elif path.suffix.lower() == ".json" and (content := _in_json(path)) is not None:
        log = _Plain(path, content)
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
    def header(self) -> LogHeader:
        """See `InspectLog`."""
        name = next((name for name in (_HEADER, _START) if name in self._members), None)
        if name is None:
            inside = ", ".join([*self._members][:_SHOWN]) or "nothing"
            raise DataError(f"{self}: a zip that holds no Inspect log: neither {_HEADER} nor {_START} is in it, but {inside}")  # fmt: skip
        content = self._unpacked(name)
        if name == _START and not any(_WHOLE.fullmatch(member) or _SHELL.fullmatch(member) for member in self._members):
            task = _read(content, LogHeader, f"{self}, {name}", "is no header of an Inspect log").eval.task
            raise DataError(f"{self}: an unfinished log of {task or 'an evaluation'} that holds the journal of its beginning and no samples")  # fmt: skip
        return _header(
            _read(content, dict[str, Any], f"{self}, {name}", "is no header of an Inspect log"), f"{self}, {name}"
        )

    def _unpacked(self, name: str) -> bytes:
        try:
            return self._archive.read(self._members[name])
        except OSError as error:
            raise DataError(f"{self}: {error.strerror or error}") from error

    def _contents(self) -> Iterator[tuple[Any, str]]:
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

    def _joined(self, prefix: str) -> dict[str, Any]:
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
        return shell

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
    """A log in JSON, which is held as a whole."""

    def __init__(self, path: Readable, content: dict[str, Any]) -> None:
        super().__init__(path)
        self._log = content

    @cached_property
    def header(self) -> LogHeader:
        """See `InspectLog`."""
        return _header(self._log, str(self))

    def _contents(self) -> Iterator[tuple[Any, str]]:
        samples = self._log.get("samples")
        for number, content in enumerate(samples if isinstance(samples, list) else [], 1):
            yield content, f"{self}, sample {number}"


def _in_json(path: Readable) -> dict[str, Any] | None:
    """Read a log in JSON: an object that names a version and an evaluation, and nothing that no log has; None where it is none."""
    try:
        if isinstance(path, Path):
            with path.open("rb") as file:
                if not _BEGINNING.match(file.read(1 << 16)):
                    return None
        content = bounds.content(path, bounds.FILE) if isinstance(path, Path) else path.read_bytes()
    except OSError as error:
        if error.errno != errno.EFBIG:
            return None  # whoever reads it says so
        raise DataError(f"{path}: {error.strerror}; `inspect log convert --to eval` makes a log of which one sample is read at a time") from error  # fmt: skip
    if not (match := _BEGINNING.match(content)) or match[1].decode() not in _KEYS:
        return None
    try:
        log = _read(content.removeprefix(b"\xef\xbb\xbf"), dict[str, Any], str(path), "is no Inspect log")
    except DataError:
        return None  # whoever reads JSON names the line
    return log if {"version", "eval"} <= log.keys() <= _KEYS else None


def _header(raw: dict[str, Any], place: str) -> LogHeader:
    """Read a header; where its version is not known, only that, since all else may have changed."""
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
