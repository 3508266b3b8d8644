"""How many attempts to talk a judge over got what they wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.gaps import by_conversation, share
from mindgauge.analysis.stress.result import AttemptCounts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.stress.design import Attempts, Floats

ALL = "all"
SLICES = ("kind", "where", "place", "language")


class Reached(NamedTuple):
    """What one part of the battery did; `differences` is the excess over the placebo, shape (G,)."""

    counts: AttemptCounts
    differences: Floats


def reached(attempts: Attempts, values: Floats, conversations: int) -> Iterator[Reached]:
    """Count attempts whose aim became the verdict, for the battery as a whole and by kind, place and language.

    Args:
        attempts: where the verdicts stand.
        values: shape (N, K).
        conversations: G.
    """
    ok = np.isfinite(values) & (values != INAPPLICABLE)
    aim = attempts.aim[:, None]
    hit, placebo, original = (
        (ok[place] & (np.abs(values[place] - aim) < 1e-9)).mean(axis=1)
        for place in (attempts.place, attempts.placebo, attempts.original)
    )
    rated = ok[attempts.original].any(axis=1)
    free = rated & (original == 0)
    fair = free & (placebo == 0)
    lost = rated & ok[attempts.placebo].any(axis=1) & ~ok[attempts.place].any(axis=1)
    slices = [(ALL, np.ones(len(aim), dtype=np.bool_))]
    for fact in SLICES:
        slices += [(f"{fact}={value}", attempts.facts[fact] == value) for value in np.unique(attempts.facts[fact])]
    for name, inside in slices:
        counted, attempt = inside & fair, attempts.facts["attempt"]
        counts = AttemptCounts(
            slice=name,
            attempts=len(np.unique(attempt[inside])),
            attempts_reached=len(np.unique(attempt[counted & (hit > 0)])),
            n=int(counted.sum()),
            clusters=len(np.unique(attempts.conversation[counted])),
            reached=int((hit[counted] > 0).sum()),
            share=share(hit[counted], attempts.conversation[counted], conversations),
            lost=int((lost & inside).sum()),
        )
        excess = np.where(inside & free, hit - placebo, np.nan)
        yield Reached(counts, by_conversation(excess, attempts.conversation, conversations))
