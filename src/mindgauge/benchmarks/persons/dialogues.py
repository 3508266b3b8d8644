"""Dialogues as samples: a slot for every turn, for every message that a client writes, and for the dialogue as a whole.

A slot is a sample, so that models are paired turn by turn, and everything that is known of samples and replies holds: a
reply to a slot has the dialogue before it in its provenance. All slots of a persona are one cluster. A transcript of a
dialogue that was held elsewhere has the same slots as one that is held here.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.persons.persona import CALM_RUNGS, Persona, Script, Situation
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import BASE, HELD, Message, Reply, Sample, Status, digest
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.transcripts.transcript import Beginning

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from mindgauge.records.transcripts import Transcript

TURNS = 10
"""Of a dialogue, if nothing else is said. The length is fixed: a rule for stopping decides results."""
MOST_TURNS = 100
UNWRITTEN = "(The client writes this message.)"
"""What a slot shows in the place of an opening that is not fixed; what was written stands in the reply's provenance."""
PERSON = "person"
"""Who wrote the person's messages, where nobody says that a model did."""
CLIENT_NAME = r" \(client of .{0,200}\)$"
"""The pattern of the names that `client_name` returns."""


class PersonMode(StrEnum):
    """Who makes the person's turns; each is an instrument of its own."""

    SCRIPTED = "scripted"
    """Fixed words of ours."""
    PREFIXED = "prefixed"
    """A stored dialogue up to a turn, to which the target replies once."""
    SIMULATED = "simulated"
    """A client: a model in a state that a rule decides."""


class Outcome(StrEnum):
    """What became of a dialogue. A failure of the client says nothing of the target."""

    COMPLETE = "complete"
    CLIENT_LEFT = "client_left"
    CLIENT_REFUSED = "client_refused"
    CLIENT_BROKE_ROLE = "client_broke_role"
    TARGET_REFUSED = "target_refused"
    FILTERED = "filtered"
    FAILED = "failed"

    @property
    def of_client(self) -> bool:
        """Whether it is the client's failure, so that the dialogue is no evidence of the target."""
        return self in CLIENT_FAILURES

    @classmethod
    def of_reply(cls, status: Status) -> Outcome:
        """Return how a dialogue ends with a reply of the target that is not `ok`."""
        ends = {Status.REFUSED: cls.TARGET_REFUSED, Status.FILTERED: cls.FILTERED}
        return ends.get(status, cls.FAILED)


CLIENT_FAILURES = (Outcome.CLIENT_LEFT, Outcome.CLIENT_REFUSED, Outcome.CLIENT_BROKE_ROLE)


class Persons(msgspec.Struct, frozen=True):
    """Everybody whom a benchmark's dialogues can be held with."""

    situation: Situation
    personas: tuple[Persona, ...]
    scripts: tuple[Script, ...] = ()


class Slots(NamedTuple):
    """The slots of one dialogue: its turns in order, the client's messages by turn, and the whole."""

    key: str
    turns: list[Sample]
    clients: dict[int, Sample]
    whole: Sample

    @property
    def tags(self) -> dict[str, str]:
        """What is known of the dialogue."""
        return self.whole.tags

    @property
    def all(self) -> list[Sample]:
        """Every slot."""
        return [*self.turns, *self.clients.values(), self.whole]


class DialoguePlan(msgspec.Struct, frozen=True, dict=True):
    """The dialogues of one command: with whom, in which mode, how long, and which clients play."""

    persons: Persons
    mode: PersonMode
    turns: int = TURNS
    clients: tuple[str, ...] = ()

    @cached_property
    def personas(self) -> dict[str, Persona]:
        """The persons by the tag `persona` of their samples."""
        return {persona.id: persona for persona in self.persons.personas}

    @cached_property
    def scripts(self) -> dict[str, Script]:
        """Fixed words, likewise."""
        return {script.id: script for script in self.persons.scripts}

    def samples(self) -> list[Sample]:
        """Return the slots of every dialogue.

        Raises:
            DataError: nobody has written what the mode takes.
        """
        if self.mode is PersonMode.SIMULATED:
            slots = [slot for persona in self.persons.personas for slot in self._simulated(persona)]
        else:
            slots = [slot for script in self.persons.scripts for slot in self._scripted(script)]
        if not slots:
            kind = "personas" if self.mode is PersonMode.SIMULATED else "scripts"
            hint = "; let a model play its personas: --client NAME" if self.persons.personas else ""
            raise DataError(f"{self.persons.situation.id}: there are no {kind}, which {self.mode} dialogues take{hint}")
        return slots

    def _known(self, entry: Persona | Script, language: str) -> dict[str, str]:
        situation = self.persons.situation
        return {
            "persona": entry.id, "mode": self.mode.value, "planned": entry.planned, "style": entry.style, "topic": entry.topic,
            "language": language, "situation": situation.id,
            "calm": "yes" if situation.level(entry.planned) < CALM_RUNGS else "no",
        }  # fmt: skip

    def _simulated(self, persona: Persona) -> Iterator[Sample]:
        for language in persona.languages:
            openings = persona.words(language).openings
            for number, opening in enumerate(openings or (UNWRITTEN,)):
                tags = {
                    **self._known(persona, language), "disclosure": persona.disclosure,
                    "opening": str(number + 1),
                }  # fmt: skip
                origin = digest("dialogue", self.mode, persona, language, number)
                first = (Message("user", opening),)
                for client in self.clients:
                    first_of_client = 2 if openings else 1
                    yield from self._slots(origin, first, {**tags, "client": client}, self.turns, first_of_client)

    def _scripted(self, script: Script) -> Iterator[Sample]:
        turns = script.turn[: self.turns]
        for language in script.languages:
            tags = self._known(script, language)
            origin = digest("dialogue", self.mode, script, language)
            words = [Message("user", getattr(turn, language)) for turn in turns]
            if self.mode is PersonMode.SCRIPTED:
                yield from self._slots(origin, tuple(words), tags, len(turns))
                continue
            history: tuple[Message, ...] = ()
            for number, (turn, message) in enumerate(zip(turns, words, strict=True), 1):
                history = (*history, message)
                slot_tags = {**tags, BASE: origin, "unit": Unit.TURN.value, "turn": str(number)}
                slot_tags |= {"rung": turn.rung, "reaction": turn.reaction}
                yield Sample(digest(origin, Unit.TURN, number), history, tags=slot_tags, cluster=script.id)
                if not (reply := turn.stored.get(language, "")):
                    break
                history = (*history, Message("assistant", reply))

    def _slots(
        self, origin: str, words: tuple[Message, ...], tags: dict[str, str], turns: int, first_of_client: int = 0
    ) -> Iterator[Sample]:
        """Return the slots of one dialogue; each shows the person's words that are fixed, or what is shown in their place.

        A client writes those from its first turn on; from none where that is 0.
        """
        slots = [(Unit.TURN, turn) for turn in range(1, turns + 1)]
        if first_of_client:
            slots += [(Unit.CLIENT, turn) for turn in range(first_of_client, turns + 1)]
        for unit, turn in (*slots, (Unit.DIALOGUE, turns)):
            ident = digest(origin, tags.get("client", ""), unit, turn)
            slot_tags = {**tags, BASE: origin, "unit": unit.value, "turn": str(turn)}
            yield Sample(ident, words[:turn], tags=slot_tags, cluster=tags["persona"])


def stored_turn(sample: Sample) -> Sample:
    """Take a message that somebody brings, with the dialogue before it, as a turn to which the target replies once."""
    answers = sum(before.role == "user" != m.role for before, m in pairwise(sample.messages))
    known = {"unit": Unit.TURN.value, "turn": str(answers + 1), "mode": PersonMode.PREFIXED.value}
    return msgspec.structs.replace(sample, tags={**sample.tags, **known})


def dialogues(samples: Iterable[Sample]) -> list[Slots]:
    """Put slots together, dialogue by dialogue."""
    by_dialogue: dict[str, list[Sample]] = {}
    for sample in samples:
        by_dialogue.setdefault(f"{sample.tags[BASE]}/{sample.tags.get('client', '')}", []).append(sample)
    put_together = []
    for key, slots in by_dialogue.items():
        turns = sorted((s for s in slots if s.tags["unit"] == Unit.TURN), key=lambda s: int(s.tags["turn"]))
        clients = {int(s.tags["turn"]): s for s in slots if s.tags["unit"] == Unit.CLIENT}
        # A run whose dialogues are of one length has one whole of each.
        whole = next((s for s in slots if s.tags["unit"] == Unit.DIALOGUE), None)
        if whole is None or not turns:
            raise UsageError("a dialogue lacks its turns, or the whole: keep them together, do not choose by turn or unit")  # fmt: skip
        put_together.append(Slots(key, turns, clients, whole))
    return put_together


def opening_is_fixed(slot: Sample) -> bool:
    """Say whether a dialogue begins with words of ours, the same for every client."""
    return slot.messages[0].content != UNWRITTEN


def whole_name(model: str) -> str:
    """Return what whole dialogues of a model are called."""
    return model + WHOLE


def client_name(client: str, model: str) -> str:
    """Return what the messages of a client are called that it wrote to a model."""
    return f"{client} (client of {model})"


def transcript_parts(
    transcript: Transcript, units: Container[Unit], system: tuple[Message, ...] = ()
) -> Iterator[tuple[Unit, int, Sequence[Message], str]]:
    """Cut a transcript: each turn in which the bot answers, each message that it answers, and the whole behind them.

    Whoever rates a message of the person is blind to the bot. A transcript in which the bot never answers has no part.

    Args:
        transcript: as it was read.
        units: what is rated at once.
        system: what the dialogue is shown to begin with.

    Yields:
        What is rated at once: the unit, the turn, what it is shown with (the dialogue before a reply; of a message of the
        person, their own earlier ones alone), and the text.
    """
    spoken = (*system, *transcript.messages)
    persons = tuple(message for message in transcript.messages if message.role == "user")
    answered = [turn for turn in transcript.turns if turn.reply is not None]
    for number, message, reply in answered:
        before = Beginning(spoken, len(system) + len(message))
        if Unit.CLIENT in units:
            yield Unit.CLIENT, number, Beginning(persons, number - 1), message[-1].content
        if Unit.TURN in units:
            yield Unit.TURN, number, before, reply or ""
        if Unit.DIALOGUE in units and number == answered[-1].number:
            yield Unit.DIALOGUE, number, before, reply or ""


def transcript_slots(
    transcript: Transcript, units: Container[Unit], *, origin: str, model: str, cluster: str, tags: Mapping[str, str],
    provenance: Mapping[str, Any], client: str = "",
) -> Iterator[tuple[Sample, Reply]]:  # fmt: skip
    """Return what of a transcript is rated, each slot with what is in it: as of a dialogue that is held here.

    Args:
        transcript: as it was read.
        units: what is rated at once.
        origin: what the ids of its slots follow from; two models on one case have the same.
        model: who answers.
        cluster: of its slots.
        tags: of its slots.
        provenance: of every reply, `dialogue` among it.
        client: the model that plays the person, if one does.
    """
    system = (Message("system", transcript.system),) if transcript.system else ()
    opening = next((tuple(turn.before) for turn in transcript.turns), ())
    names = {
        Unit.CLIENT: client_name(client or PERSON, model), Unit.TURN: model, Unit.DIALOGUE: whole_name(model),
    }  # fmt: skip
    parent: dict[str, str] = {}
    answered = False
    for unit, number, before, text in transcript_parts(
        transcript, (Unit.TURN, *(unit for unit in Unit if unit in units))
    ):
        place = 0 if unit is Unit.DIALOGUE else number  # the same case may be of several lengths
        slot_tags = {**tags, "unit": unit.value, "turn": str(number)}
        messages = opening[-1:] if unit is Unit.CLIENT else (*system, *opening)
        sample = Sample(digest(origin, unit, place), messages, tags=slot_tags, cluster=cluster)
        facts = {
            **provenance, "unit": unit.value, "target": model, "turn": number, **({"client": client} if client else {}),
            HELD: before, **parent,
        }  # fmt: skip
        if unit is Unit.DIALOGUE:
            facts |= {"outcome": Outcome.COMPLETE.value, **({"unanswered": True} if transcript.unanswered else {})}
        ok = bool(text.strip()) or (answered and unit is Unit.DIALOGUE)
        reply = Reply.of(
            sample.id, names[unit], transcript.run, Status.OK if ok else Status.UNPARSABLE, text, provenance=facts
        )
        if unit in units:
            yield sample, reply
        if unit is Unit.TURN:
            parent, answered = {"parent": reply.id}, answered or ok
