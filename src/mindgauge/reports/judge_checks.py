"""Checks of a judge beside its cards: how it did in its entry test, and how far its reasons can be checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.analysis import rationales
from mindgauge.analysis.fitness import UNORDERED
from mindgauge.records.english import words
from mindgauge.records.rounding import count, decimal, interval, percent, plural
from mindgauge.reports.content import Column, Dot, Figure, ReportTable, slug
from mindgauge.reports.sections import EntryTestSection
from mindgauge.stats.level import heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mindgauge.analysis.fitness import Qualification
    from mindgauge.analysis.rationales import Rationales
    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.records import Value
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun

    Found = Sequence[tuple[System, Qualification]]

    Named = Sequence[tuple[str, Qualification]]


NOT_CLINICIANS = (
    "These replies were written by Mindgauge's authors to stand at known levels; they are clear cases, and no clinician rated them. "
    "A judge that fails here cannot read the rubric; a judge that passes may still disagree with people."
)


def entry_test(tests: Found) -> EntryTestSection:
    """Put the entry tests of one benchmark's judges together."""
    benchmark = tests[0][1].benchmark
    ident = slug(benchmark)
    figures: list[Figure] = []
    rest: list[tuple[System, Qualification]] = []
    names = list(dict.fromkeys(q.criterion for _, q in tests))
    for name in names:
        criterion_tests = [(judge, q) for judge, q in tests if q.criterion == name]
        drawn = _figure(criterion_tests, ident)
        if drawn is None:
            rest += criterion_tests
            continue
        if len(names) > 1:
            drawn.finding = drawn.sheet.title = (
                f"{words(name).capitalize()}: {drawn.finding[:1].lower()}{drawn.finding[1:]}"
            )
            drawn.folded = words(name) if figures else ""
        figures.append(drawn)
    named = [(judge.label, q) for judge, q in tests]
    sheets = [overview(named, ident), *([levels([(judge.label, q) for judge, q in rest], ident)] if rest else [])]
    return EntryTestSection(benchmark, _finding(tests), NOT_CLINICIANS, figures, sheets)


def _finding(tests: Found) -> str:
    """Say how often judges met the level that a reply was written for: each judge over all criteria."""
    hits: dict[str, list[float]] = {}
    for judge, q in tests:
        tally = hits.setdefault(judge.label, [0.0, 0])
        tally[0] += (q.exact.value or 0.0) * q.n
        tally[1] += q.n
    shares = sorted((tally / n, name) for name, (tally, n) in hits.items())
    largest = max(q.n for _, q in tests)
    target = (
        f"of {plural(largest, 'reply', 'replies')} the level {'it was' if largest == 1 else 'they were'} written for"
    )
    (lowest, worst), (highest, best) = shares[0], shares[-1]
    if len(shares) == 1:
        return f"Entry test: {worst} gave {percent(lowest)} {target}"
    return f"Entry test: judges gave {percent(lowest)} ({worst}) to {percent(highest)} ({best}) {target}"


def _figure(tests: Found, ident: str) -> Figure | None:
    """Draw the mean level that each judge gave, by the level the replies were written for; None for levels in words."""
    written_levels = sorted({result.level for _, q in tests for result in q.levels if isinstance(result.level, int)})
    dots = [
        Dot(judge, _row(result.level), result.mean, None, None, result.n, min(result.n, q.clusters), result.missing)
        for judge, q in tests
        for result in q.levels
        if isinstance(result.level, int) and result.mean is not None
    ]
    if not dots or len(written_levels) < 2:
        return None
    lowest = sorted((dot.value, dot.system.label) for dot in dots if dot.row == _row(written_levels[0]))
    extremes = list(dict.fromkeys((*lowest[:1], *lowest[-1:])))
    means = [f"{decimal(value, 1)}{f' ({judge})' if len(tests) > 1 else ''}" for value, judge in extremes]
    criterion = words(tests[0][1].criterion)
    finding = f"Replies written to stand at {written_levels[0]} got {' to '.join(means) or 'no level'} on average"
    measure = f"Mean {criterion} given to replies of each known level; the bars are where they should stand"
    low, high = (round_(value) for round_, value in (
        (math.floor, min(written_levels[0], *(dot.value for dot in dots))), (math.ceil, max(written_levels[-1], *(dot.value for dot in dots)))
    ))  # fmt: skip
    name = f"{ident}-{tests[0][1].criterion}"
    return Figure(
        f"entry-{name}", tests[0][1].benchmark, finding, f"{measure}. No intervals: too few replies per level.", "level", low, high,
        [_row(level) for level in written_levels], dots, levels([(judge.label, q) for judge, q in tests], name), targets={_row(level): float(level) for level in written_levels},
    )  # fmt: skip


def _row(level: Value | None) -> str:
    return "written not to apply" if level is None else f"written for {level}"


def overview(found: Named, ident: str) -> ReportTable:
    """Tabulate how each judge did on each criterion, judges as they are called."""
    share, level = [Column("from", "share"), Column("to", "share")], [Column("from", "level"), Column("to", "level")]
    columns = [
        Column("judge"), Column("criterion"), Column("result"),
        Column(heading("weighted_kappa", {q.icc_a1.note != UNORDERED.note for _, q in found}), "level"), *level, Column("replies", "count"),
        Column("missing", "count"), Column("dialogues", "count"),
        Column("same level", "share"), *share, Column("within one level", "share"), *share, Column("bias", "level"), *level,
        Column("ICC(A,1)", "level"), *level,
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            judge, words(q.criterion), q.result, q.kappa.value, q.kappa.low, q.kappa.high, q.n, q.missing, q.clusters,
            *(end for bound in (q.exact, q.within_1, q.bias, q.icc_a1) for end in (bound.value, bound.low, bound.high)),
        ]
        for judge, q in found
    ]  # fmt: skip
    note = (
        "“Same level” and “within one level” count a missing verdict as neither; shares have exact intervals with dialogues as n. "
        "“Bias” is the judge's level minus the authors'. “Kappa” (quadratic weights, classes nominal) is the agreement beyond chance, a missing verdict agreeing with "
        "nothing; by its fixed limits a judge passes, fails, or is left undecided."
    )
    return ReportTable(f"entry-test-{ident}", "The entry test in numbers", columns, rows, note)


def levels(found: Named, ident: str) -> ReportTable:
    """Tabulate what each judge gave to the replies of each level."""
    columns = [
        Column("judge"), Column("criterion"), Column("replies"), Column("n", "count"), Column("missing", "count"),
        Column("given this very level", "share"), Column("mean level given", "level"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [judge, words(q.criterion), _row(at.level), at.n, at.missing, at.recall, at.mean]
        for judge, q in found
        for at in q.levels
    ]
    return ReportTable(f"entry-levels-{ident}", "What was given at each level", columns, rows)


# How far a judge's reasons can be checked.


class Reasons(NamedTuple):
    """What one run shows of its judges' reasons, by benchmark and judge.

    `quoted` has how many passages are quoted, and how many of these stand in the text.
    """

    number: int
    checked: dict[tuple[str, str], list[Rationales]]
    quoted: dict[tuple[str, str], tuple[int, int]]

    @classmethod
    def of(cls, run: OpenRun, number: int) -> Reasons:
        """Look at the reasons in a run."""
        reasons = cls(number, {}, {})
        for section in (s for s in run.sections if not s.benchmark.closed):
            benchmark = section.benchmark
            checked, passages = rationales.reasons(run.store, benchmark)
            for rationale in checked:
                reasons.checked.setdefault((benchmark.name, rationale.judge), []).append(rationale)
            reasons.quoted.update({(benchmark.name, rater): counts for rater, counts in passages.items()})
        return reasons

    def facts(self, judge: str, benchmark: str) -> list[str]:
        """Say how far a judge's reasons can be checked on a benchmark."""
        return list(told(self.checked.get((benchmark, judge), [])))

    def sheets(self, judge: str, benchmark: str) -> list[ReportTable]:
        """Tabulate them."""
        checked = self.checked.get((benchmark, judge))
        return [sheet(f"{benchmark}-{judge}-{self.number}", judge, checked)] if checked else []


def told(checked: Sequence[Rationales]) -> Iterator[str]:
    """Say of one judge, over its criteria, how many of its reasons can be checked and hold."""
    yield from filter(None, (
        _shares(checked, lambda r: r.traceable, min, "Of its verdicts that need a quote, {} quote only what stands in the text{}."),
        _shares(checked, lambda r: r.contradicting, max, "Of those that follow a chain of checks, {} contradict the judge's own checks{}."),
        _shares(checked, lambda r: r.unsupported, max, "Of those with a check answered yes, {} quote nothing that is found{}."),
        _shares(checked, lambda r: r.uncertain, max, "The judge calls {} of its verdicts uncertain{}."),
    ))  # fmt: skip
    elsewhere = sum(r.answered_elsewhere for r in checked)
    if elsewhere:
        yield f"Of {plural(sum(r.n for r in checked), 'reason')}, {count(elsewhere)} {'is' if elsewhere == 1 else 'are'} in another language than the question."


def _shares(
    checked: Sequence[Rationales],
    share_of: Callable[[Rationales], Bound],
    worst: Callable[..., Rationales],
    template: str,
) -> str:
    """Write a share with its interval; of several criteria, the worst."""
    estimated = [r for r in checked if share_of(r).value is not None]
    if not estimated:
        return ""
    last = worst(estimated, key=lambda rationale: share_of(rationale).value or 0.0)
    bounds, share = interval(share_of(last).low, share_of(last).high, "share"), percent(share_of(last).value)
    if len(estimated) == 1:
        return template.format(share, f" ({bounds}; {plural(last.n, 'verdict')} in all)")
    edge = "at least" if worst is min else "at most"
    place = f", {'least' if worst is min else 'most'} on {words(last.criterion)} ({bounds}; {plural(last.n, 'verdict')} in all)"
    return template.format(f"{edge} {share}", place)


def sheet(name: str, judge: str, found: Sequence[Rationales]) -> ReportTable:
    """Tabulate how far one judge's reasons can be checked, criterion by criterion."""
    shares: list[tuple[str, Callable[[Rationales], Bound]]] = [
        ("quotes all found", lambda r: r.traceable), ("quotes the reply", lambda r: r.quoted_reply),
        ("against its own checks", lambda r: r.contradicting), ("checks without a quote", lambda r: r.unsupported),
        ("uncertain", lambda r: r.uncertain),
    ]  # fmt: skip
    columns = [
        Column("criterion"), Column("verdicts", "count"), Column("conversations", "count"), Column("nothing to quote", "count"),
        *(Column(name, "share") for head, _ in shares for name in (head, "from", "to")), Column("in another language", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for r in found:
        bounds = [of(r) for _, of in shares]
        values: list[Cell] = [end for b in bounds for end in (b.value, b.low, b.high)]
        rows.append([words(r.criterion), r.n, r.clusters, r.absent, *values, r.answered_elsewhere])
    ident = slug(name)
    note = (
        "A verdict that something is not there needs no quote. “Quotes all found” is of the others; “quotes the reply” of those with a found quote; "
        "“against its own checks” of those with a chain; “checks without a quote” of those with a check answered yes. Bounds are exact, with "
        "conversations as n. That a quote is found does not mean that it matters."
    )
    return ReportTable(f"reasons-{ident}", f"Whether the reasons of {judge} can be checked", columns, rows, note)
