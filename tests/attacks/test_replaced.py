"""What others put where we write stays theirs, whenever they put it there."""

from __future__ import annotations

import json
import socket
import subprocess
from typing import IO, TYPE_CHECKING

import fsspec
import pytest

import mindgauge
from mindgauge.commands.train import train
from mindgauge.raters.classifiers.tfidf import WEIGHTS
from mindgauge.records.errors import UsageError
from mindgauge.records.files import checksum
from mindgauge.reports.export import folder as folders
from mindgauge.reports.export import tabular
from mindgauge.reports.export.address import UNFINISHED
from mindgauge.reports.export.folder import MANIFEST, ExportFolder
from mindgauge.store import Store
from mindgauge.store.failures import PENDING
from tests.raters.classifiers import encoders
from tests.raters.classifiers.conftest import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.stub import Stub

__all__ = ["write"]
NOTE = "what I thought while reading"


@pytest.fixture
def run(stub: Stub, tmp_path: Path) -> Path:
    mindgauge.run("help_or_harm/response", model=stub.model, judge=stub.model, own_family=True, limit=2, qualify=False, out=tmp_path / "run")  # fmt: skip
    return tmp_path / "run"


def _note(out: Path) -> None:
    (out / "notes.txt").write_text(NOTE)


def _in_a_folder(out: Path) -> None:
    (out / "mine").mkdir()
    (out / "mine" / "notes.txt").write_text(NOTE)


def _empty(out: Path) -> None:
    (out / "mine").mkdir()


def _changed(out: Path) -> None:
    (out / "ratings.csv").write_text(NOTE)


def _link(out: Path) -> None:
    (out / "notes.txt").symlink_to(out / "ratings.csv")


@pytest.mark.parametrize("meanwhile", [_note, _in_a_folder, _empty, _changed, _link])
def test_an_export_deletes_nothing_that_came_while_it_was_made(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Path], None]
) -> None:
    out = tmp_path / "out"
    mindgauge.export(run, to="csv", out=out)
    usual = tabular.tables
    before = {path.name for path in out.iterdir()}

    def slow(*given: object) -> dict[str, tabular.ExportTable]:
        meanwhile(out)
        return usual(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(tabular, "tables", slow)
    with pytest.raises(UsageError, match=r"(notes\.txt|mine|ratings\.csv).*was put there, or changed, while"):
        mindgauge.export(run, to="csv", out=out)
    assert before <= {path.name for path in out.iterdir()}
    kept = [path.read_text() for path in out.rglob("*.[tc][xs][tv]") if not path.is_symlink()]
    assert meanwhile in {_empty, _link} or NOTE in kept
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    monkeypatch.undo()
    with pytest.raises(UsageError, match="choose another --out"):
        mindgauge.export(run, to="csv", out=out)


def test_an_export_that_is_ours_is_replaced_and_nothing_is_left_beside_it(run: Path, tmp_path: Path) -> None:
    for to in ("parquet", "csv"):
        mindgauge.export(run, to=to, out=tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "checksums", "ratings.csv", "replies.csv", "samples.csv",
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("taken", [False, True])
def test_a_kill_between_old_and_new_loses_neither(run: Path, tmp_path: Path, taken: bool) -> None:
    """A process that is gone had moved the old export aside; somebody may have put a note there."""
    mindgauge.export(run, to="csv", out=tmp_path / "out")
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    aside = tmp_path / f".out.{socket.gethostname()}~.{gone.pid}"
    (tmp_path / "out").rename(aside)
    if taken:
        mindgauge.export(run, to="csv", out=tmp_path / "elsewhere")
        (tmp_path / "elsewhere").rename(tmp_path / "out")
        _note(aside)
    mindgauge.export(run, to="csv", out=tmp_path / "out")
    assert (tmp_path / "out" / "ratings.csv").is_file()
    assert aside.exists() == taken
    assert not taken or (aside / "notes.txt").read_text() == NOTE


def test_a_folder_that_others_make_in_our_place_is_left_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def export() -> None:
        with ExportFolder(tmp_path / "out") as files:
            files.text("a.txt", "ours")

    export()
    usual = folders.stranger_in

    def sees(path: Path) -> str | None:
        if path.name.startswith("."):
            (tmp_path / "out").mkdir()
            _note(tmp_path / "out")
        return usual(path)

    monkeypatch.setattr(folders, "stranger_in", sees)
    with pytest.raises(mindgauge.records.errors.MindgaugeError, match="cannot write here"):
        export()
    assert (tmp_path / "out" / "notes.txt").read_text() == NOTE
    assert [path.read_text() for path in tmp_path.rglob("a.txt")] == ["ours"], "the earlier export lies beside"


def test_a_manifest_cannot_name_what_lies_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(NOTE)
    digest = checksum.sha256(tmp_path / "mine.txt")
    for name in ("../mine.txt", str(tmp_path / "mine.txt")):
        (tmp_path / "out" / "checksums").mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / MANIFEST).write_text(json.dumps({"files": {name: {"sha256": digest}}}))
        with pytest.raises(UsageError, match="which no export left"):
            ExportFolder(tmp_path / "out")
        assert (tmp_path / "mine.txt").read_text() == NOTE


@pytest.fixture
def place() -> Iterator[str]:
    files = fsspec.filesystem("memory")
    yield "memory://replaced"
    files.rm("/replaced", recursive=True)


def test_an_export_to_an_address_that_was_stopped_is_done_again_around_what_others_put_there(
    run: Path, place: str
) -> None:
    mindgauge.export(run, to="parquet", out=place, partition_by=["status"])
    files = fsspec.filesystem("memory")
    files.pipe_file(f"/replaced/{UNFINISHED}", b'{"unfinished": ["checksums", "ratings", "replies"]}')
    for stranger in ("ratings/notes.txt", "checksums/mine.json", "ratings/status=ok/mine.parquet"):
        files.pipe_file(f"/replaced/{stranger}", NOTE.encode())
        with pytest.raises(UsageError, match=f"holds {stranger}"):
            mindgauge.export(run, to="parquet", out=place, partition_by=["status"])
        assert files.cat_file(f"/replaced/{stranger}") == NOTE.encode()
        files.rm_file(f"/replaced/{stranger}")
    if files.exists("/replaced/samples.parquet"):
        files.rm_file("/replaced/samples.parquet")
    mindgauge.export(run, to="parquet", out=place, partition_by=["status"])


def test_texts_that_waited_go_and_what_lies_beside_them_stays(tmp_path: Path) -> None:
    with Store(tmp_path, write=True, text=False):
        (tmp_path / PENDING / "notes.txt").write_text(NOTE)
    assert [path.name for path in (tmp_path / PENDING).iterdir()] == ["notes.txt"]
    (tmp_path / PENDING / "notes.txt").unlink()
    with Store(tmp_path, write=True, text=False):
        assert (tmp_path / PENDING).is_dir()
    assert not (tmp_path / PENDING).exists()


def test_a_training_goes_over_nobodys_files_and_puts_its_weights_in_place_whole(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, victim, table = tmp_path / "out", tmp_path / "victim.txt", write(encoders.rows(12))
    out.mkdir()
    _note(out)
    with pytest.raises(UsageError, match=r"holds notes\.txt, which no training left"):
        train(table, out=out, baseline=True, dev=0.2)
    (out / "notes.txt").unlink()
    victim.write_text(NOTE)

    def stops(source: IO[bytes], target: IO[bytes]) -> None:
        target.write(source.read(100))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfileobj", stops)
        with pytest.raises(mindgauge.records.errors.MindgaugeError, match="the disk is full"):
            train(table, out=out, baseline=True, dev=0.2)
    assert not [path for path in out.iterdir() if "safetensors" in path.name], "no half of the weights"
    (out / WEIGHTS).symlink_to(victim)
    train(table, out=out, baseline=True, dev=0.2)
    assert victim.read_text() == NOTE
    assert not (out / WEIGHTS).is_symlink()
    assert (out / WEIGHTS).stat().st_mode & 0o777 == 0o600
    train(table, out=out, baseline=True, dev=0.2)
