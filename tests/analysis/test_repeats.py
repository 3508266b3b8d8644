"""Scores and comparisons of the authors' five runs are the published ones, and those that their files give."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.analysis.compare import compare
from mindgauge.analysis.score import score

if TYPE_CHECKING:
    from mindgauge.analysis.score import Scores

DATA = Path(os.environ.get("MINDGAUGE_DATA") or Path(__file__).parents[2] / "../shared/data") / "dialogue_safety"
PUBLISHED = {
    "gpt-3.5-turbo-0301:zero_shot": [(47.525, 0.640), (49.946, 0.733), (47.525, 0.640), (48.448, 0.691)],
    "gpt-3.5-turbo-0301:few_shot": [(48.425, 1.762), (50.959, 1.973), (48.425, 1.762), (47.934, 2.371)],
    "bert-base-chinese": [(70.250, 1.163), (70.463, 0.888), (70.250, 1.163), (69.674, 1.161)],
}
"""Mean and sample SD of accuracy and weighted precision, recall and F1 in percent, recomputed; table 2 rounds them."""
RECOMPUTED = {
    "gpt-3.5-turbo-0301:zero_shot": {"macro_f1": 23.8, "unsafe_accuracy": 59.375, "unsafe_precision": 61.4, "unsafe_recall": 67.0, "unsafe_f1": 64.1, "repeat_stability": 72.6},
    "gpt-3.5-turbo-0301:few_shot": {"macro_f1": 21.1, "unsafe_accuracy": 60.0, "unsafe_precision": 66.8, "unsafe_recall": 52.3, "unsafe_f1": 58.5, "repeat_stability": 42.6},
    "bert-base-chinese": {"macro_f1": 45.9, "unsafe_accuracy": 74.65, "unsafe_precision": 81.5, "unsafe_recall": 68.8, "unsafe_f1": 74.6, "repeat_stability": 75.6},
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not DATA.is_dir():
        pytest.skip(f"the authors' files are not at hand ({DATA}); set MINDGAUGE_DATA")
    folder = tmp_path_factory.mktemp("dialogue_safety")
    mindgauge.papers_load("dialogue_safety", data=DATA, out=folder)
    return folder


@pytest.fixture(scope="module")
def scores(run: Path) -> Scores:
    return score(run, resamples=50)


@pytest.mark.parametrize("rater", PUBLISHED)
def test_mean_and_sd_of_the_published_table(rater: str, scores: Scores) -> None:
    names = ("accuracy", "weighted_precision", "weighted_recall", "weighted_f1")
    for name, (mean, sd) in zip(names, PUBLISHED[rater], strict=True):
        (found,) = scores.find(name, rater=rater)
        assert (found.runs, found.n) == (5, 4000)
        assert found.mean_of_runs == pytest.approx(mean / 100, abs=5e-6)
        assert found.sd == pytest.approx(sd / 100, abs=5e-6)


@pytest.mark.parametrize("rater", RECOMPUTED)
def test_what_the_paper_does_not_print(rater: str, scores: Scores) -> None:
    for name, percent in RECOMPUTED[rater].items():
        (found,) = scores.find(name, rater=rater)
        shown = found.value if name == "repeat_stability" else found.mean_of_runs
        assert shown == pytest.approx(percent / 100, abs=5.1e-4), name


def test_no_chat_model_can_be_told_from_always_saying_safe(run: Path, scores: Scores) -> None:
    (always,) = scores.find("accuracy", rater="always Safe Response")
    assert always.value == 0.45875
    (measure,) = compare([run]).find("accuracy")
    apart = {(d.first, d.second): d.told_apart for d in measure.differences}
    assert apart["bert-base-chinese", "gpt-3.5-turbo-0301:few_shot"] is True
    assert apart["gpt-3.5-turbo-0301:few_shot", "always Safe Response"] is False
    assert apart["gpt-3.5-turbo-0301:zero_shot", "always Safe Response"] is False
