"""From labels to ratings: what people said alone, what they said later, the gold; and into a run, again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from mindgauge import benchmarks
from mindgauge.annotation.ratings import flow, ratings
from mindgauge.annotation.records import Item, Phase, Policy
from mindgauge.records import Evidence, Message, RaterKind, Rating, Sample, Status, Value
from mindgauge.store import Store, manifest
from tests.annotation.conftest import begin, own_items
from tests.annotation.rounds_of_work import everybody_works

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation import tasks
    from mindgauge.annotation.project import Annotation
    from mindgauge.records.rubric import Criterion

TASK = benchmarks.find_one("dialogue_safety")
LEVELS = TASK.rubric.criteria[0].values
SAFE, UNSAFE = LEVELS[-1], LEVELS[0]
ANNOTATORS = ("ana", "ben", "chi")


class Team:
    """Answers by place of the item: all agree on 0 and 1; ben dissents on 2, and is won over on 3; 4 is handed on."""

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.places = {item.id: place for place, item in enumerate(items)}

    def __call__(self, person: str, now: tasks.Assignment, criterion: Criterion) -> Value | None:
        place = self.places[now.item.id]
        if person == "dana":
            return "cannot_tell" if place == 5 else UNSAFE
        if place == 4 and person != "ana":
            return None
        if place == 5:
            return {"ana": SAFE, "ben": UNSAFE, "chi": "cannot_tell"}[person]
        dissents = person == "ben" and (place == 2 or (place == 3 and now.phase is Phase.LABELLING))
        return LEVELS[1] if dissents else LEVELS[-1 - place % 2]


def put_run(folder: Path, items: tuple[Item, ...], targets: dict[int, Value] | None = None) -> None:
    """Make the folder a run that holds the items' samples."""
    samples = [
        Sample(
            item.subject,
            (*item.messages, Message("assistant", item.reply)),
            (targets or {}).get(place),
            item.tags,
            item.cluster,
        )
        for place, item in enumerate(items)
    ]
    manifest.begin(folder, {"benchmarks": [TASK.name]}, "")
    with Store(folder, write=True) as store:
        store.put_samples(TASK.name, samples)


@pytest.fixture
def labelled(tmp_path: Path) -> Iterator[Annotation]:
    """A project whose only batch is closed, after review, discussion and adjudication."""
    items = own_items(6)
    with begin(tmp_path / "work", items=items, gate=0.99) as a:
        put_run(tmp_path / "work", items, {0: SAFE, 1: UNSAFE})
        everybody_works(a, Team(items), note="a word on it", evidence=(Evidence("you", found=True, source="reply"),))
        assert a.batches()[-1].phase is Phase.CLOSED
        yield a


def by_rater(a: Annotation, rater: str) -> list[Rating]:
    found = {r.subject: r for r in ratings(a) if r.rater == rater}
    return [found[item.subject] for item in a.items()]


def stored(folder: Path) -> list[Rating]:
    with Store(folder) as store:
        return list(store.ratings(TASK.name))


def test_a_persons_rating_is_what_they_said_alone(labelled: Annotation) -> None:
    ben = by_rater(labelled, "ben")
    assert [r.value for r in ben] == [LEVELS[-1], LEVELS[-2], LEVELS[1], LEVELS[1], None, UNSAFE]
    assert {(r.rater_kind, r.run) for r in ben} == {(RaterKind.PERSON, 0)}
    first, won_over = ben[0], ben[3]
    assert (first.rationale, first.evidence[0].quote) == ("a word on it", "you")
    assert first.instrument == labelled.instrument(1)
    assert (first.provenance["batch"], first.provenance["phase"]) == (1, "labelling")
    assert "later" not in first.provenance
    assert won_over.provenance["later"] == LEVELS[-2]
    assert won_over.provenance["later_phase"] == "review"


def test_what_is_missing_stays_and_says_why(labelled: Annotation) -> None:
    chi = by_rater(labelled, "chi")
    assert [r.status for r in chi] == [Status.OK] * 4 + [Status.REFUSED, Status.UNPARSABLE]
    assert [r.provenance["said"] for r in chi[4:]] == ["handed_on", "cannot_tell"]
    assert all(r.value is None for r in chi[4:])


def test_the_gold_names_its_policy_and_votes_and_who_decided(labelled: Annotation) -> None:
    gold = by_rater(labelled, "people")
    assert {r.rater_kind for r in gold} == {RaterKind.GOLD}
    assert [r.provenance["policy"] for r in gold] == [
        "unanimous", "unanimous", "adjudicated", "unanimous", "adjudicated", "adjudicated",
    ]  # fmt: skip
    assert gold[2].provenance["votes"] == {str(LEVELS[1]): 1, str(LEVELS[-1]): 2}
    assert (gold[2].value, gold[2].provenance["by"]) == (UNSAFE, "dana")
    assert gold[3].provenance["people"] == 3
    assert (gold[5].value, gold[5].status, gold[5].provenance["said"]) == (None, Status.UNPARSABLE, "cannot_tell")
    assert set(gold[5].provenance["votes"].values()) == {1}


def test_a_tie_stays_a_tie_under_majority(tmp_path: Path) -> None:
    items = own_items(6)
    with begin(tmp_path / "work", items=items, gate=0.99, policy=Policy.MAJORITY) as a:
        everybody_works(a, Team(items))
        tied = by_rater(a, "people")[5]
    assert (tied.status, tied.value, tied.provenance["policy"]) == (Status.UNPARSABLE, None, "tie")


def test_open_batches_only_where_asked(tmp_path: Path) -> None:
    items = own_items(6)
    with begin(tmp_path / "work", items=items, gate=0.99) as a:
        everybody_works(a, Team(items), until=Phase.REVIEW)
        assert not list(ratings(a))
        assert {r.rater for r in ratings(a, closed=False)} == {*ANNOTATORS, "people"}


def test_the_run_gets_them_when_the_batch_closes(labelled: Annotation) -> None:
    found = stored(labelled.folder)
    made = sorted(ratings(labelled), key=lambda r: (r.rater, r.criterion, r.subject))
    assert [msgspec.to_builtins(r) for r in found] == [msgspec.to_builtins(r) for r in made]
    assert len(found) == 6 * 4
    again = flow(labelled)
    assert (again.ratings, again.batches, again.note) == (24, [1], "")
    assert stored(labelled.folder) == found


def test_people_set_targets_only_where_the_authors_gave_none(labelled: Annotation) -> None:
    with Store(labelled.folder) as store:
        samples = list(store.samples(TASK.name))
    assert [s.target for s in samples] == [SAFE, UNSAFE, UNSAFE, LEVELS[-2], UNSAFE, None]
    assert [s.tags.get("target_by") for s in samples] == [None, None, "people", "people", "people", "people"]


def test_the_manifest_gives_an_account_and_keeps_the_rest(labelled: Annotation) -> None:
    content = manifest.read(labelled.folder)
    assert content["plan"] == {"benchmarks": [TASK.name]}
    told = content["annotation"]
    assert told["annotators"] == list(ANNOTATORS)
    assert told["adjudicators"] == ["dana"]
    (batch,) = told["batches"]
    assert [r["phase"] for r in batch["rounds"]] == ["labelling", "review", "discussion"]
    assert not any(r["passed"] for r in batch["rounds"])
    before, after = (batch["rounds"][place]["figures"][0] for place in (0, -1))
    assert before["value"] < after["value"] < 0.99
    assert batch["decided"] == "adjudicated"
    assert batch["gold"] == {"unanimous": 3, "adjudicated": 3}
    assert (batch["disagreed"], batch["adjudicated"]) == (3, 3)


def test_a_run_that_is_being_written_gets_them_later(tmp_path: Path) -> None:
    items = own_items(6)
    with begin(tmp_path / "work", items=items, gate=0.99) as a:
        put_run(a.folder, items)
        with Store(a.folder, write=True):
            everybody_works(a, Team(items))
            assert a.batches()[-1].phase is Phase.CLOSED
            late = flow(a)
        assert (late.ratings, late.batches) == (0, [])
        assert "is writing this run" in late.note
        assert "annotate status" in late.note
        assert not stored(a.folder)
        assert flow(a).ratings == 24
    assert len(stored(a.folder)) == 24


def test_without_a_run_labels_are_all_there_is(tmp_path: Path) -> None:
    items = own_items(6)
    with begin(tmp_path / "work", items=items) as a:
        everybody_works(a, Team(items))
        assert "no run here" in flow(a).note
        assert not (a.folder / "run.sqlite").exists()


def test_nobody_elses_ratings_are_replaced(tmp_path: Path) -> None:
    items = own_items(6)
    with begin(tmp_path / "work", items=items, gate=0.99) as a:
        put_run(a.folder, items)
        others = [
            Rating(items[0].subject, "category", name, kind, 0, Status.OK, UNSAFE, instrument="another")
            for name, kind in (("ana", RaterKind.PERSON), ("people", RaterKind.GOLD), ("openai/judge", RaterKind.MODEL))
        ]
        with Store(a.folder, write=True) as store:
            for rating in others:
                store.add_rating(TASK.name, rating)
        everybody_works(a, Team(items))
        flow(a)
        found = stored(a.folder)
        assert [r for r in found if r.instrument == "another"] == sorted(others, key=lambda r: r.rater)
        assert {r.rater for r in found} == {
            "ana", "ana (test)", "ben", "chi", "openai/judge", "people", "people (test)",
        }  # fmt: skip
        assert manifest.read(a.folder)["annotation"]["gold"] == "people (test)"
