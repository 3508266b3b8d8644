"""The baseline: scikit-learn's TF-IDF of character and word n-grams and its logistic regression. It needs no download.

The last turn and what comes before it are two fields with features of their own, so that a reply weighs as much as the
dialogue it answers. Features are hashed n-grams (the hashing trick, Weinberger et al. 2009), and only those of several
dialogues are used. So the file holds numbers and no word of a dialogue, and opening it executes nothing.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from mindgauge.raters.classifiers import dialogues as form
from mindgauge.raters.classifiers.calibration import best, standing
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.raters.classifiers.dialogues import DataSplit

    Floats = NDArray[np.float64]
    Tensors = dict[str, NDArray[Any]]

WEIGHTS = "model.safetensors"
BITS = 20
WORD = r"[^\W_]+"
FIELD = 2 << BITS
"""Buckets of one field: those of 1 to 3 characters, then those of 1 to 2 words."""
STRENGTHS = (1.0, 10.0, 100.0)
"""Values of C, the inverse of the L2 penalty, among which the development part chooses."""
NEVER = -30.0
"""The logit of a label without an example."""
TENSORS = {"bucket": 1, "idf": 1, "coefficient": 2, "intercept": 1}
"""What is saved, and how many dimensions it has."""


def count_ngrams(dialogues: Sequence[form.Dialogue]) -> sparse.csr_matrix:
    """Count the n-grams of n dialogues, shape (n, 2 · FIELD): those of the last turn, then those of earlier ones."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.pipeline import make_union

    hashing = {"n_features": 1 << BITS, "alternate_sign": False, "norm": None}
    field = make_union(
        HashingVectorizer(analyzer="char", ngram_range=(1, 3), **hashing),
        HashingVectorizer(token_pattern=WORD, ngram_range=(1, 2), **hashing),
    )
    last = [bounds.clean(turns[-1].content) for turns in dialogues]
    context = [bounds.clean(form.earlier(turns)) for turns in dialogues]
    return sparse.hstack([field.transform(last), field.transform(context)], "csr")


class Tfidf:
    """A trained baseline.

    Attributes:
        tensors: `bucket`, shape (f,), the features that are used, ascending; `idf`, shape (f,); `coefficient`, shape
            (f, q); `intercept`, shape (q,).
        outputs: how many labels its logits are of, q.
    """

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        self.outputs = len(tensors["intercept"])

    def logits(self, dialogues: Sequence[form.Dialogue]) -> Floats:
        """Return logits of shape (n, q), larger for likelier labels."""
        if not dialogues:
            return np.empty((0, self.outputs))
        matrix = weighed(count_ngrams(dialogues), self.tensors["bucket"], self.tensors["idf"])
        return np.asarray(matrix @ self.tensors["coefficient"] + self.tensors["intercept"], dtype=float)

    def save(self, folder: Path) -> None:
        """Write the weights: safetensors, numbers only."""
        from safetensors.numpy import save

        private.write(folder / WEIGHTS, save(self.tensors))

    @classmethod
    def load(cls, folder: Path) -> Tfidf:
        """Read the weights that `save` wrote.

        Raises:
            UsageError: the file is damaged.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        path = folder / WEIGHTS
        try:
            tensors = load(bounds.content(path, bounds.WEIGHTS))
        except (SafetensorError, OSError, ValueError, OverflowError, MemoryError) as error:
            raise UsageError(f"{path}: damaged ({error}); copy it again, or train again") from error
        if not _fit_together(tensors):
            raise UsageError(f"{path}: damaged (its parts do not fit together); copy it again, or train again")
        return cls(tensors)


def weighed(counts: sparse.csr_matrix, bucket: NDArray[Any], idf: NDArray[Any]) -> sparse.csr_matrix:
    """Return TF-IDF rows, shape (n, f): (1 + ln count) · idf, of length 1 in each field that has a known feature."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    transformer = TfidfTransformer(sublinear_tf=True, norm=None)
    transformer.idf_ = idf.astype(float)
    matrix = transformer.transform(counts[:, bucket])
    split = int(np.searchsorted(bucket, FIELD))
    fields = (matrix[:, :split], matrix[:, split:])
    return sparse.hstack([normalize(field) if field.shape[1] else field for field in fields], "csr")


def _fit_together(tensors: Tensors) -> bool:
    """Whether tensors that were read have the names, shapes and bounds of a baseline's."""
    if {name: tensor.ndim for name, tensor in tensors.items()} != TENSORS:
        return False
    bucket, size = tensors["bucket"], len(tensors["bucket"])
    shapes = len(tensors["idf"]) == size and tensors["coefficient"].shape == (size, len(tensors["intercept"]))
    ordered = shapes and size and bucket.dtype.kind == "i" and (np.diff(bucket) > 0).all()
    return bool(ordered and bucket[0] >= 0 and bucket[-1] < 2 * FIELD)


def fit(
    train: DataSplit, dev: DataSplit, labels: int, progress: Callable[[int, int], None] | None = None
) -> tuple[Tfidf, list[dict[str, float]]]:
    """Train a baseline by multinomial logistic regression, with the penalty that does best on the development part.

    Args:
        train: n dialogues to learn from.
        dev: the development part.
        labels: number of labels, q.
        progress: hears how many penalties are done, of how many.

    Returns:
        The model, and what each penalty came to.

    Raises:
        DataError: the dialogues have nothing in common.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    counts = count_ngrams(train.dialogues)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    bucket = np.flatnonzero(frequency >= 2).astype(np.int32)  # what is in one dialogue only says nothing about others
    if not len(bucket):
        raise DataError("training data: the dialogues share no character; there is nothing to learn")
    idf = (np.log((1 + len(train)) / (1 + frequency[bucket])) + 1).astype(np.float32)
    matrix = weighed(counts, bucket, idf)
    linear = LogisticRegression(class_weight="balanced", tol=1e-4, max_iter=200, warm_start=True)
    models, history = [], []
    for strength in STRENGTHS:
        linear.set_params(C=strength)
        # One thread: the products are sparse, and threads that wait for each other only spin.
        with threadpool_limits(1), warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            linear.fit(matrix, train.codes)
        models.append(Tfidf({"bucket": bucket, "idf": idf, **_weights(linear, labels)}))
        history.append({"C": strength, **standing(models[-1].logits(dev.dialogues), dev.codes)})
        if progress is not None:
            progress(len(history), len(STRENGTHS))
    return models[best(history)], history


def _weights(linear: Any, labels: int) -> Tensors:
    """Return coefficients and intercepts of a logistic regression for all labels, also those without an example."""
    classes, slopes, constants = linear.classes_, linear.coef_, linear.intercept_
    if len(classes) == 2:  # one row serves two labels: the first has logit 0
        slopes, constants = np.vstack([np.zeros_like(slopes), slopes]), np.append(0.0, constants)
    coefficient = np.zeros((slopes.shape[1], labels), dtype=np.float32)
    coefficient[:, classes] = slopes.T
    intercept = np.full(labels, NEVER, dtype=np.float32)
    intercept[classes] = constants
    return {"coefficient": coefficient, "intercept": intercept}
