"""What a report says of gates, before any mean: how often each rater said yes, with exact bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.reports.numbers import count, named, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.runs import Section
    from mindgauge.reports.standing import Standings

RATES = ("yes_rate", "share_yes")


def told(scores: Sequence[Score], section: Section, standings: Standings, group: str, what: str) -> Iterator[str]:
    """Say what each rater's gates let through, of the replies in a group."""
    gates = [name for name, composite in section.benchmark.composites.items() if composite.gate]
    found = [s for s in scores if s.slice == group and s.name in RATES and s.criterion in gates]
    found = [s for s in found if s.value is not None and not standings.limited(s)]
    for rater in dict.fromkeys(s.rater for s in found):
        mine = sorted((s for s in found if s.rater == rater), key=lambda s: gates.index(s.criterion))
        yield f"{rater} found of its replies{what}: {named([_share(s) for s in mine])}."


def _share(score: Score) -> str:
    bounds = f"{100 * (score.low or 0.0):.0f} to {100 * (score.high or 0.0):.0f} %"
    lost = f", {count(score.missing)} of {count(score.n)} unknown" if score.missing else ""
    return f"{words(score.criterion)} {100 * (score.value or 0.0):.0f} % ({bounds}{lost})"
