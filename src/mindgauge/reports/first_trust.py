"""The second sentence of the first screen: how far to trust what is found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE
from mindgauge.analysis.score import still_missing
from mindgauge.benchmarks.anchors import EntryResult
from mindgauge.benchmarks.metrics.metric_sentences import FEW, SMALL
from mindgauge.records import Status
from mindgauge.records.english import ended, named, raised
from mindgauge.records.rounding import plural
from mindgauge.reports import system_findings
from mindgauge.reports.card_phrases import gravest
from mindgauge.reports.runs import PERSON, RULE, every_score_of, is_demonstration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.reports.benchmark_parts import Part
    from mindgauge.reports.runs import Section

_PARENTHESIS = re.compile(r" \([^()]*\)")
_STATES = {
    "silent": "{judges} gave no verdict that can be used, so nothing is known from {them}",
    "unfit": "{judges} cannot be used, and nothing that {it} say{s} of these replies is shown",
    "demonstration": "{judges} {is_} there to show that everything runs, and {is_} no judge to trust",
    LIMITED: "{judges} agree{s} too little with people, so {its} verdicts are not shown",
    "selected": "how far {judges} can be trusted cannot be estimated here",
    BLIND_END: "people call too few replies unsafe to show how many of those {judges} find{s}",
    "unchecked": "no person has rated a reply beside {judges}, so nobody knows how many unsafe replies {it} {miss}",
    MODERATE: "{judges} agree{s} with people only in part, so people must check {them}",
    GOOD: "{judges} agree{s} with people well enough to rate such replies alone",
}
"""What may be said of a judge, the gravest first."""
_PARTLY = {
    "unsafe": "{judges} may miss more unsafe replies than a clinician would, so people must check {them}",
    "safe": "{judges} may call more safe replies unsafe than a clinician would, so people must check {them}",
    "absent": "{judges} gave no verdict on some replies that people rated, so people must check {them}",
    "alone": "no two people rated the same replies, so nothing compares {judges} with a clinician, and people must check {them}",
}
"""Why people must check a judge, where it is not for its agreement."""
_MISSES = "{judges} miss{es} more of what people call unsafe than is allowed, so {its} verdicts are not shown"
"""The same where the verdicts are not shown for what is missed."""
_ORDER = list(_STATES)


def judges_of(section: Section) -> list[str]:
    """Return the raters of a benchmark's replies that are neither people nor rules."""
    return [rater for rater, kind in section.judges() if kind not in {PERSON, RULE}]


def statement(part: Part) -> str:
    """Say how far the figures of a benchmark may be trusted, in one sentence, the gravest first.

    Args:
        part: the benchmark in all runs.
    """
    trust = [*_void(part), *_closed_trust(part)] if part.benchmark.closed else _judged_trust(part)
    clauses = [*_unfinished(part), *trust]
    small = _few(part)
    return ended(raised("; ".join([*clauses, *([small] if small else [])])))


def _unfinished(part: Part) -> Iterator[str]:
    """Say what was not asked for yet in the runs of a benchmark: it is in no figure."""
    for run in {place.run.folder: place.run for place in part.places}.values():
        parts = run.scores.unfinished.get(part.benchmark.name, [])
        if missing := still_missing({part.benchmark.name: parts}):
            yield f"the run is not finished: {missing}"


def _void(part: Part) -> Iterator[str]:
    """Name the models whose own answers have no score, or none for some measures, since too little of them could be used."""
    for place in part.places:
        for system in place.systems:
            scores = [s for s in every_score_of(place.run, system, place.section) if s.rater == system.model]
            void_scores = [score for score in scores if score.void]
            for _, reason, measures in system_findings.shortage_reasons(void_scores, scores):
                yield f"there is no score of {system.label}{f' for {named(measures, limit=FEW)}' if measures else ''}: {reason}"


def _few(part: Part) -> str:
    """Warn where few conversations stand behind the figures."""
    clusters = [
        score.clusters
        for place in part.places
        for system in place.systems
        for score in every_score_of(place.run, system, place.section)
        if score.slice == "all" and score.clusters
    ]
    smallest = max(clusters, default=0)
    noun = "persona" if part.places[0].section.holds_dialogues else "conversation"
    if not smallest or smallest >= SMALL:
        return ""
    return f"only {plural(smallest, noun)} stand{'s' if smallest == 1 else ''} behind it, so every figure is rough"


def _closed_trust(part: Part) -> Iterator[str]:
    for place in part.places:
        for system in place.systems:
            if same := system_findings.always_the_same(place.section, system):
                yield same.replace("It answered", f"the model {system.label} answered", 1).removesuffix(".")
    if not part.places[0].section.targeted:
        yield "what is right is not known, since no message has a target"
        return
    yield "answers are held against the labels that come with the messages; nobody rates them here"


def _judged_trust(part: Part) -> Iterator[str]:
    """Say how far each judge may be trusted, the gravest first; judges of whom the same holds together."""
    judges = list(dict.fromkeys(judge for place in part.places for judge in judges_of(place.section)))
    if not judges:
        people = {r for place in part.places for r, kind in place.section.judges() if kind == PERSON}
        if people:
            yield f"these are the verdicts of {plural(len(people), 'person', 'people')}; no judge is among them"
        elif any(place.section.read_by_rules for place in part.places):
            yield "rules look for words and understand nothing, so this says little until people or a judge read the replies"
        else:
            yield "nobody has rated these replies"
        return
    by_state: dict[tuple[int, str], list[str]] = {}
    for judge in judges:
        by_state.setdefault(_state(part, judge), []).append(judge)
    for (_, clause), names in sorted(by_state.items()):
        yield clause.format(
            judges=f"the {'judge' if len(names) == 1 else 'judges'} {named(names)}",
            s="s" if len(names) == 1 else "", it="it" if len(names) == 1 else "they", them="it" if len(names) == 1 else "them",
            is_="is" if len(names) == 1 else "are", miss="misses" if len(names) == 1 else "miss", es="es" if len(names) == 1 else "", its="its" if len(names) == 1 else "their",
        )  # fmt: skip


def _state(part: Part, judge: str) -> tuple[int, str]:
    """Return the gravest that holds of a judge: its place, and the clause that says it."""
    name = part.benchmark.name
    cards = [
        card.card
        for place in part.places
        for card in place.run.standings.cards.values()
        if (card.benchmark, card.card.judge) == (name, judge)
    ]
    unfit = any((u.benchmark, u.judge) == (name, judge) for place in part.places for u in place.run.scores.unfit)
    if _silent(part, judge):
        state = "silent"
    elif unfit:
        state = "unfit"
    elif is_demonstration(judge):
        state = "demonstration"
    elif not cards:
        state = "unchecked"
    else:
        verdicts = ["selected" if card.verdict == NOT_ESTIMABLE else card.verdict for card in cards]
        state = min(verdicts, key=_ORDER.index)
    deciding = gravest(card for card in cards if card.verdict == state) if cards else ""
    clause = _STATES[state]
    if state == MODERATE:
        clause = _PARTLY.get(deciding, clause)
    if state == LIMITED and deciding == "unsafe":
        clause = _MISSES
    if state == "selected":
        clause += (
            f", since {_PARENTHESIS.sub('', cards[0].reasons[0].partition(', so ')[0])}" if cards[0].reasons else ""
        )
    if state == "unchecked" and _passed(part, judge):
        clause += "; that {it} passed {its} entry test shows that {it} can read the scale, and no more"
    return _ORDER.index(state), clause


def _silent(part: Part, judge: str) -> bool:
    """Whether a judge was asked, and none of its verdicts has a value."""
    verdicts = [
        entry
        for place in part.places
        for entry in place.run.scores.statuses_by
        if (entry.benchmark, entry.name) == (part.benchmark.name, judge) and entry.status != Status.NOT_APPLICABLE
    ]
    return sum(entry.n for entry in verdicts) > 0 and all(entry.status != Status.OK for entry in verdicts)


def _passed(part: Part, judge: str) -> bool:
    tests = [
        test
        for place in part.places
        for test in place.run.scores.qualifications
        if (test.benchmark, test.judge) == (part.benchmark.name, judge)
    ]
    return bool(tests) and all(test.result == EntryResult.PASSED for test in tests)


def may_be_used(part: Part) -> bool:
    """Whether a judge of these replies may be shown and was not found to be useless."""
    judges = {judge for place in part.places for judge in judges_of(place.section)}
    barred = {_ORDER.index(state) for state in ("silent", "unfit", "demonstration", LIMITED)}
    return not judges or any(_state(part, judge)[0] not in barred for judge in judges)
