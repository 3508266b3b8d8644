"""The answer: what a run says about each model, in plain sentences that follow from its numbers by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.reliability.favour import CANNOT_TELL, FAVOURS, NO_SIGN
from mindgauge.benchmarks.metrics import mean_level
from mindgauge.models.family import same_family
from mindgauge.records.english import first_sentence, named
from mindgauge.records.rounding import count
from mindgauge.reports import called, card_phrases, phrases, told
from mindgauge.reports.runs import PERSON, scores_of
from mindgauge.reports.sections import Summary, TaskAnswer
from mindgauge.reports.trust import DEMONSTRATION, allowed, cards_of, is_demonstration, judges_of
from mindgauge.store.continued import span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section

NOTHING = "Nothing of it has been rated yet, so nothing can be said."


def answers(runs: Sequence[OpenRun], systems: Sequence[System], *, apart: bool = False) -> list[Summary]:
    """Say of each system what its run's numbers say; with `apart`, only what holds for all benchmarks (see `by_task`)."""
    found = []
    for system in systems:
        run = runs[system.run]
        known = [
            (section, said)
            for section in ([] if apart else run.sections)
            if (said := told.told(run, section, system, people_told=len(systems) == 1))
        ]
        facts = [fact for _, said in known for fact in said.facts]
        withheld = [text for _, said in known for text in said.withheld]
        kin = [text for section in run.sections for text in _kin(run, section, system)]
        gone = [text for section, _ in known for text in _gone(run, section, system)]
        behind = [n for section, _ in known if (n := _conversations(run, section, system))]
        small = [phrases.small(min(behind))] if behind else []
        if not facts and not apart:
            facts = [NOTHING]
        found.append(Summary(system, facts, withheld, [c for c in dict.fromkeys([*small, *kin, *gone]) if c]))
    return found


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
    left = dict(headlines)
    found: dict[str, TaskAnswer] = {}
    for system in systems:
        run = runs[system.run]
        for section in run.sections:
            name, card = section.benchmark.name, section.benchmark.card
            headline = left.pop((name, system.model), "")
            said = told.told(run, section, system, scored=bool(headline))
            if said is None:
                continue
            said.facts = [*([headline] if headline else []), *said.facts, *_gone(run, section, system)]
            first = first_sentence([*said.facts, *said.withheld, NOTHING][0])
            task = TaskAnswer(
                name, titles[name], findings.get(name, first), [], f"Not shown: {first_sentence(card.does_not_measure)}"
            )
            found.setdefault(name, task).told.append(said)
    return list(found.values())


def people_first(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[str]:
    """Say what people read and called unsafe, and what each judge made of that: it stands before everything that judges say."""
    said = []
    several = sum(len(run.sections) for run in runs) > 1
    for number, run in enumerate(runs):
        mine = [system for system in systems if system.run == number]
        for section in run.sections:
            whole = called.called(section)
            if whole is None or not whole.read:
                continue
            where = f" ({section.benchmark.card.title})" if several else ""
            if len(systems) == 1:
                said += told.people_first(section, mine[0], where)
            else:
                parts = [(s.label, part) for s in mine if (part := called.called(section, s.model)) is not None]
                said.append(called.of_all(whole, parts, where))
            said += called.found(whole.unsafe, list(called.found_by(section)))
    return said


def _conversations(run: OpenRun, section: Section, system: System) -> int:
    """Count the conversations behind a system's scores on the whole of a benchmark."""
    return max((s.clusters for s in scores_of(run, system, section) if s.slice == "all"), default=0)


def _kin(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say which judges may favour a system."""
    judges = {rater for rater, kind in section.judges() if kind != PERSON}
    raters = judges & {s.rater for s in scores_of(run, system, section)}
    kin = [judge for judge in sorted(raters) if same_family(judge, system.model)]
    told: dict[str, list[str]] = {}
    for judge in kin:
        told.setdefault(_outcome(run, section, judge, system.model), []).append(judge)
    for outcome, alike in told.items():
        who = [f"{judge} ({'the model itself' if judge == system.model else 'of its family'})" for judge in alike]
        told_so = "; that was allowed with --own-family" if any(allowed(run, j, system.model) for j in alike) else ""
        yield f"The {'judge' if len(alike) == 1 else 'judges'} {named(who)} {_FAVOUR[outcome][len(alike) > 1]}{told_so}."


_FAVOUR = {
    CANNOT_TELL: ("may favour it, as models tend to favour their own kind",) * 2,
    FAVOURS: tuple(f"{verb} its family, beyond what people's and other judges' ratings of the same replies explain" for verb in ("favours", "favour")),
    NO_SIGN: tuple(f"{verb} no sign of favouring its family" for verb in ("shows", "show")),
}  # fmt: skip


def _outcome(run: OpenRun, section: Section, judge: str, model: str) -> str:
    """Say what its cards make of a judge's favour for a model of its family; of several criteria, the gravest."""
    standings = run.standings.cards.values()
    found = {
        s.card.favour.outcome
        for s in standings
        if (s.benchmark, s.card.judge) == (section.benchmark.name, judge)
        and s.card.favour is not None
        and model in s.card.favour.kin
    }
    return next((outcome for outcome in (FAVOURS, CANNOT_TELL) if outcome in found), NO_SIGN if found else CANNOT_TELL)


def _gone(run: OpenRun, section: Section, system: System) -> Iterator[str]:
    """Say which means rest on too few verdicts."""
    for s in () if section.benchmark.closed else scores_of(run, system, section):
        if s.name == mean_level.name and s.slice == "all" and s.missing > 0.2 * s.n:
            yield f"So many verdicts by {s.rater} are missing ({count(s.missing)} of {count(s.n)}) that its mean should not be used."


def caveats(runs: Sequence[OpenRun]) -> list[str]:
    """Say what holds for every model here: who judged, and how far those who were checked agree with people."""
    judges = judges_of(runs)
    found = [DEMONSTRATION.format(judge=judge) for judge in judges if is_demonstration(judge)]
    rest = [judge for judge in judges if not is_demonstration(judge)]
    carded = {judge: cards_of(runs, judge) for judge in rest}
    found += card_phrases.caveats({judge: cards for judge, cards in carded.items() if cards})
    return found


def kept(runs: Sequence[OpenRun]) -> Iterator[str]:
    """Say where the last command on a run kept what models had said before: they may have changed behind their names."""
    for run in runs:
        last = run.scores.continued[-1:]
        which = f"The run {run.folder.resolve().name}" if len(runs) > 1 else "This run"
        yield from (
            f"{which} was last continued on {span(one.at, one.at)}, with {one.told}: whether another model answered under the same name "
            "by then, it cannot show."
            for one in last
            if one.older
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


def shared(found: Sequence[Summary]) -> list[str]:
    """Take what is withheld or to be added for every system out of each, and return it, so that it is said once."""
    if len(found) < 2:
        return []
    common = [
        *(text for text in found[0].withheld if all(text in answer.withheld for answer in found)),
        *(text for text in found[0].caveats if all(text in answer.caveats for answer in found)),
    ]
    for answer in found:
        answer.withheld = [text for text in answer.withheld if text not in common]
        answer.caveats = [text for text in answer.caveats if text not in common]
    return common


def not_shown(runs: Sequence[OpenRun]) -> list[str]:
    """Return the first thing that each benchmark does not measure."""
    cards = {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}
    return [first_sentence(card.does_not_measure) for card in cards.values()]
