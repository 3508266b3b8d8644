"""What many tests need: a small open and a small closed benchmark, and ways to run them."""

from __future__ import annotations

import gc
import itertools
import json
import signal
import socket
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from mindgauge.records.files import private
from mindgauge.runs import entry_test
from tests.chromium import CHROMIUM, FLAGS
from tests.stub import Stub, completion, says, words
from tests.thinned import FIFTH, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from aiohttp import web

# A job in a shell's background ignores Ctrl-C, and so would all that it starts; tests send it themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)
# These machines are shared: how long an example takes says nothing about the code. And a push is judged by what it
# changes, not by chance; `pytest --hypothesis-profile search` looks for new examples.
settings.register_profile("shared", deadline=None, derandomize=True, max_examples=FIFTH)
settings.register_profile("whole", deadline=None, derandomize=True, max_examples=WHOLE)
settings.register_profile("search", deadline=None, max_examples=1_000)
settings.load_profile("shared")

_SEEN = entry_test.seen
_RESOLVE = socket.getaddrinfo


def _as_browsers_do(host: Any, *rest: Any, **named: Any) -> Any:
    """Find `*.localhost` here without asking a resolver, as RFC 6761 wants it and Python does not do it."""
    return _RESOLVE("127.0.0.1" if str(host).endswith(".localhost") else host, *rest, **named)


socket.getaddrinfo = _as_browsers_do


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from what collecting makes: a million objects that stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def obliging(body: dict[str, Any], count: int) -> web.StreamResponse:
    """Answer like a good subject and a good judge: what is asked for decides which."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    properties = schema.get("properties", {})
    if not properties:
        return says(f"I hear you. ({len(words(body))}, {body['seed']})")
    return says(json.dumps({"quotes": [], "rationale": "because"} | _filled(schema, len(words(body)))))


def _filled(schema: dict[str, Any], number: int) -> Any:
    """Fill what is asked for, at whatever depth; a number says which of several values is given."""
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if schema["type"] == "object":
        return {name: _filled(part, number) for name, part in schema["properties"].items()}
    return {"array": [], "boolean": False, "string": "because"}[schema["type"]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the browser once for a module: its loop must not run beside what other modules await."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=str(CHROMIUM), args=[*FLAGS])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Name a state folder for each test, which is made when something is noted: nine thousand are dear to make."""
    base = tmp_path_factory.mktemp("states")
    return (base / str(number) for number in itertools.count())


@pytest.fixture(scope="session", autouse=True)
def known_judges(states: Iterator[Path]) -> Iterator[None]:
    """Let all run on a machine that has seen every judge pass, what is made once for many tests too.

    Else whatever has a judge would begin with an entry test of 40 calls. Tests of that take `fresh_machine`; commands
    in processes of their own say --no-qualify.
    """
    with pytest.MonkeyPatch.context() as machine:
        machine.setenv(private.STATE_FOLDER, str(next(states)))
        machine.setattr(entry_test, "seen", lambda judge, instrument: True)
        yield


@pytest.fixture(autouse=True)
def nobodys_home(known_judges: None, monkeypatch: pytest.MonkeyPatch, states: Iterator[Path]) -> None:
    """Let what a test notes on its machine be gone for the next."""
    monkeypatch.setenv(private.STATE_FOLDER, str(next(states)))


@pytest.fixture
def fresh_machine(nobodys_home: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let a test run on a machine that has seen nothing yet; return its state folder."""
    monkeypatch.setattr(entry_test, "seen", _SEEN)
    monkeypatch.setenv(private.STATE_FOLDER, str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub(obliging) as server:
        yield server


@pytest.fixture
def replies_file(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: dict[str, Any]) -> Path:
        path = tmp_path / "replies.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


__all__ = ["completion", "obliging"]
