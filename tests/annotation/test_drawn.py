"""What is drawn of a run keeps its probability: with the item, in every export, through an import, in the run; and nobody who labels sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from mindgauge.analysis.score import score
from mindgauge.annotation.project import Annotation
from mindgauge.commands.annotate.export import annotate_export
from mindgauge.commands.annotate.import_ import annotate_import
from mindgauge.commands.annotate.new import annotate_new
from mindgauge.commands.export import export
from mindgauge.commands.reliability import reliability
from mindgauge.records.drawn import COLUMNS
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store
from tests.analysis.judged_run import CRITERION, RESPONSE, World
from tests.annotation.page.labelling import Seat
from tests.annotation.rounds_of_work import everybody_works

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.annotation.tasks import Assignment
    from mindgauge.records.rubric import Criterion

PEOPLE = ("ana", "ben", "chi")


@pytest.fixture
def run(tmp_path: Path) -> tuple[World, Path]:
    world = World(120, 3).judge("m", 0.8)
    return world, world.write(tmp_path / "run")


def project(run: Path, folder: Path, **options: Any) -> Path:
    annotate_new(folder, items=run, benchmark=RESPONSE, annotators=PEOPLE, training=0, gate=0.0, **options)
    return folder


def work(world: World, folder: Path) -> None:
    """Everybody says what is true."""
    truth = dict(zip((reply.id for reply in world.replies), world.truth.tolist(), strict=True))

    def rule(_: str, now: Assignment, __: Criterion) -> int:
        return int(truth[now.item.subject])

    with Annotation.open(folder) as a:
        everybody_works(a, rule)


def drawn_in(folder: Path) -> dict[str, float]:
    with Annotation.open(folder) as a:
        return {item.subject: item.drawn.probability for item in a.items() if item.drawn is not None}


def test_the_lowest_are_certain_and_the_rest_a_lot_and_the_same_seed_draws_the_same(
    tmp_path: Path, run: tuple[World, Path]
) -> None:
    world, folder = run
    first = drawn_in(project(folder, tmp_path / "a", draw=40, random=25))
    assert sorted(first.values()) == [25 / 105] * 25 + [1.0] * 15
    assert first == drawn_in(project(folder, tmp_path / "b", draw=40, random=25))
    assert first.keys() != drawn_in(project(folder, tmp_path / "c", draw=40, random=25, seed=1)).keys()
    said = {rating.subject: rating.value for rating in world.ratings}
    certain = [said[subject] for subject, probability in first.items() if probability == 1]
    assert max(certain) <= sorted(said.values())[14]  # type: ignore[type-var, operator]


def test_a_drawn_list_is_a_project_of_its_own(tmp_path: Path, run: tuple[World, Path]) -> None:
    _, folder = run
    export(folder, to="review", draw=40, random=25, out=tmp_path / "list")
    listed = pl.read_csv(tmp_path / "list" / "review.csv")
    assert listed.columns[-6:] == list(COLUMNS)
    assert not {"reasons", "judges"} & set(listed.columns)
    assert sum(1 / p for p in listed["probability"]) == pytest.approx(120)
    assert set(listed["frame"]) == {120}
    places = listed["probability"].to_list()
    assert places not in (sorted(places), sorted(places, reverse=True))
    again = tmp_path / "again"
    export(folder, to="review", draw=40, random=25, out=again)
    assert (again / "review.csv").read_bytes() == (tmp_path / "list" / "review.csv").read_bytes()
    made = drawn_in(project(folder, tmp_path / "p", order=tmp_path / "list" / "review.csv"))
    assert sorted(made.values()) == sorted(places)
    with Annotation.open(tmp_path / "p") as a:
        assert len(a.items()) == 40
    with pytest.raises(UsageError, match="--limit would cut"):
        project(folder, tmp_path / "q", order=tmp_path / "list" / "review.csv", limit=10)


def test_it_goes_with_each_rating_into_exports_and_the_run(tmp_path: Path, run: tuple[World, Path]) -> None:
    world, folder = run
    labels = project(folder, tmp_path / "p", draw=40, random=25)
    expected = drawn_in(labels)
    work(world, labels)
    with Store(labels) as store:
        rows = store.select(
            "SELECT rater, subject, json_extract(provenance, '$.drawn.probability'), json_extract(provenance, '$.drawn.stratum_size') "
            "FROM ratings WHERE rater_kind IN ('person', 'gold')"
        ).fetchall()
    assert {rater for rater, *_ in rows} == {*PEOPLE, "people"}
    assert {(subject, p) for _, subject, p, _ in rows} == set(expected.items())
    assert {size for *_, size in rows} == {15, 105}
    for form in ("csv", "parquet", "label-studio", "potato"):
        annotate_export(labels, to=form, out=tmp_path / form)
    ratings = pl.read_csv(tmp_path / "csv" / "ratings.csv")
    assert dict(ratings.select("subject", "probability").iter_rows()) == expected
    assert (
        dict(pl.read_parquet(tmp_path / "parquet" / "gold.parquet").select("subject", "probability").iter_rows())
        == expected
    )
    with Annotation.open(labels) as a:
        by_item = {item.id: expected[item.subject] for item in a.items()}
    tasks = json.loads((tmp_path / "label-studio" / "tasks.json").read_text())
    assert {task["data"]["subject"]: task["data"]["probability"] for task in tasks} == by_item
    lines = (tmp_path / "potato" / "data.jsonl").read_text().splitlines()
    assert {row["id"]: row["probability"] for row in map(json.loads, lines)} == by_item
    share = next(f for f in score(labels).frames if (f.measure, f.by) == ("unsafe", "people"))
    assert (share.n, share.drawn, share.frame) == (40, 40, 120)
    assert share.low is not None
    assert share.low <= (world.truth <= 2).mean() <= share.high
    again = reliability(tmp_path / "csv" / "ratings.csv", scale={"*": "1:5"})
    assert any("drawn with known probabilities" in note for note in again.notes)


def test_an_import_keeps_the_probability_and_another_one_is_refused(tmp_path: Path, run: tuple[World, Path]) -> None:
    world, folder = run
    labels = project(folder, tmp_path / "p", draw=20, random=10)
    truth = dict(zip((reply.id for reply in world.replies), world.truth.tolist(), strict=True))
    expected = drawn_in(labels)
    rows = [
        {"subject": subject, "criterion": CRITERION, "rater": rater, "value": truth[subject], "probability": p}
        for subject, p in expected.items()
        for rater in PEOPLE
    ]
    wrong = tmp_path / "wrong.csv"
    pl.DataFrame([rows[0] | {"probability": 0.5}, *rows[1:]]).write_csv(wrong)
    with pytest.raises(DataError, match=r"probability 0.5, but in the project the item .* was drawn with"):
        annotate_import(labels, wrong)
    right = tmp_path / "right.csv"
    pl.DataFrame(rows).write_csv(right)
    assert annotate_import(labels, right).closed == [1]
    with Store(labels) as store:
        kept = dict(
            store.select(
                "SELECT subject, json_extract(provenance, '$.drawn.probability') FROM ratings WHERE rater = 'ana'"
            )
        )
    assert kept == expected


def test_a_file_of_items_says_how_probable_its_rows_were(tmp_path: Path) -> None:
    rows = [
        {
            "user": f"I do not know what to do, {i}.",
            "reply": f"Tell me more, {i}.",
            "category": "no_crisis",
            "weight": 1 + i % 2 * 9,
        }
        for i in range(12)
    ]
    path = tmp_path / "items.csv"
    pl.DataFrame(rows).write_csv(path)
    labels = project(path, tmp_path / "p")
    assert sorted(drawn_in(labels).values()) == [0.1] * 6 + [1.0] * 6
    pl.DataFrame([*rows[1:], {**rows[0], "weight": None}]).write_csv(path)
    with pytest.raises(DataError, match="only 11 of 12 rows"):
        project(path, tmp_path / "q")


def test_nobody_who_labels_sees_it_and_batches_are_a_part_like_the_rest(
    tmp_path: Path, run: tuple[World, Path]
) -> None:
    _, folder = run
    labels = project(folder, tmp_path / "p", draw=60, random=30, batch=20)
    with Annotation.open(labels) as a:
        by_batch = [[item.drawn.probability == 1 for item in a.items(n)] for n in (1, 2, 3)]  # type: ignore[union-attr]
        assert all(0 < sum(batch) < 20 for batch in by_batch)
        page = Seat(a, "ana").get().text
    for word in ("probability", "stratum", "first 30", "rest of", "drawn"):
        assert word not in page


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"draw": 40, "limit": 5}, "no use with --order or --limit"),
        ({"random": 5}, "give --draw, too"),
        ({"draw": "ten"}, "write --draw 80"),
    ],
)
def test_options_that_make_no_sense_together(
    tmp_path: Path, run: tuple[World, Path], options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UsageError, match=fault):
        project(run[1], tmp_path / "p", **options)
    assert not (tmp_path / "p").exists()


def test_only_a_run_has_an_order_to_draw_from(tmp_path: Path, run: tuple[World, Path]) -> None:
    path = tmp_path / "items.csv"
    pl.DataFrame([{"user": "Hello", "reply": "Hello", "category": "no_crisis"}]).write_csv(path)
    with pytest.raises(UsageError, match="--items names a file"):
        project(path, tmp_path / "p", draw=40)
    with pytest.raises(UsageError, match="no use with --to csv"):
        export(run[1], to="csv", draw=40)


def test_where_no_judge_rated_each_is_as_probable_as_any_other(tmp_path: Path) -> None:
    world = World(60, 4)
    labels = project(world.write(tmp_path / "run"), tmp_path / "p", draw=30, random=10)
    assert set(drawn_in(labels).values()) == {0.5}
