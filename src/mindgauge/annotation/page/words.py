"""The words of the page in English and Chinese: `words/<language>/<section>.toml`, a name and a text a line.

A text may have named slots, `{place}`, which `in_words` fills; what fills them is never read as a slot itself.
"""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.annotation.records import Answered
from mindgauge.raters.quotes import chinese
from mindgauge.records.rubric.criterion import Texts, in_language

if TYPE_CHECKING:
    from mindgauge.annotation.records import Label
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion


LANGUAGES = {"en": "English", "zh": "中文"}
"""The languages of the interface, each by its own name; the first is taken where nothing else is known."""


@functools.cache
def words(language: str) -> dict[str, dict[str, str]]:
    """Return section → name → text in a language; English where there is no such language."""
    folder = (
        resources.files("mindgauge.annotation.page")
        / "words"
        / (language if language in LANGUAGES else next(iter(LANGUAGES)))
    )
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8")) for file in files}


def in_words(text: str, **slots: object) -> str:
    """Fill the named slots of a text."""
    return text.format(**slots)


class Worded(NamedTuple):
    """A text and the language that it is in; empty where that is not known."""

    text: str
    lang: str


def worded(texts: Texts, language: str) -> Worded:
    """Pick the wording for a language, and say which language it is in."""
    text = in_language(texts, language)
    return Worded(text, next((code for code in (language, *texts) if texts.get(code) == text), ""))


def called(criterion: Criterion, value: Value | None, language: str) -> str:
    """Name a level as people read it: in the Chinese interface with its Chinese name, where it has one."""
    level = next((level for level in criterion.levels if level.value == value), None)
    plain = str(value).replace("_", " ")
    own = next((alias for alias in level.aliases if chinese(alias * 2)), "") if level and language == "zh" else ""
    return f"{own}（{plain}）" if own and own != plain else plain


def said(criterion: Criterion, label: Label, language: str) -> str:
    """Name what was answered: a level, or why there is none."""
    if label.answered is Answered.OK:
        return called(criterion, label.value, language)
    return words(language)["item"].get(label.answered.value, "")
