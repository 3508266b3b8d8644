"""A call that ran into --timeout may have been paid for: it is not sent again, and what it cost is unknown."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from msgspec.structs import replace

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Exchange, Message, Reply, Sample, Status
from mindgauge.records.errors import EndpointError
from mindgauge.records.request import Price, Request
from mindgauge.runs import probe
from mindgauge.runs.verdict_cache import VerdictCache
from mindgauge.store import Store, manifest
from tests.configured import configured
from tests.conftest import obliging
from tests.in_process import mindgauge as typed
from tests.stub import Stub, says

if TYPE_CHECKING:
    from pathlib import Path

RESPONSE = "help_or_harm/response"
LIMIT = 0.15
PRICED = Settings(timeout=LIMIT, tries=3, price=Price(1e-3, 1e-3))


async def late(body: dict[str, Any], count: int) -> web.StreamResponse:
    await asyncio.sleep(4 * LIMIT)
    return says("too late")


def slow_half(body: dict[str, Any], count: int) -> Any:
    """Answer every second call too late, as long as anything is slow."""
    return late(body, count) if count % 2 else obliging(body, count)


def run(stub: Stub, out: Path, **more: Any) -> Scores:
    found = mindgauge.run(RESPONSE, model=stub.model, out=out, **{"settings": PRICED, "limit": 4, **more})
    assert isinstance(found, Scores)
    return found


def ask(spec: str, count: int = 1) -> list[Any]:
    async def scenario() -> list[Any]:
        async with open_model(spec, PRICED) as model:
            return [await model.ask(Request((Message("user", f"question {n}"),))) for n in range(count)]

    return asyncio.run(scenario())


def test_it_is_sent_once_and_names_the_option(stub: Stub) -> None:
    stub.handler = late
    (done,) = ask(stub.model)
    assert (done.status, done.attempts, stub.calls) == (Status.FAILED, 1, 1)
    assert done.error == (
        "no answer within 0.15 s (timeout, in mindgauge.toml); not sent again, since it may be charged. The same command asks again"
    )


def test_what_broke_otherwise_is_still_tried_again(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindgauge.models.completion.LONGEST_PAUSE", 0.02)
    stub.handler = lambda body, n: says("now") if n > 1 else web.Response(status=500)
    (done,) = ask(stub.model)
    assert (done.status, done.attempts) == (Status.OK, 2)


def test_of_several_servers_none_gets_it_twice(stub: Stub) -> None:
    stub.handler = late
    with Stub(late) as other:
        (done,) = ask(f"{stub.url},{other.url}#stub")
        assert (stub.calls, other.calls) == (1, 1)
    assert done.status is Status.FAILED
    assert "no answer within 0.15 s (timeout, in mindgauge.toml)" in done.error


@pytest.mark.parametrize(("answer", "late_ones"), [(obliging, 1), (late, 2)])
def test_each_server_that_answers_too_late_is_counted(stub: Stub, tmp_path: Path, answer: Any, late_ones: int) -> None:
    stub.handler = late
    one = replace(PRICED, concurrency=1, timeout=3 * LIMIT)
    mindgauge.run(RESPONSE, model=stub.model, out=tmp_path / "one", settings=one, limit=1, max_cost=100.0)
    with Store(tmp_path / "one") as store:
        most = store.overdue()
    assert most > 0
    with Stub(answer) as other:
        spec = f"{stub.url},{other.url}#stub"
        found = mindgauge.run(RESPONSE, model=spec, out=tmp_path / "r", settings=one, limit=1, max_cost=100.0)
    assert isinstance(found, Scores)
    with Store(tmp_path / "r") as store:
        assert store.overdue() == pytest.approx(late_ones * most)
    assert (found.calls["unpriced"], found.calls["failed"]) == (1, late_ones - 1)
    assert found.calls["cost"] == (pytest.approx(0.015) if late_ones == 1 else None)


def test_an_answer_that_another_run_kept_brings_no_late_attempt_with_it(tmp_path: Path) -> None:
    kept = VerdictCache(tmp_path / "kept")
    kept.keep(b"k" * 16, Exchange(Status.OK, "4", cost=1.0, overdue=1, at_most=2.0))
    found = kept.find(b"k" * 16)
    assert found is not None
    assert (found.cost, found.overdue, found.at_most) == (0.0, 0, None)


def test_a_refusal_that_speaks_of_time_is_no_timeout(stub: Stub, tmp_path: Path) -> None:
    message = {"error": {"message": "there is no answer within this policy"}}
    stub.handler = lambda body, n: web.json_response(message, status=400)
    found = run(stub, tmp_path / "r", max_cost=100.0)
    assert (found.calls["failed"], found.calls["unpriced"]) == (4, 0)
    with Store(tmp_path / "r") as store:
        assert store.overdue() == 0.0


def test_its_cost_is_unknown_wherever_cost_is_said_and_the_next_command_asks_again(stub: Stub, tmp_path: Path) -> None:
    stub.handler = slow_half
    found = run(stub, tmp_path / "r", settings=Settings(timeout=LIMIT, tries=3, price=Price(1e-3, 1e-3), concurrency=1))
    assert stub.calls == 4
    known = found.calls["cost"]
    assert (found.calls["unpriced"], found.calls["failed"]) == (2, 2)
    assert known > 0
    said = f"${known:.4f}, and 2 calls of unknown cost"
    for command in ("score", "status"):
        shown = typed(command, tmp_path / "r").stdout
        assert said in shown, shown
    (failed,) = (c for c in mindgauge.status(tmp_path / "r").calls if c.status == "failed")
    assert (failed.cost, failed.unpriced) == (None, 2)
    assert " unknown " in typed("status", tmp_path / "r", "--full").stdout
    typed("report", tmp_path / "r", "--language", "zh")
    assert "2 次调用费用未知" in (tmp_path / "r" / "report.html").read_text("utf-8")
    typed("report", tmp_path / "r")
    assert (tmp_path / "r" / "report.html").read_text("utf-8").count(said) == 2, "in all, and of the model"
    stub.handler = obliging
    again = run(stub, tmp_path / "r")
    assert stub.calls == 6
    assert (again.calls["unpriced"], again.calls["failed"]) == (2, 0), "they may have been charged all the same"
    said = f"${again.calls['cost']:.4f}, and 2 calls of unknown cost"
    for command in ("score", "status"):
        assert said in typed(command, tmp_path / "r").stdout
    (done,) = mindgauge.status(tmp_path / "r").calls
    assert (done.status, done.n, done.unpriced) == ("ok", 4, 2)
    typed("report", tmp_path / "r")
    assert (tmp_path / "r" / "report.html").read_text("utf-8").count(said) == 2, "in all, and of the model"


def test_where_nothing_else_is_known_the_cost_is_unknown_and_not_zero(stub: Stub, tmp_path: Path) -> None:
    stub.handler = late
    run(stub, tmp_path / "r")
    for command in (["score"], ["status"], ["status", "--full"]):
        shown = typed(command[0], tmp_path / "r", *command[1:]).stdout
        assert "unknown" in shown
        assert "$0" not in shown
    typed("report", tmp_path / "r")
    assert "$0.0" not in (tmp_path / "r" / "report.md").read_text("utf-8")


def test_a_model_that_costs_nothing_stays_free(stub: Stub, tmp_path: Path) -> None:
    stub.handler = slow_half
    free = Settings(timeout=LIMIT, tries=3, price=Price(0.0, 0.0))
    assert run(stub, tmp_path / "r", settings=free).calls["unpriced"] == 0


def test_the_budget_counts_it_with_the_most_it_can_cost(stub: Stub, tmp_path: Path) -> None:
    stub.handler = late
    with pytest.raises(mindgauge.MindgaugeError, match="pass --max-cost"):
        run(
            stub,
            tmp_path / "r",
            max_cost=12.0,
            settings=Settings(timeout=LIMIT, price=Price(1e-3, 1e-3), concurrency=1),
        )
    assert 0 < stub.calls < 4


@pytest.mark.parametrize("text", [True, False])
def test_the_budget_of_the_next_command_counts_it_too(stub: Stub, tmp_path: Path, text: bool) -> None:
    stub.handler = late
    asked, one = [], replace(PRICED, concurrency=1)
    for _ in range(3):
        with pytest.raises(mindgauge.MindgaugeError, match="pass --max-cost"):
            run(stub, tmp_path / "r", max_cost=12.0, settings=one, text=text)
        asked.append(stub.calls)
        with Store(tmp_path / "r") as store:
            assert 0 < store.overdue() <= 12.0
    assert 0 < asked[0] == asked[1] == asked[2]
    run(stub, tmp_path / "r", max_cost=100.0, settings=one, text=text)
    stub.handler = obliging
    found = run(stub, tmp_path / "r", max_cost=100.0, settings=one, text=text)
    assert found.calls["failed"] == 0
    assert found.calls["unpriced"] == asked[0] + 4, "each time that one was asked"
    assert manifest.read(tmp_path / "r")["cost"] == pytest.approx(found.calls["cost"]), "what is known"


def test_a_probe_without_an_answer_counts_in_the_budget(stub: Stub, tmp_path: Path) -> None:
    run(stub, tmp_path / "r", limit=1, max_cost=100.0)
    stub.handler = late
    run(stub, tmp_path / "r", limit=2, max_cost=100.0)
    (noted,) = manifest.read(tmp_path / "r")["probes"]
    assert noted["cost"] == 0.0 < noted["at_most"]
    content = {"probes": [noted]}
    assert (probe.spent(content), probe.spent(content, at_most=True)) == (0.0, noted["at_most"])


def test_a_kill_between_texts_and_run_keeps_what_was_answered_and_what_may_have_been_charged(tmp_path: Path) -> None:
    overdue = Exchange(Status.FAILED, error="no answer within 1 s (timeout, in mindgauge.toml)", at=5.0, at_most=2.0)
    answered = Exchange(Status.OK, "That sounds hard.", at=6.0)
    sample = Sample.of((Message("user", "I cannot sleep."),))
    reply = Reply.of(sample.id, "m", 0, Status.OK, answered.text)
    with closing(Store(tmp_path, write=True, text=False)) as store:
        store.put_samples(RESPONSE, [sample])
        store.add_call(b"k" * 16, b"p" * 16, RESPONSE, "m", 0, overdue)
        store.add_call(b"l" * 16, b"p" * 16, RESPONSE, "m", 1, answered)
        store.add_reply(RESPONSE, reply)
        store.flush()
        for table in ("replies", "calls", "overdue"):
            store.select(f"DELETE FROM main.{table}")
        store._db.commit()
    assert (tmp_path / "pending").exists(), "as after a kill"
    with Store(tmp_path, write=True, text=False) as store:
        assert store.overdue() == 2.0
        assert not store.gone(RESPONSE)
        assert [kept.id for kept in store.replies(RESPONSE)] == [reply.id]
        assert store.exchange(b"l" * 16) == answered
        store.flush()
        assert store.select("SELECT count(*) FROM main.calls").fetchone()[0] == 2
        assert "hard" not in store.select("SELECT text FROM main.replies").fetchone()[0]
    assert not (tmp_path / "pending").exists()


@pytest.mark.usefixtures("fresh_machine")
def test_an_entry_test_of_which_every_call_fails_stops_the_command(
    stub: Stub, tmp_path: Path, replies_file: Any
) -> None:
    stub.handler = late
    replies = replies_file({"user": "I cannot sleep.", "reply": "I hear you.", "category": "anxiety_crisis"})
    line = ["rate", RESPONSE, "--replies", replies, "--judge", stub.judge, "--out", tmp_path / "r"]
    done = typed(*line, *configured(tmp_path, timeout=LIMIT), "--anchors", 6)
    assert done.returncode == EndpointError.exit_code
    assert stub.calls == 6, "nothing about the reply was sent"
    assert done.stderr.strip().splitlines()[-1] == (
        f"mindgauge: {stub.judge}: all 6 calls of its entry test failed, so nothing else was sent. The first: "
        "no answer within 0.15 s (timeout, in mindgauge.toml); not sent again, since it may be charged. The same command asks again"
    )
    stub.handler = obliging
    assert typed(*line, "--anchors", 6).returncode == 0
    with Store(tmp_path / "r") as store:
        assert {rating.status for rating in store.ratings(RESPONSE)} == {Status.OK}


@pytest.mark.usefixtures("fresh_machine")
def test_one_answer_is_enough_for_the_command_to_go_on(stub: Stub, tmp_path: Path, replies_file: Any) -> None:
    stub.handler = lambda body, n: obliging(body, n) if n == 1 else late(body, n)
    replies = replies_file({"user": "I cannot sleep.", "reply": "I hear you.", "category": "anxiety_crisis"})
    mindgauge.rate(RESPONSE, replies=replies, judge=stub.judge, out=tmp_path / "r", settings=PRICED, anchors=6)
    assert stub.calls == 7
    assert json.dumps(stub.bodies[-1]).count("I hear you.") == 1
