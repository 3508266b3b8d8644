"""Where it is weak: every category as dots with intervals, worst first, and what was taken for what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.benchmarks.metrics import mean_level
from mindgauge.records.english import words
from mindgauge.reports import card_phrases, figures, flows
from mindgauge.reports.confused import confusions
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.runs import RULE, scores_of
from mindgauge.reports.sections import Weak

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import Cell, Figure, System
    from mindgauge.reports.runs import OpenRun, Section
    from mindgauge.reports.standing import RunCard


def weak(runs: Sequence[OpenRun], systems: Sequence[System], on_page: set[str]) -> Weak:
    """Draw up figures, decision paths, confusions, what rules found, and the whole table of scores.

    `on_page` are the anchors of the messages that the page shows elsewhere.
    """
    drawn: list[Figure] = []
    names = dict.fromkeys(section.benchmark.name for run in runs for section in run.sections)
    for name in names:
        scores = [
            (system, score)
            for system in systems
            for section in runs[system.run].sections
            if section.benchmark.name == name
            for score in scores_of(runs[system.run], system, section)
        ]
        section = next(s for run in runs for s in run.sections if s.benchmark.name == name)
        drawn += _closed(section, scores) if section.benchmark.closed else _open(name, scores, section, runs)
    confused, cited, note = confusions(runs, systems, on_page)
    followed = flows.flows(runs, systems)
    decisions = flows.decisions(runs, followed)
    return Weak(
        drawn, _withheld(runs), followed, decisions, confused, cited, note, _rules(runs, systems), _all(runs, systems)
    )


def _closed(section: Section, scores: list[tuple[System, Score]]) -> Iterator[Figure]:
    """Draw each metric that says how: what stands open first."""
    pictures = {metric.name: metric.words.picture for metric in section.benchmark.metrics if metric.words.picture}
    for name, picture in sorted(pictures.items(), key=lambda item: bool(item[1].folded)):
        drawn = [(system, s) for system, s in scores if s.name == name and not s.slice.startswith("selection=")]
        figure = figures.of_shares(section.benchmark.name, drawn, picture)
        if figure is not None:
            yield figure


def _open(name: str, scores: list[tuple[System, Score]], section: Section, runs: Sequence[OpenRun]) -> Iterator[Figure]:
    raters = dict.fromkeys(r for run in runs for s in run.sections if s.benchmark.name == name for r, _ in s.judges())
    for criterion, levels in section.ordinal.items():
        first = ""
        for rater in raters:
            rater_scores = [
                (system, s) for system, s in scores
                if (s.name, s.criterion, s.rater) == (mean_level.name, criterion, rater) and not s.slice.startswith("selection=")
            ]  # fmt: skip
            worst, best = levels.worst_first[0], levels.worst_first[-1]
            low, high = sorted(map(float, (worst, best)))
            measure = f"Mean {words(criterion)} by {rater}, from {worst} (worst) to {best} (best)"
            figure = figures.of_levels(name, rater_scores, f"{criterion}-{rater}", measure, low, high)
            if figure is not None:
                _marked(figure, rater_scores, runs)
                figure.folded = f"The same, as rated by {rater}" if first else ""
                first = first or rater
                yield figure
    first = ""
    for rater in raters:
        for figure in figures.of_yes_no(section, scores, rater):
            _marked(
                figure, [(system, s) for system, s in scores if s.rater == rater and s.criterion in figure.rows], runs
            )
            figure.folded = f"{figure.finding}, as rated by {rater}" if first not in {"", rater} else ""
            first = first or rater
            yield figure


def _marked(figure: Figure, scores: Sequence[tuple[System, Score]], runs: Sequence[OpenRun]) -> None:
    """Say of a figure that people must rate what it shows, or that nobody can tell how far its judge can be trusted."""
    if any(runs[system.run].standings.limited(s) for system, s in scores):
        figures.doubt(figure)
    elif any(runs[system.run].standings.not_estimable(s) for system, s in scores):
        figures.unsure(figure)


def _withheld(runs: Sequence[OpenRun]) -> list[str]:
    """Name whose scores are not drawn here."""
    hidden: dict[str, list[RunCard]] = {}
    for run in runs:
        for standing in run.standings.cards.values():
            if standing.limited and not run.standings.shown:
                hidden.setdefault(standing.card.judge, []).append(standing)
    return list(card_phrases.not_drawn(hidden))


def _rules(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable | None:
    """Count how often each rule found what it looks for."""
    rows: list[list[Cell]] = []
    for system in systems:
        for section in runs[system.run].sections:
            rule_rows = section.ratings.lazy().filter(
                pl.col("rater_kind") == RULE, pl.col("model") == system.model, pl.col("status") == "ok"
            )
            counted = (
                rule_rows.group_by("rater")
                .agg(yes=(pl.col("value") == "yes").sum(), n=pl.len())
                .sort("rater")
                .collect()
            )
            rows += [[rater, system.label, n_yes, n, n_yes / n] for rater, n_yes, n in counted.iter_rows()]
    columns = [Column("rule"), Column("model"), Column("found", "count"), Column("replies", "count")]
    columns.append(Column("share", "share"))
    note = "A rule looks for words and understands nothing."
    return ReportTable("rules", "What rules found in the replies", columns, rows, note) if rows else None


def _all(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable:
    """Gather every score there is."""
    names = (
        "benchmark", "name", "criterion", "slice", "rater", "value", "low", "high", "n", "clusters", "missing", "worst",
        "best", "note",
    )  # fmt: skip
    labels = {(system.run, system.model): system.label for system in systems}
    carded = any(run.standings.cards for run in runs)
    rows: list[list[Cell]] = [
        [
            labels.get((number, score.model), score.model), *(getattr(score, name) for name in names),
            *([_reliability(run, score)] if carded else []),
        ]
        for number, run in enumerate(runs)
        for score in run.scores.metrics
    ]  # fmt: skip
    columns = [Column("model"), *map(Column, names), *([Column("reliability")] if carded else [])]
    return ReportTable("scores", "Every score", columns, rows)


def _reliability(run: OpenRun, score: Score) -> str:
    """Return what a judge's card says of a score; empty where there is no card."""
    standing = run.standings.of(score)
    return standing.card.verdict if standing is not None else ""
