from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from mindgauge.stats import bootstrap
from mindgauge.stats.proportion import clopper_pearson


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_clopper_pearson_equals_statsmodels(case: tuple[int, int]) -> None:
    count, n = case
    low, high = proportion_confint(count, n, method="beta")
    found = clopper_pearson(count, n)
    assert (found.value, found.low, found.high) == pytest.approx((count / n, low, high), abs=1e-12)


def test_zero_of_n_has_an_upper_bound() -> None:
    found = clopper_pearson(0, 30)
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 30))
    assert np.isnan(clopper_pearson(0, 0).value)


def test_weights_count_whole_clusters() -> None:
    cluster = np.array([0, 0, 1, 2, 2, 2])
    weights = np.concatenate(list(bootstrap.cluster_weights(cluster, 500, seed=3)))
    assert weights.shape == (500, 6)
    assert (weights[:, 0] == weights[:, 1]).all()
    assert (weights[:, 3] == weights[:, 5]).all()
    assert (weights[:, 0] + weights[:, 2] + weights[:, 3] == 3).all(), "as many clusters in each resample as there are"


def test_the_seed_decides_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = np.arange(50)
    whole = np.concatenate(list(bootstrap.cluster_weights(cluster, 40, seed=1)))
    monkeypatch.setattr(bootstrap, "CHUNK", 150)
    np.testing.assert_array_equal(np.concatenate(list(bootstrap.cluster_weights(cluster, 40, seed=1))), whole)


def test_repeats_of_a_conversation_do_not_narrow_the_interval() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=100)
    tripled, cluster = np.repeat(values, 3), np.repeat(np.arange(100), 3)

    def width(
        data: np.ndarray[tuple[int], np.dtype[np.float64]], groups: np.ndarray[tuple[int], np.dtype[np.intp]]
    ) -> float:
        found = bootstrap.distribution(lambda w: w @ data / w.sum(axis=1), groups, 4000, 0)
        low, high = bootstrap.percentile(found)
        return high - low

    once = width(values, np.arange(100))
    assert width(tripled, cluster) == pytest.approx(once, rel=0.05)
    assert width(tripled, np.arange(300)) < 0.7 * once


def test_an_undefined_statistic_has_no_interval() -> None:
    assert np.isnan(bootstrap.percentile(np.array([np.nan, np.nan, 1.0]))).all()
    assert bootstrap.percentile(np.array([np.nan, 1.0, 1.0])) == (1.0, 1.0)
