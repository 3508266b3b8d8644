"""A release that contradicts what it says of itself is named before anything is computed from it."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks import self_stated
from mindgauge.records.errors import MindgaugeError
from tests import in_process
from tests.benchmarks.help_or_harm.conftest import TIMES, VALIDATION, Copy, small  # a fixture
from tests.benchmarks.hub_layout import from_card
from tests.benchmarks.mentalbench import conftest as mentalbench
from tests.benchmarks.trustmh import made
from tests.commands.test_reliability import invoke

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["small"]
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
        mindgauge.load(name, data=folder, out=folder.with_name("loaded"))
    assert not folder.with_name("loaded").exists()
    return str(refusal.value)


def test_a_whole_release_passes_and_says_what_was_compared(whole: Path) -> None:
    found = mindgauge.reproduce(NAME, data=whole)
    assert found.faults == []
    assert found.checked == {
        "digests": 62,
        "numbers of rows": 124,
        "means": 3 * 2 + 3 * 15 * 2 + 15 * 7,
    }


def test_a_mean_that_is_not_that_of_its_repeats_is_named(card: Path) -> None:
    silent(card)
    changed(card / MERGED, score=pl.lit(1.0))
    assert re.search(
        rf"{MERGED}: row 0: score is 1, and score_runs give [\d.]+ \(and 20 more in this file\)", one_line(card)
    )
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
    assert "responses/test/gpt-5-nano.parquet: changed since checksums/sha256_manifest.json was written" in one_line(
        card
    )
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
    assert re.search(
        r"test/gpt-5-nano.parquet: changed since \S+ was written \(another SHA-256; [\d,]+ bytes where [\d,]+", told
    )
    (out / "checksums" / "sha256_manifest.json").unlink()
    assert "test/gpt-5-nano.parquet: 6 rows, and metadata/" in one_line(out)
    shutil.rmtree(out / "metadata")
    assert "README.md: responses has 135 rows by this card, and 120 in 10 files" in one_line(out)


def test_an_audit_names_it_too(card: Path) -> None:
    changed(card / MERGED, score=pl.lit(1.0))
    for source, data in ((NAME, card), (card, None)):
        (finding,) = (f for f in mindgauge.audit(source, data=data).findings if f.id == "contradicts_itself")
        assert (finding.severity, finding.count) == ("error", 1)
        assert finding.where[0].startswith(MERGED)


@pytest.mark.parametrize("command", ["reproduce", "load"])
def test_the_command_leaves_with_1_and_goes_on_with_anyway(
    card: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(card / MERGED, score=pl.lit(1.0))
    monkeypatch.chdir(card.parent)
    code, out, err = invoke(monkeypatch, capsys, command, NAME, "--data", card)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert MERGED in err
    assert "--anyway" in err
    code, out, err = invoke(monkeypatch, capsys, command, NAME, "--data", card, "--anyway")
    assert (code, err) == (0, "")
    assert MERGED in out


MERGED_JSON = f"llm_evaluator/gpt-4o-mini/n_200/merged/gpt-4o-mini-evaluation_deepseek-chat-answers-{VALIDATION}-{TIMES[0]}_merged.json"


def _merge(small: Copy) -> None:
    """Merge the evaluations of some answers as the authors do."""
    rows = small.rows(f"llm_answer/deepseek-chat-answers-{VALIDATION}-{TIMES[0]}.json")
    more = {"evals": [5, 4, 3], "evaluation": 4.0, "evaluation_std": (2 / 3) ** 0.5}
    small.write(MERGED_JSON, [row | more for row in rows])


def test_the_authors_merged_files_are_held_against_their_evaluations(small: Copy) -> None:
    _merge(small)
    assert mindgauge.reproduce(NAME, data=small.root).checked["means"] == 2 * 6
    small.change(MERGED_JSON, 2, evaluation=1.0)
    assert f"{MERGED_JSON}: row 2: evaluation is 1, and its evaluations give 4" in one_line(small.root)
    small.write(MERGED_JSON, small.rows(MERGED_JSON)[:2])
    assert f"{MERGED_JSON}: 2 rows, and its set has 6" in one_line(small.root)
    (small.data / MERGED_JSON).write_text('[{"inputs": ["This', encoding="utf-8")
    assert f"{MERGED_JSON}:1: " in one_line(small.root)


def test_evaluations_of_other_files_are_named(small: Copy) -> None:
    _merge(small)
    small.change(MERGED_JSON, 1, evals=[2, 2, 2], evaluation=2.0, evaluation_std=0.0)
    assert f"{MERGED_JSON}: row 1: evals are not those of the files of single evaluations" in one_line(small.root)


def test_a_label_that_is_not_that_of_its_votes_is_named(small: Copy) -> None:
    name = "human_label/human-labeled-sampled_dataset_n206_s42-merged_labels.json"
    small.change(name, 0, all_labels=["no_crisis"] * 5, label="self-harm")
    assert f"{name}: row 0: label is 'self-harm', and its votes give 'no_crisis'" in one_line(small.root)


def test_a_sheet_with_fewer_rows_than_the_others_is_named(tmp_path: Path) -> None:
    copy = mentalbench.Copy(tmp_path / "theirs")
    for place, (name, prefix) in enumerate(
        ((mentalbench.PEOPLE, "human_response_"), (mentalbench.CLAUDE, "judge_response_"))
    ):
        frame = mentalbench.rated(place, prefix)
        copy.write(name, frame.head(5) if place else frame)
    told = one_line(tmp_path / "theirs", "mentalbench")
    assert f"{mentalbench.CLAUDE}: 5 rows, and {mentalbench.PEOPLE} has {mentalbench.ROWS}" in told


def test_a_zip_is_read_as_its_folder(whole: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "hub.zip", "w") as archive:
        for path in whole.rglob("*"):
            archive.write(path, path.relative_to(whole))
    packed, plain = (mindgauge.reproduce(NAME, data=data) for data in (tmp_path / "hub.zip", whole))
    assert packed.cells == plain.cells
    assert packed.checked == plain.checked
    loads = [mindgauge.load(NAME, data=data, out=tmp_path / data.name[:5]) for data in (tmp_path / "hub.zip", whole)]
    assert loads[0].ratings == loads[1].ratings


@pytest.mark.parametrize("name", ["help_or_harm", "mentalbench"])
def test_the_released_files_hold(name: str) -> None:
    folder = Path(os.environ.get("MINDGAUGE_DATA") or Path(__file__).parents[2] / "../shared/data") / name
    if not folder.is_dir():
        pytest.skip(f"the authors' files are not at hand ({folder}); set MINDGAUGE_DATA")
    checked = Counter[str]()
    assert self_stated.faults(folder, benchmarks.asked_family(name), checked) == []
    assert checked["numbers of rows"]


def test_a_broken_file_of_stored_outputs_stops_and_is_named(tmp_path: Path) -> None:
    """The outputs of the other models alone would pass for the release."""
    made.dilemmas(tmp_path)
    for model in ("gpt-5.1", "gpt-4o-mini"):
        made.ethics(tmp_path, model, made.RIGHT)
    (path,) = tmp_path.glob("**/gpt-5.1-*.json")
    path.write_bytes(path.read_bytes()[:200])
    for command in (("load", "trustmh/ethics", "--out", tmp_path / "run"), ("reproduce", "trustmh")):
        done = in_process.mindgauge(*command, "--data", tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert path.name in done.stderr
        assert in_process.mindgauge(*command, "--data", tmp_path, "--anyway").returncode == 0
