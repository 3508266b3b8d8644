"""The words of a report, a sentence each; the first use of one leads to it."""

from __future__ import annotations

import functools
import re
from importlib import resources

import msgspec
from markupsafe import Markup, escape

from mindgauge.reports.content import slug


class Term(msgspec.Struct, frozen=True):
    """A word, the forms in which it stands in sentences, and what it means."""

    term: str
    forms: tuple[str, ...]
    text: str

    @property
    def anchor(self) -> str:
        """Where on the page it is explained."""
        return slug("word", self.term)


class _Glossary(msgspec.Struct, frozen=True):
    terms: tuple[Term, ...]


@functools.cache
def terms() -> tuple[Term, ...]:
    """Return all terms, by the alphabet."""
    content = resources.files(__package__).joinpath("glossary.toml").read_bytes()
    return tuple(sorted(msgspec.toml.decode(content, type=_Glossary).terms, key=lambda term: term.term.casefold()))


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
