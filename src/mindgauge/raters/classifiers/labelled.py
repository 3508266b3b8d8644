"""Labelled dialogues from a table with `label`, a dialogue, and optionally a reply.

Columns: `text` or `user` (one message of the person) or `messages` (a list; in a CSV as JSON), `reply` (what a
supporter answered, which is then what is classified), `label`, and optionally `cluster` (the source dialogue),
`split` (train, dev or test) and `language`.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from mindgauge.records import Message, Sample, Value
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, tables, texts
from mindgauge.records.rubric import Criterion, Level, Rubric, Scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mindgauge.records.files.texts import Frame

COLUMNS = ("text", "user", "messages", "reply", "label", "cluster", "split", "language")
EXPECTED = "expected `label` and `text`, `user`, `messages` or `reply` (and optionally cluster, split, language)"
SPLITS = {"train": "train", "dev": "dev", "val": "dev", "valid": "dev", "validation": "dev", "test": "test"}

Rows = list[tuple[str, dict[str, Any]]]
"""Where each row stands, for messages, and its cells under our names."""


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
        tags = {name: str(row[name]) for name in ("language",) if row.get(name) is not None}
        if row.get("split") is not None:
            tags["split"] = _split(str(row["split"]), place)
        cluster = str(row["cluster"]) if row.get("cluster") is not None else ""
        target = label(row.get("label"), criterion, place)
        yield Sample.of(_messages(row, place), target=target, tags=tags, cluster=cluster)


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


def _split(value: str, place: str) -> str:
    split = SPLITS.get(value.strip().casefold())
    if split is None:
        raise DataError(f"{place}: split must be train, dev or test, found {value!r}")
    return split


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
