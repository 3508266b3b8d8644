"""The three sentences of the first screen: what was found, how far to trust it, what to do now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import lowered, named
from mindgauge.records.rounding import count
from mindgauge.reports import first_finding, first_step, first_trust

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.benchmark_parts import Part
    from mindgauge.reports.sections import ToRead

NOTHING = "Nothing has been measured yet, so nothing can be said."


def statements(part: Part, reading: Sequence[ToRead]) -> list[str]:
    """Return the three sentences on one benchmark.

    Args:
        part: the benchmark in all runs.
        reading: the lists of what to read first.
    """
    return [first_finding.finding(part), first_trust.statement(part), first_step.next_step([part], reading)]


def of_all(all_parts: Sequence[Part], reading: Sequence[ToRead]) -> list[str]:
    """Return the three sentences on the gravest of several benchmarks, and what to do about all of them.

    Args:
        all_parts: the benchmarks.
        reading: the lists of what to read first.
    """
    if len(all_parts) == 1:
        return statements(all_parts[0], reading)
    main = max(all_parts, key=first_finding.gravity)
    finding, trust = first_finding.finding(main), first_trust.statement(main)
    number = count(len(all_parts))
    place = (
        f"Of {number} benchmarks, the gravest is in “{main.title}”"
        if first_finding.gravity(main)
        else f"In “{main.title}”, one of {number} benchmarks"
    )
    lead = f"{place}: {lowered(finding)}"
    silent = [
        f"“{part.title}”"
        for part in all_parts
        if part is not main and first_finding.finding(part) == first_finding.nothing(part)
    ]
    if silent:
        trust = f"{trust} Nothing can be said of {named(silent)}."
    return [lead, trust, first_step.next_step(all_parts, reading)]
