from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.errors import DataError, UsageError
from mindgauge.models.request import Request
from mindgauge.models.spec import PROVIDERS, Settings, open_model
from mindgauge.records import Message, Sample, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.stub import Stub


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("opnai/gpt-4o", "did you mean openai/gpt-4o?"),
        ("gpt-4o", "unknown model 'gpt-4o'"),
        ("openai/", "names no model"),
        ("http://127.0.0.1:8000/v1", "names no model; write http://127.0.0.1:8000/v1#NAME"),
        ("http://#m", "has no host"),
        ("local/gpt", "a local model is 'smollm2-135m' or the path of a .gguf file"),
        ("local/missing.gguf", "no such file"),
        ("replay/missing.jsonl", "no such file"),
        ("openai/gpt-4o", "set the environment variable OPENAI_API_KEY"),
    ],
)
def test_a_wrong_name_says_what_to_write(spec: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError) as caught:
        open_model(spec, Settings())
    assert hint in str(caught.value)


def test_a_dry_run_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert open_model("openai/gpt-5-nano", Settings.of(None, dry_run=True)).name == "openai/gpt-5-nano"
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_model("openai/gpt-5-nano", Settings.of(None, dry_run=False))


def test_providers_have_prices_where_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    model = open_model("openai/gpt-4o-mini", Settings())
    assert model.price is not None
    assert 1e6 * model.price.prompt == pytest.approx(0.15)
    assert 1e6 * model.price.completion == pytest.approx(0.60)
    assert open_model("openai/no-such-model", Settings()).price is None
    assert all(p.url.startswith("https://") or "127.0.0.1" in p.url for p in PROVIDERS.values())


def test_a_secret_in_an_address_stays_out_of_the_name() -> None:
    assert open_model("http://user:secret@127.0.0.1:1/v1#m", Settings()).name == "http://127.0.0.1:1/v1#m"


def test_any_gguf_file_is_a_local_model(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    assert open_model(f"local/{path}", Settings()).own_machine


async def asked(model: str, *requests: Request) -> list[tuple[Status, str]]:
    async with open_model(model, Settings()) as opened:
        return [(done.status, done.text) for done in [await opened.ask(request) for request in requests]]


def test_replay_answers_by_dialogue_and_run(replies_file: Callable[..., Path]) -> None:
    path = replies_file(
        {"user": "hi", "reply": "hello"},
        {"user": "bye", "reply": "first", "run": 0},
        {"user": "bye", "reply": "second", "run": 1},
        {"user": "mute", "reply": ""},
    )

    def about(text: str, run: int = 0) -> Request:
        sample = Sample.of((Message("user", text),))
        return Request((Message("user", f"a prompt around {text}"),), run, sample=sample)

    found = asyncio.run(
        asked(f"replay/{path}", about("hi"), about("hi", 5), about("bye", 1), about("other"), about("mute"))
    )
    assert found[:3] == [(Status.OK, "hello"), (Status.OK, "hello"), (Status.OK, "second")]
    assert [status for status, _ in found[3:]] == [Status.FAILED, Status.UNPARSABLE]


def test_replay_of_a_run_answers_as_it_was_answered_there(stub: Stub, tmp_path: Path) -> None:
    judge = f"{stub.url}#judge"
    first = mindgauge.run("help_or_harm/response", model=stub.model, judge=judge, out=tmp_path / "a", limit=14)
    calls, replay = stub.calls, f"replay/{tmp_path / 'a'}"
    again = mindgauge.run("help_or_harm/response", model=replay, judge=replay, out=tmp_path / "b", limit=14)
    assert stub.calls == calls
    assert isinstance(first, Scores)
    assert isinstance(again, Scores)
    assert [m.value for m in again.metrics] == [m.value for m in first.metrics]


def test_a_bad_replay_file_names_its_line(replies_file: Callable[..., Path]) -> None:
    path = replies_file({"user": "hi", "reply": "x"}, {"user": "hi", "reply": 5})
    with pytest.raises(DataError, match=r"replies\.jsonl:2: reply must be text"):
        open_model(f"replay/{path}", Settings())
    path.write_text(json.dumps({"reply": "x"}))
    with pytest.raises(DataError, match=r"replies\.jsonl:1: needs `user`"):
        open_model(f"replay/{path}", Settings())
