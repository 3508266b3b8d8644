"""Transcripts whose replies are rated: each of the bot's turns, each dialogue as a whole, or both."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.persons.dialogues import whole_name
from mindgauge.benchmarks.persons.outcomes import Outcome
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, HELD, Message, Reply, Sample, Status, digest, transcripts
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import plural
from mindgauge.runs import plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.transcripts import Transcript
    from mindgauge.runs.options import RunConfig


BOTH = "both"
_UNITS = (Unit.TURN, Unit.DIALOGUE)
"""What of a transcript can be rated."""
ONE_SOURCE = "name what is to be rated with --replies or with --dialogues, one of them"


def one_source(benchmark: Benchmark, replies: object, dialogues: object, unit: str | None) -> None:
    """Check that it is clear what is to be rated.

    Raises:
        UsageError: both kinds of files are named, or neither, or dialogues where replies are classified.
    """
    if (replies is None) == (dialogues is None):
        raise UsageError(ONE_SOURCE)
    if dialogues is None and unit is not None:
        raise UsageError("--unit goes with --dialogues")
    if dialogues is not None and benchmark.closed:
        raise UsageError(
            f"--dialogues is for benchmarks whose replies are judged; {benchmark.name} classifies the last reply of a "
            "dialogue: use --replies"
        )


def units_of(name: str | None) -> tuple[Unit, ...]:
    """Read what is rated at once; every turn of the assistant if not given.

    Raises:
        UsageError: there is none of this name.
    """
    if name == BOTH:
        return _UNITS
    if name is not None and name not in set(_UNITS):
        raise UsageError(f"--unit is {', '.join(_UNITS)} or {BOTH}, not {name!r}")
    return (Unit(name or Unit.TURN),)


def only_models_rate_whole(judges: plan.Raters, units: tuple[Unit, ...]) -> None:
    """Check that everybody named can rate what is rated at once.

    Raises:
        UsageError: a classifier or a rule is to rate whole dialogues.
    """
    others = plan.Raters([], judges.classifiers, judges.rules).names
    if Unit.DIALOGUE in units and others:
        raise UsageError(f"{others[0]} rates one reply, not a whole dialogue; use --unit turn")


def plan_of(benchmark: Benchmark, units: tuple[Unit, ...], config: RunConfig) -> dict[str, Any]:
    """Write down what decides how dialogues are rated, for the plan of a run."""
    named: dict[str, Any] = {"units": [unit.value for unit in units], "context": config.settings.context}
    if Unit.DIALOGUE in units:
        named["whole_with"] = [
            instrument.of_dialogues.name for instrument in plan.instruments(benchmark, config.judging)
        ]
    return named


class Dialogues(msgspec.Struct, frozen=True):
    """What is to be rated of transcripts, and what is to be said of how they were read, a sentence a line."""

    samples: list[Sample]
    replies: list[Reply]
    lines: list[str]
    model: str
    """What the replies count as whose files name no model: a model by the name of what was handed in."""


def read(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    units: tuple[Unit, ...],
    limit: int | None = None,
) -> Dialogues:
    """Read transcripts. Every turn in which the bot answers is a slot, and so is each dialogue as a whole.

    A slot is a sample, whose messages are what the bot was told and the dialogue up to the person's first message; a reply
    to it has the dialogue before it in its provenance. So transcripts of one id, the same case put to two models, have
    the same slots. All of a persona's, or else of a participant's, are one cluster, as is what has one `cluster`;
    else what has one id.

    Args:
        source: as `transcripts.read` takes it.
        benchmark: whose rubric rates.
        columns: as `transcripts.read` takes them.
        units: what is rated at once.
        limit: at most this many transcripts.

    Raises:
        DataError: no transcript can be read, or one cannot; the message names the file and the line.
    """
    name = Path(str(source)).stem if isinstance(source, str | Path) else "table"
    read_transcripts, account = transcripts.read(source, columns, limit)
    mute = [transcript for transcript in read_transcripts if not _answered(transcript)]
    answered = [transcript for transcript in read_transcripts if _answered(transcript)]
    never = "in this dialogue the assistant never answers the person; there is nothing to rate"
    if not answered:
        raise DataError(f"{_place(mute[0])}: {never}")
    lines = [] if account.plain else account.lines()
    if mute:
        lines.append(f"Left out: {plural(len(mute), 'transcript')} in which the assistant never answers the person ({_place(mute[0])}{', …' if len(mute) > 1 else ''})")  # fmt: skip
    if lines and len(answered) > 1 and not any(transcript.cluster or transcript.named for transcript in answered):
        lines.append("Nothing says which transcripts are of one person, so each counts as another's; name it with --map persona=COLUMN, participant=COLUMN, or file=PATTERN")  # fmt: skip
    ids = Counter((transcript.id, transcript.model, transcript.run) for transcript in answered if transcript.named)
    samples: dict[str, Sample] = {}
    replies: dict[str, Reply] = {}
    for transcript in answered:
        # The same case of two models has the same slots; two dialogues of one model under one id are two.
        case = transcript.id if ids[transcript.id, transcript.model, transcript.run] == 1 else transcript.words
        for sample, reply in _slots(transcript, case, name, benchmark, units):
            samples.setdefault(sample.id, sample)
            replies.setdefault(reply.id, reply)
    model = "" if any(transcript.model for transcript in answered) else name
    return Dialogues(list(samples.values()), list(replies.values()), lines, model)


def _answered(transcript: Transcript) -> bool:
    return any(turn.reply is not None for turn in transcript.turns)


def _place(transcript: Transcript) -> str:
    return f"{transcript.source}:{transcript.line}" if transcript.line else transcript.source


def _slots(
    transcript: Transcript, case: str, name: str, benchmark: Benchmark, units: tuple[Unit, ...]
) -> Iterator[tuple[Sample, Reply]]:
    """Return what is rated of one transcript: its turns that are answered, and the whole."""
    turns = [(turn.number, turn.before, turn.reply) for turn in transcript.turns if turn.reply is not None]
    system = (Message("system", transcript.system),) if transcript.system else ()
    first = (*system, *turns[0][1])
    tags = dict(transcript.tags)
    if benchmark.protocol in tags:
        tags[benchmark.protocol] = benchmark.protocol_of(tags[benchmark.protocol], _place(transcript))
    origin = digest("transcript", transcript.cluster, case, first)
    if benchmark.persons is not None:
        tags[BASE] = origin  # by which slots are put together
    model, parent = transcript.model or name, ""
    source = {
        "source_file": Path(transcript.source).name,
        **({"source_row": transcript.line} if transcript.line else {}),
        **({"source_id": transcript.id} if transcript.named else {}),
        "dialogue": transcript.words,
        **(transcript.drawn.provenance if transcript.drawn is not None else {}),
    }
    cluster = transcript.cluster or (transcript.id if transcript.named else transcript.words)

    def slot(unit: Unit, number: int) -> Sample:
        named = {**tags, "unit": unit.value, "turn": str(number)}
        place = number if unit is Unit.TURN else 0  # the same case may be of several lengths
        return Sample(digest(origin, unit, place), first, tags=named, cluster=cluster)

    def provenance(unit: Unit, number: int, before: tuple[Message, ...]) -> dict[str, Any]:
        return {**source, "unit": unit.value, "turn": number, HELD: before, **({"parent": parent} if parent else {})}

    for number, before, text in turns:
        sample = slot(Unit.TURN, number)
        reply = Reply.of(
            sample.id, model, transcript.run, _status([text]), text, provenance=provenance(Unit.TURN, number, before)
        )
        parent = reply.id
        if Unit.TURN in units:
            yield sample, reply
    if Unit.DIALOGUE in units:
        number, before, text = turns[-1]
        sample, status = slot(Unit.DIALOGUE, number), _status([reply for _, _, reply in turns])
        facts = provenance(Unit.DIALOGUE, number, before) | {
            "outcome": Outcome.COMPLETE.value,
            **({"unanswered": True} if transcript.unanswered else {}),
        }
        yield sample, Reply.of(sample.id, whole_name(model), transcript.run, status, text, provenance=facts)


def _status(texts: list[str]) -> Status:
    return Status.OK if any(text.strip() for text in texts) else Status.UNPARSABLE
