"""Whatever is sent to a form, the page answers with something better than a fault; and what it cannot keep is not lost."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_from_bytes, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mindgauge.annotation import database, tasks
from mindgauge.annotation.page.access import Guesses, clean
from mindgauge.annotation.page.serve import create_app
from mindgauge.annotation.records import Phase
from tests.annotation.conftest import begin
from tests.annotation.page.test_matrix import MATRIX
from tests.annotation.page.visiting import Browser, browser, label_apart
from tests.thinned import examples, later

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation.project import Annotation

FORMS = sorted(path for method, path in MATRIX if method == "POST" and path != "/leave")
PAGES = sorted(path for method, path in MATRIX if method == "GET")
NAMES = (
    "item", "phase", "turn", "form", "criterion", "node", "answer", "answer:category", "note", "evidence", "quote",
    "seconds", "before", "path", "text", "language", "person", "name", "role", "token", "batch",
)  # fmt: skip
PHASES = (Phase.LABELLING, Phase.DISCUSSION, Phase.ADJUDICATION)
FUZZ = settings(examples(50), suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module", params=PHASES)
def browsers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Browser]]:
    """Everybody, in one project that has come to a phase; what one example hands in, the next one finds."""
    with begin(tmp_path_factory.mktemp("forms") / "project") as annotation:
        label_apart(annotation, request.param)
        app = create_app(annotation)
        app.state.guesses = Guesses(burst=10**9)
        yield [Browser(app).come_in(annotation, name) for name in ("ana", "dana", "olga")]


def values(annotation: Annotation) -> st.SearchStrategy[str]:
    """Return texts of all kinds, and often something that the page itself could have sent."""
    known = [person.id for person in annotation.people()] + [item.id for item in annotation.items()]
    known += [
        *Phase,
        "annotator",
        "category",
        "en",
        "zh",
        "yes",
        "no",
        "0",
        "1",
        "12",
        "1e999",
        "nan",
        "-1",
        "form-0001",
    ]
    known += [str(value) for value in annotation.rubric().criteria[0].values] + ["cannot_tell", "not_applicable"]
    odd = st.sampled_from(
        ["", "\0", "a\0b", "\ud800", "9" * 400, "<script>", "{}", "{{7*7}}", "' OR 1=1 --", "💙" * 300]
    )
    return st.one_of(st.sampled_from(known), odd, st.text(max_size=40))


def field_names() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(NAMES), st.text(max_size=10))


def encoded(pairs: list[tuple[str, str]]) -> bytes:
    """Encode a form as a browser would, lone surrogates and all."""
    return urlencode([(name.encode("utf-8", "surrogatepass"), value.encode("utf-8", "surrogatepass")) for name, value in pairs]).encode()  # fmt: skip


@FUZZ
@given(data=st.data())
def test_no_form_breaks_the_page(browsers: list[Browser], data: st.DataObject) -> None:
    annotation = browsers[0].annotation
    who = data.draw(st.sampled_from(browsers))
    path = data.draw(st.sampled_from(FORMS)).format(item=data.draw(st.sampled_from(annotation.items())).id)
    pairs = data.draw(st.lists(st.tuples(field_names(), values(annotation)), max_size=12))
    if data.draw(st.booleans()):  # near to a real form: of an item that is open, under its turn
        pairs = [("form", data.draw(st.text("abc-", min_size=8, max_size=9))), *real(annotation, who), *pairs]
    kind = data.draw(st.sampled_from(["form", "multipart", "json"]))
    headers = {"x-csrf": who.csrf}
    if kind == "form":
        answer = who.post(path, content=encoded(pairs), headers={**headers, "content-type": "application/x-www-form-urlencoded"})  # fmt: skip
    elif kind == "multipart":
        sent = [(clean(name) or "a", (None, clean(value))) for name, value in pairs] or [("a", (None, "b"))]
        answer = who.post(path, files=sent, headers=headers)
    else:
        body = json.dumps(dict(pairs)).encode()
        answer = who.post(path, content=body, headers={**headers, "content-type": "application/json"})
    assert answer.status_code < 500


def real(annotation: Annotation, who: Browser) -> list[tuple[str, str]]:
    at = tasks.current(annotation, annotation.named(who.name))
    if not isinstance(at, tasks.Assignment):
        return []
    return [("item", at.item.id), ("phase", at.phase), ("turn", str(at.turn))]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(), max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=20,
)


@FUZZ
@given(data=st.data())
def test_no_draft_breaks_the_page(browsers: list[Browser], data: st.DataObject) -> None:
    who = browsers[0]
    fields: Any = data.draw(st.dictionaries(field_names(), st.one_of(values(who.annotation), JSON), max_size=8))
    if data.draw(st.booleans()):
        fields = {**fields, **dict(real(who.annotation, who)), "form": "form-0001"}
    body = json.dumps(data.draw(st.one_of(st.just(fields), JSON))).encode()
    headers = {"x-csrf": who.csrf, "content-type": "application/json"}
    assert who.post("/draft", content=body, headers=headers).status_code < 500
    assert who.get("/item").status_code < 500  # what was kept can be shown


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b'{"turn": 1e400}', b'"\\ud800"',
     b'{"item": "\\u0000\\ud800"}', b'{"turn": ' + b"9" * 5_000 + b"}"],
)  # fmt: skip
def test_no_broken_json_breaks_the_page(browsers: list[Browser], body: bytes) -> None:
    headers = {"x-csrf": browsers[0].csrf, "content-type": "application/json"}
    assert browsers[0].post("/draft", content=body, headers=headers).status_code == 422


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        later("multipart/form-data", b"x"),
        later("multipart/form-data; boundary=b", b"x"),
        ("multipart/form-data; boundary=b", b'--b\r\nContent-Disposition: form-data; name="a"; filename="f"\r\n\r\nx\r\n--b--'),
        ("multipart/form-data; boundary=b; charset=utf-7", b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n+2AA-\r\n--b--'),
        later("application/x-www-form-urlencoded; charset=utf-16", b"a=b"),
        ("application/x-www-form-urlencoded", b"&".join(b"a=b" for _ in range(5_000))),
        ("application/x-www-form-urlencoded", b"%00=%00&%ED%A0%80=%FF"),
        later("\xff", b"a=b"),
    ],
)  # fmt: skip
def test_no_broken_form_breaks_the_page(browsers: list[Browser], kind: str, body: bytes) -> None:
    headers = [(b"x-csrf", browsers[0].csrf.encode()), (b"content-type", kind.encode("latin-1"))]
    for path in FORMS:
        assert browsers[0].post(path.format(item="x"), content=body, headers=headers).status_code < 500


@FUZZ
@given(data=st.data())
def test_no_address_breaks_the_page(browsers: list[Browser], data: st.DataObject) -> None:
    who = data.draw(st.sampled_from(browsers))
    part = data.draw(st.one_of(st.binary(min_size=1, max_size=20), values(who.annotation).map(_bytes)))
    path = data.draw(st.sampled_from(PAGES)).format(item=quote_from_bytes(part), token=quote_from_bytes(part))
    pairs = data.draw(st.lists(st.tuples(field_names(), values(who.annotation)), max_size=3))
    assert who.get(f"{path}?{encoded(pairs).decode()}").status_code < 500


def _bytes(text: str) -> bytes:
    return text[:100].encode("utf-8", "surrogatepass")


def typed_again(html: str) -> dict[str, str]:
    """Return what a page would send once more."""
    main = html.partition("<main")[2]
    return {unescape(n): unescape(v) for n, v in re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', main)}


def test_what_a_locked_database_cannot_take_stays_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.2)
    with begin(tmp_path / "project", instrument="help_or_harm/crisis_type") as annotation:
        ana = browser(annotation).come_in(annotation, "ana")
        at = tasks.current(annotation, annotation.named("ana"))
        assert isinstance(at, tasks.Assignment)
        (criterion,) = at.rubric.criteria
        fields = {
            "item": at.item.id, "phase": at.phase.value, "turn": str(at.turn), "form": "form-0001",
            f"answer:{criterion.name}": str(criterion.values[0]), "note": 'she says "I <cannot> go on" &\n我不确定',
        }  # fmt: skip
        other = sqlite3.connect(tmp_path / "project" / "annotation.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        refused = ana.hand_in("/item/submit", **fields)
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        assert "what you typed is kept in this page" in refused.text
        again = typed_again(refused.text)
        assert {name: text.replace("\r\n", "\n") for name, text in again.items()} == {"csrf": ana.csrf, **fields}
        script = ana.post("/draft", json=fields, headers={"x-csrf": ana.csrf})
        assert script.status_code == 503
        assert "error" in script.json()
        other.execute("ROLLBACK")
        other.close()
        assert not annotation.labels()
        for _ in range(2):  # sent twice, it counts once
            assert ana.post("/item/submit", data=again).status_code == 303
        (label,) = annotation.labels()
        assert label.note == fields["note"]


def test_a_database_that_is_gone_is_said_in_one_sentence(tmp_path: Path) -> None:
    with begin(tmp_path / "project") as annotation:
        ana = browser(annotation).come_in(annotation, "ana")
        annotation.database.close()
        shutil.move(tmp_path / "project", tmp_path / "elsewhere")
        for path in ("/item", "/nowhere", "/join/x"):
            assert ana.get(path).status_code == (404 if path == "/nowhere" else 503)
        shutil.move(tmp_path / "elsewhere", tmp_path / "project")
        assert ana.get("/item").status_code == 200


def test_what_no_database_takes_is_replaced() -> None:
    posted = {"a\0": ["\ud800b", {"c": "\0"}, 1, None, True]}
    assert clean(posted) == {"a\ufffd": ["\ufffdb", {"c": "\ufffd"}, 1, None, True]}
