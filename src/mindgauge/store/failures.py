"""How failures of a run's database are said: in one line, with what to do."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    return f"save what can be read with `{command_line('salvage', run, '--out', 'NEW')}`"


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
