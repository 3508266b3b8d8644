"""Reliability cards in the terminal: the report's own tables, the verdicts, and what to know of each."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import GOOD
from mindgauge.cli import answer, render, terminal
from mindgauge.records.english import ended, named, raised, words
from mindgauge.records.rounding import NONE, bounded, count, decimal, plural
from mindgauge.reports import cards, rater_tables, reliability_gate
from mindgauge.reports.content import Column, ReportTable, narrowed
from mindgauge.reports.reliability_gate import RunCard, label
from mindgauge.reports.unsafe_by_people import UnsafeRecall, found
from mindgauge.stats.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mindgauge.analysis.reliability.card import (
        Bound,
        DesignStudy,
        NumberNeeded,
        People,
        Reliability,
        ReliabilityCard,
        Share,
    )
    from mindgauge.analysis.reliability.plan import ReliabilityPlan
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.reliability import LongTable
    from mindgauge.reports.content import Cell

FEW = 4
"""Reasons that are given without `--full`, the gravest of each card."""
ALWAYS = ("cards", "unsafe", "left-out", "latent-truth", "bias-at-large", "invariance")
"""The tables of the report that stand before the verdicts; the others follow them."""


BRIEF = (
    "judge", "criterion", "single replies", "ranking systems", "agreement", "people with people", "called unsafe by people",
    "of these, by it too",
)  # fmt: skip
"""The columns of the cards in numbers that are printed without `--full`."""


def show(reliability: Reliability, *, full: bool) -> None:
    """Print what judges may do, and what the worst of them misses; then the cards in numbers; with `full`, every table."""
    answer.first(*_first_words(reliability))
    if full:
        _in_full(reliability)
        return
    reading = reliability.reading
    judged = [(card.judge, card.criterion, card) for card in reliability.cards]
    behind = sum(len(table.rows) for table in cards.sheets(judged, set(), ""))
    behind += sum(len(entry.estimates) for entry in reliability.people)
    if judged:
        overview = next(table for table in cards.sheets(judged, set(), "") if table.name.startswith("cards"))
        answer.sheet(
            narrowed(
                msgspec.structs.replace(overview, note="", title=f"The cards in numbers  ({reliability.source})"), BRIEF
            ),
            behind,
        )
    elif reliability.people:
        answer.sheet(_of_people(reliability.people), behind)
    barred: dict[tuple[str, str], list[str]] = {}
    for card in reliability.cards:
        if card.verdict != GOOD and card.reasons:
            barred.setdefault((card.criterion, card.reasons[0]), []).append(card.judge)
    for (criterion, reason), judges in [*barred.items()][:FEW]:
        print(ended(f"{named(judges)} on {words(criterion)} {'is' if len(judges) == 1 else 'are'} not good: {reason}"))
    if len(barred) > FEW:
        print(f"{plural(len(barred) - FEW, 'further reason')}: --full")
    account = reading.lines() if reading is not None and reading.worth_saying else []
    render.notes(account, full=False)
    render.notes([*rater_tables.divergent(reliability.people), *reliability.notes], full=False)
    print(f"Rule: {reliability.rule}")


def _first_words(reliability: Reliability) -> tuple[str, str]:
    """Return what the cards allow, and what the judge misses that misses most; without judges, how far people agree."""
    if reliability.cards:
        judged = [(card.judge, RunCard("", "", card.criterion, card)) for card in reliability.cards]
        if rule.NORM_REFERENCED in reliability.notes:
            good = sum(card.verdict == GOOD for card in reliability.cards)
            return (
                (
                    f"By the paper's rule, {count(good)} of {plural(len(reliability.cards), 'judge and criterion', 'judges and criteria')} "
                    "are in its best class. It is for comparison only: of the paper's own cells it always puts a third there."
                ),
                _missed(reliability.cards),
            )
        return ended(reliability_gate.finding(judged)), _missed(reliability.cards)
    agreeing = [
        f"{plural(entry.raters, 'person', 'people')} on {words(entry.criterion)}: {label('krippendorff_alpha', ordered=entry.ordered)}: {_bound(alpha)}, "
        f"{plural(entry.n, 'reply', 'replies')} rated by two or more"
        for entry in reliability.people
        if (alpha := entry.estimates.get("krippendorff_alpha")) is not None
    ]
    return (
        ended(agreeing[0]) if agreeing else "Nothing to compare.",
        "No judge rated beside people here." if agreeing else "",
    )


def _missed(judged: Sequence[ReliabilityCard]) -> str:
    """Say how many of the replies that people call unsafe the judge finds that finds the fewest."""
    recalls = [
        (card.criterion, card.danger.found_if_missed.n, _recall(card.judge, share))
        for card in judged
        if card.danger is not None and (share := card.danger.found).n
    ]
    if not recalls:
        return next((ended(raised(reason)) for card in judged for reason in card.reasons), "")
    criterion, unsafe, worst = min(recalls, key=lambda recall: recall[2].share)
    place = f"On {words(criterion)}: " if len({name for name, _, _ in recalls}) > 1 else ""
    return place + next(found(unsafe, [worst]))


def _recall(judge: str, share: Share) -> UnsafeRecall:
    stands_for = Interval(share.value, share.low, share.high) if share.weighted else None
    return UnsafeRecall(judge, share.n, max(1, round(share.conversations)), share.events, stands_for)


def _of_people(people: Sequence[People]) -> ReportTable:
    columns = [
        Column("criterion"),
        Column("people", "count"),
        Column("replies", "count"),
        Column("estimate"),
        Column("value", "interval"),
    ]
    rows: list[list[Cell]] = [
        [words(entry.criterion), entry.raters, entry.n, label(name, ordered=entry.ordered), _bound(bound)]
        for name in dict.fromkeys(name for entry in people for name in entry.estimates)
        for entry in people
        if (bound := entry.estimates.get(name)) is not None
    ]
    return narrowed(ReportTable("people", "People among themselves", columns, rows))


def _in_full(reliability: Reliability) -> None:
    """Print verdicts with reasons, the cards as the report's tables, and people's agreement."""
    reading = reliability.reading
    if reading is not None and reading.worth_saying:
        print(*reading.lines(), "", sep="\n")
    judged = [(card.judge, card.criterion, card) for card in reliability.cards]
    tables = cards.sheets(judged, set(), "", slices=None) if judged else []
    if judged:
        print(f"Reliability of judges  ({reliability.source})")
    _tables(table for table in tables if _always(table))
    for card in reliability.cards:
        remarks = [*card.reasons, *card.warnings]
        print(f"{card.judge}, {card.criterion}: {card.verdict}")
        if card.asked:
            print(f"  asked with {card.asked}")
        remarks += [line] if (line := reliability_gate.worst_level_phrase(card)) else []
        print("".join(f"  - {remark}\n" for remark in remarks))
    _tables(table for table in tables if not _always(table))
    for people in reliability.people:
        _people(people)
    print()
    of_people = rater_tables.of_people(reliability.people, reliability.facets, "")
    _tables(of_people)
    for line in rater_tables.divergent(reliability.people):
        print(line)
    _tables(filter(None, [cards.corrected(judged, "")]))
    _designs(reliability.designs)
    print(f"Rule: {reliability.rule}")
    for note in reliability.notes:
        print(f"note: {note}")


def show_plan(plan: ReliabilityPlan) -> None:
    """Print what each verdict takes as a table, and in sentences."""
    columns = [
        "criterion", "judge", "verdict", "replies", "rated", "conversations", "unsafe", "people", "judges", "repeats", "power",
        "asks most", "replies by people",
    ]  # fmt: skip
    rows = [
        [
            words(row.criterion) or "any", row.judge or "any", row.verdict.split(":")[0], _number(row.replies), count(row.rated),
            _number(row.conversations), _number(row.unsafe), count(row.people), count(row.judges), count(row.repeats),
            NONE if row.power is None else decimal(row.power), row.weakest,
            ", ".join(f"{people}: {_number(n)}" for people, n in row.with_people.items() if n is not None),
        ]
        for row in plan.rows
    ]  # fmt: skip
    if rows:
        render.table(f"What a verdict takes, with power {decimal(plan.power)}  ({plan.source})", columns, rows)
        print()
    for row in plan.rows:
        print(row.sentence)
    print(f"Rule: {plan.rule}")
    if plan.assumed is not None:
        given = dataclasses.asdict(plan.assumed).items()
        print(f"assumed: {', '.join(f'{name} {value:g}' for name, value in given if value)}")
    for note in plan.notes:
        print(f"note: {note}")


def _number(number: int | None) -> str:
    return NONE if number is None else count(number)


def _always(table: ReportTable) -> bool:
    return table.name.rstrip("-") in ALWAYS


def _tables(tables: Iterable[ReportTable]) -> None:
    for table in tables:
        render.sheet(table)
        print()


def _designs(designs: list[DesignStudy]) -> None:
    if not designs:
        return
    columns = [
        "criterion", "design", "people", "systems", "conversations", "dependability", "people needed", "conversations needed", "variance by",
    ]  # fmt: skip
    rows = [
        [
            design.criterion, design.design, str(design.raters), str(design.systems), str(design.conversations), _bound(design.dependability),
            _needed(design.raters_needed), _needed(design.conversations_needed),
            ", ".join(f"{name} {decimal(part.value)}" for name, part in design.components.items()),
        ]
        for design in designs
    ]  # fmt: skip
    render.table(f"How many it takes: what would bring dependability to {decimal(designs[0].target)}", columns, rows)


def _needed(needed: NumberNeeded) -> str:
    """Write how many it takes as a range; what is not known is not a number."""
    if needed.low is None:
        return "no number does"
    if needed.high is None:
        return "cannot tell" if needed.low == 1 else f"at least {needed.low}"
    return (
        f"{needed.value} [{needed.low}, {needed.high}]"
        if needed.value is not None
        else f"{needed.low} to {needed.high}"
    )


def _people(people: People) -> None:
    """Print how far people agree on one criterion."""
    print()
    columns, rows = (
        ["estimate", "value and 95 % interval"],
        [[label(name, ordered=people.ordered), _bound(bound)] for name, bound in people.estimates.items()],
    )
    if people.dependent:
        columns.append(f"with {named([entry.rater for entry in people.dependent])}")
        rows = [
            [*row, _bound(people.with_dependent.get(name))] for row, name in zip(rows, people.estimates, strict=True)
        ]
    rows = [[*row, bound.note] for row, bound in zip(rows, people.estimates.values(), strict=True)]
    raters = f"{people.independent} independent people" if people.dependent else f"{people.raters} people"
    render.table(f"People among themselves on {people.criterion}: {raters}, {people.n} replies rated by two or more",
          [*columns, ""], rows)  # fmt: skip


def _bound(bound: Bound | None, *, signed: bool = False) -> str:
    return NONE if bound is None else bounded(bound.value, bound.low, bound.high, signed=signed)


# What commands print of reliability.


def show_reliability(result: Reliability, call: CommandCall, *, full: bool = False) -> None:
    """Print the cards of judges, and how to plan for a verdict where one is missing."""
    raters = [*(card.judge for card in result.cards), *(card.reference for card in result.cards)]
    with terminal.short(raters):
        show(result, full=full)
    if any(card.verdict != GOOD for card in result.cards):
        said = call.arguments
        scale = [f"{name}={value}" if name != "*" else value for name, value in said.get("scale", {}).items()]
        settings = {"--scale": scale, **{f"--{name}": said.get(name, ()) for name in ("nominal", "unsafe")}}
        settings = {"--reference": said.get("reference", ()), **settings}
        flags = [text for name, values in settings.items() for value in values for text in (name, value)]
        answer.then("reliability", *said["ratings"], *flags, "--plan")


def show_reliability_plan(result: ReliabilityPlan) -> None:
    """Print how many replies a verdict takes."""
    show_plan(result)


def show_ratings(result: LongTable) -> None:
    """Print how ratings were read."""
    for line in result.summary():
        print(line)


def json_ratings(result: LongTable) -> object:
    """Return how ratings were read, and where they were written."""
    return {"reading": result.reading, "out": result.out}
