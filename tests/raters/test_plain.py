from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mindgauge.raters import plain, verdict
from mindgauge.records import Status
from mindgauge.records.rubric import Criterion, Level, Scale

if TYPE_CHECKING:
    from mindgauge.records import Value

SIGNED = Criterion(
    "rating",
    Scale.ORDINAL,
    (
        Level(-100, aliases=("minus one hundred", "negative one hundred")),
        Level(-50, aliases=("minus fifty",)),
        Level(0, aliases=("zero",)),
        Level(50, aliases=("fifty",)),
        Level(100, aliases=("one hundred", "一百")),
    ),
    plain=True,
)
LETTERS = Criterion(
    "choice", Scale.NOMINAL, tuple(Level(v) for v in "ABCD"), aliases=("answer",), options="options", plain=True
)
CROWD = Criterion("verdict", Scale.NOMINAL, (Level("NTA"), Level("YTA")), plain=True)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("-50", -50),
        ("−50.", -50),
        ("(-100) not at all", -100),
        ("+50", 50),
        ("minus fifty", -50),
        ("Minus one hundred, I would say.", -100),
        ("one hundred", 100),
        ("一百", 100),
        ("Answer: -100\nFor some it may be 50.", -100),
        ("50\nPeople differ between 0 and 100.", 50),
        ("I would say 50, perhaps 100", None),
        ("500", None),
        ("50.5", None),
        ("50) not fifty but close to one hundred", 50),
        ("150", None),
        ("no idea", None),
        ("", None),
    ],
)
def test_numbers_are_read_with_their_sign_and_in_words(text: str, level: Value | None) -> None:
    assert plain.level(text, SIGNED) == level


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("B", "B"),
        ("B. Because it is kind.", "B"),
        ("The best answer is C", "C"),
        ("Answer: D\nbecause", "D"),
        ("答案：A", "A"),
        ("It is a hard case", None),
        ("A hard case", None),
        ("A\n…\nB", None),
        ("E", None),
    ],
)
def test_only_capitals_that_stand_alone_are_letters(text: str, level: Value | None) -> None:
    assert plain.level(text, LETTERS) == level


@pytest.mark.parametrize(
    ("text", "level"), [("YTA", "YTA"), ("You are NTA here.", "NTA"), ("NTA or YTA", None), ("YTAs", None)]
)
def test_labels_are_whole_words(text: str, level: Value | None) -> None:
    assert plain.level(text, CROWD) == level


def test_json_goes_before_words_and_a_small_letter_will_do_there() -> None:
    found = verdict.read('A is tempting, but {"answer": "c"}', [LETTERS])["choice"]
    assert (found.status, found.value) == (Status.OK, "C")


def test_a_letter_that_is_no_option_is_no_answer() -> None:
    offered = LETTERS.offered({"options": "2"})
    assert offered.values == ("A", "B")
    assert verdict.read('{"choice": "C"}', [offered])["choice"].status is Status.UNPARSABLE
    assert verdict.read("C", [offered])["choice"].status is Status.UNPARSABLE
