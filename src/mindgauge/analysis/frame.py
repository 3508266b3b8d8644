"""A run's ratings as one table, each row with what is known of its subject."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.metrics import Table
from mindgauge.records import RaterKind

if TYPE_CHECKING:
    from mindgauge.benchmark import Benchmark
    from mindgauge.rubric import Criterion
    from mindgauge.store import Store

_RATINGS = """
SELECT subject, criterion, rater, rater_kind, run, status, CAST(value AS TEXT) AS value,
    json_extract(provenance, '$.selection') AS selection
FROM ratings WHERE benchmark = ?"""
_REPLIES = """
SELECT id AS subject, sample, model, run AS reply_run, json_extract(provenance, '$.selection') AS reply_selection
FROM replies WHERE benchmark = ?"""
_TEXT = dict.fromkeys(("subject", "criterion", "rater", "rater_kind", "status", "value", "selection"), pl.String)


def tag(name: str) -> str:
    """Return the column that holds a tag of the samples."""
    return f"tag.{name}"


def ratings(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return every rating of a benchmark in a run.

    Columns: subject, criterion, rater, rater_kind, run, status, value (as text), selection (why only some subjects
    were rated, null if all were), sample, model (who is measured), reply_run, cluster, target, and `tag.…`.
    """
    found = pl.DataFrame(
        store.select(_RATINGS, (benchmark.name,)).fetchall(), {**_TEXT, "run": pl.Int64}, orient="row"
    ) if False else pl.DataFrame(
        store.select(_RATINGS, (benchmark.name,)).fetchall(),
        {k: pl.Int64 if k == "run" else pl.String for k in ("subject", "criterion", "rater", "rater_kind", "run", "status", "value", "selection")},
        orient="row",
    )  # fmt: skip
    return found
