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


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("{reply}", "R"), ("{{reply}}", "{reply}"), ("{{{reply}}}", "{R}"), ("{{{{reply}}}}", "{{reply}}"), ("{{label}}", "{label}"), ("{{Label}}", "{Label}"),
        ('{"a": {reply}}', '{"a": R}'), ("{{reply}", "{R"), ("{A} {0} {} {{0}} { x }", "{A} {0} {} {{0}} { x }"),
        ('{"appropriateness": 1, "b": {"c": 2}}', '{"appropriateness": 1, "b": {"c": 2}}'), ('{{"a": 1}}', '{{"a": 1}}'),
    ],
)  # fmt: skip
def test_braces_doubled_around_a_word_are_single_ones_and_other_braces_are_sent_as_they_are(
    written: str, sent: str, tmp_path: Path
) -> None:
    path = tmp_path / "judge.en.md"
    path.write_text(f"x {written} y", encoding="utf-8")
    assert Prompt.load(path, ["reply"]).fill({"reply": "R"}) == f"x {sent} y"


@pytest.mark.parametrize("written", ["{Reply}", "{ reply }", "{REPLY }", "{{ reply }}", '{"a": {Reply}}'])
def test_a_slot_in_another_case_or_with_blanks_is_refused(written: str, tmp_path: Path) -> None:
    path = tmp_path / "judge.en.md"
    path.write_text(f"{{reply}} {written}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"is no slot; write \{reply\}"):
        Prompt.load(path, ["reply"])


@pytest.mark.parametrize(
    ("content", "text"),
    [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("\n\r\na \r\n\r\n", "\n\r\na \r\n")],
)
def test_one_line_end_at_the_end_of_the_file_is_left_out_and_nothing_else(
    content: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "ask.en.md").write_bytes(content.encode())
    assert Prompt.load(tmp_path / "ask.en.md", []).text == text


@pytest.mark.parametrize("content", ["", "\n", " \r\n"])
def test_an_empty_prompt_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "reply.en.md").write_bytes(content.encode())
    with pytest.raises(UsageError, match=r"reply\.en\.md: the prompt is empty"):
        Prompt.load(tmp_path / "reply.en.md", [])


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
