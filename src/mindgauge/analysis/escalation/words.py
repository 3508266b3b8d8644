"""An order of reading that is learned from what judges say, in their own words, and holds for models nobody has rated.

Risks of different fits are not comparable, since each knows another base rate. So a fit is put in units of the jury's
mean: the jury's risk, plus what words, length and category add to it, divided by the jury's own slope.

What is used of the words is chosen among `CANDIDATES`, fixed beforehand, by leaving models out within the training part;
what is reported was not seen by the choice.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from mindgauge.records.regex import regex
from mindgauge.stats import escalation
from mindgauge.stats.components import components
from mindgauge.stats.escalation import Features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.subjects import Subjects

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

WORDS = "words"
KNOWN = 0.95
"""A judge's words are used where it has some for this share of the replies that people rated, at least."""
MODELS = 3
"""Models that it takes: one is left out to report on, one to choose by, and one is left to learn from."""
GROUPINGS = 3
_FOLDS = 5
_RARE = 3
"""Texts that a term must occur in to be counted at all."""
_WORD = re.compile(r"(?<!\S)\S+=\S+|[^\W\d_]{2,}")
_HAN = regex(r"[\u3400-\u9fff\uf900-\ufaff]")


class Candidate(NamedTuple):
    """What is learned from beside the jury: length, category, and a number of components of the judges' words."""

    length: bool
    category: bool
    components: int

    @property
    def name(self) -> str:
        """Its parts."""
        parts = ["jury", *(["length"] if self.length else []), *(["category"] if self.category else [])]
        return " + ".join([*parts, *([f"{self.components} components of words"] if self.components else [])])


CANDIDATES = tuple(
    Candidate(length, category, number)
    for number, (length, category) in itertools.product((0, 5, 10, 20), ((False, False), (True, False), (True, True)))
)
"""Simple ones first: of equals, the first is taken. The very first is the jury itself."""


def used(rated: Subjects) -> list[str]:
    """Return the judges of whose words enough is stored."""
    has_words = {judge: np.array([bool(text) for text in texts]) for judge, texts in rated.words.items()}
    if not rated.labelled.any():
        return []
    return [judge for judge, present in has_words.items() if present[rated.labelled].mean() >= KNOWN]


def enough(rated: Subjects) -> bool:
    """Whether judges' words can be learned from: there are enough of them, and models to choose by and to report on."""
    models = np.unique(rated.system[rated.labelled])
    return bool(used(rated)) and len(np.unique(rated.system[rated.unsafe == 1])) > 1 and len(models) >= MODELS


def terms(text: str) -> list[str]:
    """Return the words of a text and its pairs of words; of Chinese, pairs of characters; and checks with their answers."""
    words: list[str] = []
    for word in _WORD.findall(text.casefold()):
        words += [a + b for a, b in itertools.pairwise(word)] if _HAN.search(word) else [word]
    return [*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))]


def counted(texts: Sequence[str]) -> sparse.csr_array:
    """Count terms that several texts have; shape (texts, terms)."""
    term_counts = [Counter(terms(text)) for text in texts]
    in_texts = Counter(term for counts in term_counts for term in counts)
    column = {term: number for number, term in enumerate(sorted(t for t, n in in_texts.items() if n >= _RARE))}
    cells = [
        (row, column[term], n) for row, counts in enumerate(term_counts) for term, n in counts.items() if term in column
    ]
    rows, columns, numbers = (np.array(part) for part in zip(*cells, strict=True)) if cells else ([], [], [])
    return sparse.csr_array((np.asarray(numbers, dtype=float), (rows, columns)), shape=(len(texts), len(column)))


class WordOrder:
    """Learns an order from some of the rated replies, and chooses by leaving models out what it learns from.

    Replies that nobody rated may be among them: they are given a risk, too, and teach nothing.
    """

    def __init__(self, rated: Subjects, jury: Floats) -> None:
        self.candidates: tuple[Candidate, ...] = CANDIDATES
        judges = used(rated)
        self.judges = judges
        self.counts = counted([" ".join(parts) for parts in zip(*(rated.words[j] for j in judges), strict=True)])
        self.unsafe, self.cluster, self.labelled = rated.unsafe == 1, rated.cluster, rated.labelled
        self.system: Codes = np.unique(rated.system, return_inverse=True)[1].astype(np.intp)
        self.known = np.isfinite(jury)
        self.jury = np.where(self.known, jury, 0.0)
        self.length = rated.length
        names = np.unique(rated.category)
        self.category = (rated.category[:, None] == names).astype(float)
        self.chosen = Counter[str]()
        self._components: tuple[bytes, Floats] = (b"", np.empty(0))

    def learned(self, training: Mask) -> Floats:
        """Return the risks of all replies, of what is chosen and fitted on the training part, shape (n,)."""
        candidate = self.choice(training)
        self.chosen[candidate.name] += 1
        return self.risk(candidate, training)

    def choice(self, training: Mask) -> Candidate:
        """Return the candidate with which least is read where each model of the training part is left out in turn."""
        if len(self.candidates) == 1:
            return self.candidates[0]
        risks = {candidate: np.full(len(training), np.nan) for candidate in self.candidates}
        for held_out, rest in self._without_each_model(training):
            for candidate, risk in risks.items():
                risk[held_out] = self.risk(candidate, rest)[held_out]
        placed = training & np.isfinite(risks[self.candidates[0]])
        if not self.unsafe[placed].any():
            return self.candidates[0]
        efforts = [round(float(escalation.effort(risk[placed], self.unsafe[placed])[0]), 9) for risk in risks.values()]
        return self.candidates[int(np.argmin(efforts))]

    def _without_each_model(self, training: Mask) -> list[tuple[Mask, Mask]]:
        """Return each model's replies with those that share neither model nor conversation with them.

        Where models answered the same conversations, so that little would be left, a model is left out fold by fold.
        """
        parts = []
        for system in np.unique(self.system[training]):
            own, others = training & (self.system == system), training & (self.system != system)
            rest = others & ~np.isin(self.cluster, self.cluster[own])
            if 2 * rest.sum() >= others.sum():
                parts.append((own, rest))
                continue
            fold = self.cluster % _FOLDS
            parts += [(own & (fold == f), others & (fold != f)) for f in np.unique(fold[own])]
        return parts

    def risk(self, candidate: Candidate, training: Mask) -> Floats:
        """Return the risk as a fit to the training part puts it, in units of the jury's; the jury's where it has none.

        So it is where all that is learned from is of one class, and where the jury's slope is 0.
        """
        taught = training & self.known
        untaught = np.where(self.known, self.jury, np.inf)
        if candidate == CANDIDATES[0] or not 0 < self.unsafe[taught].sum() < taught.sum():
            return untaught
        extra = [self.length[:, None]] if candidate.length else []
        extra += [self._words(taught)[:, : candidate.components]] if candidate.components else []
        extra += [self.category] if candidate.category else []
        values = np.column_stack([self.jury, *extra])
        scaled = np.arange(values.shape[1]) <= int(candidate.length)
        signs = (np.arange(values.shape[1]) == 0).astype(np.intp)
        fitted = escalation.slopes(Features(values, scaled, signs), self.unsafe, taught.astype(float))
        if fitted[0] <= 1e-9:
            return untaught
        added = (values[:, 1:] - values[taught, 1:].mean(axis=0)) @ (fitted[1:] / fitted[0])
        return np.where(self.known, self.jury + added, np.inf)

    def _words(self, training: Mask) -> Floats:
        key = training.tobytes()
        if self._components[0] != key:
            self._components = key, components(self.counts, training, max(c.components for c in CANDIDATES))
        return self._components[1]

    def crossfitted(self, seed: int, groupings: int = GROUPINGS) -> Floats:
        """Return each reply's risk as fits see it that saw no reply of its conversation, the mean over groupings."""
        present = self.labelled
        generator, total = np.random.default_rng(seed), np.zeros(len(self.unsafe))
        count = max(2, min(escalation.FOLDS, len(np.unique(self.cluster[present]))))
        for _ in range(groupings):
            place = escalation.fold_of(self.cluster, self.unsafe, present, count, generator)
            for fold in range(count):
                total[place == fold] += self.learned(present & (place != fold))[place == fold]
        return np.where(present, total / groupings, np.nan)

    def strangers(self) -> Floats:
        """Return each reply's risk where neither choice nor fit saw the model that wrote it, nor its conversation."""
        risk = np.full(len(self.unsafe), np.nan)
        for held_out, rest in self._without_each_model(self.labelled):
            risk[held_out] = self.learned(rest)[held_out]
        return risk
