"""A key, or a password in an address, is sent to the server it is for and stands nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

import mindgauge
from mindgauge.models.settings import Settings
from mindgauge.records.errors import EndpointError
from mindgauge.records.redaction import redacted
from mindgauge.store import manifest
from tests.configured import configured
from tests.conftest import obliging
from tests.stub import Stub, says

if TYPE_CHECKING:
    from pathlib import Path

KEY, PASSWORD = "sk-canary-4f1d9a7730", "swallow-b2c81f"
RESPONSE = "help_or_harm/response"
MAIN = "from mindgauge.cli import main; main()"


def echoing(body: dict[str, Any], n: int) -> web.StreamResponse:
    """Answer, now and then with the key that was sent: as the reply, as the model's name, or in an error."""
    told = f"Incorrect API key provided: {KEY}. You sent Authorization: Bearer {KEY}"
    match (n - 1) % 7:
        case 1:
            return web.json_response({"error": {"message": told, "code": KEY}}, status=400)
        case 2:
            return web.Response(status=429, text=told)
        case 3:
            return web.Response(text=told)
        case 4:
            return says(f"You wrote with {KEY}")
        case 5:
            answer = {"model": KEY, "system_fingerprint": KEY, "choices": [{"message": {"content": "I hear you."}, "finish_reason": KEY}]}  # fmt: skip
            return web.json_response(answer)
    return obliging(body, n)


def spoken(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the key in the environment and everything that Python can say switched on."""
    environment = {**os.environ, "MINDGAUGE_API_KEY": KEY, "OPENAI_API_KEY": KEY, "PYTHONASYNCIODEBUG": "1"}
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "default", "-c", MAIN, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def kept(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_key_is_sent_and_stands_nowhere_else(tmp_path: Path) -> None:
    with Stub(echoing) as stub:
        url = stub.model.replace("//", f"//user:{PASSWORD}@")
        run = tmp_path / "r"
        told = ["--judge", url, "--own-family", "--limit", "7", *configured(tmp_path, tries=1), "--concurrency", "1"]
        done = spoken("run", RESPONSE, "--model", url, *told, "--out", str(run))
        assert done.returncode == 0, done.stderr
        assert {headers["Authorization"] for headers in stub.headers} == {f"Bearer {KEY}"}
    mindgauge.report(run, out=tmp_path / "report.html")
    mindgauge.export(run, to="csv", out=tmp_path / "csv")
    for secret in (KEY, PASSWORD):
        assert secret not in done.stdout + done.stderr
        assert secret.encode() not in kept(tmp_path)
    assert b"Incorrect API key provided: [hidden]" in kept(tmp_path / "r"), "what the server said is kept without it"
    assert manifest.read(tmp_path / "r")["command"].count("//[hidden]@127.0.0.1") == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
def test_an_error_does_not_say_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", KEY)

    def refusing(body: dict[str, Any], n: int) -> web.StreamResponse:
        return web.json_response({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status=status)

    said = ""
    with Stub(refusing) as stub:
        try:
            mindgauge.run(RESPONSE, model=stub.model, limit=2, settings=Settings(tries=1), out=tmp_path)
        except EndpointError as error:
            said = str(error)
    assert bool(said) == (status not in {400, 500})
    assert KEY not in said
    assert KEY.encode() not in kept(tmp_path)


@pytest.mark.parametrize(
    "model",
    [
        "http://user:{}@127.0.0.1:9/v1",
        "http://user:{}@/v1#m",
        "http://user:{}@127.0.0.1:port/v1#m",
        "http://user:{0}@127.0.0.1:9/v1,http://user:{0}@127.0.0.1:9/v1#m",
        "htp://user:{}@127.0.0.1:9/v1#m",
        "http://127.0.0.1:9/v1?api_key={}",
    ],
)
def test_an_address_that_is_refused_is_named_without_its_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    from mindgauge.cli import main

    monkeypatch.setattr(sys, "argv", ["mindgauge", "run", RESPONSE, "--model", model.format(PASSWORD), "--limit", "2"])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert end.value.code == 2
    assert PASSWORD not in said.out + said.err


def test_what_is_written_down_of_a_command_has_no_secret(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", KEY)
    command = f"mindgauge run --model https://me:{PASSWORD}@host/v1?api_key={PASSWORD}#m --note {KEY}"
    mindgauge.run("help_or_harm/crisis_type", model=stub.model, out=tmp_path, limit=2, command=command)
    assert manifest.read(tmp_path)["command"] == (
        "mindgauge run --model https://[hidden]@host/v1?api_key=[hidden]#m --note [hidden]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "mindgauge run --model http://127.0.0.1:8000/v1#m --limit 3",
        "write to me@example.org, see http://example.org/a@b?page=2",
        "ordinary words, a key and a token",
        "",
    ],
)
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text
