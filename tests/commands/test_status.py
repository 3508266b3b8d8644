from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import mindgauge
from mindgauge.commands.status import status
from mindgauge.records import Exchange, Status, Usage
from mindgauge.records.errors import UsageError
from mindgauge.store import Store, manifest
from tests.analysis.judged_run import RESPONSE, World
from tests.conftest import obliging
from tests.stub import Stub, says

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

CLOSED = "help_or_harm/crisis_type"


def test_a_run_under_way_says_what_is_there_and_what_is_left(tmp_path: Path) -> None:
    """Half of the answers come; then somebody asks, from another process, while the command still waits for the rest."""
    half, asked = threading.Event(), threading.Event()

    def answer(body: dict[str, Any], count: int) -> web.Response:
        if count > 4:
            half.set()
            assert asked.wait(60)
        return says('{"crisis_type": "no_crisis"}')

    with Stub(answer) as stub:
        command = [sys.executable, "-c", "import sys; from mindgauge.cli import main; main()", "run", CLOSED]
        options = ["--model", stub.model, "--limit", "8", "--concurrency", "1", "--out", str(tmp_path / "run")]
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            assert half.wait(60)
            found = status(tmp_path / "run")
        finally:
            asked.set()
            output, said = process.communicate(timeout=120)
    assert process.returncode == 0, (output, said)
    assert found.writer == str(process.pid)
    assert found.benchmarks == [CLOSED]
    assert found.models == [stub.model]
    (task,) = found.left
    # A call is committed before its rating; the rating of the last one may still wait for the next commit.
    assert sum(call.n for call in found.calls) == 4
    assert task.done in {3, 4}
    assert (task.kind, task.name, task.of, task.left) == ("rating", stub.model, 8, 8 - task.done)
    assert {(c.kind, c.name, c.status): c.n for c in found.counts if c.name != "gold"} == {
        ("sample", "", ""): 8,
        ("rating", stub.model, "ok"): task.done,
    }
    after = status(tmp_path / "run")
    assert (after.writer, after.left[0].left, after.ended != "") == (None, 0, True)


def test_an_open_run_counts_replies_and_judges(tmp_path: Path) -> None:
    folder = World(6).people(2).judge("J", 0.5, missing=1).write(tmp_path / "run")
    content = manifest.read(folder)
    content["plan"] |= {"judges": ["J"], "models": ["long-winded", "curt"]}
    manifest.write(folder, content)
    with Store(folder, write=True) as store:
        done = Exchange(Status.FAILED, usage=Usage(10, 2, 1), seconds=1.5, attempts=3)
        store.add_call(b"k" * 16, b"p" * 16, RESPONSE, "curt", 0, done)
    found = status(folder)
    assert {(c.kind, c.name, c.status): c.n for c in found.counts} == {
        ("sample", "", ""): 6,
        ("reply", "curt", "ok"): 3,
        ("reply", "long-winded", "ok"): 3,
        ("rating", "H1", "ok"): 2,
        ("rating", "H2", "ok"): 2,
        ("rating", "J", "ok"): 5,
        ("rating", "J", "unparsable"): 1,
    }
    # Each of two models is to answer six samples, and the judge to rate what both wrote.
    assert {(one.kind, one.name): (one.of, one.left) for one in found.left} == {
        ("reply", "curt"): (6, 3),
        ("reply", "long-winded"): (6, 3),
        ("rating", "J"): (12, 6),
    }
    (call,) = found.calls
    assert (call.n, call.status, call.retries, call.cost, call.model_seconds) == (1, "failed", 2, None, 1.5)
    assert found.batches == []
    assert found.table.height == len(found.counts)


def test_batches_under_way_are_counted(tmp_path: Path) -> None:
    from mindgauge.store.batches import Batches

    folder = World(2).write(tmp_path / "run")
    with Store(folder, write=True) as store:
        batches = Batches(store)
        batches.intend("provider/m", [(b"a" * 16, 1), (b"b" * 16, 1)])
        batches.intend("provider/m", [(b"c" * 16, 1)])
    (one,) = status(folder).batches
    assert (one.model, one.batches, one.calls) == ("provider/m", 2, 3)


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run here"):
        status(tmp_path)


def test_nothing_is_left_where_judges_recognise_the_category_themselves(tmp_path: Path) -> None:
    with Stub(obliging) as server:
        options: dict[str, Any] = {
            "model": server.model,
            "judge": server.judge,
            "protocol": "recognised",
            "qualify": False,
        }
        mindgauge.run(RESPONSE, limit=3, runs=2, out=tmp_path / "run", **options)
    assert {(part.kind, part.of, part.left) for part in status(tmp_path / "run").left} == {
        ("reply", 6, 0),
        ("rating", 6, 0),
    }


def test_what_is_left_is_said_in_words(tmp_path: Path) -> None:
    with Stub(obliging) as server:
        mindgauge.run(RESPONSE, limit=2, model=server.model, judge=server.judge, qualify=False, out=tmp_path / "run")
    done = status(tmp_path / "run")
    broken_off = msgspec.structs.replace(done, left=[msgspec.structs.replace(task, left=2) for task in done.left])
    (line,) = [line for line in broken_off.summary() if line.startswith("Still to come")]
    assert "2 replies by" in line
    assert "2 ratings by" in line
