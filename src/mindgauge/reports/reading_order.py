"""What people must read to find what they call unsafe: curves of each judge, of the jury, and of what people taught.

The figures are those of `mindgauge judges escalation`, of the orders that a reader has a choice of, with fewer resamples.
"""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis.escalation import features, orders, subjects
from mindgauge.analysis.reliability.card import Bound
from mindgauge.errors import DataError, UsageError
from mindgauge.reports import reading_phrases
from mindgauge.reports.numbers import count, ended, named, plural
from mindgauge.reports.runs import MODEL, PERSON
from mindgauge.reports.trusted import Curve, Escalated
from mindgauge.stats import bootstrap, escalation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.features import Learned
    from mindgauge.analysis.escalation.subjects import Subjects
    from mindgauge.benchmark import Benchmark
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import Run, Section

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

RESAMPLES = 200
MOST = 2000
"""Replies rated by people of which a report works out the curves: a learned order is learned anew in every resample."""
FEW = 5
"""Conversations with something unsafe that it takes to learn from."""
_GRID = np.linspace(0, 1, 101)
_AT_MOST = "share_at_most_"
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
    """Return what is unsafe by the benchmark's own word, as `judges escalation` takes it; empty where it says nothing.

    That is the worst of its last gate that was rated, or, with one graded criterion, the levels whose share it counts.
    """
    from mindgauge.analysis import frame

    known = frame.criteria(benchmark)
    gates = [name for name, composite in benchmark.composites.items() if composite.gate and name in rated]
    if gates:
        return f"{gates[-1]}={known[gates[-1]].values[0]}"
    limits = [m.name.removeprefix(_AT_MOST) for m in benchmark.metrics if m.name.startswith(_AT_MOST)]
    graded = [c.name for c in benchmark.rubric.criteria if all(isinstance(value, int) for value in c.values)]
    return f"{graded[0]}<={limits[0]}" if limits and len(graded) == 1 and graded[0] in rated else ""


def _rated_by(section: Section, kind: str) -> set[str]:
    valued = section.ratings.filter(pl.col("rater_kind") == kind, pl.col("status") == "ok")
    return set(valued["criterion"].unique())


class _Orders(NamedTuple):
    """Orders of the same replies on the same resamples of conversations."""

    rated: Subjects
    unsafe: Mask
    weights: Floats

    @classmethod
    def of(cls, rated: Subjects) -> _Orders:
        weights = np.concatenate(list(bootstrap.cluster_weights(rated.cluster, RESAMPLES)))
        return cls(rated, rated.unsafe == 1, weights)

    def fixed(self, name: str, kind: str, risk: Floats, judge: System | None = None) -> Curve:
        """Return the curve of an order in which nothing is learned; what has no verdict is read first."""
        risk = np.where(np.isfinite(risk), risk, np.inf)
        return self._curve(name, kind, judge, risk, escalation.effort(risk, self.unsafe, self.weights))

    def learned(self, what: Learned) -> Curve:
        """Return the curve of an order that is learned on other conversations, anew in every resample."""
        risk = escalation.crossfit(what.features, self.unsafe, self.rated.cluster)
        risks = escalation.crossfits(what.features, self.unsafe, self.rated.cluster, self.weights)
        efforts = [
            escalation.effort(each[drawn], self.unsafe[drawn], copies[None, drawn])[0]
            for each, copies in zip(risks, self.weights, strict=True)
            for drawn in [copies > 0]
        ]
        parts = named([_PARTS.get(part, part) for part in what.parts], most=9)
        return self._curve(f"learned from {parts}", "fitted", None, risk, np.array(efforts))

    def of_strangers(self, what: Learned) -> float | None:
        """Return what is read where nothing is learned from the model that wrote the reply; None where there is one."""
        system = np.unique(self.rated.system, return_inverse=True)[1].astype(np.intp)
        if system.max() == 0:
            return None
        risk = escalation.crossfit(what.features, self.unsafe, self.rated.cluster, apart=system)
        return float(escalation.effort(risk, self.unsafe)[0])

    def _curve(self, name: str, kind: str, judge: System | None, risk: Floats, efforts: Floats) -> Curve:
        bound = bootstrap.percentile_interval(float(escalation.effort(risk, self.unsafe)[0]), efforts)
        reads = Bound(bound.value, bound.low, bound.high, bound.undefined)
        return Curve(name, kind, judge, reads, escalation.curve(risk, self.unsafe, _GRID).round(4).tolist())


def _escalated(
    run: Run, number: int, section: Section, rule: str, judges: Mapping[tuple[int, str], System]
) -> Escalated | str:
    """Return the curves, or a sentence that says why there are none."""
    name = section.benchmark.name
    command = f"mindgauge judges escalation {shlex.quote(str(run.folder))} --unsafe"
    how = f"“{command} {shlex.quote(rule or 'CRITERION<=LEVEL')}”"
    if not rule:
        return f"What is unsafe on {name} is not said by its rubric; how much people must read to find it, {how} says."
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
    made = _Orders.of(rated)
    single = [made.fixed(j, "judge", risk, judges.get((number, j))) for j, risk in rated.judges.items()]
    risks = orders.juries(rated.judges)
    jury = made.fixed("mean of all judges", "jury", risks[orders.JURY]) if risks else None
    whole = features.everything(rated)
    learned = made.learned(whole)
    best = min(single, key=lambda curve: (curve.reads.value if curve.reads.value is not None else math.inf, curve.name))
    every = [learned, *([jury] if jury else []), *single]
    drawn = [learned, *([jury] if jury else []), best]
    needed = math.ceil(escalation.TARGET * bad.sum() - 1e-9)
    notes = [
        *reading_phrases.notes(rated, drawn, made.of_strangers(whole), left_out, needed),
        f"Intervals are over conversations, with {RESAMPLES} resamples; {how} takes more, and has more orders.",
    ]
    ident = re.sub(r"[^a-z0-9]+", "-", f"{name}-{number}".casefold()).strip("-")
    finding = reading_phrases.finding(learned)
    return Escalated(
        f"escalated-{ident}", "", name, rule, finding, reading_phrases.measure(rated, needed), reading_phrases.said(rated, drawn, needed, len(single)), notes,
        escalation.TARGET, len(bad),
        int(bad.sum()), needed / len(bad), drawn, reading_phrases.sheet(ident, finding, every, needed / len(bad), len(bad), int(bad.sum())),
    )  # fmt: skip
