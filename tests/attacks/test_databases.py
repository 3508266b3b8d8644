"""A run's database comes from anybody: nothing that its maker wrote into it is run, neither by opening nor by salvage."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from mindgauge.annotation import setup
from mindgauge.annotation.database import Database
from mindgauge.commands.salvage import salvage
from mindgauge.records import Evidence, Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.errors import UsageError
from mindgauge.store import Store
from mindgauge.store.opening import checksum
from tests.databases import without_log

if TYPE_CHECKING:
    from pathlib import Path

NAME, PAGE, ROWS = "help_or_harm/response", 4096, 40
SCHEMAS = {
    "trigger": "CREATE TRIGGER quiet AFTER INSERT ON replies BEGIN DELETE FROM replies; END;",
    "trigger with our name": "DROP TRIGGER batch_call_kept; CREATE TRIGGER batch_call_kept AFTER INSERT ON calls BEGIN DELETE FROM replies; END;",
    "view": "DROP VIEW ratings; CREATE VIEW ratings AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n;",
    "virtual table": "CREATE VIRTUAL TABLE words USING fts5 (word);",
    "table": "CREATE TABLE more (anything);",
    "column": "ALTER TABLE replies ADD COLUMN more AS (hex(zeroblob(1 << 28)));",
    "index": "CREATE INDEX replies_by_length ON replies (length(text));",
    "nothing of calls": "DROP TABLE calls;",
}


def _filled(folder: Path) -> Path:
    with Store(folder, write=True) as store:
        samples = [Sample.of((Message("user", f"I cannot sleep, night {i}."),)) for i in range(ROWS)]
        store.put_samples(NAME, samples)
        for i, sample in enumerate(samples):
            reply = Reply.of(sample.id, "m", 0, Status.OK, f"That sounds exhausting. ({i})" + " Tell me more." * 700)
            store.add_reply(NAME, reply)
            store.add_rating(NAME, Rating(
                reply.id, "appropriateness", "j", RaterKind.MODEL, 0, Status.OK, 4, "It listens.",
                (Evidence("exhausting", found=True),), "r@1", {"software": "s"},
            ))  # fmt: skip
    return without_log(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _filled(tmp_path_factory.mktemp("run"))


def _replies(folder: Path) -> int:
    with Store(folder) as store:
        return store.count_replies(NAME)


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("sql", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_that_is_not_ours_is_refused_before_anything_is_read_or_written(
    run: Path, tmp_path: Path, sql: str, write: bool
) -> None:
    shutil.copytree(run, tmp_path / "run")
    file = tmp_path / "run" / "run.sqlite"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(sql)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = file.read_bytes()
    with pytest.raises(UsageError, match=r"run\.sqlite: damaged \(its .* nothing was read\); .* `mindgauge status"):
        Store(tmp_path / "run", write=write)
    assert file.read_bytes() == content


@pytest.mark.parametrize("sql", SCHEMAS.values(), ids=SCHEMAS)
def test_what_others_put_into_a_schema_is_left_out_by_salvage_and_said(run: Path, tmp_path: Path, sql: str) -> None:
    shutil.copytree(run, tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as db:
        db.executescript(sql)
    found = salvage(tmp_path / "run", out=tmp_path / "new")
    strange = {"trigger": "trigger 'quiet'", "virtual table": "table 'words'", "table": "table 'more'"}
    for kind, name in strange.items():
        if sql == SCHEMAS[kind]:
            assert "no Mindgauge made it" in found.notes[0]
            assert name in found.notes[0]
    if sql != SCHEMAS["column"]:  # its rows are of another shape
        assert _replies(tmp_path / "new") == ROWS


def test_salvage_runs_no_sql_of_the_damaged_file(run: Path, tmp_path: Path) -> None:
    victim, made = tmp_path / "victim", tmp_path / "made.sqlite"
    shutil.copytree(run, victim)
    shutil.copytree(run, tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as db:
        db.execute("PRAGMA writable_schema = ON")
        for i, sql in enumerate((
            f"ATTACH '{victim / 'run.sqlite'}' AS victim", "DELETE FROM victim.replies", f"ATTACH '{made}' AS made",
            "CREATE TABLE made.bomb AS SELECT zeroblob(30000000) AS zeros",
        )):  # fmt: skip
            db.execute("INSERT INTO sqlite_schema VALUES ('table', ?, ?, 0, ?)", (f"t{i}", f"t{i}", sql))
        db.commit()
    salvage(tmp_path / "run", out=tmp_path / "new")
    assert _replies(victim) == ROWS
    assert not made.exists()
    assert _replies(tmp_path / "new") == ROWS


def _long_records(run: Path) -> tuple[bytearray, int]:
    """Return a run's file and a page of it that holds replies, which go on elsewhere."""
    content = bytearray((run / "run.sqlite").read_bytes())
    for at in range(PAGE, len(content), PAGE):
        cells = int.from_bytes(content[at + 3 : at + 5], "big")
        places = struct.unpack_from(f">{cells}H", content, at + 8) if content[at] == 13 and cells < 2000 else ()
        if cells >= 2 and b"Tell me more" in content[at : at + PAGE] and places:
            return content, at
    raise AssertionError("no such page")


def test_pages_that_share_what_they_hold_are_no_bomb(run: Path, tmp_path: Path) -> None:
    whole = (run / "run.sqlite").stat().st_size
    content, at = _long_records(run)
    content[at + 3 : at + 5] = (600).to_bytes(2, "big")
    content[at + 8 : at + 8 + 1200] = content[at + 8 : at + 10] * 600  # 600 records that are one
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "run.sqlite").write_bytes(content)
    before = time.monotonic()
    found = salvage(tmp_path / "run", out=tmp_path / "new")
    assert time.monotonic() - before < 10
    assert sum(table.lost for table in found.tables) > 400, "what was not read is said"
    assert (tmp_path / "new" / "run.sqlite").stat().st_size < whole + 200_000

    content, at = _long_records(run)
    places = struct.unpack_from(f">{int.from_bytes(content[at + 3 : at + 5], 'big')}H", content, at + 8)
    # Both records of a page go on upon the same pages.
    spots = [at + place + _local(content, at + place) for place in places]
    content[spots[1] : spots[1] + 4] = content[spots[0] : spots[0] + 4]
    (tmp_path / "run" / "run.sqlite").write_bytes(content)
    salvage(tmp_path / "run", out=tmp_path / "shared")
    assert (tmp_path / "shared" / "run.sqlite").stat().st_size < whole + 200_000


def _local(content: bytes | bytearray, at: int) -> int:
    """Return how many bytes of a long record, its two numbers included, stand before the number of its next page."""
    begin, numbers = at, []
    for _ in range(2):
        value = 0
        while True:
            byte, at = content[at], at + 1
            value = value << 7 | byte & 127
            if byte < 128:
                break
        numbers.append(value)
    least = (PAGE - 12) * 32 // 255 - 23
    here = least + (numbers[0] - least) % (PAGE - 4)
    return at - begin + (here if here <= PAGE - 35 else least)


def test_a_log_that_names_a_page_far_away_holds_nobody_up(run: Path, tmp_path: Path) -> None:
    head = struct.pack(">IIIIII", 0x377F0683, 3007000, PAGE, 0, 1, 2)
    summed = checksum(head, ">", (0, 0))
    frame = struct.pack(">II", 2**31, 2**31)
    page = bytes(PAGE)
    log = head + struct.pack(">II", *summed) + frame + head[16:24] + struct.pack(">II", *checksum(frame + page, ">", summed)) + page  # fmt: skip
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "run.sqlite-wal").write_bytes(log)
    before = time.monotonic()
    salvage(tmp_path / "run", out=tmp_path / "new")
    assert time.monotonic() - before < 10
    assert _replies(tmp_path / "new") == ROWS


@pytest.mark.parametrize("size", [2, 511, 8192])
def test_a_header_that_states_another_size_of_pages_hides_no_rows(run: Path, tmp_path: Path, size: int) -> None:
    shutil.copytree(run, tmp_path / "run")
    content = bytearray((run / "run.sqlite").read_bytes())
    content[16:18] = size.to_bytes(2, "big")
    (tmp_path / "run" / "run.sqlite").write_bytes(content)
    salvage(tmp_path / "run", out=tmp_path / "new")
    assert _replies(tmp_path / "new") == ROWS


def _journal(names: Path) -> bytes:
    """Return a journal without pages that belongs to a transaction of several databases, which a file of this name lists."""
    name = str(names).encode()
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">IIIII", 0, 1, 0, 512, PAGE)
    summed = sum(struct.unpack(f"{len(name)}b", name)) & 0xFFFFFFFF
    return head.ljust(512, b"\0") + struct.pack(">I", 2**18 + 1) + name + struct.pack(">II", len(name), summed) + head[:8]  # fmt: skip


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
def test_a_journal_removes_no_file(run: Path, tmp_path: Path, write: bool) -> None:
    shutil.copytree(run, tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    notes = tmp_path / "notes.txt"
    notes.write_text("what somebody wrote", encoding="utf-8")
    (tmp_path / "run" / "run.sqlite-journal").write_bytes(_journal(notes))
    with pytest.raises(UsageError, match="names another file"):
        Store(tmp_path / "run", write=write)
    assert notes.exists()


@pytest.mark.parametrize("kind", ["trigger", "virtual table", "column", "index", "view"])
def test_an_annotation_database_holds_no_sql_of_others(tmp_path: Path, kind: str) -> None:
    with closing(sqlite3.connect(tmp_path / "annotation.sqlite")) as db:
        db.executescript("CREATE TABLE replies (id TEXT, text TEXT); CREATE VIEW ratings AS SELECT 1;")
        if kind != "view":
            db.executescript(f"DROP VIEW ratings; {SCHEMAS[kind]}")
    found = Database(f"sqlite:///{tmp_path / 'annotation.sqlite'}")
    with pytest.raises(UsageError, match=r"which Mindgauge did not make; nothing was read"):
        found.read(lambda _: None)
    found.close()


def test_an_annotation_journal_removes_no_file(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "annotation.sqlite")) as db:
        db.execute("CREATE TABLE labels (id TEXT)")
    setup.write(tmp_path, "")
    (tmp_path / "annotation.sqlite-journal").write_bytes(_journal(tmp_path / "notes.txt"))
    with pytest.raises(UsageError, match="names another file"):
        setup.read(tmp_path)
