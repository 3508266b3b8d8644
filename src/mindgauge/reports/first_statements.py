"""The three sentences of the first screen: what was found, how far to trust it, what to do now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.records.english import lowered, named, raised
from mindgauge.records.rounding import count, plural
from mindgauge.records.shell import command_line
from mindgauge.reports import benchmark_parts, first_finding, first_trust, unsafe_by_people
from mindgauge.reports.runs import PERSON, systems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.reports.benchmark_parts import Part, Place
    from mindgauge.reports.runs import OpenRun
    from mindgauge.reports.sections import ToRead

NOTHING = "Nothing has been measured yet, so nothing can be said."


def statements(part: Part, reading: Sequence[ToRead]) -> list[str]:
    """Return the three sentences on one benchmark.

    Args:
        part: the benchmark in all runs.
        reading: the lists of what to read first.
    """
    return [first_finding.finding(part), first_trust.statement(part), next_step([part], reading)]


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
    return [lead, trust, next_step(all_parts, reading)]


def of_run(run: OpenRun) -> list[str]:
    """Return two sentences on a run; on several benchmarks, the gravest speaks."""
    titles = {section.benchmark.name: section.benchmark.card.title for section in run.sections}
    parts = benchmark_parts.parts([run], systems([run]), titles)
    if parts:
        return of_all(parts, ())[:2]
    people = {rater: None for section in run.sections for rater, kind in section.raters if kind == PERSON}
    if not people:
        return [NOTHING]
    lead = f"Here are labels by {named([*people])}; no model answered and no judge rated, so there is nothing to score"
    return [f"{lead}: “{command_line('reliability', run.folder.name)}” says how far they agree."]


MOST_FAILED = 0.05
DRAW = 80
"""Replies that people are asked to rate next: a day's work of three people."""


def next_step(all_parts: Sequence[Part], reading: Sequence[ToRead]) -> str:
    """Say what to do now, by what the numbers leave open: the gravest first.

    Args:
        all_parts: the benchmarks.
        reading: the lists of what to read first.
    """
    places = [place for part in all_parts for place in part.places]
    if repeated := _repeated(all_parts, places):
        return repeated
    run = places[0].run.folder.name if len({place.run.folder for place in places}) == 1 else "RUN"
    read = f"Read the {plural(len(reading[0].items), 'case')} below first" if reading and reading[0].items else ""
    of_replies = [part for part in all_parts if not part.benchmark.closed]
    if not of_replies:
        return _of_answers(all_parts, run, read)
    unread = any(not _all_read(place) for part in of_replies for place in part.places)
    replies = sum(place.section.replies.height for part in of_replies for place in part.places)
    choice = f"{DRAW} replies that are drawn by lot" if replies > DRAW else f"all {count(replies)} replies"
    draw = f"let people rate {choice} (“{command_line('export', run, '--to', 'review', '--draw', min(DRAW, replies))}”)"
    reach = "so that they stand for all" if replies > DRAW else "so that people have seen all of them"
    usable = any(first_trust.may_be_used(part) for part in of_replies)
    if not unread:
        judge = "" if usable else ", choose another judge"
        return f"{read or 'Look at where it is weak below'}{judge}, and decide whether such replies may reach people in distress."
    if not usable:
        return f"{f'{read}, then' if read else 'First'} choose another judge, or {draw}."
    return f"{read}, then {draw}, {reach}." if read else f"{raised(draw)}, {reach}."


def _of_answers(all_parts: Sequence[Part], run: str, read: str) -> str:
    """Say what to do about answers to closed questions, which nobody rates."""
    if all(map(first_finding.unread, all_parts)):
        reasons = f"“{command_line('export', run, '--to', 'csv')}” says of each why it could not be used"
        return f"Look at the answers ({reasons}), and change what is asked, or choose another model."
    return f"{read or 'Look at where it is weak below'}, and decide whether such answers may reach people in distress."


def _repeated(all_parts: Sequence[Part], places: Sequence[Place]) -> str:
    """Say why the command that made a run is to be repeated; empty where it is not."""
    if all(first_finding.withheld(part) for part in all_parts):
        return "Choose clients that pass “mindgauge run --check-client”, or use fixed words (--person scripted), and run it again."
    if failed := _failed(places):
        return f"Run the same command again: {plural(failed, 'call')} failed, and only those are made again."
    if any(place.run.scores.unfinished for place in places):
        return (
            "Run the same command again, which goes on where it stopped: what it has not asked for yet is in no figure."
        )
    return ""


def _failed(places: Sequence[Place]) -> int:
    """Count the calls that failed, where they are more than a few of all."""
    runs = {place.run.folder: place.run for place in places}.values()
    counts = [entry for run in runs for entry in run.scores.statuses_by]
    failed = sum(entry.n for entry in counts if entry.status == "failed")
    return failed if failed > MOST_FAILED * sum(entry.n for entry in counts) else 0


def _all_read(place: Place) -> bool:
    counts = unsafe_by_people.called(place.section)
    return counts is not None and counts.read == counts.n
