"""Another user's server on the same machine, which the person's browser opens: it gets no key to a served page, and gives none."""

from __future__ import annotations

import contextlib
import http.server
import threading
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.annotation.page.test_serve import served
from tests.chromium import CHROMIUM
from tests.reports import crisis
from tests.reports.view.conftest import begun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium"),
]
NAMES = ("127.0.0.1", "localhost", "guessed.localhost")
"""By which everybody can name this machine."""


class Foreign(http.server.BaseHTTPRequestHandler):
    """Notes whatever a browser sends, and sets cookies of its own."""

    heard: ClassVar[list[tuple[str, dict[str, str], bytes]]] = []
    html = ""
    cookies: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.heard.append((self.path, dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        for cookie in self.cookies:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()
        self.wfile.write(self.html.encode() if self.path == "/page" else b"x")

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@contextlib.contextmanager
def foreign(port: int, names: set[str]) -> Iterator[int]:
    """Run the other user's server, which knows our port and how our cookies are named; return its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    own = server.server_address[1]
    every = [f"http://{name}:{number}" for name in NAMES for number in (own, port)]
    Foreign.heard.clear()
    Foreign.html = "".join(
        f'<img src="{url}/image"><iframe name="f{number}"></iframe><iframe src="{url}/frame"></iframe>'
        f'<form method="post" action="{url}/join" target="f{number}"><input name="token" value="x"></form>'
        for number, url in enumerate(every)
    )
    Foreign.cookies = [
        *(f"{name}=theirs; Path=/{domain}" for name in names for domain in ("", "; Domain=localhost")),
        *(f"flood{number}=1; Path=/; Domain=localhost" for number in range(200)),
    ]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield own
    server.shutdown()
    server.server_close()


def visit_the_other(context: Any, ours: str, kept: list[dict[str, str]]) -> None:
    """Open the other server in every way, and hold what it got against what opens our page."""
    at = urlsplit(ours)
    port = at.port or 0
    with foreign(port, {cookie["name"] for cookie in kept}) as other:
        page = context.new_page()
        for name in NAMES:
            page.goto(f"http://{name}:{other}/page")
            with contextlib.suppress(Exception):
                page.evaluate("[...document.forms].forEach(form => form.submit())")
            page.wait_for_load_state("networkidle")
        page.close()
    heard = list(Foreign.heard)
    assert {(path, headers["Host"]) for path, headers, _ in heard} >= {
        (path, f"{name}:{other}") for name in NAMES for path in ("/page", "/image", "/frame", "/join")
    }
    secrets = [at.hostname or "", *(cookie["value"] for cookie in kept), *filter(None, at.path.split("/")[1:2])]
    assert not [(path, word) for path, headers, body in heard for word in secrets if word in f"{headers}{body!r}"]
    said = set()
    with httpx2.Client() as client:
        for _, headers, body in {(h["Host"], h.get("Cookie"), bool(b)): (p, h, b) for p, h, b in heard}.values():
            sent = {name: value for name, value in headers.items() if name not in {"Host", "Content-Length"}}
            for path in ("/", "/state", "/owner", "/join", at.path):
                url = f"http://{headers['Host'].partition(':')[0]}:{port}{path}"
                answer = client.request("POST" if body else "GET", url, headers=sent, content=body)
                said.add((answer.status_code, answer.text, "set-cookie" in answer.headers))
    assert len(said) == 1, "whoever knows the port alone learns nothing"
    [(status, text, cookie)] = said
    assert (status, cookie) == (400, False)
    assert "This address opens nothing" in text and not any(word in text for word in secrets)


def test_a_foreign_server_gets_no_key_to_the_reader_not_even_under_its_own_host(browser: Any, tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with begun(run, "--as", "Cleo") as (_, visit):
        context = browser.new_context()
        page = context.new_page()
        page.goto(visit.link)
        page.wait_for_selector("body[data-state=ready]")
        kept = context.cookies()
        visit_the_other(context, visit.base, kept)
        with foreign(urlsplit(visit.base).port or 0, set()) as other:
            Foreign.html, Foreign.cookies = "", ["mindgauge-view=theirs; Path=/"]
            for path in ("/", "/state", "/open/x"):
                page.goto(f"http://{urlsplit(visit.base).hostname}:{other}{path}")
        assert len(Foreign.heard) >= 3 and not any(kept[0]["value"] in str(headers) for _, headers, _ in Foreign.heard)
        page.goto(f"{visit.base}/")
        page.wait_for_selector("body[data-state=ready]")
        context.close()


def test_a_foreign_server_gets_no_key_to_the_annotation_page_and_signs_nobody_in_or_out(
    browser: Any, tmp_path: Path
) -> None:
    with served(tmp_path / "project") as running:
        context = browser.new_context()
        page = context.new_page()
        page.goto(running.link)
        page.click('form[action="/join"] button')
        page.goto(f"{running.url}/owner")
        assert page.locator('button[title*="olga"]').count() == 1
        visit_the_other(context, running.url, context.cookies())
        page.goto(f"{running.url}/owner")
        assert page.locator('button[title*="olga"]').count() == 1
        context.close()
