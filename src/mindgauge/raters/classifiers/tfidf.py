"""The baseline: TF-IDF of character and word n-grams, and a linear model. It needs no download.

The last turn and what stands before it are two fields with features of their own, so that a reply weighs as much as
the dialogue it answers. Saved are numbers only, so opening it executes nothing; and opening it needs no scikit-learn.

N-grams of many texts are counted at once, without a loop over characters: a text is an array of code points. The hash of an
n-gram is Σ m(c_i) · B^i over 64 bits, where m mixes a code point well; n-grams of length n follow from those of length n - 1
by one multiplication and addition for all positions. Features are hashed n-grams in 2^20 buckets (the hashing trick,
Weinberger et al. 2009).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from mindgauge.raters.classifiers import form
from mindgauge.raters.classifiers.calibration import SelectionScore, standing
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Hashes = NDArray[np.uint64]
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sklearn.linear_model import LogisticRegression

    Floats = NDArray[np.float64]
    Weights = NDArray[np.float32]


BITS = 20
CHARACTERS = (1, 2, 3)
WORDS = (1, 2)
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MASK = (1 << 64) - 1


class FeatureCounts(NamedTuple):
    """How often each feature occurs in each text, as three columns sorted by text and feature."""

    text: Codes
    feature: Codes
    times: Codes


def count_ngrams(texts: Sequence[str], salt: int = 0) -> FeatureCounts:
    """Count the n-grams of texts.

    Args:
        texts: n texts; letter case is ignored.
        salt: tells features of one field of a dialogue from the same n-grams in another.
    """
    joined = "\0".join(text.replace("\0", " ").casefold() for text in texts) + "\0"
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    text = np.cumsum(points == 0) - (points == 0)
    mixed = _mix(points.astype(np.uint64) * _BASE)
    hashed = [*_characters(mixed, points != 0, text, salt), *_words(mixed, points, text, salt)]
    owners = np.concatenate([owner for owner, _ in hashed])
    bucket = np.concatenate([hashes for _, hashes in hashed]) >> np.uint64(64 - BITS)
    keys = np.sort((owners << BITS) | bucket.astype(np.int64))
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    distinct = keys[starts]
    return FeatureCounts(distinct >> BITS, distinct & ((1 << BITS) - 1), np.diff(starts, append=len(keys)))


def _characters(mixed: Hashes, inside: NDArray[np.bool_], text: Codes, salt: int) -> list[tuple[Codes, Hashes]]:
    hashed = []
    hashes, in_word = mixed, inside
    for size in range(1, max(CHARACTERS) + 1):
        if size > 1:
            hashes = mixed[: len(hashes) - 1] + _BASE * hashes[1:]
            in_word = inside[: len(hashes)] & in_word[1:]
        if size in CHARACTERS:
            hashed.append((text[: len(hashes)][in_word], _finish(hashes[in_word], size, salt)))
    return hashed


def _words(mixed: Hashes, points: NDArray[np.uint32], text: Codes, salt: int) -> list[tuple[Codes, Hashes]]:
    """Hash runs of letters and digits, and pairs of such runs that follow each other in one text."""
    alphabet = np.flatnonzero(np.bincount(points))
    letters = np.zeros(int(alphabet[-1]) + 1, dtype=np.bool_)
    letters[alphabet] = [chr(point).isalnum() for point in alphabet.tolist()]
    letter = letters[points]
    first = letter & ~np.concatenate(([False], letter[:-1]))
    starts = np.flatnonzero(first)
    if not len(starts):
        return []
    owner = text[starts]
    positions = np.flatnonzero(letter)
    offset = positions - starts[np.cumsum(first)[positions] - 1]
    hashes = np.add.reduceat(mixed[positions] * _powers(int(offset.max()) + 1)[offset], np.flatnonzero(offset == 0))
    hashed = [(owner, _finish(hashes, 100, salt))] if 1 in WORDS else []
    if 2 in WORDS:
        same = owner[:-1] == owner[1:]
        pairs = (_mix(hashes[:-1]) + _BASE * hashes[1:])[same]
        hashed.append((owner[:-1][same], _finish(pairs, 200, salt)))
    return hashed


def _powers(count: int) -> Hashes:
    return np.cumprod(np.concatenate((np.ones(1, np.uint64), np.full(count - 1, _BASE))), dtype=np.uint64)


def _finish(hashes: Hashes, size: int, salt: int) -> Hashes:
    """Spread hashes over all bits, so that their leading bits can serve as bucket."""
    return _mix(hashes ^ np.uint64((size + 1000 * salt) * 0xD6E8FEB86659FD93 & _MASK))


def _mix(x: Hashes) -> Hashes:
    """Mix 64 bits so that each depends on all (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


WEIGHTS = "model.safetensors"
FIELDS = ("last", "earlier")
STRENGTHS = (1.0, 10.0, 100.0)
"""Values of C, the inverse of the L2 penalty, among which the development part chooses."""
MIN_DIALOGUES = 2
"""A feature of fewer dialogues says nothing about others."""
FEATURES = f"{CHARACTERS} characters, {WORDS} words, {BITS} bits"
BLOCK = 2_000_000
"""Characters whose n-grams are computed at once; each takes some 150 bytes meanwhile."""
NEVER = -30.0
"""The logit of a label without an example."""


class FieldFeatures(NamedTuple):
    """The features of one field that are used: their buckets, ascending, and their inverse document frequencies."""

    bucket: NDArray[np.int32]
    idf: Weights

    def matrix(self, counts: FeatureCounts, texts: int) -> sparse.csr_array:
        """Return TF-IDF rows of length 1: (1 + ln count) · idf, and zeros where nothing of the field is known."""
        column = np.full(1 << BITS, -1, dtype=np.int32)
        column[self.bucket] = np.arange(len(self.bucket), dtype=np.int32)
        index = column[counts.feature]
        indexed = index >= 0
        text, index = counts.text[indexed], index[indexed]
        values = (1 + np.log(counts.times[indexed])).astype(np.float32) * self.idf[index]
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


def _fields(block: Sequence[form.Dialogue]) -> list[FeatureCounts]:
    last = count_ngrams([turns[-1].content for turns in block], salt=0)
    return [last, count_ngrams([form.earlier(turns) for turns in block], salt=1)]


def _counted(dialogues: Sequence[form.Dialogue]) -> list[FeatureCounts]:
    """Count the features of all dialogues, field by field, block by block."""
    blocks, rows = [], 0
    for block in _blocks(dialogues):
        blocks.append([counts._replace(text=counts.text + rows) for counts in _fields(block)])
        rows += len(block)
    return [FeatureCounts(*map(np.concatenate, zip(*field, strict=True))) for field in zip(*blocks, strict=True)]


def _learn(counts: FeatureCounts, texts: int) -> FieldFeatures:
    """Choose a field's features and weigh them by ln((1 + n) / (1 + df)) + 1, as scikit-learn does."""
    frequency = np.bincount(counts.feature, minlength=1 << BITS)
    bucket = np.flatnonzero(frequency >= MIN_DIALOGUES)
    idf = np.log((1 + texts) / (1 + frequency[bucket])) + 1
    return FieldFeatures(bucket.astype(np.int32), idf.astype(np.float32))


class Tfidf:
    """A trained baseline. `logits` gives each dialogue one number per label, larger for likelier ones."""

    kind: ClassVar[str] = "tfidf"

    def __init__(
        self, fields: tuple[FieldFeatures, ...], coefficients: tuple[Weights, ...], intercept: Weights
    ) -> None:
        self.fields = fields
        self.coefficients = coefficients
        self.intercept = intercept

    @property
    def outputs(self) -> int:
        """How many labels its logits are of, q."""
        return len(self.intercept)

    def logits(self, dialogues: Sequence[form.Dialogue], progress: Callable[[int], None] | None = None) -> Floats:
        """Return logits of shape (n, q); `progress` hears how many dialogues are done."""
        blocks, rows = [np.empty((0, self.outputs))], 0
        for block in _blocks(dialogues):
            sums = np.tile(self.intercept, (len(block), 1)).astype(np.float64)
            for field, coefficient, counts in zip(self.fields, self.coefficients, _fields(block), strict=True):
                sums += field.matrix(counts, len(block)) @ coefficient
            blocks.append(sums)
            rows += len(block)
            if progress is not None:
                progress(rows)
        return np.concatenate(blocks)

    def save(self, folder: Path) -> None:
        """Write the weights: safetensors, numbers only."""
        from safetensors.numpy import save

        tensors: dict[str, NDArray[Any]] = {"intercept": self.intercept}
        for name, field, coefficient in zip(FIELDS, self.fields, self.coefficients, strict=True):
            tensors |= {f"{name}.bucket": field.bucket, f"{name}.idf": field.idf, f"{name}.coefficient": coefficient}
        private.write(folder / WEIGHTS, save(tensors, {"features": FEATURES}))

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
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dictionary
        except (SafetensorError, OSError, ValueError, OverflowError, MemoryError) as error:
            raise UsageError(f"{folder / WEIGHTS}: damaged ({error}); copy it again, or train again") from error
        if features != FEATURES:
            raise UsageError(
                f"{folder / WEIGHTS}: its features are {features}, this version reads {FEATURES}; train again"
            )
        if not _fit_together(tensors):
            raise UsageError(
                f"{folder / WEIGHTS}: damaged (its parts do not fit together); copy it again, or train again"
            )
        fields = tuple(FieldFeatures(tensors[f"{name}.bucket"], tensors[f"{name}.idf"]) for name in FIELDS)
        return cls(fields, tuple(tensors[f"{name}.coefficient"] for name in FIELDS), tensors["intercept"])


def _fit_together(tensors: dict[str, NDArray[Any]]) -> bool:
    """Whether tensors that were read have the names, shapes and bounds of a baseline's."""
    if set(tensors) != {
        "intercept",
        *(f"{name}.{part}" for name in FIELDS for part in ("bucket", "idf", "coefficient")),
    }:
        return False
    for name in FIELDS:
        bucket, idf, coefficient = (tensors[f"{name}.{part}"] for part in ("bucket", "idf", "coefficient"))
        if not idf.shape == bucket.shape == (bucket.size,) or coefficient.shape != (
            bucket.size,
            tensors["intercept"].size,
        ):
            return False
        if bucket.dtype.kind != "i" or (bucket.size and not 0 <= bucket.min() <= bucket.max() < 1 << BITS):
            return False
    return tensors["intercept"].ndim == 1


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
    from scipy.sparse import hstack
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    counted = _counted(dialogues)
    fields = tuple(_learn(counts, len(dialogues)) for counts in counted)
    matrices = [field.matrix(counts, len(dialogues)) for field, counts in zip(fields, counted, strict=True)]
    matrix = hstack(matrices, format="csr")
    if not matrix.shape[1]:
        raise DataError("training data: the dialogues share no character; there is nothing to learn")
    linear = LogisticRegression(class_weight=dict(enumerate(weights.tolist())), tol=1e-4, max_iter=200, warm_start=True)
    tried: list[tuple[SelectionScore, Tfidf]] = []
    for strength in STRENGTHS:
        linear.set_params(C=strength)
        # One thread: the products are sparse, and threads that wait for each other only spin.
        with threadpool_limits(1), warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            linear.fit(matrix, codes)
        model = Tfidf(fields, *_weights(linear, fields, len(weights)))
        tried.append((standing(model.logits(dev[0]), dev[1]), model))
        if progress is not None:
            progress(len(tried), len(STRENGTHS))
    history = [{"C": c, **figures._asdict()} for c, (figures, _) in zip(STRENGTHS, tried, strict=True)]
    return max(tried, key=lambda trial: trial[0])[1], history


def _weights(
    linear: LogisticRegression, fields: tuple[FieldFeatures, ...], labels: int
) -> tuple[tuple[Weights, ...], Weights]:
    """Return coefficients per field and intercepts for all labels, also those without an example."""
    classes, slopes, constants = linear.classes_, linear.coef_, linear.intercept_
    if len(classes) == 2:  # one row serves two labels: the first has logit 0
        slopes, constants = np.vstack([np.zeros_like(slopes), slopes]), np.append(0.0, constants)
    coefficient = np.zeros((slopes.shape[1], labels), dtype=np.float32)
    coefficient[:, classes] = slopes.T
    intercept = np.full(labels, NEVER, dtype=np.float32)
    intercept[classes] = constants
    split = np.cumsum([len(field.bucket) for field in fields])[:-1]
    return tuple(np.ascontiguousarray(block) for block in np.split(coefficient, split)), intercept
