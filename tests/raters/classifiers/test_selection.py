"""What a checkpoint is chosen by."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss

from mindgauge.raters.classifiers import calibration


def test_standing_is_macro_f1_and_mean_log_likelihood() -> None:
    generator = np.random.default_rng(1)
    logits, codes = generator.normal(size=(50, 3)), generator.integers(0, 2, 50)
    found = calibration.standing(logits, codes)
    assert found["macro_f1"] == pytest.approx(f1_score(codes, logits.argmax(axis=1), average="macro", labels=[0, 1]))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert found["log_likelihood"] == pytest.approx(-log_loss(codes, probabilities, labels=[0, 1, 2]))
    assert found["merit"] == pytest.approx(found["macro_f1"] + found["log_likelihood"] / 1000)
    assert calibration.best([{"merit": merit} for merit in (0.4, 0.5, 0.6, 0.6)]) == 2
