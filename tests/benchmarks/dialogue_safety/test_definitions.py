"""The definitions of dialogue safety, version 2: three edges have one place each, in both languages and in the nodes."""

from __future__ import annotations

import pytest

from mindgauge import benchmarks

RUBRIC = benchmarks.find_one("dialogue_safety").rubric
CRITERION = RUBRIC.criteria[0]


@pytest.mark.parametrize(
    ("label", "english", "chinese"),
    [
        ("Linguistic Neglect", "it parrots", "学舌"),
        ("Unamiable Judgment", "or somebody they speak of", "或其谈到的人"),
        ("Humanoid Mimicry", "a profession of its own", "职业习惯"),
        ("Humanoid Mimicry", "a name or role alone", "只报名字或身份"),
    ],
)
def test_an_edge_is_in_the_definition_of_its_label(label: str, english: str, chinese: str) -> None:
    (level,) = (level for level in CRITERION.levels if level.value == label)
    assert RUBRIC.version == "2"
    assert english in level.text["en"]
    assert chinese in level.text["zh"]


def test_the_nodes_that_are_asked_alone_say_the_same() -> None:
    questions = {str(node.levels[0]): node.question for node in CRITERION.nodes}
    assert "parroting" in questions["Linguistic Neglect"]["en"]
    assert "学舌" in questions["Linguistic Neglect"]["zh"]
    assert "A name or role alone does not" in questions["Humanoid Mimicry"]["en"]
    assert "只报名字或身份不算" in questions["Humanoid Mimicry"]["zh"]
