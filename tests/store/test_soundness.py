"""A run is known to be as it was written: by a checksum of its file where it was closed, else by those of its rows."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindgauge.commands.salvage import salvage
from mindgauge.records import Message, Sample, Status
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.store import Store, manifest, rows, soundness
from mindgauge.store.batches import Batches
from mindgauge.store.opening import latest
from mindgauge.store.rows import SCHEMA
from tests.faults import flips
from tests.thinned import examples

if TYPE_CHECKING:
    from pathlib import Path

SEAL = "run.sqlite.checksum"
TABLES = sorted(rows.tables())
_TEXTS = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), st.sampled_from([*Status]))
_NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.sampled_from([-0.0, 3.0, 1e17, -(2.0**63), 2.0**63]),
)
_VALUES = st.one_of(st.none(), _TEXTS, _NUMBERS, st.binary(max_size=9))
_OF_KIND = {
    "TEXT": st.one_of(st.none(), _TEXTS, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.binary(max_size=9)),
    **dict.fromkeys(("INTEGER", "REAL"), st.one_of(st.none(), _NUMBERS, st.binary(max_size=9))),
    **dict.fromkeys(("BLOB", ""), _VALUES),
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flips.made(tmp_path_factory.mktemp("run") / "run")


def _looked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the files whose rows are looked at from now on."""
    looked: list[Path] = []
    check_all = soundness._check_all

    def look(db: sqlite3.Connection, path: Path) -> None:
        looked.append(path)
        check_all(db, path)

    monkeypatch.setattr(soundness, "_check_all", look)
    soundness._sound_states.clear()
    return looked


@examples(300)
@given(data=st.data(), name=st.sampled_from(TABLES))
def test_whatever_is_written_its_checksum_is_right(data: st.DataObject, name: str) -> None:
    """Also where a column turns a value into its own type, as SQLite does with 3.0 among integers."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        columns = db.execute(f"PRAGMA table_info({name})").fetchall()[:-1]
        table = rows.tables()[name]
        keys = {"INTEGER": st.integers(1, 9), "TEXT": _TEXTS, "BLOB": st.binary(max_size=9), "REAL": st.floats(0, 9)}
        values = [
            data.draw(keys[kind] if must or key else _OF_KIND[kind], column)
            for _, column, kind, must, _, key in columns
        ]
        rows.put(db, name, [values])
        (row,) = db.execute(f"SELECT * FROM {name}").fetchall()
        assert table.holds(row)
        assert table.wrong(db) == (0, 1)
        db.execute(f"UPDATE {name} SET {table.names[-1]} = 'something that nobody drew'")
        assert table.wrong(db) == (1, 1)


def test_a_checksum_stays_what_it_is() -> None:
    """Runs are read by later versions of us and of what packs values: a row's checksum is part of the layout."""
    row = ("b", 7, "id", b"{}")
    assert rows.tables()["samples"].summed(row) == (
        *row,
        crc32(b"\x94\xa1b\x07\xa2id\xc4\x02{}", crc32(b"samples")) - 2**32,
    )


def test_a_run_that_was_closed_is_known_by_its_file_alone(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = _looked(monkeypatch)
    shutil.copytree(run, tmp_path / "run")
    file = tmp_path / "run" / "run.sqlite"
    Store(file.parent).close()
    assert not looked
    for change in ((file.parent / SEAL).unlink, lambda: (file.parent / SEAL).write_text("0 0\n")):
        change()
        soundness._sound_states.clear()
        Store(file.parent).close()
        Store(file.parent).close()
        assert looked == [file], "once by each process"
        looked.clear()
    Store(file.parent, write=True).close()
    soundness._sound_states.clear()
    looked.clear()
    Store(file.parent).close()
    assert not looked, "who closes it writes another"


def test_what_failed_is_not_sealed(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(run, tmp_path / "run")
    before = (tmp_path / "run" / SEAL).read_bytes()
    with pytest.raises(ZeroDivisionError), Store(tmp_path / "run", write=True) as store:  # noqa: PT012 - what is written
        store.put_samples("b", [Sample.of((Message("user", "I cannot sleep."),))])
        raise ZeroDivisionError
    assert (tmp_path / "run" / SEAL).read_bytes() == before
    looked = _looked(monkeypatch)
    Store(tmp_path / "run").close()
    assert len(looked) == 1


def test_a_run_that_another_program_wrote_is_sound_if_its_rows_are(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as db:
        db.execute("VACUUM")
    Store(tmp_path / "run").close()
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as db:
        db.execute("UPDATE rated SET run = 1 WHERE series = 1")
        db.commit()
    with pytest.raises(UsageError, match=r"20 of 60 rows of rated have changed since they were written"):
        Store(tmp_path / "run")


def test_what_is_updated_has_a_checksum_of_what_it_is_now(tmp_path: Path) -> None:
    samples = [Sample.of((Message("user", f"I cannot sleep, night {i}."),)) for i in range(3)]
    with Store(tmp_path, write=True) as store:
        store.put_samples("b", samples)
        store.update_samples("b", [msgspec.structs.replace(samples[1], target="sleep")])
        batches = Batches(store)
        batch = batches.intend("m", [(b"key", 1)])
        batches.uploaded(batch, "file-1")
        batches.submitted(batch, "batch-1", listed=True)
        batches.remark(batch, "odd")
    (tmp_path / SEAL).unlink()
    soundness._sound_states.clear()
    with Store(tmp_path) as store:
        assert [s.target for s in store.samples("b")] == [None, "sleep", None]
        assert Batches(store).submission(batch.id) == batch


def test_every_part_of_a_log_counts(tmp_path: Path) -> None:
    """Each byte of a killed run's last commit, be it the frame that says so, is missed; what a kill leaves is not."""
    run = flips.made(tmp_path / "run", killed=True)
    log = (run / "run.sqlite-wal").read_bytes()
    pages, damaged = latest(log)
    assert pages
    assert not damaged
    last = len(log) - flips.FRAME
    for at in (0, 9, 17, 25, 40, last - 50, *range(last + 5, last + 24), last + 30, len(log) - 1):
        if at != last + 7:  # whether it is a commit
            assert latest(log[:at] + bytes([log[at] ^ 8]) + log[at + 1 :])[1], at
    for end in (31, 32, last - 1, last, last + 24, len(log) - 1):
        assert not latest(log[:end])[1], "a kill cuts it"


def test_a_manifest_and_a_kept_rubric_are_as_they_were_written(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    file = tmp_path / "run" / "manifest.toml"
    content_before = file.read_bytes()
    for content, words in (
        (content_before.replace(b"0.7", b"0.1"), "does not match its checksum"),
        (content_before[: content_before.rindex(b"#")], "last line is no checksum"),
        (content_before + b"x = 1\n", "last line is no checksum"),
        (b"", "last line is no checksum"),
    ):
        file.write_bytes(content)
        with pytest.raises(UsageError, match=rf"manifest.toml: damaged.*{words}.*`mindgauge status .* --salvage NEW`"):
            manifest.read(file.parent)
    assert private.seal(content_before) == content_before


def test_salvage_keeps_a_damaged_manifest_to_look_at(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    for name in ("manifest.toml", "rubrics/tone.toml"):
        file = tmp_path / "run" / name
        file.write_bytes(file.read_bytes().replace(b"tone", b"tune"))
    notes = salvage(tmp_path / "run", out=tmp_path / "new").notes
    assert len(notes) == 2
    assert "tone.toml: damaged" in notes[0]
    assert "manifest.toml.damaged to look at; the command that made the run writes another" in notes[1]
    assert (tmp_path / "new/manifest.toml.damaged").read_bytes() == (tmp_path / "run/manifest.toml").read_bytes()
    assert manifest.read(tmp_path / "new") == {}


def test_whoever_reads_a_manifest_may_change_what_comes_back(tmp_path: Path) -> None:
    manifest.write(tmp_path, {"plan": {"models": ["a"]}})
    manifest.read(tmp_path)["plan"]["models"].append("b")
    assert manifest.read(tmp_path) == {"plan": {"models": ["a"]}}
