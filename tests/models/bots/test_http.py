"""A stateful bot behind HTTP with JSON of its own, from `mindgauge.toml` to what judges read."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl
import pytest
from aiohttp import web

import mindgauge
from mindgauge.models import config_file
from mindgauge.models.batch import service
from mindgauge.models.bots.bot import last_of, opened
from mindgauge.models.bots.template import Filling, at, place
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Message, RaterKind, Status
from mindgauge.records.errors import EndpointError, UsageError
from mindgauge.records.request import FREE
from mindgauge.store import Store, manifest
from tests import in_process
from tests.conftest import obliging
from tests.models.bots.careline import GREETING, GUARDED, Careline
from tests.stub import Loopback, Stub, words
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.records import Reply

OPEN, CLOSED = "help_or_harm/response", "help_or_harm/crisis_type"
SECRET = "sk-careline-0123456789"


def replies(run: Path, benchmark: str = OPEN) -> list[Reply]:
    with Store(run) as store:
        return list(store.replies(benchmark))


def test_a_stateful_bot_is_told_each_dialogue_in_a_conversation_of_its_own(folder: Path, write: Any) -> None:
    with Careline() as bot, Stub(obliging) as judge:
        write("mindgauge.toml", bot.toml())
        scores = mindgauge.run(OPEN, model="careline", judge=judge.judge, runs=2, out=folder / "run")
        assert type(scores).__name__ == "Scores"
        with Store(folder / "run") as store:
            samples = {sample.id: sample for sample in store.samples(OPEN)}
            held = list(store.replies(OPEN))
        assert len(held) == 2 * len(samples) == len(bot.sessions)
        said = Counter(tuple(turns) for turns in bot.sessions.values())
        turns = [tuple(m.content for m in sample.messages if m.role == "user") for sample in samples.values()]
        assert said == Counter(dict.fromkeys(turns, 2)), "each repeat is a conversation of its own"
        for reply in held:
            own = [message for message in samples[reply.sample].messages if message.role == "user"]
            before = reply.answered(samples[reply.sample]).messages
            assert before[0] == Message("assistant", GREETING), "the bot spoke first"
            assert [m.content for m in before if m.role == "user"] == [m.content for m in own]
            recorded = {m.content for m in samples[reply.sample].messages if m.role == "assistant"}
            assert recorded.isdisjoint(m.content for m in before), "its own answers stand where recorded ones stood"
            assert f"{len(own)} times so far" in reply.text or reply.text == GUARDED
        assert any(len(reply.provenance["held"]) > 3 for reply in held)
        shown = [words(body) for body in judge.bodies]
        assert all(GREETING in text for text in shown), "judges read the dialogue that was held"
        assert any("1 times so far" in text and "2 times so far" in text for text in shown)
        page = mindgauge.report(folder / "run", out=folder / "report.html")
        drawn = (folder / "report.html").read_text(encoding="utf-8")
        assert GREETING in drawn, page
        assert f"{len(held)} replies in a dialogue that a bot held itself" in drawn
        published = mindgauge.export(folder / "run", to="hub", licence="CC-BY-4.0", out=folder / "hub")
        assert any(f"{len(held)} replies answer a dialogue as it was held" in note for note in published.notes)
        mindgauge.export(folder / "run", to="csv", out=folder / "csv")
        messages = pl.read_csv(folder / "csv" / "replies.csv", infer_schema=False)["messages"]
        assert all(GREETING in cell for cell in messages)
        kept = manifest.read(folder / "run")["models"]["careline"]
        assert kept["kind"] == "http"
        assert kept["start"]["conversation"] == "session.id"
        assert all("temperature" not in reply.provenance["parameters"] for reply in held)
        assert all("seed" in reply.provenance["unsupported"] for reply in held)


def test_conversations_side_by_side_never_mix(folder: Path, write: Any) -> None:
    with Careline(pause=0.005) as bot:
        write("mindgauge.toml", bot.toml("concurrency = 16"))
        mindgauge.run(OPEN, model="careline", out=folder / "run")
        with Store(folder / "run") as store:
            for reply in store.replies(OPEN):
                last = store.sample(OPEN, reply.sample).messages[-1].content
                assert reply.text == GUARDED or reply.text.endswith(last[:40])


def test_a_bot_that_mixes_conversations_up_is_found_out_by_its_echo(folder: Path, write: Any) -> None:
    def mixed(answer: dict[str, Any], session: str, text: str) -> Any:
        answer["data"]["session"] = "s1"
        return answer

    with Careline(mixed) as bot:
        write("mindgauge.toml", bot.toml())
        mindgauge.run(OPEN, model="careline", limit=6, out=folder / "run")
        held = replies(folder / "run")
    failed = [reply for reply in held if reply.status is Status.FAILED]
    assert len(failed) == 5
    assert all("mixes conversations up" in reply.provenance["error"] for reply in failed)


def answered(body: Any, **more: Any) -> Callable[..., Any]:
    return lambda answer, session, text: web.Response(text=body if isinstance(body, str) else json.dumps(body), **more)


FAULTS: dict[str, tuple[Callable[..., Any], str]] = {
    "HTML": (answered("<html><h1>Welcome</h1></html>", content_type="text/html"), r"HTML instead of JSON: <html>"),
    "half JSON": (answered('{"data": {"ses'), r"half or unexpected JSON instead of JSON: \{"),
    "nothing": (answered(""), r"an empty body instead of JSON"),
    "elsewhere": (lambda a, session, t: web.json_response({"data": {"session": session, "text": "Hi"}}), r"^the answer has nothing at data\.reply\.text, where `reply` in mindgauge\.toml says to look: \{.*Hi"),
    "no text": (lambda a, session, t: web.json_response({"data": {"session": session, "reply": {"text": ["Hi"]}}}), r"^at data\.reply\.text, where `reply` .* the answer has a list rather than a text"),
    "null": (lambda a, session, t: web.json_response({"data": {"session": session, "reply": {"text": None}}}), "the answer has null rather than a text"),
    "code": (answered({"error": {"message": "boom"}}, status=500), "500: boom"),
    "redirect": (lambda *_: web.Response(status=302, headers={"Location": "http://127.0.0.1:9/"}), "302: it sends us elsewhere"),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(FAULTS, 3))
def test_whatever_a_bot_answers_is_a_reply_that_failed_and_never_the_end(folder: Path, write: Any, name: str) -> None:
    fault, reason = FAULTS[name]
    with Careline(fault, greets=False) as bot:
        write("mindgauge.toml", bot.toml())
        mindgauge.run(CLOSED, model="careline", out=folder / "closed")
        assert len(bot.sessions) > 60, "more than fifty in a row are no reason to stop"
        mindgauge.run(OPEN, model="careline", limit=3, out=folder / "run")
        held = replies(folder / "run")
        assert [reply.status for reply in held] == [Status.FAILED] * 3
        assert all(re.search(reason, reply.provenance["error"]) for reply in held), held[0].provenance["error"]
        assert all(len(reply.provenance["error"]) < 320 for reply in held)
        bot.fault = None
        mindgauge.run(OPEN, model="careline", limit=3, out=folder / "run")
        assert [reply.status for reply in replies(folder / "run")] == [Status.OK] * 3, "asked again by the same command"
    with Store(folder / "closed") as store:
        asked = [rating for rating in store.ratings(CLOSED) if rating.rater_kind is RaterKind.MODEL]
    assert {rating.status for rating in asked} == {Status.FAILED}


def test_an_empty_reply_is_no_reply_and_a_filter_s_refusal_is_one(folder: Path, write: Any) -> None:
    faults = iter([
        web.json_response({"error": {"code": "content_filter", "message": "blocked by content policy"}}, status=400),
        {"data": {"session": "s2", "reply": {"text": "  "}}},
    ])  # fmt: skip
    with Careline(lambda *_: next(faults), greets=False) as bot:
        write("mindgauge.toml", bot.toml("concurrency = 1"))
        mindgauge.run("psycrisis", model="careline", limit=2, out=folder / "run")
        statuses = [reply.status for reply in replies(folder / "run", "psycrisis")]
    assert sorted(statuses) == [Status.FILTERED, Status.UNPARSABLE]


def test_what_takes_too_long_is_a_reply_that_failed(folder: Path, write: Any) -> None:
    with Careline(pause=5) as bot:
        write("mindgauge.toml", bot.toml("timeout = 0.2"))
        mindgauge.run(OPEN, model="careline", limit=4, out=folder / "run")
        assert len(bot.sessions) == 4, "a time-out is not tried again"
    said = "no answer within 0.2 s (timeout, in mindgauge.toml); not sent again, since it may be charged. The same command asks again"
    assert {reply.provenance["error"] for reply in replies(folder / "run")} == {said}


def test_a_busy_bot_is_asked_again_in_a_new_conversation(folder: Path, write: Any) -> None:
    seen: set[str] = set()

    def busy(answer: dict[str, Any], session: str, text: str) -> Any:
        if text not in seen:
            seen.add(text)
            return web.json_response({}, status=503, headers={"Retry-After": "0"})
        return answer

    with Careline(busy) as bot:
        write("mindgauge.toml", bot.toml())
        mindgauge.run(OPEN, model="careline", limit=3, out=folder / "run")
        assert {reply.status for reply in replies(folder / "run")} == {Status.OK}
        assert all(len(turns) == len(set(turns)) for turns in bot.sessions.values()), "no turn is said twice in one"


def test_where_nothing_listens_the_command_ends_with_one_line(folder: Path, write: Any) -> None:
    write("mindgauge.toml", '[models.gone]\nkind = "http"\nurl = "http://127.0.0.1:9/chat"\nbody = { q = "{message}" }\nreply = "a"\n')  # fmt: skip
    with pytest.raises(EndpointError, match=r"gone: http://127\.0\.0\.1:9/chat did not answer after 1 tries"):
        mindgauge.run(OPEN, model="gone", limit=2, settings=Settings(tries=1))


def test_secrets_go_along_and_stay_hidden(folder: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARE_PASS", SECRET)

    def echoed(answer: dict[str, Any], session: str, text: str) -> Any:
        return web.json_response({"you": f"Bearer {SECRET}"}) if session != "s1" else answer

    with Careline(echoed, greets=False) as bot:
        write("mindgauge.toml", bot.toml('headers = { Authorization = "Bearer ${CARE_PASS}" }'))
        mindgauge.run(OPEN, model="careline", limit=2, out=folder / "run")
        assert any(headers.get("Authorization") == f"Bearer {SECRET}" for headers in bot.headers)
        assert not all("Authorization" in headers for headers in bot.headers), "a start has headers of its own"
    errors = [reply.provenance.get("error", "") for reply in replies(folder / "run")]
    assert any("[hidden]" in error for error in errors)
    everything = b"".join(path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file())
    assert SECRET.encode() not in everything
    assert manifest.read(folder / "run")["keys"] == {"CARE_PASS": "localhost"}


def test_a_key_goes_to_one_host_and_local_means_local(
    folder: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARE_KEY", SECRET)
    calls = '{0}url = "https://{1}.example.org/x/{2}"\nheaders = {{ api-key = "${{CARE_KEY}}" }}\n'
    write(
        "mindgauge.toml",
        '[models.a]\nkind = "http"\nreply = "text"\nbody = { q = "{message}" }\n' + calls.format("", "one", "{conversation}")
        + "[models.a.start]\n" + calls.format("", "two", "") + 'conversation = "id"\n',
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"the key in CARE_KEY would go to two hosts, one.example.org and two"):
        mindgauge.run(OPEN, model="a", limit=1)
    with pytest.raises(UsageError, match=r"--local-only: a would send text to one\.example\.org"):
        mindgauge.run(OPEN, model="a", limit=1, settings=Settings(local_only=True))
    with pytest.raises(UsageError, match="engine ray: a is a bot of your own"):
        mindgauge.run(OPEN, model="a", limit=1, settings=Settings(engine="ray"))
    with pytest.raises(UsageError, match="--batch: no batch service is known for a;"):
        mindgauge.run(OPEN, model="a", limit=1, settings=Settings(batch=True))


def test_a_bot_that_is_told_the_messages_is_told_the_dialogue_on_file(folder: Path, write: Any) -> None:
    asked: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(json.loads(await request.read()))
        return web.json_response([{"text": "no"}, {"text": "I hear you."}])

    class Chat(Careline):
        def route(self, router: web.UrlDispatcher) -> None:
            router.add_put("/chat", answer)

    with Chat() as bot:
        write(
            "mindgauge.toml",
            f'[models.chat]\nkind = "http"\nmethod = "PUT"\nurl = "{bot.base}/chat"\nreply = "[-1].text"\n'
            'body = { history = "{messages}", note = "said: {message}", n = 3 }\n',
        )
        mindgauge.run(OPEN, model="chat", out=folder / "run")
    with Store(folder / "run") as store:
        dialogues = [
            [{"role": m.role, "content": m.content} for m in sample.messages] for sample in store.samples(OPEN)
        ]
        assert all("held" not in reply.provenance for reply in store.replies(OPEN))
    histories = [body["history"] for body in asked]
    assert sorted(histories, key=str) == sorted(dialogues, key=str)
    assert all(body["note"] == f"said: {body['history'][-1]['content']}" and body["n"] == 3 for body in asked)


def test_another_template_is_another_run_and_the_same_one_asks_nothing_twice(folder: Path, write: Any) -> None:
    with Careline() as bot:
        write("mindgauge.toml", bot.toml())
        first = mindgauge.run(OPEN, model="careline", limit=2).run
        assert mindgauge.run(OPEN, model="careline", limit=2).run == first
        assert len(bot.sessions) == 2
        write("mindgauge.toml", bot.toml().replace('"person"', '"client"'))
        assert mindgauge.run(OPEN, model="careline", limit=2).run != first
        assert len(bot.sessions) == 4


def test_no_text_keeps_nothing_that_was_said(folder: Path, write: Any) -> None:
    with Careline() as bot, Stub(obliging) as judge:
        write("mindgauge.toml", bot.toml())
        mindgauge.run(OPEN, model="careline", judge=judge.judge, limit=6, text=False, out=folder / "run")
        assert any(GREETING in words(body) for body in judge.bodies)
    everything = b"".join(path.read_bytes() for path in (folder / "run").rglob("*") if path.is_file())
    assert b"times so far" not in everything
    assert GREETING.encode() not in everything


def test_the_system_message_of_a_benchmark_stands_before_the_person_s_words() -> None:
    messages = (Message("system", "Task."), Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    assert opened(messages) == (Message("user", "Task.\n\na"), *messages[2:])
    assert last_of((*messages, Message("user", "d"))) == "c\n\nd"


def test_words_that_look_like_a_placeholder_stay_words() -> None:
    filling = Filling('{conversation} {messages} "', [{"role": "user", "content": "x"}], "c/1")
    body = {"a": "<{message}> {conversation}", "b": ["{messages}"], "c": "{{message}}", "d": 1}
    assert filling.body(body) == {
        "a": '<{conversation} {messages} "> c/1', "b": [filling.messages], "c": "{message}", "d": 1,
    }  # fmt: skip
    assert (
        filling.url("http://h/{conversation}?q={message}")
        == "http://h/c%2F1?q=%7Bconversation%7D%20%7Bmessages%7D%20%22"
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("data.reply.text", {"data": {"reply": {"text": 7}}}),
        ("choices[0].message.content", {"choices": [{"message": {"content": 7}}]}),
        ("[1]", [0, 7]),
        ("[-1].a", [0, {"a": 7}]),
        ('["a.b"].c d', {"a.b": {"c d": 7}}),
        ("a[0][1]", {"a": [[0, 7]]}),
    ],
)
def test_places_lead_to_what_stands_there(text: str, answer: Any) -> None:
    assert at(answer, place(text)) == 7
    others: list[Any] = [{}, [], "text", None, 3]
    for other in others:
        with pytest.raises(LookupError):
            at(other, place(text))


@pytest.mark.parametrize("text", ["", ".a", "a..b", "a[", "a[x]", "a]", "a.[0]."])
def test_what_is_no_place_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="is no place"):
        place(text)


BOT = '[models.a]\nkind = "http"\nurl = "http://h/c"\nreply = "t"\nbody = { q = "{message}" }\n'
CONFIGURED = {
    BOT.replace("{message}", "{mesage}"): ["unknown placeholder {mesage}; did you mean `{message}`?", "has neither {message} nor {messages}"],
    BOT.replace("url =", "uri ="): ["has an unknown key `uri`; did you mean `url`?", "lacks `url`"],
    BOT.replace('"t"', '"a..b"') + 'method = "SEND"\nconcurrency = 0\n': ["'a..b' is no place", "method is POST, PUT, PATCH, GET, not 'SEND'", "concurrency is at least 1"],
    BOT + 'headers = { Authorization = "Bearer abc" }\n': ["header Authorization holds a secret"],
    BOT.replace("q =", 'api_key = "sk-0123456789", q ='): ["api_key in the body holds a secret"],
    BOT.replace("http://h/c", "http://h/c?api_key=x"): ["its parameter api_key holds a secret"],
    BOT.replace("http://h/c", "http://{message}.h/c"): ["the host of a bot is always the same one"],
    BOT.replace("http://h/c", "ftp://h"): ["url is an address"],
    BOT + 'echo = "id"\n': ["echo needs {conversation} in the url or the body"],
    BOT + '[models.a.start]\nurl = "http://h"\nconversaton = "id"\n': ["start has an unknown key `conversaton`; did you mean `conversation`?", "start lacks `conversation`"],
    BOT + '[models.a.start]\nurl = "http://h/{message}"\nconversation = "i["\n': ["start needs {conversation}", "start: conversation: 'i[' is no place", "start: {message} is not known yet"],
    BOT.replace("{message}", "{messages}") + "turns = true\n": ["turns is for a bot that keeps the conversation itself"],
    BOT + 'method = "GET"\n': ["a GET carries no body"],
}  # fmt: skip


@pytest.mark.parametrize("text", CONFIGURED, ids=[words[0][:50] for words in CONFIGURED.values()])
def test_what_cannot_be_so_is_named_at_once(folder: Path, write: Any, text: str) -> None:
    write("mindgauge.toml", text)
    result = in_process.mindgauge("run", CLOSED, "--model", "a", "--limit", "1")
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)
    with pytest.raises(UsageError) as error:
        config_file.find("a")
    for sentence in CONFIGURED[text]:
        assert sentence in str(error.value)


def test_a_label_and_headers_of_the_command_line_hold_for_bots(folder: Path, write: Any) -> None:
    with Careline() as bot:
        write("mindgauge.toml", bot.toml())
        result = in_process.mindgauge("run", OPEN, "--model", "careline", "--limit", 1, "--label", "b8", "--header", "X-Team: x", "--out", "run")  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert any(headers.get("X-Team") == "x" for headers in bot.headers)
        assert {reply.model for reply in replies(folder / "run")} == {"careline@b8"}
        result = in_process.mindgauge("run", OPEN, "--model", "careline", "--limit", 1, "--system", "mindgauge.toml")
        assert result.returncode == 2
        assert "careline takes no --system" in result.stderr


def test_a_bot_is_free_unless_a_price_is_given(folder: Path, write: Any) -> None:
    with Careline() as bot:
        write("mindgauge.toml", bot.toml() + bot.toml('price = "1:2"', "dear"))
        assert open_model("careline", Settings()).price == FREE
        model: Any = open_model("dear", Settings())
        assert model.price.completion == pytest.approx(2e-6)


class _Named(Loopback):
    """A bot that gives each conversation the same odd id, and keeps the paths on which it is asked."""

    def __init__(self, ident: str) -> None:
        super().__init__()
        self.ident, self.paths = ident, set[str]()

    def route(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", r"/{all:[\s\S]*}", self._answer)

    async def _answer(self, request: web.Request) -> web.Response:
        if request.raw_path != "/start":
            self.paths.add(request.raw_path)
        return web.Response(text=f'{{"id": {self.ident}, "text": "I am here."}}', content_type="application/json")


LEADING_OUT = ['"."', '".."', '""', '"\\ud800"', json.dumps("a" * 5_000), "true", "[1]"]
ESCAPED = ["a/../b", "../../x", "%2e%2e", "a?x=1", "#", "a\\..\\b", "a\r\nHost: x", "\x1b[31m\x00", "//h/x", "...", "你好", "a;b=c", "@h", " "]  # fmt: skip


@pytest.mark.parametrize("ident", [*LEADING_OUT, *map(json.dumps, ESCAPED)])
def test_a_conversation_s_id_never_leaves_its_path(folder: Path, write: Any, ident: str) -> None:
    with _Named(ident) as bot:
        base = f"http://127.0.0.1:{bot.port}"
        write(
            "mindgauge.toml",
            f'[models.a]\nkind = "http"\nreply = "text"\nurl = "{base}/in/{{conversation}}/say"\nbody = {{ q = "{{message}}" }}\n'
            f'[models.a.start]\nurl = "{base}/start"\nconversation = "id"\n',
        )
        mindgauge.run(OPEN, model="a", limit=1, out=folder / "run")
        (reply,) = replies(folder / "run")
    if ident in LEADING_OUT:
        assert reply.status is Status.FAILED
        assert not bot.paths
    else:
        assert reply.status is Status.OK, reply.provenance["error"]
        assert [[unquote(part) for part in path.split("/")] for path in bot.paths] == [
            ["", "in", json.loads(ident), "say"]
        ]


@pytest.mark.parametrize(
    ("template", "ident"), [("/a{conversation}", "../x"), ("/.{conversation}", "."), ("/%2e{conversation}", "."), ("/{conversation}{message}", ".")]
)  # fmt: skip
def test_nothing_that_is_put_into_an_address_turns_its_path(template: str, ident: str) -> None:
    filling = Filling(".", [], ident)
    if ident != "../x":
        with pytest.raises(ValueError, match="leads out of the path"):
            filling.url(f"http://h{template}")
    else:
        assert filling.url(f"http://h{template}?q={{message}}") == "http://h/a..%2Fx?q=."


def test_the_id_of_a_batch_or_a_file_never_leaves_its_path() -> None:
    assert [ident for ident in (".", "..", "...", "", "a\nb", "a" * 513, "é", None, 7) if service.told_id(ident)] == []
    assert [service.told_id(ident) for ident in ("batch_1", "a/../b", ".a", "a.")] == ["batch_1", "a/../b", ".a", "a."]
