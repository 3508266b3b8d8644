"""Which tables of a user's hold texts, and in which columns: what a benchmark reads of them, and what to say where none does."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records import BASE
from mindgauge.records.errors import DataError
from mindgauge.records.files import bounds, folder, mapping, tables, texts
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.records import Sample, Value
    from mindgauge.records.files.folder import Readable
    from mindgauge.records.files.input_table import InputTable
    from mindgauge.records.files.mapping import ColumnMap
    from mindgauge.records.rubric import Criterion

COLUMNS = (
    "user", "messages", "reply", "id", "language", "target", "category", "cluster", "split", "risk", "graphic", "tags",
)  # fmt: skip
"""Columns that every benchmark reads of such a table; `tags` holds several, as JSON."""
TAG, TARGET = "tag.", "target."
"""Before the name of a tag, or of the criterion that a target is on."""
TEXTS, OWN, FILE = "texts", "own", "file"
"""The tag that says whose the text is, its value, and the tag with the file that it stands in."""
ALSO = ("model", "rater", "source")
"""Columns that `papers load` reads of the same table, and that are told nothing of here; so are `label.…` and `judge.…`."""
BUILT = frozenset({"id", "text", "messages", "source", "licence", "group"})
"""By these columns the items of a data set are known that `dataset build` made: `messages` of a dialogue, else `text` is the
message, and `group` is what belongs together."""
VARIANT = "variant"
"""The column, and the tag, that says what `dataset transform` made of the item in `base`."""
OF_ITEM = frozenset({"text", "group", BASE, VARIANT})
"""What is read of a data set beside `COLUMNS`."""
ITEMS, RECORD = "items.parquet", "dataset.json"
"""The files of such a data set by which its folder is known; what was dropped lies beside them."""
_CHECKSUMS = "checksums"
TEXT = ".txt"
"""The ending of a file that is one message."""
_GLIMPSE = 200
"""Rows by which the longest column is told."""
_WHOLE = regex(r"-?\d+\.0+")
_PROSE = regex(r".{60}|.*[.!?。！？]\s*$|(?:\S+\s+){7}", re.DOTALL)
"""What reads like this is a message and no header: long, a sentence, or many words."""


def names(benchmark: Benchmark) -> tuple[str, ...]:
    """Return the columns that a benchmark reads of such a table."""
    tags = [
        benchmark.protocol, *benchmark.needs, *benchmark.wants, *benchmark.slices, *benchmark.metric_tags,
        *(tag for criterion in benchmark.criteria for tag in (*criterion.applies, criterion.options)),
    ]  # fmt: skip
    loaded = ALSO if benchmark.load_mapped is not None else ()
    return tuple(dict.fromkeys(name for name in (*COLUMNS, *tags, *loaded) if name not in {"", BASE}))


def tags_in(row: Mapping[str, Any], place: str, *plain: str) -> dict[str, str]:
    """Read the tags of a row: the column `tags`, an object of texts or its JSON, and before it columns of their own.

    Args:
        row: without cells that say nothing.
        place: where it stands.
        plain: columns that are tags by their own names, before which go those called `tag.…`.

    Raises:
        DataError: `tags` is no such object; the message names `place`.
    """
    tags = row.get("tags", {})
    if isinstance(tags, str):
        try:
            tags = bounds.json_value(tags)
        except bounds.Fault as fault:
            raise DataError(f"{place}: the column `tags` is not JSON ({fault})") from fault
    if not isinstance(tags, dict) or any(isinstance(value, dict | list) for value in tags.values()):
        raise DataError(
            f'{place}: the column `tags` holds no object of names and texts, {{"topic": "work"}}; write a column tag.topic, or mend it'
        )
    named = {str(name): cell for name, cell in texts.filled(tags).items()}
    stated = {name.removeprefix(TAG): cell for name, cell in row.items() if name.startswith(TAG)}
    return {**texts.words(named, *named), **texts.words(row, *plain), **texts.words(stated, *stated)}


def level(criterion: Criterion, cell: object) -> Value | None:
    """Read a target as a level of a criterion, also 2.0, which a table made of 2; None if it is none."""
    value = criterion.read(cell)
    if value is None and isinstance(cell, str) and _WHOLE.fullmatch(cell.strip()):
        return criterion.read(float(cell))
    return value


def targeted(sample: Sample) -> bool:
    """Whether it is known of a sample what is right, on any criterion."""
    return sample.target is not None or any(tag.startswith(TARGET) for tag in sample.tags)


def prefixes(benchmark: Benchmark) -> tuple[str, ...]:
    """Return what columns begin with that name something of the user's."""
    return (TARGET, TAG, *((mapping.LABEL, mapping.JUDGE) if benchmark.load_mapped is not None else ()))


class TextFile(NamedTuple):
    """A table of texts, or a text file, which is one message."""

    file: Readable
    column_map: ColumnMap
    table: InputTable | None
    text: str = ""


class LyingFiles(NamedTuple):
    """The tables below a path, or the text files where there is no table, and the other files there, by name."""

    files: list[Readable]
    others: list[str]


def lying(data: Path) -> LyingFiles:
    """Look at what a path names: a file, a folder, or a zip; what is not there, or no table, is none.

    Raises:
        DataError: it is a zip that cannot be opened.
    """
    if not data.exists():
        try:
            path = folder.at(data)
        except DataError:
            return LyingFiles([], [])
        return LyingFiles([path] if isinstance(path, folder.File) else [], [])
    if not data.is_dir() and data.suffix.lower() != ".zip":
        return LyingFiles([data] if data.suffix.lower() in {*tables.ENDINGS, TEXT} else [], [])
    below = sorted(tables.lying_in(data)[0], key=lambda file: file.place)
    built = {file.name: file for file in below if str(file.place) in {ITEMS, RECORD}}
    if len(built) > 1:
        return LyingFiles([built[ITEMS]], [])
    below = [file for file in below if _CHECKSUMS not in file.place.parts]
    kinds: list[Collection[str]] = [tables.ENDINGS, (TEXT,)]
    read = next(filter(None, ([file for file in below if file.suffix.lower() in kind] for kind in kinds)), [])
    return LyingFiles([*read], [str(f.place) for f in below if f not in read and f.name != mapping.FILE])


def opened(benchmark: Benchmark, data: Path, columns: Mapping[str, str] | None) -> list[TextFile]:
    """Open the tables below a path and see that a column of each is the message; no row is read.

    Raises:
        DataError: there is no table, no column of one is the message, or it is broken.
        UsageError: the mapping names something that is not read.
    """
    files = lying(data).files
    if not files:
        endings = ", ".join(sorted(tables.ENDINGS))
        absent = f"no table here ({endings}) and no text file ({TEXT})" if data.exists() else "no such file or folder"
        raise DataError(f"{data}: {absent}")
    return [_opened(benchmark, file, columns, several=len(files) > 1) for file in files]


def _opened(benchmark: Benchmark, file: Readable, columns: Mapping[str, str] | None, *, several: bool) -> TextFile:
    column_map = _mapped(benchmark, file, columns)
    layout = tables.suited(file, column_map.layout) if several else column_map.layout
    if file.suffix.lower() == TEXT:
        return TextFile(file, column_map, None, texts.read_text(file, layout.encoding).strip())
    table = tables.open_table(file, layout)
    _refuse_without_message(table, column_map)
    return TextFile(file, column_map, table)


def of_item(row: Mapping[str, Any], mapped: Collection[str]) -> dict[str, Any]:
    """Return a row of a built data set under the names of `COLUMNS`, of which the user has `mapped` some."""
    message = {} if {"messages", "user"} & {*row} else {"user": row.get("text", "")}
    cluster = {} if "cluster" in mapped else {"cluster": row.get("group", "")}
    made = {f"{TAG}{name}": row[name] for name in (BASE, VARIANT) if row.get(name)}
    return {**row, **message, **cluster, **made}


def _mapped(benchmark: Benchmark, file: Readable, columns: Mapping[str, str] | None) -> ColumnMap:
    """Return what the command line, or else the file beside a table, says of the columns, as far as this benchmark reads them."""
    stated, known = columns or mapping.beside(file), {*names(benchmark), *mapping.LAYOUT}
    read = {name: column for name, column in stated.items() if name in known or name.startswith(prefixes(benchmark))}
    return mapping.read(read, names(benchmark), prefixes(benchmark))


def _refuse_without_message(table: InputTable, column_map: ColumnMap) -> None:
    """See that a column is the message.

    Raises:
        DataError: none is; the message names the columns and the mapping that would do.
    """
    if {"user", "messages"} & {*column_map.columns, *table.headers}:
        return
    if not table.headers:
        raise DataError(f"{table}: no rows in it")
    guess = _guess(table)
    way = (
        f"if {guess[0]} is the person's message: --map {guess[1]}"
        if guess
        else "name the person's message with --map user=COLUMN"
    )
    raise DataError(f"{table}: no column `user` or `messages`; the columns are {table.columns}; {way}")


def lengths_of(table: InputTable) -> list[int]:
    """Return how many characters the texts in each column have, over the first rows; numbers have none."""
    lengths = [0] * len(table.headers)
    for _, cells in islice(table.cells(), _GLIMPSE):
        for place, cell in enumerate(islice(cells, len(lengths))):
            lengths[place] += len(cell) if isinstance(cell, str) and not _numeric(cell) else 0
    return lengths


def _guess(table: InputTable) -> tuple[str, str] | None:
    """Return the column with the longest texts, and the mapping that names it; None where no column holds any."""
    lengths = lengths_of(table)
    if not any(lengths):
        lengths = [0 if _numeric(header) else len(header) for header in table.headers]
    if not any(lengths):
        return None
    place = max(range(len(lengths)), key=lengths.__getitem__)
    header = table.headers[place]
    if _PROSE.match(header):
        return f"column {place + 1}", f"header=0,user=#{place + 1}"
    unclear = not header or re.search(r"[,=\"'\s#]", header) or table.headers.count(header) > 1
    named = repr(header) if header else f"column {place + 1}"
    return named, f"user=#{place + 1}" if unclear else f"user={header}"


def _numeric(cell: str) -> bool:
    return not re.search(r"[^\W\d_]", cell)
