from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mindgauge.records import Evidence, Exchange, Message, RaterKind, Rating, Reply, Sample, Status, Usage, digest
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.store import Store
from mindgauge.store.locks import writer

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


def test_a_writer_knows_every_call_that_it_holds(tmp_path: Path) -> None:
    keys = [bytes([number]) * 16 for number in range(4)]

    def add(store: Store, key: bytes, status: Status = Status.OK) -> None:
        store.add_call(key, b"p" * 16, "b", "m", 0, Exchange(status, "an answer"))

    with Store(tmp_path / "run", write=True) as store:
        add(store, keys[0])
        assert store.exchange(keys[1]) is None  # from now on it knows what it holds, the call on its way among that
        add(store, keys[1])
        add(store, keys[2], Status.FAILED)
        store.flush()
        assert [store.exchange(key) is not None for key in keys] == [True, True, False, False]
        add(store, keys[2])
    with Store(tmp_path / "run", write=True) as store, Store(tmp_path / "run") as reader:
        assert [store.exchange(key) is not None for key in keys] == [True, True, True, False]
        add(store, keys[3])
        store.flush()
        for held in (store, reader):
            assert held.exchange(keys[3]) is not None


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


def rated(folder: Path, n: int) -> list[Rating]:
    """Let one answer give two criteria at a time."""
    given = [
        Rating(
            f"reply {i}", name, "judge", RaterKind.MODEL, 0, Status.OK, 4, f"because {i}", (Evidence(f"words {i}"),), "r@1",
            {"endpoint": "http://127.0.0.1", "at": float(i), "calls": [f"{i:032}"], "checks": {name: "yes"}},
        )
        for i in range(n)
        for name in ("care", "tact")
    ]  # fmt: skip
    with Store(folder, write=True) as store:
        store.put_samples("b", SAMPLES)
        for rating in given:
            store.add_rating("b", rating)
    return given


def test_what_the_ratings_of_one_answer_share_is_kept_once(tmp_path: Path) -> None:
    given = rated(tmp_path, 50)
    with Store(tmp_path) as store:
        assert list(store.ratings("b")) == sorted(given, key=lambda r: (r.criterion, r.subject))
        assert store.select("SELECT count(*) FROM origins").fetchone() == (1,)
        assert store.select("SELECT count(*) FROM pieces").fetchone() == (3 * 50,)
        assert store.count_ratings("b") == [("judge", "care", "ok", 50), ("judge", "tact", "ok", 50)]
        query = "SELECT json_extract(provenance, '$.at') FROM ratings WHERE benchmark = ? AND subject = 'reply 7'"
        assert store.select(query, ("b",)).fetchall() == [(7.0,), (7.0,)]


def test_a_query_can_be_read_by_columns(tmp_path: Path) -> None:
    rated(tmp_path, 2)
    query = "SELECT subject, nullif(run, 0), '\"' || char(0) || criterion || '吗' FROM ratings WHERE benchmark = ? ORDER BY criterion, subject DESC"
    with Store(tmp_path) as store:
        named = {"subject": str, "run": int, "criterion": str}
        assert store.columns(query, ("b",), **named) == {
            "subject": ["reply 1", "reply 0"] * 2,
            "run": [None] * 4,
            "criterion": ['"\0care吗'] * 2 + ['"\0tact吗'] * 2,
        }
        assert store.columns(query, ("none",), **named) == {"subject": [], "run": [], "criterion": []}
        with pytest.raises(UsageError, match="damaged"):
            store.columns("SELECT subject FROM ratings", (), subject=int)


def test_a_rating_given_again_replaces_the_first_and_one_can_be_dropped(tmp_path: Path) -> None:
    first, *_ = rated(tmp_path, 2)
    again = Rating("reply 0", "care", "judge", RaterKind.PERSON, 0, Status.REFUSED, provenance={"project": "p"})
    with Store(tmp_path, write=True) as store:
        store.add_rating("b", again)
        store.flush()
        assert next(store.ratings("b")) == again
        store.select("DELETE FROM ratings WHERE benchmark = 'b' AND subject = 'reply 0'")
        assert {r.subject for r in store.ratings("b")} == {"reply 1"}
    assert first.subject == "reply 0"


def read(folder: Path) -> None:
    with Store(folder) as store:
        list(store.samples("b"))
        list(store.ratings("b"))


@pytest.mark.parametrize("cut", [False, True])
def test_a_damaged_file_is_named_with_what_to_do(tmp_path: Path, cut: bool) -> None:
    rated(tmp_path, 2000)
    path = tmp_path / "run.sqlite"
    content = path.read_bytes()
    path.write_bytes(content[:40960] if cut else content[:8192] + b"\xff" * (len(content) - 8192))
    damaged = r"run\.sqlite: damaged \(.*mindgauge status .* --salvage NEW`"
    with pytest.raises(UsageError, match=damaged) as caught:
        read(tmp_path)
    assert "\n" not in str(caught.value)


def test_no_database_is_damaged_for_a_writer_too(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").write_bytes(b"not a database at all, but long enough to be looked at" * 20)
    with pytest.raises(UsageError, match=r"file is not a database.*salvage"):
        Store(tmp_path, write=True)


def test_a_record_that_makes_no_sense_is_damage(tmp_path: Path) -> None:
    rated(tmp_path, 2)
    with Store(tmp_path, write=True) as store:
        store.select("UPDATE samples SET body = 'half a rec' WHERE position = 3")
        store.put_samples("c", [])
    with Store(tmp_path) as store, pytest.raises(UsageError, match="damaged"):
        list(store.samples("b"))


def test_a_run_that_was_killed_before_anything_was_written_is_no_run_yet(tmp_path: Path) -> None:
    (tmp_path / "run.sqlite").touch()
    with pytest.raises(UsageError, match="no run here yet"):
        Store(tmp_path)
    Store(tmp_path, write=True).close()
    Store(tmp_path).close()


def test_who_writes_can_be_seen_and_does_not_keep_a_writer_away(tmp_path: Path) -> None:
    assert writer(tmp_path) is None
    with Store(tmp_path, write=True):
        assert writer(tmp_path) == str(os.getpid())
    assert writer(tmp_path) is None
    Store(tmp_path, write=True).close()


def test_another_version_is_refused(tmp_path: Path) -> None:
    Store(tmp_path, write=True).close()
    with sqlite3.connect(tmp_path / "run.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UsageError, match="written as version 99"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write here"):
        Store(tmp_path / "file" / "run", write=True)
