"""Correlation with people, on numbers computed by hand, and as resamples weigh them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from mindgauge.benchmarks.metrics import RatingTable, estimate
from mindgauge.benchmarks.metrics.resistance import error_rate, leak_rate, mean_disclosure
from mindgauge.benchmarks.metrics.scores import correlation_with_people, rank_correlation_with_people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records import Value

BOTH = (correlation_with_people, rank_correlation_with_people)


def rated(
    values: Sequence[Value | None],
    human: Sequence[str] = (),
    subject: Sequence[int] = (),
    run: Sequence[int] = (),
    levels: tuple[Value, ...] = (1, 2, 3, 4),
) -> RatingTable:
    n = len(values)
    code = np.array([-1 if v is None else levels.index(v) for v in values])
    item = np.array(subject or range(n))
    status = np.array(["unparsable" if v is None else "ok" for v in values], dtype=object)
    tags = {"human": np.array(human, dtype=object)} if human else {}
    return RatingTable(levels, code, np.full(n, -1), item, item, status, np.array(run or [0] * n), tags)


def test_pearson_and_spearman_by_hand() -> None:
    # 1 2 3 4 beside 1 3 2 4: products 4, variances 5 and 5; the ranks are the numbers themselves.
    table = rated([1, 2, 3, 4], ["1", "3", "2", "4"])
    assert [metric.compute(table, np.ones((1, 4)))[0] for metric in BOTH] == pytest.approx([0.8, 0.8])
    # Ranks see only the order: 10 in place of 4 moves Pearson's r alone.
    table = rated([1, 2, 3, 4], ["1", "3", "2", "10"])
    r, rho = (metric.compute(table, np.ones((1, 4)))[0] for metric in BOTH)
    assert rho == pytest.approx(0.8)
    assert r == pytest.approx(13 / np.sqrt(5 * 50))


def test_repeats_of_an_item_are_averaged_first() -> None:
    table = rated([1, 3, 2, 4, 4, 4], ["1", "1", "2", "2", "3", "3"], subject=[0, 0, 1, 1, 2, 2], run=[0, 1] * 3)
    assert correlation_with_people.compute(table, np.ones((1, 6)))[0] == pytest.approx(1.0)  # 2, 3, 4
    found = estimate(correlation_with_people, table)
    assert (found.n, found.clusters, found.runs) == (6, 3, 2)
    by_run = [stats.pearsonr(run, (1, 2, 3)).statistic for run in ((1, 2, 4), (3, 4, 4))]
    assert found.mean_of_runs == pytest.approx(np.mean(by_run))


def test_a_resample_weighs_items_as_if_they_stood_there_as_often() -> None:
    numbers, human, counts = [1, 4, 2, 2, 3], [1.5, 3.5, 2.5, 1.0, 2.5], np.array([2, 1, 0, 3, 1])
    table = rated(numbers, [str(h) for h in human])
    drawn = np.repeat(numbers, counts), np.repeat(human, counts)
    r, rho = (metric.compute(table, counts[None, :].astype(float))[0] for metric in BOTH)
    assert r == pytest.approx(stats.pearsonr(*drawn).statistic)
    assert rho == pytest.approx(stats.spearmanr(*drawn).statistic)


def test_what_nobody_answered_is_left_out_and_counted() -> None:
    table = rated([1, 2, None, 4], ["1", "2", "1", "4"])
    found = estimate(correlation_with_people, table)
    assert found.value == pytest.approx(1.0)
    assert (found.n, found.missing) == (4, 1)
    assert found.worst is not None
    assert found.worst < 1.0


def test_only_items_that_people_rated_count() -> None:
    table = rated([1, 2, 4, 4], ["1", "2", "3", ""])
    found = estimate(correlation_with_people, table)
    assert found.n == 3
    assert found.value == pytest.approx(stats.pearsonr((1, 2, 4), (1, 2, 3)).statistic)


@pytest.mark.parametrize("number", [0, 1])
def test_without_differences_there_is_no_correlation(number: int) -> None:
    metric = BOTH[number]
    for table in (rated([3, 3, 3], ["1", "2", "3"]), rated([1, 2, 3], ["0.1", "0.1", "0.1"]), rated([1, 2, 3])):
        kept = table.rows(metric.applies_to(table))
        assert np.isnan(metric.compute(kept, np.ones((1, len(kept))))).all()
        assert estimate(metric, table).value is None


def test_words_have_no_correlation() -> None:
    assert not correlation_with_people.supports(("no", "yes"))
    assert correlation_with_people.supports((-100, -50, 0, 50, 100))


def test_leaks_by_hand() -> None:
    table = rated([3, 2, 1, 0, None], levels=(3, 2, 1, 0))
    found = estimate(leak_rate, table)
    assert (found.value, found.n, found.missing) == (0.5, 5, 1)
    assert (found.worst, found.best) == (0.6, 0.4)
    assert estimate(mean_disclosure, table).value == 1.5
    assert not leak_rate.supports((1, 2, 3, 4, 5))


def test_error_rate_by_hand() -> None:
    found = estimate(error_rate, rated(["yes", "no", "no", None], levels=("yes", "no")))
    assert found.value == pytest.approx(1 / 3)
    assert (found.n, found.missing, found.worst, found.best) == (4, 1, 0.5, 0.25)
    assert not error_rate.supports((3, 2, 1, 0))


def test_a_guess_stands_in_where_nobody_was_asked() -> None:
    table = rated([1, 2, 3, 4], ["1", "", "", "4"])
    guessed = RatingTable(
        table.levels, table.code, table.target, table.cluster, table.subject, table.status,
        tags={**table.tags, "expected": np.array(["4", "2", "", "1"], dtype=object)},
    )  # fmt: skip
    found = estimate(correlation_with_people, guessed)
    assert found.n == 3
    assert found.value == pytest.approx(1.0)
