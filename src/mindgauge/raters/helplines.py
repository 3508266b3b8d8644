"""Which help a text names by number, held against a dated list by country: what is not on the list is unknown, not wrong.

The list is `helplines.toml`, with the source of each line.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import NamedTuple

import msgspec

from mindgauge.records.regex import regex
from mindgauge.records.text import compatible

_APART = r"(?<![A-Za-z\d_.,/:#$€£¥%-])"
_END = r"(?![A-Za-z0-9_%]|[.,:/]\d)"
_NUMBER = regex(rf"{_APART}\+?\(?\d(?:[ \u00a0().\u2010-\u2015-]{{0,3}}\d){{0,200}}+{_END}")
"""What may be a telephone number: digits with spaces, brackets and strokes between them, not part of a word, date, sum or share."""
_ENOUGH = re.compile(r"\d(?:[ \u00a0().\u2010-\u2015-]{0,3}\d){2}")
"""The digits of the shortest number: what has none of them, as most texts do, is looked at no further."""
_SIGNS = re.compile("[，。、：；！？]")
"""Punctuation between numbers that would else become a comma within one."""
_DIALLED = re.compile(
    r"(?:call|dial|text|phone|ring|reach|hotline|helpline|lifeline|crisis line|line at|number|拨打|撥打|拨|致电|電|电话|热线|熱線|短信|专线|專線)"
    r"[^.!?\n]{0,60}$",
    re.IGNORECASE,
)
"""What stands before a number that is to be called; short numbers count only behind it."""
_BEFORE = 80
"""Characters before a number of which that can be."""
_SHORT, _LONG = 4, 9
"""Digits up to which a number could as well be a year, a sum or a house's; and from which on it can hardly be anything else."""
_PARTED = 7
"""Digits from which on a number with strokes between them is none of a range, a date or a count to five."""
_LONGEST = 15
"""Digits that a number may have (ITU-T E.164)."""
SPOKEN = {
    "en": ("US", "CA", "GB", "IE", "AU", "NZ", "IN", "ZA", "SG"), "zh": ("CN", "HK", "TW", "MO", "SG"), "de": ("DE", "AT", "CH"),
    "fr": ("FR", "BE", "CH", "CA"), "es": ("ES", "MX", "AR", "US"), "nl": ("NL", "BE"), "ja": ("JP",), "ko": ("KR",), "pt": ("PT", "BR"),
    "it": ("IT", "CH"), "da": ("DK",), "no": ("NO",), "sv": ("SE", "FI"), "fi": ("FI",),
}  # fmt: skip
"""Language → countries of the list in which many people speak it."""


class Helpline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line or an emergency number: where it holds, what it is called, and whose page says so."""

    country: str
    name: str
    numbers: tuple[str, ...]
    source: str
    seen: bool = False
    """Whether its number stood in a copy of its source, or of a public list, when the list was made."""


class _HelplineFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    made: str
    lines: tuple[Helpline, ...]


class NamedNumber(NamedTuple):
    """A number that a text names, as it stands there, and the lines of the list that have it; none where it is unknown."""

    text: str
    digits: str
    lines: tuple[Helpline, ...]

    def holds_in(self, countries: tuple[str, ...]) -> bool:
        """Whether it is known to be one of these countries'."""
        return any(line.country in countries for line in self.lines)


@functools.cache
def _file() -> _HelplineFile:
    content = resources.files(__package__).joinpath("helplines.toml").read_bytes()
    return msgspec.toml.decode(content, type=_HelplineFile)


def made() -> str:
    """Return the date of the list (YYYY-MM-DD)."""
    return _file().made


def lines() -> tuple[Helpline, ...]:
    """Return the whole list."""
    return _file().lines


@functools.cache
def _by_digits() -> dict[str, tuple[Helpline, ...]]:
    by_digits: dict[str, tuple[Helpline, ...]] = {}
    for line in lines():
        for number in line.numbers:
            digits = _digits(number)
            by_digits[digits] = (*by_digits.get(digits, ()), line)
    return by_digits


def _digits(number: str) -> str:
    return re.sub(r"\D", "", compatible(number))


_LETTERS = re.compile(r"(\d\d\d)[ -]([A-Z]{4})(?:[ -]*\(\d{4}\))?(?![A-Za-z])")
_KEYS = {letter: key for key, letters in zip("23456789", ("ABC", "DEF", "GHI", "JKL", "MNO", "PQRS", "TUV", "WXYZ"), strict=True) for letter in letters}  # fmt: skip


def _keyed(match: re.Match[str]) -> str:
    """Write a number's letters as the keys that they stand on: 1-800-273-TALK (8255)."""
    return f"{match[1]}-{''.join(_KEYS[letter] for letter in match[2])}"


def numbers_in(text: str) -> list[NamedNumber]:
    """Return the numbers that a text names for help, each once, in their order.

    Behind a word such as `call` every number counts that is no range; elsewhere those of nine digits and more, and of five and more where the
    list has them. With a country's code before it, or the 0 that is dialled at home, it is the same number.
    """
    plain = text if text.isascii() else compatible(_SIGNS.sub(";", text))
    match = _ENOUGH.search(plain)
    if match is None:
        return []
    start = max(0, match.start() - len("+("))
    plain = plain[:start] + _LETTERS.sub(_keyed, plain[start:])
    named: dict[str, NamedNumber] = {}
    for match in _NUMBER.finditer(plain, start):
        digits = _digits(match[0])
        if not 3 <= len(digits) <= _LONGEST:
            continue
        matches = _lines_of(digits)
        dialled = bool(_DIALLED.search(plain, max(0, match.start() - _BEFORE), match.start()))
        undivided = match[0].isdecimal() or len(digits) >= _PARTED
        if (dialled and (undivided or matches)) or len(digits) >= _LONG or (matches and len(digits) > _SHORT):
            named.setdefault(digits, NamedNumber(_balanced(match[0].strip()), digits, matches))
    return list(named.values())


def _balanced(wording: str) -> str:
    """Drop a bracket that opens before a number and closes behind more than it."""
    return wording.removeprefix("(") if wording.count("(") > wording.count(")") else wording


@functools.lru_cache(maxsize=10_000)
def _lines_of(digits: str) -> tuple[Helpline, ...]:
    """Return the lines with a number, also where it is dialled from abroad."""
    by_digits = _by_digits()
    if digits in by_digits:
        return by_digits[digits]
    bare = digits.lstrip("0")
    ends = [listed for listed in by_digits if len(listed.lstrip("01")) > 6]
    return next(
        (
            by_digits[listed]
            for listed in ends
            if bare.endswith(listed.lstrip("01")) and len(bare) - len(listed.lstrip("01")) <= 3
        ),
        (),
    )
