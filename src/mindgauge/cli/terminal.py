"""What reaches the terminal: text. The one place that all commands print through.

What a server answers, how a model is called and what stands in a file may hold control characters, which a terminal would
obey: it would move the cursor, change its title, or type. They are shown as escapes, which JSON reads back as they were.
Terminals that cannot show a character show an escape, or plainer punctuation. A workflow of GitHub obeys lines of text, too.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import select
import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from mindgauge.records.regex import regex
from mindgauge.records.short_names import short_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OBEYED = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
"""Controls of either set, directions, line ends that are none, halves of characters, and what shows nothing."""
_WORKFLOW = re.compile(r"^(?P<before>[^\S\n]*)(?P<first>:)(?=:)|(?P<second>#)(?=#\[)", re.MULTILINE)
"""What a workflow of GitHub takes for a command: `::error::…` at the beginning of a line, `##[error]…` anywhere."""
_PLAINER = {"…": "...", "–": "-", "—": "-", "−": "-", "×": "x", "·": "-", "→": "->", "≥": ">=", "≤": "<=", "‘": "'", "’": "'", "“": '"', "”": '"', "«": '"', "»": '"', "\xa0": " ", "\u202f": " "}  # fmt: skip
_ERRORS = "mindgauge.escape"
_SHORT_NAMES: ContextVar[dict[str, str]] = ContextVar("called", default={})  # noqa: B039 - replaced as a whole, never changed


@contextmanager
def short(names: Iterable[str]) -> Iterator[None]:
    """Call models by short names in all that is printed meanwhile."""
    token = _SHORT_NAMES.set(short_names(names))
    try:
        yield
    finally:
        _SHORT_NAMES.reset(token)


def plain(text: str) -> str:
    """Return a text with escapes in place of what a terminal would obey or nobody would see, and short names of models."""
    for address in sorted(_SHORT_NAMES.get(), key=len, reverse=True):
        text = text.replace(address, _SHORT_NAMES.get()[address])
    plainer = _OBEYED.sub(lambda match: escaped(match[0]), text)
    return _WORKFLOW.sub(_no_command, plainer) if in_workflow() else plainer


def _no_command(match: re.Match[str]) -> str:
    return f"{match['before'] or ''}{escaped(match['first'] or match['second'])}"


def in_workflow() -> bool:
    """Say whether a workflow of GitHub reads what is printed."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def escaped(text: str) -> str:
    """Write characters as JSON would escape them."""
    halves = text.encode("utf-16-be", errors="surrogatepass")
    return "".join(f"\\u{halves[offset]:02x}{halves[offset + 1]:02x}" for offset in range(0, len(halves), 2))


def shows(text: str) -> bool:
    """Say whether standard output can show every character of a text."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def styles() -> bool:
    """Say whether standard output shows bold letters: a terminal that obeys ANSI's controls."""
    return sys.stdout.isatty() and os.name != "nt" and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}


def guard() -> None:
    """Let everything that is printed from here on go through `plain`, and end in no error where it cannot be shown."""
    codecs.register_error(_ERRORS, _shown_instead)
    sys.stdout, sys.stderr = _guarded(sys.stdout or _nowhere()), _guarded(sys.stderr or _nowhere())


def fault(stream: TextIO) -> OSError | None:
    """Return why a standard stream could not be written, other than that its reader has left; None if it could."""
    file = _file(direct(stream))
    return file.fault if isinstance(file, _StandardFile) and not file.left else None


def left(seconds: float) -> bool:
    """Wait, unless who reads standard output has left or leaves meanwhile; say whether they have."""
    file = _file(direct(sys.stdout))
    if not isinstance(file, _StandardFile):
        time.sleep(seconds)
        return False
    waiting = select.poll()
    waiting.register(file, 0)  # which tells of the other end alone
    return file.left or bool(waiting.poll(seconds * 1000))


def _nowhere() -> TextIO:
    """Return a stream in place of one that was closed before we began."""
    return Path(os.devnull).open("w", encoding="utf-8")


def direct(stream: TextIO) -> TextIO:
    """Return the stream beneath, for what draws with controls of its own and cleans what it draws."""
    return stream.beneath if isinstance(stream, _Guarded) else stream


def one_reader() -> bool:
    """Say whether results and messages go to one place: the same terminal, pipe or file."""
    try:
        output, error = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    except (OSError, ValueError, AttributeError):  # a stream without a file, closed, or none at all
        return False
    return (output.st_dev, output.st_ino) == (error.st_dev, error.st_ino)


class _StandardFile(io.FileIO):
    """The file beneath a standard stream. What cannot be written to it is dropped, and the command goes on to its end."""

    fault: OSError | None = None

    @property
    def left(self) -> bool:
        """Whether its reader has left."""
        return self.fault is not None and self.fault.errno in {errno.EPIPE, errno.ECONNRESET}

    def write(self, content: Any) -> int:
        """Write as much as can be."""
        try:
            return len(content) if self.fault is not None else super().write(content)
        except OSError as error:
            self.fault = error
            return len(content)


def _file(stream: TextIO) -> Any:
    buffer = getattr(stream, "buffer", None)
    return getattr(buffer, "raw", buffer)


class _Guarded:
    """A stream that writes plain text, and is in everything else the one beneath."""

    def __init__(self, beneath: TextIO) -> None:
        self.beneath = beneath

    def write(self, text: str) -> int:
        self.beneath.write(plain(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


def _guarded(stream: TextIO) -> TextIO:
    if isinstance(stream, _Guarded):
        return stream
    if isinstance(_file(stream), io.FileIO) and stream.fileno() in {1, 2}:
        file = _StandardFile(stream.fileno(), "wb", closefd=False)
        unbuffered = stream.buffer is _file(stream)
        stream = io.TextIOWrapper(
            cast("Any", file) if unbuffered else io.BufferedWriter(file), stream.encoding,
            line_buffering=bool(stream.line_buffering), write_through=unbuffered or stream is sys.stderr,
        )  # fmt: skip
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=_ERRORS)
    return cast("TextIO", _Guarded(stream))


def _shown_instead(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding lacks; see `codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAINER.get(character) or escaped(character) for character in lacking), error.end
