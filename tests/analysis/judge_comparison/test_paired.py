"""Coefficients of two raters agree with scikit-learn's, and differences of equal judges are seldom called real."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from mindgauge.analysis.judge_comparison.compare import IntervalOptions, _measured
from mindgauge.analysis.judge_comparison.paired import bounds, of_systems, pair
from mindgauge.analysis.reliability.scale import ValueScale
from mindgauge.stats.jackknife import p_value
from tests.thinned import later

SCALE = ValueScale((0.0, 1.0, 2.0))
YES_NO = ValueScale((0.0, 1.0), ("no", "yes"))


def rows(values: list[int], per_cluster: int = 1, **more: object) -> pl.DataFrame:
    clusters = [f"c{n // per_cluster}" for n in range(len(values))]
    subjects = [f"s{n}" for n in range(len(values))]
    return pl.DataFrame({"subject": subjects, "cluster": clusters, "number": [float(v) for v in values], **more})


@pytest.mark.parametrize(("scale", "top"), [(SCALE, 3), (YES_NO, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_single_verdicts_agree_with_scikit_learn(scale: ValueScale, top: int, seed: int) -> None:
    from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score  # takes a second to import

    generator = np.random.default_rng(seed)
    x = generator.integers(0, top, 60)
    y = np.where(generator.random(60) < 0.6, x, generator.integers(0, top, 60))
    paired = pair(rows(x.tolist(), 3), rows(y.tolist(), 3), scale)
    assert paired is not None
    found = bounds(paired)
    assert found["accuracy"].value == pytest.approx(accuracy_score(x, y))
    assert found["f1"].value == pytest.approx(f1_score(x, y, average="macro"))
    assert found["kappa"].value == pytest.approx(cohen_kappa_score(x, y))
    if top > 2:
        assert found["kappa_quadratic"].value == pytest.approx(cohen_kappa_score(x, y, weights="quadratic"))
    else:
        assert "kappa_quadratic" not in found, "with two levels it is kappa"
    assert found["kendall"].value == pytest.approx(stats.kendalltau(x, y).statistic)
    for bound in found.values():
        assert bound.low is not None and bound.value is not None and bound.high is not None
        assert bound.low <= bound.value <= bound.high
    assert len(paired.clusters) == 20


def test_perfect_agreement_is_not_sure_agreement() -> None:
    x = [0, 1, 2] * 4
    paired = pair(rows(x), rows(x), SCALE)
    assert paired is not None
    found = bounds(paired)
    assert (found["accuracy"].value, found["accuracy"].high) == (1, 1)
    assert found["accuracy"].low == pytest.approx(0.7354, abs=1e-4), "Clopper-Pearson for 12 of 12"
    assert found["kappa"].low is None and "perfect" in found["kappa"].note


def test_a_judge_that_never_varies_has_no_correlation() -> None:
    paired = pair(rows([0, 1, 2, 1]), rows([1, 1, 1, 1]), SCALE)
    assert paired is not None
    found = bounds(paired)
    assert (found["spearman"].value, found["kendall"].value, found["pearson"].value) == (None, None, None)
    assert found["kappa"].value == 0


def test_no_shared_subject_is_no_pair() -> None:
    assert pair(rows([0, 1]), rows([0, 1]).with_columns(subject=pl.col("subject") + "x"), SCALE) is None


def test_systems_that_all_have_one_mean_have_no_order() -> None:
    people = rows([1] * 30, 5, system=[f"m{n % 5}" for n in range(30)])
    found = of_systems(people, rows([1] * 30), [f"m{n}" for n in range(5)], 200, 0)
    assert {b.value for b in found.values()} == {None}


@pytest.mark.parametrize("seed", range(3))
def test_p_of_a_mean_is_student_s(seed: int) -> None:
    gaps = np.random.default_rng(seed).normal(0.3, 1, 15)
    without = (gaps.sum() - gaps) / 14
    expected = stats.ttest_1samp(gaps, 0)
    assert p_value(float(gaps.mean()), without, np.ones(15, dtype=np.intp)) == pytest.approx(expected.pvalue)


def test_no_spread_is_no_test() -> None:
    ones = np.ones(5, dtype=np.intp)
    assert p_value(0.0, np.zeros(5), ones) == 1
    assert p_value(0.3, np.full(5, 0.3), ones) is None
    assert p_value(0.3, np.array([0.3]), ones[:1]) is None


@pytest.mark.parametrize("studies", [100, later(300)])
def test_equal_judges_are_seldom_told_apart(studies: int) -> None:
    """Two judges with the same errors' rate, many times: no measure rejects much more often than it says, 1 in 20."""
    generator = np.random.default_rng(5)
    rejected: dict[str, int] = {}
    for _ in range(studies):
        truth = generator.integers(0, 3, 90)
        sides = []
        for _ in range(2):
            wrong = generator.random(90) < 0.3
            given = np.where(wrong, generator.integers(0, 3, 90), truth)
            sides.append(pair(rows(truth.tolist(), 3), rows(given.tolist(), 3), SCALE))
        assert sides[0] is not None and sides[1] is not None
        for one in _measured("c", ("a", "b"), (sides[0], sides[1]), IntervalOptions(resamples=100)):
            rejected[one.measure] = rejected.get(one.measure, 0) + (one.p is not None and one.p <= 0.05)
    assert set(rejected) == {"accuracy", "f1", "kappa", "kappa_quadratic", "pearson", "spearman", "kendall"}
    assert max(rejected.values()) <= studies * 0.05 + 3 * np.sqrt(studies * 0.05 * 0.95), rejected
