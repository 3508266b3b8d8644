"""Rules on the build beside a baseline: no metric is worse by a margin, and no single message is newly unsafe."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import frame, scoring_views
from mindgauge.analysis.gate import measured
from mindgauge.analysis.gate.build_rules import of_scope, rated_replies, takes
from mindgauge.analysis.gate.outcome import GateOutcome, RatedReply, RuleFinding
from mindgauge.analysis.pairing import PairedScores, pair, pair_waits
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import Kind, bounded, count, decimal, p_equals, plural, write
from mindgauge.records.rubric.criterion import worst_levels
from mindgauge.stats import betting, noninferiority
from mindgauge.stats.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.compare import SystemRatings
    from mindgauge.analysis.gate.measured import GateSide, SystemBlock
    from mindgauge.analysis.gate.policy import Compare, NewlyUnsafe, PolicyRule
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import Metric

    Floats = NDArray[np.float64]

_BUILD, _BASELINE = 0, 1
LISTED = 200
"""Replies that stand behind a rule at most."""


class Pairing(NamedTuple):
    """One system of the build beside one of the baseline, on one criterion and slice, by one rater; or why they are not compared."""

    build: SystemBlock
    baseline: SystemBlock | None
    reason: str = ""


class PairedMetric(NamedTuple):
    """A metric of two systems, conversation by conversation.

    `worsening` is by how much the build is worse where both have values, `feared` and `hoped` the same with missing
    verdicts taken against the build and for it; `conversation` names the rows of the latter two.
    """

    rule: Compare
    pairing: Pairing
    metric: Metric
    scores: PairedScores
    worsening: Floats
    feared: Floats
    hoped: Floats
    conversation: list[str]


def pairings(rule: PolicyRule, build: GateSide, baseline: GateSide, benchmarks: Sequence[Benchmark]) -> list[Pairing]:
    """Put the build's ratings of a rule beside the baseline's.

    Raises:
        UsageError: the baseline has other benchmarks, or systems that cannot be told which is which.
    """
    if not set(build.benchmarks) & set(baseline.benchmarks):
        has = f"{named(baseline.benchmarks, limit=9)}, not" if baseline.benchmarks else "nothing of"
        raise UsageError(f"{baseline.name} is of another data set: it has {has} {named(build.benchmarks, limit=9)}")
    result = []
    for benchmark in of_scope(rule, benchmarks):
        models, others = build.models(benchmark.name), baseline.models(benchmark.name)
        messages = _samples(build, benchmark.name)
        if messages and benchmark.name in baseline.benchmarks and not messages & _samples(baseline, benchmark.name):
            raise UsageError(f"{baseline.name} is of another data set: of {benchmark.name} it has none of the messages that {build.name} has")  # fmt: skip
        own = _blocks(build, rule, benchmark.name)
        for part, block in own:
            other = measured.counterpart(block.model, models, others)
            if others and not other:
                raise UsageError(
                    f"{block.model} has no counterpart in {baseline.name}, which has {named(others, limit=9)}: name the same systems in both, or one in each"
                )
            result.append(_paired(block, other, part.rows, baseline, rule, closed=benchmark.closed))
        rated = {block.criterion for _, block in own}
        result += [
            Pairing(block, None, f"{block.criterion} was rated in {baseline.name}, and is not here")
            for _, block in _blocks(baseline, rule, benchmark.name)
            if own and block.criterion not in rated and block.criterion in frame.criteria(benchmark)
        ]
    return result


def _samples(side: GateSide, benchmark: str) -> set[str]:
    return {
        sample for part in side.parts if part.benchmark.name == benchmark for sample in part.rows["sample"].unique()
    }


def _blocks(side: GateSide, rule: PolicyRule, benchmark: str) -> list[tuple[SystemRatings, SystemBlock]]:
    """Return what a rule is about on one side, each block with the part that it is of."""
    return [
        (part, block)
        for part in side.parts
        if part.benchmark.name == benchmark
        for block in measured.blocks(part, rule.slice, criterion=rule.criterion, rater=rule.rater, model=rule.model)
    ]


def _paired(
    block: SystemBlock, other: str, own_rows: pl.DataFrame, baseline: GateSide, rule: PolicyRule, *, closed: bool
) -> Pairing:
    unit = own_rows["unit"].first()
    candidates = [
        candidate
        for part in baseline.parts
        if part.benchmark.name == block.benchmark.name and part.rows["unit"].first() == unit
        for candidate in measured.blocks(part, rule.slice, criterion=block.criterion, model=other)
    ]
    raters = sorted({candidate.rater for candidate in candidates})
    same = [c for c in candidates if closed or (c.rater, c.kind) == (block.rater, block.kind)]
    if not same:
        reason = f"{block.rater} rated {block.criterion} here, {named(raters, limit=9) or 'nobody'} in {baseline.name}: not the same instrument"
        return Pairing(block, None, reason)
    instruments = block.instruments, same[0].instruments
    if instruments[0] != instruments[1]:
        texts = [named(sorted(names), limit=9) or "none" for names in instruments]
        return Pairing(
            block, None, f"two instruments: {texts[0]} here, {texts[1]} in {baseline.name}; rate the baseline anew"
        )
    return Pairing(block, same[0])


def unweighted(pairing: Pairing) -> Pairing:
    """Return a pairing as it is, or why its means are not compared: replies that were drawn have to be weighed."""
    sides = [side for side in (pairing.build, pairing.baseline) if side is not None]
    if all(side.rows["selection"].is_null().all() for side in sides):
        return pairing
    reason = "replies were drawn with known probabilities, which bounds weigh and comparisons do not: compare runs on all of them"
    return Pairing(pairing.build, None, reason)


def comparable(metric: Metric) -> bool:
    """Say whether a metric can be compared conversation by conversation: a mean of what has a better side, or of waits."""
    return bool(metric.better) and (metric.item_score is not None or metric.waits is not None)


def compared(rule: Compare, pairing: Pairing) -> PairedMetric | None:
    """Compare two systems by a metric; None where the metric says nothing of the criterion, or they share no message.

    Raises:
        UsageError: the metric cannot be compared conversation by conversation, or the margin is as wide as its scale.
    """
    block = pairing.build
    question = scoring_views.find(block.benchmark, block.criterion, block.kind)
    metric = next((m for m in question.metrics if m.name == rule.metric), None) if question is not None else None
    if metric is None or question is None or pairing.baseline is None:
        return None
    if not comparable(metric):
        able = sorted({m.name for m in question.metrics if comparable(m)})
        raise UsageError(
            f"{rule.title}: {rule.metric} is no mean with a better side, so single conversations cannot be compared by it; {', '.join(able)} can"
        )
    sides = [block.rows.with_columns(system=_BUILD), pairing.baseline.rows.with_columns(system=_BASELINE)]
    rows = pl.concat(sides, how="diagonal_relaxed")
    table = RatingPart.of(rows).table(question.criterion, block.benchmark.metric_tags)
    sample = rows["sample"].rank("dense").to_numpy().astype(np.intp) - 1
    system = rows["system"].to_numpy().astype(np.intp)
    scores = pair(metric, table, system, sample) if metric.waits is None else pair_waits(metric, table, system)
    if scores is None or not len(scores.value):
        return None
    if scores.ends is not None and rule.margin >= scores.ends[1] - scores.ends[0]:
        raise UsageError(
            f"{rule.title}: nothing can be worse by {rule.margin:g}, for {rule.metric} lies between {scores.ends[0]:g} and {scores.ends[1]:g}"
        )
    sign = -1.0 if metric.better == "higher" else 1.0
    best, worst = (scores.highest, scores.lowest) if metric.better == "higher" else (scores.lowest, scores.highest)
    difference, *_ = scores.gaps(_BUILD, _BASELINE)
    clusters = rows["cluster"].unique().sort().to_list()
    return PairedMetric(
        rule, pairing, metric, scores, sign * difference[np.isfinite(difference)],
        sign * (worst[:, _BUILD] - best[:, _BASELINE]), sign * (best[:, _BUILD] - worst[:, _BASELINE]),
        [f"{block.benchmark.name}/{clusters[place]}" for place in scores.conversation],
    )  # fmt: skip


def adjusted(comparisons: Sequence[PairedMetric], seed: int = 0) -> Floats:
    """Return the p-value that the build is not worse, for each comparison, adjusted for all of them together."""
    names = sorted({name for comparison in comparisons for name in comparison.conversation})
    places = {name: place for place, name in enumerate(names)}
    worsening = np.zeros((len(names), len(comparisons)))
    for column, comparison in enumerate(comparisons):
        worsening[[places[name] for name in comparison.conversation], column] = comparison.hoped
    return noninferiority.adjusted(worsening, seed=seed)


def intervals(comparison: PairedMetric, *, resamples: int = 2000, seed: int = 0) -> tuple[Interval, Interval]:
    """Return by how much the build is worse where both have values, and with missing verdicts taken against it.

    Args:
        comparison: of one system, by one rater.
        resamples: of conversations.
        seed: of their generator.
    """
    reach = width(comparison)

    def bound(worsening: Floats) -> Interval:
        return noninferiority.interval(worsening, reach, exact=comparison.metric.exact, resamples=resamples, seed=seed)

    observed = bound(comparison.worsening) if len(comparison.worsening) else Interval(None)
    return observed, observed if np.array_equal(comparison.feared, comparison.worsening) else bound(comparison.feared)


def width(comparison: PairedMetric) -> float:
    """Return by how much a conversation can be worse."""
    ends = comparison.scores.ends
    return ends[1] - ends[0] if ends else 1.0


def finding(
    comparison: PairedMetric,
    p: float,
    level: float,
    *,
    tests: int = 1,
    nights: int = 0,
    resamples: int = 2000,
    seed: int = 0,
) -> RuleFinding:
    """Say what a comparison comes to.

    It passes where the build is surely not worse by the margin, missing verdicts taken against it. It fails where the
    build is surely worse, missing verdicts taken for it, and by no less than the margin.

    Args:
        comparison: of one system, by one rater.
        p: that the build is not worse, adjusted for all comparisons.
        level: of false alarms, which p is held against.
        tests: how many comparisons share the level.
        nights: of a series, of all of which p speaks; 0 where a gate is alone.
        resamples: of conversations.
        seed: of their generator.
    """
    rule, block, metric = comparison.rule, comparison.pairing.build, comparison.metric
    observed, feared = intervals(comparison, resamples=resamples, seed=seed)
    hoped = float(comparison.hoped.mean())
    conversations = len(comparison.feared)
    n = int(comparison.scores.replies[_BUILD])
    missing = [int(number) for number in comparison.scores.missing]
    before, after = (_mean(comparison.scores.value[:, side]) for side in (_BASELINE, _BUILD))
    unit = metric.unit
    sign = -1.0 if metric.better == "higher" else 1.0
    difference = None if observed.value is None else sign * observed.value
    low, high = (
        sorted((sign * observed.low, sign * observed.high))
        if observed.low is not None and observed.high is not None
        else (None, None)
    )
    needed = None
    margin = write(rule.margin, "points" if unit == "share" else unit)
    test = (
        f"{plural(nights, 'night')} and all comparisons together"
        if nights
        else "conversations' signs flipped, all comparisons together"
    )
    change = f"{write(before, unit)} → {write(after, unit)}, {_signed(difference, low, high, unit)}"
    if feared.high is not None and feared.high < rule.margin:
        outcome, sentence = GateOutcome.PASSED, f"{change}: not worse by {margin}"
    elif p <= level and hoped >= rule.margin and hoped > 0:
        outcome = GateOutcome.FAILED
        sentence = (
            f"{change}: worse more surely than chance ({test}: "
            f"{p_equals(p)}, at most {decimal(level, 3)}), and by {margin} or more as measured"
        )
    else:
        outcome = GateOutcome.CANNOT_TELL
        needed = _needed(comparison, feared, level / tests, nights)
        sentence = f"{change}: it may be worse by {margin}, or not; {takes(needed, conversations)}"
    if any(missing):
        sentence += f"; {plural(missing[_BUILD], 'verdict')} {'is' if missing[_BUILD] == 1 else 'are'} missing here, {count(missing[_BASELINE])} in the baseline"
    replies = _worse_replies(comparison) if outcome is not GateOutcome.PASSED else []
    return RuleFinding(
        outcome=outcome, sentence=f"{_who(block)}: {sentence}", benchmark=block.benchmark.name, criterion=block.criterion,
        slice=rule.slice, rater=block.rater, model=block.model, title=metric.titled(block.criterion, own_answers=block.rater == block.model),
        unit=unit, before=before, value=after, difference=difference, low=low, high=high, p=p, n=n,
        conversations=conversations, missing=sum(missing),
        needed=needed if needed is not None and needed > conversations else None, replies=replies,
    )  # fmt: skip


def _signed(difference: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Write a difference with its interval; of shares, in percentage points."""
    kind: Kind = "points" if unit == "share" else "level"
    return bounded(difference, low, high, kind, signed=True)


def _needed(comparison: PairedMetric, feared: Interval, level: float, nights: int) -> int | None:
    """Return with how many conversations the interval would end before the margin, or the build be worse by its test."""
    margin, conversations, reach = comparison.rule.margin, len(comparison.feared), width(comparison)
    hoped = float(comparison.hoped.mean())
    if feared.value is None or feared.high is None:
        return None
    if feared.value < margin and comparison.metric.exact:
        return noninferiority.enough_for_difference(comparison.feared, margin)
    if feared.value < margin and not noninferiority.bounded(comparison.feared, reach):
        return noninferiority.enough(feared.value, feared.high, margin, conversations)
    if feared.value < margin:
        return betting.enough(comparison.feared, (-reach, reach), margin, at_least=True)
    if hoped <= 0 or hoped < margin or (nights and not noninferiority.bounded(comparison.hoped, reach)):
        needed = None
    elif nights:
        alpha = level * noninferiority.part(nights) / 2
        needed = betting.enough(comparison.hoped, (-reach, reach), 0.0, at_least=False, alpha=alpha)
    else:
        needed = noninferiority.enough_for_flips(comparison.hoped, level)
    return needed


def _mean(values: Floats) -> float | None:
    valued = values[np.isfinite(values)]
    return float(valued.mean()) if len(valued) else None


def _who(block: SystemBlock) -> str:
    return f"{block.model}, {block.criterion} rated by {block.rater}" if block.rater != block.model else block.model


def _worse_replies(comparison: PairedMetric) -> list[RatedReply]:
    """Return the build's replies in the conversations that got worse, those that did most first."""
    prefix = len(comparison.pairing.build.benchmark.name) + 1
    worsened = zip(comparison.feared, comparison.conversation, strict=True)
    ranked = sorted(((change, name[prefix:]) for change, name in worsened if change > 0), reverse=True)[:LISTED]
    place = {name: number for number, (_, name) in enumerate(ranked)}
    rows = comparison.pairing.build.rows.filter(pl.col("cluster").is_in(list(place)))
    clusters = dict(rows.select("sample", "cluster").iter_rows())
    return sorted(rated_replies(rows), key=lambda reply: place[clusters[reply.sample]])[:LISTED]


# -- single messages --------------------------------------------------------------------------------------------------


def unsafe_levels(rule: NewlyUnsafe, block: SystemBlock) -> set[str]:
    """Return the levels that no message may newly be at: those of a rule, or else of the rubric; none of what it does not have."""
    criterion = frame.criteria(block.benchmark).get(block.criterion)
    return measured.levels_among(criterion, rule.levels or worst_levels(criterion)) if criterion is not None else set()


def broken(rule: NewlyUnsafe, pairing: Pairing) -> RuleFinding | None:
    """Say whether a message that was answered safely each time is answered unsafely each time now.

    None where the criterion has no levels that are unsafe.
    """
    block = pairing.build
    unsafe = unsafe_levels(rule, block)
    if not unsafe or pairing.baseline is None:
        return None
    build, baseline = (_by_message(side.rows, unsafe) for side in (block, pairing.baseline))
    both = build.join(baseline, on="sample", suffix="_before")
    safe_before = both.filter((pl.col("unsafe_before") == 0) & (pl.col("open_before") == 0))
    breaks = safe_before.filter(pl.col("unsafe") == pl.col("repeats"))
    sure = breaks.filter((pl.col("repeats") >= rule.repeats) & (pl.col("repeats_before") >= rule.repeats))
    open_now = safe_before.filter((pl.col("open") > 0) & (pl.col("unsafe") + pl.col("open") == pl.col("repeats")))
    at = f"{block.criterion} {' or '.join(sorted(unsafe))}"
    n = plural(both.height, "message")
    listed = breaks
    if sure.height:
        listed = sure
        outcome, sentence = (
            GateOutcome.FAILED,
            f"{plural(sure.height, 'message')} of {count(both.height)}, safe each time in the baseline, at {at} each time now",
        )
    elif breaks.height:
        outcome = GateOutcome.CANNOT_TELL
        least = min(*both["repeats"].to_list(), *both["repeats_before"].to_list())
        sentence = f"{plural(breaks.height, 'message')} newly at {at}, but {plural(least, 'reply', 'replies')} to a message may be chance; {rule.repeats} would tell (--runs {rule.repeats}, here and in the baseline)"
    elif open_now.height:
        outcome = GateOutcome.CANNOT_TELL
        sentence = f"{plural(open_now.height, 'message')} of {count(both.height)} have no verdict that could be read, where all that is known would break them"
    elif not both.height:
        outcome, sentence = GateOutcome.CANNOT_TELL, "no message was answered on both sides"
    else:
        outcome, sentence = GateOutcome.PASSED, f"none of {n} that both answered is newly at {at}"
    samples = listed["sample"].to_list()
    worse = block.rows.filter(pl.col("sample").is_in(samples), pl.col("value").is_in(list(unsafe)))
    return RuleFinding(
        outcome=outcome, sentence=f"{_who(block)}: {sentence}", benchmark=block.benchmark.name, criterion=block.criterion,
        slice=rule.slice, rater=block.rater, model=block.model, title=f"messages newly at {at}", n=both.height,
        conversations=block.rows["cluster"].n_unique(), missing=int(build["open"].sum()), replies=rated_replies(worse)[:LISTED],
    )  # fmt: skip


def _by_message(rows: pl.DataFrame, levels: set[str]) -> pl.DataFrame:
    """Count the replies to each message, those most of whose verdicts are unsafe, and those without a verdict."""
    verdict = (
        pl.when(pl.col("value").is_null()).then(None).otherwise(pl.col("value").is_in(list(levels))).cast(pl.Float64)
    )
    by_reply = rows.group_by("sample", "subject").agg(unsafe=verdict.mean(), run=pl.col("reply_run").first())
    # On a closed question the subject is the message itself, and each of its repeats an answer.
    if (rows["subject"] == rows["sample"]).all():
        by_reply = rows.group_by("sample", "run").agg(unsafe=verdict.mean())
    return by_reply.group_by("sample").agg(
        repeats=pl.len(), unsafe=(pl.col("unsafe") > 0.5).sum(), open=pl.col("unsafe").is_null().sum()
    )
