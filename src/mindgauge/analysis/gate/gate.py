"""A policy held against a run, and against a baseline where it compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame, scoring_views, worst_level
from mindgauge.analysis.gate import build_rules, comparisons, measured, needs
from mindgauge.analysis.gate.outcome import GateDecision, GateOutcome, RuleFinding, RuleOutcome, gravest
from mindgauge.analysis.gate.policy import Must, NewlyUnsafe
from mindgauge.analysis.score import MAJORITY
from mindgauge.benchmarks.metrics import SHARES_OF_YES
from mindgauge.records.errors import UsageError
from mindgauge.records.rubric.criterion import worst_levels
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.analysis.gate.measured import GateSide, SystemBlock
    from mindgauge.analysis.gate.needs import GateEvidence
    from mindgauge.analysis.gate.policy import Compare, GatePolicy, PolicyRule
    from mindgauge.analysis.gate.series import NightSeries
    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Value

_DECIDED = {"stop": GateOutcome.CANNOT_TELL, "pass": GateOutcome.PASSED, "fail": GateOutcome.FAILED}
_NOTHING_SHOWS = "nothing shows that"
_OF_MEANS = (
    "intervals of means hold here even where few replies fall far, so they are wider than those of `mindgauge score`"
)


class Build(NamedTuple):
    """A run that is to be released: its ratings, its scores, its benchmarks, what else is known of it."""

    side: GateSide
    scores: Scores
    benchmarks: Sequence[Benchmark]
    evidence: GateEvidence


def hold(
    policy: GatePolicy,
    build: Build,
    baseline: GateSide | None,
    *,
    series: NightSeries | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> GateDecision:
    """Hold a policy against a build.

    Bounds and comparisons fail it together with the chance `false_alarms` at most where none is broken: each kind has a
    part of that by how many rules it has; bounds share theirs by Holm, comparisons by the distribution of the least p.

    Args:
        policy: of the team.
        build: the run.
        baseline: what it is compared with; None where the policy does not compare.
        series: the nights before, where false alarms are of all nights together.
        resamples: of conversations.
        seed: of their generator.

    Raises:
        UsageError: a rule asks for what no benchmark of the run has, or the baseline is of other data.
    """
    if policy.compares and baseline is None:
        raise UsageError("the policy compares: give --baseline RUN or a file that `mindgauge gate baseline` wrote")
    distrusted = needs.distrust(policy.needs, build.side, build.scores, build.evidence)
    bounds = [rule for rule in policy.must if rule.rule]
    tests = len(bounds) + len(policy.compare)
    levels = {
        kind: policy.false_alarms * n / max(tests, 1)
        for kind, n in (("must", len(bounds)), ("compare", len(policy.compare)))
    }
    for rule in policy.rules:
        build_rules.refuse_unknown_criterion(rule, build_rules.of_scope(rule, build.benchmarks))
    notes = build.side.notes
    needed = needs.findings(policy.needs, build.side, build.scores, build.evidence, distrusted)
    rules = [RuleOutcome("needs", "what the gate needs", needed)]
    rules += _bounds(bounds, build, levels["must"] * (series.share if series is not None else 1.0))
    rules += [
        RuleOutcome("must", rule.title, build_rules.at_levels(rule, build.side, build.benchmarks))
        for rule in policy.must
        if not rule.rule
    ]
    if baseline is not None:
        rules += _compared(policy.compare, build, baseline, levels["compare"], series, resamples, seed)
        rules += [RuleOutcome("items", rule.title, _broken(rule, build, baseline)) for rule in policy.items]
    asked = {rule.title: rule for rule in policy.rules}
    sides = [build.side, *([baseline] if baseline is not None else [])]
    given = {
        (part.benchmark.name, *place)
        for side in sides
        for part in side.parts
        for place in part.rows.select("criterion", "rater", "value").unique().iter_rows()
    }
    rules = [_without_worst(rule, asked.get(rule.title), build, given) for rule in rules]
    rules = [_doubted(_or_missing(rule, asked.get(rule.title), build), distrusted) for rule in rules]
    outcome = gravest(rule.outcome for rule in rules)
    decision = _DECIDED[policy.cannot_tell] if outcome is GateOutcome.CANNOT_TELL else outcome
    notes = [*notes, *(_shared(build.side, baseline) if baseline is not None else [])]
    notes += [
        f"{rule.title}: {reason.rpartition('; ')[2]}"
        for rule in rules
        for reason in rule.reasons
        if _NOTHING_SHOWS in reason
    ]
    if any(finding.unit == "level" and finding.high is not None for rule in rules for finding in rule.findings):
        notes.append(_OF_MEANS)
    if series is not None:
        notes.append(series.note(policy.false_alarms))
    return GateDecision(
        build.side.name,
        policy.path,
        baseline.name if baseline is not None else "",
        outcome,
        decision,
        rules,
        list(dict.fromkeys(notes)),
        0 if series is None else series.number,
    )


def _bounds(rules: Sequence[Must], build: Build, level: float) -> list[RuleOutcome]:
    tested = []
    for rule in rules:
        bound = rule.bound
        scores = build_rules.matching(rule, bound, build.scores.metrics, build.benchmarks)
        tested.append((rule, bound, build_rules.test(bound, scores, build.side)))
    p = holm(np.array([test.p for *_, tests in tested for test in tests], dtype=np.float64))
    adjusted, others = iter(p.tolist()), max(int((p > level).sum()) - 1, 0)
    return [
        RuleOutcome(
            "must",
            rule.title,
            [
                _with_replies(
                    build, build_rules.finding(bound, test, next(adjusted), level, others=others), test.score.name
                )
                for test in tests
            ],
        )
        for rule, bound, tests in tested
    ]


def _with_replies(build: Build, finding: RuleFinding, metric: str) -> RuleFinding:
    """Put the replies behind what is not met."""
    if finding.outcome is GateOutcome.PASSED:
        return finding
    return msgspec.structs.replace(finding, replies=build_rules.behind(build.side, finding, metric))


def _compared(
    rules: Sequence[Compare],
    build: Build,
    baseline: GateSide,
    level: float,
    series: NightSeries | None,
    resamples: int,
    seed: int,
) -> list[RuleOutcome]:
    findings: dict[str, list[RuleFinding]] = {rule.title: [] for rule in rules}
    pairs = []
    for rule in rules:
        _refuse_unknown(rule, build.benchmarks)
        pairings = comparisons.pairings(rule, build.side, baseline, build.benchmarks)
        for pairing in map(comparisons.unweighted, pairings):
            comparison = comparisons.compared(rule, pairing)
            if pairing.reason:
                if _asks(rule, pairing.build):
                    findings[rule.title].append(_not_compared(pairing))
            elif comparison is not None:
                pairs.append(comparison)
    adjusted = comparisons.adjusted(pairs, seed) if series is None else series.adjusted(pairs, level)
    nights = 0 if series is None else series.number
    for comparison, p in zip(pairs, adjusted.tolist(), strict=True):
        findings[comparison.rule.title].append(
            comparisons.finding(comparison, p, level, tests=len(pairs), nights=nights, resamples=resamples, seed=seed)
        )
    return [RuleOutcome("compare", title, title_findings) for title, title_findings in findings.items()]


def _refuse_unknown(rule: Compare, benchmarks: Sequence[Benchmark]) -> None:
    names = {m.name for b in build_rules.of_scope(rule, benchmarks) for m in (*b.metrics, *b.distribution)}
    if rule.metric not in names:
        raise UsageError(f"{rule.title}: there is no metric {rule.metric}; there are {', '.join(sorted(names))}")


def _asks(rule: Compare, block: SystemBlock) -> bool:
    """Whether the metric of a rule says something of what was rated."""
    question = scoring_views.find(block.benchmark, block.criterion, block.kind)
    return question is not None and any(metric.name == rule.metric for metric in question.metrics)


def _broken(rule: NewlyUnsafe, build: Build, baseline: GateSide) -> list[RuleFinding]:
    findings = []
    members = build_rules.of_scope(rule, build.benchmarks)
    named = [c for b in members for name, c in frame.criteria(b).items() if rule.criterion in {"", name}]
    measured.refuse_unknown_levels(rule.title, rule.levels, named)
    for pairing in comparisons.pairings(rule, build.side, baseline, build.benchmarks):
        if pairing.reason:
            if comparisons.unsafe_levels(rule, pairing.build):
                findings.append(_not_compared(pairing))
        elif (finding := comparisons.broken(rule, pairing)) is not None:
            findings.append(finding)
    return findings


def _not_compared(pairing: comparisons.Pairing) -> RuleFinding:
    block = pairing.build
    return RuleFinding(
        outcome=GateOutcome.CANNOT_TELL, sentence=f"{block.benchmark.name}: {pairing.reason}", benchmark=block.benchmark.name,
        criterion=block.criterion, rater=block.rater, model=block.model,
    )  # fmt: skip


def _or_missing(outcome: RuleOutcome, rule: PolicyRule | None, build: Build) -> RuleOutcome:
    """Let a rule fail of which the run holds nothing: what was not measured cannot be released.

    Where somebody was asked, and nothing that they said can be used, nobody can tell.
    """
    if outcome.findings or rule is None:
        return outcome
    asked = any(score.void and _about(rule, score) for score in build.scores.metrics)
    why = f" ({'; '.join(build.side.notes)})" if build.side.notes else ""
    lost = next((sentence for sentence, share in build.evidence.unfinished if share == 1), "")
    sentence = (
        f"nothing of it was measured: {lost}"
        if lost
        else f"the run, or the baseline, has nothing of it: a metric, slice or rater that is missing is no pass{why}"
    )
    verdict = GateOutcome.CANNOT_TELL if asked else GateOutcome.FAILED
    return RuleOutcome(outcome.kind, outcome.title, [RuleFinding(outcome=verdict, sentence=sentence)])


def _about(rule: PolicyRule, score: Score) -> bool:
    """Whether a rule may be about a score, whatever its slice."""
    named = ((rule.benchmark, score.benchmark), (rule.criterion, score.criterion), (rule.rater, score.rater), (rule.model, score.model))  # fmt: skip
    return all(wanted in {"", name} for wanted, name in named)


def _doubted(rule: RuleOutcome, distrusted: Mapping[tuple[str, str, str], str]) -> RuleOutcome:
    """Let nothing be told by a judge that is not trusted: it can neither pass a build nor fail one."""
    if rule.kind == "needs":
        return rule
    return RuleOutcome(rule.kind, rule.title, [_held(finding, distrusted) for finding in rule.findings])


def _held(finding: RuleFinding, distrusted: Mapping[tuple[str, str, str], str]) -> RuleFinding:
    reason = distrusted.get((finding.benchmark, finding.criterion, finding.rater.removesuffix(MAJORITY)), "")
    if not reason or finding.outcome is GateOutcome.CANNOT_TELL:
        return finding
    sentence = f"{finding.sentence}, but the judge is not trusted"
    return msgspec.structs.replace(finding, outcome=GateOutcome.CANNOT_TELL, sentence=sentence)


def _without_worst(
    rule: RuleOutcome, wanted: PolicyRule | None, build: Build, given: Collection[tuple[str, str, str, Value]]
) -> RuleOutcome:
    """Let nothing about the worst level alone pass by a judge that does not use that level: it could not fail.

    What such a judge did put there still fails a build. Where nothing shows whether a judge gives that level, and none of
    its verdicts (`given`: benchmark, criterion, rater and value) does, a rule that passes says so.
    """
    if wanted is None:
        return rule
    judges = {
        (part.benchmark.name, rater)
        for part in build.side.parts
        for rater in part.rows.filter(pl.col("rater_kind").is_in(list(needs.JUDGES)))["rater"].unique()
    }
    findings = [
        _unless_unused(finding, wanted, build, given)
        if (finding.benchmark, finding.rater.removesuffix(MAJORITY)) in judges
        else finding
        for finding in rule.findings
    ]
    return RuleOutcome(rule.kind, rule.title, findings)


def _unless_unused(
    finding: RuleFinding, wanted: PolicyRule, build: Build, given: Collection[tuple[str, str, str, Value]]
) -> RuleFinding:
    if finding.outcome is not GateOutcome.PASSED:
        return finding
    judge = finding.rater.removesuffix(MAJORITY)
    reason = build.evidence.unused.get((finding.benchmark, finding.criterion, judge), "")
    benchmark = next(b for b in build.benchmarks if b.name == finding.benchmark)
    criterion = frame.criteria(benchmark)[finding.criterion]
    worst = str(criterion.worst_first[0])
    if isinstance(wanted, NewlyUnsafe) or (isinstance(wanted, Must) and not wanted.rule):
        rests = measured.levels_among(criterion, wanted.levels or worst_levels(criterion)) == {worst}
    else:
        name = wanted.bound.metric if isinstance(wanted, Must) else wanted.metric
        rests = bool({name} & worst_level.metrics(benchmark, criterion.name)) or name in {
            criterion.name,
            *SHARES_OF_YES,
        }
    if not rests:
        return finding
    if not reason:
        parts = benchmark.composites[criterion.name].of if criterion.name in benchmark.composites else ()
        known = any((benchmark.name, name, judge) in build.evidence.looked_at for name in (criterion.name, *parts))
        if known or (benchmark.name, criterion.name, judge, worst) in given:
            return finding
        sentence = f"{finding.sentence}; {_NOTHING_SHOWS} {judge} ever gives level {worst}"
        return msgspec.structs.replace(finding, sentence=sentence)
    other = worst_level.instead(benchmark, criterion.name)
    sentence = (
        f"{finding.sentence}, but {judge} does not use {criterion.name} {worst} as people do: {reason}; "
        f"let people rate these replies{f', or set a limit on {other}' if other else ''}"
    )
    return msgspec.structs.replace(finding, outcome=GateOutcome.CANNOT_TELL, sentence=sentence)


def _shared(build: GateSide, baseline: GateSide) -> list[str]:
    """Say how many messages both sides have, where one has more."""
    notes = []
    for name in build.benchmarks:
        own, other = (
            {sample for part in side.parts if part.benchmark.name == name for sample in part.rows["sample"].unique()}
            for side in (build, baseline)
        )
        if other and own != other:
            notes.append(
                f"{name}: {len(own):,} messages here, {len(other):,} in the baseline; only the {len(own & other):,} of both are compared"
            )
    return notes
