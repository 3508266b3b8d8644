from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pyarrow.dataset
import pytest
from polars.testing import assert_frame_equal

from mindgauge.commands.export import export
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.reports.export import tabular
from mindgauge.reports.export.folder import ExportFolder
from tests.reports.export.conftest import HOSTILE, JUDGE, MODELS

if TYPE_CHECKING:
    from pathlib import Path

ORDER = ("rater", "criterion", "subject", "run")


def ratings(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path).sort(ORDER)


def test_a_table_that_is_too_long_for_one_file_is_a_folder_of_parts(run: Path, tmp_path: Path) -> None:
    export(run, to="parquet", out=tmp_path / "whole")
    export(run, to="parquet", out=tmp_path / "parts", rows_per_file=16)
    names = sorted(str(path.relative_to(tmp_path / "parts")) for path in (tmp_path / "parts").rglob("*.parquet"))
    assert names == [*(f"ratings/part-0000{n}.parquet" for n in range(3)), "replies.parquet", "samples.parquet"]
    schemas = [pl.read_parquet_schema(path) for path in (tmp_path / "parts/ratings").iterdir()]
    assert schemas == [pl.read_parquet_schema(tmp_path / "whole/ratings.parquet")] * 3
    assert_frame_equal(pl.read_parquet(tmp_path / "parts/ratings"), pl.read_parquet(tmp_path / "whole/ratings.parquet"))


def test_partitions_are_read_back_as_hive_names_them(run: Path, tmp_path: Path) -> None:
    export(run, to="parquet", out=tmp_path / "whole")
    out = tmp_path / "parts"
    export(run, to="parquet", out=out, partition_by=("benchmark", "rater", "model"), rows_per_file=3)
    whole = ratings(tmp_path / "whole/ratings.parquet")
    encoded = {path.name for path in out.glob("ratings/benchmark=help_or_harm%2Fresponse/*")}
    assert "rater=local%2F%E5%88%A4%E5%AE%98" in encoded
    assert {"rater", "model", "benchmark"} & set(
        pl.read_parquet_schema(next(out.glob("ratings/**/*.parquet")))
    ) == set()
    by_polars = pl.scan_parquet(out / "ratings", hive_partitioning=True).collect().select(whole.columns).sort(ORDER)
    assert_frame_equal(by_polars, whole)
    found = pyarrow.dataset.dataset(out / "ratings", partitioning="hive").to_table()
    assert_frame_equal(pl.DataFrame(found).select(whole.columns).sort(ORDER), whole)
    assert {JUDGE} < set(by_polars["rater"]) and {HOSTILE} < set(by_polars["model"])
    replies = pl.scan_parquet(out / "replies", hive_partitioning=True).collect()
    assert set(replies["model"]) == set(MODELS)
    assert replies.height == 16
    assert pl.scan_parquet(out / "samples", hive_partitioning=True).collect().height == 4


def test_a_value_that_is_missing_has_a_folder_of_its_own(run: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame({"kind": ["a", None, "", "a/../b"], "n": [1, 2, 3, 4]})
    with ExportFolder(tmp_path / "out") as folder:
        tabular.write(folder, "table", [frame], ["kind"])
    found = pl.scan_parquet(tmp_path / "out/table", hive_partitioning=True).collect().sort("n")
    assert found["kind"].to_list() == ["a", None, None, "a/../b"]
    assert found["n"].to_list() == [1, 2, 3, 4]


def test_long_texts_make_files_of_fewer_rows(tmp_path: Path) -> None:
    frames = (pl.DataFrame({"text": [f"{frame}{row}" * 8_000 for row in range(1_000)]}) for frame in range(5))
    with ExportFolder(tmp_path / "out") as folder:
        tabular.write(folder, "table", frames)
    heights = [pl.read_parquet(path).height for path in sorted((tmp_path / "out/table").iterdir())]
    assert len(heights) > 1
    assert sum(heights) == 5_000


def test_an_empty_table_keeps_its_columns(tmp_path: Path) -> None:
    with ExportFolder(tmp_path / "out") as folder:
        tabular.write(folder, "table", [pl.DataFrame(schema={"kind": pl.String, "n": pl.Int64})], ["kind"])
    assert pl.read_parquet_schema(tmp_path / "out/table.parquet") == {"kind": pl.String, "n": pl.Int64}


@pytest.mark.parametrize(
    ("to", "more", "says"),
    [
        ("parquet", {"partition_by": ("reply",)}, "cannot partition by reply: choose from benchmark, criterion"),
        ("csv", {"partition_by": ("rater",)}, "no use with --to csv"),
        ("csv", {"rows_per_file": 5}, "no use with --to csv"),
        ("parquet", {"rows_per_file": 0}, "at least 1, not 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(run: Path, to: str, more: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        export(run, to=to, **more)  # type: ignore[arg-type]
    assert not (run / f"export-{to}").exists()


def test_a_killed_export_leaves_nothing_and_can_be_done_again(run: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from mindgauge.cli import main; main()", "export", str(run), "--to", "parquet"]
    working = subprocess.Popen([*command, "--rows-per-file", "1", "--out", str(tmp_path / "out")])
    while not list(tmp_path.glob(".out.*/ratings/*")) and working.poll() is None:
        time.sleep(0.002)
    os.kill(working.pid, signal.SIGKILL)
    assert working.wait() == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    assert len(list(tmp_path.glob(".out.*"))) == 1
    export(run, to="parquet", out=tmp_path / "out", rows_per_file=1)
    assert list(tmp_path.glob(".out.*")) == []
    assert pl.read_parquet(tmp_path / "out/ratings").height == 44


@pytest.mark.parametrize("name", ["../out.csv", "/tmp/out.csv", "a/../../out.csv"])
def test_no_name_leads_out_of_the_folder_of_an_export(tmp_path: Path, name: str) -> None:
    with pytest.raises(MindgaugeError, match="is no name of a file within it"), ExportFolder(tmp_path / "out") as files:
        files.text(name, "x")
    assert [path.name for path in tmp_path.iterdir()] == []
