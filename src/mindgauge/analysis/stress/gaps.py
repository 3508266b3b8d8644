"""From verdicts to differences, conversation by conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.found import LOST, VALUE
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.stress.design import Codes, Design, Floats, Pairs

    Mask = NDArray[np.bool_]

UNKNOWN = Bound(None, note="not counted")
CHUNK = 4_000_000
"""Numbers that are drawn at once."""


class Gaps(NamedTuple):
    """The differences of one comparison, shape (G,); NaN where a conversation has none."""

    probe: str
    version: str
    against: str
    criterion: str
    measure: str
    each: Floats
    n: int
    missing: int
    worst: float | None = None
    best: float | None = None
    changed: Bound = UNKNOWN


def gaps(design: Design, values: Floats) -> Iterator[Gaps]:
    """Return every comparison of versions: values on each criterion, lost verdicts over all of them.

    Args:
        design: what is compared.
        values: shape (N, K).
    """
    given = np.where(values == INAPPLICABLE, np.nan, values)
    ok = np.isfinite(given)
    mean = np.divide(np.nansum(given, axis=1), ok.sum(axis=1), out=np.full(len(values), np.nan), where=ok.any(axis=1))
    idle = (values == INAPPLICABLE).all(axis=1)
    contrasts: dict[tuple[str, str, str], list[Pairs]] = {}
    for pairs in design.pairs:
        contrasts.setdefault(pairs[:3], []).append(pairs)
    for names, all_ in contrasts.items():
        yield from (_values(design, pairs, mean, idle) for pairs in all_)
        left, right, conversation = (
            np.concatenate([getattr(pairs, part) for pairs in all_]) for part in ("left", "right", "conversation")
        )
        # Where a criterion does not apply to the one form and the other has no verdict, none was lost.
        asked = ok[left].any(axis=1) | ok[right].any(axis=1) | ~(idle[left] | idle[right])
        lost = np.where(asked, ok[right].mean(axis=1) - ok[left].mean(axis=1), np.nan)
        if np.nansum(np.abs(lost)):
            each = by_conversation(lost, conversation, design.conversations)
            yield Gaps(*names, "", LOST, each, int(asked.sum()), 0)


def by_conversation(differences: Floats, conversation: Codes, conversations: int) -> Floats:
    """Return the mean of each conversation, shape (G,); differences that are NaN count nowhere."""
    there = np.isfinite(differences)
    counts = np.bincount(conversation[there], minlength=conversations)
    sums = np.bincount(conversation[there], differences[there], minlength=conversations)
    return np.asarray(np.divide(sums, counts, out=np.full(conversations, np.nan), where=counts > 0))


def portions(draws: int, each: int) -> Iterator[int]:
    """Divide draws of so many numbers each into portions that fit into memory, some 30 MB."""
    most = max(1, CHUNK // max(each, 1))
    yield from (min(most, draws - start) for start in range(0, draws, most))


def share(hits: Floats, conversation: Codes, conversations: int) -> Bound:
    """Return a share with exact bounds, conversations as n."""
    each = by_conversation(hits, conversation, conversations)
    each = each[np.isfinite(each)]
    return Bound(*clopper_pearson(min(float(each.sum()), len(each)), len(each)))


def _values(design: Design, pairs: Pairs, mean: Floats, idle: Mask) -> Gaps:
    asked = ~(idle[pairs.left] & idle[pairs.right])
    left, right, conversation = mean[pairs.left][asked], mean[pairs.right][asked], pairs.conversation[asked]
    difference = left - right
    missing = int(np.isnan(difference).sum())
    worst = best = None
    if missing:
        worst, best = (
            float(np.nanmean(by_conversation(np.nan_to_num(left, nan=a) - np.nan_to_num(right, nan=b), conversation, design.conversations)))
            for a, b in ((0.0, 1.0), (1.0, 0.0))
        )  # fmt: skip
    both = np.isfinite(difference)
    changed = (np.abs(difference[both]) > 1e-9).astype(np.float64)
    return Gaps(
        pairs.probe, pairs.version, pairs.against, pairs.criterion, VALUE,
        by_conversation(difference, conversation, design.conversations), len(difference), missing, worst, best,
        share(changed, conversation[both], design.conversations),
    )  # fmt: skip
