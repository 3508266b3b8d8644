"""Compared in pairs: who is better than whom on what both answered, as pictures, sentences and tables; and each alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from mindgauge.analysis.compare import compare
from mindgauge.analysis.reliability.card import LIMITED
from mindgauge.records.english import ended, named, words
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import counts, plural
from mindgauge.records.rubric.criterion import numbered
from mindgauge.reports.compared import (
    ComparisonSection,
    MeasureComparison,
    RankedSystems,
    costs,
    of,
    pairs,
    parts,
    standings,
)
from mindgauge.reports.content import Column, ReportTable, slug
from mindgauge.reports.reliability_gate import UNRELIABLE
from mindgauge.reports.runs import constant, every_score_of
from mindgauge.reports.score_tables import NUMBERS, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.pairing import Measure, SystemComparison
    from mindgauge.analysis.score import Score
    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.compared import SystemPlace
    from mindgauge.reports.content import Cell, Rated, System
    from mindgauge.reports.runs import OpenRun, Section


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
    def of(cls, comparison: SystemComparison, runs: Sequence[OpenRun], systems: Sequence[System]) -> _Named:
        run_systems = {(str(runs[system.run].folder), system.model): system for system in systems}
        drawn = {s.label: run_systems[s.run, s.model] for s in comparison.systems if (s.run, s.model) in run_systems}
        labels = {s.label: drawn[s.label].label if s.label in drawn else s.label for s in comparison.systems}
        return cls(drawn, labels, {s.label for s in comparison.systems if s.baseline})

    def field(self, measure: Measure) -> RankedSystems:
        ranked = [standing.system for standing in measure.standings]
        return RankedSystems(
            measure,
            [label for label in ranked if label in self.systems],
            [label for label in ranked if label in self.constant],
            self.labels,
        )


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
    named_ = _Named.of(comparison, runs, systems)
    fields = [
        field
        for measure in comparison.measures
        if show_unreliable or measure.rank_systems != LIMITED
        for field in [named_.field(measure)]
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
            f, named_, sections[f.measure.benchmark], folded=first[f.measure.benchmark] is not f, shown=show_unreliable
        )
        for f in drawn
    ]
    single = [f for f in fields if _is_part(f.measure, sections[f.measure.benchmark])]
    part_pairs = pairs("parts", "On which single parts they can be told apart", single, apart=True)
    price, unknown = costs(comparison, named_.systems, named_.labels)
    return ComparisonSection(
        contrasts, pairs("pairs", "Every two models, paired", overall) if overall else None, part_pairs if part_pairs.rows else None,
        list(parts(single)), price, unknown, withheld, [*map(ended, comparison.notes), *_left(len(overall) - len(drawn)), *_weights(overall)],
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


def _contrast(field: RankedSystems, names: _Named, section: Section, *, folded: bool, shown: bool) -> MeasureComparison:
    measure = field.measure
    unit: Literal["share", "level"] = "share" if measure.unit == "share" else "level"
    places = field.places(names.systems, shown=shown)
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


def _left(measures: int) -> Iterator[str]:
    if measures:
        yield f"{plural(measures, 'more measure')} not drawn, to keep this page small; the table of every two models has them."


def _weights(fields: Sequence[RankedSystems]) -> Iterator[str]:
    if any(d.n > d.clusters for field in fields for d in field.measure.differences):
        yield "Each conversation counts once here, and each answer in the rest of this report, so the values differ a little."


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
    rows += _constant(runs)
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def _constant(runs: Sequence[OpenRun]) -> Iterator[tuple[tuple[str, int, str], list[Cell]]]:
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
        Column("benchmark"), Column("measure"), Column("model"), Column("rated by"), *NUMBERS,
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
