"""A log in JSON, cut into its parts without being read as a whole: what is held at a time is one part, or one sample."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.files.folder import Readable

_KEYS = frozenset(
    [
        "version",
        "status",
        "eval",
        "plan",
        "results",
        "stats",
        "error",
        "invalidated",
        "log_updates",
        "config_updates",
        "tags",
        "metadata",
        "samples",
        "reductions",
        "location",
        "etag",
    ]
)
"""Of a log, in the order in which Inspect writes them."""
SAMPLES = "samples"
_CHUNK = 1 << 20
_TOKEN = regex(rb'"(?:[^"\\]|\\.)*+(?P<end>")?|[{}\[\]]', re.DOTALL)
"""A text, the beginning of a text whose end is still to come, or a bracket."""
_BLANK = regex(rb"[\s]*")
_SCALAR = regex(rb"[^\s,\]}]+")


def is_log(path: Readable) -> bool:
    """Whether a file of JSON is a log: an object that names a version and an evaluation, and nothing that no log has."""
    try:
        with _opened(path) as file:
            beginning = file.read(1 << 16)
    except OSError:
        return False  # whoever reads it says so
    match = re.match(rb'\s*\{\s*"(\w+)"', beginning.removeprefix(b"\xef\xbb\xbf"))
    if match is None or match[1].decode() not in _KEYS:
        return False
    try:
        keys = set()
        for key, _ in _pairs(path):
            keys.add(key)
            if {"version", "eval"} <= keys or key not in _KEYS or key == SAMPLES:
                break
    except DataError:
        return False
    return {"version", "eval"} <= keys <= _KEYS


def parts(path: Readable) -> Iterator[tuple[str, bytes]]:
    """Yield the parts of a log that stand beside its samples, as JSON.

    Raises:
        DataError: it is cut off, or a part is larger than is read.
    """
    yield from ((key, content) for key, content in _pairs(path) if key != SAMPLES)


def samples(path: Readable) -> Iterator[bytes]:
    """Yield the samples of a log, as JSON.

    Raises:
        DataError: as `parts`.
    """
    yield from (content for key, content in _pairs(path, singly=True) if key == SAMPLES)


def _opened(path: Readable) -> IO[bytes]:
    if isinstance(path, Path):
        bounds.check(path, folder.PACKED)
        return path.open("rb")
    return io.BytesIO(path.read_bytes())


def _pairs(path: Readable, *, singly: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield keys and values of an object; with `singly`, of the samples one after the other, else without what they hold."""
    try:
        with _opened(path) as file:
            text = _Text(file, path)
            text.expect(b"{")
            while text.peek() == b'"':
                key = text.value()[1:-1].decode("utf-8", "replace")
                text.expect(b":")
                if key == SAMPLES and text.peek() == b"[":
                    text.expect(b"[")
                    while text.peek() != b"]":
                        if singly:
                            yield key, text.value()
                        else:
                            text.skip()
                        if text.peek() == b",":
                            text.expect(b",")
                    text.expect(b"]")
                    yield from () if singly else [(key, b"")]
                else:
                    yield key, text.value()
                if text.peek() != b",":
                    break
                text.expect(b",")
            text.expect(b"}")
    except OSError as error:
        raise DataError(f"{path}: cannot read it ({error.strerror or error})") from error


class _Text:
    """A file of JSON, read on as far as it is needed."""

    def __init__(self, file: IO[bytes], path: Readable) -> None:
        self._file, self._path = file, path
        self._held = bytearray(file.read(_CHUNK).removeprefix(b"\xef\xbb\xbf"))
        self._place = 0
        self._ended = False

    def _more(self) -> None:
        part = self._file.read(max(_CHUNK, len(self._held)))  # a long text is looked through again, so seldom
        if not part:
            raise DataError(f"{self._path}: a log that is cut off: its JSON ends in the middle; copy it again")
        self._held += part

    def peek(self) -> bytes:
        """Return the next character that is no blank."""
        while True:
            match = _BLANK.match(self._held, self._place)
            assert match is not None
            self._place = match.end()
            if self._place < len(self._held):
                return bytes(self._held[self._place : self._place + 1])
            self._more()

    def expect(self, mark: bytes) -> None:
        """Go on behind a character.

        Raises:
            DataError: another stands there.
        """
        if self.peek() != mark:
            raise DataError(f"{self._path}: broken JSON (expected {mark.decode()!r})")
        self._place += 1

    def value(self) -> bytes:
        """Return the next value, as it is written."""
        first = self.peek()
        del self._held[: self._place]
        self._place = 0
        end = self._end(first, keep=True)
        self._refuse_large(end)
        content = bytes(self._held[:end])
        self._place = end
        return content

    def _refuse_large(self, size: int) -> None:
        if size > bounds.FILE:
            raise DataError(f"{self._path}: one of its parts or samples has more than {bounds.FILE // bounds.MIB:,} MiB, the most that are read")  # fmt: skip

    def skip(self) -> None:
        """Go on behind the next value, of which no more is held than is looked at."""
        first = self.peek()
        del self._held[: self._place]
        self._place = 0
        self._place = self._end(first, keep=False)

    def _end(self, first: bytes, *, keep: bool) -> int:
        """Return where the value ends that begins what is held."""
        if first not in b'{["':
            return self._end_of_scalar()
        depth = place = 0
        while True:
            match = _TOKEN.search(self._held, place)
            token = match[0] if match else b""
            if match is None or (token[:1] == b'"' and not match["end"]):
                place = match.start() if match else len(self._held)
                if not keep:
                    del self._held[:place]
                    place = 0
                self._refuse_large(len(self._held))
                self._more()
                continue
            place = match.end()
            if token in (b"{", b"["):
                depth += 1
            elif token in (b"}", b"]"):
                depth -= 1
            if not depth:
                return place

    def _end_of_scalar(self) -> int:
        while True:
            match = _SCALAR.match(self._held)
            if match is None:
                raise DataError(f"{self._path}: broken JSON (a value is missing)")
            if match.end() < len(self._held):
                return match.end()
            self._more()
