"""A benchmark's questions as one file, for those who answer elsewhere: with a column `reply` to fill in, as `rate` reads it back.

What a sample is goes along: its id, its tags (`tag.…`), its cluster and target. So what is read back is the same sample,
variants included. Where a benchmark tells models something beforehand, that stands in `system`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.records import encode
from mindgauge.records.errors import UsageError
from mindgauge.records.files import private
from mindgauge.records.files.mapping import TAG
from mindgauge.records.files.texts import neutralised

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.records import Sample

SUFFIXES = (".csv", ".jsonl", ".parquet")
_ALWAYS = ("category", "language")


def table(samples: Sequence[Sample], system: Sequence[str], plain: Sequence[str], *, computed: bool) -> pl.DataFrame:
    """Return the questions, a row each, with an empty `reply`.

    Args:
        samples: dialogues that end with the person's turn.
        system: what models are told before each.
        plain: tags that have a column under their own name.
        computed: whether a spreadsheet may compute cells, so that a message which looks like a formula is written as JSON.
    """
    tags = sorted({name for sample in samples for name in sample.tags})
    columns: dict[str, list[Any]] = {"id": [sample.id for sample in samples], **_messages(samples, computed=computed)}
    if any(system):
        columns["system"] = list(system)
    for name in plain:
        if name in _ALWAYS or name in tags:
            columns[name] = [sample.tags.get(name) for sample in samples]
    columns["target"] = [None if sample.target is None else str(sample.target) for sample in samples]
    columns["cluster"] = [sample.cluster for sample in samples]
    for name in tags:
        if name not in plain:
            columns[TAG + name] = [sample.tags.get(name) for sample in samples]
    columns["reply"] = [""] * len(samples)
    return pl.DataFrame(columns, dict.fromkeys(columns, pl.String))


def _messages(samples: Sequence[Sample], *, computed: bool) -> dict[str, list[str]]:
    """Return the dialogues: as `user` where each is one message of the person's, which is easier to read."""
    single = all(len(sample.messages) == 1 and sample.messages[0].role == "user" for sample in samples)
    texts = [sample.messages[0].content for sample in samples]
    user = pl.DataFrame({"user": texts}, {"user": pl.String})
    if single and not (computed and not neutralised(user).equals(user)):
        return {"user": texts}
    return {"messages": [encode(sample.messages).decode() for sample in samples]}


def write(path: Path, rows: pl.DataFrame) -> None:
    """Write them by the file's suffix, readable for its owner only; a file that is there stays: somebody may have filled it in.

    Raises:
        UsageError: the suffix is none of ours, the file is there, or it cannot be written.
    """
    suffix = suffix_of(path)
    if path.exists():
        raise UsageError(f"{path} is there already, perhaps with replies; name another file with --out")
    with private.written(path) as file:
        if suffix == ".csv":
            neutralised(rows).write_csv(file, include_bom=True, quote_style="non_numeric")
        elif suffix == ".jsonl":
            file.writelines(encode(_nested(row)) + b"\n" for row in rows.iter_rows(named=True))
        else:
            rows.write_parquet(file, compression="zstd")


def _nested(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for JSON, where a dialogue is a list and not text."""
    return {name: msgspec.json.decode(cell) if name == "messages" else cell for name, cell in row.items()}


def suffix_of(path: Path) -> str:
    """Return which kind of file a path names.

    Raises:
        UsageError: none that is written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{path}: the questions go into a file that ends with {', '.join(SUFFIXES)}")
    return path.suffix.lower()
