"""`--local-only` reaches nothing but this machine, and what reads a run reaches nothing at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import mindgauge
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records.errors import EndpointError, UsageError
from tests.conftest import obliging
from tests.stub import Stub

ROOT = Path(__file__).parents[2]
FLOWS = Path(__file__).with_name("flows.py")
NOWHERE = "http://127.0.0.1:9"
"""A proxy that nobody is behind; who used it would get no answer."""
ISOLATED = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
CRISIS = "help_or_harm/crisis_type"


@pytest.fixture(scope="module")
def isolated() -> bool:
    """Whether a process may be given a network of its own, with nothing in it but loopback."""
    tools = shutil.which("unshare") and shutil.which("ip")
    return bool(tools) and not subprocess.run([*ISOLATED, "true"], capture_output=True, check=False).returncode


@pytest.fixture(scope="module")
def flows(isolated: bool, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what came of everyday commands, and which addresses each reached for."""
    proxies = dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), NOWHERE
    )
    command = [*(ISOLATED if isolated else []), sys.executable, str(FLOWS), str(tmp_path_factory.mktemp("flows"))]
    environment = {**os.environ, **proxies, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.long
def test_everyday_commands_work_where_there_is_no_network(flows: list[dict[str, Any]], isolated: bool) -> None:
    assert len(flows) == 13
    assert [(flow["words"], flow["said"]) for flow in flows if flow["code"]] == []
    if not isolated:
        pytest.skip("this process may not open a network namespace (unshare --net)")


def test_only_loopback_is_reached_and_no_name_is_looked_up_elsewhere(flows: list[dict[str, Any]]) -> None:
    reached = {address for flow in flows for address in flow["reached"]}
    assert "127.0.0.1" in reached, "the calls were made"
    assert reached <= {"127.0.0.1", "::1", "localhost"}
    unnamed = [flow for flow in flows if not any("localhost" in word for word in flow["words"])]
    assert "localhost" not in {address for flow in unnamed for address in flow["reached"]}


def test_what_makes_no_call_opens_no_connection(flows: list[dict[str, Any]]) -> None:
    reading = [flow for flow in flows if "--dry-run" in flow["words"] or flow["words"][0] not in {"run", "rate"}]
    assert len(reading) == 8
    assert [flow["words"] for flow in reading if flow["reached"]] == []


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8000", "127.8.9.1:8000", "localhost:8000", "LOCALHOST:8000", "[::1]:8000", "user:pass@127.0.0.1:8000"],
)
def test_loopback_may_be_spelled_in_these_ways(host: str) -> None:
    model = open_model(f"http://{host}/v1#m", Settings(local_only=True))
    assert model.host in {"127.0.0.1", "127.8.9.1", "localhost", "::1"}


@pytest.mark.parametrize(
    "url",
    [
        "http://0.0.0.0:8000/v1#m",
        "http://127.1:8000/v1#m",
        "http://2130706433/v1#m",
        "http://0x7f.0.0.1/v1#m",
        "http://127.0.0.1.:8000/v1#m",
        "http://127.0.0.1.example.org/v1#m",
        "http://localhost.example.org/v1#m",
        "http://localhost.localdomain/v1#m",
        "http://127.0.0.1@example.org/v1#m",
        "http://127.0.0.1:8000@example.org/v1#m",
        "http://127.0.0.1%2f@example.org/v1#m",
        "http://127.0.0.1\\@example.org/v1#m",
        "http://example.org\\@127.0.0.1:80@example.org/v1#m",
        "http://127。0。0。1:8000/v1#m",
        "http://[::ffff:10.0.0.1]:8000/v1#m",
        "http://[::]:8000/v1#m",
        "http://10.0.0.1/v1#m",
        "http://127.0.0.1:8000/v1,http://10.0.0.1:8000/v1#m",
        "openai/gpt-4o-mini",
    ],
)
def test_everything_else_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        open_model(url, Settings(local_only=True))
    assert len(str(refused.value).splitlines()) == 1


def test_another_base_address_from_the_environment_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-one")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://10.0.0.1/v1")
    with pytest.raises(UsageError, match=r"would send text to 10\.0\.0\.1"):
        open_model("openai/gpt-4o-mini", Settings(local_only=True))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_elsewhere_is_not_followed(tmp_path: Path, status: int) -> None:
    with Stub(obliging) as elsewhere:

        def redirecting(body: dict[str, Any], n: int) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": f"{elsewhere.url}/chat/completions"})

        settings = Settings(local_only=True, tries=1)
        with Stub(redirecting) as stub, pytest.raises(EndpointError, match=f"no chat endpoint.*{status}"):
            mindgauge.run(CRISIS, model=stub.model, out=tmp_path, limit=2, settings=settings)
        assert elsewhere.calls == 0


def test_a_proxy_in_the_environment_is_not_used(stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stub(obliging) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        mindgauge.run(CRISIS, model=stub.model, out=tmp_path, limit=2, settings=Settings(tries=1))
        assert (proxy.calls, stub.calls) == (0, 2)
