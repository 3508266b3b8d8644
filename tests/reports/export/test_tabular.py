from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from mindgauge.commands.export import export
from mindgauge.records import Sample
from mindgauge.records.errors import UsageError
from mindgauge.records.files.tables import rows
from mindgauge.records.files.texts import dialogue, neutralised
from tests.reports.export.conftest import MODELS, TEXTS

if TYPE_CHECKING:
    from pathlib import Path


def restored(cell: str) -> str:
    """Take back the apostrophe that a CSV export puts before what looks like a formula."""
    bare = cell.lstrip("'")
    return cell[1:] if cell.startswith("'") and bare[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_tables_come_back_as_they_went(run: Path, tmp_path: Path, to: str) -> None:
    written = export(run, to=to, out=tmp_path / "out")
    assert [file.rows for file in written.files] == [4, 16, 44, None]
    back = {name: [row for _, row in rows(tmp_path / f"out/{name}.{to}")] for name in ("samples", "replies", "ratings")}
    undo = restored if to == "csv" else str
    assert [dialogue(row, "row")[0].content for row in back["samples"]] == list(TEXTS)
    assert {undo(row["reply"]) for row in back["replies"]} == {f"-回复 {n} by {m}" for m in MODELS for n in range(4)}
    assert {row["tag.language"] for row in back["samples"]} == {"zh"}
    assert {Sample.of(dialogue(row, "row")).id for row in back["replies"]} == {row["id"] for row in back["samples"]}
    scored = [row for row in back["ratings"] if row["rater_kind"] == "person"]
    assert {(row["rater"], str(row["value"])) for row in scored} == {("zoe@clinic.example", "3"), ("H1", "5")}
    assert all(row["model"] == row["system"] == MODELS[0] and row["cluster"].startswith("c") for row in scored)
    assert "value" not in next(row for row in back["ratings"] if row["status"] == "unparsable")


def test_formulas_are_defused_and_numbers_left_alone() -> None:
    cells = ["=1+1", "+49", "-", "@x", "\tx", "\rx", "'=1", "it's = fine", " =1", "自伤"]
    rows = pl.DataFrame({"text": cells, "n": [-1.5] * 10, "value": ["-1", "+2.5", "-x", *"1234567"]})
    found = neutralised(rows)
    assert [cell.startswith("'") for cell in found["text"]] == [True] * 7 + [False] * 3
    assert [restored(cell) for cell in found["text"]] == cells
    assert found["n"].to_list() == [-1.5] * 10
    assert found["value"].to_list()[:3] == ["-1", "+2.5", "'-x"]


def test_values_are_numbers_where_all_are(run: Path, tmp_path: Path) -> None:
    export(run, to="csv", out=tmp_path / "csv")
    export(run, to="parquet", out=tmp_path / "parquet")
    assert pl.read_parquet(tmp_path / "parquet/ratings.parquet")["value"].dtype == pl.String  # the rule says yes or no
    table = pl.read_csv(tmp_path / "csv/ratings.csv", infer_schema_length=None)
    assert table.columns[0] == "benchmark"  # the byte order mark is no part of it
    assert table.height == 44


def test_only_an_untouched_export_is_replaced(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = export(run, to="csv", out=out)
    assert export(run, to="csv", out=out) == first
    export(run, to="parquet", out=out)
    assert {p.name for p in out.iterdir()} == {"samples.parquet", "replies.parquet", "ratings.parquet", "checksums"}
    (out / "ratings.parquet").write_bytes(b"changed by hand")
    with pytest.raises(UsageError, match=r"holds ratings\.parquet, which no export left"):
        export(run, to="csv", out=out)
    assert (out / "ratings.parquet").read_bytes() == b"changed by hand"
    foreign = tmp_path / "mine"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="choose another --out"):
        export(run, to="csv", out=foreign)
    with pytest.raises(UsageError, match="holds a file"):
        export(run, to="csv", out=foreign / "thesis.txt")
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_manifest_lists_every_file_but_itself(run: Path) -> None:
    found = export(run, to="csv")
    assert found.path == str(run / "export-csv")
    listed = json.loads((run / "export-csv/checksums/sha256_manifest.json").read_text())["files"]
    assert set(listed) == {"samples.csv", "replies.csv", "ratings.csv"}
