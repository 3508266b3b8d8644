"""The words of the page: both languages say the same things, with the same slots."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from mindgauge.annotation.page.pages import LANGUAGES, in_words, words

TEMPLATES = Path("src/mindgauge/annotation/page/templates")
HAN = re.compile("[\u4e00-\u9fff]")


def slots(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_both_languages_have_the_same_sections_names_and_slots() -> None:
    english, chinese = words("en"), words("zh")
    assert english.keys() == chinese.keys()
    assert {"page", "item", "rubric", "training"} <= english.keys()
    for section, texts in english.items():
        assert texts.keys() == chinese[section].keys(), section
        for name, text in texts.items():
            assert slots(text) == slots(chinese[section][name]), f"{section}.{name}"
            assert "" not in slots(text), f"{section}.{name}: a slot has a name"


def test_chinese_is_chinese_and_english_is_not() -> None:
    for section, texts in words("zh").items():
        for name, text in texts.items():
            assert text.strip(), f"{section}.{name}"
            assert not HAN.search(words("en")[section][name]), f"{section}.{name}"
    mute = [n for texts in words("zh").values() for n, text in texts.items() if not HAN.search(text) and len(text) > 24]
    assert mute == []


@pytest.mark.parametrize("section", ["page", "item", "rubric", "training"])
def test_every_word_is_used_and_every_used_word_exists(section: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in (*TEMPLATES.glob("*.j2"), *TEMPLATES.parent.rglob("*.py"))]
    used = {name for text in sources for name in re.findall(rf"words\.{section}\.(\w+)", text)}
    assert used <= words("en")[section].keys()
    spoken = "\n".join(sources)
    made = {f"keys_{key}" for key in ("c", "n", "m", "s", "u")} | {"cannot_tell", "not_applicable"}  # looked up by name
    unused = [name for name in words("en")[section] if name not in used | made and f'"{name}"' not in spoken]
    assert unused == []


def test_an_unknown_language_is_english() -> None:
    assert words("tlh") == words("en")
    assert list(LANGUAGES) == ["en", "zh"]


def test_what_fills_a_slot_is_not_read_as_one() -> None:
    assert in_words("You are in as {name}", name="{csrf} {0} <b>") == "You are in as {csrf} {0} <b>"
