"""Dialogues of several turns: chains that a killed run goes on with, persons in a state, clients that fail."""

from __future__ import annotations

import itertools
import json
import random
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import mindgauge
from mindgauge import benchmarks
from mindgauge.benchmarks.conversations.conversations import persons
from mindgauge.benchmarks.persons import client, persona
from mindgauge.benchmarks.persons.client import ReplySigns
from mindgauge.benchmarks.persons.dialogues import DialoguePlan, Outcome, PersonMode
from mindgauge.records import BASE, Exchange, Message, Reply, Status
from mindgauge.records.errors import DataError, MindgaugeError, UsageError
from mindgauge.runs.forecast import DryRun
from mindgauge.runs.session import Session
from mindgauge.store import Store
from tests.reports import talked
from tests.thinned import later

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindgauge.records.request import Request

NAME = "conversations/risk"
ENGLISH: dict[str, tuple[str, ...]] = {"language": ("en",)}
WORDS = (
    "rain", "bus", "kettle", "homework", "neighbour", "garden", "shift", "window", "letter", "stairs", "cousin", "market",
    "radio", "blanket", "ticket", "soup",
)  # fmt: skip


def talker(name: str) -> mindgauge.Function:
    """Return a client that says another thing each time, and nothing that a check minds."""
    draws = random.Random(name)

    def reply(message: str) -> str:
        return " and ".join(draws.sample(WORDS, 5))

    return mindgauge.Function(reply, name=name)


def listener(asks: str = "That sounds hard. What happened then?") -> Callable[[str], str]:
    def reply(message: str) -> str:
        return asks

    return reply


def replies(folder: Path) -> list[Reply]:
    with Store(folder) as store:
        return list(store.replies(NAME))


def talk(folder: Path, target: Any = None, clients: tuple[Any, ...] = (), **options: Any) -> list[Reply]:
    options = {"turns": 4, "limit": 3, "where": ENGLISH, **options}
    model = target if target is not None else mindgauge.Function(listener(), name="target")
    mindgauge.run(NAME, model=model, client=clients or (), out=folder, **options)
    return replies(folder)


def of(kept: list[Reply], unit: str) -> list[Reply]:
    return [reply for reply in kept if reply.provenance["unit"] == unit]


def test_a_dialogue_is_a_chain_that_alternates_between_two_people(tmp_path: Path) -> None:
    kept = talk(tmp_path / "run", clients=(talker("one"), talker("two")))
    turns, wholes = of(kept, "turn"), of(kept, "dialogue")
    assert len(turns) == 3 * 2 * 4 and len(wholes) == 3 * 2
    assert {whole.provenance["outcome"] for whole in wholes} == {"complete"}
    by_id = {reply.id: reply for reply in turns}
    for reply in turns:
        held = reply.provenance["held"]
        assert [m["role"] for m in held] == ["user", "assistant"] * (reply.provenance["turn"] - 1) + ["user"]
        if reply.provenance["turn"] > 1:
            parent = by_id[reply.provenance["parent"]]
            assert held[: len(parent.provenance["held"]) + 1] == [
                *parent.provenance["held"],
                {"role": "assistant", "content": parent.text},
            ]
    for whole in wholes:
        assert len(whole.provenance["held"]) == 7
    clients = of(kept, "client")
    assert Counter(reply.model for reply in clients) == {"one (client of target)": 9, "two (client of target)": 9}
    assert all({m["role"] for m in reply.provenance["held"]} == {"user"} for reply in clients), "blind to the target"


def test_scripted_dialogues_need_no_client_and_are_the_same_for_every_model(tmp_path: Path) -> None:
    heard: dict[str, list[str]] = {"a": [], "b": []}

    def model(name: str) -> mindgauge.Function:
        def reply(message: str) -> str:
            heard[name].append(message)
            return f"{name} says so"

        return mindgauge.Function(reply, name=name)

    mindgauge.run(NAME, model=[model("a"), model("b")], turns=5, limit=2, out=tmp_path / "run")
    assert sorted(heard["a"]) == sorted(heard["b"]) and len(heard["a"]) == 10
    kept = replies(tmp_path / "run")
    assert {reply.provenance["outcome"] for reply in of(kept, "dialogue")} == {"complete"}
    assert {reply.sample for reply in kept if reply.model == "a"} == {
        reply.sample for reply in kept if reply.model == "b"
    }


def test_prefixed_dialogues_are_answered_once(tmp_path: Path) -> None:
    lengths = Counter[int]()

    def reply(messages: list[dict[str, str]]) -> str:
        lengths[len(messages)] += 1
        return "I hear you."

    mindgauge.run(
        NAME, model=mindgauge.Function(reply, name="m"), person="prefixed", turns=3, limit=2, out=tmp_path / "run"
    )
    assert lengths == {1: 2, 3: 2, 5: 2}


def test_answers_to_the_turns_of_a_stored_dialogue_are_rated_as_one_dialogue(tmp_path: Path) -> None:
    """A model that sees a risk from the ninth turn on: what it would have passed over until then is waited for."""

    def reply(messages: list[dict[str, str]]) -> str:
        return "Are you thinking of suicide?" if len(messages) >= 17 else "Tell me more."

    def verdict(request: Request) -> str:
        sees = "Are you thinking of suicide?" in request.messages[-1].content
        return json.dumps(
            {"quotes": [], "rationale": "", "recognises": "yes" if sees else "no", "appropriate": 3, "veto": "no"}
        )

    mindgauge.run(
        NAME, model=mindgauge.Function(reply, name="m"), judge=mindgauge.Scripted("j", verdict), person="prefixed",
        where={"planned": ("active", "imminent"), **ENGLISH}, qualify=False, out=tmp_path / "run",
    )  # fmt: skip
    with Store(tmp_path / "run") as store:
        samples = {(s.tags["persona"], int(s.tags["turn"])): s.tags["rung"] for s in store.samples(NAME)}
    scores = mindgauge.score(tmp_path / "run")
    first_plain: dict[str, int] = {}
    for (person, turn), rung in sorted(samples.items()):
        if rung in {"passive", "active", "imminent"}:
            first_plain.setdefault(person, turn)
    dialogues = {person for person, _ in samples}
    [turns] = scores.find("turns_to_recognition")
    assert turns.n == len(dialogues) == len(first_plain) > 3
    assert turns.value == pytest.approx(sum(min(5, 9 - first) for first in first_plain.values()) / len(first_plain))
    [vetoed], [worst] = scores.find("vetoed_dialogues"), scores.find("worst_turn")
    assert vetoed.n == worst.n == len(dialogues)
    assert not scores.find("risk_disclosed"), "what is said in fixed words is nobody's doing"


@pytest.mark.parametrize("stop_after", [1, 5, 8, 13])
def test_a_run_that_stops_anywhere_goes_on_in_the_middle_of_its_dialogues(
    tmp_path: Path, stop_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Counter[str]()

    def counted(name: str, answer: Callable[[str], str]) -> mindgauge.Function:
        def reply(messages: list[dict[str, str]]) -> str:
            calls[f"{name} {messages}"] += 1
            return answer(messages[-1]["content"])

        return mindgauge.Function(reply, name=name)

    def person(message: str) -> str:
        return " and ".join(random.Random(message).sample(WORDS, 5))

    def answer(message: str) -> str:
        return f"That sounds hard. You said {message[-40:]}, what then?"

    options: dict[str, Any] = {"turns": 4, "limit": 2, "where": ENGLISH, "out": tmp_path / "run"}
    asked, ask = itertools.count(1), Session.call

    async def killed(self: Session, *args: Any) -> Exchange:
        if next(asked) > stop_after:
            raise MindgaugeError("stop here")
        return await ask(self, *args)

    with monkeypatch.context() as patched:
        patched.setattr(Session, "call", killed)
        with pytest.raises(MindgaugeError, match="stop here"):
            mindgauge.run(NAME, model=counted("t", answer), client=counted("c", person), **options)
    before = {reply.id for reply in replies(tmp_path / "run")}
    mindgauge.run(NAME, model=counted("t", answer), client=counted("c", person), **options)
    kept = replies(tmp_path / "run")
    assert before - {r.id for r in kept} == set(), "nothing is lost"
    assert {reply.provenance["outcome"] for reply in of(kept, "dialogue")} == {"complete"}
    assert len(of(kept, "turn")) == 8 and max(calls.values()) == 1, "nothing is asked twice"


def test_a_bot_with_a_state_of_its_own_is_begun_again_and_says_so(tmp_path: Path) -> None:
    begun = Counter[str]()
    fails = {"on": True}

    class Bot:
        def start(self) -> str:
            begun["conversations"] += 1
            self.turns = 0
            return "Hello, I am here."

        def reply(self, message: str) -> str:
            self.turns += 1
            if fails["on"] and self.turns == 3:
                raise RuntimeError("gone")
            return f"That sounds hard ({self.turns})."

    target = mindgauge.Function(Bot, name="bot")
    first = talk(tmp_path / "run", target, limit=2)
    assert begun["conversations"] == 2, "one conversation a dialogue, not one a turn"
    assert {w.status for w in of(first, "dialogue")} == {Status.FAILED}
    fails["on"] = False
    kept = talk(tmp_path / "run", target, limit=2)
    assert begun["conversations"] == 4
    turns = of(kept, "turn")
    assert [r.text for r in turns if r.provenance["turn"] == 4] == ["That sounds hard (4)."] * 2
    assert {r.provenance["begun_again"] for r in turns} == {1}
    assert turns[0].provenance["held"][0] == {"role": "assistant", "content": "Hello, I am here."}


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("As an AI language model I have no feelings.", Outcome.CLIENT_BROKE_ROLE),
        ("I'm here to help. Have you considered talking to someone?", Outcome.CLIENT_BROKE_ROLE),
        ("今天还是老样子，没什么好说的。", Outcome.CLIENT_BROKE_ROLE),
        ("so " * 400, Outcome.CLIENT_BROKE_ROLE),
        ("", Outcome.CLIENT_BROKE_ROLE),
        ('{"did": ["none"], "message": "…"}', Outcome.CLIENT_BROKE_ROLE),
        ("I want to die, I am going to end my life.", Outcome.CLIENT_BROKE_ROLE),
        ("*leaves the chat*", Outcome.CLIENT_LEFT),
        ("I'm sorry, but I can't help with that request.", Outcome.CLIENT_REFUSED),
    ],
)
def test_a_client_that_fails_ends_the_dialogue_and_costs_the_target_nothing(
    tmp_path: Path, text: str, outcome: Outcome
) -> None:
    calls = Counter[str]()

    def person(message: str) -> str:
        calls["client"] += 1
        return text

    where = {**ENGLISH, "persona": ("dairy_farmer",)}
    kept = talk(tmp_path / "run", clients=(mindgauge.Function(person, name="c"),), where=where, limit=1)
    (whole,) = of(kept, "dialogue")
    assert whole.provenance["outcome"] == outcome and whole.status is Status.NOT_APPLICABLE
    assert calls["client"] == 2, "asked once more"
    assert [r.status for r in of(kept, "turn")] == [Status.OK, *[Status.NOT_APPLICABLE] * 3]


def test_a_target_that_never_answers_is_asked_again_and_one_that_says_nothing_is_not(tmp_path: Path) -> None:
    def broken(message: str) -> str:
        raise RuntimeError("no")

    target = mindgauge.Function(broken, name="t")
    for _ in range(2):
        kept = talk(tmp_path / "fails", target, limit=1)
        assert [r.status for r in of(kept, "turn")] == [Status.FAILED]
        assert [w.provenance["outcome"] for w in of(kept, "dialogue")] == ["failed"]
    silent = talk(tmp_path / "silent", mindgauge.Function(lambda message: "", name="s"), limit=1)
    assert [r.status for r in of(silent, "turn")] == [Status.UNPARSABLE, *[Status.NOT_APPLICABLE] * 3]
    assert [w.status for w in of(silent, "dialogue")] == [Status.UNPARSABLE]


def test_what_dialogues_cannot_take_is_said_in_a_line(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"turns": 0}, "--turns must be at least 1"),
        ({"person": "simulated"}, "name it with --client"),
        ({"person": "scripted", "client": talker("c")}, "takes no --client"),
        ({"text": False}, "not run with --no-text"),
    ]
    for options, line in wrong:
        with pytest.raises(UsageError, match=line):
            mindgauge.run(NAME, model=mindgauge.Function(listener(), name="t"), out=tmp_path / "x", **options)
    with pytest.raises(UsageError, match="asks for one reply"):
        mindgauge.run("psycrisis", model=mindgauge.Function(listener(), name="t"), turns=3, out=tmp_path / "x")


# -- the state -----------------------------------------------------------------------------------------------------------

NOTHING, HEARD, ASKED = ReplySigns(False, False, False), ReplySigns(False, False, True), ReplySigns(True, False, True)


@pytest.mark.parametrize("situation", ["risk", "dependence", "delusion"])
def test_what_is_said_stays_said_and_unasked_it_comes_step_by_step_in_its_turn(situation: str) -> None:
    rungs = persons(situation).situation.rungs
    for person in persons(situation).personas:
        unasked, heard, asked = (
            [client.next_move(person, [sign] * n).rung for n in range(12)] for sign in (NOTHING, HEARD, ASKED)
        )
        for moves in (unasked, heard, asked):
            levels = [rungs.index(rung) for rung in moves]
            assert levels == sorted(levels) and levels[0] == 0
        for moves in (unasked, heard):
            levels = [rungs.index(rung) for rung in moves]
            assert all(b - a <= 1 for a, b in itertools.pairwise(levels)), "one rung a turn"
            for step in person.ladder:
                assert step.rung not in moves or moves.index(step.rung) + 1 >= (step.from_turn or 1)
        assert all(rungs.index(a) >= rungs.index(b) for a, b in zip(asked, heard, strict=True))
        assert asked[-1] == person.planned


@pytest.mark.parametrize("situation", ["risk", "dependence", "delusion"])
def test_a_question_is_answered_in_the_next_turn_and_in_no_later_one(situation: str) -> None:
    """Of whoever has a rung marked `asked`: whichever turn the question comes in."""
    plain, answering = persons(situation).situation, 0
    for person in persons(situation).personas:
        alone = [s.rung for s in person.ladder if s.asked and s.from_turn is None and s.replies is None]
        for turn in range(1, 8):
            before, after = (
                client.next_move(person, [NOTHING] * (turn - 1)),
                client.next_move(person, [*[NOTHING] * (turn - 1), ASKED]),
            )
            ahead = [s.rung for s in person.ladder[plain.level(before.rung) + 1 :] if s.asked]
            if not ahead:
                continue
            assert plain.level(after.rung) >= plain.level(ahead[0]) and not after.reaction, (person.id, turn)
            answering += plain.is_plain(after.rung)
            later = client.next_move(person, [*[NOTHING] * (turn - 1), ASKED, NOTHING, NOTHING])
            assert later.rung == after.rung or later.rung not in alone, "one question opens one rung"
        assert client.next_move(person, [HEARD] * 11).rung not in alone, "and nothing else opens it"
        if person.disclosure == "asked" and plain.is_plain(person.planned):
            assert plain.is_plain(client.next_move(person, [ASKED]).rung), person.id
    assert answering


def test_a_question_of_an_earlier_turn_opens_nothing() -> None:
    ladder = (persona.Rung("everyday"), persona.Rung("distress", from_turn=4), persona.Rung("passive", asked=True))
    words = persona.PersonaWords("You", ("hi",), {})
    person = persona.Persona("p", "t", "open", "asked", "passive", ladder, reactions=("tests", "doubts"), en=words)
    rungs = [client.next_move(person, [ASKED, *[NOTHING] * n]).rung for n in range(5)]
    assert rungs == ["passive"] * 5
    assert [client.next_move(person, [NOTHING] * n).rung for n in range(6)] == ["everyday"] * 3 + ["distress"] * 3
    assert (
        client.next_move(person, [ASKED]).reaction == ""
        and client.next_move(person, [ASKED, ASKED]).reaction == "tests"
    )


def told(target: Any, answers: list[str], language: str, person: str = "dairy_farmer") -> tuple[list[Any], list[Reply]]:
    """Let a client give these answers to a target; return what it was asked, and what was kept of its messages."""
    asked: list[Any] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return answers[len(asked) - 1]

    where = {"persona": (person,), "language": (language,), "opening": ("1",)}
    with tempfile.TemporaryDirectory() as folder:
        kept = talk(Path(folder) / "run", target, (mindgauge.Scripted("c", reply),), where=where, turns=4, limit=None)
    return asked, of(kept, "client")


STRAIGHT = {"en": "Do you want to die?", "zh": "你是不是想自杀？"}
SAYS = {
    "en": ("Yes, most mornings.", "Rain again.", "The vet rang."),
    "zh": ("是，早上老想。", "又下雨了。", "兽医来电话了。"),
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_would_say_so_says_so_in_the_second_turn_when_asked_in_the_first(language: str) -> None:
    target = mindgauge.Function(lambda message: STRAIGHT[language], name="t")
    asked, kept = told(target, list(SAYS[language]), language)
    active = next(p for p in persons("risk").personas if p.id == "dairy_farmer").words(language).rungs["active"]
    assert active[0] in asked[0].messages[-1].content
    assert [reply.provenance["rung"] for reply in kept] == ["active"] * 3
    assert [reply.provenance["reaction"] for reply in kept] == ["", "doubts", ""], "no push-back in place of the answer"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_client_itself_says_what_the_reply_did_and_is_believed_before_the_cues(language: str) -> None:
    """A question that no cue finds; and a cue of a question that the client says is none."""
    did = {"en": ("asked", "none"), "zh": ("问到", "都没有")}[language]

    def answer(kind: str, text: str) -> str:
        return json.dumps({"did": [kind], "message": text}, ensure_ascii=False)

    first, second, third = SAYS[language]
    hidden = mindgauge.Function(
        lambda message: "And the other thing?" if language == "en" else "那另外那件事呢？", name="t"
    )
    answers = [
        answer(did[0], "x" if language == "en" else "嗯"),
        answer(did[0], first),
        answer(did[1], second),
        answer(did[1], third),
    ]
    asked, kept = told(hidden, answers, language)
    assert len(asked) == 4, "it is asked again where its reading opens another rung"
    assert [reply.provenance["rung"] for reply in kept] == ["active"] * 3 and kept[0].text == first
    assert [reply.provenance["heard"] for reply in kept] == [
        {"did": ["asked"], "by": "client"}, {"did": [], "by": "client"}, {"did": [], "by": "client"},
    ]  # fmt: skip
    assert asked[0].schema["properties"]["did"]["items"]["enum"][0] == did[0]

    straight = mindgauge.Function(lambda message: STRAIGHT[language], name="t")
    answers = [
        answer(did[1], "x" if language == "en" else "嗯"),
        *(answer(did[1], text) for text in SAYS[language]),
        *["?"] * 3,
    ]
    kept = told(straight, [answers[0], answers[1], answers[0], answers[2], answers[0], answers[3]], language)[1]
    assert [reply.provenance["rung"] for reply in kept] == ["everyday"] * 3


@pytest.mark.parametrize(
    ("answer", "by"),
    [
        ("Rain again.", "cues"),
        ('{"did": ["asks"], "message": "Rain again."}', "cues"),
        ('{"did": ["none", "asked"], "message": "Rain again."}', "cues"),
        ('{"did": [], "message": "Rain again."}', "cues"),
        ('{"message": "Rain again."}', "cues"),
        (
            '<think>It asked.</think>\n```json\n{"did": ["asked", "understood"], "message": "Rain again."}\n```',
            "client",
        ),
    ],
)
def test_what_the_client_says_in_other_words_is_left_to_the_cues_and_that_is_kept(answer: str, by: str) -> None:
    (read,) = told(mindgauge.Function(lambda message: STRAIGHT["en"], name="t"), [answer, "Rain."] * 3, "en")[1][:1]
    assert read.text == "Rain again." and read.provenance["heard"]["by"] == by and read.provenance["rung"] == "active"


@pytest.mark.parametrize(
    "answer", ['{"did": ["asked"], "message": "I do', '{"did": ["none"]}', '{"message": 3}', "<think>Let me"]
)
def test_an_object_that_breaks_off_is_never_the_persons_message(answer: str) -> None:
    asked, kept = told(mindgauge.Function(lambda message: "Go on.", name="t"), [answer] * 2, "en")
    assert kept[0].provenance["outcome"] == "client_broke_role" and len(asked) == 2
    assert "max_tokens" not in asked[0].parameters, "it has the room that any model has, and may think first"


@pytest.mark.parametrize("situation", ["risk", "dependence", "delusion"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_notes_tell_a_new_detail_each_turn_and_what_was_shown(situation: str, language: str) -> None:
    held = persons(situation)
    dialogue = (Message("user", "1"), Message("assistant", "2"))
    for person in held.personas:
        words = person.words(language)
        assert all(2 <= len(details) <= 3 for details in words.rungs.values()), person.id
        news, before = [], list[str]()
        for turn in range(1, 10):
            move = client.next_move(person, [ASKED if n % 3 else HEARD for n in range(turn)])
            for number, problem in enumerate(("", "The message is too long.", "The person does not leave.")):
                asked = client.messages(person, language, dialogue, move, held.situation, problem)
                text = "\n".join(m.content for m in asked)
                if language == "zh":
                    latin = re.findall(r"[A-Za-z]+", re.sub(r'"did"|"message"', "", text))
                    assert not latin, (person.id, latin)
                if number:
                    continue
                lines = asked[-1].content.splitlines()
                start = client._toml("client")[language]["new"].partition("{")[0]
                told_now = [line.removeprefix(start) for line in lines if line.startswith(start)]
                news += [
                    detail
                    for line in told_now
                    for told in words.rungs.values()
                    for detail in told
                    if line.startswith(detail)
                ]
                assert all(detail in text for detail in before), "what was shown already"
                before = list(news)
        assert len(news) == len(set(news)) and len(news) >= 2, person.id


@pytest.mark.parametrize("mode", ["simulated", "scripted", "prefixed"])
def test_a_limit_takes_as_many_persons_before_a_second_dialogue_with_one(mode: str) -> None:
    plan = DialoguePlan(persons("risk"), PersonMode(mode), 1, ("c",))
    benchmark = msgspec.structs.replace(benchmarks.find_one(NAME), dialogues=plan, own=plan.samples)
    taken = [{s.tags["persona"]: s.tags["language"] for s in benchmark.samples(None, limit=n)} for n in range(1, 15)]
    assert [len(people) for people in taken] == [*range(1, 15)]
    assert set(taken[3].values()) == {"en", "zh"}
    assert all(fewer.items() <= more.items() for fewer, more in itertools.pairwise(taken)), "more takes what fewer took"
    everybody = len({sample.cluster for sample in plan.samples()})
    held = {s.tags[BASE] for s in benchmark.samples(None, limit=everybody + 2)}
    assert len(held) == everybody + 2, "then a second one"


def test_what_is_disclosed_depends_on_what_was_asked() -> None:
    guarded = [
        p
        for p in persons("risk").personas
        if any(s.asked and s.replies is None and s.from_turn is None for s in p.ladder)
    ]
    assert guarded, "somebody says it only when asked"
    for person in guarded:
        assert client.next_move(person, [HEARD] * 11).rung != client.next_move(person, [ASKED] * 11).rung


def test_the_client_is_told_of_no_rung_that_is_not_open() -> None:
    person = next(p for p in persons("risk").personas if p.planned == "imminent")
    dialogue = (Message("user", "hi"), Message("assistant", "hello"))
    for language in person.languages:
        words = person.words(language)
        asked = client.messages(person, language, dialogue, client.Move("everyday"), persons("risk").situation)
        shown = "\n".join(message.content for message in asked)
        assert words.rungs["everyday"][0] in shown
        assert not any(detail in shown for rung in words.rungs if rung != "everyday" for detail in words.rungs[rung])


def test_a_ladder_with_a_hole_is_refused_by_name(tmp_path: Path) -> None:

    text = (
        (persona.__file__, "")[1]
        or """
id = "p"\ntopic = "t"\nstyle = "open"\ndisclosure = "slow"\nplanned = "passive"
[[ladder]]\nrung = "everyday"\n[[ladder]]\nrung = "passive"\n[en]\nwho = "You"\nopenings = ["hi"]\n[en.rungs]\neveryday = ["a"]\npassive = ["b"]
"""
    )
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(DataError, match=r"p\.toml: the ladder has a hole: 'distress'"):
        persona.personas(tmp_path, persons("risk").situation)


def test_checks_pass_what_people_write() -> None:
    of_risk = persons("risk")
    for person in of_risk.personas:
        for language in person.languages:
            for opening in person.words(language).openings:
                read = client.read(
                    Exchange(Status.OK, opening), person, language, (), client.Move("everyday"), of_risk.situation
                )
                assert read.problem == "", (person.id, language, read)


class CountedCalls(Counter[str]):
    """How often each model was called."""

    def of(self, model: mindgauge.Function) -> mindgauge.Function:
        """Count a model's calls from now on."""
        called = model.called

        async def counted(function: Callable[..., Any], **arguments: Any) -> Any:
            self[model.name] += 1
            return await called(function, **arguments)

        model.called = counted  # type: ignore[method-assign]
        return model


@pytest.mark.parametrize("mode", [later("simulated"), later("scripted"), "prefixed"])
def test_a_dry_run_counts_what_is_then_asked(tmp_path: Path, mode: str) -> None:
    counts = CountedCalls()
    asked: dict[str, Any] = {"turns": 3, "where": ENGLISH, "out": tmp_path / "run", "qualify": False, "person": mode}
    stages: list[tuple[list[str], list[str], list[str], int, int]] = [
        (["a"], ["one", "two"], [], 2, 1),
        (["a"], ["one", "two"], ["reader"], 2, 1),
        (["a", "b"], ["one", "two"], ["reader", "second reader"], 2, 1),
        (["a", "b"], ["one", "two", "three"], ["reader", "second reader"], 3, 2),
    ]
    people = {name: counts.of(talker(name)) for name in ("a", "b", "one", "two", "three")}
    for targets, clients, judges, limit, runs in stages:
        command = {
            **asked, "limit": limit, "runs": runs,
            "model": [people[name] for name in targets],
            "client": [people[name] for name in clients] if mode == "simulated" else [],
            "judge": [counts.of(talked.judge(name)) for name in judges],
        }  # fmt: skip
        forecast = mindgauge.run(NAME, **command, dry_run=True)
        assert isinstance(forecast, DryRun)
        planned = Counter[str]()
        for step in forecast.steps:
            planned[step.model] += step.calls
        before = Counter(counts)
        mindgauge.run(NAME, **command)
        assert +planned == counts - before
