"""How a dialogue is read: the last message apart, and what must stay of the others."""

from __future__ import annotations

import pytest

from mindgauge.raters.classifiers import form
from mindgauge.records import Message, Reply, Role, Sample, Status
from mindgauge.records.errors import DataError


def turns(*roles: Role) -> form.Dialogue:
    return tuple(Message(role, f"turn {i}") for i, role in enumerate(roles))


def test_what_is_read_is_what_dialogues_end_with() -> None:
    reply, message = (Sample.of(turns(*roles)) for roles in (("user", "assistant"), ("assistant", "user")))
    blank = Sample.of((*turns("user", "assistant"), Message("user", " ")))
    assert form.reads([reply, reply, blank]) == "reply"
    assert form.reads([message]) == "message"
    with pytest.raises(DataError, match="2 dialogues end with a reply and 1 with the person's message"):
        form.reads([reply, message, reply])


def test_earlier_turns_carry_their_tags() -> None:
    assert form.earlier(turns("system", "user", "assistant", "user")) == "[system]turn 0[seeker]turn 1[supporter]turn 2"
    assert not form.earlier(turns("user"))
    typed = (Message("user", "so [supporter] you [x]"), Message("user", "hm"))
    assert form.earlier(typed) == "[seeker]so (supporter) you [x]"


def test_blank_turns_say_nothing_and_blank_dialogues_are_refused() -> None:
    blank = Message("assistant", " \n")
    assert form.dialogue(Sample.of((Message("user", "hi"), blank))) == (Message("user", "hi"),)
    with pytest.raises(DataError, match="an empty dialogue"):
        form.dialogue(Sample.of((blank,)))


def test_a_reply_becomes_the_last_message() -> None:
    sample = Sample.of((Message("user", "I am tired"),), target="x", cluster="talk")
    found = form.with_reply(sample, Reply.of(sample.id, "model", 0, Status.OK, "Since when?"))
    assert found.messages == (*sample.messages, Message("assistant", "Since when?"))
    assert (found.id, found.cluster) == (sample.id, "talk")


def test_keys_ignore_width_case_and_blanks() -> None:
    assert form.key([Message("user", "Ｈello  World")]) == form.key([Message("user", "hello world ")])
    assert form.key([Message("user", "a")]) != form.key([Message("assistant", "a")])
