"""Dividing labelled samples so that nothing of a dialogue stands on both sides, and digests of what a classifier saw.

Samples belong together that come from one source dialogue (`cluster`), have the same text, answer the same turns, or
share a long turn of the person; such a group goes to one part as a whole.

No text is kept. A digest does not tell what was said; who has a text can see whether it was there.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np
from scipy.sparse import coo_array, csgraph

from mindgauge.raters.classifiers import dialogues
from mindgauge.records import Sample
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.records import Value


Codes: TypeAlias = "NDArray[np.intp]"


class DataSplit(msgspec.Struct, frozen=True):
    """Samples with the codes of their labels (indices into the criterion's values) and of their groups."""

    samples: tuple[Sample, ...]
    codes: Codes
    groups: Codes

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def dialogues(self) -> list[dialogues.Dialogue]:
        """What a classifier reads of them."""
        return [dialogues.dialogue(sample) for sample in self.samples]

    def take(self, rows: Codes) -> DataSplit:
        """Return some of the rows, in the order asked for."""
        return DataSplit(tuple(self.samples[i] for i in rows), self.codes[rows], self.groups[rows])

    def counts(self, labels: int) -> Codes:
        """Return how many samples each label has."""
        return np.bincount(self.codes, minlength=labels)


def part(samples: Sequence[Sample], values: Sequence[Value]) -> DataSplit:
    """Build a part of samples whose targets are among the values."""
    codes = np.array([values.index(s.target) for s in samples if s.target is not None], dtype=np.intp)
    return DataSplit(tuple(samples), codes, groups(samples))


def groups(samples: Sequence[Sample]) -> Codes:
    """Number the groups of samples that must not be divided: the connected components of what they share."""
    seen: dict[str, int] = {}
    pairs = [(row, seen.setdefault(link, len(seen))) for row, sample in enumerate(samples) for link in _links(sample)]
    rows, links = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    size = len(samples) + len(seen)
    graph = coo_array((np.ones(len(rows)), (rows, len(samples) + links)), (size, size))
    labels = csgraph.connected_components(graph, directed=False)[1] if size else links
    return np.unique(labels[: len(samples)], return_inverse=True)[1].astype(np.intp)


def _links(sample: Sample) -> set[str]:
    spoken = (dialogues.plain(message.content) for message in sample.messages if message.role == "user")
    turns = {f"turn {text}" for text in spoken if dialogues.telling(text)}
    answered = sample.messages[:-1] if sample.messages[-1].role == "assistant" else sample.messages
    heard = {f"text {dialogues.key(answered)}"} if answered else set()
    return {f"cluster {sample.cluster}", f"text {dialogues.key(sample.messages)}", *heard, *turns}


def separate(train: Sequence[Sample], test: Sequence[Sample]) -> list[Sample]:
    """Return the training samples that are no test sample, nor in the same group as one."""
    labels = groups([*train, *test])
    tested = set(labels[len(train) :].tolist())
    return [sample for sample, group in zip(train, labels[: len(train)].tolist(), strict=True) if group not in tested]


def unique(subset: DataSplit) -> tuple[DataSplit, int]:
    """Keep one of the samples that have the same text and label; what a repetition belonged to, it still belongs to.

    Returns:
        What is kept, and how many were taken out.
    """
    first: dict[tuple[str, object], int] = {}
    for row, sample in enumerate(subset.samples):
        first.setdefault((dialogues.key(sample.messages), sample.target), row)
    distinct = subset.take(np.array(list(first.values()), dtype=np.intp))
    return distinct, len(subset) - len(distinct)


def taken(subset: DataSplit, rows: Codes) -> tuple[DataSplit, DataSplit]:
    """Return a part without some of its rows, and these rows."""
    return subset.take(np.setdiff1d(np.arange(len(subset)), rows)), subset.take(rows)


def divide(subset: DataSplit, folds: int) -> list[Codes]:
    """Divide a part into folds by whole groups, labels spread as evenly as the groups allow, as scikit-learn does it.

    The division is the same for all seeds of a training, so that their spread is that of training alone.
    Where there are fewer groups, or fewer examples of every label, the folds are fewer.

    Returns:
        The rows of each fold, ascending.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    most = min(folds, int(subset.counts(1).max()), len(np.unique(subset.groups)))
    if most < 2:
        return [np.arange(len(subset))]
    splitter = StratifiedGroupKFold(most, shuffle=True, random_state=0)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of labels with fewer examples than folds
        return [rows for _, rows in splitter.split(subset.codes, subset.codes, subset.groups)]


def spread(subset: DataSplit, limit: int) -> DataSplit:
    """Return at most `limit` samples, taken in turn from each label, in the order they stand."""
    counts: Counter[int] = Counter()
    turns = []
    for row, code in enumerate(subset.codes.tolist()):
        counts[code] += 1
        turns.append((counts[code], row))
    return subset.take(np.array(sorted(row for _, row in sorted(turns)[:limit]), dtype=np.intp))


def check(train: DataSplit) -> None:
    """See that there is something to learn.

    Raises:
        DataError: no sample, or only one label.
    """
    if len(np.unique(train.codes)) < 2:
        shortage = "one label only" if len(train) else "no labelled samples are left"
        raise DataError(f"training data: {shortage}; a classifier needs at least two labels, with examples of each")


# Which dialogues a classifier learned from or was chosen on, as digests: its scores on them are no test of it.


FILE = "seen.json"
How: TypeAlias = Literal["text", "dialogue", "no"]
"""Seen as it is, as another piece of a dialogue that it comes from too, or not at all."""

_BETWEEN = re.compile(r"[\W_]+")


class TrainingDigests(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Digests of whole dialogues (`texts`), and of what another dialogue has in common with them (`shared`).

    Dialogues are the same that differ in width, letter case, blanks, punctuation and characters nobody sees only. They
    come from one talk if they answer the same turns, or share a long turn of the person or a long last turn, as when
    training and test data are kept apart. Clusters do not count: two files may number theirs alike.
    """

    texts: frozenset[str]
    shared: frozenset[str]

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> TrainingDigests:
        """Take the digests of samples."""
        marks = [_marks(sample) for sample in samples]
        return cls(frozenset(text for text, _ in marks), frozenset().union(*(shared for _, shared in marks)))

    def how(self, sample: Sample) -> How:
        """Say how a dialogue was seen."""
        text, shared = _marks(sample)
        return "text" if text in self.texts else "dialogue" if not shared.isdisjoint(self.shared) else "no"

    def save(self, folder: Path) -> None:
        """Write the digests beside the weights, in their own order, which is none of the dialogues'."""
        private.write(folder / FILE, msgspec.json.encode(self, order="deterministic"))

    @classmethod
    def load(cls, folder: Path) -> TrainingDigests | None:
        """Read the digests; None where a classifier has none, and nobody knows what it learned from.

        Raises:
            UsageError: the file is damaged.
        """
        path = folder / FILE
        if not path.is_file():
            return None
        try:
            return msgspec.json.decode(bounds.content(path), type=cls)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{path}: damaged ({error}); copy the whole folder again, or train again") from error


def _marks(sample: Sample) -> tuple[str, set[str]]:
    turns = []
    for turn in dialogues.dialogue(sample):
        plain = dialogues.plain(turn.content)
        turns.append((turn.role, _BETWEEN.sub("", plain) or plain))
    *before, (role, last) = turns
    shared = {_digest("turn", *turn) for turn in turns if turn[0] == "user" and dialogues.telling(turn[1])}
    shared |= {_digest("turn", role, last)} if dialogues.telling(last) else set()
    shared |= {_digest("answered", *itertools.chain(*before))} if before and role == "assistant" else set()
    return _digest("text", *itertools.chain(*turns)), shared


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
