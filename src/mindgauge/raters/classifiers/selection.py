"""What a checkpoint is chosen by: how it does on the development part, never on test."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.records.errors import UsageError
from mindgauge.stats.agreement import confusion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from mindgauge.records.rubric import Criterion

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]

BALANCED, NONE = "balanced", "none"


class SelectionScore(NamedTuple):
    """How well a model does; the larger is the better, macro-F1 first, the mean log-likelihood where that is equal."""

    macro_f1: float
    log_likelihood: float


def standing(logits: Floats, codes: Codes) -> SelectionScore:
    """Return how logits of shape (n, q) do against the right labels, by the labels that occur."""
    likelihood = special.log_softmax(logits, axis=1)[np.arange(len(codes)), codes]
    return SelectionScore(macro_f1(logits.argmax(axis=1), codes, logits.shape[1]), float(likelihood.mean()))


def macro_f1(predicted: Codes, codes: Codes, labels: int) -> float:
    """Return the mean of 2 TP / (support + called) over the labels that occur."""
    table = confusion(codes, predicted, labels)[0][:, :labels]
    support = table.sum(axis=1)
    f1 = 2 * np.diagonal(table) / np.maximum(support + table.sum(axis=0), 1)
    return float(f1[support > 0].mean())


def collapse(logits: Floats, codes: Codes) -> str:
    """Say in a few words that training came to nothing; empty if it did not.

    It did if one label is given to all, or if macro-F1 is no better than that of always giving the most frequent one.
    """
    predicted = logits.argmax(axis=1)
    if len(np.unique(predicted)) == 1 and len(np.unique(codes)) > 1:
        return "one label for all"
    labels = logits.shape[1]
    constant = np.full_like(codes, np.bincount(codes, minlength=labels).argmax())
    if macro_f1(predicted, codes, labels) <= macro_f1(constant, codes, labels):
        return "no better than always the most frequent label"
    return ""


def class_weights(scheme: str, counts: Codes, criterion: Criterion, published: Mapping[str, float]) -> Floats:
    """Return what an example of each label weighs in the loss, shape (q,).

    Args:
        scheme: `balanced`, n / (k · n_c) for the k labels that occur; `none`, all alike; `published`, a paper's own.
        counts: shape (q,), examples of each label.
        criterion: whose labels they are.
        published: a label's name → its weight; empty where a task has none.

    Raises:
        UsageError: there is no such choice, or nothing is published for this task.
    """
    if scheme == BALANCED:
        return np.where(counts > 0, counts.sum() / (np.maximum(counts, 1) * (counts > 0).sum()), 1.0)
    if scheme == NONE:
        return np.ones(len(counts))
    if scheme != "published":
        raise UsageError(f"--weights is balanced, published or none, not {scheme!r}")
    if not published:
        raise UsageError("--weights published: no weights are published for this task; use balanced or none")
    named = {criterion.read(name): weight for name, weight in published.items()}
    return np.array([named[value] for value in criterion.values])
