"""What those see who read the person's messages without the answers: the rung that a careful reader sees by each of them."""

from __future__ import annotations

from collections import defaultdict
from statistics import median_low
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.benchmarks.metrics.conversations import PERCEIVED
from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Collection

    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

_WORDS = """
SELECT id, coalesce(json_extract(provenance, '$.held') || nullif(text, ''), id) FROM replies
WHERE benchmark = ? AND json_extract(provenance, '$.unit') = ?"""


class PerceivedRungs(NamedTuple):
    """What is perceived by each message of a person that was read, by the message's id."""

    rungs: dict[str, str]
    """The median of all who read it, the lower of two middle ones."""
    unread: set[str]
    """Messages of which no verdict can be used."""


def perceived(rows: pl.DataFrame, store: Store, benchmark: Benchmark, silent: Collection[str] = ()) -> PerceivedRungs:
    """Return what raters perceive; the same messages in the dialogues of two models, which people read once, are read in both.

    Args:
        rows: ratings, with `subject`, `criterion`, `rater`, `rater_kind`, `status` and `value`.
        store: of the run.
        benchmark: of a situation, whose ratings they are.
        silent: raters whose word does not count.
    """
    assert benchmark.situation is not None
    rungs = benchmark.situation.rungs
    words = dict(store.select(_WORDS, (benchmark.name, Unit.CLIENT.value)).fetchall())
    levels: dict[str, list[int]] = defaultdict(list)
    by_words: dict[str, list[int]] = defaultdict(list)
    subjects: set[str] = set()
    for subject, value in _readings(rows, silent).select("subject", "value").iter_rows():
        if subject not in words:
            continue
        subjects.add(subject)
        if value in rungs:
            levels[subject].append(rungs.index(value))
            by_words[words[subject]].append(rungs.index(value))
    readings = {ident: levels.get(ident) or by_words.get(same) for ident, same in words.items()}
    read_rungs = {ident: rungs[median_low(numbers)] for ident, numbers in readings.items() if numbers}
    return PerceivedRungs(read_rungs, subjects - read_rungs.keys())


def _readings(rows: pl.DataFrame, silent: Collection[str]) -> pl.DataFrame:
    return rows.filter(
        pl.col("criterion") == PERCEIVED,
        pl.col("status") != Status.NOT_APPLICABLE.value,
        ~pl.col("rater_kind").is_in([RaterKind.GOLD.value, RaterKind.RULE.value]),
        ~pl.col("rater").is_in(list(silent)),
    )
