from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mindgauge.commands.load import papers_load
from mindgauge.commands.score import score
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store, manifest
from tests.benchmarks.help_or_harm.conftest import Copy, real, small  # fixtures
from tests.thinned import later

if TYPE_CHECKING:
    from mindgauge.records import Rating

__all__ = ["real", "small"]
RESPONSE, CLOSED = "help_or_harm/response", "help_or_harm/crisis_type"


def ratings(run: str, name: str) -> list[Rating]:
    with Store(Path(run)) as store:
        return list(store.ratings(name))


def test_a_family_becomes_one_run_that_scores(small: Copy, tmp_path: Path) -> None:
    found = papers_load("help_or_harm", data=small.root, out=tmp_path / "run", command="typed")
    assert found.benchmarks == [CLOSED, RESPONSE]
    assert (found.samples, found.replies) == (10 + 6, 54)
    assert found.ratings["gpt-4o-mini"] == 162 + 18
    assert found.ratings["gold"] == 10
    assert found.table.filter(kind="reply")["n"].to_list() == [18, 18, 18]
    assert "</table>" in found._repr_html_()
    content = tomllib.loads((tmp_path / "run/manifest.toml").read_text())
    assert content["command"] == "typed"
    assert content["plan"]["loaded"] is True
    name = next(name for name in content["sources"] if name.startswith("llm_answer/"))
    assert content["sources"][name] == hashlib.sha256((small.data / name).read_bytes()).hexdigest()
    assert content["notes"] == found.notes
    assert {m.benchmark for m in score(tmp_path / "run").metrics} == {CLOSED, RESPONSE}


def test_the_same_again_is_the_same_run(small: Copy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = papers_load(RESPONSE, data=small.root)
    assert Path(first.run).parent == Path("runs")
    assert Path(first.run).name.startswith("help_or_harm-response-")
    before = ratings(first.run, RESPONSE)
    assert papers_load(RESPONSE, data=small.root) == first
    assert ratings(first.run, RESPONSE) == before
    assert len(list(Path("runs").iterdir())) == 1


def test_the_folder_may_be_given_from_outside_or_inside_and_is_the_same_plan(small: Copy, tmp_path: Path) -> None:
    first = papers_load("help_or_harm", data=small.root, out=tmp_path / "run")
    assert papers_load("help_or_harm", data=small.data, out=tmp_path / "run") == first
    elsewhere = small.root / "elsewhere/data"
    shutil.copytree(small.data, elsewhere)
    assert papers_load("help_or_harm", data=elsewhere, out=tmp_path / "run") == first
    content = tomllib.loads((tmp_path / "run/manifest.toml").read_text())
    assert content["data"] == str(small.root)
    assert str(tmp_path) not in json.dumps(content["plan"])


def test_an_interrupted_load_is_finished(small: Copy, tmp_path: Path) -> None:
    whole = papers_load("help_or_harm", data=small.root, out=tmp_path / "run")
    content = manifest.read(tmp_path / "run")
    del content["ended"]
    manifest.write(tmp_path / "run", content)
    with Store(tmp_path / "run", write=True) as store:
        store.select("DELETE FROM ratings WHERE run > 0")
        store.select("DELETE FROM replies WHERE run = 1")
        store._db.commit()
    assert papers_load("help_or_harm", data=small.root, out=tmp_path / "run") == whole


def test_other_data_belong_elsewhere(small: Copy, tmp_path: Path) -> None:
    papers_load(RESPONSE, data=small.root, out=tmp_path / "run")
    small.change("llm_evaluator/sampled/*.json", 0, answer="another")
    with pytest.raises(UsageError, match="another plan") as error:
        papers_load(RESPONSE, data=small.root, out=tmp_path / "run")
    assert "\n" not in str(error.value)


def test_a_member_without_its_files_is_noted_and_the_other_loaded(small: Copy, tmp_path: Path) -> None:
    for path in small.data.rglob("*.json"):
        if "labeled" not in path.name and "processed" not in path.parts:
            path.unlink()
    found = papers_load("help_or_harm", data=small.root, out=tmp_path / "run")
    assert found.benchmarks == [CLOSED]
    (note,) = (note for note in found.notes if note.startswith(RESPONSE))
    assert "not loaded" in note
    assert str(tmp_path) not in note
    with pytest.raises(DataError, match="no answers here"):
        papers_load(RESPONSE, data=small.root, out=tmp_path / "other")
    with pytest.raises(DataError, match="no such folder"):
        papers_load("help_or_harm", data=tmp_path / "nowhere", out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_notes_shared_by_members_are_said_once(small: Copy, tmp_path: Path) -> None:
    rows = small.rows("processed/*noSeed*.json")
    rows[4]["inputs"] = rows[1]["inputs"]
    small.path("processed/*noSeed*.json").write_text(json.dumps(rows))
    found = papers_load("help_or_harm", data=small.root, out=tmp_path / "run", anyway=True)
    assert len([note for note in found.notes if "has the text of row 1" in note]) == 1


@pytest.mark.parametrize("resamples", [20, later(2000)])
def test_the_real_files_load_completely(real: Path, tmp_path: Path, resamples: int) -> None:
    found = papers_load(RESPONSE, data=real, out=tmp_path / "run")
    assert (found.samples, found.replies) == (204, 1854 + 114)
    assert found.ratings == {
        "H1": 206, "H2": 206, "gpt-4o-mini": 5562, "gpt-5-nano": 5562, "llama-4-scout-17b-16e-instruct": 5562,
    }  # fmt: skip
    scores = score(tmp_path / "run", resamples=resamples)
    means = {m.model: m.value for m in scores.find("mean", rater="gpt-4o-mini")}
    assert means["gpt-4o-mini"] == pytest.approx(4.409, abs=0.001)
    for metric in scores.find("mean", rater="gpt-4o-mini"):
        if metric.value is not None and metric.low is not None and metric.high is not None:
            assert metric.low <= metric.value <= metric.high
    apart = scores.find("mean", "selection=lowest_scores_n200", rater="H1")
    assert sum(m.n for m in apart) == 190  # the 16 items without a label have no score
    assert not scores.find("mean", rater="H1")
