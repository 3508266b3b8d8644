"""What do Ray actors cost, and what does a lost node? Calls of the whole engine, at 50 ms latency, 200 at once.

    python bench/scale_ray.py [--quick]

The plain engine and one with two actors on this machine take turns, and the ratio is the median over pairs. Ray's start
is a figure of its own. Needs the extra `ray`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from engine import LATENCY, Figure, samples, synthetic
from mindgauge.models.settings import Settings
from mindgauge.runs.plan import open_carried
from mindgauge.runs.session import Budget, Session
from mindgauge.runs.steps import ReplyStep
from mindgauge.store import Store
from stub import Stub

AT_ONCE = 200
ACTORS = 2


def once(url: str, count: int, settings: Settings) -> tuple[float, float]:
    """Answer `count` samples of a fresh run; returns seconds until the model is open, and of the calls."""
    benchmark, asked = synthetic(count), samples(count)

    async def loop(folder: Path) -> tuple[float, float]:
        model = open_carried(f"{url}#stub", settings)
        with Store(folder, write=True) as store:
            store.put_samples(benchmark.name, asked)
            session = Session(store, concurrency=AT_ONCE, budget=Budget(None))
            began = time.perf_counter()
            async with session.using(model):
                opened = time.perf_counter()
                await ReplyStep(benchmark=benchmark, model=model).work(session)
                done = time.perf_counter()
            assert store.count_replies(benchmark.name) == count
        return opened - began, done - opened

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(loop(Path(folder) / "run"))


def measure(*, quick: bool = False) -> list[Figure]:
    """Measure both engines in turns."""
    count, repeats = (2_000, 3) if quick else (8_000, 5)
    plain, ray = Settings(concurrency=AT_ONCE), Settings(concurrency=AT_ONCE, engine="ray", actors=ACTORS)
    with Stub.started() as stub:
        url = stub.url(LATENCY)
        once(url, AT_ONCE, plain)
        start, _ = once(url, AT_ONCE, ray)
        pairs = []
        for turn in range(repeats):
            rate = {
                engine: count / once(url, count, engine)[1] for engine in ((plain, ray) if turn % 2 else (ray, plain))
            }
            pairs.append((rate[ray], rate[plain]))
        again, _ = once(url, AT_ONCE, ray)
    return [
        Figure("plain engine", statistics.median(p for _, p in pairs), "calls/s"),
        Figure(f"Ray, {ACTORS} actors on this machine", statistics.median(r for r, _ in pairs), "calls/s"),
        Figure("Ray ÷ plain", statistics.median(r / p for r, p in pairs), "", 0.5),
        Figure("start of a local Ray, once a command", start, "s"),
        Figure("start of two actors, once a model", again, "s"),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer calls and repeats")
    for figure in measure(quick=parser.parse_args().quick):
        print(figure)
