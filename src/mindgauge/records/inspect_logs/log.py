"""Opening a log: a zip (`.eval`, packed in any way that Inspect packs) or JSON. Of a zip samples are read one by one, each time anew.

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
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder
from mindgauge.records.files.folder import Archive
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mindgauge.records.files.folder import Readable

ENDING = ".eval"
VERSION = 2
"""The version of the schema that is read."""
UNCHANGED = "UNCHANGED"
"""What an edit says of a part of a score that it leaves as it is."""
_HEADER, _START = "header.json", "_journal/start.json"
_SHELL = regex(r"samples/.+_epoch_\d+/sample\.json", re.DOTALL)
"""Of a sample that `inspect log convert-chunked` took into pieces."""
_WHOLE = regex(r"samples/.+_epoch_\d+\.json", re.DOTALL)
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
    """All of a log but its samples."""

    eval: LoggedTask
    status: str = "started"


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
    """One sample, once: `epoch` counts from 1."""

    id: int | str
    epoch: int = 1
    input: str | list[dict[str, Any]] = ""
    target: Any = ""
    messages: list[dict[str, Any]] = []
    output: LoggedOutput = LoggedOutput()
    scores: dict[str, LoggedScore] | None = None
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


class InspectLog:
    """A log, of which the samples are read as they are asked for, each time anew."""

    def __init__(self, path: Readable, header: LogHeader, contents: Callable[[], Iterator[tuple[str, Any]]]) -> None:
        """Take what is read of it; `contents` yields its samples, as JSON or what is read of it, each with its place."""
        self.path, self.name, self.stem, self.header = path, path.name, path.stem, header
        self._contents = contents

    def __str__(self) -> str:
        return str(self.path)

    def entries(self) -> Iterator[tuple[int, LoggedSample, str]]:
        """Yield the samples, one after the other, each with its number, from 1, and what messages call it.

        Raises:
            DataError: one cannot be read, or there is none.
        """
        number = 0
        for number, (place, content) in enumerate(self._contents(), 1):
            read = _read if isinstance(content, bytes) else _converted
            yield number, read(content, LoggedSample, place, "is no sample of an Inspect log"), place
        if not number:
            unfinished = "" if self.header.status == "success" else f", which did not finish ({self.header.status})"
            raise DataError(f"{self}: no samples in this log of {self.header.eval.task or 'an evaluation'}{unfinished}")

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
    suffix = path.suffix.lower()
    if suffix == ENDING:
        raw, contents = _zipped(path)
    elif suffix == ".json" and (log := _in_json(path)) is not None:
        samples = log["samples"] if isinstance(log.get("samples"), list) else []
        raw, contents = log, lambda: ((f"{path}, sample {number}", part) for number, part in enumerate(samples, 1))
    else:
        return None
    version = raw.get("version")
    if version != VERSION:
        raise DataError(f"{path}: an Inspect log of schema version {version}, and version {VERSION} is read; write it anew with an inspect-ai of this, or take a newer mindgauge")  # fmt: skip
    return InspectLog(path, _converted(raw, LogHeader, str(path), "has no header of an Inspect log"), contents)


def _zipped(path: Readable) -> tuple[dict[str, Any], Callable[[], Iterator[tuple[str, Any]]]]:
    """Open a zip with a member for each sample; return its header, and what reads the samples."""
    try:
        archive = Archive(path, folder.PACKED)
    except DataError as error:
        if isinstance(error.__cause__, zipfile.BadZipFile):
            raise DataError(f"{path}: not an Inspect log, or one that is cut off: an .eval file is a zip, and the end of one is missing here; copy it again") from error  # fmt: skip
        raise
    members = {entry.filename: entry for entry in archive.entries}

    def unpacked(name: str) -> bytes:
        try:
            return archive.read(members[name])
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or error}") from error

    head = next((name for name in (_HEADER, _START) if name in members), None)
    if head is None:
        inside = ", ".join([*members][:_SHOWN]) or "nothing"
        raise DataError(f"{path}: a zip that holds no Inspect log: neither {_HEADER} nor {_START} is in it, but {inside}")  # fmt: skip
    if any(_SHELL.fullmatch(name) for name in members):
        raise DataError(f"{path}: a log whose samples are in pieces, which are not read; `inspect log convert --to eval` puts them together")  # fmt: skip
    samples = [name for name in members if _WHOLE.fullmatch(name)]
    header = _read(unpacked(head), dict[str, Any], f"{path}, {head}", "is no header of an Inspect log")
    return header, lambda: ((f"{path}, {name}", unpacked(name)) for name in samples)


def _in_json(path: Readable) -> dict[str, Any] | None:
    """Read a log in JSON: an object that names a version and an evaluation, and nothing that no log has; None where it is none."""
    try:
        if isinstance(path, Path):
            with path.open("rb") as file:
                begins = _BEGINNING.match(file.read(1 << 16))
            if not begins or begins[1].decode() not in _KEYS:
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
