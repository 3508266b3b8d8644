"""A command that keeps no text is killed: what it left says nothing, and going on pays for nothing twice."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.models.settings import Settings
from mindgauge.store import Store
from tests.privacy.said import SPOKEN, found, willing
from tests.stub import Stub

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

RESPONSE = "mentalbench"
SAMPLES, AT_ONCE = 6, 4
MAIN = "from mindgauge.cli import main; main()"


async def slowly(body: dict[str, Any], n: int) -> web.StreamResponse:
    await asyncio.sleep(0.01)
    return willing(body, n)


def command(stub: Stub, out: Path) -> list[str]:
    told = [
        "--limit",
        str(SAMPLES),
        "--mode",
        "split",
        "--own-family",
        "--no-text",
        "--no-qualify",
        "--concurrency",
        str(AT_ONCE),
    ]
    return [sys.executable, "-c", MAIN, "run", RESPONSE, "--model", stub.model, "--judge", stub.judge, *told, "--out", str(out)]  # fmt: skip


def killed(stub: Stub, out: Path, after: int) -> None:
    process = subprocess.Popen(command(stub, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begun = stub.calls
    while stub.calls - begun < after and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()


def texts() -> list[str]:
    said = [message.content for sample in benchmarks.find_one(RESPONSE).samples(None) for message in sample.messages]
    return [*said, *SPOKEN]


def go_on(stub: Stub, out: Path) -> None:
    settings = Settings(concurrency=AT_ONCE)
    how: dict[str, Any] = {
        "limit": SAMPLES,
        "mode": "split",
        "own_family": True,
        "text": False,
        "qualify": False,
        "settings": settings,
    }
    mindgauge.run(RESPONSE, model=stub.model, judge=stub.judge, out=out, **how)


def _values(out: Path) -> Any:
    with Store(out) as store:
        ratings = list(store.ratings(RESPONSE))
        assert store.count_replies(RESPONSE) == SAMPLES
    return sorted((r.criterion, r.run, str(r.status), str(r.value)) for r in ratings)


@pytest.mark.long
def test_what_a_kill_leaves_says_nothing_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    with Stub(willing) as stub:
        go_on(stub, tmp_path / "whole")
        calls = stub.calls
    with Stub(slowly) as stub:
        killed(stub, tmp_path / "r", SAMPLES + 9)
        assert found(tmp_path / "r", texts()) == []
        assert found(tmp_path / "r", texts(), without="none"), "what is still needed waits"
        again = subprocess.run(command(stub, tmp_path / "r"), check=True, capture_output=True, text=True)
        assert calls <= stub.calls <= calls + AT_ONCE, "only calls in flight at the kill may be made again"
    assert "pending, which is removed when the command is done" in again.stderr
    assert found(tmp_path / "r", texts(), without="none") == []
    assert _values(tmp_path / "r") == _values(tmp_path / "whole")


@pytest.mark.long
def test_texts_that_are_given_up_are_asked_for_again_and_no_reply_stands_there_twice(tmp_path: Path) -> None:
    with Stub(slowly) as stub:
        killed(stub, tmp_path / "r", SAMPLES + 9)
        shutil.rmtree(tmp_path / "r" / "pending")
        go_on(stub, tmp_path / "r")
    with Store(tmp_path / "r") as store:
        assert store.count_replies(RESPONSE) == SAMPLES
        subjects = {reply.id for reply in store.replies(RESPONSE)}
        assert {rating.subject for rating in store.ratings(RESPONSE)} == subjects
    assert not (tmp_path / "r" / "pending").exists()
