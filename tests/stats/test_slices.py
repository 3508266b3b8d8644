"""Events in slices of replies: p by hand and by other tests, false alarms of the whole family, and clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mindgauge.stats.proportion import fisher_greater
from mindgauge.stats.slices import worse_slices


def test_one_slice_and_one_stratum_is_fisher_s_exact_test() -> None:
    events = np.array([1] * 4 + [0] * 3 + [1] * 2 + [0] * 11, dtype=bool)
    inside = (np.arange(20) < 7)[:, None]
    found = worse_slices(events, inside, np.zeros(20, dtype=np.intp), np.arange(20))
    assert found.p[0] == pytest.approx(fisher_greater(4, 7, 2, 13))
    assert found.adjusted[0] == pytest.approx(found.p[0], abs=0.02), "one slice needs no adjustment"


def test_strata_are_summed_as_their_exact_distribution() -> None:
    """Two tables: 2 of 3 events inside, of 4 replies of 9; 1 of 2, of 3 of 8."""
    stratum = np.repeat([0, 1], [9, 8])
    events = np.isin(np.arange(17), [0, 1, 5, 9, 14])
    inside = np.isin(np.arange(17), [0, 1, 2, 3, 9, 10, 11])
    chance = np.convolve(stats.hypergeom.pmf(range(4), 9, 3, 4), stats.hypergeom.pmf(range(3), 8, 2, 3))
    found = worse_slices(events, inside[:, None], stratum, np.arange(17))
    assert found.p[0] == pytest.approx(chance[3:].sum())


def test_the_normal_distribution_takes_over_where_there_are_many_events() -> None:
    random = np.random.default_rng(1)
    events, inside = random.random(2000) < 0.2, (random.random(2000) < 0.15)
    found = worse_slices(events, inside[:, None], np.zeros(2000, dtype=np.intp), np.arange(2000))
    exact = fisher_greater(int(events[inside].sum()), int(inside.sum()), int(events[~inside].sum()), int((~inside).sum()))  # fmt: skip
    assert found.p[0] == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("size", [1, 5])
def test_over_all_slices_a_false_alarm_is_as_rare_as_promised(size: int) -> None:
    """Events are alike in clusters, half of the slices are of clusters; strata have other shares of events."""
    alarms = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        cluster = np.arange(100) // size
        stratum = random.integers(0, 2, 100)
        liable = (random.standard_normal(cluster.max() + 1)[cluster] + random.standard_normal(100)) / np.sqrt(2)
        events = liable > np.where(stratum == 1, 0.3, 1.2)
        groups = random.integers(0, 6, cluster.max() + 1)[cluster], random.integers(0, 6, 100)
        inside = np.stack([group == value for group in groups for value in range(6)], axis=1)
        alarms += worse_slices(events, inside, stratum, cluster, seed).adjusted.min() < 0.05
    assert alarms <= 5, "5 % are 2 of 40, and more than 5 come once in 70"


def test_a_slice_that_is_blind_is_found_among_forty_and_the_seed_is_kept() -> None:
    random = np.random.default_rng(2)
    inside = random.random((60, 40)) < 0.2
    inside[:, 7] = np.arange(60) < 8
    events = (np.arange(60) < 8) | (random.random(60) < 0.1)
    one, again = (worse_slices(events, inside, np.zeros(60, dtype=np.intp), np.arange(60), 3) for _ in range(2))
    assert one.adjusted.argmin() == 7
    assert one.adjusted[7] < 0.005
    assert (one.adjusted == again.adjusted).all()
    assert (one.adjusted >= one.p - 0.01).all()


def test_without_events_nothing_is_tested() -> None:
    none = worse_slices(np.zeros(5, dtype=bool), np.eye(5, dtype=bool), np.zeros(5, dtype=np.intp), np.arange(5))
    assert none.adjusted.tolist() == [1.0] * 5
