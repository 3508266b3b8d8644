"""What is new in a folder of logs since the last look, and which of it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.records import digest, transcripts
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import tables
from mindgauge.records.rounding import plural
from mindgauge.records.transcripts.reading import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.records.transcripts.transcript import Transcript

LISTED = 5
"""Files that could not be read and are named at a look, at most."""
_ENDINGS = {*TEXTS, *tables.ENDINGS, ".zip", ".eval"}


class SeenDialogue(msgspec.Struct, frozen=True, array_like=True):
    """A dialogue that a look has met: the hash of its words then, and whether it was drawn."""

    words: str
    drawn: bool


class FileState(msgspec.Struct, frozen=True, array_like=True):
    """How a file was when it was read: its size in bytes, and when it was written."""

    size: int
    written: int


class NewDialogues(NamedTuple):
    """What is new: dialogues by their key, the files that were read, how many there are, and what could not be read."""

    dialogues: dict[str, Transcript]
    files: dict[str, FileState]
    present: int
    notes: list[str]


def new(
    source: Path, mapped: Mapping[str, str], files: Mapping[str, FileState], seen: Mapping[str, SeenDialogue]
) -> NewDialogues:
    """Return what is new. A file that is as it was is not read; one that cannot be read waits for the next look.

    A dialogue that went on is new again, unless it was drawn before.

    Args:
        source: a file or folder.
        mapped: as `transcripts.read` takes it.
        files: as they were at the last look.
        seen: the dialogues of all looks before.

    Raises:
        UsageError: there is no such file or folder, or a sample lies in it.
    """
    if not source.exists():
        raise UsageError(f"{source}: no such file or folder; name where your logs are written")
    dialogues: dict[str, Transcript] = {}
    read: dict[str, FileState] = {}
    faults = []
    present = _files(source)
    for path in present:
        name, state = str(path), _state(path)
        if state is None or files.get(name) == state:
            continue
        try:
            listed = transcripts.read(path, mapped).transcripts
        except DataError as error:
            faults.append(str(error))
            continue
        read[name] = state
        if any(transcript.drawn is not None for transcript in listed):
            raise UsageError(f"{path}: a sample that was drawn of logs; a watch draws its own, so name the folder of the logs themselves")  # fmt: skip
        for transcript in listed:
            key = _key(transcript)
            before = seen.get(key)
            if before is None or (not before.drawn and before.words != transcript.words):
                dialogues[key] = transcript
    return NewDialogues(dialogues, read, len(present), list(_unread(faults)))


def _unread(faults: Sequence[str]) -> Iterator[str]:
    """Say which files could not be read."""
    for fault in faults[:LISTED]:
        yield f"could not be read, and is tried again at the next look: {fault}"
    if len(faults) > LISTED:
        yield f"{plural(len(faults) - LISTED, 'more file')} could not be read, {plural(len(faults), 'file')} in all"


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    listed = (path for path in source.rglob("*") if path.suffix.lower() in _ENDINGS)
    return sorted(path for path in listed if path.is_file() and not path.name.startswith("."))


def _state(path: Path) -> FileState | None:
    """Return how a file is; None where it is gone by now, as logs are that are rotated."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return FileState(facts.st_size, facts.st_mtime_ns)


def _key(transcript: Transcript) -> str:
    """Return by what a dialogue is known again: the id that its file gives it, or else its words."""
    ident = ("id", transcript.id) if transcript.named else ("words", transcript.words)
    return digest("watch", *ident, transcript.model, transcript.run, transcript.cluster)[:16]


def drawn(dialogues: Mapping[str, Transcript], number: int, seed: int) -> list[str]:
    """Return the keys of so many dialogues, each as likely as any other; by the seed and the keys alone."""
    return sorted(sorted(dialogues, key=lambda key: digest("draw", seed, key))[:number])
