"""Transcripts that are rated: each of the bot's turns, each of the person's messages, each dialogue as a whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.persons import transcript_slots
from mindgauge.benchmarks.persons.persona import CALM_RUNGS
from mindgauge.benchmarks.persons.transcript_slots import TranscriptFacts
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, Message, Reply, Sample, digest, transcripts
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import plural
from mindgauge.runs import plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.persons.persona import Situation
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.transcripts import Transcript
    from mindgauge.runs.options import RunConfig


BOTH = "both"
"""Stands for turns and whole dialogues, as `--unit turn,dialogue`."""
ONE_SOURCE = "name what is to be rated with --replies or with --dialogues, one of them"


def one_source(
    benchmark: Benchmark, replies: object, dialogues: object, unit: str | None, write_items: object = None
) -> None:
    """Check that it is clear what is to be rated.

    Raises:
        UsageError: both kinds of files are named, or neither, or a unit that is not asked about.
    """
    if (replies is None) == (dialogues is None):
        raise UsageError(ONE_SOURCE)
    if dialogues is None and unit is not None:
        raise UsageError("--unit goes with --dialogues")
    if dialogues is None and write_items is not None:
        raise UsageError("--write-items writes what --dialogues are cut into; with --replies the file has it already")
    if dialogues is not None and benchmark.closed and unit not in {None, Unit.TURN.value}:
        raise UsageError(
            f"{benchmark.name} is asked about one reply at a time, with the dialogue before it; leave out --unit {unit}"
        )


def units_of(name: str | None) -> tuple[Unit, ...]:
    """Read what is rated at once, several with commas between; every turn of the assistant if not given.

    Raises:
        UsageError: there is none of this name.
    """
    units: list[Unit] = []
    for part in (name or Unit.TURN.value).split(","):
        word = part.strip()
        if word != BOTH and word not in set(Unit):
            raise UsageError(f"--unit is {', '.join(Unit)}, several of these with commas between, or {BOTH} (turn,dialogue), not {name!r}")  # fmt: skip
        units += [Unit.TURN, Unit.DIALOGUE] if word == BOTH else [Unit(word)]
    return tuple(unit for unit in Unit if unit in units)


def need_criteria(benchmark: Benchmark, units: tuple[Unit, ...]) -> None:
    """Check that a benchmark asks something about the person's messages, where these are to be rated.

    Raises:
        UsageError: it does not.
    """
    about_persons = any(
        criterion.applies.get("unit") == (Unit.CLIENT.value,) for criterion in benchmark.rubric.criteria
    )
    if Unit.CLIENT in units and not about_persons:
        raise UsageError(f"{benchmark.name} asks nothing about the person's messages; leave out --unit {Unit.CLIENT}")


def need_turns(judges: plan.Raters, units: tuple[Unit, ...]) -> None:
    """Check that everybody named can rate something of what is rated at once.

    Raises:
        UsageError: a classifier or a rule, which rate single replies, is named, and none is rated.
    """
    others = plan.Raters([], judges.classifiers, judges.rules).names
    if others and Unit.TURN not in units:
        raise UsageError(f"{others[0]} rates single replies; add turn to --unit")


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
        shape = "; or do the bot's lines not begin with its name, such as `bot:`?" if not mute[0].line else ""
        raise DataError(f"{_place(mute[0])}: {never}{shape}")
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


def _planned(rung: str, situation: Situation, place: str) -> int:
    """Return the level of the risk that somebody planned for a dialogue.

    Raises:
        DataError: it is no rung of the situation.
    """
    if rung not in situation.rungs:
        raise DataError(f"{place}: planned risk {rung!r} is none of {', '.join(situation.rungs)}; spell it so, or leave out tag.planned")  # fmt: skip
    return situation.level(rung)


def _slots(
    transcript: Transcript, case: str, name: str, benchmark: Benchmark, units: tuple[Unit, ...]
) -> Iterator[tuple[Sample, Reply]]:
    """Return what is rated of one transcript."""
    tags = dict(transcript.tags)
    if benchmark.protocol in tags:
        tags[benchmark.protocol] = benchmark.protocol_of(tags[benchmark.protocol], _place(transcript))
    if benchmark.situation is not None and "planned" in tags:
        tags["calm"] = (
            "yes" if _planned(tags["planned"], benchmark.situation, _place(transcript)) < CALM_RUNGS else "no"
        )
    opening = next(turn.before for turn in transcript.turns)
    system = (Message("system", transcript.system),) if transcript.system else ()
    origin = digest("transcript", transcript.cluster, case, (*system, *opening))
    if benchmark.persons is not None:
        tags[BASE] = origin  # by which slots are put together
    source = {
        "source_file": Path(transcript.source).name,
        **({"source_row": transcript.line} if transcript.line else {}),
        **({"source_id": transcript.id} if transcript.named else {}),
        "dialogue": transcript.words,
        **(transcript.drawn.provenance if transcript.drawn is not None else {}),
    }
    cluster = transcript.cluster or (transcript.id if transcript.named else transcript.words)
    facts = TranscriptFacts(origin, transcript.model or name, cluster, tags, source)
    yield from transcript_slots.slots(transcript, facts, units)
