from __future__ import annotations

import hashlib
import json
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import yaml

import mindgauge
from mindgauge.benchmarks.hub_layout.tables import TableKind
from mindgauge.commands.export import export
from mindgauge.commands.load import papers_load
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import interval, write
from mindgauge.reports.export.evaluations import schema
from tests.reports.export.conftest import JUDGE, MODELS, write_run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.reports.export.conftest import Copy

LICENCE = "CC BY-NC 4.0"


def hub(run: Path | str, out: Path) -> Path:
    export(run, to="hub", out=out, licence=LICENCE)
    return out


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's export, for those who only read it; the run lies beside it."""
    folder = tmp_path_factory.mktemp("exported")
    write_run(folder / "run")
    return hub(folder / "run", folder / "out")


def rows(folder: Path, under: str) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted((folder / under).rglob("*.parquet"))])


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def statuses(table: pl.DataFrame) -> Counter[str]:
    return Counter(table["score_status"].to_list())


def test_an_own_run_has_every_table_with_exactly_the_contracts_columns(exported: Path) -> None:
    responses, raw, merged = (
        rows(exported, where) for where in ("responses", "evaluations/llm_raw", "evaluations/llm_merged")
    )
    human, review = rows(exported, "evaluations/human_raw"), rows(exported, "evaluations/sampled_review_sets")
    tables = {
        TableKind.RESPONSES: responses, TableKind.RAW: raw, TableKind.MERGED: merged, TableKind.PEOPLE: human,
        TableKind.REVIEW: review,
    }  # fmt: skip
    for table, columns in ((table, schema(kind)) for kind, table in tables.items()):
        assert dict(table.schema) == columns
    assert (responses.height, raw.height, merged.height, human.height, review.height) == (16, 32, 16, 8, 4)
    assert responses["split"].unique().to_list() == ["validation"]
    assert set(responses["response_text"]) == {f"-回复 {n} by {m}" for m in MODELS for n in range(4)}
    assert set(responses["answer_model_raw"]) == {"m-2026"}
    assert set(raw["explanation"]) == {"因为"}
    for table, key, prefix in (
        (responses, "response_id", "rs_"),
        (raw, "evaluation_id", "ev_"),
        (merged, "evaluation_id", "ev_"),
        (human, "evaluation_id", "ev_"),
        (review, "evaluation_id", "ev_"),
    ):
        assert table[key].n_unique() == table.height
        assert table[key].str.contains(rf"^{prefix}[0-9a-f]{{16,}}$").all()
    assert set(raw["response_id"]) == set(responses["response_id"])


def test_statuses_become_the_layouts_words(exported: Path) -> None:
    raw = rows(exported, "evaluations/llm_raw").filter(pl.col("answer_model") == MODELS[0])
    second = raw.filter(pl.col("evaluation_run") == 1)
    assert second["score_status"].to_list() == ["parse_error", "out_of_range", "not_evaluated", "not_evaluated"]
    assert second["score"].to_list() == [None] * 4
    assert second["raw_output"].to_list() == ['{"appropriateness": 4}', "9", *['{"appropriateness": 4}'] * 2]
    assert raw.filter(pl.col("evaluation_run") == 0)["raw_output"].to_list() == [None] * 4  # no call was kept


def test_a_missing_run_is_a_null_in_its_place(exported: Path) -> None:
    merged = rows(exported, "evaluations/llm_merged")
    first = merged.filter(pl.col("answer_model") == MODELS[0])
    assert first["score_runs"].to_list() == [[2, None]] * 4
    assert first.select("score", "score_std", "n_valid").row(0) == (2.0, 0.0, 1)
    refused = merged.filter(pl.col("n_valid") == 0)
    assert refused.select("score", "score_std").row(0) == (None, None)
    assert refused["score_runs"].to_list() == [[None, None]]


def test_hostile_model_names_stay_inside_and_apart(exported: Path) -> None:
    out = exported
    assert {path.parent for path in (out / "responses").rglob("*.parquet")} == {out / "responses/validation"}
    names = sorted(path.stem for path in (out / "responses").rglob("*.parquet"))
    assert len(names) == len(MODELS)
    assert names[0] == "etc_passwd"
    assert all(name.isascii() and "/" not in name and not name.startswith(".") for name in names)
    assert len({name.replace(".", "_").replace("-", "_") for name in names}) == len(MODELS)
    assert {p.name for p in out.parent.iterdir()} == {"run", "out"}


def test_people_stay_anonymous(exported: Path) -> None:
    out = exported
    assert sorted(p.name for p in (out / "evaluations/human_raw/validation").iterdir()) == ["H1.parquet", "H2.parquet"]
    human = rows(out, "evaluations/human_raw")
    assert Counter(human.select("annotator", "score").iter_rows()) == {("H1", 5.0): 4, ("H2", 3.0): 4}
    assert not [p for p in out.rglob("*") if p.is_file() and b"zoe" in p.read_bytes()]
    assert str(out.parent).encode() not in b"".join(p.read_bytes() for p in out.rglob("*.json"))


def test_a_second_export_and_a_second_run_are_the_same_to_the_byte(run: Path, tmp_path: Path) -> None:
    first = hub(run, tmp_path / "a") / "checksums/sha256_manifest.json"
    again = hub(run, tmp_path / "b") / "checksums/sha256_manifest.json"
    other = hub(write_run(tmp_path / "other"), tmp_path / "c") / "checksums/sha256_manifest.json"
    assert first.read_bytes() == again.read_bytes() == other.read_bytes()
    listed = json.loads(first.read_text())["files"]
    on_disk = {p.relative_to(tmp_path / "a").as_posix(): p for p in (tmp_path / "a").rglob("*") if p.is_file()}
    assert set(listed) == set(on_disk) - {"checksums/sha256_manifest.json"}
    for name, facts in listed.items():
        content = on_disk[name].read_bytes()
        assert facts == {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


def test_the_summary_counts_and_says_what_is_left_out(exported: Path) -> None:
    found = read(exported, "metadata/export_summary.json")
    assert found["ratings_left_out"] == {}
    assert found["configs"]["other_raw_scores"]["rows"] == {"validation": 4}
    raw = next(facts for name, facts in found["configs"].items() if name.startswith("llm_raw"))
    assert raw["rows"] == {"validation": 32}
    assert raw["ids_unique"] is True
    assert raw["score_status"] == {"not_evaluated": 4, "ok": 26, "out_of_range": 1, "parse_error": 1}


@pytest.mark.parametrize("licence", [None, "", "  "])
def test_nothing_is_published_without_a_licence(run: Path, tmp_path: Path, licence: str | None) -> None:
    with pytest.raises(UsageError, match="--licence") as error:
        export(run, to="hub", out=tmp_path / "out", licence=licence)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("licence", "lines"),
    [
        ("MIT", ["license: mit"]),
        ('my "own"\nterms: no', ["license: other", 'license_name: "my \\"own\\" terms: no"']),
    ],
)
def test_the_card_states_the_users_licence(run: Path, tmp_path: Path, licence: str, lines: list[str]) -> None:
    export(run, to="hub", out=tmp_path / "out", licence=licence)
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert all(line in card.splitlines() for line in lines)


def test_unknown_formats_are_refused_in_one_line(run: Path) -> None:
    with pytest.raises(UsageError, match="did you mean parquet"):
        export(run, to="parket")


@pytest.mark.parametrize(
    ("options", "says"),
    [({"to": "csv", "dataset": "a/b"}, "--to csv"), ({"to": "hub", "licence": "MIT", "dataset": "x"}, "OWNER/NAME")],
)
def test_a_place_on_the_hub_that_makes_no_sense_is_refused(run: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        export(run, **options)


def test_a_run_of_labels_is_exported_loaded_and_exported_again_alike(
    small: Copy, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = "help_or_harm/crisis_type"
    tmp_path = tmp_path_factory.mktemp("labels")
    closed = papers_load(name, data=small.root, out=tmp_path / "closed")
    export(closed.run, to="hub", out=tmp_path / "out", licence=LICENCE)
    again = papers_load(name, data=tmp_path / "out", out=tmp_path / "again")
    assert again.ratings == closed.ratings
    assert again.checked["digests"] == len([p for p in (tmp_path / "out").rglob("*") if p.is_file()]) - 1
    export(again.run, to="hub", out=tmp_path / "second", licence=LICENCE)
    first, second = (
        {path.relative_to(tmp_path / place): path.read_bytes() for path in (tmp_path / place).rglob("*") if path.is_file()}
        for place in ("out", "second")
    )  # fmt: skip
    assert first == second
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Replies of language models" not in card
    assert 'language:\n- "en"\nconfigs' in card, "the released messages are in English alone"
    summary = json.loads((tmp_path / "out" / "metadata" / "export_summary.json").read_text(encoding="utf-8"))
    assert summary["ratings_left_out"] == {}


def test_a_loaded_copy_keeps_rows_labels_sources_and_doubled_items(small: Copy, tmp_path: Path) -> None:
    for path in small.data.rglob("*.json"):
        table = json.loads(path.read_text())
        if len(table) == 6:  # all that is about the validation set
            table[4]["inputs"] = table[1]["inputs"]  # two items of one text
            path.write_text(json.dumps(table))
    found = papers_load("help_or_harm", data=small.root, out=tmp_path / "run")
    assert found.replies == 54
    out = hub(found.run, tmp_path / "out")
    responses = rows(out, "responses")
    assert responses.group_by("answer_model").len()["len"].to_list() == [18] * 3
    assert responses["example_id"].n_unique() == 6
    doubled = responses.filter(pl.col("source_row") == 4)
    assert doubled["example_id"].n_unique() == 1
    assert doubled["label"].unique().to_list() == ["violent_thoughts"]  # that of the row, not of the text
    raw, merged = rows(out, "evaluations/llm_raw"), rows(out, "evaluations/llm_merged")
    assert (raw.height, merged.height) == (162, 54)
    assert merged["score_runs"].to_list() == [[5, 4, 3]] * 54
    assert merged.select("score", "score_std").unique().row(0) == pytest.approx((4.0, statistics.pstdev([5, 4, 3])))
    assert Counter(raw["raw_output"]) == {"5": 54, "4": 54, "3": 54}
    review = rows(out, "evaluations/sampled_review_sets")
    assert review["n_tied"].to_list() == [9] * 6
    facts = read(out, "metadata/provenance.json")["files"]["responses/validation/deepseek-chat.parquet"]
    assert [source["rows"] for source in facts["sources"]] == [6, 6, 6]
    path = small.data / facts["sources"][0]["path"]
    assert facts["sources"][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_config_of_the_card_loads_with_datasets(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets", reason="the extra `hub` is not installed")
    datasets.disable_progress_bars()
    out = exported
    configs = datasets.get_dataset_config_names(str(out))
    judge = next(name.removeprefix("llm_raw_evaluations_") for name in configs if name.startswith("llm_raw"))
    assert set(configs) == {
        "responses", "human_raw_scores", "sampled_review_sets", f"llm_raw_evaluations_{judge}",
        f"llm_merged_evaluations_{judge}", "items", "other_raw_scores",
    }  # fmt: skip
    assert datasets.get_dataset_default_config_name(str(out)) == "responses"
    summary = read(out, "metadata/export_summary.json")["configs"]
    for config in configs:
        table = datasets.load_dataset(str(out), config, cache_dir=str(tmp_path / "cache"))
        assert {split: part.num_rows for split, part in table.items()} == summary[config]["rows"]
    loaded = datasets.load_dataset(str(out), f"llm_merged_evaluations_{judge}", cache_dir=str(tmp_path / "cache"))
    assert loaded["validation"][0]["score_runs"] in ([2, None], [4, 4])
    assert set(loaded["validation"]["evaluator_model"]) == {JUDGE}


@pytest.mark.long  # a copy of theirs in small is exported by default
def test_the_real_files_have_the_layouts_row_counts(real: Path, loaded: Path, tmp_path: Path) -> None:
    out = hub(loaded, tmp_path / "out")
    sizes = Counter(("/".join(p.relative_to(out).parts[:2]), pl.read_parquet(p).height) for p in out.rglob("*.parquet"))
    assert sizes == {
        ("items/validation", 206): 1,
        ("labels/gold", 176): 1,  # of texts: of the 178 items with a label two repeat another's
        ("responses/validation", 618): 3,
        ("chosen_responses/validation", 101): 1,  # of two models only what people scored was released
        ("chosen_responses/validation", 13): 1,
        ("evaluations/llm_raw", 1854): 9,
        ("evaluations/llm_merged", 618): 9,
        ("evaluations/human_raw", 206): 2,
        ("evaluations/sampled_review_sets", 206): 4,
    }
    assert all(config["ids_unique"] for config in read(out, "metadata/export_summary.json")["configs"].values())
    assert rows(out, "responses")["example_id"].n_unique() == 206
    raw = rows(out, "evaluations/llm_raw")
    assert statuses(raw) == {"ok": 15364, "not_evaluated": 1314, "parse_error": 8}
    chosen = pl.read_parquet(out / "evaluations/sampled_review_sets/lowest_scores_n200__gpt-4o-mini.parquet")
    assert chosen["n_valid"].value_counts().sort("n_valid").rows() == [(0, 16), (3, 190)]
    assert chosen["sampled_from"].n_unique() == 15
    facts = read(out, "metadata/provenance.json")["files"]
    for path in (out / "evaluations/sampled_review_sets").iterdir():
        table = pl.read_parquet(path)
        assert table["source_row"].to_list() == list(range(206))
        assert table["sampled_criteria"].unique().to_list() == ["lowest"]
        assert table["n_tied"].null_count() == table["tie_rank"].null_count() == 16
        shipped = json.loads((real / "data" / table["source_file"][0]).read_text())
        scores = [row["evaluation"] if row["evaluation"] == row["evaluation"] else None for row in shipped]
        assert table["score"].to_list() == pytest.approx(scores)  # ours from the raw runs where they are here
        joined = facts[path.relative_to(out).as_posix()]["joins"]
        assert (joined["inputs_equal"]["failures"], joined["answer_equal"]["failures"]) == ([], [])
    assert raw["evaluator_model_raw"].n_unique() == 3
    assert "meta-llama-Llama-4-Scout-17B-16E-Instruct" in raw["evaluator_model_raw"]
    for person, inputs, answers in (("H1", [], [22, 124]), ("H2", [45], [21, 22, 42, 124])):
        joined = facts[f"evaluations/human_raw/validation/{person}.parquet"]["joins"]
        assert [row["source_row"] for row in joined["inputs_equal"]["failures"]] == inputs
        assert [row["source_row"] for row in joined["answer_equal"]["failures"]] == answers


def results_of(card: str) -> list[list[str]]:
    lines = card.split("## Results", 1)[1].split("## Tables", 1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")][2:]


def test_the_card_shows_figures_with_interval_missing_and_judge(exported: Path) -> None:
    card = (exported / "README.md").read_text(encoding="utf-8")
    rows = [row for row in results_of(card) if row[1] == "mean appropriateness" and row[0] == "openai/gpt-x-1"]
    scores = {
        entry.rater: entry for entry in mindgauge.score(exported.parent / "run").find("mean", model="openai/gpt-x-1")
    }
    assert {row[7] for row in rows} == set(scores)
    for row in rows:
        score = scores[row[7]]
        assert row[3:7] == [write(score.value), interval(score.low, score.high), str(score.n), str(score.missing)]
        assert row[8]
    assert "zoe@clinic.example" not in card


def test_pages_of_models_hold_only_figures_with_interval_and_judge(run: Path, tmp_path: Path) -> None:
    export(run, to="hub", out=tmp_path / "none", licence=LICENCE)
    assert not list((tmp_path / "none").rglob(".eval_results"))
    export(run, to="hub", out=tmp_path / "out", licence=LICENCE, dataset="lab/crises")
    pages = sorted((tmp_path / "out").rglob(".eval_results/*.yaml"))
    assert len(pages) >= 2
    for page in pages:
        entries = yaml.safe_load(page.read_text(encoding="utf-8"))
        assert entries
        for entry in entries:
            assert set(entry) == {"dataset", "value", "date", "source", "notes"}
            assert (entry["dataset"]["id"], entry["dataset"]["revision"]) == ("lab/crises", "s")
            assert "95 % interval" in entry["notes"]
            assert "rated by" in entry["notes"]
            assert "zoe@clinic.example" not in entry["notes"]
            if "rated by local/判官" in entry["notes"]:
                assert "a judge whose trustworthiness is" in entry["notes"]
        tasks = [entry["dataset"]["task_id"] for entry in entries]
        assert len(tasks) == len(set(tasks))
