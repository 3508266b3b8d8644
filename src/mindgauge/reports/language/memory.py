"""The translation memory of a language: its pairs, labels and glossary, from the files that hold them."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.errors import UsageError
from mindgauge.reports import glossary
from mindgauge.reports.language.patterns import Index, Pattern, parsed

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

ENGLISH = "en"
_SLOT = "{"


class GlossaryEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A term of the glossary in another language: its name, how it stands in sentences, and what it means."""

    term: str
    name: str
    forms: tuple[str, ...]
    text: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    metrics: dict[str, str] = {}
    """What measures are called, beside which a criterion may stand."""
    labels: dict[str, str] = {}
    """Words of tables and sentences that are no sentence themselves."""
    sentences: dict[str, str] = {}
    """Everything else, with slots or without."""
    glossary: tuple[GlossaryEntry, ...] = ()


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
        for term in glossary.terms():
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
    files = sorted((entry for entry in (_folder() / language).iterdir() if entry.name.endswith(".toml")), key=_name)
    return Memory(language, {entry.name: msgspec.toml.decode(entry.read_bytes(), type=_File) for entry in files})


def _name(entry: Traversable) -> str:
    return entry.name


def _folder() -> Traversable:
    return resources.files(__package__)
