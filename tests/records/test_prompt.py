from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters.quotes import fold
from mindgauge.records import Message
from mindgauge.records.errors import UsageError
from mindgauge.records.prompt import Nonces, Prompt, fence, transcript

if TYPE_CHECKING:
    from pathlib import Path


@given(st.text(), st.text())
def test_slots_are_filled_once_whatever_they_hold(dialogue: str, reply: str) -> None:
    filled = Prompt("[{dialogue}][{reply}]").fill({"dialogue": dialogue, "reply": reply})
    assert filled == f"[{dialogue}][{reply}]"


def test_an_unknown_slot_is_refused_at_load(tmp_path: Path) -> None:
    path = tmp_path / "judge.en.md"
    path.write_text("Judge {reply} as {persona}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no slot \{persona\}"):
        Prompt.load(path, ["reply", "dialogue"])
    assert Prompt.load(path, ["reply", "persona"]).slots == {"reply", "persona"}


def test_a_nonce_is_one_rater_s_for_one_subject_and_in_none_of_the_texts() -> None:
    nonces = Nonces()
    first = nonces.draw("a")
    assert re.fullmatch(r"[0-9a-f]{16}", first)
    assert nonces.draw("a") == nonces.draw("a", "other words") == first
    assert nonces.draw("b") != first
    assert Nonces().draw("a") != first, "another rater, another secret: who saw one cannot tell the other"
    second = nonces.draw("a", f"xx{first}xx")
    third = nonces.draw("a", f"xx{first}xx", f"{second}")
    assert len({first, second, third}) == 3
    assert fence("reply", "x", "n") == "<reply n>\nx\n</reply n>"


@given(st.text())
def test_what_stands_in_a_fence_cannot_close_it(text: str) -> None:
    nonce = Nonces().draw("a", fold(text))
    opening, *inside, closing = fence("reply", text, nonce).split("\n")
    assert (opening, closing) == (f"<reply {nonce}>", f"</reply {nonce}>")
    assert nonce not in "".join(inside)


def test_a_dialogue_as_text() -> None:
    assert transcript((Message("user", "hi"), Message("assistant", "hello"))) == "Person: hi\n\nAssistant: hello"
