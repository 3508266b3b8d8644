"""Whether clients are fit for their part, in sentences and as tables, for the terminal and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.analysis import fidelity as checks
from mindgauge.analysis.fidelity import Fitness
from mindgauge.benchmarks.persons.client import BY_CUES
from mindgauge.benchmarks.persons.dialogues import Outcome
from mindgauge.records.english import ended, named, raised
from mindgauge.records.rounding import count, decimal, interval, percent, plural, write
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.sections import FidelitySection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.fidelity import ClientFidelity, Fidelity, FidelityCheck
    from mindgauge.records.rounding import Kind
    from mindgauge.reports.content import Cell

TITLE = "Is the client fit for its part?"
_MEASURES = {
    checks.FAILURES: "dialogues in which it failed", checks.ROLE: "messages out of role",
    checks.LEAKS: "messages that show more than was open", checks.RECOVERY: "recovery of the risk that was open (quadratic kappa)",
    checks.LENGTH: "length, times people\u2019s", checks.REPETITION: "words said before",
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
    pairs = [(entry, client) for entry in judged for client in entry.clients]
    outcomes = [outcome for outcome in Outcome if any(client.outcomes.get(outcome.value) for _, client in pairs)]
    columns = [
        Column("client"), Column("model"), Column("dialogues", "count"), *(Column(o.replace("_", " "), "count") for o in outcomes),
        Column("begun again", "count"), Column("family"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            client.client, entry.target, client.dialogues, *(client.outcomes.get(o.value, 0) for o in outcomes),
            client.begun_again, "the model\u2019s own" if client.same_family else "another",
        ]
        for entry, client in pairs
    ]  # fmt: skip
    checked: list[list[Cell]] = [_row(entry, client, check) for entry, client in pairs for check in client.checks]
    return [
        ReportTable(f"client-outcomes{suffix}", "How dialogues with clients ended", columns, rows),
        ReportTable(f"client-checks{suffix}", "Clients beside the limits", _CHECKED, checked, _NOTE),
    ]


def sentences(judged: Sequence[Fidelity]) -> Iterator[str]:
    """Say of each target whether its clients are fit, why not, what follows, and what scores allow for."""
    for entry in judged:
        names = [client.client for client in entry.clients]
        players = f"{'The client' if len(names) == 1 else 'The clients'} {named(names)}"
        verb = "is" if len(names) == 1 else "are"
        verdicts = {
            Fitness.FIT: f"{players} {verb} fit for the part with {entry.target}",
            Fitness.UNFIT: f"{named([c.client for c in entry.clients if c.verdict is Fitness.UNFIT])} {'is' if sum(c.verdict is Fitness.UNFIT for c in entry.clients) == 1 else 'are'} unfit for the part with {entry.target}",
            Fitness.UNKNOWN: f"Nobody can tell whether {players[0].lower()}{players[1:]} {verb} fit for the part with {entry.target}",
        }
        yield f"{entry.benchmark}: {ended(verdicts[entry.verdict])}"
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


def _row(entry: Fidelity, client: ClientFidelity, check: FidelityCheck) -> list[Cell]:
    kind: Kind = "share" if check.kind == "share" else "level"
    limit = percent(check.limit) if kind == "share" else decimal(check.limit, 1)
    return [
        client.client, entry.target, _MEASURES[check.name], check.judge or "rules",
        None if check.value is None else write(check.value, kind), interval(check.low, check.high, kind),
        f"{'at least' if check.name == checks.RECOVERY else 'at most'} {limit}", check.n, check.personas, check.missing,
        f"{write(check.worst, kind)} \u2026 {write(check.best, kind)}" if check.missing and kind == "share" else None, check.verdict.value,
    ]  # fmt: skip
