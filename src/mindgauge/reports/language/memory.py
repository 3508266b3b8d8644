"""The translation memory of a language: its pairs, labels and glossary, from the files that hold them.

`{name}` holds anything that can be said in the other language, `{name:label}` a label or a name alone, `{name:metric}` a
measure's, `{name:amounts}` what begins with a number, `{name:number}` a number with its unit, `{name:percent}` one of
percents, `{name:word}` what has no blank, as it stands, `{name:keep}` anything within a sentence, as it stands,
`{name:english}` anything, marked as English. `<reply|replies>` is one of several words.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from markupsafe import Markup, escape

from mindgauge.records.errors import UsageError
from mindgauge.records.regex import regex
from mindgauge.reports.content import slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.resources.abc import Traversable


NUMBER = r"[<>≥≤±+−]{0,2}\$?\d[\d,]*(?:\.\d+)?(?:[ \xa0]?%|[ \xa0]points?\b|[ \xa0](?:s|min|MB)\b)?"
_PART = re.compile(r"\{(?P<slot>\w+)(?::(?P<kind>\w+))?\}|<(?P<either>[^<>|]*+\|[^<>]*)>")
_BALANCED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))+?"
"""Anything in which every bracket that is opened is closed, two deep at most."""
_KINDS = {
    None: _BALANCED, "label": _BALANCED, "metric": _BALANCED, "amounts": rf"(?={NUMBER}){_BALANCED}", "number": NUMBER, "percent": r"[<>−]?\d[\d,]*(?:\.\d+)?[ \xa0]?%", "word": r"\S+?", "keep": r"(?:(?!\. ).)+?", "english": ".+?",
}  # fmt: skip
STARTS, ENDS = "\x02", "\x03"
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


HAN = "\u3400-\u9fff\uf900-\ufaff"
_BEFORE = regex(rf"(?<=[{HAN}])(?=[A-Za-z0-9$±−+<>≥≤§])")
_BEHIND = regex(rf"(?<=[A-Za-z0-9%\]])(?=[{HAN}])")
_FULL = regex(rf"[{HAN}\u3000-\u303f\uff00-\uffef]")
_CLOSED = "，。；：、？！（）「」《》“”…– \xa0\n"
_UNIT = re.compile(r"(?<=\d)[ \xa0]%")
_ENDS = {".": "。", "?": "？", "!": "！", ":": "："}


def spaced(text: str) -> str:
    """Put a blank between Han and Latin letters or numbers."""
    return _BEHIND.sub(" ", _BEFORE.sub(" ", text))


def joined(*parts: str) -> str:
    """Join parts, with a blank where Han and Latin meet, and none between Han; what stands inside a part is left as it is."""
    text = ""
    for part in parts:
        first, last = part.lstrip(" ")[:1], text.rstrip(" ")[-1:]
        if first and last and (text[-1] == " " or part[0] == " ") and (_full(first) and _full(last)):
            text, part = text.rstrip(" "), part.lstrip(" ")  # noqa: PLW2901 - the blank between them
        elif text and part and text[-1] not in _CLOSED and part[0] not in _CLOSED and _full(first) != _full(last):
            text += " "
        text += part
    return text


def _full(sign: str) -> bool:
    """Whether a sign is as wide as a Han one."""
    return bool(_FULL.match(sign))


def percents(text: str) -> str:
    """Write percents without a blank."""
    return _UNIT.sub("%", text)


def number(text: str) -> str:
    """Write a number with its unit."""
    text = percents(text)
    for unit, name in ((" points", " 个百分点"), (" point", " 个百分点"), (" min", " 分钟"), (" s", " 秒")):
        if text.endswith(unit):
            return text.removesuffix(unit) + name
    return text


def ended(text: str, sign: str) -> str:
    """End a sentence with the sign that stands for an English one."""
    return text + _ENDS.get(sign, sign) if sign and text and text[-1] not in "。？！：" else text


ENGLISH = "en"
_SLOT = "{"


class Term(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A word, the forms in which it stands in sentences, what it means, and, in another language's glossary, its name there."""

    term: str
    forms: tuple[str, ...]
    text: str
    name: str = ""

    @property
    def anchor(self) -> str:
        """Where on the page it is explained."""
        return slug("word", self.term)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    metrics: dict[str, str] = {}
    """What measures are called, beside which a criterion may stand."""
    labels: dict[str, str] = {}
    """Words of tables and sentences that are no sentence themselves."""
    sentences: dict[str, str] = {}
    """Everything else, with slots or without."""
    glossary: tuple[Term, ...] = ()


class Memory:
    """What is known in a language."""

    def __init__(self, name: str, files: dict[str, _File]) -> None:
        self.name = name
        self.glossary = {entry.term: entry for file in files.values() for entry in file.glossary}
        self.metrics = {folded(key): text for file in files.values() for key, text in file.metrics.items()}
        self.labels = {key: text for file in files.values() for key, text in file.labels.items()}
        self.pairs = {key: text for file in files.values() for key, text in file.sentences.items()}
        self.exact = self.pairs | self.labels
        self.headings = _by_folded(self.labels) | self.metrics
        self.fixed = _by_folded({key: text for key, text in self.pairs.items() if _SLOT not in key}) | self.headings
        for term in terms():
            if entry := self.glossary.get(term.term):
                self.fixed |= {folded(term.term): entry.name, folded(term.text): entry.text.removesuffix("。")}
        with_slots = [parsed(key, text) for key, text in self.pairs.items() if _SLOT in key or "|" in key]
        self.clauses = Index(pattern for pattern in with_slots if _of_clauses(pattern))
        self.index = Index(pattern for pattern in with_slots if not _of_clauses(pattern))
        self.long = Index(
            pattern for pattern in with_slots if ". " in pattern.source or "english" in pattern.kinds.values()
        )


def _of_clauses(pattern: Pattern) -> bool:
    """Whether it has signs within at which a text is cut first."""
    return "; " in pattern.source or " – " in pattern.source


def _by_folded(texts: dict[str, str]) -> dict[str, str]:
    """Return texts as they are looked up; of two that differ by how they begin, the one without a capital letter."""
    return {folded(key): texts[key] for key in sorted(texts)}


def folded(text: str) -> str:
    """Return a text as it is looked up: that it begins or ends a sentence does not matter."""
    text = text.strip().rstrip(".?!")
    return f"{text[:1].lower()}{text[1:]}"


def languages() -> list[str]:
    """Return the languages that a report can be written in."""
    return [ENGLISH, *sorted(entry.name for entry in _folder().iterdir() if (entry / "terms.toml").is_file())]


def known(language: str) -> str:
    """Return a language that a report can be written in.

    Raises:
        UsageError: there is no report in it.
    """
    if language not in languages():
        raise UsageError(f"no report in the language “{language}”; there is: {', '.join(languages())}")
    return language


@functools.cache
def read(language: str) -> Memory:
    """Return the memory of a language."""
    files = sorted(
        (entry for entry in (_folder() / language).iterdir() if entry.name.endswith(".toml")),
        key=lambda entry: entry.name,
    )
    return Memory(language, {entry.name: msgspec.toml.decode(entry.read_bytes(), type=_File) for entry in files})


def _folder() -> Traversable:
    return resources.files(__package__)


@functools.cache
def terms() -> tuple[Term, ...]:
    """Return all terms, by the alphabet."""
    content = resources.files(__package__).joinpath("glossary.toml").read_bytes()
    found = msgspec.toml.decode(content, type=dict[str, tuple[Term, ...]])["terms"]
    return tuple(sorted(found, key=lambda term: term.term.casefold()))


@functools.cache
def _forms() -> tuple[re.Pattern[str], dict[str, Term]]:
    by_form = {form.casefold(): term for term in terms() for form in term.forms}
    longest_first = sorted(by_form, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE), by_form


class Links:
    """Links of one page: each term is linked where it stands first, unless another language will link its own."""

    def __init__(self, *, marked: bool = True) -> None:
        self._linked: set[str] = set()
        self._marked = marked

    def __call__(self, text: str) -> Markup:
        """Return a text for the page with the terms that were not linked before as links to what they mean."""
        pattern, by_form = _forms()
        parts, end = [], 0
        for match in pattern.finditer(text):
            term = by_form[match[0].casefold()]
            if term.term not in self._linked:
                self._linked.add(term.term)
                parts += [
                    escape(text[end : match.start()]),
                    Markup('<a class="term" href="#{}">{}</a>').format(term.anchor, match[0]),
                ]
                end = match.end()
        return Markup("").join([*parts, escape(text[end:])]) if self._marked else escape(text)

    @property
    def used(self) -> list[Term]:
        """The terms that occurred so far."""
        return [term for term in terms() if term.term in self._linked]
