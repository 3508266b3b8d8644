"""Tables in the Hugging Face layout as a material, as they stand: each of them says what it is, so nothing is guessed.

Items, responses, single evaluations and labels are read. Means of a judge's runs, review sets and the texts that people's
tables repeat say the same once more, and are no ratings or replies of their own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mindgauge import benchmarks
from mindgauge.benchmarks.hub_layout.records import text_of
from mindgauge.benchmarks.hub_layout.tables import EXAMPLE, LABEL, RESPONSE, HubLayout, LayoutRow, TableKind, repeats
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, declared, frame, unsafe_levels
from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark

CRITERION = "score"
"""What a rating is of where the layout has one criterion and does not name it."""


def read_layout(folder: Path, wanted: Benchmark | None = None) -> tuple[str, Material]:
    """Read what lies in a folder in this layout. A row is its place in its file.

    Args:
        folder: where the tables are.
        wanted: the benchmark; if not given, the one that an export says it is of, if this Mindgauge knows it.

    Raises:
        DataError: what an export says of itself is broken.
    """
    layout = HubLayout(folder)
    name = str(layout.exported().get("summary", {}).get("benchmark", ""))
    benchmark = wanted or _known(name)
    tables = _LayoutTables(layout, benchmark)
    texts, ratings = tables.labelled() if benchmark is not None and benchmark.closed else tables.replied()
    criteria = benchmark.rubric.criteria if benchmark is not None else ()
    title = wanted.name if wanted is not None else ": ".join(part for part in (folder.name, name) if part)
    return title, Material(
        frame(texts, TEXTS), frame(ratings, RATINGS), *declared(criteria), tuple(layout.notes), unsafe_levels(criteria)
    )  # fmt: skip


def _known(name: str) -> Benchmark | None:
    """Return the benchmark that was exported; None where this Mindgauge does not know it."""
    try:
        return benchmarks.find_one(name) if name else None
    except UsageError:
        return None


class _LayoutTables:
    """The tables of a folder; what cannot be read is noted, and the others are."""

    def __init__(self, layout: HubLayout, benchmark: Benchmark | None) -> None:
        self._layout, self._benchmark = layout, benchmark
        criteria = benchmark.rubric.criteria if benchmark is not None else ()
        self._criterion = criteria[0].name if criteria else CRITERION

    def _rows(self, kind: TableKind) -> Iterator[LayoutRow]:
        for file in self._layout.files(kind):
            try:
                yield from list(self._layout.rows(kind, file))  # all of a file, or none
            except DataError as error:
                self._layout.notes.append(" ".join(str(error).split())[:300])

    def replied(self) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
        """Return replies and what was said of them."""
        texts, unlabelled, model = list(self._items()), set(), {}
        for kind in (TableKind.RESPONSES, TableKind.CHOSEN):
            for row in self._rows(kind):
                ident, name = row.text(RESPONSE), row.text("answer_model", "answer_model_raw")
                model[ident] = name
                by_label = self._benchmark is not None and self._benchmark.protocol
                if row.text(LABEL) == "" and by_label and self._says_labels(row):
                    unlabelled.add(ident)
                if "response_text" in row.cells and not row.flag(
                    "refusal"
                ):  # one that was refused, or never came, is none
                    source = row.text("source_dataset_id", "dataset_id") or None
                    text = str(row.cells["response_text"])
                    texts.append((row.file, row.number, "reply", ident, text, name, source, row.split, None))
        ratings = [*self._people(), *self._judges(model)]
        ratings_read: list[tuple[object, ...]] = []
        for subject, status, rest in ratings:
            idle = status == "not_applicable" or (status == "not_evaluated" and subject in unlabelled)
            if not idle:  # without a label there was nothing to judge by
                criterion, rater, kind, run, value, cluster, row = rest
                facts = (kind, run, status, value, model.get(subject), cluster)
                ratings_read.append((subject, criterion, rater, *facts, row.file, row.number))
        return texts, ratings_read

    def _says_labels(self, row: LayoutRow) -> bool:
        """Whether a table of responses has labels at all: it is an export's of ours, or has them in a column."""
        return "details" in row.cells or LABEL in self._layout.columns(row.file)

    def _items(self) -> Iterator[tuple[object, ...]]:
        gold = {row.text(EXAMPLE): row.text(LABEL) for row in self._rows(TableKind.LABELS) if row.text("labeller_kind") == RaterKind.GOLD}  # fmt: skip
        for row in self._rows(TableKind.ITEMS):
            benchmarks_of = row.json("benchmarks")
            words = text_of(row)
            if words and (benchmarks_of is None or self._benchmark is None or self._benchmark.name in benchmarks_of):
                label = gold.get(row.text(EXAMPLE)) or (None if "position" in row.cells else row.text(LABEL) or None)
                source = row.text("source_dataset_id", "dataset_id") or None
                yield row.file, row.number, "input", row.text(EXAMPLE), words, None, source, row.split, label

    def _people(self) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        for row in self._rows(TableKind.PEOPLE):
            value = _value(row)
            run = (row.json("details") or {}).get("run", 0)
            stated = "ok" if value is not None else "not_evaluated"
            yield row.text(RESPONSE), stated, self._rest(row, row.annotator(), RaterKind.PERSON, run, value)

    def _judges(self, model: dict[str, str]) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        rows = list(self._rows(TableKind.RAW))
        runs = repeats(
            rows, "evaluation_run", lambda row: (_judge(row), row.split, model.get(row.text(RESPONSE))),
            lambda row: (row.text(RESPONSE), row.text("criterion")), counted=True,
        )  # fmt: skip
        for row, run in zip(rows, runs, strict=True):
            value = _value(row)
            stated = row.text("score_status") or ("ok" if value is not None else "not_evaluated")
            yield row.text(RESPONSE), stated, self._rest(row, _judge(row), RaterKind.MODEL, run, value)

    def _rest(self, row: LayoutRow, rater: str, kind: RaterKind, run: int, value: str | None) -> tuple[Any, ...]:
        return row.text("criterion") or self._criterion, rater, kind.value, run, value, row.text(EXAMPLE) or None, row

    def labelled(self) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
        """Return items, and the labels of the closed question that is asked of them."""
        assert self._benchmark is not None
        ratings: list[tuple[object, ...]] = []
        for row in self._rows(TableKind.LABELS):
            if row.text("benchmark") == self._benchmark.name and row.text("labeller_kind") != RaterKind.GOLD:
                value = row.text(LABEL) or None
                ratings.append((
                    row.text(EXAMPLE), row.text("criterion") or self._criterion, row.text("labeller"), row.text("labeller_kind"),
                    row.whole("run"), "ok" if value else "unparsable", value, None, row.text(EXAMPLE), row.file, row.number,
                ))  # fmt: skip
        return list(self._items()), ratings


def _judge(row: LayoutRow) -> str:
    return row.text("evaluator_model", "evaluator_model_raw")


def _value(row: LayoutRow) -> str | None:
    """Return a score as it stands: a whole number without decimals, a text in JSON with its quotes."""
    if level := row.text("level"):
        return level
    cell = row.cells.get("score")
    if cell is None or cell == "":
        return None
    if isinstance(cell, str):
        return json.dumps(cell) if row.file.endswith((".jsonl", ".ndjson")) else cell
    return str(int(cell)) if float(cell).is_integer() else str(cell)
