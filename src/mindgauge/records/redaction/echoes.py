"""One known secret in a text, as it stands and as servers repeat it.

Servers repeat keys, and not always as they were sent. A key is looked for in a text as it stands, and in what the text
becomes when escapes are undone (JSON, URL, HTML, as often as they are nested) and line ends are taken out; as it is, in
base64 and in hexadecimal digits. Whoever wants to hide a key from this can; see SECURITY.md.
"""

from __future__ import annotations

import base64
import math
import re
import string
from functools import lru_cache

from mindgauge.records.regex import regex

HIDDEN = "[hidden]"
SHORTEST = 8
"""Characters of a secret; what is shorter would be found in words that are none."""
SHORTEST_WORD = 4
"""Characters of a key in use that is hidden where it stands alone, as a word."""
_NOTHING = "\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffd\ud800-\udfff"
_GAP = regex(rf"(?<![ \t\\])[ \t\\]*+(?:[{_NOTHING}]\s*+(?:[ \t\\]*+(?=[{_NOTHING}]))?)++")
"""What may split a key: a line end with the blanks around it, one of a shell, and characters that nobody sees."""
_UNSEEN = re.compile(f"[{_NOTHING}]+")
_ESCAPE = regex(
    r"\\++(?:u([0-9a-fA-F]{4})|u\{0*([0-9a-fA-F]{1,6})\}|U00([0-9a-fA-F]{6})|x([0-9a-fA-F]{2})|([nrtbf]))?"
    r"|%(?:25)*+([0-9a-fA-F]{2})?"
    r"|&(?:amp;)*+(?:#[xX]0*+([0-9a-fA-F]{1,6});?|#0*+([0-9]{1,7});?|(lt|gt|quot|apos);)?"
)
"""An escape, however often it was escaped itself; a run of backslashes is looked at once, so that this is linear."""
_MARKS = re.compile(r"[\\%&]")
_ENTITIES = {"lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_DEEPEST = 6
"""How many kinds of escapes may stand within one another."""
_LONGEST = 1 << 18
"""Characters of a text in which the very place of an escaped key is looked for; a longer one is hidden whole."""
Span = tuple[int, int]
"""Where characters begin in a text, and where they end."""
_PACKED = frozenset(string.ascii_letters + string.digits + "+/=_-")


def without(text: str, key: str) -> str:
    """Return a text without a key, however it is written there."""
    if len(key) < SHORTEST:
        alone = len(key) >= SHORTEST_WORD and key in text
        return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", lambda _: HIDDEN, text) if alone else text
    forms, packed = _forms(key)
    for form in forms:
        if form in text:
            text = text.replace(form, HIDDEN)
    level = text
    for _ in range(_DEEPEST + 1):
        if any(form in level for form in (*forms, *packed)):
            return _cut(text, forms, packed) if len(text) <= _LONGEST else HIDDEN
        deeper = _without_gaps(level)
        if _MARKS.search(deeper):
            deeper = _ESCAPE.sub(_meant, deeper)
        if deeper == level:
            break
        level = deeper
    return text


@lru_cache(maxsize=64)
def _forms(key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return how a key is written in the open, and packed: the characters of base64 that it decides alone, and digits."""
    raw = key.encode(errors="surrogatepass")
    packed = [raw.hex(), raw.hex().upper()]
    for before in range(3):
        first, end = math.ceil(before * 8 / 6), (before + len(raw)) * 8 // 6
        for code in (base64.b64encode, base64.urlsafe_b64encode):
            packed += [code(bytes(before) + raw).decode()[first:end]]
    return tuple(dict.fromkeys((key, _ESCAPE.sub(_meant, _GAP.sub("", key))))), tuple(dict.fromkeys(packed))


def _without_gaps(text: str) -> str:
    """Return what `_GAP` leaves of a text, five times as fast."""
    first, *others = _UNSEEN.split(text)
    if not others:
        return text
    *inner, last = others
    ends = "".join(part.lstrip().rstrip(" \t\\") for part in inner)
    return first.rstrip(" \t\\") + ends + last.lstrip()


def _meant(escape: re.Match[str]) -> str:
    """Return the character that an escape stands for; backslashes before anything else stand for nothing."""
    four, braced, eight, short, control, percent, hexadecimal, decimal, named = escape.groups()
    if control:
        return "\n"
    if named:
        return _ENTITIES[named]
    digits = four or braced or eight or short or percent or hexadecimal
    if not (digits or decimal):
        return "" if escape[0][0] == "\\" else escape[0][0]
    number = int(digits, 16) if digits else int(decimal)
    return chr(number) if number <= 0x10FFFF else ""


def _cut(text: str, forms: tuple[str, ...], packed: tuple[str, ...]) -> str:
    """Cut a key out of a text that holds it escaped, split or packed; of what is packed, all that stands around it."""
    spans: list[Span] = []
    level, places = text, [(place, place + 1) for place in range(len(text))]
    for _ in range(_DEEPEST + 1):
        for form in (*forms, *packed):
            begin = level.find(form)
            while begin >= 0:
                end = begin + len(form)
                if form in packed:
                    while begin and level[begin - 1] in _PACKED:
                        begin -= 1
                    while end < len(level) and level[end] in _PACKED:
                        end += 1
                spans.append((places[begin][0], places[end - 1][1]))
                begin = level.find(form, end)
        deeper = _undone(*_undone(level, places, _GAP), _ESCAPE)
        if deeper[0] == level:
            break
        level, places = deeper
    return _replaced(text, spans)


def _undone(level: str, places: list[Span], pattern: re.Pattern[str]) -> tuple[str, list[Span]]:
    """Undo gaps or escapes; return the text, and where what each of its characters was made of stood at first."""
    parts: list[str] = []
    origins: list[Span] = []
    last = 0
    for match in pattern.finditer(level):
        meant = "" if pattern is _GAP else _meant(match)
        parts += [level[last : match.start()], meant]
        origins += places[last : match.start()]
        origins += [(places[match.start()][0], places[match.end() - 1][1])] * len(meant)
        last = match.end()
    return "".join([*parts, level[last:]]), [*origins, *places[last:]]


def _replaced(text: str, spans: list[Span]) -> str:
    """Return a text with `[hidden]` in place of spans, which may overlap."""
    parts: list[str] = []
    last = 0
    for begin, end in sorted(spans):
        if begin >= last:
            parts += [text[last:begin], HIDDEN]
        last = max(last, end)
    return "".join([*parts, text[last:]])
