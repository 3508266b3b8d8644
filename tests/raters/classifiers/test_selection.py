"""What a checkpoint is chosen by, and what labels weigh."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, log_loss
from sklearn.utils.class_weight import compute_class_weight

from mindgauge.raters.classifiers import calibration
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric import Criterion, Level, Scale

CRITERION = Criterion("kind", Scale.NOMINAL, tuple(Level(v, {"en": v}, (v.upper(),)) for v in ("a", "b", "c")))


def test_standing_is_macro_f1_and_mean_log_likelihood() -> None:
    generator = np.random.default_rng(1)
    logits, codes = generator.normal(size=(50, 3)), generator.integers(0, 2, 50)
    found = calibration.standing(logits, codes)
    assert found["macro_f1"] == pytest.approx(f1_score(codes, logits.argmax(axis=1), average="macro", labels=[0, 1]))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert found["log_likelihood"] == pytest.approx(-log_loss(codes, probabilities, labels=[0, 1, 2]))
    history = [{"macro_f1": f1, "log_likelihood": x} for f1, x in ((0.4, -0.1), (0.5, -2.0), (0.5, -1.0), (0.5, -1.0))]
    assert calibration.best(history) == 2


def test_collapse_is_one_label_or_nothing_gained() -> None:
    codes = np.array([0, 0, 0, 1, 2], dtype=np.intp)
    assert calibration.collapse(np.eye(3)[[0, 0, 0, 0, 0]], codes) == "one label for all"
    assert calibration.collapse(np.eye(3)[[1, 1, 2, 0, 0]], codes) == "no better than always the most frequent label"
    assert not calibration.collapse(np.eye(3)[[0, 0, 0, 1, 1]], codes)


def test_balanced_weights_are_scikit_learns() -> None:
    counts = np.array([70, 20, 10])
    found = calibration.class_weights("balanced", counts, CRITERION, {})
    assert found == pytest.approx(
        compute_class_weight("balanced", classes=np.arange(3), y=np.repeat(np.arange(3), counts))
    )
    assert calibration.class_weights("balanced", np.array([6, 0, 2]), CRITERION, {}).tolist() == [8 / 12, 1.0, 2.0]
    assert calibration.class_weights("none", counts, CRITERION, {}).tolist() == [1, 1, 1]


def test_published_weights_go_by_the_labels_name() -> None:
    found = calibration.class_weights("published", np.ones(3, dtype=np.intp), CRITERION, {"C": 2.0, "B": 0.5, "A": 3.0})
    assert found.tolist() == [3.0, 0.5, 2.0]
    with pytest.raises(UsageError, match="no weights are published"):
        calibration.class_weights("published", np.ones(3, dtype=np.intp), CRITERION, {})
    with pytest.raises(UsageError, match="balanced, published or none, not 'heavy'"):
        calibration.class_weights("heavy", np.ones(3, dtype=np.intp), CRITERION, {})
