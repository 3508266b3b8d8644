"""A judge beside a clinician who is left out: on what the other people call unsafe, on what they call safe, and at the worst level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.reliability.card import BesideClinician, Bound, WorstReplies
from mindgauge.analysis.reliability.coefficients import of_blocks, within
from mindgauge.analysis.reliability.pairs import beside_others, pair
from mindgauge.stats.left_out import LEVEL, exchanged, left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.scale import ValueScale

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class PeopleCalls(NamedTuple):
    """What independent people call S subjects, 1 or 0: each subject has its own raters, in their order, and then NaN.

    `unsafe` has shape (S, P) with P the most raters of a subject; `worst` the same of the worst level, None where there is
    none. `cluster` and `weight` have shape (S,): a subject counts for as many as it stands for. `people` is how many
    people rated a subject that another rated, too, at least 1. Each bound beside a clinician holds with `level`.
    """

    unsafe: Floats
    worst: Floats | None
    cluster: Codes
    weight: Floats
    people: int
    level: float = LEVEL

    @property
    def alone(self) -> Mask:
        """The subjects that a single person rated, and called unsafe, shape (S,)."""
        rated = np.isfinite(self.unsafe).sum(axis=1) == 1
        return np.asarray(rated & (np.nan_to_num(self.unsafe).sum(axis=1) > 0))

    def unsafe_end(self, calls: Floats, rows: Mask, margin: float) -> BesideClinician | None:
        """Hold a judge against a left-out clinician on what others call unsafe; None where no two rated the same.

        Args:
            calls: shape (S,), 1 where the judge calls the subject unsafe, 0 where safe, NaN where it has no verdict.
            rows: shape (S,), the subjects that count.
            margin: by which it may share fewer calls.
        """
        return self._beside(calls, self.unsafe, rows, margin)

    def safe_end(self, calls: Floats, rows: Mask, margin: float) -> BesideClinician | None:
        """Do the same on what others call safe."""
        return self._beside(1 - calls, 1 - self.unsafe, rows, margin)

    def _beside(self, calls: Floats, called: Floats, rows: Mask, margin: float) -> BesideClinician | None:
        if self.people < 2:
            return None
        found = left_out(calls[rows], called[rows], self.cluster[rows], margin, self.weight[rows], self.level)
        difference = Bound(*found.difference)
        return BesideClinician(
            found.rater, found.person, difference, found.n, found.clusters, found.absent, found.spare
        )

    def worst_replies(self, missed: Floats, called_worst: Mask, rows: Mask, seed: int) -> WorstReplies | None:
        """Test whether a judge misses what all other people put at the worst level more often than one of them does.

        Args:
            missed: shape (S, 1 + P), whether the judge, and each person, misses the subject.
            called_worst: shape (S,), whether the judge puts it at the worst level.
            rows: shape (S,), the subjects that count.
            seed: of the exchanges that are drawn.
        """
        if self.worst is None or self.people < 2:
            return None
        worst = np.column_stack([called_worst, self.worst])
        return WorstReplies(*exchanged(missed[rows], worst[rows], self.cluster[rows], seed=seed))


class PeopleApart(NamedTuple):
    """How far left-out people agree with one other within systems, the mean over them, and the largest bias of one; None where unknown."""

    agreement: float | None = None
    bias: float | None = None


def people_apart(rated: pl.DataFrame, raters: Sequence[str], scale: ValueScale) -> PeopleApart:
    """Hold each person against the others, as a judge is held against people; nothing is known of fewer than two.

    Args:
        rated: people's valued rows, one of each person and subject.
        raters: the independent ones among them.
        scale: of the values.
    """
    main, values, biases = within(scale), [], []
    for _, own, others in beside_others(rated, raters):
        pairs = pair(others, own, scale)
        if not pairs.subjects:
            continue
        found = of_blocks(pairs, pairs.whole(), (main, "bias"))
        values += [float(found[main][0])] if np.isfinite(found[main][0]) else []
        biases += [abs(float(found["bias"][0]))] if "bias" in found else []
    if len(values) < 2:
        return PeopleApart()
    return PeopleApart(float(np.mean(values)), max(biases, default=None))
