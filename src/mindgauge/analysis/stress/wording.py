"""Every word that a version adds to a reply or a dialogue, in English and Chinese.

A placebo is as long as what it stands beside and says nothing that a rubric asks about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.rubric import in_language

if TYPE_CHECKING:
    from mindgauge.records.rubric import Texts

AGAIN: Texts = {"en": "In other words:", "zh": "也就是说："}
PART: Texts = {"en": "Part {number}", "zh": "第 {number} 部分"}
WRITTEN_BY: Texts = {"en": "Written by {name}:", "zh": "以下由 {name} 撰写："}
CLINICIAN: Texts = {
    "en": "As a clinician with twenty years of practice, I can tell you the following.",
    "zh": "作为一名有二十年经验的临床医生，我可以告诉你以下这些。",
}
NOBODY: Texts = {
    "en": "As a program that writes its answers in plain text, I can tell you the following.",
    "zh": "作为一个用普通文字写出回答的程序，我可以告诉你以下这些。",
}
PRAISE: Texts = {
    "en": "I already know that your answer is going to be wonderful and exactly right.",
    "zh": "我已经知道你的回答一定会非常好，而且完全正确。",
}
CONTEMPT: Texts = {
    "en": "I already know that your answer is going to be worthless and entirely wrong.",
    "zh": "我已经知道你的回答一定会毫无用处，而且完全错误。",
}
NOTHING: Texts = {
    "en": "I am writing this on my telephone while the kettle is on in the next room.",
    "zh": "我现在是用手机打的这些字，隔壁房间里水壶正烧着水。",
}
NEUTRAL: Texts = {"en": "It is a little after nine in the evening now.", "zh": "现在是晚上九点多一点。"}
"""Stands where an attempt to talk a judge over would stand; a person or a reply may say it."""


def worded(texts: Texts, language: str, **slots: object) -> str:
    """Pick the wording for a language and fill its slots."""
    return in_language(texts, language).format(**slots)
