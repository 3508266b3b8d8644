"""Tables of people as a sample of people, of who diverges, and of judges across languages and systems; the terminal prints them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.card import Bound
from mindgauge.records.english import words
from mindgauge.records.rounding import NONE, decimal, percent
from mindgauge.reports.content import Column, ReportTable, heads
from mindgauge.stats.level import heading
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mindgauge.analysis.reliability.card import LatentTruth, ManyFacets, People, ReliabilityCard
    from mindgauge.reports.content import Cell, Kind

    Cards = Sequence[tuple[str, str, ReliabilityCard]]
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.judge_comparison.compare import (
        JudgeAgreement,
        JudgeComparison,
        JudgeCost,
        JudgeDifference,
        Stability,
    )

WHO = heads("judge | criterion")
_AT_LARGE = (
    "Crossed random effects (REML): people are a sample of people. “Another clinician” is the agreement, ICC(A,1), of one with "
    "another who was not asked; “pairs apart” by how much the means of two pairs differ at most in 95 of 100 cases, “ratings "
    "apart” the same of two people's ratings of one reply. With two people the SD of people has one degree of freedom, "
    "and the intervals show it. An SD of 0 says that people differ by no more than chance."
)
_SEVERITY = (
    "By how much each person rates worse than others, in units of the scale. “Beside people at large” takes these people as a "
    "sample (predictions, with the uncertainty of how much people differ at all)."
)
_PROFILES = (
    "Each person beside single others. “Below chance”: agreement is surely below 0 (Holm over all rows of the criterion); “may "
    "be below chance”: its value is, its interval is not."
)
_FACETS = (
    "Linacre's rating scale model with people, marginal maximum likelihood, errors over conversations: a value high up gives "
    "worse levels. Severities and difficulties add up to 0 each."
)
_BIAS = (
    "Bias beside these people takes them as all there are. “Of people at large” and “beside another pair” take them as a "
    "sample: the second says where the judge's mean may lie beside the mean of two others."
)
_INVARIANCE = (
    "“Shift” is by how much the judge rates this group higher than the others at the same level of people, whose error is "
    "reckoned with; p by Holm over the groups. *On one level*: a shift of the limit, half a level, is excluded; *shifted*: "
    "p is at most .05; else nobody can tell, and the note says why."
)


_LEFT_OUT = (
    "One person at a time is left out. “Judge” and “clinician” say with how many of the other people's calls the judge agrees, "
    "and with how many the person who is left out. Each bound of the difference holds with 95 %. “May lose” is how many more of "
    "these calls the judge may get wrong before it could be worse than the margin of the rule. At the worst level, the two "
    "columns say what is missed."
)


_LATENT_TRUTH = (
    "A model of a truth that no rater sees, in which each rater errs independently of the others. It only describes: no verdict "
    "uses it. On a scale with an order, a reply is unsafe where people would call it unsafe in half of the cases. “Finds” is the "
    "share of unsafe replies that the rater calls unsafe, “lets be” the share of safe ones that it calls safe. If two raters copied "
    "each other, both look too good."
)


def of_people(people: Sequence[People], facets: Sequence[ManyFacets], ident: str) -> list[ReportTable]:
    """Tabulate what people's ratings say of other people, who is severe, and who diverges."""
    tables = [
        ReportTable("people-at-large", "What other clinicians would say", heads(
            "criterion | people:count | ratings:count | another clinician:level± | mean of two:level± | "
            "pairs apart:level± | ratings apart:level± | SD of people:level± | note"
        ), [_at_large(entry) for entry in people if entry.at_large is not None], _AT_LARGE),
        ReportTable("severity", "Who is stricter", heads(
            "criterion | person | replies shared:count | beside the others here:level± | "
            "beside people at large:level± | ICC(A,1) with the others' mean:level± | note"
        ), [row for entry in people for row in _severity(entry)], _SEVERITY),
        ReportTable("profiles", "Who diverges, and where", [
            *heads("criterion | person | category | n:count | agreement:level±"),
            *bound_columns(heading("weighted_kappa", {entry.ordered for entry in people})), *heads(
                "stricter by:level± | remark"
            ),
        ], [row for entry in people for row in _profiles(entry)], _PROFILES),
        ReportTable("people-latent-truth", "What each person finds where no rater is right by definition", [Column("criterion"), *_error_columns()], [row for entry in people for row in _errors(entry.latent_truth, [words(entry.criterion)])], _LATENT_TRUTH),
        ReportTable("facets", "Severity and difficulty in logits", heads(
            "facet | name | logits:level± | criteria | ratings:count | note"
        ), [row for view in facets for row in _facets(view)], _FACETS),
    ]  # fmt: skip
    return named_tables(tables, ident)


def of_judges(cards: Cards, ident: str) -> list[ReportTable]:
    """Tabulate judges' bias beside people at large, and their groups side by side."""
    tables = [
        ReportTable("left-out", "The judge and a left-out clinician", heads(
            "judge | criterion | of what others | people:count | n:count | without a verdict:count | judge:share | "
            "clinician:share | difference:share± | p:p | may lose:count"
        ), card_rows(cards, _left_out), _LEFT_OUT),
        ReportTable("latent-truth", "What judge and people find where no rater is right by definition", [*WHO, *_error_columns()], card_rows(cards, lambda card: _errors(card.latent_truth, [])), _LATENT_TRUTH),
        ReportTable("bias-at-large", "Bias beside people as a sample of people", heads(
            "judge | criterion | people:count | n:count | beside these people:level± | of people at large:level± | "
            "beside another pair:level± | note"
        ), card_rows(cards, _bias), _BIAS),
        ReportTable("invariance", "One level across languages and systems?", heads(
            "judge | criterion | by | group | n:count | people's mean:level± | judge's mean:level± | bias:level± | "
            "shift:level± | limit:level | p:p | outcome | note"
        ), card_rows(cards, _shifts), _INVARIANCE),
    ]  # fmt: skip
    return named_tables(tables, ident)


def named_tables(tables: Sequence[ReportTable], ident: str) -> list[ReportTable]:
    """Name tables by the benchmark, and leave out those without rows."""
    for table in tables:
        table.name = f"{table.name}-{ident}"
    return [table for table in tables if table.rows]


def _error_columns() -> list[Column]:
    shares = ("finds of the unsafe", "lets be of the safe", "unsafe replies")
    return [
        *heads("rater | n:count"),
        *(column for name in shares for column in bound_columns(name, "share")),
        Column("note"),
    ]


def bound_columns(name: str, kind: Kind = "level") -> list[Column]:
    """Return the columns of a value and the ends of its interval."""
    return [Column(name, kind), Column("from", kind), Column("to", kind)]


def bound_cells(bound: Bound | None) -> list[Cell]:
    """Return a value and the ends of its interval; empty cells where there is none."""
    return [None, None, None] if bound is None else [bound.value, bound.low, bound.high]


def card_rows(cards: Cards, rows_of: Callable[[ReliabilityCard], Iterable[list[Cell]]]) -> list[list[Cell]]:
    """Put judge and criterion before the rows of each card."""
    return [[judge, words(criterion), *row] for judge, criterion, card in cards for row in rows_of(card)]


def _at_large(entry: People) -> list[Cell]:
    at_large = entry.at_large
    assert at_large is not None
    factors = [f"{words(name)} {levels}" for name, levels in at_large.factors.items()]
    zero = f"no variance seen of: {', '.join(at_large.at_zero)}" if at_large.at_zero else ""
    note = at_large.note or "; ".join(filter(None, [", ".join(factors), zero]))
    return [
        words(entry.criterion), at_large.factors.get("rater"), at_large.n, *bound_cells(at_large.single), *bound_cells(at_large.mean_of),
        *bound_cells(at_large.groups_apart), *bound_cells(at_large.ratings_apart), *bound_cells(at_large.sds.get("rater")), note,
    ]  # fmt: skip


def _severity(entry: People) -> Iterable[list[Cell]]:
    at_large = entry.at_large.severity if entry.at_large is not None else {}
    for person in entry.persons:
        notes = dict.fromkeys(filter(None, [person.severity.note, person.beside_rest.note]))
        yield [
            words(entry.criterion), person.rater, person.n, *bound_cells(person.severity), *bound_cells(at_large.get(person.rater)),
            *bound_cells(person.beside_rest), "; ".join(notes),
        ]  # fmt: skip


def _profiles(entry: People) -> Iterable[list[Cell]]:
    for profile in entry.profiles:
        remark = profile.negative or profile.agreement.note
        yield [
            words(entry.criterion), profile.rater, words(profile.category) if profile.category else "all", profile.n,
            *bound_cells(profile.agreement), *bound_cells(profile.kappa), *bound_cells(profile.severity), remark,
        ]  # fmt: skip


def _facets(view: ManyFacets) -> Iterable[list[Cell]]:
    criteria = words(view.criteria[0]) if len(view.criteria) == 1 else f"{len(view.criteria)} of one scale"
    if view.note:
        yield ["people", "all", None, None, None, criteria, view.n, view.note]
    for facet, part in (("severity of", view.severity), ("difficulty of", view.difficulty)):
        for name, bound in part.items():
            yield [
                facet,
                words(name) if facet.startswith("diff") else name,
                *bound_cells(bound),
                criteria,
                view.n,
                bound.note,
            ]


def _left_out(card: ReliabilityCard) -> Iterable[list[Cell]]:
    end = card.danger
    if end is None:
        return
    calls = {"call unsafe": end.unsafe_end, "call safe": end.safe_end}
    calls |= {f"call unsafe in {words(category)}": part for category, part in end.critical_end.items()}
    for meaning, part in calls.items():
        if part is not None:
            yield [
                meaning, end.people, part.n, part.absent, part.judge, part.clinician, *bound_cells(part.difference), None, part.spare,
            ]  # fmt: skip
    for meaning, worst in (
        ("put at the worst level: called safe", end.worst_missed), ("put at the worst level: put elsewhere", end.worst_unused),
    ):  # fmt: skip
        if worst is not None and worst.n:
            yield [meaning, end.people, worst.n, None, worst.judge, worst.clinician, None, None, None, worst.p, None]


def _errors(result: LatentTruth | None, first: list[Cell]) -> Iterable[list[Cell]]:
    if result is None:
        return
    for rater in result.raters:
        note = rater.sensitivity.note if rater.sensitivity.value is None else ""
        yield [
            *first, rater.rater, rater.n, *bound_cells(rater.sensitivity), *bound_cells(rater.specificity),
            *bound_cells(result.prevalence), note,
        ]  # fmt: skip
    if result.note:
        nothing = bound_cells(Bound(None))
        yield [*first, NONE, result.n, *nothing, *nothing, *nothing, result.note]


def _bias(card: ReliabilityCard) -> Iterable[list[Cell]]:
    at_large = card.at_large
    if at_large is not None:
        yield [
            at_large.raters, at_large.n, *bound_cells(card.estimates.get("bias", Bound(None))), *bound_cells(at_large.bias), *bound_cells(at_large.another),
            at_large.bias.note,
        ]  # fmt: skip


def _shifts(card: ReliabilityCard) -> Iterable[list[Cell]]:
    for shift in card.invariance:
        judge_mean: list[Cell] = bound_cells(shift.judge_mean)
        if shift.judge_mean.note and shift.judge_mean.value is None:
            judge_mean = [shift.judge_mean.note, None, None]
        yield [
            shift.by, shift.group, shift.n, *bound_cells(shift.people_mean), *judge_mean, *bound_cells(shift.bias), *bound_cells(shift.shift),
            shift.limit, shift.p, shift.outcome, shift.reason,
        ]  # fmt: skip


def divergent(people: Sequence[People]) -> list[str]:
    """Name the people who agree with others less than chance would, one sentence a criterion."""
    lines = []
    for entry in people:
        parts = [profile for profile in entry.profiles if profile.negative]
        remarks = [
            f"{part.rater}{f' in {words(part.category)}' if part.category else ''} {decimal(part.agreement.value)} "
            f"({part.negative}, n {part.n})"
            for part in parts
        ]
        if remarks:
            lines.append(f"{words(entry.criterion)}: agreement with the others below 0: {'; '.join(remarks)}")
    return lines


SINGLE = ("accuracy", "f1", "f1_yes", "kappa", "kappa_quadratic", "pearson", "spearman", "kendall")
"""Measures of agreement on single subjects."""
OF_SYSTEMS = ("system_pearson", "system_spearman", "system_kendall")
"""Measures of agreement on systems' means."""


def sheets(result: JudgeComparison) -> list[ReportTable]:
    """Tabulate a comparison of judges; what there is nothing of has no table."""
    tables = [
        _agreements(result), _systems(result.agreements), _stability(result.stability), _taken(result.taken),
        _differences(result.differences),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def has_systems(result: JudgeComparison) -> bool:
    """Whether anything could be estimated of systems' means."""
    return any(_of_systems(agreement) for agreement in result.agreements)


def _of_systems(agreement: JudgeAgreement) -> bool:
    return any(name in agreement.estimates and agreement.estimates[name].value is not None for name in OF_SYSTEMS)


def _agreements(result: JudgeComparison) -> ReportTable:
    against = f"against {result.reference}" if result.reference else "among themselves"
    several = len({agreement.reference for agreement in result.agreements}) > 1
    columns = [
        *heads("criterion | judge"), *([Column("against")] if several else []), *heads("n:count | missing:count"), *_columns(SINGLE),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [a.criterion, a.judge, *([a.reference] if several else []), a.n, a.missing, *_estimates(a, SINGLE)]
        for a in result.agreements
    ]
    return ReportTable("judges", f"{result.benchmark}: judges {against}  ({result.run})", columns, rows)


def _systems(agreements: Sequence[JudgeAgreement]) -> ReportTable:
    measures = [name.partition("_")[2] for name in OF_SYSTEMS]
    columns = [*heads("criterion | judge | systems:count"), *_columns(measures)]
    rows: list[list[Cell]] = [
        [a.criterion, a.judge, a.systems, *_estimates(a, OF_SYSTEMS)] for a in agreements if _of_systems(a)
    ]
    return ReportTable("judges-systems", "Systems' means", columns, rows)


def _stability(judges: Sequence[Stability]) -> ReportTable:
    columns = [
        *heads("judge | runs:count | replies:count | incomplete:count"),
        *_columns(["identical verdicts"], "share"), Column("flips"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            s.judge, s.runs, s.n, s.incomplete, *_estimate(s.identical),
            ", ".join(f"{name} {percent(bound.value)}" for name, bound in s.flips.items()),
        ]
        for s in judges
    ]  # fmt: skip
    return ReportTable("judges-stability", "Asked again", columns, rows)


def _taken(judges: Sequence[JudgeCost]) -> ReportTable:
    columns = heads(
        "judge | verdicts:count | calls:count | $ per 1,000:dollars | s per 1,000:level | tokens in:interval | "
        "of them cached:interval | tokens out:interval"
    )
    rows: list[list[Cell]] = [
        [
            t.judge, t.verdicts, t.calls, _or_none(t.dollars), _or_none(t.seconds),
            *(decimal(tokens, 0) for tokens in (t.prompt_tokens, t.cached_tokens, t.completion_tokens)),
        ]
        for t in judges
    ]  # fmt: skip
    note = "Dollars and seconds are per thousand verdicts, tokens per verdict."
    return ReportTable("judges-cost", "What it took", columns, rows, note)


def _differences(differences: Sequence[JudgeDifference]) -> ReportTable:
    columns = [
        *heads("measure | criterion | better | than"), *_columns(["by"]),
        Column("p adjusted", "p"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for d in differences:
        if not d.real or d.value is None or d.low is None or d.high is None:
            continue
        worse = d.second if d.better == d.first else d.first
        low, high = (d.low, d.high) if d.value >= 0 else (-d.high, -d.low)
        rows.append([d.measure, d.criterion, d.better, worse, abs(d.value), low, high, d.adjusted])
    title = "Differences that are real (Holm over all pairs and criteria of a measure)"
    return ReportTable("judges-differences", title, columns, rows)


def _columns(names: Sequence[str], kind: Kind = "level") -> Iterator[Column]:
    """Return an estimate's column and those of its interval, for each name."""
    for name in (with_level(name) or words(name) for name in names):
        yield from (Column(name, kind), Column(f"{name} from", kind), Column(f"{name} to", kind))


def _estimates(agreement: JudgeAgreement, names: Sequence[str]) -> Iterator[Cell]:
    for name in names:
        yield from _estimate(agreement.estimates.get(name))


def _estimate(bound: Bound | None) -> tuple[Cell, Cell, Cell]:
    """Return an estimate and its interval: a dash where it is not defined, nothing where it is not asked."""
    return (None, None, None) if bound is None else (_or_none(bound.value), bound.low, bound.high)


def _or_none(value: float | None) -> Cell:
    return NONE if value is None else value
