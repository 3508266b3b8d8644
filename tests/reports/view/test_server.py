"""Who is let in, by what, and what the command says where it serves nothing; what a kill and two at once leave."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
import pytest

from mindgauge.records.drawn import IN_SIGHT
from mindgauge.store import Store, manifest, reading
from tests.reports import crisis
from tests.reports.view.conftest import Visit, begun, refused, visiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORD = "minimising"
NO = {WORD: {"answered": "ok", "value": "no"}}
POSTS = ("/answers", "/withdrawn", "/read")


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    run = crisis.run(tmp_path_factory.mktemp("view") / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as come_in:
        yield come_in


def test_nothing_is_shown_without_the_link(visit: Visit) -> None:
    with httpx2.Client(base_url=visit.base, follow_redirects=True) as stranger:
        for path in ("/", "/index.html", "/state", "/data/index.js", "/view.js", f"/lines/{visit.keys[0]}", "/open/", "/open/x", "/nothing"):  # fmt: skip
            answer = stranger.get(path)
            assert answer.status_code in {401, 404}, path
            assert "set-cookie" not in answer.headers and not stranger.cookies
            assert not any(word in answer.text for word in (*crisis.MODELS, "An invented reply"))
        for path in POSTS:
            sent = {"line": visit.keys[0], "given": NO, "seconds": 1.0}
            assert stranger.post(path, json=sent, headers={"x-csrf": visit.state["csrf"]}).status_code == 401
    assert visit.state["answered"] == []


def test_only_its_own_page_changes_anything(visit: Visit) -> None:
    csrf, key = visit.state["csrf"], visit.keys[0]
    sent = {"line": key, "given": NO}
    for headers in (
        {}, {"x-csrf": "x"}, {"x-csrf": csrf, "origin": "http://evil.example"}, {"x-csrf": csrf, "origin": "null"}, {"x-csrf": csrf, "sec-fetch-site": "cross-site"},
        {"x-csrf": csrf, "sec-fetch-site": "same-site"}, {"x-csrf": csrf, "origin": f"{visit.base.rpartition('/')[0]}0"},
    ):  # fmt: skip
        for path in POSTS:
            assert visit.client.post(path, json=sent, headers=headers).status_code == 403, headers
    form = visit.client.post("/answers", data={"line": key}, headers={"x-csrf": csrf})
    assert form.status_code == 422
    for body in (
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"line": 3}',
        b'{"line": "x", "given": {}, "rater": "fair/judge"}',
    ):
        headers = {"x-csrf": csrf, "content-type": "application/json"}
        assert visit.client.post("/answers", content=body, headers=headers).status_code == 422, body[:20]
    assert all(visit.client.get(path).status_code == 404 for path in POSTS)
    assert visit.state["answered"] == []


def test_a_name_that_is_pointed_at_this_machine_is_refused_and_it_listens_here_alone(visit: Visit) -> None:
    port = urlsplit(visit.base).port or 0
    for host in ("evil.example", "127.0.0.1.evil.example", f"evil.example:{port}", "127.0.0.1:1", f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"):  # fmt: skip
        answer = visit.client.get("/state", headers={"host": host})
        assert answer.status_code == 400 and "csrf" not in answer.text, host
    hosts = {
        str(address) for *_, (address, *_) in socket.getaddrinfo(socket.gethostname(), port, family=socket.AF_INET)
    }
    for host in hosts - {"127.0.0.1"}:
        with socket.socket() as other:
            other.settimeout(5)
            assert other.connect_ex((host, port)) != 0 or host.startswith("127."), host


def test_every_answer_has_a_strict_policy_and_nothing_is_kept_by_a_browser(visit: Visit) -> None:
    for path in ("/", "/state", "/data/index.js", "/nothing", "/../../etc/passwd", "/data/..%2f..%2fetc%2fpasswd"):
        answer = visit.client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store" and answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers and "root:" not in answer.text
    page = visit.client.get("/").text
    assert "connect-src 'self'" in page and "require-trusted-types-for 'script'" in page
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    cookie = httpx2.get(visit.link).headers["set-cookie"].casefold()
    assert "httponly" in cookie and "samesite=lax" in cookie and visit.link.rpartition("/")[2].casefold() not in cookie


@pytest.mark.parametrize("lines", ["", "no run", "no replies", "no text", "damaged draw"])
def test_bad_input_is_one_line_and_a_two(tmp_path: Path, lines: str) -> None:
    run, options = tmp_path / "run", ["--as", "Cleo"]
    if lines in {"", "damaged draw"}:
        crisis.run(run, people=(), criteria=crisis.FEW)
    if lines == "damaged draw":
        (run / "view-draw-psycrisis.json").write_text("{")
        options += ["--draw", "10", "--random", "5"]
    if lines == "no replies":
        with Store(run, write=True) as store:
            manifest.begin(run, {"benchmarks": [crisis.NAME], "models": ["alpha"]}, "")
            store.put_samples(crisis.NAME, crisis.messages())
    if lines == "no text":
        crisis.run(run, people=(), criteria=crisis.FEW)
        content = manifest.read(run)
        manifest.write(run, {**content, "plan": {**content["plan"], "text": False}})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] if not lines else 0
        code, said = refused(run, *options, port=port)
    expected = {
        "": f"port {port} is taken", "no run": "no run here", "no replies": "nothing to read here", "no text": "keeps no text",
        "damaged draw": "view-draw-psycrisis.json: damaged",
    }  # fmt: skip
    assert (code, said.count("\n"), said.startswith("mindgauge: ")) == (2, 1, True), said
    assert expected[lines] in said


@pytest.mark.long
def test_two_people_and_two_tabs_at_once_lose_nothing(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with visiting(run, "--as", "Cleo") as cleo, visiting(run, "--as", "Dora") as dora:
        codes: list[int] = []

        def answer(visit: Visit, level: int) -> None:
            with httpx2.Client(base_url=visit.base, cookies=visit.client.cookies, timeout=60) as tab:
                own = Visit(visit.link, tab)
                codes.extend(own.answer(key, level, f"tab {level}").status_code for key in own.keys[:4])

        tabs = [threading.Thread(target=answer, args=(who, level)) for who in (cleo, dora) for level in (0, 1)]
        for tab in tabs:
            tab.start()
        for tab in tabs:
            tab.join()
        assert codes == [200] * 16
        assert {len(who.state["answered"]) for who in (cleo, dora)} == {4}
    with Store(run) as store:
        given = [r for r in store.ratings(crisis.NAME) if r.rater in {"Cleo", "Dora"}]
    assert {(r.rater, r.subject) for r in given if r.criterion == WORD} == {
        (who, subject) for who in ("Cleo", "Dora") for subject in {r.subject for r in given}
    }
    for rating in given:
        (earlier,) = rating.provenance["earlier"]
        assert {earlier["note"], rating.rationale} == {"tab 0", "tab 1"}, "what the other tab said is kept"


@pytest.mark.long
def test_a_killed_server_loses_nothing_and_its_successor_goes_on(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with begun(run, "--as", "Cleo") as (process, visit):
        first, second, *_ = visit.keys
        assert visit.answer(first, note="kept").status_code == 200
        assert visit.post("/read", {"line": second, "seconds": 4}).json()["read"]
        process.kill()
        process.wait(30)
    with (run / reading.FILE).open("a") as file:
        file.write('{"benchmark": "psycris')  # as a kill in the middle of a line leaves it
    with visiting(run, "--as", "Cleo") as visit:
        state = visit.state
        assert (state["answered"], state["read"]) == ([first], [second])
        assert visit.line(first)["answer"]["note"] == "kept"
        assert visit.post("/read", {"line": first, "seconds": 4}).json()["read"]
        assert {*visit.state["read"]} == {first, second}, "a broken line costs no other"
    with Store(run) as store:
        assert {r.provenance["selection"] for r in store.ratings(crisis.NAME) if r.rater == "Cleo"} == {IN_SIGHT}
    with visiting(run, "--as", "Cleo") as visit:
        assert {*visit.state["read"]} == {first, second}


def test_it_stops_on_ctrl_c_with_a_zero_and_no_text_is_in_its_log(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    with begun(run, "--as", "Cleo") as (process, visit):
        visit.answer(visit.keys[0], note="a note of mine")
        visit.client.get("/lines/secret-of-mine")
        key = visit.keys[0]
        process.send_signal(signal.SIGINT)
        out, log = process.communicate(timeout=30)
        assert process.returncode == 0 and out == ""
    assert "POST /answers 200" in log and "Traceback" not in log
    token = visit.link.rpartition("/")[2]
    assert not any(word in log for word in ("a note of mine", "secret-of-mine", token, key, "Cleo"))


@pytest.mark.long
def test_a_run_that_is_being_written_is_shown_and_says_so(tmp_path: Path) -> None:
    run = crisis.run(tmp_path / "run", people=(), criteria=crisis.FEW)
    writer = os.open(run / "run.lock", os.O_RDWR)
    fcntl.flock(writer, fcntl.LOCK_EX)
    with begun(run, "--as", "Cleo") as (process, visit):
        assert visit.state["lines"] == 80
        process.send_signal(signal.SIGINT)
        assert "is writing this run now" in process.communicate(timeout=30)[1]
    os.close(writer)
