"""`mindgauge status --salvage`: what can be read of a damaged run, as a new one."""

from __future__ import annotations

import fcntl
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindgauge
from mindgauge.commands.salvage import Salvaged, salvage
from mindgauge.records import Evidence, Exchange, Message, RaterKind, Rating, Reply, Sample, Status, Usage
from mindgauge.records.errors import UsageError
from mindgauge.store import Store, manifest
from tests.databases import without_log
from tests.thinned import examples

if TYPE_CHECKING:
    from pathlib import Path

# Words that begin with nulls and go on with letters pass for the last part of a long text; nothing tells them from one.
RUBBISH = st.just(bytes(8)) | st.binary(min_size=8, max_size=8).filter(lambda some: any(some[:4]))
NAME, PAGE = "help_or_harm/response", 4096
SAMPLES = [
    Sample.of((Message("user", f"I do not sleep any more, night {i}. " + "我睡不着。" * (i % 40)),)) for i in range(300)
]


def _filled(folder: Path) -> Path:
    with Store(folder, write=True) as store:
        store.put_samples(NAME, SAMPLES)
        for i, sample in enumerate(SAMPLES):
            text = f"That sounds exhausting. ({i}) " + "Who is near you? " * (i % 7 * 100)
            reply = Reply.of(sample.id, "m", 0, Status.OK, text, usage=Usage(i, 2**i % 10**12), seconds=i / 7)
            store.add_reply(NAME, reply)
            store.add_rating(NAME, Rating(
                reply.id, "appropriateness", "j", RaterKind.MODEL, 0, Status.OK, (i, i / 3, str(i))[i % 3], f"reason {i}",
                (Evidence("near you", found=True),), "r@1", {"at": i / 3, "software": "s"},
            ))  # fmt: skip
            done = Exchange(Status.OK, text, "stop", Usage(3, 4), 0.5, 1, "m-1", "", 0.01, "", 1e9 + i)
            store.add_call(i.to_bytes(16, "big"), b"p" * 16, NAME, "m", 0, done)
    manifest.write(folder, {"created": "2026-01-01", "plan": {"runs": 1}})
    return without_log(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _filled(tmp_path_factory.mktemp("run"))


def _rows(folder: Path) -> dict[str, set[tuple[Any, ...]]]:
    with closing(sqlite3.connect(folder / "run.sqlite")) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: set(db.execute(f"SELECT * FROM {name}")) for name in names}


def _copy(run: Path, to: Path, content: bytes | None = None) -> Path:
    shutil.copytree(run, to)
    if content is not None:
        (to / "run.sqlite").write_bytes(content)
    return to


def test_a_run_that_is_sound_is_copied_whole(run: Path, tmp_path: Path) -> None:
    found = salvage(run, out=tmp_path / "new")
    assert found.whole
    assert _rows(tmp_path / "new") == _rows(run)
    assert {t.table: t.kept for t in found.tables}["replies"] == 300
    with Store(run) as old, Store(tmp_path / "new") as new:
        assert list(new.ratings(NAME)) == list(old.ratings(NAME))
        assert list(new.replies(NAME)) == list(old.replies(NAME))
        assert list(new.samples(NAME)) == SAMPLES
    assert manifest.read(tmp_path / "new") == manifest.read(run)
    assert found.table.height == len(found.tables)


@examples(12)
@given(data=st.data())
def test_whatever_is_overwritten_nothing_else_is_lost_and_nothing_is_invented(
    tmp_path_factory: pytest.TempPathFactory, run: Path, data: st.DataObject
) -> None:
    content = bytearray((run / "run.sqlite").read_bytes())
    lost = data.draw(st.sets(st.integers(0, len(content) // PAGE - 1), min_size=1, max_size=4), "pages")
    for page in lost:
        content[page * PAGE : (page + 1) * PAGE] = data.draw(RUBBISH, "bytes") * (PAGE // 8)
    folder = tmp_path_factory.mktemp("damaged")
    damaged = _copy(run, folder / "run", bytes(content))
    found = salvage(damaged, out=folder / "new")
    rows, expected = _rows(folder / "new"), _rows(run)
    assert (damaged / "run.sqlite").read_bytes() == content
    for table in found.tables:
        assert rows[table.table] <= expected[table.table], table
        assert len(rows[table.table]) == table.kept
    missing = sum(len(expected[name] - rows[name]) for name in ("samples", "replies", "calls"))
    assert missing <= len(lost) * 60  # of some 20 rows on a page, and what continued on it
    with Store(folder / "new") as store:
        for rating in store.ratings(NAME):
            assert rating.status is Status.OK


def test_a_file_of_nothing_gives_an_empty_run(run: Path, tmp_path: Path) -> None:
    for i, content in enumerate((b"", b"no database", bytes(8192))):
        found = salvage(_copy(run, tmp_path / f"run{i}", content), out=tmp_path / f"new{i}")
        assert not any(table.kept for table in found.tables)
        assert not any(_rows(tmp_path / f"new{i}").values())


def test_what_was_said_of_a_lost_reply_goes_with_it(run: Path, tmp_path: Path) -> None:
    damaged = _copy(run, tmp_path / "run")
    with closing(sqlite3.connect(damaged / "run.sqlite")) as db:
        db.execute("DELETE FROM replies WHERE sample = ?", (SAMPLES[7].id,))
        db.commit()
    salvage(damaged, out=tmp_path / "new")
    with Store(tmp_path / "new") as store:
        assert store.count_replies(NAME) == 299
        assert len(list(store.ratings(NAME))) == 299


def test_what_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run here \(run.sqlite is missing\)"):
        salvage(tmp_path, out=tmp_path / "new")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    with pytest.raises(UsageError, match="full: something is here already; choose a new folder, or another --out"):
        salvage(run, out=tmp_path / "full")
    other = _copy(run, tmp_path / "other")
    with closing(sqlite3.connect(other / "run.sqlite")) as db:
        db.executescript(
            "PRAGMA user_version = 99; DROP VIEW ratings; DROP TABLE calls; DROP TABLE replies; DROP TABLE rated;"
        )
    with pytest.raises(UsageError, match="written as version 99"):
        salvage(_without_ours(other), out=tmp_path / "new99")
    with (run / "run.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another process is writing this run"):
            salvage(run, out=tmp_path / "busy")


def _without_ours(run: Path) -> Path:
    with closing(sqlite3.connect(run / "run.sqlite")) as db:
        for kind, name in db.execute(
            "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL AND type != 'index'"
        ).fetchall():
            db.execute(f"DROP {kind} IF EXISTS {name}")
        db.execute("CREATE TABLE answers (id INTEGER PRIMARY KEY)")
        db.commit()
    return run


def test_a_damaged_manifest_is_noted(run: Path, tmp_path: Path) -> None:
    damaged = _copy(run, tmp_path / "run")
    (damaged / "manifest.toml").write_text("created = ", encoding="utf-8")
    found = salvage(damaged, out=tmp_path / "new")
    assert isinstance(found, Salvaged)
    assert "writes another" in found.notes[0]
    assert not (tmp_path / "new" / "manifest.toml").exists()


def test_it_is_a_verb() -> None:
    assert mindgauge.salvage is salvage
