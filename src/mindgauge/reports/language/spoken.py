"""The language that is spoken while a page, its pictures or its summary are written."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

from mindgauge.reports.language.patterns import ENDS, ENGLISH
from mindgauge.reports.language.translator import together, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.reports.language.translator import Translator

_current: ContextVar[Translator | None] = ContextVar("translator", default=None)


@contextlib.contextmanager
def speaking(translator: Translator | None) -> Iterator[None]:
    """Let pictures be drawn with words in a translator's language; without one, in English."""
    token = _current.set(translator)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Translator | None:
    """Return who says the words that are being written; nobody for English."""
    return _current.get()


class InLanguage(str):
    """Words that are in the language already, or stay as they are."""

    __slots__ = ()


def in_words(text: str) -> str:
    """Return words of a picture in the language that it is drawn in; what is not known is marked as English."""
    translator = current()
    if translator is None or isinstance(text, InLanguage):
        return text
    said = translator.sentences(text)
    known = all(sentence.known for sentence in said)
    return InLanguage(unmarked(together(said)) if known else f"{ENGLISH}{unmarked(text)}{ENDS}")


def same_marks(text: str, part: str) -> str:
    """Mark a part of words as the whole is marked."""
    return InLanguage(f"{ENGLISH}{part}{ENDS}" if text.startswith(ENGLISH) else part)
