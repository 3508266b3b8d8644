"""Whose word counts on what is perceived of persons: that of judges that cannot be used does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis import dialogue_tags
from mindgauge.benchmarks.metrics.conversations import PERCEIVED
from mindgauge.records.rounding import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from mindgauge.analysis.fitness import Unfit
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store


def tagged(rows: pl.DataFrame, store: Store, benchmark: Benchmark, unfit: Sequence[Unfit]) -> pl.DataFrame:
    """Return tagged ratings whose tags know nothing of what judges perceived that cannot be used."""
    silent = _silent(benchmark, unfit)
    return dialogue_tags.tagged(rows, store, benchmark, silent) if silent else rows


def notes(rows: pl.DataFrame, store: Store, benchmark: Benchmark, unfit: Sequence[Unfit]) -> list[str]:
    """Say in how many dialogues nobody knows where plain risk is first perceived."""
    if benchmark.situation is None:
        return []
    dialogues = dialogue_tags.doubtful(rows, store, benchmark, _silent(benchmark, unfit))
    doubt = (
        f"{benchmark.name}: in {plural(dialogues, 'dialogue')} a message of the person has no usable verdict before plain risk is "
        "perceived, or where none is, so risk may be plain earlier than figures by perceived risk count"
    )
    return [doubt] if dialogues else []


def _silent(benchmark: Benchmark, unfit: Sequence[Unfit]) -> list[str]:
    return [entry.judge for entry in unfit if (entry.benchmark, entry.criterion) == (benchmark.name, PERCEIVED)]
