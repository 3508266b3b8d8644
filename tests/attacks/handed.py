"""Hands files to the readers of every verb, in a process with little memory, and says what came of it.

`python -m tests.attacks.handed` reads lines of a reader and a path, and writes a line of JSON for each.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MEMORY = 2 << 30
"""Bytes of address space that a process of readers has, Python and its libraries included."""
SECONDS = 60
"""Of wall time that one reader has for one file."""


class Outcome(NamedTuple):
    """What a reader did with a file: `read` it, `refused` it in a line, `raised` something else, or ended or overran its process."""

    reader: str
    file: str
    how: str
    said: str = ""
    seconds: float = 0.0


def _rate(path: Path) -> object:
    from mindgauge import benchmarks
    from mindgauge.runs.reply_tables import read_replies

    return read_replies(path, benchmarks.find_one("help_or_harm/response"), {})


def _transcripts(path: Path) -> object:
    from mindgauge.records.transcripts import read

    return read(path)


def _train(path: Path) -> object:
    from mindgauge.raters.classifiers import dialogues

    found = dialogues.rows(path, {})
    return list(dialogues.samples(found, dialogues.rubric_of(found, path.stem).criteria[0]))


def _queue(path: Path) -> object:
    from mindgauge.annotation.items import read_queue

    return read_queue(path, {"s1": "s1", "s2": "s2"})


def _labels(path: Path) -> object:
    from mindgauge import benchmarks
    from mindgauge.runs.labelled import _of_file

    return _of_file(path, benchmarks.find_one("help_or_harm/response"), {})


def _import(path: Path) -> object:
    from mindgauge.annotation.exchange import Known, reading

    return reading.read(path, Known((), (), lambda item: None))  # type: ignore[arg-type, return-value]


def _replay(path: Path) -> object:
    from mindgauge.models.replay import Replay

    return list(Replay(f"replay/{path}")._replies.items())


def _reliability(path: Path) -> object:
    from mindgauge.analysis.reliability import ratings

    return ratings.read([path]).frame.height


def _audit(path: Path) -> object:
    from mindgauge.commands.audit import audit

    return audit(path)


def _own_table(path: Path) -> object:
    from mindgauge.benchmarks.psycrisis.released import load_mapped

    return load_mapped(path, {"user": "user", "reply": "reply"})


def _released(name: str, called: str) -> Callable[[Path], object]:
    """Return what reads a file as one of a benchmark's, under a name that the benchmark knows."""

    def read(path: Path) -> object:
        from mindgauge import benchmarks

        folder = path.parent / f"{path.name} {name.replace('/', ' ')}"
        folder.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (folder / called).parent.mkdir(parents=True, exist_ok=True)
            (folder / called).symlink_to(path)
        found = benchmarks.find_one(name)
        assert found.load is not None
        return found.load(folder)

    return read


def _within(called: str, reader: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return what reads a file in a folder of its own, under this name."""

    def read(path: Path) -> object:
        folder = path.parent / f"{path.name} in {called}"
        folder.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (folder / called).symlink_to(path)
        return reader(folder)

    return read


def _rubric(path: Path) -> object:
    from mindgauge.records.rubric import Rubric

    return Rubric.load(path)


def _rule(path: Path) -> object:
    from mindgauge.analysis.reliability import rule

    return rule.load(path)


def _mapping(folder: Path) -> object:
    from mindgauge.records.files.mapping import beside

    return beside(folder / "table.csv")


def _manifest(folder: Path) -> object:
    from mindgauge.store import manifest

    return manifest.read(folder)


def _suite(folder: Path) -> object:
    from mindgauge.benchmarks.suite import Suite

    return Suite.load(folder)


def _project(folder: Path) -> object:
    from mindgauge.annotation import setup

    return str(setup.read(folder))


def _classifier(folder: Path) -> object:
    from mindgauge.raters.classifier import open_classifier

    return str(open_classifier(folder))


def _seen(folder: Path) -> object:
    from mindgauge.raters.classifiers.dialogues import TrainingDigests

    return TrainingDigests.load(folder)


def _tfidf(folder: Path) -> object:
    from mindgauge.raters.classifier import weights_hash
    from mindgauge.raters.classifiers.tfidf import Tfidf

    return weights_hash(folder), Tfidf.load(folder)


def _secret(folder: Path) -> object:
    from mindgauge.annotation.blind import Blind

    return str(Blind.of(folder))


TABLES: dict[str, Callable[[Path], object]] = {
    "rate": _rate, "rate dialogues": _transcripts, "train": _train, "annotate queue": _queue, "judges": _labels, "annotate import": _import,
    "replay": _replay, "reliability": _reliability, "audit": _audit, "load psycrisis": _own_table,
}  # fmt: skip
INPUTS = "processed/sampled_dataset_1.json"
READERS: dict[str, dict[str, Callable[[Path], object]]] = {
    "csv": {**TABLES, "load mentalbench": _released("mentalbench", "Human_Judge.csv"), "load trustmh": _released("trustmh/ethics", "EthicMH.csv")},
    "jsonl": TABLES,
    "parquet": TABLES,
    "json": {
        **TABLES, "classifier's digests": _within("seen.json", _seen),
        "load help_or_harm": _released("help_or_harm/crisis_type", INPUTS), "load dialogue_safety": _released("dialogue_safety", "test.json"),
    },
    "xlsx": {**TABLES, "load mentalbench": _released("mentalbench", "Human_Judge.xlsx")},
    "zip": {
        **TABLES, "load help_or_harm": _released("help_or_harm/crisis_type", "data.zip"),
        "load dialogue_safety": _released("dialogue_safety", "data.zip"), "load psycrisis from a folder": _released("psycrisis", "data.zip"),
        "load mentalbench": _released("mentalbench", "data.zip"), "load trustmh": _released("trustmh/ethics", "ethics.zip"),
    },
    "toml": {
        "rubric": _rubric, "rule": _rule, "columns": _within("columns.toml", _mapping), "manifest": _within("manifest.toml", _manifest),
        "suite": _within("suite.toml", _suite), "project": _within("annotation.toml", _project),
        "classifier": _within("classifier.toml", _classifier), "secret": _within("blind.key", _secret),
    },
    "safetensors": {"weights": _within("model.safetensors", _tfidf)},
}  # fmt: skip
"""The readers of a file by its ending."""


def _noted(found: object) -> str:
    """Return what an audit remarks on reading its files, which it reads where others refuse them."""
    notes = (finding for finding in getattr(found, "findings", ()) if finding.id == "reader_notes")
    return "; ".join(place for finding in notes for place in finding.where)


def _hand(reader: str, path: Path) -> Outcome:
    from mindgauge.records.errors import MindgaugeError

    begun = time.monotonic()
    try:
        found = READERS[path.suffix[1:]][reader](path)
        with contextlib.suppress(TypeError):
            msgspec.json.encode(found)  # what is kept and shown later
        how, said = "read", _noted(found)
    except MindgaugeError as error:
        how, said = "refused", str(error)
        said.encode()
    except BaseException as error:  # noqa: BLE001 - whatever a reader lets out
        how, said = "raised", f"{type(error).__name__}: {error}"[:300]
    return Outcome(reader, path.name, how, said, time.monotonic() - begun)


def main() -> None:
    """Answer lines of a reader and a path."""
    import polars  # noqa: F401 - not counted as a reader's time

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(_hand(*_task(json.loads(line)))), file=answers, flush=True)


def _task(task: list[str]) -> tuple[str, Path]:
    return task[0], Path(task[1])


def hand_in(tasks: Iterable[tuple[str, Path]]) -> Iterator[Outcome]:
    """Hand each file to its reader; a process that ends or takes too long is followed by another."""
    process: subprocess.Popen[str] | None = None
    for reader, path in tasks:
        if process is None or process.poll() is not None:
            process = _begun()
        assert process.stdin is not None
        process.stdin.write(json.dumps([reader, str(path)]) + "\n")
        process.stdin.flush()
        answer = _answer(process)
        if answer is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)  # its answers end before it does
            over = process.poll() is None
            _end(process)
            yield Outcome(reader, path.name, "overran" if over else f"ended ({process.returncode})", "", SECONDS)
        else:
            yield Outcome(*json.loads(answer))
    if process is not None:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with contextlib.suppress(OSError):
            pipe.close()


def _begun() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.attacks.handed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, env={**os.environ, "POLARS_MAX_THREADS": "2"},
    )  # fmt: skip


def _answer(process: subprocess.Popen[str]) -> str | None:
    assert process.stdout is not None
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: lines.put(process.stdout.readline()), daemon=True).start()  # type: ignore[union-attr]
    with contextlib.suppress(queue.Empty):
        return lines.get(timeout=SECONDS) or None
    return None


def all_tasks(folder: Path, names: Iterable[str], making: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """Make each file and yield every reader of it; the file is gone afterwards."""
    for name in names:
        path = folder / name
        making[name].make(path)
        for reader in READERS[path.suffix[1:]]:
            yield reader, path
        if path.is_symlink() or not path.is_dir():
            path.unlink()


if __name__ == "__main__":
    main()
