"""Words of the rubric as people read them: in their language where it has them, and levels by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.annotation.records import Answered
from mindgauge.raters.quotes import chinese
from mindgauge.rubric.criterion import Texts, in_language
from mindgauge.web.words import words

if TYPE_CHECKING:
    from mindgauge.annotation.records import Label
    from mindgauge.records import Value
    from mindgauge.rubric import Criterion


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
