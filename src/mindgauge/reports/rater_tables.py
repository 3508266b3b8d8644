"""Tables of people as a sample of people, of who diverges, and of judges across languages and systems; the terminal prints them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.card import Bound
from mindgauge.records.english import words
from mindgauge.records.rounding import decimal
from mindgauge.reports.content import Column, ReportTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mindgauge.analysis.reliability.card import ManyFacets, People, ReliabilityCard
    from mindgauge.reports.content import Cell, Kind

    Cards = Sequence[tuple[str, str, ReliabilityCard]]

_WHO = [Column("judge"), Column("criterion")]
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


_ONE_MORE = (
    "The alternative annotator test (Calderon, Reichart and Dror 2025): leaving out one person at a time, is the judge as close to "
    "the others as that person? It wins against a person where it is surely closer less often by under ε of the replies "
    "(false discoveries controlled), and is as good as one more person where it wins against half of them or more. The advantage is the "
    "chance that it is at least as close as a person. A missing verdict loses. “Not shown” is no proof that it is worse."
)
_ONE_MORE_PERSONS = (
    "“Judge” and “person” are the shares of replies on which each is at least as close to the others as the other, ties "
    "on both sides; p, adjusted by Benjamini and Yekutieli, that the judge is worse by ε or more."
)


def of_people(people: Sequence[People], facets: Sequence[ManyFacets], ident: str) -> list[ReportTable]:
    """Tabulate what people's ratings say of other people, who is severe, and who diverges."""
    tables = [
        ReportTable("people-at-large", "What other clinicians would say", [
            Column("criterion"), Column("people", "count"), Column("ratings", "count"), *_bounds("another clinician"),
            *_bounds("mean of two"), *_bounds("pairs apart"), *_bounds("ratings apart"), *_bounds("SD of people"), Column("note"),
        ], [_at_large(entry) for entry in people if entry.at_large is not None], _AT_LARGE),
        ReportTable("severity", "Who is stricter", [
            Column("criterion"), Column("person"), Column("replies shared", "count"), *_bounds("beside the others here"),
            *_bounds("beside people at large"), *_bounds("ICC(A,1) with the others' mean"), Column("note"),
        ], [row for entry in people for row in _severity(entry)], _SEVERITY),
        ReportTable("profiles", "Who diverges, and where", [
            Column("criterion"), Column("person"), Column("category"), Column("n", "count"), *_bounds("agreement"),
            *_bounds("kappa"), *_bounds("stricter by"), Column("remark"),
        ], [row for entry in people for row in _profiles(entry)], _PROFILES),
        ReportTable("facets", "Severity and difficulty in logits", [
            Column("facet"), Column("name"), *_bounds("logits"), Column("criteria"), Column("ratings", "count"), Column("note"),
        ], [row for view in facets for row in _facets(view)], _FACETS),
    ]  # fmt: skip
    return _named(tables, ident)


def of_judges(cards: Cards, ident: str) -> list[ReportTable]:
    """Tabulate judges' bias beside people at large, and their groups side by side."""
    tables = [
        ReportTable("one-more", "As good as one more person?", [
            *_WHO, Column("people", "count"), Column("n", "count"), Column("missing", "count"), Column("won against", "count"),
            Column("winning rate", "share"), *_bounds("advantage", "share"), Column("ε", "share"), Column("outcome"), Column("note"),
        ], _rows(cards, _one_more), _ONE_MORE),
        ReportTable("one-more-persons", "The judge in place of each person", [
            *_WHO, Column("person"), Column("n", "count"), Column("missing", "count"), *_bounds("judge", "share"),
            *_bounds("person", "share"), *_bounds("worse by", "share"), Column("p", "p"), Column("wins"), Column("note"),
        ], _rows(cards, _one_more_persons), _ONE_MORE_PERSONS),
        ReportTable("bias-at-large", "Bias beside people as a sample of people", [
            *_WHO, Column("people", "count"), Column("n", "count"), *_bounds("beside these people"), *_bounds("of people at large"),
            *_bounds("beside another pair"), Column("note"),
        ], _rows(cards, _bias), _BIAS),
        ReportTable("invariance", "One level across languages and systems?", [
            *_WHO, Column("by"), Column("group"), Column("n", "count"), *_bounds("people's mean"), *_bounds("judge's mean"),
            *_bounds("bias"), *_bounds("shift"), Column("limit", "level"), Column("p", "p"), Column("outcome"), Column("note"),
        ], _rows(cards, _shifts), _INVARIANCE),
    ]  # fmt: skip
    return _named(tables, ident)


def _named(tables: Sequence[ReportTable], ident: str) -> list[ReportTable]:
    for table in tables:
        table.name = f"{table.name}-{ident}"
    return [table for table in tables if table.rows]


def _bounds(name: str, kind: Kind = "level") -> list[Column]:
    return [Column(name, kind), Column("from", kind), Column("to", kind)]


def _cells(bound: Bound | None) -> list[Cell]:
    return [None, None, None] if bound is None else [bound.value, bound.low, bound.high]


def _rows(cards: Cards, rows_of: Callable[[ReliabilityCard], Iterable[list[Cell]]]) -> list[list[Cell]]:
    return [[judge, words(criterion), *row] for judge, criterion, card in cards for row in rows_of(card)]


def _at_large(entry: People) -> list[Cell]:
    at_large = entry.at_large
    assert at_large is not None
    factors = [f"{words(name)} {levels}" for name, levels in at_large.factors.items()]
    zero = f"no variance seen of: {', '.join(at_large.at_zero)}" if at_large.at_zero else ""
    note = at_large.note or "; ".join(filter(None, [", ".join(factors), zero]))
    return [
        words(entry.criterion), at_large.factors.get("rater"), at_large.n, *_cells(at_large.single), *_cells(at_large.mean_of),
        *_cells(at_large.groups_apart), *_cells(at_large.ratings_apart), *_cells(at_large.sds.get("rater")), note,
    ]  # fmt: skip


def _severity(entry: People) -> Iterable[list[Cell]]:
    at_large = entry.at_large.severity if entry.at_large is not None else {}
    for person in entry.persons:
        notes = dict.fromkeys(filter(None, [person.severity.note, person.beside_rest.note]))
        yield [
            words(entry.criterion), person.rater, person.n, *_cells(person.severity), *_cells(at_large.get(person.rater)),
            *_cells(person.beside_rest), "; ".join(notes),
        ]  # fmt: skip


def _profiles(entry: People) -> Iterable[list[Cell]]:
    for profile in entry.profiles:
        remark = profile.negative or profile.agreement.note
        yield [
            words(entry.criterion), profile.rater, words(profile.category) if profile.category else "all", profile.n,
            *_cells(profile.agreement), *_cells(profile.kappa), *_cells(profile.severity), remark,
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
                *_cells(bound),
                criteria,
                view.n,
                bound.note,
            ]


def _one_more(card: ReliabilityCard) -> Iterable[list[Cell]]:
    result = card.one_more
    if result is not None:
        wins = None if result.winning is None else sum(person.wins for person in result.persons)
        yield [
            len(result.persons), max((person.n for person in result.persons), default=0),
            max((person.missing for person in result.persons), default=0), wins, result.winning, *_cells(result.advantage),
            result.epsilon, result.outcome, result.reason,
        ]  # fmt: skip


def _one_more_persons(card: ReliabilityCard) -> Iterable[list[Cell]]:
    for person in card.one_more.persons if card.one_more is not None else ():
        wins = "" if person.p is None else "yes" if person.wins else "no"
        yield [
            person.rater, person.n, person.missing, *_cells(person.judge), *_cells(person.person), *_cells(person.worse),
            person.p, wins, person.worse.note,
        ]  # fmt: skip


def _bias(card: ReliabilityCard) -> Iterable[list[Cell]]:
    at_large = card.at_large
    if at_large is not None:
        yield [
            at_large.raters, at_large.n, *_cells(card.estimates.get("bias", Bound(None))), *_cells(at_large.bias), *_cells(at_large.another),
            at_large.bias.note,
        ]  # fmt: skip


def _shifts(card: ReliabilityCard) -> Iterable[list[Cell]]:
    for shift in card.invariance:
        judge_mean: list[Cell] = _cells(shift.judge_mean)
        if shift.judge_mean.note and shift.judge_mean.value is None:
            judge_mean = [shift.judge_mean.note, None, None]
        yield [
            shift.by, shift.group, shift.n, *_cells(shift.people_mean), *judge_mean, *_cells(shift.bias), *_cells(shift.shift),
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
