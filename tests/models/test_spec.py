from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.models import address
from mindgauge.models.chat_endpoint import ChatModel
from mindgauge.models.model_config import PROVIDERS
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Message, Sample, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.stub import Stub


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("opnai/gpt-4o", "did you mean openai/gpt-4o?"),
        ("gpt-4o", "unknown model 'gpt-4o'"),
        ("bot.py", "name the function or class in it, as bot.py:NAME"),
        ("careline", "local, replay, files. Any server works as"),
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


# -- several servers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("http://a:1/v1,http://b:1/v1", "names no model; write http://a:1/v1,http://b:1/v1#NAME"),
        ("http://a:1/v1#m,http://b:1/v1", "names no model; write http://a:1/v1,http://b:1/v1#NAME"),
        ("http://a:1/v1#m,http://b:1/v1#n", "cannot have two names, 'm' and 'n'"),
        ("http://a:1/v1,,http://b:1/v1#m", "an address is missing beside a comma"),
        ("http://a:1/v1,#m", "an address is missing beside a comma"),
        (",http://a:1/v1#m", "an address is missing beside a comma"),
        ("http://a:1/v1,http://A:1/v1/#m", "the server http://A:1/v1/ is listed twice"),
        ("http://a,http://a:80/v1#m", "the server http://a:80/v1 is listed twice"),
        ("http://a:1/v1,openai/gpt-4o#m", "'openai/gpt-4o' is no address"),
        ("openai/gpt-4o,http://a:1/v1#m", "'openai/gpt-4o' is no address"),
        ("http://a:1/v1 http://b:1/v1#m", "is no address"),
        ("http://a:99999/v1,http://b:1/v1#m", "'http://a:99999/v1' is no address"),
        ("http://[::1/v1,http://b:1/v1#m", "is no address"),
        ("http://a:1/v1,http://#m", "'http://' has no host"),
        ("http://a:1/v1,ftp://b#m", "'ftp://b' is no address"),
    ],
)
def test_a_wrong_list_of_servers_is_one_clear_line(spec: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(spec, Settings())
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_of_servers_is_one_model_that_is_called_as_on_the_first_of_them() -> None:
    model = open_model("http://u:pw@a:8000/v1, https://b/api#m", Settings())
    assert (model.name, model.host) == ("http://a:8000/v1#m", "a, b")
    assert model.name == open_model("http://a:8000/v1#m", Settings()).name
    repeated = open_model("http://a#x/y,http://[::1]:5#x/y", Settings())
    assert (repeated.name, repeated.host) == ("http://a/v1#x/y", "a, ::1")


def test_local_only_holds_for_every_server() -> None:
    local = Settings(local_only=True)
    assert open_model("http://127.0.0.1:1/v1,http://[::1]:1/v1,http://localhost:1/v1#m", local).host
    with pytest.raises(UsageError, match="would send text to b;"):
        open_model("http://127.0.0.1:1/v1,http://b:1/v1#m", local)


@pytest.mark.parametrize("spec", ["http://u:ca,nary@a/v1,http://u:canary@b:x/v1#m", "http://u:ca/nary@a/v1", "http://u:canary@/v1"])  # fmt: skip
def test_a_password_in_a_wrong_list_is_not_repeated(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(spec, Settings())
    assert "nary" not in str(caught.value)


ports = st.integers(1, 65535)
hosts = st.from_regex(r"[a-z][a-z0-9-]{0,10}(\.[a-z]{1,5}){0,2}", fullmatch=True)
names = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters=","), min_size=1, max_size=20)


@given(st.lists(st.tuples(st.sampled_from(["http", "https"]), hosts, ports), min_size=1, max_size=5, unique_by=lambda s: s[1:]), names)  # fmt: skip
def test_what_is_written_as_a_list_is_read_as_one(listed: list[tuple[str, str, int]], name: str) -> None:
    urls = [f"{scheme}://{host}:{port}/v1" for scheme, host, port in listed]
    assert address.servers(",".join(urls) + f"#{name}") == (urls, name)
    assert address.servers(", ".join(f"{url}#{name}" for url in urls)) == (urls, name)


@given(st.text(st.sampled_from("htps:/,#@[]. ab1\n?%")).map("http://a".__add__) | st.text())
def test_anything_else_is_read_or_refused_in_one_line(spec: str) -> None:
    said = ""
    try:
        urls, name = address.servers(spec)
    except UsageError as error:
        said = str(error)
    else:
        assert name
        assert all(url.startswith(address.SCHEMES) for url in urls)
    assert len(said.splitlines()) <= 1


# -- proxies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "variable", "value", "url"),
    [
        ("openai/m", "OPENAI_BASE_URL", "http://127.0.0.1:9/openai/v1/", "http://127.0.0.1:9/openai/v1"),
        ("openai/m", "OPENAI_BASE_URL", "http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("openai/m", "OPENAI_BASE_URL", " ", "https://api.openai.com/v1"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "http://127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "http://u:pw@127.0.0.1:9/", "http://127.0.0.1:9/v1"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "http://127.0.0.1:9/anthropic", "http://127.0.0.1:9/anthropic/v1"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
        ("groq/m", "OPENAI_BASE_URL", "http://127.0.0.1:9", "https://api.groq.com/openai/v1"),
    ],
)
def test_a_provider_is_called_where_its_own_variable_says(
    spec: str, variable: str, value: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    model = open_model(spec, Settings(sends=False))
    assert isinstance(model, ChatModel)
    assert (model.name, model.url) == (spec, url)


def test_a_proxy_keeps_price_and_key_and_local_only_looks_at_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    plain = open_model("openai/gpt-4o-mini", Settings())
    with pytest.raises(UsageError, match=r"would send text to api\.openai\.com"):
        open_model("openai/gpt-4o-mini", Settings(local_only=True))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = open_model("openai/gpt-4o-mini", Settings(local_only=True))
    assert isinstance(model, ChatModel)
    assert model.headers["Authorization"] == "Bearer k"
    assert (model.price, model.name) == (plain.price, plain.name)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    with pytest.raises(UsageError, match=r"would send text to proxy\.example"):
        open_model("openai/gpt-4o-mini", Settings(local_only=True))


@pytest.mark.parametrize("value", ["127.0.0.1:9/v1", "http://u:canary@:x/", "http://a:b:c", "nonsense"])
def test_a_variable_that_holds_no_address_is_named(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", value)
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is no address") as caught:
        open_model("openai/m", Settings(sends=False))
    assert "canary" not in str(caught.value)
