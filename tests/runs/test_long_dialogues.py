"""Dialogues of hundreds and thousands of turns: what is read and planned of them grows with their length, not its square."""

from __future__ import annotations

import json
import time
import tracemalloc
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.raters import window as windows
from mindgauge.raters.window import Unit, window
from mindgauge.records import HELD, Message, encode
from mindgauge.records.files import bounds
from mindgauge.runs import dialogue_files, inputs
from tests.in_process import mindgauge as typed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RISK = "conversations/risk"
SAID = ("Everything is hopeless today.", "That sounds hard.", "I slept a little.", "What helped?")


def talk(turns: int) -> list[Message]:
    return [Message("assistant" if n % 2 else "user", f"{SAID[n % 4]} {n}") for n in range(2 * turns)]


def written(folder: Path, turns: int) -> Path:
    path = folder / f"talk{turns}.jsonl"
    messages = [{"role": message.role, "content": message.content} for message in talk(turns)]
    path.write_text(json.dumps({"id": "long", "messages": messages}) + "\n", encoding="utf-8")
    return path


def most(work: Callable[[], object]) -> int:
    """Return the bytes that were taken at once."""
    tracemalloc.start()
    try:
        kept = work()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
    finally:
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("what", ["slots", "items", "closed question"])
def test_memory_grows_with_the_turns_of_a_dialogue(tmp_path: Path, what: str) -> None:
    risk, closed = (benchmarks.find_one(name) for name in (RISK, "dialogue_safety"))

    def read(path: Path) -> object:
        if what == "slots":
            return dialogue_files.read(path, risk, {}, tuple(Unit))
        if what == "items":
            return dialogue_files.cut(path, risk, {}, tuple(Unit), None)
        return [*inputs.cut_replies(path, closed, {}, None).planned()]

    closed_question = what == "closed question"  # whose samples are a tuple of messages each: 8 bytes a message
    sizes, limit = ((150, 300, 600), 3.0) if closed_question else ((500, 1000), 2.3)
    peaks = [most(partial(read, written(tmp_path, turns))) for turns in sizes]
    assert all(after < limit * before for before, after in pairwise(peaks)), peaks


def test_what_fits_is_chosen_from_sums_that_are_counted_once() -> None:
    counted = 0

    def cost(message: Message) -> int:
        nonlocal counted
        counted += 1
        return windows.size(message.content)

    said = talk(400)
    for end in range(2, len(said) + 1, 2):  # each reply with all before it
        window(said[:end], 2_000, cost)
    assert counted <= len(said) + 2


def test_time_grows_with_the_turns_of_a_dialogue() -> None:
    def taken(turns: int) -> float:
        said = [
            Message("assistant" if n % 2 else "user", f"The day was long, and I slept. {n}") for n in range(2 * turns)
        ]
        begun = time.process_time()
        for end in range(2, len(said) + 1, 2):
            window(said[:end], 500, _cost).transcript(said[: end - 1], "0" * 16)
        return time.process_time() - begun

    taken(100)
    short, long = (min(taken(turns) for _ in range(2)) for turns in (400, 800))
    assert long < 3 * short


def _cost(message: Message) -> int:
    return windows.size(message.content)


def test_each_beginning_is_written_as_the_list_of_its_messages(tmp_path: Path) -> None:
    read = dialogue_files.read(written(tmp_path, 4), benchmarks.find_one(RISK), {}, tuple(Unit))
    said = talk(4)
    held = {(r.provenance["unit"], r.provenance["turn"]): encode(r.provenance[HELD]) for r in read.replies}
    for turn in range(1, 5):
        assert held[Unit.TURN, turn] == encode(said[: 2 * turn - 1])
        assert held[Unit.CLIENT, turn] == encode(said[: 2 * turn - 2 : 2])
    assert held[Unit.DIALOGUE, 4] == encode(said[:-1])
    assert read.replies[-1].answered(read.samples[-1]).messages == tuple(said[:-1])


def shapes(folder: Path, turns: int) -> dict[str, Path]:
    """Write one dialogue in every way that is read: a dialogue a row, a message a row, text."""
    said = talk(turns)
    (folder / "rows.csv").write_text("id,role,content\n" + "".join(f"d,{m.role},{m.content}\n" for m in said))
    (folder / "text.txt").write_text("".join(f"{m.role}: {m.content}\n" for m in said))
    (folder / "list.json").write_text(json.dumps([{"role": m.role, "content": m.content} for m in said]))
    return {
        "jsonl": written(folder, turns),
        **{name.partition(".")[0]: folder / name for name in ("rows.csv", "text.txt", "list.json")},
    }


@pytest.mark.parametrize("shape", ["jsonl", "rows", "text", "list"])
def test_more_turns_than_are_read_are_refused_in_one_line(
    tmp_path: Path, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "TURNS", 20)
    path = shapes(tmp_path, 21)[shape]
    for command in (
        ["rate", RISK, "--dialogues", path, "--judge", "http://127.0.0.1:9/v1#judge", "--unit", "both", "--dry-run"],
        ["rate", "dialogue_safety", "--dialogues", path, "--judge", "http://127.0.0.1:9/v1#judge", "--dry-run"],
        [
            "annotate",
            "new",
            tmp_path / "labels",
            "--items",
            path,
            "--benchmark",
            RISK,
            "--unit",
            "turn",
            "--annotators",
            "ana,ben",
        ],
        ["logs", path],
    ):
        done = typed(*map(str, command))
        assert done.returncode == 2, (command, done)
        assert str(path) in done.stderr and "it has 21 turns, and at most 20 are read" in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1 and "split it into several dialogues" in done.stderr
    assert typed("logs", str(shapes(tmp_path, 20)[shape])).returncode == 0
