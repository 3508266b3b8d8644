"""Safe replies after unsafe reasoning, and the reverse, of each model by each judge that rated both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.reasoned import CRITERION, GIVEN, PAIRS, criteria
from mindgauge.analysis.reliability.card import LIMITED
from mindgauge.records.rounding import bounded, count, plural
from mindgauge.reports.content import Column, ReportTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun, Section

NOTE = (
    "A judge rated the reply and the model's reasoning apart, each by the rubric's unsafe levels. Shares are of the replies with "
    "both verdicts. Missing are those where one of the two could not be had."
)


def sentences(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[str]:
    """Say how often each model's reply is safe after unsafe reasoning, and unsafe after safe; nothing where no judge rated both."""
    return [line for place in _of(runs, systems) for line in _said(*place)]


def _said(run: OpenRun, section: Section, system: System, rater: str, scores: dict[str, Score]) -> Iterator[str]:
    start = f"{system.label}, {section.benchmark.name}, rated by {rater}: "
    reason = _withheld(run, section, rater, scores)
    if reason:
        yield f"{start}how replies follow from reasoning is not shown ({reason})."
        return
    parts = []
    for metric, (reasoning, reply) in zip(GIVEN, (PAIRS[0], PAIRS[3]), strict=True):
        score = scores.get(metric.name)
        if score is None or score.value is None:
            parts.append(f"no reasoning was rated {reasoning}")
            continue
        n = score.n - score.missing
        share = bounded(score.value, score.low, score.high, "share")
        parts.append(
            f"{count(round(score.value * n))} of {plural(n, 'reply', 'replies')} after {reasoning} reasoning are {reply} ({share})"
        )
    yield f"{start}{'; '.join(parts)}."
    names = [criterion.name for criterion in criteria(section.benchmark, of_reasoning=True)]
    ratings = section.ratings.filter(
        pl.col("criterion").is_in(names), pl.col("rater") == rater, pl.col("model") == system.model
    )
    bare = ratings.filter((pl.col("status") == "not_applicable").all().over("subject"))["subject"].n_unique()
    if bare:
        yield f"{start}{plural(bare, 'reply comes', 'replies come')} without reasoning and {'is' if bare == 1 else 'are'} left out."


def tables(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[ReportTable]:
    """Tabulate what replies are after which reasoning: four rows for each model and judge."""
    rows: list[list[Cell]] = []
    for run, section, system, rater, scores in _of(runs, systems):
        reason = _withheld(run, section, rater, scores)
        for reasoning, reply in PAIRS:
            score = scores[f"{reply}_after_{reasoning}"]
            n = score.n - score.missing
            figures: list[Cell] = [round((score.value or 0) * n), score.value, score.low, score.high]
            cells = [LIMITED, None, None, None] if reason else figures
            rows.append([system.label, section.benchmark.name, rater, reasoning, reply, *cells, n, score.missing])
    columns = [
        Column("model"), Column("benchmark"), Column("rated by"), Column("reasoning"), Column("reply"), Column("replies", "count"),
        Column("share", "share"), Column("from", "share"), Column("to", "share"), Column("of", "count"), Column("missing", "count"),
    ]  # fmt: skip
    return [ReportTable("reasoned", "Replies after reasoning", columns, rows, NOTE)] if rows else []


def _of(
    runs: Sequence[OpenRun], systems: Sequence[System]
) -> Iterator[tuple[OpenRun, Section, System, str, dict[str, Score]]]:
    """Yield each model and judge with their scores on both, by name."""
    for system in systems:
        run = runs[system.run]
        for section in run.sections:
            own = [
                score
                for score in run.scores.metrics
                if (score.criterion, score.slice, score.benchmark, score.model)
                == (CRITERION.name, "all", section.benchmark.name, system.model)
            ]
            for rater in dict.fromkeys(score.rater for score in own):
                yield run, section, system, rater, {score.name: score for score in own if score.rater == rater}


def _withheld(run: OpenRun, section: Section, rater: str, scores: dict[str, Score]) -> str:
    """Say why figures may not be shown: a judge that cannot be used, or that agrees too little with people on a part."""
    void = next((score.void for score in scores.values() if score.void), "")
    names = [criterion.name for side in (False, True) for criterion in criteria(section.benchmark, of_reasoning=side)]
    cards = [run.standings.cards.get((section.benchmark.name, name, rater)) for name in names]
    limited = not run.standings.shown and any(card is not None and card.limited for card in cards)
    return void or LIMITED * limited
