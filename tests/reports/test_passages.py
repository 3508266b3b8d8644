"""Other people's words: marked, cut, cleaned, in their language."""

import pytest

from mindgauge.reports.content import TextSpan
from mindgauge.reports.texts import clean, language_of, marked, passage


def test_a_quote_is_marked_whatever_its_case_width_and_blanks() -> None:
    assert marked("Well: I  HEAR you!", ["i hear"]) == [
        TextSpan("Well: "),
        TextSpan("I  HEAR", True),
        TextSpan(" you!"),
    ]
    assert marked("他说：“我很难受”。", ["我很难受"]) == [
        TextSpan("他说：“"),
        TextSpan("我很难受", True),
        TextSpan("”。"),
    ]
    assert marked("ＡＢＣ", ["abc"]) == [TextSpan("ＡＢＣ", True)]


@pytest.mark.parametrize("quotes", [[], ["not there"], ["…"], [""]])
def test_nothing_is_marked_without_a_match(quotes: list[str]) -> None:
    assert marked("some text", quotes) == [TextSpan("some text")]


def test_overlapping_quotes_are_one_mark() -> None:
    assert marked("abcdef", ["abcd", "cdef"]) == [TextSpan("abcdef", True)]


def test_an_empty_text_has_no_parts() -> None:
    assert marked("", ["x"]) == []


def test_the_invisible_becomes_visible() -> None:
    assert clean("a\x00b\u202ec\r\nd\te") == "a[U+0000]b[U+202E]c\nd\te"


@pytest.mark.parametrize(
    ("text", "said", "language"),
    [
        ("你好", "en", "zh"),
        ("hello", "zh", "en"),
        ("hello", "de", "de"),
        ("", "en", "en"),
        ("I said 你好 and much else in English", "en", "en"),
    ],
)
def test_the_language_is_seen(text: str, said: str, language: str) -> None:
    assert language_of(text, said) == language


def test_a_long_text_is_cut() -> None:
    found = passage("reply", "x" * 100_000, [], "en")
    assert found.cut == 94_000
    assert sum(len(part.text) for part in found.parts) == 6000
