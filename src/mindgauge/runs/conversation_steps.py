"""The step of a run in which dialogues are held: person and model under test take turns, each turn a call that is kept.

A dialogue is a chain: each reply knows the one before it, and the dialogue that it answers. So a killed run goes on in the
middle of a dialogue, and what was answered is not asked again. A bot that keeps its state in itself cannot go on: its
dialogue is begun again, which its replies say.
"""

from __future__ import annotations

import contextlib
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.persons import client
from mindgauge.benchmarks.persons.dialogues import Outcome, PersonMode, dialogues, opening_is_fixed, whole_name
from mindgauge.models.bots.bot import Bot
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, HELD, Message, Reply, Sample, Status
from mindgauge.records.request import Request
from mindgauge.runs.conversations import TurnCall, dialogue_tokens, expected_turns, goes_on, replier
from mindgauge.runs.session import system_tokens
from mindgauge.runs.step_outputs import StepOutput, of_dialogues
from mindgauge.runs.steps import PlannedStep, PlannedSubject, ReplyStep, parted, provenance, reply_request

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from mindgauge.benchmarks.persons.dialogues import DialoguePlan, Slots
    from mindgauge.benchmarks.persons.persona import Persona
    from mindgauge.models.bots.bot import Held
    from mindgauge.records import Exchange
    from mindgauge.records.request import Model
    from mindgauge.runs.session import Session
    from mindgauge.store import Store


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
        if goes_on(self.model):
            return answered
        return answered - {(turn.id, run) for slots, run in self._broken_off(store) for turn in slots.turns}

    def _at_hand(self, store: Store) -> Iterator[tuple[Slots, int]]:
        """Return every dialogue whose slots are in the run, and each repeat of it."""
        stored = {*store.sample_ids(self.benchmark.name)}
        samples = (subject.sample for subject in self.subjects() if subject.sample.id in stored)
        return product(dialogues(samples), range(self.repeats))

    def _broken_off(self, store: Store) -> list[tuple[Slots, int]]:
        """Return those of which a turn is not answered."""
        answered = ReplyStep.done(self, store)
        return [
            (slots, run)
            for slots, run in self._at_hand(store)
            if not all((turn.id, run) in answered for turn in slots.turns)
        ]

    def wanted(self, store: Store) -> set[str]:
        """Return the ids of the turns that are asked for."""
        turns = {s.sample.id for s in self.subjects() if s.sample.tags["unit"] == Unit.TURN}
        return turns & {*store.sample_ids(self.benchmark.name)}

    def requests(self, subject: PlannedSubject) -> list[Request]:
        """Return the question that a first turn is; those of later turns follow from the answers."""
        tags = subject.sample.tags
        return super().requests(subject) if (tags["unit"], tags["turn"]) == (Unit.TURN, "1") else []

    def expected(self, store: Store | None, counted: set[Hashable]) -> tuple[PlannedStep, int]:  # noqa: ARG002 - no other step asks so
        """Count the turns that are left, and estimate what they take: each reads all before it, most of it once more."""
        finished = self.done(store) if store is not None else set()
        replied = finished & store.replied(self.benchmark.name, self.model.name) if store is not None else set()
        return expected_turns(self, [*self._calls()], finished, replied)

    def _calls(self) -> Iterator[TurnCall]:
        """Yield the call of every turn. All clients begin with the same words, to which the answer is asked for once."""
        system = system_tokens(self.model)
        for dialogue in dialogues(subject.sample for subject in self.subjects()):
            first = dialogue.tags[BASE] if goes_on(self.model) and opening_is_fixed(dialogue.whole) else dialogue.key
            for run, (number, turn) in product(range(self.repeats), enumerate(dialogue.turns)):
                cached = system + dialogue_tokens(turn, number - 1) if number else 0
                key = (dialogue.key if number else first, number, run)
                yield TurnCall(key, (turn.id, run), system + dialogue_tokens(turn, number), cached)

    async def work(self, session: Session) -> None:
        """Hold the dialogues that the run lacks, and keep every turn."""
        store, benchmark = session.store, self.benchmark
        begun_again = {} if goes_on(self.model) else self._forget_broken_off(store)
        for name in (self.model.name, whole_name(self.model.name)):
            store.forget_failed(benchmark.name, name)
        replies = _replies(store, benchmark.name)
        origins = self._origins()
        chains = [
            _Chain(self, session, origins, slots, run, replies, begun_again.get((slots.key, run), 0))
            for slots, run in self._at_hand(store)
            if any((slot.id, replier(slot, self.model.name), run) not in replies for slot in slots.all)
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

    def _origins(self) -> dict[str, dict[str, Any]]:
        """Return, for each who speaks, what is the same of all that it says."""
        origins = {model.name: provenance(model, {}) for model in self.clients}
        return {**origins, self.model.name: provenance(self.model, self.parameters)}

    async def hold(self, session: Session, slots: Slots, run: int) -> None:
        """Hold one dialogue from its beginning, and keep its turns; `session` may be whatever calls and keeps like one."""
        await _Chain(self, session, self._origins(), slots, run, {}).hold()

    async def _in_rounds(self, session: Session, chains: list[_Chain]) -> None:
        """Let two models of this machine take turns: all messages of the person, then all replies to them."""
        for number in range(1, max(len(chain.slots.turns) for chain in chains) + 1):
            for player in self.clients:
                speaking = [
                    c for c in chains if c.awaits(number, person=True) and c.slots.tags.get("client") == player.name
                ]
                if speaking:
                    async with session.using(player):
                        await session.work(
                            iter([c.speak for c in speaking]), f"{player.name}, turn {number}", len(speaking)
                        )
            for chain in chains:  # fixed words and openings
                if chain.awaits(number, person=True) and not chain.asks_client:
                    await chain.speak()
            answering = [chain for chain in chains if chain.awaits(number, person=False)]
            if answering:
                async with session.using(self.model):
                    await session.work(
                        iter([c.answered for c in answering]), f"{self.model.name}, turn {number}", len(answering)
                    )
        for chain in chains:
            chain.close()
        session.store.flush()

    def _forget_broken_off(self, store: Store) -> dict[tuple[str, int], int]:
        """Drop dialogues with a bot that broke off: what the bot knew of them is gone. Return how often each was begun."""
        replies = _replies(store, self.benchmark.name)
        begun: dict[tuple[str, int], int] = {}
        dropped: list[str] = []
        for slots, run in self._broken_off(store):
            keys = [(slot.id, replier(slot, self.model.name), run) for slot in slots.all]
            existing = [replies[key] for key in keys if key in replies]
            if existing:
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
        session: Session,
        origins: Mapping[str, dict[str, Any]],
        slots: Slots,
        run: int,
        replies: Mapping[tuple[str, str, int], Reply],
        begun_again: int = 0,
    ) -> None:
        self.step, self.session, self.slots, self.run = step, session, slots, run
        self._origins = origins
        self._extra = {"begun_again": begun_again} if begun_again else {}
        self._client = next((m for m in step.clients if m.name == slots.tags.get("client")), None)
        existing = {
            slot.id: replies[key]
            for slot in slots.all
            if (key := (slot.id, replier(slot, step.model.name), run)) in replies
        }
        clients = slots.clients
        self.replies: list[Reply] = []
        self.dialogue: tuple[Message, ...] = ()
        """What was said, as it was held."""
        self.outcome: Outcome | None = None
        self._problem = ""
        self._person: tuple[str, client.Move] | None = None
        """What the person says next, and what the rule allowed."""
        for number, turn in enumerate(slots.turns, 1):
            reply = existing.get(turn.id)
            if reply is None or self._ended or (number in clients and clients[number].id not in existing):
                break
            if reply.status is Status.NOT_APPLICABLE:
                self.outcome = Outcome(reply.provenance["outcome"])
                break
            self._took(reply, msgspec.convert(reply.provenance.get(HELD, ()), tuple[Message, ...]))
        number, answered = len(self.replies) + 1, self._ended
        behind = [*slots.turns[number - 1 :], *(slot for turn, slot in clients.items() if turn > number), slots.whole]
        self.orphans = [] if answered else [existing.pop(slot.id) for slot in behind if slot.id in existing]
        """Replies behind a turn that is lost, as it may be of a run that was salvaged: they answer another dialogue than the
        one that is now gone on with."""
        self._clients_turns = {turn: existing[slot.id] for turn, slot in clients.items() if slot.id in existing}

    @property
    def _ended(self) -> bool:
        return self.outcome is not None or len(self.replies) == len(self.slots.turns)

    @property
    def asks_client(self) -> bool:
        """Whether the person's next message is a client's."""
        return self._client is not None and len(self.replies) + 1 in self.slots.clients

    def awaits(self, number: int, *, person: bool) -> bool:
        """Whether the `person` is to speak in this turn, or else the target is to answer."""
        return not self._ended and (self._person is None) == person and len(self.replies) == number - 1

    def _told(self) -> tuple[Message, ...]:
        """Return what the target is told: the dialogue without what a bot said by itself first."""
        dialogue = self.dialogue
        first = next((place for place, message in enumerate(dialogue) if message.role == "user"), 0)
        return dialogue[first:]

    async def hold(self) -> None:
        """Hold the dialogue to its end. A bot that keeps its state in itself is talked with; any other is told all, each time."""
        model = self.step.model
        async with contextlib.AsyncExitStack() as opened:
            ask = None
            if isinstance(model, Bot) and model.replays:
                ask = await opened.enter_async_context(model.dialogue())
            while not self._ended and self.session.stop is None:
                if self._person is None:
                    await self.speak()
                else:
                    await self.answered(ask)
        if self._ended:
            self.close()
            await self.session.committed()

    async def speak(self) -> None:
        """Let the person say what comes next."""
        number = len(self.replies) + 1
        plan, slot = self.step.dialogues, self.slots.turns[number - 1]
        if plan.mode is PersonMode.SCRIPTED:
            turn = plan.scripts[slot.tags["persona"]].turn[number - 1]
            self._person = slot.messages[-1].content, client.Move(turn.rung, turn.reaction)
        elif not self.asks_client:
            self._person = slot.messages[0].content, client.next_move(plan.personas[slot.tags["persona"]], ())
        else:
            await self._word(number, plan.personas[slot.tags["persona"]])

    def _heard(self) -> list[client.ReplySigns]:
        """Return what each reply did: as it was read at the time; the last one, and what was never read, by our cues."""
        heard, situation = [], self.step.dialogues.persons.situation.id
        for number, reply in enumerate(self.replies, 1):
            message = self._clients_turns.get(number + 1) if number < len(self.replies) else None
            reading = message.provenance.get(client.HEARD, {}) if message is not None else {}
            if reading:
                heard.append(client.ReplySigns(*(sign in reading["did"] for sign in client.ReplySigns._fields)))
            else:
                heard.append(client.reply_signs(reply.text, situation))
        return heard

    async def _word(self, number: int, persona: Persona) -> None:
        """Let the client word what the rule allows; what fails a check is asked for once more.

        The rule goes by our cues, until the client says what the last reply did. Where it then allows something else, the
        client words that.
        """
        assert self._client is not None
        plan, language, dialogue, heard = self.step.dialogues, self.slots.tags["language"], self._told(), self._heard()
        ask = self.session.asker(self._client, self.step.benchmark.name)
        problem, repairs, reader, move = "", 0, client.BY_CUES, client.next_move(persona, heard)
        while True:
            prompt = client.messages(persona, language, dialogue, move, plan.persons.situation, problem)
            form = client.schema(persona, language)
            exchange = await ask(Request(prompt, self.run, {"seed": self.run}, form, sample=self.slots.whole))
            if exchange.status is Status.FAILED:
                self.outcome, self._problem = Outcome.FAILED, f"the client did not answer: {exchange.error}"
                return
            read = client.read(exchange, persona, language, dialogue, move, plan.persons.situation)
            if read.reading is not None and heard and reader == client.BY_CUES:
                heard[-1], reader = read.reading, client.BY_CLIENT
                by_cues, move = move, client.next_move(persona, heard)
                if move != by_cues:
                    continue
            if not read.problem or repairs:
                break
            problem, repairs = read.problem, repairs + 1
        if number not in self._clients_turns:
            signs = [name for name, holds in heard[-1]._asdict().items() if holds] if heard else []
            facts = {
                **self._origins[self._client.name], "rung": move.rung, "reaction": move.reaction,
                HELD: [message for message in dialogue if message.role == "user"], "repairs": repairs,
                **({client.HEARD: {"did": signs, "by": reader}} if form is not None else {}),
                **({"problem": read.problem, "outcome": read.outcome.value} if read.problem else {}),
            }  # fmt: skip
            status = Status.OK if read.text else Status.UNPARSABLE
            self._clients_turns[number] = self._keep(self.slots.clients[number], status, read.text, facts, exchange)
        self._person = read.text, move
        if read.problem:
            self.outcome, self._problem = read.outcome, read.problem

    def _keep(
        self, slot: Sample, status: Status, text: str, facts: Mapping[str, Any], exchange: Exchange | None = None
    ) -> Reply:
        """Keep what is said in a slot, with its place in the dialogue."""
        model, tags = self.step.model.name, self.slots.tags
        place = {
            "target": model, "turn": int(slot.tags["turn"]), "dialogue": self.slots.key, "client": tags.get("client", ""), "rung": "",
            "reaction": "", **({"parent": self.replies[-1].id} if self.replies else {}), **self._extra, "unit": slot.tags["unit"],
        }  # fmt: skip
        usage: dict[str, Any] = {}
        if exchange is not None:
            place |= {"model": exchange.model_resolved, "at": exchange.at}
            usage = {
                "usage": exchange.usage, "seconds": exchange.seconds, "finish_reason": exchange.finish_reason,
            }  # fmt: skip
        reply = Reply.of(slot.id, replier(slot, model), self.run, status, text, provenance={**place, **facts}, **usage)
        self.session.store.add_reply(self.step.benchmark.name, reply)
        return reply

    async def answered(self, say: Held | None = None) -> None:
        """Let the target answer what the person said."""
        assert self._person is not None
        words, move = self._person
        step, store = self.step, self.session.store
        slot, addressed = self.slots.turns[len(self.replies)], (*self._told(), Message("user", words))
        messages = (*(m for m in slot.messages if m.role == "system"), *addressed)
        asked_of = msgspec.structs.replace(slot, messages=messages)
        request = reply_request(step.benchmark, asked_of, self.run, {**step.parameters, **self._extra})
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
        facts = {
            **self._origins[step.model.name], "rung": move.rung, "reaction": move.reaction, "fingerprint": exchange.fingerprint,
            "seed": self.run, HELD: history, **({"unsupported": exchange.unsupported} if exchange.unsupported else {}),
            **({"error": exchange.error} if exchange.error else {}),
            **({"outcome": ended.value} if ended else {}), **step.reasoned(exchange),
        }  # fmt: skip
        reply = self._keep(slot, exchange.status, exchange.text, facts, exchange)
        await self.session.committed()
        self._took(reply, history)

    def _took(self, reply: Reply, history: tuple[Message, ...]) -> None:
        """Go on from a reply, and what it answers."""
        self.replies.append(reply)
        self.dialogue = (*history, Message("assistant", reply.text))
        self._person = None
        if reply.status is not Status.OK:
            self.outcome = Outcome(reply.provenance.get("outcome", Outcome.of_reply(reply.status).value))

    def close(self) -> None:
        """Keep the dialogue as a whole, and that turns which do not come are none."""
        outcome, dialogue, slots, number = (
            self.outcome or Outcome.COMPLETE,
            self.dialogue,
            self.slots,
            len(self.replies),
        )
        last = self.replies[-1].status if self.replies else None
        failed = outcome is Outcome.FAILED and last in {None, Status.OK, Status.FAILED}
        status = Status.NOT_APPLICABLE if outcome.of_client or last is None else last
        if outcome is Outcome.COMPLETE or failed:
            status = Status.FAILED if failed else Status.OK
        facts = {
            **self._origins[self.step.model.name], "outcome": outcome.value, **({"problem": self._problem} if self._problem else {}),
        }  # fmt: skip
        history = {HELD: dialogue[:-1]} if dialogue else {}
        self._keep(slots.whole, status, dialogue[-1].content if dialogue else "", {**facts, "turn": number, **history})
        if failed:  # the next command asks for the rest
            if last in {None, Status.OK}:
                self._keep(slots.turns[number], Status.FAILED, "", {**facts, "error": self._problem})
            return
        last_message = number + (outcome.of_client and number + 1 in slots.clients)
        skipped = [*slots.turns[number:], *(slot for turn, slot in slots.clients.items() if turn > last_message)]
        for slot in skipped:
            self._keep(slot, Status.NOT_APPLICABLE, "", {"outcome": outcome.value})
