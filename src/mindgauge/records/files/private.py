"""Files and folders of ours: their owner's alone, never written through a link; sealed by a checksum; and what this machine remembers.

A folder may come from anybody, with links in it that lead elsewhere. So files are made new under a name that nobody has,
and put in their place in one step, which replaces a link and not what it leads to.

The checksum is zlib's CRC-32. It is no signature: who changes a file on purpose can compute it, too.

The folder is `$MINDGAUGE_STATE`, or `mindgauge` below `$XDG_STATE_HOME` or `~/.local/state`. Nothing that people or models
said stands there. What cannot be read or written is no reason to fail: it is then not known.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import shutil
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from zlib import crc32

import msgspec

from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator


_OURS = regex(
    r"run\.(sqlite|lock).*|manifest\.toml.*|report\.(html|json|md).*|report_reader|stress\.html|annotation\.(sqlite|toml).*|rubric\.toml.*"
    r"|rubrics|pending|export-.*|(?:blind|fence|page)\.key|view-draw-.*|reading\.jsonl"
)
"""What we write into the folder of a run or a project."""
LARGEST = 2**20
"""Bytes of a small file that is copied from a folder of somebody else."""
_NO_ROOM = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the quota is used up; free some space",
    errno.EFBIG: "the file would be larger than is allowed; raise `ulimit -f`, or choose another disk",
    errno.EIO: "the disk reports a fault; choose another disk",
}
"""Why something cannot be written although the request is right, and what to do."""
_LEAST = 64 << 10
"""Bytes that are free on a disk that is not full."""
_NUMBER = regex(r"\(os error (\d+)\)|\[Errno (\d+)\]")
"""How libraries in Rust and in Python write the number of the system's error in their own errors."""
_DEVICES = Path("/dev")
"""Where what looks like a file is a way to one that a process has open."""
_NAME = 50
"""Characters of a name that a draft's begins with: names have 255 bytes at most."""


def folder(path: Path) -> None:
    """Make a folder into which its owner alone can look, and what is ours in one that is there theirs alone, too.

    A folder in which anything else lies keeps its mode, since others may have reason to look into it; our files there are
    closed to them all the same.

    Raises:
        UsageError: it cannot be made.
        MindgaugeError: there is no room for it.
    """
    with writing(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = path.stat()
        if state.st_uid != os.geteuid():
            return
        inside = list(path.iterdir())
        own = [file for file in inside if _OURS.fullmatch(file.name) and not file.is_symlink()]
        for file in own:
            close(file)
        if len(own) == len(inside) and not state.st_mode & stat.S_ISVTX:
            close(path)


def close(path: Path) -> None:
    """Close a file or folder of ours to everybody but its owner. By name: to open a database here would drop its locks."""
    mode = path.stat().st_mode
    if mode & 0o077:
        with contextlib.suppress(PermissionError):  # another's, who let us write here
            path.chmod(0o700 if stat.S_ISDIR(mode) else 0o600)


def new(path: Path) -> None:
    """Make an empty file that is its owner's alone, where there is none, for a library that would make a public one.

    Raises:
        UsageError: a link stands here, or it cannot be made.
        MindgaugeError: there is no room for it.
    """
    refuse_link(path)
    with writing(path), contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))


def unwritten(place: Path, error: BaseException) -> MindgaugeError | None:
    """Return what is said where an error means that nothing can be written at a place; None where it means something else.

    Polars, safetensors and torch meet a full disk, too, and raise errors of their own, which quote or follow the system's.
    """
    if isinstance(error, MindgaugeError):
        return None
    number: int | None = None
    cause: BaseException | None = error
    while number not in _NO_ROOM and cause is not None:
        number = cause.errno if isinstance(cause, OSError) else None
        if number is None and (match := _NUMBER.search(str(cause))):
            number = int(match[1] or match[2])
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, OSError) and error.filename is not None:
        folder, other = (Path(os.fsdecode(name)).absolute() for name in (place.parent, error.filename))
        if folder not in other.parents and other not in (folder, *folder.parents):
            return None
    if number in _NO_ROOM:
        return MindgaugeError(f"{place}: cannot write here: {_NO_ROOM[number]}, then run the same command again")
    if isinstance(error, OSError) and error.errno is not None:
        reason = str(error.strerror).partition(";")[0]
        return UsageError(f"{place}: cannot write here ({reason}); choose another place")
    return None


def remedy(database: Path, error: object) -> str:
    """Return what to do where a database cannot be written; SQLite says of some full disks that they have a fault."""
    if "full" in str(error) or shutil.disk_usage(database.parent).free < _LEAST:
        return "free some space"
    return "see that the folder can be written, and that `ulimit -f` allows it"


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """Say in one line what cannot be written at a place, and why, whichever library meets it.

    Raises:
        UsageError: nothing can be written there.
        MindgaugeError: there is no room.
    """
    try:
        yield
    except Exception as error:
        problem = unwritten(place, error)
        if problem is None:
            raise
        raise problem from error


def write(path: Path, content: str | bytes) -> None:
    """Replace a file of which we are the only writer in one step, so that a kill leaves the old one or the new one; see `written`."""
    with written(path, alone=True) as file:
        file.write(content if isinstance(content, bytes) else content.encode(errors="replace"))


@contextlib.contextmanager
def written(path: Path, *, anew: bool = True, alone: bool = False) -> Iterator[IO[bytes]]:
    """Give a file to write, readable for its owner only, which takes its place when all of it is there, in a folder that may be new.

    Args:
        path: its place.
        anew: whether it may take the place of one that is there; if not, that one stays, and so does a folder that is missing.
        alone: whether nobody else writes this file meanwhile, so that what stands in the draft's place was left by a kill.

    Raises:
        UsageError: nothing can be written there.
        MindgaugeError: there is no room.
    """
    draft = path.with_name(f"{path.name}.new" if alone else f".{path.name[:_NAME]}.{secrets.token_hex(8)}")
    with writing(path):
        if alone:
            draft.unlink(missing_ok=True)  # a link that waits for us, too
        with contextlib.suppress(FileNotFoundError):
            bounds.refuse_other(path.stat(), path)
        if path.absolute().parent == _DEVICES:
            raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
        if anew:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with made(draft) as file:
            yield file
        try:
            if anew:
                draft.replace(path)
            else:
                with contextlib.suppress(FileExistsError):
                    os.link(draft, path, follow_symlinks=False)
        finally:
            draft.unlink(missing_ok=True)


class _WrittenFile(io.BufferedWriter):
    """A file that keeps the system's error, which a library that writes into it may replace by one that says nothing."""

    fault: OSError | None = None

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            self.fault = error
            raise


@contextlib.contextmanager
def made(path: Path) -> Iterator[IO[bytes]]:
    """Make a file, its owner's alone, where nothing is, for any library to write into; nothing is left of half a file.

    Raises:
        OSError: it cannot be written, whatever the library said.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with _WrittenFile(io.FileIO(handle, "wb")) as file:
            try:
                yield file
            except Exception as error:
                if file.fault is None:
                    raise
                raise file.fault from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def opened(path: Path, flags: int) -> int:
    """Open a file of ours in place and return its handle; one that is new is its owner's alone.

    Raises:
        UsageError: it is a link, or no file.
        OSError: it cannot be opened.
    """
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path}: not a file; remove it, and Mindgauge makes another")
    return handle


_SECRET = 32
"""Bytes."""


def secret(path: Path, advice: str) -> bytes:
    """Return the secret in a file of ours, which is made where there is none.

    Args:
        path: the file.
        advice: what to do after removing the file where it is damaged.

    Raises:
        UsageError: the secret cannot be written or read, or is damaged.
    """
    if not path.exists():
        with written(path, anew=False) as file:
            file.write(secrets.token_hex(_SECRET).encode())
    try:
        kept = bytes.fromhex(bounds.content(path, 4 * _SECRET, links=False).decode("ascii"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot read the secret ({getattr(error, 'strerror', error)})") from error
    if len(kept) != _SECRET:
        raise UsageError(f"{path}: damaged; put it back from a copy, or remove it and {advice}")
    return kept


def refuse_link(path: Path) -> None:
    """Refuse to write to what stands here if it leads elsewhere.

    Raises:
        UsageError: it is a link.
    """
    if path.is_symlink():
        raise UsageError(f"{path}: a link, and Mindgauge writes through none; remove it, or name its target")


def copy(source: Path, target: Path) -> None:
    """Copy a file to a place of ours, where it stands when all of it is there.

    Raises:
        UsageError: it cannot be written.
    """
    with source.open("rb") as content, written(target) as file:
        shutil.copyfileobj(content, file)


def remove(folder: Path) -> None:
    """Remove what we wrote into a folder, and the folder if nothing else is in it.

    Raises:
        OSError: it cannot be removed.
    """
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and (path.is_symlink() or path.is_file()):
            path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def copy_files(source: Path, target: Path) -> None:
    """Copy the small plain files of a folder into a new one, and nothing that a link leads to.

    Raises:
        OSError: they cannot be copied.
    """
    if source.is_symlink() or not source.is_dir():
        return
    folder(target)
    for path in sorted(source.iterdir()):
        copied(path, target / path.name)


def copied(source: Path, target: Path) -> bool:
    """Copy a small plain file, and say whether it is one; nothing that a link leads to is copied.

    Raises:
        OSError: it cannot be copied.
    """
    if source.is_symlink() or not source.is_file() or source.stat().st_size > LARGEST:
        return False
    write(target, source.read_bytes())
    return True


# TOML files of ours whose last line is a checksum of what stands before, as a comment, so that a changed digit is noticed.


_LINE = regex(rb"# checksum [0-9a-f]{8}\n\Z")


def seal(text: str | bytes) -> bytes:
    """Return a file's content: a text, and the line with its checksum; a line that is there already is replaced."""
    content = text if isinstance(text, bytes) else text.encode(errors="replace")
    content = _LINE.sub(b"", content)
    if content and not content.endswith(b"\n"):
        content += b"\n"
    return content + b"# checksum %08x\n" % crc32(content)


def read_sealed(path: Path, advice: str) -> bytes:
    """Read a file that was written with its checksum.

    Args:
        path: the file.
        advice: what to do where it is damaged.

    Raises:
        FileNotFoundError: there is none.
        UsageError: it is not as it was written, or cannot be read.
    """
    try:
        content = bounds.content(path, bounds.SETTINGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    if not _LINE.search(content):
        raise UsageError(
            f"{path}: damaged, changed by hand or by another version of Mindgauge (its last line is no checksum); {advice}"
        )
    if seal(content) != content:
        raise UsageError(f"{path}: damaged, or changed by hand (it does not match its checksum); {advice}")
    return content


# What this machine remembers between runs: small JSON files in the user's own state folder.


STATE_FOLDER = "MINDGAUGE_STATE"
T = TypeVar("T")


def _place() -> Path:
    named = os.environ.get(STATE_FOLDER)
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "mindgauge"


def read_state(name: str, kind: type[T]) -> T | None:
    """Return what a file holds; None where it is not there or holds something else."""
    with contextlib.suppress(OSError, RuntimeError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(bounds.content(_place() / name), type=kind)
    return None


def write_state(name: str, content: object) -> None:
    """Replace a file; only its owner can read it."""
    with contextlib.suppress(MindgaugeError, RuntimeError):  # RuntimeError: there is no home
        write(_place() / name, msgspec.json.encode(content))
