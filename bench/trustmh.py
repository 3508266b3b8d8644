"""How long TrustMH-Bench takes: reading its files, making its variants, reproducing its numbers, and a closed pass.

    python bench/trustmh.py --data DIR [--only reading,generating,reproduce,closed] [--repeats 5] [--json FILE]

`DIR` is a copy of the released files. It takes about two minutes.

reading     Every released file, in a fresh process each time, checks and repairs included. The rival opens the same
            files, takes out of the zips what is in them, and leaves it at `json`, `csv` and lines. The two alternate.
generating  In a fresh process: the 70 requests in all fourteen kinds, the samples of the jailbreak task (the 560 released
            ones and the six generated kinds), every dialogue of the fairness task with every sentence at three turns,
            and the 300 windows of ESConv with noise at three depths and four intensities. Reading included.
reproduce   `mindgauge papers reproduce trustmh`, start to table, its intervals of 10,000 resamples included.
closed      The closed tasks (knowledge, emotion, privacy awareness, ethics) against the stub server at 50 ms: samples
            into a fresh run, plan, fill the prompt, hash, call, read the answer, commit. The bare loop posts the same
            bodies, a task at a time as ours does, reads the answers and forgets them. The ratio is the median over pairs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import io
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import stub
from bare import post_all
from engine import LATENCY, Figure
from mindgauge import benchmarks
from mindgauge.benchmarks.trustmh import trustmh
from mindgauge.benchmarks.trustmh.emotion import emotion
from mindgauge.benchmarks.trustmh.ethics import dilemmas
from mindgauge.benchmarks.trustmh.jailbreak import jailbreak
from mindgauge.benchmarks.trustmh.knowledge import knowledge
from mindgauge.benchmarks.trustmh.privacy_awareness import privacy_awareness
from mindgauge.benchmarks.trustmh.privacy_leakage import privacy_leakage
from mindgauge.benchmarks.trustmh.released import dialogues, outputs
from mindgauge.benchmarks.trustmh.released.files import TrustMHRelease
from mindgauge.benchmarks.variants.jailbreak import JailbreakKind, transform
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.runs import plan
from mindgauge.runs.rating_steps import RatingStep, ReadingStep
from mindgauge.runs.session import Budget, Session
from mindgauge.runs.steps import ReplyStep, reply_request
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mindgauge.benchmarks import Benchmark
    from mindgauge.raters.judge import Judge
    from mindgauge.records import Sample
    from mindgauge.records.request import Request

CLOSED = ("knowledge", "emotion", "privacy_awareness", "ethics")
AT_ONCE = (50, 200)
ANSWER = {
    "quotes": ["I have not slept"], "rationale": "It is said so in the text.", "choice": "A", "emotion": "B", "cause": "A",
    "sensitivity": 3, "appropriateness": -50, "reasoning": "It keeps what was said in confidence.",
}  # fmt: skip
"""One answer that every one of the closed tasks can read."""


# -- reading and generating: each in a process of its own --------------------------------------------------------------


def read_all(data: Path) -> int:
    """Read every released file with what the tasks read it with; return how many records there are."""
    files = TrustMHRelease.below(data)
    found: list[Any] = [
        knowledge.examination(files, knowledge.USMLE, 727)[0],
        knowledge.examination(files, knowledge.CRISIS_QA, 153)[0],
        emotion.understanding(files)[0],
        dialogues.windows(files)[0],
        dialogues.for_fairness(files)[0],
        dialogues.counselling(files)[0],
        trustmh.users(files)[0],
        jailbreak.plain(files)[0],
        jailbreak.transformed(files)[0],
        jailbreak.templates(files)[0],
        privacy_awareness.expectations(files)[0],
        privacy_leakage.secrets(files)[0],
        trustmh.questions(files)[0],
        trustmh.posts(files)[0],
        dilemmas.dilemmas(files)[0],
        [dilemmas.stored_in(*place) for place in files.matching(dilemmas.STORED)],
        outputs.answers(files)[0],
        outputs.replies(files)[0],
        outputs.stated_correlations(files)[0],
        outputs.stated_leakage(files)[0],
    ]
    return sum(map(len, found))


def open_all(data: Path) -> int:
    """Open the same files by hand, with no check and no repair; return how many records there are."""
    found = 0
    for path in sorted(p for p in data.rglob("*") if p.is_file()):
        if path.suffix != ".zip":
            found += opened(path.name, path.read_bytes())
            continue
        with zipfile.ZipFile(path) as packed:
            found += sum(opened(i.filename, packed.read(i)) for i in packed.infolist() if not i.is_dir())
    return found


def opened(name: str, content: bytes) -> int:
    text = content.decode("utf-8-sig", "replace")
    if name.endswith(".json"):
        return len(json.loads(text))
    if name.endswith(".jsonl"):
        return len([json.loads(line) for line in text.splitlines() if line])
    if name.endswith(".csv"):
        csv.field_size_limit(1 << 30)
        return len([*csv.DictReader(io.StringIO(text, newline=""))])
    return len(text.splitlines())


def generate(data: Path) -> dict[str, int]:
    """Make all variants; return how many of each."""
    files = TrustMHRelease.below(data)
    templates, _ = jailbreak.templates(files)
    plain, _ = jailbreak.plain(files)
    transformed = [transform(one.text, kind, templates=templates) for one in plain for kind in JailbreakKind]
    made = {"released", "generated", "ours"}
    return {
        "requests × kinds": len(transformed),
        "jailbreak": len(samples("jailbreak", data, made=made)),
        "fairness": len(samples("fairness", data)),
        "noisy windows": len(samples("robustness_support", data, drawn={"60", "300"})),
    }


def samples(task: str, data: Path, **where: set[str]) -> list[Sample]:
    kept = {tag: tuple(values) for tag, values in where.items()}
    return benchmarks.find_one(f"trustmh/{task}").samples(data, kept)


PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""
PROCESSES: dict[str, Callable[[Path], Any]] = {"read": read_all, "open": open_all, "generate": generate}


def process(name: str, data: Path) -> None:
    """Be a process that `fresh` starts: do it, print what it took."""
    began = time.perf_counter()
    found = PROCESSES[name](data)
    print(json.dumps({"found": found, "seconds": time.perf_counter() - began}))


def fresh(name: str, data: Path) -> dict[str, Any]:
    """Do something in a process of its own: what it found, its seconds with and without start, its peak memory in MB."""
    found = measured(sys.executable, __file__, "--data", str(data), "--process", name)
    return {**found, **json.loads(found["said"])}


def measured(*command: str) -> dict[str, Any]:
    """Run a command; what it said, seconds of wall clock and of CPU, and peak memory in MB, it and its children alone."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", PEAK, *command], stdout=subprocess.PIPE, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said, _, megabytes = done.stdout.rstrip().rpartition("\n")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"said": said, "wall": time.perf_counter() - began, "cpu": cpu, "megabytes": float(megabytes)}


def median(rows: list[dict[str, Any]], column: str) -> float:
    return float(statistics.median(row[column] for row in rows))


def reading(data: Path, repeats: int) -> Iterable[Figure]:
    """Compare reading with opening by hand."""
    pairs = [(fresh("read", data), fresh("open", data)) for _ in range(repeats)]
    ours, theirs = ([pair[place] for pair in pairs] for place in (0, 1))
    yield Figure("every released file read", median(ours, "seconds"), "s", 5, at_most=True)
    yield Figure("… the whole process", median(ours, "wall"), "s", 5, at_most=True)
    yield Figure("… its peak memory", median(ours, "megabytes"), "MB", 500, at_most=True)
    yield Figure("… records", ours[0]["found"])
    yield Figure("json, csv and lines by hand, no checks", median(theirs, "seconds"), "s")
    yield Figure("… the whole process", median(theirs, "wall"), "s")
    yield Figure("… its peak memory", median(theirs, "megabytes"), "MB")
    yield Figure("ours ÷ by hand", statistics.median(a["seconds"] / b["seconds"] for a, b in pairs), "×")


def generating(data: Path, repeats: int) -> Iterable[Figure]:
    """Time all variants."""
    rows = [fresh("generate", data) for _ in range(repeats)]
    yield Figure("all variants made", median(rows, "seconds"), "s", 10, at_most=True)
    yield Figure("… the whole process", median(rows, "wall"), "s", 10, at_most=True)
    yield Figure("… its peak memory", median(rows, "megabytes"), "MB")
    for name, count in rows[0]["found"].items():
        yield Figure(f"… {name}", count)


def reproduce(data: Path, repeats: int) -> Iterable[Figure]:
    """Time `mindgauge papers reproduce trustmh`."""
    mindgauge = str(Path(sys.executable).with_name("mindgauge"))
    rows = [
        measured(mindgauge, "papers", "reproduce", "trustmh", "--data", str(data), "--json") for _ in range(repeats)
    ]
    yield Figure("reproduce trustmh, start to table", median(rows, "wall"), "s", 15, at_most=True)
    yield Figure("… of CPU", median(rows, "cpu"), "s")
    yield Figure("… its peak memory", median(rows, "megabytes"), "MB")


# -- a closed pass ----------------------------------------------------------------------------------------------------


def asked(data: Path) -> list[tuple[Benchmark, list[Sample]]]:
    found = [benchmarks.find_one(f"trustmh/{task}") for task in CLOSED]
    return [(benchmark, benchmark.samples(data)) for benchmark in found]


def judge_of(benchmark: Benchmark, model: Any) -> Judge:
    return plan.judge_for(model, benchmark.instrument(), {})


def bodies(url: str, tasks: list[tuple[Benchmark, list[Sample]]]) -> list[list[dict[str, Any]]]:
    """Return what is posted for each task."""
    model: Any = open_model(f"{url}#stub", Settings())

    def requests(benchmark: Benchmark, sample: Sample) -> list[Request]:
        return (
            judge_of(benchmark, model).requests(sample)
            if benchmark.closed
            else [reply_request(benchmark, sample, 0, {})]
        )

    return [[model._body(r) for sample in its for r in requests(benchmark, sample)] for benchmark, its in tasks]  # noqa: SLF001


def bare(url: str, at_once: int, posted: list[list[dict[str, Any]]]) -> float:
    """Post the same with aiohttp and nothing else, one task after the other."""

    async def every() -> None:
        for of_task in posted:
            await post_all(url, at_once, of_task)

    began = time.perf_counter()
    asyncio.run(every())
    return time.perf_counter() - began


def ours(url: str, at_once: int, tasks: list[tuple[Benchmark, list[Sample]]]) -> float:
    """Put the tasks to a model in a fresh run, and read every answer."""

    async def every(folder: Path) -> None:
        model = open_model(f"{url}#stub", Settings(concurrency=at_once))
        with Store(folder, write=True) as store:
            session = Session(store, concurrency=at_once, budget=Budget(None))
            async with session.holding(model):
                for benchmark, its in tasks:
                    store.put_samples(benchmark.name, its)
                    if benchmark.closed:
                        await RatingStep(benchmark=benchmark, model=model, judge=judge_of(benchmark, model)).work(
                            session
                        )
                    else:
                        await ReplyStep(benchmark=benchmark, model=model).work(session)
                        ReadingStep(benchmark).work(store)
            (read,) = store.select("SELECT count(DISTINCT subject) FROM ratings WHERE status = 'ok'", ()).fetchone()
            assert read == sum(len(its) for _, its in tasks)

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        asyncio.run(every(Path(folder) / "run"))
        return time.perf_counter() - began


def closed(data: Path, repeats: int) -> Iterable[Figure]:
    """Compare a pass over the closed tasks with the bare loop."""
    tasks = asked(data)
    with server() as served:
        url = served.url(LATENCY)
        posted = bodies(url, tasks)
        count = sum(map(len, posted))
        yield Figure("closed tasks, calls of one pass", count)
        for at_once in AT_ONCE:
            ours(url, at_once, tasks[1:2]), bare(url, at_once, posted[1:2])
            pairs = []
            for turn in range(repeats):
                first = ours(url, at_once, tasks) if turn % 2 else None
                second = bare(url, at_once, posted)
                pairs.append((first or ours(url, at_once, tasks), second))
            rates = [(count / a, count / b) for a, b in pairs]
            at = f"{at_once} at once"
            yield Figure(f"bare aiohttp loop, {at}", statistics.median(b for _, b in rates), "calls/s")
            yield Figure(f"ours, {at}", statistics.median(a for a, _ in rates), "calls/s")
            yield Figure(f"ours ÷ bare, {at}", statistics.median(a / b for a, b in rates), "", 0.85)


@contextlib.contextmanager
def server() -> Iterator[stub.Stub]:
    """Serve the stub with answers that the closed tasks can read."""
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield stub.Stub(process)
        finally:
            process.terminate()


def serve() -> None:
    stub._Server.answers = itertools.cycle([stub._completion(json.dumps(ANSWER))])  # noqa: SLF001
    asyncio.run(stub.serve(0))


# -- all of it --------------------------------------------------------------------------------------------------------

STEPS: dict[str, Callable[[Path, int], Iterable[Figure]]] = {
    "reading": reading,
    "generating": generating,
    "reproduce": reproduce,
    "closed": closed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a copy of the released files")
    parser.add_argument("--only", default=",".join(STEPS), help="some of the steps, separated by commas")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--process", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve()
        return
    if chosen.data is None:
        parser.error("give --data DIR")
    if chosen.process:
        process(chosen.process, chosen.data)
        return
    figures: list[Figure] = []
    for name in chosen.only.split(","):
        for figure in STEPS[name](chosen.data, chosen.repeats):
            print(figure, flush=True)
            figures.append(figure)
    if chosen.json:
        chosen.json.write_bytes(msgspec.json.format(msgspec.json.encode([f._asdict() for f in figures])))


if __name__ == "__main__":
    main()
