"""Whether classifiers are as often right as they say: a reliability diagram for each, with its finding in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.analysis.calibrated import calibrated
from mindgauge.records import RaterKind
from mindgauge.records.rounding import count, decimal, interval, percent, plural
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.trust_section import CalibrationSection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.calibrated import Calibrated
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun


def calibrations(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[CalibrationSection]:
    """Compare what every classifier says of itself with how often it is right, where the run kept its probabilities."""
    found = []
    for system in systems:
        run = runs[system.run]
        for section in (s for s in run.sections if s.benchmark.closed):
            for criterion in section.benchmark.rubric.criteria:
                seen = calibrated(run.store, section.benchmark, section.ratings, system.model, criterion)
                if seen is not None:
                    name = f"{section.benchmark.name}-{criterion.name}-{system.number}"
                    ident = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
                    finding = _finding(system, seen)
                    found.append(
                        CalibrationSection(
                            f"calibration-{ident}", system, section.benchmark.name, finding, _measure(seen), seen, _sheet(ident, finding, seen)
                        )
                    )  # fmt: skip
    return found


def unknown(runs: Sequence[OpenRun], systems: Sequence[System], known: Sequence[CalibrationSection]) -> Iterator[str]:
    """Name the classifiers of which a run keeps answers and no probabilities."""
    for system in systems:
        raters = {who for section in runs[system.run].sections for who in section.raters}
        if (system.model, RaterKind.CLASSIFIER) in raters and system not in [one.system for one in known]:
            yield f"Of {system.label} there are labels and no probabilities, so it is not known whether it is as often right as it would say."


def _finding(system: System, seen: Calibrated) -> str:
    """Say whether the share that is right agrees, within its bounds, with what the classifier says."""
    low, high = seen.right_low or 0.0, 1.0 if seen.right_high is None else seen.right_high
    verdict = (
        "too sure"
        if seen.confidence > high
        else "not sure enough"
        if seen.confidence < low
        else "about as it should be"
    )
    return f"{system.label} is {percent(seen.confidence)} sure on average and right in {percent(seen.right)}: {verdict}"


def _measure(seen: Calibrated) -> str:
    abstained = (
        f", {plural(seen.abstained, 'abstention')} among them by the label it found likeliest" if seen.abstained else ""
    )
    return (
        "Share right, by the probability of the label, in ten bins; the slanting line is a classifier that is right as often as it says. "
        "Lines are exact 95 % intervals over conversations, bars below how many labels fall into each bin. "
        f"n {count(seen.n)} on {plural(seen.clusters, 'conversation')}{abstained}; right in {percent(seen.right)} "
        f"({interval(seen.right_low, seen.right_high, 'share')}); expected calibration error {decimal(seen.by_bin.ece)}, log loss {decimal(seen.by_bin.log_loss)}."
        + (
            f" {count(seen.seen)} of them stood in its own training or development data, or come from the same dialogues: on these this is no test."
            if seen.seen
            else ""
        )
    )


def _sheet(ident: str, finding: str, seen: Calibrated) -> ReportTable:
    columns = [
        Column("probability above", "share"), Column("up to", "share"), Column("n", "count"),
        Column("mean probability", "share"), Column("share right", "share"), Column("from", "share"), Column("to", "share"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [b.low, b.high, b.n, b.confidence, b.accuracy, b.accuracy_low, b.accuracy_high] for b in seen.by_bin.bins
    ]
    return ReportTable(f"calibration-{ident}", finding, columns, rows)
