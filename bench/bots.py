"""What a bot of somebody's own costs beside a chat endpoint: calls per second, and how long functions are waited for.

    python bench/bots.py [--quick]

http      Calls per second at 50 ms latency, with 50 and with 200 at once, against one stub server (`stub.py`): the engine
          with a chat endpoint, one call a sample, and with a stateful bot, three calls a sample (a start, and two turns,
          one after the other). Both write a run. They alternate, and the ratio is the median over pairs, since the
          machine drifts.
function  56 calls to a Python function that takes 0.1 s, 16 at once: the seconds that they take, for a plain function (in
          threads), for a coroutine function, and for a class that keeps state. 0.4 s is the least.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from engine import AT_ONCE, LATENCY, Figure, samples, synthetic
from mindgauge import Function
from mindgauge.models.bots.config import HttpConfig, StartCall
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Message, Sample, Status
from mindgauge.runs.session import Budget, Session
from mindgauge.runs.steps import ReplyStep
from mindgauge.store import Store
from stub import Stub

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.request import Model

CALLS, PLACES, TAKES = 56, 16, 0.1
PER_DIALOGUE = 3
"""Calls to the stateful bot for one dialogue of two turns: one starts it."""


def seconds(model: Model, asked: list[Sample], at_once: int) -> float:
    """Let a model answer samples in a fresh run; every reply must be one."""
    benchmark = synthetic(len(asked))

    async def work(folder: Path) -> float:
        with Store(folder, write=True) as store:
            store.put_samples(benchmark.name, asked)
            session = Session(store, concurrency=at_once, budget=Budget(None))
            began = time.perf_counter()
            await ReplyStep(benchmark=benchmark, model=model).work(session)
            took = time.perf_counter() - began
            assert {reply.status for reply in store.replies(benchmark.name)} == {Status.OK}
            return took

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(work(Path(folder) / "run"))


def plain(url: str, at_once: int, calls: int) -> float:
    """Return calls per second of the engine with a chat endpoint."""
    return calls / seconds(open_model(f"{url}#stub", Settings(concurrency=at_once)), samples(calls), at_once)


def stateful(url: str, at_once: int, calls: int) -> float:
    """Return calls per second of the engine with a stateful bot."""
    address = f"{url}/chat/completions"
    config = HttpConfig(
        name="bot", url=address, reply="choices[0].message.content", concurrency=at_once,
        body={"session": "{conversation}", "text": "{message}"}, start=StartCall(url=address, body={}, conversation="id"),
    )  # fmt: skip
    model = open_model("bot", Settings(concurrency=at_once, models={"bot": config}))
    dialogues = samples(calls // PER_DIALOGUE)
    return PER_DIALOGUE * len(dialogues) / seconds(model, dialogues, at_once)


def http(stub: Stub, pairs: int, per_place: int) -> Iterator[Figure]:
    """Compare both."""
    url = stub.url(LATENCY)
    for at_once in AT_ONCE:
        calls = per_place * at_once
        ratios, rates = [], []
        plain(url, at_once, at_once)
        for turn in range(pairs):
            both = {f: f(url, at_once, calls) for f in ((plain, stateful) if turn % 2 else (stateful, plain))}
            ratios.append(both[stateful] / both[plain])
            rates.append((both[plain], both[stateful]))
        yield Figure(f"chat endpoint, {at_once} at once", statistics.median(a for a, _ in rates), "calls/s")
        yield Figure(f"stateful bot, {at_once} at once", statistics.median(b for _, b in rates), "calls/s")
        yield Figure(f"stateful bot ÷ chat endpoint, {at_once} at once", statistics.median(ratios), "", 0.8)


def function(repeats: int) -> Iterator[Figure]:
    """Time calls to Python code."""

    def threaded(message: str) -> str:
        time.sleep(TAKES)
        return f"I hear you: {message}"

    async def looped(message: str) -> str:
        await asyncio.sleep(TAKES)
        return f"I hear you: {message}"

    class Stateful:
        def start(self) -> None:
            self.heard = ""

        def reply(self, message: str) -> str:
            self.heard += message
            return threaded(self.heard)

    asked = [Sample.of((Message("user", f"My week was grey, day {day}."),)) for day in range(CALLS)]
    for code in (threaded, looped, Stateful):
        took = [seconds(Function(code, concurrency=PLACES), asked, PLACES) for _ in range(repeats)]
        yield Figure(
            f"{CALLS} calls of {TAKES} s, {PLACES} at once: {code.__name__}", max(took), "s", 0.6, at_most=True
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    quick = parser.parse_args().quick
    for figure in function(3):
        print(figure, flush=True)
    with Stub.started() as stub:
        for figure in http(stub, 3 if quick else 7, 12 if quick else 30):
            print(figure, flush=True)


if __name__ == "__main__":
    main()
