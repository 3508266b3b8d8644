"""Where it is weak: every category as dots with intervals, worst first; yes-or-no criteria, gates first, then support, then harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from mindgauge.analysis.reasoned import CRITERION, GIVEN, PAIRS, criteria
from mindgauge.analysis.reliability.card import LIMITED
from mindgauge.benchmarks.metrics import SHARES_OF_YES, mean_level
from mindgauge.benchmarks.metrics.metric_sentences import FEW, SMALL, ShareFigure
from mindgauge.records.english import named, words
from mindgauge.records.rounding import bounded, count, counts, decimal, percent, plural
from mindgauge.records.rubric.composite import NO, YES
from mindgauge.reports import closed_answers, content, reliability_gate, responsible
from mindgauge.reports.closed_answers import confusions
from mindgauge.reports.content import REPLIES, Column, Dot, Figure, ReportTable, heads, slug
from mindgauge.reports.reliability_gate import DOUBT
from mindgauge.reports.runs import RULE, scores_of
from mindgauge.reports.runs import names as short_names
from mindgauge.reports.sections import Weak

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import Cell, Rated, System
    from mindgauge.reports.reliability_gate import RunCard
    from mindgauge.reports.runs import OpenRun, Section

    Found = Sequence[tuple[System, Score]]
    from collections.abc import Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import System


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
    followed = closed_answers.flows(runs, systems)
    decisions = closed_answers.decisions(runs, followed)
    return Weak(
        drawn, _withheld(runs), followed, decisions, confused, cited, note, _rules(runs, systems), _all(runs, systems),
        [*sentences(runs, systems), *responsible.sentences(runs, systems)],
        [*tables(runs, systems), *responsible.tables(runs, systems)],
        responsible.table(runs, systems), responsible.unmeasured(runs),
    )  # fmt: skip


def _closed(section: Section, scores: list[tuple[System, Score]]) -> Iterator[Figure]:
    """Draw each metric that says how: what stands open first."""
    pictures = {metric.name: metric.words.picture for metric in section.benchmark.metrics if metric.words.picture}
    for name, picture in sorted(pictures.items(), key=lambda item: bool(item[1].folded)):
        drawn = [(system, s) for system, s in scores if s.name == name and not s.slice.startswith("selection=")]
        figure = of_shares(section.benchmark.name, drawn, picture)
        if figure is not None:
            yield figure


def _open(name: str, scores: list[tuple[System, Score]], section: Section, runs: Sequence[OpenRun]) -> Iterator[Figure]:
    raters = dict.fromkeys(r for run in runs for s in run.sections if s.benchmark.name == name for r, _ in s.judges())
    shown_as = short_names(runs)
    for criterion, levels in section.ordinal.items():
        first = ""
        for rater in raters:
            rater_scores = [
                (system, s) for system, s in scores
                if (s.name, s.criterion, s.rater) == (mean_level.name, criterion, rater) and not s.slice.startswith("selection=")
            ]  # fmt: skip
            worst, best = levels.worst_first[0], levels.worst_first[-1]
            low, high = sorted(map(float, (worst, best)))
            measure = f"Mean {words(criterion)} by {shown_as.get(rater, rater)}, from {worst} (worst) to {best} (best)"
            figure = of_levels(name, rater_scores, f"{criterion}-{rater}", measure, low, high, section.noun(criterion))
            if figure is not None:
                _marked(figure, rater_scores, runs)
                figure.folded = f"The same, as rated by {rater}" if first else ""
                first = first or rater
                yield figure
    first = ""
    for rater in raters:
        for figure in of_yes_no(section, scores, rater):
            _marked(
                figure, [(system, s) for system, s in scores if s.rater == rater and s.criterion in figure.rows], runs
            )
            figure.folded = f"{figure.finding}, as rated by {rater}" if first not in {"", rater} else ""
            first = first or rater
            yield figure


def _marked(figure: Figure, scores: Sequence[tuple[System, Score]], runs: Sequence[OpenRun]) -> None:
    """Say of a figure that people must rate what it shows, or that nobody can tell how far its judge can be trusted."""
    if any(runs[system.run].standings.limited(s) for system, s in scores):
        doubt(figure)
    elif any(runs[system.run].standings.not_estimable(s) for system, s in scores):
        unsure(figure)


def _withheld(runs: Sequence[OpenRun]) -> list[str]:
    """Name whose scores are not drawn here."""
    hidden: dict[str, list[RunCard]] = {}
    for run in runs:
        for standing in run.standings.cards.values():
            if standing.limited and not run.standings.shown:
                hidden.setdefault(standing.card.judge, []).append(standing)
    return list(reliability_gate.not_drawn(hidden))


def _rules(runs: Sequence[OpenRun], systems: Sequence[System]) -> ReportTable | None:
    """Count how often each rule found what it looks for."""
    rows: list[list[Cell]] = []
    counted = [
        [
            section.ratings.lazy().filter(pl.col("rater_kind") == RULE, pl.col("status") == "ok")
            .group_by("model", "rater").agg(yes=(pl.col("value") == "yes").sum(), n=pl.len()).sort("model", "rater").collect()
            for section in run.sections
        ]
        for run in runs
    ]  # fmt: skip
    for system in systems:
        for section_rows in counted[system.run]:
            own = section_rows.filter(pl.col("model") == system.model).drop("model")
            rows += [[rater, system.label, n_yes, n, n_yes / n] for rater, n_yes, n in own.iter_rows()]
    columns = heads("rule | model | found:count | replies:count")
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
            *([card.card.verdict if (card := run.standings.of(score)) is not None else ""] if carded else []),
        ]
        for number, run in enumerate(runs)
        for score in run.scores.metrics
    ]  # fmt: skip
    columns = [Column("model"), *map(Column, names), *([Column("reliability")] if carded else [])]
    return ReportTable("scores", "Every score", columns, rows)


def _opens(system: System, score: Score) -> str:
    """Return which lines of the reader a score is about: a model's on a part of a benchmark, judged or not by somebody."""
    judged = {} if score.rater == score.model else {"criterion": score.criterion, "by": score.rater}
    return content.of_slice(score.slice, system=system.label, benchmark=score.benchmark, **judged)


_Kind: TypeAlias = tuple[str, list[str], bool | None]
"""Criteria that stand in one picture: the name, the criteria, and whether yes is the better answer."""


def of_yes_no(section: Section, scores: Found, rater: str) -> Iterator[Figure]:
    """Draw the shares of yes that a rater gave, on all replies, in up to three pictures."""
    own_scores = [
        (system, s)
        for system, s in scores
        if s.rater == rater and s.slice == "all" and s.name in SHARES_OF_YES and s.value is not None and s.missing < s.n
    ]
    for kind in _kinds(section):
        of_kind = [(system, s) for system, s in own_scores if s.criterion in kind[1]]
        for noun in dict.fromkeys(section.noun(s.criterion) for _, s in of_kind):
            yield _yes_figure(
                section, kind, [(system, s) for system, s in of_kind if section.noun(s.criterion) == noun], rater
            )


def _kinds(section: Section) -> Iterator[_Kind]:
    criteria = section.criteria
    binary = {name: c.worst_first for name, c in criteria.items() if set(c.values) == {YES, NO}}
    gates = [name for name, composite in section.benchmark.composites.items() if composite.gate and name in binary]
    rest = [name for name in binary if name not in section.benchmark.composites]
    yield "gates", gates, None
    yield "yes is better", [name for name in rest if binary[name][-1] == YES], True
    yield "yes is worse", [name for name in rest if binary[name][0] == YES], False


def _yes_figure(section: Section, kind: _Kind, scores: Found, rater: str) -> Figure:
    benchmark, noun = section.benchmark.name, section.noun(scores[0][1].criterion)
    name, criteria, better = kind
    dots = [
        Dot(system, s.criterion, s.value or 0.0, s.low, s.high, s.subjects, s.clusters, s.missing, _opens(system, s))
        for system, s in scores
    ]
    rows = _yes_rows(criteria, dots, better=better)
    finding = _yes_finding(dots, rows, noun, better=better)
    columns = heads(
        f"criterion | model | yes:share± | n:count | {noun.cluster}s:count | missing:count | "
        "if all missing worst:share | if all missing best:share"
    )
    n = f"n {counts(dot.n for dot in dots)}"
    direction = {True: "; more is better", False: "; fewer is better", None: ""}[better]
    measure = f"Share of the {noun.many} of which {rater} said yes{direction}. Lines are exact 95 % intervals over {noun.cluster}s; {n}."
    ident = slug(benchmark, name, f"{rater}{noun.aside}")
    tabled = [(s.criterion, system, s) for row in rows for system, s in scores if s.criterion == row]
    return Figure(
        f"figure-{ident}", benchmark, finding, measure, "share", 0.0, 1.0, rows, dots, _table(ident, finding, columns, tabled)
    )  # fmt: skip


def _table(ident: str, finding: str, columns: list[Column], scores: Sequence[tuple[str, System, Score]]) -> ReportTable:
    """Tabulate scores: the name of each one's row, whose it is, and its numbers."""
    rows: list[list[Cell]] = [
        [words(row), system.label, s.value, s.low, s.high, s.subjects, s.clusters, s.missing, s.worst, s.best]
        for row, system, s in scores
    ]
    return ReportTable(ident, finding, columns, rows, opens=[_opens(system, s) for _, system, s in scores])


def _yes_rows(criteria: Sequence[str], dots: Sequence[Dot], *, better: bool | None) -> list[str]:
    """Order gates as the benchmark has them, other criteria worst first."""
    by_row = {name: [dot.value for dot in dots if dot.row == name] for name in criteria}
    by_row = {name: values for name, values in by_row.items() if values}
    if better is None:
        return list(by_row)
    return sorted(by_row, key=lambda name: (min(by_row[name]) if better else -max(by_row[name]), name))


def _yes_finding(dots: Sequence[Dot], rows: Sequence[str], noun: Rated, *, better: bool | None) -> str:
    """Name the worst: of gates each model's share of the last, which sums up the others."""
    if better is None:
        last = [dot for dot in dots if dot.row == rows[-1]]
        shares = [f"{percent(dot.value)} of {dot.system.label}'s {noun.counted(dot.n)}" for dot in last]
        return f"Called {words(rows[-1])}: {named(shares, limit=4)}"
    edge = (min if better else max)(dot.value for dot in dots)
    if not better and edge == 0:
        high = max((dot.high for dot in dots if dot.high is not None), default=None)
        return f"None of {plural(len(rows), 'kind')} of harm was found; of each, it could still be as many as {percent(high)}"
    worst = [dot for dot in dots if dot.value == edge]
    return f"{'Least often there' if better else 'Found most often'}: {_worst(worst, dots, percent(edge))}"


def _worst(worst: Sequence[Dot], dots: Sequence[Dot], value: str) -> str:
    """Name the rows of the worst dots, their value, and whose they are where several systems are compared."""
    names = named([words(name) for name in dict.fromkeys(dot.row for dot in worst)])
    models = list(dict.fromkeys(dot.system.label for dot in worst))
    compared = len({dot.system.label for dot in dots}) > 1
    source = f", {models[0]}" if compared and len(models) == 1 else f", {len(models)} models" if compared else ""
    return f"{names} ({value}{source}, n {counts(dot.n for dot in worst)})"


_CLASS = ("category", "label")


def of_shares(benchmark: str, scores: Sequence[tuple[System, Score]], picture: ShareFigure) -> Figure | None:
    """Build the figure of a share, part by part; None where fewer than two rows have a value."""
    figure = _figure(benchmark, scores, picture, "share", (0.0, 1.0))
    if figure is not None:
        figure.folded = picture.folded
    return figure


def of_levels(
    benchmark: str,
    scores: Sequence[tuple[System, Score]],
    name: str,
    measure: str,
    low: float,
    high: float,
    noun: Rated = REPLIES,
) -> Figure | None:
    """Build the figure of mean levels on a scale, part by part; None where fewer than two rows have a value."""
    return _figure(benchmark, scores, ShareFigure(name, measure, "Rated worst", ""), "level", (low, high), noun)


def _figure(
    benchmark: str, scores: Sequence[tuple[System, Score]], picture: ShareFigure, unit: Literal["share", "level"],
    ends: tuple[float, float], noun: Rated = REPLIES,
) -> Figure | None:  # fmt: skip
    """Build a figure of shares or levels, whose axis goes from one end to the other."""
    rows = _rows([s for _, s in scores])
    small_rows = _few([s for _, s in scores], rows) if picture.unranked else []
    rows = [*(row for row in rows if row not in small_rows), *small_rows]
    dots = [
        Dot(system, s.slice, s.value, *_drawn(s, unit), s.subjects, s.clusters, s.missing, _opens(system, s))
        for system, s in scores
        if s.value is not None and s.missing < s.n and s.slice in rows
    ]
    if len(rows) < 2 or not dots:
        return None
    columns = heads(
        f"part | model | value:{unit}± | n:count | {noun.cluster}s:count | missing:count | if all worst:{unit} | "
        f"if all best:{unit}"
    )
    ident = slug(benchmark, picture.name)
    tabled = [(s.slice, system, s) for row in rows for system, s in scores if s.slice == row]
    lower = any(s.better == "lower" for _, s in scores)
    finding = _finding([d for d in dots if d.row not in small_rows] or dots, unit, picture, lower=lower)
    if small_rows and len(small_rows) == len(rows):
        finding += "; too few messages of each class to rank them"
    return Figure(
        f"figure-{ident}", benchmark, finding, _subtitle(picture.measure, dots, small_rows, noun), unit, *ends, rows, dots,
        _table(ident, finding, columns, tabled), few=small_rows,
    )  # fmt: skip


def _few(scores: Sequence[Score], rows: Sequence[str]) -> list[str]:
    """Return the rows with too few conversations to be ranked, whoever was asked."""
    largest = {row: max((s.clusters for s in scores if s.slice == row), default=0) for row in rows}
    return [row for row in rows if largest[row] < SMALL]


def doubt(figure: Figure) -> None:
    """Mark a figure of scores that are shown though people must rate."""
    figure.finding = figure.sheet.title = f"Unreliable: {figure.finding}"
    figure.sheet.note = f"Unreliable. {LIMITED.capitalize()}; see how far to trust it."
    figure.sheet.name += "-unreliable"


def unsure(figure: Figure) -> None:
    """Say in the title of a figure that nobody can tell how far its judge can be trusted."""
    figure.finding = figure.sheet.title = f"{figure.finding}; {DOUBT}"


def _drawn(score: Score, unit: str) -> tuple[float | None, float | None]:
    """Return the interval to draw: a bootstrap over a handful of conversations is none."""
    if unit == "level" and (score.clusters < FEW or score.low == score.high):
        return None, None
    return score.low, score.high


def _subtitle(measure: str, dots: Sequence[Dot], small_rows: Sequence[str], noun: Rated) -> str:
    hollow = (
        f"; hollow dots have too few {noun.cluster}s, or too little variation, for one"
        if any(d.thin for d in dots)
        else ""
    )
    n = f"n {counts(d.n for d in dots)}"
    n += noun.aside
    if small_rows:
        n += f", counting answers; classes with fewer than {SMALL} messages are not ranked and stand last"
    parts = _parts(dots)
    if not small_rows and len({d.clusters >= FEW for d in parts}) > 1:
        n += f"; the title leaves out parts with fewer than {FEW} {noun.cluster}s"
    return f"{measure}. Lines are 95 % intervals over {noun.cluster}s{hollow}; {n}."


def _parts(dots: Sequence[Dot]) -> list[Dot]:
    """Return the cells that a finding may name: classes where there are any, else the other parts."""
    parts = [d for d in dots if "=" in d.row]
    return [d for d in parts if d.row.partition("=")[0] in _CLASS] or parts


def _rows(scores: Sequence[Score]) -> list[str]:
    """Order slices: classes worst first, then other tags with more than one value, then groups, then the whole."""
    worst: dict[str, float] = {}
    for s in scores:
        if s.value is not None and s.missing < s.n:
            value = -s.value if s.better == "lower" else s.value
            worst[s.slice] = min(worst.get(s.slice, value), value)
    tags = [row.partition("=")[0] for row in worst if "=" in row]

    def place(row: str) -> tuple[int, str, float, str]:
        tag, equals, _ = row.partition("=")
        kind = 0 if tag in _CLASS else 1 if equals else 3 if row == "all" else 2
        return kind, tag if kind == 1 else "", worst[row], row

    rows = [row for row in worst if "=" not in row or tags.count(row.partition("=")[0]) > 1]
    return sorted(rows, key=place) if any("=" in row for row in rows) else []


def _finding(dots: Sequence[Dot], unit: str, picture: ShareFigure, *, lower: bool) -> str:
    """Name the worst cell: among those with enough conversations, if there are any; with `lower`, less is better."""
    parts = _parts(dots)
    solid = [d for d in parts if d.clusters >= FEW] or parts
    edge = (max if lower else min)(d.value for d in solid)
    worst = [d for d in solid if d.value == edge]
    edge_text = percent(edge) if unit == "share" else decimal(edge, 1)
    rows = list(dict.fromkeys(d.row for d in worst))
    value = f"{edge_text} {picture.done}" if picture.done else f"mean {edge_text}"
    if len(rows) == len({d.row for d in solid}) and len(rows) > 1:
        return f"No part stands out: {value} throughout"
    return f"{picture.worst}: {_worst(worst, dots, value)}"


NOTE = (
    "A judge rated the reply and the model's reasoning apart, each by the rubric's unsafe levels. Shares are of the replies with "
    "both verdicts. Missing are those where one of the two could not be had."
)


def sentences(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[str]:
    """Say how often each model's reply is safe after unsafe reasoning, and unsafe after safe; nothing where no judge rated both."""
    return [line for place in _of(runs, systems) for line in _said(*place)]


def _said(run: OpenRun, section: Section, system: System, rater: str, scores: dict[str, Score]) -> Iterator[str]:
    start = f"{system.label}, {section.benchmark.name}, rated by {rater}: "
    reason = _without_both(run, section, rater, scores)
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
        reason = _without_both(run, section, rater, scores)
        for reasoning, reply in PAIRS:
            score = scores[f"{reply}_after_{reasoning}"]
            n = score.n - score.missing
            figures: list[Cell] = [round((score.value or 0) * n), score.value, score.low, score.high]
            cells = [LIMITED, None, None, None] if reason else figures
            rows.append([system.label, section.benchmark.name, rater, reasoning, reply, *cells, n, score.missing])
    columns = heads(
        "model | benchmark | rated by | reasoning | reply | replies:count | share:share± | of:count | missing:count"
    )
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


def _without_both(run: OpenRun, section: Section, rater: str, scores: dict[str, Score]) -> str:
    """Say why figures may not be shown: a judge that cannot be used, or that agrees too little with people on a part."""
    void = next((score.void for score in scores.values() if score.void), "")
    names = [criterion.name for side in (False, True) for criterion in criteria(section.benchmark, of_reasoning=side)]
    cards = [run.standings.cards.get((section.benchmark.name, name, rater)) for name in names]
    limited = not run.standings.shown and any(card is not None and card.limited for card in cards)
    return void or LIMITED * limited
