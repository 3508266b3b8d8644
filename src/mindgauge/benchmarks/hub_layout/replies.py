"""The replies of a folder in the layout as a table of replies, for those who rate or label replies from any file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.benchmarks.hub_layout.items import EXAMPLE
from mindgauge.benchmarks.hub_layout.reading import HubLayout
from mindgauge.benchmarks.hub_layout.records import LABEL, RESPONSE, LayoutReader
from mindgauge.records import Status
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from mindgauge.benchmarks.benchmark import Benchmark


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
        elif origin[EXAMPLE] in reader.items.textless:
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
    if textless:
        notes.append(f"{plural(textless, 'response')} left out: the text of their items is not here")
    if chosen:
        notes.append(f"{plural(chosen, 'response')} left out: they were chosen from others, which are not here")
    return ReplyTable(pl.DataFrame(rows, infer_schema_length=None), notes)
