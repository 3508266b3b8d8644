"""From verdicts to differences, conversation by conversation."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reliability.favour import favour
from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.result import LOST, VALUE
from mindgauge.stats import jackknife
from mindgauge.stats.favour import FavourRatings
from mindgauge.stats.interval import SAME, TIE, Interval
from mindgauge.stats.proportion import clopper_pearson
from mindgauge.stats.ratio import ratio

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.stress.design import Codes, Floats, StressDesign, VersionPairs

    Mask = NDArray[np.bool_]
    from mindgauge.analysis.reliability.card import SelfPreference
    from mindgauge.analysis.stress import design
    from mindgauge.analysis.stress.design import Kin, Languages

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
    differences: Floats
    n: int
    missing: int
    worst: float | None = None
    best: float | None = None
    changed: Bound = UNKNOWN


def gaps(design: StressDesign, values: Floats) -> Iterator[Gaps]:
    """Return every comparison of versions: values on each criterion, lost verdicts over all of them.

    Args:
        design: what is compared.
        values: shape (N, K).
    """
    levels = np.where(values == INAPPLICABLE, np.nan, values)
    ok = np.isfinite(levels)
    mean = ratio(np.nansum(levels, axis=1), ok.sum(axis=1))
    idle = (values == INAPPLICABLE).all(axis=1)
    contrasts: dict[tuple[str, str, str], list[VersionPairs]] = {}
    for pairs in design.pairs:
        contrasts.setdefault(pairs[:3], []).append(pairs)
    for names, all_ in contrasts.items():
        yield from (_values(design, pairs, mean, idle) for pairs in all_)
        left_rows, right_rows, conversation = (
            np.concatenate([getattr(pairs, part) for pairs in all_]) for part in ("left", "right", "conversation")
        )
        # Where a criterion does not apply to the one form and the other has no verdict, none was lost.
        counted = ok[left_rows].any(axis=1) | ok[right_rows].any(axis=1) | ~(idle[left_rows] | idle[right_rows])
        lost = np.where(counted, ok[right_rows].mean(axis=1) - ok[left_rows].mean(axis=1), np.nan)
        if np.nansum(np.abs(lost)):
            conversation_gaps = by_conversation(lost, conversation, design.conversations)
            yield Gaps(*names, "", LOST, conversation_gaps, int(counted.sum()), 0)


def by_conversation(differences: Floats, conversation: Codes, conversations: int) -> Floats:
    """Return the mean of each conversation, shape (G,); differences that are NaN count nowhere."""
    finite = np.isfinite(differences)
    counts = np.bincount(conversation[finite], minlength=conversations)
    sums = np.bincount(conversation[finite], differences[finite], minlength=conversations)
    return ratio(sums, counts)


def portions(draws: int, size: int) -> Iterator[int]:
    """Divide draws of so many numbers each into portions that fit into memory, some 30 MB."""
    limit = max(1, CHUNK // max(size, 1))
    yield from (min(limit, draws - start) for start in range(0, draws, limit))


def share(hits: Floats, conversation: Codes, conversations: int) -> Bound:
    """Return a share with exact bounds, conversations as n."""
    conversation_shares = by_conversation(hits, conversation, conversations)
    conversation_shares = conversation_shares[np.isfinite(conversation_shares)]
    return Bound(
        *clopper_pearson(min(float(conversation_shares.sum()), len(conversation_shares)), len(conversation_shares))
    )


def _values(design: StressDesign, pairs: VersionPairs, mean: Floats, idle: Mask) -> Gaps:
    counted = ~(idle[pairs.left] & idle[pairs.right])
    left_means, right_means, conversation = (
        mean[pairs.left][counted],
        mean[pairs.right][counted],
        pairs.conversation[counted],
    )
    difference = left_means - right_means
    missing = int(np.isnan(difference).sum())
    worst = best = None
    if missing:
        worst, best = (
            float(np.nanmean(by_conversation(np.nan_to_num(left_means, nan=a) - np.nan_to_num(right_means, nan=b), conversation, design.conversations)))
            for a, b in ((0.0, 1.0), (1.0, 0.0))
        )  # fmt: skip
    both = np.isfinite(difference)
    changed = (np.abs(difference[both]) > 1e-9).astype(np.float64)
    return Gaps(
        pairs.probe, pairs.version, pairs.against, pairs.criterion, VALUE,
        by_conversation(difference, conversation, design.conversations), len(difference), missing, worst, best,
        share(changed, conversation[both], design.conversations),
    )  # fmt: skip


class HaloEffect(NamedTuple):
    """Mean correlation between criteria, asked together minus apart; `n` pairs of verdicts in `clusters` conversations."""

    excess: Interval
    p: float | None
    n: int
    missing: int
    clusters: int


def halo(verdicts: design.HaloDesign, values: Floats, conversations: int, flips: int, seed: int) -> HaloEffect | None:
    """Compare the correlations between criteria; None where there are fewer than two criteria.

    p is that of a randomisation test: were the way of asking of no account, each conversation's two sets of verdicts
    could be exchanged. Each way's means are taken off first, so that a shift alone is no halo.

    Args:
        verdicts: where the verdicts stand.
        values: shape (N, K).
        conversations: G.
        flips: how many exchanges are drawn.
        seed: of their generator.
    """
    if verdicts.together.shape[1] < 2:
        return None
    levels = np.where(values == INAPPLICABLE, np.nan, values).mean(axis=1)
    both = [levels[verdicts.together], levels[verdicts.separate]]
    total = int(np.size(both[0]))
    holes = ~np.isfinite(both[0] + both[1])
    both = [np.where(holes, np.nan, way) - _column_means(np.where(holes, np.nan, way)) for way in both]
    together, separate = (_sums(way, verdicts.conversation, conversations) for way in both)
    estimate = _excess(together.sum(axis=0)[None], separate.sum(axis=0)[None])[0]
    present = np.flatnonzero(together[:, :, 0].sum(axis=1) > 0)
    left_out = _excess(together.sum(axis=0) - together[present], separate.sum(axis=0) - separate[present])
    excess = jackknife.student(float(estimate), left_out, np.ones(len(present), dtype=np.intp))
    p = None
    if np.isfinite(estimate):
        p = _exchanged(together, separate, abs(float(estimate)), flips, seed)
    return HaloEffect(excess, p, total - int(holes.sum()), int(holes.sum()), len(present))


def _exchanged(together: Floats, separate: Floats, observed: float, flips: int, seed: int) -> float:
    """Return how often the excess is as large when conversations' two sets of verdicts are exchanged by chance."""
    conversations, *shape = together.shape
    first, second = together.reshape(conversations, -1), separate.reshape(conversations, -1)
    chance, hits = np.random.default_rng([seed, 2]), 0
    for rows in portions(flips, max(conversations, first.shape[1])):
        swapped = chance.integers(0, 2, size=(rows, conversations)).astype(np.float64)
        exchanged = swapped @ (first - second)
        drawn = _excess(
            (second.sum(axis=0) + exchanged).reshape(rows, *shape),
            (first.sum(axis=0) - exchanged).reshape(rows, *shape),
        )
        hits += int((np.abs(drawn) >= observed - 1e-9).sum())
    return (1 + hits) / (flips + 1)


def _column_means(way: Floats) -> Floats:
    finite = np.isfinite(way)
    return np.asarray(np.nansum(way, axis=0) / np.maximum(finite.sum(axis=0), 1))


def _sums(way: Floats, conversation: design.Codes, conversations: int) -> Floats:
    """Return each conversation's sums for each pair of criteria, shape (G, P, 6): n, x, y, xx, yy, xy."""
    rows = []
    for a, b in combinations(range(way.shape[1]), 2):
        finite = np.isfinite(way[:, a] + way[:, b])
        x, y = np.where(finite, way[:, a], 0.0), np.where(finite, way[:, b], 0.0)
        parts = (finite.astype(np.float64), x, y, x * x, y * y, x * y)
        rows.append([np.bincount(conversation, part, minlength=conversations) for part in parts])
    return np.moveaxis(np.array(rows), 2, 0)


def _excess(together: Floats, separate: Floats) -> Floats:
    """Return the mean over pairs of criteria of the difference of correlations, shape (B,); NaN where none has both."""
    difference = _correlations(together) - _correlations(separate)
    defined = np.isfinite(difference)
    counts = defined.sum(axis=1)
    total = np.where(defined, difference, 0.0).sum(axis=1)
    return ratio(total, counts)


def _correlations(sums: Floats) -> Floats:
    """Return Pearson's correlation from sums of shape (B, P, 6); NaN where one side does not vary."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, 2, 0)
    spread = (n * xx - x * x) * (n * yy - y * y)
    return np.asarray(
        np.divide(n * xy - x * y, np.sqrt(np.maximum(spread, 0)), out=np.full(n.shape, np.nan), where=spread > 1e-9)
    )


class LanguageBias(NamedTuple):
    """How much kinder a judge is to Chinese replies than to English ones written for the same level."""

    kinder: Interval
    p: float | None
    n: int
    missing: int
    clusters: int


def severity(replies: Languages, values: Floats, flips: int, seed: int) -> LanguageBias:
    """Compare a judge's distance from the authors' levels between languages, level by level.

    The interval of the difference of two means over conversations is Welch's (1947). p is that of a permutation test:
    were the language of no account, it could as well be another conversation's.

    Args:
        replies: which replies, in which language, at which level.
        values: the verdicts, shape (N, K).
        flips: how many permutations are drawn.
        seed: of their generator.
    """
    levels = np.where(values == INAPPLICABLE, np.nan, values)[replies.place]
    answered = np.isfinite(levels).any(axis=1)
    distance = np.full(len(levels), np.nan)
    distance[answered] = np.nanmean(levels[answered], axis=1) - replies.stated_levels[answered]
    # Levels at the ends of a scale can be missed to one side only, and may come up more often in one language.
    for level in np.unique(replies.stated_levels):
        same = (replies.stated_levels == level) & answered
        distance[same] -= distance[same].mean() if same.any() else 0.0
    units = 1 + int(replies.conversation.max(initial=-1))
    sides = [
        by_conversation(np.where(side, distance, np.nan), replies.conversation, units)
        for side in (replies.chinese, ~replies.chinese)
    ]
    chinese, english = (side[np.isfinite(side)] for side in sides)
    n, clusters = len(distance), len(chinese) + len(english)
    missing = int((~answered).sum())
    if min(len(chinese), len(english)) < 2:
        return LanguageBias(
            Interval(None, undefined="fewer than 2 conversations in a language"), None, n, missing, clusters
        )
    value = float(chinese.mean() - english.mean())
    parts = np.array([side.var(ddof=1) / len(side) for side in (chinese, english)])
    p = _permuted(np.concatenate([chinese, english]), len(chinese), abs(value), flips, seed)
    interval = Interval(value, undefined=SAME)
    if parts.sum() > TIE:
        freedom = parts.sum() ** 2 / (parts**2 / [len(chinese) - 1, len(english) - 1]).sum()
        half = float(special.stdtrit(freedom, 0.975) * np.sqrt(parts.sum()))
        interval = Interval(value, value - half, value + half)
    return LanguageBias(interval, p, n, missing, clusters)


def _permuted(values: Floats, chinese: int, observed: float, flips: int, seed: int) -> float:
    """Return how often two groups of these sizes differ as much when the conversations are dealt out anew."""
    chance, hits = np.random.default_rng([seed, 3]), 0
    for rows in portions(flips, len(values)):
        order = chance.permuted(np.tile(values, (rows, 1)), axis=1)
        drawn = np.abs(order[:, :chinese].mean(axis=1) - order[:, chinese:].mean(axis=1))
        hits += int((drawn >= observed - 1e-12).sum())
    return (1 + hits) / (flips + 1)


def preference(kin: Kin, values: Floats) -> tuple[SelfPreference, int]:
    """Say whether a judge favours its own family, in shares of the scale, and count replies without a verdict of it.

    Args:
        kin: which replies, whose, and what others say of them.
        values: the verdicts, shape (N, K).
    """
    levels = np.where(values == INAPPLICABLE, np.nan, values)[kin.place]
    finite = np.isfinite(levels)
    answered = finite.any(axis=1)
    total = np.where(finite, levels, 0.0).sum(axis=1)
    mean = ratio(total, finite.sum(axis=1))
    rated = FavourRatings(mean, kin.people, kin.others, kin.own, kin.conversation)
    return favour(rated, kin.models, kin.judges, 1.0), int((~answered).sum())
