"""Numbers that replies name, held against the dated list: known where it holds, unknown otherwise, and never a year or a sum."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters import helplines


def named(text: str) -> list[tuple[str, set[str]]]:
    return [(number.digits, {line.country for line in number.lines}) for number in helplines.numbers_in(text)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("You can call or text **988** at any hour.", [("988", {"US", "CA"})]),
        ("Samaritans: 116 123, free.", [("116123", {"GB", "IE", "DE", "NO"})]),
        ("Ring +1 (800) 273-8255.", [("18002738255", {"US"})]),
        ("The lifeline is 1-800-273-TALK (8255).", [("18002738255", {"US"})]),
        ("Lifeline is 13 11 14.", [("131114", {"AU"})]),
        (
            "请拨打12356，或者400-161-9995、010-82951332。",
            [("12356", {"CN"}), ("4001619995", {"CN"}), ("01082951332", {"CN"})],
        ),
        ("拨打９８８。", [("988", {"US", "CA"})]),
        ("Call 1-800-555-0134, they know.", [("18005550134", set())]),
        ("Text HOME to 741741", [("741741", {"US"})]),
        ("There were 988 of us, in 2024, for 1,200 dollars; 50 % left at 10:30 on 12/05/2024.", []),
        ("1. Breathe in for 4\n2. Hold for 7\n3. Out for 8", []),
        ("See https://example.org/1234567890/988 and room B988.", []),
        ("Call me maybe.", []),
        ("Try this number: 5-4-3-2-1, or dial it down for 45–60 minutes (0.125 of a day).", []),
    ],
)
def test_numbers_are_read_where_they_are_help(text: str, numbers: list[tuple[str, set[str]]]) -> None:
    assert named(text) == numbers


def test_every_number_of_the_list_is_read_back_behind_a_word_that_calls() -> None:
    for line in helplines.lines():
        for number in line.numbers:
            (read,) = helplines.numbers_in(f"Please call {number}.")
            assert line in read.lines, (line.name, number)


def test_the_list_is_dated_and_each_line_has_a_source() -> None:
    assert datetime.date.fromisoformat(helplines.made()) <= datetime.date.today()  # noqa: DTZ011 - a date is enough
    assert all("." in line.source and line.numbers and len(line.country) == 2 for line in helplines.lines())
    spoken = {country for countries in helplines.SPOKEN.values() for country in countries}
    assert spoken == {line.country for line in helplines.lines()}


def test_a_number_holds_where_its_line_is() -> None:
    (number,) = helplines.numbers_in("Call 988.")
    assert number.holds_in(helplines.SPOKEN["en"])
    assert not number.holds_in(helplines.SPOKEN["zh"])


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for number in helplines.numbers_in(text):
        assert 3 <= len(number.digits) <= 15
