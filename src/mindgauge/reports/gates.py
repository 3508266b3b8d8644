"""What a report says of gates, before any mean: how often each rater said yes, with exact bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.benchmarks.metrics import SHARES_OF_YES
from mindgauge.records.english import lowered, named, words
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.records.rubric.composite import CompositeRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.records.rubric.composite import Composite
    from mindgauge.reports.runs import Section
    from mindgauge.reports.standing import ReliabilityGate


def told(
    scores: Sequence[Score],
    section: Section,
    standings: ReliabilityGate,
    group: str,
    what: str,
    who: Callable[[Score], str],
) -> Iterator[str]:
    """Say what each rater's gates let through, of the replies in a group; `who` names the rater of a score."""
    gates = _gates(section)
    found = [s for s in scores if s.slice == group and s.name in SHARES_OF_YES and s.criterion in gates]
    found = [s for s in found if s.value is not None and not standings.limited(s)]
    for rater in dict.fromkeys(s.rater for s in found):
        mine = sorted((s for s in found if s.rater == rater), key=lambda s: gates.index(s.criterion))
        ns = sorted({s.subjects for s in mine})
        n = plural(ns[0], "reply", "replies") if len(ns) == 1 else f"{count(ns[0])} to {count(ns[-1])} replies"
        yield f"Of {n}{what}, {lowered(who(mine[0]))} called {named([_share(s) for s in mine], most=9)}."


def meanings(sections: Sequence[Section]) -> Iterator[str]:
    """Say what the gates mean by which replies were judged, each once."""
    for section in {section.benchmark.name: section for section in sections}.values():
        told = [_meaning(name, section.benchmark.composites[name]) for name in _gates(section)]
        if told:
            yield " ".join(told)


def _meaning(name: str, gate: Composite) -> str:
    parts = [words(part) for part in gate.of]
    if gate.how is CompositeRule.ANY:
        of = f"there is {named(parts, 'or', most=9)}"
    elif len(parts) == 2:
        of = f"neither {parts[0]} nor {parts[1]}"
    else:
        of = f"none of {named(parts, 'or', most=9)}"
    return f"“{words(name)[:1].upper()}{words(name)[1:]}” means: {of}."


def _gates(section: Section) -> list[str]:
    return [name for name, composite in section.benchmark.composites.items() if composite.gate]


def _share(score: Score) -> str:
    bounds = interval(score.low, score.high, "share")
    lost = f", {count(score.missing)} of {count(score.n)} verdicts unknown" if score.missing else ""
    return f"{percent(score.value)} {words(score.criterion)} ({bounds}{lost})"
