"""Runs through batch services: the same results as live calls, whatever happens to a batch, and no call paid for twice."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.batch.carrier import UnderWayError
from mindgauge.models.settings import Settings
from mindgauge.records.errors import BudgetError, EndpointError, MindgaugeError, UsageError
from mindgauge.records.request import Price
from mindgauge.runs.plan import open_carried
from mindgauge.runs.session import Interrupted
from mindgauge.store import Store
from mindgauge.store.batches import Batches
from tests.batch_stub import Batch, BatchStub
from tests.conftest import obliging
from tests.stub import says, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESPONSE = "help_or_harm/response"
SETTINGS = Settings(batch=True, tries=3, timeout=5.0)
PROTOCOLS = ("openai", "anthropic")
LIMIT = 14


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_BATCH_PAUSE", "0.04")


def run(stub: BatchStub, out: Path, settings: Settings = SETTINGS, **more: Any) -> Scores:
    more.setdefault("judge", stub.model)
    found = mindgauge.run(RESPONSE, model=stub.model, out=out, limit=LIMIT, own_family=True, settings=settings, **more)
    assert isinstance(found, Scores)
    return found


def under_way(out: Path, model: str) -> tuple[int, int]:
    with Store(out) as store:
        return Batches(store).under_way(model)


def contents(out: Path) -> list[tuple[Any, ...]]:
    with Store(out) as store:
        return store.select(
            "SELECT subject, criterion, status, value FROM ratings ORDER BY subject, criterion"
        ).fetchall()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_in_batches_is_the_run_of_live_calls(protocol: str, tmp_path: Path) -> None:
    def seedless(body: dict[str, Any], n: int) -> web.StreamResponse:
        return obliging({**body, "seed": 0}, n)

    with BatchStub(seedless, protocol) as stub:
        live = run(stub, tmp_path / "live", Settings())
        calls = stub.live
        batched = run(stub, tmp_path / "batched")
        assert stub.live == calls, "nothing was called on its own"
        assert len(stub.batches) == 2, "one batch of replies, one of judgements"
    assert batched.statuses == live.statuses == {"ok": 2 * LIMIT}
    assert contents(tmp_path / "batched") == contents(tmp_path / "live")
    assert set(stub.paid.values()) == {1}
    assert under_way(tmp_path / "batched", stub.model) == (0, 0)
    assert batched.calls["completion_tokens"] == live.calls["completion_tokens"] == 2 * LIMIT * 5


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_left_under_way_is_collected_by_the_next_command(protocol: str, tmp_path: Path) -> None:
    with BatchStub(obliging, protocol) as stub:
        stub.ready_after = 10**9
        with pytest.raises(
            UnderWayError, match=r"1 batch with 14 calls is under way at 127.0.0.1; run the same command"
        ):
            run(stub, tmp_path / "r", Settings(batch=True, wait=0.0))
        assert under_way(tmp_path / "r", stub.model) == (1, LIMIT)
        with pytest.raises(UsageError, match=r"14 calls to .*#stub are under way .* with --batch"):
            run(stub, tmp_path / "r", Settings())
        assert stub.live == 0, "going on without batches would pay twice"
        stub.ready_after = 0
        done = run(stub, tmp_path / "r")
    assert done.statuses == {"ok": 2 * LIMIT}
    assert set(stub.paid.values()) == {1}


def test_a_run_may_begin_in_batches_and_end_without(tmp_path: Path) -> None:
    with BatchStub(obliging) as stub:
        run(stub, tmp_path / "r", judge=())
        done = run(stub, tmp_path / "r", Settings(), judge=())
        assert stub.live == 0
        assert done.statuses == {"ok": LIMIT}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_shuffled_doubled_unknown_broken_and_missing_lines_harm_nobody(protocol: str, tmp_path: Path) -> None:
    def spoiled(_: Batch, good: list[str], bad: list[str]) -> tuple[list[str], list[str]]:
        if len(good) < LIMIT:
            return good, bad
        stranger = good[0].replace(json.loads(good[0])["custom_id"], "f" * 32)
        return [*reversed(good[2:]), good[5], "\n", "[1]\n", '{"custom_id": 3}\n', stranger, good[1][:40] + "\n"], bad

    with BatchStub(obliging, protocol) as stub:
        stub.lines = spoiled
        done = run(stub, tmp_path / "r", judge=())
    assert done.statuses == {"ok": LIMIT}
    assert sorted(stub.paid.values()) == [1] * 12 + [2, 2], "only calls without a result are put again"
    with Store(tmp_path / "r") as store:
        (note,) = Batches(store).notes()
    assert "1 of calls that were not in it, 1 doubled, 3 broken" in note


@pytest.mark.parametrize("status", ["expired", "cancelled", "completed"])
def test_half_a_batch_is_put_again(status: str, tmp_path: Path) -> None:
    def half(batch: Batch, good: list[str], bad: list[str]) -> tuple[list[str], list[str]]:
        if len(good) < LIMIT:
            return good, bad
        batch.status = status
        lost = [json.loads(line)["custom_id"] for line in good[7:]]
        error = {"code": "batch_expired", "message": "This request could not be executed in time."}
        failed = [json.dumps({"custom_id": i, "response": None, "error": error}) + "\n" for i in lost[:4]]
        return good[:7], [*bad, *(failed if status == "expired" else [])]

    with BatchStub(obliging) as stub:
        stub.lines = half
        done = run(stub, tmp_path / "r", judge=())
    assert done.statuses == {"ok": LIMIT}
    assert [len(batch.requests) for batch in stub.batches.values()] == [LIMIT, 7]


@pytest.mark.parametrize("kind", ["errored", "expired", "canceled"])
def test_messages_that_did_not_succeed_are_put_again_until_all_tries_are_used(kind: str, tmp_path: Path) -> None:
    def failed(_: Batch, good: list[str], __: list[str]) -> tuple[list[str], list[str]]:
        first = json.loads(good[0])["custom_id"]
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
        return good[1:], [json.dumps({"custom_id": first, "result": {"type": kind, "error": error}}) + "\n"]

    with BatchStub(obliging, "anthropic") as stub:
        stub.lines = failed
        done = run(stub, tmp_path / "r", Settings(batch=True, tries=2), judge=())
        assert [len(batch.requests) for batch in stub.batches.values()] == [LIMIT, 1]
        assert done.statuses == {"ok": LIMIT - 1, "failed": 1}
        stub.lines = lambda _, good, bad: (good, bad)
        done = run(stub, tmp_path / "r", judge=())
    assert done.statuses == {"ok": LIMIT}, "what failed is asked again by the next command"
    assert len(stub.batches) == 3


def test_every_answer_has_the_status_that_a_live_call_has(tmp_path: Path) -> None:
    answers: list[Callable[[], web.Response]] = [
        lambda: says("x", finish_reason="content_filter"), lambda: says(None, refusal="no"), lambda: says(""),
        lambda: web.json_response({"choices": []}),
        lambda: web.json_response({"error": {"message": "flagged", "code": "content_policy_violation"}}, status=400),
        lambda: web.json_response({"error": {"message": "too long"}}, status=400),
        lambda: web.json_response({"error": {"message": "slow down"}}, status=429),
    ]  # fmt: skip
    expected = {"filtered": 2, "refused": 1, "unparsable": 1, "failed": 3, "ok": LIMIT - 7}
    order: dict[str, int] = {}

    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        place = order.setdefault(words(body), len(order))
        return answers[place]() if place < len(answers) else obliging(body, n)

    with BatchStub(handler) as stub:
        assert run(stub, tmp_path / "batched", judge=()).statuses == expected
        stub.events.clear()
        assert run(stub, tmp_path / "live", Settings(tries=1), judge=()).statuses == expected


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_parameter_that_is_not_taken_is_left_out(protocol: str, tmp_path: Path) -> None:
    def picky(body: dict[str, Any], n: int) -> web.StreamResponse:
        if "temperature" in body:
            said = {"message": "`temperature` is deprecated for this model", "type": "invalid_request_error"}
            return web.json_response({"error": said}, status=400)
        return obliging(body, n)

    with BatchStub(picky, protocol) as stub:
        done = run(stub, tmp_path / "r", judge=(), temperature=0.5)
    assert done.statuses == {"ok": LIMIT}
    assert len(stub.batches) == 2


def test_a_refused_message_is_refused(tmp_path: Path) -> None:
    with BatchStub(lambda *_: says("I cannot", finish_reason="content_filter"), "anthropic") as stub:
        assert run(stub, tmp_path / "r", judge=()).statuses == {"refused": LIMIT}


def test_a_batch_that_is_not_accepted_says_why_and_frees_its_calls(tmp_path: Path) -> None:
    def invalid(_: str) -> None:
        for batch in stub.batches.values():
            batch.status, batch.errors = "failed", [{"code": "invalid_model", "message": "No such model.", "line": 1}]

    with BatchStub(obliging) as stub:
        stub.event = invalid
        with pytest.raises(EndpointError, match=r"did not accept batch batch_0: No such model. invalid_model"):
            run(stub, tmp_path / "r", judge=())
        assert under_way(tmp_path / "r", stub.model) == (0, 0)
        stub.event = lambda _: None
        assert run(stub, tmp_path / "r", Settings(), judge=()).statuses == {"ok": LIMIT}


def test_a_full_queue_makes_batches_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_BATCH_PAUSE", "0.01")

    def full(_: str) -> None:
        for batch in stub.batches.values():
            if len(batch.requests) > 4:
                batch.status, batch.errors = "failed", [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]  # fmt: skip

    with BatchStub(obliging) as stub:
        stub.event = full
        done = run(stub, tmp_path / "r", judge=())
    assert done.statuses == {"ok": LIMIT}
    assert max(len(batch.requests) for batch in stub.batches.values() if batch.status != "failed") <= 4


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("event", ["upload", "create", "created", "look", "results"])
def test_a_server_that_is_down_for_a_while_costs_nothing(protocol: str, event: str, tmp_path: Path) -> None:
    broken = 4

    def down(name: str) -> web.Response | None:
        nonlocal broken
        if name != event or not broken:
            return None
        broken -= 1
        return web.Response(status=(500, 503, 429, 200)[broken % 4], text="<html>down", headers={"Retry-After": "0.01"})

    with BatchStub(obliging, protocol) as stub:
        stub.event = down
        done = run(stub, tmp_path / "r", judge=())
    assert done.statuses == {"ok": LIMIT}
    assert set(stub.paid.values()) == {1}, "a batch that arrived is found, not sent again"
    assert broken == (4 if (protocol, event) == ("anthropic", "upload") else 3 if event == "created" else 0)


def test_ctrl_c_leaves_batches_under_way(tmp_path: Path) -> None:
    with BatchStub(obliging) as stub:
        stub.ready_after = 10**9
        stopper = threading.Thread(target=_interrupt_when, args=(lambda: stub.events["look"] > 1,))
        stopper.start()
        with pytest.raises(Interrupted, match="1 batch with 14 calls is under way") as stopped:
            run(stub, tmp_path / "r", judge=())
        stopper.join()
        assert stopped.value.exit_code == 130
        stub.ready_after = 0
        assert run(stub, tmp_path / "r", judge=()).statuses == {"ok": LIMIT}
    assert set(stub.paid.values()) == {1}


def _interrupt_when(ready: Callable[[], bool]) -> None:
    while not ready():
        time.sleep(0.01)
    signal.raise_signal(signal.SIGINT)


def test_two_models_side_by_side(tmp_path: Path) -> None:
    with BatchStub(obliging) as one, BatchStub(obliging, "anthropic") as other:
        done = mindgauge.run(
            RESPONSE, model=[one.model, other.model], limit=LIMIT, out=tmp_path / "r", settings=SETTINGS
        )
    assert isinstance(done, Scores)
    assert done.statuses == {"ok": 2 * LIMIT}
    assert (len(one.batches), len(other.batches)) == (1, 1)


def test_when_one_model_cannot_work_the_other_s_batches_go_on_without_us(tmp_path: Path) -> None:
    def refusing(_: str) -> web.Response | None:
        slow.wait(10)
        return web.json_response({"error": {"message": "bad key"}}, status=401)

    slow = threading.Event()
    with BatchStub(obliging) as one, BatchStub(obliging, "anthropic") as other:
        one.ready_after = 10**9
        one.event = lambda name: slow.set() if name == "look" else None
        other.event = refusing
        with pytest.raises(
            EndpointError, match=r"refuses our key \(401: bad key\); 1 batch with 14 calls is under way"
        ):
            mindgauge.run(RESPONSE, model=[one.model, other.model], limit=LIMIT, out=tmp_path / "r", settings=SETTINGS)


def test_a_budget_that_holds_few_calls_makes_small_batches(tmp_path: Path) -> None:
    price = Price(0.0, 1e-3)
    settings = Settings(batch=True, price=price, max_tokens=10)
    with BatchStub(obliging) as stub:
        with pytest.raises(BudgetError):
            run(stub, tmp_path / "r", settings, judge=(), max_cost=0.06)
        assert max(len(batch.requests) for batch in stub.batches.values()) <= 6
        done = run(stub, tmp_path / "r", settings, judge=(), max_cost=1.0)
    assert done.statuses == {"ok": LIMIT}
    assert done.calls["cost"] == pytest.approx(LIMIT * 5 * 1e-3), "a price that is given is taken as it is"
    assert set(stub.paid.values()) == {1}


def test_many_calls_make_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_BATCH_CALLS", "4")
    with BatchStub(obliging) as stub:
        assert run(stub, tmp_path / "r", judge=()).statuses == {"ok": LIMIT}
    assert sorted(len(batch.requests) for batch in stub.batches.values()) == [2, 4, 4, 4]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_batch_that_the_provider_does_not_know_is_not_simply_paid_for_again(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BatchStub(obliging, protocol) as stub:
        stub.ready_after = 10**9
        with pytest.raises(UnderWayError):
            run(stub, tmp_path / "r", Settings(batch=True, wait=0.0), judge=())
        (lost,) = stub.batches
        stub.batches[f"other-{lost}"] = stub.batches.pop(lost)
        with pytest.raises(
            EndpointError, match=f"does not know batch {lost}; use the key .* set MINDGAUGE_FORGET_BATCHES={lost}"
        ):
            run(stub, tmp_path / "r", judge=())
        stub.ready_after = 0
        monkeypatch.setenv("MINDGAUGE_FORGET_BATCHES", lost)
        assert run(stub, tmp_path / "r", judge=()).statuses == {"ok": LIMIT}


def test_the_key_is_sent_and_never_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "canary-3f9a1b2c4d5e"
    monkeypatch.setenv("MINDGAUGE_API_KEY", key)
    with BatchStub(obliging, "anthropic") as stub:
        stub.event = lambda name: web.json_response({"error": {"message": f"no {key}"}}, status=403) if name == "look" else None  # fmt: skip
        with pytest.raises(EndpointError, match="refuses our key") as refused:
            run(stub, tmp_path / "r", judge=())
    assert key not in str(refused.value)
    assert {headers.get("x-api-key") for headers in stub.headers} >= {key}
    assert not any(key.encode() in path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file())


@pytest.mark.parametrize("spec", ["mistral/x", "replay/a.jsonl", "http://a/v1,http://b/v1#x"])
def test_models_without_a_batch_service_are_refused(spec: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"user": "a", "reply": "b"}\n')
    with pytest.raises(UsageError, match="--batch"):
        open_carried(spec, SETTINGS)


def test_a_server_without_a_batch_service_is_refused(tmp_path: Path) -> None:
    with (
        BatchStub(obliging, "neither") as stub,
        pytest.raises(UsageError, match=r"has no batch service, .* leave --batch out"),
    ):
        run(stub, tmp_path / "r")


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(EndpointError, match="did not answer after 3 tries"):
        mindgauge.run(RESPONSE, model="http://127.0.0.1:9/v1#x", limit=1, out=tmp_path / "r", settings=SETTINGS)


def test_batches_are_half_price_where_the_provider_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    full, half = (open_carried("openai/gpt-4o", Settings(batch=batch)).price for batch in (False, True))
    assert full is not None
    assert half is not None
    assert (half.prompt, half.completion) == (full.prompt / 2, full.completion / 2)
    own = Price(1.0, 2.0)
    assert open_carried("openai/gpt-4o", Settings(batch=True, price=own)).price == own


def test_local_only_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(MindgaugeError, match="--local-only"):
        open_carried("openai/gpt-4o", Settings(batch=True, local_only=True))
