"""What became of the dialogues with clients in a run, and what the clients wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.persons.dialogues import PersonMode
from mindgauge.benchmarks.persons.outcomes import CLIENT_FAILURES, Outcome
from mindgauge.benchmarks.persons.state import HEARD
from mindgauge.raters.window import WHOLE, Unit
from mindgauge.records import HELD, Message, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.store import Store

_ENDED = """
SELECT json_extract(provenance, '$.dialogue'), model, run FROM replies
WHERE benchmark = ? AND json_extract(provenance, '$.unit') = ? AND json_extract(provenance, '$.outcome') IN ({})"""
_OF_TARGETS = """
SELECT id, json_extract(provenance, '$.dialogue'), model, run FROM replies
WHERE benchmark = ? AND json_extract(provenance, '$.unit') IN (?, ?)"""


class ClientMessage(NamedTuple):
    """What a client wrote, and what it was allowed to show."""

    id: str
    dialogue: str
    persona: str
    language: str
    turn: int
    text: str
    rung: str
    problem: str
    """What a check found wrong with it; empty where it passed."""
    broke_role: bool
    history: tuple[str, ...]
    """What the person said before."""
    heard_by: str
    """Who read what the reply before did; empty if it was not read."""


class EndedDialogue(NamedTuple):
    """A dialogue that has come to its end, whichever."""

    dialogue: str
    persona: str
    outcome: Outcome
    begun_again: int


class ClientRecord(NamedTuple):
    """All that a client did with one target."""

    client: str
    target: str
    ended: list[EndedDialogue]
    messages: list[ClientMessage]


def records(store: Store, benchmark: Benchmark) -> list[ClientRecord]:
    """Read what each client did with each target, in the order of their names; nothing where no client plays."""
    if not benchmark.holds_dialogues:
        return []
    samples = {
        sample.id: sample for sample in store.samples(benchmark.name) if sample.tags.get("mode") == PersonMode.SIMULATED
    }
    clients = sorted({sample.tags["client"] for sample in samples.values()})
    if not clients:
        return []
    by_pair: dict[tuple[str, str], ClientRecord] = {}
    targets: set[str] = set()
    for reply in store.replies(benchmark.name):
        sample = samples.get(reply.sample)
        if sample is None:
            continue
        unit, client = sample.tags["unit"], sample.tags["client"]
        if unit != Unit.CLIENT:
            target = reply.model.removesuffix(WHOLE)
            targets.add(target)
        else:
            target = reply.model.removeprefix(f"{client} (client of ").removesuffix(")")
        record = by_pair.setdefault((target, client), ClientRecord(client, target, [], []))
        if unit == Unit.DIALOGUE:
            record.ended.append(_ended(sample, reply))
        elif unit == Unit.CLIENT and reply.status is not Status.NOT_APPLICABLE:
            record.messages.append(_message(sample, reply))
    return [
        by_pair.get((target, client), ClientRecord(client, target, [], []))
        for target in sorted(targets)
        for client in clients
    ]


def _place(reply: Reply) -> str:
    return f"{reply.provenance['dialogue']}/{reply.run}"


def _ended(sample: Sample, reply: Reply) -> EndedDialogue:
    facts = reply.provenance
    return EndedDialogue(
        _place(reply), sample.cluster, Outcome(facts["outcome"]), int(facts.get("begun_again", 0))
    )  # fmt: skip


def _message(sample: Sample, reply: Reply) -> ClientMessage:
    facts: dict[str, Any] = reply.provenance
    history = msgspec.convert(facts.get(HELD, ()), tuple[Message, ...])
    return ClientMessage(
        reply.id, _place(reply), sample.cluster, sample.tags["language"], int(facts["turn"]), reply.text,
        facts.get("rung", ""), facts.get("problem", ""), facts.get("outcome") == Outcome.CLIENT_BROKE_ROLE,
        tuple(message.content for message in history), facts.get(HEARD, {}).get("by", ""),
    )  # fmt: skip


def without_client(store: Store, benchmark: Benchmark) -> frozenset[str]:
    """Return the ids of a target's replies in dialogues in which the client failed: they are no evidence of it.

    Args:
        store: of the run.
        benchmark: whose dialogues; there are none where it holds no dialogues.
    """
    if not benchmark.holds_dialogues:
        return frozenset()
    failed: Sequence[str] = [outcome.value for outcome in CLIENT_FAILURES]
    query = _ENDED.format(", ".join("?" * len(failed)))
    ended = {
        (dialogue, model.removesuffix(WHOLE), run)
        for dialogue, model, run in store.select(query, (benchmark.name, Unit.DIALOGUE.value, *failed))
    }
    if not ended:
        return frozenset()
    replies = store.select(_OF_TARGETS, (benchmark.name, Unit.TURN.value, Unit.DIALOGUE.value))
    return frozenset(
        reply for reply, dialogue, model, run in replies if (dialogue, model.removesuffix(WHOLE), run) in ended
    )
