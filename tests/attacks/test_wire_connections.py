"""Connections: kept ones on which a server speaks unasked, TLS, and redirects, proxies and `.netrc`, which get no key."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.models.batch.transport import Transport
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import EndpointError, MindgaugeError
from mindgauge.reports.export.address import destination
from tests.attacks.test_wire import HEAD, HELLO, QUICK, model
from tests.attacks.wire import GOOD, Wire, serving
from tests.stub import completion

if TYPE_CHECKING:
    from tests.attacks.wire import Does

KEY = "sk-canary-1c7e9d2a4b"
OTHER = json.dumps(completion("This answers somebody else's question.")).encode()
ANSWER = HEAD + b"Content-Length: %d\r\n\r\n%s"
UNASKED: dict[str, tuple[bytes, float]] = {
    "with the answer": (ANSWER % (len(OTHER), OTHER), 0.0),
    "after the answer": (ANSWER % (len(OTHER), OTHER), 0.03),
    "a farewell": (b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\n\r\n{}", 0.03),
    "half an answer": ((ANSWER % (len(OTHER), OTHER))[:-5], 0.03),
    "informal": (b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.03),
    "garbage": (b"\x00\xff" * 500, 0.03),
}


def test_a_connection_is_kept_for_the_next_question() -> None:
    async def does(wire: Wire) -> None:
        while True:
            await wire.question()
            await wire.answer()

    async def ask() -> int:
        async with serving(does) as (port, wires), model(port, 5.0) as asked:
            for _ in range(5):
                assert (await asked.ask(HELLO)).attempts == 1
            return len(wires)

    assert asyncio.run(ask()) == 1


@pytest.mark.parametrize("name", UNASKED)
def test_what_nobody_asked_for_answers_no_question(name: str) -> None:
    content, pause = UNASKED[name]

    async def does(wire: Wire) -> None:
        while True:
            await wire.question()
            if pause:
                await wire.answer()
                await asyncio.sleep(pause)
                await wire.write(content)
            else:
                await wire.write(ANSWER % (len(GOOD), GOOD) + content)

    async def ask() -> list[Exchange]:
        async with serving(does) as (port, _), model(port, 5.0) as asked:
            found = []
            for _ in range(3):
                found.append(await asked.ask(HELLO))
                await asyncio.sleep(0.1)
            return found

    for done in asyncio.run(ask()):
        assert (done.status, done.attempts) == (Status.OK, 1)
        assert "somebody else" not in done.text


def test_a_connection_is_closed_when_a_flood_comes_on_it() -> None:
    sent = 0

    async def does(wire: Wire) -> None:
        nonlocal sent
        await wire.question()
        await wire.answer()
        while True:
            await wire.write(b"HTTP/1.1 204 No\r\n\r\n" * 1000)
            sent += 1

    async def ask() -> None:
        async with serving(does) as (port, _), model(port, 5.0) as asked:
            await asked.ask(HELLO)
            await asyncio.sleep(0.5)

    asyncio.run(ask())
    assert sent < 500, "it read on"


async def _early(wire: Wire) -> None:
    await wire.answer()
    await wire.question()
    await wire.until_gone()


async def _mute(wire: Wire) -> None:
    await wire.until_gone()


async def _plain(wire: Wire) -> None:
    await wire.reader.read(10)
    await wire.answer()


async def _alert(wire: Wire) -> None:
    await wire.reader.read(10)
    await wire.write(b"\x15\x03\x03\x00\x02\x02\x28")


async def _well(wire: Wire) -> None:
    await wire.question()
    await wire.answer()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder = tmp_path_factory.mktemp("tls")
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*make, "-addext", "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@pytest.mark.parametrize(
    ("does", "scheme", "tls"),
    [
        (_mute, "http", False),
        (_early, "http", False),
        (_mute, "https", False),
        (_plain, "https", False),
        (_alert, "https", False),
        (_well, "https", True),
        (_well, "http", True),
    ],
)
def test_a_server_that_never_answered_well_is_one_line_or_a_status(
    does: Does, scheme: str, tls: bool, certificate: ssl.SSLContext
) -> None:
    async def ask() -> Exchange | EndpointError:
        async with (
            serving(does, certificate if tls else None) as (port, _),
            open_model(f"{scheme}://127.0.0.1:{port}/v1#m", Settings(timeout=QUICK, tries=2)) as asked,
        ):
            try:
                return await asyncio.wait_for(asked.ask(HELLO), 20)
            except EndpointError as error:
                return error

    done = asyncio.run(ask())
    if isinstance(done, EndpointError):
        assert str(done).isprintable()
    else:
        assert done.status is Status.FAILED or does is _early
        assert done.error.isprintable()


# -- keys --------------------------------------------------------------------------------------------------------------


class Trap:
    """Where nothing may arrive, and a server that sends everybody there."""

    def __init__(self) -> None:
        self.fell: list[bytes] = []
        self.own: list[bytes] = []
        self.port = 0

    async def catch(self, wire: Wire) -> None:
        self.fell.append(b"a connection")
        while True:
            self.fell.append(await wire.question())
            await wire.answer()


def _lures(own: int, trap: int) -> list[str]:
    return [
        f"http://127.0.0.1:{trap}/v1/chat/completions",
        f"http://localhost:{trap}/v1/chat/completions",
        f"https://127.0.0.1:{own}/v1/chat/completions",
        f"//127.0.0.1:{trap}/v1/chat/completions",
        f"http://127.0.0.1:{own}@127.0.0.1:{trap}/",
        f"http://127.0.0.1:{own}/elsewhere",
        "/elsewhere",
        "",
    ]


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Point every proxy variable at a port, and let `.netrc` offer a password for this machine."""

    def point(port: int) -> None:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "WS_PROXY", "FTP_PROXY"):
            for variable in (name, name.lower()):
                monkeypatch.setenv(variable, f"http://user:pass@127.0.0.1:{port}")
        for variable in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(variable, raising=False)

    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password netrc-canary\ndefault login me password netrc-canary\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    return point


@pytest.mark.parametrize("key", [KEY, ""])
def test_redirects_proxies_and_netrc_get_and_give_no_key(
    key: str, surroundings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over every code and kind of address, for calls, and for requests of batches in both protocols."""
    monkeypatch.setenv("MINDGAUGE_API_KEY", key)
    trap = Trap()
    answers: list[tuple[int, str]] = []

    async def does(wire: Wire) -> None:
        while True:
            trap.own.append(await wire.question())
            code, place = answers[0]
            more = ["Refresh: 0; url=" + place, f'Link: <{place}>; rel="canonical"', f'Alt-Svc: h2="{place[7:22]}"']
            await wire.answer(b"{}", f"Location: {place}", *more, status=f"{code} Elsewhere")

    async def call(port: int) -> None:
        settings = Settings(timeout=5.0, tries=1)
        async with open_model(f"http://127.0.0.1:{port}/v1#m", settings) as asked:
            with pytest.raises(EndpointError, match=f"no chat endpoint.*{answers[0][0]}"):
                await asked.ask(HELLO)

    async def batch(port: int, folder: Path) -> None:
        transport = Transport("m", f"http://127.0.0.1:{port}/v1", timeout=5.0, tries=1, pause=0.01)
        transport.headers = {"Authorization": f"Bearer {key}", "x-api-key": key} if key else {}
        await transport.open()
        with (folder / "file").open("w+b") as file:
            for request in (
                transport.get("/batches", limit=1),
                transport.post("/files", lambda: b"{}"),
                transport.post_once("/batches", lambda: b"{}"),
                transport.download(transport.url + "/files/f/content", file, 1000),
            ):
                with pytest.raises(MindgaugeError, match="redirects are not followed"):
                    await request
        await transport.close()

    async def everything(folder: Path) -> int:
        count = 0
        async with serving(trap.catch) as (trapped, _), serving(does) as (port, _):
            surroundings(trapped)
            for code in (300, 301, 302, 303, 307, 308):
                for place in _lures(port, trapped):
                    answers[:] = [(code, place)]
                    await call(port)
                    await batch(port, folder)
                    count += 5
        return count

    count = asyncio.run(everything(Path(str(Path.home()))))
    assert not trap.fell
    assert len(trap.own) == count
    for head in trap.own:
        assert head.split()[1].startswith(b"/v1/")
        assert b"netrc-canary" not in head
        assert b"Cookie" not in head
        assert (b"Authorization: Bearer " + key.encode() in head) if key else b"uthorization" not in head


@pytest.mark.parametrize(
    ("named", "same"),
    [
        ("{own}/v1/messages/batches/b/results", True),
        ("{own}/elsewhere?a=b", True),
        ("http://me:pass@127.0.0.1:{port}/x", True),
        ("http://127.0.0.1:1/x", False),
        ("https://127.0.0.1:{port}/x", False),
        ("http://127.0.0.1.example.org:{port}/x", False),
        ("http://127.0.0.1:{port}@example.org/x", False),
        ("http://127.0.0.1:{port}\\@example.org/x", False),
        ("http://example.org#@127.0.0.1:{port}/x", False),
        ("http://[", False),
        ("http://127.0.0.1:99999999/x", False),
        ("http://\ud800/x", False),
        ("http://", False),
    ],
)
def test_results_are_fetched_from_the_server_that_was_named(named: str, same: bool) -> None:
    transport = Transport("m", "http://127.0.0.1:8000/v1", timeout=1.0, tries=1, pause=0.01)
    address = transport.address(named.format(own="http://127.0.0.1:8000", port=8000))
    assert bool(address) is same
    assert not same or address.startswith("http://127.0.0.1:8000/")


def test_an_object_store_that_redirects_gets_no_token_and_no_text_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs  # imports botocore

    trap = Trap()
    for name, value in (("ACCESS_KEY_ID", "AKIA"), ("SECRET_ACCESS_KEY", KEY), ("SESSION_TOKEN", KEY)):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    async def export() -> list[str]:
        said = []
        async with serving(trap.catch) as (trapped, _):
            for code in (301, 302, 303, 307, 308):

                async def does(wire: Wire, code: int = code) -> None:
                    while True:
                        trap.own.append(await wire.question())
                        place = f"Location: http://127.0.0.1:{trapped}/bucket"
                        await wire.answer(b"", place, "x-amz-bucket-region: eu-west-1", status=f"{code} Elsewhere")

                async with serving(does) as (port, _):
                    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
                    before = len(trap.own)
                    with pytest.raises(MindgaugeError) as caught:
                        await asyncio.to_thread(destination, f"s3://bucket/run-{code}")
                    s3fs.S3FileSystem.clear_instance_cache()  # it would keep this server's address
                    assert len(trap.own) > before, code
                    said.append(str(caught.value))
        return said

    assert all(line.isprintable() for line in asyncio.run(export()))
    assert not trap.fell


@pytest.mark.parametrize(
    "out", ["http://127.0.0.1:9/x", "https://me:pass@127.0.0.1:9/x", "simplecache::http://127.0.0.1:9/x"]
)
def test_the_web_takes_no_export(out: str) -> None:
    with pytest.raises(MindgaugeError, match="read-only") as caught:
        destination(out)
    assert "pass" not in str(caught.value)


_OPENING = {
    "aiohttp", "socket", "urllib.request", "http.client", "httpx", "requests", "ftplib", "smtplib", "telnetlib", "websockets",
    "fsspec", "s3fs", "aiobotocore", "boto3", "huggingface_hub", "transformers", "datasets", "ray", "grpc", "sqlalchemy",
    "pg8000", "psycopg", "litellm", "openai", "anthropic", "xmlrpc.client", "xllamacpp",
}  # fmt: skip
"""Packages through which a connection can be opened."""
_PLACES = {
    "annotation": "the labels' database, where an annotation project names a server; its page listens",
    "raters/classifiers": "an encoder of the hub, by transformers",
    "reports/export/address.py": "an object store, by fsspec",
    "reports/export/straight.py": "S3, by aiobotocore",
    "reports/export/folder.py": "the machine's name only",
    "models/chat_endpoint.py": "calls",
    "models/bots/http.py": "calls to a bot that is set up, by the transport",
    "models/transport.py": "all HTTP to models",
    "models/local.py": "llama.cpp, within this process",
    "models/batch/openai_batches.py": "a form for the transport",
    "models/batch/transport.py": "batches",
    "commands/data": "public files, by the transport: no more than the known size is read, and kept only by its hash",
    "models/ray": "a cluster",
}
"""All places of the source that import one, and what for."""


def test_every_place_that_can_open_a_connection_is_known() -> None:
    packages = "|".join(map(re.escape, sorted(_OPENING, reverse=True)))
    opening = re.compile(rf"^\s*(?:import|from)\s+(?:{packages})\b", re.MULTILINE)
    source, known = Path(mindgauge.__file__).parent, set()
    for path in sorted(source.rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(source).as_posix()
        if not opening.search(text):
            continue
        place = next((place for place in _PLACES if name == place or name.startswith(f"{place}/")), None)
        assert place is not None, f"{name} can open a connection: say to what, and bound it"
        known.add(place)
        if name.startswith("models/") and name != "models/transport.py":
            assert not re.search(r"ClientSession\(|TCPConnector\(", text), name
    assert known == set(_PLACES)
