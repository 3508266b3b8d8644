"""PostgreSQL goes away under the page: once more is tried, then the page says so, keeps what was typed, and logs no word."""

from __future__ import annotations

import gc
import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx2
import pytest
from sqlalchemy import create_engine, make_url, text

from mindgauge.annotation import people, submissions
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.records import Person, Phase, Role
from tests.annotation.conftest import POSTGRES, begin
from tests.annotation.page.labelling import Seat
from tests.annotation.page.test_forms import typed_again
from tests.annotation.page.visiting import Browser, forms_csrf, label_apart
from tests.faults.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation.project import Annotation

pytestmark = [
    pytest.mark.parametrize("database_url", [pytest.param("postgresql", marks=POSTGRES)], indirect=True),
    # The driver leaves a socket whose server is gone to the collector, which is to come while this is known.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
NOTE = "SOS: she told nobody else"


@pytest.fixture
def proxy(database_url: str) -> Iterator[Proxy]:
    with Proxy(make_url(database_url).port or 5432) as found:
        yield found
    gc.collect()


@pytest.fixture
def behind(tmp_path: Path, database_url: str, proxy: Proxy) -> Iterator[Annotation]:
    """A project whose server is reached through the proxy."""
    url = make_url(database_url).set(port=proxy.port).render_as_string(hide_password=False)
    with begin(tmp_path / "project", url) as a:
        yield a


def terminate(url: str) -> None:
    """End all connections to a database as its server does when it is restarted."""
    engine = create_engine(make_url(url).set(drivername="postgresql+pg8000"), isolation_level="AUTOCOMMIT")
    with engine.connect() as c:
        c.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name AND pid != pg_backend_pid()"),
            {"name": make_url(url).database},
        )  # fmt: skip
    engine.dispose()


@pytest.mark.parametrize("how", ["cut", "terminated"])
def test_a_connection_that_was_lost_is_made_anew_and_nobody_notices(
    behind: Annotation, proxy: Proxy, database_url: str, how: str
) -> None:
    ana = Seat(behind, "ana")

    def lose() -> None:
        proxy.cut() if how == "cut" else terminate(database_url)

    for _ in range(3):
        fields = {**ana.form("/item/decide"), "answer": "Nonsense"}
        lose()
        assert ana.client.post("/item/decide", data=fields).status_code == 303
        lose()
        assert ana.client.get("/standing").status_code == 200
    assert len(behind.labels()) == 3


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_whose_answer_is_lost_counts_once(behind: Annotation, proxy: Proxy, after: bool) -> None:
    """Whether the server did what it was told or not: everything that writes may be asked a second time."""
    ana = Seat(behind, "ana")

    def cut() -> None:
        proxy.cut_at(b"commit", after=after)

    cut()
    assert ana.post("/item/decide", answer="Nonsense", note=NOTE).status_code == 303
    (label,) = behind.labels()
    assert label.note == NOTE
    first = ana.form("/item/skip")["item"]
    cut()
    assert ana.post("/item/skip").status_code == 303
    assert ana.form("/item/decide")["item"] != first
    handed = ana.form("/item/hand-on")["item"]
    cut()
    assert ana.post("/item/hand-on").status_code == 303
    assert behind.handed_on() == {(ana.person.id, handed)}
    cut()
    assert ana.post("/item/undo").status_code == 303
    assert behind.handed_on() == set()
    assert ana.form("/item/decide")["item"] == handed
    cut()
    link = people.invite(behind, behind.named("ben").id)
    cut()
    secret = people.exchange(behind, link)
    assert secret is not None
    assert people.find_session(behind, secret) is not None
    cut()
    assert behind.add(Person("", "eva", Role.ADJUDICATOR)).name == "eva"
    assert [person.name for person in behind.people()].count("eva") == 1


@pytest.mark.parametrize("after", [False, True])
def test_a_comment_whose_answer_is_lost_is_said_once(behind: Annotation, proxy: Proxy, after: bool) -> None:
    label_apart(behind, Phase.DISCUSSION)
    item = behind.items(1)[0].id
    proxy.cut_at(b"commit", after=after)
    submissions.comment(behind, behind.named("ana"), item, "It answers another question.", "form-0001")
    assert len(behind.comments()) == 1


def test_while_it_is_gone_the_page_says_so_and_keeps_what_was_typed(behind: Annotation, proxy: Proxy) -> None:
    app = create_app(behind)
    ana = Browser(app).come_in(behind, "ana")
    fields = {**Seat(behind, "ana").form("/item/decide"), "csrf": ana.csrf, "answer": "Nonsense", "note": NOTE}
    proxy.down()
    for path in ("/", "/item", "/standing", "/discussion", "/join/x", "/training/feedback/x"):
        shown = ana.get(path)
        assert shown.status_code == 503
        assert "cannot be reached just now" in shown.text
        assert "what you typed" not in shown.text
    for path in ("/item/decide", "/item/submit", "/item/skip", "/item/hand-on", "/discussion/x/comment", "/notice"):
        refused = ana.post(path, data=fields)
        assert refused.status_code == 503
        assert "what you typed is kept in this page" in refused.text
        assert typed_again(refused.text) == fields
        assert int(refused.headers["retry-after"]) > 0
    script = ana.post("/draft", json=fields, headers={"x-csrf": ana.csrf})
    assert script.status_code == 503
    assert "error" in script.json()
    proxy.up()
    for _ in range(2):
        assert ana.post("/item/decide", data=typed_again(refused.text)).status_code == 303
    (label,) = behind.labels()
    assert label.note == NOTE


def test_the_terminal_shows_no_word_of_anybody(tmp_path: Path, database_url: str, proxy: Proxy) -> None:
    url = make_url(database_url).set(port=proxy.port).render_as_string(hide_password=False)
    with begin(tmp_path / "project", url) as a:
        token = people.invite(a, a.named("ana").id)
        ids = [person.id for person in a.people()] + [item.id for item in a.items()]
    arguments = ["annotate", "serve", str(tmp_path / "project"), "--port", "0", "--json"]
    program = "from mindgauge.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        base = json.loads(process.stdout.readline())["url"]
        with httpx2.Client(base_url=base, timeout=60) as ana:
            ana.post("/join", data={"token": token})
            csrf = forms_csrf(ana.get("/notice").text)
            ana.post("/notice", data={"csrf": csrf})
            page = ana.get("/item").text.partition('id="answer"')[2].partition("</form>")[0]
            fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', page))
            fields |= {"answer": "no", "note": NOTE}
            for _ in range(3):
                proxy.cut()
                terminate(database_url)
                assert ana.get("/standing").status_code == 200
            proxy.cut_at(b"commit", after=False)
            assert ana.post("/item/decide", data=fields).status_code in {303, 409}
            proxy.down()
            for _ in range(3):
                assert ana.post("/item/decide", data=fields).status_code == 503
                assert ana.get("/item").status_code == 503
            proxy.up()
            assert ana.get("/item").status_code == 200
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert "DatabaseError from" in said
    line = re.compile(r"\d\d:\d\d:\d\d ((GET|POST) \S+ \d{3} \d+ ms|\w+( from \w+)? at \S+\.py:\d+ \S+.*)")
    assert [odd for odd in said.splitlines() if not line.fullmatch(odd)] == []
    for word in (NOTE, "SOS", "Traceback", "SELECT", "parameters", token, csrf, *ids):
        assert word not in said, word
