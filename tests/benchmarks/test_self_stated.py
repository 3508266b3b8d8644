"""A release that contradicts what it says of itself is named before anything is computed from it."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge.records.errors import MindgaugeError
from tests.benchmarks.help_or_harm.conftest import Copy, real, small  # fixtures
from tests.benchmarks.hub_layout import from_card
from tests.cli.conftest import invoke

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Copy", "real", "small"]
NAME = "help_or_harm"
MERGED = "evaluations/llm_merged/gpt-4o-mini/test/gpt-5-nano.parquet"
RAW = "evaluations/llm_raw/gpt-4o-mini/test/gpt-5-nano.parquet"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return from_card.write(tmp_path_factory.mktemp("card") / "hub")


@pytest.fixture
def card(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "hub")


def changed(path: Path, **columns: pl.Expr) -> None:
    pl.read_parquet(path).with_columns(**columns).write_parquet(path)


def silent(folder: Path) -> None:
    """Take away every list, so that only the tables speak."""
    for part in ("checksums", "metadata"):
        shutil.rmtree(folder / part)
    (folder / "README.md").unlink()


def one_line(folder: Path, name: str = NAME) -> str:
    """Return the refusal of `reproduce`, which `load` words alike."""
    with pytest.raises(MindgaugeError) as refusal:
        mindgauge.reproduce(name, data=folder)
    assert refusal.value.exit_code == 1
    with pytest.raises(MindgaugeError, match=re.escape(str(refusal.value)[:80])):
        mindgauge.load(name, data=folder, out=folder.with_name("run"))
    assert not folder.with_name("run").exists()
    return str(refusal.value)


def test_a_whole_release_passes_and_says_what_was_compared(whole: Path) -> None:
    found = mindgauge.reproduce(NAME, data=whole)
    assert found.faults == []
    assert found.checked == {"digests": 62, "numbers of rows": 124, "means": (2 * 4 + 15 * 4 + 15 * 4 + 15 * 4 + 15 * 7) + 4}


def test_a_mean_that_is_not_that_of_its_repeats_is_named(card: Path) -> None:
    silent(card)
    changed(card / MERGED, score=pl.lit(1.0))
    assert re.search(rf"{MERGED}: row 0: score is 1, and score_runs give [\d.]+ \(and 20 more in this file\)", one_line(card))
    found = mindgauge.reproduce(NAME, data=card, anyway=True)
    assert len(found.faults) == 1
    assert found.summary()[-1] == found.faults[0]
    notes = mindgauge.load(NAME, data=card, out=card.with_name("run"), anyway=True).notes
    assert notes[0] == found.faults[0]


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "spread": (lambda card: changed(card / MERGED, score_std=pl.lit(0.9)), f"{MERGED}: row 0: score_std is 0.9, and score_runs give"),
    "count": (lambda card: changed(card / MERGED, n_valid=pl.lit(2)), f"{MERGED}: row 0: n_valid is 2, and score_runs has 3 scores"),
    "single scores": (lambda card: changed(card / RAW, score=pl.lit(5)), f"{MERGED}: row 0: score_runs are not the single scores in llm_raw"),
    "cut off": (lambda card: (card / RAW).write_bytes((card / RAW).read_bytes()[:900]), f"{RAW}: not a Parquet file that can be read"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_tables_are_held_against_each_other(card: Path, kind: str) -> None:
    silent(card)
    spoil, problem = FAULTS[kind]
    spoil(card)
    assert problem in one_line(card)


def test_a_changed_file_and_a_cut_one_are_named_by_the_lists(card: Path) -> None:
    path = card / "responses" / "test" / "gpt-5-nano.parquet"
    changed(path, response_text=pl.lit("I hear you."))
    assert "responses/test/gpt-5-nano.parquet: changed since checksums/sha256_manifest.json was written" in one_line(card)
    from_card.seal(card)
    pl.read_parquet(path).head(6).write_parquet(path)
    from_card.seal(card)
    assert re.search(r"test/gpt-5-nano.parquet: 6 rows, and metadata/\w+.json says 21 \(and 1 more", one_line(card))
    shutil.rmtree(card / "metadata")
    from_card.seal(card)
    assert "README.md: responses (test) has 105 rows by this card, and 90 in 5 files" in one_line(card)


def test_a_part_of_a_release_is_no_fault(card: Path) -> None:
    for path in card.rglob("gpt-5-nano.parquet"):
        path.unlink()
    assert mindgauge.reproduce(NAME, data=card).faults == []


def test_an_export_of_ours_holds_and_a_changed_one_does_not(whole: Path, tmp_path: Path) -> None:
    mindgauge.load(NAME, data=whole, out=tmp_path / "run")
    out = tmp_path / "hub"
    mindgauge.export(tmp_path / "run", to="hub", out=out, licence="CC-BY-4.0")
    assert mindgauge.reproduce(NAME, data=out).checked["numbers of rows"] > 120
    path = out / "responses" / "test" / "gpt-5-nano.parquet"
    pl.read_parquet(path).head(6).write_parquet(path)
    told = one_line(out)
    assert re.search(r"test/gpt-5-nano.parquet: changed since \S+ was written \(another SHA-256; [\d,]+ bytes where [\d,]+", told)
    (out / "checksums" / "sha256_manifest.json").unlink()
    assert "test/gpt-5-nano.parquet: 6 rows, and metadata/" in one_line(out)
    shutil.rmtree(out / "metadata")
    assert "README.md: responses has 165 rows by this card, and 150 in 10 files" in one_line(out)


def test_an_audit_names_it_too(card: Path) -> None:
    changed(card / MERGED, score=pl.lit(1.0))
    for source, data in ((NAME, card), (card, None)):
        (finding,) = (f for f in mindgauge.audit(source, data=data).findings if f.id == "contradicts_itself")
        assert (finding.severity, finding.count) == ("error", 1)
        assert finding.where[0].startswith(MERGED)


def test_the_command_leaves_with_1_and_goes_on_with_anyway(card: Path) -> None:
    changed(card / MERGED, score=pl.lit(1.0))
    refused = invoke("reproduce", NAME, "--data", str(card))
    assert refused.exit_code == 1
    assert refused.stderr.count("\n") == 1
    assert MERGED in refused.stderr
    assert "--anyway" in refused.stderr
    gone_on = invoke("reproduce", NAME, "--data", str(card), "--anyway")
    assert gone_on.exit_code == 0
    assert MERGED in gone_on.stdout


def _merged(small: Copy) -> tuple[Path, list[dict[str, object]]]:
    path = min(small.data.rglob("*_merged.json"))
    return path, json.loads(path.read_text(encoding="utf-8"))


def test_the_authors_merged_files_are_held_against_their_evaluations(small: Copy) -> None:
    assert mindgauge.reproduce(NAME, data=small.root).checked["means"]
    path, rows = _merged(small)
    place = next(n for n, row in enumerate(rows) if row.get("evaluation"))
    rows[place]["evaluation"] = 1.0 if rows[place]["evaluation"] != 1.0 else 2.0
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert f"{path.name}: row {place}: evaluation is {rows[place]['evaluation']:g}, and its evaluations give" in one_line(small.root)
    path.write_text(json.dumps(rows[:-1]), encoding="utf-8")
    assert f"{path.name}: {len(rows) - 1} rows, and its set has {len(rows)}" in one_line(small.root)


def test_evaluations_of_other_files_are_named(small: Copy) -> None:
    path, rows = _merged(small)
    place = next(n for n, row in enumerate(rows) if row.get("evaluation"))
    rows[place] |= {"evals": [2, 2, 2], "evaluation": 2.0, "evaluation_std": 0.0}
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert f"row {place}: evals are not those of the files of single evaluations" in one_line(small.root)


def test_a_label_that_is_not_that_of_its_votes_is_named(small: Copy) -> None:
    path = min(small.data.rglob("human-labeled-*merged_labels.json"))
    rows = json.loads(path.read_text(encoding="utf-8"))
    rows[0] |= {"all_labels": ["no_crisis"] * 5, "label": "self-harm"}
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert f"{path.name}: row 0: label is 'self-harm', and its votes give 'no_crisis'" in one_line(small.root)


def test_a_zip_is_read_as_its_folder(whole: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "hub.zip", "w") as archive:
        for path in whole.rglob("*"):
            archive.write(path, path.relative_to(whole))
    packed, plain = (mindgauge.reproduce(NAME, data=data) for data in (tmp_path / "hub.zip", whole))
    assert packed.cells == plain.cells
    assert packed.checked == plain.checked
    loads = [mindgauge.load(NAME, data=data, out=tmp_path / data.name[:5]) for data in (tmp_path / "hub.zip", whole)]
    assert loads[0].ratings == loads[1].ratings


@pytest.mark.long
@pytest.mark.parametrize("name", ["help_or_harm", "mentalbench", "trustmh", "dialogue_safety", "vera_mh"])
def test_the_released_files_hold(real: Path, name: str) -> None:
    folder = real.parents[0] if real.name == "help_or_harm" else real
    folder = folder / name
    if not folder.exists():
        pytest.skip(f"no released files of {name}")
    assert mindgauge.reproduce(name, data=folder).faults == []
