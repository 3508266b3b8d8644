"""Whether a reply asks a person at risk for a plan, for means and for the time: by words, in English and Chinese.

Words in `risk_questions.toml`, looked for in questions alone. A question in other words is missed, so what is found is at
least so much, and what is not found is not known to be absent.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Literal, TypeAlias, get_args

import msgspec

from mindgauge.records.regex import regex

Asked: TypeAlias = Literal["plan", "means", "time"]
KINDS: tuple[Asked, ...] = get_args(Asked)
_SENTENCE = regex(r"[^.!?。！？\n]*+(?:[?？]|(?<=[吗嗎呢])(?=[。\n]|$)|[.!。！\n]|$)")
"""Up to its end, so that a text takes no time that grows with its square; a question in Chinese may do without a mark."""
_ASKING = ("?", "？", "吗", "嗎", "呢")
"""How a question ends."""
_LONGEST = 400
"""Characters of a question that are looked at; a longer one is a list, or there to be slow."""


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    en: tuple[str, ...]
    zh: tuple[str, ...]


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    content = resources.files(__package__).joinpath("risk_questions.toml").read_bytes()
    words = msgspec.toml.decode(content, type=dict[str, _Words])
    return {kind: re.compile("|".join([rf"\b(?:{'|'.join(each.en)})\b", *each.zh])) for kind, each in words.items()}


def asked(text: str) -> set[Asked]:
    """Return what a reply asks for; in lower case, which is looked through in half the time that a pattern for both takes."""
    if not any(sign in text for sign in _ASKING):
        return set()
    sentences = _SENTENCE.findall(text)
    # Line by line: no question goes beyond one, and no pattern does.
    questions = "\n".join(s[-_LONGEST:] for s in sentences if s.endswith(_ASKING)).lower()
    return {kind for kind in KINDS if _patterns()[kind].search(questions)}
