from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge import benchmarks
from mindgauge.records.text import join, middle, split


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I hear you. That hurts! Are you safe?", ["I hear you.", "That hurts!", "Are you safe?"]),
        ("Dr. Lee sees people at 9 a.m. on weekdays. Call.", ["Dr. Lee sees people at 9 a.m. on weekdays.", "Call."]),
        ("我在听。你安全吗？“别怕。”我陪你。", ["我在听。", "你安全吗？", "“别怕。”", "我陪你。"]),
        ("One line\nand another", ["One line", "and another"]),
        ("It costs 2.50 pounds… really.", ["It costs 2.50 pounds…", "really."]),
        ("no full stop", ["no full stop"]),
        ("", []),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert split(text) == found


@given(st.text(max_size=200))
def test_nothing_but_blanks_is_lost(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())
    assert "".join(join(split(text)).split()) == "".join(text.split())
    assert 0 <= middle(text) <= len(text)


def test_a_real_reply_is_more_than_one_sentence() -> None:
    texts = [anchor.reply for anchor in benchmarks.find_one("mentalbench").anchors()]
    assert all(len(split(text)) >= 2 for text in texts)
    assert all(0 < middle(text) < len(text) for text in texts)
