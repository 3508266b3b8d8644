"""From verdicts to differences, conversation by conversation."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtrit

from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.reliability.favour import favour
from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.found import LOST, VALUE
from mindgauge.stats import jackknife
from mindgauge.stats.favour import Rated
from mindgauge.stats.interval import SAME, TIE, Interval
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.stress.design import Codes, Design, Floats, Pairs

    Mask = NDArray[np.bool_]
    from mindgauge.analysis.reliability.card import Favour
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


class Halo(NamedTuple):
    """Mean correlation between criteria, asked together minus apart; `n` pairs of verdicts in `clusters` conversations."""

    excess: Interval
    p: float | None
    n: int
    missing: int
    clusters: int


def halo(found: design.Halo, values: Floats, conversations: int, flips: int, seed: int) -> Halo | None:
    """Compare the correlations between criteria; None where there are fewer than two criteria.

    p is that of a randomisation test: were the way of asking of no account, each conversation's two sets of verdicts
    could be exchanged. Each way's means are taken off first, so that a shift alone is no halo.

    Args:
        found: where the verdicts stand.
        values: shape (N, K).
        conversations: G.
        flips: how many exchanges are drawn.
        seed: of their generator.
    """
    if found.together.shape[1] < 2:
        return None
    given = np.where(values == INAPPLICABLE, np.nan, values).mean(axis=1)
    both = [given[found.together], given[found.apart]]
    asked = int(np.size(both[0]))
    holes = ~np.isfinite(both[0] + both[1])
    both = [np.where(holes, np.nan, way) - _column_means(np.where(holes, np.nan, way)) for way in both]
    together, apart = (_sums(way, found.conversation, conversations) for way in both)
    whole = _excess(together.sum(axis=0)[None], apart.sum(axis=0)[None])[0]
    there = np.flatnonzero(together[:, :, 0].sum(axis=1) > 0)
    left_out = _excess(together.sum(axis=0) - together[there], apart.sum(axis=0) - apart[there])
    excess = jackknife.student(float(whole), left_out, np.ones(len(there), dtype=np.intp))
    p = None
    if np.isfinite(whole):
        p = _exchanged(together, apart, abs(float(whole)), flips, seed)
    return Halo(excess, p, asked - int(holes.sum()), int(holes.sum()), len(there))


def _exchanged(together: Floats, apart: Floats, observed: float, flips: int, seed: int) -> float:
    """Return how often the excess is as large when conversations' two sets of verdicts are exchanged by chance."""
    conversations, *shape = together.shape
    first, second = together.reshape(conversations, -1), apart.reshape(conversations, -1)
    chance, hits = np.random.default_rng([seed, 2]), 0
    for rows in portions(flips, max(conversations, first.shape[1])):
        swapped = chance.integers(0, 2, size=(rows, conversations)).astype(np.float64)
        here = swapped @ (first - second)
        drawn = _excess(
            (second.sum(axis=0) + here).reshape(rows, *shape), (first.sum(axis=0) - here).reshape(rows, *shape)
        )
        hits += int((np.abs(drawn) >= observed - 1e-9).sum())
    return (1 + hits) / (flips + 1)


def _column_means(way: Floats) -> Floats:
    there = np.isfinite(way)
    return np.asarray(np.nansum(way, axis=0) / np.maximum(there.sum(axis=0), 1))


def _sums(way: Floats, conversation: design.Codes, conversations: int) -> Floats:
    """Return each conversation's sums for each pair of criteria, shape (G, P, 6): n, x, y, xx, yy, xy."""
    rows = []
    for a, b in combinations(range(way.shape[1]), 2):
        there = np.isfinite(way[:, a] + way[:, b])
        x, y = np.where(there, way[:, a], 0.0), np.where(there, way[:, b], 0.0)
        parts = (there.astype(np.float64), x, y, x * x, y * y, x * y)
        rows.append([np.bincount(conversation, part, minlength=conversations) for part in parts])
    return np.moveaxis(np.array(rows), 2, 0)


def _excess(together: Floats, apart: Floats) -> Floats:
    """Return the mean over pairs of criteria of the difference of correlations, shape (B,); NaN where none has both."""
    difference = _correlations(together) - _correlations(apart)
    there = np.isfinite(difference)
    counts = there.sum(axis=1)
    total = np.where(there, difference, 0.0).sum(axis=1)
    return np.asarray(np.divide(total, counts, out=np.full(len(counts), np.nan), where=counts > 0))


def _correlations(sums: Floats) -> Floats:
    """Return Pearson's correlation from sums of shape (B, P, 6); NaN where one side does not vary."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, 2, 0)
    spread = (n * xx - x * x) * (n * yy - y * y)
    return np.asarray(
        np.divide(n * xy - x * y, np.sqrt(np.maximum(spread, 0)), out=np.full(n.shape, np.nan), where=spread > 1e-9)
    )


class Severity(NamedTuple):
    """How much kinder a judge is to Chinese replies than to English ones written for the same level."""

    kinder: Interval
    p: float | None
    n: int
    missing: int
    clusters: int


def severity(found: Languages, values: Floats, flips: int, seed: int) -> Severity:
    """Compare a judge's distance from the authors' levels between languages, level by level.

    The interval of the difference of two means over conversations is Welch's (1947). p is that of a permutation test:
    were the language of no account, it could as well be another conversation's.

    Args:
        found: which replies, in which language, at which level.
        values: the verdicts, shape (N, K).
        flips: how many permutations are drawn.
        seed: of their generator.
    """
    given = np.where(values == INAPPLICABLE, np.nan, values)[found.place]
    there = np.isfinite(given).any(axis=1)
    distance = np.full(len(given), np.nan)
    distance[there] = np.nanmean(given[there], axis=1) - found.known[there]
    # Levels at the ends of a scale can be missed to one side only, and may come up more often in one language.
    for level in np.unique(found.known):
        same = (found.known == level) & there
        distance[same] -= distance[same].mean() if same.any() else 0.0
    units = 1 + int(found.conversation.max(initial=-1))
    each = [
        by_conversation(np.where(side, distance, np.nan), found.conversation, units)
        for side in (found.chinese, ~found.chinese)
    ]
    chinese, english = (side[np.isfinite(side)] for side in each)
    n, clusters = len(distance), len(chinese) + len(english)
    missing = int((~there).sum())
    if min(len(chinese), len(english)) < 2:
        return Severity(
            Interval(None, undefined="fewer than 2 conversations in a language"), None, n, missing, clusters
        )
    value = float(chinese.mean() - english.mean())
    parts = np.array([side.var(ddof=1) / len(side) for side in (chinese, english)])
    p = _permuted(np.concatenate([chinese, english]), len(chinese), abs(value), flips, seed)
    interval = Interval(value, undefined=SAME)
    if parts.sum() > TIE:
        freedom = parts.sum() ** 2 / (parts**2 / [len(chinese) - 1, len(english) - 1]).sum()
        half = float(stdtrit(freedom, 0.975) * np.sqrt(parts.sum()))
        interval = Interval(value, value - half, value + half)
    return Severity(interval, p, n, missing, clusters)


def _permuted(each: Floats, chinese: int, observed: float, flips: int, seed: int) -> float:
    """Return how often two groups of these sizes differ as much when the conversations are dealt out anew."""
    chance, hits = np.random.default_rng([seed, 3]), 0
    for rows in portions(flips, len(each)):
        order = chance.permuted(np.tile(each, (rows, 1)), axis=1)
        drawn = np.abs(order[:, :chinese].mean(axis=1) - order[:, chinese:].mean(axis=1))
        hits += int((drawn >= observed - 1e-12).sum())
    return (1 + hits) / (flips + 1)


def preference(kin: Kin, values: Floats) -> tuple[Favour, int]:
    """Say whether a judge favours its own family, in shares of the scale, and count replies without a verdict of it.

    Args:
        kin: which replies, whose, and what others say of them.
        values: the verdicts, shape (N, K).
    """
    given = np.where(values == INAPPLICABLE, np.nan, values)[kin.place]
    there = np.isfinite(given)
    known = there.any(axis=1)
    total = np.where(there, given, 0.0).sum(axis=1)
    mean = np.divide(total, there.sum(axis=1), out=np.full(len(given), np.nan), where=known)
    rated = Rated(mean, kin.people, kin.others, kin.own, kin.conversation)
    return favour(rated, kin.models, kin.judges, 1.0), int((~known).sum())
