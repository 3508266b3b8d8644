"""Patterns: an English sentence with named slots, and its form in another language.

`{name}` holds anything that can be said in the other language, `{name:label}` a label or a name alone, `{name:metric}` a
measure's, `{name:amounts}` what begins with a number, `{name:number}` a number with its unit, `{name:percent}` one of
percents, `{name:word}` what has no blank, as it stands, `{name:keep}` anything within a sentence, as it stands,
`{name:english}` anything, marked as English. `<reply|replies>` is one of several words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.regex import regex
from mindgauge.reports.language.typography import spaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NUMBER = r"[<>≥≤±+−]{0,2}\$?\d[\d,]*(?:\.\d+)?(?:[ \xa0]?%|[ \xa0]points?\b|[ \xa0](?:s|min|MB)\b)?"
_PART = re.compile(r"\{(?P<slot>\w+)(?::(?P<kind>\w+))?\}|<(?P<either>[^<>|]*+\|[^<>]*)>")
_BALANCED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))+?"
"""Anything in which every bracket that is opened is closed, two deep at most."""
_KINDS = {
    None: _BALANCED, "label": _BALANCED, "metric": _BALANCED, "amounts": rf"(?={NUMBER}){_BALANCED}", "number": NUMBER, "percent": r"[<>−]?\d[\d,]*(?:\.\d+)?[ \xa0]?%", "word": r"\S+?", "keep": r"(?:(?!\. ).)+?", "english": ".+?",
}  # fmt: skip
ENGLISH, ENDS = "\x02", "\x03"
"""Signs around what stays English within a sentence."""
_WORD = re.compile(r"[A-Za-z]+")


class Pattern(NamedTuple):
    """A pair, parsed when it is first looked for: of some two thousand a page needs few."""

    source: str
    regex: re.Pattern[str]
    kinds: dict[str, str | None]
    """Slot → what it holds."""
    target: tuple[tuple[str, str], ...]
    """The other language's words, and the slot behind each; the last has none."""
    words: frozenset[str]
    """Words that a sentence must hold, in lower case."""
    weight: int
    """Letters that stand fast: the more, the more exact."""


def literals(source: str) -> list[str]:
    """Return what stands fast in a pattern."""
    return [part for part in _PART.sub("\n", source).split("\n") if part.strip()]


def parsed(source: str, target: str) -> Pattern:
    """Return a pair as a pattern."""
    parts: list[str] = []
    kinds: dict[str, str | None] = {}
    end = 0
    for match in _PART.finditer(source):
        parts.append(_literal(source[end : match.start()], first=not parts))
        end = match.end()
        if match["either"] is not None:
            parts.append(f"(?:{'|'.join(map(re.escape, match['either'].split('|')))})")
        elif (slot := match["slot"]) in kinds:
            parts.append(f"(?P={slot})")
        else:
            kinds[slot] = match["kind"]
            parts.append(f"(?P<{slot}>{_KINDS[match['kind']]})")
    parts.append(_literal(source[end:], first=not parts))
    return Pattern(
        source,
        regex("".join(parts), re.DOTALL),
        kinds,
        _target(target),
        frozenset(_whole_words(source)),
        sum(map(len, literals(source))),
    )


def _literal(text: str, *, first: bool) -> str:
    """Write what stands fast as an expression; a sentence may begin with a capital letter or not."""
    if first and text[:1].isalpha():
        return f"[{text[0].lower()}{text[0].upper()}]{re.escape(text[1:])}"
    return re.escape(text)


def _whole_words(source: str) -> set[str]:
    """Return the words that stand fast and that no slot beside them can make longer, in lower case."""
    text = _PART.sub("\0", source)
    found = set()
    for match in _WORD.finditer(text):
        around = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        if "\0" not in around:
            found.add(match[0].lower())
    return found


def _target(text: str) -> tuple[tuple[str, str], ...]:
    parts, end = [], 0
    for match in _PART.finditer(text):
        parts.append((spaced(text[end : match.start()]), match["slot"]))
        end = match.end()
    return (*parts, (spaced(text[end:]), ""))


class Index:
    """Patterns by a word that few of them have, so that a sentence is held against few."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        ordered = sorted(patterns, key=lambda pattern: -pattern.weight)
        common: dict[str, int] = {}
        for pattern in ordered:
            for word in pattern.words:
                common[word] = common.get(word, 0) + 1
        self._by_word: dict[str, list[tuple[int, Pattern]]] = {}
        for place, pattern in enumerate(ordered):
            key = min(pattern.words, key=lambda word: (common[word], word), default="")
            self._by_word.setdefault(key, []).append((place, pattern))

    def matches(self, text: str) -> Iterable[tuple[Pattern, Mapping[str, str]]]:
        """Yield the patterns that a text has the form of, the most exact first, with what stands in their slots."""
        words = {"", *(word.lower() for word in _WORD.findall(text))}
        found = sorted(pair for word in words for pair in self._by_word.get(word, ()))
        for _, pattern in found:
            if match := pattern.regex.fullmatch(text):
                yield pattern, match.groupdict()
