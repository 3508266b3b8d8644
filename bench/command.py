"""What a whole command costs beside a bare loop: CPU per call, so that other work on the machine changes little.

    python bench/command.py [--repeats 3] [--runs 100] [--at-once 200] [--json FILE]

Each contender is a process of its own, and the two alternate. Ours is `mindgauge run help_or_harm/crisis_type` on its own
112 samples, `--runs 100`: 11,200 closed questions with progress shown to nobody, from the interpreter's start to the
scores. The bare loop posts the same bodies with aiohttp, reads and decodes the answers, and forgets them; its bodies are
written before its clock starts. The clocks count the processor seconds of the process (user and system).

while calling   the bare loop over ours from the first call of the step to its last commit (`Session.work`).
whole command   the bare loop over our whole process; "with its own start" adds the loop's imports to the loop.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

import stub
from engine import LATENCY, Figure, post_all

BENCHMARK = "help_or_harm/crisis_type"
ANSWER = {
    "quotes": ["cannot sleep"],
    "rationale": "The person says so in the last message.",
    "crisis_type": "no_crisis",
}


# -- the contenders, each in a process of its own ----------------------------------------------------------------------


def bodies(url: str, runs: int) -> list[dict[str, Any]]:
    """Write what ours posts."""
    from mindgauge import benchmarks
    from mindgauge.models.settings import Settings
    from mindgauge.models.spec import open_model
    from mindgauge.runs import plan

    benchmark = benchmarks.find_one(BENCHMARK)
    model: Any = open_model(f"{url}#stub", Settings())
    judge = plan.judge_for(model, benchmark.instrument(), {})
    posted = [model.body(request) for sample in benchmark.samples(None) for request in judge.requests(sample)]
    return [{**body, "seed": run} for body in msgspec.to_builtins(posted) for run in range(runs)]


def bare_process(url: str, at_once: int, file: Path) -> dict[str, float]:
    start = time.process_time()
    posted = msgspec.json.decode(file.read_bytes())
    before, began = time.process_time(), time.perf_counter()
    asyncio.run(post_all(url, at_once, posted))
    calling = time.process_time() - before
    return {"calling": calling, "whole": start + calling, "wall": time.perf_counter() - began}


def our_process(url: str, at_once: int, runs: int) -> dict[str, float]:
    from mindgauge.cli import main
    from mindgauge.runs.session import Session

    work, calling, wall = Session.work, 0.0, 0.0

    async def timed(self: Session, *given: Any) -> None:
        nonlocal calling, wall
        before, began = time.process_time(), time.perf_counter()
        await work(self, *given)
        calling += time.process_time() - before
        wall += time.perf_counter() - began

    Session.work = timed  # type: ignore[method-assign, assignment]  # so that the command itself has no clock in it
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["mindgauge", "run", BENCHMARK, "--model", f"{url}#stub", "--runs", str(runs), "--concurrency"]
        sys.argv += [str(at_once), "--out", str(Path(folder, "run")), "--json"]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"the command ended with {ended.code}") from ended
    return {"calling": calling, "whole": time.process_time(), "wall": wall}


def apart(*arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


# -- all of it ---------------------------------------------------------------------------------------------------------


def measure(at_once: int, runs: int, repeats: int) -> list[Figure]:
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as process:
        try:
            url = stub.Stub(process).url(LATENCY)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "bodies.json")
                posted = bodies(url, runs)
                file.write_bytes(msgspec.json.encode(posted))
                rivals, own = [], []
                for _ in range(repeats):
                    rivals.append(apart("--bare", f"{url},{at_once},{file}"))
                    own.append(apart("--ours", f"{url},{at_once},{runs}"))
        finally:
            process.terminate()
    pairs = [*zip(own, rivals, strict=True)]

    def each(name: str, side: list[dict[str, float]]) -> float:
        return 1000 * statistics.median(seconds[name] for seconds in side) / len(posted)

    def ratio(name: str, of: str) -> float:
        return statistics.median(rival[name] / ours[of] for ours, rival in pairs)

    at = f"{len(posted):,} calls, {at_once} at once"
    return [
        Figure(f"bare aiohttp loop, {at}", each("calling", rivals), "ms/call"),
        Figure("ours while calling", each("calling", own), "ms/call"),
        Figure("ours, whole command", each("whole", own), "ms/call"),
        Figure("bare ÷ ours, CPU, while calling", ratio("calling", "calling"), "", 0.9),
        Figure("bare ÷ ours, CPU, whole command", ratio("calling", "whole"), "", 0.8),
        Figure("… the loop with its own start", ratio("whole", "whole")),
        Figure("bare ÷ ours, clock, while calling", ratio("wall", "wall")),
        Figure("ours beside the calls", statistics.median(o["whole"] - o["calling"] for o in own), "s of CPU"),
    ]


def serve() -> None:
    stub._Server.answers = itertools.cycle([stub._completion(json.dumps(ANSWER))])  # noqa: SLF001
    asyncio.run(stub.serve(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    for hidden in ("--bare", "--ours"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
    elif chosen.bare:
        url, at_once, file = chosen.bare.split(",")
        print(json.dumps(bare_process(url, int(at_once), Path(file))))
    elif chosen.ours:
        url, at_once, runs = chosen.ours.split(",")
        seconds = our_process(url, int(at_once), int(runs))
        print("\n" + json.dumps(seconds))
    else:
        figures = measure(chosen.at_once, chosen.runs, chosen.repeats)
        print(*figures, sep="\n")
        if chosen.json:
            chosen.json.write_bytes(msgspec.json.format(msgspec.json.encode([f._asdict() for f in figures])))


if __name__ == "__main__":
    main()
