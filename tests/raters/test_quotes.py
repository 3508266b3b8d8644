"""A quote counts where its words stand in what was judged, and it is said where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters.quotes import DIALOGUE, FEWEST, REPLY, QuoteSource, chinese, fold
from mindgauge.records import Evidence

DIALOGUE_TEXT = "Person: I can't sleep —  at all.\n请不要 告诉，我妈妈！"
REPLY_TEXT = "That sounds exhausting. Would you like to tell me about the nights?"
SOURCE = QuoteSource.of(DIALOGUE_TEXT, REPLY_TEXT)


@pytest.mark.parametrize(
    ("quote", "source"),
    [
        ("I can’t sleep - at all", DIALOGUE),
        ("请不要告诉我妈妈", DIALOGUE),
        ("ｔｅｌｌ　ｍｅ about", REPLY),
        ("sounds EXHAUSTING", REPLY),
        ("sou\u200bnds exha\u00adusting", REPLY),
        ("That sounds … about the nights?", REPLY),
        ("[...] like to tell me...", REPLY),
        ("about the nights … That sounds", ""),
        ("That sounds … sleep at all", ""),
        ("That … at … me", ""),
        ("I sleep well", ""),
        ("would you like to sleep", ""),
        ("", ""),
        ("…", ""),
    ],
)
def test_quotes_are_looked_up_in_reply_and_dialogue(quote: str, source: str) -> None:
    (found,) = SOURCE.check([quote])
    assert (found.quote, found.found, found.source) == (quote, bool(source), source)


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("I can’t sleep - at all", "I can't sleep —  at all"),
        ("请不要告诉我妈妈", "请不要 告诉，我妈妈"),
        ("sou\u200bnds EXHAUSTING", "sounds exhausting"),
        ("That sounds … about the nights?", "That sounds exhausting. Would you like to tell me about the nights"),
        ("ｔｅｌｌ　ｍｅ about", "tell me about"),
    ],
)
def test_the_place_of_a_quote_is_that_in_the_text_as_it_was(quote: str, passage: str) -> None:
    (found,) = SOURCE.check([quote])
    text = REPLY_TEXT if found.source == REPLY else DIALOGUE_TEXT
    assert text[found.start : found.end] == passage


def test_a_quote_that_stands_nowhere_has_no_place() -> None:
    assert SOURCE.check(["I sleep well"]) == (Evidence("I sleep well"),)


def test_where_signs_are_folded_into_one_the_place_is_unknown() -> None:
    apart = "\u1112\u1161\u11ab\u1100\u1173\u11af 안녕하세요"  # the first two syllables, letter by letter
    (found,) = QuoteSource.of("", apart).check(["안녕하세요"])
    assert found.found
    assert (found.start, found.end) == (None, None)


def test_dots_may_be_the_texts_own() -> None:
    (found,) = QuoteSource.of("", "So... it is over").check(["so… it is over"])
    assert found.found


def test_what_stands_in_both_is_taken_from_the_reply() -> None:
    (found,) = QuoteSource.of("Person: please stay", "please stay").check(["please stay"])
    assert found.source == REPLY


@pytest.mark.parametrize(
    ("quote", "found"), [("at a", False), ("me a", False), ("tell", True), ("妈", False), ("妈妈", True)]
)
def test_a_quote_of_a_few_letters_proves_nothing(quote: str, found: bool) -> None:
    assert SOURCE.check([quote])[0].found is found


def test_hidden_characters_in_the_text_do_not_hide_it() -> None:
    hidden = "Stay\U000e0041\U000e0042 with\u202e me\u3164 tonight"
    assert QuoteSource.of("", hidden).check(["Stay with me tonight"])[0].found


@given(st.text(max_size=60), st.text(max_size=60), st.data())
def test_every_passage_that_is_long_enough_is_found(dialogue: str, reply: str, data: st.DataObject) -> None:
    source = QuoteSource.of(dialogue, reply)
    start = data.draw(st.integers(0, len(reply)))
    end = data.draw(st.integers(start, len(reply)))
    quote = reply[start:end]
    if fold(quote) in fold(reply) and len(fold(quote)) >= FEWEST:
        (found,) = source.check([quote])
        assert (found.found, found.source) == (True, REPLY)
        if found.start is not None:
            assert fold(reply[found.start : found.end]) == fold(quote)


@pytest.mark.parametrize(
    ("text", "found"), [("It asks about safety.", False), ("它询问了安全。", True), ("…", None), ("ok", None)]
)
def test_the_script_of_a_text(text: str, found: bool | None) -> None:
    assert chinese(text) is found
