"""The definitions of the crisis types, version 2: what version 1 was too narrow for has a place, in both languages."""

from __future__ import annotations

import pytest

from mindgauge import benchmarks

RUBRIC = benchmarks.find_one("help_or_harm/crisis_type").rubric
CRITERION = RUBRIC.criteria[0]


@pytest.mark.parametrize(
    ("label", "english", "chinese"),
    [
        ("anxiety_crisis", "Attacks are not required", "不要求有发作"),
        ("anxiety_crisis", "mentioned in passing", "顺带提到"),
        ("violent_thoughts", "cannot control counts, also without a plan", "没有计划也一样"),
        ("risk_taking_behaviours", "once or often", "一次或多次都算"),
        ("risk_taking_behaviours", "eating, purging or starving", "暴食、催吐或过度节食、断食"),
        ("suicidal_ideation", "without a word about dying", "一字不提死也算"),
        ("suicidal_ideation", "living on itself is in question", "怀疑还要不要活下去"),
        ("substance_abuse_or_withdrawal", "a bare mention of a drink", "只提到喝一杯"),
        ("substance_abuse_or_withdrawal", "Distress or danger from", "痛苦或有危险"),
        ("no_crisis", "mania and being abused have no label", "躁狂和遭受虐待没有单独的标签"),
        ("no_crisis", "does not mean safe", "不等于安全"),
        ("no_crisis", "a crisis that is long over", "早已过去的危机"),
    ],
)
def test_a_definition_says_what_counts(label: str, english: str, chinese: str) -> None:
    (level,) = (level for level in CRITERION.levels if level.value == label)
    assert RUBRIC.version == "2.1"
    assert english in level.text["en"]
    assert chinese in level.text["zh"]


def test_the_question_says_how_to_read_one_line_and_a_stated_purpose() -> None:
    assert "single line" in CRITERION.text["en"]
    assert "study or a story does not cancel a sign" in CRITERION.text["en"]
    assert "只有一句话" in CRITERION.text["zh"]
    assert "并不抵消" in CRITERION.text["zh"]
