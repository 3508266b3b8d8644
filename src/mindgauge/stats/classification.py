"""How well labels were predicted: accuracy, precision, recall and F1, for each label, averaged, or for a set of labels.

**From labels to figures.** Every figure is a function of the confusion table of `agreement.confusion`, shape
(B, q, q+1): a row for each gold label, a column for each predicted one, and a last column for items without a usable
prediction. Those stay in n: they lower recall and accuracy, and no label's precision. B resamples of items, or B runs on
the same items stacked, are computed at once.

**Nothing predicted.** A label that was never predicted has no precision, and one that has no items no recall. As in the
literature and in scikit-learn with `zero_division=0`, both count as 0, and so does their F1. No figure over labels rests
on one without items: its weight is 0 in a weighted average, a macro average leaves it out, and the recall of a set of
labels without items is NaN, so that a resample that lacks a rare label is not taken for one in which it was missed.

**Example.** Gold labels 0 1 2 2 2 and predictions 0 0 2 2 1 (the example of scikit-learn's `classification_report`)
give precision .50 .00 1.00, recall 1.00 .00 .67, F1 .67 .00 .80; macro .50 .56 .49; weighted .70 .60 .61; accuracy .60.

Shapes: q labels, B tables. `table` is of shape (B, q, q+1), from `agreement.confusion`; `labels` are codes of the labels in a set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# -- for each label ---------------------------------------------------------------------------------------------------


def precision(table: Floats) -> Floats:
    """Return the share of the items given a label that have it, shape (B, q): P_c = TP_c / (TP_c + FP_c)."""
    return ratio(_hits(table), _predicted(table), 0.0)


def recall(table: Floats) -> Floats:
    """Return the share of a label's items that were given it, shape (B, q): R_c = TP_c / s_c."""
    return ratio(_hits(table), _support(table), 0.0)


def f1(table: Floats) -> Floats:
    """Return the harmonic mean of precision and recall, shape (B, q) (van Rijsbergen 1979): 2 P_c R_c / (P_c + R_c).

    Computed as 2 TP_c / (s_c + TP_c + FP_c), which is the same, and 0 where there is no hit.
    """
    return ratio(2 * _hits(table), _support(table) + _predicted(table), 0.0)


# -- over all labels --------------------------------------------------------------------------------------------------


def accuracy(table: Floats) -> Floats:
    """Return the share of items that were given their label, shape (B,): Σ_c TP_c / n. NaN where there are no items."""
    return _mean(recall(table), _support(table))


def weighted_precision(table: Floats) -> Floats:
    """Return the mean precision, each label weighing as much as it has items, shape (B,): Σ_c (s_c / n) P_c."""
    return _mean(precision(table), _support(table))


def weighted_recall(table: Floats) -> Floats:
    """Return the mean recall, each label weighing as much as it has items, shape (B,). It is the accuracy."""
    return accuracy(table)


def weighted_f1(table: Floats) -> Floats:
    """Return the mean F1, each label weighing as much as it has items, shape (B,): Σ_c (s_c / n) F1_c."""
    return _mean(f1(table), _support(table))


def macro_precision(table: Floats) -> Floats:
    """Return the mean precision of the labels that have items, each weighing the same, shape (B,)."""
    return _mean(precision(table), _occurs(table))


def macro_recall(table: Floats) -> Floats:
    """Return the mean recall of the labels that have items, each weighing the same, shape (B,): balanced accuracy."""
    return _mean(recall(table), _occurs(table))


def macro_f1(table: Floats) -> Floats:
    """Return the mean F1 of the labels that have items, each weighing the same, shape (B,).

    The mean of F1 values, not the F1 of the two means; Opitz and Burst 2019, "Macro F1 and macro F1", tell them apart.
    """
    return _mean(f1(table), _occurs(table))


# -- a set of labels against the rest ---------------------------------------------------------------------------------


def binary(table: Floats, labels: Sequence[int]) -> Floats:
    """Sum the table to a set of labels against all others, shape (B, 2, 3); the set is label 0.

    Confusing two labels of the set is no error here. All figures above are defined on the result.
    """
    q = table.shape[1]
    side = np.eye(2)[np.where(np.isin(np.arange(q), labels), 0, 1)]  # (q, 2)
    columns = np.zeros((q + 1, 3))
    columns[:q, :2], columns[q, 2] = side, 1.0
    return np.asarray(side.T @ table @ columns)


def binary_accuracy(table: Floats, labels: Sequence[int]) -> Floats:
    """Return the share of items put on the right side of a set of labels, shape (B,)."""
    return accuracy(binary(table, labels))


def binary_precision(table: Floats, labels: Sequence[int]) -> Floats:
    """Return the share of the items given a label of the set that have one of the set, shape (B,)."""
    return np.asarray(precision(binary(table, labels))[:, 0])


def binary_recall(table: Floats, labels: Sequence[int]) -> Floats:
    """Return the share of the items with a label of the set that were given one of the set, shape (B,); NaN without any."""
    return _of_set(recall, table, labels)


def binary_f1(table: Floats, labels: Sequence[int]) -> Floats:
    """Return the F1 of a set of labels taken as one, shape (B,); NaN where no item has one of them."""
    return _of_set(f1, table, labels)


def _of_set(figure: Callable[[Floats], Floats], table: Floats, labels: Sequence[int]) -> Floats:
    against = binary(table, labels)
    return np.where(_support(against)[:, 0] > 0, figure(against)[:, 0], np.nan)


def _hits(table: Floats) -> Floats:
    return np.asarray(np.einsum("bii->bi", table[:, :, :-1]))


def _support(table: Floats) -> Floats:
    return np.asarray(table.sum(axis=2))


def _predicted(table: Floats) -> Floats:
    return np.asarray(table[:, :, :-1].sum(axis=1))


def _occurs(table: Floats) -> Floats:
    return (_support(table) > 0).astype(float)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean over labels, shape (B,); NaN where all weights are 0."""
    return ratio((values * weights).sum(axis=1), weights.sum(axis=1))
