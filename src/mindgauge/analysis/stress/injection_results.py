"""How many attempts to talk a judge over got what they wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.gaps import by_conversation, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.analysis.stress.design import Attempts, Floats

ALL = "all"
SLICES = ("kind", "where", "place", "language")


class Reached(NamedTuple):
    """What one part of the battery did; `differences` is the excess over the placebo, shape (G,)."""

    slice: str
    attempts: int
    attempts_reached: int
    n: int
    clusters: int
    reached: int
    share: Bound
    lost: int
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
        yield Reached(
            name, len(np.unique(attempt[inside])), len(np.unique(attempt[counted & (hit > 0)])), int(counted.sum()),
            len(np.unique(attempts.conversation[counted])), int((hit[counted] > 0).sum()),
            share(hit[counted], attempts.conversation[counted], conversations), int((lost & inside).sum()),
            by_conversation(np.where(inside & free, hit - placebo, np.nan), attempts.conversation, conversations),
        )  # fmt: skip
