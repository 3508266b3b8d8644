"""`annotate serve` as it is run: a process of its own, behind a proxy or not, and what it writes to the terminal."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx2
import pytest

from mindgauge.annotation import people
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.web.serving import listen
from mindgauge.commands.annotate.serve import annotate_serve
from mindgauge.records.errors import UsageError
from mindgauge.store import Store
from tests.annotation.conftest import begin
from tests.annotation.page.visiting import forms_csrf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = (sys.executable, "-c", "from mindgauge.cli import main; main()", "annotate", "serve")


class Running(NamedTuple):
    process: subprocess.Popen[str]
    folder: Path
    url: str
    link: str

    def stop(self) -> tuple[int, str]:
        """Press Ctrl-C, and return the exit code and what it had said on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said


@contextmanager
def served(folder: Path, url: str = "http://127.0.0.1:8765") -> Iterator[Running]:
    begin(folder, url=url).close()
    arguments = [*COMMAND, str(folder), "--port", "0", "--invite", "olga", "--json"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        told = json.loads(process.stdout.readline())
        yield Running(process, folder, told["url"], told["link"])
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with served(tmp_path / "project") as found:
        yield found


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Running]:
    """One that has TLS in front, by its address."""
    with served(tmp_path / "project", "https://label.example.org") as found:
        yield found


def token(folder: Path, name: str) -> str:
    with Annotation.open(folder) as annotation:
        return people.invite(annotation, annotation.named(name).id)


def test_it_says_where_it_runs_and_ends_with_ctrl_c(running: Running) -> None:
    assert re.match(r"http://[0-9a-f]{32}\.localhost:\d+$", running.url)
    assert running.link.startswith(f"{running.url}/join/")
    assert "Welcome, olga" in httpx2.get(running.link).text
    assert running.stop()[0] == 0


@pytest.mark.long
def test_a_taken_port_is_one_line(running: Running) -> None:
    port = running.url.rpartition(":")[2]
    again = subprocess.run([*COMMAND, str(running.folder), "--port", port], capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert again.stderr == f"mindgauge: port {port} is taken; stop what runs there, or choose another with --port\n"


@pytest.mark.long
def test_the_terminal_shows_no_token_no_name_and_no_text(running: Running) -> None:
    secret = token(running.folder, "ana")
    with httpx2.Client(base_url=running.url) as ana:
        ana.get(f"/join/{secret}")
        ana.get("/join/wrong-token-1234")
        ana.post("/join", data={"token": secret})
        csrf = forms_csrf(ana.get("/notice").text)
        ana.post("/notice", data={"csrf": csrf})
        with Annotation.open(running.folder) as annotation:
            item = annotation.items(1)[0].id
        fields = {
            "csrf": csrf,
            "item": item,
            "phase": "labelling",
            "turn": "0",
            "form": "form-0001",
            "note": "a hard one",
        }
        ana.post("/item/submit", data=fields)
        ana.post("/draft", json=fields, headers={"x-csrf": csrf})
        ana.get(f"/training/feedback/{item}")
        ana.get(f"/nowhere/{item}?note=hard")
        cookie = next(iter(ana.cookies.values()))
    with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2]))) as raw:
        raw.sendall(f"GET /{item} nonsense\r\nNote: {secret}\r\n\r\n".encode())
        raw.recv(1000)
    code, said = running.stop()
    assert code == 0
    assert "POST /item/submit " in said
    assert "GET /join/{token} 404" in said
    assert len(said.splitlines()) >= 9
    for word in (secret, "wrong-token", cookie, csrf, item, "ana", "hard", "form-0001"):
        assert word not in said, word


@pytest.mark.long
def test_behind_a_proxy_that_speaks_tls_the_cookie_is_secure(proxied: Running) -> None:
    behind = {"x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7", "host": "label.example.org"}
    answer = httpx2.post(f"{proxied.url}/join", data={"token": token(proxied.folder, "ana")}, headers=behind)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-mindgauge-")
    assert "; Secure" in cookie


@pytest.mark.long
def test_behind_a_proxy_guesses_count_for_who_made_them(proxied: Running) -> None:
    def guess(address: str) -> int:
        return httpx2.get(f"{proxied.url}/join/guess", headers={"x-forwarded-for": address}).status_code

    assert 429 in {guess("192.0.2.7") for _ in range(60)}
    assert guess("192.0.2.8") == 404


@pytest.mark.long
def test_without_one_nobody_is_believed_to_speak_for_others(running: Running) -> None:
    """Any program of this machine could say so, and guess without end."""
    with httpx2.Client(base_url=running.url) as client:

        def guess(address: str) -> int:
            headers = {"x-forwarded-for": address, "x-real-ip": address, "forwarded": f"for={address}"}
            return client.get("/join/guess", headers=headers).status_code

        assert 429 in {guess(f"192.0.2.{n}") for n in range(60)}
        forged = {"x-forwarded-proto": "https"}
        time.sleep(2)
        answer = client.post("/join", data={"token": token(running.folder, "ana")}, headers=forged)
        assert "Secure" not in answer.headers["set-cookie"]


@pytest.mark.long
def test_what_another_address_means_is_said(tmp_path: Path) -> None:
    begin(tmp_path / "project").close()
    arguments = [*COMMAND, str(tmp_path / "project"), "--port", "0", "--host", "0.0.0.0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
    assert re.match(r"The page runs at http://[0-9a-f]{32}\.localhost:", first)
    assert "whoever reaches this machine over the network" in said
    assert "TLS in front" in said


def test_an_address_that_cannot_be_had_is_one_line(tmp_path: Path) -> None:
    begin(tmp_path / "project").close()
    for host, port, line in (
        ("192.0.2.1", 0, "is no address of this machine"),
        ("no such host", 0, "there is no such address"),
        ("127.0.0.1", 99_999, "a port is a number up to 65535"),
    ):
        with pytest.raises(UsageError, match=line):
            annotate_serve(tmp_path / "project", host=host, port=port)
    with pytest.raises(UsageError, match="nobody here is called"):
        annotate_serve(tmp_path / "project", port=0, invite="nobody")
    with pytest.raises(UsageError, match="no annotation project"):
        annotate_serve(tmp_path, port=0)


@pytest.mark.long
def test_the_run_can_be_written_while_the_page_is_served(running: Running) -> None:
    assert httpx2.get(running.link).status_code == 200
    with Store(running.folder, write=True) as store:  # raises where somebody else holds it
        assert httpx2.get(running.link).status_code == 200
        assert store.count_samples("dialogue_safety") == 0


@pytest.mark.parametrize(("host", "claimed"), [("127.0.0.1", "::1"), ("0.0.0.0", "::1"), ("::1", "127.0.0.1")])
def test_a_port_that_another_user_could_answer_for_us_is_not_served(tmp_path: Path, host: str, claimed: str) -> None:
    """Browsers ask both loopback addresses for `*.localhost`, `::1` first."""
    begin(tmp_path / "project").close()
    family = socket.AF_INET6 if ":" in claimed else socket.AF_INET
    try:
        theirs = socket.create_server((claimed, 0), family=family)
        listen(host, 0).close()
    except (OSError, UsageError):
        pytest.skip("needs both loopback addresses")
    with theirs, pytest.raises(UsageError, match=f"is taken on {claimed}"):
        annotate_serve(tmp_path / "project", host=host, port=theirs.getsockname()[1])
