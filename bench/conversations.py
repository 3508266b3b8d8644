"""What the engine costs where dialogues are held: against the least that a loop over the same calls can take.

    python bench/conversations.py [--quick]

scripted  1,000 dialogues of ten turns with fixed words of the person, against one stub server (`stub.py`), 50 ms each, 200
          at once. Ours is the whole path: samples into a fresh run, every turn asked, committed and put into its dialogue. The
          bare loop posts the same calls with aiohttp, each dialogue one after the other's answer, and forgets them. The two
          alternate, and the ratios are medians over pairs: of the clock, and of the processor time of this process, which
          other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec

from engine import LATENCY, Figure, synthetic
from mindgauge.benchmarks.persons.dialogues import DialoguePlan, PersonMode, Persons
from mindgauge.benchmarks.persons.persona import RungWords, Script, ScriptTurn, Situation
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Status
from mindgauge.runs.conversation_steps import ConversationStep
from mindgauge.runs.session import Budget, Session
from mindgauge.runs.steps import PlannedSubject
from mindgauge.store import Store
from stub import Stub

TURNS, AT_ONCE = 10, 200
WORDS = "The evenings are the worst of it, I sit there and the phone stays quiet, and then it is three in the morning."


class Taken(NamedTuple):
    """Seconds on the clock, and of the processor."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> Taken:
        """Read both clocks."""
        return cls(time.perf_counter(), time.process_time())

    def until_now(self) -> Taken:
        """Return what has passed since."""
        now = Taken.now()
        return Taken(now.clock - self.clock, now.processor - self.processor)


def persons(count: int) -> Persons:
    """Write so many scripts, each different."""
    words = RungWords("-", "-", {"everyday": "-"})
    turns = [
        tuple(ScriptTurn("everyday", en=f"Day {n}, turn {t}. {WORDS}") for t in range(TURNS)) for n in range(count)
    ]
    scripts = tuple(Script(str(n), "-", "-", "everyday", own) for n, own in enumerate(turns))
    return Persons(Situation("risk", ("everyday",), "everyday", words, words), (), scripts)


def bare(url: str, count: int) -> Taken:
    """Return what a loop takes that posts the same calls and keeps nothing."""
    scripts = persons(count).scripts
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode

    async def loop() -> None:
        todo = iter(scripts)
        connector = aiohttp.TCPConnector(limit=AT_ONCE)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def worker() -> None:
                for script in todo:
                    messages: list[dict[str, Any]] = []
                    for turn in script.turn:
                        messages.append({"role": "user", "content": turn.en})
                        body = {"model": "stub", "messages": messages, "seed": 0, "max_tokens": 4096}
                        headers = {"content-type": "application/json"}
                        async with session.post(
                            f"{url}/chat/completions", data=encode(body), headers=headers
                        ) as response:
                            answer = decode(await response.read())
                        messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})

            await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    began = Taken.now()
    asyncio.run(loop())
    return began.until_now()


def ours(url: str, count: int) -> Taken:
    """Return what the engine takes, for a fresh run."""
    plan = DialoguePlan(persons(count), PersonMode.SCRIPTED, TURNS)
    benchmark, samples = synthetic(1), plan.samples()

    async def loop(folder: Path) -> Taken:
        model = open_model(f"{url}#stub", Settings(concurrency=AT_ONCE))
        with Store(folder, write=True) as store:
            store.put_samples(benchmark.name, samples)
            session = Session(store, concurrency=AT_ONCE, budget=Budget(None))
            step = ConversationStep(
                benchmark=benchmark, model=model, dialogues=plan, subjects=lambda: map(PlannedSubject, samples)
            )
            began = Taken.now()
            await step.work(session)
            took = began.until_now()
            assert store.count_replies(benchmark.name) == count * (TURNS + 1)
            assert {reply.status for reply in store.replies(benchmark.name)} == {Status.OK}
            return took

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(loop(Path(folder) / "run"))


def main(*, quick: bool) -> None:
    """Print the figures."""
    count, repeats = (200, 3) if quick else (1000, 5)
    with Stub.started() as stub:
        url = stub.url(LATENCY)
        bare(url, AT_ONCE)
        pairs: list[tuple[Taken, Taken]] = []
        for turn in range(repeats):
            order = (bare, ours) if turn % 2 else (ours, bare)
            took = {contender: contender(url, count) for contender in order}
            pairs.append((took[bare], took[ours]))
    calls, of = count * TURNS, f"{count} dialogues of {TURNS} turns"
    for name, side in (("bare loop", 0), ("ours", 1)):
        print(Figure(f"{name}, {of}", calls / statistics.median(pair[side].clock for pair in pairs), "calls/s"))
        processor = 1000 * statistics.median(pair[side].processor for pair in pairs) / calls
        print(Figure(f"{name}, CPU", processor, "ms/call"))
    print(Figure("ours ÷ bare loop, calls a second", statistics.median(a.clock / b.clock for a, b in pairs), "", 0.7))
    print(Figure("bare ÷ ours, CPU", statistics.median(a.processor / b.processor for a, b in pairs)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    main(quick=parser.parse_args().quick)
