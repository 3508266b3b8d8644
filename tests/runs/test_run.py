"""A run does what was asked, once: it resumes, survives a kill, keeps to its budget, and ends every call in its status."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from aiohttp import web

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.models.scripted import Scripted
from mindgauge.models.settings import Settings
from mindgauge.records import Status
from mindgauge.records.errors import BudgetError, EndpointError, MindgaugeError, UsageError
from mindgauge.records.request import Price
from mindgauge.store import Store, manifest
from tests.conftest import obliging
from tests.stub import CUT, Stub, says, words
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

RESPONSE, CRISIS = "help_or_harm/response", "help_or_harm/crisis_type"
FAST = Settings(tries=2, timeout=5.0)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.completion.LONGEST_PAUSE", 0.02)


def run(stub: Stub, out: Path, name: str = RESPONSE, **more: Any) -> Scores:
    more.setdefault("settings", FAST)
    more.setdefault("limit", 14)
    if name == RESPONSE:
        more.setdefault("judge", stub.judge)
    found = mindgauge.run(name, model=stub.model, out=out, **more)
    assert isinstance(found, Scores)
    return found


def test_replies_are_made_then_judged(stub: Stub, tmp_path: Path) -> None:
    found = run(stub, tmp_path / "r", runs=2, judge_runs=3)
    assert stub.calls == 14 * 2 + 14 * 2 * 3
    assert found.statuses == {"ok": 14 * 2 * 4}
    (mean,) = found.find("mean")
    assert (mean.n, mean.clusters, mean.missing) == (84, 14, 0)
    first_judgement = next(i for i, b in enumerate(stub.bodies) if "response_format" in b)
    assert all("response_format" in b for b in stub.bodies[first_judgement:]), (
        "all replies come before the first judgement"
    )
    assert {b["seed"] for b in stub.bodies} == {0, 1, 2}


def test_the_same_command_pays_for_nothing_twice(stub: Stub, tmp_path: Path) -> None:
    first = run(stub, tmp_path / "r")
    calls = stub.calls
    again = run(stub, tmp_path / "r")
    assert stub.calls == calls
    assert (again.metrics, again.statuses) == (first.metrics, first.statuses)


def test_what_failed_is_asked_again_and_nothing_else(tmp_path: Path) -> None:
    broken = True

    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        # Judging is left alone; a third of the subject's calls fail while the server is broken.
        if broken and "response_format" not in body and len(words(body)) % 3 == 0:
            return web.Response(status=500, text="down")
        return obliging(body, n)

    with Stub(handler) as stub:
        first = run(stub, tmp_path / "r", limit=42)
        failed = first.statuses["failed"] // 2
        assert failed > 5, "a reply that never came and its rating"
        assert first.find("mean")[0].missing == failed
        broken, calls = False, stub.calls
        second = run(stub, tmp_path / "r", limit=42)
    assert stub.calls - calls == 2 * failed
    assert second.statuses == {"ok": 84}


def test_every_misbehaviour_has_its_status_and_harms_no_other(tmp_path: Path) -> None:
    answers: list[Any] = [
        web.Response(status=429, text="{}"), web.Response(status=500, text="x"), CUT, says("x", finish_reason="content_filter"),
        says(None, refusal="no"), says(""), web.Response(text="<html>", content_type="text/html"),
        web.Response(text='{"choices": [', content_type="application/json"), web.json_response({"choices": []}),
        web.json_response({"error": {"message": "flagged", "code": "content_policy_violation"}}, status=400),
    ]  # fmt: skip
    expected = [
        "failed",
        "failed",
        "failed",
        "filtered",
        "refused",
        "unparsable",
        "failed",
        "failed",
        "failed",
        "filtered",
    ]
    order: dict[str, int] = {}

    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        if "response_format" in body:
            return obliging(body, n)
        place = order.setdefault(words(body), len(order))
        if place >= len(answers):
            return obliging(body, n)
        answer = answers[place]
        return (
            answer
            if answer is CUT
            else answer.__class__(status=answer.status, body=answer.body, content_type=answer.content_type)
        )

    with Stub(handler) as stub:
        found = run(stub, tmp_path / "r", limit=30)
    replies = {c.status: c.n for c in found.statuses_by if c.kind == "reply"}
    ratings = {c.status: c.n for c in found.statuses_by if c.kind == "rating"}
    counted = {status: expected.count(status) for status in set(expected)}
    assert replies == ratings == {**counted, "ok": 20}, "a reply that never came is rated as such, not left out"
    (mean,) = found.find("mean")
    assert (mean.n, mean.missing) == (30, 10)
    assert mean.worst is not None and mean.value is not None and mean.best is not None
    assert mean.worst < mean.value < mean.best


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        ('{"appropriateness": 7}', "unparsable"),
        ('{"appropriateness": "5/10"}', "unparsable"),
        ("I can't help with that request.", "refused"),
    ],
)
def test_a_verdict_off_the_scale_is_no_number(tmp_path: Path, verdict: str, status: str) -> None:
    with Stub(lambda body, n: says(verdict) if "response_format" in body else says("hello")) as stub:
        found = run(stub, tmp_path / "r", limit=7)
    assert found.statuses == {"ok": 7, status: 7}
    (mean,) = found.find("mean")
    assert (mean.value, mean.n, mean.missing, mean.worst, mean.best) == (None, 7, 7, 1, 5)


def test_closed_runs_vote_and_keep_ties(tmp_path: Path) -> None:
    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        return says(json.dumps({"crisis_type": ["self-harm", "no_crisis"][body["seed"] % 2]}))

    with Stub(handler) as stub:
        found = run(stub, tmp_path / "r", CRISIS, runs=2)
    (ties,) = found.find("tie_rate", rater=f"{stub.model}:majority")
    assert (ties.value, ties.n) == (1.0, 14)
    (majority,) = found.find("accuracy", rater=f"{stub.model}:majority")
    assert (majority.value, majority.missing) == (0.0, 14)
    (single,) = found.find("accuracy", rater=stub.model)
    assert [single.n, single.clusters, single.value] == [28, 14, pytest.approx(2 * 2 / 28)]


def test_the_protocol_follows_the_gold_category_or_the_judge_s_own(tmp_path: Path) -> None:
    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        asked = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        if "crisis_type" in asked:
            return says('{"crisis_type": "self-harm"}')
        return says('{"appropriateness": 4}') if asked else says("hello")

    with Stub(handler) as stub:
        gold = run(stub, tmp_path / "gold")
        seen = run(stub, tmp_path / "seen", protocol="recognised")
    assert not gold.find("mean", "recognised=right")
    assert seen.find("mean", "recognised=right")[0].n == 2
    assert seen.find("mean", "recognised=wrong")[0].n == 12
    (accuracy,) = seen.find("accuracy", criterion="crisis_type")
    assert [accuracy.value, accuracy.n] == [pytest.approx(2 / 14), 14]


def test_a_judge_that_recognises_nothing_rates_nothing(tmp_path: Path) -> None:
    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        return says("no idea") if "response_format" in body else says("hello")

    with Stub(handler) as stub:
        found = run(stub, tmp_path / "r", protocol="recognised")
    assert found.find("mean")[0].missing == 14
    assert found.find("mean")[0].value is None


def test_another_plan_in_the_same_folder_is_refused(stub: Stub, tmp_path: Path) -> None:
    run(stub, tmp_path / "r")
    with pytest.raises(UsageError, match=r"another plan \(--temperature is 0.5, this run's is not given\)"):
        run(stub, tmp_path / "r", temperature=0.5)


def test_two_writers_cannot_write_one_run(stub: Stub, tmp_path: Path) -> None:
    with Store(tmp_path / "r", write=True), pytest.raises(UsageError, match=r"another process .* is writing this run"):
        run(stub, tmp_path / "r")


def test_the_budget_stops_before_it_is_overspent_and_keeps_everything(tmp_path: Path) -> None:
    priced = Settings(tries=2, price=Price(1e-6, 1e-5), concurrency=8)
    with Stub(lambda body, n: says("hello", usage={"prompt_tokens": 200, "completion_tokens": 100})) as stub:
        with pytest.raises(BudgetError, match="stopped at"):
            run(stub, tmp_path / "r", settings=priced, judge=(), limit=112, max_tokens=100, max_cost=0.03)
        with Store(tmp_path / "r") as store:
            spent, kept = store.spent(), store.count_replies(RESPONSE)
        assert 0.02 < spent <= 0.03
        assert kept == stub.calls == round(spent / 0.0012)
        run(stub, tmp_path / "r", settings=priced, judge=(), limit=112, max_tokens=100, max_cost=1.0)
        assert stub.calls == 112, "raising the budget goes on where it stopped"


def test_a_budget_needs_a_price(stub: Stub, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give --price"):
        run(stub, tmp_path / "r", max_cost=1.0)


def test_a_dry_run_sends_nothing_and_counts_right(stub: Stub, tmp_path: Path) -> None:
    found = mindgauge.run(
        RESPONSE, model=stub.model, judge=stub.judge, out=tmp_path / "r", limit=10, runs=2, judge_runs=3, dry_run=True
    )
    assert not isinstance(found, Scores)
    assert found.calls == 10 * 2 + 10 * 2 * 3
    assert stub.calls == 0
    assert not (tmp_path / "r").exists()
    assert found.prompt_tokens > 1000


def test_a_dry_run_over_a_run_begun_counts_what_is_left(stub: Stub, tmp_path: Path) -> None:
    run(stub, tmp_path / "r", limit=14)
    found = mindgauge.run(RESPONSE, model=stub.model, judge=stub.judge, out=tmp_path / "r", limit=14, dry_run=True)
    assert not isinstance(found, Scores)
    assert (found.calls, found.done, found.cost) == (0, 28, None)


def test_a_dead_model_is_given_up_and_what_was_done_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.runs.session.GIVE_UP_AFTER", 5)
    with Stub(lambda body, n: says("hi") if n <= 10 else web.Response(status=500, text="dead")) as stub:
        with pytest.raises(MindgaugeError, match="calls failed one after the other"):
            run(stub, tmp_path / "r", limit=112, judge=(), settings=Settings(tries=1, concurrency=2))
        assert stub.calls < 30
    with Store(tmp_path / "r") as store:
        assert sum(r.status is Status.OK for r in store.replies(RESPONSE)) == 10


def test_an_unreachable_judge_loses_no_reply(stub: Stub, tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match="did not answer after 2 tries"):
        run(stub, tmp_path / "r", judge="http://127.0.0.1:9/v1#nobody")
    calls = stub.calls
    assert calls == 14
    with Store(tmp_path / "r") as store:
        assert store.count_replies(RESPONSE) == 14


@pytest.mark.long
def test_a_full_disk_is_one_line_and_loses_nothing(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Store.flush
    flushes = 0

    def full(store: Store) -> None:
        nonlocal flushes
        flushes += 1
        if flushes == 4:
            store.select("PRAGMA max_page_count = 1")
            store.select(f"PRAGMA max_page_count = {store.select('PRAGMA page_count').fetchone()[0]}")
        whole(store)

    monkeypatch.setattr(Store, "flush", full)
    with pytest.raises(MindgaugeError, match=r"full.*free some space.*run the same command again"):
        run(stub, tmp_path / "r", limit=112, runs=20, settings=Settings(tries=1, concurrency=4))
    monkeypatch.setattr(Store, "flush", whole)
    with Store(tmp_path / "r") as store:
        kept = store.count_replies(RESPONSE)
    assert kept > 0
    calls = stub.calls
    run(stub, tmp_path / "r", limit=112, runs=20, settings=Settings(concurrency=8))
    assert stub.calls - calls == 2 * 112 * 20 - kept


SCRIPT = """
import sys, mindgauge
from mindgauge import Settings
mindgauge.run("help_or_harm/response", model=sys.argv[1], judge=sys.argv[2], out=sys.argv[3], runs=2, qualify=False, settings=Settings(concurrency=8))
"""


def test_a_table_in_memory_is_no_data_of_a_run_which_could_not_go_on() -> None:
    table: Any = pl.DataFrame({"user": ["I cannot sleep."]})
    with pytest.raises(
        UsageError, match="data: expected a path, found DataFrame; write a table to a file and name that"
    ):
        mindgauge.run(RESPONSE, model=Scripted("m", lambda _: "I hear you."), data=table)


@pytest.mark.parametrize("after", [later(40), 200, later(400)])
def test_a_kill_repeats_no_finished_call(tmp_path: Path, after: int) -> None:
    async def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        await asyncio.sleep(0.01)
        return obliging(body, n)

    with Stub(handler) as stub:
        command = [sys.executable, "-c", SCRIPT, stub.model, stub.judge, str(tmp_path / "r")]
        process = subprocess.Popen(command)
        while stub.calls < after and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        subprocess.run(command, check=True)
        assert 448 <= stub.calls <= 448 + 8, "only calls in flight at the kill may be made again"
        killed = mindgauge.score(tmp_path / "r")
        settings = Settings(concurrency=8)
        mindgauge.run(
            RESPONSE,
            model=stub.model,
            judge=stub.judge,
            out=tmp_path / "unharmed",
            runs=2,
            qualify=False,
            settings=settings,
        )
    assert killed.metrics == mindgauge.score(tmp_path / "unharmed").metrics, "the result is the same"


def test_ctrl_c_finishes_what_is_under_way(tmp_path: Path) -> None:
    async def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        await asyncio.sleep(0.05)
        return obliging(body, n)

    with Stub(handler) as stub:
        command = [
            sys.executable,
            "-c",
            "from mindgauge.cli import main; main()",
            "run",
            RESPONSE,
            "--model",
            stub.model,
            "--judge",
            "rule/refusal",
            "--out",
            str(tmp_path / "r"),
            "--concurrency",
            "4",
        ]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while stub.calls < 20:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert said.strip() == "mindgauge: stopped; everything finished is kept, run the same command to go on"
    with Store(tmp_path / "r") as store:
        assert store.count_replies(RESPONSE) == stub.calls
    (model, rule) = mindgauge.status(tmp_path / "r").left
    replies = f"{model.of - stub.calls} of {model.of} replies by {stub.model}"
    ratings = f"{rule.of} of {rule.of} ratings by rule/refusal"
    scores = mindgauge.score(tmp_path / "r")
    assert scores.unfinished == {RESPONSE: [replies, ratings]}
    assert scores.still_missing == f"{replies} and {ratings} are not there yet, and in no figure"
    content = json.loads(mindgauge.report(tmp_path / "r").json.read_text(encoding="utf-8"))
    _, trust, step = content["first"]["statements"]
    assert trust.startswith(f"The run is not finished: {replies} and ")
    assert step.startswith("Run the same command again, which goes on where it stopped")


def test_the_manifest_says_what_was_done_without_secrets(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", "sk-canary")
    run(stub, tmp_path / "r")
    assert stub.headers[0]["Authorization"] == "Bearer sk-canary"
    content = manifest.read(tmp_path / "r")
    assert content["plan"]["models"] == [stub.model]
    assert content["plan"]["instruments"][0].startswith(f"{benchmarks.find_one('help_or_harm/response').rubric.name}#")
    assert not any(b"sk-canary" in path.read_bytes() for path in (tmp_path / "r").iterdir())


def test_local_only_refuses_other_machines() -> None:
    settings = Settings(local_only=True)
    with pytest.raises(UsageError, match=r"would send text to api\.openai\.com"):
        mindgauge.run(RESPONSE, model="openai/gpt-4o-mini", settings=settings)
    with pytest.raises(UsageError, match=r"would send text to 10\.0\.0\.1"):
        mindgauge.run(RESPONSE, model="http://10.0.0.1/v1#m", settings=settings)


def test_a_notebook_s_running_loop_is_no_obstacle(stub: Stub, tmp_path: Path) -> None:
    async def cell() -> Scores:
        return run(stub, tmp_path / "r", limit=7)

    assert asyncio.run(cell()).statuses == {"ok": 14}


assert os.environ.get("MINDGAUGE_API_KEY") is None, "tests speak to stubs without a key"
