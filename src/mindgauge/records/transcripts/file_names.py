"""What the names of files say of the transcripts in them: `--map file=*/{id}_{persona}_run{run}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files.mapping import TAG
from mindgauge.records.transcripts import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.transcripts.transcript import Transcript

_PART = re.compile(r"\{([^{}]*)\}|(\*)")


class NamePattern:
    """A pattern of file names: `{NAME}` is what is known of a transcript, `*` is anything within a folder's or file's name."""

    def __init__(self, text: str) -> None:
        """Read it.

        Raises:
            UsageError: it names nothing, or nothing that is known of a transcript, or something twice.
        """
        self.text, self.names = text, [name for name, _ in _PART.findall(text) if name]
        wrong = [name for name in self.names if name not in rows.KNOWN and not name.startswith(TAG)]
        if wrong or not self.names or len({*self.names}) < len(self.names):
            reason = (
                f"{wrong[0]!r} is not known of a transcript"
                if wrong
                else "it names something twice"
                if self.names
                else "it names nothing"
            )
            raise UsageError(
                f"--map file={text}: {reason}; write what the files are called, such as {{id}}_{{persona}}_run{{run}}, with any of {', '.join(rows.KNOWN)}, {TAG}…, and * for the rest"
            )
        pieces = _PART.split(text)  # text, name, star, text, …
        pattern = "".join(
            re.escape(piece or "")
            if position % 3 == 0
            else ""
            if piece is None
            else "([^/]+?)"
            if position % 3 == 1
            else "[^/]*?"
            for position, piece in enumerate(pieces)
        )
        self._pattern = re.compile(pattern)

    def applied(self, transcripts: Sequence[Transcript], place: str, label: object) -> list[Transcript]:
        """Return the transcripts of a file with what its name says, where they do not say it themselves.

        Args:
            transcripts: of the file.
            place: its path below the folder, without its ending; of a pattern without folders, only its name counts.
            label: how messages call it.

        Raises:
            DataError: the name is not of this pattern.
        """
        subject = place if "/" in self.text else place.rpartition("/")[2]
        match = self._pattern.fullmatch(subject)
        if match is None:
            raise DataError(f"{label}: the name is not as --map file={self.text} says; write * for what differs")
        cells: dict[str, Any] = dict(zip(self.names, match.groups(), strict=True))
        fields = rows.of_row(cells, str(label))
        return [_with(transcript, fields, alone=len(transcripts) == 1) for transcript in transcripts]


def _with(transcript: Transcript, fields: dict[str, Any], *, alone: bool) -> Transcript:
    changes: dict[str, Any] = {
        name: fields[name] for name in ("model", "run", "cluster") if fields[name] and not getattr(transcript, name)
    }
    if alone and fields["named"] and not transcript.named:
        changes |= {"id": fields["id"], "named": True}
    return msgspec.structs.replace(transcript, tags={**fields["tags"], **transcript.tags}, **changes)
