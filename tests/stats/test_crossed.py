"""Crossed effects: lme4's published figures, closed forms of balanced designs, dense algebra; and what few raters allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mindgauge.stats import crossed, rater_sample
from mindgauge.stats.rater_sample import mean_at_large, sample

if TYPE_CHECKING:
    from mindgauge.stats.interval import Interval

Floats = NDArray[np.float64]

PENICILLIN = """
272326232321 272326232321 252125242420 262325232320 252226222320 242225232219 242023212219 262226242421
242124222220 242124232219 262326242421 252226242420 262426242522 262326232320 262325242422 252225232320
252124232320 252224232319 242123212119 262326242421 252124222218 252225222220 242124222419 242124222118
"""
"""Davies and Goldsmith (1972), table 6.6: diameters in mm, 24 plates of six samples each, two digits a value."""
PASTES = """
628 626 601 623 627 631 600 614 575 569 611 589 587 575 639 631 654 637 571 564 569 586 647 645 551 551 547 542 588 575
634 649 593 581 605 600 625 626 610 587 569 577 592 594 652 660 648 641 548 548 640 640 577 568 583 593 592 592 589 566
"""
"""Davies and Goldsmith (1972), table 6.5: strengths times ten, ten batches of three casks, two tests each."""


def sds(fit: crossed.Fit) -> dict[str, float]:
    return {name: variance**0.5 for name, variance in fit.variances.items()}


def test_crossed_factors_have_the_figures_that_lme4_publishes_for_penicillin() -> None:
    digits = "".join(PENICILLIN.split())
    values = np.array([float(digits[i : i + 2]) for i in range(0, len(digits), 2)])
    place = np.arange(144)
    fit = crossed.fit(crossed.Design(values, {"plate": place // 6, "sample": place % 6}))
    assert sds(fit) == pytest.approx({"plate": 0.84671, "sample": 1.93157, "residual": 0.54992}, abs=2e-5)
    assert fit.mean == pytest.approx(22.9722, abs=5e-5)
    assert fit.mean_variance**0.5 == pytest.approx(0.8086, abs=5e-5)
    assert fit.deviance == pytest.approx(330.8606, abs=1e-4)


def test_nested_factors_have_the_figures_that_lme4_publishes_for_pastes() -> None:
    values = np.array([int(value) / 10 for value in PASTES.split()])
    place = np.arange(60)
    design = crossed.Design(values, {"sample": place // 2, "batch": place // 6})
    fit = crossed.fit(design)
    assert design.nested == "batch"
    assert sds(fit) == pytest.approx({"sample": 2.90408, "batch": 1.28737, "residual": 0.82341}, abs=2e-5)
    assert fit.mean == pytest.approx(60.0533, abs=5e-5) and fit.deviance == pytest.approx(246.9907, abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_a_balanced_design_has_the_components_of_its_analysis_of_variance(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, k = 12, 4
    table = random.normal(size=(n, 1)) + random.normal(size=(1, k)) + 0.5 * random.normal(size=(n, k))
    row, column = (index.ravel() for index in np.indices(table.shape))
    fit = crossed.fit(crossed.Design(table.ravel(), {"subject": row, "rater": column}))
    left = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    error = (left**2).sum() / ((n - 1) * (k - 1))
    rows, columns = k * table.mean(1).var(ddof=1), n * table.mean(0).var(ddof=1)
    expected = {"subject": (rows - error) / k, "rater": (columns - error) / n, "residual": error}
    assert min(expected.values()) > 0, "an inner optimum"
    assert fit.variances == pytest.approx(expected, rel=1e-4)
    assert fit.mean == pytest.approx(table.mean())


def unbalanced(seed: int) -> tuple[Floats, dict[str, NDArray[np.intp]]]:
    """Draw ratings of 40 replies in 12 conversations by 4 systems, each by some of 5 raters."""
    random = np.random.default_rng(seed)
    n = 130
    subject = np.concatenate([np.arange(40), random.integers(0, 40, n - 40)])
    conversation = random.integers(0, 12, 40)[subject]
    system, rater = subject % 4, random.integers(0, 5, n)
    codes = {"subject": subject, "conversation": conversation, "system": system, "rater": rater}
    effects = {
        name: random.normal(0, random.choice([0.0, 0.5, 1.0]), int(code.max()) + 1) for name, code in codes.items()
    }
    values = 3 + random.normal(0, 0.7, n) + np.sum([effects[name][code] for name, code in codes.items()], axis=0)
    return values, codes


def dense(values: Floats, codes: dict[str, NDArray[np.intp]], ratios: Floats) -> tuple[float, float, dict[str, Floats]]:
    """Return REML deviance, mean and predictions by the textbook's n by n matrices."""
    n = len(values)
    tables = {name: (code[:, None] == np.unique(code)).astype(float) for name, code in codes.items()}
    v = np.eye(n) + np.sum([r * z @ z.T for r, z in zip(ratios, tables.values(), strict=True)], axis=0)
    inverse, one = np.linalg.inv(v), np.ones(n)
    mean = float(one @ inverse @ values / (one @ inverse @ one))
    left = values - mean
    squares = left @ inverse @ left
    deviance = (
        np.linalg.slogdet(v)[1] + np.log(one @ inverse @ one) + (n - 1) * (1 + np.log(2 * np.pi * squares / (n - 1)))
    )
    return (
        float(deviance),
        mean,
        {name: r * z.T @ inverse @ left for r, (name, z) in zip(ratios, tables.items(), strict=True)},
    )


@pytest.mark.parametrize("seed", range(8))
def test_an_unbalanced_design_is_what_dense_algebra_makes_of_it(seed: int) -> None:
    values, codes = unbalanced(seed)
    design = crossed.Design(values, codes)
    random = np.random.default_rng(seed + 100)
    for ratios in (random.exponential(size=4), np.array([1.0, 0.0, 2.0, 0.0])):
        deviance, mean, predictions = dense(values, codes, ratios)
        assert design.deviance(ratios[None])[0] == pytest.approx(deviance, abs=1e-7)
        assert design.absorb(ratios[None]).mean[0] + design.origin == pytest.approx(mean)
        effects, _ = design.effects(ratios)
        for name, expected in predictions.items():
            assert effects[name] == pytest.approx(expected, abs=1e-8), name
    fit = crossed.fit(design)
    best = dense(values, codes, fit.ratios)[0]
    for i in range(4):
        for factor in (0.9, 1.1):
            moved = fit.ratios.copy()
            moved[i] = moved[i] * factor if moved[i] else 1e-3
            assert dense(values, codes, moved)[0] >= best - 1e-6, "no neighbour is better, at the boundary neither"


def test_points_are_the_same_one_by_one_all_at_once_and_without_tables_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    values, codes = unbalanced(5)
    points = np.random.default_rng(0).exponential(size=(9, 4))
    design = crossed.Design(values, codes)
    together = design.absorb(points)
    alone = [design.absorb(point[None]) for point in points]
    monkeypatch.setattr(crossed, "_MANY", 1)
    untabled = crossed.Design(values, codes)
    assert design.by_size is not None and untabled.by_size is None
    parts = untabled.absorb(points)
    for name in crossed.Absorbed._fields:
        expected = np.concatenate([getattr(one, name) for one in alone])
        assert getattr(together, name) == pytest.approx(expected), name
        assert getattr(parts, name) == pytest.approx(expected), name


def test_the_error_of_a_prediction_is_that_of_henderson_s_equations() -> None:
    values, codes = unbalanced(3)
    design, ratios = crossed.Design(values, codes), np.array([0.8, 0.4, 0.3, 0.5])
    tables = [(code[:, None] == np.unique(code)).astype(float) for code in codes.values()]
    every = np.hstack([np.ones((len(values), 1)), *tables])
    penalty = np.concatenate([[0.0], *(np.full(z.shape[1], 1 / r) for z, r in zip(tables, ratios, strict=True))])
    inverse = np.linalg.inv(every.T @ every + np.diag(penalty))
    expected = np.diag(inverse)[-tables[-1].shape[1] :]
    assert design.predicted(design.absorb(ratios[None]), "rater")[1][0] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(10))
def test_no_point_of_a_grid_is_better_than_the_fit_where_two_raters_nearly_always_agree(seed: int) -> None:
    """The residual variance is next to nothing then, and the deviance long flat before it falls."""
    random = np.random.default_rng(seed)
    subject = np.repeat(np.arange(24), 2)
    values = (0.7 * random.normal(size=12)[:, None] + random.normal(size=(12, 2))).ravel().round(1)[subject]
    values[random.integers(0, 48)] += 1
    codes = {"subject": subject, "conversation": subject // 2, "rater": np.tile([0, 1], 24)}
    design = crossed.Design(values.round(), codes)
    axis = np.array([0, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]) ** 2
    grid = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    assert crossed.fit(design).deviance <= design.deviance(grid).min() + 1e-6


def test_raters_who_do_not_differ_have_no_variance() -> None:
    random = np.random.default_rng(0)
    n, k = 60, 3
    table = random.normal(size=(n, 1)) + random.normal(size=(n, k))
    table -= table.mean(0)
    row, column = (index.ravel() for index in np.indices(table.shape))
    fit = crossed.fit(crossed.Design(table.ravel(), {"subject": row, "rater": column}))
    assert fit.variances["rater"] == 0.0 and (fit.effects["rater"] == 0).all()


def test_a_factor_of_which_the_ratings_say_nothing_has_no_variance_in_any_draw() -> None:
    flat = np.full(1 + len(rater_sample._GRID), 3.4)
    assert (rater_sample._solved(flat, np.array([3.5, 700.0, 1e12])) == 0.0).all()


def complete(n: int, k: int, seed: int, rater: float = 0.5) -> tuple[Floats, crossed.Design]:
    random = np.random.default_rng(seed)
    table = random.normal(size=(n, 1)) + rater * random.normal(size=(1, k)) + 0.7 * random.normal(size=(n, k))
    row, column = (index.ravel() for index in np.indices(table.shape))
    return table, crossed.Design(table.ravel(), {"subject": row, "rater": column})


def known(interval: Interval) -> tuple[float, float, float]:
    assert interval.value is not None and interval.low is not None and interval.high is not None
    return interval.value, interval.low, interval.high


def test_the_sd_of_raters_has_the_exact_interval_of_their_degrees_of_freedom() -> None:
    n, k = 400, 4
    table, design = complete(n, k, 1)
    told = sample(design, crossed.fit(design), rater="rater", subject=["subject"]).sds["rater"]
    columns = n * table.mean(0).var(ddof=1)
    residual = crossed.fit(design).residual
    ends = [(columns * (k - 1) / stats.chi2.ppf(p, k - 1) - residual) / n for p in (0.975, 0.025)]
    assert known(told)[1:] == pytest.approx(tuple(np.sqrt(ends)), rel=0.02)


@pytest.mark.parametrize("k", [2, 3, 6])
def test_a_mean_over_raters_has_the_degrees_of_freedom_of_raters(k: int) -> None:
    table, design = complete(3000, k, k)
    told = mean_at_large(design, crossed.fit(design), rater="rater")
    means = table.mean(0)
    half = stats.t.ppf(0.975, k - 1) * means.std(ddof=1) / k**0.5
    for interval in told:
        assert interval.value == pytest.approx(table.mean())
    assert known(told.mean)[2] - table.mean() == pytest.approx(half, rel=0.03)
    pair = stats.t.ppf(0.975, k - 1) * means.std(ddof=1) * (1 / k + 1 / 2) ** 0.5
    assert known(told.another)[2] - table.mean() == pytest.approx(pair, rel=0.03)


def test_intervals_hold_the_truth_of_studies_that_are_drawn_again() -> None:
    """Read bench/raters.py for hundreds of studies in each of many designs."""
    held = []
    for seed in range(20):
        _, design = complete(30, 3, 1000 + seed)
        told = sample(design, crossed.fit(design), rater="rater", subject=["subject"])
        truths = (0.5, 1 / (1 + 0.25 + 0.49), 0.0)
        parts = zip((told.sds["rater"], told.single, told.mean), truths, strict=True)
        held.append([low <= truth <= high for (_, low, high), truth in ((known(part), truth) for part, truth in parts)])
    assert (np.mean(held, axis=0) >= 0.8).all(), np.mean(held, axis=0)


def test_two_raters_say_little_of_others_and_the_intervals_show_it() -> None:
    _, design = complete(200, 2, 4)
    two = sample(design, crossed.fit(design), rater="rater", subject=["subject"])
    _, wide = complete(200, 12, 4)
    many = sample(wide, crossed.fit(wide), rater="rater", subject=["subject"])
    value, _, high = known(two.sds["rater"])
    assert high > 10 * value and known(two.single)[1] < 0.2
    value, _, high = known(many.sds["rater"])
    assert high < 2.5 * value and known(many.single)[1] > 0.3
    assert all(low < value < high for value, low, high in map(known, (two.single, two.mean_of, many.single)))
    widths = [high - low for _, low, high in (known(told.severities[0]) for told in (two, many))]
    assert widths[0] > 5 * widths[1]
    assert known(two.single)[0] < known(two.mean_of)[0]


def test_predictions_lie_between_the_rater_s_own_deviation_and_nothing() -> None:
    table, design = complete(80, 6, 9)
    told = sample(design, crossed.fit(design), rater="rater", subject=["subject"]).severities
    for interval, deviation in zip(told, table.mean(0) - table.mean(), strict=True):
        value, low, high = known(interval)
        assert abs(value) <= abs(deviation) and value * deviation >= 0
        assert low < deviation < high


@pytest.mark.parametrize(
    ("values", "factors", "message"),
    [
        (np.zeros(1), {"rater": np.zeros(1, dtype=np.intp)}, "two values"),
        (np.ones(4), {"rater": np.array([0, 1, 0, 1]), "subject": np.array([0, 0, 1, 1])}, "all values are the same"),
        (np.arange(3.0), {"subject": np.arange(3), "rater": np.array([0, 1, 0])}, "nothing is left"),
    ],
)
def test_what_cannot_be_estimated_is_said(values: Floats, factors: dict[str, NDArray[np.intp]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crossed.fit(crossed.Design(values, factors))
