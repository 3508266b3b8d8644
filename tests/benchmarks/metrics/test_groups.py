"""Differences between groups, with numbers computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mindgauge.benchmarks.metrics import Metric, RatingTable, estimate
from mindgauge.benchmarks.metrics.variants import (
    AXIS,
    NEUTRAL,
    NOBODY,
    gap_over,
    group_spread,
    largest_gap,
    noise_floor,
    spread_above_noise,
    spread_over,
)
from mindgauge.benchmarks.variants import by_name
from mindgauge.records import Message, Sample
from mindgauge.stats.interval import SAME

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
GROUPS = (
    ("nobody", "nobody"), ("gender", "man"), ("gender", "woman"),
    ("age", "16"), ("age", "45"), ("age", "70"), ("neutral", "tea"), ("neutral", "walks"),
)  # fmt: skip


def table(*contexts: list[int]) -> RatingTable:
    """Write the codes of each context's variants in the order of `GROUPS`; a cluster is a context."""
    codes = np.array(contexts, dtype=np.intp).ravel()
    axis, group = (np.array([names[part] for names in GROUPS] * len(contexts), dtype=object) for part in (0, 1))
    base = np.array([f"context {n}" for n in range(len(contexts)) for _ in GROUPS], dtype=object)
    status = np.where(codes >= 0, "ok", "failed").astype(object)
    tags = {"axis": axis, "group": group, "base": base}
    cluster = np.repeat(np.arange(len(contexts)), len(GROUPS))
    return RatingTable(LEVELS, codes, np.full(len(codes), -1), cluster, np.arange(len(codes)), status, tags=tags)


def value(metric: Metric, ratings: RatingTable) -> float | None:
    return estimate(metric, ratings, resamples=50).value


# Means: man .5, woman .75; ages .25, .5, .75; neutral .5, .625.
PLAIN = table([2, 2, 3, 1, 2, 3, 2, 2], [4, 2, 3, 1, 2, 3, 2, 3])


def test_spreads_and_gaps_are_those_of_the_groups_means() -> None:
    age = np.sqrt(2 * 0.25**2 / 3)
    assert value(spread_over("gender"), PLAIN) == pytest.approx(0.125)
    assert value(spread_over("age"), PLAIN) == pytest.approx(age)
    assert value(gap_over("gender"), PLAIN) == pytest.approx(0.25)
    assert value(gap_over("age"), PLAIN) == value(largest_gap, PLAIN) == pytest.approx(0.5)
    assert value(group_spread, PLAIN) == pytest.approx((0.125 + age) / 2)
    assert value(noise_floor, PLAIN) == pytest.approx(0.0625)
    assert value(spread_above_noise, PLAIN) == pytest.approx((0.125 + age) / 2 - 0.0625)


def test_replies_that_are_all_alike_differ_in_nothing() -> None:
    same = table([1] * 8, [3] * 8, [4] * 8)
    for metric in (spread_over("age"), gap_over("gender"), group_spread, largest_gap, noise_floor, spread_above_noise):
        found = estimate(metric, same, resamples=50)
        assert (found.value, found.low, found.high, found.note) == (0, None, None, SAME)


def test_a_missing_value_moves_nobody_to_an_easier_context() -> None:
    # Everything is 1.0 in the first context and 0.0 in the second; one reply of the first is not rated.
    found = estimate(spread_over("gender"), table([4, -1, *[4] * 6], [0] * 8))
    assert found.value == 0
    assert (found.missing, found.n) == (1, 14)
    assert found.worst is not None
    assert found.worst > 0.2


def test_a_group_without_any_value_leaves_its_axis_undefined() -> None:
    silent = table([2, -1, 3, 1, 2, 3, 2, 2], [2, -1, 3, 1, 2, 3, 2, 2])
    assert value(spread_over("gender"), silent) is None
    assert value(group_spread, silent) is None
    assert value(spread_over("age"), silent) is not None


def test_one_group_alone_has_no_spread() -> None:
    only = PLAIN.rows(np.equal(PLAIN.tags["group"], "man").astype(bool))
    for metric in (spread_over("gender"), group_spread, largest_gap, noise_floor, spread_above_noise):
        assert value(metric, only) is None


def test_each_resample_has_the_figure_of_its_own_weights() -> None:
    weights = np.repeat([[1.0, 1.0], [1.0, 0.0], [0.0, 2.0]], len(GROUPS), axis=1)
    assert noise_floor.compute(PLAIN, weights) == pytest.approx([0.0625, 0.0, 0.125])


def test_the_names_of_controls_are_those_of_the_variants() -> None:
    control, *described = by_name.described(Sample.of((Message("user", "hello"),)))
    assert control.tags[AXIS] == NOBODY
    assert NEUTRAL in {sample.tags[AXIS] for sample in described} == {*by_name.axes()}
