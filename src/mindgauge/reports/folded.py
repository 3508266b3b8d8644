"""Sections of a report on many benchmarks, benchmark by benchmark: each part's title, its finding, and what is folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.rounding import plural

if TYPE_CHECKING:
    from mindgauge.reports.compared_section import Contrast
    from mindgauge.reports.content import Confusion, Figure
    from mindgauge.reports.sections import Flow, Report


class WeakPart(NamedTuple):
    """Where the systems are weak in one benchmark."""

    title: str
    finding: str
    figures: list[Figure]
    flows: list[Flow]
    confusions: list[Confusion]


class ComparedPart(NamedTuple):
    """Who is better than whom in one benchmark."""

    title: str
    finding: str
    contrasts: list[Contrast]


class Wording(NamedTuple):
    """Where on the page a prompt's words stand."""

    anchor: str
    title: str


def weak(report: Report) -> list[WeakPart]:
    """Part where it is weak; confusions that stand in the profile are left there."""
    elsewhere = report.profile.confused if report.profile else []
    findings = {task.benchmark: task.finding for task in report.tasks}
    parts = []
    for name, title in report.titles.items():
        figures = [f for f in report.weak.figures if f.benchmark == name]
        flows = [f for f in report.weak.flows if f.benchmark == name]
        confusions = [c for c in report.weak.confusions if c.benchmark == name and name not in elsewhere]
        if figures or flows or confusions:
            said = [*(f.finding for f in figures), *(f.finding for f in flows)] or [
                findings.get(name, "what was answered to each class")
            ]
            parts.append(WeakPart(title, said[0], figures, flows, confusions))
    return parts


def compared(report: Report) -> list[ComparedPart]:
    """Part the comparison of systems."""
    contrasts = report.paired.contrasts if report.paired else []
    parts = []
    for name, title in report.titles.items():
        mine = [c for c in contrasts if c.benchmark == name]
        if mine:
            more = f"; and {plural(len(mine) - 1, 'more measure')}" if len(mine) > 1 else ""
            parts.append(ComparedPart(title, f"{mine[0].finding}{more}", mine))
    return parts


def wordings(report: Report) -> dict[str, Wording]:
    """Return where each prompt's text stands: in the first benchmark that has it."""
    found: dict[str, Wording] = {}
    for instrument in report.how.instruments:
        for kind, language, ident, text in instrument.prompts:
            place = f"{instrument.benchmark.replace('/', '-')}-{kind}-{language}-{ident[:8]}"
            found.setdefault(text, Wording(f"prompt-{place}", report.titles[instrument.benchmark]))
    return found
