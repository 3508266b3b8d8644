"""What a notebook shows of a result: a few lines in print, and the report's own tables as HTML.

The same gate stands before both as before the report: what judges say that cannot be used, or agree too little with
people, is not shown. Results that have nothing to do with judges show themselves.
"""

from __future__ import annotations

import functools
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.analysis import fitness
from mindgauge.analysis.judge_comparison.compare import JudgeComparison
from mindgauge.analysis.pairing import SystemComparison
from mindgauge.analysis.profile.records import Profile
from mindgauge.analysis.reliability.card import LIMITED, Reliability
from mindgauge.analysis.score import Scores
from mindgauge.analysis.stress.effects import Stress
from mindgauge.records import Status
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named, raised
from mindgauge.records.errors import MindgaugeError
from mindgauge.records.rounding import bounded, count, plural
from mindgauge.records.text import visible
from mindgauge.reports import cards, compared, rater_tables, reliability_gate, score_tables
from mindgauge.reports import stress as stress_tables
from mindgauge.reports.compared import RankedSystems
from mindgauge.reports.content import joined
from mindgauge.reports.profile import overview
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import ReportTable
    from mindgauge.reports.reliability_gate import ReliabilityGate

_ROWS = 50
"""Rows of a table that a notebook shows."""
_GONE = "the run is not there any more, so nobody can tell which judges may be believed; .table has all numbers"


# -- the gate ------------------------------------------------------------------------------------------------------------


def _gate(run: str) -> ReliabilityGate | None:
    """Return whose scores of a run may be shown; None where the run can no longer be read."""
    folder = Path(run)
    try:
        files = sorted(folder.glob("run.sqlite*"))
        return _gate_of(folder.resolve(), tuple((f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in files))
    except (MindgaugeError, OSError):
        return None


@functools.lru_cache(maxsize=8)
def _gate_of(folder: Path, _state: tuple[tuple[str, int, int], ...]) -> ReliabilityGate:
    """Make the cards of a run once for each state that it has been in: print and notebook both ask."""
    return reliability_gate.of_run(folder)


# -- in lines ------------------------------------------------------------------------------------------------------------


@functools.singledispatch
def summary(result: Tabular) -> Iterable[str]:
    """Return what a result prints, line by line."""
    return result.summary()


@summary.register(Scores)
def _(result: Scores) -> list[str]:
    gate = _gate(result.run)
    where = f'Run: {result.run}; mindgauge.report("{result.run}").path is the whole of it; .table has every score.'
    judged = f", rated by {named(result.judges)}" if result.judges else ""
    about = f"{result.benchmark}: {named(result.models) or 'no model'}{judged}"
    if gate is None:
        return [about, raised(_GONE)]
    leading = _shown(result, gate)
    figures = [_figure(score, gate) for score in leading]
    void = dict.fromkeys(f"no score of {score.rater}: {score.void}" for score in leading if score.void)
    return [
        about,
        *(first_of(figures, 4) or ["Nothing is rated yet, so there are no scores."]),
        *_lost(result),
        _trust(result, gate),
        *noted([*void, *([result.still_missing] if result.still_missing else []), *result.notes]),
        where,
    ]


def _shown(result: Scores, gate: ReliabilityGate) -> list[Score]:
    """Return what is looked at first: on the whole, and one measure of everybody before the next measure of anybody."""
    scores = score_tables.leading(reliability_gate.masked(result, gate))
    places = {name: place for headline in result.headlines.values() for place, name in enumerate(headline.metrics)}
    return sorted(
        scores,
        key=lambda score: (
            score.slice != "all",
            places.get(score.name, len(places)),
            bool(score.void),
            score.model not in result.models,
            score_tables.worst_first(score),
        ),
    )


def _figure(score: Score, gate: ReliabilityGate) -> str:
    """Write a score as a line, or what stands in its place."""
    number = gate.instead(
        score, None if score.value is None else bounded(score.value, score.low, score.high, score.unit)
    )
    rated = "" if score.model == score.rater else f", rated by {score.rater}"
    part = "" if score.slice == "all" else f" ({score.slice})"
    missing = f", {count(score.missing)} missing" if score.missing else ""
    return f"{score.model}: {score.title or score.name}{part} {number or 'not defined'}, n {count(score.n)}{missing}{rated}"


def _lost(result: Scores) -> list[str]:
    """Say what is missing and why: replies and ratings without a value, and benchmarks that were not run."""
    asked = {status: n for status, n in result.statuses.items() if status != Status.NOT_APPLICABLE}
    trouble = [f"{count(n)} {status}" for status, n in sorted(asked.items()) if status != Status.OK]
    lost = [f"{named(trouble)} of {count(sum(asked.values()))} replies and ratings"] if trouble else []
    lost += [f"{name} was not run" for name in result.broken]
    if not lost:
        return ["Nothing is missing." if asked else "Nothing is asked yet."]
    return [f"Missing: {'; '.join(lost)}.", *(_failure(Path(result.run)) if Status.FAILED in asked else [])]


def _failure(folder: Path) -> list[str]:
    """Say who failed most often, and why."""
    with Store(folder) as store:
        failure = store.commonest_failure()
    return [] if failure is None else [f"Failed most often: {failure.words}"]


def _trust(result: Scores, gate: ReliabilityGate) -> str:
    """Say in a line how far judges may be trusted."""
    unfit = fitness.told(result.unfit)
    if unfit:
        return unfit[0]
    limited = sorted({card.card.judge for card in gate.cards.values() if card.limited})
    if limited:
        return f"Trust: {named(limited)} agrees too little with people, who must rate: mindgauge.reliability(…)."
    judges = [judge for judge in result.judges if not judge.startswith("rule/")]
    if gate.cards:
        verdicts = sorted({f"{card.card.judge} {card.card.verdict}" for card in gate.cards.values()})
        return f"Trust, beside people: {named(verdicts)}."
    if not judges:
        return (
            "Trust: no judge has a say in these numbers." if result.metrics else "Trust: there is nothing to trust yet."
        )
    passed = sorted({f"{q.judge} {q.result}" for q in result.qualifications})
    entry = f"entry test: {named(passed)}; " if passed else ""
    return f"Trust: {entry}no person rated beside {named(judges)}, so how far to trust it is not known."


@summary.register(SystemComparison)
def _(result: SystemComparison) -> list[str]:
    fields = [field for field in _fields(result) if field.measure.slice == "all"]
    findings = [f"{field.finding()}." for field in fields if len(field.systems) > 1]
    doubtful = sorted({m.rater for m in result.measures if m.rank_systems == LIMITED})
    lacking = [f"{named(doubtful)} agrees too little with people to rank systems"] if doubtful else []
    models = [system.label for system in result.systems if not system.baseline]
    return [
        f"{named(list(dict.fromkeys(m.benchmark for m in result.measures)))}: {named(models)} on the samples that all answered",
        *(first_of(findings, 5) or ["Nothing may be compared."]),
        *noted([*lacking, *result.notes]),
        "Paired by sample, 95 % intervals, p adjusted for all pairs. .standings is who stands where, .table every difference.",
    ]


def _fields(result: SystemComparison) -> Iterator[RankedSystems]:
    """Yield the measures that benchmarks go by and that judges may rank."""
    for measure in result.measures:
        headline = measure.name in result.headlines.get(measure.benchmark, ()) and not measure.part
        if headline and measure.rank_systems != LIMITED:
            yield RankedSystems.of(result, measure)


@summary.register(Stress)
def _(result: Stress) -> list[str]:
    lost = f"{count(result.unusable)} of {plural(result.verdicts, 'verdict')} unusable"
    return [
        f"{result.judge} under stress: {result.benchmark}, {plural(result.items, 'reply', 'replies')} in {plural(result.conversations, 'conversation')}; {lost}",
        *(f"Sensitive to {what}" for what in first_of(stress_tables.sensitive(result), 4)),
        stress_tables.line(result).rpartition("; ")[2]
        if stress_tables.sensitive(result)
        else stress_tables.line(result),
        *noted(result.notes),
        f"Read on: {Path(result.run) / stress_tables.PAGE}; .table has every effect.",
    ]


# -- as HTML -------------------------------------------------------------------------------------------------------------


def page(result: Tabular) -> str:
    """Return what a notebook shows of a result: the report's own tables, or else the table that it is."""
    tables = list(sheets(result))
    if not tables:
        return f"{_lines(str(result))}{'' if isinstance(result, _SHEETED) else result.table._repr_html_()}"
    gate = _gate(result.run) if isinstance(result, Scores) else None
    foot = [*_lost(result), _trust(result, gate)] if isinstance(result, Scores) and gate is not None else []
    head = next(iter(str(result).splitlines()))
    return "".join([_lines(head), *map(_table, tables), *([_lines("\n".join(foot))] if foot else [])])


@functools.singledispatch
def sheets(result: Tabular) -> Iterable[ReportTable]:  # noqa: ARG001 - whatever it is
    """Return the tables that the report has of a result; none where it has none."""
    return ()


@sheets.register(Scores)
def _(result: Scores) -> Iterator[ReportTable]:
    gate = _gate(result.run)
    if gate is None:
        return
    allowed = reliability_gate.masked(result, gate)
    if (drawn := score_tables.of_frames(result.frames)) is not None:
        yield drawn
    yield from score_tables.headlines(allowed, gate)
    worst = score_tables.worst_cells(allowed, gate)
    if worst is not None:
        yield worst
    yield from score_tables.labels(allowed)


@sheets.register(SystemComparison)
def _(result: SystemComparison) -> Iterator[ReportTable]:
    fields = [field for field in _fields(result) if field.measure.slice == "all"]
    for field in fields:
        yield compared.standings("", raised(compared.of(field.measure)), field, field.places({}, shown=False))
    if fields:
        yield compared.pairs("", "Every two systems, paired", fields)


@sheets.register(Reliability)
def _(result: Reliability) -> Iterator[ReportTable]:
    if result.cards:
        yield from cards.sheets([(card.judge, card.criterion, card) for card in result.cards], set(), "")


@sheets.register(Profile)
def _(result: Profile) -> Iterator[ReportTable]:
    labels = {model: model for model in result.models}
    yield overview.dimensions(result.dimensions, {task.task: task.title for task in result.tasks}, labels)
    yield overview.tasks(result.tasks, "", "tasks", labels)


@sheets.register(JudgeComparison)
def _(result: JudgeComparison) -> list[ReportTable]:
    return rater_tables.sheets(result)


@sheets.register(Stress)
def _(result: Stress) -> list[ReportTable]:
    return stress_tables.sheets(result)


_SHEETED = (Scores, SystemComparison, Stress, JudgeComparison)
"""Results of judges' words: where the report shows no table of them, nor does a notebook."""


def _table(sheet: ReportTable) -> str:
    """Write a table of the report as HTML that is safe whatever the cells say."""
    names, rows = joined(sheet)
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows[:_ROWS])
    more = f"<p>{count(len(rows) - _ROWS)} rows more</p>" if len(rows) > _ROWS else ""
    caption = f"<caption style='text-align:left'>{_text(sheet.title)}</caption>" if sheet.title else ""
    note = f"<p><small>{_text(sheet.note)}</small></p>" if sheet.note else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{note}"


def _lines(text: str) -> str:
    return f"<p>{'<br>'.join(_text(line) for line in text.splitlines())}</p>"


def _text(text: str) -> str:
    return escape(visible(text))
