"""Waiting, between batches and at the end: how far the team is, and what came of a batch once it is closed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.page import screens
from mindgauge.annotation.records import Answer, Answered, Gate, Phase
from tests.annotation.conftest import begin, own_items
from tests.annotation.page.labelling import Seat, text
from tests.annotation.page.test_discussion import TEAM, apart, discuss, go_through

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.annotation.project import Annotation


@pytest.fixture
def two_batches(tmp_path: Path, database_url: str) -> Iterator[Annotation]:
    """Two batches of four, the first item of each being distressing."""
    items = tuple(
        msgspec.structs.replace(item, batch=1 + place // 4, crisis=place % 4 == 0)
        for place, item in enumerate(own_items(8))
    )
    with begin(tmp_path / "two", database_url, items=items) as a:
        yield a


def mixed(a: Annotation, batch: int) -> dict[str, str]:
    return {item.id: ("Safe Response", "Nonsense")[place % 2] for place, item in enumerate(a.items(batch))}


def close(a: Annotation, batch: int, *, but: str = "") -> None:
    """Let all say the same of a batch; on its third item, one may say something else."""
    said, third = mixed(a, batch), a.items(batch)[2].id
    for name in TEAM:
        person = a.named(name)
        while isinstance(at := tasks.current(a, person), tasks.Assignment) and at.batch == batch:
            value = "Linguistic Neglect" if name == but and at.item.id == third else said[at.item.id]
            form = f"{name}-{at.phase}-{at.item.id}"
            submissions.submit(a, person, at.item.id, at.phase, at.turn, form, [Answer("category", Answered.OK, value)])


def test_who_is_done_waits_and_sees_how_many_are_done_but_nobodys_label(project: Annotation) -> None:
    go_through(project, "ana", Phase.LABELLING, lambda _: "Nonsense")
    for name, says in (
        ("ana", "You have labelled all your items of batch 1."),
        ("dana", "The others are at work on batch 1."),
        ("olga", "The others are at work on batch 1."),
    ):
        page = Seat(project, name).get("/standing")
        assert page.status_code == 200
        assert says in text(page)
        assert "1 of 3 people are done with this step." in text(page)
        assert "No batch is closed yet" in text(page)
        assert "Nonsense" not in page.text
        assert not any(other in text(page) for other in {*TEAM, "dana", "olga"} - {name})


@pytest.mark.parametrize("phase", [Phase.REVIEW, Phase.DISCUSSION])
def test_who_waits_in_a_later_phase_is_told_so(project: Annotation, phase: Phase) -> None:
    ids = [item.id for item in project.items(1)]
    for before in (Phase.LABELLING, Phase.REVIEW)[: 1 if phase is Phase.REVIEW else 2]:
        for name in TEAM:
            go_through(project, name, before, apart(name, ids[:3]))
    go_through(project, "ana", phase, lambda _: "Nonsense")
    page = Seat(project, "ana").get("/standing")
    said = {Phase.REVIEW: "looked again at all your items", Phase.DISCUSSION: "done with the discussion of batch 1"}
    assert said[phase] in text(page)
    assert ('href="/discussion"' in page.text) is (phase is Phase.DISCUSSION)


def test_nothing_is_told_of_a_batch_before_it_is_closed(two_batches: Annotation) -> None:
    ana = Seat(two_batches, "ana")
    assert ana.get("/standing?batch=1").status_code == 404
    close(two_batches, 1)
    assert ana.get("/standing?batch=1").status_code == 200
    for path in ("?batch=2", "?batch=0", "?batch=-1", "?batch=99"):
        assert ana.get(f"/standing{path}").status_code == 404
    assert ana.get("/standing?batch=one").status_code == 422


def test_after_a_batch_its_agreement_is_told_and_the_next_is_offered(two_batches: Annotation) -> None:
    close(two_batches, 1, but="chi")
    page = Seat(two_batches, "chi").get("/standing")
    said = text(page)
    (figure, *_) = two_batches.gates(1)[0].figures
    assert two_batches.gates(1)[0].passed
    assert "It closed at once" in said
    assert f"Agreement was substantial: {figure['fleiss']:.2f}, where 1 is full agreement" in said
    assert "The gate of 0.40 is reached." in said
    assert f"{figure['alpha']:.2f} [" in said
    assert re.search(r"Nonsense 4 1\.00 ", said)  # the label against the rest
    assert "Of 4 labels, 3 are the same as the gold." in said
    assert "3 Linguistic Neglect Safe Response differs" in said
    assert re.search(r'<a class="button main" href="/item">Start batch 2</a>', page.text)
    assert "Batch 2 has 4 items for you." in said
    assert "ana" not in said
    assert "Your labels and the gold" not in text(Seat(two_batches, "dana").get("/standing"))


def test_a_batch_that_was_discussed_and_decided_says_how(project: Annotation) -> None:
    disputed = discuss(project)
    for name in TEAM:
        go_through(project, name, Phase.DISCUSSION, apart(name, disputed))
    steps = ["Labelled alone", "Reviewed alone", "Discussed"]
    dana = project.named("dana")
    while isinstance(at := tasks.current(project, dana), tasks.Assignment):
        given = Answer("category", Answered.CANNOT_TELL)
        if at.item.id != disputed[0]:
            given = Answer("category", Answered.OK, "Nonsense")
        submissions.submit(
            project, dana, at.item.id, at.phase, at.turn, f"dana-{at.item.id}", [given], note="Both hold."
        )
    assert project.batches()[-1].decided == "adjudicated"
    ana = text(Seat(project, "ana").get("/standing"))
    assert "What was still open after the discussion was decided by one person." in ana
    assert "That is below the gate of 0.40." in ana
    assert [step for step in steps if f"{step} " in ana] == steps
    assert "Of 5 labels, 5 are the same as the gold. On 1 there is no gold value" in ana
    ben = text(Seat(project, "ben").get("/standing"))
    assert "Of 5 labels, 3 are the same as the gold." in ben
    decided = text(Seat(project, "dana").get("/standing"))
    assert "Items you decided 3" in decided
    assert "Items you labelled" not in decided


def test_at_the_end_people_are_thanked_and_told_what_they_did(two_batches: Annotation) -> None:
    close(two_batches, 1)
    close(two_batches, 2, but="ana")
    page = Seat(two_batches, "ana").get("/standing")
    said = text(page)
    assert "All done. Thank you." in said
    assert "Items you labelled 8 Labels you gave 8 Distressing items among them 2" in said
    assert "What happens with the labels" in said
    assert "Batch 2 is closed" in said
    assert page.text.count('href="/standing?batch=') == 2
    first = text(Seat(two_batches, "ana").get("/standing?batch=1"))
    assert "Batch 1 is closed" in first
    assert "Of 4 labels, 4 are the same as the gold." in first


def test_ones_own_training_is_shown_and_nobody_elses(tmp_path: Path, database_url: str) -> None:
    anchors = tuple(
        msgspec.structs.replace(
            item, id=f"anchor-{place}", subject=f"anchor-{place}", expected={"category": "Nonsense"}
        )
        for place, item in enumerate(own_items(4, batch=0))
    )
    with begin(tmp_path / "a", database_url, items=(*anchors, *own_items(2))) as a:
        for name, right in (("ana", 3), ("ben", 0)):
            person, done = a.named(name), 0
            while isinstance(at := tasks.current(a, person), tasks.Assignment) and at.phase is Phase.TRAINING:
                value = "Nonsense" if done < right else "Safe Response"
                given = [Answer("category", Answered.OK, value)]
                submissions.submit(a, person, at.item.id, at.phase, at.turn, f"{name}-{at.item.id}", given)
                done += 1
        assert "the level the anchor was written for in 3 of 4 answers" in text(Seat(a, "ana").get("/standing"))
        assert "the level the anchor was written for in 0 of 4 answers" in text(Seat(a, "ben").get("/standing"))
        assert "anchor was written for" not in text(Seat(a, "chi").get("/standing"))
        assert "anchor was written for" not in text(Seat(a, "olga").get("/standing"))


def test_all_the_same_is_said_without_a_coefficient(two_batches: Annotation) -> None:
    for name in TEAM:
        person = two_batches.named(name)
        while isinstance(at := tasks.current(two_batches, person), tasks.Assignment) and at.batch == 1:
            given = [Answer("category", Answered.OK, "Safe Response")]
            submissions.submit(two_batches, person, at.item.id, at.phase, at.turn, f"{name}-{at.item.id}", given)
    said = text(Seat(two_batches, "ana").get("/standing"))
    assert "All labels were the same, so no coefficient is defined" in said
    assert "not defined" in said


def test_the_coefficient_of_the_gate_is_read_for_each_criterion(tmp_path: Path, database_url: str) -> None:
    items = tuple(msgspec.structs.replace(item, tags={"language": "en"}) for item in own_items(4))
    with begin(tmp_path / "a", database_url, items=items, instrument="mentalbench", gate=0.9) as a:
        names = [criterion.name for criterion in a.rubric().criteria]
        for place, name in enumerate(TEAM):
            person = a.named(name)
            while isinstance(at := tasks.current(a, person), tasks.Assignment) and at.phase is Phase.LABELLING:
                number = [item.id for item in items].index(at.item.id)
                levels = {c: 1 + (number + (place if c == "safety" else 0)) % 5 for c in names}
                given = [Answer(c, Answered.OK, level) for c, level in levels.items()]
                submissions.submit(a, person, at.item.id, at.phase, at.turn, f"{name}-{at.item.id}", given)
        (gate,) = a.gates(1)
        found = {one.criterion: one for one in screens.measured(gate, 0.9)}
        assert list(found) == names
        assert [name for name in names if not found[name].reached] == ["safety"]
        assert found["guidance"].value == pytest.approx(1.0)
        assert found["guidance"].strength == "high"
        whole = found["safety"].figures[0]
        assert (found["safety"].value, found["safety"].low) == (whole.alpha, whole.alpha_low)


@pytest.mark.parametrize(
    ("value", "name"),
    [(-0.3, "none"), (0.0, "none"), (0.01, "slight"), (0.2, "slight"), (0.4, "fair"), (0.41, "moderate"), (0.7, "substantial"), (0.81, "high")],
)  # fmt: skip
def test_strengths_are_those_of_landis_and_koch(value: float, name: str) -> None:
    assert screens.strength(value) == name


def test_nothing_measured_is_nothing_said() -> None:
    assert screens.latest([], 0.4) == []
    assert screens.latest([Gate(1, Phase.LABELLING, 0.0, passed=True, figures=[])], 0.4) == []


def test_the_standing_is_in_chinese_for_whoever_wants_it(two_batches: Annotation) -> None:
    close(two_batches, 1, but="chi")
    said = text(Seat(two_batches, "chi", "zh").get("/standing"))
    assert "开始第 2 批" in said
    assert "4 个标注中，3 个与金标准相同。" in said
    assert "语言忽视（Linguistic Neglect） 安全回应（Safe Response） 不同" in said
