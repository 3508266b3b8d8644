"""What was exported and loaded has the same ratings and scores, and is exported alike: own runs, and released files."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge.models.scripted import Scripted
from mindgauge.records.errors import DataError
from mindgauge.store import Store
from tests.benchmarks.help_or_harm.conftest import Copy, real, small  # fixtures
from tests.reports.conftest import plant_rated
from tests.reports.export.conftest import write_run
from tests.reports.export.test_hub_audit import _bot, _verdict
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Copy", "real", "small"]


def _own(name: str) -> Callable[[Path], object]:
    def run(folder: Path) -> object:
        judge = Scripted("jury", _verdict)
        return mindgauge.run(name, model=[_bot("a"), _bot("b")], judge=judge, runs=2, judge_runs=3, limit=8, out=folder)

    return run


def _dialogues(folder: Path) -> object:
    return mindgauge.run(
        "conversations/risk", model=_bot("a"), judge=Scripted("jury", _verdict), turns=3, limit=2, out=folder
    )


def _textless(folder: Path) -> object:
    judge = Scripted("jury", _verdict)
    return mindgauge.run("help_or_harm/response", model=_bot("a"), judge=judge, limit=4, text=False, out=folder)


RUNS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "every status": ("help_or_harm/response", write_run),
    "people": ("help_or_harm/response", plant_rated),
    "an own run": ("help_or_harm/response", _own("help_or_harm/response")),
    "several criteria": ("psycrisis", _own("psycrisis")),
    "dialogues": ("conversations/risk", _dialogues),
    "no text": ("help_or_harm/response", _textless),
    "criteria in words": ("mentalbench", _own("mentalbench")),
}

ALWAYS = {"every status", "dialogues"}


def _ratings(run: Path, name: str) -> list[tuple[object, ...]]:
    with Store(run) as store:
        return [
            (
                r.subject,
                r.criterion,
                r.rater,
                r.rater_kind,
                r.run,
                r.status,
                r.value,
                r.rationale,
                r.evidence,
                r.instrument,
            )
            for r in store.ratings(name)
        ]


def there_and_back(run: Path, name: str, folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the files of an export, and those of the export of what was loaded from it."""
    mindgauge.export(run, to="hub", out=folder / "hub", licence="CC-BY-4.0")
    mindgauge.papers_load(name, data=folder / "hub", out=folder / "loaded")
    mindgauge.export(folder / "loaded", to="hub", out=folder / "again", licence="CC-BY-4.0")
    first, second = (
        {path.relative_to(folder / name).as_posix(): path.read_bytes() for path in (folder / name).rglob("*") if path.is_file()}
        for name in ("hub", "again")
    )  # fmt: skip
    return first, second


@pytest.mark.parametrize("kind", [kind if kind in ALWAYS else later(kind) for kind in RUNS])
def test_an_own_run(kind: str, tmp_path: Path) -> None:
    name, make = RUNS[kind]
    make(tmp_path / "run")
    first, second = there_and_back(tmp_path / "run", name, tmp_path)
    assert [file for file in sorted({*first, *second}) if first.get(file) != second.get(file)] == []
    assert any(file.startswith("items/") for file in first)
    if kind not in {"every status", "people"}:  # there, people have other names outside
        assert _ratings(tmp_path / "run", name) == _ratings(tmp_path / "loaded", name)
        before, after = (mindgauge.score(tmp_path / place).metrics for place in ("run", "loaded"))
        assert before == after


def test_the_released_files_with_labels_by_people_models_and_gold(small: Copy, tmp_path: Path) -> None:
    mindgauge.papers_load("help_or_harm", data=small.data, out=tmp_path / "run")
    first, second = there_and_back(tmp_path / "run", "help_or_harm", tmp_path)
    assert [file for file in sorted({*first, *second}) if first.get(file) != second.get(file)] == []
    part = "help_or_harm-crisis_type"
    assert {file.split("/")[2] for file in first if file.startswith(f"{part}/evaluations")} == {"human_raw", "llm_raw"}
    summary = json.loads(first[f"{part}/metadata/export_summary.json"])
    assert summary["files"] and summary["ratings_left_out"] == {}
    for name in ("run", "loaded"):
        with Store(tmp_path / name) as store:
            assert store.count_ratings("help_or_harm/crisis_type"), name
    labels = [_ratings(tmp_path / name, "help_or_harm/crisis_type") for name in ("run", "loaded")]
    assert labels[0] == labels[1]


@pytest.mark.long
def test_all_released_files(real: Path, tmp_path: Path) -> None:
    mindgauge.papers_load("help_or_harm", data=real, out=tmp_path / "run")
    first, second = there_and_back(tmp_path / "run", "help_or_harm", tmp_path)
    assert [file for file in sorted({*first, *second}) if first.get(file) != second.get(file)] == []


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export, to be read or copied."""
    folder = tmp_path_factory.mktemp("exported")
    write_run(folder / "run")
    mindgauge.export(folder / "run", to="hub", out=folder / "hub", licence="CC-BY-4.0")
    return folder / "hub"


def test_another_benchmarks_export_is_refused(exported: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="an export of help_or_harm/response, not of psycrisis"):
        mindgauge.papers_load("psycrisis", data=exported, out=tmp_path / "loaded")


@pytest.mark.parametrize("name", ["help_or_harm/response", "help_or_harm"])
@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [("score_status", "bogus", "score_status is .*, not 'bogus'"), ("details", "{", "details is no JSON"),
     ("evaluation_run", 10**9, "evaluation_run counts repeats, and is not 1000000000")],
)  # fmt: skip
def test_a_damaged_export_is_told_in_one_line(
    exported: Path, tmp_path: Path, column: str, cell: object, problem: str, name: str
) -> None:
    shutil.copytree(exported, tmp_path / "hub")
    path = min((tmp_path / "hub" / "evaluations" / "llm_raw").rglob("*.parquet"))
    pl.read_parquet(path).with_columns(pl.lit(cell).alias(column)).write_parquet(path)
    with pytest.raises(DataError, match=problem):
        mindgauge.papers_load(name, data=tmp_path / "hub", out=tmp_path / "loaded", anyway=True)
