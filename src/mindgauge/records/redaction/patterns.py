"""How personal data are written: addresses, telephone numbers, cards, accounts, identity numbers, handles, places on a map.

Each pattern begins only where nothing of its kind stands before, so that a long text is looked through once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class PersonalRule(NamedTuple):
    """The kind of what a rule finds, how it is written, and whether what is so written is one."""

    kind: str
    pattern: re.Pattern[str]
    holds: Callable[[str], bool]


def digits(text: str) -> str:
    """Return the digits of a text."""
    return re.sub(r"\D", "", text)


def _luhn(number: str) -> bool:
    """Whether digits are a card's (ISO/IEC 7812-1, annex B)."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def _is_card(text: str) -> bool:
    return 13 <= len(digits(text)) <= 19 and _luhn(digits(text))


def _is_telephone(text: str) -> bool:
    """Whether digits are as many as a whole telephone number has; 988 and 116 123 are nobody's own."""
    return 7 <= len(digits(text)) <= 15 and not re.fullmatch(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}", text.strip())


def _always(_: str) -> bool:
    return True


_GAP = r"[ ().\-/·\u2010-\u2015\u2212（）－．]"
"""What may stand between the digits of a telephone number: dashes of any kind among it."""
_LETTER = r"[^\W\u3400-\u9fff]"
"""Of an address: Chinese text stands beside one without a blank."""
_LOCAL = rf"(?:{_LETTER}|[.+%'’!#$&*=~^{{|}}-])"
_LABEL = rf"(?:{_LETTER}|-){{1,63}}"
_AT = r"(?:[@＠]|\s?[\[({<]\s?(?:at|@)\s?[\])}>]\s?|\sAT\s)"
_DOT = r"(?:[.．]|\s?[\[({<]\s?(?:dot|\.)\s?[\])}>]\s?|\sDOT\s)"
_ENDINGS = "app|be|ch|cn|co|com|de|edu|es|fr|gg|info|io|it|link|ly|me|net|nl|org|ru|tv|uk|xyz"
_ADDRESS = r"[^\s<>\"'，。）)]*[^\s<>\"'，。）),.;:!?]"
_MONTH_DAY = r"(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])"

RULES: tuple[PersonalRule, ...] = tuple(PersonalRule(kind, re.compile(pattern), holds) for kind, pattern, holds in (
    ("email", rf"(?<!{_LETTER})(?<![.+%'’!#$&*=~^{{|}}-])(?=\w){_LOCAL}{{1,64}}(?:{_AT}{_LABEL}(?:{_DOT}{_LABEL}){{1,8}}| ?[@＠] {_LABEL}(?:\.{_LABEL}){{1,8}}|[@＠][\u3400-\u9fff]{{1,9}}\.(?:[\u3400-\u9fff]{{2,4}}|[a-z]{{2,4}}))", _always),
    ("link", rf"(?:https?://|(?<![\w.])www\.){_ADDRESS}", _always),
    ("link", rf"(?i)(?<![\w.@/-])(?:[a-z0-9-]{{1,63}}\.){{1,4}}(?:{_ENDINGS})/{_ADDRESS}", _always),
    ("account", r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])", _always),
    ("identity", rf"(?<!\d)[1-9]\d{{5}}[ -]?(?:19|20)\d{{2}}{_MONTH_DAY}[ -]?\d{{3}}[\dXxＸｘ](?!\d)|\b\d{{3}}-\d{{2}}-\d{{4}}\b", _always),
    ("account", r"(?i)(?:(?<=qq)|(?<=wechat)|(?<=weixin)|(?<=vx)|(?<=v信)|(?<=薇信)|(?<=微信)|(?<=微信号)|(?<=qq号)|(?<=扣扣))[号是:：\s]{0,4}[A-Za-z0-9][A-Za-z0-9_-]{4,19}", _always),
    ("account", r"(?i)(?<![a-z])(?:insta|instagram|ig|snap|snapchat|telegram|discord|kik|whatsapp|facebook|fb|wx)\s?[:：=]\s?(?=[\w@])@?[\w.#-]{3,40}", _always),
    ("account", r"(?<![\w@./])@[A-Za-zÀ-ɏ_][A-Za-zÀ-ɏ0-9_.]{1,29}\b", _always),
    ("location", r"(?<![\d.])-?\d{1,3}\.\d{3,}\s?,\s?-?\d{1,3}\.\d{3,}(?!\d)", _always),
    ("card", r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)", _is_card),
    ("number", r"(?<!\d)(?<!\d[ -])\d(?:[ -]?\d){15,}", _always),
    ("telephone", r"(?<![\d+＋])1[3-9]\d{9}(?!\d)|(?<![零〇○一二三四五六七八九])[一幺][零〇○一二三四五六七八九幺]{10}(?![零〇○一二三四五六七八九])", _always),
    ("telephone", rf"(?<![0-9_.])(?!\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d))[+＋]?\(?\d(?:{_GAP}{{0,3}}\d){{6,14}}(?!{_GAP}{{0,3}}\d)(?:\s?(?:x|ext\.?)\s?\d{{1,6}})?(?![A-Za-z_])", _is_telephone),
))  # fmt: skip
"""In the order in which they are tried: what one has found, the next does not see."""

_CUES = (
    r"[@＠]", r"[\[({<]\s?(?:at|@)", r"\sAT\s",
    r"://", r"www\.", rf"(?i:\.(?:{_ENDINGS})/)",
    r"[A-Z]{2}[0-9]{2}", r"(?i:(?:qq|wechat|weixin|vx|v信|薇信|微信|扣扣)[号是:：\s]{0,4}[a-z0-9])",
    r"(?i:(?:insta|instagram|ig|snap|snapchat|telegram|discord|kik|whatsapp|facebook|fb|wx)\s?[:：=])",
    r"\.\d{3}", rf"\d(?:{_GAP}{{0,3}}\d){{6}}", r"[零〇○一二三四五六七八九幺]{11}",
)  # fmt: skip
"""Without any of these no rule finds anything."""
_UNSEEN = r"[\p{C}\p{Zl}\p{Zp}\p{Zs}\x{34f}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{2800}\x{3164}\x{fe00}-\x{fe0f}\x{ffa0}--[\n\r\t \x{3000}]]"
"""What a reader does not see, and what may hide a cue."""
MAY_HOLD = "|".join((*_CUES, _UNSEEN))
"""Where this stands nowhere in a text, no rule finds anything there; for the regular expressions of polars."""
