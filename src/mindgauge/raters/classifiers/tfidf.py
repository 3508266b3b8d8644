"""The baseline: scikit-learn's TF-IDF of character and word n-grams and its logistic regression. It needs no download.

The last turn and what comes before it are two fields with features of their own, so that a reply weighs as much as the
dialogue it answers. Features are hashed n-grams (the hashing trick, Weinberger et al. 2009), and only those of several
dialogues are used. So the file holds numbers and no word of a dialogue, and opening it executes nothing.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from mindgauge.raters.classifiers import form
from mindgauge.raters.classifiers.calibration import best, standing
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Tensors = dict[str, NDArray[Any]]

WEIGHTS = "model.safetensors"
BITS = 20
FEATURES = f"scikit-learn's hashes of 1 to 3 characters and 1 to 2 words, {BITS} bits"
FIELD = 2 << BITS
"""Buckets of one field: those of characters, then those of words."""
STRENGTHS = (1.0, 10.0, 100.0)
"""Values of C, the inverse of the L2 penalty, among which the development part chooses."""
MIN_DIALOGUES = 2
"""A feature of fewer dialogues says nothing about others."""
WORD = r"[^\W_]+"
BLOCK = 256
"""Dialogues that are counted at once."""
NEVER = -30.0
"""The logit of a label without an example."""
TENSORS = {"bucket": 1, "idf": 1, "coefficient": 2, "intercept": 1}
"""What is saved, and how many dimensions it has."""


def count_ngrams(dialogues: Sequence[form.Dialogue]) -> sparse.csr_matrix:
    """Count the n-grams of n dialogues, shape (n, 2 · FIELD): those of the last turn, then those of earlier ones."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = {"n_features": 1 << BITS, "alternate_sign": False, "norm": None}
    ngrams = (
        HashingVectorizer(analyzer="char", ngram_range=(1, 3), **hashing),
        HashingVectorizer(token_pattern=WORD, ngram_range=(1, 2), **hashing),
    )
    last, context = [turns[-1].content for turns in dialogues], [form.earlier(turns) for turns in dialogues]
    fields = [[bounds.clean(text) for text in field] for field in (last, context)]
    return sparse.hstack([kind.transform(field) for field in fields for kind in ngrams], "csr")


class Tfidf:
    """A trained baseline.

    Attributes:
        tensors: `bucket`, shape (f,), the features that are used, ascending; `idf`, shape (f,); `coefficient`, shape
            (f, q); `intercept`, shape (q,).
    """

    kind: ClassVar[str] = "tfidf"

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors

    @property
    def outputs(self) -> int:
        """How many labels its logits are of, q."""
        return len(self.tensors["intercept"])

    def logits(self, dialogues: Sequence[form.Dialogue], progress: Callable[[int], None] | None = None) -> Floats:
        """Return logits of shape (n, q), larger for likelier labels; `progress` hears how many dialogues are done."""
        blocks = [np.empty((0, self.outputs))]
        for start in range(0, len(dialogues), BLOCK):
            block = dialogues[start : start + BLOCK]
            matrix = weighed(count_ngrams(block), self.tensors["bucket"], self.tensors["idf"])
            blocks.append(matrix @ self.tensors["coefficient"] + self.tensors["intercept"])
            if progress is not None:
                progress(start + len(block))
        return np.concatenate(blocks)

    def save(self, folder: Path) -> None:
        """Write the weights: safetensors, numbers only."""
        from safetensors.numpy import save

        private.write(folder / WEIGHTS, save(self.tensors, {"features": FEATURES}))

    @classmethod
    def load(cls, folder: Path) -> Tfidf:
        """Read the weights that `save` wrote.

        Raises:
            UsageError: the file is damaged, or its features are those of another version.
        """
        from safetensors import SafetensorError, safe_open

        path = folder / WEIGHTS
        try:
            bounds.check(path, bounds.WEIGHTS)
            with safe_open(path, "np") as file:
                features = (file.metadata() or {}).get("features")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dictionary
        except (SafetensorError, OSError, ValueError, OverflowError, MemoryError) as error:
            raise UsageError(f"{path}: damaged ({error}); copy it again, or train again") from error
        if features != FEATURES:
            raise UsageError(f"{path}: its features are {features}, this version reads {FEATURES}; train again")
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
    return sparse.hstack(
        [normalize(field) if field.shape[1] else field for field in (matrix[:, :split], matrix[:, split:])], "csr"
    )


def _fit_together(tensors: Tensors) -> bool:
    """Whether tensors that were read have the names, shapes and bounds of a baseline's."""
    if {name: tensor.ndim for name, tensor in tensors.items()} != TENSORS:
        return False
    bucket = tensors["bucket"]
    shapes = tensors["idf"].shape == bucket.shape and tensors["coefficient"].shape == (
        bucket.size,
        tensors["intercept"].size,
    )
    ordered = shapes and bucket.size and bucket.dtype.kind == "i" and (np.diff(bucket) > 0).all()
    return bool(ordered and bucket[0] >= 0 and bucket[-1] < 2 * FIELD)


def fit(
    dialogues: Sequence[form.Dialogue],
    codes: Codes,
    weights: Floats,
    dev: tuple[Sequence[form.Dialogue], Codes],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Tfidf, list[dict[str, float]]]:
    """Train a baseline by multinomial logistic regression, with the penalty that does best on the development part.

    Args:
        dialogues: n dialogues to learn from.
        codes: shape (n,), their labels.
        weights: shape (q,), what an example of each label weighs.
        dev: the dialogues and labels of the development part.
        progress: hears how many penalties are done, of how many.

    Returns:
        The model, and what each penalty came to.

    Raises:
        DataError: the dialogues have nothing in common.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    counts = count_ngrams(dialogues)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    bucket = np.flatnonzero(frequency >= MIN_DIALOGUES).astype(np.int32)
    if not len(bucket):
        raise DataError("training data: the dialogues share no character; there is nothing to learn")
    idf = (np.log((1 + len(dialogues)) / (1 + frequency[bucket])) + 1).astype(np.float32)
    matrix = weighed(counts, bucket, idf)
    linear = LogisticRegression(class_weight=dict(enumerate(weights.tolist())), tol=1e-4, max_iter=200, warm_start=True)
    models, history = [], []
    for strength in STRENGTHS:
        linear.set_params(C=strength)
        # One thread: the products are sparse, and threads that wait for each other only spin.
        with threadpool_limits(1), warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            linear.fit(matrix, codes)
        models.append(Tfidf({"bucket": bucket, "idf": idf, **_weights(linear, len(weights))}))
        history.append({"C": strength, **standing(models[-1].logits(dev[0]), dev[1])})
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
