"""Constant raters stand beside every table of a benchmark that asks for them, and are nobody's model."""

from __future__ import annotations

import pytest

from mindgauge.analysis.score import score
from tests.analysis.answered import Asked, Planted, planted

__all__ = ["planted"]
ASKED = [
    Asked("a", "calm"),
    Asked("b", "calm"),
    Asked("c", "calm"),
    Asked("d", "crisis"),
    Asked("e", "sad"),
    Asked("f"),
]


def test_what_one_answer_to_everything_scores(planted: Planted) -> None:
    planted = planted.asking_for("sad")
    found = score(planted.answered("run", ASKED, {"m": ["calm", "calm", "sad", "sad", "sad", "sad"]}), resamples=50)
    accuracy = {s.model: (s.value, s.n) for s in found.find("accuracy")}
    assert accuracy == {"m": (0.6, 5), "always sad": (0.2, 5), "majority class": (0.6, 5)}
    missed = {s.model: s.value for s in found.find("missed_rate")}
    assert missed == {"m": 0.0, "always sad": 0.0, "majority class": 1.0}
    assert found.find("macro_f1", model="always sad")[0].value == pytest.approx(1 / 9)


def test_they_are_no_models_and_say_nothing_of_single_labels(planted: Planted) -> None:
    planted = planted.asking_for("sad")
    found = score(planted.answered("run", ASKED, {"m": ["calm"] * 6}), resamples=50)
    assert found.models == ["m"]
    constant = [s for s in found.metrics if s.model in {"always sad", "majority class"}]
    assert {s.name for s in constant} == {"accuracy", "macro_f1", "missed_rate"}
    assert all(s.rater == s.model and s.missing == 0 for s in constant)


def test_nobody_asked_nobody_stands_there(planted: Planted) -> None:
    found = score(planted.answered("run", ASKED, {"m": ["calm"] * 6}), resamples=50)
    assert {s.model for s in found.metrics} == {"m"}
