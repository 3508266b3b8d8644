"""How often each label was given, in the terminal."""

import pytest

from mindgauge.analysis.score import Score, Scores
from mindgauge.benchmarks.metrics import Metric, mean_level, share_at_most, share_of
from mindgauge.cli import labels


def scores(*metrics: Metric, void: str = "") -> Scores:
    row = ("safety", "all", "model", "classifier/c", 0.5, 0.4, 0.6, 40, 40, 0, 0.5, 0.5)
    values = [Score("help_or_harm/response", metric.name, *row, void=void) for metric in metrics]
    return Scores("run", "help_or_harm/response", ["model"], [], {}, {}, [], values, [])


def test_what_is_void_stands_in_no_table_of_labels(capsys: pytest.CaptureFixture[str]) -> None:
    labels.show(scores(share_of("calm"), void="the classifier cannot be used"))
    assert ["calm", "–"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_only_shares_of_labels_stand_in_the_table_of_labels(capsys: pytest.CaptureFixture[str]) -> None:
    labels.show(scores(share_at_most(2), share_of("calm"), share_of("wants_help"), mean_level))
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert lines == ["help_or_harm/response:", "label", "calm", "wants_help", "(no", "replies", "conversations"]
