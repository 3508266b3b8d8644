"""Going on pays for nothing twice in any way, and a dry run says what it would take."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.cli.render import foreseen
from mindgauge.records import Exchange, Status
from mindgauge.records.request import Price
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.session import tokens
from tests.runs.prompt_styles.conftest import WAYS, Model, asked, plant, right, run
from tests.stub import Stub, says
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.request import Request


def test_the_same_command_pays_for_nothing_twice(replies: Benchmark, tmp_path: Path) -> None:
    model = Model()
    first = run(tmp_path / "r", model)
    assert len(model.requests) == 3 * 32 + 72
    again = Model()
    second = run(tmp_path / "r", again)
    assert not again.requests
    assert first.metrics == second.metrics


def test_a_node_that_failed_is_asked_again_and_the_nodes_before_it_are_not(replies: Benchmark, tmp_path: Path) -> None:
    def failing(request: Request) -> str | Exchange:
        return Exchange(Status.FAILED, error="down") if "decide" in asked(request) else right(request)

    found = run(tmp_path / "r", Model(failing), "sequential")
    assert found.statuses == {"ok": 8, "failed": 24}
    again = Model()
    assert run(tmp_path / "r", again, "sequential").statuses == {"ok": 32}
    assert Counter("decide" in asked(r) for r in again.requests) == {True: 24, False: 16}
    assert not any("understood" in asked(r) for r in again.requests)


KILLED = """
import pathlib, sys
import mindgauge
from mindgauge import Settings
from mindgauge.benchmarks import Benchmark, registry
from mindgauge.benchmarks.metrics import accuracy
planted = Benchmark.from_folder(pathlib.Path(sys.argv[1]), metrics=(accuracy,), read=lambda _: [])
registry._known = lambda: registry._Known({planted.name: planted}, {})
ways = ["flat", "few-shot", "sequential"]
mindgauge.run("replies", model=sys.argv[2], out=sys.argv[3], ask=ways, runs=3, settings=Settings(concurrency=4))
"""


@pytest.mark.long
@pytest.mark.parametrize("after", [later(50), 250])
def test_a_kill_repeats_no_finished_call_in_any_way(tmp_path: Path, after: int) -> None:
    plant(tmp_path / "replies")

    def handler(body: dict[str, Any], n: int) -> Any:
        time.sleep(0.003)
        properties = body["response_format"]["json_schema"]["schema"]["properties"]
        return says('{"answer": "no"}' if "answer" in properties else '{"category": "Scorn"}')

    with Stub(handler) as stub:
        command = [sys.executable, "-c", KILLED, str(tmp_path / "replies"), stub.model, str(tmp_path / "r")]
        process = subprocess.Popen(command)
        while stub.calls < after and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        subprocess.run(command, check=True)
        whole = 32 * 3 * (1 + 1 + 3)
        assert whole <= stub.calls <= whole + 4, "only calls in flight at the kill may be made again"


def test_a_dry_run_bounds_the_calls_and_says_what_to_expect(
    replies: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def foresee() -> DryRun:
        model = Model()
        model.price = Price(1e-6, 1e-6)
        found = mindgauge.run("replies", model=model, out=tmp_path / "r", ask=WAYS, runs=2, limit=16, dry_run=True)
        assert isinstance(found, DryRun) and not model.requests
        return found

    before = foresee()
    flat, unordered, few, sequential = before.steps
    assert [s.purpose for s in before.steps] == ["classify", "classify (unordered)", "classify (few-shot)", "classify (sequential)"]  # fmt: skip
    assert [(s.calls, s.expected_calls) for s in before.steps] == [(32, 32), (32, 32), (32, 32), (96, 72)]
    assert unordered.prompt_tokens < flat.prompt_tokens < few.prompt_tokens
    assert sequential.cost == pytest.approx((sequential.prompt_tokens + sequential.completion_tokens) * 1e-6)
    assert not (tmp_path / "r").exists()
    foreseen(before)
    assert "at most 96, 72 if every answer is right" in " ".join(capsys.readouterr().out.split())
    model = Model()
    run(tmp_path / "r", model, runs=2, limit=16)
    after = foresee()
    assert (after.calls, after.done) == (0, len(model.requests)) == (0, 3 * 32 + 72)


def test_theforeseen_tokens_are_those_of_what_is_sent(replies: Benchmark, tmp_path: Path) -> None:
    model = Model(lambda request: '{"category": "Safe", "answer": "no"}')
    foreseen = mindgauge.run("replies", model=model, out=tmp_path / "r", ask=WAYS, dry_run=True)
    assert isinstance(foreseen, DryRun)
    run(tmp_path / "r", model)
    assert len(model.requests) == foreseen.calls
    assert foreseen.prompt_tokens == pytest.approx(sum(tokens(r.messages) for r in model.requests), abs=4)
