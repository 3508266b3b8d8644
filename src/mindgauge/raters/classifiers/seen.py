"""Which dialogues a classifier learned from or was chosen on, as digests: its scores on them are no test of it.

No text is kept. A digest does not tell what was said; who has a text can see whether it was there.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from mindgauge.raters.classifiers import form
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mindgauge.records import Sample

FILE = "seen.json"
How: TypeAlias = Literal["text", "dialogue", "no"]
"""Seen as it is, as another piece of a dialogue that it comes from too, or not at all."""

_BETWEEN = re.compile(r"[\W_]+")


class TrainingDigests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Digests of whole dialogues (`texts`), and of what another dialogue has in common with them (`shared`).

    Dialogues are the same that differ in width, letter case, blanks, punctuation and characters nobody sees only. They
    come from one talk if they answer the same turns, or share a long turn of the person or a long last turn, as when
    training and test data are kept apart (`parts`). Clusters do not count: two files may number theirs alike.
    """

    texts: frozenset[str]
    shared: frozenset[str]

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> TrainingDigests:
        """Take the digests of samples."""
        marks = [_marks(sample) for sample in samples]
        return cls(frozenset(text for text, _ in marks), frozenset().union(*(shared for _, shared in marks)))

    def how(self, sample: Sample) -> How:
        """Say how a dialogue was seen."""
        text, shared = _marks(sample)
        return "text" if text in self.texts else "dialogue" if not shared.isdisjoint(self.shared) else "no"

    def __or__(self, other: TrainingDigests) -> TrainingDigests:
        return TrainingDigests(self.texts | other.texts, self.shared | other.shared)

    def save(self, folder: Path) -> None:
        """Write the digests beside the weights, in their own order, which is none of the dialogues'."""
        private.write(folder / FILE, msgspec.json.encode(self, order="deterministic"))

    @classmethod
    def load(cls, folder: Path) -> TrainingDigests | None:
        """Read the digests; None where a classifier has none, and nobody knows what it learned from.

        Raises:
            UsageError: the file is damaged.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            return msgspec.json.decode(bounds.content(path), type=cls)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{path}: damaged ({error}); copy the whole folder again, or train again") from error


def _marks(sample: Sample) -> tuple[str, set[str]]:
    turns = [(turn.role, _letters(turn.content)) for turn in form.dialogue(sample)]
    last = len(turns) - 1
    shared = {
        _digest("turn", role, text)
        for place, (role, text) in enumerate(turns)
        if (role == "user" or place == last) and form.telling(text)
    }
    if turns[-1][0] == "assistant" and last:
        shared.add(_digest("answered", *(part for turn in turns[:-1] for part in turn)))
    return _digest("text", *(part for turn in turns for part in turn)), shared


def _letters(text: str) -> str:
    """Return letters and digits of a text, or all of it where it has none."""
    plain = form.plain(text)
    return _BETWEEN.sub("", plain) or plain


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
