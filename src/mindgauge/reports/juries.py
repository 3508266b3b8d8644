"""What several judges know together: juries beside their members and beside people, as `mindgauge judges panel` has it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import rationales
from mindgauge.analysis.fitness import UNORDERED
from mindgauge.analysis.jury.jury import JuryMethod
from mindgauge.analysis.reliability.card import NOT_ESTIMABLE
from mindgauge.records.english import named, sentence, words
from mindgauge.records.rounding import count, decimal, interval, percent, plural
from mindgauge.records.shell import command_line
from mindgauge.reports.content import Column, Dot, Figure, ReportTable, heads, slug
from mindgauge.reports.reliability_gate import agreement, in_sentence, label, of_replies, places_of
from mindgauge.reports.runs import MODEL, PERSON
from mindgauge.reports.sections import EntryTestSection, JurySection
from mindgauge.stats.level import heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mindgauge.analysis.fitness import Qualification
    from mindgauge.analysis.jury.jury import JuryCard
    from mindgauge.analysis.rationales import Rationales
    from mindgauge.analysis.reliability.card import Bound, ReliabilityCard
    from mindgauge.records import Value
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun

    Found = Sequence[tuple[System, Qualification]]
    Named = Sequence[tuple[str, Qualification]]


_NOTHING = 1e-9
"""A gain that is rounding."""


def finding(panels: dict[str, JuryCard]) -> str:
    """Say in one line what the judges are together on the criteria of a benchmark."""
    members = sorted({len(p.members) for p in panels.values()})
    panel_name = f"{count(members[-1])} judges" if len(members) == 1 else f"Up to {count(members[-1])} judges"
    estimated = {name: panel for name, panel in panels.items() if panel.errors.skill.value is not None}
    follow = {
        n: p.independent.value for n, p in estimated.items() if p.errors.follows and p.independent.value is not None
    }
    if estimated and not any(panel.errors.follows for panel in estimated.values()):
        return f"{panel_name} together are not shown to follow people"
    if not follow:
        return f"{panel_name} together, beside people"
    scope = f" on {named([words(name) for name in follow])}" if len(follow) < len(estimated) else ""
    low, high = min(follow, key=follow.__getitem__), max(follow, key=follow.__getitem__)
    floor = "at least " if not all(panels[name].errors.floored for name in follow) else ""
    if decimal(follow[low]) == decimal(follow[high]):
        return f"{panel_name} err like {floor}{decimal(follow[low])} independent ones{scope}"
    return f"{panel_name} err like {floor}{decimal(follow[low])} ({words(low)}) to {decimal(follow[high])} ({words(high)}) independent ones{scope}"


def together(panel: JuryCard) -> Iterator[str]:
    """Say like how many independent judges the members err, and how near to people their mean is, in two sentences.

    Where they do not surely follow people, only that is said: independent noise is no second opinion.
    """
    members, errors = named(panel.members, limit=9), panel.errors
    if errors.skill.value is None:
        reason = errors.skill.note or panel.independent.note
        yield f"How near {members} together come to people is not known ({reason})."
        return
    if not errors.follows:
        yield (
            f"{members} together are not shown to follow people: put on people's scale, their mean misses people's value by {_root(errors.jury)} "
            f"(root mean square), a constant value by {_root(errors.constant)}. Their agreement shows nothing."
        )
        return
    yield _independence(panel, members)
    yield _error(panel)


def _independence(panel: JuryCard, members: str) -> str:
    worth = panel.independent
    if worth.value is None:
        return f"The number of independent judges that {members} are worth is not known ({worth.note})."
    if not panel.errors.floored:
        bound = f" (lower bound {decimal(worth.low)})" if worth.low is not None else ""
        return (
            f"Given people's value, {members} err like {decimal(worth.value)} independent judges or more{bound}: no reply was rated by two "
            "people, so people's own error, which all judges seem to share, stays in it."
        )
    ends = f" ({interval(worth.low, worth.high)})" if worth.low is not None else ""
    return (
        f"Given people's value, {members} err like {decimal(worth.value)} independent judges{ends}: the more alike they err, the less "
        "their agreement shows."
    )


def _error(panel: JuryCard) -> str:
    errors = panel.errors
    sentence = (
        f"Put on people's scale, their mean misses people's value by {_root(errors.jury)} (root mean square), one of them by "
        f"{_root(errors.average)} on average, the one that is best on other conversations by {_root(errors.best)}, and a constant value "
        f"by {_root(errors.constant)}"
    )
    gain = errors.gain
    if gain.value is None:
        return f"{sentence}."
    ends = f" ({percent(gain.low)} to {percent(gain.high)})".replace("-", "−") if gain.low is not None else ""
    direction = "smaller" if gain.value >= 0 else "larger"
    if abs(gain.value) < _NOTHING:
        return f"{sentence}; the mean is no nearer than the best one."
    difference = percent(abs(gain.value))
    if gain.low is not None and gain.high is not None and gain.low <= 0 <= gain.high:
        return f"{sentence}; that its squared error is {difference} {direction} than that of the best one may be chance{ends}."
    return f"{sentence}; its squared error is {difference} {direction} than that of the best one{ends}."


def _root(square: float | None) -> str:
    return "–" if square is None else decimal(math.sqrt(max(square, 0.0)))


RESAMPLES = 500
MOST = 40_000
"""Ratings that a report makes juries of."""
FEW = 3
"""Criteria of a benchmark that a report tells of."""
SURE = 0.95
"""Share of the resamples in which the same model is first, below which that is not sure."""
_HOW = (JuryMethod.MEAN, JuryMethod.MEDIAN, JuryMethod.MAJORITY, JuryMethod.MINIMUM)


def juries(runs: Sequence[OpenRun]) -> tuple[list[JurySection], list[str]]:
    """Put the judges of each run together where people rated beside two of them; say where that is left to a command."""
    sections: list[JurySection] = []
    notes: list[str] = []
    for number, run in enumerate(runs):
        judges = {standing.card.judge for standing in run.standings.cards.values()}
        if len(judges) > 1:
            _of_run(run, number, run.folder.resolve().name if len(runs) > 1 else "", sections, notes)
    return sections, notes


def _of_run(run: OpenRun, number: int, named_: str, sections: list[JurySection], notes: list[str]) -> None:
    from mindgauge.analysis.jury import panels
    from mindgauge.analysis.reliability import rule
    from mindgauge.analysis.reliability.cards import CardOptions

    command = f"“{command_line('judges', 'panel', run.folder)}”"
    benchmarks = [section.benchmark for section in run.sections]
    together = _together(run)
    chosen, unreported = _chosen_of(
        run, {key: place for key, place in places_of(benchmarks).items() if place in together}
    )
    if not chosen:
        return
    ratings = sum(together[place] for place in chosen.values())
    if ratings > MOST:
        notes.append(
            f"What the judges know together takes long to compute from {count(ratings)} ratings; run {command}."
        )
        return
    read, _ = of_replies(run.folder, benchmarks)
    frame = read.frame.filter(pl.col("rater_kind").is_in([PERSON, MODEL]), pl.col("criterion").is_in(list(chosen)))
    wanted = panels.Wanted(_HOW, (), (), None)
    result = panels.panels(
        read._replace(frame=frame), wanted, CardOptions(rule.load(rule.MINDGAUGE), resamples=RESAMPLES, brief=True)
    )
    panel_of = {panel.criterion: panel for panel in result.panels}
    for benchmark in dict.fromkeys(benchmark for benchmark, _ in chosen.values()):
        criterion_panels = {
            name: panel_of[key] for key, (b, name) in chosen.items() if b == benchmark and key in panel_of
        }
        if criterion_panels:
            ident = slug(benchmark, number)
            sections.append(_jury(named_, benchmark, ident, criterion_panels, command, unreported.get(benchmark, 0)))


def _together(run: OpenRun) -> dict[tuple[str, str], int]:
    """Count the ratings by people and judges on each criterion, by benchmark and name, where people rated beside two judges."""
    counts: dict[tuple[str, str], int] = {}
    for section in (section for section in run.sections if not section.benchmark.closed):
        rated = section.ratings.lazy().filter(pl.col("rater_kind").is_in([PERSON, MODEL]))
        raters = rated.group_by("criterion", "rater_kind", "rater").agg(pl.len()).collect(engine="streaming")
        for (criterion,), rater_rows in raters.group_by("criterion"):
            judges = rater_rows.filter(pl.col("rater_kind") == MODEL)["rater"].n_unique()
            if judges > 1 and (rater_rows["rater_kind"] == PERSON).any():
                counts[section.benchmark.name, str(criterion)] = int(rater_rows["len"].sum())
    return counts


def _chosen_of(run: OpenRun, places: dict[str, tuple[str, str]]) -> tuple[dict[str, tuple[str, str]], dict[str, int]]:
    """Choose the criteria that a report tells of, a benchmark's gates first; count those that it leaves to a command."""
    chosen: dict[str, tuple[str, str]] = {}
    unreported: dict[str, int] = {}
    for section in run.sections:
        gates = {name for name, composite in section.benchmark.composites.items() if composite.gate}
        own = [criterion.name for criterion in section.benchmark.rubric.criteria]
        order = [*(name for name in section.criteria if name in gates), *own]
        keys = {name: key for key, (benchmark, name) in places.items() if benchmark == section.benchmark.name}
        rated = [name for name in order if name in keys]
        chosen |= {keys[name]: (section.benchmark.name, name) for name in rated[:FEW]}
        unreported[section.benchmark.name] = len(rated[FEW:])
    return chosen, unreported


def _jury(
    run: str, benchmark: str, ident: str, panels: dict[str, JuryCard], command: str, unreported: int
) -> JurySection:
    lines = [" ".join(said(name, panel)) for name, panel in panels.items()]
    remainder = (
        f"uses more, and reports {plural(unreported, 'more criterion', 'more criteria')}" if unreported else "uses more"
    )
    lines.append(f"Intervals are over conversations, with {RESAMPLES} resamples; {command} {remainder}.")
    return JurySection(run, benchmark, finding(panels), lines, sheets(ident, panels))


def sheets(ident: str, panels: dict[str, JuryCard]) -> list[ReportTable]:
    """Tabulate juries beside their members, and how the order of systems hangs on each."""
    return [table for table in (_members(ident, panels), _without(ident, panels)) if table.rows]


def said(name: str, panel: JuryCard) -> Iterator[str]:
    """Say of one criterion what the judges are together, and whether the ranking hangs on one."""
    first, *others = together(panel)
    yield f"On {words(name)}: {first}"
    yield from others
    by_rater, best = {card.judge: card for card in panel.cards}, _chosen(panel)
    jury = by_rater.get(JuryMethod.MEAN.rater) or by_rater.get(JuryMethod.MAJORITY.rater)
    if jury is not None and best is not None:
        times = ", ".join(f"{judge} in {n}" for judge, n in sorted(panel.chosen.items()))
        parts = sum(panel.chosen.values())
        yield (
            f"Beside people, the {_called(jury.judge)} has {in_sentence(jury)} {_bound(jury)} on {plural(jury.n - jury.missing, 'reply', 'replies')}; "
            f"the best single judge, chosen on other conversations ({times} of {plural(parts, 'part')}), has {_bound(best)}. {_better(jury, best)}"
        )
        if jury.rate_replies.verdict == NOT_ESTIMABLE:
            yield from (sentence(reason) for reason in jury.rate_replies.reasons)
    yield from _ranking(panel)


def _ranking(panel: JuryCard) -> Iterator[str]:
    if not panel.without:
        return
    tied = [w.judge for w in panel.without if w.tau.value is None]
    if tied:
        yield f"Models are tied, with all judges or without {named(tied, 'or', limit=9)}, so it is not known whether their order depends on one of these."
    estimated = [w for w in panel.without if w.tau.value is not None]
    hangs = [w for w in estimated if w.tau.value is not None and w.tau.value < 1]
    if hangs:
        changes = [
            f"without {w.judge}, {'another model is first' if w.first != panel.first else 'the same model is first'} "
            f"(Kendall's tau-b with the order by all {decimal(w.tau.value)}, {interval(w.tau.low, w.tau.high)})"
            for w in hangs
        ]
        yield f"The order of models depends on single judges: {'; '.join(changes)}."
    elif estimated:
        shaky = [w for w in estimated if w.same_first is not None and w.same_first < SURE]
        often = [f"without {w.judge}, the first is the same in {percent(w.same_first)} of resamples" for w in shaky]
        omission = (
            "without any one judge" if not tied else f"without {named([w.judge for w in estimated], 'or', limit=9)}"
        )
        unsure = f", though this is uncertain: {'; '.join(often)}" if often else ""
        yield f"The models stand in the same order {omission}{unsure}."


def _better(jury: ReliabilityCard, best: ReliabilityCard) -> str:
    jury_value, best_value = agreement(jury).value, agreement(best).value
    if jury_value is None or best_value is None:
        return "Which is better cannot be said."
    if jury_value > best_value:
        return "Whether the jury is better by more than chance is not tested here."
    return "The jury is no better here than one good judge."


def _chosen(panel: JuryCard) -> ReliabilityCard | None:
    from mindgauge.analysis.jury.panels import CHOSEN

    return next((card for card in panel.cards if card.judge == CHOSEN), None)


def _called(rater: str) -> str:
    return f"jury's {rater.removeprefix('jury/')}" if rater.startswith("jury/") else rater


def _bound(card: ReliabilityCard) -> str:
    estimate = agreement(card)
    return f"{decimal(estimate.value)} ({interval(estimate.low, estimate.high)})"


def _members(ident: str, panels: dict[str, JuryCard]) -> ReportTable:
    columns = heads(
        "rater | agreement with people:level± | bias:level | n:count | missing:count | what it is | coefficient | "
        "criterion"
    )
    rows: list[list[Cell]] = []
    for name, panel in panels.items():
        best = _chosen(panel)
        for card in panel.cards:
            kind = (
                "judge" if card.judge in panel.members else "jury" if card is not best else "chosen anew for each part"
            )
            kind += ", the best here" if card.judge == panel.best else ""
            estimate, bias = agreement(card), card.estimates.get("bias")
            rows.append([
                _called(card.judge), estimate.value, estimate.low, estimate.high, bias.value if bias else None, card.n, card.missing,
                kind, label(card.coefficient, ordered=card.ordered), words(name),
            ])  # fmt: skip
    note = "The best here is the best on these very replies, which flatters it; the one chosen on other conversations is not flattered."
    return ReportTable(f"juries-{ident}", "Juries beside their members, and people", columns, rows, note)


def _without(ident: str, panels: dict[str, JuryCard]) -> ReportTable:
    columns = heads("criterion | without | tau-b with the order by all:level± | same model first | in resamples:share")
    rows: list[list[Cell]] = [
        [words(name), w.judge, w.tau.value, w.tau.low, w.tau.high, "yes" if w.first == p.first else "no", w.same_first]
        for name, p in panels.items()
        for w in p.without
    ]
    note = "Models in the order of the judges' mean, with and without one judge."
    return ReportTable(f"without-{ident}", "The order of models without one judge", columns, rows, note)


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
    share, level = heads("from:share | to:share"), heads("from:level | to:level")
    columns = [
        *heads("judge | criterion | result"),
        Column(heading("weighted_kappa", {q.icc_a1.note != UNORDERED.note for _, q in found}), "level"), *level, *heads(
            "replies:count | missing:count | dialogues:count | same level:share"
        ), *share, Column("within one level", "share"), *share, Column("bias", "level"), *level,
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
    columns = heads(
        "judge | criterion | replies | n:count | missing:count | given this very level:share | mean level given:level"
    )
    rows: list[list[Cell]] = [
        [judge, words(q.criterion), _row(at.level), at.n, at.missing, at.recall, at.mean]
        for judge, q in found
        for at in q.levels
    ]
    return ReportTable(f"entry-levels-{ident}", "What was given at each level", columns, rows)


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
        *heads("criterion | verdicts:count | conversations:count | nothing to quote:count"),
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
