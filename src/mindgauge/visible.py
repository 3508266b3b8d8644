"""What a reader sees of a text: instructions can be hidden in characters that show nothing."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINING = re.compile("[\u0600-\u07bf\u0840-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1800-\u18af]")
"""Scripts whose letters a joiner or its opposite shapes: Arabic, Syriac, Indic, Burmese, Khmer, Mongolian."""


def visible(text: str) -> str:
    """Return a text without what no reader sees: controls, directions, tags, invisible joints, halves of characters.

    Instructions can be hidden in them. What joins an emoji or the letters of a script that needs it stays.
    """
    return _HIDDEN.sub(lambda match: match[0] if _joins(match) else "", text)


def _joins(match: re.Match[str]) -> bool:
    """Whether a joiner or variation selector stands where a script or an emoji uses one."""
    character, text = match[0], match.string
    before = text[match.start() - 1] if match.start() else ""
    after = text[match.end()] if match.end() < len(text) else ""
    if character in "\ufe0e\ufe0f":
        return bool(before) and (unicodedata.category(before) in {"So", "Sm"} or after == "\u20e3")
    if character == "\u200d" and after and unicodedata.category(after) == "So":
        return unicodedata.category(before or " ") in {"So", "Sk", "Mn"}
    return character in "\u200c\u200d" and all(c and _JOINING.match(c) for c in (before, after))
