"""How long a command would take, and what room: constants where nothing is known, the run's own calls where it has any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.models.settings import Settings
from mindgauge.records.rounding import duration
from mindgauge.runs import forecast as model_of
from mindgauge.runs.forecast import DryRun, forecast
from mindgauge.runs.steps import PlannedStep

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records.request import Request
    from tests.stub import Stub

RESPONSE = "help_or_harm/response"


def heard(request: Request) -> str:
    return f"I hear you. ({len(request.messages)})"


def step(calls: int, written: int = 150, read: int = 1_000) -> PlannedStep:
    return PlannedStep("m", "judge", calls, calls, calls * read, calls * written, None)


def test_a_call_waits_for_the_model_or_for_us(tmp_path: Path) -> None:
    m = Scripted("m", heard)
    each = model_of.FIRST_TOKEN + 150 / model_of.WRITTEN
    slow = forecast(tmp_path, [(step(100_000), False)], [m], Settings(concurrency=32))
    assert slow.seconds == pytest.approx(100_000 * each / 32)
    wide = forecast(tmp_path, [(step(10_000_000), False)], [m], Settings(concurrency=100_000))
    assert wide.seconds == pytest.approx(10_000_000 / model_of.PER_PROCESS), "beyond that, the engine is the limit"
    assert wide.bytes > 100 * slow.bytes * 0.99


def test_judging_waits_for_the_replies_but_models_do_not_wait_for_each_other(tmp_path: Path) -> None:
    a, b = Scripted("m", heard), Scripted("n", heard)
    of_b = PlannedStep("n", "reply", 100, 100, 100_000, 15_000, None)
    one = forecast(tmp_path, [(step(100), False)], [a], Settings()).seconds or 0.0
    assert forecast(tmp_path, [(step(100), False), (of_b, False)], [a, b], Settings()).seconds == pytest.approx(one)
    assert forecast(tmp_path, [(step(100), False), (of_b, True)], [a, b], Settings()).seconds == pytest.approx(2 * one)


def test_a_batch_service_answers_within_a_day_a_round(tmp_path: Path) -> None:
    steps = [(step(100), False), (step(100), True)]
    found = forecast(tmp_path, steps, [Scripted("m", heard)], Settings(batch=True))
    assert (found.seconds, found.rounds) == (None, 2)


def test_calls_that_a_run_holds_say_how_fast_a_model_is(stub: Stub, tmp_path: Path) -> None:
    def foreseen(limit: int) -> DryRun:
        found = mindgauge.run(RESPONSE, model=stub.model, out=tmp_path / "r", limit=limit, runs=9, dry_run=True)
        assert isinstance(found, DryRun)
        return found

    before = foreseen(7)
    assert "as assumed" in before.forecast.rests_on[0]
    mindgauge.run(RESPONSE, model=stub.model, out=tmp_path / "r", limit=7)
    after = foreseen(7)
    assert "in this run so far" in after.forecast.rests_on[0]
    assert before.forecast.seconds is not None and after.forecast.seconds is not None
    assert after.forecast.seconds < before.forecast.seconds / 3, "the stub answers at once"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "1 s"),
        (59.4, "59 s"),
        (61, "1 min"),
        (3_599, "1 h 0 min"),
        (100_000, "27 h 47 min"),
        (400_000, "4 d 15 h"),
    ],
)
def test_times_are_written_in_their_two_largest_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said
