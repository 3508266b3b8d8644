from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.errors import UsageError
from mindgauge.prompt import Prompt, fence, nonce_for, transcript
from mindgauge.records import Message

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


def test_the_nonce_is_the_subject_s_own_and_nobody_can_know_it() -> None:
    assert nonce_for("a") == nonce_for("a") != nonce_for("b")
    assert fence("reply", "x", "n") == "<reply n>\nx\n</reply n>"
    told = "import mindgauge.prompt; print(mindgauge.prompt.nonce_for('a'))"
    another = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.strip()
    assert len(another) == 16
    assert another != nonce_for("a"), "another process, another secret: the text alone does not give it away"


@given(st.text())
def test_what_stands_in_a_fence_cannot_close_it(text: str) -> None:
    nonce = nonce_for("a")
    opening, *inside, closing = fence("reply", text, nonce).split("\n")
    assert (opening, closing) == (f"<reply {nonce}>", f"</reply {nonce}>")
    assert nonce not in "".join(inside)


def test_a_dialogue_as_text() -> None:
    assert transcript((Message("user", "hi"), Message("assistant", "hello"))) == "Person: hi\n\nAssistant: hello"
