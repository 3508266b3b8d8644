"""What people must read to find what they call unsafe: curves of each judge, of the jury, and of what people taught.

The figures are those of `mindgauge judges escalation`, of the orders that a reader has a choice of, with fewer resamples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.escalation import orders, subjects
from mindgauge.analysis.escalation.orders import ReadingEffort, bound, first
from mindgauge.analysis.escalation.result import Promise, guarantees, level_sets, said_of_carrier
from mindgauge.records.english import ended, named, raised, words
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.rounding import count, decimal, interval, percent, plural, precise
from mindgauge.records.rubric.criterion import numbered, rising
from mindgauge.records.shell import command_line
from mindgauge.reports.content import Column, ReportTable, heads, slug
from mindgauge.reports.runs import MODEL, PERSON
from mindgauge.reports.sections import Curve, Escalated
from mindgauge.stats import escalation
from mindgauge.stats.conformal import LEVEL
from mindgauge.stats.escalation import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.orders import LearnedFeatures
    from mindgauge.analysis.escalation.result import Escalation, LevelSet, Order
    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

    Floats = NDArray[np.float64]
    from collections.abc import Iterator

    from mindgauge.analysis.escalation.subjects import Subjects, UnsafeOn
    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.reports.content import Cell


_READ = (10, 20, 30, 40, 50)
_SHARES = "Shares are of all replies that people rated."


def _between(bound: Bound) -> str:
    if bound.low is None or bound.high is None:
        return "no interval"
    return f"95 % interval {interval(bound.low, bound.high, 'precise')}"


def finding(learned: Curve) -> str:
    """Say what people must read, in the order that is learned from all there is."""
    return (
        f"To find {percent(TARGET)} of the replies that people call unsafe, people would have to read "
        f"{precise(learned.reads.value)} of all ({_between(learned.reads)})"
    )


def measure(rated: Subjects, needed: int) -> str:
    """Say what is drawn, of how many replies, and what is unsafe."""
    bad = int((rated.unsafe == 1).sum())
    return (
        f"Share of the unsafe replies that is found, by the share of all that is read, the riskiest first. n {count(len(rated.ids))} replies in "
        f"{plural(int(rated.cluster.max()) + 1, 'conversation')}, rated by {named(rated.people)}; {count(bad)} are unsafe: together they said "
        f"{_in_words(rated.rule)} (the median of their values; of two, the mean). The full line is at {percent(TARGET)}, {count(needed)} of these."
    )


def _in_words(rule: UnsafeOn) -> str:
    """Name the unsafe levels: of an order the limit and its side."""
    limit, levels = rule.unsafe.limit, [str(level) for level in rule.unsafe.levels(rule.scale)]
    if limit is None or len(levels) == 1:
        return f"{words(rule.criterion)}: {named(levels, 'or', limit=9)}"
    return f"{words(rule.criterion)} {rule.scale.word(limit)} or {'higher' if rule.unsafe.falling else 'lower'}"


def said(rated: Subjects, drawn: Sequence[Curve], needed: int, judges: int) -> list[str]:
    """Say what each order reads."""
    learned, best = drawn[0], drawn[-1]
    jury_part = "".join(
        f"{precise(c.reads.value)} in the order of the judges' mean ({_between(c.reads)}), "
        for c in drawn
        if c.kind == "jury"
    )
    chosen = ", the best of them on these very replies, which flatters it" if judges > 1 else ""
    order = f"{precise(learned.reads.value)} is in the order {learned.name}, each reply placed by what people said of other conversations."
    others = f"It is {jury_part}{precise(best.reads.value)} in that of {best.name}{chosen} ({_between(best.reads)})."
    return [order, f"{others} Without any error it would be {precise(needed / len(rated.ids))}."]


def notes(
    rated: Subjects, drawn: Sequence[Curve], strangers: float | None, left_out: int, needed: int
) -> Iterator[str]:
    """Say what the orders rest on, and where they mislead."""
    learned, fallback = drawn[0], drawn[1]
    fallback_name = "the judges' mean" if fallback.kind == "jury" else fallback.name
    if strangers is not None and fallback.reads.value is not None and strangers > fallback.reads.value:
        yield (
            f"For a model of which people have rated nothing, {precise(strangers)} would be read in the learned order, more than in that of {fallback_name} "
            f"({precise(fallback.reads.value)}): use it only for models that people have rated."
        )
    value, low, high = learned.reads.value, learned.reads.low, learned.reads.high
    if value is not None and low is not None and high is not None and not low <= value <= high:
        yield (
            "Many replies look alike to the learned order, and such ties are put in a bad order: its share is too high."
        )
    rest = int((rated.unsafe == 1).sum()) - needed
    if rest:
        yield f"{plural(rest, 'unsafe reply', 'unsafe replies')} would stay unread."
    if carrier := said_of_carrier(
        {m: int((rated.unsafe[rated.system == m] == 1).sum()) for m in np.unique(rated.system).tolist() if m}
    ):
        yield ended(raised(carrier))
    if rated.selection:
        yield f"These replies were chosen for people ({rated.selection}), so this says little of replies that were not."
    if left_out:
        verb = "has no value" if left_out == 1 else "have no value"
        yield f"{plural(left_out, 'more reply', 'more replies')} {verb} by any of the people, or cannot be rated on this, and {'is' if left_out == 1 else 'are'} left out."
    missing = {j: int((~np.isfinite(risk)).sum()) for j, risk in rated.judges.items()}
    if any(missing.values()):
        lack = named([f"{j} {count(n)}" for j, n in missing.items() if n], limit=9)
        yield f"Replies without a verdict are read first; of {count(len(rated.ids))}, verdicts lack: {lack}."
    yield from (ended(f"{note[:1].upper()}{note[1:]}") for note in rated.notes)


ORDERS = heads("read in the order of | kind | must read:precise±")
"""What every table says of an order of reading; see `_orders`."""


def _orders(orders: Iterable[Curve | Order], ideal: float) -> list[list[Cell]]:
    """Write what is read in each order, and last in one without error."""
    rows: list[list[Cell]] = [[o.name, o.kind, o.reads.value, o.reads.low, o.reads.high] for o in orders]
    return [*rows, ["without error", "ideal", ideal, None, None]]


def sheet(ident: str, finding: str, curves: Sequence[Curve], ideal: float, n: int, bad: int) -> ReportTable:
    """Tabulate the orders, those that are not drawn, too, with what is found on the way."""
    columns = [*ORDERS, Column("replies", "count"), *(Column(f"found at {read} % read", "share") for read in _READ)]
    shares: list[list[Cell]] = [[n, *(c.found[read] for read in _READ)] for c in curves]
    shares.append([n, *(min(1.0, read / 100 * n / bad) for read in _READ)])
    rows = [[*row, *found] for row, found in zip(_orders(curves, ideal), shares, strict=True)]
    return ReportTable(f"escalation-{ident}", finding, columns, rows, _SHARES)


def of_orders(result: Escalation) -> list[ReportTable]:
    """Tabulate what a command found: the orders beside the jury's, other targets, and models not learned from."""
    columns = [
        *ORDERS, *heads("minus jury:points | minus jury from:points | minus jury to:points | missing:count"),
    ]  # fmt: skip
    beside: list[list[Cell]] = [
        [order.minus_jury.value, order.minus_jury.low, order.minus_jury.high, order.missing] for order in result.orders
    ]
    beside.append([None, None, None, None])
    rows = [[*row, *cells] for row, cells in zip(_orders(result.orders, result.ideal), beside, strict=True)]
    tables = [ReportTable("escalation", "Orders of reading", columns, rows, _SHARES), _by_target(result)]
    # The sets of the jury, of one judge that judge's: the others are in the JSON and on the page.
    judges = list(dict.fromkeys(level_set.judge for level_set in result.sets))
    jury_sets = [level_set for level_set in result.sets if level_set.judge == judges[-1]]
    tables += [_unseen(result), by_model(result), guaranteed(result), sets("", jury_sets, LEVEL)]
    return [table for table in tables if table.rows]


def _by_target(result: Escalation) -> ReportTable:
    targets = list(result.orders[0].reads_for)
    columns = [
        Column("read in the order of"), *(Column(percent(float(target)), "precise") for target in targets),
        *heads("a threshold reads:precise | and finds:precise"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [order.name, *(order.reads_for[target] for target in targets), order.threshold_reads, order.threshold_finds]
        for order in result.orders
    ]
    title = "Must read, by the share of the unsafe to be found"
    return ReportTable("escalation-targets", title, columns, rows, "A threshold is set on other conversations.")


def _unseen(result: Escalation) -> ReportTable:
    columns = heads("read in the order of | must read:precise±")
    rows: list[list[Cell]] = [
        [order.name, order.unseen.value, order.unseen.low, order.unseen.high]
        for order in result.orders
        if order.kind == "fitted" and order.unseen.value is not None
    ]
    return ReportTable("escalation-unseen", "Must read, of a model from which nothing was learned", columns, rows)


def promises(rated: Subjects, bad: NDArray[np.bool_], jury: Floats | None) -> Iterator[str]:
    """Say what must be read in the order of the judges' mean with a guarantee, and what may pass; or why nothing can be said."""
    if jury is None:
        name, jury = next((judge, first(risk)) for judge, risk in rated.judges.items())
    else:
        name = "the judges' mean"
    promise = Promise(TARGET)
    finds, passes = guarantees(jury, bad, rated.cluster, promise, rated.weight)
    sure = f"with {percent(promise.confidence)} confidence"
    if finds.reads is None:
        yield f"That at least {percent(TARGET)} of the unsafe replies are found {sure} cannot be promised of any share: {finds.note}."
    else:
        yield f"To find at least {percent(TARGET)} of the unsafe replies {sure}, {precise(finds.reads)} must be read in the order of {name}."
    if passes.reads is None:
        yield f"What may pass unread {sure} with at most {percent(promise.tolerated)} unsafe among it cannot be said: {passes.note}."
    else:
        yield f"Of all, {precise(1 - passes.reads)} may pass unread in that order with at most {percent(promise.tolerated)} unsafe among it, {sure}."


RESAMPLES = 200
MOST = 2000
"""Replies rated by people of which a report works out the curves: a learned order is learned anew in every resample."""
FEW = 5
"""Conversations with something unsafe that it takes to learn from."""
_PARTS = {orders.JUDGES: "the judges", orders.LENGTH: "the replies' length", orders.CATEGORY: "their category"}


def reading_orders(
    runs: Sequence[OpenRun], judges: Mapping[tuple[int, str], System]
) -> tuple[list[Escalated], list[str]]:
    """Return the curves of every benchmark that people and judges rated, and a sentence for each that has none."""
    escalated, notes = [], []
    for number, run in enumerate(runs):
        for section in (s for s in run.sections if not s.benchmark.closed):
            rated = _rated_by(section, PERSON) & _rated_by(section, MODEL)
            if not rated:
                continue
            drawn = _escalated(run, number, section, unsafe(section.benchmark, rated), judges)
            if isinstance(drawn, Escalated) and len(runs) > 1:
                drawn.run = run.folder.resolve().name
            if isinstance(drawn, str):
                notes.append(drawn)
            else:
                escalated.append(drawn)
    return escalated, notes


def unsafe(benchmark: Benchmark, rated: set[str]) -> str:
    """Return what is unsafe by the benchmark's own word, as `judges escalation` takes it; empty where it is no one criterion.

    That is the worst of its last gate that was rated, which sums up the others, or the unsafe levels of its only criterion
    that has some.
    """
    from mindgauge.analysis import frame

    rated_criteria = {name: c for name, c in frame.criteria(benchmark).items() if name in rated and c.unsafe}
    gates = [name for name, composite in benchmark.composites.items() if composite.gate and name in rated_criteria]
    wanted = gates[-1:] or list(rated_criteria)
    if len(wanted) != 1:
        return ""
    criterion = rated_criteria[wanted[0]]
    if numbered(criterion) and rising(criterion):
        return f"{criterion.name}<={criterion.unsafe[-1]}"
    return f"{criterion.name}={','.join(map(str, criterion.unsafe))}"


def _rated_by(section: Section, kind: str) -> set[str]:
    valued = section.ratings.lazy().filter(pl.col("rater_kind") == kind, pl.col("status") == "ok")
    return set(valued.select("criterion").unique().collect()["criterion"])


def _fixed(reading: ReadingEffort, name: str, kind: str, risk: Floats, judge: System | None = None) -> Curve:
    """Return the curve of an order in which nothing is learned."""
    risk = first(risk)
    reads = bound(reading.effort(risk), reading.resampled(risk))
    return Curve(name, kind, judge, reads, reading.found(risk))


def _learned(reading: ReadingEffort, features: LearnedFeatures) -> Curve:
    """Return the curve of an order that is learned on other conversations, anew in every resample."""
    risk = reading.learned(features)
    parts = named([_PARTS.get(part, part) for part in features.parts], limit=9)
    reads = bound(reading.effort(risk), reading.relearned(features))
    return Curve(f"learned from {parts}", "fitted", None, reads, reading.found(risk))


def _escalated(
    run: OpenRun, number: int, section: Section, rule: str, judges: Mapping[tuple[int, str], System]
) -> Escalated | str:
    """Return the curves, or a sentence that says why there are none."""
    name = section.benchmark.name
    hint = f"“{command_line('judges', 'escalation', run.folder, '--unsafe', rule or 'CRITERION<=LEVEL')}”"
    if not rule:
        return f"The rubric of {name} does not say what is unsafe, or several of its criteria do; how much people must read to find it is computed by {hint}."
    try:
        rated = subjects.read(run.store, section.benchmark, rule)
    except (DataError, UsageError) as error:
        return f"How much people must read on {name} is not known: {ended(str(error))}"
    left_out = int((rated.asked & ~rated.labelled).sum())
    rated = rated.some(rated.labelled)
    bad = rated.unsafe == 1
    risky = len(np.unique(rated.cluster[bad]))
    if risky < FEW or bad.all():
        return (
            f"On {name}, people call {count(int(bad.sum()))} of {plural(len(bad), 'reply', 'replies')} unsafe ({rule}), in "
            f"{plural(risky, 'conversation')}; how much they must read to find those can be said with at least {FEW}, and safe ones."
        )
    if len(bad) > MOST:
        return f"How much of {count(len(bad))} replies to {name} people must read takes long to compute; run {hint}."
    reading = ReadingEffort(rated, resamples=RESAMPLES)
    single = [_fixed(reading, j, "judge", risk, judges.get((number, j))) for j, risk in rated.judges.items()]
    risks = orders.juries(rated.judges)
    jury_risk = risks.get(orders.JURY)
    judge_sets = level_sets(rated, rated.judges | ({orders.JURY: jury_risk} if jury_risk is not None else {}))
    jury = _fixed(reading, "mean of all judges", "jury", risks[orders.JURY]) if risks else None
    all_features = orders.everything(rated)
    learned = _learned(reading, all_features)
    # What is read where nothing is learned from the model that wrote the reply; None where there is one model.
    separate = reading.learned(all_features, separate=reading.system) if reading.system.max() else None
    strangers = None if separate is None else reading.effort(separate)
    best = min(single, key=lambda curve: (curve.reads.value if curve.reads.value is not None else math.inf, curve.name))
    curves = [learned, *([jury] if jury else []), *single]
    drawn = [learned, *([jury] if jury else []), best]
    needed = math.ceil(escalation.TARGET * bad.sum() - 1e-9)
    remarks = [
        *promises(rated, bad, jury_risk),
        *notes(rated, drawn, strangers, left_out, needed),
        f"Intervals are over conversations, with {RESAMPLES} resamples; {hint} uses more, and reports more orders.",
    ]
    ident = slug(name, number)
    title = finding(learned)
    return Escalated(
        f"escalated-{ident}", "", name, rule, title, measure(rated, needed), said(rated, drawn, needed, len(single)), remarks,
        escalation.TARGET, len(bad),
        int(bad.sum()), needed / len(bad), drawn, sheet(ident, title, curves, needed / len(bad), len(bad), int(bad.sum())),
        sets(f"-{ident}", judge_sets, LEVEL), widest(judge_sets),
    )  # fmt: skip


_GROUPS = {"all": "all replies", "level": "where it says", "category": "category"}


def guaranteed(result: Escalation) -> ReportTable:
    """Tabulate what must be read to find enough with a confidence, and what may pass with little that is unsafe in it."""
    sure = f"with {percent(result.confidence)} confidence"
    columns = heads(
        f"read in the order of | must read to find {percent(result.target)}:precise | conversations with unsafe:count | "
        f"needed to find:count | may pass with {percent(result.tolerated)} unsafe:precise | conversations:count | "
        "needed to pass:count"
    )
    rows: list[list[Cell]] = [
        [
            order.name, order.guarantee.reads, order.guarantee.n, order.guarantee.needs,
            None if order.passing.reads is None else 1 - order.passing.reads, order.passing.n, order.passing.needs,
        ]
        for order in result.orders
    ]  # fmt: skip
    note = (
        "To find, conversations with something unsafe count; to pass, all; each counts once. A learned order is learned on half of them, and its "
        "thresholds are set on the other half, which is what is counted here. Nothing stands where too few are there, or no threshold holds."
    )
    return ReportTable("escalation-guarantee", f"Guaranteed {sure}", columns, rows, note)


def by_model(result: Escalation) -> ReportTable:
    """Tabulate what is read of each model's replies alone, where nothing was learned from that model."""
    models = [model for model, unsafe in result.unsafe_by_model.items() if unsafe]
    columns = [Column("read in the order of"), *(Column(model, "precise") for model in models)]
    counts: list[Cell] = [
        "unsafe of all", *(f"{count(result.unsafe_by_model[model])} of {count(result.models[model])}" for model in models)
    ]  # fmt: skip
    rows: list[list[Cell]] = [[order.name, *(order.by_model[model] for model in models)] for order in result.orders]
    title = f"Must read of each model's replies to find {percent(result.target)} of its unsafe ones"
    return ReportTable("escalation-models", title, columns, [counts, *rows] if len(models) > 1 else [])


def sets(ident: str, level_sets: Sequence[LevelSet], level: float) -> ReportTable:
    """Tabulate which levels people's value can have; on all replies and on a category, what may be added to the judge's."""
    columns = heads(
        "judge | calibrated on | people's value from:level | to:level | levels in a set:level | conversations:count | "
        "covered:share | covered from:share | covered to:share | by sets of all:share"
    )
    rows: list[list[Cell]] = [
        [
            level_set.judge, f"{_GROUPS[level_set.group]} {level_set.name}".strip(), level_set.low, level_set.high, level_set.size,
            level_set.conversations, level_set.coverage.value, level_set.coverage.low, level_set.coverage.high, level_set.coverage_by_all.value,
        ]
        for level_set in level_sets
    ]  # fmt: skip
    needs = max((level_set.needs for level_set in level_sets), default=0)
    note = (
        f"Sets hold people's value with a chance of {percent(level)} in each group that they are calibrated on; a group with fewer than {needs} "
        "conversations has none. Of all replies and of a category, from and to are added to the judge's own value. "
        "What is covered is measured on conversations left out; by sets of all, which are calibrated on all replies, a category may be covered less."
    )
    return ReportTable(f"level-sets{ident}", "Which values people's can be, given a judge's", columns, rows, note)


def widest(level_sets: Iterable[LevelSet]) -> str:
    """Say in one sentence which level of which judge leaves people's value most open, and what has no set."""
    levels = [level_set for level_set in level_sets if level_set.group == "level"]
    measured = [level_set for level_set in levels if level_set.size is not None]
    if not measured:
        return ""
    widest_set = max(measured, key=lambda level_set: level_set.size or 0.0)
    narrowest_set = min(measured, key=lambda level_set: level_set.size or 0.0)
    lacking = len(levels) - len(measured)
    rest = f"; {lacking} of {len(levels)} have too few conversations for a set" if lacking else ""
    return (
        f"Where {widest_set.judge} says {widest_set.name}, people's value can be any from {decimal(widest_set.low, 1)} to {decimal(widest_set.high, 1)}; "
        f"where {narrowest_set.judge} says {narrowest_set.name}, {decimal(narrowest_set.low, 1)} to {decimal(narrowest_set.high, 1)}{rest}."
    )
