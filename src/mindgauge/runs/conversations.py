"""Which dialogues a command means: with whom, how long, and who plays the person."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks import own_texts
from mindgauge.benchmarks.persons import client
from mindgauge.benchmarks.persons.dialogues import (
    TURNS,
    DialoguePlan,
    PersonMode,
    client_name,
    dialogues,
    opening_is_fixed,
    whole_name,
)
from mindgauge.models.bots.bot import Bot
from mindgauge.models.family import same_family
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, Message, Reply, Sample, Status, digest
from mindgauge.records.english import named
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.shell import command_line
from mindgauge.runs.session import tokens
from mindgauge.runs.steps import REPLY_TOKENS, CallStep, PlannedStep, PlannedSubject, ReplyStep

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.persons.dialogues import Slots
    from mindgauge.records.request import Model, Request
    from mindgauge.runs.options import RunConfig
    from mindgauge.runs.step_outputs import StepOutput
    from mindgauge.store import Store


class DialogueBenchmarks(NamedTuple):
    """The benchmarks of a command, those of dialogues with the dialogues that are held, and how these are made."""

    benchmarks: list[Benchmark]
    mode: PersonMode | None
    """None where no dialogues are held."""

    @property
    def record(self) -> dict[str, Any]:
        """What the plan of a run says of its dialogues; nothing where there are none."""
        if self.mode is None:
            return {}
        dialogues = next((b.dialogues for b in self.benchmarks if b.dialogues is not None), None)
        if dialogues is None:  # a table's, each as long as it is there
            return {"person": self.mode.value}
        record: dict[str, Any] = {"person": self.mode.value, "turns": dialogues.turns}
        if self.mode is PersonMode.SIMULATED:
            record |= {"clients": [*dialogues.clients], "client_words": digest(client.prompt_hashes())[:12]}
        return record


def held(
    benchmarks: Sequence[Benchmark], clients: Sequence[str], config: RunConfig, data: Path | None, *, text: bool
) -> DialogueBenchmarks:
    """Give each benchmark of dialogues those that the command means.

    Args:
        benchmarks: of the command.
        clients: the names of the models that play the person.
        config: how models are asked.
        data: the authors' files, where a benchmark's persons stand in them.
        text: whether the run keeps what is said.

    Raises:
        UsageError: the options are no dialogues', do not go together, or the run cannot hold any.
        DataError: the persons are to stand in the authors' files, and do not.
    """
    asking, others = config.asking, [b.name for b in benchmarks if b.persons is None]
    if len(others) == len(benchmarks):
        option = "--client" if clients else "--turns" if asking.turns else "--person" if asking.person else ""
        if option:
            elsewhere = [benchmark.read_persons for benchmark in benchmarks if benchmark.read_persons is not None]
            if data is not None:
                for read in elsewhere:
                    read(data)  # which says what is missing
            hint = "; its persons stand in the authors' files: --data DIR" * len(elsewhere)
            raise UsageError(f"{option} is for dialogues of several turns, and {named(others)} asks for one reply{hint}")  # fmt: skip
        return DialogueBenchmarks([*benchmarks], None)
    if not text:
        raise UsageError("a turn needs what was said before it, so dialogues are not run with --no-text")
    if config.settings.batch:
        raise UsageError("each turn waits for the one before it, and a batch may take a day, so dialogues are not run with --batch")  # fmt: skip
    mode = PersonMode(asking.person or (PersonMode.SIMULATED if clients else PersonMode.SCRIPTED))
    if clients and mode is not PersonMode.SIMULATED:
        raise UsageError(f"--person {mode} takes no --client: the person's words are fixed")
    if mode is PersonMode.SIMULATED and not clients:
        raise UsageError("--person simulated needs a model that plays the person: name it with --client, best two of two families")  # fmt: skip
    return DialogueBenchmarks([_planned(b, mode, asking.turns, tuple(clients), data) for b in benchmarks], mode)


def _planned(
    benchmark: Benchmark, mode: PersonMode, turns: int | None, clients: tuple[str, ...], data: Path | None
) -> Benchmark:
    """Give a benchmark its dialogues. A table of the user's own is stored dialogues, each answered once.

    Raises:
        UsageError: a length is named, and the table says how long each dialogue is.
    """
    if benchmark.persons is None:
        return benchmark
    if data is None or benchmark.read is not own_texts.unreleased:
        plan = DialoguePlan(benchmark.persons(data), mode, turns or TURNS, clients)
        return msgspec.structs.replace(benchmark, dialogues=plan, own=plan.samples, read=lambda _: plan.samples())
    if mode is PersonMode.PREFIXED:
        if turns is not None:
            raise UsageError("--turns is for persons of ours; each row of a table is answered once, where it ends")
        return benchmark

    def refuse(_: Sample) -> Sample:
        raise DataError(
            f"its persons are its own, so {mode} dialogues take no messages of a table; have each answered once with "
            f"--person {PersonMode.PREFIXED}, or rate dialogues that are there: {command_line('rate', benchmark.name, '--dialogues', 'FILE')}"
        )

    return msgspec.structs.replace(benchmark, completed=refuse)


def notes(clients: Sequence[Model], models: Sequence[Model], benchmarks: Sequence[Benchmark]) -> Iterator[str]:
    """Say, before anything is sent, why these clients will allow no score, and what a script cuts short.

    Where a client is tried on the listener alone, no model is under test, and nobody waits for a score.
    """
    for player in clients:
        kin = [model.name for model in models if same_family(player.name, model.name)]
        if kin:
            yield f"{player.name} plays the person for {named(kin)}, of its own family: no score will be shown; name a client of another family"
    if len(clients) == 1 and any(model.name != client.LISTENER for model in models):
        yield "one client plays all persons: a score takes two of different families, since the client changes results; name another with --client"
    for benchmark in benchmarks:
        dialogues = benchmark.dialogues
        if dialogues is None or dialogues.mode is PersonMode.SIMULATED:
            continue
        longest = max((len(script.turn) for script in dialogues.persons.scripts), default=0)
        if dialogues.turns > longest:
            yield f"{benchmark.name}: the scripts have at most {longest} turns, so no dialogue is longer"


PERSON_TOKENS = 45
"""A person's message, and what a client writes, where it is not known yet."""
NOTE_TOKENS = 250
"""What a client is told each turn beside the reply."""


def goes_on(model: Model) -> bool:
    """Say whether a dialogue with a model can be gone on with in another process."""
    return not (isinstance(model, Bot) and model.replays)


class TurnCall(NamedTuple):
    """A call that a turn takes."""

    key: Hashable
    """What it has in common with others, of which only one is made."""
    turn: Hashable
    prompt: int
    """Tokens."""
    cached: int
    """How many of them were read with the turn before."""


def expected_turns(
    step: CallStep, calls: Sequence[TurnCall], finished: Collection[Hashable], asked_for: Collection[Hashable]
) -> tuple[PlannedStep, int]:
    """Count the calls that are left, each once, and estimate what they take.

    Args:
        step: whose they are.
        calls: of all its turns.
        finished: the turns that nothing more has to be asked for.
        asked_for: those of them that were asked for.
    """
    past_keys = {call.key for call in calls if call.turn in finished}
    left = {call.key: call for call in calls if call.key not in past_keys}.values()
    prompt, cached = sum(call.prompt for call in left), sum(call.cached for call in left)
    completion = len(left) * step.answer_tokens
    cost = None if step.model.price is None else step.model.price.of(prompt, completion, cached)
    planned = PlannedStep(step.model.name, step.purpose, len(left), len(left), prompt, completion, cost, cached)
    return planned, len({call.key for call in calls if call.turn in asked_for})


def dialogue_tokens(slot: Sample, replies: int) -> int:
    """Estimate the tokens of a dialogue up to the message after so many replies: of the words that are fixed, and of the rest."""
    fixed = slot.messages[: replies + 1] if opening_is_fixed(slot) else ()
    return tokens(fixed) + replies * REPLY_TOKENS + (replies + 1 - len(fixed)) * PERSON_TOKENS


class ClientStep(ReplyStep, frozen=True, kw_only=True):
    """A client's messages, whose calls are made within the dialogues; for the forecast alone."""

    within: bool = True
    dialogues: DialoguePlan
    targets: tuple[str, ...] = ()
    """The models that it talks to."""

    @property
    def answer_tokens(self) -> int:
        """A message's length."""
        return PERSON_TOKENS

    def requests(self, subject: PlannedSubject) -> list[Request]:  # noqa: ARG002 - each follows from a reply
        """Return nothing: what it is asked follows from the replies."""
        return []

    def outputs(self) -> list[StepOutput]:
        """Return nothing: dialogues leave its messages."""
        return []

    def expected(self, store: Store | None, counted: set[Hashable]) -> tuple[PlannedStep, int]:  # noqa: ARG002 - see `ConversationStep`
        """Estimate what the messages take, as `ConversationStep.expected` does."""
        calls = [
            call
            for dialogue in dialogues(subject.sample for subject in self.subjects())
            if dialogue.tags.get("client") == self.model.name
            for call in self._calls(dialogue)
        ]
        if store is None:
            return expected_turns(self, calls, (), ())

        def kept(turns: Callable[[str, str], set[tuple[str, int]]]) -> set[Hashable]:
            name, client_of = self.benchmark.name, partial(client_name, self.model.name)
            return {(*turn, target) for target in self.targets for turn in turns(name, client_of(target))}

        return expected_turns(self, calls, kept(store.answered), kept(store.replied))

    def _calls(self, dialogue: Slots) -> Iterator[TurnCall]:
        """Yield the call of every message. An opening that it writes is asked for once, whoever answers it."""
        persona, situation = self.dialogues.personas[dialogue.tags["persona"]], self.dialogues.persons.situation
        turn_tokens = REPLY_TOKENS + PERSON_TOKENS
        silence, language = [Message("assistant", "")], dialogue.tags["language"]
        opening = tokens(client.messages(persona, language, silence, client.Move(""), situation)) + NOTE_TOKENS
        earliest = min(dialogue.clients)
        for target, run, (number, slot) in product(self.targets, range(self.repeats), dialogue.clients.items()):
            prompt = opening + (number - 1) * turn_tokens
            # What it was told last turn beside the reply, it is not told again: from there on the prompt is another.
            cached = max(0, prompt - NOTE_TOKENS - turn_tokens - REPLY_TOKENS) if number > earliest else 0
            key = (dialogue.key, number, run, target if number > 1 else "")
            yield TurnCall(key, (slot.id, run, target), prompt, cached)


def replies_to_come(
    store: Store | None, benchmark: str, samples: Sequence[Sample], models: Sequence[Model], runs: int
) -> Iterator[PlannedSubject]:
    """Return what judges will be shown of dialogues: what is there, and a stand-in for what is not.

    What all clients' dialogues begin with is shown once.

    Args:
        store: the run, if it is there.
        benchmark: whose dialogues.
        samples: the slots.
        models: under test.
        runs: repeats of each dialogue.
    """
    replies = [*store.replies(benchmark)] if store is not None else []
    existing = {(r.sample, r.model, r.run): r for r in replies if r.status is not Status.FAILED}
    openings: dict[Hashable, Reply] = {  # by what those to the same opening have in common that another client speaks
        (place["unit"], place["dialogue"].rpartition("/")[0], reply.model, reply.run): reply
        for reply in existing.values()
        if (place := reply.provenance)["turn"] == 1
    }
    to_come: set[Hashable] = set()
    for sample, model, run in product(samples, sorted(models, key=lambda model: model.name), range(runs)):
        name = replier(sample, model.name)
        reply, opening = existing.get((sample.id, name, run)), None
        if reply is None and sample.tags["turn"] == "1" and opening_is_fixed(sample) and goes_on(model):
            opening = (sample.tags["unit"], sample.tags[BASE], name, run)
            reply = openings.get(opening)
        if reply is not None:
            yield PlannedSubject(reply.answered(sample), reply)
        elif opening is None or opening not in to_come:
            to_come.add(opening)
            yield _stand_in(sample, run)


def replier(slot: Sample, model: str) -> str:
    """Return what replies to a slot call who wrote them."""
    names = {Unit.TURN.value: model, Unit.DIALOGUE.value: whole_name(model)}
    return names.get(slot.tags["unit"], client_name(slot.tags.get("client", ""), model))


def _stand_in(sample: Sample, run: int) -> PlannedSubject:
    """Return a subject as long as one that is not written yet."""
    unit, turn = sample.tags["unit"], int(sample.tags["turn"])
    unwritten = Message("user", "x" * 4 * PERSON_TOKENS)
    persons = [*sample.messages[:turn], *[unwritten] * (turn - len(sample.messages))]
    if unit == Unit.CLIENT:
        history, length = persons[:-1], PERSON_TOKENS
    else:
        answer = Message("assistant", "x" * 4 * REPLY_TOKENS)
        history, length = [m for person in persons for m in (person, answer)][:-1], REPLY_TOKENS
    reply = Reply.of(sample.id, "", run, Status.OK, "x" * 4 * length, provenance={"unit": unit})
    return PlannedSubject(msgspec.structs.replace(sample, messages=tuple(history)), reply)
