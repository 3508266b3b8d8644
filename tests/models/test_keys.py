"""A key goes to the one host that it is meant for: never, in one command or one run, to two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import mindgauge
from mindgauge.cli import app
from mindgauge.models.address import Keys, key_for, variable_of
from mindgauge.models.ray.model import _seat_environment
from mindgauge.models.settings import Settings
from mindgauge.models.spec import endpoints, keys
from mindgauge.records.errors import UsageError
from mindgauge.runs import plan
from mindgauge.runs.options import RunConfig
from mindgauge.store import manifest
from tests.conftest import obliging
from tests.stub import Stub

if TYPE_CHECKING:
    from pathlib import Path

OPEN, CLOSED = "help_or_harm/response", "help_or_harm/crisis_type"
ELSEWHERE = "https://judge.example.org/v1#jay"
SECRET = "sk-only-for-one"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MINDGAUGE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "TOGETHER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def opened(*specs: str) -> RunConfig:
    asked = RunConfig(settings=Settings(sends=False))
    for spec in specs:
        plan.open_models([spec], asked, asked.asked)
    return asked


@pytest.mark.parametrize(
    "specs",
    [
        ("http://a:8000/v1#m", ELSEWHERE),
        ("http://127.0.0.1:8000/v1#m", ELSEWHERE),
        ("http://a:8000/v1,http://b:8000/v1#m",),
        ("http://a:8000/v1#m", "http://b:8000/v1#m", "http://a:8000/v1#other"),
    ],
    ids=["two models", "this machine and another", "two servers of one model", "three models"],
)
def test_the_key_for_any_server_goes_to_one_host(monkeypatch: pytest.MonkeyPatch, specs: tuple[str, ...]) -> None:
    opened(*specs)
    monkeypatch.setenv("MINDGAUGE_API_KEY", SECRET)
    with pytest.raises(UsageError, match=r"the key in MINDGAUGE_API_KEY would go to two hosts, .*MINDGAUGE_API_KEY_"):
        opened(*specs)


def test_a_host_may_have_a_key_of_its_own_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", SECRET)
    monkeypatch.setenv("MINDGAUGE_API_KEY_JUDGE_EXAMPLE_ORG", "sk-another")
    opened("http://127.0.0.1:8000/v1#m", ELSEWHERE)
    assert key_for("http://[::1]:8000/v1").secret == SECRET
    assert key_for("https://judge.example.org/v1").secret == "sk-another"
    monkeypatch.setenv("MINDGAUGE_API_KEY_LOCALHOST", "")
    assert key_for("http://127.0.0.1:8000/v1").secret == ""
    with pytest.raises(UsageError, match=r"two hosts, a\.b and c\.d"):
        opened("http://a.b/v1#m", "http://localhost/v1#m", "http://c.d/v1#m")


def test_servers_of_one_cluster_may_share_a_key_that_is_given_to_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY_A", SECRET)
    monkeypatch.setenv("MINDGAUGE_API_KEY_B", SECRET)
    opened("http://a/v1,http://b/v1#m")
    monkeypatch.setenv("MINDGAUGE_API_KEY", SECRET)
    with pytest.raises(UsageError, match="MINDGAUGE_API_KEY_A and MINDGAUGE_API_KEY hold the same key"):
        opened("http://a/v1,http://b/v1,http://c/v1#m")


def test_a_provider_s_key_goes_to_nobody_else_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    opened("openai/gpt-5-nano", "http://bot.example.org/v1#m", "vllm/m")
    monkeypatch.setenv("MINDGAUGE_API_KEY", SECRET)
    opened("openai/gpt-5-nano", "https://api.openai.com/v1#gpt-5-nano")
    with pytest.raises(UsageError, match=r"hold the same key.* into MINDGAUGE_API_KEY_BOT_EXAMPLE_ORG \(empty"):
        opened("openai/gpt-5-nano", "http://bot.example.org/v1#m")
    monkeypatch.setenv("TOGETHER_API_KEY", SECRET)
    with pytest.raises(UsageError, match="give each a key of its own"):
        opened("openai/gpt-5-nano", "together/m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://bot.example.org")
    opened("openai/gpt-5-nano", "http://bot.example.org/v1#m")


def test_what_is_refused_is_refused_by_every_verb_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", SECRET)
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"user": "I feel low.", "reply": "I hear you.", "category": "no_crisis"}\n', encoding="utf-8")
    with Stub(obliging) as stub:
        for words in (
            ["run", OPEN, "--model", stub.model, "--judge", ELSEWHERE],
            ["run", CLOSED, "--model", stub.model, "--model", ELSEWHERE],
            ["rate", OPEN, "--replies", str(replies), "--judge", stub.model, "--judge", ELSEWHERE],
            ["judges", "compare", OPEN, "--replies", str(replies), "--judge", stub.model, "--judge", ELSEWHERE],
        ):
            done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "r")])
            assert isinstance(done.exception, UsageError), words
            assert "would go to two hosts" in str(done.exception)
            assert SECRET not in str(done.exception)
        assert stub.calls == 0
    assert not (tmp_path / "r").exists()


def test_two_ports_of_this_machine_are_one_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", SECRET)
    with Stub(obliging) as first, Stub(obliging) as second:
        judge = second.model.replace("#stub", "#other").replace("127.0.0.1", "localhost")
        mindgauge.run(OPEN, model=first.model, judge=judge, limit=2, out=tmp_path)
        assert {h["Authorization"] for h in (*first.headers, *second.headers)} == {f"Bearer {SECRET}"}
    assert manifest.read(tmp_path)["keys"] == {"MINDGAUGE_API_KEY": "localhost"}
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_later_command_of_a_run_sends_a_key_to_no_other_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", SECRET)
    with Stub(obliging) as stub:
        mindgauge.run(OPEN, model=stub.model, limit=2, out=tmp_path)
    with pytest.raises(
        UsageError,
        match=r"in this run the key in MINDGAUGE_API_KEY went to localhost .*MINDGAUGE_API_KEY_JUDGE_EXAMPLE_ORG",
    ):
        mindgauge.rate(OPEN, replies=tmp_path, judge=ELSEWHERE)


def test_without_a_key_everything_may_be_named_together() -> None:
    opened("http://127.0.0.1:8000/v1#m", ELSEWHERE, "http://a/v1,http://b/v1#m", "ollama/m")


def test_actors_are_given_the_keys_of_their_own_hosts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY_A", "sk-a")
    monkeypatch.setenv("MINDGAUGE_API_KEY_B", "sk-b")
    assert _seat_environment("http://a/v1#m") == {"MINDGAUGE_API_KEY_A": "sk-a", "MINDGAUGE_API_KEY": None}
    assert _seat_environment("openai/m") == {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None}
    assert _seat_environment("vllm/m") == {}


@pytest.mark.parametrize(
    ("host", "variable"),
    [("localhost", "LOCALHOST"), ("bot.example-1.org", "BOT_EXAMPLE_1_ORG"), ("2001:db8::1", "2001_DB8_1")],
)
def test_a_host_s_variable(host: str, variable: str) -> None:
    assert variable_of(host) == f"MINDGAUGE_API_KEY_{variable}"


def test_hosts_whose_variables_are_spelled_alike_get_no_key_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY_A_B", SECRET)
    with pytest.raises(UsageError, match=r"is the key of two hosts, a\.b and a-b"):
        opened("http://a.b/v1#m", "http://a-b/v1#m")


def test_an_empty_key_is_none() -> None:
    Keys().take(keys("http://a/v1,http://b/v1#m"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://localhost/v1#m", "http://127.0.0.1:80/v1/#m", True),
        ("http://u:pw@a:8000/v1#m", "http://a:8000#m", True),
        ("http://a:8000/v1,http://b:8000/v1#m", "http://b:8000/v1#m", True),
        ("vllm/m", "http://localhost:8000/v1#m", True),
        ("openai/m", "https://api.openai.com/v1#m", True),
        ("http://a:8000/v1#m", "http://a:8001/v1#m", False),
        ("http://a:8000/v1#m", "http://a:8000/v2#m", False),
        ("http://a:8000/v1#m", "http://a:8000/v1#n", False),
        ("http://a:8000/v1#m", "m", False),
        ("local/m.gguf", "local/m.gguf", False),
    ],
)
def test_what_makes_two_addresses_the_same_endpoint(one: str, other: str, same: bool) -> None:
    assert bool(endpoints(one) & endpoints(other)) is same
