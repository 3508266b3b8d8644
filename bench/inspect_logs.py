"""A run of 10,000 judged replies as a log of Inspect, and back: seconds, megabytes, and inspect-ai's own reader beside ours.

`python bench/inspect_logs.py [--replies N]`, in a Python that has inspect-ai for its figure; no call is made.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindgauge import benchmarks
from mindgauge.analysis import frame
from mindgauge.commands.export import export
from mindgauge.records import (
    Evidence,
    Message,
    RaterKind,
    Rating,
    Reply,
    Sample,
    Status,
    inspect_logs,
    ratings,
    transcripts,
)
from mindgauge.records.inspect_logs import rows
from mindgauge.runs.reply_tables import read_replies
from mindgauge.store import Store, manifest

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "mentalbench"
WORDS = [
    "I",
    "hear",
    "how",
    "much",
    "weight",
    "you",
    "have",
    "carried",
    "these",
    "weeks",
    "and",
    "I",
    "am",
    "glad",
    "that",
    "you",
    "wrote",
    "it",
    "down",
    "here",
]
LENGTH = 230
"""Words of a reply: the smaller of the published means."""


def write_run(folder: Path, replies: int) -> None:
    benchmark = benchmarks.find_one(NAME)
    texts = [" ".join(WORDS[(n * k + k) % len(WORDS)] for k in range(LENGTH)) for n in range(97)]
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [NAME], "models": ["acme/kind"]}, "bench")
        for start in range(0, replies, 1000):
            block = range(start, min(start + 1000, replies))
            samples = [
                Sample.of((Message("user", f"{n}: {texts[n % 97][:400]}"),), tags={"language": "en"}) for n in block
            ]
            store.put_samples(NAME, samples)
            for n, sample in zip(block, samples, strict=True):
                reply = Reply.of(sample.id, "acme/kind", 0, Status.OK, texts[(n * 7) % 97], seconds=1.0)
                store.add_reply(NAME, reply)
                quotes = (Evidence(reply.text[:60], found=True, source="reply", start=0, end=60),)
                for place, criterion in enumerate(benchmark.rubric.criteria):
                    store.add_rating(
                        NAME,
                        Rating(
                            reply.id, criterion.name, "acme/judge", RaterKind.MODEL, 0, Status.OK,
                            criterion.values[(n + place) % len(criterion.values)], f"It names what weighs on the person ({n}).",
                            quotes, "mentalbench@1#0", {"call": f"{n:032x}", "model": "judge-2026", "at": float(n)},
                        ),
                    )  # fmt: skip
            store.flush()


def as_json(path: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        header = archive.read("header.json").rstrip()[:-1]
        samples = b",".join(archive.read(n) for n in archive.namelist() if n.startswith("samples/"))
    plain = path.with_suffix(".json")
    plain.write_bytes(header + b', "samples": [' + samples + b"]}")
    return plain


def timed(name: str, function: Callable[[], Any], limit: float = 0.0) -> Any:
    began = time.perf_counter()
    value = function()
    seconds = time.perf_counter() - began
    reach = f" (to reach: {limit:g} s)" if limit else ""
    print(f"{name:<64} {seconds:6.2f} s{reach}")
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=10_000)
    replies = parser.parse_args().replies
    with tempfile.TemporaryDirectory() as place:
        run, out = Path(place) / "run", Path(place) / "logs"
        write_run(run, replies)
        timed(f"export of {replies:,} judged replies to .eval", lambda: export(run, to="inspect", out=out))
        (path,) = out.glob("*.eval")
        print(f"{'the log':<64} {path.stat().st_size / 1e6:6.1f} MB")
        frame.forget()
        log = inspect_logs.opened(path)
        assert log is not None
        timed("read sample by sample, as rows", lambda: sum(1 for _ in rows.replies(log).records()), 5)
        timed("read as replies", lambda: read_replies(path, benchmarks.find_one(NAME), {}), 5)
        timed("read as ratings", lambda: ratings.read([path]), 5)
        timed("read as dialogues", lambda: transcripts.read(path), 5)
        plain = as_json(path)
        print(f"{'the same log as JSON':<64} {plain.stat().st_size / 1e6:6.1f} MB")
        timed("the same log as JSON, read as ratings", lambda: ratings.read([plain]), 5)
        try:
            from inspect_ai.log import read_eval_log
        except ImportError:
            print("inspect-ai is not installed here, so its own reader is not timed")
            return
        timed("inspect-ai: read_eval_log", lambda: read_eval_log(str(path)))


if __name__ == "__main__":
    main()
