"""Transcripts as slots: a dialogue that was held elsewhere stands in a run as one that is held here.

Every turn in which the bot answers is a slot, so is each message of the person that is answered, and the dialogue as a whole.
A message of the person is shown with their earlier ones alone, so whoever rates it is blind to the bot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks.persons.dialogues import client_name, whole_name
from mindgauge.benchmarks.persons.outcomes import Outcome
from mindgauge.raters.window import Unit
from mindgauge.records import HELD, Message, Reply, Sample, Status, digest
from mindgauge.records.transcripts.transcript import Beginning

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from mindgauge.records.transcripts import Transcript

PERSON = "person"
"""Who wrote the person's messages, where nobody says that a model did."""


class TranscriptFacts(NamedTuple):
    """What is known of a transcript beside its words."""

    origin: str
    """What the ids of its slots follow from; two models on one case have the same."""
    model: str
    """Who answers."""
    cluster: str
    tags: Mapping[str, str]
    provenance: Mapping[str, Any]
    """Of every reply, `dialogue` among it."""
    client: str = ""
    """The model that plays the person, if one does."""


def slots(transcript: Transcript, facts: TranscriptFacts, units: Container[Unit]) -> Iterator[tuple[Sample, Reply]]:
    """Return what of a transcript is rated, each slot with what stands in it; nothing where the bot never answers.

    Args:
        transcript: as it was read.
        facts: what is known of it.
        units: what is rated at once.
    """
    turns = [(turn.number, turn.before, turn.reply) for turn in transcript.turns if turn.reply is not None]
    if not turns:
        return
    system = (Message("system", transcript.system),) if transcript.system else ()
    opening = turns[0][1]
    person = client_name(facts.client or PERSON, facts.model)
    parent: dict[str, str] = {}
    persons_messages = tuple(before[-1] for _, before, _ in turns)

    def slot(unit: Unit, number: int, messages: tuple[Message, ...]) -> Sample:
        place = 0 if unit is Unit.DIALOGUE else number  # the same case may be of several lengths
        tags = {**facts.tags, "unit": unit.value, "turn": str(number)}
        return Sample(digest(facts.origin, unit, place), messages, tags=tags, cluster=facts.cluster)

    def reply(
        sample: Sample, name: str, text: str, status: Status, before: Sequence[Message], **facts_of_whole: Any
    ) -> Reply:
        provenance = {
            **facts.provenance, "unit": sample.tags["unit"], "target": facts.model, "turn": int(sample.tags["turn"]),
            **({"client": facts.client} if facts.client else {}), HELD: before, **parent, **facts_of_whole,
        }  # fmt: skip
        return Reply.of(sample.id, name, transcript.run, status, text, provenance=provenance)

    for place, (number, before, text) in enumerate(turns):
        message = before[-1]
        if Unit.CLIENT in units:
            sample = slot(Unit.CLIENT, number, (opening[-1],))
            blind = Beginning(persons_messages, place)
            yield sample, reply(sample, person, message.content, _status(message.content), blind)
        sample = slot(Unit.TURN, number, (*system, *opening))
        answer = reply(sample, facts.model, text, _status(text), before)
        if Unit.TURN in units:
            yield sample, answer
        parent = {"parent": answer.id}
    if Unit.DIALOGUE in units:
        number, before, text = turns[-1]
        sample = slot(Unit.DIALOGUE, number, (*system, *opening))
        unanswered = {"unanswered": True} if transcript.unanswered else {}
        status = _status("".join(text for *_, text in turns))
        name = whole_name(facts.model)
        yield sample, reply(sample, name, text, status, before, outcome=Outcome.COMPLETE.value, **unanswered)


def _status(text: str) -> Status:
    return Status.OK if text.strip() else Status.UNPARSABLE
