"""How long the hub layout takes, there and back: evaluations of a run exported, loaded, and exported again.

    python bench/hub.py [--evaluations 100000]

Writes a run of four models' replies and two judges who rated each three times, and times the three commands; the two exports
are held against each other, byte by byte.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import mindgauge
from mindgauge import benchmarks
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.store import Store, manifest

NAME = "help_or_harm/response"
MODELS, JUDGES, REPEATS = 4, 2, 3
LABELS = ("suicidal_ideation", "self-harm", "anxiety_crisis", "no_crisis")
WORDS = "I hear how heavy this is, and I am glad that you wrote. Is there somebody near you whom you could call now? "


def write_run(folder: Path, evaluations: int) -> int:
    """Write a run with so many evaluations; return how many there are."""
    benchmark = benchmarks.find_one(NAME)
    items = evaluations // (MODELS * JUDGES * REPEATS)
    samples = [
        Sample.of((Message("user", f"Message {n}: the evenings are long."),), tags={"category": LABELS[n % len(LABELS)], "language": "en"})
        for n in range(items)
    ]  # fmt: skip
    plan = {"benchmarks": [NAME], "instruments": [benchmark.instrument().name], "samples": ["bench"], "runs": 1}
    with Store(folder, write=True) as store:
        manifest.begin(folder, plan, "")
        store.put_samples(NAME, samples)
        for model in range(MODELS):
            for number, sample in enumerate(samples):
                words = f"{WORDS * (number % 12 + 1)}({model})"
                reply = Reply.of(
                    sample.id, f"lab/model-{model}", 0, Status.OK, words, provenance={"model": f"model-{model}"}
                )
                store.add_reply(NAME, reply)
                for judge in range(JUDGES):
                    for run in range(REPEATS):
                        store.add_rating(NAME, Rating(
                            reply.id, "appropriateness", f"lab/judge-{judge}", RaterKind.MODEL, run, Status.OK,
                            1 + (number + model + run * judge) % 5, "It asks about help nearby, and stays with the person.",
                            instrument=benchmark.instrument().name, provenance={"model": f"judge-{judge}", "at": float(number)},
                        ))  # fmt: skip
            store.flush()
    return items * MODELS * JUDGES * REPEATS


def main() -> None:
    """Time the way there and back."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluations", type=int, default=100_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        count = write_run(folder / "run", asked.evaluations)
        times = {}

        def timed(title: str, begun: float) -> None:
            times[title] = time.perf_counter() - begun

        begun = time.perf_counter()
        mindgauge.export(folder / "run", to="hub", out=folder / "hub", licence="CC-BY-4.0")
        timed("export", begun)
        begun = time.perf_counter()
        mindgauge.papers_load(NAME, data=folder / "hub", out=folder / "loaded")
        timed("load", begun)
        begun = time.perf_counter()
        mindgauge.export(folder / "loaded", to="hub", out=folder / "again", licence="CC-BY-4.0")
        timed("export again", begun)
        first, second = (
            {
                path.relative_to(folder / name): path.read_bytes()
                for path in (folder / name).rglob("*")
                if path.is_file()
            }
            for name in ("hub", "again")
        )
        size = sum(map(len, first.values())) / 1e6
        print(f"{count:,} evaluations, {len(first)} files, {size:.1f} MB: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in times.items()))  # fmt: skip
        print("equal to the byte" if first == second else "NOT equal")


if __name__ == "__main__":
    main()
