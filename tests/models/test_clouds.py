"""docs/tasks/models.md: every set-up that it shows is read as it stands, and asks a stand-in of the service as the service wants it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web

import mindgauge
from tests.conftest import obliging
from tests.stub import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "tasks" / "models.md"
BLOCKS: list[str] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
CLOSED = "help_or_harm/crisis_type"
SECRET = "sk-of-the-cloud-0123456789"


class Cloud(Loopback):
    """Refuses every call but to one path, with one header and one query, as a cloud does."""

    def __init__(self, path: str, header: tuple[str, str], query: dict[str, str], models: set[str]) -> None:
        super().__init__()
        self._path, self._header, self._query, self._models = path, header, query, models
        self.answered: list[str] = []

    def route(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/{tail:.*}", self._answer)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        name, value = self._header
        if request.path != self._path or dict(request.query) != self._query:
            return web.json_response({"error": {"code": "404", "message": "Resource not found"}}, status=404)
        if request.headers.get(name) != value or (name != "Authorization" and "Authorization" in request.headers):
            return web.json_response({"error": {"code": "401", "message": "Access denied"}}, status=401)
        body: dict[str, Any] = json.loads(await request.read())
        if body["model"] not in self._models:
            return web.json_response({"error": {"message": f"Invalid model name {body['model']}"}}, status=400)
        if body.get("seed") is not None and name == "Authorization":
            message = "litellm.UnsupportedParamsError: bedrock does not support parameters: ['seed']"
            return web.json_response({"error": {"message": message, "param": None, "code": "400"}}, status=400)
        self.answered.append(body["model"])
        return obliging({"seed": 0, **body}, 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def azure() -> Iterator[Cloud]:
    path, query = "/openai/deployments/DEPLOYMENT/chat/completions", {"api-version": "2024-10-21"}
    with Cloud(path, ("api-key", SECRET), query, {"gpt-4o"}) as cloud:
        yield cloud


@pytest.fixture
def proxy() -> Iterator[Cloud]:
    with Cloud("/v1/chat/completions", ("Authorization", f"Bearer {SECRET}"), {}, {"claude", "gemini"}) as cloud:
        yield cloud


def block(name: str) -> str:
    return next(block for block in BLOCKS if f"[models.{name}]" in block)


def test_azure_by_address_and_header(folder: Path, azure: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("MINDGAUGE_API_KEY", "sk-of-another-host")
    text = block("azure").replace("https://RESOURCE.openai.azure.com", f"http://127.0.0.1:{azure.port}")
    (folder / "mindgauge.toml").write_text(text)
    scores: Any = mindgauge.run(CLOSED, model="azure", limit=2)
    assert azure.answered == ["gpt-4o"] * 2
    assert scores.calls["failed"] == 0


def test_bedrock_and_vertex_through_a_proxy(folder: Path, proxy: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_MASTER_KEY", SECRET)
    (folder / "mindgauge.toml").write_text(block("claude").replace("127.0.0.1:4000", f"127.0.0.1:{proxy.port}"))
    scores: Any = mindgauge.run(CLOSED, model=["claude", "gemini"], limit=2)
    assert sorted(proxy.answered) == ["claude"] * 2 + ["gemini"] * 2
    assert scores.calls["failed"] == 0


def test_every_set_up_of_the_page_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "system.md").write_text("Be kind.")
    for text in BLOCKS:
        (folder / "mindgauge.toml").write_text(text)
        for name in tomllib.loads(text)["models"]:
            planned = mindgauge.run(CLOSED, model=name, limit=1, dry_run=True)
            assert planned.calls == 1
