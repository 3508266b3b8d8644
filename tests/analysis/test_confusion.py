"""What was taken for what: every answer is in one cell, unreadable ones under their status, with its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis import frame
from mindgauge.analysis.closed_answers import confusion
from mindgauge.records import Status
from mindgauge.store import Store
from tests.analysis.answered import Asked, Planted, planted

if TYPE_CHECKING:
    from mindgauge.analysis.closed_answers import ConfusionMatrix

__all__ = ["planted"]
ASKED = [Asked("a", "crisis"), Asked("b", "crisis"), Asked("c", "calm"), Asked("d")]
SAID = [["crisis", "calm", "calm"], ["calm", Status.UNPARSABLE, Status.FAILED], ["calm", "calm", "sad"], ["sad"]]


def found(planted: Planted) -> ConfusionMatrix:
    with Store(planted.answered("run", ASKED, {"m": SAID})) as store:
        rows = frame.ratings(store, planted.closed)
    return confusion(rows.filter(rows["rater"] == "m"), planted.closed.rubric.criteria[0])


def test_a_row_for_each_target_and_a_column_for_each_outcome(planted: Planted) -> None:
    table = found(planted)
    assert table.targets == ["crisis", "calm"], "no sample is sad, and one has no target"
    assert table.outcomes == ["crisis", "sad", "calm", "failed", "unparsable"]
    assert table.counts == [[1, 0, 3, 1, 1], [0, 1, 2, 0, 0]]


def test_samples_stand_once_and_those_most_often_taken_so_come_first(planted: Planted) -> None:
    a, b, c, _ = (asked.sample.id for asked in ASKED)
    table = found(planted)
    cells = {(cell.target, cell.outcome): cell.samples for cell in table.cells}
    assert cells["crisis", "calm"] == [a, b]
    assert cells["crisis", "unparsable"] == [b]
    assert cells["calm", "calm"] == [c]
    assert next((cell.target, cell.outcome, cell.n) for cell in table.wrong) == ("crisis", "calm", 3)
    assert {(cell.target, cell.outcome) for cell in table.wrong} == cells.keys() - {
        ("crisis", "crisis"),
        ("calm", "calm"),
    }


def test_a_cell_counts_the_samples_that_got_its_outcome_in_every_repeat(planted: Planted) -> None:
    said = [["calm", "calm", "calm"], ["calm", "crisis", "calm"], ["calm", "calm", "calm"], ["sad"]]
    with Store(planted.answered("run", ASKED, {"m": said})) as store:
        rows = frame.ratings(store, planted.closed)
    table = confusion(rows.filter(rows["rater"] == "m"), planted.closed.rubric.criteria[0])
    cells = {(c.target, c.outcome): (c.n, len(c.samples), c.steady, c.times, c.repeats) for c in table.cells}
    assert cells["crisis", "calm"] == (5, 2, 1, 3, 3)
    assert cells["crisis", "crisis"] == (1, 1, 0, 1, 3)
