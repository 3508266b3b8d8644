"""Who is better than whom on one comparison: records, sentences that follow from paired differences by rule, and tables.

The report draws them beside pictures, and the terminal prints the same sentences and tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from mindgauge.analysis.reliability.card import LIMITED, NOT_ESTIMABLE
from mindgauge.benchmarks.metrics import accuracy
from mindgauge.benchmarks.metrics.metric_sentences import FEW
from mindgauge.records.english import named, words
from mindgauge.records.rounding import bounded, interval, p_value, plural, write
from mindgauge.reports.content import Column, ReportTable, System
from mindgauge.reports.reliability_gate import DOUBT, UNRELIABLE

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from mindgauge.analysis.pairing import Measure, SystemComparison, SystemDifference
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.content import Cell

PAIRS = 4
"""More pairs than this are counted, not named."""
PARTS = 6
"""More parts than this are counted, not named."""
_UNKNOWN = "What an answer costs, and how long it takes, is not known: no calls are in these runs."


class SystemPlace(msgspec.Struct, frozen=True):
    """Where one system stands on a measure; `system` is None for an answer that reads nothing.

    Values are None where they may not be shown, ranks where there are none.
    """

    system: System | None
    label: str
    value: float | None
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None
    n: int
    clusters: int
    missing: int


class MeasureComparison(msgspec.Struct):
    """All systems on one measure, the best first, constant answers last. `finding` is its title and text alternative.

    `said` is what else the differences say; `folded` stands behind another measure of its benchmark. `alike` are, by label,
    the systems from which each cannot be told apart; `topic` names the measure.
    """

    anchor: str
    benchmark: str
    finding: str
    measure: str
    said: list[str]
    unit: Literal["share", "level"]
    low: float
    high: float
    places: list[SystemPlace]
    sheet: ReportTable
    folded: bool
    alike: dict[str, list[str]]
    topic: str = ""


class ComparisonSection(msgspec.Struct):
    """Who is better than whom, on what they have in common: pictures, every two systems, single parts, and the price.

    `withheld` says what judges may not rank; `notes` what was not compared, and why.
    """

    contrasts: list[MeasureComparison]
    pairs: ReportTable | None
    parts: ReportTable | None
    parts_said: list[str]
    costs: ReportTable | None
    costs_said: str
    withheld: list[str]
    notes: list[str]


class SystemGap(NamedTuple):
    """How far one system is ahead of another: above 0 where it is better, or, where neither is, higher."""

    value: float | None
    low: float | None
    high: float | None
    apart: bool | None

    @property
    def ahead(self) -> bool:
        """Whether it can be told apart from the other, and leads."""
        return bool(self.apart) and (self.value or 0.0) > 0


def gap(measure: Measure, difference: SystemDifference, leader: str) -> SystemGap:
    """Return how far `leader`, one of the two systems of a difference, is ahead."""
    d = difference
    turned = (measure.direction == "lower") != (leader == d.second)
    value, low, high = (d.value, d.low, d.high) if not turned else tuple(_less(v) for v in (d.value, d.high, d.low))
    return SystemGap(value, low, high, d.told_apart)


def _less(value: float | None) -> float | None:
    return None if value is None else -value


def size(measure: Measure, found: SystemGap) -> str:
    """Write a gap with its interval: of shares in percentage points."""
    kind: Kind = "points" if measure.unit == "share" else "level"
    bounds = f" ({interval(found.low, found.high, kind).removesuffix(' points')})" if found.low is not None else ""
    return write(found.value, kind) + bounds


def of(measure: Measure) -> str:
    """Name a measure as a sentence does."""
    doubt = f"; {DOUBT}" if measure.rate_replies.startswith(NOT_ESTIMABLE) else ""
    rated = f" (rated by {measure.rater}{doubt})" if measure.rater else ""
    return f"{measure.title}{rated}"


class RankedSystems(NamedTuple):
    """The systems of one measure, best first, each by its label, with all differences between two of them."""

    measure: Measure
    systems: Sequence[str]
    baselines: Sequence[str]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, comparison: SystemComparison, measure: Measure) -> RankedSystems:
        """Return the systems of a measure by their own labels, answers that read nothing apart."""
        constant = {system.label for system in comparison.systems if system.baseline}
        names = [standing.system for standing in measure.standings]
        systems, baselines = ([n for n in names if (n in constant) is reads] for reads in (False, True))
        return cls(measure, systems, baselines, {name: name for name in names})

    def gap(self, leader: str, other: str) -> SystemGap:
        """Return how far one system is ahead of another."""
        difference = next(d for d in self.measure.differences if {d.first, d.second} == {leader, other})
        return gap(self.measure, difference, leader)

    def named(self, systems: Sequence[str], joined: str = "and") -> str:
        """Name systems as in a sentence."""
        return named([self.labels[system] for system in systems], joined)

    def places(self, systems: Mapping[str, System], *, shown: bool) -> list[SystemPlace]:
        """Return where each stands, constant answers last; without values where the judge may not give them and `shown` is not set.

        Args:
            systems: how pictures show those that are models, by label.
            shown: whether such values are asked for all the same.
        """
        by_label = {standing.system: standing for standing in self.measure.standings}
        hidden = self.measure.rate_replies == LIMITED and not shown
        places = []
        for name in (*self.systems, *self.baselines):
            s = by_label[name]
            thin = self.measure.unit == "level" and (s.clusters < FEW or s.low == s.high)
            value = None if hidden else s.value
            low, high = (None, None) if thin or hidden else (s.low, s.high)
            label = f"{self.labels[name]} (reads nothing)" if name in self.baselines else self.labels[name]
            places.append(
                SystemPlace(
                    systems.get(name), label, value, low, high, s.rank_low, s.rank_high, s.n, s.clusters, s.missing
                )
            )
        return places

    def finding(self) -> str:
        """Say in a title who is better, and by how much; or that nobody can be told apart."""
        first, *others = self.systems
        measured, better = of(self.measure), "better" if self.measure.direction else "higher"
        gaps = {other: self.gap(first, other) for other in others}
        leader = self.labels[first]
        if all(g.apart is None for g in gaps.values()):
            return f"Too little to say whether {self.named(self.systems, 'or')} is {better} on {measured}"
        if len(others) == 1:
            sole = gaps[others[0]]
            if sole.ahead:
                return f"{leader} is {better} than {self.named(others)} on {measured} by {size(self.measure, sole)}"
            return f"{leader} and {self.named(others)} cannot be told apart on {measured}"
        if all(g.ahead for g in gaps.values()):
            rivals = "both others" if len(others) == 2 else f"all {len(others)} others"
            return f"{leader} is {better} than {rivals} on {measured}; {self.named(others[:1])} is next, {size(self.measure, gaps[others[0]])} behind"
        if not any(self.gap(a, b).apart for a, b in self.pairs()):
            kind = f"{self.measure.tag} parts of {self.measure.model}" if self.measure.tag else "models"
            return f"No two of {len(self.systems)} {kind} can be told apart on {measured}"
        unclear = [other for other, g in gaps.items() if not g.ahead]
        return f"{leader} comes first on {measured} but cannot be told apart from {self.named(unclear)}"

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every two systems, the better placed one first."""
        for i, first in enumerate(self.systems):
            for second in self.systems[i + 1 :]:
                yield first, second

    def alike(self) -> dict[str, list[str]]:
        """Return the systems from which each cannot be told apart, all by their labels."""
        pairs = [pair for pair in self.pairs() if not self.gap(*pair).apart]
        return {
            self.labels[system]: [self.labels[b if a == system else a] for a, b in pairs if system in {a, b}]
            for system in self.systems
        }

    def rest(self) -> Iterator[str]:
        """Say what the title does not: how wide an unclear difference is, the other pairs, constant answers, what was left out."""
        first, *others = self.systems
        if len(others) == 1 and (sole := self.gap(first, others[0])).apart is False:
            yield f"The lead of {self.labels[first]} is {size(self.measure, sole)}."
        beaten = [other for other in others if self.gap(first, other).ahead]
        if 0 < len(beaten) < len(others):
            closest = min(beaten, key=lambda other: self.gap(first, other).value or 0.0)
            distance = f" by {size(self.measure, self.gap(first, closest))}"
            if len(beaten) > 1:
                distance = f"; {self.labels[closest]} is closest, {size(self.measure, self.gap(first, closest))} behind"
            yield f"It is better than {self.named(beaten)}{distance}."
        nobody_apart = not any(self.gap(a, b).apart for a, b in self.pairs())
        pairs = [] if nobody_apart else [(a, b) for a, b in self.pairs() if a != first]
        same = [f"{self.labels[a]} and {self.labels[b]}" for a, b in pairs if not self.gap(a, b).apart]
        if len(same) > PAIRS:
            yield f"Of the others, {len(same)} of {len(pairs)} pairs cannot be told apart."
        elif same:
            yield f"Of the others, these cannot be told apart: {'; '.join(same)}."
        elif pairs:
            yield "Of the others, each two can be told apart."
        yield from self._constant()
        if self.measure.left_out:
            yield f"{plural(self.measure.left_out, 'sample')} answered by only one of them are left out."

    def _constant(self) -> Iterator[str]:
        """Name who was not shown to beat an answer that reads nothing; on other measures than accuracy that may be easy."""
        if self.measure.name != accuracy.name:
            return
        for constant in self.baselines:
            not_better = [system for system in self.systems if not self.gap(system, constant).ahead]
            if not_better:
                verb = "is" if len(not_better) == 1 else "are"
                yield f"{self.named(not_better)} {verb} not shown to be better than “{self.labels[constant]}”, which reads nothing."


def parts(fields: Sequence[RankedSystems]) -> Iterator[str]:
    """Say on which single parts systems can be told apart; of two systems, which is better on which."""
    gaps = [(field, a, b, field.gap(a, b)) for field in fields for a, b in field.pairs()]
    distinct = [(field, a, b) for field, a, b, g in gaps if g.apart]
    if not gaps:
        return
    if not distinct:
        yield f"On single parts none of {plural(len(gaps), 'pair')} can be told apart; p is adjusted within one measure and part only."
        return
    yield f"On single parts {len(distinct)} of {plural(len(gaps), 'pair')} can be told apart; p is adjusted within one measure and part only."
    if len({label for field, a, b in distinct for label in (field.labels[a], field.labels[b])}) == 2:
        better: dict[str, list[str]] = {}
        for field, a, b in distinct:
            leader, other = (a, b) if field.gap(a, b).ahead else (b, a)
            place = f"{words(field.measure.slice)} ({field.measure.title.removeprefix('the ')}, {size(field.measure, field.gap(leader, other))})"
            better.setdefault(field.labels[leader], []).append(place)
        for leader, all_ in better.items():
            yield f"{leader} is better on {named(all_, limit=PARTS)}."


def standings(
    name: str, title: str, field: RankedSystems, places: Sequence[SystemPlace], note: str = ""
) -> ReportTable:
    """Tabulate where the systems of one measure stand."""
    unit: Literal["share", "level"] = "share" if field.measure.unit == "share" else "level"
    columns = [
        Column("model"), Column("value", unit), Column("from", unit), Column("to", unit), Column("best rank", "count"),
        Column("worst rank", "count"), Column("first in", "share"), Column("n", "count"), Column("conversations", "count"),
        Column("missing", "count"),
    ]  # fmt: skip
    best = {standing.system: standing.best for standing in field.measure.standings}
    rows: list[list[Cell]] = [
        [p.label, p.value, p.low, p.high, p.rank_low, p.rank_high, best[system], p.n, p.clusters, p.missing]
        for p, system in zip(places, (*field.systems, *field.baselines), strict=True)
    ]
    return ReportTable(name, title, columns, rows, note)


def at_a_glance(fields: Sequence[RankedSystems], *, shown: bool) -> ReportTable:
    """Tabulate where systems stand on several measures, a row for each, the best of a measure first."""
    columns = [
        Column("benchmark"), Column("measure"), Column("rated by"), Column("model"), Column("value", "interval"),
        Column("rank", "interval"), Column("n", "count"), Column("missing", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for field in fields:
        m = field.measure
        unit: Kind = "share" if m.unit == "share" else "level"
        for p in field.places({}, shown=shown):
            ranks = "–".join(dict.fromkeys(str(rank) for rank in (p.rank_low, p.rank_high) if rank is not None))
            mark = f" ({UNRELIABLE})" if m.rate_replies == LIMITED else ""
            value = None if p.value is None else f"{bounded(p.value, p.low, p.high, unit)}{mark}"
            title = m.title.removeprefix("the ")
            rows.append([m.benchmark, title, m.rater, p.label, value, ranks, p.n, p.missing or None])
    return ReportTable("at-a-glance", "", columns, rows)


def pairs(name: str, title: str, fields: Sequence[RankedSystems], *, apart: bool = False) -> ReportTable:
    """List the differences of every two systems; with `apart` those that can be told apart, constant answers left out."""
    columns = [
        Column("benchmark"), Column("measure"), *([Column("part")] if apart else []), Column("first"), Column("second"), Column("first minus second", "level"),
        Column("from", "level"), Column("to", "level"), Column("unit"), Column("p, adjusted", "interval"), Column("verdict"),
        Column("samples", "count"), Column("conversations", "count"), Column("if all missing worst", "level"), Column("if all missing best", "level"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for field in fields:
        m, times = field.measure, 100 if field.measure.unit == "share" else 1
        for d in m.differences:
            if apart and (not d.told_apart or {d.first, d.second} & {*field.baselines}):
                continue
            better = f"{field.labels[d.better]} is better" if d.better else "they differ"
            verdict = (
                better if d.told_apart else "too little to say" if d.told_apart is None else "cannot be told apart"
            )
            numbers: list[Cell] = [None if v is None else times * v for v in (d.value, d.low, d.high, d.worst, d.best)]
            rows.append([
                m.benchmark, of(m), *([words(m.slice)] if apart else []), field.labels[d.first], field.labels[d.second], *numbers[:3],
                "points" if m.unit == "share" else "levels", p_value(d.adjusted), verdict, d.n, d.clusters, *numbers[3:],
            ])  # fmt: skip
    note = (
        "On what both answered, each conversation counting once. p is of the sign-flip test, adjusted by Holm for all pairs of one measure; "
        "two are told apart where the interval leaves out 0 and p is at most .05."
    )
    return ReportTable(name, title, columns, rows, note)


def costs(
    found: SystemComparison, systems: Container[str], labels: Mapping[str, str]
) -> tuple[ReportTable | None, str]:
    """Return what a thousand answers take; a sentence where nobody knows."""
    own_costs = [c for c in found.costs if c.system in systems]
    if all(c.cost is None and c.seconds is None for c in own_costs):
        return None, _UNKNOWN
    columns = [
        Column("benchmark"), Column("model"), Column("answers here", "count"), Column("cost of a thousand", "dollars"),
        Column("time of a thousand, one after the other", "seconds"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [[c.benchmark, labels[c.system], c.answers, c.cost, c.seconds] for c in own_costs]
    return ReportTable(
        "costs",
        "What a thousand answers take",
        columns,
        rows,
        "Time is what the model or the classifier took, one answer after the other. What nobody knows is no zero.",
    ), ""
