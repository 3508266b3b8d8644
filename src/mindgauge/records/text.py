"""Text: its sentences in English and Chinese, what of it a reader sees, and how it stands in Markdown.

A backslash keeps a parser from taking a character for markup. It does not keep GitHub from finding mentions, issues,
commits and addresses, which it looks for in what was parsed. There a zero-width space stands within, as the bots of code
hosting do it; it cannot be seen, and what is copied can still be searched for. What an author hid in a text is taken
out before.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlsplit

from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element


_ABBREVIATION = regex(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|No|approx)|\b(?:e\.g|i\.e|a\.m|p\.m)|\b[A-Z])\.$", re.IGNORECASE
)
_LONGEST_ABBREVIATION = 8
"""Characters, the one before it included."""
_SIGN = regex(r"[。！？…!?.\n]")
_END = regex(r"[。！？…]++[”’」』）)]*+|\n++")
_ENGLISH = regex(r"[.!?…]++[\"'”’)\]]*+(?P<end>\s|\Z)?")
HAN = regex("[\u3400-\u9fff]")


def split(text: str) -> list[str]:
    """Split a text into sentences, without the blanks between them; nothing else is lost.

    A line ends a sentence; the full stop of an abbreviation or an initial does not.
    """
    sentences, start = [], 0
    for end in _ends(text):
        sentences.append(text[start:end].strip())
        start = end
    return [sentence for sentence in (*sentences, text[start:].strip()) if sentence]


def _ends(text: str) -> Iterator[int]:
    """Yield where sentences end, in linear time: a run of signs that ends none is looked at once."""
    start = place = unmatched_until = 0
    while sign := _SIGN.search(text, place):
        first = sign.start()
        if end := _END.match(text, first):
            place = end.end()
        elif first < unmatched_until or not (end := _ENGLISH.match(text, first)):
            place = first + 1
            continue
        elif end["end"] is None:
            place, unmatched_until = first + 1, end.end()
            continue
        else:
            place = end.start("end")
            before = max(start, first - _LONGEST_ABBREVIATION)
            if sign[0] == "." and _ABBREVIATION.search(text, before, first + 1):
                continue
        start = place
        yield place


def join(parts: list[str]) -> str:
    """Put sentences behind each other: with a blank, but none behind a Chinese one."""
    joined, last = [], ""
    for part in parts:
        blank = " " if last and not (HAN.search(last) or last[-1] in "。！？…：”」』）") else ""
        joined.append(blank + part)
        last = (last + joined[-1])[-2:]
    return "".join(joined)


def middle(text: str) -> int:
    """Return where the sentence ends that ends nearest to the middle; the end where there is only one."""
    ends, place = [], 0
    for sentence in split(text):
        place = text.index(sentence, place) + len(sentence)
        ends.append(place)
    return min(ends[:-1] or [len(text)], key=lambda end: abs(end - len(text) / 2))


# What a reader sees of a text: instructions can be hidden in characters that show nothing.


_HIDDEN = regex(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_BREAK = regex("[\x0b\x0c\x85\u2028\u2029]")
_BLANK = regex("[\xa0\u1680\u2000-\u200a\u202f\u205f\u2800]")
"""Blanks that look like any other; which one stands where could be a message. The Chinese one is wider, and stays."""
_JOINT = regex("[\u200c\u200d\ufe0e\ufe0f]")
_ODD = regex("[" + "".join(kind.pattern[1:-1] for kind in (_HIDDEN, _BREAK, _BLANK, _JOINT)) + "]")
"""What any of these changes; most texts have none of it."""
_FORBIDDEN = regex("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no file of XML 1.0 can hold, not even as a reference."""
UNSEEN = "".join(("[", *(kind.pattern[1:-1] for kind in (_HIDDEN, _BREAK, _JOINT)), "]")).replace("\ud800-\udfff", "")
"""What `shown` may change, as a pattern for tables, which hold no halves of characters."""
_UNPRINTED = regex("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]")
"""What JSON allows in a text, and YAML refuses, takes for the end of a line, or shows as nothing."""
_JOINING = regex("[\u0600-\u07bf\u0840-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1800-\u18af]")
"""Scripts whose letters a joiner or its opposite shapes: Arabic, Syriac, Indic, Burmese, Khmer, Mongolian."""
_STRETCH = regex(r"(?s).{1,512}(?:(?![\x00-\x7f\u3400-\u9fff]).){0,512}+")
"""A part of a text up to a sign that nothing before it changes. A heap of accents alone is cut where it is."""


def visible(text: str) -> str:
    """Return a text without what no reader sees: controls, directions, tags, invisible joints, halves of characters.

    Instructions can be hidden in them. What joins an emoji or the letters of a script that needs it stays; a line break
    of any kind is a line break, and a blank a blank.
    """
    return _BLANK.sub(" ", shown(text))


def shown(text: str) -> str:
    """Return a text as `visible` does, with the blanks that it has: what a cell of a file may hold."""
    if not _ODD.search(text):
        return text
    # Joints come last: they are judged by what stands beside them when all else that is hidden is gone.
    cleaned = _BREAK.sub("\n", _HIDDEN.sub("", text))
    return _JOINT.sub(lambda match: match[0] if _joins(match) else "", cleaned)


def compatible(text: str, form: Literal["NFC", "NFKC"] = "NFKC") -> str:
    """Return a text in its compatible form (NFKC), or its composed one (NFC), in a time that grows with its length.

    The standard puts a run of accents in order, which takes as long as the square of its length; no real word has
    hundreds of them.
    """
    if text.isascii():
        return text
    return "".join(unicodedata.normalize(form, stretch) for stretch in _STRETCH.findall(text))


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


def xml(root: Element) -> str:
    """Write a tree of XML 1.0, its texts without forbidden and invisible characters."""
    from xml.etree.ElementTree import indent, tostring

    for element in root.iter():
        element.text = element.text and _FORBIDDEN.sub("\ufffd", visible(element.text))
        element.attrib.update({key: _FORBIDDEN.sub("\ufffd", visible(value)) for key, value in element.attrib.items()})
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def yaml(value: object, indent: int | None = None) -> str:
    """Write a value for YAML: as JSON, with what YAML does not print, and what turns a text, as escapes."""
    return _UNPRINTED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False, indent=indent))


# Text from outside in GitHub-flavoured Markdown: it stands there as itself, pings nobody and links nowhere.


APART = "\N{ZERO WIDTH SPACE}"
_MARKUP = regex(r"([\\`*_\[\]<>|#~&])")
_BEGINS = regex(r"^(?:[-+](?=\s|$)|[-=](?=[-=\s]*$)|\d{1,9}(?=[.)](?:\s|$)))")
"""What makes a line a list, a heading or a rule; a number is a list only with its dot escaped."""
_FOUND = regex(
    r"(?P<at>@)(?=[\w\[(.-]|\\)"  # people, teams, mail, commits of forks
    r"|(?P<number>\#)(?=\w)"  # issues, also of other repositories
    r"|(?P<issue>(?i:(?<![A-Za-z0-9])GH-))(?=\d)"
    r"|(?P<scheme>:)(?=/|[\w+-]+:)"  # addresses, and pictures by name
    r"|(?P<www>(?i:www))(?=\.)"
    r"|(?P<commit>(?<![\w/.-])[0-9a-f]{4}(?=[0-9a-f]{3,36}(?![\w-])))"
)
_DOLLAR = "<span>&#36;</span>"
"""As GitHub's documentation writes a dollar that opens no formula, and not even a dollar to whom looks at the source."""


def text(content: object) -> str:
    """Write a text so that it stands for itself, in one line: no markup, no HTML, no links, no formulas, nobody pinged."""
    line = " ".join(visible(str(content)).split())
    begins = _BEGINS.match(line)
    head = begins[0] if begins else ""
    line = _MARKUP.sub(r"\\\1", _FOUND.sub(lambda match: f"{match[0]}{APART}", line[len(head) :]))
    line = line.replace("$", _DOLLAR)
    return (f"{head}\\{line}" if head.isdigit() else f"\\{head}{line}") if head else line


def code(content: object) -> str:
    """Write a name as code, in which nothing is found; in a table's cell, too."""
    line = " ".join(visible(str(content)).split()).replace("|", "\N{BROKEN BAR}")
    if not line:
        return ""
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def file(name: str) -> str:
    """Write a file's name as the target of a link."""
    return f"<{quote(name)}>" if quote(name) != name else name


def link(address: str) -> str:
    """Write a web address as a link to itself; what is none stands as text."""
    parts = urlsplit(address)
    plain = parts.scheme in {"http", "https"} and parts.hostname and not re.search(r"[\s<>\\`]", visible(address))
    return f"<{address}>" if plain and visible(address) == address else text(address)
