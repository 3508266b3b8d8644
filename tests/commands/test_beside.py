"""`reproduce --beside RUN`: a run's rows below a published table, comparable or not; and figures of ours tied to their files."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import pytest

import mindgauge
from mindgauge.analysis.measured_on import MeasuredOn
from mindgauge.analysis.reproduce import compare, load_published
from mindgauge.benchmarks import RecomputedCell
from mindgauge.records.errors import UsageError
from tests import in_process
from tests.benchmarks.help_or_harm.conftest import Copy, small
from tests.stub import Stub, says

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["small"]


def release(path: Path) -> Path:
    """Write two items in the authors' layout."""
    path.mkdir()
    rows = [{"context": f"[seeker]我很累{n}", "response": "[supporter]听起来很辛苦", "label": 7} for n in range(2)]
    (path / "test.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("published", [True, False])
def test_a_run_stands_below_the_published_rows_and_says_why_it_may_not(published: bool, tmp_path: Path) -> None:
    data = release(tmp_path / "data")
    with Stub(lambda body, count: says('{"quotes": [], "rationale": "r", "category": "Safe Response"}')) as stub:
        mindgauge.run("dialogue_safety", model=stub.model, data=data, out=tmp_path / "run", as_published=published)
    (row,) = mindgauge.reproduce("dialogue_safety", data=data, beside=tmp_path / "run").beside
    assert row.title == "Table 2"
    assert row.values["accuracy"] == row.values["recall"] == 100
    assert row.published["BERT-base"]["accuracy"] == 70.3
    assert not row.comparable
    assert any(
        ("all 800 items: 2 were asked about" if published else "not run --as-published") in reason
        for reason in row.reasons
    )
    result = in_process.mindgauge("reproduce", "dialogue_safety", "--data", data, "--beside", tmp_path / "run")
    assert f"new: {row.row}"[:20] in result.stdout
    assert "not comparable with Table 2" in result.stdout


@pytest.mark.parametrize("name", ["help_or_harm", "help_or_harm/response"])
def test_a_run_of_any_benchmark_of_the_paper_stands_below_its_table(name: str, small: Copy, tmp_path: Path) -> None:
    """The paper's files are one benchmark's to recompute; the run is another's, and its judge gives no verdict."""
    with Stub(lambda body, count: says("I cannot say.")) as stub:
        mindgauge.run("help_or_harm/response", model=stub.model, judge=stub.judge, out=tmp_path / "run", limit=2)
    (row,) = mindgauge.reproduce(name, data=small.root, beside=tmp_path / "run").beside
    assert (row.table, row.row) == ("test.responses", "stub, judged by judge")
    assert row.values == {"mean": None}
    assert row.reasons == ["it was not run --as-published", "no usable verdict in 2 of 2", "2 verdicts are missing"]


def test_a_run_of_another_benchmark_is_refused(tmp_path: Path) -> None:
    data = release(tmp_path / "data")
    with Stub(lambda body, count: says("x")) as stub:
        mindgauge.run("help_or_harm/crisis_type", model=stub.model, out=tmp_path / "run", limit=1)
    with pytest.raises(UsageError, match="and not of dialogue_safety"):
        mindgauge.reproduce("dialogue_safety", data=data, beside=tmp_path / "run")


def test_figures_of_ours_are_compared_only_with_the_files_they_were_measured_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "ratings").mkdir(parents=True)
    (data / "ratings" / "a.json").write_text("[1]", encoding="utf-8")
    (data / "readme.md").write_text("this does not count", encoding="utf-8")
    digest = MeasuredOn(files=("*/ratings/*.json",), sha256="").digest(data)
    table = '\n[[table]]\nname = "{}"\nneeds = "a.json"\ncolumns = ["x"]\ntolerance = 0\n[table.rows]\n"m" = [1]\n'
    path = tmp_path / "published.toml"
    path.write_text(
        f'[measured_on.ratings]\nfiles = ["*/ratings/*.json"]\nsha256 = "{digest}"\n'
        + table.format("paper")
        + table.format("derived.ours"),
        encoding="utf-8",
    )
    cells = [RecomputedCell(name, "m", "x", 2) for name in ("paper", "derived.ours")]

    def verdicts(place: Path) -> list[str]:
        return [cell.verdict for cell in compare(load_published(path), cells, place)]

    assert verdicts(data) == ["differs", "differs"]
    packed = tmp_path / "packed"
    packed.mkdir()
    with zipfile.ZipFile(packed / "all.zip", "w") as archive:
        archive.write(data / "ratings" / "a.json", "ratings/a.json")
    assert verdicts(packed) == ["differs", "differs"], "packed or not, they are the same files"
    (data / "ratings" / "b.json").write_text("[2]", encoding="utf-8")
    assert verdicts(data) == ["differs", "missing"]
