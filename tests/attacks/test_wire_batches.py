"""A batch service that sends nonsense at any step: calls end as statuses or in one line, and nothing is paid without end."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mindgauge.models.settings import Settings
from mindgauge.records import Exchange, Message, Status
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.request import Price, Request
from mindgauge.runs.plan import open_carried
from mindgauge.store import Store
from mindgauge.store.batches import Batches
from tests.attacks.wire import Wire, serving
from tests.stub import completion

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUESTIONS = [Request((Message("user", f"I have not slept for {days} days."),)) for days in range(1, 15)]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
OK, FAILED = Status.OK, Status.FAILED
LOST, SOME, ANY = (
    frozenset({FAILED}),
    frozenset({OK, FAILED}),
    frozenset({OK, FAILED, Status.UNPARSABLE, Status.REFUSED}),
)
WHERE = (
    (r"POST /v1/files ", "upload"),
    (r"GET /v1/files/[^/]+/content", "results"),
    (r"POST /v1/(messages/)?batches ", "create"),
    (r"GET /v1/(messages/)?batches\?", "list"),
    (r"GET /v1/messages/batches/[^/]+/results", "results"),
    (r"GET /v1/(messages/)?batches/", "look"),
)


class Service:
    """Speaks a protocol of batches well, but for the steps named in `ill`, each a function of what it would say."""

    def __init__(self, protocol: str, **ill: Callable[[Service, Wire, Any], Any]) -> None:
        self.protocol = protocol
        self.ill = ill
        self.ids: list[str] = []
        self.created = 0
        self.asked: list[str] = []

    async def serve(self, wire: Wire) -> None:
        while True:
            head = (await wire.question()).decode()
            step = next((name for pattern, name in WHERE if re.match(pattern, head)), "")
            named = "messages" in head.split("\r\n", maxsplit=1)[0]
            if not step or (self.protocol == "anthropic") != named:
                await wire.answer(b"{}", status="404 Not Found")
                continue
            self.asked.append(step)
            answer = self._well(step, wire.bodies[-1])
            if step in self.ill:
                answer = self.ill[step](self, wire, answer)
                if asyncio.iscoroutine(answer):
                    await answer
                    return
            await wire.answer(answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def _well(self, step: str, body: bytes) -> Any:
        if step == "upload" or (step == "create" and self.protocol == "anthropic"):
            self.ids = list(dict.fromkeys(re.findall(r'"custom_id":\s*"([0-9a-f]+)"', body.decode())))
        self.created += step == "create"
        done = {"processing": 0, "succeeded": len(self.ids), "completed": len(self.ids)}
        ended = {"status": "completed", "processing_status": "ended", "request_counts": done, "output_file_id": "out"}
        return {
            "upload": {"id": "file"},
            "create": {"id": f"batch{self.created}"},
            "list": {"data": [], "has_more": False},
            "look": ended,
            "results": b"".join(map(self.line, self.ids)),
        }[step]

    def line(self, ident: str, **more: Any) -> bytes:
        """Write a good line of results."""
        body = completion("That is a lot to carry.")
        message = {
            "content": [{"type": "text", "text": "That is a lot to carry."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        response, result = {"status_code": 200, "body": body}, {"type": "succeeded", "message": message}
        return json.dumps({"custom_id": ident, "response": response, "result": result, **more}).encode() + b"\n"


def instead(value: Any) -> Callable[[Service, Wire, Any], Any]:
    return lambda *_: value


def beside(**more: Any) -> Callable[[Service, Wire, Any], Any]:
    return lambda _, __, answer: {**answer, **more}


def lines(write: Callable[[Service, str], bytes]) -> Callable[[Service, Wire, Any], Any]:
    return lambda service, *_: b"".join(write(service, ident) for ident in service.ids)


def raw(content: Callable[[bytes], bytes]) -> Callable[[Service, Wire, Any], Any]:
    return lambda _, wire, answer: wire.write(
        content(answer if isinstance(answer, bytes) else json.dumps(answer).encode())
    )


def status(said: str, *headers: str) -> Callable[[Service, Wire, Any], Any]:
    return lambda _, wire, __: wire.answer(b"{}", *headers, status=said)


def endless(part: bytes, pause: float = 0.0, head: bytes = HEAD + b"\r\n") -> Callable[[Service, Wire, Any], Any]:
    async def pour(wire: Wire, answer: Any) -> None:
        await wire.write(head + (answer if isinstance(answer, bytes) else b""))
        while True:
            await wire.write(part)
            await asyncio.sleep(pause)

    return lambda _, wire, answer: pour(wire, answer)


DEEP = "[" * 100_000 + "]" * 100_000
BOMB = gzip.compress(b"[" + b" " * 20_000_000, 1)
STRANGE: tuple[Any, ...] = (
    None,
    5,
    True,
    -1,
    1e300,
    "",
    "\ud800",
    "x" * 100_000,
    "..",
    [],
    [[]],
    {},
    {"a": []},
    float("nan"),
)


class Kind(NamedTuple):
    """What is wrong, what may become of calls, or whether the command waits on and ends in one line; who says so."""

    ill: dict[str, Any]
    statuses: frozenset[Status] = frozenset({OK})
    line: bool = False
    timeout: float = 20.0
    protocols: tuple[str, ...] = ("openai", "anthropic")


def _kinds() -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    values: tuple[Any, ...] = (None, 5, "\ud800", "x" * 100_000, "..", [], {"a": []})
    for value in values:
        named = f"{value!a}"[:24]
        counts = dict.fromkeys(("completed", "succeeded", "failed"), value)
        nowhere = {"output_file_id": value, "error_file_id": value, "results_url": value}
        kinds[f"data {named}"] = Kind({"list": beside(data=value)}, line=True)
        kinds[f"ids {named}"] = Kind({"create": beside(id=value)}, line=True)
        kinds[f"file {named}"] = Kind({"upload": beside(id=value)}, line=True, protocols=("openai",))
        kinds[f"state {named}"] = Kind({"look": beside(status=value, processing_status=value)}, line=True)
        kinds[f"counts {named}"] = Kind({"look": beside(request_counts=counts if value else value)})
        kinds[f"places {named}"] = Kind({"look": beside(**nowhere)}, ANY)
        kinds[f"failed {named}"] = Kind(
            {"look": beside(status="failed", errors=value)}, line=True, protocols=("openai",)
        )
    for place in PLACES:
        kinds[f"{place} of all kinds"] = Kind({"results": lines(_placed(place))}, ANY)
    return kinds


def _placed(place: str) -> Callable[[Service, str], bytes]:
    """Put another value at a place of each line."""

    def write(service: Service, ident: str) -> bytes:
        line, value = json.loads(service.line(ident)), STRANGE[service.ids.index(ident) % len(STRANGE)]
        PLACES[place](line, value)
        return json.dumps(line).encode() + b"\n"

    return write


def _put(*paths: str) -> Callable[[dict[str, Any], Any], None]:
    def put(line: dict[str, Any], value: Any) -> None:
        for path in paths:
            *way, last = path.split(".")
            at: Any = line
            for step in way:
                at = at[int(step) if step.isdigit() else step]
            at[last] = value

    return put


def _error(line: dict[str, Any], value: Any) -> None:
    line |= {"response": None, "error": value, "result": {"type": "errored", "error": {"type": value, "error": value}}}


def _code(line: dict[str, Any], value: Any) -> None:
    line["response"] = {"status_code": value, "body": {"error": value}}
    line["result"] = {"type": value}


PLACES: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "response": _put("response", "result"),
    "body": _put("response.body", "result.message"),
    "choices": _put("response.body.choices", "result.message.content"),
    "message": _put("response.body.choices.0.message", "result.message.stop_reason"),
    "content": _put("response.body.choices.0.message.content", "result.message.model"),
    "usage": _put("response.body.usage", "result.message.usage"),
    "tokens": _put("response.body.usage.completion_tokens", "result.message.usage.output_tokens"),
    "code": _code,
    "error": _error,
    "id": _put("custom_id"),
}


def _first(change: Callable[[bytes], bytes]) -> Callable[[Service, str], bytes]:
    """Change the first line alone."""
    return lambda service, ident: change(service.line(ident)) if ident == service.ids[0] else service.line(ident)


NAMED: dict[str, Kind] = {
    "well": Kind({}),
    "lines twice": Kind({"results": lines(lambda s, i: s.line(i) + s.line(i, response=None, result=None))}),
    "others' lines": Kind({"results": lines(lambda s, i: s.line("ab" * 16) + s.line(i) + s.line("no id") + s.line("ü"))}),
    "no lines of ours": Kind({"results": lines(lambda s, i: s.line("ab" * 16))}, LOST, protocols=("openai",)),
    "no lines": Kind({"results": instead(b"")}, LOST),
    "half a line": Kind({"results": lines(lambda s, i: s.line(i)[: None if i == s.ids[0] else 60])}, SOME),
    "deep lines": Kind({"results": lines(lambda s, i: b'{"x": ' + DEEP.encode() + b"}\n" + s.line(i))}),
    "deep errors": Kind({"results": lines(lambda s, i: b'{"custom_id": "%s", "error": %s}\n' % (i.encode(), b"[" * 900 + b"]" * 900))}, LOST),
    "NaN": Kind({"results": lines(lambda s, i: s.line(i)[:-2] + b', "x": [NaN, 1e999, -Infinity]}\n')}),
    "keys twice": Kind({"results": lines(lambda s, i: b'{"custom_id": 5, ' + s.line(i)[1:])}),
    "too many parts": Kind({"results": lines(_first(lambda line: line[:-2] + b', "x": [' + b"[]," * 600_000 + b"[]]}\n"))}, SOME),
    "a long text": Kind({"results": lines(_first(lambda line: line.replace(b"That is", b"a" * (2 << 20))))}, SOME),
    "negative tokens": Kind({"results": lines(lambda s, i: re.sub(rb'(_tokens": )\d+', rb"\1-7", s.line(i)))}),
    "huge tokens": Kind({"results": lines(lambda s, i: re.sub(rb'(_tokens": )\d+', rb"\g<1>99999999999999", s.line(i)))}),
    "tokens that are none": Kind({"results": lines(lambda s, i: re.sub(rb'(_tokens": )\d+', rb"\1true", s.line(i)))}),
    "gzip": Kind({"results": lambda _, wire, a: wire.answer(gzip.compress(a), "Content-Encoding: gzip")}),
    "a bomb of results": Kind({"results": lambda _, wire, a: wire.answer(BOMB, "Content-Encoding: gzip")}, LOST, protocols=("openai",)),
    "a bomb at a look": Kind({"look": lambda _, wire, a: wire.answer(BOMB, "Content-Encoding: gzip")}, line=True),
    "endless results": Kind({"results": endless(b" " * (1 << 20))}, protocols=("openai",)),
    "endless lines of others": Kind({"results": endless(b'{"custom_id": "%s"}\n' % (b"ab" * 9000) * 50)}, protocols=("openai",)),
    "an endless object": Kind({"look": endless(b" " * (1 << 20))}, line=True),
    "trickled results": Kind({"results": endless(b" ", 0.05)}, timeout=0.4),
    "a trickled object": Kind({"look": endless(b" ", 0.05)}, line=True, timeout=0.4),
    "a trickled head": Kind({"look": endless(b"X: y\r\n", 0.05, HEAD)}, line=True, timeout=0.4),
    "a silent creation": Kind({"create": endless(b"", 9)}, line=True, timeout=0.4),
    "results that always break off": Kind({"results": raw(lambda a: HEAD + b"Content-Length: 99999\r\n\r\n" + a)}),
    "results too short": Kind({"results": raw(lambda a: HEAD + b"Content-Length: 60\r\n\r\n" + a)}, line=True),
    "chunks that break off": Kind({"results": raw(lambda a: HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n9\r\nx" % (len(a), a))}),
    "results elsewhere": Kind({"results": status("302 Found", "Location: http://127.0.0.1:9/")}, line=True),
    "results 206": Kind({"results": status("206 Partial")}, line=True),
    "results 204": Kind({"results": status("204 None")}, line=True),
    "results 304": Kind({"results": status("304 Same")}, line=True),
    "results not allowed": Kind({"results": status("405 Not So")}, line=True),
    "results gone": Kind({"results": status("404 Gone")}, LOST),
    "a look 204": Kind({"look": status("204 None")}, line=True),
    "a look elsewhere": Kind({"look": status("307 There", "Location: /v1/x")}, line=True),
    "a look busy": Kind({"look": status("429 Busy", "Retry-After: -1e999")}, line=True),
    "a creation broken": Kind({"create": status("500 Oh")}, line=True),
    "results at a broken address": Kind({"look": beside(results_url="http://[")}),
    "results at another host": Kind({"look": beside(results_url="http://example.org/x")}),
}  # fmt: skip
KINDS = {**NAMED, **_kinds()}
CASES = [(name, protocol) for name, kind in KINDS.items() for protocol in kind.protocols]
USUAL = {
    case for number, case in enumerate(CASES) if case[0] in NAMED or case[0].endswith("of all kinds") or number % 3 == 0
}
"""All but most of the values that one step's answer may have in one place; those are left to the long form."""
TOGETHER = 40
"""Cases that run at the same time, since many wait: a worker that is given some of them runs no others."""


class Outcome(NamedTuple):
    """What became of the calls, or of the command, and how often batches were begun."""

    done: list[Exchange]
    line: str
    created: int


async def _outcome(name: str, protocol: str, folder: Path) -> Outcome:
    service = Service(protocol, **KINDS[name].ill)
    async with serving(service.serve) as (port, _):
        spec = f"http://127.0.0.1:{port}/v1#m"
        kind = KINDS[name]
        wait = 0.02 if kind.line else None
        settings = Settings(batch=True, timeout=kind.timeout, tries=2, wait=wait, price=Price(1e-6, 2e-6))
        with Store(folder, write=True) as store:
            model: Any = open_carried(spec, settings)
            model.keep(Batches(store), lambda *_: None)
            done, line = [], ""
            try:
                async with model:
                    done = await asyncio.wait_for(asyncio.gather(*map(model.ask, QUESTIONS)), 60)
            except MindgaugeError as error:
                line = str(error)
            return Outcome(done, line, service.created)


@pytest.fixture(scope="module")
def outcome_of(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[tuple[str, str]], Outcome | BaseException]:
    """Return what came of a case, which is run with others of its kind when one of them is first asked for."""
    folder = tmp_path_factory.mktemp("runs")
    results: dict[tuple[str, str], Outcome | BaseException] = {}

    async def run(cases: list[tuple[str, str]]) -> list[Outcome | BaseException]:
        outcomes = (_outcome(*case, folder / str(CASES.index(case))) for case in cases)
        return await asyncio.gather(*outcomes, return_exceptions=True)

    def outcome(case: tuple[str, str]) -> Outcome | BaseException:
        if case not in results:
            alike = [other for other in CASES if (other in USUAL) == (case in USUAL)]
            start = alike.index(case) // TOGETHER * TOGETHER
            cases = alike[start : start + TOGETHER]
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("MINDGAUGE_BATCH_PAUSE", "0.02")
                results.update(zip(cases, asyncio.run(run(cases)), strict=True))
        return results[case]

    return outcome


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=" ".join(case), marks=() if case in USUAL else pytest.mark.long) for case in CASES],
)
def test_what_a_batch_service_sends_is_a_status_or_one_line(
    case: tuple[str, str], outcome_of: Callable[[tuple[str, str]], Outcome | BaseException]
) -> None:
    outcome, kind = outcome_of(case), KINDS[case[0]]
    assert isinstance(outcome, Outcome), outcome
    if outcome.line:
        assert kind.line, outcome
        assert outcome.line.isprintable(), "one line"
        assert outcome.created <= 1 or "create" in kind.ill, "nothing is paid twice while it may be had"
        return
    assert outcome.created <= 2, "a call is put into --tries batches at most"
    assert {done.status for done in outcome.done} <= kind.statuses, outcome
    for done in outcome.done:
        (done.text + done.error + done.model_resolved).encode()
        assert done.error.isprintable()
        assert bool(done.error) == (done.status is not OK)
        assert 0 <= done.usage.cached_tokens <= done.usage.prompt_tokens < 2**24
        assert 0 <= done.usage.completion_tokens < 2**24
        assert done.cost is None or 0 <= done.cost < 100


@pytest.mark.parametrize("name", ["endless results", "results that always break off", "chunks that break off"])
def test_what_came_of_results_is_kept(
    name: str, outcome_of: Callable[[tuple[str, str]], Outcome | BaseException]
) -> None:
    for protocol in KINDS[name].protocols:
        outcome = outcome_of((name, protocol))
        assert isinstance(outcome, Outcome)
        assert [done.status for done in outcome.done] == [OK] * len(QUESTIONS)
        assert outcome.created == 1, "nothing is paid twice"
