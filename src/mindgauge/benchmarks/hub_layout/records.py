"""The layout's tables as records again: replies of its responses, ratings of its evaluations and labels.

An export of ours says of each row what the columns of the layout do not (`details`), so that what is loaded and exported
again is the same. Tables of others have what they have: repeats follow from the files that rows name, or from their order,
and a missing status from what is there. Ids that a table gives go along, since other tables are joined by them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.hub_layout.cells import (
    EVALUATION,
    MERGED_ID,
    annotator,
    details,
    exact,
    level,
    number,
    origin,
    rater_kind,
    raw_of,
    repeats,
    review_set,
    status_of,
    whole,
)
from mindgauge.benchmarks.hub_layout.items import EXAMPLE, LayoutItems
from mindgauge.benchmarks.hub_layout.reading import EXPECTED, HubLayout, LayoutRow, TableKind
from mindgauge.benchmarks.released import Released
from mindgauge.records import RaterKind, Rating, Reply, Status, digest
from mindgauge.records.errors import DataError, MissingDataError
from mindgauge.records.files.bounds import clean
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.records import Value

RESPONSE = "response_id"
"""In a reply's provenance, as `example_id`: the ids that its table gave it and its item."""
LABEL = "label"
"""In a reply's provenance: the label that stands in its row."""
STATED = "score_status"
"""In a rating's provenance: what became of it in the layout's words, where its value does not tell."""
OUT_OF_RANGE = "out_of_range"
"""A rating that was read as a number, and is no level of the rubric."""
_STATUS = {
    "ok": Status.OK, "parse_error": Status.UNPARSABLE, OUT_OF_RANGE: Status.UNPARSABLE,
    "not_evaluated": Status.FAILED, "not_applicable": Status.NOT_APPLICABLE,
}  # fmt: skip


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
    """What has been read of a folder so far: replies by the layout's ids, ratings, and what is to be said of both."""

    def __init__(self, benchmark: Benchmark, layout: HubLayout, *, of_any: bool = False) -> None:
        """Read its items, or, where `of_any`, those of all benchmarks."""
        self._benchmark, self._layout, self._names = benchmark, layout, benchmark.layout_names
        self._criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
        self.items = LayoutItems(benchmark, layout, of_any=of_any)
        self._replies: dict[str, Reply] = {}
        self._ids: set[str] = set()
        self._ratings: dict[tuple[str, str, str, int], Rating] = {}
        self._strangers: Counter[str] = Counter()
        self._repeated: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()
        self._notes: list[str] = list(layout.notes)
        self._listed = 0

    def replied(self) -> Released:
        """Read an open benchmark's part.

        Raises:
            DataError: there are no responses, or a table is broken.
        """
        self._read_replies()
        self._review_sets()
        self._people()
        self._judges()
        self._others()
        return self._released()

    def replies_alone(self) -> Released:
        """Read replies, and nothing that was said of them.

        Raises:
            DataError: there are no responses, or a table is broken.
        """
        self._read_replies()
        return self._released()

    def _read_replies(self) -> None:
        self._listed = len(self.items.by_id)
        self._responses()
        self._chosen()
        if not self._replies:
            raise MissingDataError(f"{self._layout.data}: no responses here; {EXPECTED}")

    def _released(self) -> Released:
        answered = {reply.sample for reply in self._replies.values()}
        samples = list({sample.id: sample for sample in self.items.by_id.values()}.values())
        silent = sum(sample.id not in answered for sample in samples)
        textless = sum(reply.provenance[EXAMPLE] in self.items.textless for reply in self._replies.values())
        present = {ident for ident in self.items.by_id if ident not in self.items.textless}
        if silent and not self._layout.exported():
            self._notes.append(
                f"{plural(silent, 'item')} of {self._listed} without a response; they are asked of nobody, and left out"
            )
            samples = [sample for sample in samples if sample.id in answered]
        if textless and not present:
            self._notes.append(
                f"no items here: {plural(textless, 'response')} stand without the text they answer; figures hold, and nobody can "
                "rate them further. Put the items' table beside them (items/, with example_id and inputs)"
            )
        elif textless:
            self._notes.append(f"{plural(textless, 'response')} to items whose text is not here; figures hold, and nobody can rate them further")  # fmt: skip
        return Released(
            samples, list(self._replies.values()), list(self._ratings.values()), [*self._notes, *self._remarks()]
        )

    def labelled(self) -> Released:
        """Read a closed question's part: items with a text, and what people and models labelled them.

        Raises:
            DataError: there are none, or a table is broken.
        """
        samples = {s.id: s for ident, s in self.items.by_id.items() if ident not in self.items.textless}
        if not samples:
            raise MissingDataError(f"{self._layout.data}: no items with a text here; {EXPECTED}")
        criterion = self._benchmark.rubric.criteria[0].name
        for row in self._layout.rows(TableKind.LABELS):
            kind = row.text("labeller_kind")
            if kind == RaterKind.GOLD or row.text("benchmark") != self._benchmark.name:
                continue
            sample = self.items.by_id.get(row.text(EXAMPLE))
            if sample is None or sample.id not in samples:
                self._strangers[row.file] += 1
                continue
            facts, value = details(row), row.cells.get(LABEL)
            status = status_of(row, facts.pop("status", Status.UNPARSABLE if value is None else Status.OK))
            criterion_of = self._criteria.get(row.text("criterion") or criterion)
            level = criterion_of.read(value) if criterion_of is not None and value is not None else None
            self._keep(row, Rating(
                sample.id, row.text("criterion") or criterion, row.text("labeller"), rater_kind(row, "labeller_kind"), row.whole("run") or 0,
                status, level, row.text("explanation"), instrument=row.text("instrument"), provenance={**origin(row), **facts},
            ))  # fmt: skip
        return Released(list(samples.values()), [], list(self._ratings.values()), [*self._notes, *self._remarks()])

    # -- replies ------------------------------------------------------------------------------------------------------

    def _responses(self) -> None:
        rows = [row for kind in (TableKind.RESPONSES, TableKind.CHOSEN) for row in self._layout.rows(kind)]
        runs = repeats(rows, "answer_run", lambda row: (row.split, self._model(row)), lambda row: row.text(EXAMPLE))
        for row, run in zip(rows, runs, strict=True):
            self._reply(row, self._model(row), run)

    def _model(self, row: LayoutRow) -> str:
        model = row.text("answer_model") or self._names.model(row.text("answer_model_raw"))
        return model or next(reversed(row.names()), "unknown")

    def _reply(self, row: LayoutRow, model: str, run: int, **extra: Any) -> None:
        ident = row.text(RESPONSE)
        if ident in self._replies:
            self._repeated[row.file] += 1
            return
        facts, text = details(row), row.cells.get("response_text")
        unsaid = Status.REFUSED if row.flag("refusal") else Status.OK if text or exact(row) else Status.FAILED
        status = status_of(row, facts.pop("status", unsaid))
        provenance = {
            **origin(row), EXAMPLE: row.text(EXAMPLE), RESPONSE: ident, "model_raw": row.text("answer_model_raw") or model,
            **facts, **extra,
        }  # fmt: skip
        if (tokens := row.whole("tokens")) is not None:
            provenance["tokens"] = tokens
        if row.flag("response_is_json"):
            provenance["is_json"] = True
        if LABEL in row.cells or exact(row):
            provenance[LABEL] = self._names.label(row.cells.get(LABEL))
        if not exact(row) and (source := row.text("source_dataset_id", "dataset_id")):
            provenance["source_dataset_id"] = source
        sample = self.items.of(row)
        reply = Reply.of(sample.id, model, run, status, clean(str(text or "")), provenance=provenance)
        if reply.id in self._ids:  # the same words to the same item, in two rows: each has evaluations of its own
            reply = msgspec.structs.replace(reply, id=digest("reply", reply.id, ident))
        self._ids.add(reply.id)
        self._replies[ident] = reply

    def _chosen(self) -> None:
        """Take replies that stand nowhere but with the people who rated them."""
        models = {row.text(RESPONSE): row for row in self._layout.rows(TableKind.REVIEW)}
        for row in self._layout.rows(TableKind.PEOPLE):
            if row.text(RESPONSE) not in self._replies and row.text("response_text"):
                reviewed = models.get(row.text(RESPONSE), row)
                extra = {"model_raw": reviewed.text("answer_model_raw")} if reviewed.text("answer_model_raw") else {}
                sets = review_set(reviewed)[1] if reviewed is not row else ""
                selection = sets or self._names.selection or "chosen for people"
                self._reply(row, self._model(reviewed), 0, **extra, selection=selection)

    def _review_sets(self) -> None:
        """Tell each reply in which review sets it stands."""
        for row in self._layout.rows(TableKind.REVIEW):
            reply = self._of(row)
            if reply is None:
                continue
            stated, name, tail = review_set(row)
            facts = details(row)
            if exact(row) and not facts:
                continue  # a set that this program drew: it knows it by the ratings
            if not exact(row):
                runs = row.json("score_runs")
                facts = {"criterion": next(iter(self._criteria)), "mean": number(row.cells.get("score"))}
                facts |= {"runs": [whole(score) for score in runs]} if isinstance(runs, list) and any(runs) else {}
            sets = reply.provenance.setdefault("review_sets", {}).setdefault(name, {})
            rater = row.text("evaluator_model") or self._names.model(row.text("evaluator_model_raw")) or tail
            if stated != (f"{name}__{rater}" if rater else name):
                facts["review_set"] = stated
            sets.setdefault(tail if rater in sets else rater, {
                **origin(row), "source_file": row.text("source_file"), "source_row": row.whole("source_row"),
                "model_raw": row.text("evaluator_model_raw"), "sampled_from": row.cells.get("sampled_from"),
                "sampled_criteria": row.cells.get("sampled_criteria"), **facts,
            })  # fmt: skip

    # -- ratings ------------------------------------------------------------------------------------------------------

    def _of(self, row: LayoutRow) -> Reply | None:
        reply = self._replies.get(row.text(RESPONSE))
        if reply is None:
            self._strangers[row.file] += 1
        return reply

    def _people(self) -> None:
        for row in self._layout.rows(TableKind.PEOPLE):
            reply = self._of(row)
            if reply is None:
                continue
            facts = details(row)
            if not exact(row):
                sets = next(iter(reply.provenance.get("review_sets", ())), self._names.selection)
                facts |= {"selection": sets} if sets else {}
            run, instrument = int(facts.pop("run", 0)), str(facts.pop("instrument", ""))
            self._rate(row, reply, annotator(row), RaterKind.PERSON, run, facts, instrument)

    def _judges(self) -> None:
        rows = [(row, reply) for row in self._layout.rows(TableKind.RAW) if (reply := self._of(row)) is not None]
        replies = {row.text(RESPONSE): reply for row, reply in rows}
        runs = repeats(
            [row for row, _ in rows], "evaluation_run",
            lambda row: (self._judge(row), row.split, (reply := replies[row.text(RESPONSE)]).model, reply.run),
            lambda row: (row.text(RESPONSE), row.text("criterion")),
        )  # fmt: skip
        for (row, reply), run in zip(rows, runs, strict=True):
            facts = details(row)
            if output := row.text("raw_output"):
                facts |= raw_of(row, output)
            if row.text("score_status") == OUT_OF_RANGE:
                facts[STATED] = OUT_OF_RANGE
            name = row.text("evaluator_model_raw")
            facts |= {"model_raw": name} if name else {}
            self._rate(row, reply, self._judge(row), RaterKind.MODEL, run, facts, row.text("instrument"))
        self._means({(self._judge(row), row.text(RESPONSE)) for row, _ in rows})

    def _others(self) -> None:
        """Read what rules, classifiers and panels said, and what was said on criteria that are not the rubric's."""
        for row in self._layout.rows(TableKind.OTHER):
            reply = self._of(row)
            if reply is None:
                continue
            facts = details(row)
            value, status = facts.pop("value", row.cells.get("value")), status_of(row, facts.pop("status", Status.OK))
            self._keep(row, Rating(
                reply.id, row.text("criterion"), row.text("rater"), rater_kind(row, "rater_kind"), row.whole("run") or 0, status,
                value, row.text("explanation"), instrument=row.text("instrument"), provenance={**origin(row), **facts},
            ))  # fmt: skip

    def _judge(self, row: LayoutRow) -> str:
        judge = row.text("evaluator_model") or self._names.model(row.text("evaluator_model_raw"))
        return judge or next(iter(row.names()), "unknown")

    def _means(self, judged: set[tuple[str, str]]) -> None:
        """Take the ids of a judge's means, and its runs out of them where its single judgements are not here."""
        count = 0
        idents: dict[tuple[str, str, str], str] = {}
        for row in self._layout.rows(TableKind.MERGED):
            reply, runs = self._replies.get(row.text(RESPONSE)), row.json("score_runs")
            if reply is not None and row.text(EVALUATION):
                idents[reply.id, row.text("criterion") or next(iter(self._criteria)), self._judge(row)] = row.text(EVALUATION)  # fmt: skip
            if reply is None or (self._judge(row), row.text(RESPONSE)) in judged or not isinstance(runs, list):
                continue
            count += 1
            for run, score in enumerate(runs):
                cells = {k: v for k, v in row.cells.items() if k not in {"score", EVALUATION}}
                alone = row._replace(cells=cells if score is None else {**cells, "score": score})
                facts = {"model_raw": row.text("evaluator_model_raw") or self._judge(row)}
                self._rate(alone, reply, self._judge(row), RaterKind.MODEL, run, facts, "")
        for rating in sorted(self._ratings.values(), key=lambda rating: rating.run) if idents else ():
            if ident := idents.pop((rating.subject, rating.criterion, rating.rater), ""):
                rating.provenance[MERGED_ID] = ident
        if count:
            self._notes.append(f"{plural(count, 'response')} of which only a judge's merged scores are here; its runs are read from score_runs")  # fmt: skip

    def _rate(
        self, row: LayoutRow, reply: Reply, rater: str, kind: RaterKind, run: int, facts: dict[str, Any], instrument: str,
    ) -> None:  # fmt: skip
        criterion = self._criteria.get(row.text("criterion") or next(iter(self._criteria)))
        if criterion is None:
            self._strangers[row.file] += 1
            return
        value = level(row, criterion)
        stated = facts.pop("status", None)
        if stated is not None:
            status = status_of(row, stated)
        else:
            status = self._status(row, reply, value)
            if status is not Status.OK and row.text("score"):
                facts.setdefault("raw", row.cells["score"])
        if status is Status.UNPARSABLE:
            self._unread[row.file] += 1
        self._keep(row, Rating(
            reply.id, criterion.name, rater, kind, run, status, value if status is Status.OK else None, row.text("explanation"),
            instrument=instrument, provenance={**origin(row), **facts},
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

    def _keep(self, row: LayoutRow, rating: Rating) -> None:
        key = (rating.subject, rating.criterion, rating.rater, rating.run)
        if self._ratings.setdefault(key, rating) is not rating:
            self._repeated[row.file] += 1

    def _remarks(self) -> Iterator[str]:
        """Say what could not be placed or read, file by file."""
        for file, count in self._strangers.items():
            yield f"{file}: {plural(count, 'row')} about a response that is not here; left out"
        for file, count in self._repeated.items():
            yield f"{file}: {plural(count, 'row')} that repeat one; the first is kept"
        for file, count in self._unread.items() if not self._layout.exported() else ():
            yield f"{file}: {plural(count, 'row')} without a score of the scale; kept as unparsable"
