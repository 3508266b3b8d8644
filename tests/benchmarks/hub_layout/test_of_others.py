"""The release that the authors' card describes, with texts of ours: whatever its form, it is the same data."""

from __future__ import annotations

import shutil
import zipfile
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
from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError, MindgaugeError, UsageError
from tests.benchmarks.hub_layout import from_card

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.benchmarks import Released

NAME = "help_or_harm/response"
ITEMS = sum(from_card.SMALL.values())
REPLIES = ITEMS * len(from_card.ANSWERING) * 3
JUDGED = REPLIES * 3 + from_card.SMALL["validation"] * len(from_card.ANSWERING) * 3 * 3 * 2
RAW = "evaluations/llm_raw/gpt-4o-mini/test/gpt-5-nano.parquet"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return from_card.write(tmp_path_factory.mktemp("card") / "hub")


@pytest.fixture
def card(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "card")


def read(folder: Path) -> Released:
    return load(benchmarks.find_one(NAME), HubLayout(folder))


def content(released: Released) -> tuple[object, ...]:
    """Return what was read, whatever the order: who said what of what, in which repeat."""
    said = Counter((r.subject, r.rater, r.run, r.value, r.status) for r in released.ratings)
    return (
        Counter((r.id, r.sample, r.model, r.text) for r in released.replies),
        said,
        {s.id: s for s in released.samples},
    )


def test_replies_and_ratings_are_joined_with_the_items(whole: Path) -> None:
    released = read(whole)
    assert (len(released.samples), len(released.replies)) == (ITEMS, REPLIES)
    kinds = Counter(rating.rater_kind for rating in released.ratings)
    assert kinds == {RaterKind.MODEL: JUDGED, RaterKind.PERSON: 2 * from_card.SMALL["validation"]}
    assert Counter(sample.tags["split"] for sample in released.samples) == from_card.SMALL
    first = next(s for s in released.samples if s.messages[0].content.startswith("(test 0)"))
    assert first.messages[0].content.endswith("\nI am so tired of it.")
    assert first.tags["category"] == "suicidal_ideation"
    assert Counter(reply.run for reply in released.replies) == dict.fromkeys(range(3), REPLIES // 3)
    assert {r.provenance.get("selection") for r in released.ratings if r.rater_kind is RaterKind.PERSON} == {
        "lowest_scores_n200"
    }
    assert released.notes == []


@pytest.mark.parametrize("spelled", ["raw", "plain"])
def test_either_name_of_a_model_is_enough(whole: Path, tmp_path: Path, spelled: str) -> None:
    released = read(from_card.write(tmp_path / "hub", spelled=spelled))
    assert len(released.ratings) == len(read(whole).ratings)
    assert {reply.model for reply in released.replies} >= {"gpt-4o-mini", "gpt-5-nano"}


@pytest.mark.parametrize("form", ["csv", "jsonl", "links", "zip"])
def test_forms_and_links_change_nothing(card: Path, tmp_path: Path, form: str) -> None:
    before, place = content(read(card)), card
    if form == "zip":
        place = tmp_path / "hub.zip"
        with zipfile.ZipFile(place, "w") as archive:
            for path in card.rglob("*"):
                archive.write(path, path.relative_to(card))
    for number, path in enumerate(sorted(card.rglob("*.parquet"))):
        if form == "links":
            path.rename(tmp_path / str(number))
            path.symlink_to(tmp_path / str(number))
        elif form == "jsonl":
            pl.read_parquet(path).write_ndjson(path.with_suffix(".jsonl"))
        elif form == "csv" and path.parent.name != "items":  # lists have no cells there
            pl.read_parquet(path).write_csv(path.with_suffix(".csv"))
        if path.with_suffix(f".{form}").exists():
            path.unlink()
    assert content(read(place)) == before


def test_without_items_figures_hold_and_nobody_can_rate(tmp_path: Path) -> None:
    bare = from_card.write(tmp_path / "bare", texts=False)
    (note,) = read(bare).notes
    assert note.startswith(f"{REPLIES} responses to items whose text is not here")
    with pytest.raises(DataError, match="the text of no item is here, so nobody can rate"):
        mindgauge.rate(NAME, replies=bare, judge="rule/refusal", out=tmp_path / "r")


def test_what_has_no_counterpart_is_counted(card: Path) -> None:
    path = card / "responses" / "test" / "gpt-5-nano.parquet"
    pl.read_parquet(path).filter(pl.col("example_id") != from_card.ident("ex", "test", 0)).write_parquet(path)
    assert f"{RAW}: 9 rows about a response that is not here; left out" in read(card).notes
    (card / "items").mkdir()
    (card / "items" / "more.jsonl").write_text('{"example_id": "alone", "inputs": ["Alone."]}\n', encoding="utf-8")
    assert f"1 item of {ITEMS + 1} without a response; left out" in read(card).notes


def test_bad_cells_are_missing_verdicts_and_never_a_number(card: Path) -> None:
    cells = [None, "", "high", "9", "4", "4.0", "5.0", "4.5", "True"]
    table = pl.read_parquet(card / RAW)
    pl.concat([table.head(9).with_columns(score=pl.Series(cells))]).write_parquet(card / RAW)
    subjects = {*table.head(9)["response_id"]}
    own = [r for r in read(card).ratings if r.subject in subjects and r.rater == "gpt-4o-mini"]
    assert [(rating.status.value, rating.value) for rating in own] == [
        *[("unparsable", None)] * 4, ("ok", 4), ("ok", 4), ("ok", 5), ("unparsable", None), ("unparsable", None),
    ]  # fmt: skip
    assert f"{RAW}: 6 rows without a score of the scale; kept as unparsable" in read(card).notes


def test_a_rating_without_a_rater_is_refused(card: Path) -> None:
    pl.read_parquet(card / RAW).drop("evaluator_model", "evaluator_model_raw").write_parquet(card / RAW)
    with pytest.raises(DataError, match="row 0: no evaluator_model: who rated is not said"):
        read(card)


def test_a_folder_without_ids_is_not_the_layout(tmp_path: Path) -> None:
    (tmp_path / "responses").mkdir()
    (tmp_path / "responses" / "a.csv").write_text("user,reply\nHello,Hi\n", encoding="utf-8")
    assert not is_one(tmp_path)
    with pytest.raises(MindgaugeError):
        mindgauge.papers_load(NAME, data=tmp_path, out=tmp_path / "run")


def test_the_columns_are_not_mapped(whole: Path, tmp_path: Path) -> None:
    columns: Any = {"user": "inputs"}
    with pytest.raises(UsageError, match="so --map has no use here"):
        mindgauge.papers_load(NAME, data=whole, mapping=columns, out=tmp_path / "a")
    with pytest.raises(UsageError, match="so --map has no use here"):
        mindgauge.rate(NAME, replies=whole, judge="rule/refusal", columns=columns, out=tmp_path / "b")


def test_any_benchmark_rates_the_replies(whole: Path, tmp_path: Path) -> None:
    scores = mindgauge.rate("psycrisis", replies=whole, judge="rule/refusal", limit=7, out=tmp_path / "run")
    assert isinstance(scores, Scores)
    assert {metric.n for metric in scores.metrics if metric.slice == "all"} == {7}


def test_an_audit_finds_what_is_planted_and_no_repeats_as_duplicates(card: Path) -> None:
    found = {finding.id for finding in mindgauge.audit("help_or_harm", data=card).findings}
    assert not {"duplicate_ratings", "contradicts_itself", "unequal_n"} & found
    table = pl.read_parquet(card / RAW).with_columns(
        score=pl.when(pl.int_range(pl.len()) == 0).then(9).otherwise("score")
    )
    table.write_parquet(card / RAW)
    found = {finding.id for finding in mindgauge.audit("help_or_harm", data=card).findings}
    assert {"out_of_scale", "contradicts_itself"} <= found


def test_an_item_without_a_label_has_nothing_to_judge_by_and_responses_say_what_a_missing_item_is(card: Path) -> None:
    for path in (card / "responses").rglob("*.parquet"):
        replies = pl.read_parquet(path)
        labels = [None, *["suicidal_ideation"] * (len(replies) - 1)]
        replies.with_columns(label=pl.Series(labels, dtype=pl.String)).write_parquet(path)
    unlabelled = pl.read_parquet(card / "responses" / "test" / "gpt-5-nano.parquet")["response_id"][0]
    for path in (card / "evaluations" / "llm_raw").rglob("*.parquet"):
        scored = pl.when(pl.col("response_id") != unlabelled).then("score")
        pl.read_parquet(path).with_columns(score=scored).write_parquet(path)
    assert {r.status for r in read(card).ratings if r.subject == unlabelled} == {Status.NOT_APPLICABLE}
    shutil.rmtree(card / "benchmark")
    found = Counter(sample.tags.get("category") for sample in read(card).samples)
    assert found["suicidal_ideation"] > found[None] > 0
