"""The first words on a run: what was found, and how far to trust it, as two of the report's own sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.english import ended, first_sentence
from mindgauge.reports import answer_section, card_phrases, drawn_tables, fidelity, system_findings
from mindgauge.reports.runs import scores_of, systems
from mindgauge.reports.trust import DEMONSTRATION, is_demonstration, judges_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section


class FirstWords(NamedTuple):
    """What was found, the gravest first, and how far that can be trusted; a sentence each."""

    finding: str
    trust: str


def of_run(run: OpenRun) -> FirstWords:
    """Say what a run's numbers say, the gravest first.

    What cannot be used is said before any number, what people saw before what judges say, and of several systems the one
    that comes last on what its benchmark goes by.
    """
    measured = systems([run])
    unfit = system_findings.unfit([run])
    people = [
        *answer_section.people_first([run], measured),
        *drawn_tables.sentences([entry for entry in run.scores.frames if entry.benchmark in _closed(run)]),
    ]
    clients = [*fidelity.sentences([entry for entry in run.scores.fidelity if entry.withheld])]
    findings = [*unfit, *clients[:1], *people[:1], *_found(run, measured)]
    finding = first_sentence(findings[0]) if findings else answer_section.NOTHING
    behind = [*people, *_doubts(run, measured), *_found(run, measured), *_not_shown(run)]
    rest = [sentence for sentence in map(first_sentence, behind) if sentence != finding]
    return FirstWords(finding, rest[0] if rest else "")


def _closed(run: OpenRun) -> set[str]:
    return {section.benchmark.name for section in run.sections if section.benchmark.closed}


def _found(run: OpenRun, measured: Sequence[System]) -> Iterator[str]:
    """Say of each benchmark how the system did that comes last in it."""
    for section in run.sections:
        findings_by = {
            system.number: system_findings.told(run, section, system, people_told=True) for system in measured
        }
        answered = [system for system in measured if findings_by[system.number] is not None]
        system, reason = _last(run, section, answered)
        findings = findings_by[system.number] if system is not None else None
        if system is None or findings is None:
            continue
        sentence = first_sentence([*findings.facts, *findings.withheld, answer_section.NOTHING][0])
        title = [section.benchmark.card.title.partition(":")[0]] if len(run.sections) > 1 else []
        name = [f"{system.label}{reason}"] if len(measured) > 1 else []
        yield f"{', '.join([*title, *name])}: {sentence}" if title or name else sentence


def _last(run: OpenRun, section: Section, answered: Sequence[System]) -> tuple[System | None, str]:
    """Return the system that comes last on what a benchmark goes by, and by what; the first one where nothing tells."""
    if not answered:
        return None, ""
    last: tuple[System, Score] | None = None
    for system in answered:
        score = _headline(run, section, system)
        if score is not None and (last is None or score.worse_than(last[1])):
            last = (system, score)
    if last is None:
        return answered[0], ""
    system, score = last
    return system, f" (last of {len(answered)} on {(score.title or score.name).removeprefix('the ')})"


def _headline(run: OpenRun, section: Section, system: System) -> Score | None:
    """Return a system's score on what a benchmark goes by first, of the group that is looked at first."""
    name, group = section.benchmark.headline[0], section.benchmark.lead_group
    scores = [
        score
        for score in scores_of(run, system, section)
        if score.name == name and score.value is not None and not run.standings.withholds(score)
    ]
    return next((score for part in (group, "all") for score in scores if score.slice == part), None)


def _doubts(run: OpenRun, measured: Sequence[System]) -> Iterator[str]:
    """Say how far judges can be trusted here, the gravest doubt first, and how few conversations stand behind it all."""
    judges = judges_of([run])
    yield from (DEMONSTRATION.format(judge=judge) for judge in judges if is_demonstration(judge))
    cards = [*run.standings.cards.values()]
    if any(card.limited for card in cards):
        yield ended(card_phrases.finding([(card.card.judge, card) for card in cards]))
    yield from answer_section.caveats([run])
    if unchecked := answer_section.unchecked([run], "in the report"):
        yield unchecked
    yield from (text for answer in answer_section.answers([run], measured) for text in answer.caveats)


def _not_shown(run: OpenRun) -> Iterator[str]:
    yield from (f"Not shown by these numbers: {text}" for text in answer_section.not_shown([run]))
