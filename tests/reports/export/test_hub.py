from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.benchmarks.hub_layout.tables import TABLES, TableKind
from mindgauge.commands.export import export
from mindgauge.commands.load import papers_load
from mindgauge.records.errors import UsageError
from tests.reports.export.conftest import MODELS, write_run

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


@pytest.mark.parametrize("rows_at_once", [1, 2, 16])
def test_pieces_of_any_size_make_the_same_tables(
    exported: Path, tmp_path: Path, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mindgauge.reports.export.hub._FRAME", rows_at_once)
    again = hub(exported.parent / "run", tmp_path / "again")
    for path in exported.rglob("*.parquet"):
        assert pl.read_parquet(again / path.relative_to(exported)).equals(pl.read_parquet(path))


def rows(folder: Path, under: str) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted((folder / under).rglob("*.parquet"))])


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_an_own_run_has_every_table_with_exactly_the_described_columns(exported: Path) -> None:
    places = {
        TableKind.ITEMS: "items", TableKind.RESPONSES: "responses", TableKind.JUDGES: "evaluations/llm_raw",
        TableKind.PEOPLE: "evaluations/human_raw", TableKind.OTHER: "evaluations/other_raw",
    }  # fmt: skip
    tables = {kind: rows(exported, place) for kind, place in places.items()}
    assert {kind: table.columns for kind, table in tables.items()} == {kind: [*TABLES[kind]] for kind in places}
    assert [table.height for table in tables.values()] == [4, 16, 32, 8, 4]
    responses, judged = tables[TableKind.RESPONSES], tables[TableKind.JUDGES]
    assert set(responses["response_text"]) == {f"-回复 {n} by {m}" for m in MODELS for n in range(4)}
    assert set(judged["explanation"]) == {"因为"}
    assert responses["response_id"].n_unique() == responses.height
    assert set(judged["response_id"]) == set(responses["response_id"])
    assert set(responses["example_id"]) == set(tables[TableKind.ITEMS]["example_id"])


def test_a_status_says_why_there_is_no_score(exported: Path) -> None:
    table = rows(exported, "evaluations/llm_raw")
    missing = table.filter(pl.col("score").is_null())
    assert Counter(missing["score_status"]) == {"unparsable": 2, "not_applicable": 1, "failed": 1, "refused": 2}
    assert missing.height == table.filter(pl.col("score_status") != "ok").height
    assert [json.loads(cell).get("raw") for cell in missing["details"]].count(9) == 1


def test_hostile_model_names_stay_inside_and_apart(exported: Path) -> None:
    out = exported
    assert {path.parent for path in (out / "responses").rglob("*.parquet")} == {out / "responses"}
    names = sorted(path.stem for path in (out / "responses").rglob("*.parquet"))
    assert names[0] == "etc_passwd"
    assert all(name.isascii() and "/" not in name and not name.startswith(".") for name in names)
    assert len({name.casefold() for name in names}) == len(MODELS)
    assert {p.name for p in out.parent.iterdir()} == {"run", "out"}


def test_people_stay_anonymous(exported: Path) -> None:
    out = exported
    assert sorted(p.name for p in (out / "evaluations/human_raw").iterdir()) == ["H1.parquet", "H2.parquet"]
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
    assert found["files"] == {
        p.relative_to(exported).as_posix(): pl.read_parquet(p).height for p in exported.rglob("*.parquet")
    }
    assert found["run"]["loaded"] is False


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
    labels = [rows(tmp_path / "out", f"evaluations/{kind}") for kind in ("llm_raw", "human_raw")]
    assert all(table["response_id"].null_count() == table.height for table in labels)
    assert sum(table.height for table in labels) == sum(n for rater, n in closed.ratings.items() if rater != "gold")


def test_a_loaded_copy_keeps_rows_labels_sources_and_doubled_items(small: Copy, tmp_path: Path) -> None:
    for path in small.data.rglob("*.json"):
        table = json.loads(path.read_text())
        if len(table) == 6:  # all that is about the validation set
            table[4]["inputs"] = table[1]["inputs"]  # two items of one text
            path.write_text(json.dumps(table))
    found = papers_load("help_or_harm", data=small.root, out=tmp_path / "run")
    assert found.replies == 54
    out = hub(found.run, tmp_path / "out") / "help_or_harm-response"
    responses = rows(out, "responses")
    assert responses.group_by("answer_model").len()["len"].to_list() == [18] * 3
    assert responses["response_id"].n_unique() == 54
    assert responses["example_id"].n_unique() == 5, "the run has one sample for both"
    raw = rows(out, "evaluations/llm_raw")
    assert Counter(raw["score"]) == {5.0: 54, 4.0: 54, 3.0: 54}
    assert {json.loads(cell)["protocol"] for cell in raw.filter(pl.col("source_row") == 4)["details"]} == {
        "violent_thoughts"
    }
    sources = read(out, "metadata/export_summary.json")["run"]["sources"]
    path = next(path for path in responses["source_file"])
    assert sources[path] == hashlib.sha256((small.data / path).read_bytes()).hexdigest()


def test_every_config_of_the_card_loads_with_datasets(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("datasets", reason="the extra `hub` is not installed")
    datasets.disable_progress_bars()
    out = exported
    configs = datasets.get_dataset_config_names(str(out))
    assert set(configs) == {"responses", "human_raw", "llm_raw", "items", "other_raw"}
    assert datasets.get_dataset_default_config_name(str(out)) == "responses"
    counted = Counter[str]()
    for file, count in read(out, "metadata/export_summary.json")["files"].items():
        counted[file.split("/")[-2]] += count
    for config in configs:
        table = datasets.load_dataset(str(out), config, cache_dir=str(tmp_path / "cache"))
        assert sum(part.num_rows for part in table.values()) == counted[config]
    assert set(table["train"].column_names) == set(TABLES[TableKind(config)])


@pytest.mark.long  # a copy of theirs in small is exported by default
def test_the_real_files_have_their_numbers_of_rows(loaded: Path, tmp_path: Path) -> None:
    out = hub(loaded, tmp_path / "out")
    found = {place: rows(out, place).height for place in (
        "responses", "chosen_responses", "evaluations/llm_raw", "evaluations/human_raw")}  # fmt: skip
    assert found == {
        "responses": 9 * 206, "chosen_responses": 114, "evaluations/llm_raw": 9 * 1854, "evaluations/human_raw": 412,
    }  # fmt: skip
    statuses = Counter(rows(out, "evaluations/llm_raw")["score_status"])
    assert statuses == {"ok": 15364, "not_applicable": 1296, "refused": 18, "unparsable": 8}
