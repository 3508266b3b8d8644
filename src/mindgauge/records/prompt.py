"""Prompts are Markdown files with `{slots}`. Slots are filled once, and untrusted text stands inside a fence.

What a person or a model wrote may hold anything: `{answer}`, a fake verdict, a line that says "end of reply".
So slots are filled in one pass (a filled text is never read again), and untrusted text is fenced with a nonce
that its author could not know (`Nonces`). It is left out of `Prompt` hashes and call keys.
"""

from __future__ import annotations

import hashlib
import os
import re
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds
from mindgauge.records.records import Message, digest
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

NONCE = 16
"""Signs of a nonce."""
_BRACED = re.compile(r"(?<!\{)(\{++)([A-Za-z_]++)(\}+)")
_SLOT = re.compile(r"[a-z_]+")
_SPACED = re.compile(r"\{(?=[ \t]|\w+[ \t])[ \t]*([A-Za-z_]+)[ \t]*\}")
_SPEAKER = {"user": "Person", "assistant": "Assistant", "system": "System"}


class Prompt(msgspec.Struct, frozen=True):
    """A prompt's text with its slots. Around a word, `{{` and `}}` are braces themselves, as in Python's `format`."""

    text: str

    @property
    def slots(self) -> frozenset[str]:
        """The names in braces."""
        return frozenset(filter(_SLOT.fullmatch, self._single))

    @property
    def _single(self) -> list[str]:
        """The words in single braces, slots among them."""
        return [m[2] for m in _BRACED.finditer(self.text) if min(len(m[1]), len(m[3])) % 2]

    @property
    def hash(self) -> str:
        """Hash of the text; a changed word is another prompt."""
        return digest("prompt", self.text)

    def fill(self, slots: Mapping[str, str]) -> str:
        """Fill every slot once; what is filled in is not looked at again.

        Raises:
            KeyError: a slot has no filling.
        """
        return _BRACED.sub(lambda match: _filled(match, slots), self.text)

    @classmethod
    def load(cls, path: Path, slots: Iterable[str]) -> Prompt:
        """Read a prompt that may use these slots; the one line end that closes the file is no part of it, and all else is.

        Raises:
            UsageError: the file cannot be read, says nothing, or names a slot that will not be filled.
        """
        try:
            prompt = cls(bounds.content(path, bounds.SETTINGS).decode().removesuffix("\n").removesuffix("\r"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: cannot read the prompt ({error})") from error
        if not prompt.text.strip():
            raise UsageError(f"{path}: the prompt is empty; write its words, or remove the file")
        names = frozenset(slots)
        unknown = prompt.slots - names
        if unknown:
            name, listed = min(unknown), ", ".join(sorted(names))
            raise UsageError(
                f"{path}: no slot {{{name}}}; a prompt here may use {listed}; for the word in braces write {{{{{name}}}}}"
            )
        singles = [(f"{{{word}}}", word) for word in prompt._single if word not in names]
        for source, word in (*singles, *((match[0], match[1]) for match in _SPACED.finditer(prompt.text))):
            if word.casefold() in names:
                raise UsageError(f"{path}: {source} is no slot; write {{{word.casefold()}}}")
        return prompt


def _filled(match: re.Match[str], slots: Mapping[str, str]) -> str:
    """Write a word in braces: each pair of two braces is one, and a single pair within them makes the word a slot."""
    opening, word, closing = match.groups()
    count = min(len(opening), len(closing))
    if count % 2 and not _SLOT.fullmatch(word):
        return match[0]
    half = (count + 1) // 2
    return f"{opening[half:]}{slots[word] if count % 2 else word}{closing[half:]}"


class Nonces:
    """Draws the nonces of one rater at work.

    A model under test sees nonces, too: those of the closed questions that it is asked, and of the replies that it judges.
    So every rater draws from a secret of its own, which is made after the texts that it will fence were written, or at
    least before it was shown to anybody; and whatever a text says, it holds no nonce that fences it.

    Requests that are filed for a person have the same nonces in every command, so their secret is kept in the run. Such a
    nonce also depends on the texts that it fences: whatever is written later gets another one.
    """

    def __init__(self, secret: bytes = b"") -> None:
        """Take the secret that a run keeps, of at most 64 bytes, or make one that nothing keeps."""
        self._kept = bool(secret)
        self._secret = secret or os.urandom(16)

    def draw(self, subject: str, *folded: str) -> str:
        """Return the nonce for one subject: unguessable, the same for all calls about it, in none of the texts.

        Calls about one subject share it so that their common beginning can come from a server's cache.

        Args:
            subject: what the calls are about.
            folded: letters and digits of the texts that it will fence, in lower case.
        """
        for attempt in count():
            name = " ".join((str(attempt), subject, *(folded if self._kept else ()))).encode(errors="replace")
            nonce = hashlib.blake2b(name, key=self._secret, digest_size=NONCE // 2).hexdigest()
            if not any(nonce in text for text in folded):
                return nonce
        raise AssertionError("texts are finite")


def fence(name: str, text: str, nonce: str) -> str:
    """Stand what is visible of untrusted text inside a fence that its author could not write."""
    return f"<{name} {nonce}>\n{visible(text)}\n</{name} {nonce}>"


def transcript(messages: Iterable[Message], nonce: str = "") -> str:
    """Write a dialogue as text, one speaker a paragraph; with a nonce, turns are numbered so that none can be faked."""
    numbers = (f"[{number} {nonce}] " if nonce else "" for number in count(1))
    turns = zip(numbers, messages, strict=False)
    return "\n\n".join(f"{number}{_SPEAKER[message.role]}: {message.content}" for number, message in turns)
