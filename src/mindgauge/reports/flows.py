"""The decision path of every system: where its answers stop, beside where the labels do, and where the two part."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.analysis.decision_path import decision_path
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.runs import constant
from mindgauge.reports.sections import Flow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.decision_path import DecisionPath, Visited
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun, Section


def flows(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[Flow]:
    """Follow every system's answers to questions that are decided in order; those most often wrong come first."""
    all_flows = [
        _flow(system, section, path)
        for system in systems
        for section in runs[system.run].sections
        if section.benchmark.closed
        for criterion in section.benchmark.rubric.criteria
        for path in [decision_path(runs[system.run].store, section.benchmark, section.ratings, system.model, criterion)]
        if path is not None
    ]
    return sorted(all_flows, key=lambda flow: -(flow.path.wrong / flow.path.targets if flow.path.targets else 0.0))


def _flow(system: System, section: Section, path: DecisionPath) -> Flow:
    name = section.benchmark.name
    ident = re.sub(r"[^a-z0-9]+", "-", f"{name}-{path.criterion}-{system.number}".casefold()).strip("-")
    finding = _finding(path)
    sheet = ReportTable(f"path-{ident}", f"{system.label}: {finding}", *_table(path))
    return Flow(f"flow-{ident}", system, name, finding, _measure(path), path, sheet)


def step(node: Visited) -> str:
    """Name a node by what it decides."""
    if node.otherwise:
        return f"{words(node.otherwise)} or not"
    return named([words(level) for level in node.decides], joined="or")


def _finding(path: DecisionPath) -> str:
    """Say at which step most answers part from the label's way."""
    if not path.targets:
        end = max(path.nodes, key=lambda node: sum(outcome.answers for outcome in node.outcomes))
        ended = sum(outcome.answers for outcome in end.outcomes)
        if path.lost >= ended:
            return f"{'No answer has' if path.lost == path.n else 'Many answers do not have'} a label ({count(path.lost)} of {count(path.n)} without one)"
        return f"Answers end most often at step {end.number}, {step(end)} ({count(ended)} of {count(path.n)})"
    if not path.wrong:
        return f"All of {plural(path.targets, 'answer')} follow the path of the label"
    worst, errors = max(path.nodes, key=lambda node: node.wrong), plural(path.wrong, "wrong answer")
    if path.lost_targets > worst.wrong:
        return f"More answers have no label than go wrong at any step ({count(path.lost_targets)} of {errors})"
    return f"Wrong most often at step {worst.number}, {step(worst)} ({count(worst.wrong)} of {errors})"


def _measure(path: DecisionPath) -> str:
    """Say what is drawn, and how the path is known."""
    text = f"{plural(path.n, 'answer')} on {plural(path.clusters, 'conversation')}, decided in order: the first yes ends the path."
    if path.targets:
        text += " Bars are answers, upright strokes what the labels would give."
        worst = max(path.nodes, key=lambda node: node.wrong)
        ways = [
            (worst.early, "stop there too early"),
            (worst.passed, "pass on what is decided there"),
            (worst.other, "choose another label of that step"),
            (worst.unread_targets, "cannot be read there"),
        ]
        mistakes = [f"{count(n)} {mistake}" for n, mistake in ways if n]
        if mistakes:
            text += f" At step {worst.number}, {named(mistakes)}."
    if 0 < path.targets < path.n:
        text += f" {plural(path.targets, 'answer has', 'answers have')} a label to compare with."
    if path.recorded == path.n:
        return f"{text} Each step was a question of its own, so the path is what was asked."
    if path.recorded:
        return f"{text} In {plural(path.recorded, 'answer')} each step was asked; elsewhere the path follows from the label given."
    return f"{text} Each answer named one label; its path follows from that label by the order of decision."


def _table(path: DecisionPath) -> tuple[list[Column], list[list[Cell]], str]:
    columns = [
        Column("step", "count"), Column("what"), Column("answers", "count"), Column("labels", "count"),
        Column("rightly decided", "share"), Column("from", "share"), Column("to", "share"), Column("n", "count"),
        Column("too early", "count"), Column("passed on", "count"), Column("other label", "count"), Column("unread", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for node in path.nodes:
        right = node.accuracy
        rows.append([
            node.number, f"get to: {step(node)}", node.answers, node.targets, right.value, right.low, right.high, right.n,
            node.early, node.passed, node.other, node.unread,
        ])  # fmt: skip
        rows += [
            [node.number, f"end: {words(outcome.label)}", outcome.answers, outcome.targets, *[None] * 8]
            for outcome in node.outcomes
        ]
    if path.lost:
        rows.append([None, "no label, step not known", path.lost, None, *[None] * 8])
    note = (
        "Of the answers whose label gets to a step, those rightly decided end there with it or go on where it does; one that ended earlier, or "
        "cannot be read, is wrong. A wrong answer stands once under the step at which it parts from the label: it ends there too early, passes "
        "on what is decided there, chooses another of its labels, or is unread. Intervals are exact, with conversations as n."
    )
    return columns, rows, note


def decisions(runs: Sequence[OpenRun], all_flows: Sequence[Flow]) -> ReportTable | None:
    """Put how often each step is rightly decided side by side, with answers that read nothing."""
    if not all_flows:
        return None
    rows: list[tuple[Cell, ...]] = [
        (flow.benchmark, node.number, step(node), flow.system.label, right.value, right.low, right.high, right.n, right.clusters)
        for flow in all_flows
        for node in flow.path.nodes
        for right in [node.accuracy]
    ]  # fmt: skip
    rows += dict.fromkeys(_constant(runs, all_flows))
    rows.sort(key=lambda row: (str(row[0]), int(row[1] or 0)))
    columns = [
        Column("benchmark"), Column("step", "count"), Column("what"), Column("by"), Column("rightly decided", "share"), Column("from", "share"),
        Column("to", "share"), Column("n", "count"), Column("conversations", "count"),
    ]  # fmt: skip
    note = "“Always” a label and the majority class read nothing: a model that decides no better has learned nothing at that step."
    return ReportTable(
        "decisions", "How often each step is rightly decided", columns, [list(row) for row in rows], note
    )


def _constant(runs: Sequence[OpenRun], all_flows: Sequence[Flow]) -> Iterator[tuple[Cell, ...]]:
    """Return the same of the constant raters that a benchmark asks for."""
    steps = {
        (flow.benchmark, f"node_{node.number}_accuracy"): (node.number, step(node))
        for flow in all_flows
        for node in flow.path.nodes
    }
    for s in (s for run in runs for section in run.sections for s in constant(run, section)):
        if s.slice == "all" and (s.benchmark, s.name) in steps:
            number, step_name = steps[s.benchmark, s.name]
            yield s.benchmark, number, step_name, s.model, s.value, s.low, s.high, s.n, s.clusters


def share_right(node: Visited) -> str:
    """Write how often a step is rightly decided, with its interval; empty where no label says so."""
    right = node.accuracy
    if right.value is None:
        return ""
    bounds = f"{interval(right.low, right.high, 'share')}; " if right.low is not None else ""
    return f"rightly decided {percent(right.value)} ({bounds}n {count(right.n)})"
