"""What people said is its owner's alone to read, on every path that writes it, whatever the umask and whatever was there."""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.commands.salvage import salvage
from mindgauge.records.files import private
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BENCHMARK = "help_or_harm/response"
EXPORTS = ("csv", "parquet", "hub")


@pytest.fixture(autouse=True, scope="module")
def wide() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def _table(folder: Path) -> Path:
    path = folder / "replies.csv"
    path.write_text('user,reply,model,category\n"I cannot sleep since she died.","I am so sorry. Who is near you?",m,no_crisis\n', encoding="utf-8")  # fmt: skip
    return path


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("rated") / "run"
    mindgauge.rate(BENCHMARK, replies=_table(run.parent), judge="rule/outside_help", out=run)
    return run


def _wide(run: Path, to: Path) -> Path:
    """Copy a run so that everybody can read it."""
    shutil.copytree(run, to)
    for path in (to, *to.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return to


def _open(folder: Path) -> list[str]:
    """Return what others can read below a folder, itself included."""
    return [f"{oct(p.stat().st_mode & 0o777)} {p.name}" for p in (folder, *folder.rglob("*")) if p.stat().st_mode & 0o077]  # fmt: skip


def _rate(run: Path, out: Path) -> None:
    mindgauge.rate(BENCHMARK, replies=_table(run.parent), judge="rule/outside_help", out=out)


def _textless(_: Path, out: Path) -> None:
    with Store(out, write=True, text=False) as store:
        assert _open(store.folder) == []


def _annotate(run: Path, out: Path) -> None:
    annotate_new(out, items=run, annotators=("an", "bo"), training=0)
    annotate_export(out, everything=True)


def _export(to: str, run: Path, out: Path) -> None:
    mindgauge.export(run, to=to, out=out, licence="CC-BY-4.0" if to == "hub" else None)


WRITERS: dict[str, Callable[[Path, Path], object]] = {
    "rate": _rate,
    "a run without text": _textless,
    "report": lambda run, out: mindgauge.report([run], out=out),
    "salvage": lambda run, out: salvage(run, out=out),
    "annotate": _annotate,
    **{f"export {to}": partial(_export, to) for to in EXPORTS},
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_new_folder_is_its_owners_alone(rated: Path, tmp_path: Path, name: str) -> None:
    run = _wide(rated, tmp_path / "run")
    WRITERS[name](run, tmp_path / "deep" / "out")
    assert (tmp_path / "deep" / "out").is_dir()
    assert _open(tmp_path / "deep" / "out") == []


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "report"])
def test_an_empty_folder_becomes_its_owners_alone(rated: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    WRITERS[name](_wide(rated, tmp_path / "run"), tmp_path / "out")
    assert _open(tmp_path / "out") == []


def test_a_run_that_everybody_can_read_is_closed_when_it_is_written(rated: Path, tmp_path: Path) -> None:
    run = _wide(rated, tmp_path / "run")
    mindgauge.report([run])
    Store(run, write=True).close()
    assert _open(run) == []


def test_a_project_that_everybody_can_read_is_closed_when_it_is_opened(rated: Path, tmp_path: Path) -> None:
    _annotate(rated, tmp_path / "project")
    project = _wide(tmp_path / "project", tmp_path / "copy")
    annotate_export(project, to="parquet", everything=True)
    assert [path.name for path in (project, *project.iterdir()) if path.stat().st_mode & 0o077] == []


def test_a_folder_with_other_things_keeps_its_mode_and_our_files_are_closed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    tmp_path.chmod(0o755)
    Store(tmp_path, write=True).close()
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert {p.name for p in tmp_path.iterdir() if p.stat().st_mode & 0o077} == {"thesis.tex"}


def test_what_a_link_leads_to_keeps_its_mode(tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.touch(mode=0o644)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.html").symlink_to(letter)
    letter.chmod(0o644)
    private.folder(tmp_path / "run")
    assert letter.stat().st_mode & 0o777 == 0o644
