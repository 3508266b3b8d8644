"""Rules on the build alone: a bound of a metric keeps to a limit, or no reply stands at a level."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from scipy import special

from mindgauge.analysis import frame, pairing, scoring_views
from mindgauge.analysis.gate import measured
from mindgauge.analysis.gate.outcome import GateOutcome, RatedReply, RuleFinding
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.score import MAJORITY
from mindgauge.benchmarks.metrics import SHARES_OF_YES
from mindgauge.benchmarks.metrics.estimates import ends
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import bounded, count, p_equals, percent, plural, write
from mindgauge.records.rubric.criterion import numbers_of_levels
from mindgauge.stats import betting, noninferiority, proportion
from mindgauge.stats.interval import tied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from mindgauge.analysis.gate.measured import GateSide, SystemBlock
    from mindgauge.analysis.gate.policy import BoundText, Must, PolicyRule
    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric, RatingTable
    from mindgauge.benchmarks.metrics.table import Floats
    from mindgauge.stats.interval import Ends

_NORMAL = 1.959964
_MISS = 0.025
"""Chance that a bound of a mean misses."""


class BoundTest(NamedTuple):
    """A score that a bound is asked of, and the one-sided p that it lies on the right side of the limit.

    Of a mean, the score's bounds are those of `stats.betting`, and `needed` is with how many conversations they would tell,
    where it fails by a p of at most what is given.
    """

    score: Score
    p: float
    needed: Callable[[float], int | None] | None = None


def matching(rule: Must, bound: BoundText, scores: Sequence[Score], benchmarks: Sequence[Benchmark]) -> list[Score]:
    """Return the scores that a bound is asked of; a criterion in a metric's place asks how often it is said yes to.

    Raises:
        UsageError: no benchmark of the run has such a metric, or the limit is one that nothing can break; the message says
            what there is.
    """
    members = of_scope(rule, benchmarks)
    metrics = {metric.name for b in members for metric in (*b.metrics, *b.distribution)} | {s.name for s in scores}
    criteria = {name for b in members for name in (*(c.name for c in b.criteria), *b.composites)}
    if bound.metric not in metrics | criteria:
        raise UsageError(
            f"{rule.title}: there is no metric {bound.metric}; there are {', '.join(sorted(metrics))}, and the criteria {', '.join(sorted(criteria))}"
        )
    refuse_idle(rule, bound, members)
    names = {bound.metric} if bound.metric in metrics else SHARES_OF_YES
    criterion = rule.criterion or ("" if bound.metric in metrics else bound.metric)
    constant = {name for b in members for name in scoring_views.baseline_names(b)}
    return [
        score
        for score in scores
        if score.name in names
        and score.slice == rule.slice
        and score.benchmark in {b.name for b in members}
        and (not criterion or score.criterion == criterion)
        and (not rule.model or score.model == rule.model)
        and (score.rater == rule.rater if rule.rater else not score.rater.endswith(MAJORITY))
        and score.rater not in constant
    ]


def refuse_idle(rule: Must, bound: BoundText, benchmarks: Sequence[Benchmark]) -> None:
    """See that a limit lies where the metric can be: 5 is no share of five in hundred, and everything would keep to it.

    Raises:
        UsageError: whatever the run holds, the bound is kept.
    """
    reaches = [reach for b in benchmarks for reach in _reaches(b, bound.metric, rule.criterion)]
    if not reaches or None in reaches:
        return
    low, high = min(reach[0] for reach in reaches if reach), max(reach[1] for reach in reaches if reach)
    if bound.holds(high if bound.side == "high" else low):
        shares = "; five in hundred are written 0.05 or 5 %" if (low, high) == (0, 1) else ""
        raise UsageError(
            f"{rule.title}: nothing can break it, for {bound.metric} lies between {low:g} and {high:g}{shares}"
        )


def _reaches(benchmark: Benchmark, name: str, criterion: str) -> list[tuple[float, float] | None]:
    """Return the ends between which a metric lies, or the share of a criterion's yes; None where it has none that are known."""
    metric = benchmark.metric(name)
    criteria = frame.criteria(benchmark)
    if metric is None:
        return [(0.0, 1.0)] if name in criteria or name in SHARES_OF_YES else []
    if metric.exact:
        return [(0.0, 1.0)]
    if not metric.of_level:
        return [None]
    counts = [numbers_of_levels(c).values() for c in criteria.values() if criterion in {"", c.name} and metric.suits(c)]
    return [(min(numbers), max(numbers)) for numbers in counts if numbers]


def of_scope(rule: PolicyRule, benchmarks: Sequence[Benchmark]) -> list[Benchmark]:
    """Return the benchmarks that a rule is about.

    Raises:
        UsageError: it names one that the run does not have.
    """
    members = [b for b in benchmarks if rule.benchmark in {"", b.name}]
    if not members:
        raise UsageError(
            f"policy: the run has no benchmark {rule.benchmark}; it has {named([b.name for b in benchmarks], limit=9)}"
        )
    return members


def refuse_unknown_criterion(rule: PolicyRule, benchmarks: Sequence[Benchmark]) -> None:
    """See that some benchmark has the criterion of a rule, if it names one.

    Raises:
        UsageError: none has; the message names those there are.
    """
    names = {name for benchmark in benchmarks for name in frame.criteria(benchmark)}
    if rule.criterion and rule.criterion not in names:
        raise UsageError(f"{rule.title}: there is no criterion {rule.criterion}; there are {', '.join(sorted(names))}")


def test(bound: BoundText, scores: Sequence[Score], side: GateSide) -> list[BoundTest]:
    """Return each score with the p-value that it really is on the right side of a limit.

    What has no interval, or is void, tells nothing: its p is 1. Missing verdicts speak for the build here: it fails by what was seen.
    """
    return [_of_mean(bound, score, side) or BoundTest(score, _p(bound, score)) for score in scores]


def _of_mean(bound: BoundText, score: Score, side: GateSide) -> BoundTest | None:
    """Hold a mean against a limit by bounds that know the ends of its scale; None where a score is no mean of all ratings.

    Its bounds take missing verdicts as bad as they can be, as those of shares do.
    """
    if score.void or score.value is None:
        return None
    for metric, _, rated in metric_ratings(side, score, score.name):
        table = rated.rows(metric.applies_to(rated))
        reach = ends(metric, table)
        if not len(table) or metric.exact or metric.waits is not None or table.drawn is not None or reach is None:
            return None
        lowest, highest = (_by_conversation(table, metric, worth) for worth in pairing.bounds(metric, table))
        low = betting.lower(lowest[0], reach, alpha=_MISS, weights=lowest[1])
        high = betting.upper(highest[0], reach, alpha=_MISS, weights=highest[1])
        value = metric.worth(table)
        if not tied(float(np.nanmean(value)), score.value):
            return None
        at_least = bound.side == "low"
        kind, feared = (highest, lowest) if at_least else (lowest, highest)
        won = betting.e_value(kind[0], reach, bound.limit, at_least=at_least, weights=kind[1])
        short = feared if bound.holds(float(np.average(feared[0], weights=feared[1]))) else kind
        needed = partial(_enough, short, reach, bound.limit, at_least=at_least, fails=short is kind)
        return BoundTest(msgspec.structs.replace(score, low=low, high=high), min(1.0, 1 / won) if won else 1.0, needed)
    return None


def _enough(
    means: tuple[Floats, Floats], reach: Ends, limit: float, alpha: float, *, at_least: bool, fails: bool
) -> int | None:
    """Return with how many conversations a mean keeps to a limit or, if it `fails`, does not with a p of at most alpha."""
    side, miss = (at_least, alpha) if fails else (not at_least, _MISS)
    return betting.enough(means[0], reach, limit, at_least=side, alpha=miss, weights=means[1])


def _by_conversation(table: RatingTable, metric: Metric, worth: Floats) -> tuple[Floats, Floats]:
    """Return the mean worth of each conversation, and of how many items."""
    cluster, valued = table.cluster[metric.items(table).first], np.isfinite(worth)
    items = np.bincount(cluster[valued]).astype(np.float64)
    total = np.bincount(cluster[valued], worth[valued])
    return total[items > 0] / items[items > 0], items[items > 0]


def _p(bound: BoundText, score: Score) -> float:
    if score.void or score.value is None or score.low is None or score.high is None:
        return 1.0
    kindest = {"high": min, "low": max}[bound.side]
    ends = [end for end in (score.value, score.worst, score.best) if end is not None]
    value = kindest(ends)
    if score.unit == "share":
        # As many observations as its interval is worth: fewer than conversations, where these or their weights differ.
        n = min(proportion.observations(score.value, score.low if bound.side == "high" else score.high), score.clusters)
        if bound.side == "high":
            return noninferiority.above(min(value * n, n), n, bound.limit)
        return noninferiority.above(max(n - value * n, 0.0), n, 1 - bound.limit)
    reach = score.value - score.low if bound.side == "high" else score.high - score.value
    distance = value - bound.limit if bound.side == "high" else bound.limit - value
    return float(special.ndtr(-_NORMAL * distance / reach)) if reach > 0 else float(distance <= 0)


def finding(bound: BoundText, tested: BoundTest, adjusted: float, level: float, *, others: int = 0) -> RuleFinding:
    """Say what a bound comes to for one score.

    Args:
        bound: that it must keep to.
        tested: the score.
        adjusted: its p, adjusted for all rules.
        level: of false alarms, which the p is held against.
        others: how many other scores have not failed, with which Holm shares the level.
    """
    alpha = level / (1 + others)
    score = tested.score
    word, beyond = ("at most", "above") if bound.side == "high" else ("at least", "below")
    edge = score.high if bound.side == "high" else score.low
    figure = bounded(score.value, score.low, score.high, score.unit)
    limit = write(bound.limit, score.unit)
    needed = None
    if score.void:
        outcome, sentence = GateOutcome.CANNOT_TELL, f"there is no score: {score.void}"
    elif score.value is None or edge is None:
        outcome, sentence = (
            GateOutcome.CANNOT_TELL,
            f"there is no interval ({score.note or 'the metric is not defined on these answers'})",
        )
    elif bound.holds(edge):
        outcome, sentence = GateOutcome.PASSED, f"{figure} keeps to the limit of {word} {limit}"
    elif adjusted <= level:
        outcome = GateOutcome.FAILED
        sentence = f"{figure} is {beyond} the limit of {limit} ({p_equals(adjusted)} over all bounds)"
    else:
        outcome = GateOutcome.CANNOT_TELL
        needed = tested.needed(alpha) if tested.needed is not None else _needed(bound, score, edge, alpha)
        sentence = f"{figure} does not yet keep to the limit of {word} {limit}; {takes(needed, score.clusters)}"
    if score.missing and not score.void:
        sentence += f"; {count(score.missing)} of {count(score.n)} are missing and may be anything"
    return RuleFinding(
        outcome=outcome, sentence=f"{_who(score)}: {sentence}", benchmark=score.benchmark, criterion=score.criterion,
        slice=score.slice, rater=score.rater, model=score.model, title=score.title or score.name, unit=score.unit,
        value=score.value, low=score.low, high=score.high, p=adjusted, n=score.n, conversations=score.clusters,
        missing=score.missing, needed=needed if needed is not None and needed > score.clusters else None,
    )  # fmt: skip


def behind(side: GateSide, result: RuleFinding, metric: str) -> list[RatedReply]:
    """Return the replies behind a share that is not as it must be: those that count on its bad side."""
    replies = []
    for counted, block, table in metric_ratings(side, result, metric):
        if counted.item_score is None or not counted.exact or counted.fold:
            continue
        bad = counted.items(table).first[counted.worth(table) == (1.0 if counted.better == "lower" else 0.0)]
        replies += rated_replies(block.rows[bad.tolist()])
    return replies


def metric_ratings(
    side: GateSide, about: Score | RuleFinding, metric: str
) -> Iterator[tuple[Metric, SystemBlock, RatingTable]]:
    """Yield the metric of a score or a finding, with the ratings that it is of."""
    for part in side.parts:
        if part.benchmark.name != about.benchmark:
            continue
        names = {"criterion": about.criterion, "rater": about.rater, "model": about.model}
        for block in measured.blocks(part, about.slice, **names):
            question = scoring_views.find(block.benchmark, block.criterion, block.kind)
            counted = next((m for m in question.metrics if m.name == metric), None) if question is not None else None
            if question is not None and counted is not None:
                yield counted, block, RatingPart.of(block.rows).table(question.criterion, block.benchmark.metric_tags)


def takes(needed: int | None, conversations: int) -> str:
    """Say how many conversations it takes to tell."""
    if needed is None:
        return "no number of conversations would tell, if the value stays"
    if needed <= conversations:
        return f"more conversations may tell; there are {count(conversations)}"
    return f"about {plural(needed, 'conversation')} would tell, if the value stays; there are {count(conversations)}"


def _needed(bound: BoundText, score: Score, edge: float, alpha: float) -> int | None:
    value = score.value if score.value is not None else edge
    holds, opposite = bound.holds(value), score.low if bound.side == "high" else score.high
    near = edge if opposite is None else opposite
    if score.unit == "share":
        likely = (score.worst if holds else score.best) if score.missing else value
        likely = value if likely is None else likely
        if holds is not bound.holds(likely):
            return None  # it takes the verdicts that are missing, not more conversations
        needed = noninferiority.enough_for_share(likely, bound.limit, 0.95 if holds else 1 - 2 * alpha)
        worth = min(proportion.observations(likely if holds else value, edge if holds else near), score.clusters)
        return needed and math.ceil(needed * score.clusters / worth)
    if holds:
        return noninferiority.enough(value, edge, bound.limit, score.clusters)
    reach = (value - near) * -float(special.ndtri(alpha)) / _NORMAL
    return noninferiority.enough(value, value - reach, bound.limit, score.clusters)


def _who(score: Score) -> str:
    """Name what a value is of."""
    rated = "" if score.rater in {"", score.model} else f", rated by {score.rater}"
    return f"{score.title or score.name} of {score.model}{rated}"


# -- no reply at a level ----------------------------------------------------------------------------------------------


def at_levels(rule: Must, side: GateSide, benchmarks: Sequence[Benchmark]) -> list[RuleFinding]:
    """Say whether any reply stands at a level that none may have; one rating there is enough.

    Raises:
        UsageError: the run has no such criterion or level; the message names those there are.
    """
    members = {b.name: b for b in of_scope(rule, benchmarks)}
    refuse_unknown_criterion(rule, list(members.values()))
    named_criteria = [c for b in members.values() for name, c in frame.criteria(b).items() if name == rule.criterion]
    measured.refuse_unknown_levels(rule.title, rule.levels, named_criteria)
    blocks = [
        block
        for part in side.parts
        if part.benchmark.name in members
        for block in measured.blocks(part, rule.slice, criterion=rule.criterion, rater=rule.rater, model=rule.model)
    ]
    return [_at_levels(rule, block) for block in blocks]


def _at_levels(rule: Must, block: SystemBlock) -> RuleFinding:
    unwanted = measured.levels_among(frame.criteria(block.benchmark)[block.criterion], rule.levels)
    rows = block.rows
    breaking = rows.filter(rows["value"].is_in(list(unwanted)))
    missing = rows.filter(rows["value"].is_null())
    n, conversations = rows["subject"].n_unique(), rows["cluster"].n_unique()
    at = f"{block.criterion} {' or '.join(sorted(unwanted))}"
    replies = rated_replies(breaking)
    who = f"{block.model}, rated by {block.rater}" if block.rater != block.model else block.model
    if replies:
        outcome = GateOutcome.FAILED
        sentence = f"{plural(breaking['subject'].n_unique(), 'reply', 'replies')} of {count(n)} at {at}"
    elif missing.height:
        outcome = GateOutcome.CANNOT_TELL
        sentence = f"none of {count(n)} at {at}, but {plural(missing.height, 'verdict')} could not be read and might be"
    else:
        outcome = GateOutcome.PASSED
        high = proportion.clopper_pearson(0, conversations).high
        sentence = f"none of {count(n)} at {at} (with 95 % confidence at most {percent(high, 1)} of conversations)"
    return RuleFinding(
        outcome=outcome, sentence=f"{who}: {sentence}", benchmark=block.benchmark.name, criterion=block.criterion,
        slice=rule.slice, rater=block.rater, model=block.model, title=f"replies at {at}", unit="share",
        value=breaking["subject"].n_unique() / n if n else None, n=n, conversations=conversations, missing=missing.height, replies=replies,
    )  # fmt: skip


def rated_replies(rows: pl.DataFrame) -> list[RatedReply]:
    """Return the replies that some ratings are of."""
    columns = ("sample", "subject", "model", "criterion", "rater", "value", "reply_run")
    ordered = rows.select(columns).unique(maintain_order=True).sort("sample", "subject", maintain_order=True)
    return [
        RatedReply(sample, reply, model, criterion, rater, level, run or 0)
        for sample, reply, model, criterion, rater, level, run in ordered.iter_rows()
    ]
