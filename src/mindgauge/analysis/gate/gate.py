"""A policy held against a run, and against a baseline where it compares; and a draft of a policy that a run keeps."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import frame, scoring_views
from mindgauge.analysis.gate import build_rules, comparisons, measured
from mindgauge.analysis.gate.outcome import GateDecision, GateOutcome, RuleFinding, RuleOutcome, gravest
from mindgauge.analysis.gate.policy import Compare, GateNeeds, Must, NewlyUnsafe
from mindgauge.analysis.score import MAJORITY
from mindgauge.benchmarks.metrics import SHARES_OF_YES
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import bounded
from mindgauge.records.rubric.criterion import worst_levels
from mindgauge.records.text import visible
from mindgauge.stats.significance import holm

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mindgauge.analysis.gate.baseline import NightSeries
    from mindgauge.analysis.gate.measured import Build, GateSide, SystemBlock
    from mindgauge.analysis.gate.policy import GatePolicy, PolicyRule
    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Value

_DECIDED = {"stop": GateOutcome.CANNOT_TELL, "pass": GateOutcome.PASSED, "fail": GateOutcome.FAILED}
_NOTHING_SHOWS = "nothing shows that"
_OF_MEANS = (
    "intervals of means hold here even where few replies fall far, so they are wider than those of `mindgauge score`"
)


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
    distrusted = measured.distrust(policy.needs, build)
    bounds = [rule for rule in policy.must if rule.rule]
    tests = len(bounds) + len(policy.compare)
    levels = {
        kind: policy.false_alarms * n / max(tests, 1)
        for kind, n in (("must", len(bounds)), ("compare", len(policy.compare)))
    }
    for rule in policy.rules:
        build_rules.refuse_unknown_criterion(rule, build_rules.of_scope(rule, build.benchmarks))
    notes = build.side.notes
    needed = measured.findings(policy.needs, build, distrusted)
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
    lost = next((sentence for sentence, share in build.unfinished if share == 1), "")
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
        for rater in part.rows.filter(pl.col("rater_kind").is_in(list(measured.JUDGES)))["rater"].unique()
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
    reason = build.unused.get((finding.benchmark, finding.criterion, judge), "")
    benchmark = next(b for b in build.benchmarks if b.name == finding.benchmark)
    criterion = frame.criteria(benchmark)[finding.criterion]
    worst = str(criterion.worst_first[0])
    if isinstance(wanted, NewlyUnsafe) or (isinstance(wanted, Must) and not wanted.rule):
        rests = measured.levels_among(criterion, wanted.levels or worst_levels(criterion)) == {worst}
    else:
        name = wanted.bound.metric if isinstance(wanted, Must) else wanted.metric
        rests = bool({name} & scoring_views.worst_level_metrics(benchmark, criterion.name)) or name in {
            criterion.name,
            *SHARES_OF_YES,
        }
    if not rests:
        return finding
    if not reason:
        parts = benchmark.composites[criterion.name].of if criterion.name in benchmark.composites else ()
        known = any((benchmark.name, name, judge) in build.looked_at for name in (criterion.name, *parts))
        if known or (benchmark.name, criterion.name, judge, worst) in given:
            return finding
        sentence = f"{finding.sentence}; {_NOTHING_SHOWS} {judge} ever gives level {worst}"
        return msgspec.structs.replace(finding, sentence=sentence)
    other = scoring_views.instead(benchmark, criterion.name)
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


_HEAD = """\
# What a build must hold: mindgauge gate RUN --policy FILE (docs/tasks/gate.md)
# The limits are what {run} holds, rounded up. They are a beginning: set each to what you can answer for.

false_alarms = 0.02   # the chance that bounds and comparisons fail a build of which none is broken
cannot_tell = "stop"  # what becomes of a build of which the gate cannot tell: "stop" (exit code 3), "fail" or "pass"
baseline = {baseline}  # what is compared with, as seen from this file: a run, or a file of `mindgauge gate baseline`
"""
_STEP = 0.05
"""Limits are rounded to whole steps of that."""
TRUSTED_BY = (
    "what lets a judge be trusted: an entry test that it passes (--qualify takes every reply of known level); or people who "
    "rate 30 replies of 10 conversations or more beside it (mindgauge annotate new DIR --items RUN), 50 to be safe; or "
    'judge = "any" in the policy, which takes it at its word'
)
"""What is to be done where a judge is not trusted; the numbers are those of the cards' rule."""
_MARGINS = {"share": 0.05, "level": 0.2, "turns": 0.5}
"""Differences that matter in practice: of shares, of levels from 1 to 5, and of turns that are waited."""


def drafted(build: Build, baseline: str) -> tuple[str, list[str]]:
    """Write a policy to begin with, as TOML with comments: limits that a run keeps; and what of its needs the run does not meet.

    Args:
        build: the run.
        baseline: where that is which builds are compared with, as seen from the policy's folder.
    """
    distrusted = measured.distrust(GateNeeds(), build)
    findings = measured.findings(GateNeeds(), build, distrusted)
    unmet = [finding.sentence for finding in findings if finding.outcome is not GateOutcome.PASSED]
    unmet += [TRUSTED_BY] if distrusted else []
    sections = [_HEAD.format(run=_comment(build.side.name), baseline=_text(baseline)), *_needs(build, unmet)]
    leading = [
        score
        for score in build.scores.leading
        if score.slice == "all" and score.value is not None and not score.void and not _unused(score, build)
    ]
    for benchmark in build.benchmarks:
        own = [score for score in leading if score.benchmark == benchmark.name]
        sections += [
            *_drafted_bounds(own),
            *_levels(benchmark, build),
            *_comparisons(benchmark, build, own),
            *_items(benchmark, build),
        ]
    return "\n".join(sections), unmet


def _unused(score: Score, build: Build) -> bool:
    """Whether a score is about a worst level alone that its judge does not use."""
    benchmark = next(b for b in build.benchmarks if b.name == score.benchmark)
    is_unused = (score.benchmark, score.criterion, score.rater) in build.unused
    return is_unused and score.name in scoring_views.worst_level_metrics(benchmark, score.criterion)


def _needs(build: Build, unmet: Sequence[str]) -> Iterator[str]:
    instruments = sorted({name for part in build.side.parts for name in part.rows["instrument"].drop_nulls().unique()})
    # Ratings that people brought from elsewhere may name none: nothing can be held to that.
    pins = (
        f"instruments = {_list(instruments)}"
        if all(instruments)
        else "# instruments are not pinned: some ratings do not say by which they were made"
    )
    lines = [
        "[needs]",
        "missing = 0.05        # the share of verdicts that may be missing",
        'judge = "tested"      # its card good or moderate or, where no people rated beside it, its entry test passed',
        pins,
        f"samples = {_list([*dict.fromkeys(build.samples)])}",
    ]
    if unmet:
        lines += [
            "# This run does not meet that yet, so the gate cannot tell:",
            *(f"# - {_comment(line)}" for line in unmet),
        ]
    yield "\n".join(lines) + "\n"


def _drafted_bounds(scores: Sequence[Score]) -> Iterator[str]:
    for score in dict.fromkeys((s.benchmark, s.name, s.criterion) for s in scores if s.unit == "share" and s.better):
        rated = [s for s in scores if (s.benchmark, s.name, s.criterion) == score]
        edges = [s.high if s.better == "lower" else s.low for s in rated]
        bounds = [edge for edge in edges if edge is not None]
        if not bounds:
            continue
        lower = rated[0].better == "lower"
        limit = round(_rounded(max(bounds)) if lower else -_rounded(-min(bounds)), 2)
        side = f"high <= {limit}" if lower else f"low >= {limit}"
        figures = "; ".join(f"{s.model}: {bounded(s.value, s.low, s.high, s.unit)}" for s in rated)
        if limit >= 1 if lower else limit <= 0:
            yield f"# {score[1]} of {_comment(score[2])} has no limit yet, for its interval reaches to the end: {_comment(figures)}\n"
            continue
        yield f"[[must]]  # {_comment(figures)}\nrule = {_text(f'{score[1]}.{side}')}\n{_place(score[0], score[2])}"


def _rounded(edge: float) -> float:
    return math.ceil(round(edge / _STEP, 9)) * _STEP


def _levels(benchmark: Benchmark, build: Build) -> Iterator[str]:
    """Ask that no reply stands at the worst level, where none does."""
    for criterion in () if benchmark.closed else benchmark.rubric.criteria:
        worst = worst_levels(criterion)[:1]
        rows = [
            b.rows
            for p in build.side.parts
            if p.benchmark.name == benchmark.name
            for b in measured.blocks(p, "all", criterion=criterion.name)
        ]
        if not worst or not rows:
            continue
        judges = {rater for place, name, rater in build.unused if (place, name) == (benchmark.name, criterion.name)}
        if judges:
            yield f"# No limit on {_comment(f'{criterion.name} {worst[0]}: {named(sorted(judges))}')} does not use that level as people do.\n"
            continue
        values = {value for block in rows for value in block["value"].drop_nulls().unique()}
        rule = f"[[must]]\nno_reply_at = {_text(worst[0]) if isinstance(worst[0], str) else worst[0]}\n{_place(benchmark.name, criterion.name)}"
        if str(worst[0]) not in values:
            yield rule
        else:
            commented = "".join(f"# {line}\n" for line in rule.splitlines())
            yield f"# Not met by this run, some of whose replies are there:\n{commented}"


def _comparisons(benchmark: Benchmark, build: Build, scores: Sequence[Score]) -> Iterator[str]:
    """Compare each headline by the usual margin or, where so few conversations cannot tell of it, by one that the run keeps."""
    kinds = {
        m.name: "turns" if m.waits is not None else m.unit
        for m in benchmark.metrics
        if (m.item_score is not None or m.waits is not None) and not m.part
    }
    for name, criterion in dict.fromkeys((s.name, s.criterion) for s in scores if s.name in kinds and s.better):
        usual = _MARGINS[kinds[name]]
        rule = Compare(metric=name, margin=usual, benchmark=benchmark.name, criterion=criterion)
        reach, width = _reach(rule, build)
        margin = usual if reach < usual else round((math.floor(reach / usual + 1e-9) + 1) * usual, 2)
        text = f"[[compare]]\nmetric = {_text(name)}\nmargin = {margin}\n{_place(benchmark.name, criterion)}"
        if margin >= width:
            yield f"# {name} of {_comment(criterion)} is not compared: so few conversations tell of no difference"
        else:
            yield f"# {usual} would take more conversations\n{text}" if margin > usual else text


def _reach(rule: Compare, build: Build) -> tuple[float, float]:
    """Return how far the interval of no difference reaches where a run is compared with itself, and how wide the scale is.

    Missing verdicts are taken against the build there, too: the gate that is drafted will do so.
    """
    reach, width = 0.0, math.inf
    for pairing in comparisons.pairings(rule, build.side, build.side, build.benchmarks):
        comparison = comparisons.compared(rule, pairing)
        if comparison is not None:
            observed, at_worst = comparisons.intervals(comparison)
            reach = max(reach, abs(observed.low or 0.0), abs(observed.high or 0.0), at_worst.high or 0.0)
            width = min(
                width, comparison.scores.ends[1] - comparison.scores.ends[0] if comparison.scores.ends else width
            )
    return reach, width


def _items(benchmark: Benchmark, build: Build) -> Iterator[str]:
    rated = {c for p in build.side.parts if p.benchmark.name == benchmark.name for c in p.rows["criterion"].unique()}
    for name, criterion in frame.criteria(benchmark).items():
        if name in rated and not benchmark.closed and worst_levels(criterion) and name not in benchmark.composites:
            yield f"[[items]]\n{_place(benchmark.name, name)}"


def _place(benchmark: str, criterion: str) -> str:
    return f"benchmark = {_text(benchmark)}\ncriterion = {_text(criterion)}\n"


def _text(value: object) -> str:
    """Write a text as TOML has it, which for these is as JSON has it."""
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _comment(text: str) -> str:
    return " ".join(visible(text).split())
