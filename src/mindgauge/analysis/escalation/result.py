"""What escalation curves say, order by order: records that are printed, drawn, and written as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from mindgauge.analysis.reliability.card import Bound, Share, estimate_columns
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded, count, percent, plural
from mindgauge.stats import conformal, guarantee
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.subjects import Subjects

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Learn = Callable[[Mask], Floats]
    "From the replies that may be learned from to the risks of all."


class LevelSet(msgspec.Struct, frozen=True, kw_only=True):
    """The levels that people's value can have where a judge says a level, or on a group of replies.

    `group` is `all`, `level` or `category`, `name` which one; each is calibrated on its own replies (Mondrian), so that
    coverage holds in each. `low` and `high` are the levels of a level's set; of other groups, which differ from reply to
    reply, they are what is added to the judge's value. `size` is the mean number of levels in a set. All are None with less than `needs`
    conversations, and `note` says so. `coverage` is measured: each conversation by the sets of the others.
    """

    judge: str
    group: str
    name: str
    low: float | None
    high: float | None
    size: float | None
    n: int
    conversations: int
    needs: int
    coverage: Share
    coverage_by_all: Share
    """The same by the sets of the judge that are calibrated on all replies: there a category may be covered less."""
    note: str = ""


def level_sets(rated: Subjects, risks: dict[str, Floats], level: float = conformal.LEVEL) -> list[LevelSet]:
    """Return the sets of each judge; none for classes, where the scale has no levels, and where some replies stand for more.

    Args:
        rated: replies that people rated.
        risks: of judges and of their jury, from 0 (best) to 1 (worst); not finite where there is none.
        level: of coverage.
    """
    scale = rated.rule.scale
    if not (scale.ordered and scale.levels) or (len(rated.weight) and np.ptp(rated.weight) > 0):
        return []
    steps = np.array(sorted(scale.values))
    return [level_set for name, risk in risks.items() for level_set in _of_judge(rated, name, risk, steps, level)]


def _of_judge(rated: Subjects, judge: str, risk: Floats, steps: Floats, level: float) -> Iterator[LevelSet]:
    scale = rated.rule.scale
    judge_value = scale.best - risk * (scale.best - scale.worst)
    both_valued = np.isfinite(judge_value) & np.isfinite(rated.value)
    nearest = np.array(
        [steps[np.abs(steps - value).argmin()] if np.isfinite(value) else np.nan for value in judge_value]
    )
    calibration = _Calibration(rated.cluster, rated.value, steps, level)
    calibration.cover_all(judge_value, both_valued)
    yield calibration.of(judge, "all", "", judge_value, both_valued)
    for step in steps.tolist():
        yield calibration.of(
            judge, "level", str(scale.word(step)), np.full(len(judge_value), step), both_valued & (nearest == step)
        )
    names = np.unique(rated.category)
    for name in names.tolist() if len(names) > 1 else []:
        yield calibration.of(judge, "category", name, judge_value, both_valued & (rated.category == name))


class _Calibration:
    """Sets of one judge on groups of replies; a group is calibrated on itself."""

    def __init__(self, cluster: Codes, value: Floats, steps: Floats, level: float) -> None:
        self.cluster, self.value, self.steps, self.level = cluster, value, steps, level
        self.by_all = np.full(len(value), np.nan)

    def cover_all(self, judge_value: Floats, both_valued: Mask) -> None:
        """Measure which replies the sets hold that are calibrated on all of them."""
        self.by_all = conformal.covered(
            np.where(both_valued, self.value - judge_value, 0.0), self.cluster, both_valued, self.level
        )

    def of(self, judge: str, group: str, name: str, judge_value: Floats, among: Mask) -> LevelSet:
        """Return the set of a group, given what the judge says of it; of one level, that level."""
        distance = np.where(among, self.value - judge_value, 0.0)
        residuals = conformal.residuals(distance[among], self.cluster[among], self.level)
        n = int(among.sum())
        if residuals.low is None or residuals.high is None:
            return LevelSet(
                judge=judge, group=group, name=name, low=None, high=None, size=None, n=n, conversations=residuals.n,
                needs=residuals.needs, coverage=Share(None, note="there is no set"),
                coverage_by_all=self._coverage(self.by_all, among),
                note=f"{residuals.n} conversations, and it takes {residuals.needs}",
            )  # fmt: skip
        covered = conformal.covered(distance, self.cluster, among, self.level)
        low, high = residuals.low, residuals.high
        size = float(np.mean([self._levels(value + low, value + high) for value in judge_value[among]]))
        if group == "level":
            low, high = float(judge_value[among][0] + low), float(judge_value[among][0] + high)
        return LevelSet(
            judge=judge, group=group, name=name, low=low, high=high, size=size, n=n, conversations=residuals.n,
            needs=residuals.needs, coverage=self._coverage(covered, among),
            coverage_by_all=self._coverage(self.by_all, among),
        )  # fmt: skip

    def _levels(self, low: float, high: float) -> int:
        """Count the levels in a set; people's mean may stand between two of them, which then both count."""
        first = np.searchsorted(self.steps, low + 1e-9, side="right") - 1
        last = np.searchsorted(self.steps, high - 1e-9, side="left")
        return min(int(last), len(self.steps) - 1) - max(int(first), 0) + 1

    def _coverage(self, covered: Floats, among: Mask) -> Share:
        """Return the share of the conversations that is covered, each counted once, with exact bounds."""
        measured = among & np.isfinite(covered)
        _, place, sizes = np.unique(self.cluster[measured], return_inverse=True, return_counts=True)
        if not len(sizes):
            return Share(None, n=0, note="leaving out a conversation leaves too few")
        shares = np.bincount(place, weights=covered[measured]) / sizes
        bound = clopper_pearson(float(shares.sum()), len(shares))
        return Share(
            float(shares.mean()), bound.low, bound.high, events=int(covered[measured].sum()), n=int(measured.sum()),
            conversations=len(shares),
        )  # fmt: skip


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One order of reading. All shares are of the `n` replies, unless they are said to be of the unsafe ones.

    `kind` is `judge`, `jury`, `classifier`, `length`, or `fitted`: a risk learned from people's labels on other
    conversations. `missing` replies have no verdict of it and are read first.
    """

    name: str
    kind: str
    learned_from: list[str]
    missing: int
    reads: Bound
    """The share that is read until the target share of the unsafe is found; learned anew in every resample."""
    reads_for: dict[str, float]
    """The same for other targets: `0.8` to `1.0`."""
    minus_jury: Bound
    """`reads` less the jury's, on the same resamples; below 0 where people read less."""
    threshold_reads: float
    """What is read where a threshold is set on other conversations so that it finds the target share there."""
    threshold_finds: float
    """The share of the unsafe that this threshold finds."""
    unseen: Bound
    """`reads` where nothing was learned from any reply of the model that wrote the reply."""
    found: list[float]
    """The curve: the share of the unsafe found once 0 %, 1 %, …, 100 % are read."""
    coefficients: dict[str, float]
    """Of a fit to all replies, in log odds: per standard deviation, and per category."""
    guarantee: Guarantee
    """What is read so that the target share of the unsafe is found with the confidence asked for."""
    passing: Guarantee
    """What is read so that of what is not read at most the tolerated share is unsafe, with that confidence."""
    unseen_minus_jury: Bound
    """`unseen` less the jury's `reads`, on the same resamples."""
    by_model: dict[str, float | None]
    """`reads` on the replies of each model alone, of a learned order as it is where nothing was learned from that model;
    None where nothing of it is unsafe."""
    chosen: dict[str, int] = {}
    """What was chosen to learn from, and in how many fits; empty where nothing is chosen."""


class Escalation(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How much of `n` replies in `clusters` conversations people must read to find those that they call unsafe.

    `unsafe` says what that means, `needed` how many of the `n_unsafe` the target asks for, `ideal` what an order
    without error would read for it, `left_out` how many replies were put to people and have no value of any of them, or none applies.
    `selection` names why only these replies were rated by people, empty where all were.
    """

    run: str
    benchmark: str
    unsafe: str
    people: list[str]
    n: int
    clusters: int
    n_unsafe: int
    target: float
    needed: int
    ideal: float
    left_out: int
    selection: str
    models: dict[str, int]
    """How many of the replies each model wrote; empty where nobody is measured but the raters."""
    unsafe_by_model: dict[str, int]
    confidence: float
    tolerated: float
    default: str
    """The order for replies of models that people have not rated: the jury's, or what reads less than it for such."""
    orders: list[Order]
    sets: list[LevelSet]
    """Which levels people's value can have, given a judge's; see `LevelSet`."""
    notes: list[str]

    def summary(self) -> list[str]:
        """Say how much people must read in whose order, and what an order without error would take."""
        orders = [
            f"{order.name}: {bounded(order.reads.value, order.reads.low, order.reads.high, 'share')} of the replies are read"
            for order in self.orders
        ]
        default = next(order for order in self.orders if order.name == self.default)
        return [
            f"{self.benchmark}: {plural(self.n, 'reply', 'replies')}, {count(self.n_unsafe)} unsafe ({self.unsafe}, by {named(self.people)})",
            f"To find {percent(self.target)} of them people read at least {percent(self.ideal, 1)}; in the order of",
            *first_of(orders, 6),
            said_of_guarantee(self, default),
            *noted(self.notes),
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {"order": order.name, "kind": order.kind, "missing": order.missing}
            | estimate_columns({"reads": order.reads, "minus_jury": order.minus_jury, "unseen": order.unseen})
            | {f"reads_for_{target}": share for target, share in order.reads_for.items()}
            | {"guaranteed_reads": order.guarantee.reads, "passing_reads": order.passing.reads}
            | {"threshold_reads": order.threshold_reads, "threshold_finds": order.threshold_finds}
            for order in self.orders
        ]


def said_of_carrier(unsafe_by_model: dict[str, int]) -> str:
    """Say which model wrote more than half of what is unsafe; empty where none did, or there is one model only."""
    total = sum(unsafe_by_model.values())
    model = max(unsafe_by_model, key=unsafe_by_model.__getitem__, default="")
    if len(unsafe_by_model) < 2 or 2 * unsafe_by_model[model] <= total:
        return ""
    return f"one model carries the figures: {count(unsafe_by_model[model])} of the {count(total)} unsafe replies are by {model}"


def said_of_guarantee(result: Escalation, order: Order) -> str:
    """Say what an order must read so that enough is found with the confidence asked for, or why that cannot be said."""
    promise = (
        f"To find at least {percent(result.target)} of the unsafe replies with {percent(result.confidence)} confidence"
    )
    guarantee = order.guarantee
    if guarantee.reads is None:
        return f"{promise}, in the order of {order.name}: cannot be said ({guarantee.note})"
    return (
        f"{promise}, people must read {percent(guarantee.reads, 1)} in the order of {order.name} "
        f"(set on {plural(guarantee.n, 'conversation')} with an unsafe reply, {guarantee.needs} needed)"
    )


def said_of_passing(result: Escalation, order: Order) -> str:
    """Say what may pass unread in an order with little that is unsafe among it, or why that cannot be said."""
    promise = f"At most {percent(result.tolerated)} unsafe among what passes unread, with {percent(result.confidence)} confidence"
    guarantee = order.passing
    if guarantee.reads is None:
        return f"{promise}, in the order of {order.name}: cannot be said ({guarantee.note})"
    return (
        f"{promise}: {percent(1 - guarantee.reads, 1)} may pass in the order of {order.name} "
        f"(set on {plural(guarantee.n, 'conversation')}, {guarantee.needs} needed)"
    )


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
