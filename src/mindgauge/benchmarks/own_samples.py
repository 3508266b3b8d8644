"""Samples of a benchmark of the user's own, from a table in any form; everything that is wrong with it is said at once.

A row has `user` (one message) or `messages` (a whole dialogue), and perhaps `reply`, `id`, `language`, `category`, `split`,
`cluster`, `target` (of the only criterion) or `target.CRITERION`, and tags: `tag.NAME`, or in JSON lines an object `tags`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.benchmarks import own_columns
from mindgauge.benchmarks.own_columns import TAG, TARGET
from mindgauge.records import Message, Sample, languages
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, mapping, tables, texts
from mindgauge.records.files.input_table import text_of
from mindgauge.records.languages import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from mindgauge.records.files.input_table import InputTable
    from mindgauge.records.rubric import Criterion

TEXTS = ("user", "messages", "reply")
TAGS = ("id", "language", "category", "split")
COLUMNS = (*TEXTS, *TAGS, "cluster", "target", "tags")
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


def read(path: Path, rules: SampleRules) -> SampleTable:
    """Read a table of samples, whose columns are as `columns.toml` beside it says."""
    try:
        file = tables.find(path)
        column_map = mapping.read(mapping.beside(file), COLUMNS, (TARGET, TAG))
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
            tags = own_columns.tags_in(row, "", *TAGS)
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
            value = own_columns.level(criterion, cell)
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
    return [h for h in headers if h and h not in COLUMNS and h not in columns and not h.startswith((TARGET, TAG))]


def _listed(items: list[Any]) -> str:
    return ", ".join(map(str, items[:_SHOWN])) + (" …" if len(items) > _SHOWN else "")


def _longest(table: InputTable) -> str:
    """Return the column with the longest texts."""
    lengths = dict(zip(table.headers, own_columns.lengths_of(table), strict=True))
    return max(filter(None, lengths), key=lengths.__getitem__, default="TEXT")
