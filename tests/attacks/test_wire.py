"""Whatever a server sends instead of a chat completion ends as a status of the call, in bounds of time and memory.

Each server answers one question well, then misbehaves, then is well again: the calls before and after are unharmed.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import itertools
import json
import math
import random
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Exchange, Message, Status, Usage
from mindgauge.records.errors import EndpointError
from mindgauge.records.request import Price, Request
from tests.attacks.wire import GOOD, Wire, serving

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.attacks.wire import Does

PRICE = Price(1e-6, 2e-6)
HELLO = Request((Message("user", "I sleep badly since I lost my work."),))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
OK, FAILED, UNPARSABLE, REFUSED = Status.OK, Status.FAILED, Status.UNPARSABLE, Status.REFUSED
QUICK, ENOUGH = 0.4, 15.0
"""Seconds of `--timeout`: where the server never ends, and where it does."""


class Kind(NamedTuple):
    """How a server misbehaves to a question that it has read, and what may become of the call."""

    does: Does
    statuses: set[Status]
    timeout: float = ENOUGH
    usage: Usage | None = None


def body(content: bytes, *headers: str, status: str = "200 OK") -> Does:
    return lambda wire: wire.answer(content, *headers, status=status)


def raw(*parts: bytes, cut: bool = False) -> Does:
    async def does(wire: Wire) -> None:
        for part in parts:
            await wire.write(part)
        if cut:
            wire.writer.transport.abort()

    return does


def endless(head: bytes, part: bytes, pause: float = 0.0) -> Does:
    async def does(wire: Wire) -> None:
        await wire.write(head)
        while True:
            await wire.write(part)
            await asyncio.sleep(pause)

    return does


async def silence(wire: Wire) -> None:
    await wire.until_gone()


async def half_closed(wire: Wire) -> None:
    await wire.write(HEAD + b"Content-Length: 100\r\n\r\n{")
    wire.writer.write_eof()
    await wire.until_gone()


def said(**more: Any) -> bytes:
    message = {"role": "assistant", "content": more.pop("content", "I hear you."), **more.pop("message", {})}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more}).encode()


def tokens(usage: str) -> bytes:
    return b'{"choices": [{"message": {"content": "I hear you."}}], "usage": ' + usage.encode() + b"}"


DEEP = b"[" * 200_000 + b"]" * 200_000
BOMB = gzip.compress(b'{"choices": [{"message": {"content": "' + b"a" * 50_000_000 + b'"}}]}', 1)
RAW = zlib.compressobj(wbits=-15)
DEFLATED = RAW.compress(GOOD) + RAW.flush()

JSON: dict[str, tuple[bytes, set[Status]]] = {
    "nothing": (b"", {FAILED}),
    "null": (b"null", {FAILED}),
    "a number": (b"1e999", {FAILED}),
    "NaN alone": (b"NaN", {FAILED}),
    "a list": (b"[" + GOOD + b"]", {FAILED}),
    "a text": (b'"I hear you."', {FAILED}),
    "another object": (b'{"object": "chat.completion"}', {FAILED}),
    "two objects": (GOOD + b"\n" + GOOD, {FAILED}),
    "half an object": (GOOD[:-20], {FAILED}),
    "events": (b"data: " + GOOD + b"\n\ndata: [DONE]\n\n", {FAILED}),
    "no choices": (b'{"choices": []}', {FAILED}),
    "choices null": (b'{"choices": null}', {FAILED}),
    "choices a text": (b'{"choices": "I hear you."}', {FAILED}),
    "choices an object": (b'{"choices": {"0": {}}}', {FAILED}),
    "choices of null": (b'{"choices": [null]}', {FAILED}),
    "choices of lists": (b'{"choices": [[]]}', {FAILED}),
    "choices of numbers": (b'{"choices": [true, 1]}', {FAILED}),
    "a second choice that is none": (GOOD.replace(b"}]", b"}, 5]"), {OK}),
    "no message": (b'{"choices": [{"index": 0}]}', {UNPARSABLE}),
    "message a text": (b'{"choices": [{"message": "I hear you."}]}', {FAILED}),
    "content null": (said(content=None), {UNPARSABLE}),
    "content true": (said(content=True), {FAILED}),
    "content a number": (b'{"choices": [{"message": {"content": -0}}]}', {FAILED}),
    "content NaN": (b'{"choices": [{"message": {"content": NaN}}]}', {FAILED}),
    "content an object": (said(content={"text": "I hear you."}), {FAILED}),
    "content an empty list": (said(content=[]), {UNPARSABLE}),
    "content a list of all kinds": (said(content=[None, 1, [], {"text": 5}, {"text": "I hear you."}]), {OK}),
    "content deep": (b'{"choices": [{"message": {"content": ' + DEEP + b"}}]}", {FAILED}),
    "something deep beside it": (GOOD[:-1] + b', "x": ' + DEEP + b"}", {FAILED}),
    "something not that deep": (GOOD[:-1] + b', "error": ' + b"[" * 400 + b"]" * 400 + b"}", {OK}),
    "content twice": (b'{"choices": [{"message": {"content": "No.", "content": "I hear you."}}]}', {OK}),
    "choices twice": (b'{"choices": 5, ' + GOOD[1:], {OK}),
    "lone surrogates": (said(content="\ud83d I hear \udc00 you.\x00", model="\ud800"), {OK}),
    "halves of characters as keys": (GOOD.replace(b'"content"', b'"\\ud800": 1, "content"'), {OK}),
    "half a character": (GOOD.replace(b"lot", b"l\xe2\x82"), {FAILED}),
    "Latin-1": (GOOD.replace(b"lot", b"caf\xe9"), {FAILED}),
    "UTF-16": (GOOD.decode().encode("utf-16"), {OK}),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, {OK}),
    "names that are none": (said(model=["m"], system_fingerprint={"a": 1}, id=-1, created="yesterday"), {OK}),
    "long names": (said(model="m" * 1_000_000, message={"role": "x" * 1_000_000}), {OK}),
    "a refusal of all kinds": (said(content=None, message={"refusal": {"why": ["\ud800", 10**30]}}), {REFUSED}),
    "a refusal with NaN": (b'{"choices": [{"message": {"refusal": {"a": NaN, "b": [1' + b"0" * 400 + b"]}}}]}", {REFUSED}),
    "numbers too large": (GOOD[:-1] + b', "x": 1' + b"0" * 5000 + b', "y": 1e999, "z": -1e999}', {OK, FAILED}),
    "NaN and Infinity beside it": (GOOD[:-1] + b', "x": [NaN, Infinity, -Infinity, -0]}', {OK}),
    "too long a text": (said(content="a" * (2 << 20)), {FAILED}),
    "too many parts": (GOOD[:-1] + b', "x": [' + b"[]," * 1_000_000 + b"[]]}", {FAILED}),
    "an error": (b'{"error": {"message": "busy", "code": 7}}', {FAILED}),
    "an error of no kind": (b'{"error": [[["\\ud800", NaN]]]}', {FAILED}),
}  # fmt: skip
COUNTS = ["-5", "true", "1e999", "-1e999", "NaN", "Infinity", "-0", "5.5", "1e12", "9" * 400, '"7x"', '"-7"', "[5]", "{}", "null"]  # fmt: skip
USAGES: dict[str, bytes] = {
    **{f"{count[:12]} tokens written": tokens(f'{{"prompt_tokens": 10, "completion_tokens": {count}}}') for count in COUNTS},
    **{f"{count[:12]} tokens read": tokens(f'{{"prompt_tokens": {count}, "completion_tokens": 10}}') for count in COUNTS},
    **{f"usage {usage[:12]}": tokens(usage) for usage in ("null", '"12"', "[10, 5]", "12", "NaN", "{}", "true")},
}  # fmt: skip
CACHED: dict[str, bytes] = {
    f"{count[:12]} tokens cached": tokens(
        f'{{"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {{"cached_tokens": {count}}}}}'
    )
    for count in COUNTS
}
STATUSES = {
    **{f"status {code}": {FAILED} for code in (101, 201, 202, 204, 205, 206, 300, 301, 302, 303, 304, 307, 308, 400, 401)},
    **{f"status {code}": {FAILED} for code in (402, 404, 405, 408, 410, 413, 418, 425, 429, 431, 451, 500, 503, 529, 599, 999)},
}  # fmt: skip
PAUSES = (
    "soon",
    "-5",
    "nan",
    "-inf",
    "1e-9",
    "Wed, 21 Oct 2015 07:28:00 GMT",
    "0 0 0",
    "\xff",
    "5" * 0,
    ";",
    "0x1",
    "0,0",
)


def _statuses() -> dict[str, Kind]:
    kinds = {}
    for name, statuses in STATUSES.items():
        code = name.split()[1]
        headers = ["Location: http://127.0.0.1:9/v1/chat/completions"] if code[0] == "3" else []
        kinds[name] = Kind(body(GOOD if code[0] == "2" else b"{}", *headers, status=f"{code} Said"), statuses)
    for pause in PAUSES:
        kinds[f"Retry-After {pause!a}"] = Kind(body(b"", f"Retry-After: {pause}", status="429 Busy"), {FAILED})
    return kinds


KINDS: dict[str, Kind] = {
    **{name: Kind(body(content), statuses) for name, (content, statuses) in JSON.items()},
    **{name: Kind(body(content), {OK}, usage=Usage()) for name, content in USAGES.items()},
    **{name: Kind(body(content), {OK}) for name, content in CACHED.items()},
    **_statuses(),
    # -- lengths, types and codings
    "a length too long, then the end": Kind(raw(HEAD + b"Content-Length: 9999\r\n\r\n" + GOOD), {FAILED}),
    "a length too long, then nothing": Kind(endless(HEAD + b"Content-Length: 9999\r\n\r\n" + GOOD, b"", 60), {FAILED}, QUICK),
    "a length too short": Kind(raw(HEAD + b"Content-Length: 20\r\n\r\n" + GOOD), {FAILED}),
    "a length of 0": Kind(raw(HEAD + b"Content-Length: 0\r\n\r\n" + GOOD), {FAILED}),
    "a negative length": Kind(raw(HEAD + b"Content-Length: -5\r\n\r\n" + GOOD), {FAILED}),
    "a length that is none": Kind(raw(HEAD + b"Content-Length: all of it\r\n\r\n" + GOOD), {FAILED}),
    "a length beyond numbers": Kind(raw(HEAD + b"Content-Length: " + b"9" * 400 + b"\r\n\r\n" + GOOD), {FAILED}),
    "a huge length": Kind(raw(HEAD + b"Content-Length: 99999999999\r\n\r\n" + GOOD), {FAILED}),
    "two lengths": Kind(raw(HEAD + b"Content-Length: 5\r\nContent-Length: 900\r\n\r\n" + GOOD), {FAILED}),
    "no length, and the end": Kind(raw(HEAD + b"\r\n" + GOOD), {OK}),
    "no length, and no end": Kind(endless(HEAD + b"\r\n" + GOOD, b"", 60), {FAILED}, QUICK),
    "no body, and no end": Kind(endless(HEAD + b"\r\n", b"", 60), {FAILED}, QUICK),
    "another type": Kind(body(GOOD, "Content-Type: text/html; charset=nonsense"), {OK}),
    "another charset": Kind(body(GOOD, "Content-Type: application/json; charset=utf-16"), {OK}),
    "no type": Kind(raw(b"HTTP/1.1 200 OK\r\n\r\n" + GOOD), {OK}),
    "HTML": Kind(body(b"<!doctype html><title>Log in</title>", "Content-Type: text/html"), {FAILED}),
    "gzip": Kind(body(gzip.compress(GOOD), "Content-Encoding: gzip"), {OK}),
    "deflate": Kind(body(zlib.compress(GOOD), "Content-Encoding: deflate"), {OK}),
    "raw deflate": Kind(body(DEFLATED, "Content-Encoding: deflate"), {FAILED}),
    "a gzip bomb": Kind(body(BOMB, "Content-Encoding: gzip"), {FAILED}),
    "a deflate bomb": Kind(body(zlib.compress(b" " * 50_000_000, 1), "Content-Encoding: deflate"), {FAILED}),
    "a bomb in an error": Kind(body(BOMB, "Content-Encoding: gzip", status="400 No"), {FAILED}),
    "gzip twice": Kind(body(gzip.compress(BOMB), "Content-Encoding: gzip, gzip"), {FAILED}),
    "gzip in two headers": Kind(body(gzip.compress(BOMB), "Content-Encoding: gzip", "Content-Encoding: gzip"), {FAILED}),
    "br": Kind(body(GOOD, "Content-Encoding: br"), {FAILED}),
    "zstd": Kind(body(b"\x28\xb5\x2f\xfd" + GOOD, "Content-Encoding: zstd"), {FAILED}),
    "an unknown coding": Kind(body(GOOD, f"Content-Encoding: {'x' * 4000}"), {FAILED}),
    "gzip that is none": Kind(body(GOOD, "Content-Encoding: gzip"), {FAILED}),
    "half gzip": Kind(body(gzip.compress(GOOD)[:-12], "Content-Encoding: gzip"), {FAILED}),
    "gzip with a wrong sum": Kind(body(gzip.compress(GOOD)[:-8] + bytes(8), "Content-Encoding: gzip"), {FAILED}),
    "gzip that goes on": Kind(body(gzip.compress(GOOD) + b"x" * 100_000, "Content-Encoding: gzip"), {FAILED}),
    # -- chunks
    "chunks": Kind(raw(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in GOOD) + b"0\r\n\r\n"), {OK}),
    "chunks that break off": Kind(raw(CHUNKED + b"20\r\n" + GOOD[:32] + b"\r\n20\r\n" + GOOD[32:40]), {FAILED}),
    "a chunk of no length": Kind(raw(CHUNKED + b"20\r\n" + GOOD[:32] + b"\r\nzz\r\n" + GOOD[32:]), {FAILED}),
    "a negative chunk": Kind(raw(CHUNKED + b"-20\r\n" + GOOD), {FAILED}),
    "a huge chunk": Kind(raw(CHUNKED + b"f" * 40 + b"\r\n" + GOOD), {FAILED}),
    "chunks and a length": Kind(raw(HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + GOOD), {FAILED}),
    "an endless chunk extension": Kind(endless(CHUNKED + b"5;a=", b"x" * 65536), {FAILED}, QUICK),
    "endless trailers": Kind(endless(CHUNKED + b"0\r\n", b"A: b\r\n" * 5000), {FAILED}, QUICK),
    # -- heads
    "no HTTP": Kind(raw(b"220 mail.example.org ready\r\n\r\n"), {FAILED}),
    "HTTP/0.9": Kind(raw(GOOD), {FAILED}),
    "HTTP/2": Kind(raw(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80"), {FAILED}),
    "a status line alone": Kind(raw(b"HTTP/1.1 200 OK\r\n\r\n"), {FAILED}),
    "a status line and no end": Kind(endless(b"HTTP/1.1 200 OK\r\n", b"", 60), {FAILED}, QUICK),
    "a status that is none": Kind(raw(b"HTTP/1.1 two hundred\r\n\r\n" + GOOD), {FAILED}),
    "an endless status line": Kind(endless(b"HTTP/1.1 200 ", b"x" * 65536), {FAILED}, QUICK),
    "an endless header": Kind(endless(HEAD + b"X-A: ", b"x" * 65536), {FAILED}, QUICK),
    "endless headers": Kind(endless(HEAD, b"X-A: b\r\n" * 5000), {FAILED}, QUICK),
    "50,000 headers": Kind(body(GOOD, *[f"X-{n}: {n}" for n in range(50_000)]), {FAILED}),
    "a header of 1 MB": Kind(body(GOOD, f"X-A: {'b' * 1_000_000}"), {FAILED}),
    "a header of NUL bytes": Kind(raw(HEAD + b"X-A: \x00\x00\r\n\r\n" + GOOD), {FAILED}),
    "cookies": Kind(body(GOOD, *[f"Set-Cookie: a{n}={'b' * 4000}; Domain=0.0.1" for n in range(20)]), {OK}),
    "a few informal answers": Kind(raw(b"HTTP/1.1 103 Early\r\n\r\n" * 100 + HEAD + b"\r\n" + GOOD), {OK}),
    "endless informal answers": Kind(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500), {FAILED}, QUICK),
    # -- time
    "silence": Kind(silence, {FAILED}, QUICK),
    "half closed": Kind(half_closed, {FAILED}, QUICK),
    "a head byte by byte": Kind(endless(b"", b"H", 0.05), {FAILED}, QUICK),
    "headers one by one": Kind(endless(HEAD, b"X-A: b\r\n", 0.05), {FAILED}, QUICK),
    "a body byte by byte": Kind(endless(HEAD + b"Content-Length: 9999\r\n\r\n", b" ", 0.05), {FAILED}, QUICK),
    "chunks one by one": Kind(endless(CHUNKED, b"1\r\n \r\n", 0.05), {FAILED}, QUICK),
    "an endless body": Kind(endless(HEAD + b"\r\n", b" " * (1 << 18)), {FAILED}),
    "endless chunks": Kind(endless(CHUNKED, b"40000\r\n" + b" " * (1 << 18) + b"\r\n"), {FAILED}),
    "the end at once": Kind(raw(), {FAILED}),
    "a reset at once": Kind(raw(cut=True), {FAILED}),
    "a reset in the head": Kind(raw(HEAD, cut=True), {FAILED}),
    "a reset in the body": Kind(raw(HEAD + b"Content-Length: 999\r\n\r\n" + GOOD[:50], cut=True), {FAILED}),
}  # fmt: skip


class Outcome(NamedTuple):
    """What came of the first call to a server that never was well, and of calls while and after it was ill."""

    first: Exchange | EndpointError
    ill: Exchange
    after: Exchange


def model(port: int, timeout: float, tries: int = 2) -> Any:
    return open_model(f"http://127.0.0.1:{port}/v1#m", Settings(timeout=timeout, tries=tries, price=PRICE))


async def _outcome(kind: Kind) -> Outcome:
    ill = False

    async def does(wire: Wire) -> None:
        while True:
            await wire.question()
            if ill:
                await kind.does(wire)
                return
            await wire.answer()

    async with serving(does) as (port, _):
        ill = True
        first: Exchange | EndpointError
        async with model(port, kind.timeout, 1) as asked:
            try:
                first = await asked.ask(HELLO)
            except EndpointError as error:
                first = error
        async with model(port, kind.timeout) as asked:
            ill = False
            await asked.ask(HELLO)
            ill = True
            during = await asked.ask(HELLO)
            ill = False
            return Outcome(first, during, await asked.ask(HELLO))


TOGETHER = 70
"""Kinds that run at the same time, since many wait: a worker that is given some of them runs no others."""


@functools.cache
def outcomes(start: int) -> dict[str, Outcome | BaseException]:
    """Return what came of so many kinds from this one on."""

    async def all_of_them(kinds: Iterable[Kind]) -> list[Outcome | BaseException]:
        return await asyncio.gather(*map(_outcome, kinds), return_exceptions=True)

    kinds = dict(itertools.islice(KINDS.items(), start, start + TOGETHER))
    return dict(zip(kinds, asyncio.run(all_of_them(kinds.values())), strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_what_a_server_sends_is_a_status_of_the_call(name: str) -> None:
    start = [*KINDS].index(name) // TOGETHER * TOGETHER
    outcome, kind = outcomes(start)[name], KINDS[name]
    assert isinstance(outcome, Outcome), outcome
    assert outcome.after.status is OK
    assert outcome.after.text
    done = outcome.ill
    assert done.status in kind.statuses, done
    if isinstance(outcome.first, EndpointError):
        assert done.status is FAILED
        assert str(outcome.first).isprintable(), "one line"
    else:
        assert outcome.first.status in kind.statuses
    if done.status is FAILED:
        assert done.error
        assert done.error.isprintable(), "one line"
        assert len(done.error) < 1000
        assert not done.text
    (done.text + done.model_resolved + done.error + done.finish_reason).encode()
    assert "\x00" not in done.text
    assert len(done.model_resolved) <= 200
    assert kind.usage in {None, done.usage}
    assert min(done.usage.cached_tokens, done.usage.completion_tokens) >= 0
    assert done.usage.cached_tokens <= done.usage.prompt_tokens < 2**24
    assert done.cost is None or (math.isfinite(done.cost) and 0 <= done.cost < 100)


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.long)])
def test_a_mutated_answer_is_a_status_of_the_call(count: int) -> None:
    """Bytes of good answers are lost, doubled, changed and moved, in the head and the body."""
    draw = random.Random(count)
    plain = HEAD + b"Content-Length: %d\r\n\r\n" % len(GOOD) + GOOD
    chunked = CHUNKED + b"%x\r\n" % len(GOOD) + GOOD + b"\r\n0\r\n\r\n"

    def mutated() -> bytes:
        content = bytearray(draw.choice((plain, chunked)))
        for _ in range(draw.randint(1, 4)):
            at, end = sorted(draw.choices(range(len(content) + 1), k=2))
            piece = bytes(content[at : min(end, at + 40)])
            match draw.randrange(5):
                case 0:
                    del content[at : at + draw.randint(1, 40)]
                case 1:
                    content[at:at] = piece
                case 2:
                    content[at : at + 1] = bytes([draw.randrange(256)])
                case 3:
                    content[at:at] = draw.choice(
                        [b"\r\n", b"\0", b'"', b"{", b"[", b"}", b"NaN", b"-", b"9" * 30, b"1e999", b": ", b"\xff"]
                    )
                case _:
                    content[end:end] = piece
        return bytes(content)

    async def does(wire: Wire) -> None:
        await wire.question()
        await wire.answer()
        await wire.question()
        await wire.write(mutated())

    async def one(gate: asyncio.Semaphore, port: int) -> Exchange:
        async with gate, model(port, ENOUGH, 1) as asked:
            await asked.ask(HELLO)
            done: Exchange = await asked.ask(HELLO)
            return done

    async def all_of_them() -> list[Exchange]:
        gate = asyncio.Semaphore(50)
        async with serving(does) as (port, _):
            return await asyncio.gather(*(one(gate, port) for _ in range(count)))

    found = asyncio.run(all_of_them())
    assert {done.status for done in found} >= {OK, FAILED}
    assert all(done.error.isprintable() and bool(done.error) == (done.status is not OK) for done in found)
    assert all(0 <= done.usage.prompt_tokens < 2**24 and 0 <= done.usage.completion_tokens < 2**24 for done in found)
