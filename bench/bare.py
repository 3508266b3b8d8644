"""The least that aiohttp can do: what `mindgauge run` is held against. Nothing of Mindgauge is imported here.

`python bench/bare.py URL AT_ONCE BODIES` posts the bodies of a JSON file and prints what that took.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


async def post_all(url: str, at_once: int, bodies: Iterable[dict[str, Any]]) -> None:
    """Post bodies with aiohttp and nothing else: draw from an iterator, encode, post, read, decode, forget."""
    todo = iter(bodies)
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode
    headers = {"Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=at_once)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def worker() -> None:
            for body in todo:
                async with session.post(f"{url}/chat/completions", data=encode(body)) as response:
                    assert decode(await response.read())["choices"]

        await asyncio.gather(*(worker() for _ in range(at_once)))


def main() -> None:
    ready_cpu, ready = time.process_time(), time.time()  # the interpreter and its imports; not the bodies
    url, at_once, file = sys.argv[1:]
    posted = msgspec.json.decode(Path(file).read_bytes())
    before, began = time.process_time(), time.perf_counter()
    asyncio.run(post_all(url, int(at_once), posted))
    calling, wall = time.process_time() - before, time.perf_counter() - began
    seconds = {"calling": calling, "whole": ready_cpu + calling, "calling_clock": wall, "ready": ready}
    print(msgspec.json.encode(seconds).decode())


if __name__ == "__main__":
    main()
