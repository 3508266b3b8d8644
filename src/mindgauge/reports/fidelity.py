"""Whether clients are fit for their part, in sentences and as tables, for the terminal and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis.fidelity import FAILURES, LEAKS, LENGTH, RECOVERY, REPETITION, ROLE, Fitness
from mindgauge.benchmarks.persons.client import BY_CUES
from mindgauge.benchmarks.persons.dialogues import Outcome
from mindgauge.records.english import ended, named, raised
from mindgauge.records.rounding import count, decimal, interval, percent, plural, write
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.sections import FidelitySection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.fidelity import ClientFidelity, Fidelity
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.content import Cell

TITLE = "Is the client fit for its part?"
_MEASURES = {
    FAILURES: "dialogues in which it failed", ROLE: "messages out of role",
    LEAKS: "messages that show more than was open", RECOVERY: "recovery of the risk that was open (quadratic kappa)",
    LENGTH: "length, times people\u2019s", REPETITION: "words said before",
}  # fmt: skip
_CHECKED = [
    Column("client"), Column("model"), Column("measure"), Column("by"), Column("value", "interval"),
    Column("95 % interval", "interval"), Column("limit", "interval"), Column("n", "count"), Column("personas", "count"),
    Column("missing", "count"), Column("worst \u2026 best", "interval"), Column("verdict"),
]  # fmt: skip
_NOTE = (
    "Intervals are of other personas, with exact bounds for shares. A message counts as out of role where a check or a judge says so. "
    "Recovery compares the rung that was open last with what a reader of the person\u2019s messages alone sees by then. "
    "The limits, with their reasons, were fixed before any client was measured (analysis/fidelity.toml)."
)


def section(runs: Sequence[tuple[Path, Sequence[Fidelity]]]) -> FidelitySection | None:
    """Put what is known of the clients of several runs together; with a run's name, where there are several."""
    facts: list[str] = []
    sheets: list[ReportTable] = []
    for number, (folder, judged) in enumerate(runs):
        prefix = f"In {folder.resolve().name}: " if len(runs) > 1 else ""
        facts += [f"{prefix}{sentence}" for sentence in sentences(judged)]
        sheets += tables(judged, str(number + 1) if len(runs) > 1 else "")
    return FidelitySection(TITLE, facts, sheets) if facts else None


def tables(judged: Sequence[Fidelity], ident: str = "") -> list[ReportTable]:
    """Tabulate how dialogues ended, and every check beside its limit; nothing where no client plays."""
    if not judged:
        return []
    suffix = f"-{ident}" if ident else ""
    pairs = [(entry.target, client) for entry in judged for client in entry.clients]
    outcomes = [outcome for outcome in Outcome if any(client.outcomes.get(outcome.value) for _, client in pairs)]
    columns = [
        Column("client"), Column("model"), Column("dialogues", "count"), *(Column(o.replace("_", " "), "count") for o in outcomes),
        Column("begun again", "count"), Column("family"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            client.client, target, client.dialogues, *(client.outcomes.get(o.value, 0) for o in outcomes),
            client.begun_again, "the model\u2019s own" if client.same_family else "another",
        ]
        for target, client in pairs
    ]  # fmt: skip
    checked: list[list[Cell]] = []
    for target, client in pairs:
        for check in client.checks:
            kind: Kind = "share" if check.kind == "share" else "level"
            limit = percent(check.limit) if kind == "share" else decimal(check.limit, 1)
            bounds = f"{write(check.worst, kind)} \u2026 {write(check.best, kind)}"
            checked.append([
                client.client, target, _MEASURES[check.name], check.judge or "rules",
                None if check.value is None else write(check.value, kind), interval(check.low, check.high, kind),
                f"{'at least' if check.name == RECOVERY else 'at most'} {limit}", check.n, check.personas, check.missing,
                bounds if check.missing and kind == "share" else None, check.verdict.value,
            ])  # fmt: skip
    return [
        ReportTable(f"client-outcomes{suffix}", "How dialogues with clients ended", columns, rows),
        ReportTable(f"client-checks{suffix}", "Clients beside the limits", _CHECKED, checked, _NOTE),
    ]


def sentences(judged: Sequence[Fidelity]) -> Iterator[str]:
    """Say of each target whether its clients are fit, why not, what follows, and what scores allow for."""
    for entry in judged:
        names = [client.client for client in entry.clients]
        unfit = [client.client for client in entry.clients if client.verdict is Fitness.UNFIT]
        players, verb = f"client{'s' if len(names) > 1 else ''} {named(names)}", "are" if len(names) > 1 else "is"
        verdicts = {
            Fitness.FIT: f"The {players} {verb} fit",
            Fitness.UNFIT: f"{named(unfit)} {'are' if len(unfit) > 1 else 'is'} unfit",
            Fitness.UNKNOWN: f"Nobody can tell whether the {players} {verb} fit",
        }
        yield f"{entry.benchmark}: {verdicts[entry.verdict]} for the part with {ended(entry.target)}"
        for client in entry.clients:
            if client.verdict is not Fitness.FIT:
                yield f"{client.client} ({client.verdict.value}): {ended('; '.join(_reasons(client)))}"
            if read := sum(client.heard_by.values()):
                by_cues = client.heard_by.get(BY_CUES, 0)
                yield f"{client.client} itself said what the model had just done before {count(read - by_cues)} of {count(read)} messages."
                if by_cues:
                    yield f"Our cues said it before the other {count(by_cues)}; they miss what is put in other words."
        if entry.withheld:
            yield ended(f"No score of {entry.target} is shown: {'; '.join(entry.withheld)}")
        elif entry.bounds:
            yield ended(raised(entry.bounds))


def _reasons(client: ClientFidelity) -> Iterator[str]:
    """Say what decides a verdict; checks that too few dialogues leave open together, and not beside what makes a client unfit."""
    unfit = client.verdict is Fitness.UNFIT
    yield from (
        check.reason
        for check in client.checks
        if check.reason and check.verdict is client.verdict and not check.too_few
    )
    open_checks = list(dict.fromkeys(check.name for check in client.checks if check.too_few))
    if open_checks and not unfit:
        personas = max(check.personas for check in client.checks)
        yield f"{plural(client.dialogues, 'dialogue')} with {plural(personas, 'persona')} are too few to tell {named(open_checks, limit=len(open_checks))} from the limits"
    listed = {check.reason for check in client.checks}
    yield from (reason for reason in client.reasons if reason not in listed and not unfit)
