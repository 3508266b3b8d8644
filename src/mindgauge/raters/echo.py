"""What of a judge's answer only repeats what it was shown: no text that stood before a judge becomes its verdict.

A quotation may be indented, marked, escaped, written with other quotation marks or with the keys in another order. It is
found by what is left when all that is set aside, so how often and where it is quoted does not matter.
"""

from __future__ import annotations

import html
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mindgauge.records.regex import regex
from mindgauge.records.text import compatible, visible

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Mapping

_BRACE = regex(r"[{\uff5b]|\\u00|&#|&l")
"""What stands in every text that holds an object; most dialogues have none of it."""
_ESCAPE = regex(r"\\++(?:u(?P<code>[0-9a-fA-F]{4})|[nrtbf])?+")
_NULL = regex(r"\bnull\b")
_PREFIX = regex(r"(?m)^[ \t]*+(?:(?:[>|*#•·]|\d{1,4}[.):|]?(?=[ \t])|[-–—+](?=[ \t]))[ \t]*+)++")
"""What is put before lines that are quoted, listed or numbered."""
_ASIDE = regex(r"[^\w{}\[\]:,.+-]++|_++|[+-](?!\d)|\.(?!\d)|(?<!\d)\.")
_WORD = regex(r"[-+]?\d+(?:\.\d+)?|[\u3400-\u9fff]|[^\W\d\u3400-\u9fff]+")
_QUOTED_LINE = regex(
    r"(?m)^[ \t]*+(?:(?:[-*+•]|\d{1,3}[.)])[ \t]++)*+(?:>|&gt;|\|)(?:.*[:：][ \t*_]*+\n(?![ \t]*+[{`]))?.*$"
)
"""One that announces something takes the next line with it, unless an object begins there."""
_BLOCK = regex(r"(?m)^[ \t]*+(```|~~~)")
_MARKED = regex(
    r"“[^“”\n]*+”|「[^「」\n]*+」|『[^『』\n]*+』|«[^«»\n]*+»|‘[^‘’\n]*+’(?!\w)|\"[^\"\n]*+\"|＂[^＂\n]*+＂|(?<!\w)'[^'\n]*+'(?!\w)"
)
_LEAST = 12
"""Letters of a reason that nobody writes twice by chance."""


class PromptText:
    """Texts by others that stood before a judge; what it answers is held against them."""

    def __init__(self, *texts: str) -> None:
        """Take the texts; they are looked at when an answer could be a quotation."""
        self._texts = texts

    def holds(self, value: Mapping[str, Any], names: Collection[str], reason: str, source: str = "") -> bool:
        """Say whether an object repeats one that was shown.

        It does where it stood there as it is written, where all of it that counts stood there as parts of an object, or
        where its reason did, as one.

        Args:
            value: the object.
            names: keys that count.
            reason: the key of what is said in words.
            source: the object as it stands in the answer.
        """
        if not self._holds_braces:
            return False
        if source and self.has(source):
            return True
        parts = {name: part for name, part in value.items() if name in names}
        stated_reason = parts.get(reason)
        if isinstance(stated_reason, str) and len(_bare(stated_reason)) >= _LEAST and self._has(reason, stated_reason):
            return True
        return bool(parts) and all(self._has(name, part) for name, part in parts.items())

    def has(self, source: str) -> bool:
        """Say whether a text stood there, letter by letter, however it is quoted."""
        return _bare(source) in self._objects

    def _has(self, name: str, part: object) -> bool:
        pair = _bare(json.dumps({name: part}, ensure_ascii=False))[1:-1]
        return any(f"{before}{pair}{after}" in self._objects for before in "{," for after in ",}")

    def says(self, text: str) -> bool:
        """Say whether the words of a text, if it has any, stood there one after the other."""
        spoken = words(text)
        return bool(spoken) and _apart(spoken) in self._sentences

    def says_beside(self, text: str, before: str, after: str) -> bool:
        """Say whether a text stood there behind the last word before it, or before the first one after it."""
        spoken, last, first = words(text), words(before)[-1:], words(after)[:1]
        sides = [[*last, *spoken]] * bool(last) + [[*spoken, *first]] * bool(first)
        return any(_apart(side) in self._sentences for side in sides)

    @cached_property
    def _holds_braces(self) -> bool:
        return any(map(_BRACE.search, self._texts))

    @cached_property
    def _objects(self) -> str:
        return "\n".join(map(_bare, self._texts))

    @cached_property
    def _sentences(self) -> str:
        return "\n".join(_apart(words(text)) for text in self._texts)


NOTHING = PromptText()


def _bare(text: str) -> str:
    """Return the letters, digits and signs that make an object, however it is quoted, escaped or laid out."""
    plain = visible(html.unescape(text) if "&" in text else text)
    plain = compatible(visible(_ESCAPE.sub(_unescaped, plain))).casefold()
    return _ASIDE.sub("", _NULL.sub("none", _PREFIX.sub("", plain)))


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match["code"], 16)) if match["code"] else ""


def words(text: str) -> list[str]:
    """Return the words and numbers of a text, without letter case; of Chinese every character."""
    return _WORD.findall(compatible(visible(text)).casefold().replace("−", "-"))


def _apart(tokens: list[str]) -> str:
    return f" {' '.join(tokens)} "


def unquoted(text: str) -> str:
    """Return an answer without what it marks as a quotation: quoted lines, code, and words between quotation marks.

    Code that is the whole answer is no quotation, and neither is a single word between marks.
    """
    return _MARKED.sub(lambda match: match[0] if len(_WORD.findall(match[0])) < 2 else "…", unblocked(unlined(text)))


def unlined(text: str) -> str:
    """Return an answer without the lines that it marks as quoted."""
    return _QUOTED_LINE.sub("", text)


def unblocked(text: str) -> str:
    """Return an answer without its blocks of code; one block that is the whole answer stays, without its marks."""
    pieces = _BLOCK.split(text)  # text, mark, text, mark, …
    parts, inside, mark = [""], [], ""
    for piece in pieces:
        if piece in {"```", "~~~"} and mark in {"", piece}:
            mark = "" if mark else piece
        elif mark:
            inside.append(piece)
        else:
            parts.append(piece)
    outside = "".join(parts)
    if outside.strip() or len(inside) != 1:
        return outside
    return inside[0].partition("\n")[2] or inside[0].strip("`~ ")
