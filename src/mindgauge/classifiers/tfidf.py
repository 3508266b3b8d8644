"""The baseline: TF-IDF of character and word n-grams, and a linear model. It needs no download.

The last turn and what stands before it are two fields with features of their own, so that a reply weighs as much as
the dialogue it answers. Saved are numbers only, so opening it executes nothing; and opening it needs no scikit-learn.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from mindgauge import bounds
from mindgauge.classifiers import form, ngrams
from mindgauge.classifiers.selection import Standing, standing
from mindgauge.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from sklearn.linear_model import LogisticRegression

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Weights = NDArray[np.float32]

WEIGHTS = "model.safetensors"
FIELDS = ("last", "earlier")
STRENGTHS = (1.0, 10.0, 100.0)
"""Values of C, the inverse of the L2 penalty, among which the development part chooses."""
MIN_DIALOGUES = 2
"""A feature of fewer dialogues says nothing about others."""
FEATURES = f"{ngrams.CHARACTERS} characters, {ngrams.WORDS} words, {ngrams.BITS} bits"
BLOCK = 2_000_000
"""Characters whose n-grams are computed at once; each takes some 150 bytes meanwhile."""
NEVER = -30.0
"""The logit of a label without an example."""


class Field(NamedTuple):
    """The features of one field that are used: their buckets, ascending, and their inverse document frequencies."""

    bucket: NDArray[np.int32]
    idf: Weights

    def matrix(self, counts: ngrams.Counts, texts: int) -> sparse.csr_array:
        """Return TF-IDF rows of length 1: (1 + ln count) · idf, and zeros where nothing of the field is known."""
        column = np.full(1 << ngrams.BITS, -1, dtype=np.int32)
        column[self.bucket] = np.arange(len(self.bucket), dtype=np.int32)
        index = column[counts.feature]
        known = index >= 0
        text, index = counts.text[known], index[known]
        values = (1 + np.log(counts.times[known])).astype(np.float32) * self.idf[index]
        length = np.sqrt(np.bincount(text, values.astype(np.float64) ** 2, minlength=texts))
        values /= np.maximum(length, 1e-12)[text].astype(np.float32)
        starts = np.searchsorted(text, np.arange(texts + 1)).astype(np.int32)
        return sparse.csr_array((values, index, starts), shape=(texts, len(self.bucket)))


def _blocks(dialogues: Sequence[form.Dialogue]) -> Iterator[Sequence[form.Dialogue]]:
    """Cut dialogues into blocks of at most `BLOCK` characters, or of one dialogue that has more."""
    start = size = 0
    for i, turns in enumerate(dialogues):
        length = sum(len(turn.content) for turn in turns)
        if i > start and size + length > BLOCK:
            yield dialogues[start:i]
            start, size = i, 0
        size += length
    if start < len(dialogues):
        yield dialogues[start:]


def _fields(block: Sequence[form.Dialogue]) -> list[ngrams.Counts]:
    last = ngrams.counts([turns[-1].content for turns in block], salt=0)
    return [last, ngrams.counts([form.earlier(turns) for turns in block], salt=1)]


def _counted(dialogues: Sequence[form.Dialogue]) -> list[ngrams.Counts]:
    """Count the features of all dialogues, field by field, block by block."""
    found, done = [], 0
    for block in _blocks(dialogues):
        found.append([counts._replace(text=counts.text + done) for counts in _fields(block)])
        done += len(block)
    return [ngrams.Counts(*map(np.concatenate, zip(*field, strict=True))) for field in zip(*found, strict=True)]


def _learn(counts: ngrams.Counts, texts: int) -> Field:
    """Choose a field's features and weigh them by ln((1 + n) / (1 + df)) + 1, as scikit-learn does."""
    frequency = np.bincount(counts.feature, minlength=1 << ngrams.BITS)
    bucket = np.flatnonzero(frequency >= MIN_DIALOGUES)
    idf = np.log((1 + texts) / (1 + frequency[bucket])) + 1
    return Field(bucket.astype(np.int32), idf.astype(np.float32))


class Tfidf:
    """A trained baseline. `logits` gives each dialogue one number per label, larger for likelier ones."""

    kind: ClassVar[str] = "tfidf"

    def __init__(self, fields: tuple[Field, ...], coefficients: tuple[Weights, ...], intercept: Weights) -> None:
        self.fields = fields
        self.coefficients = coefficients
        self.intercept = intercept

    @property
    def outputs(self) -> int:
        """How many labels its logits are of, q."""
        return len(self.intercept)

    def logits(self, dialogues: Sequence[form.Dialogue], told: Callable[[int], None] | None = None) -> Floats:
        """Return logits of shape (n, q); `told` hears how many dialogues are done."""
        found, done = [np.empty((0, self.outputs))], 0
        for block in _blocks(dialogues):
            sums = np.tile(self.intercept, (len(block), 1)).astype(np.float64)
            for field, coefficient, counts in zip(self.fields, self.coefficients, _fields(block), strict=True):
                sums += field.matrix(counts, len(block)) @ coefficient
            found.append(sums)
            done += len(block)
            if told is not None:
                told(done)
        return np.concatenate(found)

    def save(self, folder: Path) -> None:
        """Write the weights: safetensors, numbers only."""
        from safetensors.numpy import save_file

        tensors: dict[str, NDArray[Any]] = {"intercept": self.intercept}
        for name, field, coefficient in zip(FIELDS, self.fields, self.coefficients, strict=True):
            tensors |= {f"{name}.bucket": field.bucket, f"{name}.idf": field.idf, f"{name}.coefficient": coefficient}
        save_file(tensors, folder / WEIGHTS, {"features": FEATURES})

    @classmethod
    def load(cls, folder: Path) -> Tfidf:
        """Read the weights that `save` wrote.

        Raises:
            UsageError: the file is damaged, or its features are those of another version.
        """
        from safetensors import SafetensorError, safe_open

        try:
            bounds.check(folder / WEIGHTS, bounds.WEIGHTS)
            with safe_open(folder / WEIGHTS, "np") as file:
                features = (file.metadata() or {}).get("features")
                found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dictionary
        except (SafetensorError, OSError, ValueError, OverflowError, MemoryError) as error:
            raise UsageError(f"{folder / WEIGHTS}: damaged ({error}); copy it again, or train again") from error
        if features != FEATURES:
            raise UsageError(
                f"{folder / WEIGHTS}: its features are {features}, this version reads {FEATURES}; train again"
            )
        if not _fit_together(found):
            raise UsageError(
                f"{folder / WEIGHTS}: damaged (its parts do not fit together); copy it again, or train again"
            )
        fields = tuple(Field(found[f"{name}.bucket"], found[f"{name}.idf"]) for name in FIELDS)
        return cls(fields, tuple(found[f"{name}.coefficient"] for name in FIELDS), found["intercept"])


def _fit_together(found: dict[str, NDArray[Any]]) -> bool:
    """Whether tensors that were read have the names, shapes and bounds of a baseline's."""
    if set(found) != {"intercept", *(f"{name}.{part}" for name in FIELDS for part in ("bucket", "idf", "coefficient"))}:
        return False
    for name in FIELDS:
        bucket, idf, coefficient = (found[f"{name}.{part}"] for part in ("bucket", "idf", "coefficient"))
        if not idf.shape == bucket.shape == (bucket.size,) or coefficient.shape != (
            bucket.size,
            found["intercept"].size,
        ):
            return False
        if bucket.dtype.kind != "i" or (bucket.size and not 0 <= bucket.min() <= bucket.max() < 1 << ngrams.BITS):
            return False
    return found["intercept"].ndim == 1


def fit(
    dialogues: Sequence[form.Dialogue],
    codes: Codes,
    weights: Floats,
    dev: tuple[Sequence[form.Dialogue], Codes],
    told: Callable[[int, int], None] | None = None,
) -> tuple[Tfidf, list[dict[str, float]]]:
    """Train a baseline by multinomial logistic regression, with the penalty that does best on the development part.

    Args:
        dialogues: n dialogues to learn from.
        codes: shape (n,), their labels.
        weights: shape (q,), what an example of each label weighs.
        dev: the dialogues and labels of the development part.
        told: hears how many penalties are done, of how many.

    Returns:
        The model, and what each penalty came to.

    Raises:
        DataError: the dialogues have nothing in common.
    """
    from scipy.sparse import hstack
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    counted = _counted(dialogues)
    fields = tuple(_learn(counts, len(dialogues)) for counts in counted)
    matrices = [field.matrix(counts, len(dialogues)) for field, counts in zip(fields, counted, strict=True)]
    matrix = hstack(matrices, format="csr")
    if not matrix.shape[1]:
        raise DataError("training data: the dialogues have not one character in common; there is nothing to learn")
    linear = LogisticRegression(class_weight=dict(enumerate(weights.tolist())), tol=1e-4, max_iter=200, warm_start=True)
    tried: list[tuple[Standing, Tfidf]] = []
    for strength in STRENGTHS:
        linear.set_params(C=strength)
        # One thread: the products are sparse, and threads that wait for each other only spin.
        with threadpool_limits(1), warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            linear.fit(matrix, codes)
        model = Tfidf(fields, *_weights(linear, fields, len(weights)))
        tried.append((standing(model.logits(dev[0]), dev[1]), model))
        if told is not None:
            told(len(tried), len(STRENGTHS))
    history = [{"C": c, **found._asdict()} for c, (found, _) in zip(STRENGTHS, tried, strict=True)]
    return max(tried, key=lambda one: one[0])[1], history


def _weights(linear: LogisticRegression, fields: tuple[Field, ...], labels: int) -> tuple[tuple[Weights, ...], Weights]:
    """Return coefficients per field and intercepts for all labels, also those without an example."""
    seen, slopes, constants = linear.classes_, linear.coef_, linear.intercept_
    if len(seen) == 2:  # one row serves two labels: the first has logit 0
        slopes, constants = np.vstack([np.zeros_like(slopes), slopes]), np.append(0.0, constants)
    coefficient = np.zeros((slopes.shape[1], labels), dtype=np.float32)
    coefficient[:, seen] = slopes.T
    intercept = np.full(labels, NEVER, dtype=np.float32)
    intercept[seen] = constants
    split = np.cumsum([len(field.bucket) for field in fields])[:-1]
    return tuple(np.ascontiguousarray(block) for block in np.split(coefficient, split)), intercept
