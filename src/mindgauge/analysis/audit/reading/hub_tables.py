"""Tables in the Hugging Face layout as a material, as they stand: each of them says what it is, so nothing is guessed.

Items, responses and single ratings are read. Means of a judge's runs and review sets of others say the same once more, and are
no ratings of their own.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from mindgauge import benchmarks
from mindgauge.benchmarks.hub_layout.records import text_of
from mindgauge.benchmarks.hub_layout.tables import EXAMPLE, RATER, REPLIES, RESPONSE, HubLayout, LayoutRow, TableKind
from mindgauge.benchmarks.released import RATINGS, TEXTS, Material, declared, frame, unsafe_levels
from mindgauge.records import RaterKind, Status
from mindgauge.records.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark

CRITERION = "score"
"""What a rating is of where the layout has one criterion and does not name it."""
_KIND = {TableKind.JUDGES: RaterKind.MODEL.value, TableKind.PEOPLE: RaterKind.PERSON.value}


def read_layout(folder: Path, wanted: Benchmark | None = None) -> tuple[str, Material]:
    """Read what lies in a folder in this layout. A row is its place in its file.

    Args:
        folder: where the tables are.
        wanted: the benchmark; if not given, the one that an export says it is of, if this Mindgauge knows it.

    Raises:
        DataError: what an export says of itself is broken, or it is another benchmark's.
    """
    layout = HubLayout(folder)
    exported = [*layout.exports]
    benchmark = wanted or _known(exported)
    if wanted is not None:
        layout = layout.part(wanted.name)
    criteria = benchmark.rubric.criteria if benchmark is not None else ()
    by_label = wanted is not None and bool(wanted.protocol)
    tables = _LayoutTables(layout, criteria[0].name if criteria else CRITERION, by_label=by_label)
    items_alone = (
        wanted is not None and wanted.closed and not exported
    )  # what others released answers no question of ours
    texts = [*tables.items()]
    ratings: list[tuple[object, ...]] = []
    if not items_alone:
        texts += tables.replies()
        ratings += tables.ratings()
    title = wanted.name if wanted is not None else ": ".join(part for part in (folder.name, *exported) if part)
    return title, Material(
        frame(texts, TEXTS), frame(ratings, RATINGS), *declared(criteria), tuple(layout.notes), unsafe_levels(criteria)
    )  # fmt: skip


def _known(exported: list[str]) -> Benchmark | None:
    """Return the one benchmark that was exported; None where this Mindgauge does not know it, or there are several."""
    try:
        return benchmarks.find_one(exported[0]) if len(exported) == 1 else None
    except UsageError:
        return None


class _LayoutTables:
    """The tables of a folder; what cannot be read is noted, and the others are."""

    def __init__(self, layout: HubLayout, criterion: str, *, by_label: bool) -> None:
        self._layout, self._criterion, self._by_label = layout, criterion, by_label
        self._unlabelled: set[str] = set()
        self._model: dict[str, str] = {}

    def _rows(self, kind: TableKind) -> Iterator[LayoutRow]:
        for file in self._layout.files(kind):
            try:
                yield from list(self._layout.rows(kind, file))  # all of a file, or none
            except DataError as error:
                self._layout.notes.append(" ".join(str(error).split())[:300])

    def items(self) -> Iterator[tuple[object, ...]]:
        for row in self._rows(TableKind.ITEMS):
            if words := text_of(row):
                target = row.json("target")
                label = (
                    (None if target is None else str(target)) if "position" in row.cells else row.text("label") or None
                )
                source = (row.json("tags") or {}).get("source") or row.text("source_dataset_id", "dataset_id") or None
                split = (row.json("tags") or {}).get("split", row.split)
                yield row.file, row.number, "input", row.text(EXAMPLE), words, None, source, split, label

    def replies(self) -> Iterator[tuple[object, ...]]:
        """Yield replies; one that was refused, or never came, is none."""
        for row in (row for kind in REPLIES for row in self._rows(kind)):
            model = self._model[row.text(RESPONSE)] = row.text("answer_model", "answer_model_raw")
            if self._by_label and not row.exact and row.cells.get("label", row) is None:
                self._unlabelled.add(row.text(RESPONSE))
            refused = row.text("refusal").casefold() == "true" or row.text("status") == Status.REFUSED
            if "response_text" in row.cells and not refused:
                text = str(row.cells["response_text"])
                source = row.details().get("source_dataset_id") or row.text("source_dataset_id", "dataset_id") or None
                yield row.file, row.number, "reply", row.text(RESPONSE), text, model, source, row.split, None

    def ratings(self) -> Iterator[tuple[object, ...]]:
        """Yield ratings, but for those that had nothing to judge by."""
        repeats: Counter[tuple[str, ...]] = Counter()
        for kind in RATER:
            for row in self._rows(kind):
                rater, value = row.rater(kind), _value(row)
                criterion = row.text("criterion") or self._criterion
                key = kind.value, rater, row.subject, criterion
                run, repeats[key] = row.whole("evaluation_run"), repeats[key] + 1
                status = row.text("score_status") or ("ok" if value is not None else "not_evaluated")
                idle = status == "not_evaluated" and row.subject in self._unlabelled
                if status != Status.NOT_APPLICABLE and not idle:
                    yield (
                        row.subject, criterion, rater, _KIND.get(kind, row.text("rater_kind")), repeats[key] - 1 if run is None else run,
                        status, value, self._model.get(row.subject), row.text(EXAMPLE) or None, row.file, row.number,
                    )  # fmt: skip


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
