"""Responsible and safe in one table: unsafe replies, refused benign requests and stock replies of each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import drawn_part, frame, stock
from mindgauge.analysis.reliability.card import LIMITED
from mindgauge.analysis.responsible import KINDS
from mindgauge.analysis.scoring_views import STOCK_SHARE
from mindgauge.records.english import words
from mindgauge.records.rounding import count, plural
from mindgauge.records.rubric import Scale
from mindgauge.reports.content import ReportTable, heads
from mindgauge.reports.reliability_gate import UNRELIABLE
from mindgauge.reports.runs import GOLD, PERSON, RULE
from mindgauge.reports.texts import beginning, clean, unfit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun, Section

_WHAT = dict(zip(KINDS, ("unsafe replies", "refused benign requests", "stock replies"), strict=True))
_NOTE = (
    "Read a model's shares together. A model that refuses everything, or gives one stock reply, has few unsafe replies and gives no help. "
    "The shares are not added up. A reply that lacks a verdict is in n and not in the share; the upper end of the interval counts it as bad."
)


def table(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable | None:
    """Tabulate the three shares of each model, each as its raters have it; None where there is none."""
    columns = heads("model | share of | benchmark | rated by | share:share± | n:count | missing:count")
    rows: list[list[Cell]] = []
    for system in sorted(systems, key=lambda system: system.model):
        run = runs[system.run]
        own = [score for score in run.scores.responsible if score.model == system.model]
        for score in sorted(own, key=lambda score: KINDS.index(score.name)):
            limited = run.standings.limited(score)
            withheld = run.standings.withholds(score)
            numbers: list[Cell] = [score.value, score.low, score.high]
            rows.append([
                system.label, _WHAT[score.name], score.benchmark, f"{score.rater} ({UNRELIABLE})" if limited and not withheld else score.rater,
                *([run.standings.instead(score, None), None, None] if withheld else numbers), score.n, score.missing,
            ])  # fmt: skip
    return ReportTable("responsible", "Responsible and safe", columns, rows, _NOTE) if rows else None


def unmeasured(runs: Sequence[OpenRun]) -> list[str]:
    """Say which of the shares no run has, and which command adds each."""
    lines = [run.scores.unmeasured for run in runs if run.scores.unmeasured or run.scores.responsible]
    return [lines[0][name] for name in KINDS if lines and all(name in of_run for of_run in lines)]


NOTE = (
    "A stock reply is short, nearly the same text stands under messages of five conversations or more, and it takes up hardly a word "
    "of the person's. A rule finds it and knows no phrase. It does not say whether the reply is safe."
)
_RATED = (
    "Each row is about the replies that these raters were given. Where people put stock replies lower than a judge does, that "
    "judge lets such replies pass."
)


def sentences(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[str]:
    """Say of each model how many of its replies are stock, and how many of these are one text; nothing of the others."""
    return [
        f"{system.label}, {section.benchmark.name}: {count(len(stock_replies))} of all {plural(n, 'reply is', 'replies are')} stock: short, with hardly a word of the "
        f"message, and nearly the same text under many messages. {count(texts['count'][0])} of them are one text{' in small variants' * texts['varied'][0]}."
        for system, section, n, stock_replies, texts in sorted(
            _of(runs, systems), key=lambda found: -len(found[3]) / found[2]
        )
    ]


def tables(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[ReportTable]:
    """Tabulate stock replies: each model's share and its commonest text, and how they and the others were rated."""
    shares: list[list[Cell]] = []
    rated_rows: list[list[Cell]] = []
    for system, section, n, stock_replies, texts in _of(runs, systems):
        run = runs[system.run]
        score = next(
            iter(run.scores.find(STOCK_SHARE.name, model=system.model, benchmark=section.benchmark.name)), None
        )
        bounds = (None, None) if score is None else (score.low, score.high)
        open_replies = stock_replies.filter(
            pl.col("stock") == texts["stock"][0], ~pl.col("sample").map_elements(section.hides, pl.Boolean)
        )
        text = clean(beginning(texts["stock"][0])) if len(open_replies) else ""
        shares.append([
            system.label, section.benchmark.name, n, len(stock_replies), len(stock_replies) / n, *bounds, text, texts["count"][0],
        ])  # fmt: skip
        rated_rows += [
            [system.label, *row] for row in _rated_rows(run, section, system.model, stock_replies["subject"])
        ]
    columns = heads(
        "model | benchmark | replies:count | stock:count | share:share± | the commonest text:quote | times:count"
    )
    sheets = [ReportTable("stock", "Stock replies", columns, shares, NOTE)] if shares else []
    columns = heads(
        "model | rated by | criterion | stock replies:count | mean of stock:level | unsafe of stock:share | "
        "other replies:count | mean of others:level | unsafe of others:share | missing:count"
    )
    return (
        [*sheets, ReportTable("stock-rated", "How stock replies and others are rated", columns, rated_rows, _RATED)]
        if rated_rows
        else sheets
    )


def _of(
    runs: Sequence[OpenRun], systems: Sequence[System]
) -> Iterator[tuple[System, Section, int, pl.DataFrame, pl.DataFrame]]:
    """Yield each model with stock replies in a benchmark: how many replies came, which are stock, and each text's number."""
    for system in systems:
        for section in runs[system.run].sections:
            replies = stock.found(runs[system.run].store, section.benchmark)
            replies = frame.of_targets(replies, section.benchmark).filter(
                pl.col("model") == system.model, pl.col("status") == "ok"
            )
            stock_replies = replies.drop_nulls("stock")
            if len(stock_replies):
                texts = stock_replies.group_by("stock").agg(count=pl.len(), varied=pl.col("varied").any())
                texts = texts.sort("count", "stock", descending=[True, False])
                yield system, section, len(replies), stock_replies, texts


def _rated_rows(run: OpenRun, section: Section, model: str, stock_subjects: pl.Series) -> Iterator[list[Cell]]:
    """Yield what people together and each judge gave stock replies and others, on the first criterion with unsafe levels."""
    name, criterion = next(iter(section.unsafe_criteria.items()), ("", None))
    if criterion is None:
        return
    of_model = section.ratings.filter(
        pl.col("model") == model,
        pl.col("criterion") == name,
        ~pl.col("rater_kind").is_in([GOLD, RULE]),
        pl.col("status") != "not_applicable",
    )
    people = pl.col("rater_kind") == PERSON
    judges = of_model.filter(~people)["rater"].unique().sort()
    unusable = unfit(run, section, name)
    for rater, rows in [
        ("people", of_model.filter(people)),
        *((j, of_model.filter(pl.col("rater") == j)) for j in judges),
    ]:
        parts = [
            rows.filter(pl.col("subject").is_in(stock_subjects.implode()) == is_stock) for is_stock in (True, False)
        ]
        if parts[0].is_empty() or rater in unusable:
            continue
        card = run.standings.cards.get((section.benchmark.name, name, rater))
        if card is not None and card.limited and not run.standings.shown:
            figures: list[Cell] = [*(c for part in parts for c in (part["subject"].n_unique(), LIMITED, None))]
        else:
            figures = [cell for part in parts for cell in _figures(part, criterion)]
        yield [rater, words(name), *figures, rows["value"].null_count()]


def _figures(rows: pl.DataFrame, criterion: Criterion) -> tuple[Cell, Cell, Cell]:
    """Return how many replies were rated, their mean level (none of classes), and the share called unsafe of those with a value."""
    levels = rows.select(frame.number(criterion)).to_series() if criterion.scale is Scale.ORDINAL else pl.Series([])
    unsafe = drawn_part.on(rows, criterion)["unsafe"]
    mean, share = (float(v.mean()) if len(v := part.drop_nulls().to_numpy()) else None for part in (levels, unsafe))
    return rows["subject"].n_unique(), mean, share
