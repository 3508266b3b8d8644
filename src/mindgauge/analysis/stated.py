"""What released review sets state of judges' verdicts on replies, where the verdicts themselves were not released."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

if TYPE_CHECKING:
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

_STATED = """
SELECT replies.id, json_each.value FROM replies, json_each(replies.provenance, '$.review_sets')
WHERE benchmark = ?"""


def means(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return the mean verdicts that review sets state of single judges; a panel's are nobody's.

    Returns:
        Columns subject, criterion, rater, value (the mean, as text).
    """
    rows = [
        (subject, facts["criterion"], rater, str(facts["mean"]))
        for subject, text in store.select(_STATED, (benchmark.name,))
        for rater, facts in msgspec.json.decode(text).items()
        if facts.get("mean") is not None and facts.get("criterion") and not facts.get("panel")
    ]
    schema = dict.fromkeys(("subject", "criterion", "rater", "value"), pl.String)
    return pl.DataFrame(rows, schema, orient="row")


def standing_in(stated: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return the stated means of replies of which a run holds no verdict of the judge; where there is one, it counts."""
    return stated.join(ratings, on=["subject", "criterion", "rater"], how="anti")
