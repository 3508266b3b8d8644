"""A process that works through a batch service is killed at every stage; the next one goes on, and nothing is paid for twice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.settings import Settings
from mindgauge.store import Store
from mindgauge.store.batches import Batches
from tests.batch_stub import BatchStub
from tests.configured import configured
from tests.conftest import obliging

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

RESPONSE = "help_or_harm/response"
LIMIT = 14
PAUSE = {"MINDGAUGE_BATCH_PAUSE": "0.04"}


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["mindgauge.commands.run", "mindgauge.models.batch.model", "mindgauge.benchmarks.help_or_harm"]
)


def work(model: str, out: str) -> None:
    """Run in batches; what a child process does."""
    os.environ.update(PAUSE)
    mindgauge.run(RESPONSE, model=model, out=out, limit=LIMIT, settings=Settings(batch=True))


def begun(stub: BatchStub, out: Path) -> ForkServerProcess:
    process = FORKS.Process(target=work, args=(stub.model, str(out)))
    process.start()
    return process


def finished(stub: BatchStub, out: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Scores:
    for name, value in PAUSE.items():
        monkeypatch.setenv(name, value)
    found = mindgauge.run(RESPONSE, model=stub.model, out=out, limit=LIMIT, settings=Settings(batch=True), **more)
    assert isinstance(found, Scores)
    return found


STAGES = [
    ("openai", "list"), ("openai", "upload"), ("openai", "create"), ("openai", "created"), ("openai", "look"),
    ("openai", "results"), ("anthropic", "create"), ("anthropic", "created"), ("anthropic", "results"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "stage"), STAGES)
def test_killed_at_any_stage(protocol: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[ForkServerProcess] = []
    known, killed = threading.Event(), threading.Event()

    def kill(name: str) -> None:
        if name == stage and not killed.is_set():
            assert known.wait(30)
            running[0].kill()
            killed.set()

    with BatchStub(obliging, protocol) as stub:
        stub.event = kill
        running.append(begun(stub, tmp_path / "r"))
        known.set()
        running[0].join(60)
        assert running[0].exitcode == -signal.SIGKILL
        done = finished(stub, tmp_path / "r", monkeypatch)
    assert done.statuses == {"ok": LIMIT}
    assert set(stub.paid.values()) == {1}


def test_killed_while_it_keeps_what_it_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with BatchStub(obliging) as stub:
        process = begun(stub, tmp_path / "r")
        while process.is_alive() and not _kept(tmp_path / "r"):
            time.sleep(0.002)
        process.kill()
        process.join(10)
        done = finished(stub, tmp_path / "r", monkeypatch)
    assert done.statuses == {"ok": LIMIT}
    assert set(stub.paid.values()) == {1}


def _kept(out: Path) -> int:
    try:
        with Store(out) as store:
            return int(store.select("SELECT count(*) FROM calls").fetchone()[0])
    except (mindgauge.MindgaugeError, sqlite3.Error):
        return 0


@pytest.mark.long
def test_ctrl_c_and_a_wait_that_is_over_end_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = "from mindgauge.cli import main; main()"
    with BatchStub(obliging) as stub:
        command = [sys.executable, "-c", main, "run", RESPONSE, "--model", stub.model, "--judge", "rule/refusal", "--out", str(tmp_path / "r"), "--limit", str(LIMIT), "--batch"]  # fmt: skip
        environment = {**os.environ, **PAUSE}
        stub.ready_after = 10**9
        process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        while stub.events["look"] < 2 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        assert (process.returncode, said.count("\n")) == (130, 1)
        assert "1 batch with 14 calls is under way at 127.0.0.1" in said
        ended = subprocess.run(
            [*command, *configured(tmp_path, wait=0)], env=environment, capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
        assert (
            "waited 0 min: 1 batch with 14 calls is under way at 127.0.0.1; run the same command again" in ended.stderr
        )
        with Store(tmp_path / "r") as store:
            assert Batches(store).under_way(stub.model) == (1, LIMIT)
        stub.ready_after = 0
        assert finished(stub, tmp_path / "r", monkeypatch, judge="rule/refusal").statuses == {"ok": 2 * LIMIT}
    assert set(stub.paid.values()) == {1}
