"""A run's folder may come from anybody, with links in it: what is written there stays there."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.annotation import setup
from mindgauge.commands.salvage import salvage
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private
from mindgauge.records.rubric import Rubric
from mindgauge.store import Store, manifest
from mindgauge.store.locks import writer
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = b"what somebody else wrote\n"
JUDGE, BENCHMARK = "rule/outside_help", "help_or_harm/response"
REPLIES = [
    {"user": "I lost my sister and I cannot sleep.", "reply": "I am so sorry. Is there a friend you could call tonight?"},
    {"user": "Everything feels empty.", "reply": "That sounds heavy. Your doctor can help, and I am glad you said it."},
]  # fmt: skip
NAMES = (
    "run.lock", "run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal", "manifest.toml.new",
    "report.html", "report.html.new", "report.json.new", "report.md.new", "pending", "rubrics", "stress.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rated") / "run"
    table = tmp_path_factory.mktemp("replies") / "replies.csv"
    lines = ["user,reply,model", *(f'"{row["user"]}","{row["reply"]}",m' for row in REPLIES)]
    table.write_text("\n".join(lines), encoding="utf-8")
    mindgauge.rate(BENCHMARK, replies=table, judge=JUDGE, out=folder)
    return folder


def _commands(folder: Path) -> Iterator[None]:
    """Do everything that writes into the folder of a run."""
    for act in (
        lambda: Store(folder, write=True).close(),
        lambda: manifest.write(folder, manifest.read(folder)),
        lambda: mindgauge.report([folder]),
        lambda: Store(folder, write=True, text=False).__exit__(None, None, None),
        lambda: writer(folder),
        lambda: salvage(folder, out=folder.parent / "salvaged"),
    ):
        try:
            act()
        except MindgaugeError as error:
            assert "\n" not in str(error)  # noqa: PT017 - refused or done, but in one line
        yield


@pytest.mark.parametrize("there", [True, later(False)], ids=["a file", "nothing"])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_through_a_link(rated: Path, tmp_path: Path, name: str, there: bool) -> None:
    folder, victim = tmp_path / "run", tmp_path / "elsewhere"
    shutil.copytree(rated, folder)
    (folder / name).unlink(missing_ok=True)
    if there:
        victim.write_bytes(WORDS)
    (folder / name).symlink_to(victim)
    for _ in _commands(folder):
        assert victim.exists() == there
        assert not there or victim.read_bytes() == WORDS


@pytest.mark.parametrize("name", ["pending", "rubrics"])
def test_nothing_is_written_into_a_linked_folder(rated: Path, tmp_path: Path, name: str) -> None:
    folder, victim = tmp_path / "run", tmp_path / "elsewhere"
    shutil.copytree(rated, folder)
    victim.mkdir()
    (victim / "letter.toml").write_bytes(WORDS)
    (folder / name).symlink_to(victim)
    for _ in _commands(folder):
        assert [path.name for path in victim.iterdir()] == ["letter.toml"]
    assert not (tmp_path / "salvaged" / name).exists()


def test_a_linked_file_of_rubrics_does_not_come_along(rated: Path, tmp_path: Path) -> None:
    folder, victim = tmp_path / "run", tmp_path / "letter.toml"
    shutil.copytree(rated, folder)
    (folder / "rubrics").mkdir()
    (folder / "rubrics" / "own.toml").write_bytes(WORDS)
    victim.write_bytes(WORDS)
    (folder / "rubrics" / "letter.toml").symlink_to(victim)
    salvage(folder, out=tmp_path / "new")
    assert [path.name for path in (tmp_path / "new" / "rubrics").iterdir()] == ["own.toml"]


@pytest.mark.parametrize("name", ["annotation.sqlite", "annotation.toml.new", "rubric.toml", "rubric.toml.new"])
def test_an_annotation_project_is_not_written_through_a_link(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "elsewhere"
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / name).symlink_to(victim)
    rubric = benchmarks.find_one(BENCHMARK).rubric
    try:
        setup.database(tmp_path / "project", "").write(
            lambda connection: connection.exec_driver_sql("CREATE TABLE labels (id TEXT)")
        )
    except UsageError as error:
        assert "a link" in str(error)  # noqa: PT017
    setup.write(tmp_path / "project", "")
    rubric.write(tmp_path / "project" / "rubric.toml")
    assert not victim.exists()
    assert Rubric.load(tmp_path / "project" / "rubric.toml").hash == rubric.hash


@pytest.mark.parametrize(("out", "stranger"), [("README.html", "README.md"), ("conf.html", "conf.json"), ("", "report.md"), ("", "report.json")])  # fmt: skip
@pytest.mark.parametrize(
    "content", [later(WORDS), b'{"software": "another"}', later(b"[" * 100_000), b"\xff\xfe", later(b"")]
)
def test_a_report_replaces_only_what_a_report_wrote(
    rated: Path, tmp_path: Path, out: str, stranger: str, content: bytes
) -> None:
    (tmp_path / stranger).write_bytes(content)
    with pytest.raises(UsageError, match=rf"{stranger}: something that no report left there; .* choose another --out"):
        mindgauge.report([rated], out=tmp_path / out)
    assert (tmp_path / stranger).read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [stranger]


def test_a_report_replaces_what_a_report_wrote(rated: Path, tmp_path: Path) -> None:
    before = mindgauge.report([rated], out=tmp_path / "page.html")
    first = before.json.read_bytes()
    before.markdown.write_text(before.markdown.read_text(encoding="utf-8"), encoding="utf-8")
    again = mindgauge.report([rated], out=tmp_path / "page.html")
    assert again.path.exists()
    assert first
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "page.json", "page.md"}


@pytest.mark.parametrize("content", [b"", b"text", "text with a lone \udc80 half"])
def test_what_a_kill_left_is_replaced(tmp_path: Path, content: str | bytes) -> None:
    (tmp_path / "a.toml.new").write_bytes(WORDS)
    private.write(tmp_path / "a.toml", content)
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]
    assert (tmp_path / "a.toml").stat().st_mode & 0o777 == 0o600
