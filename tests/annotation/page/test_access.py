"""Who gets in: links, sessions, cookies, forged forms, guesses."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from mindgauge.annotation import people, schema
from mindgauge.annotation.page.access import Guesses
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Person, Phase, Role
from tests.annotation.conftest import begin
from tests.annotation.page.visiting import Browser, browser, forms_csrf, here, label_apart

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI


def test_a_link_is_looked_at_as_often_as_one_likes_and_used_once(project: Annotation) -> None:
    token = people.invite(project, project.named("ana").id)
    first, second = browser(project), browser(project)
    for _ in range(3):
        shown = first.get(f"/join/{token}")
        assert shown.status_code == 200
        assert "Welcome, ana" in shown.text
        assert not shown.cookies
    assert first.post("/join", data={"token": token}).headers["location"] == "/"
    replayed = second.post("/join", data={"token": token})
    assert replayed.status_code == 404
    assert not replayed.cookies
    assert "This link does not work any more" in replayed.text
    assert second.get(f"/join/{token}").status_code == 404
    # who is in and opens the old mail again just goes on
    assert first.get(f"/join/{token}").headers["location"] == "/"


def test_a_link_used_by_two_at_once_lets_one_in(project: Annotation) -> None:
    for _ in range(5):
        token = people.invite(project, project.named("ana").id)
        start = threading.Barrier(8)
        found: list[str | None] = []

        def use(token: str = token, start: threading.Barrier = start, found: list[str | None] = found) -> None:
            start.wait()
            found.append(people.exchange(project, token))

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert sum(secret is not None for secret in found) == 1


def test_a_new_link_ends_the_unused_one_and_old_ones_end_by_themselves(project: Annotation) -> None:
    ana = project.named("ana").id
    old, new = people.invite(project, ana), people.invite(project, ana)
    others = people.invite(project, project.named("ben").id)
    assert people.invited(project, old) is None
    assert people.exchange(project, old) is None
    assert people.exchange(project, others)
    old_now = update(schema.invitations).values(created=time.time() - people.IDLE - 1)
    project.database.write(lambda connection: connection.execute(old_now))
    assert people.exchange(project, new) is None


def test_only_hashes_are_kept(project: Annotation) -> None:
    token = people.invite(project, project.named("ana").id)
    secret = people.exchange(project, token)
    unused = people.invite(project, project.named("ben").id)
    tables = schema.metadata.sorted_tables
    kept = project.database.read(lambda c: [str(row) for table in tables for row in c.execute(select(table))])
    assert any(people.hashed(unused) in row for row in kept)
    assert not any(word in row for row in kept for word in (token, unused, secret or "-"))


def test_a_session_ends_when_revoked_left_or_idle(project: Annotation) -> None:
    ana = project.named("ana")
    app = create_app(project)
    revoked, left, idle, other = (Browser(app).come_in(project, name) for name in ("ana", "ana", "ana", "ben"))
    assert {b.get("/standing").status_code for b in (revoked, left, idle, other)} == {200}
    old = dict(left.cookies)
    goodbye = left.hand_in("/leave")
    assert goodbye.status_code == 200
    assert not left.cookies
    left.cookies.update(old)  # a copy of the cookie is of no use either
    assert left.get("/standing").status_code == 401
    aged = (
        update(schema.sessions)
        .where(schema.sessions.c.secret == people.hashed(next(iter(idle.cookies.values()))))
        .values(seen=time.time() - people.IDLE - 1)
    )
    project.database.write(lambda connection: connection.execute(aged))
    assert idle.get("/standing").status_code == 401
    people.revoke(project, ana.id)
    assert revoked.get("/standing").status_code == 401
    assert other.get("/standing").status_code == 200
    assert people.access(project)[ana.id].sessions == 0


def test_a_clock_that_is_a_month_ahead_for_a_while_ends_no_session(
    project: Annotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the page runs, the clock's settings mean nothing; begun under a wrong one, the page keeps the cookie."""
    ana = browser(project).come_in(project, "ana")
    month = people.IDLE + 24 * 3600
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time", lambda now=time.time: now() + month)
        assert ana.get("/standing").status_code == 200
    with monkeypatch.context() as ahead:
        ahead.setattr(people, "_STARTED", people._STARTED + month)  # the page was begun anew under a wrong clock
        refused = ana.get("/standing")
        assert refused.status_code == 401
        assert "set-cookie" not in refused.headers
        assert ana.cookies
    assert ana.get("/standing").status_code == 200
    people.revoke(project, project.named("ana").id)
    assert "max-age=0" in ana.get("/standing").headers["set-cookie"].lower()


def test_coming_back_keeps_a_session_alive(project: Annotation) -> None:
    ana = browser(project).come_in(project, "ana")
    aged = update(schema.sessions).values(seen=time.time() - people.IDLE + 60)
    project.database.write(lambda connection: connection.execute(aged))
    assert ana.get("/standing").status_code == 200
    assert (people.access(project)[project.named("ana").id].seen or 0) > time.time() - 60


def test_the_cookie_is_for_this_host_alone_and_behind_tls_secure(project: Annotation) -> None:
    app = create_app(project)
    names = []
    for scheme in ("http", "https"):
        token = people.invite(project, project.named("ana").id)
        answer = Browser(app, here(project).replace("http", scheme, 1)).post("/join", data={"token": token})
        name, _, rest = answer.headers["set-cookie"].partition("=")
        flags = {part.strip().lower() for part in rest.split(";")[1:]}
        assert {"httponly", "samesite=lax", "path=/"} <= flags
        assert not any(flag.startswith("domain") for flag in flags)
        assert ("secure" in flags, name.startswith("__Host-")) == (
            (True, True) if scheme == "https" else (False, False)
        )
        names.append(name)
    # what was given out in the clear is not taken as a cookie that came over TLS
    over_tls = Browser(app, here(project).replace("http", "https", 1))
    over_tls.cookies.set(names[0], people.exchange(project, people.invite(project, project.named("ana").id)) or "")
    assert over_tls.get("/standing").status_code == 401


def test_forms_from_elsewhere_are_refused(project: Annotation) -> None:
    ana = browser(project).come_in(project, "ana", noticed=False)

    def post(csrf: str | None, **headers: str) -> int:
        fields = {"language": "en"} | ({} if csrf is None else {"csrf": csrf})
        return ana.post(
            "/language", data=fields, headers={k.replace("_", "-"): v for k, v in headers.items()}
        ).status_code

    assert post(ana.csrf) == 303
    assert post(ana.csrf, origin=here(project)) == 303
    assert post(ana.csrf, origin=here(project), sec_fetch_site="same-origin") == 303
    assert post(None, x_csrf=ana.csrf) == 303
    for csrf in (None, "", "x", ana.csrf[:-1], browser(project).come_in(project, "ben").csrf):
        assert post(csrf) == 403
    for elsewhere in ("https://example.org", "http://127.0.0.1:9999", "null", "http://[", ""):
        assert post(ana.csrf, origin=elsewhere) == 403
    for site in ("cross-site", "same-site", ""):
        assert post(ana.csrf, origin=here(project), sec_fetch_site=site) == 403
    # nor can another site put its own visitor's session into this browser
    token = people.invite(project, project.named("ben").id)
    assert ana.post("/join", data={"token": token}, headers={"origin": "https://example.org"}).status_code == 403
    assert people.invited(project, token)


def test_the_language_goes_back_to_where_it_was_chosen_but_never_elsewhere(project: Annotation) -> None:
    ana = browser(project).come_in(project, "ana")

    def back(referer: str) -> str:
        answer = ana.post("/language", data={"csrf": ana.csrf, "language": "zh"}, headers={"referer": referer})
        return answer.headers["location"]

    assert back(f"{here(project)}/standing?batch=1") == "/standing?batch=1"
    assert back("https://example.org/standing") == "/"
    assert back("http://[") == "/"
    assert back(f"{here(project)}//example.org/") == "/"
    assert back(f"{here(project)}//standing") == "/standing"
    assert back(f"{here(project)}/item/submit") == "/"  # which answers no GET
    assert 'lang="zh"' in ana.get("/standing").text
    assert 'lang="zh"' in ana.get("/nowhere").text
    assert ana.hand_in("/language", language="xx").status_code == 422


def test_guesses_are_throttled_and_who_is_in_is_not(project: Annotation) -> None:
    app = create_app(project)
    app.state.guesses = Guesses(burst=5, refill=0.5)
    ana, guesser = Browser(app).come_in(project, "ana"), Browser(app)
    assert [guesser.get(f"/join/guess-{n}").status_code for n in range(4)] == [404] * 4
    assert guesser.post("/join", data={"token": "guess"}).status_code == 404
    slowed = guesser.post("/join", data={"token": "guess"})
    assert slowed.status_code == 429
    wait = int(slowed.headers["retry-after"])
    assert 1 <= wait <= 2
    right = people.invite(project, project.named("ben").id)
    assert guesser.post("/join", data={"token": right}).status_code == 429  # else guessing would go on at full speed
    assert ana.get("/standing").status_code == 200
    time.sleep(wait)
    assert guesser.post("/join", data={"token": right}).status_code == 303


def test_wrong_cookies_are_guesses_too(project: Annotation) -> None:
    app = create_app(project)
    app.state.guesses = Guesses(burst=3, refill=0.01)
    name = next(iter(Browser(app).come_in(project, "ana").cookies))
    found = [Browser(app).get("/standing", headers={"cookie": f"{name}=guess-{n}"}) for n in range(5)]
    assert [answer.status_code for answer in found] == [401] * 3 + [429] * 2
    assert "max-age=0" in found[0].headers["set-cookie"].lower()  # so that an old cookie counts once
    assert Browser(app).get("/standing").status_code == 401  # no cookie is no guess


def test_addresses_are_throttled_apart_and_not_remembered_without_end() -> None:
    guesses = Guesses(burst=1, refill=0.001, visitors=100, together=10**6)

    def ok(address: str) -> bool:
        from fastapi import HTTPException
        from starlette.requests import Request

        request = Request({"type": "http", "client": (address, 1), "headers": []})
        try:
            guesses.check(request, None)
        except HTTPException:
            return False
        guesses.wrong(request, None)
        return True

    assert ok("192.0.2.1")
    assert not ok("192.0.2.1")
    assert ok("192.0.2.2")
    assert ok("2001:db8::1")
    assert not ok("2001:db8::2")  # the same line
    assert ok("2001:db8:0:1::1")
    for n in range(1000):
        ok(f"198.51.{n // 250}.{n % 250}")
    assert len(guesses._spent) == 100


def test_who_is_in_has_no_more_guesses_than_others(project: Annotation) -> None:
    app = create_app(project)
    app.state.guesses = Guesses(burst=5, refill=0.001)
    ana, again, ben = (Browser(app).come_in(project, name) for name in ("ana", "ana", "ben"))
    found = [one.get(f"/join/guess-{n}").status_code for n in range(4) for one in (ana, again)]
    assert found == [303] * 5 + [429] * 3  # however many browsers somebody is in with
    assert ana.post("/join", data={"token": "guess"}).status_code == 429
    right = people.invite(project, project.named("chi").id)
    assert ana.post("/join", data={"token": right}).status_code == 429
    assert ana.get("/standing").status_code == 200
    assert ben.get("/join/guess").status_code == 303
    assert Browser(app).get(f"/join/{right}").status_code == 200  # nor are others slowed behind the same address


def test_made_up_addresses_meet_the_limit_of_all(project: Annotation) -> None:
    app = create_app(project)
    app.state.guesses = Guesses(burst=3, refill=0.001, together=4)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts="127.0.0.1")
    client = Browser(app)
    found = [client.get("/join/guess", headers={"x-forwarded-for": f"198.51.100.{n}"}).status_code for n in range(20)]
    assert found == [404] * 12 + [429] * 8


def test_coming_in_as_somebody_else_ends_the_session_before(project: Annotation) -> None:
    shared = browser(project).come_in(project, "ana")
    before = next(iter(shared.cookies.values()))
    token = people.invite(project, project.named("ben").id)
    assert "ana is signed in with this browser" in shared.get(f"/join/{token}").text
    shared.come_in(project, "ben")
    assert people.find_session(project, before) is None
    assert forms_csrf(shared.get("/standing").text) == shared.csrf


def test_other_names_and_ports_of_this_machine_are_refused(project: Annotation) -> None:
    def status(app: FastAPI, host: str) -> int:
        return Browser(app).get("/standing", headers={"host": host}).status_code

    app = create_app(project)
    name = here(project).removeprefix("http://").partition(":")[0]
    known = (f"{name}:8765", f"{name.upper()}:8765", here(project, name="ana").removeprefix("http://"))
    strange = (
        "127.0.0.1:8765", "localhost:8765", "[::1]:8765", "0.0.0.0:8765", "127.0.0.2:8765", "[::ffff:127.0.0.1]:8765", "a.localhost:8765",
        f"x{name}:8765", f"{name[1:]}:8765", f"{name}.:8765", f"x.{name}:8765", f"{name}:8766", f"{name}.example:8765", name,
        "127.0.0.1", "localhost:1", "localhost:80", "127.0.0.1:87650", "127.0.0.1:", "127.0.0.1:8765:8765", "127.0.0.1:x",
        "a@127.0.0.1:8765", "127.0.0.1:8765@example.org", "[::1", "[::1]8765", "::1", "", "rebound.example",
        "rebound.example:8765", "192.0.2.1:8765", "127.0.0.1.example:8765", "127.0.0.1:8765/x", "127.0.0.1:8765\\x",
    )  # fmt: skip
    assert {host: status(app, host) for host in known} == dict.fromkeys(known, 401)
    assert {host: status(app, host) for host in strange} == dict.fromkeys(strange, 400)
    bare = create_app(project, port=80)
    assert [status(bare, host) for host in (name, f"{name}:80", f"{name}:8765")] == [401, 401, 400]
    wide = create_app(project, host="0.0.0.0")
    assert {host: status(wide, host) for host in known} == dict.fromkeys(known, 401)
    assert {host: status(wide, host) for host in strange if "192." not in host} == {
        host: 400 for host in strange if "192." not in host
    }
    assert [status(wide, f"192.0.2.1{port}") for port in (":8765", ":8766", "")] == [401, 400, 400]
    assert status(wide, "rebound.example:8765") == 400


@pytest.mark.parametrize(
    ("url", "known", "strange"),
    [
        ("https://label.example.org", ("", ":443"), (":80", ":8765", ":8443")),
        ("https://label.example.org:8443", (":8443",), ("", ":443", ":8765")),
        ("http://label.example.org/", ("", ":80"), (":443", ":8765")),
    ],
)
def test_the_address_that_people_use_is_known_with_its_port(
    tmp_path: Path, url: str, known: tuple[str, ...], strange: tuple[str, ...]
) -> None:
    with begin(tmp_path / "project", url=url) as a:
        app = create_app(a)
        for ports, status in ((known, 401), (strange, 400)):
            for port in ports:
                host = f"label.example.org{port}"
                assert Browser(app).get("/standing", headers={"host": host}).status_code == status, host
        assert Browser(app).get("/standing").status_code == 401  # on this machine


def test_no_shown_link_names_another_authority(project: Annotation) -> None:
    olga = browser(project).come_in(project, "olga")
    ana = project.named("ana").id
    for host in ("127.0.0.1:9999", "localhost:9999", "localhost", "127.0.0.1:8765@example.org"):
        refused = olga.post("/owner/invite", data={"csrf": olga.csrf, "person": ana}, headers={"host": host})
        assert refused.status_code == 400
        assert "/join/" not in refused.text


def test_the_notice_comes_before_the_first_item(project: Annotation) -> None:
    ana = browser(project).come_in(project, "ana", noticed=False)
    assert ana.get("/item").headers["location"] == "/notice"
    assert ana.hand_in("/item/skip").headers["location"] == "/notice"
    assert ana.hand_in("/notice").headers["location"] == "/"
    assert ana.get("/item").status_code == 200


def test_an_owner_decides_only_where_there_is_no_adjudicator(tmp_path: Path, project: Annotation) -> None:
    assert browser(project).come_in(project, "olga").get("/discussion").status_code == 403
    team = tuple(Person("", name, Role.ANNOTATOR) for name in ("ana", "ben"))
    with begin(tmp_path / "small", people=(*team, Person("", "olga", Role.OWNER))) as small:
        label_apart(small, Phase.ADJUDICATION)
        olga = browser(small).come_in(small, "olga")
        assert "/discussion" in olga.get("/owner").text
        assert olga.get("/discussion").status_code == 200
        assert olga.hand_in("/item/skip").status_code == 403  # this stays the annotators'


@pytest.mark.parametrize("given", ["\ud800", "ü" * 10_000, "a\0b", "' OR 1=1 --"])
def test_a_token_may_be_anything(project: Annotation, given: str) -> None:
    assert people.exchange(project, given) is None
    assert people.find_session(project, given) is None


def test_addresses_stay_over_a_restart_and_no_two_people_or_projects_share_one(tmp_path: Path) -> None:
    with begin(tmp_path / "one") as project:
        names = [person.name for person in project.people()]
        first = [here(project, name=name) for name in names]
    with Annotation.open(tmp_path / "one") as again, begin(tmp_path / "two") as other:
        assert [here(again, name=name) for name in names] == first
        assert len({*first, *(here(other, name=name) for name in names)}) == 2 * len(names)
    assert (tmp_path / "one" / "page.key").stat().st_mode & 0o077 == 0
