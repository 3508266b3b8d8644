"""What a server does not take is left out, and whoever reads an answer later is told that it was."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models.settings import Settings
from mindgauge.records import RaterKind
from mindgauge.reports.page import write
from mindgauge.store import Store
from tests.batch_stub import BatchStub
from tests.conftest import obliging
from tests.stub import Stub

if TYPE_CHECKING:
    from pathlib import Path

RESPONSE = "help_or_harm/response"
LIMIT = 7


def refusing(*names: str) -> Any:
    """Answer, but to no request that has one of these parameters."""

    def handler(body: dict[str, Any], n: int) -> web.StreamResponse:
        refused = next((name for name in names if name in body), None)
        if refused is None:
            return obliging({"seed": 0, **body}, n)
        message = f"Unsupported value: '{refused}' does not fit this model"
        return web.json_response({"error": {"type": "invalid_request_error", "message": message}}, status=400)

    return handler


def said(out: Path) -> tuple[set[str], set[str]]:
    """Return what replies and verdicts say was left out, as JSON."""
    with Store(out) as store:
        replies = {json.dumps(reply.provenance.get("unsupported", [])) for reply in store.replies(RESPONSE)}
        ratings = {
            json.dumps(rating.provenance.get("unsupported", []))
            for rating in store.ratings(RESPONSE)
            if rating.rater_kind is RaterKind.MODEL
        }
    return replies, ratings


@pytest.mark.parametrize("text", [True, False])
def test_a_temperature_that_is_refused_is_left_out_and_the_provenance_says_so(tmp_path: Path, text: bool) -> None:
    with Stub(refusing("temperature")) as stub:
        found = mindgauge.run(RESPONSE, model=stub.model, judge=stub.judge, limit=LIMIT, out=tmp_path, text=text)
        assert isinstance(found, Scores)
        assert found.statuses == {"ok": 2 * LIMIT}
        assert said(tmp_path) == ({"[]"}, {'["temperature"]'})
        calls = stub.calls
        if text:
            with sqlite3.connect(tmp_path / "run.sqlite") as db:
                db.execute("DELETE FROM rated")
            db.close()
            mindgauge.run(RESPONSE, model=stub.model, judge=stub.judge, limit=LIMIT, out=tmp_path)
            assert stub.calls == calls, "verdicts are read again from the calls that the run holds"
            assert said(tmp_path) == ({"[]"}, {'["temperature"]'})
    page = write([tmp_path]).path.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert "tokens; without temperature, which the server does not take" in page


def test_a_seed_that_is_refused_is_not_said_to_have_been_sent(tmp_path: Path) -> None:
    with Stub(refusing("seed")) as stub:
        mindgauge.run(RESPONSE, model=stub.model, judge=stub.judge, limit=LIMIT, out=tmp_path)
    assert said(tmp_path) == ({'["seed"]'}, {'["seed"]'})


def test_what_is_taken_is_not_said_to_be_left_out(stub: Stub, tmp_path: Path) -> None:
    mindgauge.run(RESPONSE, model=stub.model, judge=stub.judge, limit=LIMIT, out=tmp_path)
    assert said(tmp_path) == ({"[]"}, {"[]"})


@pytest.mark.parametrize(("protocol", "always"), [("openai", []), ("anthropic", ["seed"])])
def test_batches_say_it_too(protocol: str, always: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_BATCH_PAUSE", "0.04")
    batched = Settings(batch=True, tries=3, timeout=5.0)
    with BatchStub(refusing("temperature"), protocol) as stub:
        told: dict[str, Any] = {"model": stub.model, "judge": f"{stub.url}#judge", "limit": LIMIT, "out": tmp_path}
        mindgauge.run(RESPONSE, **told, settings=batched)
    assert said(tmp_path) == ({json.dumps(always)}, {json.dumps([*always, "temperature"])})
