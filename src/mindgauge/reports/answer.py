"""The answer: what a run says about each model, in plain sentences that follow from its numbers by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.raters.family import same_family
from mindgauge.reports import card_phrases, phrases, void
from mindgauge.reports.numbers import count, first_sentence, named
from mindgauge.reports.runs import PERSON, scores_of
from mindgauge.reports.sections import Answer, TaskAnswer
from mindgauge.reports.told import MANY, told
from mindgauge.reports.trust import DEMONSTRATION, allowed, cards_of, is_demonstration, judges_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.content import System
    from mindgauge.reports.runs import Run, Section

ALL_WITHHELD = (
    "Its replies were rated, but only by judges that agree too little with people, so nothing can be said of them."
)
NOTHING = "Nothing of it has been rated yet, so nothing can be said."


def answers(runs: Sequence[Run], systems: Sequence[System], *, apart: bool = False) -> list[Answer]:
    """Say of each system what its run's numbers say; with `apart`, only what holds for all benchmarks (see `by_task`)."""
    found = []
    for system in systems:
        run = runs[system.run]
        known = [] if apart else [(section, said) for section in run.sections if (said := told(run, section, system))]
        facts = [fact for _, said in known for fact in said.facts]
        withheld = [text for _, said in known for text in said.withheld]
        kin = [text for section in run.sections for text in _kin(run, section, system)]
        gone = [text for section, _ in known for text in _gone(run, section, system)]
        behind = [n for section, _ in known if (n := _conversations(run, section, system))]
        small = [phrases.small(min(behind))] if behind else []
        if not facts and not apart:
            facts = [ALL_WITHHELD if withheld else NOTHING]
        found.append(Answer(system, facts, withheld, [c for c in dict.fromkeys([*small, *kin, *gone]) if c]))
    return found


def by_task(
    runs: Sequence[Run],
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
            said = told(run, section, system)
            if said is None:
                continue
            name, card = section.benchmark.name, section.benchmark.card
            headline = left.pop((name, system.model), "")
            said.facts = [*([headline] if headline else []), *said.facts, *_gone(run, section, system)]
            first = first_sentence([*said.facts, *said.withheld, NOTHING][0])
            task = TaskAnswer(
                name, titles[name], findings.get(name, first), [], f"Not shown: {first_sentence(card.does_not_measure)}"
            )
            found.setdefault(name, task).told.append(said)
    return list(found.values())


def _conversations(run: Run, section: Section, system: System) -> int:
    """Count the conversations behind a system's scores on the whole of a benchmark."""
    return max((s.clusters for s in scores_of(run, system, section) if s.slice == "all"), default=0)


def _kin(run: Run, section: Section, system: System) -> Iterator[str]:
    """Say which judges may favour a system."""
    people = {rater for rater, kind in section.judges() if kind == PERSON}
    raters = set() if section.benchmark.closed else {s.rater for s in scores_of(run, system, section)} - people
    kin = [judge for judge in sorted(raters) if same_family(judge, system.model)]
    if kin:
        who = [f"{judge} ({'the model itself' if judge == system.model else 'of its family'})" for judge in kin]
        told_so = "; that was allowed with --own-family" if any(allowed(run, j, system.model) for j in kin) else ""
        yield f"The {'judge' if len(kin) == 1 else 'judges'} {named(who)} may favour it, as models tend to favour their own kind{told_so}."


def _gone(run: Run, section: Section, system: System) -> Iterator[str]:
    """Say which means rest on too few verdicts."""
    for s in () if section.benchmark.closed else scores_of(run, system, section):
        if s.name == "mean" and s.slice == "all" and s.missing > 0.2 * s.n:
            yield f"So many verdicts by {s.rater} are missing ({count(s.missing)} of {count(s.n)}) that its mean should not be used."


def caveats(runs: Sequence[Run]) -> list[str]:
    """Say what holds for every model here: who judged, and how far those who were checked agree with people."""
    judges = judges_of(runs)
    found = [DEMONSTRATION.format(judge=judge) for judge in judges if is_demonstration(judge)]
    rest = [judge for judge in judges if not is_demonstration(judge)]
    carded = {judge: cards_of(runs, judge) for judge in rest}
    found += card_phrases.caveats({judge: cards for judge, cards in carded.items() if cards})
    found += _rated_low(runs, rest)
    return found


def unchecked(runs: Sequence[Run]) -> str:
    """Say which judges nobody has checked; empty where there are none."""
    judges = [judge for judge in judges_of(runs) if judge not in void.silenced(runs)]
    alone = [judge for judge in judges if not is_demonstration(judge) and not cards_of(runs, judge)]
    if not alone:
        return ""
    return (
        f"No person has rated these replies beside the {'judge' if len(alone) == 1 else 'judges'} {named(alone)}, so it is not known here how far "
        "those verdicts can be trusted: read the replies below before relying on them."
    )


def _rated_low(runs: Sequence[Run], judges: Sequence[str]) -> Iterator[str]:
    """Say, where there are few criteria, how many of the replies that people rated low the judges rated low."""
    for section in (section for run in runs for section in run.sections if len(section.ordinal) <= MANY):
        counted: dict[tuple[str, int], dict[str, int]] = {}
        for (criterion, judge), (n, too) in sorted(section.low_by_both().items()):
            if judge in judges:
                counted.setdefault((criterion, n), {})[judge] = too
        for (criterion, n), by_judges in counted.items():
            yield card_phrases.rated_low(criterion, n, by_judges)


def shared(found: Sequence[Answer]) -> list[str]:
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


def not_shown(runs: Sequence[Run]) -> list[str]:
    """Return the first thing that each benchmark does not measure."""
    cards = {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}
    return [first_sentence(card.does_not_measure) for card in cards.values()]
