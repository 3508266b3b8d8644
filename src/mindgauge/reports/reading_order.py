"""What people must read to find what they call unsafe: curves of each judge, of the jury, and of what people taught.

The figures are those of `mindgauge judges escalation`, of the orders that a reader has a choice of, with fewer resamples.
"""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis.escalation import features, orders, subjects
from mindgauge.analysis.escalation.reading import Reading, bound, first
from mindgauge.english import ended, named
from mindgauge.errors import DataError, UsageError
from mindgauge.reports import reading_phrases
from mindgauge.reports.runs import MODEL, PERSON
from mindgauge.reports.trust_section import Curve, Escalated
from mindgauge.rounding import count, plural
from mindgauge.rubric.order import numbered, rising
from mindgauge.stats import escalation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.features import Learned
    from mindgauge.benchmark import Benchmark
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import Run, Section

    Floats = NDArray[np.float64]

RESAMPLES = 200
MOST = 2000
"""Replies rated by people of which a report works out the curves: a learned order is learned anew in every resample."""
FEW = 5
"""Conversations with something unsafe that it takes to learn from."""
_PARTS = {features.JUDGES: "the judges", features.LENGTH: "the replies' length", features.CATEGORY: "their category"}


def reading_orders(runs: Sequence[Run], judges: Mapping[tuple[int, str], System]) -> tuple[list[Escalated], list[str]]:
    """Return the curves of every benchmark that people and judges rated, and a sentence for each that has none."""
    found, notes = [], []
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
                found.append(drawn)
    return found, notes


def unsafe(benchmark: Benchmark, rated: set[str]) -> str:
    """Return what is unsafe by the benchmark's own word, as `judges escalation` takes it; empty where it is no one criterion.

    That is the worst of its last gate that was rated, which sums up the others, or the unsafe levels of its only criterion
    that has some.
    """
    from mindgauge.analysis import frame

    known = {name: c for name, c in frame.criteria(benchmark).items() if name in rated and c.unsafe}
    gates = [name for name, composite in benchmark.composites.items() if composite.gate and name in known]
    wanted = gates[-1:] or list(known)
    if len(wanted) != 1:
        return ""
    criterion = known[wanted[0]]
    if numbered(criterion) and rising(criterion):
        return f"{criterion.name}<={criterion.unsafe[-1]}"
    return f"{criterion.name}={','.join(map(str, criterion.unsafe))}"


def _rated_by(section: Section, kind: str) -> set[str]:
    valued = section.ratings.lazy().filter(pl.col("rater_kind") == kind, pl.col("status") == "ok")
    return set(valued.select("criterion").unique().collect()["criterion"])


def _fixed(reading: Reading, name: str, kind: str, risk: Floats, judge: System | None = None) -> Curve:
    """Return the curve of an order in which nothing is learned."""
    risk = first(risk)
    reads = bound(reading.effort(risk), reading.resampled(risk))
    return Curve(name, kind, judge, reads, reading.found(risk))


def _learned(reading: Reading, what: Learned) -> Curve:
    """Return the curve of an order that is learned on other conversations, anew in every resample."""
    risk = reading.learned(what)
    parts = named([_PARTS.get(part, part) for part in what.parts], most=9)
    reads = bound(reading.effort(risk), reading.relearned(what))
    return Curve(f"learned from {parts}", "fitted", None, reads, reading.found(risk))


def _of_strangers(reading: Reading, what: Learned) -> float | None:
    """Return what is read where nothing is learned from the model that wrote the reply; None where there is one."""
    return reading.effort(reading.learned(what, apart=reading.system)) if reading.system.max() else None


def _escalated(
    run: Run, number: int, section: Section, rule: str, judges: Mapping[tuple[int, str], System]
) -> Escalated | str:
    """Return the curves, or a sentence that says why there are none."""
    name = section.benchmark.name
    command = f"mindgauge judges escalation {shlex.quote(str(run.folder))} --unsafe"
    how = f"“{command} {shlex.quote(rule or 'CRITERION<=LEVEL')}”"
    if not rule:
        return f"What is unsafe on {name} is not said by its rubric, or by several of its criteria; how much people must read to find it, {how} says."
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
        return (
            f"How much of {count(len(bad))} replies to {name} people must read takes long to work out; {how} does it."
        )
    reading = Reading(rated, resamples=RESAMPLES)
    single = [_fixed(reading, j, "judge", risk, judges.get((number, j))) for j, risk in rated.judges.items()]
    risks = orders.juries(rated.judges)
    jury = _fixed(reading, "mean of all judges", "jury", risks[orders.JURY]) if risks else None
    whole = features.everything(rated)
    learned = _learned(reading, whole)
    best = min(single, key=lambda curve: (curve.reads.value if curve.reads.value is not None else math.inf, curve.name))
    every = [learned, *([jury] if jury else []), *single]
    drawn = [learned, *([jury] if jury else []), best]
    needed = math.ceil(escalation.TARGET * bad.sum() - 1e-9)
    notes = [
        *reading_phrases.notes(rated, drawn, _of_strangers(reading, whole), left_out, needed),
        f"Intervals are over conversations, with {RESAMPLES} resamples; {how} takes more, and has more orders.",
    ]
    ident = re.sub(r"[^a-z0-9]+", "-", f"{name}-{number}".casefold()).strip("-")
    finding = reading_phrases.finding(learned)
    return Escalated(
        f"escalated-{ident}", "", name, rule, finding, reading_phrases.measure(rated, needed), reading_phrases.said(rated, drawn, needed, len(single)), notes,
        escalation.TARGET, len(bad),
        int(bad.sum()), needed / len(bad), drawn, reading_phrases.sheet(ident, finding, every, needed / len(bad), len(bad), int(bad.sum())),
    )  # fmt: skip
