"""What a run of 1,000,000 ratings takes: bytes on disk, and of every command seconds and peak memory.

    python bench/scale_ratings.py [--quick] [--only status,report] [--chain] [--run DIR] [--json FILE]

The run has the shape of MentalBench (9 models, 4 judges, 3 people, 7 criteria), with four times its conversations, and
is written through the store, seeded: what judges and people say depends on a made-up quality of each reply, and every
text is different. A judge's answer gives all seven criteria; people rated a part. `--quick` makes a tenth of it;
`--chain` gives every criterion a rationale and a quote of its own, as judging by chain does. The run is kept with
`--run`, and used again where it is there. Each command runs in a process of its own; its peak memory is the most that the
kernel ever counted as resident (`VmHWM`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge import benchmarks
from mindgauge.models.settings import Settings
from mindgauge.models.spec import open_model
from mindgauge.records import Evidence, Exchange, Message, RaterKind, Rating, Reply, Sample, Status, Usage, digest
from mindgauge.runs import run_folder
from mindgauge.runs.options import RunConfig
from mindgauge.runs.steps import provenance
from mindgauge.store import Store, manifest, soundness
from mindgauge.store.opening import _check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

NAME = "mentalbench"
MODELS = tuple(f"http://127.0.0.1:9/v1#model-{letter}" for letter in "abcdefghi")
JUDGES = tuple(f"http://127.0.0.1:9/v1#judge-{letter}" for letter in "wxyz")
"""Nothing listens there: what is finished is not asked for."""
PEOPLE = ("ana", "ben", "chen")
CONVERSATIONS, BY_PEOPLE = 3800, 225
"""Conversations in all, and those whose replies people rated: 9 × 7 × (4 × 3,800 + 3 × 225) is 1,000,125 ratings."""
BYTES, SECONDS_OPEN, SECONDS_REPORT, MEGABYTES = 600, 2.0, 30.0, 1000.0
BATCH = 200
SAID = (
    "The last weeks have been long, and I notice that I am tired before the day begins.",
    "I keep going over the same conversation in my head and cannot put it down.",
    "My family means well, but I do not know how to tell them what I need.",
    "At work everything is due at once, and I am afraid to ask for more time.",
    "I moved here in spring and still know nobody whom I could call in the evening.",
    "Some days are better, and then a small thing goes wrong and I am back where I was.",
    "I would like to sleep through a night again without waking at four.",
    "It helps to write it down, but then I do not know what to do with it.",
)
ANSWERED = (
    "Thank you for telling me about this; it sounds as if you have carried it alone for a while.",
    "It makes sense that you feel worn out after so many days like that.",
    "You could begin with one small thing this week, such as a walk with somebody you like.",
    "Perhaps there is one person at work to whom you could say that the date is too close.",
    "Waking early is common in times of strain, and it often eases when the evenings get quieter.",
    "If the tiredness stays for several weeks, a doctor can look into what else may be behind it.",
    "You do not have to solve all of it at once, and a bad day does not undo the better ones.",
    "Writing it down is a good start; you might mark the one line that matters most to you.",
    "What would a friend say who knows how hard you have tried?",
    "I am glad that you found words for it, and I would like to hear more if you wish.",
)
REASONED = (
    "The reply names what the person feels and gives a reason why it is understandable.",
    "One step is doable this week, but how to begin it is left open.",
    "It explains why sleep suffers under strain, which is correct and to the point.",
    "The tone is kind throughout and does not press.",
    "Nothing in it could do harm, and a lasting symptom is sent to a doctor.",
    "It keeps to the concern, though the question at the end is general.",
    "Part of it would suit anyone with such a problem.",
)


class Figure(NamedTuple):
    """One measured number, and the most that it should be."""

    name: str
    value: float
    unit: str
    target: float | None = None

    def __str__(self) -> str:
        aim = f"≤ {self.target:g}" if self.target is not None else ""
        return f"{self.name:<40} {self.value:>12,.3f} {self.unit:<12} {aim}"


# -- a run ------------------------------------------------------------------------------------------------------------


class World:
    """What is said, by whom, and how good it is: the same for the same seed."""

    def __init__(self, conversations: int, by_people: int, *, chain: bool = False, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.benchmark = benchmarks.find_one(NAME)
        self.criteria = [criterion.name for criterion in self.benchmark.rubric.criteria]
        self.by_people = by_people
        self.chain = chain
        self.samples = [self._sample(i) for i in range(conversations)]
        self._quality = self.random.normal(3.6, 0.5, (len(MODELS), 1)) + self.random.normal(
            0, 0.6, (len(MODELS), conversations)
        )

    def _text(self, sentences: tuple[str, ...], count: int) -> str:
        return " ".join(sentences[i] for i in self.random.integers(0, len(sentences), count))

    def _sample(self, number: int) -> Sample:
        tags = {"language": "en", "conv_id": f"c{number:05}"}  # as those of the released conversations
        return Sample.of((Message("user", f"{self._text(SAID, 4)} This is day {number}."),), tags=tags)

    def replies(self) -> Iterator[tuple[int, int, Reply, Exchange]]:
        """Return every reply with its sample's and its model's number, and the call that it came from."""
        origins = [provenance(open_model(name, Settings()), {"temperature": 0.7}) for name in MODELS]
        for i, sample in enumerate(self.samples):
            for m, name in enumerate(MODELS):
                text = f"{self._text(ANSWERED, 12)} ({i}/{m})"
                at = 1.78e9 + float(self.random.random()) * 1e5
                usage = Usage(int(self.random.integers(150, 400)), int(self.random.integers(180, 320)))
                done = Exchange(
                    Status.OK, text, "stop", usage, float(self.random.random()) * 9, 1, name.partition("#")[2],
                    "fp_3c1e", 0.0004, "", at,
                )  # fmt: skip
                came = {"model": done.model_resolved, "fingerprint": done.fingerprint, "seed": 0, "at": at}
                yield i, m, Reply.of(
                    sample.id, name, 0, Status.OK, text, finish_reason="stop", usage=usage, seconds=done.seconds,
                    provenance={**origins[m], **came},
                ), done  # fmt: skip

    def values(self, m: int, i: int, noise: float, shift: float) -> NDArray[np.intp]:
        """Return one rater's values on all criteria for a reply."""
        seen = self._quality[m, i] + shift + self.random.normal(0, noise, len(self.criteria))
        levels: NDArray[np.intp] = np.clip(np.rint(seen), 1, 5).astype(np.intp)
        return levels

    def judged(
        self, m: int, i: int, reply: Reply, judge: int, origin: dict[str, object]
    ) -> tuple[list[Rating], Exchange]:
        """Return one judge's ratings of a reply, and the call that they came from."""
        values = self.values(m, i, 0.6, 0.1 * judge - 0.1).tolist()
        told = [self._reason(reply, judge, k) for k in range(len(values) if self.chain else 1)]
        if self.chain:
            answer: dict[str, object] = {
                name: {"quotes": [e[0].quote], "rationale": why, "uncertain": False, "value": value}
                for name, value, (why, e) in zip(self.criteria, values, told, strict=True)
            }
        else:
            ((why, quoted),) = told
            answer = {"quotes": [quoted[0].quote], "rationale": why, **dict(zip(self.criteria, values, strict=True))}
        thought = "" if self.chain else f"{self._text(REASONED, 5)}\n"
        unreadable = self.random.random() < 0.002
        text = f"{thought}{json.dumps(answer)}"[: 300 if unreadable else None]
        at = 1.78e9 + float(self.random.random()) * 1e5
        usage = Usage(int(self.random.integers(2600, 3200)), int(self.random.integers(150, 260)), 2048)
        done = Exchange(
            Status.OK, text, "stop", usage, float(self.random.random()) * 6, 1, JUDGES[judge].partition("#")[2],
            "fp_77aa", 0.0011, "", at,
        )  # fmt: skip
        key = self.random.bytes(16).hex()
        came = {
            **origin,
            "call": key,
            "model": done.model_resolved,
            "fingerprint": done.fingerprint,
            "at": at,
            "calls": [key],
        }
        status = Status.UNPARSABLE if unreadable else Status.OK
        return [
            Rating(
                reply.id, name, JUDGES[judge], RaterKind.MODEL, 0, status, None if unreadable else value,
                "" if unreadable else told[k if self.chain else 0][0], () if unreadable else told[k if self.chain else 0][1],
                self.instrument, came if not unreadable else {**came, "problem": "the JSON object breaks off"},
            )
            for k, (name, value) in enumerate(zip(self.criteria, values, strict=True))
        ], done  # fmt: skip

    @property
    def instrument(self) -> str:
        """What judges work with."""
        return self.benchmark.instrument().name

    def _reason(self, reply: Reply, judge: int, k: int) -> tuple[str, tuple[Evidence, ...]]:
        start = int(self.random.integers(0, len(reply.text) - 80))
        quote = reply.text[start : start + int(self.random.integers(40, 75))]
        why = f"{REASONED[int(self.random.integers(0, len(REASONED)))]} ({judge}.{k}.{start})"
        return why, (Evidence(quote, found=True, source="reply"),)


def build(folder: Path, world: World) -> int:
    """Write the run and its manifest; returns how many ratings it holds."""
    config = RunConfig()
    whole = run_folder.plan_record([world.benchmark], [world.samples], config, models=list(MODELS), judges=list(JUDGES))
    origins = [provenance(open_model(name, Settings()), {}) for name in JUDGES]
    people = {"project": "wording study 2026-05-01", "batch": 1, "phase": "labelling", "source": "page"}
    count = 0
    with Store(folder, write=True) as store:
        manifest.begin(folder, whole, "mindgauge run mentalbench …")
        store.put_samples(NAME, world.samples)
        for number, (i, m, reply, done) in enumerate(world.replies()):
            store.add_call(
                bytes.fromhex(digest("call", reply.id)), world.random.bytes(16), NAME, reply.model, 0, done, text=False
            )
            store.add_reply(NAME, reply)
            for judge in range(len(JUDGES)):
                ratings, made = world.judged(m, i, reply, judge, origins[judge])
                key = bytes.fromhex(ratings[0].provenance["call"])
                store.add_call(key, world.random.bytes(16), NAME, JUDGES[judge], 0, made)
                count += _kept(store, ratings)
            if i < world.by_people:
                for number_of, person in enumerate(PEOPLE):
                    given = world.values(m, i, 0.4, 0.1 * number_of - 0.1).tolist()
                    count += _kept(store, (
                        Rating(
                            reply.id, name, person, RaterKind.PERSON, 0, Status.OK, value, instrument=world.instrument,
                            provenance={**people, "at": "2026-05-04T10:00:00+00:00", "seconds": 8.5},
                        )
                        for name, value in zip(world.criteria, given, strict=True)
                    ))  # fmt: skip
            if number % BATCH == 0:
                store.flush()
    content = manifest.read(folder)
    manifest.write(folder, {**content, "seconds": 60.0, "cost": 0.0, "ended": manifest.now()})
    return count


def _kept(store: Store, ratings: Iterable[Rating]) -> int:
    count = 0
    for rating in ratings:
        store.add_rating(NAME, rating)
        count += 1
    return count


# -- measuring --------------------------------------------------------------------------------------------------------

_PEAK = """
import atexit, os
from pathlib import Path
atexit.register(lambda: Path(os.environ["PEAK"]).write_text(Path("/proc/self/status").read_text()))
"""
_OPEN = (
    _PEAK
    + """
import sys
from mindgauge.store import Store
with Store(Path(sys.argv[1])) as store:
    for query in ("SELECT status, count(*) FROM ratings GROUP BY 1", "SELECT status, count(*) FROM replies GROUP BY 1",
                  "SELECT status, count(*) FROM calls GROUP BY 1"):
        print(store.select(query).fetchall())
"""
)
_VERB = _PEAK + "import sys; from mindgauge.cli import main; main()"


def commands(run: Path, scratch: Path) -> dict[str, list[str]]:
    """Return every command that is measured, as arguments of the interpreter."""
    rate = [x for judge in JUDGES for x in ("--judge", judge)]
    told = {
        "status": ["status", run, "--json"],
        "score": ["score", run, "--json"],
        "report": ["report", run, "--out", scratch / "report.html"],
        "reliability": ["reliability", run, "--json"],
        "compare": ["compare", run, "--json"],
        "audit": ["audit", run, "--json"],
        "export csv": ["export", run, "--to", "csv", "--out", scratch / "csv"],
        "export parquet": ["export", run, "--to", "parquet", "--out", scratch / "parquet"],
        "rate (nothing left)": ["rate", NAME, "--replies", run, *rate, "--json"],
    }  # fmt: skip
    return {"open and count": ["-c", _OPEN, str(run)], **{k: ["-c", _VERB, *map(str, v)] for k, v in told.items()}}


def timed(arguments: list[str], scratch: Path) -> tuple[float, float, float]:
    """Run the interpreter; returns seconds, those of CPU, which other work changes less, and peak megabytes.

    Raises:
        RuntimeError: it failed.
    """
    log, peak = scratch / "log", scratch / "peak"
    with log.open("wb") as output:
        began = time.perf_counter()
        environment = {**os.environ, "PEAK": str(peak)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments], stdout=output, stderr=subprocess.STDOUT, env=environment, check=False
        )
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{arguments[2:]}: {log.read_text(errors='replace')[-500:]}")
    (kib,) = (line.split()[1] for line in peak.read_text().splitlines() if line.startswith("VmHWM"))
    computed = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, computed, int(kib) * 1024 / 1e6


def opening(run: Path) -> list[Figure]:
    """Measure what it takes to see that a run is as it was written; in seconds of CPU, which other work on the machine does not change."""
    found = []
    with Store(run) as store:
        for name, look in (
            ("see that its schema is ours", lambda: _check(store._db, store.path)),  # noqa: SLF001
            ("see that it is as it was closed", lambda: soundness._as_closed(store.path)),  # noqa: SLF001
            ("see so row by row (killed, live)", lambda: soundness._check_all(store._db, store.path)),  # noqa: SLF001
        ):
            seconds = []
            for _ in range(2):
                began = time.process_time()
                look()
                seconds.append(time.process_time() - began)
            found.append(Figure(name, min(seconds), "s of CPU"))
    return found


def size(run: Path) -> int:
    """Return the bytes of a run's database, its log included."""
    return sum(path.stat().st_size for path in run.glob("run.sqlite*"))


def measure(
    *, quick: bool = False, chain: bool = False, run: Path | None = None, only: tuple[str, ...] = ()
) -> list[Figure]:
    """Build the run, or take the one that is there, and measure everything."""
    found: list[Figure] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = run if run is not None else Path(scratch) / "run"
        if not (folder / "manifest.toml").is_file():
            began = time.perf_counter()
            share = 10 if quick else 1
            build(folder, World(CONVERSATIONS // share, BY_PEOPLE // share, chain=chain))
            found.append(Figure("write the run", time.perf_counter() - began, "s"))
        with Store(folder) as store:
            (count,) = store.select("SELECT count(*) FROM ratings").fetchone()
        found.append(Figure("ratings", count, ""))
        found.append(Figure("bytes per rating, calls and replies in", size(folder) / count, "bytes", BYTES))
        found += opening(folder)
        limits = {"open and count": SECONDS_OPEN, "status": SECONDS_OPEN, "report": SECONDS_REPORT}
        for name, arguments in commands(folder, Path(scratch)).items():
            if only and not any(name.startswith(each) for each in only):
                continue
            seconds, computed, peak = timed(arguments, Path(scratch))
            found += [
                Figure(name, seconds, "s", limits.get(name)),
                Figure(f"{name}: CPU", computed, "s of CPU"),
                Figure(f"{name}: memory", peak, "MB", MEGABYTES),
            ]
            print(*found[-3:], sep="\n", flush=True)
    return found


def main() -> None:
    """Parse, measure, show."""
    parser = argparse.ArgumentParser(description="What a run of 1,000,000 ratings takes.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the ratings")
    parser.add_argument("--chain", action="store_true", help="a rationale and a quote for every criterion")
    parser.add_argument("--run", type=Path, help="where the run is kept")
    parser.add_argument("--only", default="", help="commands, with commas between")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    options = parser.parse_args()
    only = tuple(filter(None, options.only.split(",")))
    found = measure(quick=options.quick, chain=options.chain, run=options.run, only=only)
    print("", *found, sep="\n")
    if options.json:
        options.json.write_text(json.dumps([figure._asdict() for figure in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
