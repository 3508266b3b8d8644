"""An item shows the texts and what words the rubric, and nothing of who wrote it, what it was found to be, or why."""

from __future__ import annotations

from typing import Any

import pytest

from mindgauge import benchmarks
from mindgauge.annotation.items import fault, item, text_key
from mindgauge.records import Message, Reply, Sample, Status

SAFETY, CRISIS_TYPE, RESPONSE, PSYCRISIS, EMOTION, DIAGNOSIS = (
    benchmarks.find_one(name)
    for name in (
        "dialogue_safety",
        "help_or_harm/crisis_type",
        "help_or_harm/response",
        "psycrisis",
        "trustmh/emotion",
        "trustmh/diagnosis",
    )
)
TELLING = {
    "model": "gpt-x", "source": "gpt-x", "split": "test", "label_source": "model", "shipped_label": "self-harm",
    "id": "gpt-x-17", "target.other": "yes", "verdict": "unsafe",
}  # fmt: skip


def said(*texts: str, **tags: str) -> Sample:
    roles: tuple[Any, ...] = ("user", "assistant")
    messages = tuple(Message(roles[place % 2], text) for place, text in enumerate(texts))
    return Sample.of(messages, target="Nonsense", tags={**TELLING, "language": "en", **tags}, cluster="talk")


def test_a_closed_question_about_a_reply_is_about_the_last_message() -> None:
    sample = said("My week was grey.", "What made it so?")
    found = item(SAFETY, sample)
    assert found.subject == sample.id
    assert "talk" not in found.cluster
    assert found.cluster == item(SAFETY, said("Another.", "Hm.")).cluster  # of the same talk
    assert (found.messages, found.reply) == (sample.messages[:-1], "What made it so?")
    assert found.tags == {"language": "en"}
    assert found.expected == {}


def test_a_closed_question_about_a_dialogue_shows_it_whole() -> None:
    sample = said("My week was grey.", "What made it so?", category="no_crisis")
    found = item(CRISIS_TYPE, sample)
    assert (found.messages, found.reply) == (sample.messages, "")
    assert found.tags == {"language": "en"}  # its category is its target


def test_an_open_question_is_about_the_reply_under_its_protocol() -> None:
    sample = said("My week was grey.", category="no_crisis")
    reply = Reply.of(sample.id, "gpt-x", 2, Status.OK, "What made it so?")
    found = item(RESPONSE, sample, reply)
    assert (found.subject, found.messages, found.reply) == (reply.id, sample.messages, reply.text)
    assert found.tags == {"language": "en", "category": "no_crisis"}


def test_tags_that_word_the_rubric_are_kept() -> None:
    tags = {"options.emotion": "6", "options.cause": "4", "set": "d4"}
    assert item(EMOTION, said("…", **tags)).tags.keys() == {"language", "options.emotion", "options.cause"}
    assert item(DIAGNOSIS, said("…", **tags)).tags.keys() == {"language", "set"}


@pytest.mark.parametrize(
    ("texts", "tags", "given", "expected"),
    [
        (("I am tired.",), {"language": "zh-CN"}, "en", "zh"),
        (("I am tired.",), {"language": "EN_us"}, "", "en"),
        (("I am tired.",), {"language": ""}, "zh", "zh"),
        (("I am tired.",), {"language": ""}, "", "en"),
        (("这一周都灰蒙蒙的。", "是什么让你这样觉得？"), {"language": ""}, "", "zh"),
    ],
)
def test_the_language_is_the_tag_s_or_what_is_given_or_that_of_the_letters(
    texts: tuple[str, ...], tags: dict[str, str], given: str, expected: str
) -> None:
    assert item(SAFETY, said(*texts, "Hm." if len(texts) < 2 else "", **tags), None, given).tags["language"] == expected


def test_a_crisis_is_told_by_the_person_s_words_and_where_open_by_the_category() -> None:
    plain, telling = "My week was grey.", "I want to die."
    reply = Reply.of("", "m", 0, Status.OK, "I hear you.")
    assert not item(RESPONSE, said(plain, category="no_crisis"), reply).crisis
    assert item(RESPONSE, said(plain, category="self-harm"), reply).crisis
    assert item(RESPONSE, said(telling, category="no_crisis"), reply).crisis
    assert item(PSYCRISIS, said(plain, category="suicide"), reply).crisis
    assert item(SAFETY, said(plain, "Fine.", risk="Yes")).crisis
    assert not item(SAFETY, said(plain, telling)).crisis  # the supporter's words


def test_the_order_of_a_closed_question_about_crises_does_not_tell_the_target() -> None:
    assert not item(CRISIS_TYPE, said("My week was grey.", category="self-harm")).crisis
    assert item(CRISIS_TYPE, said("I want to die.", category="no_crisis")).crisis


@pytest.mark.parametrize(("cell", "graphic"), [("yes", True), ("TRUE", True), ("1", True), ("no", False), ("", False)])
def test_graphic_is_what_a_tag_says(cell: str, graphic: bool) -> None:
    assert item(SAFETY, said("a", "b", graphic=cell)).graphic is graphic


def test_what_cannot_be_labelled_is_named() -> None:
    reply = Reply.of("", "m", 0, Status.OK, "I hear you.")
    assert fault(SAFETY, item(SAFETY, said("a", "b"))) == ""
    assert fault(SAFETY, item(SAFETY, said("a", " "))) == "an empty reply; there is nothing to label"
    assert fault(SAFETY, item(SAFETY, said(" ", "b"))) == "an empty dialogue; there is nothing to label"
    assert fault(SAFETY, item(SAFETY, said("a", "b", language="fr"))) == ""  # who labels may read what no rubric words
    assert fault(RESPONSE, item(RESPONSE, said("a"), reply)).startswith("it has no category, which chooses")
    assert "unknown category 'grief'" in fault(RESPONSE, item(RESPONSE, said("a", category="grief"), reply))
    assert fault(DIAGNOSIS, item(DIAGNOSIS, said("a", set="other"))) == "no criterion of the rubric is about it"


def test_texts_are_the_same_if_only_blanks_at_their_ends_differ() -> None:
    key = text_key((Message("user", "a b"),), "c")
    assert key == text_key((Message("user", " a b\n"),), "c ")
    assert key != text_key((Message("user", "ab"),), "c")
    assert key != text_key((Message("assistant", "a b"),), "c")
    assert key != text_key((Message("user", "a b"), Message("assistant", "c")), "")
