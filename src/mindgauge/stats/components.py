"""What texts are about, in a few numbers: the main components of their weighted words (latent semantic analysis)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

_COMMON = 2
"""Texts of the training part that a term must occur in: what one text alone says teaches nothing about others."""


def components(counts: sparse.csr_array, training: Mask, number: int) -> Floats:
    """Return the first components of texts, learned from the training part, shape (n, number).

    Terms weigh log(1 + count) · (log((1 + m) / (1 + df)) + 1) of m training texts, rows have length 1 (tf-idf), and are
    centred at the training mean; components are right singular vectors of the training rows (Deerwester et al. 1990).
    All have one scale, with which the first has a standard deviation of 1: a later component stays as small beside the
    first as it is, so that a ridge penalty holds it back more. Components that the training part does not have are 0.

    Args:
        counts: shape (n, terms), how often each term occurs in each text.
        training: shape (n,), the texts that are learned from.
        number: of components.
    """
    result = np.zeros((counts.shape[0], number))
    logs = counts.astype(float)
    logs.data = np.log1p(logs.data)
    frequency = np.bincount(logs[training].indices, minlength=counts.shape[1])
    idf = np.where(frequency >= _COMMON, np.log((1 + training.sum()) / (1 + frequency)) + 1, 0.0)
    weighted = sparse.csr_array(logs * idf[None, :])
    length = np.sqrt(np.asarray((weighted * weighted).sum(axis=1)).ravel())
    rows = sparse.csr_array(weighted.multiply((1 / np.maximum(length, 1e-12))[:, None]))
    training_rows, n = rows[training], int(training.sum())
    middle = np.asarray(training_rows.mean(axis=0)).ravel()
    rank = min(number, n - 1, int((frequency >= _COMMON).sum()) - 1)
    if rank < 1:
        return result
    centred = linalg.LinearOperator(
        training_rows.shape, dtype=float,
        matvec=lambda v: training_rows @ v.ravel() - middle @ v.ravel(),
        rmatvec=lambda u: training_rows.T @ u.ravel() - middle * u.sum(),
    )  # fmt: skip
    if float((training_rows * training_rows).sum()) - n * float(middle @ middle) < 1e-9:
        return result  # all texts say the same
    try:
        _, _, right = linalg.svds(
            centred, k=rank, v0=np.ones(min(training_rows.shape)) + np.arange(min(training_rows.shape)) / n
        )
    except linalg.ArpackError:  # a few different texts only
        right = np.linalg.svd(training_rows.toarray() - middle, full_matrices=False)[2][:rank][::-1]
    directions = right[::-1].T
    placed = rows @ directions - middle @ directions
    scale = float(placed[training, 0].std())
    result[:, :rank] = placed / scale if scale > 1e-12 else 0.0
    return result
