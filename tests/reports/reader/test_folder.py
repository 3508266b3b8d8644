"""The reader's folder: what stands in it, whose it is, whom it replaces, and what it does not show."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

import pytest

from mindgauge import benchmarks
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.errors import UsageError
from mindgauge.reports import content
from mindgauge.reports.page import write
from mindgauge.reports.reader import folder as reader
from mindgauge.store import Store, manifest
from tests.in_process import mindgauge
from tests.reports.conftest import CLOSED, OPEN, plant, plant_rated
from tests.reports.reader.conftest import Content, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_readers_of_a_run_are_the_same_byte_for_byte(both: Content, tmp_path: Path) -> None:
    again = written(tmp_path, both.runs[0])
    assert tree(again.folder) == tree(both.folder)


def test_its_files_are_their_owner_s_alone(both: Content) -> None:
    paths = [both.folder, *both.folder.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600, 0o700}


def test_it_needs_no_address_and_no_inline_script(both: Content) -> None:
    own = {
        name: content.decode()
        for name, content in tree(both.folder).items()
        if not name.startswith(("data/", "markdown-it"))
    }
    assert {name for name, content in own.items() if re.search(r"https?://(?!www\.w3\.org/2000/svg)", content)} == set()
    page = own["index.html"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in page
    assert "require-trusted-types-for 'script'" in page
    assert not re.search(r"<script(?! src=)|\son\w+=|style=|javascript:", page)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function", "".join(own.values())
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return plant_rated(tmp_path / "run", {}, conversations=3, models=("a",), people=("Anna",))


def test_a_report_writes_it_leads_into_it_and_replaces_its_own(small: Path, tmp_path: Path) -> None:
    alone = write([small], tmp_path / "alone.html")
    assert alone.reader is None
    assert "_reader" not in alone.path.read_text() and "in the reader" not in alone.path.read_text()
    done = mindgauge("report", small, "--reader", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout.split()) == (
        0,
        [str(tmp_path / "out/report.html"), str(tmp_path / "out/report_reader/index.html")],
    )
    stale = tmp_path / "out/report_reader/data/0099.js"
    stale.write_text("old")
    files = write([small], tmp_path / "out", reader=True)
    assert files.reader == tmp_path / "out/report_reader"
    assert not stale.exists()
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []
    page = files.path.read_text()
    targets = set(re.findall(r'href="(report_reader/index\.html[^"]*)"', page))
    assert {target.partition("#")[0] for target in targets} == {"report_reader/index.html"}
    assert len(targets) > 3
    assert 'tabindex="-1"><title>Read these in the reader' in page


def strangers(folder: Path) -> Iterator[str]:
    folder.mkdir()
    yield "index.html"
    (folder / "index.html").write_text("somebody's page")
    yield "its files"
    (folder / "notes.txt").write_text("mine")
    yield "notes.txt"


def test_what_is_somebody_else_s_is_never_replaced(small: Path, tmp_path: Path) -> None:
    place = tmp_path / "report_reader"
    for named in strangers(place):
        before = tree(place)
        if named == "index.html":
            continue  # an empty folder is nobody's
        with pytest.raises(UsageError, match=re.escape(named)):
            write([small], tmp_path, reader=True)
        assert tree(place) == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "linked_reader").symlink_to(place)
    (other / "file_reader").write_text("a file")
    for stem in ("linked", "file"):
        done = mindgauge("report", small, "--reader", "--out", other / f"{stem}.html")
        assert done.returncode == 2 and "choose another --out" in done.stderr and "Traceback" not in done.stderr


def test_a_mark_alone_makes_no_folder_ours(tmp_path: Path) -> None:
    place = tmp_path / "x_reader"
    place.mkdir()
    (place / "index.html").write_text(f"a page\n{reader.MARK}\n")
    reader.refuse_strangers(place)
    (place / "data").mkdir()
    (place / "data" / "thesis.docx").write_text("mine")
    with pytest.raises(UsageError, match="thesis"):
        reader.refuse_strangers(place)


def restricted(folder: Path) -> Path:
    """Write a run of a benchmark whose authors' texts are restricted, with one of theirs and one of ours."""
    name = next(b.name for b in map(benchmarks.find_one, benchmarks.names()) if b.card.restricted and not b.closed)
    own = benchmarks.find_one(name).samples(None)[0]
    theirs = Sample.of((Message("user", "SECRET words of theirs"),), tags={"language": "en", "category": "work"})
    with Store(folder, write=True) as store:
        manifest.begin(folder, {"benchmarks": [name], "models": ["m"], "loaded": True}, "")
        store.put_samples(name, [own, theirs])
        for sample in (own, theirs):
            reply = Reply.of(sample.id, "m", 0, Status.OK, f"You said: {sample.messages[-1].content}")
            store.add_reply(name, reply)
            criterion = benchmarks.find_one(name).rubric.criteria[0]
            store.add_rating(
                name,
                Rating(
                    reply.id,
                    criterion.name,
                    "Anna",
                    RaterKind.PERSON,
                    0,
                    Status.OK,
                    criterion.values[0],
                    f"SECRET: {sample.messages[-1].content}" if sample is theirs else "fine",
                ),
            )
    return folder


def test_restricted_texts_are_told_by_their_place_alone(tmp_path: Path) -> None:
    run = restricted(tmp_path / "run")
    made = written(tmp_path / "hidden", run)
    assert b"SECRET" not in b"".join(tree(made.folder).values())
    assert len(made.signed("restricted")) == 1
    assert made.listed["hidden"] and "restricted" in made.listed["hidden"][0]
    assert any(group["place"].endswith("number 2 in the run") for texts, _ in made.shards for group in texts["groups"])
    shown = written(tmp_path / "shown", run, show_texts=True)
    assert b"SECRET" in b"".join(tree(shown.folder).values()) and not shown.signed("restricted")


def test_a_run_without_replies_and_one_whose_replies_all_failed(tmp_path: Path) -> None:
    samples = benchmarks.find_one(OPEN).samples(None)[:3]
    for folder, failed in ((tmp_path / "empty", False), (tmp_path / "failed", True)):
        with Store(folder, write=True) as store:
            manifest.begin(folder, {"benchmarks": [OPEN], "models": ["m"]}, "")
            store.put_samples(OPEN, samples)
            for sample in samples if failed else ():
                store.add_reply(OPEN, Reply.of(sample.id, "m", 0, Status.FAILED))
        made = written(folder.with_suffix(".out"), folder)
        assert made.listed["lines"] == 3 * failed
        assert len(made.signed("no_reply")) == len(made.signed("unrated")) == 3 * failed
        assert set(made.names("why")) == ({"no reply came"} if failed else set())


def test_several_runs_stand_in_one_reader(tmp_path: Path) -> None:
    first = plant(tmp_path / "first", models=("acme/alpha-2",))
    second = plant_rated(tmp_path / "second", {}, conversations=3, models=("acme/alpha-2",), people=("Anna",))
    made = written(tmp_path, first, second)
    assert [system["label"] for system in made.listed["systems"]] == ["acme/alpha-2 (first)", "acme/alpha-2 (second)"]
    assert [(s["benchmark"], s["run"]) for s in made.listed["sections"]] == [
        (CLOSED, "first"),
        (OPEN, "first"),
        (OPEN, "second"),
    ]
    assert made.listed["lines"] == 28 + 28 + 3


def test_an_address_says_what_is_wanted() -> None:
    assert content.lines(system="a/b #1", sign=["harm", "unsafe"], q="") == "#system=a%2Fb%20%231&sign=harm&sign=unsafe"
    assert content.of_slice("category=self-harm", system="m") == "#system=m&category=self-harm"
    assert content.of_slice("all", system="m") == "#system=m"
    assert content.of_slice("crisis", system="m") == content.of_slice("noise=typos") == ""
