"""The language that is spoken while a page, its pictures or its summary are written.

Words within an element that says its language, in code, and in quotations are other people's, and stay. Whatever is said
is escaped as it was. What is not known stays English, and is marked as such.
"""

from __future__ import annotations

import contextlib
import html
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from mindgauge.records import text as english_text
from mindgauge.reports.language.memory import ENDS
from mindgauge.reports.language.memory import STARTS as ENGLISH
from mindgauge.reports.language.translator import together, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.reports.language.memory import Memory
    from mindgauge.reports.language.translator import Translator

_current: ContextVar[Translator | None] = ContextVar("translator", default=None)


@contextlib.contextmanager
def speaking(translator: Translator | None) -> Iterator[None]:
    """Let pictures be drawn with words in a translator's language; without one, in English."""
    token = _current.set(translator)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Translator | None:
    """Return who says the words that are being written; nobody for English."""
    return _current.get()


class InLanguage(str):
    """Words that are in the language already, or stay as they are."""

    __slots__ = ()


def in_words(text: str) -> str:
    """Return words of a picture in the language that it is drawn in; what is not known is marked as English."""
    translator = current()
    if translator is None or isinstance(text, InLanguage):
        return text
    said = translator.sentences(text)
    known = all(sentence.known for sentence in said)
    return InLanguage(unmarked(together(said)) if known else f"{ENGLISH}{unmarked(text)}{ENDS}")


def same_marks(text: str, part: str) -> str:
    """Mark a part of words as the whole is marked."""
    return InLanguage(f"{ENGLISH}{part}{ENDS}" if text.startswith(ENGLISH) else part)


_MARK = '<span lang="en">', "</span>"


def plain(content: object) -> str:
    """Write a text so that it stands for itself: no markup, no links, nobody pinged."""
    translator = current()
    if translator is None:
        return english_text.text(content)
    parts = []
    for sentence in translator.sentences(str(content)):
        pieces = sentence.text.replace(ENDS, ENGLISH).split(ENGLISH)
        marked = [
            f"{_MARK[0]}{english_text.text(piece)}{_MARK[1]}"
            if number % 2 or not sentence.known
            else english_text.text(piece)
            for number, piece in enumerate(pieces)
            if piece
        ]
        parts.append("".join(marked))
    return english_text.join(parts)


_TOKEN = re.compile(r"<!--.*?(?:-->|\Z)|<(?:\"[^\"]*(?:\"|\Z)|[^>\"])*+(?:>|\Z)|[^<]+", re.DOTALL)
_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)")
_SPOKEN = re.compile(r' (aria-label|title|data-column|placeholder)="([^"]*)"')
_OTHERS = re.compile(r' lang="[^"]*"| translate="no"')
_SECTION = re.compile(r'<section[^>]* id="([^"]*)"')
_VOID = {"br", "hr", "img", "input", "link", "meta"}
_KEPT = {"code", "kbd", "pre", "q", "script", "style"}
_PLAIN = {"title", "option"}
"""Elements that hold nothing but text, so that no part of it can be marked."""
_PROSE = {"p", "li", "dd"}
_ACCOUNT = "<!-- how it was translated -->"
"""Where a page says how it was translated, which is known when all of it is."""
_UNLINKED = {"a", "summary", "h1", "h2", "h3", "h4", "h5", "td", "th", "svg"}


class TermLinks:
    """Links to the glossary: each term where it stands first."""

    def __init__(self, memory: Memory, page: str) -> None:
        anchors = re.findall(r'<dt id="([^"]+)">([^<]+)</dt>', page)
        by_form = {
            form: anchor
            for anchor, term in anchors
            if (entry := memory.glossary.get(html.unescape(term))) is not None
            for form in entry.forms
        }
        self._by_form = by_form
        longest_first = sorted(by_form, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._linked: set[str] = set()

    def __call__(self, text: str) -> str:
        """Return a text for the page."""
        parts, end = [], 0
        for match in self._pattern.finditer(text):
            anchor = self._by_form[match[0]]
            if anchor not in self._linked:
                self._linked.add(anchor)
                parts += [
                    str(escape(text[end : match.start()])),
                    str(Markup('<a class="term" href="#{}">{}</a>').format(anchor, match[0])),
                ]
                end = match.end()
        return "".join([*parts, str(escape(text[end:]))])


def _marked(text: str, mark: str) -> str:
    """Mark what stays English with an element, or leave it unmarked where none may stand."""
    return text.replace(ENGLISH, f'<{mark} lang="en">' * bool(mark)).replace(ENDS, f"</{mark}>" * bool(mark))


class PageTranslator:
    """Says the words of one page."""

    def __init__(self, translator: Translator) -> None:
        self._say = translator
        self._stack: list[tuple[str, bool]] = []
        """Open elements, and whether their words stay."""
        self._section = ""

    def __call__(self, page: str) -> str:
        """Return a page in the language."""
        links = TermLinks(self._say.memory, page)
        written = "".join(self._parts(page, links))
        return written.replace(_ACCOUNT, str(escape(self._say.account())))

    def _parts(self, page: str, links: TermLinks) -> Iterator[str]:
        for match in _TOKEN.finditer(page):
            token = match[0]
            if token.startswith("<!"):
                yield token
            elif token[0] == "<" and (tag := _TAG.match(token)):
                yield self._tag(token, tag[1].lower())
            elif not token.strip():
                yield token
            elif self._kept:
                worded = self._say.worded(html.unescape(token)) if self._rubric else ""
                yield f'<span lang="{self._say.memory.name}">{escape(worded)}</span>' if worded else token
            else:
                yield self._text(token, links)

    @property
    def _rubric(self) -> bool:
        """Whether what stays here may be a rubric's own words."""
        return self._stack[-1][0] in {"dd", "td", "p", "span"}

    @property
    def _kept(self) -> bool:
        return bool(self._stack) and self._stack[-1][1]

    def _tag(self, token: str, name: str) -> str:
        if token[1] == "/":
            while self._stack and self._stack.pop()[0] != name:
                pass
            return token
        if name == "html":
            return token.replace('lang="en"', f'lang="{self._say.memory.name}"')
        if section := _SECTION.match(token):
            self._section = section[1]
        others = name in _KEPT or bool(_OTHERS.search(token))
        if not (self._kept or others) and "=" in token:
            token = self._attributes(token)
        if name not in _VOID and not token.endswith("/>"):
            self._stack.append((name, self._kept or others))
        return token

    def _attributes(self, token: str) -> str:
        """Say what a tag says; what is not known whole stays English, and says so."""
        english = False

        def said(match: re.Match[str]) -> str:
            nonlocal english
            sentences = self._say.sentences(html.unescape(match[2]))
            if not all(sentence.known for sentence in sentences):
                english = True
                return match[0]
            return f' {match[1]}="{escape(unmarked("".join(sentence.text for sentence in sentences)))}"'

        token = _SPOKEN.sub(said, token)
        return f'{token[:-1]} lang="en">' if english and "aria-label" in token else token

    def _text(self, token: str, links: TermLinks) -> str:
        text = html.unescape(token)
        core = text.strip()
        before, after = text[: text.index(core[0])], text[len(text.rstrip()) :]
        names = [name for name, _ in self._stack]
        if "svg" in names:  # said where it was drawn
            return _marked(token, "tspan")
        sentences = self._say.sentences(core)
        linked = not _UNLINKED.intersection(names) and bool(_PROSE.intersection(names)) and self._section != "words"
        parts = []
        for number, sentence in enumerate(sentences):
            blank = " " if number and not (sentences[number - 1].known and sentence.known) else ""
            said = links(sentence.text) if linked and sentence.known else str(escape(sentence.text))
            if not sentence.known:
                said = f"{ENGLISH}{said}{ENDS}"
            parts.append(blank + _marked(said, "" if names and names[-1] in _PLAIN else "span"))
        written = "".join(parts)
        if after == " " and unmarked(sentences[-1].text)[-1:] in "：，、；。":
            after = ""  # what follows stands behind a sign that is wide
        return f"{before}{written}{after}"
