"""Temperatures, reliability and abstention on probabilities whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from mindgauge.raters.classifiers import calibration
from mindgauge.raters.classifiers.dialogues import DataSplit
from mindgauge.records import Message, Sample
from mindgauge.stats.proportion import clopper_pearson

LABELS = 4


def drawn(n: int, *, sharpness: float, seed: int = 0) -> tuple[np.ndarray, DataSplit]:
    """Make logits that are `sharpness` times too large, with labels drawn from the true probabilities."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(scale=1.5, size=(n, LABELS))
    codes = (softmax(logits, axis=1).cumsum(axis=1) < generator.random((n, 1))).sum(axis=1)
    sample = Sample.of((Message("user", "a dialogue"),), target=0)
    return sharpness * logits, DataSplit((sample,) * n, codes.astype(np.intp), np.arange(n))


def compared(probabilities: np.ndarray, part: DataSplit) -> calibration.Calibration:
    return calibration.calibration(probabilities, part.codes, part.groups)


def labelled(codes: list[int], groups: list[int]) -> DataSplit:
    samples = tuple(Sample.of((Message("user", str(i)),), target=0) for i in range(len(codes)))
    return DataSplit(samples, np.array(codes, dtype=np.intp), np.array(groups, dtype=np.intp))


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
def test_temperature_finds_how_much_too_sharp_logits_are(sharpness: float) -> None:
    logits, part = drawn(8_000, sharpness=sharpness)
    assert calibration.temperature(logits, part.codes) == pytest.approx(sharpness, rel=0.05)


def test_temperature_minimises_the_loss_with_one_more_observation() -> None:
    logits, part = drawn(60, sharpness=2.0)

    def loss(log_t: float) -> float:
        likelihood = log_softmax(logits / np.exp(log_t), axis=1)
        right = likelihood[np.arange(60), part.codes]
        return -float((60 / 61 * right + 1 / 61 * likelihood.mean(axis=1)).mean())

    best = minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-8})
    assert calibration.temperature(logits, part.codes) == pytest.approx(np.exp(best.x), rel=1e-4)


def test_temperature_stays_finite_where_all_is_right_or_wrong() -> None:
    logits = 5 * np.eye(LABELS)
    assert 0.05 < calibration.temperature(logits, np.arange(LABELS)) < 5
    assert calibration.temperature(logits, np.roll(np.arange(LABELS), 1)) == pytest.approx(20)


def test_reliability_bins_add_up() -> None:
    probabilities = np.array([[0.95, 0.05], [0.85, 0.15], [0.9, 0.1], [0.4, 0.6]])
    found = compared(probabilities, labelled([0, 1, 0, 1], [0, 1, 2, 3]))
    assert [b.n for b in found.bins] == [0, 0, 0, 0, 0, 1, 0, 0, 2, 1]
    low, high = found.bins[8], found.bins[9]
    assert low.confidence == pytest.approx(0.875) and low.accuracy == 0.5
    assert (high.low, high.high, high.confidence, high.accuracy) == (0.9, 1.0, 0.95, 1.0)
    assert (low.accuracy_low, low.accuracy_high) == clopper_pearson(1, 2)[1:3]
    assert found.ece == pytest.approx((2 * 0.375 + 0.05 + 0.4) / 4)
    assert found.log_loss == pytest.approx(-np.log([0.95, 0.15, 0.9, 0.6]).mean())
    assert compared(np.empty((0, 2)), labelled([], [])).ece is None
    related = compared(probabilities, labelled([0, 1, 0, 1], [0, 1, 1, 3])).bins[8]
    assert (related.accuracy_low, related.accuracy_high) == clopper_pearson(0.5, 1)[1:3]


def test_abstention_counts_dialogues_not_samples() -> None:
    probabilities = np.array([[0.9, 0.1]] * 6 + [[0.6, 0.4]] * 2)
    part = labelled([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 2, 2, 3, 3])
    found = calibration.abstention(probabilities, part, 0.8)
    assert (found.decided, found.n) == (6, 8)
    assert found.risk == pytest.approx(2 / 6)
    assert found.risk_high == pytest.approx(clopper_pearson(1, 3, 0.9).high)
    own = calibration.abstention(probabilities, part, np.array([0.95] * 4 + [0.5] * 4))
    assert (own.decided, own.threshold, own.risk) == (4, None, 1.0)
    nothing = calibration.abstention(probabilities, part, 2.0)
    assert (nothing.decided, nothing.risk, nothing.risk_high) == (0, None, 1.0)


def test_the_threshold_keeps_its_promise() -> None:
    """In 200 repetitions the true risk passes the stated one less often than the level allows."""
    broken = decided = 0
    for seed in range(200):
        logits, dev = drawn(300, sharpness=1.0, seed=seed)
        chosen = calibration.choose_threshold(softmax(logits, axis=1), dev, 0.3)
        fresh, truth = drawn(2000, sharpness=1.0, seed=10_000 + seed)
        confidence = softmax(fresh, axis=1)
        wrong = (confidence.argmax(axis=1) != truth.codes)[confidence.max(axis=1) >= (chosen.threshold or 0.0)]
        broken += bool(len(wrong)) and wrong.mean() > 0.3
        decided += chosen.decided > 0
    assert broken <= 200 * 0.05
    assert decided > 100


def test_where_no_threshold_keeps_the_risk_all_is_left_open() -> None:
    logits, dev = drawn(30, sharpness=1.0)
    found = calibration.choose_threshold(softmax(logits, axis=1), dev, 0.01)
    assert found.threshold is not None and found.threshold > 1 and found.decided == 0
    for n in (1, 2, 3):
        logits, dev = drawn(n, sharpness=1.0)
        assert calibration.choose_threshold(softmax(logits, axis=1), dev, 0.3).decided == 0
