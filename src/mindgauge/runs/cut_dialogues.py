"""Dialogues cut into the items that are rated or labelled: a row each, as a table of replies has them, tied to dialogue and turn.

What is rated at once decides what an item is: a reply of the bot with the dialogue before it, a message of the person with
their own earlier ones, or a whole dialogue. Of a closed question about what a person says it is the dialogue up to a message
of theirs. All items of a dialogue are one cluster, or of all dialogues of a person, where that is known.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.raters.window import Unit
from mindgauge.records import Message, encode, transcripts
from mindgauge.records.drawn import COLUMNS as DRAWN_COLUMNS
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import private
from mindgauge.records.files.input_table import InputTable
from mindgauge.records.files.mapping import TAG
from mindgauge.records.files.texts import neutralised
from mindgauge.records.rounding import plural
from mindgauge.records.transcripts.transcript import Beginning

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    import polars as pl

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.files.input_table import Row
    from mindgauge.records.files.texts import Frame
    from mindgauge.records.transcripts import Transcript

SUFFIXES = (".csv", ".jsonl", ".parquet")
_OWN = ("category", "language", "risk", "graphic")
"""Tags whose columns have no `tag.` before their names."""


class CutItems(NamedTuple):
    """Items, a row each, and what is to be said of how the dialogues were read."""

    rows: list[dict[str, Any]]
    lines: list[str]

    @property
    def table(self) -> pl.DataFrame:
        """The rows as a table, dialogues as JSON; columns in which nothing stands are left out."""
        import polars as pl

        rows = [{name: _cell(row.get(name)) for name in self._columns} for row in self.rows]
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


def cut(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    units: Container[Unit],
    limit: int | None,
) -> CutItems:
    """Cut dialogues into items.

    Args:
        source: as `transcripts.read` takes it.
        benchmark: what is asked.
        columns: as `transcripts.read` takes them.
        units: what is rated at once; of a closed question about what the person says, each message of theirs.
        limit: at most this many dialogues.

    Raises:
        DataError: nothing can be read, or nothing in it can be asked about.
    """
    name = Path(str(source)).stem if isinstance(source, str | Path) else "table"
    read, account = transcripts.read(source, columns, limit)
    uses = Counter(transcript.id for transcript in read)
    rows: list[dict[str, Any]] = []
    mute = 0
    for transcript in read:
        alone = uses[transcript.id] == 1
        ident = (
            transcript.id if alone else f"{transcript.id}~{transcript.model or transcript.words[:8]}~{transcript.run}"
        )
        about = _about(transcript, ident, name)
        own = list(
            _persons(transcript) if _about_person(benchmark) else _units(transcript, units, system=not benchmark.closed)
        )
        mute += not own
        rows += [
            {"id": f"{ident}:{item['unit']}:{item['turn']}", **about, **item, **_known(transcript)} for item in own
        ]
    if not rows:
        raise DataError(
            f"{source}: in these dialogues the assistant never answers the person; there is nothing to rate"
        )
    lines = [] if account.plain else account.lines()
    if mute:
        lines.append(f"Left out: {plural(mute, 'dialogue')} in which the assistant never answers the person")
    return CutItems(rows, lines)


def _about_person(benchmark: Benchmark) -> bool:
    return benchmark.closed and not benchmark.about_reply


def _about(transcript: Transcript, ident: str, name: str) -> dict[str, Any]:
    """Return which dialogue a row is of."""
    return {
        "dialogue": ident, "model": transcript.model or name, "run": transcript.run,
        "cluster": transcript.cluster or (transcript.id if transcript.named else transcript.words),
    }  # fmt: skip


def _known(transcript: Transcript) -> dict[str, Any]:
    """Return what is known of a dialogue: its tags, where it stands, and how it was drawn."""
    drawn = {} if transcript.drawn is None else dict(zip(DRAWN_COLUMNS, transcript.drawn.cells, strict=True))
    tags = {tag if tag in _OWN else TAG + tag: value for tag, value in transcript.tags.items()}
    return {**tags, "source_file": Path(transcript.source).name, "source_row": transcript.line or None, **drawn}


def _persons(transcript: Transcript) -> Iterator[dict[str, Any]]:
    for turn in transcript.turns:
        yield {"unit": Unit.CLIENT.value, "turn": turn.number, "messages": turn.before}


def _units(transcript: Transcript, units: Container[Unit], *, system: bool) -> Iterator[dict[str, Any]]:
    """Return the parts of a dialogue in which the bot answers."""
    told = (Message("system", transcript.system),) if transcript.system and system else ()
    whole = (*told, *transcript.messages)
    said = tuple(message for message in transcript.messages if message.role == "user")
    last = 0
    for turn in transcript.turns:
        if turn.reply is None:
            continue
        last = turn.number
        before = Beginning(whole, len(told) + len(turn.before))
        if Unit.CLIENT in units:
            yield {
                "unit": Unit.CLIENT.value,
                "turn": turn.number,
                "messages": Beginning(said, last - 1),
                "reply": turn.before[-1].content,
            }
        if Unit.TURN in units:
            yield {"unit": Unit.TURN.value, "turn": turn.number, "messages": before, "reply": turn.reply}
    if last and Unit.DIALOGUE in units:
        end = len(whole) - 1 - transcript.unanswered
        yield {
            "unit": Unit.DIALOGUE.value,
            "turn": last,
            "messages": Beginning(whole, end),
            "reply": whole[end].content,
        }


def _cell(cell: Any) -> Any:
    return encode(cell).decode() if isinstance(cell, Beginning) else cell


def write(path: Path, items: CutItems) -> None:
    """Write items by the file's suffix, readable for their owner only; a file that holds just these is left as it is.

    Raises:
        UsageError: the suffix is none of ours, another file is there, or it cannot be written.
    """
    content = written(path.suffix.lower(), items, path)
    with private.writing(path):
        if not path.exists():
            private.write(path, content)
        elif not path.is_file() or path.read_bytes() != content:
            raise UsageError(f"{path} is there already and holds something else; name another file with --write-items")


def written(suffix: str, items: CutItems, path: Path) -> bytes:
    """Return what a file of items holds.

    Raises:
        UsageError: the suffix is none of ours.
    """
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: items go into a file that ends with {', '.join(SUFFIXES)}")
    if suffix == ".jsonl":
        rows: Sequence[dict[str, Any]] = items.rows
        return b"".join(encode({name: cell for name, cell in row.items() if cell is not None}) + b"\n" for row in rows)
    buffer = io.BytesIO()
    if suffix == ".csv":
        neutralised(items.table).write_csv(buffer, include_bom=True, quote_style="non_numeric")
    else:
        items.table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
