"""Who is better than whom on one comparison: records, sentences that follow from paired differences by rule, and tables.

The report draws them beside pictures, and the terminal prints the same sentences and tables.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from mindgauge.analysis.compare import compare
from mindgauge.analysis.reliability.card import LIMITED, NOT_ESTIMABLE
from mindgauge.benchmarks.metrics import accuracy
from mindgauge.benchmarks.metrics.metric_sentences import FEW
from mindgauge.records.english import ended, named, words
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import bounded, counts, interval, p_value, plural, write
from mindgauge.records.rubric.criterion import numbered
from mindgauge.reports.content import Column, ReportTable, System, heads, slug
from mindgauge.reports.reliability_gate import DOUBT, UNRELIABLE
from mindgauge.reports.runs import constant, every_score_of
from mindgauge.reports.score_tables import NUMBERS, numbers

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from mindgauge.analysis.pairing import Measure, SystemComparison, SystemDifference
    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.content import Cell, Rated
    from mindgauge.reports.runs import OpenRun, Section

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
    value, low, high = (
        (d.value, d.low, d.high) if not turned else tuple(None if v is None else -v for v in (d.value, d.high, d.low))
    )
    return SystemGap(value, low, high, d.told_apart)


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
    def of(
        cls, comparison: SystemComparison, measure: Measure, drawn: Mapping[str, System] | None = None
    ) -> RankedSystems:
        """Return the systems of a measure, answers that read nothing apart: by their own labels or, of those that are drawn, by theirs."""
        constant = {system.label for system in comparison.systems if system.baseline}
        names = [standing.system for standing in measure.standings]
        systems = [name for name in names if name not in constant and (drawn is None or name in drawn)]
        labels = {name: drawn[name].label if drawn and name in drawn else name for name in names}
        return cls(measure, systems, [name for name in names if name in constant], labels)

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
        for baseline in self.baselines:
            not_better = [system for system in self.systems if not self.gap(system, baseline).ahead]
            if not_better:
                verb = "is" if len(not_better) == 1 else "are"
                yield f"{self.named(not_better)} {verb} not shown to be better than “{self.labels[baseline]}”, which reads nothing."


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
    columns = heads(
        f"model | value:{unit}± | best rank:count | worst rank:count | first in:share | n:count | conversations:count | "
        "missing:count"
    )
    best = {standing.system: standing.best for standing in field.measure.standings}
    rows: list[list[Cell]] = [
        [p.label, p.value, p.low, p.high, p.rank_low, p.rank_high, best[system], p.n, p.clusters, p.missing]
        for p, system in zip(places, (*field.systems, *field.baselines), strict=True)
    ]
    return ReportTable(name, title, columns, rows, note)


def at_a_glance(fields: Sequence[RankedSystems], *, shown: bool) -> ReportTable:
    """Tabulate where systems stand on several measures, a row for each, the best of a measure first."""
    columns = heads("benchmark | measure | rated by | model | value:interval | rank:interval | n:count | missing:count")
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
        *heads("benchmark | measure"), *([Column("part")] if apart else []), *heads(
            "first | second | first minus second:level± | unit | p, adjusted:interval | verdict | samples:count | conversations:count | "
            "if all missing worst:level | if all missing best:level"
        ),
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
    columns = heads(
        "benchmark | model | answers here:count | cost of a thousand:dollars | "
        "time of a thousand, one after the other:seconds"
    )
    rows: list[list[Cell]] = [[c.benchmark, labels[c.system], c.answers, c.cost, c.seconds] for c in own_costs]
    return ReportTable(
        "costs",
        "What a thousand answers take",
        columns,
        rows,
        "Time is what the model or the classifier took, one answer after the other. What nobody knows is no zero.",
    ), ""


MANY = 3
"""Of more criteria than this, only what the benchmark goes by first is compared."""
MOST = 12
"""Measures of one benchmark that are drawn, which keeps the page small; the table of pairs holds all."""
_CLASS = ("category", "label")


def paired(runs: Sequence[OpenRun], systems: Sequence[System]) -> ComparisonSection | None:
    """Compare all systems of some runs; None where one stands alone."""
    if len(systems) < 2:
        return None
    show_unreliable = runs[0].standings.shown
    cards = {
        (s.run, s.benchmark, s.criterion, s.card.judge): s.card for run in runs for s in run.standings.cards.values()
    }
    unused = {(str(run.folder), *place): reason for run in runs for place, reason in run.standings.unused.items()}
    withheld = (
        [] if show_unreliable else [*_withheld(runs), *(text for run in runs for text in run.standings.worst_levels())]
    )
    sections = {section.benchmark.name: section for run in runs for section in run.sections}
    barred = (
        set()
        if show_unreliable
        else {place[1:] for place, card in cards.items() if card.rank_systems.verdict == LIMITED}
    )

    def wanted(benchmark: Benchmark, name: str, criterion: str, rater: str) -> bool:
        measure_names = {*_headlines(sections[benchmark.name]), *benchmark.parts}
        return name in measure_names and (benchmark.name, criterion, rater) not in barred

    try:
        comparison = compare([run.folder for run in runs], cards=cards, unused=unused, wanted=wanted)
    except UsageError as error:
        return ComparisonSection([], None, None, [], None, "", withheld, [ended(str(error))])
    run_systems = {(str(runs[system.run].folder), system.model): system for system in systems}
    shown_as = {s.label: run_systems[s.run, s.model] for s in comparison.systems if (s.run, s.model) in run_systems}
    fields = [
        field
        for measure in comparison.measures
        if show_unreliable or measure.rank_systems != LIMITED
        for field in [RankedSystems.of(comparison, measure, shown_as)]
        if len(field.systems) > 1
    ]
    overall = sorted(
        (f for f in fields if f.measure.slice == "all" and f.measure.name in _headlines(sections[f.measure.benchmark])),
        key=lambda f: _place(f.measure, sections[f.measure.benchmark]),
    )
    drawn = [f for name in sections for f in [f for f in overall if f.measure.benchmark == name][:MOST]]
    first = {f.measure.benchmark: f for f in reversed(drawn)}
    contrasts = [
        _contrast(
            f,
            shown_as,
            sections[f.measure.benchmark],
            folded=first[f.measure.benchmark] is not f,
            shown=show_unreliable,
        )
        for f in drawn
    ]
    single = [f for f in fields if _is_part(f.measure, sections[f.measure.benchmark])]
    part_pairs = pairs("parts", "On which single parts they can be told apart", single, apart=True)
    labels = {s.label: shown_as[s.label].label if s.label in shown_as else s.label for s in comparison.systems}
    price, unknown = costs(comparison, shown_as, labels)
    notes = [*map(ended, comparison.notes)]
    if undrawn := len(overall) - len(drawn):
        notes.append(
            f"{plural(undrawn, 'more measure')} not drawn, to keep this page small; the table of every two models has them."
        )
    if any(d.n > d.clusters for field in overall for d in field.measure.differences):
        notes.append(
            "Each conversation counts once here, and each answer in the rest of this report, so the values differ a little."
        )
    return ComparisonSection(
        contrasts, pairs("pairs", "Every two models, paired", overall) if overall else None, part_pairs if part_pairs.rows else None,
        list(parts(single)), price, unknown, withheld, notes,
    )  # fmt: skip


def _headlines(section: Section) -> tuple[str, ...]:
    """Return the metrics that systems are compared by; which of them can be paired, they say themselves."""
    names = section.benchmark.headline
    return names if section.benchmark.closed or len(section.criteria) <= MANY else names[:1]


def _is_part(measure: Measure, section: Section) -> bool:
    """Whether this is about a single part: of a closed question's classes metrics of a label say it, and others say it again."""
    if measure.slice == "all":
        return False
    if measure.part:
        return True
    tag = measure.slice.partition("=")[0]
    return measure.name in _headlines(section) and not (section.benchmark.closed and tag in _CLASS)


def _place(measure: Measure, section: Section) -> tuple[str, int, int, int]:
    raters = [rater for rater, _ in section.judges()]
    rater = raters.index(measure.rater) if measure.rater in raters else len(raters)
    return (
        measure.benchmark,
        rater,
        list(section.scored).index(measure.criterion),
        _headlines(section).index(measure.name),
    )


def _contrast(
    field: RankedSystems, drawn: Mapping[str, System], section: Section, *, folded: bool, shown: bool
) -> MeasureComparison:
    measure = field.measure
    unit: Literal["share", "level"] = "share" if measure.unit == "share" else "level"
    places = field.places(drawn, shown=shown)
    by_rater = (measure.criterion, measure.rater) if measure.rater else ()
    ident = slug(measure.benchmark, measure.name, *by_rater)
    finding = field.finding()
    doubtful = LIMITED in {measure.rate_replies, measure.rank_systems} and shown
    if doubtful:
        finding = f"{UNRELIABLE.capitalize()}: {finding}"
    note = f"Unreliable: {LIMITED}." if doubtful else ""
    return MeasureComparison(
        f"compared-{ident}", measure.benchmark, finding, _subtitle(field, places, section.noun(measure.criterion)), list(field.rest()), unit,
        *_scale(measure, section), places, standings(f"compared-{ident}{'-unreliable' * doubtful}", finding, field, places, note), folded, field.alike(),
        of(measure),
    )  # fmt: skip


def _scale(measure: Measure, section: Section) -> tuple[float, float]:
    """Return where the axis ends: a share's ends, the criterion's where the values lie between them, else the values' own."""
    if measure.unit == "share":
        return 0.0, 1.0
    values = [v for s in measure.standings for v in (s.value, s.low, s.high) if v is not None]
    criterion = section.scored[measure.criterion]
    levels = [float(value) for value in criterion.values] if numbered(criterion) else []
    if levels and all(min(levels) <= value <= max(levels) for value in values):
        values = levels
    low, high = math.floor(min(values, default=0.0)), math.ceil(max(values, default=1.0))
    return low, max(high, low + 1)


def _subtitle(field: RankedSystems, places: Sequence[SystemPlace], noun: Rated) -> str:
    measure = field.measure
    better = f", {measure.direction} is better" if measure.direction else ""
    text = f"{of(measure)[:1].upper()}{of(measure)[1:]}{better}. "
    if all(place.value is None for place in places):
        text += f"The values are not shown ({LIMITED}); who is better than whom may be. "
    else:
        text += f"Dots are means over {noun.cluster}s, with 95 % intervals. "
    if any(place.rank_low is not None for place in places):
        counted = ", answers that read nothing included" if field.baselines else ""
        text += f"Bars are the ranks that all may have at once with 95 % confidence{counted}. "
    return f"{text}n {counts(place.n for place in places)}{noun.aside}."


def _withheld(runs: Sequence[OpenRun]) -> Iterator[str]:
    """Name what judges may not rank models on."""
    by_judge: dict[str, dict[str, None]] = {}
    for run in runs:
        for standing in run.standings.cards.values():
            if standing.card.rank_systems.verdict == LIMITED:
                by_judge.setdefault(standing.card.judge, {})[words(standing.criterion)] = None
    for judge, criteria in by_judge.items():
        yield f"{judge} agrees too little with people to rank models on {named(list(criteria), limit=9)}; that is not shown ({LIMITED})."


def key_scores(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[list[Cell]]:
    """Return what each benchmark goes by, of every model on the whole of it, alike measures together."""
    rows: list[tuple[tuple[str, int, str], list[Cell]]] = []
    for system in systems:
        for section in runs[system.run].sections:
            for s in every_score_of(runs[system.run], system, section):
                names = section.benchmark.headline
                if s.slice == "all" and s.name in names:
                    place = (
                        section.benchmark.name,
                        names.index(s.name),
                        s.rater if not section.benchmark.closed else "",
                    )
                    readable = msgspec.structs.replace(s, value=None) if s.missing >= s.n else s
                    rows.append((place, [
                        s.benchmark, measure_name(s, section), system.label, s.rater if s.rater != s.model or not section.benchmark.closed else "",
                        *numbers(readable, runs[system.run].standings),
                    ]))  # fmt: skip
    rows += _constant_rows(runs)
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def _constant_rows(runs: Sequence[OpenRun]) -> Iterator[tuple[tuple[str, int, str], list[Cell]]]:
    """Return the same of answers that read nothing, below the models they are measured by; runs that agree once."""
    listed = []
    for run in runs:
        for section in run.sections:
            for s in constant(run, section):
                names = section.benchmark.headline
                if s.slice != "all" or s.name not in names:
                    continue
                row: list[Cell] = [
                    s.benchmark, measure_name(s, section), f"{s.model} (reads nothing)", "",
                    *numbers(s, run.standings),
                ]  # fmt: skip
                if row not in listed:
                    listed.append(row)
                    yield (s.benchmark, names.index(s.name), ""), row


def measure_name(score: Score, section: Section) -> str:
    """Name a measure: with its criterion, where there are several."""
    with_criterion = len(section.criteria) > 1 and not section.benchmark.closed
    return f"{words(score.name)}, {words(score.criterion)}" if with_criterion else words(score.name)


def side_by_side(runs: Sequence[OpenRun], systems: Sequence[System], *, paired: bool = False) -> ReportTable | None:
    """Put several models side by side, and beside answers that read nothing; None where one model stands alone.

    `paired`: their differences are shown, too.
    """
    if len(systems) < 2 and not any(constant(run, section) for run in runs for section in run.sections):
        return None
    columns = [
        *heads("benchmark | measure | model | rated by"), *NUMBERS,
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
    title = "The numbers" if len(systems) == 1 else "Each model alone" if paired else "Models side by side"
    return ReportTable("compared", title, columns, key_scores(runs, systems), note)
