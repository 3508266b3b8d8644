"""The items of the layout as samples, each by the ids that its table gives it; of some there may be no text, or an id alone."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.benchmarks.hub_layout.reading import TEXT, HubLayout, LayoutRow, TableKind
from mindgauge.records import Message, RaterKind, Sample, digest
from mindgauge.records.errors import DataError
from mindgauge.records.files.bounds import clean

if TYPE_CHECKING:
    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.records import Value

EXAMPLE = "example_id"


class LayoutItems:
    """The items of a folder."""

    def __init__(self, benchmark: Benchmark, layout: HubLayout, *, of_any: bool = False) -> None:
        """Read them, in the order in which an export of ours found them; also those of other benchmarks where `of_any`.

        Raises:
            DataError: a table of them is broken.
        """
        self.by_id: dict[str, Sample] = {}
        self.textless: set[str] = set()
        """Those of which no text is here."""
        self._names = benchmark.layout_names
        languages = benchmark.card.languages
        self._language = languages[0] if len(languages) == 1 else ""
        rows = list(layout.rows(TableKind.ITEMS))
        if any("position" in row.cells for row in rows):
            rows.sort(key=lambda row: row.whole("position") or 0)
        gold = {
            row.text(EXAMPLE): (row.json("details") or {}).get("target", row.cells.get("label"))
            for row in layout.rows(TableKind.LABELS)
            if row.text("labeller_kind") == RaterKind.GOLD and row.text("benchmark") == benchmark.name
        }
        samples: dict[str, Sample] = {}
        for row in rows:
            benchmarks = row.json("benchmarks")
            if row.text(EXAMPLE) in self.by_id or not (of_any or benchmarks is None or benchmark.name in benchmarks):
                continue
            sample = self._sample(row, gold.get(row.text(EXAMPLE)))
            self.by_id[row.text(EXAMPLE)] = samples.setdefault(sample.id, sample)

    def of(self, row: LayoutRow) -> Sample:
        """Return the item of a row about it; one without a text, where the items lack it."""
        ident = row.text(EXAMPLE)
        if ident not in self.by_id:
            self.by_id[ident] = self._sample(row, None)
        return self.by_id[ident]

    def _sample(self, row: LayoutRow, target: Value | None) -> Sample:
        messages = _messages(row)
        if messages is None:
            self.textless.add(row.text(EXAMPLE))
        tags = row.json("tags")
        sample = Sample.of(
            messages or (Message("user", ""),), target=target, tags=tags if isinstance(tags, dict) else self._tags(row)
        )
        # Texts that are not here are many, and all the same.
        ident = row.text("sample_id") or (sample.id if messages else digest("example", row.text(EXAMPLE)))
        return msgspec.structs.replace(sample, id=ident, cluster=row.text("cluster") or ident)

    def _tags(self, row: LayoutRow) -> dict[str, str]:
        """Read an item's tags from columns of their names."""
        source = row.text("source_dataset_id", "dataset_id")
        tags = {
            "category": self._names.label(row.cells.get("label")),
            "language": row.text("language") or self._language,
            "split": row.split,
            "source": self._names.source(source) if source else "",
        }
        return {name: value for name, value in tags.items() if value}


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
    if isinstance(cell, str):
        return (Message("user", clean(cell)),)
    if isinstance(cell, list) and all(isinstance(sentence, str) for sentence in cell):
        return (Message("user", clean("\n".join(cell))),)
    try:
        return msgspec.convert(cell, tuple[Message, ...])
    except msgspec.ValidationError as error:
        raise DataError(
            f"{row.file}: row {row.number}: {name} is a text, a list of sentences, or a list of messages ({error})"
        ) from error
