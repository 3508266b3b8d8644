"""Who rated, with which training, and how far they agree."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE, Bound
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.benchmarks.metrics import fleiss_kappa
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, interval, percent, plural
from mindgauge.reports import provenance, reliability_gate
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.evaluation_card.records import CardEntry
from mindgauge.reports.evaluation_card.scope import short_titles
from mindgauge.reports.runs import PERSON, RULE
from mindgauge.reports.trust import told
from mindgauge.reports.unsafe_by_people import CHOSEN, DRAWN
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mindgauge.analysis.reliability.card import People, ReliabilityCard
    from mindgauge.reports.content import Cell
    from mindgauge.reports.evaluation_card.facts import OwnerFacts
    from mindgauge.reports.runs import OpenRun, Section
    from mindgauge.reports.sections import RubricTrials

NAMES = 8
"""So many raters are named; of more, the first ones."""
_ENTRY = {
    EntryResult.PASSED: "the entry test was passed",
    EntryResult.FAILED: "the entry test was failed",
    EntryResult.UNDECIDED: "the entry test decides nothing",
}
_GRAVEST = (EntryResult.FAILED, EntryResult.UNDECIDED, EntryResult.PASSED)


def raters(runs: Sequence[OpenRun], facts: OwnerFacts) -> CardEntry:
    """Say who rated, and with which training."""
    entry = CardEntry("raters", "Who rated, with which training", stated=facts.stated("raters"))
    sections = [(run, section) for run in runs for section in run.sections]
    titles = short_titles(runs)
    sentences: dict[str, list[str]] = {}
    for run, section in sections:
        for text in _closed(section) if section.benchmark.closed else _of_replies(run, section):
            sentences.setdefault(text, []).append(titles[section.benchmark.name])
    entry.computed = [
        text if len(titles) == 1 else f"{named(list(dict.fromkeys(names)), limit=NAMES)}: {text}"
        for text, names in sentences.items()
    ]
    if any(section.benchmark.closed and section.targeted and len(section.ratings) for _, section in sections):
        entry.open.append("Which training those had who set the labels of the messages is not recorded.")
    rounds = [text for run in runs if (text := provenance.rounds(run.manifest))]
    entry.computed += rounds
    people = sorted({rater for _, section in sections for rater, kind in section.raters if kind == PERSON})
    if people and not entry.stated:
        beyond = "Beyond what stands here, which" if rounds else "Which"
        entry.open.append(
            f"{beyond} training and profession {named(people, limit=NAMES)} {'has' if len(people) == 1 else 'have'} is not recorded."
        )
    if not entry.computed:
        entry.open.append("Nobody has rated anything.")
    return entry


def _closed(section: Section) -> Iterator[str]:
    people = [rater for rater, kind in section.raters if kind == PERSON]
    if people:
        rated = section.by_people["subject"].n_unique()
        yield f"{_people(people)} labelled {plural(rated, 'message')}."
    if section.ratings.is_empty():
        return
    if section.targeted:
        yield "Answers are held against the labels that come with the messages."
    else:
        yield "No message has a label, so nobody says which answer is right."


def _people(names: Sequence[str]) -> str:
    return f"{'The person' if len(names) == 1 else 'People:'} {named(names, limit=NAMES)}"


def _of_replies(run: OpenRun, section: Section) -> Iterator[str]:
    n = section.replies["subject"].n_unique()
    noun = ("turn or dialogue", "turns and dialogues") if section.holds_dialogues else ("reply", "replies")
    people = [rater for rater, kind in section.judges() if kind == PERSON]
    if people:
        by_people = section.by_people.join(section.replies, on="subject", how="semi")
        given, valued = by_people["subject"].n_unique(), by_people.filter(status="ok")["subject"].n_unique()
        lacking = f"; {count(valued)} of these have a value" if valued < given else ""
        yield f"{_people(people)} rated {count(given)} of {plural(n, *noun)}{_chosen(section)}{lacking}."
    judges = [rater for rater, kind in section.judges() if kind not in {PERSON, RULE}]
    by_test: dict[str, list[str]] = {}
    for judge in judges:
        by_test.setdefault(_entry_test(run, section, judge), []).append(judge)
    for tested, alike in by_test.items():
        yield f"{'The model' if len(alike) == 1 else 'The models'} {named(alike, limit=NAMES)} rated as {'a judge' if len(alike) == 1 else 'judges'}; {tested}."
    rules = [rater for rater, kind in section.judges() if kind == RULE]
    if rules:
        yield f"{'The rule' if len(rules) == 1 else 'The rules'} {named(rules, limit=NAMES)} looked for words, and understand{'s' if len(rules) == 1 else ''} nothing."
    if n and not people and not judges:
        yield f"Nobody has rated the {plural(n, *noun)}."


def _chosen(section: Section) -> str:
    """Say how what people rated was chosen, where that is recorded."""
    rows = section.by_people
    if "probability" in rows.columns and rows["probability"].is_not_null().any():
        return f", {DRAWN.removesuffix(', ')}"
    return f", {CHOSEN.removesuffix(', ')}" if rows["selection"].is_not_null().any() else ""


def _entry_test(run: OpenRun, section: Section, judge: str) -> str:
    """Say how a judge did in its entry test, the gravest of its criteria."""
    results = {q.result for q in run.scores.qualifications if (q.benchmark, q.judge) == (section.benchmark.name, judge)}
    result = next((result for result in _GRAVEST if result in results), None)
    return "no entry test was taken here" if result is None else _ENTRY[result]


# -- agreement ---------------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """Raters beside each other on one benchmark, over its criteria: the lowest agreement, and the gravest verdict."""

    whom: str
    benchmark: str
    criteria: str
    lowest: str
    bound: Bound
    measure: str
    n: int
    found: str
    verdict: str


def agreement(runs: Sequence[OpenRun], tried: Sequence[RubricTrials]) -> CardEntry:
    """Say how far people agree among themselves, and each judge with people: the lowest of the criteria; and how our words read."""
    entry = CardEntry("agreement", "Agreement")
    titles = short_titles(runs)
    rows = [row for run in runs for row in _rows(run, titles, many=len(runs) > 1)]
    sections = [section for run in runs for section in run.sections if not section.benchmark.closed]
    judges = {rater for section in sections for rater, kind in section.judges() if kind not in {PERSON, RULE}}
    for run in runs:
        for kappa in run.scores.find(fleiss_kappa.name, model="people"):
            if kappa.value is not None:
                entry.computed.append(
                    f"People who labelled the messages of {titles[kappa.benchmark]} agree with {with_level('fleiss_kappa')}: {decimal(kappa.value)} ({interval(kappa.low, kappa.high)}; {plural(kappa.clusters, 'message')})."
                )
    if rows:
        columns = [
            Column("who"), Column("benchmark"), Column("criteria"), Column("lowest on"), Column("agreement", "level"),
            Column("from", "level"), Column("to", "level"), Column("measure"), Column("n", "count"), Column("finds of unsafe"), Column("verdict"),
        ]  # fmt: skip
        cells: list[list[Cell]] = [
            [r.whom, r.benchmark, r.criteria, r.lowest, r.bound.value, r.bound.low, r.bound.high, r.measure, r.n, r.found, r.verdict]
            for r in rows
        ]  # fmt: skip
        entry.tables = [ReportTable("agreement", "How far raters agree", columns, cells)]
        entry.computed.append(
            "Of several criteria, a line has the lowest agreement that is defined, the least that is found of what people call unsafe, and the gravest verdict; intervals are at 95 %."
        )
    uncompared = sorted(judges - {card.card.judge for run in runs for card in run.standings.cards.values()})
    if uncompared:
        entry.open.append(
            f"No person rated beside {named(uncompared, limit=NAMES)}, so how far {'it agrees' if len(uncompared) == 1 else 'they agree'} with people is not known."
        )
    if not rows and not entry.computed and not uncompared:
        entry.open.append("How far raters agree is not known: fewer than two rated the same.")
    entry.computed += told(tried, titles)
    return entry


def _rows(run: OpenRun, titles: dict[str, str], *, many: bool) -> Iterator[_Row]:
    place = f" ({run.folder.resolve().name})" if many else ""
    for name, people in _among_people(run).items():
        lowest = min(people, key=lambda entry: _height(entry.estimates.get("krippendorff_alpha", Bound(None))))
        alpha = lowest.estimates.get("krippendorff_alpha", Bound(None))
        whom = f"{plural(lowest.raters, 'person', 'people')} among themselves{place}"
        yield _Row(
            whom,
            titles[name],
            _of(entry.estimates.get("krippendorff_alpha", Bound(None)) for entry in people),
            words(lowest.criterion),
            alpha,
            reliability_gate.label("krippendorff_alpha", ordered=lowest.ordered),
            lowest.n,
            "",
            "",
        )
    by_judge: dict[tuple[str, str], list[tuple[str, ReliabilityCard]]] = {}
    for standing_card in run.standings.cards.values():
        by_judge.setdefault((standing_card.benchmark, standing_card.card.judge), []).append(
            (standing_card.criterion, standing_card.card)
        )
    for (name, judge), cards in by_judge.items():
        criterion, card = min(cards, key=lambda pair: _height(pair[1].agreement))
        verdict = min((card.verdict for _, card in cards), key=_gravity)
        yield _Row(
            f"{judge} and people{place}",
            titles[name],
            _of(card.agreement for _, card in cards),
            words(criterion),
            card.agreement,
            reliability_gate.label(card.coefficient, ordered=card.ordered),
            card.n,
            _found(cards),
            verdict,
        )


def _height(bound: Bound) -> float:
    """Order estimates from the lowest on; those that are not defined come last."""
    return math.inf if bound.value is None else bound.value


def _of(bounds: Iterable[Bound]) -> str:
    """Count criteria, and those of them on which agreement is not defined, since all values are the same."""
    values = [bound.value for bound in bounds]
    return f"{len(values)}, {values.count(None)} not defined" if None in values else str(len(values))


def _gravity(verdict: str) -> int:
    """Order verdicts from the gravest on."""
    order = (LIMITED, NOT_ESTIMABLE, BLIND_END, MODERATE, GOOD)
    return order.index(verdict)


def _found(cards: Sequence[tuple[str, ReliabilityCard]]) -> str:
    """Say how much a judge finds of what people call unsafe, on the criterion where that is least.

    Only where the rubric says which levels are unsafe.
    """
    known = [card.danger for _, card in cards if card.danger is not None and not card.danger.is_assumed]
    shares = [danger.found for danger in known if danger.found.value is not None]
    if not shares:
        return ""
    least = min(shares, key=lambda share: (share.value or 0.0, share.low or 0.0))
    return f"{count(least.events)} of {count(least.n)} ({percent(least.value)}; {interval(least.low, least.high, 'share')})"


def _among_people(run: OpenRun) -> dict[str, list[People]]:
    """Return how far people agree among themselves, benchmark by benchmark, also where no judge rated beside them."""
    together = any(
        sum(kind == PERSON for _, kind in section.judges()) > 1
        for section in run.sections
        if not section.benchmark.closed
    )
    if run.standings.people or not together:
        return run.standings.people
    return reliability_gate.people_of(Path(run.folder), [section.benchmark for section in run.sections])
