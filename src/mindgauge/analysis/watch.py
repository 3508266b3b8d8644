"""`watch`: what a look at new dialogues says of a policy's bounds, with the evidence of all looks before it that one is passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.analysis.gate import build_rules, measured
from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.benchmarks.metrics.estimates import ends
from mindgauge.records import RaterKind
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import Kind, bounded, count, percent, plural, write
from mindgauge.stats import detector
from mindgauge.stats.correction import prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.gate.measured import Build, GateSide, SystemBlock
    from mindgauge.analysis.gate.policy import GatePolicy, Must
    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks.metrics import Metric, RatingTable

    Floats = NDArray[np.float64]
    Counted = tuple[Metric, SystemBlock, RatingTable]


class RateKey(NamedTuple):
    """Which rate it is, over all looks; a rater with another instrument has another."""

    rule: str
    benchmark: str
    criterion: str
    slice: str
    model: str
    rater: str
    instrument: str


class WatchedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A rate that a policy bounds, in one look. `low` and `high` bound it with 95 % confidence.

    `evidence` is what each bet holds that the rate has passed its limit (`stats.detector`), `strength` their mean;
    `corrected` is people's rate over all looks by judge and people together, with its interval, where people rated.
    """

    key: RateKey
    title: str
    unit: Kind
    side: str
    limit: float
    value: float | None
    low: float | None
    high: float | None
    n: int
    conversations: int
    missing: int
    evidence: list[float]
    strength: float
    distrusted: str = ""
    """Why its judge is not trusted as far as the policy asks; it raises no alarm then."""
    alarm: bool = False
    corrected: tuple[float, float | None, float | None] | None = None
    labelled: int = 0
    """Conversations in which people rated, too."""

    def sentence(self) -> str:
        """Say what the look says of it."""
        relation = "≤" if self.side == "high" else "≥"
        figure = bounded(self.value, self.low, self.high, self.unit)
        text = f"{self.title} of {self.key.model}: {figure} in {plural(self.conversations, 'conversation')} (limit {relation} {write(self.limit, self.unit)})"
        if self.missing:
            text += f", {count(self.missing)} of {count(self.n)} verdicts missing"
        if self.corrected is not None:
            text += f"; corrected by people in {plural(self.labelled, 'conversation')}, over all looks: {bounded(*self.corrected, self.unit)}"
        if self.distrusted:
            return f"{text}; cannot tell: {self.distrusted}"
        return f"{text}; it has passed its limit" if self.alarm else text


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One look at what is new: how many dialogues came, how many were drawn and rated, and what they say."""

    number: int
    at: str
    dialogues: int
    drawn: int
    rates: list[WatchedRate]
    broken: list[str]
    """Rules that forbid a level, with the replies at it."""
    unmeasured: list[str] = []
    """Bounds of which no look so far has anything, a sentence each."""
    notes: list[str]

    @property
    def alarms(self) -> list[str]:
        """What somebody must look at now, a sentence each."""
        return [*(rate.sentence() for rate in self.rates if rate.alarm), *self.broken]

    @property
    def outcome(self) -> str:
        """What it comes to, in a word or two."""
        return "ALARM" if self.alarms else "cannot tell" if self.undecided else "no alarm"

    @property
    def date(self) -> str:
        """When it was taken."""
        return f"{self.at[:10]} {self.at[11:16]} UTC"

    def line(self) -> str:
        """Say it in one line: what came, what it comes to, and why."""
        reasons = self.alarms or [*self.unmeasured, *(rate.sentence() for rate in self.rates)]
        counted = f"{count(self.dialogues)} new, {count(self.drawn)} drawn and rated"
        return f"Look {self.number}, {self.date}: {counted}: {self.outcome}: {' | '.join(reasons)}"

    @property
    def undecided(self) -> bool:
        """Whether it says nothing that can be trusted of some rate."""
        return bool(self.unmeasured) or any(rate.distrusted or rate.value is None for rate in self.rates)


def watched(
    policy: GatePolicy, build: Build, before: Mapping[RateKey, WatchedRate], sides: Sequence[GateSide], apart: float
) -> list[WatchedRate]:
    """Return what a look says of each rate that a policy bounds.

    Args:
        policy: its bounds; what it compares or forbids is no rate.
        build: the dialogues that were drawn.
        before: each rate in the look before that had it.
        sides: of all looks, this one among them, in which people may have rated, too.
        apart: looks between false alarms on average, at least, over all rates together.

    Raises:
        UsageError: a bound is on no mean of replies or dialogues.
    """
    distrusted = measured.distrust(policy.needs, build)
    bounded = [
        (rule, score)
        for rule in policy.must
        if rule.rule
        for score in build_rules.matching(rule, rule.bound, build.scores.metrics, build.benchmarks)
    ]
    return [
        _rate(rule, score, build, before, sides, distrusted, policy.needs.missing, apart * len(bounded))
        for rule, score in bounded
    ]


def _rate(
    rule: Must, score: Score, build: Build, before: Mapping[RateKey, WatchedRate], sides: Sequence[GateSide],
    distrusted: Mapping[tuple[str, str, str], str], most_missing: float, enough: float,
) -> WatchedRate:  # fmt: skip
    counted = next(build_rules.metric_ratings(build.side, score, score.name), None)
    bound = rule.bound
    doubt = score.void or distrusted.get((score.benchmark, score.criterion, score.rater), "")
    if not doubt and score.missing > most_missing * score.n:
        doubt = f"more than {percent(most_missing)} of the verdicts are missing"
    instrument = ", ".join(sorted(counted[1].instruments)) if counted is not None else ""
    key = RateKey(rule.title, score.benchmark, score.criterion, score.slice, score.model, score.rater, instrument)
    last = before.get(key)
    goes_on = last is not None and not last.alarm and (last.side, last.limit) == (bound.side, bound.limit)
    evidence = np.array(last.evidence) if last is not None and goes_on else detector.none_yet()
    if counted is not None and not doubt:
        evidence = detector.added(evidence, *_worse(counted, rule))
    strength = detector.strength(evidence)
    rate = WatchedRate(
        key=key, title=score.title or score.name, unit=score.unit, side=bound.side, limit=bound.limit, value=score.value,
        low=score.low, high=score.high, n=score.n, conversations=score.clusters, missing=score.missing,
        evidence=evidence.tolist(), strength=strength, distrusted=doubt, alarm=not doubt and strength >= enough,
    )  # fmt: skip
    return _corrected(rate, score, rule, sides)


def _items(counted: Counted, rule: Must) -> tuple[Floats, NDArray[np.str_], NDArray[np.str_]]:
    """Return what each item is worth, shape (m,), NaN where it has no value, with its subject and its conversation.

    Raises:
        UsageError: the metric is no mean of items.
    """
    metric, block, table = counted
    if metric.item_score is None:
        raise UsageError(
            f"{rule.title}: {metric.name} is no mean over replies or dialogues, so nothing adds up from look to look"
        )
    first = metric.items(table).first
    subjects, clusters = (block.rows[column].to_numpy().astype(str)[first] for column in ("subject", "cluster"))
    return metric.worth(table), subjects, clusters


def _worse(counted: Counted, rule: Must) -> tuple[Floats, float]:
    """Return each conversation's mean and the limit as shares of the way to the bad end of the scale; a missing value is at the good end."""
    worth, _, cluster = _items(counted, rule)
    low, high = ends(counted[0], counted[2]) or (0.0, 1.0)
    share, limit = (worth - low) / (high - low), min(max((rule.bound.limit - low) / (high - low), 0.0), 1.0)
    if rule.bound.side != "high":
        share, limit = 1 - share, 1 - limit
    _, codes = np.unique(cluster, return_inverse=True)
    return np.asarray(np.bincount(codes, np.nan_to_num(share, nan=0.0)) / np.bincount(codes)), limit


def _corrected(rate: WatchedRate, score: Score, rule: Must, sides: Sequence[GateSide]) -> WatchedRate:
    """Put people's rate over all looks beside it, as judge and people give it together."""
    judge: dict[tuple[str, str], float] = {}
    people: dict[tuple[str, str], list[float]] = {}
    anyone = msgspec.structs.replace(score, rater="")
    for counted in (part for side in sides for part in build_rules.metric_ratings(side, anyone, score.name)):
        person = counted[1].kind == RaterKind.PERSON
        if not person and counted[1].rater != score.rater:
            continue
        for worth, *item in zip(*_items(counted, rule), strict=True):
            subject, cluster = item
            if person and np.isfinite(worth):
                people.setdefault((subject, cluster), []).append(float(worth))
            elif not person:
                judge[subject, cluster] = float(worth)
    if not judge.keys() & people.keys():
        return rate
    means = prediction_powered_mean(
        np.array([*judge.values()]),
        np.array([np.mean(people[item]) if item in people else np.nan for item in judge]),
        np.array([cluster for _, cluster in judge]),
    )
    value, low, high, _ = means.corrected
    if value is None:
        return rate
    return msgspec.structs.replace(rate, corrected=(value, low, high), labelled=means.labelled_clusters)


def broken(policy: GatePolicy, build: Build) -> list[str]:
    """Say which replies stand at a level that none may have; one that a trusted rater put there is enough."""
    distrusted = measured.distrust(policy.needs, build)
    return [
        f"{rule.title}: {finding.sentence} ({', '.join(dict.fromkeys(reply.reply for reply in finding.replies))})"
        for rule in policy.must
        if not rule.rule
        for finding in build_rules.at_levels(rule, build.side, build.benchmarks)
        if finding.outcome is GateOutcome.FAILED
        and (finding.benchmark, finding.criterion, finding.rater) not in distrusted
    ]
