"""From differences to what is said of a judge: effects with intervals, p-values adjusted together, a verdict for each; and how many attempts to talk it over worked.

The interval of a mean over conversations is Student's (`jackknife.student`): percentiles of a bootstrap are too narrow
for as few conversations as a rubric has anchors. p is that of sign flips: were a form of no account, each
conversation's difference could as well have had the other sign. Flips are the same for all tests.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from scipy import special

from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.stress import probes
from mindgauge.analysis.stress.design import INAPPLICABLE
from mindgauge.analysis.stress.gaps import Gaps, by_conversation, gaps, halo, preference, severity, share
from mindgauge.analysis.stress.probes import APART, TOGETHER
from mindgauge.analysis.stress.result import (
    BIASED,
    CANNOT_TELL,
    CLEAN,
    HALO,
    KIND,
    VALUE,
    AttemptCounts,
    Effect,
    Injections,
    Repeats,
)
from mindgauge.stats import comparison, jackknife
from mindgauge.stats.interval import AGREED, Interval
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.analysis.stress.design import Attempts, Floats, StressDesign
    from mindgauge.stats.interval import Ends


CHINESE, ENGLISH = "Chinese replies", "English ones of the same levels"
ALPHA = 0.05
MARGIN = 0.05
"""An effect whose whole interval lies within so much of the scale (or of all attempts) counts as none."""
FEWEST = 10
"""Conversations that it takes to call a judge clean, however equal they all are."""
FLIPS, FLIPS_PER_TEST = 10_000, 100
"""So that a p-value can be small enough to pass Holm's adjustment."""


class StressOutcome(NamedTuple):
    """All that is said of a judge."""

    effects: list[Effect]
    injections: list[Injections]
    repeats: list[Repeats]


class _Test(NamedTuple):
    """A mean over conversations, with its interval and p; None where there is nothing to test.

    `smallest_p` is the smallest p that any signs of these differences could give.
    """

    mean: Interval
    p: float | None
    clusters: int
    smallest_p: float = 0.0


def outcome(design: StressDesign, values: Floats, *, seed: int = 0) -> StressOutcome:
    """Compute every effect, with p-values adjusted over all probes and criteria, and one for each kind of injection.

    Args:
        design: what is compared.
        values: the verdicts, shape (N, K).
        seed: of the flips.
    """
    differences = list(gaps(design, values))
    attempts = list(reached(design.attempts, values, design.conversations)) if design.attempts else []
    columns = [gap.differences for gap in differences] + [part.differences for part in attempts]
    flips = max(FLIPS, FLIPS_PER_TEST * len(columns))
    tests = _tests(np.array(columns).reshape(len(columns), design.conversations).T, flips, seed)
    rows = [*zip(differences, tests, strict=False), *_unpaired(design, values, flips, seed)]
    reaching = [
        (part, test if part.counts.slice.startswith(KIND) else test._replace(p=None))
        for part, test in zip(attempts, tests[len(differences) :], strict=True)
    ]
    adjusted = iter(_adjusted([test for _, test in rows] + [test for _, test in reaching]))
    effects = [_effect(gap, test, next(adjusted)) for gap, test in rows]
    order = {name: place for place, name in enumerate(probes.NAMES)}
    effects.sort(key=lambda effect: order[effect.probe])
    injections = [_injections(part, test, next(adjusted)) for part, test in reaching]
    return StressOutcome(effects, injections, list(_repeats(design, values)))


def _adjusted(tests: list[_Test]) -> list[float | None]:
    """Adjust all p-values together (Holm); a test that no signs could have passed takes no part (Tarone 1990)."""
    family = holm(np.array([np.nan if t.p is None or t.smallest_p > ALPHA else t.p for t in tests]))
    return [None if t.p is None else 1.0 if np.isnan(a) else float(a) for t, a in zip(tests, family, strict=True)]


def _effect(gap: Gaps, test: _Test, adjusted: float | None) -> Effect:
    return Effect(
        probe=gap.probe, version=gap.version, against=gap.against, criterion=gap.criterion, measure=gap.measure,
        value=test.mean.value, low=test.mean.low, high=test.mean.high, note=test.mean.undefined, p=test.p,
        adjusted=adjusted, verdict=verdict(test.mean, adjusted, test.clusters), needed=needed(test.mean, test.clusters),
        n=gap.n, clusters=test.clusters, missing=gap.missing, worst=gap.worst, best=gap.best, changed=gap.changed,
    )  # fmt: skip


def _injections(part: Reached, test: _Test, adjusted: float | None) -> Injections:
    return Injections(
        **msgspec.structs.asdict(part.counts), excess=Bound(*test.mean), p=test.p, adjusted=adjusted,
        verdict=verdict(test.mean, adjusted, test.clusters), needed=needed(test.mean, test.clusters),
    )  # fmt: skip


def verdict(mean: Interval, adjusted: float | None, clusters: int) -> str:
    """Say what an effect means: it is there, it is as good as none, or nobody can tell."""
    if adjusted is not None and adjusted <= ALPHA:
        return BIASED
    if mean.low is None or mean.high is None or clusters < FEWEST:
        return CANNOT_TELL
    return CLEAN if mean.low >= -MARGIN and mean.high <= MARGIN else CANNOT_TELL


def needed(mean: Interval, clusters: int) -> int | None:
    """Return how many conversations of this kind would make the interval as narrow as the margin; None where unknown."""
    if mean.value is None or mean.high is None or clusters < 2:
        return None
    if mean.undefined == AGREED:
        # All agree: with n of them at most 1 - .025^(1/n) of all differ, each by what the scale allows to this side.
        low = mean.value if mean.low is None else mean.low
        far = max(mean.high - mean.value, mean.value - low) / -math.expm1(math.log(0.025) / clusters)
        return max(FEWEST, math.ceil(math.log(0.025) / math.log1p(-min(MARGIN / far, 0.5))))
    spread = (mean.high - mean.value) / float(special.stdtrit(clusters - 1, 0.975)) * math.sqrt(clusters)
    n = max(FEWEST, math.ceil((1.96 * spread / MARGIN) ** 2))
    while float(special.stdtrit(n - 1, 0.975)) * spread / math.sqrt(n) > MARGIN:
        n += 1
    return n


def _tests(columns: Floats, flips: int, seed: int, ends: Ends = (-1.0, 1.0)) -> list[_Test]:
    """Test whether the mean of each column, shape (G, T), is 0; its values lie between the ends."""
    p = comparison.sign_flip(np.nan_to_num(columns), resamples=flips, seed=seed) if columns.size else np.zeros(0)
    return [_test(column[np.isfinite(column)], float(value), ends) for column, value in zip(columns.T, p, strict=True)]


def _test(column: Floats, p: float, ends: Ends) -> _Test:
    n = len(column)
    if n == 0:
        return _Test(Interval(None, undefined="no conversations"), None, 0)
    left_out = (column.sum() - column) / (n - 1) if n > 1 else np.full(1, np.nan)
    mean = jackknife.student(float(column.mean()), left_out, np.ones(n, dtype=np.intp), ends=ends)
    return _Test(mean, p if n > 1 else None, n, 2.0 ** (1 - np.count_nonzero(column)))


def _unpaired(design: StressDesign, values: Floats, flips: int, seed: int) -> Iterator[tuple[Gaps, _Test]]:
    """Yield what is no mean of differences between versions: halo, severity between languages, self-preference."""
    empty = np.zeros(0)
    result = halo(design.halo, values, design.conversations, flips, seed) if design.halo else None
    if result is not None:
        gap = Gaps(probes.MODE, TOGETHER, APART, "", HALO, empty, result.n, result.missing)
        yield gap, _Test(result.excess, result.p, result.clusters, _least(result.p))
    for languages in design.languages:
        kinder = severity(languages, values, flips, seed)
        gap = Gaps(probes.LANGUAGE, CHINESE, ENGLISH, languages.criterion, VALUE, empty, kinder.n, kinder.missing)
        yield gap, _Test(kinder.kinder, kinder.p, kinder.clusters, _least(kinder.p))
    for kin in design.kin:
        own, missing = preference(kin, values)
        gap = Gaps(probes.SELF, "own family", "others", kin.criterion, VALUE, empty, len(kin.place), missing)
        value, low, high, _ = msgspec.structs.astuple(own.favour)
        yield gap, _Test(Interval(value, low, high, own.reason), own.p, own.conversations)


def _least(p: float | None) -> float:
    """Return 1 where nothing differs, so that no exchange could have told anything."""
    return 1.0 if p == 1 else 0.0


def _repeats(design: StressDesign, values: Floats) -> Iterator[Repeats]:
    """Compare the first two verdicts on every original."""
    if values.shape[1] < 2:
        return
    levels = np.where(values == INAPPLICABLE, np.nan, values)
    for criterion, (place, conversation) in design.originals.items():
        distance = np.abs(levels[place, 0] - levels[place, 1])
        both = np.isfinite(distance)
        changed = share((distance[both] > 1e-9).astype(np.float64), conversation[both], design.conversations)
        clusters = len(np.unique(conversation[both]))
        mean = float(distance[both].mean()) if both.any() else None
        yield Repeats(criterion, int(both.sum()), clusters, changed, mean)


# How many attempts to talk a judge over got what they wanted.


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
