"""What a whole command costs beside a bare loop, by the clock and by processor time.

    python bench/command.py [--repeats 3] [--runs 100] [--at-once 200] [--before SRC] [--json FILE]

Each contender is a process of its own, and they alternate, compiled once beforehand. Ours is
`mindgauge run help_or_harm/crisis_type` on its own 112 samples, `--runs 100`: 11,200 closed questions with progress shown
to nobody, from the interpreter's start to the scores. The bare loop (`bare.py`) posts the same bodies with aiohttp, reads and
decodes the answers, and forgets them; its bodies are read before its clock starts. Processor time is that of the process,
user and system. With `--before`, the code of another folder, such as an older checkout's `src`, is timed in turn with ours.

while calling   the bare loop over ours from the first call of the step to its last commit (`Session.work`).
whole command   the bare loop over our whole process, from its start to the scores; "with its own start" adds to the loop
                what the interpreter and its imports take.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # ours imports nothing that the command does not
    from collections.abc import Iterator

    from engine import Figure

BENCHMARK = "help_or_harm/crisis_type"
HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
ANSWER = {
    "quotes": ["cannot sleep"],
    "rationale": "The person says so in the last message.",
    "crisis_type": "no_crisis",
}


# -- the contenders, each in a process of its own ----------------------------------------------------------------------


def bodies(url: str, runs: int) -> list[dict[str, Any]]:
    """Write what ours posts."""
    import msgspec

    from mindgauge import benchmarks
    from mindgauge.models.settings import Settings
    from mindgauge.models.spec import open_model
    from mindgauge.runs import plan

    benchmark = benchmarks.find_one(BENCHMARK)
    model: Any = open_model(f"{url}#stub", Settings())
    judge = plan.judge_for(model, benchmark.instrument(), {})
    posted = [model.body(request) for sample in benchmark.samples(None) for request in judge.requests(sample)]
    return [{**body, "seed": run} for body in msgspec.to_builtins(posted) for run in range(runs)]


def our_process(url: str, at_once: str, runs: str) -> dict[str, float]:
    from mindgauge.cli import main
    from mindgauge.runs.session import Session

    work, calling, clock = Session.work, 0.0, 0.0

    async def timed(self: Session, *given: Any) -> None:
        nonlocal calling, clock
        before, began = time.process_time(), time.perf_counter()
        await work(self, *given)
        calling += time.process_time() - before
        clock += time.perf_counter() - began

    Session.work = timed  # type: ignore[method-assign, assignment]  # so that the command itself has no clock in it
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["mindgauge", "run", BENCHMARK, "--model", f"{url}#stub", "--runs", runs, "--concurrency"]
        sys.argv += [at_once, "--out", str(Path(folder, "run")), "--json"]
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"the command ended with {ended.code}") from ended
        return {"calling": calling, "whole": time.process_time(), "calling_clock": clock, "ended": time.time()}


def apart(source: Path, *command: str) -> dict[str, float]:
    """Let a contender run, and say what it took."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{HERE}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.time()
    done = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if "ready" in seconds:
        return {**seconds, "whole_clock": seconds["ready"] - began + seconds["calling_clock"]}
    return {**seconds, "whole_clock": seconds["ended"] - began}


# -- all of it ---------------------------------------------------------------------------------------------------------


def measure(at_once: int, runs: int, repeats: int, sources: dict[str, Path]) -> Iterator[Figure]:
    import msgspec

    from engine import LATENCY, Figure
    from stub import Stub

    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as process:
        try:
            url = Stub(process).url(LATENCY)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "bodies.json")
                posted = bodies(url, runs)
                file.write_bytes(msgspec.json.encode(posted))
                for source in sources.values():
                    apart(source, __file__, "--ours", f"{url},{at_once},1")
                bare: list[dict[str, float]] = []
                ours: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
                for _ in range(repeats):
                    bare.append(apart(SOURCE, str(HERE / "bare.py"), url, str(at_once), str(file)))
                    for name, source in sources.items():
                        ours[name].append(apart(source, __file__, "--ours", f"{url},{at_once},{runs}"))
        finally:
            process.terminate()

    def each(name: str, side: list[dict[str, float]]) -> float:
        return 1000 * statistics.median(seconds[name] for seconds in side) / len(posted)

    yield Figure(f"bare aiohttp loop, {len(posted):,} calls, {at_once} at once", each("calling", bare), "ms/call")
    for name, own in ours.items():

        def ratio(of_bare: str, of_own: str, own: list[dict[str, float]] = own) -> float:
            return statistics.median(rival[of_bare] / mine[of_own] for rival, mine in zip(bare, own, strict=True))

        yield Figure(f"{name} while calling", each("calling", own), "ms/call")
        yield Figure(f"{name}, whole command", each("whole", own), "ms/call")
        yield Figure(f"bare ÷ {name}, clock, while calling", ratio("calling_clock", "calling_clock"), "", 0.9)
        yield Figure(f"bare ÷ {name}, clock, whole command", ratio("calling_clock", "whole_clock"), "", 0.8)
        yield Figure("… the loop with its own start", ratio("whole_clock", "whole_clock"))
        yield Figure(f"bare ÷ {name}, CPU, while calling", ratio("calling", "calling"))
        yield Figure(f"bare ÷ {name}, CPU, whole command", ratio("calling", "whole"))
        yield Figure("… the loop with its own start", ratio("whole", "whole"))
        beside = [(o["whole"] - o["calling"], o["whole_clock"] - o["calling_clock"]) for o in own]
        yield Figure(f"{name} beside the calls", statistics.median(cpu for cpu, _ in beside), "s of CPU")
        yield Figure("… by the clock", statistics.median(clock for _, clock in beside), "s")


def serve() -> None:
    import asyncio
    import itertools

    import stub

    stub._Server.answers = itertools.cycle([stub._completion(json.dumps(ANSWER))])  # noqa: SLF001
    asyncio.run(stub.serve(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--before", type=Path, help="a folder with other code, timed in turn")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--ours", default="", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
    elif chosen.ours:
        print("\n" + json.dumps(our_process(*chosen.ours.split(","))))
    else:
        sources = {"ours": SOURCE, **({"before": chosen.before} if chosen.before else {})}
        figures = [*measure(chosen.at_once, chosen.runs, chosen.repeats, sources)]
        print(*figures, sep="\n")
        if chosen.json:
            chosen.json.write_text(json.dumps([f._asdict() for f in figures], indent=2))


if __name__ == "__main__":
    main()
