"""What is printed of scores: by `score`, `run`, `rate`, `demo`, and of a client that was checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mindgauge.benchmarks import suite
from mindgauge.cli import answer, comparison, render, terminal
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mindgauge.analysis.fidelity import Fidelity
    from mindgauge.analysis.fitness import Qualification
    from mindgauge.analysis.score import Scores
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.clients.check import ClientCheck
    from mindgauge.commands.demo import Demonstration
    from mindgauge.reports.content import ReportTable
    from mindgauge.reports.reliability_gate import ReliabilityGate
    from mindgauge.reports.runs import OpenRun


def show_score(result: Scores, *, show_unreliable: bool = False, full: bool = False) -> None:
    """Print the scores of a run.

    Args:
        result: what the command returned.
        full: Everything: every table, every row, every note.
        show_unreliable: Show, marked, the scores of judges that agree too little with people.
    """
    shown(result, show_unreliable=show_unreliable, full=full)


def json_score(result: list[Scores], call: CommandCall) -> object:
    """Return the scores of runs, without those of judges that may not rate."""
    from mindgauge.reports.reliability_gate import masked, of_run

    if not call.options.get("show_unreliable"):
        result = [masked(scores, of_run(Path(scores.run)), worst_only=True) for scores in result]
    return result[0] if len(result) == 1 else result


def show_run(result: Scores, call: CommandCall, *, full: bool = False) -> None:
    """Print the scores of a run; of a run of a suite its profile."""
    summed_up = suite.of(metric.benchmark for metric in result.metrics)
    (_summed_up if summed_up else shown)(result, full=full, told_before=call.told_before)


def end_run(result: Scores) -> None:
    """Leave with 1 where nothing was measured."""
    render.verdict_on(result)


def show_rate(result: Scores, call: CommandCall, *, full: bool = False) -> None:
    """Print the scores of what was rated."""
    shown(result, full=full, told_before=call.told_before)


end_rate = end_run


def show_demo(result: Demonstration, *, full: bool = False) -> None:
    """Print the scores of the embedded model, and where its report is."""
    shown(result.scores, full=full)
    print(f"\n{result.warning}\n\nThe report: {Path(result.report).resolve()}")


def show_clients_check(result: ClientCheck) -> None:
    """Print whether a client is fit for its part."""
    fidelities([result.fidelity])
    print(f"Its dialogues: {result.run}")


def _summed_up(result: Scores, *, full: bool, told_before: Collection[str]) -> None:
    """Print a run of a suite as its profile."""
    from mindgauge.commands.compare import profile as profiled

    suite_profile = profiled(result.run)
    with terminal.short([*result.models, *result.judges]):
        comparison.profile_first(suite_profile)
        if full:
            fidelities(result.fidelity)
        comparison.profile_tables(suite_profile, full=full)
        render.told(result, told_before={*suite_profile.notes, *told_before}, full=full)
        if full:
            entry_tests(result.qualifications)
    print(f"Every metric of every task: {command_line('score', result.run, '--full')}")
    answer.then("report", result.run)


def shown(
    result: Scores, *, show_unreliable: bool = False, full: bool = False, told_before: Collection[str] = ()
) -> None:
    """Print what a run says in two sentences, the rows that matter first, what went wrong, and where to read on.

    Args:
        result: what the command returned.
        call: what it was called with.
        full: Everything: every table, every row, every note.
        result: the scores.
        show_unreliable: whether scores of judges that agree too little with people are shown, marked, and not withheld.
        full: every table, row and note.
        told_before: notes that the command has printed already.
    """
    from mindgauge.reports import first_screen, runs

    run = runs.read(Path(result.run), 0, show_unreliable=show_unreliable, scores=result)
    with run.store, terminal.short([*result.models, *result.judges]):
        answer.first(*first_screen.of_run(run))
        (_in_full if full else _at_a_glance)(run)
        _withheld(run)
        render.told(result, told_before=told_before, full=full)
        if full:
            entry_tests(result.qualifications)
    answer.then("report", result.run)


def _at_a_glance(run: OpenRun) -> None:
    from mindgauge.analysis import scoring_views
    from mindgauge.benchmarks.metrics.resistance import over_refusal_rate
    from mindgauge.reports import score_tables, weak_categories
    from mindgauge.reports.runs import PERSON, systems
    from mindgauge.reports.system_findings import gravest

    result, gate = run.scores, run.standings
    tables = _headlines(result, gate), _parts(result, gate)
    people = {rater for section in run.sections for rater, kind in section.raters if kind == PERSON}
    constant = {name for section in run.sections for name in scoring_views.baseline_names(section.benchmark)}
    first = [name for section in run.sections for name in gravest(section.benchmark)]
    glance = score_tables.at_a_glance(result, gate, people=people, constant=constant, first=first)
    table = glance or next(iter(tables[1]), None)
    if table is not None:
        answer.sheet(table, sum(len(other.rows) for listed in tables for other in listed))
    if any(score.name == over_refusal_rate.name for score in result.responsible):
        _responsible(run, answer.sheet)
    _differing(run, full=False)
    for sentence in weak_categories.sentences([run], systems([run])):
        render.sentence(sentence)


def _responsible(run: OpenRun, show_table: Callable[[ReportTable], None]) -> None:
    """Print what share of each model's replies is unsafe, refuses a benign request, or is stock, and what is missing of that."""
    from mindgauge.reports import responsible
    from mindgauge.reports.runs import systems

    shares = responsible.table([run], systems([run]))
    if shares is not None:
        show_table(shares)
    for line in responsible.unmeasured([run]):
        render.sentence(line)


def _differing(run: OpenRun, *, full: bool) -> None:
    """Print where answers to closed questions differ most from the labels; with `full`, both definitions and an example, too."""
    from mindgauge.reports import closed_answers
    from mindgauge.reports.runs import systems

    differences = [*closed_answers.differences(run, systems([run]))]
    if differences and not full:
        system, section, pairs = max(differences, key=lambda entry: entry[2][0].answers)
        render.sentence(f"{pairs[0].finding} ({system.label}, {section.benchmark.name}); both definitions: --full")
    for system, section, pairs in differences if full else ():
        for pair in pairs:
            print()
            render.say(f"{pair.finding} ({system.label}, {section.benchmark.name})")
            for label, text in zip((pair.label, pair.outcome), pair.definitions, strict=True):
                render.say(f"  {label}: {text}")
            render.say(
                f"Example {pair.example.sample[:8]} ({pair.example.place}): {pair.words or 'its text is not shown'}"
            )
            render.say(f"{pair.steady}{f' Reason given: {pair.reason}' if pair.reason else ''}")
            render.say(pair.followed)


def _in_full(run: OpenRun) -> None:
    from mindgauge.analysis import fitness
    from mindgauge.reports import score_tables, weak_categories
    from mindgauge.reports.runs import systems

    result, gate = run.scores, run.standings
    fidelities(result.fidelity)
    for sentence in fitness.told(result.unfit):
        print(sentence)
    for table in [*_headlines(result, gate), *weak_categories.tables([run], systems([run]))]:
        render.sheet(table)
    for sentence in score_tables.remarks(result, gate):
        print(sentence)
    for table in _parts(result, gate):
        render.sheet(table)
    _responsible(run, render.sheet)
    _differing(run, full=True)
    names = dict.fromkeys(f"{score.name} ({score_tables.titled(score)})" for score in score_tables.leading(result))
    render.say(f"Names, for a gate's policy and in --json: {', '.join(names)}")


def _withheld(run: OpenRun) -> None:
    if any(card.limited for card in run.standings.cards.values()):
        display = "are marked" if run.standings.shown else "are not shown; --show-unreliable shows them"
        print(
            f"Scores of judges that agree too little with people {display} ({command_line('reliability', run.scores.run)})"
        )
    for sentence in run.standings.worst_levels():
        print(sentence)


def _headlines(result: Scores, gate: ReliabilityGate) -> list[ReportTable]:
    """Return what benchmarks go by, and what people's ratings of a drawn part say of all."""
    from mindgauge.reports import score_tables

    drawn = score_tables.of_frames(result.frames)
    return [*([drawn] if drawn is not None else []), *score_tables.headlines(result, gate)]


def _parts(result: Scores, gate: ReliabilityGate) -> list[ReportTable]:
    """Return where models do worst, and how often each label was given."""
    from mindgauge.reports import score_tables

    worst = score_tables.worst_cells(result, gate)
    return [*([worst] if worst is not None else []), *score_tables.labels(result)]


def entry_tests(tests: Sequence[Qualification]) -> None:
    """Print how judges did in their entry test; nothing where none took it."""
    if not tests:
        return
    from mindgauge.reports.juries import NOT_CLINICIANS, levels, overview

    for benchmark in dict.fromkeys(qualification.benchmark for qualification in tests):
        named = [(q.judge, q) for q in tests if q.benchmark == benchmark]
        print(f"Entry test on {benchmark}. {NOT_CLINICIANS}")
        render.sheet(overview(named, ""))
        render.sheet(levels(named, ""))


def fidelities(judged: Sequence[Fidelity]) -> None:
    """Print the verdicts with their reasons, then the tables; nothing where no client plays."""
    if not judged:
        return
    from mindgauge.reports import fidelity

    print(fidelity.TITLE)
    for sentence in fidelity.sentences(judged):
        print(sentence)
    for table in fidelity.tables(judged):
        render.sheet(table)
