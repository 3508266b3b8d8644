"""A long dialogue within a budget: what is rated is never cut, and the first disclosure stays as long as it can."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters import window as windows
from mindgauge.raters.window import GAP, Window, window
from mindgauge.records import Message

DISCLOSED = "Honestly, I want to die."


def size(message: Message) -> int:
    return windows.size(message.content)


def talk(turns: int, disclosed_at: int | None = None) -> list[Message]:
    """Write a dialogue of this many turns, the person first; turns are counted from 1."""
    said = [Message("assistant" if i % 2 else "user", f"Turn {i + 1}: the day was long. " * 3) for i in range(turns)]
    if disclosed_at is not None:
        said[disclosed_at - 1] = Message("user", DISCLOSED)
    return said


def test_what_fits_is_shown_whole() -> None:
    said = talk(6)
    found = window(said, 10_000, size)
    assert found == Window(tuple(range(6)), 6)
    assert (found.left_out, found.provenance) == ((), {})


def test_an_early_disclosure_stays_with_its_answer_and_gaps_are_marked() -> None:
    said = talk(60, disclosed_at=3)
    found = window(said, 320, size)
    shown = [place + 1 for place in found.turns_shown]
    assert found.fits and found.first_risk == 2
    assert {1, 3, 4, 59, 60} <= set(shown)
    assert shown[3:] == list(range(shown[3], 61)), "the rest are the newest, without holes"
    assert found.left_out == ((2, 2), (5, shown[3] - 1))
    assert found.provenance == {
        "window": {"left_out": [[2, 2], [5, shown[3] - 1]], "turns": 60, "first_risk": 3},
    }
    text = found.transcript(said, "n0")
    assert f"[turns 5–{shown[3] - 1} left out n0]" in text and "[turns 2–2 left out n0]" in text
    assert "[3 n0] Person: " + DISCLOSED in text, "turns keep their numbers"
    assert "Turn 7:" not in text and "Turn 59:" in text


def test_without_a_cue_the_first_turn_of_the_person_stays() -> None:
    found = window(talk(60), 200, size)
    assert found.fits and found.first_risk is None
    assert {0, 58, 59} <= set(found.turns_shown) and 1 not in found.turns_shown


def test_the_disclosure_has_the_better_right_where_only_one_more_turn_fits() -> None:
    said = talk(60, disclosed_at=5)
    needed = sum(map(size, said[-2:])) + size(said[4]) + 2 * GAP
    assert window(said, needed, size).turns_shown == (4, 58, 59)
    assert 4 not in window(said, needed - 1, size).turns_shown, "one token less does not hold it"


def hinted(turns: int, *places: int) -> list[Message]:
    """Write such a dialogue, the person's turns at some places, counted from 1, with a word that may mean risk."""
    said = talk(turns)
    for place in places:
        said[place - 1] = Message("user", "Everything is hopeless.")
    return said


def test_an_earlier_hint_stays_beside_the_plain_disclosure() -> None:
    said = hinted(200, 3)
    said[100] = Message("user", DISCLOSED)
    found = window(said, 320, size)
    assert found.first_risk == 100
    assert {0, 2, 100, 101, 198, 199} <= set(found.turns_shown)


def test_a_false_alarm_does_not_push_out_what_is_disclosed_later() -> None:
    said = hinted(400, 3, 41)
    found = window(said, 400, size)
    assert found.first_risk == 2
    assert {2, 40} <= set(found.turns_shown) and 100 not in found.turns_shown


def test_signs_of_risk_take_no_more_than_half_of_what_room_is_left() -> None:
    said = hinted(200, *range(1, 150, 2))
    found = window(said, 1200, size)
    early = [place for place in found.turns_shown if place < 150]
    newest = [place for place in found.turns_shown if place >= 150]
    costs = {place: size(said[place]) for place in found.turns_shown}
    assert len(early) > 10 and newest == list(range(newest[0], 200))
    assert sum(costs[place] for place in newest) > 1200 / 3
    assert early[1:3] == [1, 2], "the first sign and the answer to it, then signs from the first on"


def test_a_turn_that_is_longer_than_everything_is_left_out_unless_it_is_rated() -> None:
    said = talk(60, disclosed_at=5)
    said[2] = Message("user", "It goes on and on. " * 1000)
    found = window(said, 400, size)
    assert found.fits and 2 not in found.turns_shown and 4 in found.turns_shown
    said[59] = Message("assistant", "It goes on and on. " * 1000)
    assert not window(said, 400, size).fits


def test_all_rated_turns_of_a_whole_dialogue_stay_and_what_cannot_fit_says_so() -> None:
    said = talk(20, disclosed_at=3)
    replies = [place for place, message in enumerate(said) if message.role == "assistant"]
    found = window(said, sum(size(said[p]) for p in replies) + 10 * GAP + 60, size, replies)
    assert found.fits and set(replies) <= set(found.turns_shown) and 2 in found.turns_shown and 18 in found.turns_shown
    cannot = window(said, 100, size, replies)
    assert not cannot.fits and cannot.left_out == ()


@given(st.integers(1, 20).map(lambda pairs: 2 * pairs), st.integers(0, 900), st.data())
def test_what_is_shown_fits_and_never_lacks_what_is_rated(turns: int, budget: int, data: st.DataObject) -> None:
    said = talk(turns, data.draw(st.one_of(st.none(), st.integers(1, turns))))
    found = window(said, budget, size)
    if not found.fits:
        assert sum(map(size, said[-2:])) + GAP > budget
        return
    assert turns - 1 in found.turns_shown
    assert sum(size(said[place]) for place in found.turns_shown) + GAP * len(found.left_out) <= budget
    before = [place for place in range(turns - 1) if said[place].role == "user"]
    assert not before or before[-1] in found.turns_shown
    cut = [place for first, last in found.left_out for place in range(first - 1, last)]
    assert sorted([*found.turns_shown, *cut]) == list(range(turns))


@pytest.mark.parametrize("budget", range(150, 900, 50))
def test_a_disclosure_at_the_beginning_of_sixty_turns_stays_in_any_budget_that_holds_it(budget: int) -> None:
    said = talk(60, disclosed_at=3)
    found = window(said, budget, size)
    assert found.fits
    assert 2 in found.turns_shown
