"""`mindgauge annotate status`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.records.rounding import bounded, percent

if TYPE_CHECKING:
    from mindgauge.commands.annotate.status import BatchStatus, PersonStatus, ProjectStatus


def status(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")], json: options.Json = False
) -> None:
    """Say how far the work is, what the gate said, and who is awaited."""
    from mindgauge.cli.annotate.extra import needed

    with needed():
        from mindgauge.commands.annotate.status import annotate_status

    result = annotate_status(folder)
    if json:
        render.as_json(result)
        return
    _batches(result)
    _gates(result)
    _people(result)
    for note in result.notes:
        print(f"Note: {note}")
    if result.in_run:
        print(f"In the run: people's ratings of batch {', '.join(map(str, result.in_run))}")
    print(result.next)


def _batches(result: "ProjectStatus") -> None:
    names = list(dict.fromkeys(part.person for batch in result.batches for part in batch.people))
    rows = [
        [
            str(batch.batch or "training"), batch.decided or _phase(batch), str(batch.items),
            *(_done(batch, name) for name in names),
        ]
        for batch in result.batches
    ]  # fmt: skip
    print(f"{result.folder}: {result.rubric}, gate {result.gate:g}, gold {result.policy}")
    render.table("Finished", ["batch", "state", "items", *names], rows)


def _phase(batch: "BatchStatus") -> str:
    return str(batch.phase) if batch.opened or batch.batch == 0 else "waiting"


def _done(batch: "BatchStatus", name: str) -> str:
    """Write how many items a person has finished in the phase that the batch is in, or was in last with them."""
    parts = [part for part in batch.people if part.person == name]
    running = [part for part in parts if part.phase == batch.phase] or parts[-1:]
    if not running:
        return ""
    part = running[0]
    return f"{part.of - part.left} of {part.of}" + (f" ({part.handed_on} handed on)" if part.handed_on else "")


def _gates(result: "ProjectStatus") -> None:
    rows = []
    for batch in result.batches:
        for gate in batch.gates:
            for f in (figure for figure in gate.figures if not figure.label):
                coefficients = [
                    bounded(value, low, high)
                    for value, low, high in (
                        (f.fleiss, f.fleiss_low, f.fleiss_high),
                        (f.alpha, f.alpha_low, f.alpha_high),
                    )
                ]
                rows.append(
                    [
                        str(batch.batch), str(gate.phase), f.criterion, *coefficients, percent(f.agreement),
                        str(f.n), str(f.missing), "reached" if gate.passed else "below",
                    ]
                )  # fmt: skip
    if rows:
        columns = ["batch", "after", "criterion", "Fleiss' kappa", "alpha", "agree", "n", "missing", "gate"]
        render.table("The gate, with 95 % intervals", columns, rows)


def _people(result: "ProjectStatus") -> None:
    rows = [
        [
            person.name,
            str(person.role),
            "" if person.active else "no",
            str(person.labels),
            _training(person),
            person.seen or "–",
        ]
        for person in result.people
    ]
    render.table("People", ["person", "role", "active", "labels", "right on anchors", "last seen (UTC)"], rows)


def _training(person: "PersonStatus") -> str:
    """Write the share of anchors that a person placed as they were written, by criterion where there are several."""
    with_criterion = len(person.training) > 1
    return "; ".join(
        f"{f'{a.criterion} ' if with_criterion else ''}{percent(a.right)} of {a.n}" for a in person.training
    )
