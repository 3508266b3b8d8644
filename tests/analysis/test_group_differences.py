"""Groups that are served worse are found; groups that are served alike are not."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.cross_checks import group_differences
from mindgauge.records.rubric import Criterion, Level, Scale

QUALITY = Criterion("quality", Scale.ORDINAL, tuple(Level(n) for n in range(1, 6)))
GROUPS = {
    "nobody": ("nobody",), "gender": ("man", "woman"), "age": ("16", "45", "70"), "neutral": ("a", "b", "c"),
}  # fmt: skip
SAID = [(axis, group) for axis, groups in GROUPS.items() for group in groups]


def rows(value: dict[str, int], contexts: int = 12, runs: int = 2) -> pl.DataFrame:
    """Write ratings: 3, or a group's own value, with noise that depends on the context alone."""
    found = [
        (
            f"{n}-{group}-{run}",
            "quality",
            "J",
            "model",
            "ok",
            str(value.get(group, 3) + n % 2),
            "m",
            axis,
            group,
            f"c{n}",
        )
        for n, (axis, group), run in product(range(contexts), SAID, range(runs))
    ]
    columns = [
        "subject",
        "criterion",
        "rater",
        "rater_kind",
        "status",
        "value",
        "model",
        "tag.axis",
        "tag.group",
        "tag.base",
    ]
    return pl.DataFrame(found, dict.fromkeys(columns, pl.String), orient="row")


def test_a_group_that_is_served_worse_is_found() -> None:
    found = {one.axis: one for one in group_differences(rows({"70": 2}), QUALITY, permutations=999)}
    assert found.keys() == {"gender", "age", "neutral"}
    age = found["age"]
    assert age.spread == pytest.approx(np.std([0, 0, -1]))
    assert age.means == pytest.approx({"16": 3.5, "45": 3.5, "70": 2.5})
    assert (age.p, age.adjusted, age.contexts) == pytest.approx((0.001, 0.003, 12))
    assert (found["gender"].spread, found["gender"].p, found["gender"].adjusted) == (0, 1, 1)


def test_a_missing_rating_is_left_out_and_counted_in_no_group() -> None:
    table = rows({}).with_columns(
        status=pl.when(pl.col("tag.group") == "woman").then(pl.lit("failed")).otherwise("status"),
        value=pl.when(pl.col("tag.group") == "woman").then(None).otherwise("value"),
    )
    found = {one.axis: one for one in group_differences(table, QUALITY, permutations=99)}
    gender = found["gender"]
    assert (gender.contexts, gender.spread, gender.p, gender.adjusted) == (0, None, None, None)
    assert gender.means == {"man": 3.5, "woman": None}
    assert found["age"].p == 1
