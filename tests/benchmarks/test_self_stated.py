"""A release that contradicts what it says of itself is named before anything is computed from it."""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks import self_stated
from mindgauge.records.errors import DataError, MindgaugeError
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
        mindgauge.papers_reproduce(name, data=folder)
    assert refusal.value.exit_code == 1
    with pytest.raises(MindgaugeError, match=re.escape(str(refusal.value)[:80])):
        mindgauge.papers_load(name, data=folder, out=folder.with_name("loaded"))
    assert not folder.with_name("loaded").exists()
    return str(refusal.value)


def test_a_whole_release_passes_and_says_what_was_compared(whole: Path) -> None:
    checked = Counter[str]()
    assert self_stated.faults(whole, benchmarks.asked_family(NAME), checked) == []
    tables = sum(1 for part in ("responses", "evaluations") for _ in (whole / part).rglob("*.parquet"))
    assert checked["digests"] == tables + 6
    assert checked["numbers of rows"] > 2 * tables


def test_a_table_that_was_cut_off_is_named_without_a_list(card: Path) -> None:
    silent(card)
    (card / RAW).write_bytes((card / RAW).read_bytes()[:900])
    assert f"{RAW}: not a Parquet file that can be read" in one_line(card)


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
    assert self_stated.faults(card, benchmarks.asked_family(NAME), Counter()) == []


def test_an_export_of_ours_holds_and_a_changed_one_does_not(whole: Path, tmp_path: Path) -> None:
    mindgauge.papers_load(NAME, data=whole, out=tmp_path / "run")
    out = tmp_path / "hub"
    mindgauge.export(tmp_path / "run", to="hub", out=out, licence="CC-BY-4.0")
    assert mindgauge.papers_load(NAME, data=out, out=tmp_path / "back").checked["numbers of rows"] > 10
    path = out / "responses" / "gpt-5-nano.parquet"
    pl.read_parquet(path).head(6).write_parquet(path)
    told = one_line(out)
    assert re.search(
        r"responses/gpt-5-nano.parquet: changed since \S+ was written \(another SHA-256; [\d,]+ bytes where [\d,]+",
        told,
    )
    (out / "checksums" / "sha256_manifest.json").unlink()
    assert "responses/gpt-5-nano.parquet: 6 rows, and metadata/" in one_line(out)
    shutil.rmtree(out / "metadata")
    assert "README.md: responses has 135 rows by this card, and 114 in 5 files" in one_line(out)


def test_an_audit_names_it_too(card: Path) -> None:
    changed(card / RAW, score=pl.lit(1.0))
    for source, data in ((NAME, card), (card, None)):
        (finding,) = (f for f in mindgauge.audit(source, data=data).findings if f.id == "contradicts_itself")
        assert (finding.severity, finding.count) == ("error", 1)
        assert finding.where[0].startswith(RAW)


def test_the_command_leaves_with_1_and_goes_on_with_anyway(
    card: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(card / RAW, score=pl.lit(1.0))
    monkeypatch.chdir(card.parent)
    code, out, err = invoke(monkeypatch, capsys, "papers", "load", NAME, "--data", card)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert RAW in err
    assert "--anyway" in err
    code, out, err = invoke(monkeypatch, capsys, "papers", "load", NAME, "--data", card, "--anyway")
    assert (code, err) == (0, "")
    assert RAW in out


MERGED_JSON = f"llm_evaluator/gpt-4o-mini/n_200/merged/gpt-4o-mini-evaluation_deepseek-chat-answers-{VALIDATION}-{TIMES[0]}_merged.json"


def _merge(small: Copy) -> None:
    """Merge the evaluations of some answers as the authors do."""
    rows = small.rows(f"llm_answer/deepseek-chat-answers-{VALIDATION}-{TIMES[0]}.json")
    more = {"evals": [5, 4, 3], "evaluation": 4.0, "evaluation_std": (2 / 3) ** 0.5}
    small.write(MERGED_JSON, [row | more for row in rows])


def test_the_authors_merged_files_are_held_against_their_evaluations(small: Copy) -> None:
    _merge(small)
    assert mindgauge.papers_reproduce(NAME, data=small.root).checked["means"] == 2 * 6
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
    loads = [
        mindgauge.papers_load(NAME, data=data, out=tmp_path / data.name[:5]) for data in (tmp_path / "hub.zip", whole)
    ]
    assert loads[0].ratings == loads[1].ratings
    assert loads[0].checked == loads[1].checked


def listed(name: str, digest: str, digests: dict[str, str]) -> object:
    return {"files": [{name: path, digest: value} for path, value in digests.items()]}


SPELLINGS: dict[str, Callable[[dict[str, str]], object]] = {
    "dot": lambda digests: {f"./{name}": digest for name, digest in digests.items()},
    "upper": lambda digests: {name: digest.upper() for name, digest in digests.items()},
    "prefix": lambda digests: {name: f"sha256:{digest}" for name, digest in digests.items()},
    "objects": lambda digests: {name: {"sha256": digest.upper()} for name, digest in digests.items()},
    "up": lambda digests: {f"../{name}": digest for name, digest in digests.items()},
    **{
        f"{name} {digest}": partial(listed, name, digest)
        for name, digest in (
            ("filename", "digest"),
            ("path", "hash"),
            ("file", "checksum"),
            ("name", "sha256"),
        )
    },
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_digests_are_compared_however_the_manifest_spells_them(card: Path, spelling: str) -> None:
    path = card / "checksums" / "sha256_manifest.json"
    path.write_text(json.dumps(SPELLINGS[spelling](json.loads(path.read_text()))))
    checked = Counter[str]()
    assert self_stated.faults(card, benchmarks.asked_family(NAME), checked) == []
    assert checked["digests"] > 30
    changed(
        card / RAW.replace("llm_raw/gpt-4o-mini/", "human_raw/").replace("test/gpt-5-nano", "validation/H1"),
        score=pl.lit(2.0),
    )
    assert "H1.parquet: changed since" in one_line(card)


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [({"elsewhere/x.parquet": "a" * 64}, "none of its 1 digest is of a file here"), ({"README.md": "a1b2"}, "no SHA-256 of a file is understood in it")],
)  # fmt: skip
def test_a_manifest_that_compares_nothing_is_said(card: Path, manifest: dict[str, str], problem: str) -> None:
    (card / "checksums" / "sha256_manifest.json").write_text(json.dumps(manifest))
    assert f"checksums/sha256_manifest.json: {problem}" in one_line(card)


def test_the_digest_of_a_source_is_not_the_files_own(card: Path) -> None:
    path = card / "metadata" / "provenance.json"
    facts = {n: {"source_path": "x.json", "sha256": "a" * 64, **f} for n, f in json.loads(path.read_text()).items()}
    path.write_text(json.dumps(facts))
    from_card.seal(card)
    assert self_stated.faults(card, benchmarks.asked_family(NAME), Counter()) == []


def test_a_part_with_a_card_alone_is_noted_and_more_rows_than_it_has_are_a_fault(card: Path) -> None:
    for part in ("checksums", "metadata"):
        shutil.rmtree(card / part)
    for path in card.rglob("gpt-5-nano.parquet"):
        path.unlink()
    notes: list[str] = []
    faults = self_stated.faults(card, benchmarks.asked_family(NAME), Counter(), notes)
    line = "README.md: responses (test) has 105 rows by this card, and 84 in 4 files; read as a part of the release"
    assert (faults, line in notes) == ([], True)
    readme = card / "README.md"
    readme.write_text(readme.read_text().replace("num_examples: 105", "num_examples: 63"))
    assert "README.md: responses (test) has 63 rows by this card, and 84 in 4 files" in one_line(card)


def test_a_table_that_cannot_be_read_is_named_where_nothing_else_is_there(card: Path) -> None:
    silent(card)
    path = card / "responses" / "test" / "gpt-5-nano.parquet"
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(DataError, match=r"gpt-5-nano\.parquet: not a Parquet file that can be read"):
        mindgauge.papers_load(NAME, data=card, out=card.with_name("run"), anyway=True)


def test_a_merged_file_without_its_parts_is_held_against_the_single_files(small: Copy) -> None:
    _merge(small)
    rows = [{k: v for k, v in r.items() if k not in {"evals", "evaluation_std"}} for r in small.rows(MERGED_JSON)]
    small.write(MERGED_JSON, [row | {"evaluation": 1.0} for row in rows])
    assert f"{MERGED_JSON}: row 0: evaluation is 1, and its evaluations give 4" in one_line(small.root)


@pytest.mark.parametrize(("cell", "said"), [(None, "empty"), ("one", "'one'")])
def test_a_mean_that_is_no_number_is_named(small: Copy, cell: object, said: str) -> None:
    _merge(small)
    small.change(MERGED_JSON, 2, evaluation=cell)
    assert f"{MERGED_JSON}: row 2: evaluation is {said}, and its evaluations give 4" in one_line(small.root)


LOWEST = "llm_evaluator/sampled/sampled_lowest_scores_n200"


def test_sets_of_lowest_scores_are_held_against_the_merged_files(small: Copy) -> None:
    _merge(small)
    rows = small.rows(MERGED_JSON)
    alone = [{k: row[k] for k in ("inputs", "answer", "label")} | {"evaluation": 4.0} for row in rows]
    source = MERGED_JSON.rpartition("/")[2]
    small.write(f"{LOWEST}__gpt-5-nano.json", [row | {"source_file": source} for row in alone])
    panel = {"gpt-4o-mini": 4.0, "gpt-5-nano": 4.0}
    small.write(f"{LOWEST}__jury.json", [row | {"llm_evaluations": panel} for row in alone])
    assert mindgauge.papers_reproduce(NAME, data=small.root).faults == []
    small.change(f"{LOWEST}__gpt-5-nano.json", 3, evaluation=1.0)
    small.change(f"{LOWEST}__jury.json", 3, evaluation=1.0, llm_evaluations={"gpt-4o-mini": 1.0, "gpt-5-nano": 1.0})
    told = one_line(small.root)
    for name in ("gpt-5-nano", "jury"):
        assert f"__{name}.json: row 3: evaluation is 1, and the merged files of gpt-4o-mini give 4" in told


def test_a_table_of_lowest_scores_that_was_cut_is_named(small: Copy) -> None:
    table = small.data / f"{LOWEST}.csv"
    table.write_text("label,evaluation\n" + "self-harm,4.0\n" * 6)
    assert mindgauge.papers_reproduce(NAME, data=small.root).faults == []
    table.write_text("label,evaluation\n" + "self-harm,4.0\n" * 5)
    assert f"{LOWEST}.csv: 5 rows, and sampled_lowest_scores_n200.json has 6" in one_line(small.root)


@pytest.mark.parametrize("merged", ["human_label/human-labeled-sampled_dataset_n206_s42-merged_labels.json", f"llm_label/gpt-4o-mini-labeled-{VALIDATION}-merged_labels.json"])  # fmt: skip
def test_votes_are_those_of_the_single_labels(small: Copy, merged: str) -> None:
    inputs = small.rows(f"processed/{VALIDATION}.json")
    if merged.startswith("llm"):
        labels = small.rows(f"llm_label/gpt-4o-mini-labeled-{VALIDATION}-{TIMES[0]}.json")
        small.write(merged, [r | {"all_labels": [r["label"]] * 3} for r in labels])
    assert mindgauge.papers_reproduce(NAME, data=small.root).faults == []
    assert len(inputs) == 6
    small.change(merged, 2, all_labels=["self-harm"] * 5, label="self-harm")
    assert f"{merged}: row 2: its votes are not those of the files of single labels" in one_line(small.root)


ANSWERS = f"llm_answer/deepseek-chat-answers-{VALIDATION}-{TIMES[0]}.json"


def test_answers_are_those_that_were_evaluated(small: Copy) -> None:
    small.change(ANSWERS, 1, answer="Something else.")
    assert f"{ANSWERS}: row 1: an answer other than in 3 files that evaluate it" in one_line(small.root)


def test_an_answer_that_an_error_replaced_is_no_fault_and_another_is(small: Copy) -> None:
    judged = next((small.data / "llm_evaluator").rglob(f"*deepseek*{TIMES[0]}_*.json"))
    name = judged.relative_to(small.data).as_posix()
    small.change(name, 1, answer="{broken", error="'appropriateness'")
    assert mindgauge.papers_reproduce(NAME, data=small.root).faults == []
    small.change(name, 2, answer="Something else.")
    assert f"{name}: row 2: an answer other than in {ANSWERS}" in one_line(small.root)


@pytest.mark.parametrize("rows", [slice(4), slice(7)])
@pytest.mark.parametrize("name", ["human_label/H1_scores_n206_s42.json", ANSWERS])
@pytest.mark.parametrize("own_set", [True, False])
def test_a_file_is_as_long_as_the_others_of_its_set(small: Copy, name: str, rows: slice, own_set: bool) -> None:
    small.write(name, [*small.rows(name), small.rows(name)[0]][rows])
    if not own_set:
        (small.data / f"processed/{VALIDATION}.json").unlink()
    assert re.search(
        rf"{name}: {rows.stop} rows, and (its set has|the other files of its set have) 6", one_line(small.root)
    )


def test_one_altered_row_is_named(small: Copy) -> None:
    small.change(ANSWERS, 4, inputs=["Another message."])
    assert f"{ANSWERS}: row 4: inputs that most files of its set do not have" in one_line(small.root)


def test_sheets_that_are_all_short_are_a_part(tmp_path: Path) -> None:
    copy = mentalbench.Copy(tmp_path / "theirs")
    copy.write(mentalbench.PEOPLE, mentalbench.rated(0, "human_response_"))
    notes = mindgauge.papers_reproduce("mentalbench", data=tmp_path / "theirs").notes
    assert f"no sheet has more than {mentalbench.ROWS} rows, and 1,000 were released; read as a part" in notes


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
    for command in (
        ("papers", "load", "trustmh/ethics", "--out", tmp_path / "run"),
        ("papers", "reproduce", "trustmh"),
    ):
        done = in_process.mindgauge(*command, "--data", tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert path.name in done.stderr
        assert in_process.mindgauge(*command, "--data", tmp_path, "--anyway").returncode == 0
