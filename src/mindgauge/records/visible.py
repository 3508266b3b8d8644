"""What a reader sees of a text: instructions can be hidden in characters that show nothing."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BREAK = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_BLANK = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u2800]")
"""Blanks that look like any other; which one stands where could be a message. The Chinese one is wider, and stays."""
_JOINT = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
_ODD = re.compile("[" + "".join(kind.pattern[1:-1] for kind in (_HIDDEN, _BREAK, _BLANK, _JOINT)) + "]")
"""What any of these changes; most texts have none of it."""
_JOINING = re.compile("[\u0600-\u07bf\u0840-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1800-\u18af]")
"""Scripts whose letters a joiner or its opposite shapes: Arabic, Syriac, Indic, Burmese, Khmer, Mongolian."""
_STRETCH = re.compile(r"(?s).{1,512}(?:(?![\x00-\x7f\u3400-\u9fff]).){0,512}+")
"""A part of a text up to a sign that nothing before it changes. A heap of accents alone is cut where it is."""


def visible(text: str) -> str:
    """Return a text without what no reader sees: controls, directions, tags, invisible joints, halves of characters.

    Instructions can be hidden in them. What joins an emoji or the letters of a script that needs it stays; a line break
    of any kind is a line break, and a blank a blank.
    """
    if not _ODD.search(text):
        return text
    # Joints come last: they are judged by what stands beside them when all else that is hidden is gone.
    cleaned = _BLANK.sub(" ", _BREAK.sub("\n", _HIDDEN.sub("", text)))
    return _JOINT.sub(lambda match: match[0] if _joins(match) else "", cleaned)


def compatible(text: str) -> str:
    """Return a text in its compatible form (NFKC), in a time that grows with its length.

    The standard puts a run of accents in order, which takes as long as the square of its length; no real word has
    hundreds of them.
    """
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFKC", stretch) for stretch in _STRETCH.findall(text))


def _joins(match: re.Match[str]) -> bool:
    """Whether a joiner or variation selector stands where a script or an emoji uses one."""
    character, text, place = match[0], match.string, match.start()
    before, after = text[max(place - 1, 0) : place], text[place + 1 : place + 2]
    if character in "\ufe0e\ufe0f":
        return _sign(before) or (after == "\u20e3" and before in "0123456789#*" and before != "")
    if character == "\u200d" and after and unicodedata.category(after) == "So":
        styled = before == "\ufe0f" and _sign(text[max(place - 2, 0) : place - 1])
        return styled or (before != "" and unicodedata.category(before) in {"So", "Sk"})
    return all(c and _JOINING.match(c) for c in (before, after))


def _sign(character: str) -> bool:
    """Whether an emoji can begin with it."""
    return character != "" and unicodedata.category(character) in {"So", "Sm"}
