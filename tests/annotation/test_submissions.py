"""What one person does with one item: hand in once, take back, skip, hand on, and never overwrite what came later."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.labels import InvalidAnswerError, last
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.annotation.tasks import Assignment, StaleError
from mindgauge.records import Evidence
from tests.annotation.conftest import begin, own_items

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.annotation.project import Annotation

SAFE = Answer("category", Answered.OK, "Safe Response", ((0, "no"), (1, "no"), (2, "no"), (3, "no")))
NONSENSE = Answer("category", Answered.OK, "Nonsense", ((0, "Nonsense"),))


def before(a: Annotation, name: str, item: str = "") -> Assignment:
    found = tasks.current(a, a.named(name), item)
    assert isinstance(found, Assignment)
    return found


def hand_in(
    a: Annotation, name: str, at: Assignment, form: str, *answers: Answer, **more: object
) -> submissions.Submitted:
    return submissions.submit(a, a.named(name), at.item.id, at.phase, at.turn, form, answers or (SAFE,), **more)  # type: ignore[arg-type]


def test_everybody_has_an_order_of_their_own_over_the_same_items(tmp_path: Path, database_url: str) -> None:
    orders = []
    with begin(tmp_path / "a", database_url, items=own_items(16)) as a:
        for name in ("ana", "ben", "chi"):
            order = []
            for place in range(16):
                at = before(a, name)
                assert (at.place, at.of, at.done) == (place + 1, 16, place)
                order.append(at.item.id)
                hand_in(a, name, at, f"{name}{place}")
            orders.append(order)
        assert {frozenset(order) for order in orders} == {frozenset(item.id for item in a.items(1))}
    assert len({tuple(order) for order in orders}) == 3  # two are the same once in seven million million times


def test_a_form_that_is_sent_twice_counts_once(project: Annotation) -> None:
    at = before(project, "ana")
    assert not hand_in(project, "ana", at, "one").repeated
    assert hand_in(project, "ana", at, "one").repeated
    assert len(project.labels()) == 1


def test_a_form_that_is_sent_many_times_at_once_counts_once(project: Annotation) -> None:
    at = before(project, "ana")
    again = []
    threads = [
        threading.Thread(target=lambda: again.append(hand_in(project, "ana", at, "one").repeated)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(again) == [False] + [True] * 7
    assert len(project.labels()) == 1


def test_of_two_tabs_the_second_is_told_what_stands(project: Annotation) -> None:
    at = before(project, "ana")
    hand_in(project, "ana", at, "first tab")
    with pytest.raises(StaleError, match="another page") as error:
        hand_in(project, "ana", at, "second tab", NONSENSE)
    assert error.value.kept["category"].value == "Safe Response"
    assert len(project.labels()) == 1


def test_a_form_s_id_counts_for_its_person_and_item_alone(project: Annotation) -> None:
    """Whoever else sends it, or for what else, hands in something of their own."""
    first = before(project, "ana")
    assert not hand_in(project, "ana", first, "one").repeated
    second = before(project, "ana")
    assert not hand_in(project, "ana", second, "one", NONSENSE).repeated
    ben = before(project, "ben")
    assert not hand_in(project, "ben", ben, "one", NONSENSE).repeated
    names = {person.id: person.name for person in project.people()}
    assert [(names[label.person], label.item, label.given) for label in project.labels()] == [
        ("ana", first.item.id, "Safe Response"),
        ("ana", second.item.id, "Nonsense"),
        ("ben", ben.item.id, "Nonsense"),
    ]
    third = before(project, "ana")
    for name, at in (("ana", third), ("ben", before(project, "ben"))):
        submissions.hand_on(project, project.named(name), at.item.id, at.phase, at.turn, "one")
    assert {names[person] for person, _ in project.handed_on(1)} == {"ana", "ben"}
    for name, item in (("ana", third.item.id), ("ben", None)):
        taken_back = submissions.undo(project, project.named(name), "one")
        assert taken_back is not None
        assert item in {None, taken_back}


def test_a_form_of_an_earlier_phase_is_told_to_be_old(tmp_path: Path, database_url: str) -> None:
    with begin(tmp_path / "a", database_url, items=own_items(2)) as a:
        old = [before(a, "ana")]
        for number, name in enumerate(("ana", "ben", "chi")):
            while isinstance(at := tasks.current(a, a.named(name)), Assignment) and at.phase is Phase.LABELLING:
                level = Answer("category", Answered.OK, a.rubric().criteria[0].values[number])
                hand_in(a, name, at, f"{name} {at.item.id}", level)
        now = before(a, "ana", old[0].item.id)
        assert now.phase is Phase.REVIEW
        assert not hand_in(a, "ana", now, f"ana {now.item.id}", NONSENSE).repeated  # the same id in another phase
        with pytest.raises(StaleError):
            hand_in(a, "ana", old[0], "another", NONSENSE)


def test_what_another_answer_says_under_the_same_id_is_not_taken_for_the_first(project: Annotation) -> None:
    at = before(project, "ana")
    hand_in(project, "ana", at, "one", note="as I see it")
    for answer, note in ((NONSENSE, "as I see it"), (SAFE, "I see it otherwise")):
        with pytest.raises(StaleError, match="another page") as error:
            hand_in(project, "ana", at, "one", answer, note=note)
        assert error.value.kept["category"].note == "as I see it"
    assert hand_in(project, "ana", at, "one", note="as I see it").repeated
    submissions.undo(project, project.named("ana"), "undo")
    with pytest.raises(StaleError):  # what was taken back does not stand
        hand_in(project, "ana", at, "one", note="as I see it")
    now = before(project, "ana", at.item.id)
    assert not hand_in(project, "ana", now, "one", note="as I see it").repeated
    (binding,) = last(project.labels()).values()
    assert binding.note == "as I see it"


def test_the_last_one_is_taken_back_whatever_the_clock_says(
    project: Annotation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, done = project.named("ana"), []
    for place, clock in enumerate((2e9, 1e9, 1.5e9, 1e9)):
        monkeypatch.setattr(time, "time", lambda clock=clock: clock)
        at = before(project, "ana")
        done.append(at.item.id)
        if place == 1:
            submissions.hand_on(project, ana, at.item.id, at.phase, at.turn, "hand on")
        else:
            hand_in(project, "ana", at, f"form {place}")
    for place, item in enumerate(reversed(done)):
        assert submissions.undo(project, ana, f"undo {place}") == item
        assert before(project, "ana").item.id == item
    assert not last(project.labels())
    assert not project.handed_on()


def test_what_is_taken_back_stays_and_comes_first_again_filled_in(project: Annotation) -> None:
    at = before(project, "ana")
    quote = " ".join(at.item.reply.split()[:3])
    hand_in(project, "ana", at, "one", note="not sure", evidence=[Evidence(quote)])
    ana = project.named("ana")
    assert submissions.undo(project, ana, "undo") == at.item.id
    assert submissions.undo(project, ana, "undo") is None  # the same form again takes nothing else back
    again = before(project, "ana")
    assert again.item.id == at.item.id
    assert again.draft["answers"]["category"]["value"] == "Safe Response"
    assert again.draft["note"] == "not sure"
    assert again.draft["evidence"] == [{"quote": quote, "source": "reply"}]
    assert not last(project.labels())
    hand_in(project, "ana", again, "two", NONSENSE)
    assert [label.given for label in project.labels()] == ["Safe Response", None, "Nonsense"]
    (binding,) = last(project.labels()).values()
    assert binding.value == "Nonsense"


def test_skipped_comes_last_and_handed_on_does_not_come_again(project: Annotation) -> None:
    ana = project.named("ana")
    first = before(project, "ana")
    for _ in range(2):  # sent twice, it counts once
        submissions.skip(project, ana, first.item.id, first.phase, first.turn, "skip")
    second = before(project, "ana")
    assert second.item.id != first.item.id
    submissions.hand_on(project, ana, second.item.id, second.phase, second.turn, "hand on")
    submissions.hand_on(project, ana, second.item.id, second.phase, second.turn, "hand on")
    assert project.handed_on(1) == {(ana.id, second.item.id)}
    order = []
    while isinstance(at := tasks.current(project, ana), Assignment):
        order.append(at.item.id)
        hand_in(project, "ana", at, at.item.id)
    assert second.item.id not in order
    assert order[-1] == first.item.id


def test_a_draft_is_kept_until_the_item_is_handed_in(project: Annotation) -> None:
    at = before(project, "ana")
    ana = project.named("ana")
    for note in ("ha", "half a sentence"):
        submissions.save_draft(project, ana, at.item.id, at.phase, at.turn, {"note": note})
    assert before(project, "ana").draft == {"note": "half a sentence"}
    hand_in(project, "ana", at, "one")
    with pytest.raises(StaleError):
        submissions.save_draft(project, ana, at.item.id, at.phase, at.turn, {"note": "too late"})


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("category", Answered.OK, "Unheard of"), "not one of"),
        (Answer("category", Answered.OK, "Nonsense", ((0, "no"),)), "path"),
        (Answer("category", Answered.OK, "Safe Response", ((0, "Nonsense"),)), "path"),
        (Answer("category", Answered.NOT_APPLICABLE), "always applies"),
        (Answer("category", Answered.CANNOT_TELL, "Nonsense"), "no value"),
        (Answer("category", Answered.WITHDRAWN), "taken back"),
        (Answer("kindness", Answered.OK, 1), "no such criterion"),
    ],
)
def test_what_the_rubric_does_not_allow_is_refused(project: Annotation, answer: Answer, said: str) -> None:
    at = before(project, "ana")
    with pytest.raises(InvalidAnswerError, match=said):
        hand_in(project, "ana", at, "one", answer)
    assert not project.labels()


def test_every_criterion_is_answered_once(project: Annotation) -> None:
    at = before(project, "ana")
    with pytest.raises(InvalidAnswerError, match="not answered"):
        submissions.submit(project, project.named("ana"), at.item.id, at.phase, at.turn, "one", [])
    with pytest.raises(InvalidAnswerError, match="twice"):
        hand_in(project, "ana", at, "one", SAFE, NONSENSE)


def test_marks_say_where_they_stand(project: Annotation) -> None:
    at = before(project, "ana")
    words = at.item.messages[-1].content.split()[:2]
    marks = [Evidence("  ".join(words)), Evidence("never said by anybody here", source="reply")]
    hand_in(project, "ana", at, "one", evidence=marks)
    (label,) = project.labels()
    assert [(e.found, e.source) for e in label.evidence] == [(True, "dialogue"), (False, "")]


def test_nobody_sees_what_others_said_before_the_discussion(project: Annotation) -> None:
    at = before(project, "ana")
    hand_in(project, "ana", at, "one")
    ben = before(project, "ben", at.item.id)
    assert not (ben.others or ben.own or ben.draft or ben.comments)


def test_only_own_open_items_can_be_named(project: Annotation) -> None:
    at = before(project, "ana")
    hand_in(project, "ana", at, "one")
    for item in (at.item.id, "no such item"):
        with pytest.raises(KeyError):
            tasks.current(project, project.named("ana"), item)


def test_training_comes_first_gives_feedback_and_cannot_be_taken_back(tmp_path: Path) -> None:
    import msgspec

    anchor, *rest = own_items(4)
    anchor = msgspec.structs.replace(anchor, batch=0, expected={"category": "Nonsense"})
    with begin(tmp_path / "a", items=(anchor, *rest)) as a:
        at = before(a, "ana")
        assert (at.phase, at.item.id, at.undo) == (Phase.TRAINING, anchor.id, False)
        feedback = hand_in(a, "ana", at, "one").feedback
        assert feedback is not None
        assert (feedback.expected, feedback.given) == ({"category": "Nonsense"}, {"category": "Safe Response"})
        assert submissions.undo(a, a.named("ana"), "undo") is None
        assert before(a, "ana").phase is Phase.LABELLING
        assert before(a, "ben").phase is Phase.TRAINING
        assert not last(a.labels())


def test_the_pace_is_the_persons_own(project: Annotation) -> None:
    for place, seconds in enumerate((10.0, 20.0, 30.0)):
        assert before(project, "ana").seconds_left is None
        hand_in(project, "ana", before(project, "ana"), str(place), seconds=seconds)
    assert before(project, "ana").seconds_left == 3 * 20.0
    assert before(project, "ben").seconds_left is None


def test_distressing_items_are_counted_and_a_pause_is_advised(tmp_path: Path) -> None:
    import msgspec

    items = tuple(msgspec.structs.replace(item, crisis=place < 10) for place, item in enumerate(own_items(12)))
    items = tuple(msgspec.structs.replace(item, tier=0 if item.crisis else 1) for item in items)
    with begin(tmp_path / "a", items=items) as a:
        for place in range(10):
            at = before(a, "ana")
            assert at.item.crisis  # crisis items come first
            assert (at.distressing_seen, at.pause) == (place, False)
            hand_in(a, "ana", at, str(place))
        at = before(a, "ana")
        assert (at.distressing_seen, at.pause) == (10, True)
