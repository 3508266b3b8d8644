"""The layout as the authors' card states it, planted with texts of ours: whatever its form and order, it is the same data."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.hub_layout import is_one
from mindgauge.benchmarks.hub_layout.records import load
from mindgauge.benchmarks.hub_layout.tables import HubLayout
from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError, MindgaugeError, UsageError
from tests.benchmarks.hub_layout import planted
from tests.thinned import later

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Released

NAME = "help_or_harm/response"
REPLIES = sum(planted.ITEMS.values()) * len(planted.MODELS) * planted.RUNS


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.plant(tmp_path_factory.mktemp("card"))


def read(folder: Path) -> Released:
    return load(benchmarks.find_one(NAME), HubLayout(folder))


def content(released: Released) -> tuple[object, ...]:
    """Return what was read, whatever the order: who said what of what, in which repeat."""
    replies = {reply.id: reply for reply in released.replies}
    said = [(*_key(replies[r.subject]), r.rater, r.run, r.value, r.status) for r in released.ratings]
    return (
        Counter(map(_key, released.replies)),
        Counter(said),
        {sample.id: sample.messages for sample in released.samples},
    )


def _key(reply: Any) -> tuple[object, ...]:
    return reply.sample, reply.model, reply.run, reply.text


def test_replies_and_evaluations_are_joined_with_the_items(card: Path) -> None:
    released = read(card)
    assert (len(released.samples), len(released.replies)) == (sum(planted.ITEMS.values()), REPLIES)
    kinds = Counter(rating.rater_kind for rating in released.ratings)
    assert kinds == {RaterKind.MODEL: REPLIES * 3, RaterKind.PERSON: 2 * planted.ITEMS["validation"]}
    by_split = Counter(sample.tags["split"] for sample in released.samples)
    assert by_split == planted.ITEMS
    first = next(s for s in released.samples if s.messages[0].content.startswith("[test 0]"))
    assert first.messages[0].content.endswith("\nIt is worse on Sundays.")
    assert first.tags["category"] == "suicidal_ideation"
    replies = {reply.id: reply for reply in released.replies}
    for rating in released.ratings:
        reply = replies[rating.subject]
        model, _, item, run = str(reply.provenance["response_id"]).split("/")[1:]
        if rating.rater_kind is RaterKind.MODEL:
            assert rating.value == planted.score(model, int(item), int(run), rating.run)
            assert reply.run == int(run)
        else:
            assert rating.provenance["selection"] == "lowest_scores_n200"
    assert released.notes == []


@pytest.mark.parametrize(
    ("form", "shards", "shuffled"), [("csv", 1, None), ("jsonl", 3, 1), later("parquet", 2, 2), later("csv", 3, 3)]
)
def test_form_shards_and_order_change_nothing(
    card: Path, tmp_path: Path, form: str, shards: int, shuffled: int | None
) -> None:
    other = planted.plant(tmp_path / "card", form, shards=shards, shuffled=shuffled)
    assert content(read(other)) == content(read(card))


def test_a_linked_folder_of_linked_files_is_read(card: Path, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    for number, path in enumerate(sorted(p for p in card.rglob("*") if p.is_file())):
        link = snapshot / path.relative_to(card)
        link.parent.mkdir(parents=True, exist_ok=True)
        blobs.mkdir(exist_ok=True)
        shutil.copy(path, blobs / str(number))
        link.symlink_to(blobs / str(number))
    (tmp_path / "linked").symlink_to(snapshot, target_is_directory=True)
    assert content(read(tmp_path / "linked")) == content(read(card))


def test_the_paths_may_say_nothing_where_columns_do(card: Path, tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    planted.write(
        flat / "responses-validation", [r for m in planted.MODELS for r in planted.responses("validation", m)], "jsonl"
    )
    planted.write(flat / "validation-a", [r for m in planted.MODELS for r in planted.raw("validation", m)], "jsonl")
    planted.write(flat / "validation-b", planted.items("validation"), "jsonl")
    (flat / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    released = read(flat)
    assert len(released.ratings) == planted.ITEMS["validation"] * len(planted.MODELS) * 9
    assert released.notes == ["other.csv: no table of the layout by its path or its columns; not read"]


def test_without_items_figures_hold_and_nobody_can_rate(tmp_path: Path) -> None:
    bare = planted.plant(tmp_path / "bare", with_items=False)
    (note,) = read(bare).notes
    assert note.startswith(f"no items here: {REPLIES} responses stand without the text they answer")
    with pytest.raises(DataError, match="the text of no item is here, so nobody can rate"):
        mindgauge.rate(NAME, replies=bare, judge="rule/refusal", out=tmp_path / "r")
    cells = mindgauge.papers_reproduce(NAME.partition("/")[0], data=bare).cells
    assert all(cell.recomputed is not None for cell in cells if cell.table == "test.responses")


def test_an_item_without_responses_and_a_row_without_its_response_are_counted(tmp_path: Path) -> None:
    folder = planted.plant(tmp_path / "card")
    path = folder / "responses" / "test" / "deepseek-chat.parquet"
    table = pl.read_parquet(path)
    table.filter(pl.col("example_id") != "test-0").write_parquet(path)
    notes = read(folder).notes
    assert (
        "evaluations/llm_raw/gpt-4o-mini/test/deepseek-chat.parquet: 9 rows about a response that is not here; left out"
        in notes
    )
    planted.write(
        folder / "benchmark" / "items" / "test" / "more",
        [{"example_id": "test-99", "inputs": ["Alone."], "label": "no_crisis", "dataset_id": "hugg_1"}],
        "jsonl",
    )
    assert any(note.startswith("1 item of 28 without a response") for note in read(folder).notes)


def test_merged_scores_stand_in_for_single_ones_that_are_not_here(card: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(card, tmp_path / "card")
    shutil.rmtree(folder / "evaluations" / "llm_raw")
    released = read(folder)
    assert content(released)[1] == content(read(card))[1]
    assert released.notes == [
        f"{REPLIES} responses of which only a judge's merged scores are here; its runs are read from score_runs"
    ]


def test_bad_cells_are_missing_verdicts_and_never_a_number(tmp_path: Path) -> None:
    folder = tmp_path / "card"
    rows = planted.raw("test", "deepseek-chat")[:9]
    for row, cell in zip(rows, (None, "", "high", 9, "4", "4.0", 5.0, 4.5, True), strict=True):
        row["score"] = cell
    planted.write(folder / "responses" / "test" / "d", planted.responses("test", "deepseek-chat")[:3], "jsonl")
    planted.write(folder / "evaluations" / "llm_raw" / "j" / "test" / "d", rows, "jsonl")
    values = [(rating.status.value, rating.value) for rating in read(folder).ratings]
    assert values == [
        *[("unparsable", None)] * 4, ("ok", 4), ("ok", 4), ("ok", 5), ("unparsable", None), ("unparsable", None),
    ]  # fmt: skip


def test_test_scores_of_the_paper_are_recomputed_where_a_user_has_them(card: Path) -> None:
    cells = mindgauge.papers_reproduce("help_or_harm", data=card).cells
    filled = {(c.table, c.row, c.column): c.recomputed for c in cells if c.verdict != "repaired"}
    of_test = [key for key in filled if key[0].startswith("test.")]
    assert len(of_test) >= 129
    assert [key for key in of_test if filled[key] is None] == []
    scores = [
        sum(planted.score("deepseek-chat", item, run, again) for again in range(3)) / 3
        for run in range(3)
        for item in range(planted.ITEMS["test"])
    ]
    assert filled["test.responses", "deepseek-v3.2", "mean"] == pytest.approx(sum(scores) / len(scores))


def test_a_folder_without_ids_is_not_the_layout(tmp_path: Path) -> None:
    (tmp_path / "responses").mkdir()
    (tmp_path / "responses" / "a.csv").write_text("user,reply\nHello,Hi\n", encoding="utf-8")
    assert not is_one(tmp_path)
    with pytest.raises(MindgaugeError):
        mindgauge.papers_load(NAME, data=tmp_path, out=tmp_path / "run")


def test_the_columns_are_not_mapped(card: Path, tmp_path: Path) -> None:
    for call in (
        lambda: mindgauge.papers_load(NAME, data=card, mapping={"user": "inputs"}, out=tmp_path / "a"),
        lambda: mindgauge.rate(
            NAME, replies=card, judge="rule/refusal", columns={"user": "inputs"}, out=tmp_path / "b"
        ),
    ):
        with pytest.raises(UsageError, match="so --map has no use here"):
            call()


def test_any_benchmark_rates_the_replies(card: Path, tmp_path: Path) -> None:
    for name in (NAME, "psycrisis"):
        scores = mindgauge.rate(
            name, replies=card, judge="rule/refusal", limit=7, out=tmp_path / name.replace("/", "-")
        )
        assert isinstance(scores, Scores)
        assert {metric.n for metric in scores.metrics if metric.slice == "all"} == {7}


def test_an_audit_finds_what_is_planted_and_no_repeats_as_duplicates(card: Path, tmp_path: Path) -> None:
    assert "duplicate_ratings" not in {finding.id for finding in mindgauge.audit("help_or_harm", data=card).findings}
    folder = shutil.copytree(card, tmp_path / "card")
    path = folder / "evaluations" / "llm_raw" / planted.JUDGE / "test" / "deepseek-chat.parquet"
    table = pl.read_parquet(path).with_columns(score=pl.when(pl.int_range(pl.len()) == 0).then(9).otherwise("score"))
    table.write_parquet(path)
    assert {"out_of_scale"} & {finding.id for finding in mindgauge.audit("help_or_harm", data=folder).findings}
