"""The values of dialogues in a run, as `clients.study` takes them: whether clients explain more than models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.benchmarks.metrics.conversations import APPROPRIATE
from mindgauge.raters.window import Unit
from mindgauge.records import RaterKind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.analysis.clients import ClientStudy
    from mindgauge.benchmarks import Benchmark

_READERS = (RaterKind.MODEL.value, RaterKind.PERSON.value)


def of(
    rows: pl.DataFrame, benchmark: Benchmark, labels: Mapping[tuple[int, str], str] | None = None
) -> ClientStudy | None:
    """Study what the mean appropriateness of a dialogue's turns varies with; None where no client plays.

    Args:
        rows: ratings, as `frame.ratings` returns them, of one run or of several with `run_number`.
        benchmark: whose ratings they are.
        labels: of several runs, what each system is called: run number and model → name.
    """
    if benchmark.situation is None or "tag.client" not in rows.columns:
        return None
    from mindgauge.analysis.clients import study  # with its models of variance, which few runs need

    turns = rows.filter(
        pl.col("unit") == Unit.TURN.value,
        pl.col("criterion") == APPROPRIATE,
        pl.col("rater_kind").is_in(_READERS),
        pl.col("status") != Status.NOT_APPLICABLE.value,
        pl.col("tag.client").fill_null("") != "",
    )
    if turns.is_empty():
        return None
    if labels is not None:
        names = [labels.get(key, key[1]) for key in turns.select("run_number", "model").iter_rows()]
        turns = turns.with_columns(model=pl.Series(names, dtype=pl.String))
    number = pl.col("value").cast(pl.Float64, strict=False)
    by_dialogue = turns.group_by("model", "tag.dialogue", "rater", "run", maintain_order=True).agg(
        pl.col("tag.client", "cluster", "reply_run").first(),
        number=pl.when(number.null_count() == 0).then(number.mean()),
    )
    return study(
        by_dialogue.select(
            "model",
            "number",
            client="tag.client",
            persona="cluster",
            judge="rater",
            repeat=pl.col("reply_run").cast(pl.String),
        )
    )


def notes(rows: pl.DataFrame, benchmark: Benchmark) -> list[str]:
    """Say whether the models of a run can be ranked, where clients talked to several; nothing where there is nothing to rank."""
    result = of(rows, benchmark)
    return [] if result is None or result.models < 2 else [f"{benchmark.name}: {result.reason}"]
