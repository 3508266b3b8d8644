"""Bombs: what an answer may cost in memory and time, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mindgauge.models import completion
from mindgauge.records.redaction import in_use
from tests.thinned import later, sampled

_CHILD = """
import asyncio, json, sys, zlib
from tests.attacks.test_wire import CHUNKED, HEAD, HELLO, model
from tests.attacks.wire import serving

def packed(begin, part, count, end):
    packer = zlib.compressobj(1, wbits=31)
    return packer.compress(begin) + b"".join(packer.compress(part) for _ in range(count)) + packer.flush()

async def gzipped(wire):
    await wire.answer(BOMB, "Content-Encoding: gzip")

async def endless(wire):
    await wire.write(HEAD + b"\\r\\n")
    while True:
        await wire.write(b" " * (1 << 20))

async def headers(wire):
    await wire.write(HEAD)
    while True:
        await wire.write(b"X-A: b\\r\\n" * 50_000)

async def header(wire):
    await wire.write(HEAD + b"X-A: ")
    while True:
        await wire.write(b"b" * (1 << 20))

async def informal(wire):
    while True:
        await wire.write(b"HTTP/1.1 103 Early\\r\\n\\r\\n" * 10_000)

async def pipelined(wire):
    await wire.write(b"HTTP/1.1 204 None\\r\\n\\r\\n" * 1_000_000)
    while True:
        await wire.write(b"HTTP/1.1 204 None\\r\\n\\r\\n" * 10_000)

async def parts(wire):
    await wire.answer(b'{"usage": [' + b"[]," * ((16 << 20) // 3 - 100) + b'[]], "choices": [{"message": {"content": "a"}}]}')

async def text(wire):
    await wire.answer(b'{"choices": [{"message": {"content": "' + b"%25" * ((16 << 20) // 3 - 100) + b'"}}]}')

BOMB = packed(b'{"choices": [{"message": {"content": "', b"a" * (1 << 20), 256, b'"}}]}') if sys.argv[1] == "gzipped" else b""
does = globals()[sys.argv[1]]

async def main():
    async def serve(wire):
        await wire.question()
        await does(wire)
    async with serving(serve) as (port, _), model(port, 2.0, 1) as asked:
        try:
            done = await asked.ask(HELLO)
            return done.status.value
        except Exception as error:
            return type(error).__name__

def most():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the most begins anew
before = most()
status = asyncio.run(main())
print(json.dumps([status, (most() - before) / 1024]))
"""
MOST = 120
"""MiB that a process may grow by while it reads one answer; it holds the server, too."""
BOMBS = ("gzipped", *map(later, ("parts", "pipelined", "endless", "headers", "header", "informal", "text")))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read where Linux tells it")
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_costs_little_memory(bomb: str) -> None:
    done = subprocess.run([sys.executable, "-c", _CHILD, bomb], check=True, capture_output=True, text=True, timeout=60)
    status, grown = json.loads(done.stdout)
    assert status in {"failed", "EndpointError"}
    assert grown < MOST


@pytest.mark.parametrize("piece", sampled(["%25", "&amp;", "%41", "\\\\u0041", "a", "\\n", "中"], 2))
def test_a_long_text_is_not_searched_for_keys(piece: str) -> None:
    """Sixteen MiB of what looks like escapes took half a minute, in which no other call went on."""
    in_use.keep("sk-canary-1c7e9d2a4b")
    text = piece * ((15 << 20) // len(piece.encode()))
    content = json.dumps({"choices": [{"message": {"content": text}}]}, ensure_ascii=False).encode()
    began = time.process_time()
    with pytest.raises(completion.UnreadableError, match=r"a text of more than|JSON of more than"):
        completion.read(content)
    completion.fault(content)
    assert time.process_time() - began < 2
