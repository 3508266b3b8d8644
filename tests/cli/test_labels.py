"""How often each label was given, in the terminal."""

import pytest

from mindgauge.analysis.score import Score, Scores
from mindgauge.benchmarks.metrics import Metric, mean_level, share_at_most, share_of
from mindgauge.cli import render
from mindgauge.reports.reliability_gate import masked
from mindgauge.reports.score_tables import OPEN, labels


def lines(capsys: pytest.CaptureFixture[str], *metrics: Metric, void: str = "") -> list[list[str]]:
    """Print scores by a classifier; return the rows of the table of labels."""
    row = ("safety", "all", "model", "classifier/c", 0.5, 0.4, 0.6, 40, 40, 0, 0.5, 0.5)
    values = [Score("help_or_harm/response", metric.name, *row, void=void) for metric in metrics]
    calls = dict.fromkeys(
        ("made", "failed", "cost", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds"), 0
    )
    result = Scores("run", "help_or_harm/response", ["model"], [], calls, {}, [], values, [])
    for table in labels(masked(result, OPEN)):
        render.sheet(table)
    printed = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    return printed[[line[0] for line in printed].index("label") + 1 :]


def test_what_is_void_stands_in_no_table_of_labels(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = lines(capsys, share_of("calm"), void="the classifier cannot be used")
    assert first[0] == "calm"
    assert "50" not in " ".join(first)


def test_only_shares_of_labels_stand_in_the_table_of_labels(capsys: pytest.CaptureFixture[str]) -> None:
    rows = lines(capsys, share_at_most(2), share_of("calm"), share_of("wants_help"), mean_level)
    assert [row[0] for row in rows][:5] == ["calm", "wants_help", "(no", "answers", "conversations"]
