"""What a report holds of each benchmark: the runs and systems that measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.reports.dialogue_tallies import UnsafeVerdicts
from mindgauge.reports.runs import every_score_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section


class Place(NamedTuple):
    """One benchmark in one run, and the systems that the run measured on it."""

    run: OpenRun
    section: Section
    systems: list[System]
    verdicts: UnsafeVerdicts


class Part(NamedTuple):
    """One benchmark in all runs of a report."""

    benchmark: Benchmark
    title: str
    places: list[Place]

    @property
    def systems(self) -> list[System]:
        """All systems, in their order."""
        return [system for place in self.places for system in place.systems]

    @property
    def counts_replies(self) -> bool:
        """Whether its replies can be called unsafe one by one; else its own measures stand for it."""
        section = self.places[0].section
        return bool(section.unsafe_criteria) and not section.holds_dialogues

    @property
    def lead_group(self) -> str:
        """The group that is looked at first: the benchmark's, or all where nothing in these runs is in it."""
        group = self.benchmark.lead_group
        return group if any(place.section.lead_group == group for place in self.places) else "all"

    @property
    def subjects(self) -> str:
        """What the dialogues that are looked at first are called, of several."""
        group = self.lead_group
        title = self.benchmark.group_titles.get(group, f"dialogues ({group})")
        return "dialogues" if group == "all" else title


def parts(runs: Sequence[OpenRun], systems: Sequence[System], titles: dict[str, str]) -> list[Part]:
    """Put what runs hold of each benchmark together.

    Args:
        runs: of the report.
        systems: that they measured.
        titles: what each benchmark is called.
    """
    by_benchmark: dict[str, Part] = {}
    for number, run in enumerate(runs):
        for section in run.sections:
            benchmark = section.benchmark
            part = by_benchmark.setdefault(
                benchmark.name, Part(benchmark, titles.get(benchmark.name, benchmark.name), [])
            )
            own = [s for s in systems if s.run == number and _measured(run, section, s)]
            part.places.append(Place(run, section, own, UnsafeVerdicts(run, section)))
    return [part for part in by_benchmark.values() if part.systems]


def _measured(run: OpenRun, section: Section, system: System) -> bool:
    """Whether a system replied, or answered, in a benchmark."""
    if section.benchmark.closed:
        return any(True for _ in every_score_of(run, system, section))
    return bool((section.replies["model"] == system.model).any())
