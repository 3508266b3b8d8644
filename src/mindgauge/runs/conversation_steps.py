"""The step of a run in which dialogues are held: person and model under test take turns, each turn a call that is kept.

A dialogue is a chain: each reply knows the one before it, and the dialogue that it answers. So a killed run goes on in the
middle of a dialogue, and what was answered is not asked again. A bot that keeps its state in itself cannot go on: its
dialogue is begun again, which its replies say.
"""

from __future__ import annotations

import contextlib
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from mindgauge.benchmarks.persons import client
from mindgauge.benchmarks.persons.dialogues import (
    Outcome,
    PersonMode,
    client_name,
    dialogues,
    opening_is_fixed,
    whole_name,
)
from mindgauge.models.bots.bot import Bot
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, HELD, Message, Reply, Sample, Status
from mindgauge.records.request import Request
from mindgauge.runs.conversations import TurnCall, dialogue_tokens, expected_turns, goes_on
from mindgauge.runs.session import system_tokens
from mindgauge.runs.step_outputs import StepOutput, of_dialogues
from mindgauge.runs.steps import Expected, PlannedSubject, ReplyStep, parted, provenance, reply_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping

    from mindgauge.benchmarks.persons.dialogues import DialoguePlan, Slots
    from mindgauge.benchmarks.persons.persona import Persona
    from mindgauge.models.bots.bot import Held
    from mindgauge.records import Exchange
    from mindgauge.records.errors import MindgaugeError
    from mindgauge.records.request import Model
    from mindgauge.runs.session import Session
    from mindgauge.store import Store


class Keeper(Protocol):
    """Where replies are kept, and the calls that brought them."""

    def add_reply(self, benchmark: str, reply: Reply) -> None:
        """Keep a reply."""
        ...

    def add_call(
        self, key: bytes, prompt: bytes, benchmark: str, model: str, run: int, exchange: Exchange, *, text: bool = True
    ) -> None:
        """Keep a call."""
        ...


class Conversing(Protocol):
    """What a dialogue needs of whoever lets it be held; a `Session` is that."""

    stop: MindgaugeError | None
    """Why dialogues are to stop, if they are."""

    @property
    def store(self) -> Keeper:
        """Where turns are kept."""
        ...

    async def call(self, model: Model, request: Request, ask: Held | None = None) -> Exchange:
        """Make a call, anew; by another way than the model's own, where one is given."""
        ...

    def asker(
        self, model: Model, benchmark: str, *, kept_as: Callable[[Exchange], Exchange] | None = None
    ) -> Callable[[Request], Awaitable[Exchange]]:
        """Return a way to ask that makes the same call once, and keeps its answer as `kept_as` returns it."""
        ...

    def committed(self) -> Awaitable[None]:
        """Return what is done when all that was added is kept for good."""
        ...


class PersonTurn(NamedTuple):
    """What the person says in a turn; a dialogue that ends instead says how."""

    text: str
    rung: str = ""
    reaction: str = ""
    outcome: Outcome | None = None
    problem: str = ""


class ConversationStep(ReplyStep, frozen=True, kw_only=True):
    """A model under test holds every dialogue of a benchmark, as far as it has not yet."""

    dialogues: DialoguePlan
    clients: tuple[Model, ...] = ()

    def outputs(self) -> list[StepOutput]:
        """Return the replies that it leaves in the run."""
        return of_dialogues(self.model.name, [model.name for model in self.clients], self.repeats)

    def done(self, store: Store) -> set[tuple[str, int]]:
        """Return the turns and repeats that nothing more has to be asked for."""
        answered = super().done(store)
        return answered if self._goes_on else answered - self._broken_off(store, answered)

    @property
    def _goes_on(self) -> bool:
        return goes_on(self.model)

    def _broken_off(self, store: Store, answered: set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Return the answered turns of dialogues that lack later ones."""
        slots = dialogues(subject.sample for subject in self.at_hand_slots(store))
        return {
            (turn.id, run)
            for dialogue in slots
            for run in range(self.repeats)
            if not all((turn.id, run) in answered for turn in dialogue.turns)
            for turn in dialogue.turns
        }

    def at_hand_slots(self, store: Store) -> Iterator[PlannedSubject]:
        """Return every slot that is in the run."""
        stored = {*store.sample_ids(self.benchmark.name)}
        return (subject for subject in self.subjects() if subject.sample.id in stored)

    def wanted(self, store: Store) -> set[str]:
        """Return the ids of the turns that are asked for."""
        turns = {s.sample.id for s in self.subjects() if s.sample.tags["unit"] == Unit.TURN}
        return turns & {*store.sample_ids(self.benchmark.name)}

    def requests(self, subject: PlannedSubject) -> list[Request]:
        """Return the question that a first turn is; those of later turns follow from the answers."""
        tags = subject.sample.tags
        return super().requests(subject) if (tags["unit"], tags["turn"]) == (Unit.TURN, "1") else []

    def expected(self, store: Store | None, counted: set[Hashable]) -> Expected:  # noqa: ARG002 - no other step asks so
        """Count the turns that are left, and estimate what they take: each reads all before it, most of it once more."""
        finished = self.done(store) if store is not None else set()
        replied = finished & store.replied(self.benchmark.name, self.model.name) if store is not None else set()
        return expected_turns(self, [*self._calls()], finished, replied)

    def _calls(self) -> Iterator[TurnCall]:
        """Yield the call of every turn. All clients begin with the same words, to which the answer is asked for once."""
        system = system_tokens(self.model)
        for dialogue in dialogues(subject.sample for subject in self.subjects()):
            first = dialogue.tags[BASE] if self._goes_on and opening_is_fixed(dialogue.whole) else dialogue.key
            for run, (number, turn) in product(range(self.repeats), enumerate(dialogue.turns)):
                cached = system + dialogue_tokens(turn, number - 1) if number else 0
                key = (dialogue.key if number else first, number, run)
                yield TurnCall(key, (turn.id, run), system + dialogue_tokens(turn, number), cached)

    async def work(self, session: Session) -> None:
        """Hold the dialogues that the run lacks, and keep every turn."""
        store, benchmark = session.store, self.benchmark
        begun_again = {} if self._goes_on else self._forget_broken_off(store)
        for name in (self.model.name, whole_name(self.model.name)):
            store.forget_failed(benchmark.name, name)
        replies = _replies(store, benchmark.name)
        origins = self._origins()
        chains = [
            _Chain(self, session, origins, slots, run, replies, begun_again.get((slots.key, run), 0))
            for slots in dialogues(subject.sample for subject in self.at_hand_slots(store))
            for run in range(self.repeats)
            if any((sample.id, name, run) not in replies for sample, name in self._replied(slots))
        ]
        if not chains:
            return
        store.forget_replies(benchmark.name, [orphan.id for chain in chains for orphan in chain.orphans])
        if self.model.own_machine and any(model.own_machine for model in self.clients):
            await self._in_rounds(session, chains)
            return
        async with contextlib.AsyncExitStack() as opened:
            for model in (self.model, *self.clients):
                await opened.enter_async_context(session.using(model))
            jobs = iter([chain.hold for chain in chains])
            await session.work(jobs, f"{self.model.name} talks", len(chains), session.places(self.model))

    def _replied(self, slots: Slots) -> Iterator[tuple[Sample, str]]:
        """Return every slot of a dialogue, with what whoever replies to it is called."""
        target = self.model.name
        yield from ((turn, target) for turn in slots.turns)
        yield from ((message, client_name(slots.tags["client"], target)) for message in slots.clients.values())
        yield slots.whole, whole_name(target)

    def _origins(self) -> dict[str, dict[str, Any]]:
        """Return, for each who speaks, what is the same of all that it says."""
        origins = {model.name: provenance(model, {}) for model in self.clients}
        return {**origins, self.model.name: provenance(self.model, self.parameters)}

    async def hold(self, session: Conversing, slots: Slots, run: int) -> None:
        """Hold one dialogue from its beginning, and keep its turns."""
        await _Chain(self, session, self._origins(), slots, run, {}, 0).hold()

    async def _in_rounds(self, session: Session, chains: list[_Chain]) -> None:
        """Let two models of this machine take turns: all messages of the person, then all replies to them."""
        for number in range(1, max(len(chain.slots.turns) for chain in chains) + 1):
            for player in self.clients:
                speaking = [c for c in chains if c.awaits_person(number) and c.slots.tags.get("client") == player.name]
                if speaking:
                    async with session.using(player):
                        await self._round(session, [chain.speak for chain in speaking], f"{player.name}, turn {number}")
            for chain in chains:  # fixed words and openings
                if chain.awaits_person(number) and not chain.asks_client:
                    await chain.speak()
            answering = [chain for chain in chains if chain.awaits_reply(number)]
            if answering:
                async with session.using(self.model):
                    await self._round(session, [c.answered for c in answering], f"{self.model.name}, turn {number}")
        for chain in chains:
            chain.close()
        session.store.flush()

    @staticmethod
    async def _round(session: Session, jobs: list[Callable[[], Awaitable[None]]], stage: str) -> None:
        await session.work(iter(jobs), stage, len(jobs))

    def _forget_broken_off(self, store: Store) -> dict[tuple[str, int], int]:
        """Drop dialogues with a bot that broke off: what the bot knew of them is gone. Return how often each was begun."""
        answered = ReplyStep.done(self, store)
        replies = _replies(store, self.benchmark.name)
        begun: dict[tuple[str, int], int] = {}
        dropped: list[str] = []
        for slots in dialogues(subject.sample for subject in self.at_hand_slots(store)):
            for run in range(self.repeats):
                existing = [
                    replies[key] for sample, name in self._replied(slots) if (key := (sample.id, name, run)) in replies
                ]
                if not existing or all((turn.id, run) in answered for turn in slots.turns):
                    continue
                begun[slots.key, run] = 1 + max(reply.provenance.get("begun_again", 0) for reply in existing)
                dropped += [reply.id for reply in existing]
        store.forget_replies(self.benchmark.name, dropped)
        return begun


def _replies(store: Store, benchmark: str) -> dict[tuple[str, str, int], Reply]:
    return {(reply.sample, reply.model, reply.run): reply for reply in store.replies(benchmark)}


class _Chain:
    """One dialogue, as far as it is held."""

    def __init__(
        self,
        step: ConversationStep,
        session: Conversing,
        origins: Mapping[str, dict[str, Any]],
        slots: Slots,
        run: int,
        replies: Mapping[tuple[str, str, int], Reply],
        begun_again: int,
    ) -> None:
        self.step, self.session, self.slots, self.run = step, session, slots, run
        self._origins = origins
        self._extra = {"begun_again": begun_again} if begun_again else {}
        self._client = next((m for m in step.clients if m.name == slots.tags.get("client")), None)
        self._clients_turns = {
            number: replies[key]
            for number, sample in slots.clients.items()
            if (key := (sample.id, self._client_name, run)) in replies
        }
        self.replies: list[Reply] = []
        self.dialogue: tuple[Message, ...] = ()
        """What was said, as it was held."""
        self.outcome: Outcome | None = None
        self._problem = ""
        self._person: PersonTurn | None = None
        for number, turn in enumerate(slots.turns, 1):
            reply = replies.get((turn.id, step.model.name, run))
            if reply is None or self._ended or (number in slots.clients and number not in self._clients_turns):
                break
            if reply.status is Status.NOT_APPLICABLE:
                self.outcome = Outcome(reply.provenance["outcome"])
                break
            self._took(reply, msgspec.convert(reply.provenance.get(HELD, ()), tuple[Message, ...]))
        self.orphans = [] if self._ended else [*self._behind(replies)]
        """Replies behind a turn that is lost, as it may be of a run that was salvaged: they answer another dialogue than the
        one that is now gone on with."""

    def _behind(self, replies: Mapping[tuple[str, str, int], Reply]) -> Iterator[Reply]:
        number, slots, model = len(self.replies) + 1, self.slots, self.step.model.name
        self._clients_turns = {turn: message for turn, message in self._clients_turns.items() if turn <= number}
        behind = [(turn, model) for turn in slots.turns[number - 1 :]]
        behind += [(message, self._client_name) for turn, message in slots.clients.items() if turn > number]
        behind.append((slots.whole, whole_name(model)))
        return (reply for slot, name in behind if (reply := replies.get((slot.id, name, self.run))) is not None)

    @property
    def _client_name(self) -> str:
        return client_name(self._client.name, self.step.model.name) if self._client is not None else ""

    @property
    def asks_client(self) -> bool:
        """Whether the person's next message is a client's."""
        return self._client is not None and len(self.replies) + 1 in self.slots.clients

    @property
    def turns_left(self) -> int:
        """How many turns are still to come, at most."""
        return len(self.slots.turns) - len(self.replies)

    @property
    def _ended(self) -> bool:
        return self.outcome is not None or not self.turns_left

    def awaits_person(self, number: int) -> bool:
        """Whether the person is to speak, in this turn."""
        return not self._ended and self._person is None and len(self.replies) == number - 1

    def awaits_reply(self, number: int) -> bool:
        """Whether the target is to answer, in this turn."""
        return not self._ended and self._person is not None and len(self.replies) == number - 1

    def _told(self) -> tuple[Message, ...]:
        """Return what the target is told: the dialogue without what a bot said by itself first."""
        dialogue = self.dialogue
        first = next((place for place, message in enumerate(dialogue) if message.role == "user"), 0)
        return dialogue[first:]

    async def hold(self) -> None:
        """Hold the dialogue to its end."""
        async with self._asking() as ask:
            while not self._ended and self.session.stop is None:
                if self._person is None:
                    await self.speak()
                else:
                    await self.answered(ask)
        if not self._ended:
            return
        self.close()
        await self.session.committed()

    @contextlib.asynccontextmanager
    async def _asking(self) -> AsyncIterator[Held | None]:
        """Hold a conversation with a bot that keeps its state in itself; any other is told all, each time."""
        model = self.step.model
        if isinstance(model, Bot) and model.replays:
            async with model.dialogue() as say:
                yield say
        else:
            yield None

    async def speak(self) -> None:
        """Let the person say what comes next."""
        self._person = await self._next()
        if self._person.outcome is not None:
            self.outcome, self._problem = self._person.outcome, self._person.problem

    async def _next(self) -> PersonTurn:
        number = len(self.replies) + 1
        step, slot = self.step.dialogues, self.slots.turns[number - 1]
        if step.mode is PersonMode.SCRIPTED:
            turn = step.script(slot).turn[number - 1]
            return PersonTurn(slot.messages[-1].content, turn.rung, turn.reaction)
        persona = step.persona(slot)
        if not self.asks_client:
            return PersonTurn(slot.messages[0].content, client.next_move(persona, ()).rung)
        return await self._worded(number, persona)

    def _heard(self) -> list[client.ReplySigns]:
        """Return what each reply did: as it was read at the time; the last one, and what was never read, by our cues."""
        heard, situation = [], self.step.dialogues.situation.id
        for number, reply in enumerate(self.replies, 1):
            message = self._clients_turns.get(number + 1) if number < len(self.replies) else None
            reading = message.provenance.get(client.HEARD, {}) if message is not None else {}
            if reading:
                heard.append(client.ReplySigns(*(sign in reading["did"] for sign in client.ReplySigns._fields)))
            else:
                heard.append(client.reply_signs(reply.text, situation))
        return heard

    async def _worded(self, number: int, persona: Persona) -> PersonTurn:
        """Let the client word what the rule allows; what fails a check is asked for once more.

        The rule goes by our cues, until the client says what the last reply did. Where it then allows something else, the
        client words that.
        """
        assert self._client is not None
        step, language, dialogue, heard = self.step.dialogues, self.slots.tags["language"], self._told(), self._heard()
        ask = self.session.asker(self._client, self.step.benchmark.name)
        problem, repairs, reader, move = "", 0, client.BY_CUES, client.next_move(persona, heard)
        while True:
            prompt = client.messages(persona, language, dialogue, move, step.situation, problem)
            form = client.schema(persona, language)
            exchange = await ask(Request(prompt, self.run, {"seed": self.run}, form, sample=self.slots.whole))
            if exchange.status is Status.FAILED:
                return PersonTurn("", outcome=Outcome.FAILED, problem=f"the client did not answer: {exchange.error}")
            read = client.read(exchange, persona, language, dialogue, move, step.situation)
            if read.reading is not None and heard and reader == client.BY_CUES:
                heard[-1], reader = read.reading, client.BY_CLIENT
                by_cues, move = move, client.next_move(persona, heard)
                if move != by_cues:
                    continue
            if not read.problem or repairs:
                break
            problem, repairs = read.problem, repairs + 1
        outcome = read.outcome if read.problem else None
        signs = [name for name, holds in heard[-1]._asdict().items() if holds] if heard else []
        heard_by = {client.HEARD: {"did": signs, "by": reader}} if form is not None else {}
        self._keep_client(number, read, exchange, move, {"repairs": repairs, **heard_by})
        return PersonTurn(read.text, move.rung, move.reaction, outcome, read.problem)

    def _keep_client(
        self, number: int, read: client.ClientText, exchange: Exchange, move: client.Move, facts: dict[str, Any]
    ) -> None:
        if number in self._clients_turns:
            return
        assert self._client is not None
        persons = [message for message in self._told() if message.role == "user"]
        reply = Reply.of(
            self.slots.clients[number].id, self._client_name, self.run, Status.OK if read.text else Status.UNPARSABLE,
            read.text, usage=exchange.usage, seconds=exchange.seconds, finish_reason=exchange.finish_reason,
            provenance={
                **self._origins[self._client.name], **self._named(number, move.rung, move.reaction), "unit": Unit.CLIENT.value,
                "model": exchange.model_resolved, "at": exchange.at, HELD: persons, **facts,
                **({"problem": read.problem, "outcome": read.outcome.value} if read.problem else {}),
            },
        )  # fmt: skip
        self.session.store.add_reply(self.step.benchmark.name, reply)
        self._clients_turns[number] = reply

    def _named(self, number: int, rung: str, reaction: str) -> dict[str, Any]:
        """Return what every reply of the dialogue says of its place."""
        parent = {"parent": self.replies[-1].id} if self.replies else {}
        tags = self.slots.tags
        return {
            "target": self.step.model.name, "turn": number, "dialogue": self.slots.key, "client": tags.get("client", ""), "rung": rung,
            "reaction": reaction, **parent, **self._extra,
        }  # fmt: skip

    async def answered(self, say: Held | None = None) -> None:
        """Let the target answer what the person said."""
        assert self._person is not None
        step, store, number = self.step, self.session.store, len(self.replies) + 1
        slot, addressed = self.slots.turns[number - 1], (*self._told(), Message("user", self._person.text))
        messages = (*(m for m in slot.messages if m.role == "system"), *addressed)
        asked_of = msgspec.structs.replace(slot, messages=messages)
        request = self._request(asked_of)
        if self._client is not None and say is None:  # clients begin alike, and may go on alike
            ask = self.session.asker(step.model, step.benchmark.name, kept_as=step.kept)
            exchange = parted(await ask(request))
        else:
            answer = await self.session.call(step.model, request, say)
            exchange = parted(answer)
            store.add_call(
                request.key(step.identity), request.prompt_hash, step.benchmark.name, step.model.name, self.run,
                answer, text=False,
            )  # fmt: skip
        history = exchange.before or addressed
        ended = Outcome.of_reply(exchange.status) if exchange.status is not Status.OK else None
        reply = Reply.of(
            slot.id, step.model.name, self.run, exchange.status, exchange.text,
            finish_reason=exchange.finish_reason, usage=exchange.usage, seconds=exchange.seconds,
            provenance={
                **self._origins[self.step.model.name], **self._named(number, self._person.rung, self._person.reaction), "unit": Unit.TURN.value,
                "model": exchange.model_resolved, "fingerprint": exchange.fingerprint, "seed": self.run, "at": exchange.at, HELD: history,
                **({"unsupported": exchange.unsupported} if exchange.unsupported else {}),
                **({"error": exchange.error} if exchange.error else {}),
                **({"outcome": ended.value} if ended else {}), **step.reasoned(exchange),
            },
        )  # fmt: skip
        store.add_reply(step.benchmark.name, reply)
        await self.session.committed()
        self._took(reply, history)

    def _request(self, sample: Sample) -> Request:
        return reply_request(self.step.benchmark, sample, self.run, {**self.step.parameters, **self._extra})

    def _took(self, reply: Reply, history: tuple[Message, ...]) -> None:
        """Go on from a reply, and what it answers."""
        self.replies.append(reply)
        self.dialogue = (*history, Message("assistant", reply.text))
        self._person = None
        if reply.status is not Status.OK:
            self.outcome = Outcome(reply.provenance.get("outcome", Outcome.of_reply(reply.status).value))

    def close(self) -> None:
        """Keep the dialogue as a whole, and that turns which do not come are none."""
        outcome = self.outcome or Outcome.COMPLETE
        store, benchmark, model = self.session.store, self.step.benchmark.name, self.step.model.name
        last = self.replies[-1] if self.replies else None
        failed = outcome is Outcome.FAILED and (last is None or last.status in {Status.OK, Status.FAILED})
        if outcome is Outcome.COMPLETE:
            status = Status.OK
        elif failed:
            status = Status.FAILED
        else:
            status = Status.NOT_APPLICABLE if outcome.of_client or last is None else last.status
        dialogue = self.dialogue
        facts = {
            **self._origins[self.step.model.name], **self._named(len(self.replies), "", ""), "unit": Unit.DIALOGUE.value, "outcome": outcome.value,
            **({HELD: dialogue[:-1]} if dialogue else {}), **({"problem": self._problem} if self._problem else {}),
        }  # fmt: skip
        store.add_reply(
            benchmark,
            Reply.of(
                self.slots.whole.id, whole_name(model), self.run, status, dialogue[-1].content if dialogue else "",
                provenance=facts,
            ),
        )  # fmt: skip
        if failed:  # the next command asks for the rest
            if last is None or last.status is Status.OK:
                slot = self.slots.turns[len(self.replies)]
                lost = {**facts, "unit": Unit.TURN.value, "turn": len(self.replies) + 1, "error": self._problem}
                lost.pop(HELD, None)
                store.add_reply(benchmark, Reply.of(slot.id, model, self.run, Status.FAILED, provenance=lost))
            return
        for number, slot in enumerate(self.slots.turns[len(self.replies) :], len(self.replies) + 1):
            self._skip(slot, model, Unit.TURN, number, outcome)
        for number, slot in self.slots.clients.items():
            if number > len(self.replies) + (outcome.of_client and len(self.replies) + 1 in self.slots.clients):
                self._skip(slot, self._client_name, Unit.CLIENT, number, outcome)

    def _skip(self, slot: Sample, model: str, unit: Unit, number: int, outcome: Outcome) -> None:
        facts = {**self._named(number, "", ""), "unit": unit.value, "outcome": outcome.value}
        reply = Reply.of(slot.id, model, self.run, Status.NOT_APPLICABLE, provenance=facts)
        self.session.store.add_reply(self.step.benchmark.name, reply)
