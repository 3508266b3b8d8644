"""Bytes of a run that are flipped one by one: a run that has everything, and where its bytes are of which kind."""

from __future__ import annotations

import contextlib
import shutil
import struct
from typing import TYPE_CHECKING

import msgspec

from mindgauge import benchmarks
from mindgauge.records import Evidence, Exchange, RaterKind, Rating, Reply, Status, Usage
from mindgauge.records.files import private
from mindgauge.store import Store, manifest
from mindgauge.store.batches import Batches

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Sample

OPEN = "help_or_harm/response"
MODELS, JUDGES, PEOPLE = ("acme/alpha-2", "acme/beta-1"), ("other/judge-8",), ("Anna",)
GONE, NOBODY = "acme/gone", "nobody"
CONVERSATIONS = 10
PAGE, HEADER, FRAME = 4096, 100, 4096 + 24
INNER, LEAVES, OF_TABLE = {2, 5}, {10, 13}, {5, 13}
TONE = """
id = "tone"
version = "1"
source = "ours"

[[criteria]]
name = "tone"
text.en = "The tone."
scale = "ordinal"
levels = [{ value = 1, text = { en = "It turns away." } }, { value = 2, text = { en = "It stays." } }]
"""


def made(folder: Path, *, text: bool = True, killed: bool = False, deletes: bool = True) -> Path:
    """Write a run: samples, replies (long ones, too), ratings, calls and a batch; some ratings were deleted and changed.

    Args:
        folder: the run's.
        text: whether it keeps text.
        killed: leave it as a kill would, with all since its first commits in the log.
        deletes: whether anything is deleted.
    """
    task = benchmarks.find_one(OPEN)
    work = folder.with_name("at work") if killed else folder
    samples = task.samples(None)[:CONVERSATIONS]
    with Store(work, write=True, text=text) as store:
        plan = {"benchmarks": [OPEN], "models": [*MODELS], "judges": [*JUDGES], "runs": 1, "judge_runs": 1, "text": text, "temperature": 0.7}  # fmt: skip
        manifest.begin(work, plan, "mindgauge run help_or_harm/response")
        store.put_samples(OPEN, samples)
        for number, sample in enumerate(samples):
            for m, model in enumerate(MODELS):
                _said(store, task, sample, model, number + m)
                store.flush()
        for table, whose in (("ratings", f"rater = '{NOBODY}'"), ("calls", f"model = '{GONE}'")):
            if deletes:
                store.select(f"DELETE FROM {table} WHERE {whose}")
        store.add_call(
            b"last", b"p" * 16, OPEN, MODELS[0], 0, Exchange(Status.FAILED, error="503", cost=0.0), text=False
        )
        store.flush()
        _rubric(work)
        if killed:
            for name in ("run.sqlite", "run.sqlite-wal", "manifest.toml", "rubrics"):
                folder.mkdir(exist_ok=True)
                if (work / name).is_dir():
                    shutil.copytree(work / name, folder / name)
                else:
                    shutil.copyfile(work / name, folder / name)
    return folder


def _said(store: Store, task: Benchmark, sample: Sample, model: str, number: int) -> None:
    """Keep a reply of a model, with its call, and what everybody rates of it."""
    long = " Take the time that you need; I am still here." * (200 if number % 5 == 0 else 1)
    reply = Reply.of(sample.id, model, 0, Status.OK, f"That sounds hard ({number}).{long}", seconds=number / 7)
    done = Exchange(Status.OK, reply.text, "stop", Usage(30 + number, 40), 0.5, 1, model, "fp", 0.01 * number, "", 1.78e9 + number)  # fmt: skip
    store.add_call(bytes.fromhex(reply.id), b"p" * 16, OPEN, model, 0, done, text=False)
    store.add_call(
        bytes.fromhex(reply.id)[1:],
        b"p" * 16,
        OPEN,
        GONE,
        0,
        msgspec.structs.replace(done, text=f"No longer. {long * 2}"),
    )
    store.add_reply(OPEN, reply)
    for rater in (*JUDGES, *PEOPLE, NOBODY):
        kind = RaterKind.MODEL if rater in JUDGES else RaterKind.PERSON
        for criterion in task.rubric.criteria:
            value = criterion.values[(number + len(rater)) % len(criterion.values)]
            store.add_rating(OPEN, Rating(
                reply.id, criterion.name, rater, kind, 0, Status.OK, value, f"It listens ({number}).",
                (Evidence("sounds hard", found=True),), task.instrument().name, {"at": 1.78e9 + number, "software": "s"},
            ))  # fmt: skip
    store.add_rating(OPEN, Rating(reply.id, "tone/tone", "classifier/tone", RaterKind.CLASSIFIER, 0, Status.OK, 1 + number % 2, instrument="tone@1"))  # fmt: skip
    batches = Batches(store)
    batch = batches.intend(model, [(bytes.fromhex(reply.id)[::-1], 1)])
    batches.submitted(batch, f"batch_{number}")
    batches.remark(batch, "an answer to nobody's question was left out")


def _rubric(folder: Path) -> None:
    """Let a classifier have rated in a run by a rubric of its own."""
    (folder / "rubrics").mkdir(mode=0o700)
    (folder / "rubrics" / "tone.toml").write_bytes(private.seal(TONE))
    known = {"classifier/tone": {"instrument": "tone@1", "apart": {OPEN: "rubrics/tone.toml"}}}
    manifest.write(folder, {**manifest.read(folder), "classifiers": known, "seconds": 61.5, "cost": 1.25})


def places(run: Path) -> dict[str, list[tuple[str, int]]]:
    """Return the bytes of everything that a run holds, by what kind they are: file and place."""
    of_kind: dict[str, list[tuple[str, int]]] = {}
    for path in sorted(path for path in run.rglob("*") if path.is_file() and not path.name.endswith("-shm")):
        name, content = str(path.relative_to(run)), path.read_bytes()
        kinds = {"run.sqlite": _of_database, "run.sqlite-wal": _of_log}.get(path.name)
        for kind, at in kinds(content) if kinds else ((name, at) for at in range(len(content))):
            of_kind.setdefault(kind, []).append((name, at))
    return of_kind


def _of_database(content: bytes) -> Iterator[tuple[str, int]]:
    idle = set(_idle(content))
    leads = {1} | {part for part in range(2, len(content) // PAGE + 1) if part not in idle and _of_tree(content, part)}
    yield from (("the file's header", at) for at in range(HEADER))
    for number in range(1, len(content) // PAGE + 1):
        first = (number - 1) * PAGE
        if number in idle:
            yield from (("an idle page", at) for at in range(first, first + PAGE))
        elif number not in leads:
            yield from (("what goes on elsewhere", at) for at in range(first, first + PAGE))
        else:
            start = first + (HEADER if number == 1 else 0)
            cells, begin = struct.unpack_from(">HH", content, start + 3)
            header = start + (12 if content[start] in INNER else 8)
            kind = "the schema" if number == 1 else f"{'a table' if content[start] in OF_TABLE else 'an index'}'s {'inner ' if content[start] in INNER else ''}page"  # fmt: skip
            yield from (("a page's header", at) for at in range(start, header))
            yield from (("where rows begin", at) for at in range(header, header + 2 * cells))
            yield from (("nothing", at) for at in range(header + 2 * cells, first + begin))
            yield from ((kind, at) for at in range(first + begin, first + PAGE))


def _idle(content: bytes) -> Iterator[int]:
    trunk = int.from_bytes(content[32:36], "big")
    while trunk:
        following, count, *numbers = struct.unpack_from(f">{PAGE // 4}I", content, (trunk - 1) * PAGE)
        yield from (trunk, *numbers[:count])
        trunk = following


def _of_tree(content: bytes, number: int) -> bool:
    at = (number - 1) * PAGE
    cells, begin = struct.unpack_from(">HH", content, at + 3)
    return content[at] in INNER | LEAVES and 8 + 2 * cells <= begin <= PAGE


def _of_log(content: bytes) -> Iterator[tuple[str, int]]:
    last = len(content) - FRAME
    for at in range(len(content)):
        head = at < 32 or (at - 32) % FRAME < 24
        yield ("the log's last frame" if at >= last else "the log's frames" if head else "the log's pages"), at


@contextlib.contextmanager
def flipped(run: Path, name: str, at: int, draw: random.Random) -> Iterator[None]:
    """Have one byte of a file be another."""
    path = run / name
    before = path.read_bytes()
    after = bytearray(before)
    after[at] ^= draw.choice([1 << draw.randrange(8), draw.randrange(1, 256)])
    path.unlink()  # so that nothing takes it for the file that it knew
    path.write_bytes(after)
    try:
        yield
    finally:
        path.write_bytes(before)
        (run / "run.sqlite-shm").unlink(missing_ok=True)  # whoever reads a killed run next reads its log anew
