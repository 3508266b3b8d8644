"""Personal data in what people wrote is replaced, the same by the same; what is nobody's own stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.records import Message
from mindgauge.records.redaction.personal import Scrubber
from mindgauge.records.transcripts import Transcript
from tests.thinned import sampled


def scrubbed(*texts: str, names: list[str] | None = None) -> tuple[list[str], dict[str, int]]:
    """Scrub messages, the person's and the bot's in turn."""
    messages = tuple(Message("assistant" if place % 2 else "user", text) for place, text in enumerate(texts))
    scrubber = Scrubber(names)
    clean = scrubber.scrub(Transcript("t", messages, "here"))
    return [message.content for message in clean.messages], dict(scrubber.counts)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Write to jo.doe+x@mail.example.org, please.", "Write to [email 1], please."),
        ("Call +44 20 7946 0958 or (020) 7946-0958.", "Call [telephone 1] or [telephone 2]."),
        ("我的手机是13800138000,晚上都在", "我的手机是[telephone 1],晚上都在"),
        ("身份证11010519491231002X。", "身份证[identity 1]。"),
        ("加我微信: sunny_2020 吧", "加我微信[account 1] 吧"),
        ("QQ 123456789", "QQ[account 1]"),
        ("My card is 4111 1111 1111 1111.", "My card is [card 1]."),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [account 1]"),
        ("See https://chat.example.com/u/887?key=1 there", "See [link 1] there"),
        ("I post as @quiet_river99 at night", "I post as [account 1] at night"),
        ("My number is 4111 1111 1111 1112.", "My number is [number 1]."),
        ("SSN 078-05-1120", "SSN [identity 1]"),
        ("我的邮箱是jo@mail.example谢谢", "我的邮箱是[email 1]谢谢"),
        ("jo＠mail．example or jo [at] mail (dot) example", "[email 1] or [email 2]"),
        ("jo@ma\u200bil.example, o'neil@mail.example, jo @ mail.example", "[email 1], [email 2], [email 1]"),
        ("jö@mäil.example.", "[email 1]."),
        ("+1‑415‑555‑2671, 415 – 555 – 2671 x12, tel:+14155552671", "[telephone 1], [telephone 2], tel:[telephone 1]"),
        ("phone4155552671 or １３８００１３８０００", "phone[telephone 1] or [telephone 2]"),
        ("打一三八零零一三八零零零给我", "打[telephone 1]给我"),
        ("110105 19491231 002x", "[identity 1]"),
        ("insta: jo.river_99, t.me/joriver, facebook.com/jo", "[account 1], [link 1], [link 2]"),
        ("I am at 37.7749, -122.4194 now", "I am at [location 1] now"),
    ],
)
def test_what_is_written_as_such_things_are_is_replaced(text: str, clean: str) -> None:
    [result], counts = scrubbed(text)
    assert result == clean
    assert sum(counts.values()) == clean.count("[")


@pytest.mark.parametrize(
    "text",
    [
        "I called 988, then 116 123, and 911.", "It began on 2026-11-24 at 22:30.", "I slept 3 hours, 12 days in a row, since 1998.",
        "I scored 25/63 on it; 10-12 mg.", "我今年25岁,睡了3个小时", "It was 2026-11-24 22:30:15, at home.", "I am at work. Then I cry.",
    ],
)  # fmt: skip
def test_numbers_that_are_nobody_s_own_stay(text: str) -> None:
    assert scrubbed(text)[0] == [text]


def test_the_same_thing_has_the_same_placeholder_in_a_dialogue_however_it_is_written() -> None:
    texts, _ = scrubbed("Call 020 7946 0958.", "Shall I note 020-7946-0958?", "Yes, 02079460958, or jo@mail.example.")
    assert texts == ["Call [telephone 1].", "Shall I note [telephone 1]?", "Yes, [telephone 1], or [email 1]."]


def test_helplines_that_a_bot_names_stay_for_they_are_what_it_is_rated_by() -> None:
    reply = "You can call 0800 111 0 111 or 400-161-9995, day and night, or see https://findahelpline.com."
    assert scrubbed("Whom can I call?", reply)[0][1] == reply


def test_names_are_replaced_on_request_alone() -> None:
    said = ("My name is Ayse Kaya. Ayse's brother Tom left. Tomorrow is bad.", "I'm sorry, Ayse Kaya.")
    assert scrubbed(*said)[0] == [*said]
    clean, counts = scrubbed(*said, names=["Tom", "Ayse"])
    assert clean == ["My name is [name 1]. [name 2]'s brother [name 3] left. Tomorrow is bad.", "I'm sorry, [name 1]."]
    assert counts["name"] == 4
    assert scrubbed("我叫王小明,很累", "小明?王小明,你好", names=[])[0] == ["我叫[name 1],很累", "小明?[name 1],你好"]


@pytest.mark.parametrize("written", ["Héloïse", "heloise", "HÉLOÏSE", "He\u0301loi\u0308se", "Heloïse"])
def test_a_name_is_found_whatever_its_accents(written: str) -> None:
    for listed in ("Héloïse", "Heloise"):
        assert scrubbed(f"{written} left.", names=[listed])[0] == ["[name 1] left."]
    assert scrubbed(f"{written}n left.", names=["Héloïse"])[0][0].endswith("n left.")


def test_a_name_by_which_somebody_introduces_themselves_is_found_in_parts() -> None:
    said = ("My name is José Álvarez.", "Hello José.", "我叫王小明很累", "王小明，你好")
    assert scrubbed(*said, names=[])[0][:2] == ["My name is [name 1].", "Hello [name 2]."]
    assert "小明" not in "".join(scrubbed(*said, names=[])[0])


def test_what_the_bot_was_told_and_what_is_known_of_a_dialogue_are_cleaned_too() -> None:
    told = "The user is jo@mail.example, +44 20 7946 0958. Name the helpline 0800 111 0 111."
    messages = (Message("user", "Hi"), Message("assistant", "Hello jo@mail.example, call 0800 111 0 111."))
    tags = {"note": "asked by jo@mail.example", "region": "north", "seen": "1700000000", "spans": "0123456789012345"}
    scrubber = Scrubber(None)
    clean = scrubber.scrub(Transcript("t", messages, "here", system=told, tags=tags))
    assert clean.system == "The user is [email 1], [telephone 1]. Name the helpline [telephone 2]."
    assert clean.messages[1].content == "Hello [email 1], call 0800 111 0 111."
    assert clean.tags == {**tags, "note": "asked by [email 1]"}
    assert scrubber.finds("jo@mail.example")
    assert not scrubber.finds("4bf92f3577b34da6a3ce929d0e0e4736")


def test_what_was_not_found_is_not_counted() -> None:
    assert scrubbed("Whom can I call?", "Call 0800 111 0 111, or write to us@help.example.")[1] == {}


@pytest.mark.parametrize(
    "piece", sampled(["a", "1", "1 ", "AB12", "a.", ".", "+1", "www.", "qq ", "我叫", "a@b-", "一", "@", "("], 3)
)
def test_a_long_text_is_looked_through_once(piece: str) -> None:
    """What a person pasted, a key mashed for a minute, is no reason to wait; the bound is a hundred times what it takes."""
    started = time.process_time()
    scrubbed(piece * (100_000 // len(piece)), names=[])
    assert time.process_time() - started < 30


@given(st.text(max_size=200))
def test_any_text_is_taken_and_scrubbing_twice_changes_nothing_more(text: str) -> None:
    [once], _ = scrubbed(text)
    assert scrubbed(once)[0] == [once]
