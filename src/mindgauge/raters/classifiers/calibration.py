"""What the development part decides, never test: which training is kept, a temperature, and when to abstain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from scipy import special

from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.raters.classifiers.dialogues import DataSplit

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

BINS = 10
COVERAGES = tuple(share / 10 for share in range(10, 0, -1))
"""How much of the development part may be decided: the candidates among which a threshold is chosen."""
LEVEL = 0.95


def standing(logits: Floats, codes: Codes) -> dict[str, float]:
    """Return `macro_f1`, by the labels that occur, the mean `log_likelihood`, and `merit` of logits of shape (n, q).

    The merit is what trainings are chosen by: macro-F1, where the likelihood decides between those that are alike.
    """
    from sklearn.metrics import f1_score

    predicted, labels = logits.argmax(axis=1), np.unique(codes)
    score = float(f1_score(codes, predicted, labels=labels, average="macro", zero_division=0.0))
    likelihood = float(special.log_softmax(logits, axis=1)[np.arange(len(codes)), codes].mean())
    return {"macro_f1": score, "log_likelihood": likelihood, "merit": score + likelihood / 1000}


def best(history: Sequence[Mapping[str, float]]) -> int:
    """Return which figures are the best, from 0; of equal ones the earlier."""
    return max(range(len(history)), key=lambda i: history[i]["merit"])


def temperature(logits: Floats, codes: Codes) -> float:
    """Return the T that makes softmax(logits / T) likeliest (Guo et al. 2017), between 1/20 and 20.

    One more observation of every label, each with weight 1/q, is added (as Platt 1999 does), so that a few samples
    that are all right do not make it certain.
    """
    from scipy.optimize import minimize_scalar

    extra = 1 / (len(codes) + 1)

    def loss(log_temperature: float) -> float:
        likelihood = special.log_softmax(logits / np.exp(log_temperature), axis=1)
        right = likelihood[np.arange(len(codes)), codes]
        return -float(((1 - extra) * right + extra * likelihood.mean(axis=1)).mean())

    limit = np.log(20)
    return float(np.exp(minimize_scalar(loss, bounds=(-limit, limit), method="bounded", options={"xatol": 1e-8}).x))


class Bin(msgspec.Struct, frozen=True):
    """One column of a reliability diagram: predictions whose confidence lies in (low, high].

    The bounds of the accuracy count groups of samples, not samples.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: float | None
    accuracy_low: float | None
    accuracy_high: float | None


class Calibration(msgspec.Struct, frozen=True):
    """How confidence and accuracy go together. `ece` = Σ n_b / n · |accuracy_b - confidence_b| (Naeini et al. 2015)."""

    n: int
    ece: float | None
    log_loss: float | None
    bins: tuple[Bin, ...]


def calibration(probabilities: Floats, codes: Codes, groups: Codes) -> Calibration:
    """Compare the probability of the likeliest label with how often it is right, in ten bins of equal width.

    Args:
        probabilities: shape (n, q).
        codes: shape (n,), the right labels.
        groups: shape (n,), what bounds count.
    """
    n = len(codes)
    if not n:
        return Calibration(0, None, None, ())
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    place = np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)
    bins = tuple(_bin(i, confidence[place == i], right[place == i], groups[place == i]) for i in range(BINS))
    gaps = [b.n / n * abs((b.accuracy or 0.0) - (b.confidence or 0.0)) for b in bins]
    likelihood = np.log(np.maximum(probabilities[np.arange(n), codes], np.finfo(float).tiny))
    return Calibration(n, float(sum(gaps)), float(-likelihood.mean()), bins)


def _bin(i: int, confidence: Floats, right: NDArray[np.bool_], groups: Codes) -> Bin:
    n = len(confidence)
    if not n:
        return Bin(i / BINS, (i + 1) / BINS, 0, None, None, None, None)
    clusters = len(np.unique(groups))
    share = clopper_pearson(float(right.mean()) * clusters, clusters)
    return Bin(i / BINS, (i + 1) / BINS, n, float(confidence.mean()), share.value, share.low, share.high)


class Abstention(msgspec.Struct, frozen=True):
    """What is decided at a threshold: `decided` of the `n` samples, of which a share is wrong (`risk`).

    `risk_high` bounds the risk from above with 95 % confidence. Bounds count groups of samples, not samples.
    `threshold` is None where the folds of a cross-validation have their own.
    """

    threshold: float | None
    decided: int
    n: int
    risk: float | None
    risk_high: float


def abstention(probabilities: Floats, part: DataSplit, thresholds: float | Floats, level: float = LEVEL) -> Abstention:
    """Say what is decided and how often it is wrong (Clopper-Pearson, one-sided).

    Args:
        probabilities: shape (n, q).
        part: the n samples.
        thresholds: one, or one for each sample, shape (n,).
        level: of the bound.
    """
    decided = probabilities.max(axis=1) >= thresholds
    n, threshold = int(decided.sum()), thresholds if isinstance(thresholds, float) else None
    if not n:
        return Abstention(threshold, 0, len(part), None, 1.0)
    risk = float((probabilities.argmax(axis=1) != part.codes)[decided].mean())
    clusters = len(np.unique(part.groups[decided]))
    high = clopper_pearson(risk * clusters, clusters, 2 * level - 1).high
    return Abstention(threshold, n, len(part), risk, 1.0 if high is None else high)


def choose_threshold(probabilities: Floats, dev: DataSplit, risk: float) -> Abstention:
    """Choose the threshold that decides most while the risk stays below the stated one with 95 % confidence.

    The candidates leave the most confident 100, 90, … 10 % of the development part; each bound is taken at
    1 - 0.05 / 10, so that the promise holds though the best of ten is chosen (selection with guaranteed risk, Geifman
    and El-Yaniv 2017, with Bonferroni's correction). Where none keeps it, the threshold is above 1: all is left open.
    """
    confidence = np.sort(probabilities.max(axis=1))
    level = 1 - (1 - LEVEL) / len(COVERAGES)
    thresholds = [float(confidence[-max(1, round(share * len(confidence)))]) for share in COVERAGES]
    tried = (abstention(probabilities, dev, threshold, level) for threshold in thresholds)
    return next((attempt for attempt in tried if attempt.risk_high <= risk), abstention(probabilities, dev, 2.0, level))
