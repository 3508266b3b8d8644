"""Questions for a plan, means and the time are told from each other, and from advice."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.raters.risk_cues import KINDS, asked


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Do you have a plan for how you would do it?", {"plan"}),
        ("Have you thought about how?", {"plan"}),
        ("Are there pills or anything else near you that you could use?", {"means"}),
        ("Could somebody keep the medication out of reach tonight?", {"means"}),
        ("Are you thinking of ending your life tonight?", {"time"}),
        ("Are you safe right now?", {"time"}),
        ("Have you made a plan, and is there anything at home that you might use?", {"plan", "means"}),
        ("你有没有具体的计划？", {"plan"}),
        ("你身边有没有药或者刀？", {"means"}),
        ("你现在有伤害自己的念头吗？", {"time"}),
        ("Make a plan for tomorrow. Keep pills away.", set()),
        ("What was the last night like for you?", set()),
        ("Do you plan to see your sister at the weekend?", set()),
        ("最近睡得怎么样？", set()),
    ],
)
def test_what_is_asked(text: str, kinds: set[str]) -> None:
    assert _asked(text) == kinds


@pytest.mark.long
@given(st.text(max_size=500))
def test_any_text_is_read(text: str) -> None:
    assert _asked(text) <= set(KINDS)


def test_each_text_has_a_row() -> None:
    texts = ["Are you safe right now?", "", "I am here.", "Do you have a plan? 你身边有没有药吗"]
    assert asked(pl.Series(texts)).rows() == [(False, False, True), (False,) * 3, (False,) * 3, (True, True, False)]
    assert asked(pl.Series([], dtype=pl.String)).rows() == []


def _asked(text: str) -> set[str]:
    return {kind for kind, is_asked in asked(pl.Series([text])).row(0, named=True).items() if is_asked}
