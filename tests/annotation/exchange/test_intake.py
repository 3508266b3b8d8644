from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from mindgauge.annotation import schema, submissions, tasks
from mindgauge.annotation.exchange import take_in
from mindgauge.annotation.exchange.reading import ImportedLabel
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.records.errors import DataError
from tests.annotation.conftest import begin, own_items

from .conftest import NEGLECT, SAFE, said, scored_items, submit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation.project import Annotation


@pytest.fixture
def a(tmp_path: Path, database_url: str) -> Iterator[Annotation]:
    with begin(tmp_path / "a", database_url, items=(*own_items(2), *own_items(3, batch=2)[2:])) as opened:
        yield opened


def entry(
    a: Annotation, name: str, number: int, value: str | None = SAFE, batch: int = 1, **more: str
) -> ImportedLabel:
    answer = None if value is None else Answer("category", Answered.OK, value)
    return ImportedLabel(f"file:{number}", a.named(name), a.items(batch)[number], answer, **more)  # type: ignore[arg-type]  # a note


def everybody(a: Annotation, batch: int = 1) -> list[ImportedLabel]:
    return [
        entry(a, name, number, batch=batch) for name in ("ana", "ben", "chi") for number in range(len(a.items(batch)))
    ]


def test_a_batch_that_an_import_completes_meets_its_gate(a: Annotation) -> None:
    submit(a, "ana", a.items(1)[0].id, Answer("category", Answered.OK, SAFE))
    count, batches, closed = take_in(a, everybody(a), "file.csv")
    assert (count["labels"], count["same"], batches, closed) == (5, 1, [1], [1])
    assert [(batch.phase, batch.decided) for batch in a.batches()] == [(Phase.CLOSED, "passed"), (Phase.LABELLING, "")]
    assert len(a.gates(1)) == 1


def test_disagreement_in_an_import_goes_to_review(a: Annotation) -> None:
    take_in(a, [*everybody(a)[:-1], entry(a, "chi", 1, NEGLECT)], "file.csv")
    assert a.batches()[0].phase is Phase.REVIEW
    found = tasks.current(a, a.named("ana"))
    assert isinstance(found, tasks.Assignment) and found.item == a.items(1)[1]
    assert found.own["category"].given == SAFE


def test_batches_that_are_not_open_yet_take_labels(a: Annotation) -> None:
    count, batches, closed = take_in(a, everybody(a, batch=2)[:2], "file.csv")
    assert (count["labels"], batches, closed) == (2, [2], [])
    assert a.batches()[1].rubric == 1


def test_later_phases_and_closed_batches_take_none(a: Annotation) -> None:
    take_in(a, everybody(a), "file.csv")
    before = a.labels()
    assert take_in(a, everybody(a), "file.csv")[0]["same"] == 6
    with pytest.raises(
        DataError, match="batch 1 is at closed; labels can be added only while everybody still labels alone"
    ):
        take_in(a, [entry(a, "ana", 0, NEGLECT)], "file.csv", supersede=True)
    assert a.labels() == before


def test_all_or_nothing(a: Annotation) -> None:
    submit(a, "chi", a.items(1)[1].id, Answer("category", Answered.OK, NEGLECT))
    before = a.labels()
    with pytest.raises(
        DataError, match=f"file:1: chi says {SAFE} on category of .* otherwise \\({NEGLECT}\\); --supersede"
    ):
        take_in(a, everybody(a), "file.csv")
    assert a.labels() == before
    assert a.batches()[0].phase is Phase.LABELLING


def test_superseding_adds_and_keeps_both(a: Annotation) -> None:
    item = a.items(1)[0].id
    submit(a, "ana", item, Answer("category", Answered.OK, NEGLECT), note="first")
    count, _, _ = take_in(a, [entry(a, "ana", 0)], "file.csv", supersede=True)
    assert (count["labels"], count["superseded"]) == (1, 1)
    assert [(label.value, label.source) for label in a.labels()] == [(NEGLECT, "page"), (SAFE, "file.csv")]
    assert said(a)[item, "ana", "category"].given == SAFE


def test_another_note_is_a_contradiction_and_no_note_is_none(a: Annotation) -> None:
    submit(a, "ana", a.items(1)[0].id, Answer("category", Answered.OK, SAFE), note="kind")
    assert take_in(a, [entry(a, "ana", 0)], "file.csv")[0]["same"] == 1
    with pytest.raises(DataError, match="another note"):
        take_in(a, [entry(a, "ana", 0, note="unkind")], "file.csv")


def test_a_file_that_contradicts_itself_is_refused(a: Annotation) -> None:
    with pytest.raises(DataError, match=f"file:0: ana says {NEGLECT} on category, and {SAFE} in file:0; keep one"):
        take_in(a, [entry(a, "ana", 0), entry(a, "ana", 0, NEGLECT)], "file.csv", supersede=True)
    with pytest.raises(DataError, match="ana hands this item on, and labels it, too"):
        take_in(a, [entry(a, "ana", 0), entry(a, "ana", 0, None)], "file.csv")
    assert take_in(a, [entry(a, "ana", 0), entry(a, "ana", 0)], "file.csv")[0]["labels"] == 1


def test_handing_on_is_imported_and_contradicts_a_label(a: Annotation) -> None:
    item = a.items(1)[0].id
    assert take_in(a, [entry(a, "ana", 0, None)], "file.csv")[0]["handed_on"] == 1
    assert a.handed_on() == {(a.named("ana").id, item)}
    with pytest.raises(DataError, match=r"otherwise \(handed on\)"):
        take_in(a, [entry(a, "ana", 0)], "file.csv")
    assert take_in(a, [entry(a, "ana", 0)], "file.csv", supersede=True)[0]["superseded"] == 1
    assert a.handed_on() == set()
    with pytest.raises(DataError, match=r"ana hands on the item .* otherwise \(labelled\)"):
        take_in(a, [entry(a, "ana", 0, None)], "file.csv")
    take_in(a, [entry(a, "ana", 0, None)], "file.csv", supersede=True)
    assert said(a) == {} and a.handed_on() == {(a.named("ana").id, item)}
    assert [label.answered for label in a.labels()] == [Answered.OK, Answered.WITHDRAWN]


def test_an_open_page_is_stale_after_an_import(a: Annotation) -> None:
    """What somebody has before them and was imported meanwhile is not labelled twice without a word."""
    ana = a.named("ana")
    before = tasks.current(a, ana, a.items(1)[0].id)
    assert isinstance(before, tasks.Assignment)
    take_in(a, [entry(a, "ana", 0)], "file.csv")
    with pytest.raises(tasks.StaleError):
        submissions.submit(
            a, ana, before.item.id, before.phase, before.turn, "f", [Answer("category", Answered.OK, NEGLECT)]
        )


def test_an_item_labelled_in_part_stays_open(tmp_path: Path) -> None:
    with begin(tmp_path / "a", items=scored_items(), instrument="mentalbench") as a:
        item = a.items(1)[0]
        count, _, _ = take_in(
            a, [ImportedLabel("file:1", a.named("ana"), item, Answer("safety", Answered.OK, 3))], "file.csv"
        )
        assert (count["labels"], count["open"]) == (1, 1)
        query = select(schema.tasks.c.state).where(
            schema.tasks.c.item == item.id, schema.tasks.c.person == a.named("ana").id
        )
        assert a.database.read(lambda c: c.execute(query).scalar_one()) == "open"


def test_anchors_take_no_imports(tmp_path: Path) -> None:
    with begin(tmp_path / "a", items=(*own_items(1, batch=0), *own_items(2)[1:])) as a:
        with pytest.raises(DataError, match="belongs to the training round"):
            take_in(a, [entry(a, "ana", 0, batch=0)], "file.csv")
        assert a.labels() == []
