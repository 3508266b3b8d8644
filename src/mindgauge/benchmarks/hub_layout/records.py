"""The layout's tables as records again: items, replies of its responses, ratings of its evaluations and labels.

An export of ours says of each row what the columns of the layout do not (`details`), so that what is loaded and exported
again is the same. Tables of others have what they have: repeats follow from the files that rows name, or from their order,
and a missing status from what is there. Ids that a table gives go along, since other tables are joined by them.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.benchmarks.hub_layout.tables import (
    EVALUATION,
    EXAMPLE,
    EXPECTED,
    LABEL,
    MERGED_ID,
    OUT_OF_RANGE,
    RESPONSE,
    STATED,
    TEXT,
    HubLayout,
    LayoutRow,
    TableKind,
    number,
    repeats,
    whole,
)
from mindgauge.benchmarks.released import Released
from mindgauge.records import Message, RaterKind, Rating, Reply, Sample, Status, digest
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files.bounds import clean
from mindgauge.records.records import encode
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
_STATUS = {
    "ok": Status.OK, "parse_error": Status.UNPARSABLE, OUT_OF_RANGE: Status.UNPARSABLE,
    "not_evaluated": Status.FAILED, "not_applicable": Status.NOT_APPLICABLE,
}  # fmt: skip
_DIALOGUE_PLACE = ("client", "target", "turn", "unit")
"""What of a reply's provenance says what of a dialogue it is."""
_RECORDS: dict[str, Any] = {"sample": Sample, "reply": Reply, "rating": Rating}
_SILENT = "figures hold, and nobody can rate them further"


class OtherExportError(DataError):
    """A folder is the export of another benchmark."""


def load(benchmark: Benchmark, layout: HubLayout) -> Released:
    """Load the replies of a folder in this layout, and everything that was said of them; of a closed question, labels.

    Raises:
        OtherExportError: the folder is another benchmark's export.
        DataError: it has nothing of this one, or a table is broken.
    """
    summary = layout.exported().get("summary", {})
    exported = {str(summary[name]) for name in ("benchmark", "labels_of") if summary.get(name)}
    if exported and benchmark.name not in exported:
        raise OtherExportError(f"{layout.data}: an export of {summary['benchmark']}, not of {benchmark.name}")
    reader = LayoutReader(benchmark, layout)
    return reader.labelled() if benchmark.closed else reader.replied()


class LayoutReader:
    """What has been read of a folder so far: items and replies by the layout's ids, ratings, and what is to be said of them."""

    def __init__(self, benchmark: Benchmark, layout: HubLayout, *, of_any: bool = False) -> None:
        """Read its items, in the order in which an export of ours found them; also those of other benchmarks where `of_any`.

        Raises:
            DataError: a table of them is broken.
        """
        self._benchmark, self._layout, self._names = benchmark, layout, benchmark.layout_names
        self._criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
        self._criterion = next(iter(self._criteria))
        self.items: dict[str, Sample] = {}
        self.textless: set[str] = set()
        """Those of which no text is here."""
        self._replies: dict[str, Reply] = {}
        self._ids: set[str] = set()
        self._ratings: dict[tuple[str, str, str, int], Rating] = {}
        self._remarks: dict[str, Counter[str]] = {}
        self._notes: list[str] = list(layout.notes)
        self._exported = bool(layout.exported())
        self._read_items(of_any=of_any)
        self._listed = len(self.items)

    def _remark(self, what: str, row: LayoutRow) -> None:
        """Count a row that could not be placed or read."""
        self._remarks.setdefault(what, Counter())[row.file] += 1

    # -- items --------------------------------------------------------------------------------------------------------

    def _read_items(self, *, of_any: bool) -> None:
        rows = list(self._layout.rows(TableKind.ITEMS))
        if any("position" in row.cells for row in rows):
            rows.sort(key=lambda row: row.whole("position") or 0)
        gold = {
            row.text(EXAMPLE): (row.json("details") or {}).get("target", row.cells.get("label"))
            for row in self._layout.rows(TableKind.LABELS)
            if row.text("labeller_kind") == RaterKind.GOLD and row.text("benchmark") == self._benchmark.name
        }
        samples: dict[str, Sample] = {}
        for row in rows:
            asking = row.json("benchmarks")
            if row.text(EXAMPLE) not in self.items and (of_any or asking is None or self._benchmark.name in asking):
                sample = self._sample(row, gold.get(row.text(EXAMPLE)))
                self.items[row.text(EXAMPLE)] = samples.setdefault(sample.id, sample)

    def _item(self, row: LayoutRow) -> Sample:
        """Return the item of a row about it; one without a text, where the items lack it."""
        if row.text(EXAMPLE) not in self.items:
            self.items[row.text(EXAMPLE)] = self._sample(row, None)
        return self.items[row.text(EXAMPLE)]

    def _sample(self, row: LayoutRow, target: Value | None) -> Sample:
        said = _messages(row)
        if said is None:
            self.textless.add(row.text(EXAMPLE))
        tags, source = row.json("tags"), row.text("source_dataset_id", "dataset_id")
        languages = self._benchmark.card.languages
        if not isinstance(tags, dict):
            stated = {
                "category": self._names.label(row.cells.get("label")),
                "language": row.text("language") or (languages[0] if len(languages) == 1 else ""),
                "split": row.split, "source": self._names.source(source) if source else "",
            }  # fmt: skip
            tags = {name: value for name, value in stated.items() if value}
        sample = Sample.of(said or (Message("user", ""),), target=target, tags=tags)
        # Texts that are not here are many, and all the same.
        ident = row.text("sample_id") or (sample.id if said else digest("example", row.text(EXAMPLE)))
        return msgspec.structs.replace(sample, id=ident, cluster=row.text("cluster") or ident)

    def labelled(self) -> Released:
        """Read a closed question's part: items with a text, and what people and models labelled them.

        Raises:
            DataError: there are none, or a table is broken.
        """
        samples = {sample.id: sample for ident, sample in self.items.items() if ident not in self.textless}
        if not samples:
            raise MissingDataError(f"{self._layout.data}: no items with a text here; {EXPECTED}")
        for row in self._layout.rows(TableKind.LABELS):
            if row.text("labeller_kind") == RaterKind.GOLD or row.text("benchmark") != self._benchmark.name:
                continue
            sample = self.items.get(row.text(EXAMPLE))
            if sample is None or sample.id not in samples:
                self._remark("about a response that is not here; left out", row)
                continue
            value = row.cells.get(LABEL)
            criterion = self._criteria.get(row.text("criterion") or self._criterion)
            level = criterion.read(value) if criterion is not None and value is not None else None
            unsaid = Status.UNPARSABLE if value is None else Status.OK
            self._state(row, sample.id, "labeller", row.details(), unsaid, level)
        return Released(list(samples.values()), [], list(self._ratings.values()), [*self._notes, *self._remarked()])

    # -- replies ------------------------------------------------------------------------------------------------------

    def replied(self) -> Released:
        """Read an open benchmark's part.

        Raises:
            DataError: there are no responses, or a table is broken.
        """
        self._responses()
        self._review_sets()
        self._people()
        self._judges()
        for row, reply in self._about_replies(TableKind.OTHER):
            facts = row.details()
            value = facts.pop("value", row.cells.get("value"))
            self._state(row, reply.id, "rater", facts, Status.OK, value)
        return self._released()

    def replies_alone(self) -> Released:
        """Read replies, and nothing that was said of them.

        Raises:
            DataError: there are no responses, or a table is broken.
        """
        self._responses()
        return self._released()

    def _released(self) -> Released:
        answered = {reply.sample for reply in self._replies.values()}
        samples = list({sample.id: sample for sample in self.items.values()}.values())
        silent = sum(sample.id not in answered for sample in samples)
        textless = sum(reply.provenance[EXAMPLE] in self.textless for reply in self._replies.values())
        if silent and not self._exported:
            self._notes.append(f"{plural(silent, 'item')} of {self._listed} without a response; they are asked of nobody, and left out")  # fmt: skip
            samples = [sample for sample in samples if sample.id in answered]
        if textless and not self.items.keys() - self.textless:
            self._notes.append(
                f"no items here: {plural(textless, 'response')} stand without the text they answer; {_SILENT}. "
                "Put the items' table beside them (items/, with example_id and inputs)"
            )
        elif textless:
            self._notes.append(f"{plural(textless, 'response')} to items whose text is not here; {_SILENT}")
        notes = [*self._notes, *self._remarked()]
        return Released(samples, list(self._replies.values()), list(self._ratings.values()), notes)

    def _responses(self) -> None:
        """Read replies, also those that are nowhere but with the people who rated them."""
        rows = [row for kind in (TableKind.RESPONSES, TableKind.CHOSEN) for row in self._layout.rows(kind)]
        runs = repeats(rows, "answer_run", lambda row: (row.split, self._model(row)), lambda row: row.text(EXAMPLE))
        for row, run in zip(rows, runs, strict=True):
            self._reply(row, self._model(row), run)
        reviews = {row.text(RESPONSE): row for row in self._layout.rows(TableKind.REVIEW)}
        for row in self._layout.rows(TableKind.PEOPLE):
            if row.text(RESPONSE) not in self._replies and row.text("response_text"):
                reviewed = reviews.get(row.text(RESPONSE), row)
                raw = reviewed.text("answer_model_raw")
                sets = reviewed.review_set()[1] if reviewed is not row else ""
                selection = {"selection": sets or self._names.selection or "chosen for people"}
                self._reply(row, self._model(reviewed), 0, **({"model_raw": raw} if raw else {}), **selection)
        if not self._replies:
            raise MissingDataError(f"{self._layout.data}: no responses here; {EXPECTED}")

    def _model(self, row: LayoutRow) -> str:
        model = row.text("answer_model") or self._names.model(row.text("answer_model_raw"))
        return model or next(reversed(row.names()), "unknown")

    def _reply(self, row: LayoutRow, model: str, run: int, **extra: Any) -> None:
        ident = row.text(RESPONSE)
        if ident in self._replies:
            self._remark("that repeat one; the first is kept", row)
            return
        facts, text = row.details(), row.cells.get("response_text")
        unsaid = Status.REFUSED if row.flag("refusal") else Status.OK if text or row.exact else Status.FAILED
        status = row.status(facts.pop("status", unsaid))
        provenance = {
            **row.origin(), EXAMPLE: row.text(EXAMPLE), RESPONSE: ident, "model_raw": row.text("answer_model_raw") or model,
            **facts, **extra,
        }  # fmt: skip
        if (tokens := row.whole("tokens")) is not None:
            provenance["tokens"] = tokens
        if row.flag("response_is_json"):
            provenance["is_json"] = True
        if LABEL in row.cells or row.exact:
            provenance[LABEL] = self._names.label(row.cells.get(LABEL))
        if not row.exact and (source := row.text("source_dataset_id", "dataset_id")):
            provenance["source_dataset_id"] = source
        reply = Reply.of(self._item(row).id, model, run, status, clean(str(text or "")), provenance=provenance)
        if reply.id in self._ids:  # the same words to the same item, in two rows: each has evaluations of its own
            reply = msgspec.structs.replace(reply, id=digest("reply", reply.id, ident))
        self._ids.add(reply.id)
        self._replies[ident] = reply

    def _review_sets(self) -> None:
        """Tell each reply in which review sets it is."""
        for row, reply in self._about_replies(TableKind.REVIEW):
            stated, name, tail = row.review_set()
            facts = row.details()
            if row.exact and not facts:
                continue  # a set that this program drew: it knows it by the ratings
            if not row.exact:
                runs = row.json("score_runs")
                facts = {"criterion": self._criterion, "mean": number(row.cells.get("score"))}
                facts |= {"runs": [whole(score) for score in runs]} if isinstance(runs, list) and any(runs) else {}
            sets = reply.provenance.setdefault("review_sets", {}).setdefault(name, {})
            rater = row.text("evaluator_model") or self._names.model(row.text("evaluator_model_raw")) or tail
            if stated != (f"{name}__{rater}" if rater else name):
                facts["review_set"] = stated
            sets.setdefault(tail if rater in sets else rater, {
                **row.origin(), "source_file": row.text("source_file"), "source_row": row.whole("source_row"),
                "model_raw": row.text("evaluator_model_raw"), "sampled_from": row.cells.get("sampled_from"),
                "sampled_criteria": row.cells.get("sampled_criteria"), **facts,
            })  # fmt: skip

    # -- ratings ------------------------------------------------------------------------------------------------------

    def _about_replies(self, kind: TableKind) -> Iterator[tuple[LayoutRow, Reply]]:
        """Yield rows with the replies that they are about; those about others are remarked."""
        for row in self._layout.rows(kind):
            reply = self._replies.get(row.text(RESPONSE))
            if reply is None:
                self._remark("about a response that is not here; left out", row)
            else:
                yield row, reply

    def _people(self) -> None:
        for row, reply in self._about_replies(TableKind.PEOPLE):
            facts = row.details()
            if not row.exact:
                sets = next(iter(reply.provenance.get("review_sets", ())), self._names.selection)
                facts |= {"selection": sets} if sets else {}
            run, instrument = int(facts.pop("run", 0)), str(facts.pop("instrument", ""))
            self._rate(row, reply, row.annotator(), RaterKind.PERSON, run, facts, instrument)

    def _judges(self) -> None:
        pairs = list(self._about_replies(TableKind.RAW))
        runs = repeats(
            [row for row, _ in pairs], "evaluation_run",
            lambda row: (self._judge(row), row.split, (reply := self._replies[row.text(RESPONSE)]).model, reply.run),
            lambda row: (row.text(RESPONSE), row.text("criterion")),
        )  # fmt: skip
        for (row, reply), run in zip(pairs, runs, strict=True):
            facts = {**row.details(), **row.raw()}
            if row.text("score_status") == OUT_OF_RANGE:
                facts[STATED] = OUT_OF_RANGE
            name = row.text("evaluator_model_raw")
            facts |= {"model_raw": name} if name else {}
            self._rate(row, reply, self._judge(row), RaterKind.MODEL, run, facts, row.text("instrument"))
        self._means({(self._judge(row), row.text(RESPONSE)) for row, _ in pairs})

    def _judge(self, row: LayoutRow) -> str:
        judge = row.text("evaluator_model") or self._names.model(row.text("evaluator_model_raw"))
        return judge or next(iter(row.names()), "unknown")

    def _means(self, judged: set[tuple[str, str]]) -> None:
        """Take the ids of a judge's means, and its runs out of them where its single judgements are not here."""
        count = 0
        idents: dict[tuple[str, str, str], str] = {}
        for row in self._layout.rows(TableKind.MERGED):
            reply, runs, judge = self._replies.get(row.text(RESPONSE)), row.json("score_runs"), self._judge(row)
            if reply is not None and row.text(EVALUATION):
                idents[reply.id, row.text("criterion") or self._criterion, judge] = row.text(EVALUATION)
            if reply is None or (judge, row.text(RESPONSE)) in judged or not isinstance(runs, list):
                continue
            count += 1
            for run, score in enumerate(runs):
                cells = {k: v for k, v in row.cells.items() if k not in {"score", EVALUATION}}
                alone = row._replace(cells=cells if score is None else {**cells, "score": score})
                facts = {"model_raw": row.text("evaluator_model_raw") or judge}
                self._rate(alone, reply, judge, RaterKind.MODEL, run, facts, "")
        for rating in sorted(self._ratings.values(), key=lambda rating: rating.run) if idents else ():
            if ident := idents.pop((rating.subject, rating.criterion, rating.rater), ""):
                rating.provenance[MERGED_ID] = ident
        if count:
            self._notes.append(f"{plural(count, 'response')} of which only a judge's merged scores are here; its runs are read from score_runs")  # fmt: skip

    def _rate(
        self, row: LayoutRow, reply: Reply, rater: str, kind: RaterKind, run: int, facts: dict[str, Any], instrument: str,
    ) -> None:  # fmt: skip
        criterion = self._criteria.get(row.text("criterion") or self._criterion)
        if criterion is None:
            self._remark("about a response that is not here; left out", row)
            return
        value, stated = row.level(criterion), facts.pop("status", None)
        status = self._status(row, reply, value) if stated is None else row.status(stated)
        if stated is None and status is not Status.OK and row.text("score"):
            facts.setdefault("raw", row.cells["score"])
        if status is Status.UNPARSABLE and not self._exported:
            self._remark("without a score of the scale; kept as unparsable", row)
        self._keep(row, Rating(
            reply.id, criterion.name, rater, kind, run, status, value if status is Status.OK else None, row.text("explanation"),
            instrument=instrument, provenance={**row.origin(), **facts},
        ))  # fmt: skip

    def _status(self, row: LayoutRow, reply: Reply, value: Value | None) -> Status:
        """Say what became of a rating whose table does not say it in our words."""
        unlabelled = bool(self._benchmark.protocol) and LABEL in reply.provenance and reply.provenance[LABEL] is None
        if not row.text("score", "level") and unlabelled:
            return Status.NOT_APPLICABLE
        if reply.status is not Status.OK:
            return reply.status  # a score of a refusal says nothing about the model
        if value is not None:
            return Status.OK
        stated = row.text("score_status")
        return Status.UNPARSABLE if stated == "ok" else _STATUS.get(stated, Status.UNPARSABLE)

    def _state(
        self, row: LayoutRow, subject: str, who: str, facts: dict[str, Any], unsaid: Status, value: Value | None
    ) -> None:
        """Keep what a row says in our own terms: of an item's label, or of a reply where the layout has no table for it."""
        status = row.status(facts.pop("status", unsaid))
        self._keep(row, Rating(
            subject, row.text("criterion") or self._criterion, row.text(who), row.rater_kind(f"{who}_kind"), row.whole("run") or 0,
            status, value, row.text("explanation"), instrument=row.text("instrument"), provenance={**row.origin(), **facts},
        ))  # fmt: skip

    def _keep(self, row: LayoutRow, rating: Rating) -> None:
        key = (rating.subject, rating.criterion, rating.rater, rating.run)
        if self._ratings.setdefault(key, rating) is not rating:
            self._remark("that repeat one; the first is kept", row)

    def _remarked(self) -> Iterator[str]:
        """Say what could not be placed or read, file by file."""
        for what in ("about a response that is not here; left out", "that repeat one; the first is kept", "without a score of the scale; kept as unparsable"):  # fmt: skip
            for file, count in self._remarks.get(what, Counter()).items():
                yield f"{file}: {plural(count, 'row')} {what}"


def text_of(row: LayoutRow) -> str:
    """Return what is said in an item; empty where no text of it is here."""
    return "\n".join(message.content for message in _messages(row) or ())


def _messages(row: LayoutRow) -> tuple[Message, ...] | None:
    """Read an item's text: a dialogue, sentences that are one message, or a text; None where there is none.

    Raises:
        DataError: it is none of these.
    """
    name = next((name for name in TEXT if row.cells.get(name) not in (None, "", [])), None)
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

    reader = LayoutReader(benchmark, HubLayout(data), of_any=True)
    replied = reader.replies_alone()
    rows, textless, chosen = [], 0, 0
    samples = {sample.id: sample for sample in replied.samples}
    for reply in replied.replies:
        origin, sample = reply.provenance, samples[reply.sample]
        if origin.get("selection"):
            chosen += 1
        elif origin[EXAMPLE] in reader.textless:
            textless += 1
        else:
            rows.append({
                "id": origin[RESPONSE], "messages": msgspec.json.encode(sample.messages).decode(),
                "reply": reply.text if reply.status is Status.OK else "", "status": reply.status.value, "model": reply.model,
                "run": reply.run, "category": origin.get(LABEL) or sample.tags.get("category"),
                "language": sample.tags.get("language"), "cluster": sample.cluster,
            })  # fmt: skip
    if not rows:
        raise DataError(
            f"{data}: the text of no item is here, so nobody can rate the responses; put the items' table beside them (items/, "
            "with example_id and inputs)"
        )
    notes = [line for line in replied.notes if "without the text they answer" not in line]
    for count, why in ((textless, "the text of their items is not here"), (chosen, "they were chosen from others, which are not here")):  # fmt: skip
        notes += [f"{plural(count, 'response')} left out: {why}"] if count else []
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


def keep_entry_tests(store: Store, benchmark: Benchmark, text: str) -> None:
    """Put the records of such lines into a run.

    Raises:
        DataError: a line is none of them.
    """
    name = benchmark.anchored.name
    for line_number, line in enumerate(text.splitlines(), 1):
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
