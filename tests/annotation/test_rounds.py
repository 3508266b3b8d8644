"""A batch meets its gate: it closes, or goes through review, discussion and a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from mindgauge.annotation import rounds, submissions, tasks
from mindgauge.annotation.agreement import AgreementFigure
from mindgauge.annotation.labels import last
from mindgauge.annotation.ratings import ratings as ratings_of
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.annotation.tasks import Assignment, NothingToDo
from mindgauge.records.errors import UsageError
from tests.annotation.conftest import begin, own_items

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mindgauge.annotation.project import Annotation

TEAM = ("ana", "ben", "chi")


def answer(value: str) -> Answer:
    return Answer("category", Answered.OK, value) if value != "?" else Answer("category", Answered.CANNOT_TELL)


def go_through(a: Annotation, name: str, phase: Phase, said: Mapping[str, str] | Callable[[str], str]) -> int:
    """Let a person answer all that is before them in a phase, by the item's id."""
    say = said if callable(said) else said.__getitem__
    person = a.named(name)
    count = 0
    while isinstance(at := tasks.current(a, person), Assignment) and at.phase is phase:
        count += 1
        form = f"{name}-{phase}-{at.item.id}"
        submissions.submit(a, person, at.item.id, at.phase, at.turn, form, [answer(say(at.item.id))])
    return count


def phase_of(a: Annotation, batch: int = 1) -> Phase:
    return next(b.phase for b in a.batches() if b.number == batch)


def test_a_batch_that_reaches_the_gate_closes_and_the_next_one_opens(tmp_path: Path, database_url: str) -> None:
    items = tuple(msgspec.structs.replace(i, batch=1 + place // 4) for place, i in enumerate(own_items(8)))
    alternating = {item.id: ("Safe Response", "Nonsense")[place % 2] for place, item in enumerate(items)}
    with begin(tmp_path / "a", database_url, items=items) as a:
        for name in TEAM:
            assert phase_of(a) is Phase.LABELLING
            assert go_through(a, name, Phase.LABELLING, lambda i: alternating[i]) == (8 if name == "chi" else 4)
            if name != "chi":
                waiting = tasks.current(a, a.named(name))
                assert isinstance(waiting, NothingToDo)
                assert (waiting.kind, waiting.people) == ("waiting", 3)
        (gate,) = a.gates(1)
        assert gate.passed
        assert [b.decided for b in a.batches()] == ["passed", ""]
        for name in ("ana", "ben"):
            assert go_through(a, name, Phase.LABELLING, lambda i: alternating[i]) == 4
        assert isinstance(standing := tasks.current(a, a.named("ana")), NothingToDo)
        assert standing.kind == "finished"


def test_below_the_gate_people_review_discuss_and_one_decides(project: Annotation) -> None:
    a = project
    first, second, third, *_ = [item.id for item in a.items(1)]
    disputed = {first, second, third}
    apart = {"ana": "Nonsense", "ben": "Safe Response", "chi": "Linguistic Neglect"}
    for name in TEAM:
        alone = {item.id: apart[name] if item.id in disputed else "Safe Response" for item in a.items(1)}
        assert go_through(a, name, Phase.LABELLING, alone) == 6
    assert phase_of(a) is Phase.REVIEW
    for name in TEAM:
        at = tasks.current(a, a.named(name))
        assert isinstance(at, Assignment)
        assert at.own["category"].value == apart[name]  # one's own label, and nobody else's
        assert not at.others
        # ben gives in on the first; on the others all stay with what they said
        again = dict.fromkeys(disputed, apart[name]) | ({first: "Nonsense"} if name == "ben" else {})
        assert go_through(a, name, Phase.REVIEW, again) == 3
    assert phase_of(a) is Phase.DISCUSSION
    ana = a.named("ana")
    at = tasks.current(a, ana)
    assert isinstance(at, Assignment)
    assert {a.person(who).name for who in at.others} == {"ben", "chi"}  # type: ignore[union-attr]
    submissions.comment(a, ana, at.item.id, "It answers another question.", "c1")
    submissions.comment(a, ana, at.item.id, "It answers another question.", "c1")
    ben = tasks.current(a, a.named("ben"), at.item.id)
    assert isinstance(ben, Assignment)
    assert [c.text for c in ben.comments] == ["It answers another question."]
    for name in TEAM:
        talked = {first: "Nonsense", second: "Nonsense", third: apart[name]}
        assert go_through(a, name, Phase.DISCUSSION, talked) == 3
    assert phase_of(a) is Phase.ADJUDICATION
    assert isinstance(tasks.current(a, ana), NothingToDo)
    dana = tasks.current(a, a.named("dana"))
    assert isinstance(dana, Assignment)
    assert (dana.item.id, dana.of, len(dana.others)) == (third, 1, 3)
    assert go_through(a, "dana", Phase.ADJUDICATION, lambda _: "Linguistic Neglect") == 1
    assert phase_of(a) is Phase.CLOSED
    assert [(g.phase, g.passed) for g in a.gates(1)] == [
        (Phase.LABELLING, False), (Phase.REVIEW, False), (Phase.DISCUSSION, True),
    ]  # fmt: skip
    assert a.batches()[0].decided == "passed"
    # nothing is lost: 18 labels alone, 9 in review, 9 in discussion, 1 decision
    assert len(a.labels()) == 18 + 9 + 9 + 1
    independent = last(a.labels(), Phase.LABELLING)
    assert {independent[first, a.named(n).id, "category"].value for n in TEAM} == set(apart.values())


def test_who_decides_is_never_counted_by_a_gate(project: Annotation) -> None:
    """What the adjudicator says is in no figure, though all who agree with it would then pass."""
    a = project
    ids = [item.id for item in a.items(1)]
    for phase in (Phase.LABELLING, Phase.REVIEW, Phase.DISCUSSION):
        for place, who in enumerate(TEAM):
            said = {ident: ("Nonsense", "Safe Response")[(at + place) % 2] for at, ident in enumerate(ids)}
            assert go_through(a, who, phase, said) == 6
    before = a.gates(1)
    assert go_through(a, "dana", Phase.ADJUDICATION, lambda _: "Safe Response") == 6
    assert phase_of(a) is Phase.CLOSED
    assert a.gates(1) == before, "nothing is measured once somebody has decided"
    assert [gate.phase for gate in before] == [Phase.LABELLING, Phase.REVIEW, Phase.DISCUSSION]
    figures = [figure for gate in before for figure in msgspec.convert(gate.figures, list[AgreementFigure])]
    assert {figure.people for figure in figures} == {3}
    assert a.batches()[0].decided == "adjudicated", "not passed: the gate never saw what was decided"
    kinds = {rating.rater: rating.rater_kind for rating in ratings_of(a)}
    assert kinds == {"ana": "person", "ben": "person", "chi": "person", "people": "gold"}


def test_what_is_handed_on_by_too_many_is_decided_by_one(project: Annotation) -> None:
    a = project
    left = a.items(1)[0].id
    for name in TEAM:
        person = a.named(name)
        while isinstance(at := tasks.current(a, person), Assignment):
            if at.item.id == left and name != "chi":
                submissions.hand_on(a, person, at.item.id, at.phase, at.turn, f"{name} hands on")
            else:
                form = f"{name}{at.item.id}"
                submissions.submit(a, person, at.item.id, at.phase, at.turn, form, [answer("Safe Response")])
    assert a.gates(1)[0].passed
    assert phase_of(a) is Phase.ADJUDICATION
    assert go_through(a, "dana", Phase.ADJUDICATION, lambda _: "Nonsense") == 1
    assert a.batches()[0].decided == "passed"


def test_somebody_who_left_keeps_nobody_waiting(project: Annotation) -> None:
    a = project
    for name in ("ana", "ben"):
        go_through(a, name, Phase.LABELLING, lambda _: "Safe Response")
    assert phase_of(a) is Phase.LABELLING
    rounds.retire(a, a.named("chi"))
    assert phase_of(a) is Phase.CLOSED
    assert len(last(a.labels())) == 12
    with pytest.raises(UsageError, match="only an annotator can retire"):
        rounds.retire(a, a.named("dana"))
    rounds.retire(a, a.named("ana"))
    with pytest.raises(UsageError, match="one has to remain"):
        rounds.retire(a, a.named("ben"))


def test_where_nobody_can_tell_the_batch_closes_below_the_gate(project: Annotation) -> None:
    for name in TEAM:
        go_through(project, name, Phase.LABELLING, lambda _: "?")
    assert phase_of(project) is Phase.CLOSED
    assert project.batches()[0].decided == "below"


def test_one_person_alone_meets_no_gate(tmp_path: Path) -> None:
    from tests.annotation.conftest import PEOPLE

    with begin(tmp_path / "a", people=(PEOPLE[0], PEOPLE[-1])) as a:
        go_through(a, "ana", Phase.LABELLING, lambda _: "Safe Response")
        assert phase_of(a) is Phase.CLOSED


@pytest.mark.parametrize("finish_together", range(3))
def test_two_who_finish_at_the_same_time_do_not_leave_the_batch_open(
    tmp_path: Path, database_url: str, finish_together: int
) -> None:
    import threading

    with begin(tmp_path / str(finish_together), database_url) as a:
        for name in TEAM:
            person = a.named(name)
            while isinstance(at := tasks.current(a, person), Assignment) and at.done < 5:
                form = f"{name}{at.item.id}"
                submissions.submit(a, person, at.item.id, at.phase, at.turn, form, [answer("Safe Response")])
        threads = [
            threading.Thread(target=go_through, args=(a, name, Phase.LABELLING, lambda _: "Nonsense")) for name in TEAM
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert phase_of(a) is not Phase.LABELLING
