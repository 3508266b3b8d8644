"""One writer at a time: the lock on a run, and whether this file system keeps any.

Some network file systems refuse locks, and some grant every one, so that two commands would pay for the same calls. A
lock that was taken is therefore tried once more, by a child process that must not get it: once for each file system
that a process writes to. Locks that hold on this machine alone, and not on another that has the same folder, look like
good ones from here.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "run.lock"
_LOOKS = (0.0, 0.02, 0.1, 0.3, 0.6)
"""Seconds between tries to become the writer; who looks whether there is one holds the lock for an instant, who answers in
`view` for a moment."""
_HELD = {errno.EAGAIN, errno.EACCES}
"""What is answered where somebody else holds a lock; anything else says that there are none."""
_TAKEN, _REFUSED = 11, 12
_CHILD: Final = f"""
import fcntl, os, sys
for kind, path in zip((fcntl.flock, fcntl.lockf), sys.argv[1:]):
    try:
        kind(os.open(path, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in {_HELD}:
            raise
    else:
        sys.exit({_TAKEN})
sys.exit({_REFUSED})
"""
NONE = "this file system keeps no locks"
_PATIENCE = 30
"""Seconds that the child may take."""
_lockable: set[int] = set()
"""The devices whose locks hold."""


class NoLocksError(UsageError):
    """The file system keeps no locks."""


class LockedRunError(UsageError):
    """Another process is writing the run."""


def taken(handle: int, path: Path, kind: int) -> bool:
    """Try to take a lock; False where somebody else has it.

    Args:
        handle: the open file.
        path: its name, for the message.
        kind: `fcntl.LOCK_EX` or `fcntl.LOCK_SH`.

    Raises:
        NoLocksError: the file system has none.
    """
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise _none(path, f"it answers: {error.strerror}") from error
    return True


def lock(folder: Path) -> int:
    """Become the only writer of a run; the kernel lets go when the process ends, however it ends.

    Raises:
        UsageError: another process writes it, it cannot be written, or nothing would keep another from writing it, too.
    """
    private.folder(folder)  # what people said is nobody else's to read
    with private.writing(folder):
        handle = private.opened(folder / FILE, os.O_RDWR | os.O_CREAT)
        try:
            _wait(handle, folder)
            check(folder, handle)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except BaseException:
            os.close(handle)
            raise
    return handle


def _wait(handle: int, folder: Path) -> None:
    for pause in _LOOKS:
        time.sleep(pause)
        if taken(handle, folder, fcntl.LOCK_EX):
            return
    raise LockedRunError(
        f"{folder}: another process ({_holder(handle)}) is writing this run; wait for it or choose another --out"
    )


@contextlib.contextmanager
def made_whole(folder: Path, otherwise: str = "serve what is here") -> Iterator[Path]:
    """Give a folder next to it to work in, which becomes this one in the end; nothing is left of it if anything fails.

    Raises:
        UsageError: something is there already, or the file system has no locks.
    """
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder}: something is here already; choose a new folder, or {otherwise}")
    path = folder.resolve()
    with private.writing(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        check(path.parent)
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
        try:
            yield draft
            draft.replace(path)
        except BaseException as error:
            shutil.rmtree(draft, ignore_errors=True)
            if isinstance(error, MindgaugeError):  # what it names is gone
                error.args = (str(error).replace(str(draft), str(folder)),)
            raise


def check(folder: Path, handle: int | None = None) -> None:
    """Check that the locks of a folder's file system hold, those that SQLite uses, too.

    Args:
        folder: where something is to be written.
        handle: the lock of the run there, held; a file is made for the while if there is none.

    Raises:
        NoLocksError: they do not, or there are none.
    """
    device = folder.stat().st_dev
    if device in _lockable:
        return
    with contextlib.ExitStack() as stack:
        try:
            by_record, record = stack.enter_context(_made(folder))
            by_file, path = (handle, folder / FILE) if handle is not None else stack.enter_context(_made(folder))
        except OSError:
            return  # nothing can be written here, which is said where it is tried
        if handle is None:
            taken(by_file, folder, fcntl.LOCK_EX)
        try:
            fcntl.lockf(by_record, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _none(folder, f"it answers: {error.strerror}") from error
        if _another_takes(path, record):
            raise _none(folder, "it grants the same lock twice")
    _lockable.add(device)


@contextlib.contextmanager
def nobody_writes(folder: Path) -> Iterator[bool]:
    """Keep writers away from a run while it is read; False where the file system has no locks, so that nothing can.

    Raises:
        UsageError: a process is writing it.
    """
    try:
        handle = private.opened(folder / FILE, os.O_RDONLY)
    except FileNotFoundError:
        yield True
        return
    try:
        try:
            free = taken(handle, folder, fcntl.LOCK_SH)
        except NoLocksError:
            yield False
            return
        if not free:
            raise UsageError(f"{folder}: another process is writing this run; wait for it, or end it")
        yield True
    finally:
        os.close(handle)


def missing(folder: Path) -> bool:
    """Say whether a run lies where there are no locks, so that SQLite would take it for locked by somebody."""
    try:
        handle = private.opened(folder / FILE, os.O_RDONLY)
    except (OSError, UsageError):
        return False
    try:
        taken(handle, folder, fcntl.LOCK_SH)
    except NoLocksError:
        return True
    finally:
        os.close(handle)
    return False


def writer(folder: Path) -> str | None:
    """Return the process that is writing a run now, by its id if that is known; None if nobody is, or nothing says."""
    try:
        handle = private.opened(folder / FILE, os.O_RDONLY)
    except (OSError, UsageError):
        return None
    try:
        return None if taken(handle, folder, fcntl.LOCK_SH) else _holder(handle)
    except NoLocksError:
        return None
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    return os.read(handle, 32).decode(errors="replace").strip() or "unknown"


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[tuple[int, Path]]:
    """Make an empty file for the while."""
    path = folder / f"{FILE}.{secrets.token_hex(8)}"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        yield handle, path
    finally:
        os.close(handle)
        path.unlink(missing_ok=True)


def _another_takes(*paths: Path) -> bool:
    """Say whether a child process can take locks that this one holds, on a whole file and on its bytes."""
    command = [sys.executable or "python3", "-I", "-S", "-c", _CHILD, *map(os.fspath, paths)]
    try:
        child = subprocess.run(command, check=False, capture_output=True, timeout=_PATIENCE)  # noqa: S603 - this Python, on our files
    except (OSError, subprocess.TimeoutExpired):
        return False  # no child can be had here, so nothing is known
    return child.returncode == _TAKEN


def _none(folder: Path, reason: str) -> NoLocksError:
    return NoLocksError(
        f"{folder}: {NONE} ({reason}), so two commands could write, and pay for, the same run at "
        "once; choose a folder on a disk of this machine, or a file system mounted with locks"
    )
