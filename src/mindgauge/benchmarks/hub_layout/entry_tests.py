"""How a run's judges did in their entry test, as lines of an export: replies of known level, and what the judges made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.records import Rating, Reply, Sample
from mindgauge.records.errors import DataError
from mindgauge.records.records import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.benchmarks.benchmark import Benchmark
    from mindgauge.store import Store

FILE = "metadata/entry_tests.jsonl"
_KEPT = ("client", "target", "turn", "unit")
"""What of a reply's provenance says what of a dialogue it is."""
_KINDS: dict[str, Any] = {"sample": Sample, "reply": Reply, "rating": Rating}


def lines(store: Store, benchmark: Benchmark) -> Iterator[str]:
    """Yield the records of a benchmark's entry tests as JSON, without where and when models were asked."""
    name = benchmark.anchored.name
    for sample in store.samples(name):
        yield encode({"sample": sample}).decode()
    for reply in store.replies(name):
        place = {key: reply.provenance[key] for key in _KEPT if key in reply.provenance}
        yield encode({"reply": msgspec.structs.replace(reply, provenance=place, seconds=0.0)}).decode()
    for rating in store.ratings(name):
        yield encode({"rating": msgspec.structs.replace(rating, provenance={})}).decode()


def keep(store: Store, benchmark: Benchmark, text: str) -> None:
    """Put the records of such lines into a run.

    Raises:
        DataError: a line is none of them.
    """
    name = benchmark.anchored.name
    for number, line in enumerate(text.splitlines(), 1):
        try:
            ((kind, fields),) = msgspec.json.decode(line, type=dict[str, Any]).items()
            record = msgspec.convert(fields, _KINDS[kind])
        except (msgspec.MsgspecError, ValueError, KeyError) as error:
            raise DataError(f"{FILE}:{number}: not a record of an entry test ({error})") from error
        if isinstance(record, Sample):
            store.put_samples(name, [record])
        elif isinstance(record, Reply):
            store.add_reply(name, record)
        else:
            store.add_rating(name, record)
    store.flush()
