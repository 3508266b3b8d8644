"""Transcripts that are rated or labelled: each of the bot's turns, each of the person's messages, each dialogue as a whole.

What is rated at once decides what an item is. They are slots of a run (`read`), or a row each of a table of replies, tied to
dialogue and turn (`cut`). Of a closed question about what a person says an item is the dialogue up to a message of theirs.
All items of a dialogue are one cluster, or of all dialogues of a person, where that is known.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.persons.dialogues import transcript_parts, transcript_slots
from mindgauge.benchmarks.persons.persona import CALM_RUNGS
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, Message, Reply, Sample, digest, encode, transcripts
from mindgauge.records.drawn import COLUMNS as DRAWN_COLUMNS
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private
from mindgauge.records.files.input_table import InputTable
from mindgauge.records.files.mapping import TAG
from mindgauge.records.files.texts import neutralised
from mindgauge.records.rounding import plural
from mindgauge.records.transcripts.transcript import Beginning
from mindgauge.runs import plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.files.input_table import Row
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.transcripts import Transcript
    from mindgauge.runs.options import RunConfig

BOTH = "both"
"""Stands for turns and whole dialogues, as `--unit turn,dialogue`."""
ONE_SOURCE = "name what is to be rated with --replies or with --dialogues, one of them"
SUFFIXES = (".csv", ".jsonl", ".parquet")
_OWN = ("category", "language", "risk", "graphic")
"""Tags whose columns have no `tag.` before their names."""


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
        raise UsageError(f"{benchmark.name} is asked about one reply at a time, with the dialogue before it; leave out --unit {unit}")  # fmt: skip


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


def check_units(benchmark: Benchmark, units: tuple[Unit, ...], judges: plan.Raters | None = None) -> None:
    """Check that a benchmark asks about what is rated at once, and that all judges can rate some of it.

    Raises:
        UsageError: nothing is asked about the person's messages, or a classifier or a rule, which rate single replies, has none.
    """
    asked = [criterion.applies.get("unit") for criterion in benchmark.rubric.criteria]
    if Unit.CLIENT in units and (Unit.CLIENT.value,) not in asked:
        raise UsageError(f"{benchmark.name} asks nothing about the person's messages; leave out --unit {Unit.CLIENT}")
    others = plan.Raters([], judges.classifiers, judges.rules).names if judges is not None else []
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


class CutItems(NamedTuple):
    """Items, a row each, and what is to be said of how the dialogues were read."""

    rows: list[dict[str, Any]]
    lines: list[str]

    @property
    def table(self) -> pl.DataFrame:
        """The rows as a table, dialogues as JSON; empty columns are left out."""
        import polars as pl

        columns = self._columns
        rows = [{name: _cell(row.get(name)) for name in columns} for row in self.rows]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def shared(self) -> InputTable:
        """The same, read row by row: dialogues are lists, and all items of one share its messages."""
        columns = self._columns

        def cells() -> Iterator[Row]:
            for number, row in enumerate(self.rows, 1):
                yield number, [[*cell] if isinstance(cell, Beginning) else cell for cell in map(row.get, columns)]

        return InputTable(None, columns, cells)

    @property
    def _columns(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows for name, cell in row.items() if cell is not None))


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
    answered, lines = _transcripts(source, columns, limit, asked_of_persons=False)
    if lines and len(answered) > 1 and not any(transcript.cluster or transcript.named for transcript in answered):
        lines.append("Nothing says which transcripts are of one person, so each counts as another's; name it with --map persona=COLUMN, participant=COLUMN, or file=PATTERN")  # fmt: skip
    ids = Counter((transcript.id, transcript.model, transcript.run) for transcript in answered if transcript.named)
    samples: dict[str, Sample] = {}
    replies: dict[str, Reply] = {}
    for transcript in answered:
        # The same case of two models has the same slots; two dialogues of one model under one id are two.
        case = transcript.id if ids[transcript.id, transcript.model, transcript.run] == 1 else transcript.words
        for sample, reply in _slots(transcript, case, _name(source), benchmark, units):
            samples.setdefault(sample.id, sample)
            replies.setdefault(reply.id, reply)
    model = "" if any(transcript.model for transcript in answered) else _name(source)
    return Dialogues(list(samples.values()), list(replies.values()), lines, model)


def cut(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    units: tuple[Unit, ...],
    limit: int | None,
) -> CutItems:
    """Cut dialogues into items: a reply of the bot with the dialogue before it, or a message of the person; see `read`.

    Args:
        source: as `transcripts.read` takes it.
        benchmark: what is asked.
        columns: as `transcripts.read` takes them.
        units: what is rated at once; of a closed question about what the person says, each message of theirs.
        limit: at most this many dialogues.

    Raises:
        DataError: nothing can be read, or nothing in it can be asked about.
    """
    of_persons = benchmark.closed and not benchmark.about_reply
    answered, lines = _transcripts(source, columns, limit, asked_of_persons=of_persons)
    uses = Counter(transcript.id for transcript in answered)
    rows: list[dict[str, Any]] = []
    for transcript in answered:
        ident = transcript.id
        if uses[ident] > 1:
            ident += f"~{transcript.model or transcript.words[:8]}~{transcript.run}"
        system = (Message("system", transcript.system),) if transcript.system and not benchmark.closed else ()
        items: list[dict[str, Any]] = [
            {"unit": unit.value, "turn": turn, "messages": before, "reply": text}
            for unit, turn, before, text in transcript_parts(transcript, units, system)
        ]
        if of_persons:
            items = [
                {"unit": Unit.CLIENT.value, "turn": turn.number, "messages": turn.before} for turn in transcript.turns
            ]
        tags = {tag if tag in _OWN else TAG + tag: value for tag, value in transcript.tags.items()}
        drawn = dict(zip(DRAWN_COLUMNS, transcript.drawn.cells, strict=True)) if transcript.drawn is not None else {}
        place = {"source_file": Path(transcript.source).name, "source_row": transcript.line or None}
        about = {
            "dialogue": ident, "model": transcript.model or _name(source), "run": transcript.run, "cluster": _cluster(transcript),
        }  # fmt: skip
        rows += [{"id": f"{ident}:{i['unit']}:{i['turn']}", **about, **i, **tags, **place, **drawn} for i in items]
    return CutItems(rows, lines)


def write(path: Path, items: CutItems) -> None:
    """Write items by the file's suffix, readable for their owner only; a file that holds just these is left as it is.

    Raises:
        UsageError: the suffix is none of ours, another file is there, or it cannot be written.
    """
    buffer, suffix = io.BytesIO(), path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: items go into a file that ends with {', '.join(SUFFIXES)}")
    if suffix == ".jsonl":
        for row in items.rows:
            buffer.write(encode({name: cell for name, cell in row.items() if cell is not None}) + b"\n")
    elif suffix == ".csv":
        neutralised(items.table).write_csv(buffer, include_bom=True, quote_style="non_numeric")
    else:
        items.table.write_parquet(buffer, compression="zstd")
    with private.writing(path):
        if not path.exists():
            private.write(path, buffer.getvalue())
        elif not path.is_file() or path.read_bytes() != buffer.getvalue():
            raise UsageError(f"{path} is there already and holds something else; name another file with --write-items")


def _transcripts(
    source: str | Path | Frame, columns: Mapping[str, str], limit: int | None, *, asked_of_persons: bool
) -> tuple[list[Transcript], list[str]]:
    """Read the transcripts in which there is something to ask about, and what is to be said of how they were read.

    Raises:
        DataError: there is none; the message names the file and the line.
    """
    listed, account = transcripts.read(source, columns, limit)
    answered: list[Transcript] = []
    mute: list[Transcript] = []
    for transcript in listed:
        askable = any(asked_of_persons or turn.reply is not None for turn in transcript.turns)
        (answered if askable else mute).append(transcript)
    if not answered:
        shape = "; or do the bot's lines not begin with its name, such as `bot:`?" if not mute[0].line else ""
        raise DataError(f"{_place(mute[0])}: in this dialogue the assistant never answers the person; there is nothing to rate{shape}")  # fmt: skip
    lines = [] if account.plain else account.lines()
    if mute:
        lines.append(f"Left out: {plural(len(mute), 'transcript')} in which the assistant never answers the person ({_place(mute[0])}{', …' if len(mute) > 1 else ''})")  # fmt: skip
    return answered, lines


def _slots(
    transcript: Transcript, case: str, name: str, benchmark: Benchmark, units: tuple[Unit, ...]
) -> Iterator[tuple[Sample, Reply]]:
    """Return what is rated of one transcript.

    Raises:
        DataError: the risk that somebody planned for it is no rung of the situation.
    """
    tags, situation = dict(transcript.tags), benchmark.situation
    if benchmark.protocol in tags:
        tags[benchmark.protocol] = benchmark.protocol_of(tags[benchmark.protocol], _place(transcript))
    if situation is not None and (rung := tags.get("planned")) is not None:
        if rung not in situation.rungs:
            raise DataError(f"{_place(transcript)}: planned risk {rung!r} is none of {', '.join(situation.rungs)}; spell it so, or leave out tag.planned")  # fmt: skip
        tags["calm"] = "yes" if situation.level(rung) < CALM_RUNGS else "no"
    opening = next(turn.before for turn in transcript.turns)
    system = (Message("system", transcript.system),) if transcript.system else ()
    origin = digest("transcript", transcript.cluster, case, (*system, *opening))
    if benchmark.persons is not None:
        tags[BASE] = origin  # by which slots are put together
    provenance = {
        "source_file": Path(transcript.source).name,
        **({"source_row": transcript.line} if transcript.line else {}),
        **({"source_id": transcript.id} if transcript.named else {}),
        "dialogue": transcript.words,
        **(transcript.drawn.provenance if transcript.drawn is not None else {}),
    }
    yield from transcript_slots(
        transcript, units, origin=origin, model=transcript.model or name, cluster=_cluster(transcript), tags=tags,
        provenance=provenance,
    )  # fmt: skip


def _cluster(transcript: Transcript) -> str:
    return transcript.cluster or (transcript.id if transcript.named else transcript.words)


def _name(source: str | Path | Frame) -> str:
    return Path(str(source)).stem if isinstance(source, str | Path) else "table"


def _place(transcript: Transcript) -> str:
    return f"{transcript.source}:{transcript.line}" if transcript.line else transcript.source


def _cell(cell: Any) -> Any:
    return encode(cell).decode() if isinstance(cell, Beginning) else cell
