"""Compared: the scores of several models side by side. Two intervals are no test of a difference, and it says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.english import words
from mindgauge.reports.content import Column, Sheet
from mindgauge.reports.runs import constant, every_score_of
from mindgauge.rounding import interval, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import Run, Section
    from mindgauge.rounding import Kind


def key_scores(runs: Sequence[Run], systems: Sequence[System]) -> list[list[Cell]]:
    """Return what each benchmark goes by, of every model on the whole of it, alike measures together."""
    rows: list[tuple[tuple[str, int, str], list[Cell]]] = []
    for system in systems:
        for section in runs[system.run].sections:
            for s in every_score_of(runs[system.run], system, section):
                names, kind = section.benchmark.headline, s.unit
                if s.slice == "all" and s.name in names:
                    place = (
                        section.benchmark.name,
                        names.index(s.name),
                        s.rater if not section.benchmark.closed else "",
                    )
                    value = None if s.missing >= s.n else s.value
                    rows.append((place, [
                        s.benchmark, named(s, section), system.label, s.rater if s.rater != s.model or not section.benchmark.closed else "",
                        runs[system.run].standings.instead(s, written(value, kind)),
                        interval(s.low, s.high, kind) if value is not None else None, s.n, s.clusters, s.missing,
                    ]))  # fmt: skip
    rows += _constant(runs)
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def _constant(runs: Sequence[Run]) -> Iterator[tuple[tuple[str, int, str], list[Cell]]]:
    """Return the same of answers that read nothing, below the models they are measured by; runs that agree once."""
    told = []
    for run in runs:
        for section in run.sections:
            for s in constant(run, section):
                names, kind = section.benchmark.headline, s.unit
                if s.slice != "all" or s.name not in names:
                    continue
                row: list[Cell] = [
                    s.benchmark, named(s, section), f"{s.model} (reads nothing)", "", written(s.value, kind),
                    interval(s.low, s.high, kind), s.n, s.clusters, s.missing,
                ]  # fmt: skip
                if row not in told:
                    told.append(row)
                    yield (s.benchmark, names.index(s.name), ""), row


def named(score: Score, section: Section) -> str:
    """Name a measure: with its criterion, where there are several."""
    several = len(section.criteria) > 1 and not section.benchmark.closed
    return f"{words(score.name)}, {words(score.criterion)}" if several else words(score.name)


def written(value: float | None, kind: Kind) -> str | None:
    """Write a value of one of two kinds."""
    return None if value is None else write(value, kind)


def side_by_side(runs: Sequence[Run], systems: Sequence[System], *, paired: bool = False) -> Sheet | None:
    """Put several models side by side, and beside answers that read nothing; None where one model stands alone.

    `paired`: their differences are shown, too.
    """
    if len(systems) < 2 and not any(constant(run, section) for run in runs for section in run.sections):
        return None
    columns = [
        Column("benchmark"), Column("measure"), Column("model"), Column("rated by"), Column("value", "interval"),
        Column("95 % interval", "interval"), Column("n", "count"), Column("conversations", "count"), Column("missing", "count"),
    ]  # fmt: skip
    note = (
        "Each interval is for one model alone. Two that overlap do not show that models are alike, and two that do not overlap are no "
        "test of their difference; "
    )
    note += (
        "the paired differences above are."
        if paired
        else "no paired difference was computed here, and no rank is given."
    )
    title = (
        "Each model alone"
        if paired
        else "Models side by side"
        if len(systems) > 1
        else "Beside answers that read nothing"
    )
    return Sheet("compared", title, columns, key_scores(runs, systems), note)
