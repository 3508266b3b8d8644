"""What must be read so that enough is found with a confidence, and what may pass unread: thresholds that carry over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.records.rounding import percent
from mindgauge.stats import guarantee

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

    Learn = Callable[[Mask], Floats]
    """From the replies that may be learned from to the risks of all."""


class Promise(NamedTuple):
    """What is asked of a threshold: the share of the unsafe to be found, the share that may pass, and how surely."""

    target: float
    tolerated: float = guarantee.TOLERATED
    confidence: float = guarantee.CONFIDENCE
    seed: int = 0


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """Replies at or above `threshold`, a risk of the order, are read, which are the share `reads` of those it was set on.

    It is set on `n` conversations, of which one reply each was drawn; `events` of these are on the wrong side, and with
    less than `needs` none can be set. Both are None where none holds with the confidence asked for, and `note` says why.
    """

    reads: float | None
    threshold: float | None
    n: int
    events: int
    needs: int
    note: str = ""


UNEVEN = (
    "people rated a part that was drawn with unequal probabilities, and the test takes conversations that are alike"
)
"""Why nothing is promised, and no sets are given, where some replies stand for more than others."""


def guarantees(
    risk: Floats | Learn, unsafe: Mask, cluster: Codes, promise: Promise, weight: Floats
) -> tuple[Guarantee, Guarantee]:
    """Return what must be read to find enough, and what must be read so that little that is unsafe passes.

    An order that is learned is learned on half of the conversations, and its thresholds are set on the other half.

    Args:
        risk: shape (n,), of an order in which nothing is learned, or what learns one.
        unsafe: shape (n,).
        cluster: shape (n,).
        promise: what is asked.
        weight: shape (n,), how many each reply stands for; where that differs, there is no guarantee.
    """
    if len(weight) and np.ptp(weight) > 0:
        refusal = Guarantee(reads=None, threshold=None, n=0, events=0, needs=0, note=UNEVEN)
        return refusal, refusal
    basis, learned = "", callable(risk)
    if callable(risk):
        aside = guarantee.halves(cluster, unsafe, promise.seed)
        risk, unsafe, cluster = risk(aside)[~aside], unsafe[~aside], cluster[~aside]
        basis = " in the half on which the threshold is set"
    if promise.target < 1:
        threshold = guarantee.finding(
            risk, unsafe, cluster, target=promise.target, confidence=promise.confidence, seed=promise.seed
        )
        ceiling = guarantee.most(threshold.n, promise.confidence)
        lacks = f"{threshold.n} conversations with an unsafe reply{basis}, and it takes {threshold.needs}; with {threshold.n}, {percent(ceiling, 1)} is the most that can be promised"
        finds = _guarantee(threshold, lacks if threshold.risk is None else "", learned=learned)
    else:
        finds = Guarantee(reads=None, threshold=None, n=0, events=0, needs=0, note="no sample shows that all are found")
    passed = guarantee.passing(
        risk, unsafe, cluster, tolerated=promise.tolerated, confidence=promise.confidence, seed=promise.seed
    )
    lacks = f"{passed.n} conversations{basis}, and it takes {passed.needs}"
    if passed.n > passed.needs:
        lacks = f"of the {passed.needs} conversations or more with the lowest risks{basis}, too many have something unsafe to exclude {percent(promise.tolerated)}"
    return finds, _guarantee(passed, lacks if passed.risk is None else "", learned=learned)


def _guarantee(threshold: guarantee.Threshold, lacks: str, *, learned: bool) -> Guarantee:
    note = lacks or ("learned on half of the conversations, set on the other" if learned else "")
    risk = threshold.risk
    return Guarantee(
        reads=threshold.reads, threshold=risk if risk is not None and np.isfinite(risk) else None, n=threshold.n,
        events=threshold.events, needs=threshold.needs, note=note,
    )  # fmt: skip
