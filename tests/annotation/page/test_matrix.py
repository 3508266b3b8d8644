"""Every route × every role, and nobody: exactly the allowed ones answer. A new route must be entered here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import Mount

from mindgauge.annotation import people
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.records import Phase
from tests.annotation.conftest import begin
from tests.annotation.page.visiting import Browser, label_apart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import FastAPI
    from httpx2 import Response

    from mindgauge.annotation.project import Annotation

NOBODY, ANNOTATOR, ADJUDICATOR, OWNER = "nobody", "ana", "dana", "olga"
IN = {ANNOTATOR, ADJUDICATOR, OWNER}
TOGETHER = {ANNOTATOR, ADJUDICATOR}
MATRIX = {
    ("GET", "/"): IN,
    ("GET", "/join/{token}"): {NOBODY, *IN},
    ("POST", "/join"): {NOBODY, *IN},
    ("POST", "/leave"): IN,
    ("GET", "/notice"): IN,
    ("POST", "/notice"): IN,
    ("POST", "/language"): IN,
    ("GET", "/item"): TOGETHER,
    ("POST", "/item/decide"): TOGETHER,
    ("POST", "/item/submit"): TOGETHER,
    ("POST", "/item/skip"): {ANNOTATOR},
    ("POST", "/item/hand-on"): {ANNOTATOR},
    ("POST", "/item/undo"): {ANNOTATOR},
    ("POST", "/draft"): TOGETHER,
    ("GET", "/training/feedback/{item}"): {ANNOTATOR},
    ("GET", "/discussion"): TOGETHER,
    ("GET", "/discussion/{item}"): TOGETHER,
    ("POST", "/discussion/{item}/comment"): TOGETHER,
    ("POST", "/discussion/{item}/keep"): TOGETHER,
    ("GET", "/standing"): IN,
    ("GET", "/owner"): {OWNER},
    ("POST", "/owner/invite"): {OWNER},
    ("POST", "/owner/revoke"): {OWNER},
    ("POST", "/owner/retire"): {OWNER},
    ("POST", "/owner/add"): {OWNER},
}
FORM = {"content-type": "application/x-www-form-urlencoded"}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "permissions-policy": "camera=()",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-",
}


@pytest.fixture(scope="module", params=[Phase.LABELLING, Phase.DISCUSSION])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    with begin(tmp_path_factory.mktemp("matrix") / "project") as annotation:
        label_apart(annotation, request.param)
        yield create_app(annotation)


def routes(app: FastAPI) -> set[tuple[str, str]]:
    found = set()
    for context in iter_route_contexts(app.routes):
        if isinstance(context.original_route, Mount):
            assert context.path == "/static"
            continue
        assert isinstance(context.original_route, APIRoute)
        found |= {(method, context.path or "") for method in context.methods or ()}
    return found


def test_the_matrix_has_every_route(served: FastAPI) -> None:
    assert routes(served) == set(MATRIX)


@pytest.mark.parametrize("who", [NOBODY, ANNOTATOR, ADJUDICATOR, OWNER])
@pytest.mark.parametrize(("method", "path"), sorted(MATRIX))
def test_exactly_the_allowed_ones_answer(served: FastAPI, method: str, path: str, who: str) -> None:
    annotation: Annotation = served.state.annotation
    browser = Browser(served)
    if who != NOBODY:
        browser.come_in(annotation, who)
    if method == "POST" and path != "/join" and who in MATRIX[method, path]:
        for forged in ("", "0" * 43):
            refused = ask(browser, annotation, method, path, forged)
            assert refused.status_code == 403
            check_headers(refused)
    answer = ask(browser, annotation, method, path, browser.csrf)
    if who in MATRIX[method, path]:
        assert answer.status_code in {200, 204, 303, 404, 422}
        assert "location" not in answer.headers or answer.headers["location"] != "/notice"
    else:
        assert answer.status_code == (401 if who == NOBODY else 403)
    check_headers(answer)


def ask(browser: Browser, annotation: Annotation, method: str, path: str, csrf: str) -> Response:
    item = annotation.items(1)[0].id
    path = path.format(item=item, token=people.invite(annotation, annotation.named("chi").id))
    if method == "GET":
        return browser.get(path)
    if path == "/draft":
        return browser.post(path, json={"item": item}, headers={"x-csrf": csrf})
    return browser.post(path, data={"csrf": csrf, "item": item})


def check_headers(answer: Response, but: str = "") -> None:
    for name, beginning in HEADERS.items():
        assert name == but or answer.headers[name].startswith(beginning), name
    assert "server" not in answer.headers


def test_what_goes_wrong_has_the_same_headers_and_a_page_in_ones_language(served: FastAPI) -> None:
    browser = Browser(served)
    wrong = [
        (404, browser.get("/nowhere", headers={"accept-language": "zh-CN,en;q=0.5"})),
        (404, browser.get("/static/nothing", headers={"accept-language": "zh"})),
        (404, browser.get("/standing?batch=%00", headers={"accept-language": "zh"})),
        (405, browser.put("/join", headers={"accept-language": "zh"})),
        (405, browser.post("/static/page.css", headers={"accept-language": "zh"})),
        (413, browser.post("/join", data={"token": "x" * 1_000_001}, headers={"accept-language": "zh"})),
        (413, browser.post("/join", content=iter([b"x" * 600_000] * 2), headers={"accept-language": "zh", **FORM})),
        (400, browser.get("/", headers={"accept-language": "zh", "content-length": "-1"})),
    ]
    for status, answer in wrong:
        assert answer.status_code == status
        check_headers(answer)
        assert '<html lang="zh">' in answer.text
    strange = Browser(served, "http://example.org").get("/")
    check_headers(strange)
    assert (strange.status_code, "test" in strange.text, "请原样打开" in strange.text) == (400, False, True)
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert browser.get(path).status_code == 404


def test_what_is_the_same_for_all_may_be_kept_for_a_while(served: FastAPI) -> None:
    style = Browser(served).get("/static/page.css")
    assert style.headers["cache-control"] == "max-age=300"
    check_headers(style, "cache-control")


def test_a_script_gets_json(served: FastAPI) -> None:
    answer = Browser(served).post("/draft", json={})
    assert answer.status_code == 401
    assert answer.json()["error"].startswith("You are not signed in")


def test_a_fault_of_ours_is_one_sentence_and_shows_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with begin(tmp_path / "project") as annotation:
        app = create_app(annotation)

        @app.get("/broken")
        def broken(word: str) -> None:
            raise ValueError(word)

        with caplog.at_level("INFO"):
            answer = Browser(app).get("/broken?word=secret")
    assert answer.status_code == 500
    assert "This is a fault of the page, not of yours." in answer.text
    logged = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith(("mindgauge", "uvicorn", "fastapi")))
    assert "secret" not in answer.text + logged
    assert re.search(r"^ValueError at .*test_matrix.py:\d+ broken$", logged, re.MULTILINE)
    check_headers(answer)
