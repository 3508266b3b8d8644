"""The summary for a pull request: one page of Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.reports.numbers import NONE, decimal, ended, interval

if TYPE_CHECKING:
    from mindgauge.reports.profile.picture import Spot
    from mindgauge.reports.profile.records import ProfileSection
    from mindgauge.reports.sections import Report

MOST_MODELS = 6
MOST_FIGURES = 5
MOST_CONTRASTS = 3


def summary(report: Report, page: str) -> str:
    """Write what matters most, and where the rest stands."""
    lines = [f"# Mindgauge: {plain(report.title)}", "", plain(ended(report.subtitle)), ""]
    lines += [f"{plain(text)}\n" for text in report.unfit]
    if report.lead:
        lines += [plain(" ".join(report.lead)), ""]
    for found in report.answers[: 0 if report.lead else MOST_MODELS]:
        head = f"**{plain(found.system.label)}.** " if len(report.answers) > 1 else ""
        lines += [head + plain(" ".join([*found.facts, *found.withheld, *found.caveats])), ""]
    if len(report.answers) > MOST_MODELS and not report.lead:
        lines += [f"{len(report.answers) - MOST_MODELS} more models stand in the report.", ""]
    lines += [*(f"> {plain(caveat)}\n>" for caveat in report.caveats)]
    if report.caveats:
        lines[-1] = lines[-1].removesuffix("\n>")
        lines.append("")
    if report.profile is not None:
        lines += [*_profile(report.profile), ""]
    first = [figure.finding for figure in report.weak.figures if not figure.folded]
    first = [*first, *(f"{flow.system.label}: {flow.finding}" for flow in report.weak.flows)][:MOST_FIGURES]
    if first:
        lines += ["## Where it is weak", "", *(f"- {plain(finding)}" for finding in first), ""]
    trust = report.trust
    trusted = [agreement.finding for agreement in trust.agreement]
    trusted += [*(found.finding for found in trust.calibration), *(test.finding for test in trust.entry)]
    trusted += [*(jury.finding for jury in trust.juries), *(found.finding for found in trust.escalated)]
    if trusted:
        lines += ["## How far to trust it", "", *(f"- {plain(finding)}" for finding in trusted[:MOST_FIGURES]), ""]
    contrasts = sorted(report.paired.contrasts, key=lambda contrast: contrast.folded) if report.paired else []
    if contrasts:
        lines += ["## Compared", "", *(f"- {plain(contrast.finding)}" for contrast in contrasts[:MOST_CONTRASTS]), ""]
    lines += ["## What went wrong", "", *(plain(fact) for fact in report.wrong.facts[:3]), ""]
    reading = sum(len(chosen.items) for chosen in report.reading)
    lines += [
        f"Not shown by these numbers: {' '.join(plain(text) for text in report.not_shown)}",
        "",
        (
            f"[The whole report]({page}) lists {reading} replies and messages to read first, tables, prompts, and the settings of every model. "
            f"{report.software}, {report.made[:10]}."
        ),
    ]
    return "\n".join(lines).strip() + "\n"


def _profile(section: ProfileSection) -> list[str]:
    """Write every dimension's scores as a table, with intervals where there are any."""
    systems = section.heat.systems[:MOST_MODELS]
    lines = [
        f"## Profile: {plain(section.title)}",
        "",
        "Mean scaled scores, 0 worst and 1 best, with 95 % intervals; there is no overall score.",
        "",
        f"| dimension | {' | '.join(plain(system.label) for system in systems)} |",
        f"|---|{'---|' * len(systems)}",
    ]
    for row in section.dots.rows if section.dots else ():
        found = {spot.system.number: spot for spot in row.spots}
        lines.append(f"| {plain(row.label)} | {' | '.join(_score(found.get(system.number)) for system in systems)} |")
    return lines


def _score(spot: Spot | None) -> str:
    if spot is None or spot.value is None:
        return NONE
    bounds = f" ({interval(spot.low, spot.high)})" if spot.low is not None else ""
    return f"{decimal(spot.value)}{bounds}"


def plain(text: str) -> str:
    """Make a text stand in Markdown as itself: no markup, no HTML, no new line."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))
