from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mindgauge.errors import MindgaugeError, UsageError
from mindgauge.records import Evidence, Exchange, Message, RaterKind, Rating, Reply, Sample, Status, Usage, digest
from mindgauge.store import Store

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = [Sample.of((Message("user", f"text {i}"),), target="a", tags={"language": "zh"}) for i in range(1200)]


def test_everything_comes_back_as_it_went_in(tmp_path: Path) -> None:
    reply = Reply.of(
        SAMPLES[0].id,
        "m",
        2,
        Status.OK,
        '你好\n"quoted"',
        finish_reason="stop",
        usage=Usage(3, 4, 1),
        seconds=0.5,
        provenance={"seed": 2},
    )
    rating = Rating(
        reply.id,
        "c",
        "j",
        RaterKind.MODEL,
        1,
        Status.OK,
        4,
        "because",
        (Evidence("你好", found=True),),
        "r@1",
        {"at": 1.5},
    )
    missing = Rating(reply.id, "d", "j", RaterKind.MODEL, 1, Status.UNPARSABLE)
    done = Exchange(Status.OK, "raw", "stop", Usage(3, 4, 1), 0.5, 2, "m-1", "fp", 0.01, "", 9.5)
    with Store(tmp_path, write=True) as store:
        assert store.put_samples("b", SAMPLES) == 0
        store.add_reply("b", reply)
        store.add_rating("b", rating)
        store.add_rating("b", missing)
        store.add_call(b"k" * 16, b"p" * 16, "b", "m", 0, done)
    with Store(tmp_path) as store:
        assert list(store.samples("b")) == SAMPLES
        assert list(store.replies("b")) == [reply]
        assert list(store.ratings("b")) == [rating, missing]
        assert store.exchange(b"k" * 16) == done
        assert store.exchange(b"x" * 16) is None
        assert store.spent() == 0.01
        assert store.sample("b", SAMPLES[7].id) == SAMPLES[7]
        assert store.sample_ids("b") == [s.id for s in SAMPLES]
        assert list(store.samples("other")) == []


def test_duplicates_have_one_id_and_are_counted(tmp_path: Path) -> None:
    with Store(tmp_path, write=True) as store:
        assert store.put_samples("b", [*SAMPLES[:5], *SAMPLES[:3]]) == 3
        assert store.count_samples("b") == 5


def test_ids_are_the_same_on_every_machine() -> None:
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    code = "from mindgauge.records import *; print(Sample.of((Message('user', 'text 0'),)).id)"
    again = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert again.stdout.strip() == SAMPLES[0].id


def test_failed_replies_and_what_was_said_of_them_are_forgotten(tmp_path: Path) -> None:
    good, bad = Reply.of("s", "m", 0, Status.OK, "hi"), Reply.of("s", "m", 1, Status.FAILED)
    with Store(tmp_path, write=True) as store:
        for reply in (good, bad):
            store.add_reply("b", reply)
            store.add_rating("b", Rating(reply.id, "c", "j", RaterKind.MODEL, 0, reply.status))
        store.flush()
        assert store.answered("b", "m") == {("s", 0)}
        store.forget_failed("b", "m")
        assert [r.id for r in store.replies("b")] == [good.id]
        assert [r.subject for r in store.ratings("b")] == [good.id]


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    with Store(tmp_path, write=True), pytest.raises(UsageError, match=f"another process \\({os.getpid()}\\)"):
        Store(tmp_path, write=True)
    Store(tmp_path, write=True).close()


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"not a database at all, but long enough to be looked at" * 20, "not a database"), (None, "no run here")],
)
def test_what_is_no_run_is_one_line(tmp_path: Path, content: bytes | None, fault: str) -> None:
    if content is not None:
        (tmp_path / "run.sqlite").write_bytes(content)
    with pytest.raises(MindgaugeError, match=fault) as caught:
        Store(tmp_path)
    assert "\n" not in str(caught.value)


def test_another_version_is_refused(tmp_path: Path) -> None:
    Store(tmp_path, write=True).close()
    with sqlite3.connect(tmp_path / "run.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UsageError, match="written as version 99"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write a run here"):
        Store(tmp_path / "file" / "run", write=True)
