from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner

from mindgauge import reliability
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered
from mindgauge.cli import app
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.commands.annotate.import_ import annotate_import
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.records.errors import DataError, UsageError

from .conftest import SAFE, said, submit

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_open_stays_in_unless_asked_for(labelled: Annotation, tmp_path: Path) -> None:
    with labelled as a:
        item = a.items(2)[0].id
        submit(a, "ana", item, Answer("category", Answered.OK, SAFE))
    found = annotate_export(labelled.folder)
    assert found.path == str(labelled.folder / "export-csv")
    assert (found.batches, found.open) == ([1], [])
    assert "batch 2 is not closed and left out; --all exports what there is" in found.notes
    for name in ("ratings.csv", "history.csv", "gold.csv"):
        assert item not in (labelled.folder / "export-csv" / name).read_text(encoding="utf-8")
    everything = annotate_export(labelled.folder, everything=True)  # over the earlier one, which nobody changed
    assert (everything.batches, everything.open) == ([1, 2], [2])
    assert everything.labels == found.labels + 1
    assert "batch 2 is not closed: people who label there must not see these files" in everything.notes
    for name in ("ratings.csv", "history.csv", "gold.csv"):
        assert item in (labelled.folder / "export-csv" / name).read_text(encoding="utf-8")


def test_nothing_is_exported_where_it_cannot_be(fresh: Path, labelled: Annotation, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no batch is closed yet; --all exports what there is"):
        annotate_export(fresh)
    with pytest.raises(UsageError, match="unknown format 'labelstudio': did you mean label-studio"):
        annotate_export(fresh, to="labelstudio")
    with pytest.raises(UsageError, match="no annotation project here"):
        annotate_export(tmp_path)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.docx").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"holds thesis\.docx"):
        annotate_export(labelled.folder, out=tmp_path / "theirs")


def test_whose_reply_it_is_is_told_when_the_batch_is_closed(tmp_path: Path) -> None:
    rows = [
        {"user": f"I cannot sleep, it is the {n}th night.", "reply": f"That is hard. ({n})", "model": "org/m"}
        for n in (5, 6)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "replies.csv")
    project = tmp_path / "project"
    annotate_new(
        project, items=tmp_path / "replies.csv", annotators=["ana", "ben"], benchmark="mentalbench", batch=1, training=0
    )
    with Annotation.open(project) as a:
        (first,) = a.items(1)
        for name in ("ana", "ben"):
            submit(a, name, first.id, *(Answer(c.name, Answered.OK, c.values[-1]) for c in a.rubric().criteria))
    annotate_export(project, to="parquet", everything=True)
    ratings = pl.read_parquet(project / "export-parquet" / "ratings.parquet")
    assert ratings.schema["value"] == pl.Int64
    assert ratings["system"].unique().to_list() == ["org/m"]
    gold = pl.read_parquet(project / "export-parquet" / "gold.parquet")
    assert dict(gold.group_by("batch").agg(pl.col("system").first()).iter_rows()) == {1: "org/m"}
    assert {
        card.judge for card in reliability(project / "export-parquet" / "ratings.parquet", reference=["ana"]).cards
    } == {"ben"}


def test_the_command_line_exports_and_imports(labelled: Annotation, fresh: Path, tmp_path: Path) -> None:
    run = CliRunner()
    told = run.invoke(
        app,
        ["annotate", "export", str(labelled.folder), "--to", "label-studio", "--out", str(tmp_path / "out"), "--json"],
    )
    found = json.loads(told.stdout)
    assert (found["to"], found["batches"]) == ("label-studio", [1])
    assert [file["file"] for file in found["files"]][:4] == ["tasks.json", "config.xml", "history.csv", "gold.csv"]
    taken = run.invoke(app, ["annotate", "import", str(fresh), str(tmp_path / "out" / "tasks.json")])
    assert (
        taken.stdout == "17 labels taken in, 1 items handed on, 0 were there already (label-studio)\nclosed: batch 1\n"
    )
    again = json.loads(
        run.invoke(app, ["annotate", "import", str(fresh), str(tmp_path / "out" / "tasks.json"), "--json"]).stdout
    )
    assert (again["labels"], again["same"], again["closed"]) == (0, 18, [])


def test_an_import_of_an_unknown_rater_changes_nothing(fresh: Path, tmp_path: Path) -> None:
    with Annotation.open(fresh) as a:
        subjects = [item.id for item in a.items(1)[:2]]
    table = pl.DataFrame({"subject": subjects, "criterion": "category", "rater": ["ana", "bea"], "value": SAFE})
    table.write_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"t\.csv:3: unknown rater 'bea'.*; known are ana, ben, chi"):
        annotate_import(fresh, tmp_path / "t.csv")
    with pytest.raises(
        UsageError, match=r"--map rater.eva=bea: 'rater.eva' is unknown; choose from rater.ana, rater.ben, rater.chi"
    ):
        annotate_import(fresh, tmp_path / "t.csv", names={"rater.eva": "bea"})
    with Annotation.open(fresh) as a:
        assert a.labels() == []
    assert annotate_import(fresh, tmp_path / "t.csv", names={"rater.ben": "bea"}).labels == 2
    with Annotation.open(fresh) as a:
        assert {name for _, name, _ in said(a)} == {"ana", "ben"}
