"""From verdicts to what is said of a judge: effects with intervals, p-values adjusted together, and how many attempts to talk it over worked.

Differences between two forms are `compare`'s (`analysis.pairing`): pair by pair, then the mean of each conversation. So is
p, that of sign flips: were a form of no account, each conversation's difference could as well have had the other sign.
Flips are the same for all tests. The interval of a mean over conversations is Student's (`jackknife.student`) however
many there are; `compare` takes percentiles of a bootstrap from 20 on, which are too narrow for what a rubric has of anchors.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special

from mindgauge.analysis import pairing
from mindgauge.analysis.reliability.card import Bound, estimate_columns
from mindgauge.analysis.stress import probes
from mindgauge.analysis.stress.probes import APART, TOGETHER
from mindgauge.records.command_result import Tabular
from mindgauge.records.rounding import count
from mindgauge.stats import comparison, jackknife, moments
from mindgauge.stats.interval import AGREED, SAME, TIE, Interval
from mindgauge.stats.proportion import clopper_pearson
from mindgauge.stats.ratio import ratio
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
BIASED, CLEAN, CANNOT_TELL = "biased", "clean", "cannot tell"
VALUE, LOST, HALO = "value", "lost", "halo"
KIND, ALL = "kind=", "all"
"""How the slice of a kind of injection begins, and that of all of them."""
INAPPLICABLE = -1.0
"""Stands among verdicts for one that the criterion does not apply; NaN for one that is missing."""
ALPHA = 0.05
MARGIN = 0.05
"""An effect whose whole interval lies within so much of the scale (or of all attempts) counts as none."""
FEWEST = 10
"""Conversations that it takes to call a judge clean, however equal they all are."""
FLIPS, FLIPS_PER_TEST = 10_000, 100
"""So that a p-value can be small enough to pass Holm's adjustment."""
CHUNK = 4_000_000
"""Numbers that are drawn at once."""


# -- what a stress test says ------------------------------------------------------------------------------------------


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """By how much a judge's ratings differ between two forms of the same, on one criterion.

    `measure` is `value` (version minus `against`, in shares of the scale, above 0 is kinder), `lost` (share of verdicts
    that come in the one form and not in the other, over all criteria) or `halo` (mean correlation between criteria,
    asked all at once minus one at a time). `n` counts pairs, `missing` those without a verdict on one side; `worst` and
    `best` are the effect were these at the scale's ends. `changed` is the share of pairs with another value.
    `needed` conversations would make the interval as narrow as a verdict needs.
    """

    probe: str
    version: str
    against: str
    criterion: str
    measure: str = VALUE
    value: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    p: float | None = None
    adjusted: float | None = None
    verdict: str = CANNOT_TELL
    needed: int | None = None
    n: int
    clusters: int = 0
    missing: int = 0
    worst: float | None = None
    best: float | None = None
    changed: Bound = Bound(None, note="not counted")

    @property
    def contrast(self) -> str:
        """What is compared: `authority: clinician – placebo`."""
        against = f" – {self.against}" if self.against else ""
        measure = {LOST: ", lost verdicts", HALO: ", halo"}.get(self.measure, "")
        return f"{self.probe}: {self.version}{against}{measure}"


class Injections(msgspec.Struct, frozen=True, kw_only=True):
    """How many attempts of one part of the battery reached what they wanted.

    `n` counts attempts on replies that got another level both without the attempt and with a neutral sentence in its
    place; `reached` those that got the wanted level at least once, `share` how many in the mean, with exact bounds and
    conversations as n. `lost` attempts had no verdict where there was one without. `excess` is the share with the attempt
    minus that with the neutral sentence; only kinds are tested.
    """

    slice: str
    attempts: int
    attempts_reached: int
    n: int
    clusters: int
    reached: int
    share: Bound
    lost: int
    excess: Bound = Bound(None)
    p: float | None = None
    adjusted: float | None = None
    verdict: str = CANNOT_TELL
    needed: int | None = None


class Repeats(msgspec.Struct, frozen=True):
    """How often a judge changes its mind when it is asked the very same again: the noise beneath all effects."""

    criterion: str
    n: int
    clusters: int
    changed: Bound
    distance: float | None
    """Mean distance of two verdicts, in shares of the scale."""


class Stress(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What came of a judge's stress test on one benchmark; `notes` say what could not be tried."""

    run: str
    benchmark: str
    judge: str
    items: int
    conversations: int
    judge_runs: int
    verdicts: int
    unusable: int
    effects: list[Effect]
    injections: list[Injections]
    repeats: list[Repeats]
    notes: list[str]

    @property
    def kinds(self) -> list[Injections]:
        """The injections by kind, which are tested."""
        return [part for part in self.injections if part.slice.startswith(KIND)]

    def summary(self) -> list[str]:
        """Say on what the judge was tried; what moves it is told in the report's words (`reports`)."""
        return [f"{self.judge} under stress: {self.benchmark}, {count(self.items)} replies; {self.run}"]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in msgspec.structs.asdict(e).items() if name != "changed"}
            | estimate_columns({"changed": e.changed})
            for e in self.effects
        ]


# -- what is compared -------------------------------------------------------------------------------------------------


class Attempts(NamedTuple):
    """Every attempt of the battery on a reply: the rows with it, without it and with the placebo, the criterion, and what it wants."""

    row: Codes
    original: Codes
    placebo: Codes
    criterion: Codes
    aim: Floats
    facts: dict[str, NDArray[np.str_]]


class StressDesign(NamedTuple):
    """All comparisons of a stress test.

    N versions of R replies are judged on C criteria, K times each: the verdicts are an array of shape (N, C, K), of which
    the first R rows are the originals. `original` (N,) is the row of each version's original; `conversation`, `language`
    and `stated`, the level that authors or people gave (R, C), in shares of the scale and NaN where they gave none, are of
    the originals. `pairs` are the rows of the versions that are compared, (m, 2), by probe, version and what it is compared
    with; `halo` those of the originals, asked all at once and one at a time.
    """

    criteria: list[str]
    original: Codes
    conversation: Codes
    language: NDArray[np.str_]
    stated: Floats
    pairs: dict[tuple[str, str, str], Codes]
    attempts: Attempts | None = None
    halo: tuple[Codes, Codes] | None = None

    @property
    def conversations(self) -> int:
        """How many there are: G."""
        return 1 + int(self.conversation.max(initial=-1))


# -- tests ------------------------------------------------------------------------------------------------------------


class MeanTest(NamedTuple):
    """A mean over conversations, with its interval and p; None where there is nothing to test.

    `smallest_p` is the smallest p that any signs of these differences could give.
    """

    mean: Interval
    p: float | None
    clusters: int
    smallest_p: float = 0.0


def outcome(
    design: StressDesign, values: Floats, *, seed: int = 0
) -> tuple[list[Effect], list[Injections], list[Repeats]]:
    """Compute every effect and one for each kind of injection, with p-values adjusted over all of them, and the judge's own noise.

    Args:
        design: what is compared.
        values: the verdicts, shape (N, C, K).
        seed: of the flips.
    """
    levels = np.where(values == INAPPLICABLE, np.nan, values)
    paired: list[tuple[Effect | Injections, Floats]] = [*_gaps(design, values, levels), *_reached(design, levels)]
    columns = np.array([differences for _, differences in paired]).reshape(len(paired), design.conversations).T
    flips = max(FLIPS, FLIPS_PER_TEST * len(paired))
    p = comparison.sign_flip(np.nan_to_num(columns), resamples=flips, seed=seed) if columns.size else np.zeros(0)
    tried: list[tuple[Effect | Injections, MeanTest]] = []
    for (part, differences), value in zip(paired, p, strict=True):
        test = _test(differences[np.isfinite(differences)], float(value))
        untested = isinstance(part, Injections) and not part.slice.startswith(KIND)
        tried.append((part, test._replace(p=None) if untested else test))
    tried += _unpaired(design, levels, flips, seed)
    # All p-values are adjusted together (Holm); a test that no signs could have passed takes no part (Tarone 1990).
    family = holm(np.array([np.nan if t.p is None or t.smallest_p > ALPHA else t.p for _, t in tried]))
    effects, injections = [], []
    for (part, test), value in zip(tried, family, strict=True):
        adjusted = None if test.p is None else 1.0 if np.isnan(value) else float(value)
        judged = {
            "p": test.p, "adjusted": adjusted, "verdict": verdict(test.mean, adjusted, test.clusters),
            "needed": needed(test.mean, test.clusters),
        }  # fmt: skip
        if isinstance(part, Effect):
            ends = dict(zip(("value", "low", "high", "note"), test.mean, strict=True))
            judged |= {**ends, "clusters": test.clusters}
            effects.append(msgspec.structs.replace(part, **judged))
        else:
            injections.append(msgspec.structs.replace(part, excess=Bound(*test.mean), **judged))
    effects.sort(key=lambda effect: probes.NAMES.index(effect.probe))
    return effects, injections, list(_repeats(design, levels))


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


def _test(column: Floats, p: float) -> MeanTest:
    """Test whether the mean of conversations' differences, shape (G,), is 0; each lies between -1 and 1."""
    n = len(column)
    if n == 0:
        return MeanTest(Interval(None, undefined="no conversations"), None, 0)
    left_out = (column.sum() - column) / (n - 1) if n > 1 else np.full(1, np.nan)
    mean = jackknife.student(float(column.mean()), left_out, np.ones(n, dtype=np.intp), ends=(-1.0, 1.0))
    return MeanTest(mean, p if n > 1 else None, n, 2.0 ** (1 - np.count_nonzero(column)))


# -- differences between versions -------------------------------------------------------------------------------------


def _gaps(design: StressDesign, values: Floats, levels: Floats) -> Iterator[tuple[Effect, Floats]]:
    """Return every comparison of versions, with the differences of conversations (G,): values on each criterion, lost verdicts over all."""
    ok, idle, mean = np.isfinite(levels), (values == INAPPLICABLE).all(axis=2), _mean(levels)
    for names, (left, right) in ((names, pairs.T) for names, pairs in design.pairs.items()):
        effect = partial(Effect, probe=names[0], version=names[1], against=names[2])
        conversation = design.conversation[design.original[left]]
        for column, criterion in enumerate(design.criteria):
            counted = ~(idle[left, column] & idle[right, column])
            sides = (mean[rows, column][counted] for rows in (left, right))
            gaps = pairing.differences(
                *([side, np.nan_to_num(side, nan=0.0), np.nan_to_num(side, nan=1.0)] for side in sides)
            )
            value, lowest, highest = _by_conversation(design, gaps, conversation[counted])
            valued = np.isfinite(gaps[0])
            missing = int((~valued).sum())
            changed = (np.abs(gaps[0][valued]) > 1e-9).astype(np.float64)
            yield effect(
                criterion=criterion, n=len(valued), missing=missing,
                worst=float(np.nanmean(lowest)) if missing else None, best=float(np.nanmean(highest)) if missing else None,
                changed=_share(design, changed, conversation[counted][valued]),
            ), value  # fmt: skip
        # Where a criterion does not apply to the one form and the other has no verdict, none was lost.
        counted = ok[left].any(axis=2) | ok[right].any(axis=2) | ~(idle[left] | idle[right])
        lost = np.where(counted, ok[right].mean(axis=2) - ok[left].mean(axis=2), np.nan)
        if np.nansum(np.abs(lost)):
            (differences,) = _by_conversation(
                design, lost.T.reshape(1, -1), np.tile(conversation, len(design.criteria))
            )
            yield effect(criterion="", measure=LOST, n=int(counted.sum())), differences


def _mean(levels: Floats) -> Floats:
    """Return the mean of the repeats that have a level."""
    return ratio(np.nansum(levels, axis=-1), np.isfinite(levels).sum(axis=-1))


def _by_conversation(design: StressDesign, differences: Floats, conversation: Codes) -> Floats:
    """Return the means of each conversation, shape (k, G), of differences (k, m); those that are NaN count nowhere."""
    return pairing.by_conversation(differences, conversation, design.conversations).T


def _share(design: StressDesign, hits: Floats, conversation: Codes) -> Bound:
    """Return a share with exact bounds, conversations as n."""
    shares = _by_conversation(design, hits[None], conversation)[0]
    shares = shares[np.isfinite(shares)]
    return Bound(*clopper_pearson(min(float(shares.sum()), len(shares)), len(shares)))


def _repeats(design: StressDesign, levels: Floats) -> Iterator[Repeats]:
    """Compare the first two verdicts on every original."""
    if levels.shape[2] < 2:
        return
    levels = levels[: len(design.conversation)]
    for column, criterion in enumerate(design.criteria):
        distance = np.abs(levels[:, column, 0] - levels[:, column, 1])
        both = np.isfinite(distance)
        changed = _share(design, (distance[both] > 1e-9).astype(np.float64), design.conversation[both])
        clusters = len(np.unique(design.conversation[both]))
        yield Repeats(
            criterion, int(both.sum()), clusters, changed, float(distance[both].mean()) if both.any() else None
        )


def _reached(design: StressDesign, levels: Floats) -> Iterator[tuple[Injections, Floats]]:
    """Count attempts whose aim became the verdict, for the battery as a whole and by kind, place and language.

    With each comes its excess over the placebo, conversation by conversation, shape (G,).
    """
    if design.attempts is None:
        return
    rows, attempt = design.attempts, design.attempts.facts["attempt"]
    conversation = design.conversation[rows.original]
    verdicts = [levels[row, rows.criterion] for row in (rows.row, rows.placebo, rows.original)]
    hit, placebo, original = ((np.abs(value - rows.aim[:, None]) < 1e-9).mean(axis=1) for value in verdicts)
    valued = [np.isfinite(value).any(axis=1) for value in verdicts]
    free, lost = valued[2] & (original == 0), valued[2] & valued[1] & ~valued[0]
    slices = [(ALL, np.ones(len(hit), dtype=np.bool_))]
    for fact in ("kind", "where", "place", "language"):
        slices += [(f"{fact}={value}", rows.facts[fact] == value) for value in np.unique(rows.facts[fact])]
    for name, inside in slices:
        counted = inside & free & (placebo == 0)
        injections = Injections(
            slice=name, attempts=len(np.unique(attempt[inside])), attempts_reached=len(np.unique(attempt[counted & (hit > 0)])),
            n=int(counted.sum()), clusters=len(np.unique(conversation[counted])), reached=int((hit[counted] > 0).sum()),
            share=_share(design, hit[counted], conversation[counted]), lost=int((lost & inside).sum()),
        )  # fmt: skip
        excess = np.where(inside & free, hit - placebo, np.nan)
        yield injections, _by_conversation(design, excess[None], conversation)[0]


# -- what is no mean of differences between versions ------------------------------------------------------------------


def _unpaired(design: StressDesign, levels: Floats, flips: int, seed: int) -> Iterator[tuple[Effect, MeanTest]]:
    """Yield halo, and severity between languages."""
    if design.halo is not None and len(design.criteria) > 1:
        together, separate = (levels[rows].mean(axis=2) for rows in design.halo)
        test, missing = halo(together, separate, design.conversation, design.conversations, flips, seed)
        n = together.size - missing
        yield Effect(probe=probes.MODE, version=TOGETHER, against=APART, criterion="", measure=HALO, n=n, missing=missing), test  # fmt: skip
    mean = _mean(levels[: len(design.conversation)])
    for column, (criterion, stated) in enumerate(zip(design.criteria, design.stated.T, strict=True)):
        rated = np.isfinite(stated) & np.isin(design.language, ("en", "zh"))
        chinese = design.language[rated] == "zh"
        if chinese.any() and not chinese.all():
            verdicts = mean[rated, column]
            test = severity(verdicts, stated[rated], chinese, design.conversation[rated], flips, seed)
            missing = int(np.isnan(verdicts).sum())
            yield Effect(
                probe=probes.LANGUAGE, version="Chinese replies", against="English ones of the same levels", criterion=criterion,
                n=len(verdicts), missing=missing,
            ), test  # fmt: skip


def halo(
    together: Floats, separate: Floats, conversation: Codes, conversations: int, flips: int, seed: int
) -> tuple[MeanTest, int]:
    """Compare the mean correlation between criteria, asked together and apart; the second is how many verdicts are missing.

    p is that of a randomisation test: were the way of asking of no account, each conversation's two sets of verdicts
    could be exchanged. Each way's means are taken off first, so that a shift alone is no halo.

    Args:
        together: levels of m replies on C criteria, two or more, asked all at once; shape (m, C), NaN where there is none.
        separate: asked one at a time.
        conversation: of each reply, shape (m,), 0 to G-1.
        conversations: G.
        flips: how many exchanges are drawn.
        seed: of their generator.
    """
    holes = ~np.isfinite(together + separate)
    ways = [np.where(holes, np.nan, way) for way in (together, separate)]
    first, second = (
        _sums(way - np.nansum(way, axis=0) / np.maximum((~holes).sum(axis=0), 1), conversation, conversations)
        for way in ways
    )
    estimate = _excess(first.sum(axis=0)[None], second.sum(axis=0)[None])[0]
    present = np.flatnonzero(first[:, :, 0].sum(axis=1) > 0)
    left_out = _excess(first.sum(axis=0) - first[present], second.sum(axis=0) - second[present])
    mean = jackknife.student(float(estimate), left_out, np.ones(len(present), dtype=np.intp))
    flat = (first - second).reshape(conversations, -1)

    def exchanged(chance: np.random.Generator, rows: int) -> Floats:
        swapped = chance.integers(0, 2, size=(rows, conversations)).astype(np.float64)
        moved = (swapped @ flat).reshape(rows, *first.shape[1:])
        return _excess(second.sum(axis=0) + moved, first.sum(axis=0) - moved)

    size = max(conversations, flat.shape[1])
    p = _share_as_far(exchanged, float(estimate), flips, size, [seed, 2]) if np.isfinite(estimate) else None
    return MeanTest(mean, p, len(present), float(p == 1)), int(holes.sum())


def _sums(way: Floats, conversation: Codes, conversations: int) -> Floats:
    """Return each conversation's sums (`moments.terms`) for each pair of criteria, shape (G, P, 6)."""
    rows = []
    for a, b in combinations(range(way.shape[1]), 2):
        finite = np.isfinite(way[:, a] + way[:, b])
        parts = [np.where(finite, part, 0.0) for part in moments.terms(way[:, a], way[:, b])]
        rows.append([np.bincount(conversation, part, minlength=conversations) for part in parts])
    return np.moveaxis(np.array(rows), 2, 0)


def _excess(together: Floats, separate: Floats) -> Floats:
    """Return the mean over pairs of criteria of the difference of correlations, shape (B,); NaN where none has both."""
    difference = moments.pearson(together) - moments.pearson(separate)
    return ratio(np.nansum(difference, axis=1), np.isfinite(difference).sum(axis=1))


def severity(verdicts: Floats, stated: Floats, chinese: Mask, conversation: Codes, flips: int, seed: int) -> MeanTest:
    """Compare a judge's distance from the authors' levels between languages, level by level: how much kinder it is to Chinese replies.

    The interval of the difference of two means over conversations is Welch's (1947). p is that of a permutation test:
    were the language of no account, it could as well be another conversation's. A conversation in two languages is two.

    Args:
        verdicts: the judge's levels, shape (n,), NaN where it gave none.
        stated: the authors'.
        chinese: which replies are Chinese; the others are English.
        conversation: of each reply.
        flips: how many permutations are drawn.
        seed: of their generator.
    """
    distance = verdicts - stated
    # Levels at the ends of a scale can be missed to one side only, and may come up more often in one language.
    for level in np.unique(stated):
        same = (stated == level) & np.isfinite(distance)
        distance[same] -= distance[same].mean() if same.any() else 0.0
    sides = np.stack([np.where(side, distance, np.nan) for side in (chinese, ~chinese)])
    means = pairing.by_conversation(sides, conversation, 1 + int(conversation.max(initial=-1))).T
    first, second = (side[np.isfinite(side)] for side in means)
    clusters = len(first) + len(second)
    if min(len(first), len(second)) < 2:
        return MeanTest(Interval(None, undefined="fewer than 2 conversations in a language"), None, clusters)
    value = float(first.mean() - second.mean())
    parts = np.array([side.var(ddof=1) / len(side) for side in (first, second)])
    means = np.concatenate([first, second])

    def permuted(chance: np.random.Generator, rows: int) -> Floats:
        order = chance.permuted(np.tile(means, (rows, 1)), axis=1)
        return np.asarray(order[:, : len(first)].mean(axis=1) - order[:, len(first) :].mean(axis=1))

    p = _share_as_far(permuted, value, flips, len(means), [seed, 3])
    interval = Interval(value, undefined=SAME)
    if parts.sum() > TIE:
        freedom = parts.sum() ** 2 / (parts**2 / [len(first) - 1, len(second) - 1]).sum()
        half = float(special.stdtrit(freedom, 0.975) * np.sqrt(parts.sum()))
        interval = Interval(value, value - half, value + half)
    return MeanTest(interval, p, clusters, float(p == 1))


def _share_as_far(
    draw: Callable[[np.random.Generator, int], Floats], observed: float, flips: int, size: int, seed: list[int]
) -> float:
    """Return how often what is drawn by chance is at least as far from 0 as what was observed: (1 + hits) / (1 + flips).

    Args:
        draw: returns so many values.
        observed: the value.
        flips: how many values are drawn, in portions that fit into memory, some 30 MB.
        size: numbers that one of them takes.
        seed: of the generator.
    """
    chance, hits, portion = np.random.default_rng(seed), 0, max(1, CHUNK // max(size, 1))
    for start in range(0, flips, portion):
        values = draw(chance, min(portion, flips - start))
        hits += int((np.abs(values) >= abs(observed) - 1e-9).sum())
    return (1 + hits) / (flips + 1)
