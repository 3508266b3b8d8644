"""An audit of our own export finds what an audit of the run finds: nothing that is not there, and what is planted."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge.models.scripted import Scripted
from tests.reports.conftest import plant_rated
from tests.reports.export.conftest import write_run
from tests.thinned import sampled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.commands.audit import Audit
    from mindgauge.records.request import Request


MANY = "mentalbench"


def _bot(name: str) -> Scripted:
    return Scripted(
        name, lambda request: f"{name} hears you, said {len(str(request.messages))} times in run {request.run}."
    )


def _verdict(request: Request) -> str:
    assert request.schema is not None
    words = sum(len(message.content) for message in request.messages) + request.run
    said: dict[str, object] = {"quotes": [], "rationale": "It listens."}
    for place, (name, part) in enumerate(request.schema["properties"].items()):
        if "enum" in part:
            said[name] = part["enum"][(words + place) % len(part["enum"])]
    return json.dumps(said)


def many_criteria(folder: Path) -> None:
    """Let two models answer twice, and a judge of several criteria rate each reply three times."""
    bots = [_bot("a"), _bot("b")]
    mindgauge.run(MANY, model=bots, judge=Scripted("jury", _verdict), runs=2, judge_runs=3, limit=12, out=folder)


RUNS: dict[str, Callable[[Path], object]] = {
    "every status": write_run,
    "people": plant_rated,
    "many criteria and repeats": many_criteria,
}


def findings(found: Audit) -> set[tuple[str, str, int]]:
    return {(f.id, f.severity, f.count) for f in found.findings}


@pytest.fixture(params=sampled(RUNS, 3), scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited")
    RUNS[request.param](folder / "run")
    (folder / request.param).touch()
    mindgauge.export(folder / "run", to="hub", out=folder / "hub", licence="CC-BY-4.0")
    return folder


def test_nothing_is_found_that_is_not_in_the_run(folder: Path) -> None:
    exported, run = mindgauge.audit(folder / "hub"), mindgauge.audit(folder / "run")
    assert {f.id for f in exported.findings} <= {f.id for f in run.findings}
    if not (folder / "every status").exists():  # it holds a status that its rubric lacks, which the layout cannot tell
        assert findings(exported) <= findings(run)
    assert not {f.id for f in exported.findings} & {
        "duplicate_ratings",
        "ids_not_keys",
        "reader_notes",
        "unplaced_ratings",
    }
    assert exported.ratings > 0
    assert exported.texts > 0


def test_what_is_planted_in_the_files_is_found(folder: Path, tmp_path: Path) -> None:
    hub = shutil.copytree(folder / "hub", tmp_path / "hub")
    before = {f.id for f in mindgauge.audit(hub).findings}
    assert "duplicate_ratings" not in before
    path = next((hub / "evaluations" / "llm_raw").rglob("*.parquet"))
    table = pl.read_parquet(path)
    pl.concat([table, table.head(2)]).write_parquet(path)
    (doubled,) = [f for f in mindgauge.audit(hub).findings if f.id == "duplicate_ratings"]
    assert doubled.count == 2
    path.write_bytes(b"no table")
    (note,) = [f for f in mindgauge.audit(hub).findings if f.id == "reader_notes"]
    assert path.name in " ".join((note.message, *note.where))
