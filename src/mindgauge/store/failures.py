"""How failures are said: of a run's database in one line with what to do, and of calls by what went wrong.

Servers put the id of a request, a time or a count into what they say, and an answer that cannot be read is quoted. Two
failures have one reason if they differ in nothing else. The status that a message begins with stays: 429 is not 500.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_DAMAGED = {11, 26}
"""SQLite's codes for a page that makes no sense, and for a file that is no database."""
_NO_TEXT = "Could not decode to UTF-8"
"""How Python's driver begins what it says of a text that is none; it has no code."""
PENDING = "pending"
"""The folder within a run's in which texts wait for the end of a command, where the run keeps none."""
DAMAGING = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What SQLite raises where a file is damaged, among other reasons."""
_LONGEST = 300
"""Characters of what is said to be wrong."""


@contextlib.contextmanager
def sound(path: Path) -> Iterator[None]:
    """Say in one line, as a `UsageError`, that a run's file is damaged, and what to do."""
    try:
        yield
    except DAMAGING as error:
        raise as_damage(path, error) from error


def as_damage(path: Path, error: Exception) -> UsageError:
    """Return what is said of a damaged file where an error means that; any other is raised as it is."""
    if not _damaged(error):
        try:
            raise error
        finally:
            del error  # its traceback has this frame, so it would hold itself, and the file open
    return damaged(path, error)


def damaged(path: Path, error: object) -> UsageError:
    """Return what is said of a damaged file."""
    if _no_text(error):  # what stands there may be what somebody said
        error = "a text in it is none"
    reason = " ".join(str(error).split())[:_LONGEST]  # SQLite repeats what the file's schema says
    return UsageError(f"{path}: damaged ({reason}); {salvaged(path)}")


def salvaged(path: Path) -> str:
    """Return what to do with a damaged file."""
    run = path.parent.parent if path.parent.name == PENDING else path.parent
    return f"save what can be read with `{command_line('status', run, '--salvage', 'NEW')}`"


def _damaged(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED or _no_text(error)


def _no_text(error: object) -> bool:
    """Say whether a text in a file, or what SQLite says of one, is not UTF-8."""
    return isinstance(error, UnicodeDecodeError) or str(error).startswith(_NO_TEXT)


@contextlib.contextmanager
def one_line(path: Path) -> Iterator[None]:
    """Say in one line, as a `MindgaugeError`, that the disk is full or the database cannot be written."""
    try:
        yield
    except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
        if _damaged(error):
            raise damaged(path, error) from error
        advice = f"everything finished before is kept: {private.remedy(path, error)}, then run the same command again"
        raise MindgaugeError(f"{path}: {error}; {advice}") from error


_STATUS = re.compile(r"\A\d{3}: ")
_ANSWER = re.compile(r"(?<=: )[{\[<].*", re.DOTALL)
"""What quotes an answer: it ends a message."""
_IDENT = re.compile(r"[\w-]*\d(?:[\w-]|[,.]\d)*|[\w-]{24,}")
"""A number, a word with a digit in it, or one so long that it is none."""


class CallFailures(NamedTuple):
    """Calls to one model that failed for one reason."""

    model: str
    example: str
    """What was said most often."""
    calls: int
    variants: int
    """In how many ways it was said: more than one where ids, numbers or quoted answers differ."""

    @property
    def words(self) -> str:
        """The same in words: `bot (12 times, worded alike): 500: request 7 was lost`."""
        times = f"{self.calls:,} {'time' if self.calls == 1 else 'times'}"
        return f"{self.model} ({times}{', worded alike' if self.variants > 1 else ''}): {self.example}"


def reason_of(error: str) -> str:
    """Return what went wrong, without what is of one call alone: ids, numbers, and the answer that is quoted."""
    status = _STATUS.match(error)
    start = status[0] if status else ""
    return start + _IDENT.sub("#", _ANSWER.sub("#", error[len(start) :]))


def grouped(rows: Iterable[tuple[str, str, int]]) -> list[CallFailures]:
    """Put failures together by model and reason, the most frequent first.

    Args:
        rows: model, what was said, and in how many calls.
    """
    groups: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for model, error, calls in rows:
        groups[model, reason_of(error)][error] += calls
    failures = [
        CallFailures(model, min(messages, key=lambda error: (-messages[error], error)), messages.total(), len(messages))
        for (model, _), messages in groups.items()
    ]
    return sorted(failures, key=lambda group: (-group.calls, group.model, group.example))
