"""A batch from the first link to the reliability card, in real browsers: the gate fails, people talk, it is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mindgauge.annotation import gold
from mindgauge.annotation.labels import last
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Phase
from tests.annotation.page import trial as scripted
from tests.annotation.page.trial import (
    ADJUDICATOR,
    ANNOTATORS,
    CATEGORY,
    ITEMS,
    JUDGE,
    TRUE,
    Trial,
    again,
    alone,
    command,
    talked,
)
from tests.chromium import CHROMIUM
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.annotation.records import Label

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,  # tests of the forms and of the flow have its parts
    pytest.mark.skipif(not CHROMIUM.is_file(), reason="needs Debian's chromium at /usr/bin/chromium"),
]


@pytest.fixture(scope="module", params=["a view a page", later("every view")])
def trial(browser: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """Everything that people do, from start to end; each page is looked at in one of the views in turn, or in all."""
    held = Trial(browser, tmp_path_factory.mktemp("trial"), every_view=request.param == "every view")
    try:
        held.come_in()
        held.label(alone, Phase.LABELLING)
        held.desks["owner"].page.goto("/")
        held.look("owner", "owner")
        held.label(again, Phase.REVIEW)
        held.discuss(talked)
        held.decide(TRUE)
        held.look("ana", "finished")
        yield held
    finally:
        held.close()


@pytest.fixture(scope="module")
def labels(trial: Trial) -> list[Label]:
    with Annotation.open(trial.project) as opened:
        names = {person.id: person.name for person in opened.people()}
        return [
            msgspec.structs.replace(label, person=names[label.person], item=trial.subjects[label.item])
            for label in opened.labels()
        ]


def by_phase(labels: list[Label], phase: Phase) -> dict[tuple[str, str], object]:
    return {(label.person, label.item): label.value for label in labels if label.phase is phase}


def test_the_gate_fails_twice_and_is_reached_after_the_talk(trial: Trial) -> None:
    with Annotation.open(trial.project) as opened:
        [batch] = opened.batches()
        said = [(gate.phase, gate.passed) for gate in opened.gates(1)]
    assert said == [(Phase.LABELLING, False), (Phase.REVIEW, False), (Phase.DISCUSSION, True)]
    assert (batch.phase, batch.decided, batch.items) == (Phase.CLOSED, "passed", ITEMS)


def test_every_label_stays_as_it_was_given(labels: list[Label]) -> None:
    everybody = [(name, item) for name in ANNOTATORS for item in TRUE]
    assert by_phase(labels, Phase.LABELLING) == {(n, i): alone(n, i) for n, i in everybody}
    disagreed = [i for i in TRUE if len({alone(n, i) for n in ANNOTATORS}) > 1]
    assert by_phase(labels, Phase.REVIEW) == {(n, i): again(n, i) for n in ANNOTATORS for i in disagreed}
    contested = [i for i in disagreed if len({again(n, i) for n in ANNOTATORS}) > 1]
    assert by_phase(labels, Phase.DISCUSSION) == {(n, i): talked(n, i) for n in ANNOTATORS for i in contested}
    left = [i for i in contested if len({talked(n, i) for n in ANNOTATORS}) > 1]
    assert left
    assert by_phase(labels, Phase.ADJUDICATION) == {(ADJUDICATOR, i): TRUE[i] for i in left}


def test_the_steps_of_the_decision_are_kept(labels: list[Label]) -> None:
    for label in labels:
        if label.phase in (Phase.LABELLING, Phase.REVIEW):
            *before, final = label.path
            assert [said for _, said in before] == ["no"] * len(before)
            assert [node for node, _ in label.path] == list(range(len(label.path)))
            assert final[1] in (label.value, "no")


def test_gold_is_what_the_adjudicator_and_the_others_came_to(trial: Trial) -> None:
    with Annotation.open(trial.project) as opened:
        people = [person.id for person in opened.annotators()]
        decider = opened.named(ADJUDICATOR).id
        final = last(opened.labels())
        found = gold.gold(final, opened.items(), people, {decider}, opened.project.policy, opened.rubric())
    assert {trial.subjects[it.item]: it.value for it in found} == TRUE
    assert {it.policy for it in found} == {"unanimous", "adjudicated"}


def test_who_labels_alone_sees_no_name_and_no_judge(trial: Trial) -> None:
    assert len(trial.alone) > ITEMS
    for name, html in trial.alone:
        for hidden in {JUDGE, *ANNOTATORS, ADJUDICATOR} - {name}:
            assert f">{hidden}<" not in html and f"{hidden} " not in html
        assert "judge-1" not in html


def test_comments_reached_the_others(trial: Trial) -> None:
    with Annotation.open(trial.project) as opened:
        names = {person.id: person.name for person in opened.people()}
        said = [(names[c.person], c.text) for item in opened.items() for c in opened.comments(item.id)]
    assert sorted(said) == [(name, scripted.REMARK) for name in ANNOTATORS]


def test_reliability_shows_the_judge_beside_the_people(trial: Trial) -> None:
    found = command("reliability", trial.project, "--resamples", 200)
    cards = {card["judge"]: card for card in found["cards"]}
    same = [scripted.judged(item) == alone(name, item) for item in TRUE for name in ANNOTATORS]
    assert cards[JUDGE]["estimates"]["percent"]["value"] == pytest.approx(sum(same) / len(same))
    assert cards[JUDGE]["reference"] == ", ".join(ANNOTATORS)
    assert cards[JUDGE]["n"] == ITEMS
    assert cards[JUDGE]["criterion"] == CATEGORY.name


def test_axe_finds_nothing_serious_on_any_page(trial: Trial) -> None:
    assert trial.faults == []


def test_browsers_asked_for_nothing_else_and_kept_quiet(trial: Trial) -> None:
    assert {name: desk.heard for name, desk in trial.desks.items() if desk.heard} == {}
