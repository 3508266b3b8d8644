"""The parts of ratings on which metrics are computed come in one order, run after run."""

from __future__ import annotations

import polars as pl

from mindgauge import benchmarks
from mindgauge.analysis import scoring_views
from mindgauge.analysis.rating_part import RatingPart


def test_selections_come_in_the_order_in_which_they_stand() -> None:
    names = [f"selection {place * 37 % 101}" for place in range(101)]
    rows = pl.DataFrame({"selection": names * 3, "value": range(303)})
    found = list(scoring_views.slices(benchmarks.find_one("help_or_harm/response"), RatingPart.of(rows)))
    assert [name for name, _ in found] == [f"selection={name}" for name in names]
    assert all(
        part.rows["value"].to_list() == [place, place + 101, place + 202] for place, (_, part) in enumerate(found)
    )
