"""A look: a policy's bounds on the dialogues that were drawn of what is new, with the evidence of the looks before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.analysis import scoring_views
from mindgauge.analysis.gate import build_rules, measured, needs
from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.watch.records import RateKey, WatchedRate
from mindgauge.benchmarks.metrics.estimates import ends
from mindgauge.records import RaterKind
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import percent
from mindgauge.stats import detector
from mindgauge.stats.correction import prediction_powered_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.gate.gate import Build
    from mindgauge.analysis.gate.measured import GateSide, SystemBlock
    from mindgauge.analysis.gate.policy import GatePolicy, Must
    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks.metrics import Metric, RatingTable

    Floats = NDArray[np.float64]


class _ItemScores(NamedTuple):
    """What each item is worth, shape (m,), NaN where it has no value, with its subject, its cluster, and the ends of the scale."""

    worth: Floats
    subject: NDArray[np.str_]
    cluster: NDArray[np.str_]
    ends: tuple[float, float]


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
    distrusted = needs.distrust(policy.needs, build.side, build.scores, build.evidence)
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


def unseen(policy: GatePolicy, rates: Sequence[WatchedRate]) -> list[str]:
    """Return the titles of the bounds of which a look has nothing."""
    here = {rate.key.rule for rate in rates}
    return [rule.title for rule in policy.must if rule.rule and rule.title not in here]


def _rate(
    rule: Must, score: Score, build: Build, before: Mapping[RateKey, WatchedRate], sides: Sequence[GateSide],
    distrusted: Mapping[tuple[str, str, str], str], most_missing: float, enough: float,
) -> WatchedRate:  # fmt: skip
    block = next(iter(_blocks(build.side, score)), None)
    bound = rule.bound
    doubt = (
        score.void or distrusted.get((score.benchmark, score.criterion, score.rater), "") or _lost(score, most_missing)
    )
    instrument = ", ".join(sorted(block.instruments)) if block is not None else ""
    key = RateKey(rule.title, score.benchmark, score.criterion, score.slice, score.model, score.rater, instrument)
    last = before.get(key)
    goes_on = last is not None and not last.alarm and (last.side, last.limit) == (bound.side, bound.limit)
    evidence = np.array(last.evidence) if last is not None and goes_on else detector.none_yet()
    if block is not None and not doubt:
        items = _items(block, score.name, rule)
        worse, limit = _worse(items, bound.side, bound.limit)
        evidence = detector.added(evidence, _by_cluster(items.cluster, worse), limit)
    strength = detector.strength(evidence)
    rate = WatchedRate(
        key=key, title=score.title or score.name, unit=score.unit, side=bound.side, limit=bound.limit, value=score.value,
        low=score.low, high=score.high, n=score.n, conversations=score.clusters, missing=score.missing,
        evidence=evidence.tolist(), strength=strength, distrusted=doubt, alarm=not doubt and strength >= enough,
    )  # fmt: skip
    return _corrected(rate, score, rule, sides)


def _lost(score: Score, most: float) -> str:
    """Say that too many verdicts are missing for the rest to speak for all; empty where they are not."""
    if score.missing <= most * score.n:
        return ""
    return f"more than {percent(most)} of the verdicts are missing"


def _blocks(side: GateSide, score: Score, rater: str | None = None) -> Iterable[SystemBlock]:
    names = {"criterion": score.criterion, "rater": score.rater if rater is None else rater, "model": score.model}
    return (
        block
        for part in side.parts
        if part.benchmark.name == score.benchmark
        for block in measured.blocks(part, score.slice, **names)
        if _metric(block, score.name) is not None
    )


def _metric(block: SystemBlock, name: str) -> tuple[Metric, RatingTable] | None:
    question = scoring_views.find(block.benchmark, block.criterion, block.kind)
    metric = next((m for m in question.metrics if m.name == name), None) if question is not None else None
    if metric is None or question is None:
        return None
    return metric, RatingPart.of(block.rows).table(question.criterion, block.benchmark.metric_tags)


def _items(block: SystemBlock, name: str, rule: Must) -> _ItemScores:
    metric, table = _metric(block, name) or (None, None)
    if metric is None or table is None or metric.item_score is None:
        raise UsageError(
            f"{rule.title}: {name} is no mean over replies or dialogues, so nothing adds up from look to look"
        )
    first = metric.items(table).first
    scale = ends(metric, table) or (0.0, 1.0)
    subjects, clusters = (block.rows[column].to_numpy().astype(str)[first] for column in ("subject", "cluster"))
    return _ItemScores(metric.worth(table), subjects, clusters, scale)


def _worse(items: _ItemScores, side: str, limit: float) -> tuple[Floats, float]:
    """Return items and limit as shares of the way to the bad end of the scale; what is missing is not held against anybody."""
    low, high = items.ends
    share, at = (items.worth - low) / (high - low), min(max((limit - low) / (high - low), 0.0), 1.0)
    worse, at = (share, at) if side == "high" else (1 - share, 1 - at)
    return np.nan_to_num(worse, nan=0.0), at


def _by_cluster(cluster: NDArray[np.str_], values: Floats) -> Floats:
    """Return the mean of each conversation, shape (C,)."""
    _, codes = np.unique(cluster, return_inverse=True)
    return np.asarray(np.bincount(codes, values) / np.bincount(codes))


def _corrected(rate: WatchedRate, score: Score, rule: Must, sides: Sequence[GateSide]) -> WatchedRate:
    """Put people's rate over all looks beside it, as judge and people give it together."""
    judge: dict[tuple[str, str], float] = {}
    people: dict[tuple[str, str], list[float]] = {}
    for side in sides:
        for block in _blocks(side, score, rater=""):
            if block.kind != RaterKind.PERSON and block.rater != score.rater:
                continue
            items = _items(block, score.name, rule)
            for subject, cluster, worth in zip(items.subject, items.cluster, items.worth, strict=True):
                if block.kind == RaterKind.PERSON and np.isfinite(worth):
                    people.setdefault((subject, cluster), []).append(float(worth))
                elif block.kind != RaterKind.PERSON:
                    judge[subject, cluster] = float(worth)
    both = [item for item in judge if item in people]
    if not both:
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
    distrusted = needs.distrust(policy.needs, build.side, build.scores, build.evidence)
    return [
        f"{rule.title}: {finding.sentence} ({', '.join(dict.fromkeys(reply.reply for reply in finding.replies))})"
        for rule in policy.must
        if not rule.rule
        for finding in build_rules.at_levels(rule, build.side, build.benchmarks)
        if finding.outcome is GateOutcome.FAILED
        and (finding.benchmark, finding.criterion, finding.rater) not in distrusted
    ]
