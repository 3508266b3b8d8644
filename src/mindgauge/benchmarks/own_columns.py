"""Which tables of a user's hold texts, and in which columns: what a benchmark reads of them, and what to say where none does.

A row has `user` (one message) or `messages` (a whole dialogue), and perhaps `reply`, `id`, `language`, `category`, `split`,
`cluster`, `target` (of the only criterion) or `target.CRITERION`, and tags: `tag.NAME`, or in JSON lines an object `tags`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records import BASE, Message, Sample, languages
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, folder, mapping, tables, texts
from mindgauge.records.files.input_table import text_of
from mindgauge.records.languages import LANGUAGE
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from mindgauge.benchmarks.sampled import SampledBenchmark
    from mindgauge.records import Value
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


def names(benchmark: SampledBenchmark) -> tuple[str, ...]:
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


def prefixes(benchmark: SampledBenchmark) -> tuple[str, ...]:
    """Return what columns begin with that name something of the user's."""
    return (TARGET, TAG, *((mapping.LABEL, mapping.JUDGE) if benchmark.load_mapped is not None else ()))


class TextFile(NamedTuple):
    """A table of texts, or a text file, which is one message."""

    file: Readable
    column_map: ColumnMap
    table: InputTable | None
    text: str = ""


def lying(data: Path) -> tuple[list[Readable], list[str]]:
    """Look at what a path names: a file, a folder, or a zip; what is not there, or no table, is none.

    Returns:
        The tables, or the text files where there is no table, and the other files there, by name.

    Raises:
        DataError: it is a zip that cannot be opened.
    """
    if not data.exists():
        try:
            path = folder.at(data)
        except DataError:
            return [], []
        return [path] if isinstance(path, folder.File) else [], []
    if not data.is_dir() and data.suffix.lower() != ".zip":
        return [data] if data.suffix.lower() in {*tables.ENDINGS, TEXT} else [], []
    below = sorted(tables.lying_in(data)[0], key=lambda file: file.place)
    built = {file.name: file for file in below if str(file.place) in {ITEMS, RECORD}}
    if len(built) > 1:
        return [built[ITEMS]], []
    below = [file for file in below if _CHECKSUMS not in file.place.parts]
    kinds: list[Collection[str]] = [tables.ENDINGS, (TEXT,)]
    read = next(filter(None, ([file for file in below if file.suffix.lower() in kind] for kind in kinds)), [])
    return [*read], [str(f.place) for f in below if f not in read and f.name != mapping.FILE]


def opened(benchmark: SampledBenchmark, data: Path, columns: Mapping[str, str] | None) -> list[TextFile]:
    """Open the tables below a path and see that a column of each is the message; no row is read.

    Raises:
        DataError: there is no table, no column of one is the message, or it is broken.
        UsageError: the mapping names something that is not read.
    """
    files = lying(data)[0]
    if not files:
        endings = ", ".join(sorted(tables.ENDINGS))
        absent = f"no table here ({endings}) and no text file ({TEXT})" if data.exists() else "no such file or folder"
        raise DataError(f"{data}: {absent}")
    return [_opened(benchmark, file, columns, several=len(files) > 1) for file in files]


def _opened(
    benchmark: SampledBenchmark, file: Readable, columns: Mapping[str, str] | None, *, several: bool
) -> TextFile:
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


def _mapped(benchmark: SampledBenchmark, file: Readable, columns: Mapping[str, str] | None) -> ColumnMap:
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


TEXT_COLUMNS = ("user", "messages", "reply")
TAGS = ("id", "language", "category", "split")
SAMPLE_COLUMNS = (*TEXT_COLUMNS, *TAGS, "cluster", "target", "tags")
_SHOWN = 12
"""Lines of a table that are named of one fault, and columns that are named as not read."""


class SampleRules(NamedTuple):
    """What a benchmark asks of its samples."""

    criteria: tuple[Criterion, ...]
    """Empty where they are not known, since the rubric is broken."""
    closed: bool = False
    protocol: str = ""
    """The tag that chooses the wording of levels."""
    language: str = ""
    """Of messages that do not say theirs; where it is not known, what their letters show."""


class SampleTable(NamedTuple):
    """The samples of a table; `faults` says what is wrong, each with its line or 0, `notes` what is to be known."""

    name: str
    samples: list[Sample]
    faults: list[tuple[int, str]]
    notes: list[str]


def read_samples(path: Path, rules: SampleRules) -> SampleTable:
    """Read a table of samples, whose columns are as `columns.toml` beside it says."""
    try:
        file = tables.find(path)
        column_map = mapping.read(mapping.beside(file), SAMPLE_COLUMNS, (TARGET, TAG))
        table = tables.open_table(file, column_map.layout)
    except (DataError, UsageError) as error:
        problem = f"{error}".removeprefix(f"{path}: ")
        beside = f"{mapping.FILE}: {problem[6:]}" if problem.startswith("--map ") else problem
        return SampleTable(path.name, [], [(0, beside)], [])
    reader = _Reader(path.name, rules)
    for name, column in column_map.columns.items():
        try:
            table.places({name: column})
        except DataError as error:
            reader.add(0, f"{error}".removeprefix(f"{table}: "))
    if reader.faults:
        return reader.result()
    try:
        reader.see_columns(table, column_map.columns)
        for line, row in table.rows(column_map.columns):
            reader.take(line, texts.filled(row, said=()))
    except DataError as error:
        reader.add(0, f"{error}".removeprefix(f"{table}: "))
    if not reader.by_id and not reader.faults:
        reader.add(0, "no rows in it; write at least one message")
    return reader.result()


def said(result: SampleTable) -> list[str]:
    """Put the faults of a table into sentences; what is wrong on many lines is said once."""
    lines: dict[str, list[int]] = defaultdict(list)
    for line, text in result.faults:
        lines[text].append(line)
    sentences = []
    for text, numbers in lines.items():
        others = numbers[1 : _SHOWN + 1]
        also = (
            f" (also line {', '.join(map(str, others))}{' …' if len(numbers) > _SHOWN + 1 else ''})" if others else ""
        )
        sentences.append(f"{numbers[0] or ''}: {text}{also}")
    return sentences


class _Reader:
    """Takes rows one by one, and keeps what is wrong with them."""

    def __init__(self, name: str, rules: SampleRules) -> None:
        self.name = name
        self.rules = rules
        self.faults: list[tuple[int, str]] = []
        self.by_id: dict[str, tuple[Sample, int]] = {}
        self.repeated: list[int] = []

    def add(self, line: int, text: str) -> None:
        self.faults.append((line, text))

    def see_columns(self, table: InputTable, columns: Mapping[str, str]) -> None:
        """Look for what no row can make good: no column of messages, targets of criteria that there are not."""
        headers = {*table.headers, *columns}
        if not headers & {"user", "messages"}:
            self.add(0, f"no column user (one message) or messages (a whole dialogue); the columns are {table.columns}; "
                        f'name it with user = "{_longest(table)}" in columns.toml')  # fmt: skip
        names = [criterion.name for criterion in self.rules.criteria]
        for header in sorted(headers):
            if names and header.startswith(TARGET) and header.removeprefix(TARGET) not in names:
                self.add(0, f"the column {header} is of no criterion; they are {', '.join(names)}")
        if "target" in headers and len(names) > 1:
            self.add(0, f"the column target does not say of which criterion; call it target.{names[0]}, or another of {', '.join(names)}")  # fmt: skip

    def take(self, line: int, row: dict[str, Any]) -> None:
        """Read a row; one that holds nothing at all is none."""
        if not row:
            return
        before = len(self.faults)
        messages, tags = self._messages(line, row), self._tags(line, row)
        stated = languages.named(tags.get(LANGUAGE, "")) or self.rules.language
        tags[LANGUAGE] = stated or languages.written(message.content for message in messages)
        target, targets = self._targets(line, row)
        if len(self.faults) > before or not messages:
            return
        cluster = texts.words(row, "cluster").get("cluster", "")
        sample = Sample.of(messages, target=target, tags={**tags, **targets}, cluster=cluster)
        first, first_line = self.by_id.setdefault(sample.id, (sample, line))
        if first_line == line:
            return
        if (first.target, _targets_in(first)) != (sample.target, _targets_in(sample)):
            self.add(line, f"the same text as line {first_line}, with another target; keep one of them")
        self.repeated.append(line)

    def result(self) -> SampleTable:
        notes = []
        if self.repeated:
            rows = "a row repeats" if len(self.repeated) == 1 else f"{len(self.repeated)} rows repeat"
            notes = [f"{rows} a text that stands there before (line {_listed(self.repeated)}), and counts once"]
        return SampleTable(self.name, [sample for sample, _ in self.by_id.values()], self.faults, notes)

    def _messages(self, line: int, row: dict[str, Any]) -> tuple[Message, ...]:
        if "user" in row and not isinstance(row["user"], str):
            row = {**row, "user": text_of(row["user"])}
        if not {"user", "messages"} & row.keys():
            self._add_once(line, "no text: write the person's message, or take the row out")
            return ()
        try:
            messages = texts.dialogue(row, "")
        except DataError as error:
            self.add(line, f"{error}".removeprefix(": "))
            return ()
        if "reply" in row:
            messages = (*messages, Message("assistant", bounds.clean(str(row["reply"]))))
        if not self.rules.closed and messages[-1].role != "user":
            self.add(line, "the dialogue ends with a reply, but replies are what the model under test is to write; take it "
                           "out, or write closed = true into card.toml to ask about it")  # fmt: skip
        return messages

    def _add_once(self, line: int, text: str) -> None:
        if not any(number == 0 and "no column user" in fault for number, fault in self.faults):
            self.add(line, text)

    def _tags(self, line: int, row: dict[str, Any]) -> dict[str, str]:
        try:
            tags = tags_in(row, "", *TAGS)
        except DataError as error:
            self.add(line, f"{error}".removeprefix(": "))
            tags = {}
        self._see_protocol(line, tags)
        return tags

    def _see_protocol(self, line: int, tags: dict[str, str]) -> None:
        protocol = self.rules.protocol
        known = {name for criterion in self.rules.criteria for name in criterion.protocols}
        if protocol and tags.get(protocol) not in known:
            self.add(line, f"the {protocol} {tags.get(protocol, '')!r} has no wording in rubric.toml; write one of {', '.join(sorted(known))}")  # fmt: skip

    def _targets(self, line: int, row: dict[str, Any]) -> tuple[Any, dict[str, str]]:
        """Return the target of the only criterion, and of several criteria theirs as tags."""
        criteria = self.rules.criteria
        several = len(criteria) > 1
        target, targets = None, {}
        for criterion in criteria:
            cell = row.get(f"{TARGET}{criterion.name}", None if several else row.get("target"))
            if cell is None:
                continue
            value = level(criterion, cell)
            if value is None:
                levels = ", ".join(map(str, criterion.values))
                self.add(line, f"the target {str(cell)[:60]!r} is no level of {criterion.name}; write one of {levels}")
            elif several:
                targets[f"{TARGET}{criterion.name}"] = str(value)
            else:
                target = value
        return target, targets


def _targets_in(sample: Sample) -> dict[str, str]:
    return {name: value for name, value in sample.tags.items() if name.startswith(TARGET)}


def unread(headers: Iterable[str], columns: Collection[str]) -> list[str]:
    """Return the columns of a table that are not read: they have no name of ours and are mapped to none."""
    return [
        h for h in headers if h and h not in SAMPLE_COLUMNS and h not in columns and not h.startswith((TARGET, TAG))
    ]


def _listed(items: list[Any]) -> str:
    return ", ".join(map(str, items[:_SHOWN])) + (" …" if len(items) > _SHOWN else "")


def _longest(table: InputTable) -> str:
    """Return the column with the longest texts."""
    lengths = dict(zip(table.headers, lengths_of(table), strict=True))
    return max(filter(None, lengths), key=lengths.__getitem__, default="TEXT")
