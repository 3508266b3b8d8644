"""Dividing labelled samples so that nothing of a dialogue stands on both sides, and digests of what a classifier saw.

Samples belong together that come from one source dialogue (`cluster`), have the same text, answer the same turns, or
share a long turn of the person; such a group goes to one part as a whole.

No text is kept. A digest does not tell what was said; who has a text can see whether it was there.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
import numpy as np

from mindgauge.raters.classifiers import form
from mindgauge.records import Sample
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from mindgauge.records import Value


Codes: TypeAlias = "NDArray[np.intp]"

FEWEST = 2
"""A class with fewer examples can be learned or tested, but not both."""


class DataSplit(msgspec.Struct, frozen=True):
    """Samples with the codes of their labels (indices into the criterion's values) and of their groups."""

    samples: tuple[Sample, ...]
    codes: Codes
    groups: Codes

    def __len__(self) -> int:
        return len(self.samples)

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


def joined(subsets: Sequence[DataSplit]) -> DataSplit:
    """Return the samples of several parts as one, in their order."""
    return DataSplit(
        tuple(sample for subset in subsets for sample in subset.samples),
        np.concatenate([subset.codes for subset in subsets]),
        np.concatenate([subset.groups for subset in subsets]),
    )


def groups(samples: Sequence[Sample]) -> Codes:
    """Number the groups of samples that must not be divided: the connected components of what they share."""
    parent = list(range(len(samples)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    first: dict[str, int] = {}
    for i, sample in enumerate(samples):
        for shared in _links(sample):
            parent[root(i)] = root(first.setdefault(shared, i))
    return np.unique([root(i) for i in range(len(samples))], return_inverse=True)[1].astype(np.intp)


def _links(sample: Sample) -> set[str]:
    spoken = (form.plain(message.content) for message in sample.messages if message.role == "user")
    turns = {f"turn {text}" for text in spoken if form.telling(text)}
    answered = sample.messages[:-1] if sample.messages[-1].role == "assistant" else sample.messages
    heard = {f"text {form.key(answered)}"} if answered else set()
    return {f"cluster {sample.cluster}", f"text {form.key(sample.messages)}", *heard, *turns}


def separate(train: Sequence[Sample], test: Sequence[Sample]) -> tuple[list[Sample], int, int]:
    """Take out of the training samples whatever is in the test samples too, or in the same group as one of them.

    Returns:
        The rest, how many samples were also test samples, and how many came from the same dialogues as such.
    """
    labels = groups([*train, *test])
    tested, texts = set(labels[len(train) :].tolist()), {form.key(sample.messages) for sample in test}
    copies = [form.key(sample.messages) in texts for sample in train]
    related = [int(group) in tested for group in labels[: len(train)]]
    rest = [sample for sample, *reasons in zip(train, copies, related, strict=True) if not any(reasons)]
    return rest, sum(copies), len(train) - len(rest) - sum(copies)


def unique(subset: DataSplit) -> tuple[DataSplit, int, int]:
    """Keep one of the samples that have the same text and label; what a repetition belonged to, it still belongs to.

    Returns:
        What is kept, how many were taken out, and how many texts remain that carry different labels.
    """
    first: dict[tuple[str, object], int] = {}
    for row, sample in enumerate(subset.samples):
        first.setdefault((form.key(sample.messages), sample.target), row)
    texts = Counter(text for text, _ in first)
    distinct = subset.take(np.array(list(first.values()), dtype=np.intp))
    return distinct, len(subset) - len(distinct), sum(count > 1 for count in texts.values())


def divide(subset: DataSplit, shares: Sequence[float], labels: int, seed: int) -> list[Codes]:
    """Divide a part by whole groups, each label as near to the shares as the groups allow.

    Groups are placed one by one, large ones and those of rare labels first, ties in random order, each where it raises
    χ² = Σ (have - want)² / want over parts and labels the least: the greedy rule of Sechidis et al. 2011, for groups.

    Args:
        subset: n samples.
        shares: of the parts, adding up to 1.
        labels: number of labels, q.
        seed: of the random order.

    Returns:
        The rows of each part, ascending.
    """
    if not len(subset):
        return [np.empty(0, dtype=np.intp) for _ in shares]
    content = np.zeros((int(subset.groups.max()) + 1, labels))
    np.add.at(content, (subset.groups, subset.codes), 1.0)
    total = content.sum(axis=0)
    rarity = (content / np.maximum(total, 1)).max(axis=1)
    order = np.lexsort((np.random.default_rng(seed).random(len(content)), -rarity))
    want = np.outer(shares, np.maximum(total, 1))
    filled = np.zeros_like(want)
    place = np.empty(len(content), dtype=np.intp)
    for group in order:
        rise = (content[group] * (2 * (filled - want) + content[group]) / want).sum(axis=1)
        place[group] = int(rise.argmin())
        filled[place[group]] += content[group]
    places = place[subset.groups]
    return [np.flatnonzero(places == i) for i in range(len(shares))]


def spread(subset: DataSplit, limit: int) -> DataSplit:
    """Return at most `limit` samples, taken in turn from each label, in the order they stand."""
    counts: Counter[int] = Counter()
    turns = []
    for row, code in enumerate(subset.codes.tolist()):
        counts[code] += 1
        turns.append((counts[code], row))
    return subset.take(np.array(sorted(row for _, row in sorted(turns)[:limit]), dtype=np.intp))


def rare(name: str, subset: DataSplit, values: Sequence[Value]) -> list[str]:
    """Say which labels that a part has at all have fewer than two examples there, and which it has not."""
    counts = subset.counts(len(values)).tolist()
    scarce = [f"{value!s} ({count})" for value, count in zip(values, counts, strict=True) if 0 < count < FEWEST]
    absent = [str(value) for value, count in zip(values, counts, strict=True) if not count]
    return [
        *([f"{name}: fewer than {FEWEST} examples of {', '.join(scarce)}"] if scarce else []),
        *([f"{name}: no example of {', '.join(absent)}"] if absent else []),
    ]


def check(train: DataSplit, values: Sequence[Value], *, keep: bool) -> None:
    """See that there is something to learn.

    Args:
        train: the samples to learn from.
        values: the labels.
        keep: whether a label with a single example will do.

    Raises:
        DataError: no sample, only one label, or a label with a single example.
    """
    counts = train.counts(len(values))
    if (counts > 0).sum() < 2:
        shortage = "one label only" if len(train) else "no labelled samples are left"
        raise DataError(
            f"training data: {shortage}; a classifier needs at least two labels with {FEWEST} examples each"
        )
    alone = [str(values[i]) for i in np.flatnonzero((counts > 0) & (counts < FEWEST)).tolist()]
    if alone and not keep:
        raise DataError(
            f"training data: fewer than {FEWEST} examples of {', '.join(alone)}; add examples, or decide with "
            "--rare keep or --rare drop"
        )


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

    def __or__(self, other: TrainingDigests) -> TrainingDigests:
        return TrainingDigests(self.texts | other.texts, self.shared | other.shared)

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
    for turn in form.dialogue(sample):
        plain = form.plain(turn.content)
        turns.append((turn.role, _BETWEEN.sub("", plain) or plain))
    *before, (role, last) = turns
    shared = {_digest("turn", *turn) for turn in turns if turn[0] == "user" and form.telling(turn[1])}
    shared |= {_digest("turn", role, last)} if form.telling(last) else set()
    shared |= {_digest("answered", *itertools.chain(*before))} if before and role == "assistant" else set()
    return _digest("text", *itertools.chain(*turns)), shared


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).hexdigest()
