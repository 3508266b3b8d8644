"""A key that a server repeats, however it writes it, stands in no file and no output."""

from __future__ import annotations

import json
import random
import sqlite3
import string
import time
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.models import completion
from mindgauge.models.settings import Settings
from mindgauge.records.redaction import HIDDEN, in_use, redacted, without
from mindgauge.records.redaction.echoes import _GAP, _without_gaps
from tests.attacks.echoes import FORMS, KEY
from tests.batch_stub import BatchStub
from tests.conftest import obliging
from tests.stub import Stub
from tests.thinned import later, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RESPONSE = "help_or_harm/response"
keys = st.text(string.ascii_letters + string.digits + "-_+/=.~", min_size=8, max_size=60)


@pytest.mark.parametrize("form", FORMS)
def test_every_written_form_of_a_key_is_hidden(form: str) -> None:
    text = f"You sent «{FORMS[form](KEY)}», which is wrong."
    told = without(text, KEY)
    assert told == without(told, KEY), "nothing is left to hide"
    assert told.startswith("You sent «")
    assert told.endswith("», which is wrong.")
    assert told[10:-18].strip('"\\ ') == HIDDEN


@given(keys, st.sampled_from(sorted(FORMS)), st.sampled_from(sorted(FORMS)), st.text(max_size=30), st.integers(0, 9))
def test_keys_of_any_kind_in_any_two_forms(key: str, form: str, other: str, around: str, blanks: int) -> None:
    text = around + FORMS[form](key) + " " * blanks + around + "|" + FORMS[other](key) + around
    told = without(text, key)
    assert HIDDEN in told
    assert key not in told
    assert FORMS[form](key) not in told
    assert FORMS[other](key) not in told


@given(st.text(st.sampled_from('ab \n\\u0061%41&#97;"'), max_size=60))
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert without(text, KEY) == text


@given(st.text(st.sampled_from("ab \t\n\\\u200b\xa0"), max_size=40))
def test_gaps_are_the_same_by_either_way(text: str) -> None:
    assert _without_gaps(text) == _GAP.sub("", text)


@pytest.mark.parametrize(
    "piece", sampled(["\\", "%25", "&amp;", " ", "\n", "\\u", " \n", "%", "\u200b", "sk-canary-", "=", "\\\\u0073"], 3)
)
def test_looking_for_keys_is_linear(piece: str) -> None:
    def seconds(count: int) -> float:
        text, began = piece * count, time.process_time()
        without(text, KEY)
        return time.process_time() - began

    seconds(1000)
    short, long = (min(seconds(count) for _ in range(3)) for count in (20_000, 80_000))
    assert long < 4 * 4 * short + 0.02


def test_a_key_that_is_cut_is_not_half_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    in_use.keep(KEY)
    for before in range(150, 320):
        body = {"error": {"message": "x" * before + KEY}}
        assert KEY[:6] not in completion.fault(json.dumps(body).encode())
        assert KEY[:6] not in completion.fault(b"x" * before + KEY.encode())
        assert KEY[:6] not in completion.name("x" * before + KEY)


def test_the_key_of_one_host_is_known_as_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY_BOT_EXAMPLE_ORG", "a-key-of-one-host-alone")
    assert redacted("said a-key-of-one-host-alone") == f"said {HIDDEN}"


class Echoes:
    """Answers with the key, in every form and at every place of an answer, and well in between."""

    def __init__(self) -> None:
        self.forms = list(FORMS.values())

    def __call__(self, body: dict[str, Any], count: int) -> web.Response:
        form = self.forms[count % len(self.forms)](KEY)
        told = f"Incorrect key: {form}"
        good = json.loads(_content(obliging(body, count)))
        match count % 5:
            case 0:
                return web.json_response({"error": {"message": told, "code": form, "type": form}}, status=400)
            case 1:
                good["model"] = good["system_fingerprint"] = told
            case 2:
                message = good["choices"][0]["message"]
                if message["content"].startswith("{"):
                    message["content"] = json.dumps(
                        {**json.loads(message["content"]), "rationale": told, "quotes": [told]}
                    )
                else:
                    message["content"] = told
            case 3:
                good["choices"][0]["message"]["content"] = f"{form} is what you sent, and no verdict"
        return web.json_response(good)


def _content(answer: web.StreamResponse) -> bytes:
    assert isinstance(answer, web.Response)
    assert isinstance(answer.body, bytes)
    return answer.body


def escaped(handler: Echoes) -> Any:
    """Let every character of an answer travel as an escape of JSON, where nobody looks for a key."""

    def answer(body: dict[str, Any], count: int) -> web.Response:
        response = handler(body, count)
        told = _content(response).decode().replace("sk-", "\\u0073\\u006b\\u002d")
        return web.Response(text=told, status=response.status, content_type="application/json")

    return answer


def leaks(folder: Path) -> Iterator[str]:
    """Yield where a key stands in files or cells, in any of the forms."""
    keys = {name: form(KEY) for name, form in FORMS.items()}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        for part in (path.read_bytes(), *(_cells(path) if path.suffix == ".sqlite" else [])):
            text = part.decode(errors="replace")
            yield from (f"{path.name}: {name}" for name, key in keys.items() if key in text)
            if len(text) < 10_000 and without(text, KEY) != text:
                yield f"{path.name}: {text[:300]}"


def _cells(path: Path) -> Iterator[bytes]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for cell in row:
                    if isinstance(cell, str | bytes):
                        content = cell.encode() if isinstance(cell, str) else cell
                        yield content
                        for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
                            try:
                                yield zlib.decompressobj(wbits).decompress(content)
                            except zlib.error:
                                continue


def everything(run: Path) -> None:
    """Write whatever can be written of a run."""
    mindgauge.report(run, out=run.parent / "report.html")
    mindgauge.export(run, to="csv", out=run.parent / "csv")
    mindgauge.export(run, to="hub", out=run.parent / "hub", licence="cc-by-4.0")


def test_no_file_of_a_run_holds_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", KEY)
    with Stub(escaped(Echoes())) as stub:
        settings = Settings(tries=1, concurrency=1)
        mindgauge.run(RESPONSE, model=stub.model, judge=stub.model, own_family=True, limit=2 * len(FORMS), settings=settings, out=tmp_path / "r")  # fmt: skip
    everything(tmp_path / "r")
    assert not [*leaks(tmp_path)]
    assert KEY not in "".join(capfd.readouterr())
    assert any(HIDDEN.encode() in cell for cell in _cells(tmp_path / "r" / "run.sqlite")), "keys were repeated"


@pytest.mark.parametrize("protocol", ["openai", later("anthropic")])
def test_no_file_of_a_run_in_batches_holds_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("MINDGAUGE_API_KEY", KEY)
    monkeypatch.setenv("MINDGAUGE_BATCH_PAUSE", "0.04")
    with BatchStub(Echoes(), protocol) as stub:
        settings = Settings(batch=True, tries=1, timeout=5.0)
        mindgauge.run(RESPONSE, model=stub.model, judge=stub.model, own_family=True, limit=2 * len(FORMS), settings=settings, out=tmp_path / "r")  # fmt: skip
    everything(tmp_path / "r")
    assert not [*leaks(tmp_path)]
    assert any(HIDDEN.encode() in cell for cell in _cells(tmp_path / "r" / "run.sqlite")), "keys were repeated"


@pytest.mark.long
def test_ten_thousand_keys_in_every_form() -> None:
    draw = random.Random(7)
    for _ in range(300):
        key = "".join(draw.choices(string.ascii_letters + string.digits + "-._~+/=:!$*", k=draw.randint(8, 80)))
        for name, form in FORMS.items():
            told = without(f"before {form(key)} after", key)
            assert HIDDEN in told, (name, key)
            assert key not in told
