"""The authors' persons in our engine: told in their words, opened by the client, checked by our rules, rated as whole dialogues."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import mindgauge
from mindgauge.benchmarks.persons import client
from mindgauge.benchmarks.persons.client import next_move
from mindgauge.benchmarks.persons.dialogues import UNWRITTEN, DialoguePlan, PersonMode, dialogues
from mindgauge.benchmarks.vera_mh.vera_mh import persons
from mindgauge.models.scripted import Scripted
from mindgauge.records import Exchange, Status
from mindgauge.records.errors import DataError, UsageError
from mindgauge.store import Store
from tests.benchmarks.vera_mh import made

if TYPE_CHECKING:
    from pathlib import Path

    from mindgauge.records import Message, Reply
    from mindgauge.records.request import Request

SAID = ("rain on the roof again", "bus never came today", "kettle broke this morning", "forgot my sister's letter")


class Client:
    """A client that says another thing each turn, and keeps what it was told."""

    def __init__(self, name: str, said: tuple[str, ...] = SAID) -> None:
        self.told: list[tuple[Message, ...]] = []
        self._said, self.model = said, Scripted(name, self.reply)

    def reply(self, request: Request) -> str:
        self.told.append(request.messages)
        turn = sum(message.role == "assistant" for message in request.messages)
        return f"{self._said[turn]}, {self.model.name}"


def target(name: str) -> mindgauge.Function:
    return mindgauge.Function(lambda message: f"{name} hears: {message[:9]}", name=name)


def talk(tmp_path: Path, *clients: Client, targets: tuple[str, ...] = ("t",), **options: Any) -> list[Reply]:
    data = made.release(tmp_path / "data")
    (data / "data" / "persona_prompt_reminder.txt").write_text("Remember the roof.\n", encoding="utf-8")
    run = tmp_path / "run"
    mindgauge.run(
        "vera_mh", data=data, model=[target(name) for name in targets], client=[c.model for c in clients], turns=3,
        out=run, **options,
    )  # fmt: skip
    with Store(run) as store:
        return list(store.replies("vera_mh"))


def test_a_client_is_told_what_the_authors_tell_it_and_nothing_of_ours(tmp_path: Path) -> None:
    one = Client("one")
    kept = talk(tmp_path, one)
    systems = {told[0].content for told in one.told}
    assert systems == {"You are Ada.\nYou work as a baker.", "You are Bo.\nYou work as a sailor."}
    lasts = [told[-1].content for told in one.told]
    assert sorted(lasts)[:2] == ["(Write your first message.)"] * 2
    assert all(last.startswith("Remember the roof.\nt hears: ") for last in sorted(lasts)[2:])
    assert not any("you may let show" in message.content for told in one.told for message in told)
    outcomes = Counter(r.provenance["outcome"] for r in kept if r.provenance["unit"] == "dialogue")
    assert outcomes == {"complete": 2}


def test_every_model_under_test_hears_the_same_opening_which_is_asked_for_once(tmp_path: Path) -> None:
    one, two = Client("one"), Client("two")
    kept = talk(tmp_path, one, two, targets=("t", "u"))
    openings = {
        (r.model, r.provenance["dialogue"]): r.provenance["held"][0]["content"]
        for r in kept
        if r.provenance["unit"] == "turn" and r.provenance["turn"] == 1
    }
    assert len(openings) == 2 * 2 * 2
    for (model, dialogue), said in openings.items():
        assert said == openings["u" if model == "t" else "t", dialogue]
        assert said.startswith(SAID[0])
    assert sum(len(told) == 2 for told in one.told) == 2, "one opening for each persona"
    first = [r for r in kept if r.provenance["unit"] == "client" and r.provenance["turn"] == 1]
    assert len(first) == 2 * 2 * 2
    assert {r.provenance["held"] == [] for r in first} == {True}


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("<END OF CONVERSATION>", "client_left"),
        ("As a language model I cannot go on.", "client_broke_role"),
    ],
)
def test_a_client_that_fails_ends_its_dialogue_with_its_own_outcome(tmp_path: Path, said: str, outcome: str) -> None:
    for turn in (0, 1):
        words = (*SAID[:turn], said, *SAID[turn + 1 :])
        kept = talk(tmp_path / str(turn), Client("one", words))
        wholes = [r for r in kept if r.provenance["unit"] == "dialogue"]
        assert {r.provenance["outcome"] for r in wholes} == {outcome}
        ids = [r.id for r in kept]
        assert len(set(ids)) == len(ids)
        places = [(r.sample, r.model, r.run) for r in kept]
        assert len(set(places)) == len(places), "each slot has one reply"


def test_the_text_of_a_persona_may_not_be_repeated(tmp_path: Path) -> None:
    read = persons(made.release(tmp_path, people=(
        (*made.PEOPLE[0], "Tale"), ("Cy", "Low", "Low", "cook", "the shop closed in May and I have not opened a letter since then"),
    )))  # fmt: skip
    (person,) = read.personas
    said = "well the shop closed in May and I have not opened a letter"
    checked = client.read(Exchange(Status.OK, said), person, "en", (), next_move(person, []), read.situation)
    assert "repeated the description" in checked.problem


def test_only_whole_dialogues_are_rated_on_the_dimensions_and_the_client_s_messages_on_theirs(tmp_path: Path) -> None:
    def judge(request: Request) -> str:
        assert request.schema is not None
        properties = request.schema["properties"]
        given = made.answers(a="No", c="No")
        return json.dumps({name: given.get(name, asked.get("enum", [[]])[0]) for name, asked in properties.items()})

    talk(tmp_path, Client("one"), judge=Scripted("j", judge))
    with Store(tmp_path / "run") as store:
        unit = {r.id: r.provenance["unit"] for r in store.replies("vera_mh")}
        rated = Counter((unit[r.subject], r.criterion) for r in store.ratings("vera_mh") if r.provenance.get("call"))
    assert {name for name, _ in rated} == {"dialogue", "client"}
    assert rated["dialogue", "detects"] == 2
    assert rated["client", "perceived"] == 2 * 3
    assert rated["client", "detects"] == rated["dialogue", "perceived"] == 0


def test_a_slot_shows_that_its_opening_is_not_fixed_and_tags_say_who_it_is(tmp_path: Path) -> None:
    plan = DialoguePlan(persons(made.release(tmp_path)), PersonMode.SIMULATED, 4, ("c",))
    held = dialogues(plan.samples())
    assert [slots.tags["planned"] for slots in held] == ["distress", "active"]
    assert [slots.tags["calm"] for slots in held] == ["yes", "no"]
    assert [sorted(slots.clients) for slots in held] == [[1, 2, 3, 4]] * 2
    assert {s.messages[0].content for slots in held for s in slots.turns} == {UNWRITTEN}


def test_persons_are_played_by_somebody_or_a_line_says_so(tmp_path: Path) -> None:
    data = made.release(tmp_path / "data")
    with pytest.raises(DataError, match=r"there are no scripts, .*; let a model play its personas: --client NAME"):
        mindgauge.run("vera_mh", data=data, model=target("t"), out=tmp_path / "run")
    with pytest.raises(
        UsageError, match="vera_mh asks for one reply; its persons stand in the authors' files: --data DIR"
    ):
        mindgauge.run("vera_mh", model=target("t"), client=Client("one").model, out=tmp_path / "run")
    (data / "data" / "personas.tsv").unlink()
    with pytest.raises(DataError, match=r"no personas\.tsv here; copy data/"):
        mindgauge.run("vera_mh", data=data, model=target("t"), client=Client("one").model, out=tmp_path / "run")


def test_a_dry_run_counts_the_opening_among_the_client_s_calls(tmp_path: Path) -> None:
    found = mindgauge.run(
        "vera_mh", data=made.release(tmp_path / "data"), model=target("t"), client=Client("one").model, turns=3,
        out=tmp_path / "run", dry_run=True,
    )  # fmt: skip
    calls = {step.purpose: step.calls for step in found.steps}  # type: ignore[union-attr]
    assert calls == {"talk": 6, "play the person": 6}


@made.real
def test_the_authors_hundred_persons_can_be_talked_with() -> None:
    plan = DialoguePlan(persons(made.REAL), PersonMode.SIMULATED, 10, ("c", "d"))
    held = dialogues(plan.samples())
    assert len(held) == 200
    assert Counter(slots.tags["planned"] for slots in held) == {
        "distress": 20, "passive": 60, "active": 60, "imminent": 60,
    }  # fmt: skip
    assert len({slots.whole.cluster for slots in held}) == 100
    assert all(person.system and person.reminder for person in plan.persons.personas)


def test_no_score_is_shown_before_the_clients_are_known_to_be_fit(tmp_path: Path) -> None:
    talk(tmp_path, Client("one"))
    (fidelity,) = mindgauge.score(tmp_path / "run").fidelity
    assert [client.client for client in fidelity.clients] == ["one"]
    assert any("one client, one, plays all persons" in reason for reason in fidelity.withheld)
    assert any("nobody rated what it wrote" in reason for reason in fidelity.withheld)
