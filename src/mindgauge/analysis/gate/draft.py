"""A policy to begin with: what a run holds today, as rules that a team then makes its own."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from mindgauge.analysis import frame, worst_level
from mindgauge.analysis.gate import comparisons, measured, needs
from mindgauge.analysis.gate.outcome import GateOutcome
from mindgauge.analysis.gate.policy import Compare, GateNeeds
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded
from mindgauge.records.rubric.criterion import worst_levels
from mindgauge.records.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.gate.gate import Build
    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark

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


def policy(build: Build, baseline: str) -> tuple[str, list[str]]:
    """Write a policy to begin with, as TOML with comments: limits that a run keeps; and what of its needs the run does not meet.

    Args:
        build: the run.
        baseline: where that is which builds are compared with, as seen from the policy's folder.
    """
    distrusted = needs.distrust(GateNeeds(), build.side, build.scores, build.evidence)
    findings = needs.findings(GateNeeds(), build.side, build.scores, build.evidence, distrusted)
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
            *_bounds(own),
            *_levels(benchmark, build),
            *_comparisons(benchmark, build, own),
            *_items(benchmark, build),
        ]
    return "\n".join(sections), unmet


def _unused(score: Score, build: Build) -> bool:
    """Whether a score is about a worst level alone that its judge does not use."""
    benchmark = next(b for b in build.benchmarks if b.name == score.benchmark)
    is_unused = (score.benchmark, score.criterion, score.rater) in build.evidence.unused
    return is_unused and score.name in worst_level.metrics(benchmark, score.criterion)


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
        f"samples = {_list([*dict.fromkeys(build.evidence.samples)])}",
    ]
    if unmet:
        lines += [
            "# This run does not meet that yet, so the gate cannot tell:",
            *(f"# - {_comment(line)}" for line in unmet),
        ]
    yield "\n".join(lines) + "\n"


def _bounds(scores: Sequence[Score]) -> Iterator[str]:
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
        judges = {
            rater for place, name, rater in build.evidence.unused if (place, name) == (benchmark.name, criterion.name)
        }
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
