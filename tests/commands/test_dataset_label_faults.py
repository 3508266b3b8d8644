"""`dataset label`, `check`, `gold`, `transform`, `release` where something is unfinished, in the way, or not as it should be."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from aiohttp import web

import mindgauge
from mindgauge.models.settings import Settings
from mindgauge.records.errors import DataError, MindgaugeError, RubricError, UsageError
from mindgauge.reports.export.folder import ExportFolder
from tests.commands.test_dataset_labels import SURE, build, judges, judging, people_label
from tests.in_process import mindgauge as mindgauge_command
from tests.stub import Stub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Switch:
    """Whether a judge called `poor` answers."""

    works = True

    def __call__(self, body: dict[str, Any], number: int) -> web.StreamResponse:
        """Answer, or say that nobody is there."""
        return judging(body, number) if self.works or body["model"] != "poor" else web.Response(status=500)


@pytest.fixture
def switch() -> Switch:
    return Switch()


@pytest.fixture
def server(switch: Switch) -> Iterator[Stub]:
    with Stub(switch) as stub:
        yield stub


def signed(folder: Path, files: dict[str, bytes]) -> None:
    """Write a data set with checksums, as somebody may who makes one by hand."""
    with ExportFolder(folder) as target:
        for name, content in files.items():
            with target.binary(name) as file:
                file.write(content)


def test_people_are_not_asked_about_labels_that_are_still_to_come(server: Stub, switch: Switch, tmp_path: Path) -> None:
    folder = build(tmp_path, 60)
    options: dict[str, Any] = {"judge": judges(server, *SURE), "rubric": folder / "risk.toml", "out": folder / "panel", "settings": Settings(tries=1)}  # fmt: skip
    switch.works = False
    with pytest.raises(MindgaugeError, match="calls failed"):
        mindgauge.dataset_label(folder / "nights", **options)
    checking: dict[str, Any] = {"annotators": ["ana", "ben"], "number": 20, "training": 0, "out": folder / "people"}
    with pytest.raises(DataError, match="panel: labels of poor are still to come; go on with the command that made"):
        mindgauge.dataset_check(folder / "panel", **checking)
    assert not (folder / "people").exists()
    switch.works = True
    asked = len(server.bodies)
    mindgauge.dataset_label(folder / "nights", **options)
    assert {body["model"] for body in server.bodies[asked:]} == {"poor"}
    mindgauge.dataset_check(folder / "panel", **checking)


def test_nothing_is_written_into_a_data_set_or_in_its_place(server: Stub, tmp_path: Path) -> None:
    nights = build(tmp_path, 6) / "nights"
    before = {path: path.read_bytes() for path in nights.rglob("*") if path.is_file()}
    labelling: dict[str, Any] = {"judge": server.judge, "rubric": tmp_path / "risk.toml"}
    story: dict[str, Any] = {"form": "story", "model": server.model}
    for out in (nights, nights / "more"):
        for write, options in (
            (mindgauge.dataset_release, {"to": "folder", "out": out}),
            (mindgauge.dataset_transform, {"form": "noise", "out": out}),
            (mindgauge.dataset_transform, {**story, "out": tmp_path / "new", "run": out}),
            (mindgauge.dataset_label, {**labelling, "out": out}),
        ):
            with pytest.raises(UsageError, match="nights is for a data set alone; write it beside that"):
                write(nights, **options)
    with pytest.raises(UsageError, match="new is for a data set alone"):
        mindgauge.dataset_transform(nights, **story, out=tmp_path / "new", run=tmp_path / "new" / "run")  # fmt: skip
    assert {path: path.read_bytes() for path in nights.rglob("*") if path.is_file()} == before
    assert not server.bodies


def test_gold_leaves_every_other_file_of_a_data_set_as_it_was(server: Stub, tmp_path: Path) -> None:
    folder = build(tmp_path, 30)
    sample = b"subject,probability\r\nx,1\r\n"
    nights = {
        name: (folder / "nights" / name).read_bytes() for name in ("items.parquet", "dropped.parquet", "dataset.json")
    }
    signed(folder / "made", {**nights, "sample.csv": sample})
    mindgauge.dataset_label(folder / "made", judge=judges(server, "fine"), rubric=folder / "risk.toml", out=folder / "panel")  # fmt: skip
    mindgauge.dataset_check(folder / "panel", annotators=["ana", "ben"], number=20, training=0, out=folder / "people")
    people_label(folder / "people")
    mindgauge.dataset_gold(folder / "made", panel=folder / "panel", people=folder / "people")
    assert (folder / "made" / "sample.csv").read_bytes() == sample
    assert (folder / "made" / "dropped.parquet").read_bytes() == (folder / "nights" / "dropped.parquet").read_bytes()


def test_a_build_drops_no_labels_of_people_and_a_release_replaces_no_data_set(server: Stub, tmp_path: Path) -> None:
    folder = build(tmp_path, 30)
    nights = folder / "nights"
    mindgauge.dataset_build(folder / "recipe.toml", out=nights)
    mindgauge.dataset_build(folder / "recipe.toml", out=folder / "other")
    labelling = mindgauge_command("dataset", "label", nights, "--judge", *judges(server, "fine"), "--rubric", folder / "risk.toml", "--out", folder / "panel")  # fmt: skip
    words = " ".join(labelling.stdout.split())
    assert "Note: one judge is no panel: its own label stands. It took no entry test" in words
    assert "among judges" not in words
    with pytest.raises(UsageError, match="nights: no run of a panel here, but a data set; give the folder that"):
        mindgauge.dataset_check(nights, annotators=["ana", "ben"], out=folder / "people")
    mindgauge.dataset_check(folder / "panel", annotators=["ana", "ben"], number=20, training=0, out=folder / "people")
    people_label(folder / "people")
    mindgauge.dataset_gold(nights, panel=folder / "panel", people=folder / "people")
    before = {path: path.read_bytes() for path in nights.rglob("*") if path.is_file()}
    again = mindgauge_command("dataset", "build", folder / "recipe.toml", "--out", nights)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "labels of people stand here, which this would drop" in again.stderr
    with pytest.raises(UsageError, match="labels of people stand here"):
        mindgauge.dataset_transform(folder / "other", form="plain", out=nights)
    with pytest.raises(UsageError, match="a data set is here, which a release would replace"):
        mindgauge.dataset_release(folder / "other", to="folder", out=nights)
    assert {path: path.read_bytes() for path in nights.rglob("*") if path.is_file()} == before
    for dataset in ("other", "nights"):
        mindgauge.dataset_release(folder / dataset, to="folder", out=folder / "released", below_gate=True)
    card = (folder / "released" / "README.md").read_text(encoding="utf-8")
    assert "`panel_label` is what one model alone says (fine" in card
    (folder / "released" / "README.md").write_text("ours", encoding="utf-8")
    with pytest.raises(UsageError, match=r"released: holds README\.md"):
        mindgauge.dataset_release(folder / "other", to="folder", out=folder / "released")


def test_numbers_that_are_none_are_one_line(server: Stub, tmp_path: Path) -> None:
    folder = build(tmp_path, 12)
    mindgauge.dataset_label(folder / "nights", judge=judges(server, "fine"), rubric=folder / "risk.toml", out=folder / "panel")  # fmt: skip
    typed = ["dataset", "label", folder / "panel", "--annotators", "ana,ben", "--out"]
    negative = mindgauge_command(*typed, tmp_path / "no", "--seed", "-1")
    assert (negative.returncode, len(negative.stderr.splitlines())) == (2, 1)
    many = mindgauge_command(*typed, tmp_path / "people", "--disputed", 10**30, "--number", 10**30)
    assert many.returncode == 0, many.stderr
    assert "--anchors" not in many.stdout + many.stderr, "an option that there is not"


def test_a_level_is_not_called_as_what_is_no_label(server: Stub, tmp_path: Path) -> None:
    folder = build(tmp_path, 6)
    rubric = (folder / "risk.toml").read_text(encoding="utf-8").replace('"hint"', '"(tie)"')
    (folder / "risk.toml").write_text(rubric, encoding="utf-8")
    with pytest.raises(UsageError, match=r"\(tie\) is what an item without a label is called; name that level of risk"):
        mindgauge.dataset_label(folder / "nights", judge=server.judge, rubric=folder / "risk.toml", out=folder / "panel")  # fmt: skip
    assert not server.bodies


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda items: items.with_columns(pl.col("text") + " now"), "6 ids of other texts"),
        (lambda items: items.drop("group"), "no column group of String"),
        (lambda items: items.with_columns(weight=1), "no column weight of Float64"),
        (lambda items: items.with_columns(group=pl.lit(None, pl.String)), "group is empty in 6 rows"),
        (None, "cannot read the items"),
    ],
)  # fmt: skip
def test_items_that_no_build_wrote_are_refused_in_one_line(
    change: Callable[[pl.DataFrame], pl.DataFrame] | None, fault: str, server: Stub, tmp_path: Path
) -> None:
    nights, content = build(tmp_path, 6) / "nights", io.BytesIO(b"PAR1")
    if change is not None:
        change(pl.read_parquet(nights / "items.parquet")).write_parquet(content)
    signed(
        tmp_path / "made", {"dataset.json": (nights / "dataset.json").read_bytes(), "items.parquet": content.getvalue()}
    )
    for write, options in (
        (mindgauge.dataset_release, {"to": "folder"}),
        (mindgauge.dataset_transform, {"form": "plain"}),
        (mindgauge.dataset_label, {"judge": server.judge, "rubric": tmp_path / "risk.toml"}),
    ):
        with pytest.raises(DataError, match=fault) as raised:
            write(tmp_path / "made", out=tmp_path / "out", **options)
        assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists() and not server.bodies


def test_a_rubric_about_replies_labels_no_items(server: Stub, tmp_path: Path) -> None:
    nights = build(tmp_path, 6) / "nights"
    with pytest.raises(RubricError, match="psycrisis/likert: a variant of ours is about replies"):
        mindgauge.dataset_label(nights, judge=server.judge, rubric="psycrisis/likert", criterion="empathy", out=tmp_path / "panel")  # fmt: skip
    assert not server.bodies
