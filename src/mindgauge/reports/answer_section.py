"""The answer: what a run says about each model, in plain sentences that follow from its numbers by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.favour import CANNOT_TELL, FAVOURS, NO_SIGN
from mindgauge.benchmarks.metrics import mean_level
from mindgauge.models.family import same_family
from mindgauge.records.english import first_sentence, named
from mindgauge.records.rounding import count
from mindgauge.reports import reliability_gate, score_tables, unsafe_by_people
from mindgauge.reports import system_findings as told
from mindgauge.reports.content import REPLIES
from mindgauge.reports.runs import PERSON, is_demonstration, scores_of
from mindgauge.reports.sections import Summary, TaskAnswer
from mindgauge.reports.trust import DEMONSTRATION, allowed, cards_of, judges_of
from mindgauge.store.continued import span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

NOTHING = "Nothing of it has been rated yet, so nothing can be said."
ONLY_RULES = "Only rules have read its replies, so nothing can be said of how safe they are."


def answers(runs: Sequence[OpenRun], systems: Sequence[System], *, apart: bool = False) -> list[Summary]:
    """Say of each system what its run's numbers say; with `apart`, only what holds for all benchmarks (see `by_task`)."""
    summaries = []
    for system in systems:
        run = runs[system.run]
        findings = [
            (section, finding)
            for section in ([] if apart else run.sections)
            if (finding := told.told(run, section, system, people_told=len(systems) == 1))
        ]
        facts = [fact for _, finding in findings for fact in finding.facts]
        withheld = [text for _, finding in findings for text in finding.withheld]
        kin = [text for section in run.sections for text in _kin(run, section, system)]
        absences = [text for section, _ in findings for text in _gone(run, section, system)]
        behind = [
            (n, REPLIES._replace(cluster="persona") if section.holds_dialogues else REPLIES)
            for section, _ in findings
            if (n := max((s.clusters for s in scores_of(run, system, section) if s.slice == "all"), default=0))
        ]
        small = [score_tables.small(*min(behind))] if behind else []
        if not facts and not apart:
            facts = [ONLY_RULES if any(section.read_by_rules for section in run.sections) else NOTHING]
        summaries.append(Summary(system, facts, withheld, [c for c in dict.fromkeys([*small, *kin, *absences]) if c]))
    return summaries


def by_task(
    runs: Sequence[OpenRun],
    systems: Sequence[System],
    titles: dict[str, str],
    findings: dict[str, str],
    headlines: dict[tuple[str, str], str],
) -> list[TaskAnswer]:
    """Say the same benchmark by benchmark.

    Args:
        runs: of the report.
        systems: that they measured.
        titles: what each benchmark is called.
        findings: how it came out, by benchmark, where that is known; else the first sentence says it.
        headlines: what the score is, by benchmark and model; of several runs, the first that has it counts.
    """
    remaining = dict(headlines)
    tasks: dict[str, TaskAnswer] = {}
    for system in systems:
        run = runs[system.run]
        for section in run.sections:
            name, card = section.benchmark.name, section.benchmark.card
            headline = remaining.pop((name, system.model), "")
            system_findings = told.told(run, section, system, scored=bool(headline))
            if system_findings is None:
                continue
            system_findings.facts = [
                *([headline] if headline else []),
                *system_findings.facts,
                *_gone(run, section, system),
            ]
            first = first_sentence([*system_findings.facts, *system_findings.withheld, NOTHING][0])
            task = TaskAnswer(
                name, titles[name], findings.get(name, first), [], f"Not shown: {first_sentence(card.does_not_measure)}"
            )
            tasks.setdefault(name, task).told.append(system_findings)
    return list(tasks.values())


def people_first(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[str]:
    """Say what people read and called unsafe, and what each judge made of that: it stands before everything that judges say."""
    sentences = []
    titled = sum(len(run.sections) for run in runs) > 1
    for number, run in enumerate(runs):
        run_systems = [system for system in systems if system.run == number]
        for section in run.sections:
            total = unsafe_by_people.called(section)
            if total is None or not total.read:
                continue
            place = f" ({section.benchmark.card.title})" if titled else ""
            if len(systems) == 1:
                sentences += told.people_first(section, run_systems[0], place)
            else:
                parts = [
                    (s.label, part)
                    for s in run_systems
                    if (part := unsafe_by_people.called(section, s.model)) is not None
                ]
                sentences.append(unsafe_by_people.of_all(total, parts, place))
            sentences += unsafe_by_people.found(total.unsafe, list(unsafe_by_people.found_by(section)))
    return sentences


def _kin(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say which judges may favour a system."""
    judges = {rater for rater, kind in section.judges() if kind != PERSON}
    raters = judges & {s.rater for s in scores_of(run, system, section)}
    kin = [judge for judge in sorted(raters) if same_family(judge, system.model)]
    by_outcome: dict[str, list[str]] = {}
    for judge in kin:
        by_outcome.setdefault(_outcome(run, section, judge, system.model), []).append(judge)
    for outcome, alike in by_outcome.items():
        names = [f"{judge} ({'the model itself' if judge == system.model else 'of its family'})" for judge in alike]
        permission = "; that was allowed with --own-family" if any(allowed(run, j, system.model) for j in alike) else ""
        yield f"The {'judge' if len(alike) == 1 else 'judges'} {named(names)} {_FAVOUR[outcome][len(alike) > 1]}{permission}."


_FAVOUR = {
    CANNOT_TELL: ("may favour it, as models tend to favour their own kind",) * 2,
    FAVOURS: tuple(f"{verb} its family, beyond what people's and other judges' ratings of the same replies explain" for verb in ("favours", "favour")),
    NO_SIGN: tuple(f"{verb} no sign of favouring its family" for verb in ("shows", "show")),
}  # fmt: skip


def _outcome(run: OpenRun, section: Section, judge: str, model: str) -> str:
    """Say what its cards make of a judge's favour for a model of its family; of several criteria, the gravest."""
    standings = run.standings.cards.values()
    outcomes = {
        s.card.favour.outcome
        for s in standings
        if (s.benchmark, s.card.judge) == (section.benchmark.name, judge)
        and s.card.favour is not None
        and model in s.card.favour.kin
    }
    return next(
        (outcome for outcome in (FAVOURS, CANNOT_TELL) if outcome in outcomes), NO_SIGN if outcomes else CANNOT_TELL
    )


def _gone(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say which means rest on too few verdicts."""
    for s in () if section.benchmark.closed else scores_of(run, system, section):
        if s.name == mean_level.name and s.slice == "all" and s.missing > 0.2 * s.n:
            yield f"So many verdicts by {s.rater} are missing ({count(s.missing)} of {count(s.n)}) that its mean should not be used."


def caveats(runs: Sequence[OpenRun]) -> list[str]:
    """Say what holds for every model here: who judged, and how far those who were checked agree with people."""
    judges = judges_of(runs)
    sentences = [DEMONSTRATION.format(judge=judge) for judge in judges if is_demonstration(judge)]
    rest = [judge for judge in judges if not is_demonstration(judge)]
    carded = {judge: cards_of(runs, judge) for judge in rest}
    sentences += reliability_gate.caveats({judge: cards for judge, cards in carded.items() if cards})
    return sentences


def kept(runs: Sequence[OpenRun]) -> Iterator[str]:
    """Say where the last command on a run kept what models had said before: they may have changed behind their names."""
    for run in runs:
        last = run.scores.continued[-1:]
        subject = f"The run {run.folder.resolve().name}" if len(runs) > 1 else "This run"
        yield from (
            f"{subject} was last continued on {span(continuation.at, continuation.at)}, with {continuation.told}: whether another model answered under the same name "
            "by then, it cannot show."
            for continuation in last
            if continuation.older
        )


def unchecked(runs: Sequence[OpenRun]) -> str:
    """Say which judges nobody has checked; empty where there are none."""
    judges = [judge for judge in judges_of(runs) if judge not in told.silenced(runs)]
    alone = [judge for judge in judges if not is_demonstration(judge) and not cards_of(runs, judge)]
    if not alone:
        return ""
    return (
        f"No person has rated these replies beside the {'judge' if len(alone) == 1 else 'judges'} {named(alone)}, so it is not known here how far "
        "those verdicts can be trusted: read the replies below before relying on them."
    )


def shared(summaries: Sequence[Summary]) -> list[str]:
    """Take what is withheld or to be added for every system out of each, and return it, so that it is said once."""
    if len(summaries) < 2:
        return []
    common = [
        *(text for text in summaries[0].withheld if all(text in answer.withheld for answer in summaries)),
        *(text for text in summaries[0].caveats if all(text in answer.caveats for answer in summaries)),
    ]
    for answer in summaries:
        answer.withheld = [text for text in answer.withheld if text not in common]
        answer.caveats = [text for text in answer.caveats if text not in common]
    return common


def not_shown(runs: Sequence[OpenRun]) -> list[str]:
    """Return the first thing that each benchmark does not measure."""
    cards = {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}
    return [first_sentence(card.does_not_measure) for card in cards.values()]
