"""As good as one more person: the paper's arithmetic, its limits, and what clusters and rare differences do to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mindgauge.stats.alternative import alternative, at_limit
from mindgauge.stats.significance import benjamini_yekutieli


def ratings(random: np.random.Generator, n: int = 60, people: int = 3, noise: float = 1.0) -> tuple[np.ndarray, ...]:
    """Return a judge and people who all are one more person."""
    level = random.normal(3, 1, n)
    values = np.clip(np.rint(level[:, None] + noise * random.normal(size=(n, people + 1))), 1, 5)
    return values[:, 0], values[:, 1:]


def test_wins_and_rates_are_those_of_the_definition() -> None:
    """By hand: distances to two others by root mean square, ties won by both, each person left out in turn."""
    judge = np.array([1.0, 1.0, 5.0, 2.0])
    people = np.array([[1.0, 1.0, 2.0], [3.0, 5.0, 5.0], [4.0, 5.0, 5.0], [2.0, 2.0, np.nan]])
    result = alternative(judge, people, np.arange(4), ordered=True, epsilon=0.2, subjects=3)
    assert [part.n for part in result.people] == [4, 4, 3]
    assert [part.judge.value for part in result.people] == [0.75, 0.75, pytest.approx(2 / 3)]
    assert [part.person.value for part in result.people] == [0.75, 1.0, pytest.approx(2 / 3)]
    assert result.advantage.value == pytest.approx((0.75 + 0.75 + 2 / 3) / 3)


def test_classes_are_held_against_the_share_of_others_with_the_same() -> None:
    judge, people = np.array([1.0, 2.0]), np.array([[3.0, 1.0, 1.0], [2.0, 2.0, 3.0]])
    result = alternative(judge, people, np.arange(2), ordered=False, epsilon=0.2, subjects=2)
    assert [part.judge.value for part in result.people] == [1.0, 1.0, 1.0]
    assert [part.person.value for part in result.people] == [0.5, 1.0, 0.5]


def test_where_both_differ_often_it_is_the_paper_s_paired_t() -> None:
    random = np.random.default_rng(1)
    judge, people = ratings(random, 400)
    result = alternative(judge, people, np.arange(400), ordered=True, epsilon=0.2)
    for j, part in enumerate(result.people):
        rest = np.delete(people, j, axis=1)
        apart = [np.sqrt(((rest - own[:, None]) ** 2).mean(axis=1)) for own in (judge, people[:, j])]
        d = (apart[1] <= apart[0]).astype(float) - (apart[0] <= apart[1])
        t = stats.ttest_1samp(d, 0.2, alternative="less")
        assert part.worse.value == pytest.approx(d.mean())
        assert part.p == pytest.approx(t.pvalue, rel=1e-6)


def test_a_variance_at_the_limit_is_the_one_that_maximises_the_likelihood() -> None:
    random = np.random.default_rng(2)
    for _ in range(20):
        d = random.choice([-1.0, 0.0, 1.0], 40, p=random.dirichlet([1, 3, 1]))
        b, c, epsilon = (d > 0).sum(), (d < 0).sum(), 0.2
        q = np.linspace(1e-9, (1 - epsilon) / 2 - 1e-9, 200_001)
        likelihood = b * np.log(q + epsilon) + c * np.log(q) + (40 - b - c) * np.log(1 - 2 * q - epsilon)
        best = q[np.argmax(likelihood)]
        assert at_limit(d, epsilon) == pytest.approx(2 * best + epsilon - epsilon**2, abs=1e-4)


def test_false_wins_are_no_commoner_than_the_level_where_differences_are_rare() -> None:
    """P(d = 1) = ε and no d = -1: the paired t rejects in 12 % of studies of 30, the score test in at most 5."""
    from mindgauge.stats.alternative import _p_value

    random, sizes = np.random.default_rng(3), np.ones(30)
    drawn = (random.random((2000, 30)) < 0.2).astype(float)
    p = np.array([_p_value(d, np.arange(30), sizes, 0.2) for d in drawn])
    assert (p <= 0.05).mean() <= 0.055
    assert (stats.ttest_1samp(drawn, 0.2, axis=1, alternative="less").pvalue <= 0.05).mean() > 0.1


def test_repeating_each_subject_in_its_cluster_makes_nothing_surer() -> None:
    judge, people = ratings(np.random.default_rng(4))
    alone = alternative(judge, people, np.arange(60), ordered=True, epsilon=0.2)
    four = alternative(np.repeat(judge, 4), np.repeat(people, 4, axis=0), np.repeat(np.arange(60), 4), ordered=True, epsilon=0.2)  # fmt: skip
    for one, other in zip(alone.people, four.people, strict=True):
        assert other.worse.low == pytest.approx(one.worse.low)
        assert other.p == pytest.approx(one.p, rel=0.1, abs=1e-4)


def test_a_missing_verdict_loses() -> None:
    judge, people = ratings(np.random.default_rng(5))
    silent = np.where(np.arange(60) % 2 == 0, np.nan, judge)
    result = alternative(silent, people, np.arange(60), ordered=True, epsilon=0.2)
    assert all(part.missing == 30 and (part.judge.value or 0) <= 0.5 for part in result.people)
    assert result.winning == 0.0


def test_who_rated_too_little_does_not_count() -> None:
    judge, people = ratings(np.random.default_rng(6))
    people[29:, 2] = np.nan
    result = alternative(judge, people, np.arange(60), ordered=True, epsilon=0.2)
    assert result.counted == 2 and "29 of the 30 subjects" in result.people[2].undefined
    crowded = alternative(judge, people, np.arange(60) // 20, ordered=True, epsilon=0.2, fewest=10)
    assert crowded.winning is None and crowded.advantage.value is None


def test_one_more_person_passes_and_noise_does_not() -> None:
    random = np.random.default_rng(7)
    passed = {"person": 0, "noise": 0}
    for _ in range(60):
        judge, people = ratings(random, 120, noise=0.7)
        noise = random.integers(1, 6, 120).astype(float)
        for name, values in (("person", judge), ("noise", noise)):
            result = alternative(values, people, np.arange(120), ordered=True, epsilon=0.2)
            passed[name] += (result.winning or 0) >= 0.5
    assert passed["person"] >= 45 and passed["noise"] == 0


def test_adjusted_p_values_are_those_of_benjamini_and_yekutieli() -> None:
    random = np.random.default_rng(8)
    for m in (1, 2, 7):
        p = random.random(m) ** 3
        expected = stats.false_discovery_control(p, method="by")
        assert benjamini_yekutieli(p) == pytest.approx(expected)
    assert np.isnan(benjamini_yekutieli(np.array([np.nan, 0.01]))[0])
    assert benjamini_yekutieli(np.array([np.nan, 0.01]))[1] == pytest.approx(0.01)
