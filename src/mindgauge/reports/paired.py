"""Compared in pairs: who is better than whom on what both answered, as pictures, sentences and tables."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from mindgauge.analysis.compare import compare
from mindgauge.analysis.reliability.card import LIMITED
from mindgauge.english import ended, named, words
from mindgauge.errors import UsageError
from mindgauge.metrics.words import FEW
from mindgauge.reports import paired_sheets
from mindgauge.reports.compared_section import Contrast, Paired, Place
from mindgauge.reports.content import Column, Sheet
from mindgauge.reports.paired_phrases import Field, of, parts
from mindgauge.reports.standing import UNRELIABLE
from mindgauge.rounding import count, plural
from mindgauge.rubric.order import numbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.compared import Compared, Measure, Standing
    from mindgauge.benchmark import Benchmark
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import Run, Section

MANY = 3
"""Of more criteria than this, only what the benchmark goes by first is compared."""
MOST = 12
"""Measures of one benchmark that are drawn, which keeps the page small; the table of pairs holds all."""
_CLASS = ("category", "label")


class _Named(NamedTuple):
    """The systems of a comparison as this report names and draws them, by the label that they have there."""

    systems: dict[str, System]
    labels: dict[str, str]
    constant: set[str]

    @classmethod
    def of(cls, found: Compared, runs: Sequence[Run], systems: Sequence[System]) -> _Named:
        mine = {(str(runs[system.run].folder), system.model): system for system in systems}
        drawn = {s.label: mine[s.run, s.model] for s in found.systems if (s.run, s.model) in mine}
        labels = {s.label: drawn[s.label].label if s.label in drawn else s.label for s in found.systems}
        return cls(drawn, labels, {s.label for s in found.systems if s.baseline})

    def field(self, measure: Measure) -> Field:
        there = [standing.system for standing in measure.standings]
        return Field(
            measure,
            [label for label in there if label in self.systems],
            [label for label in there if label in self.constant],
            self.labels,
        )


def paired(runs: Sequence[Run], systems: Sequence[System]) -> Paired | None:
    """Compare all systems of some runs; None where one stands alone."""
    if len(systems) < 2:
        return None
    shown = runs[0].standings.shown
    cards = {
        (s.run, s.benchmark, s.criterion, s.card.judge): s.card for run in runs for s in run.standings.cards.values()
    }
    withheld = [] if shown else list(_withheld(runs))
    sections = {section.benchmark.name: section for run in runs for section in run.sections}
    barred = set() if shown else {place[1:] for place, card in cards.items() if card.rank_systems.verdict == LIMITED}

    def wanted(benchmark: Benchmark, name: str, criterion: str, rater: str) -> bool:
        asked = {*_headlines(sections[benchmark.name]), *benchmark.parts}
        return name in asked and (benchmark.name, criterion, rater) not in barred

    try:
        found = compare([run.folder for run in runs], cards=cards, wanted=wanted)
    except UsageError as error:
        return Paired([], None, None, [], None, "", withheld, [ended(str(error))])
    named_ = _Named.of(found, runs, systems)
    fields = [
        field
        for measure in found.measures
        if shown or measure.rank_systems != LIMITED
        for field in [named_.field(measure)]
        if len(field.systems) > 1
    ]
    whole = sorted(
        (f for f in fields if f.measure.slice == "all" and f.measure.name in _headlines(sections[f.measure.benchmark])),
        key=lambda f: _place(f.measure, sections[f.measure.benchmark]),
    )
    drawn = [f for name in sections for f in [f for f in whole if f.measure.benchmark == name][:MOST]]
    first = {f.measure.benchmark: f for f in reversed(drawn)}
    contrasts = [
        _contrast(f, named_, sections[f.measure.benchmark], folded=first[f.measure.benchmark] is not f, shown=shown)
        for f in drawn
    ]
    single = [f for f in fields if _is_part(f.measure, sections[f.measure.benchmark])]
    apart = paired_sheets.pairs("parts", "On which single parts they can be told apart", single, apart=True)
    costs, unknown = paired_sheets.costs(found, named_.systems, named_.labels)
    return Paired(
        contrasts, paired_sheets.pairs("pairs", "Every two models, paired", whole) if whole else None, apart if apart.rows else None,
        list(parts(single)), costs, unknown, withheld, [*map(ended, found.notes), *_left(len(whole) - len(drawn)), *_weights(whole)],
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


# -- one measure ------------------------------------------------------------------------------------------------------


def _contrast(field: Field, known: _Named, section: Section, *, folded: bool, shown: bool) -> Contrast:
    measure = field.measure
    unit: Literal["share", "level"] = "share" if measure.unit == "share" else "level"
    by_label = {standing.system: standing for standing in measure.standings}
    places = [_where(measure, by_label[label], known, shown=shown) for label in (*field.systems, *field.baselines)]
    ident = _ident(measure)
    finding = field.finding()
    doubtful = LIMITED in {measure.rate_replies, measure.rank_systems} and shown
    if doubtful:
        finding = f"{UNRELIABLE.capitalize()}: {finding}"
    columns = [
        Column("model"), Column("value", unit), Column("from", unit), Column("to", unit), Column("best rank", "count"),
        Column("worst rank", "count"), Column("first in", "share"), Column("n", "count"), Column("conversations", "count"),
        Column("missing", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [p.label, p.value, p.low, p.high, p.rank_low, p.rank_high, by_label[label].best, p.n, p.clusters, p.missing]
        for p, label in zip(places, (*field.systems, *field.baselines), strict=True)
    ]
    note = f"Unreliable: {LIMITED}." if doubtful else ""
    return Contrast(
        f"compared-{ident}", measure.benchmark, finding, _subtitle(field, places), list(field.rest()), unit,
        *_scale(measure, section), places, Sheet(f"compared-{ident}{'-unreliable' * doubtful}", finding, columns, rows, note), folded,
    )  # fmt: skip


def _where(measure: Measure, standing: Standing, known: _Named, *, shown: bool) -> Place:
    """Return where a system stands; without its values where its judge may not give them, and ranks are all there is."""
    s = standing
    hidden = measure.rate_replies == LIMITED and not shown
    thin = measure.unit == "level" and (s.clusters < FEW or s.low == s.high)
    low, high = (None, None) if thin or hidden else (s.low, s.high)
    label = known.labels[s.system] if s.system in known.systems else f"{known.labels[s.system]} (reads nothing)"
    value = None if hidden else s.value
    return Place(
        known.systems.get(s.system), label, value, low, high, s.rank_low, s.rank_high, s.n, s.clusters, s.missing
    )


def _scale(measure: Measure, section: Section) -> tuple[float, float]:
    """Return where the axis ends: a share's ends, the criterion's where the values lie between them, else the values' own."""
    if measure.unit == "share":
        return 0.0, 1.0
    shown = [v for s in measure.standings for v in (s.value, s.low, s.high) if v is not None]
    criterion = section.scored[measure.criterion]
    levels = [float(value) for value in criterion.values] if numbered(criterion) else []
    if levels and all(min(levels) <= value <= max(levels) for value in shown):
        shown = levels
    low, high = math.floor(min(shown, default=0.0)), math.ceil(max(shown, default=1.0))
    return low, max(high, low + 1)


def _subtitle(field: Field, places: Sequence[Place]) -> str:
    measure = field.measure
    better = f", {measure.direction} is better" if measure.direction else ""
    said = f"{of(measure)[:1].upper()}{of(measure)[1:]}{better}. "
    if all(place.value is None for place in places):
        said += f"The values are not shown ({LIMITED}); who is better than whom may be. "
    else:
        said += "Dots are means over conversations, with 95 % intervals. "
    if any(place.rank_low is not None for place in places):
        counted = ", answers that read nothing included" if field.baselines else ""
        said += f"Bars are the ranks that all may have at once with 95 % confidence{counted}. "
    ns = sorted({place.n for place in places})
    return f"{said}n {count(ns[0])}{f' to {count(ns[-1])}' if len(ns) > 1 else ''}."


def _ident(measure: Measure) -> str:
    told = (measure.benchmark, measure.name, *((measure.criterion, measure.rater) if measure.rater else ()))
    return re.sub(r"[^a-z0-9]+", "-", "-".join(told).casefold()).strip("-")


def _withheld(runs: Sequence[Run]) -> Iterator[str]:
    """Name what judges may not rank models on."""
    by_judge: dict[str, dict[str, None]] = {}
    for run in runs:
        for standing in run.standings.cards.values():
            if standing.card.rank_systems.verdict == LIMITED:
                by_judge.setdefault(standing.card.judge, {})[words(standing.criterion)] = None
    for judge, criteria in by_judge.items():
        yield f"{judge} agrees too little with people to rank models on {named(list(criteria), most=9)}; that is not shown ({LIMITED})."


def _left(measures: int) -> Iterator[str]:
    if measures:
        yield f"{plural(measures, 'more measure')} not drawn, to keep this page small; the table of every two models has them."


def _weights(fields: Sequence[Field]) -> Iterator[str]:
    if any(d.n > d.clusters for field in fields for d in field.measure.differences):
        yield "Each conversation counts once here, and each answer in the rest of this report, so the values differ a little."
