"""What is printed of judges: how far each can be trusted, under stress, as a jury, and whose order people follow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mindgauge.cli import answer, render, scores, terminal
from mindgauge.records.english import ended, named, words
from mindgauge.records.rounding import bounded, interval, percent, plural, precise
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mindgauge.analysis.escalation.result import Escalation
    from mindgauge.analysis.judge_comparison.compare import JudgeComparison
    from mindgauge.analysis.jury.jury import JuryCard, Panels
    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.analysis.stress.effects import Stress
    from mindgauge.cli.command import CommandCall

_VERDICTS = {"biased": 0, "clean": 2}
"""Verdicts of a stress test by what is shown first; the others stand between."""
_SHARES = "Effects are the first minus the second in shares of the scale."


def show_judges_compare(comparison: JudgeComparison, call: CommandCall, *, full: bool = False) -> None:
    """Print who agrees most with people, and which differences between judges are real."""
    with terminal.short([*(entry.judge for entry in comparison.agreements), *map(str, call.arguments["judge"])]):
        _first(comparison)
        if full:
            _in_full(comparison)
            scores.entry_tests(comparison.qualifications)
        else:
            _at_a_glance(comparison)
    answer.then("report", comparison.run)


def _first(comparison: JudgeComparison) -> None:
    """Print who agrees most with people, and how many differences between judges are real."""
    from mindgauge.analysis.judge_comparison.compare import MAIN

    agreements = [
        (estimate.value, entry, name, estimate)
        for entry in comparison.agreements
        if (name := next((name for name in MAIN if name in entry.estimates), ""))
        and (estimate := entry.estimates[name]).value is not None
    ]
    against = comparison.reference or "the other judges"
    if not agreements:
        answer.first("No reply has a value of both, so nothing is estimated.")
        return
    _, best, name, estimate = max(agreements, key=lambda agreement: agreement[0] or 0.0)
    answer.first(
        f"{best.judge} agrees most with {against}, on {words(best.criterion)}: {with_level(name) or name.replace('_', ' ')}: {bound(estimate)}, n {best.n:,}, {best.missing:,} missing.",
        _differing(comparison),
    )


def _differing(comparison: JudgeComparison) -> str:
    if not comparison.differences:
        return ""
    real = sum(difference.real is True for difference in comparison.differences)
    unknown = sum(difference.real is None for difference in comparison.differences)
    return f"{real} of {plural(len(comparison.differences), 'difference')} are real; {unknown} cannot be tested."


def _at_a_glance(comparison: JudgeComparison) -> None:
    from mindgauge.reports.content import narrowed
    from mindgauge.reports.rater_tables import sheets

    tables = sheets(comparison)
    if tables:
        answer.sheet(narrowed(tables[0], _BRIEF), sum(len(table.rows) for table in tables))
    render.notes(comparison.notes, full=False)


def _in_full(comparison: JudgeComparison) -> None:
    from mindgauge.reports.rater_tables import OF_SYSTEMS, SINGLE, has_systems, sheets

    for table in sheets(comparison):
        render.sheet(table)
    systems = has_systems(comparison)
    if comparison.agreements and not systems:
        notes = {a.estimates[n].note for a in comparison.agreements for n in OF_SYSTEMS if n in a.estimates}
        print(f"Correlations of systems' means: {'; '.join(sorted(notes)) or 'no criterion has an order'}")
    for line in missing(
        (f"{agreement.criterion}, {agreement.judge}", name, agreement.estimates[name])
        for agreement in comparison.agreements
        for name in (*SINGLE, *(OF_SYSTEMS if systems else ()))
        if name in agreement.estimates
    ):
        print(f"Note: {line}")
    unrated = [f"{a.criterion}, {a.judge}" for a in comparison.agreements if not a.estimates]
    if unrated:
        print(f"Note: no reply has a value of both, so nothing is estimated: {'; '.join(unrated)}")
    render.notes(comparison.notes, full=True)


# Estimates with their intervals, and why an estimate is not there.


_NAMED = 3
_BRIEF = (
    "criterion",
    "judge",
    "against",
    "n",
    "missing",
    with_level("kappa_quadratic"),
    with_level("kappa"),
    "accuracy",
)


def bound(estimate: Bound | None, *, share: bool = False) -> str:
    """Write an estimate as `0.50 [0.40, 0.60]`: a dash where it is not defined, nothing where it is not asked."""
    if estimate is None:
        return ""
    return bounded(estimate.value, estimate.low, estimate.high, "share" if share else "level")


def missing(estimates: Iterable[tuple[str, str, Bound]]) -> list[str]:
    """Say why estimates or their intervals are not there, each reason once.

    Args:
        estimates: of whom, the measure, and what was found.
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for owner, measure, estimate in estimates:
        if estimate.note and (estimate.value is None or estimate.low is None):
            reasons.setdefault(estimate.note, {}).setdefault(owner, []).append(measure)
    return [f"{reason}: {_listed(by_owner)}" for reason, by_owner in reasons.items()]


def _listed(by_owner: dict[str, list[str]]) -> str:
    parts = [f"{owner} ({', '.join(measures)})" for owner, measures in list(by_owner.items())[:_NAMED]]
    return "; ".join(parts) + (f"; and {len(by_owner) - _NAMED} more" if len(by_owner) > _NAMED else "")


# How a judge stands stress.


def show_judges_stress(result: Stress, *, full: bool = False) -> None:
    """Print what moves a judge."""
    with terminal.short([result.judge]):
        _stress_show(result, full=full)


def _stress_show(result: Stress, *, full: bool) -> None:
    """Print what moves the judge, and of how many verdicts that is said; then the effects, those that move it first."""
    from mindgauge.reports.content import narrowed
    from mindgauge.reports.stress import PAGE, line, readings, sheets
    from mindgauge.runs.sending import kept

    tried = f"{plural(result.items, 'reply', 'replies')} in {plural(result.conversations, 'conversation')}"
    lost = f"{result.unusable:,} of {result.unusable + result.verdicts:,} verdicts could not be used"
    answer.first(f"{result.judge}: {line(result)}", f"It was tried on {tried}; {lost}.")
    tables = sheets(result)
    if full:
        for table in tables:
            render.sheet(table)
    elif tables:
        gravest = sorted(tables[0].rows, key=lambda row: _VERDICTS.get(str(row[2]), 1))
        columns = ("what", "criterion", "verdict", "effect", "n", "missing")
        short = narrowed(msgspec.structs.replace(tables[0], rows=gravest, note=_SHARES), columns)
        answer.sheet(short, sum(len(table.rows) for table in tables))
    for sentence in kept(result.run):
        print(sentence)
    render.notes(readings(result) if full else result.notes, full=full)
    print(f"Read on: {Path(result.run) / PAGE}")


# Judges as a jury.


def show_judges_panel(result: Panels, *, full: bool = False) -> None:
    """Print what judges are together."""
    with terminal.short(member for jury in result.panels for member in jury.members):
        _panel_first(result)
        if full:
            for jury in result.panels:
                _panel_in_full(jury)
        render.notes(result.notes, full=full)


def _panel_first(result: Panels) -> None:
    """Print what the judges are together, and whether their jury is nearer to people than one of them; then who agrees how far."""
    from mindgauge.reports import juries
    from mindgauge.reports.content import narrowed

    panels = {panel.criterion: panel for panel in result.panels}
    sentences = [sentence for name, panel in panels.items() for sentence in juries.said(name, panel)]
    people_first = [sentence for sentence in sentences if sentence.startswith("Beside people")]
    answer.first(*[*sentences[:1], *people_first, *sentences[1:]][:2])
    tables = juries.sheets("", panels)
    if tables:
        short = narrowed(msgspec.structs.replace(tables[0], note=""))
        answer.sheet(short, sum(len(table.rows) for table in tables))


def _panel_in_full(panel: JuryCard) -> None:
    from mindgauge.reports import juries

    print(f"{panel.criterion}: {', '.join(panel.members)}")
    print(f"all have a verdict on {panel.complete} subjects, not all on {panel.incomplete}")
    for table in juries.sheets("", {panel.criterion: panel}):
        render.sheet(table)
    if panel.cards:
        folds = ", ".join(f"{judge} in {n} folds" for judge, n in panel.chosen.items())
        print(f"best single judge on these subjects: {panel.best or 'none'}; best on the other conversations: {folds or 'none'}")  # fmt: skip
    for sentence in juries.together(panel):
        print(sentence)
    if not panel.without and panel.means and len(next(iter(panel.means.values()))) < 2:
        print("one system only, so there is no ranking")
    print()


# In whose order people read.


def show_judges_escalation(result: Escalation, call: CommandCall, *, full: bool = False) -> None:
    """Print how much people must read."""
    with terminal.short([*result.models, *(order.name for order in result.orders)]):
        _escalation_show(result, full=full)
    answer.then("export", call.arguments["run"], "--to", "review", "--unsafe", call.arguments["unsafe"])


def _escalation_show(result: Escalation, *, full: bool) -> None:
    """Print how much people must read in the order to be used, and what that guarantees; then the orders, the shortest first."""
    from mindgauge.analysis.escalation.result import said_of_guarantee, said_of_passing
    from mindgauge.reports.content import narrowed
    from mindgauge.reports.reading_order import of_orders

    default = next(order for order in result.orders if order.name == result.default)
    reads = default.reads
    bounds = f" ({interval(reads.low, reads.high, 'share')})" if reads.low is not None else ""
    answer.first(
        f"{result.n:,} replies in {result.clusters:,} conversations, {result.n_unsafe:,} unsafe ({result.unsafe}, by {named(result.people)}): to find "
        f"{percent(result.target)} of them, {result.needed:,}, people must read {precise(reads.value)} of the replies{bounds} in the order of "
        f"{default.name}, and {precise(result.ideal)} in an order without error.",
        ended(said_of_guarantee(result, default)),
    )
    tables = of_orders(result)
    if not full:
        places = {order.name: order.reads.value for order in result.orders if order.reads.value is not None}
        best = sorted(tables[0].rows, key=lambda row: places.get(str(row[0]), 2.0))
        answer.sheet(narrowed(msgspec.structs.replace(tables[0], rows=best)), sum(len(table.rows) for table in tables))
        render.notes(result.notes, full=False)
        return
    print("Replies of one risk are read in any order, and figures are means over these orders.")
    for order in (order for order in result.orders if order.kind == "jury" or order.name == result.default):
        if order.name in {"jury/mean", result.default}:
            print(said_of_guarantee(result, order))
            print(said_of_passing(result, order))
    for table in tables:
        render.sheet(table)
    render.notes(result.notes, full=True)
