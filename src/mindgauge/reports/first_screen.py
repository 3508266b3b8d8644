"""The first screen: three sentences, one picture, one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mindgauge.records.english import lowered, named, raised
from mindgauge.records.rounding import count, counts, interval, percent, plural, write
from mindgauge.records.shell import command_line
from mindgauge.reports import content, first_finding, unsafe_by_people
from mindgauge.reports.content import Column, ReportTable, heads
from mindgauge.reports.draw.records import DotRow, Dots, Point
from mindgauge.reports.first_finding import first_measures, heading, shown_score
from mindgauge.reports.runs import PERSON, systems
from mindgauge.reports.sections import FirstScreen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks.metrics import Metric
    from mindgauge.reports.compared import ComparisonSection
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun
    from mindgauge.reports.sections import ToRead
    from mindgauge.reports.unsafe_by_people import DialogueTally, Part, Place

MOST_MEASURES = 3
MOST_RATERS = 6
FEWEST = 20
"""A share of fewer is not written in percent: 0 of 3 is not 0 %."""
PEOPLE = "people"


def first_screen(
    runs: Sequence[OpenRun],
    systems: Sequence[System],
    reading: Sequence[ToRead],
    between: ComparisonSection | None,
    suite: Sequence[str],
) -> FirstScreen:
    """Put the first screen together.

    Args:
        runs: of the report.
        systems: that they measured.
        reading: the lists of what to read first.
        between: who can be told apart from whom.
        suite: what is found in a suite's profile, and how far to trust it; empty where there is no profile.
    """
    titles = {section.benchmark.name: section.benchmark.card.title for run in runs for section in run.sections}
    all_parts = unsafe_by_people.benchmark_parts(runs, systems, titles)
    if not all_parts:
        return FirstScreen([NOTHING], None, None, [])
    if suite:
        # What people saw comes before any score, also where a profile speaks for the whole.
        people = [
            f"{part.title}: {people_statement}"
            for part in all_parts
            if (people_statement := first_finding.seen_by_people(part))
        ]
        statements = [" ".join([*people[:1], suite[0]]), suite[1], next_step(all_parts, reading)]
        return FirstScreen(statements, None, None, [])
    main = max(all_parts, key=first_finding.gravity)
    statements = of_all(all_parts, reading)
    alike, topic = _alike(main, between)
    order = _order(main, alike, topic)
    distinct = {} if order else alike
    if distinct:
        order = f"“Cannot be told apart from” is about {topic}."
    picture = _of_raters(main) if main.counts_replies else _of_measures(main)
    table = (_replies_table if main.counts_replies else _measures_table)(main, distinct, order)
    if len(all_parts) == 1:
        return FirstScreen(statements, picture, table, [])
    paragraphs = [
        {"benchmark": part.benchmark.name, "title": part.title, "statements": part_statements(part, ())[:2]}
        for part in all_parts
    ]
    return FirstScreen(statements, picture, table, paragraphs)


def _alike(part: Part, between: ComparisonSection | None) -> tuple[dict[str, list[str]], str]:
    """Return the systems from which each cannot be told apart, on the measure that is compared first; and its name."""
    contrasts = between.contrasts if between is not None else []
    first = next((c for c in contrasts if c.benchmark == part.benchmark.name and not c.folded), None)
    return (first.alike, first.topic) if first is not None else ({}, "")


def _order(part: Part, alike: dict[str, list[str]], topic: str) -> str:
    """Say whether all models can be told apart, or none; empty where that differs by model, and a column says it."""
    labels = [system.label for system in part.systems if system.label in alike]
    if len(labels) < 2 or len(labels) < len(part.systems):
        return ""
    if not any(alike.values()):
        return f"Each model can be told apart from every other on {topic}."
    if any(len(alike[label]) < len(labels) - 1 for label in labels):
        return ""
    if len(labels) == 2:
        return f"The models {named(labels)} cannot be told apart on {topic}."
    return f"Of the {count(len(labels))} models, no two can be told apart on {topic}."


def _apart_from(system: System, alike: dict[str, list[str]]) -> str:
    others = alike.get(system.label)
    return "not compared" if others is None else named(others) if others else "none"


# -- replies that are called unsafe ------------------------------------------------------------------------------------


def _of_raters(part: Part) -> Dots | None:
    """Draw which share of dialogues each rater calls unsafe: of those that people read where they did, else of all."""
    read_by_people = any(len(place.section.unsafe) for place in part.places)
    group = "all" if read_by_people else part.lead_group
    rows: dict[str, list[Point]] = {}
    for place in part.places:
        verdicts = place.verdicts
        raters = {**({PEOPLE: verdicts.people} if read_by_people else {}), **verdicts.judges}
        for rater, verdict in raters.items():
            for system in place.systems:
                tally = verdicts.tally(verdict, system.model, group, place.section.unsafe if read_by_people else None)
                if tally.valued:
                    opens = content.lines(
                        system=system.label,
                        benchmark=part.benchmark.name,
                        sign="by_people" if rater == PEOPLE else "unsafe",
                        rater="" if rater == PEOPLE else rater,
                    )
                    rows.setdefault(rater, []).append(_point(system, tally, opens))
    if len(rows) > MOST_RATERS:  # people, and the judges that call most unsafe
        severity = {rater: max(point.value or 0.0 for point in points) for rater, points in rows.items()}
        kept = sorted(rows, key=lambda rater: (rater != PEOPLE, -severity[rater]))[:MOST_RATERS]
        rows = {rater: rows[rater] for rater in rows if rater in kept}
    if not rows:
        return None
    subjects = "dialogues that people read" if read_by_people else part.subjects
    measure = f"Of the {subjects}, the share with an unsafe reply, as each rater sees it. Lines are 95 % intervals (exact, conversations as n)."
    return Dots(
        anchor="first-picture", finding=_heading(rows, subjects), measure=measure, sheet=_sheet(rows, "called unsafe"), low=0.0, high=1.0,
        ends=("none unsafe", "all unsafe"), share=True, rows=[DotRow(rater, _n(points), points) for rater, points in rows.items()],
    )  # fmt: skip


def _point(system: System, tally: DialogueTally, opens: str) -> Point:
    bounds = tally.bounds
    return Point(system, tally.share, bounds.low, bounds.high, tally.n, tally.n - tally.valued, opens=opens)


def _n(points: Sequence[Point]) -> str:
    ns = sorted({point.n for point in points})
    return f"n {count(ns[0])}" if len(ns) == 1 else f"n {count(ns[0])}–{count(ns[-1])}"


def _heading(rows: dict[str, list[Point]], subjects: str) -> str:
    """State how much whoever stands first calls unsafe, of the best system and of the worst."""
    rater, points = next(iter(rows.items()))
    eyes = f"in the eyes of {PEOPLE if rater == PEOPLE else f'the judge {rater}'}"
    ordered = sorted(points, key=lambda point: (point.value or 0.0, point.n))
    least, most = ordered[0], ordered[-1]
    if not most.value:
        return f"None of the {subjects} has an unsafe reply {eyes}"
    low, high = percent(least.value or 0.0), percent(most.value)
    if low == high:
        return f"{high} of the {subjects} have an unsafe reply {eyes}{', with each model' if len(points) > 1 else ''}"
    return f"{low} ({least.system.label}) to {high} ({most.system.label}) of the {subjects} have an unsafe reply {eyes}"


def _sheet(rows: dict[str, list[Point]], what: str) -> ReportTable:
    columns = heads(f"rated by | model | {what}:share± | dialogues:count | missing:count")
    cells: list[list[Cell]] = [
        [rater, point.system.label, point.value, point.low, point.high, point.n, point.missing]
        for rater, points in rows.items()
        for point in points
    ]
    opens = [point.opens for points in rows.values() for point in points]
    return ReportTable("first-picture", raised(what), columns, cells, opens=opens)


def _replies_table(part: Part, alike: dict[str, list[str]], order: str) -> ReportTable:
    """Tabulate each system's dialogues: how many there are, are unsafe, are missed by judges, and whom it cannot be told from."""
    group = part.lead_group
    by_people = any(len(place.section.unsafe) for place in part.places)
    judged = any(place.verdicts.judges for place in part.places)
    several_judges = any(len(place.verdicts.judges) > 1 for place in part.places)
    rater = "judges" if several_judges else "the judge"
    scope = "" if group == "all" else f", of {part.subjects}"
    is_comparison = len(part.systems) > 1 and bool(alike)
    columns = [
        Column("model"), Column(part.subjects, "count"), *([Column(f"unsafe, by people{', of all dialogues' * (group != 'all')}")] if by_people else []),
        *([Column(f"unsafe, by {rater}{scope}")] if judged else []), *([Column(f"missed by {rater}")] if by_people and judged else []),
        *([Column("cannot be told apart from")] if is_comparison else []),
    ]  # fmt: skip
    rows: list[_Row] = []
    for place in part.places:
        verdicts = place.verdicts
        called_unsafe = place.section.unsafe.filter("unsafe")
        for system in place.systems:
            n = verdicts.dialogues(system.model, group)
            people = verdicts.tally(verdicts.people, system.model)
            judges = [verdicts.tally(verdict, system.model, group) for verdict in verdicts.judges.values()]
            detected = [
                verdicts.tally(verdict, system.model, among=called_unsafe) for verdict in verdicts.judges.values()
            ]
            read = (
                f"{count(people.unsafe)} of {count(people.valued)} read ({percent(people.unsafe / people.valued)})"
                if people.valued
                else "none read"
            )
            shares = [tally.share for tally in ([people] if by_people else judges) if tally.share is not None]
            rows.append((max(shares, default=None), system, [
                system.label, n, *([read] if by_people else []),
                *([_called(judges)] if judged else []),
                *([_missed([tally.n - tally.unsafe for tally in detected if tally.n], people.unsafe)] if by_people and judged else []),
                *([_apart_from(system, alike)] if is_comparison else []),
            ]))  # fmt: skip
    note = " ".join([*_explained(part, order, missed=by_people and judged, several_judges=several_judges)])
    return _worst_first("Each model's dialogues", columns, rows, note, part)


_Row: TypeAlias = "tuple[float | None, System, list[Cell]]"
"""How bad a system is, None where that is not known; and its cells."""


def _worst_first(title: str, columns: list[Column], rows: list[_Row], note: str, part: Part) -> ReportTable:
    """Tabulate systems, the worst first: wherever there is room for some alone, the worst are among them."""
    rows = sorted(rows, key=lambda row: (row[0] is None, -(row[0] or 0.0)))
    opens = [content.lines(system=system.label, benchmark=part.benchmark.name) for _, system, _ in rows]
    return ReportTable("first", title, columns, [cells for *_, cells in rows], note, opens=opens)


def _explained(part: Part, order: str, *, missed: bool, several_judges: bool) -> Iterator[str]:
    if any(
        place.section.replies.height > place.section.replies.unique(["model", "sample"]).height for place in part.places
    ):
        yield "A dialogue counts once, however many replies it has."
    replies, applicable = (
        sum(len(rows) for rows in kind)
        for kind in zip(*((place.section.replies, place.section.of_concern) for place in part.places), strict=True)
    )
    if applicable < replies:
        yield f"Counted are the applicable replies: the rubric does not apply to {count(replies - applicable)} of {count(replies)}."
    if missed:
        yield f"Missed: people call the reply unsafe, and {'a judge that was asked' if several_judges else 'the judge'} does not."
    if several_judges:
        yield "Of several judges, the fewest to the most."
    if order:
        yield order


def _called(tallies: Sequence[DialogueTally]) -> str:
    """Say how many dialogues judges call unsafe, of those with a verdict, and how many have none."""
    counted = [tally for tally in tallies if tally.n]
    if not counted:
        return "–"
    unsafe, valued = ([getattr(tally, name) for tally in counted] for name in ("unsafe", "valued"))
    lost = [tally.n - tally.valued for tally in counted]
    alike = len({*unsafe}) == len({*valued}) == 1 and valued[0] >= FEWEST
    share = f" ({percent(unsafe[0] / valued[0])})" if alike else ""
    return f"{counts(unsafe)} of {counts(valued)}{share}{f'; no verdict on {counts(lost)}' if any(lost) else ''}"


def _missed(numbers: Sequence[int], n: int) -> str:
    if not numbers or not n:
        return "none asked" if n else "–"
    share = f" ({percent(numbers[0] / n)})" if len({*numbers}) == 1 and n >= FEWEST else ""
    return f"{counts(numbers)} of {count(n)}{share}"


# -- what is measured otherwise ----------------------------------------------------------------------------------------


def _of_measures(part: Part) -> Dots | None:
    """Draw the shares that a benchmark goes by, harm first."""
    rows: dict[str, list[Point]] = {}
    for metric in [m for m in _measured(part) if m.unit == "share"][:MOST_MEASURES]:
        for place in part.places:
            for system in place.systems:
                score = shown_score(place, system, metric)
                if score is not None:
                    better = f" ({metric.better} is better)" if metric.better else ""
                    point = Point(
                        system,
                        score.value,
                        score.low,
                        score.high,
                        score.n,
                        score.missing,
                        opens=content.lines(system=system.label, benchmark=part.benchmark.name),
                    )
                    rows.setdefault(f"{heading(part, metric)}{better}", []).append(point)
    if not rows:
        return None
    title, points = next(iter(rows.items()))
    values = sorted({write(point.value, "share") for point in points})
    finding = f"{title}: {values[0] if len(values) == 1 else f'{values[0]} to {values[-1]}'}"
    return Dots(
        anchor="first-picture", finding=finding, measure="Lines are 95 % intervals over conversations.", sheet=_sheet(rows, "value"),
        low=0.0, high=1.0, ends=("none", "all"), share=True, rows=[DotRow(name, _n(points), points) for name, points in rows.items()],
    )  # fmt: skip


def _measured(part: Part) -> list[Metric]:
    """Return the measures of which somebody has a score; all, where nobody has any.

    Risk by plan, for one, is none in transcripts, and risk as a reader sees it none where nobody reads.
    """
    metrics = first_measures(part.benchmark)
    scored = [
        metric
        for metric in metrics
        if any(shown_score(place, system, metric) for place in part.places for system in place.systems)
    ]
    return scored or metrics


def _measures_table(part: Part, alike: dict[str, list[str]], order: str) -> ReportTable:
    is_comparison = len(part.systems) > 1 and bool(alike)
    metrics = _measured(part)[:MOST_MEASURES]
    noun = "personas" if part.places[0].section.holds_dialogues else "dialogues"
    columns = [
        *heads(f"model | {noun}:count"), *(Column(lowered(heading(part, metric))) for metric in metrics),
        *([Column("cannot be told apart from")] if is_comparison else []),
    ]  # fmt: skip
    rows: list[_Row] = []
    for place in part.places:
        for system in place.systems:
            scores = [shown_score(place, system, metric) for metric in metrics]
            value = next((score.value for score in scores[:1] if score is not None), None)
            badness = None if value is None else -value if metrics[0].better == "higher" else value
            n = max((score.clusters for score in scores if score is not None), default=0)
            cells = [
                "no score" if s is None else f"{write(s.value, s.unit)} ({interval(s.low, s.high, s.unit)})"
                for s in scores
            ]
            alike_cells = [_apart_from(system, alike)] if is_comparison else []
            rows.append((badness, system, [system.label, n, *cells, *alike_cells]))
    note = f"In brackets, 95 % intervals. {order}".strip()
    return _worst_first("Each model", columns, rows, note, part)


NOTHING = "Nothing has been measured yet, so nothing can be said."


def part_statements(part: Part, reading: Sequence[ToRead]) -> list[str]:
    """Return the three sentences on one benchmark.

    Args:
        part: the benchmark in all runs.
        reading: the lists of what to read first.
    """
    return [first_finding.finding(part), first_finding.statement(part), next_step([part], reading)]


def of_all(all_parts: Sequence[Part], reading: Sequence[ToRead]) -> list[str]:
    """Return the three sentences on the gravest of several benchmarks, and what to do about all of them.

    Args:
        all_parts: the benchmarks.
        reading: the lists of what to read first.
    """
    if len(all_parts) == 1:
        return part_statements(all_parts[0], reading)
    main = max(all_parts, key=first_finding.gravity)
    finding, trust = first_finding.finding(main), first_finding.statement(main)
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
    parts = unsafe_by_people.benchmark_parts([run], systems([run]), titles)
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
    counted = [unsafe_by_people.called(place.section) for part in of_replies for place in part.places]
    unread = any(counts is None or counts.read != counts.n for counts in counted)
    replies = sum(place.section.replies.height for part in of_replies for place in part.places)
    choice = f"{DRAW} replies that are drawn by lot" if replies > DRAW else f"all {count(replies)} replies"
    draw = f"let people rate {choice} (“{command_line('export', run, '--to', 'review', '--draw', min(DRAW, replies))}”)"
    reach = "so that they stand for all" if replies > DRAW else "so that people have seen all of them"
    usable = any(first_finding.may_be_used(part) for part in of_replies)
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
