"""Dialogues as a classifier reads them, and labelled ones from a table.

The last message is what is classified: a reply, if the assistant wrote it, or else what the person says.

Columns of a table: `text` or `user` (one message of the person) or `messages` (a list; in a CSV as JSON), `reply` (what
a supporter answered, which is then what is classified), `label`, and optionally `cluster` (the source dialogue),
`split` (train, dev or test) and `language`.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from mindgauge.records import Message, Reply, Sample, Value
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, tables, texts
from mindgauge.records.rubric import Criterion, Level, Rubric, Scale
from mindgauge.records.text import HAN, compatible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.records.files.texts import Frame

Dialogue: TypeAlias = tuple[Message, ...]
Reads: TypeAlias = Literal["reply", "message"]
"""What a classifier classifies: a supporter's reply, or what the person says."""

TAGS = {"system": "[system]", "user": "[seeker]", "assistant": "[supporter]"}
"""What stands before a turn, by its role."""

_TYPED = re.compile(r"\[(system|seeker|supporter)\]")
_BLANK = re.compile(r"\s+")

COLUMNS = ("text", "user", "messages", "reply", "label", "cluster", "split", "language")
EXPECTED = "expected `label` and `text`, `user`, `messages` or `reply` (and optionally cluster, split, language)"
SPLITS = {"train": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev", "test": "test"}

Rows = list[tuple[str, dict[str, Any]]]
"""Where each row stands, for messages, and its cells under our names."""


def dialogue(sample: Sample) -> Dialogue:
    """Return a sample's turns that say something.

    Raises:
        DataError: there are none.
    """
    turns = tuple(message for message in sample.messages if message.content.strip())
    if not turns:
        raise DataError(f"sample {sample.id}: an empty dialogue; there is nothing to classify")
    return turns


def reads(samples: Sequence[Sample]) -> Reads:
    """Return what the samples end with.

    Raises:
        DataError: some end with a reply and some with a message, or one is empty.
    """
    ends: Counter[Reads] = Counter("reply" if dialogue(s)[-1].role == "assistant" else "message" for s in samples)
    if len(ends) > 1:
        raise DataError(
            f"{ends['reply']} dialogues end with a reply and {ends['message']} with the person's message; a classifier "
            "reads one or the other: leave the fewer out, or train two"
        )
    return next(iter(ends))


def with_reply(sample: Sample, reply: Reply) -> Sample:
    """Return the sample with the reply as its last message, so that the reply is what is classified."""
    return msgspec.structs.replace(sample, messages=(*sample.messages, Message("assistant", reply.text)))


def earlier(turns: Dialogue) -> str:
    """Return all turns but the last as one text, each behind its tag; a tag that somebody typed loses its brackets."""
    return "".join(TAGS[turn.role] + _TYPED.sub(r"(\1)", turn.content) for turn in turns[:-1])


def key(messages: Sequence[Message]) -> str:
    """Return what two dialogues have in common that differ in width, letter case and blanks only."""
    return "\0".join(f"{message.role}:{plain(message.content)}" for message in messages)


def plain(text: str) -> str:
    """Return a text without differences of width, letter case and blanks."""
    return _BLANK.sub("", compatible(text).casefold())


def telling(text: str) -> bool:
    """Whether a turn is so long that two dialogues share it only if they come from the same talk.

    15 characters of Chinese (the limit that the dialogues of Dialogue Safety were linked by), or 40 of other scripts,
    which say about as much.
    """
    return len(text) >= (15 if HAN.search(text) else 40)


def rows(source: str | Path | Frame, columns: Mapping[str, str]) -> Rows:
    """Read the rows of a labelled file, with our column names.

    Args:
        source: a file, or a polars, pandas or Arrow table.
        columns: our name → the file's name of a column.

    Raises:
        DataError: the file cannot be read, has another schema, or a row has no label.
        UsageError: `columns` names something that we do not read.
    """
    name = tables.name_of(source)
    numbered = [(f"{name}:{line}", row) for line, row in tables.rows(source, columns, COLUMNS)]
    if not numbered:
        raise DataError(f"{name}: no rows in it; {EXPECTED}")
    present = {column for _, row in numbered for column in row}
    if "label" not in present or not present & {"text", "user", "messages", "reply"}:
        raise DataError(f"{name}: {EXPECTED}, found {', '.join(sorted(present))}; other names go with --map")
    return numbered


def rubric_of(labelled: Rows, name: str) -> Rubric:
    """Make a rubric of the labels that occur, in the order of the alphabet, where no other says what they mean.

    Labels that differ in letter case only are one.

    Raises:
        DataError: there is only one label.
    """
    spellings = sorted({_spelled(row["label"]) for _, row in labelled if row.get("label") is not None} - {""})
    labels = list({spelling.casefold(): spelling for spelling in reversed(spellings)}.values())[::-1]
    if len(labels) < 2:
        raise DataError(f"{name}: needs at least two labels, found {', '.join(labels) or 'none'}")
    levels = tuple(Level(label, {"en": f"labelled {label}"}) for label in labels)
    source = f"the labels of {name}, in the order of the alphabet"
    return Rubric(name, "1", source, (Criterion("label", Scale.NOMINAL, levels, {"en": "Which label fits?"}),))


def samples(labelled: Rows, criterion: Criterion) -> Iterator[Sample]:
    """Turn rows into samples whose targets are the criterion's values and whose tags say split and language.

    Raises:
        DataError: a label is not in the rubric, a dialogue is empty or no dialogue; the message names the line.
    """
    for place, row in labelled:
        tags = {"language": str(row["language"])} if row.get("language") is not None else {}
        if row.get("split") is not None:
            split = str(row["split"]).strip().casefold()
            if split not in SPLITS:
                raise DataError(f"{place}: split must be train, dev or test, found {split!r}")
            tags["split"] = SPLITS[split]
        cluster = "" if row.get("cluster") is None else str(row["cluster"])
        yield Sample.of(
            _messages(row, place), target=label(row.get("label"), criterion, place), tags=tags, cluster=cluster
        )


def label(answer: object, criterion: Criterion, place: str) -> Value:
    """Return the value that a label names, by its own spelling or an alias.

    Raises:
        DataError: it names none; the message has the row and the nearest label.
    """
    spelled = _spelled(answer) if answer is not None else ""
    if not spelled:
        raise DataError(f"{place}: no label; leave the row out, or label it")
    value = criterion.read(spelled)
    if value is not None:
        return value
    spellings = {str(s): str(v.value) for v in criterion.levels for s in (v.value, *v.aliases)}
    near = difflib.get_close_matches(spelled, spellings, 1)
    hint = f"did you mean {spellings[near[0]]!r}?" if near else f"known are {', '.join(map(str, criterion.values))}"
    raise DataError(f"{place}: the label {spelled!r} is not in the rubric: {hint}")


def _spelled(label: object) -> str:
    """Write a cell as a label; a table in memory may have made 1.0 of 1."""
    return str(int(label) if isinstance(label, float) and label.is_integer() else label).strip()


def _messages(row: dict[str, Any], place: str) -> tuple[Message, ...]:
    spoken = {**row, "user": row["text"]} if "text" in row and "messages" not in row else row
    reply = row.get("reply")
    if reply is not None and not isinstance(reply, str):
        raise DataError(f"{place}: reply must be text, found {type(reply).__name__}")
    alone = reply is not None and "user" not in spoken and "messages" not in spoken
    before = () if alone else texts.dialogue(spoken, place)
    if reply is None:
        return before
    if not reply.strip():
        raise DataError(f"{place}: an empty reply; there is nothing to classify")
    return (*before, Message("assistant", bounds.clean(reply)))
