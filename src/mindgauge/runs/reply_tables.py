"""What exists already, from a file: replies to rate, or dialogues whose last reply a question is about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.persons.dialogues import stored_turn
from mindgauge.raters.classifiers import dialogues
from mindgauge.raters.classifiers.dialogues import groups
from mindgauge.raters.json_objects import apart
from mindgauge.raters.window import Unit
from mindgauge.records import BASE, REASONING, Message, Reply, Sample, Status, digest
from mindgauge.records.drawn import of_row
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, mapping, tables, texts
from mindgauge.records.rounding import plural
from mindgauge.records.shell import command_line
from mindgauge.runs import steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.files.tables import Source
    from mindgauge.records.files.texts import Frame


TAGS = ("category", "language", "risk", "graphic")
"""Columns that become a sample's tags: the last two say yes where somebody is at risk, and where a text is graphic."""
COLUMNS = ("reply", "user", "messages", "id", "model", "run", "target", "cluster", "status", *TAGS, REASONING)
"""Columns that a file of replies or dialogues may have, and that `--map` may name."""
_NOT_CAME = frozenset((Status.FAILED, Status.FILTERED, Status.REFUSED))
"""Statuses that say of an empty reply why it is empty."""


def read_dialogues(
    source: Source, benchmark: Benchmark, columns: Mapping[str, str], limit: int | None = None
) -> tuple[list[Sample], int, int]:
    """Read a file of dialogues with their replies into samples that a closed question about replies is put on.

    Return the dialogues, each once; how many rows said the same again; and how many had no reply.

    Each row's `reply` becomes the last message; where there is no such column, `messages` end with it. `target` (or
    `label`, as in a training file) is the label that people gave. The tag `model` says who wrote the reply; the same
    words by two models are two samples. Where no row names a `cluster`, rows belong together that share turns.

    Raises:
        DataError: the file, a column or a cell is not as expected; the message names the line.
    """
    logged: dict[str, tuple[Sample, str]] = {}
    repeated = absent = 0
    for row, place in rows(source, columns):
        if _not_come(row) is not None or row.get("reply") == "":  # all of it was thinking
            absent += 1
            continue
        sample = _logged(row, benchmark, place)
        first, first_place = logged.setdefault(sample.id, (sample, place))
        if first_place == place:
            if limit is not None and len(logged) >= limit:
                break
            continue
        repeated += 1
        if None not in (first.target, sample.target) and first.target != sample.target:
            raise DataError(
                f"{place}: the same dialogue and reply as {first_place}, labelled {sample.target!r} here and {first.target!r} "
                "there; keep one of them"
            )
        if first.target is None:
            logged[sample.id] = (sample, first_place)
    if not logged:
        raise DataError(f"{_name(source)}: no dialogues in it")
    samples = [sample for sample, _ in logged.values()]
    return samples if any(s.cluster != s.id for s in samples) else _clustered(samples), repeated, absent


def _not_come(row: Mapping[str, Any]) -> Status | None:
    """Return why there is no reply, where a row says so; None where there is one, or nothing is said."""
    stated = texts.words(row, "status").get("status", "").lower()
    return Status(stated) if stated in _NOT_CAME and not str(row.get("reply", "")).strip() else None


def _clustered(samples: Sequence[Sample]) -> list[Sample]:
    """Give samples of one conversation one cluster, the id of the first of them."""
    first: dict[int, str] = {}
    grouped = zip(samples, groups(samples).tolist(), strict=True)
    return [msgspec.structs.replace(s, cluster=first.setdefault(group, s.id)) for s, group in grouped]


def _logged(row: dict[str, Any], benchmark: Benchmark, place: str) -> Sample:
    criterion = benchmark.rubric.criteria[0]
    answer = row.get("target", row.get("label"))
    tags = tags_of(row, "model", *TAGS, "id")
    sample = Sample.of(
        _with_reply(row, place),
        target=None if answer is None else dialogues.label(answer, criterion, place),
        tags=tags,
        cluster=texts.words(row, "cluster").get("cluster", ""),
    )
    if "model" not in tags:
        return sample
    ident = digest(sample.id, tags["model"])
    return msgspec.structs.replace(sample, id=ident, cluster=ident if sample.cluster == sample.id else sample.cluster)


def _with_reply(row: dict[str, Any], place: str) -> tuple[Message, ...]:
    dialogue = texts.dialogue(row, place)
    if "reply" not in row:
        if dialogue[-1].role != "assistant":
            raise DataError(
                f"{place}: no column 'reply' or an empty cell in it, and the messages do not end with one by the assistant; found "
                f"{', '.join(row)}; name it with --map reply=COLUMN"
            )
        reply = dialogue[-1].content
    elif isinstance(row["reply"], str):
        reply = bounds.clean(row["reply"])
        dialogue = (*dialogue, Message("assistant", reply))
    else:
        raise DataError(f"{place}: reply must be text, found {type(row['reply']).__name__}")
    if not reply.strip():
        raise DataError(f"{place}: an empty reply; there is nothing to classify, leave the row out")
    return dialogue


def read_samples(source: str | Path | Frame, benchmark: Benchmark, columns: Mapping[str, str]) -> list[Sample]:
    """Read a file of dialogues that a question is put on as they are; `target` (or `label`) is what people said before.

    Raises:
        DataError: the file, a column or a cell is not as expected; the message names the line.
    """
    by_id: dict[str, Sample] = {}
    for row, place in rows(source, columns):
        answer = row.get("target", row.get("label"))
        sample = Sample.of(
            texts.dialogue(row, place),
            target=None if answer is None else dialogues.label(answer, benchmark.rubric.criteria[0], place),
            tags=tags_of(row, *TAGS, "id"),
            cluster=texts.words(row, "cluster").get("cluster", ""),
        )
        by_id.setdefault(sample.id, sample)
    return list(by_id.values())


def _check_columns(table_rows: list[tuple[dict[str, Any], str]], columns: Mapping[str, str]) -> None:
    """Refuse a table that has no replies, or none of what they answer; both faults at once.

    Raises:
        DataError: one is not there; the message names the columns there are.
    """
    present = {name for row, _ in table_rows for name in row}
    lacking = {
        name: alternative
        for name, alternative in (("reply", ""), ("user", " (or 'messages')"))
        if not present & {name, "messages" if alternative else name}
    }
    if not table_rows or not lacking:
        return
    row, place = table_rows[0]
    file = re.sub(r":\d+$", "", place)
    names = " and ".join(f"{columns.get(name, name)!r}{alternative}" for name, alternative in lacking.items())
    unnamed = ",".join(f"{name}=COLUMN" for name in lacking if columns.get(name, name) == name)
    hint = f"; name {'it' if len(lacking) == 1 else 'them'} with --map {unnamed}" if unnamed else ""
    raise DataError(
        f"{file}: no column{'s' if len(lacking) > 1 else ''} {names}, found {', '.join(row) or 'nothing'}{hint}"
    )


def read_replies(
    source: str | Path | Frame,
    benchmark: Benchmark,
    columns: Mapping[str, str],
    limit: int | None = None,
    notes: list[str] | None = None,
) -> tuple[list[Sample], list[Reply]]:
    """Read a replies file into samples and replies, each once.

    Args:
        source: the file, or a table.
        benchmark: whose samples and replies they become.
        columns: our name → the file's name of a column.
        limit: how many replies are read.
        notes: where to say how many rows repeat earlier ones.

    Raises:
        DataError: the file, a column or a cell is not as expected; the message names the line.
    """
    samples: dict[str, Sample] = {}
    replies: dict[str, Reply] = {}
    repeats: list[tuple[int, int]] = []
    table_rows = list(rows(source, columns))
    _check_columns(table_rows, columns)
    for row, place in table_rows:
        sample, reply = _row({"reply": "", **row}, benchmark, place)
        samples.setdefault(sample.id, sample)
        first = replies.setdefault(reply.id, reply)
        if first is not reply:
            repeats.append((reply.provenance["source_row"], first.provenance["source_row"]))
        if limit is not None and len(replies) >= limit:
            break
    if notes is not None and repeats:
        line, first_line = repeats[0]
        notes.append(
            f"{_name(source)}: {plural(len(repeats), 'row')} {'repeats' if len(repeats) == 1 else 'repeat'} the dialogue, reply, model and run of an earlier "
            f"row (first: line {line} that of line {first_line}); each reply counts once, unless a column `run` numbers repeats"
        )
    if not replies:
        raise DataError(f"{_name(source)}: no replies in it")
    return list(samples.values()), list(replies.values())


def rows(source: Source, columns: Mapping[str, str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Read rows with our column names, and where each stands; a column that the mapping gives another meaning is dropped.

    A cell that is empty, null or no number is not there: what it would say is unknown.

    Raises:
        UsageError: `columns` names something that we do not read.
    """
    column_map = mapping.read(columns, COLUMNS, (mapping.TAG,))
    for line, row in tables.open_table(source, column_map.layout).rows(column_map.columns):
        yield _parted(texts.filled(row)), f"{_name(source)}:{line}"


def _parted(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose reply is without the model's marked thinking, which becomes its `reasoning`."""
    if not isinstance(row.get("reply"), str):
        return row
    text, block = apart(row["reply"])
    before = row[REASONING] if isinstance(row.get(REASONING), str) else ""
    return {**row, "reply": text, **({REASONING: "\n\n".join(filter(None, (before, block)))} if block else {})}


def remarks(source: Source, columns: Mapping[str, str]) -> list[str]:
    """Return what must be known of a file of replies: what is hidden in it, and of a log that its evaluation did not finish."""
    hidden: list[str] = []
    return [*tables.open_table(source, mapping.read(columns, COLUMNS, (mapping.TAG,)).layout, hidden).remarks, *hidden]


def names_models(source: str | Path | Frame, columns: Mapping[str, str]) -> bool:
    """Whether a file has a column that says who wrote a reply; where it has none, the file's own name stands for a model."""
    column_map = mapping.read(columns, COLUMNS, (mapping.TAG,))
    return "model" in {*column_map.columns, *tables.open_table(source, column_map.layout).headers}


def tags_of(row: Mapping[str, Any], *named: str) -> dict[str, str]:
    """Return the tags of a row: those that have columns of their own names, and `tag.…`."""
    others = [name for name in row if name.startswith(mapping.TAG) and name != mapping.TAG]
    return {
        **texts.words(row, *named),
        **{name.removeprefix(mapping.TAG): texts.restored(cell) for name, cell in texts.words(row, *others).items()},
    }


def same_variant(sample: Sample, row: Mapping[str, Any]) -> Sample:
    """Return a variant of another sample under the id that it has: its text alone does not tell which one it is."""
    ident = texts.words(row, "id").get("id", "")
    if BASE not in sample.tags or not ident:
        return sample
    return msgspec.structs.replace(sample, id=ident, cluster=ident if sample.cluster == sample.id else sample.cluster)


def _name(source: Source) -> str:
    return str(source) if isinstance(source, str | Path) else "table"


def _row(row: dict[str, Any], benchmark: Benchmark, place: str) -> tuple[Sample, Reply]:
    path, line = place.rpartition(":")[::2]
    text = row["reply"]
    if not isinstance(text, str):
        raise DataError(f"{place}: reply must be text, found {type(text).__name__}")
    tags, named = tags_of(row, *TAGS), texts.words(row, "id", "model", "cluster")
    if benchmark.protocol in tags:
        tags[benchmark.protocol] = benchmark.protocol_of(tags[benchmark.protocol], place)
    target = row.get("target")
    if target is not None and not isinstance(target, int | str):
        target = str(target)
    dialogue = benchmark.unasked(texts.dialogue(row, place))
    sample = Sample.of(dialogue, target=target, tags=tags, cluster=named.get("cluster", ""))
    sample = _as_turn(same_variant(sample, row), benchmark, place)
    run = texts.whole(row["run"], place, "run") if "run" in row else 0
    status = Status.OK if text.strip() else _not_come(row) or Status.UNPARSABLE
    model = named.get("model", Path(path).stem)
    provenance = {
        **steps.place(sample, model),
        "source_file": Path(path).name,
        "source_row": int(line),
        **({"source_id": named["id"]} if "id" in named else {}),
        **({REASONING: bounds.clean(str(row[REASONING]))} if REASONING in row else {}),
        **(drawn.provenance if (drawn := of_row(row, place)) is not None else {}),
    }
    return sample, Reply.of(sample.id, model, run, status, bounds.clean(text), provenance=provenance)


def _as_turn(sample: Sample, benchmark: Benchmark, place: str) -> Sample:
    """Return what was replied to as a turn of a stored dialogue, where a benchmark is about these.

    Raises:
        DataError: it says of itself that it is none.
    """
    if benchmark.persons is None:
        return sample
    if "unit" not in sample.tags:
        return stored_turn(sample)
    if sample.tags["unit"] != Unit.TURN or not sample.tags.get("turn", "").isdecimal():
        raise DataError(
            f"{place}: a file of replies has single turns (tag.unit is turn, tag.turn a number); whole dialogues are rated "
            f"with {command_line('rate', benchmark.name, '--dialogues', 'FILE')}"
        )
    return sample
