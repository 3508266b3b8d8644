"""The layout's tables as records again: items, replies, and what raters said of either.

An export of ours says of each row what the columns do not (`details`), so that what is loaded is what the run was.
Tables of others have what they have: repeats follow from the order of the rows, and a missing status from what is there.
Ids are those of the tables.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.hub_layout.tables import (
    EXAMPLE,
    EXPECTED,
    RATER,
    REPLIES,
    RESPONSE,
    HubLayout,
    LayoutRow,
    OtherExportError,
    TableKind,
)
from mindgauge.benchmarks.released import Released
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files.bounds import clean
from mindgauge.records.records import Evidence, encode
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.records import Value
    from mindgauge.store import Store

ENTRY_TESTS = "metadata/entry_tests.jsonl"
"""The file of an export that has how its judges did in their entry test: replies of known level, and what they made of them."""
_TEXT = ("messages", "inputs", "input", "text", "user", "prompt", "message")
"""Columns in which the text of an item may be: the first of these that it has."""
_STATUS = {"not_evaluated": Status.FAILED, "not_applicable": Status.NOT_APPLICABLE}
"""What the tables of others say of a rating without a level; where they say anything else, it could not be read."""
_RATER_KIND = {TableKind.JUDGES: RaterKind.MODEL, TableKind.PEOPLE: RaterKind.PERSON}
_REPEATS = 10_000
_DIALOGUE_PLACE = ("client", "target", "turn", "unit")
"""What of a reply's provenance says what of a dialogue it is."""
_RECORDS: dict[str, Any] = {"sample": Sample, "reply": Reply, "rating": Rating}
_MISSING_REPLY = "about a response that is not here; left out"
_REPEATED = "that repeat one; the first is kept"
_NO_LEVEL = "without a score of the scale; kept as unparsable"


def load(benchmark: Benchmark, layout: HubLayout) -> Released:
    """Load a benchmark's part of a folder in this layout: items, replies, and what was said of them.

    Raises:
        OtherExportError: the folder has nothing of this benchmark.
        DataError: a table is broken, or there are no replies.
    """
    reader = LayoutReader(benchmark, layout.part(benchmark.name))
    if benchmark.closed and not layout.exports:
        raise OtherExportError(f"{layout.data}: no labels of {benchmark.name} here; {EXPECTED}")
    if not reader.replies and not benchmark.closed:
        raise MissingDataError(f"{layout.data}: no responses here; {EXPECTED}")
    ratings = reader.ratings()
    answered = {reply.sample for reply in reader.replies.values()}
    samples = [sample for sample in reader.items.values() if layout.exports or sample.id in answered]
    if silent := len(reader.items) - len(samples):
        reader.notes.append(f"{plural(silent, 'item')} of {len(reader.items)} without a response; left out")
    textless = sum(reply.sample in reader.textless for reply in reader.replies.values())
    if textless:
        reader.notes.append(
            f"{plural(textless, 'response')} to items whose text is not here; figures hold, and nobody can rate them further. The "
            "items' table (items/, with example_id and inputs) goes into the same folder"
        )
    return Released(samples, list(reader.replies.values()), ratings, [*reader.notes, *reader.remarked()])


class LayoutReader:
    """What has been read of a folder: items and replies by their ids, those items without a text, and what is to be said."""

    def __init__(self, benchmark: Benchmark, layout: HubLayout) -> None:
        """Read items and replies.

        Raises:
            DataError: a table of them is broken.
        """
        self._layout, self._names = layout, benchmark.layout_names
        self._criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
        self._languages = benchmark.card.languages
        self._remarks: Counter[tuple[str, str]] = Counter()
        self.notes: list[str] = [*layout.notes]
        self.textless: set[str] = set()
        self._protocol = bool(benchmark.protocol)
        self._unlabelled: set[str] = set()
        """Replies to items whose label others left empty: where the label says by what is judged, there was nothing to judge by."""
        self.items: dict[str, Sample] = {}
        for row in sorted(layout.rows(TableKind.ITEMS), key=lambda row: row.whole("position") or 0):
            self.items.setdefault(row.text(EXAMPLE), self._sample(row))
        self.replies: dict[str, Reply] = {}
        repeats: Counter[tuple[str, str]] = Counter()
        for row in (row for kind in REPLIES for row in layout.rows(kind)):
            reply = self._reply(row, repeats)
            if self.replies.setdefault(reply.id, reply) is not reply:
                self._remarks[_REPEATED, row.file] += 1

    def _sample(self, row: LayoutRow) -> Sample:
        said, ident, tags = _messages(row), row.text(EXAMPLE), row.json("tags")
        if said is None:
            self.textless.add(ident)
        if not isinstance(tags, dict):
            source = row.text("source_dataset_id", "dataset_id")
            stated = {
                "category": self._names.label(row.cells.get("label")),
                "language": row.text("language") or (self._languages[0] if len(self._languages) == 1 else ""),
                "split": row.split, "source": self._names.source(source) if source else "",
            }  # fmt: skip
            tags = {name: value for name, value in stated.items() if value}
        sample = Sample.of(
            said or (Message("user", ""),), target=row.json("target"), tags=tags, parts=row.json("parts") or {}
        )
        cluster = row.text("cluster") or (sample.id if said else ident)  # equal texts are one
        return msgspec.structs.replace(sample, id=ident, cluster=cluster)

    def _reply(self, row: LayoutRow, repeats: Counter[tuple[str, str]]) -> Reply:
        example, text, facts = row.text(EXAMPLE), clean(row.text("response_text")), row.details()
        if example not in self.items:
            known = {EXAMPLE: example} if row.exact else {n: cell for n, cell in row.cells.items() if n not in _TEXT}
            self.items[example] = self._sample(LayoutRow(row.file, row.split, row.number, known))
        if self._protocol and not row.exact and "label" in row.cells and not self._names.label(row.cells["label"]):
            self._unlabelled.add(row.text(RESPONSE))
        model = row.text("answer_model") or self._names.model(row.text("answer_model_raw")) or row.table
        refused = row.text("refusal").casefold() in {"true", "1", "1.0", "yes"}
        status = Status.REFUSED if refused else Status.OK if text else Status.FAILED
        if row.exact:
            status = row.word(Status, "status")
        elif raw := row.text("answer_model_raw"):
            facts["model_raw"] = raw
        if (tokens := row.whole("tokens")) is not None:
            facts["tokens"] = tokens
        run = self._repeat(row, "answer_run", repeats, (model, example))
        return Reply(row.text(RESPONSE), example, model, run, status, text, provenance=facts)

    def _repeat(self, row: LayoutRow, column: str, repeats: Counter[Any], subject: tuple[str, ...]) -> int:
        """Return which repeat a row is, from 0: what the column says, or how often its subject came before."""
        stated = row.whole(column)
        if stated is not None and not 0 <= stated <= _REPEATS:
            raise row.fault(f"{column} counts repeats, and is not {stated}")
        repeats[subject] += 1
        return repeats[subject] - 1 if stated is None else stated

    def ratings(self) -> list[Rating]:
        """Read what was said of the replies, or of items.

        Raises:
            DataError: a table is broken.
        """
        found: dict[tuple[str, str, str, int], Rating] = {}
        repeats: Counter[tuple[str, ...]] = Counter()
        for kind in RATER:
            for row in self._layout.rows(kind):
                if row.subject not in (self.replies if row.text(RESPONSE) else self.items):
                    self._remarks[_MISSING_REPLY, row.file] += 1
                    continue
                rating = self._rating(row, kind, repeats)
                key = rating.subject, rating.criterion, rating.rater, rating.run
                if found.setdefault(key, rating) is not rating:
                    self._remarks[_REPEATED, row.file] += 1
        return list(found.values())

    def _rating(self, row: LayoutRow, kind: TableKind, repeats: Counter[tuple[str, ...]]) -> Rating:
        name = row.text("criterion") or next(iter(self._criteria))
        rater = row.rater(kind, self._names.model)
        facts, value = row.details(), row.value(self._criteria.get(name))
        if row.exact:
            status, value = row.word(Status, "score_status"), facts.pop("value", value)
        else:
            status = self._status(row, value, facts)
            if kind is TableKind.PEOPLE and self._names.selection:
                facts["selection"] = self._names.selection
        try:
            evidence = msgspec.convert(facts.pop("evidence", ()), tuple[Evidence, ...])
        except msgspec.ValidationError as error:
            raise row.fault(f"evidence in details is a list of quotations ({error})") from error
        return Rating(
            row.subject, name, rater, _RATER_KIND.get(kind) or row.word(RaterKind, "rater_kind"),
            self._repeat(row, "evaluation_run", repeats, (kind, rater, row.subject, name)), status,
            value if status is Status.OK else None, row.text("explanation"), evidence, row.text("instrument"), facts,
        )  # fmt: skip

    def _status(self, row: LayoutRow, value: Value | None, facts: dict[str, Any]) -> Status:
        """Say what became of a rating in a table of others, and keep what they have in place of a level."""
        if row.subject in self._unlabelled and not row.text("score", "level"):
            return Status.NOT_APPLICABLE
        reply = self.replies.get(row.subject)
        if reply is not None and reply.status is not Status.OK:
            return reply.status  # a score of a refusal says nothing about the model
        if value is not None:
            return Status.OK
        status = _STATUS.get(row.text("score_status"), Status.UNPARSABLE)
        if row.text("score"):
            facts["raw"] = row.cells["score"]
        if status is Status.UNPARSABLE:
            self._remarks[_NO_LEVEL, row.file] += 1
        return status

    def remarked(self) -> Iterator[str]:
        """Say what could not be placed or read, file by file."""
        for (what, file), count in sorted(self._remarks.items()):
            yield f"{file}: {plural(count, 'row')} {what}"


def text_of(row: LayoutRow) -> str:
    """Return what is said in an item; empty where no text of it is here."""
    return "\n".join(message.content for message in _messages(row) or ())


def _messages(row: LayoutRow) -> tuple[Message, ...] | None:
    """Read an item's text: a dialogue, sentences that are one message, or a text; None where there is none.

    Raises:
        DataError: it is none of these.
    """
    name = next((name for name in _TEXT if row.cells.get(name) not in (None, "", [])), None)
    if name is None:
        return None
    cell: Any = row.cells[name]
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        with contextlib.suppress(ValueError):  # a text may begin with a bracket
            cell = json.loads(cell)
    if isinstance(cell, list) and all(isinstance(sentence, str) for sentence in cell):
        cell = "\n".join(cell)
    if isinstance(cell, str):
        return (Message("user", clean(cell)),)
    try:
        return msgspec.convert(cell, tuple[Message, ...])
    except msgspec.ValidationError as error:
        raise row.fault(f"{name} is a text, a list of sentences, or a list of messages ({error})") from error


class ReplyTable(NamedTuple):
    """Replies with the dialogues that they answer, and what is to be said of how they were read."""

    table: pl.DataFrame
    notes: list[str]


def reply_table(benchmark: Benchmark, data: Path) -> ReplyTable:
    """Read the replies of any benchmark in this layout, to be rated by this one.

    Replies that were chosen from others, which are not here, are no sample of their model and are left out.

    Raises:
        DataError: there are none with the text that they answer, or a table is broken.
    """
    import polars as pl

    reader = LayoutReader(benchmark, HubLayout(data))
    if not reader.replies:
        raise MissingDataError(f"{data}: no responses here; {EXPECTED}")
    rows, notes = [], [*reader.notes, *reader.remarked()]
    left_out: Counter[str] = Counter()
    for reply in reader.replies.values():
        sample = reader.items[reply.sample]
        if reply.provenance.get("selection"):
            left_out["they were chosen from others, which are not here"] += 1
        elif sample.id in reader.textless:
            left_out["the text of their items is not here"] += 1
        else:
            rows.append({
                "id": reply.id, "messages": msgspec.json.encode(sample.messages).decode(),
                "reply": reply.text if reply.status is Status.OK else "", "status": reply.status.value, "model": reply.model,
                "run": reply.run, "category": sample.tags.get("category"), "language": sample.tags.get("language"),
                "cluster": sample.cluster,
            })  # fmt: skip
    if not rows:
        raise DataError(
            f"{data}: the text of no item is here, so nobody can rate the responses; the items' table (items/, with example_id and "
            "inputs) goes into the same folder"
        )
    notes += [f"{plural(count, 'response')} left out: {why}" for why, count in left_out.items()]
    return ReplyTable(pl.DataFrame(rows, infer_schema_length=None), notes)


def entry_tests(store: Store, benchmark: Benchmark) -> Iterator[str]:
    """Yield the records of a benchmark's entry tests as JSON, without where and when models were asked."""
    name = benchmark.anchored.name
    for sample in store.samples(name):
        yield encode({"sample": sample}).decode()
    for reply in store.replies(name):
        place = {key: reply.provenance[key] for key in _DIALOGUE_PLACE if key in reply.provenance}
        yield encode({"reply": msgspec.structs.replace(reply, provenance=place, seconds=0.0)}).decode()
    for rating in store.ratings(name):
        yield encode({"rating": msgspec.structs.replace(rating, provenance={})}).decode()


def keep_entry_tests(store: Store, benchmark: Benchmark, layout: HubLayout) -> None:
    """Put the entry tests that an export has of a benchmark into a run.

    Raises:
        DataError: a line is none of their records.
    """
    name = benchmark.anchored.name
    for line_number, line in enumerate(layout.part(benchmark.name).content(ENTRY_TESTS).splitlines(), 1):
        try:
            ((kind, fields),) = msgspec.json.decode(line, type=dict[str, Any]).items()
            record = msgspec.convert(fields, _RECORDS[kind])
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            raise DataError(f"{ENTRY_TESTS}:{line_number}: not a record of an entry test ({error})") from error
        if isinstance(record, Sample):
            store.put_samples(name, [record])
        elif isinstance(record, Reply):
            store.add_reply(name, record)
        else:
            store.add_rating(name, record)
    store.flush()
