"""What is printed of annotation projects, in which people label in the browser."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mindgauge.cli import render
from mindgauge.records.english import ranges
from mindgauge.records.rounding import bounded, percent, plural
from mindgauge.records.shell import command_line
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from mindgauge.cli.command import CommandCall
    from mindgauge.commands.annotate.export import ExportedLabels
    from mindgauge.commands.annotate.import_ import ImportedLabels
    from mindgauge.commands.annotate.new import NewProject
    from mindgauge.commands.annotate.serve import Served
    from mindgauge.commands.annotate.status import BatchStatus, PersonStatus, ProjectStatus


def show_annotate_new(result: NewProject) -> None:
    """Print what was set up, and the links."""
    crisis = f", {result.crisis} of them with a sign of risk" if result.crisis else ""
    sizes = ", ".join(
        f"{plural(count, 'batch', 'batches')} of {size}" for size, count in Counter(result.batches).items()
    )
    print(f"{result.folder}: {result.items} items{crisis}; {sizes}; {result.training} anchors to train on")
    print(f"{result.rubric}, gate {result.gate:g}, gold {result.policy}, labels in {result.database}")
    render.table(
        "Links, each for one person and good once; send each to its own person only", ["person", "role", "link"],
        [[link.name, link.role, link.link] for link in result.links],
    )  # fmt: skip
    if result.needed:
        print(f"How many to label: {result.needed}")
    for note in result.notes:
        print(f"Note: {note}")
    print(f"Go on: {command_line('annotate', 'serve', result.folder)}")


def show_annotate_serve(result: Served, call: CommandCall) -> None:
    """Print where the page runs."""
    for note in result.notes:
        render.notice(note)
    print(f"The page runs at {result.url} (for Chrome, Edge or Firefox; Ctrl-C stops it)")
    if result.link:
        print(f"New link for {call.arguments['invite']}: {result.link}")


def show_annotate_status(result: ProjectStatus) -> None:
    """Print how far the work is, what the gate said, and who is awaited."""
    _batches(result)
    _gates(result)
    _people(result)
    for note in result.notes:
        print(f"Note: {note}")
    if result.in_run:
        print(f"In the run: people's ratings of batch {ranges(result.in_run)}")
    print(result.next)


def _batches(result: ProjectStatus) -> None:
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


def _phase(batch: BatchStatus) -> str:
    return str(batch.phase) if batch.opened or batch.batch == 0 else "waiting"


def _done(batch: BatchStatus, name: str) -> str:
    """Write how many items a person has finished in the phase that the batch is in, or was in last with them."""
    parts = [part for part in batch.people if part.person == name]
    running = [part for part in parts if part.phase == batch.phase] or parts[-1:]
    if not running:
        return ""
    part = running[0]
    return f"{part.of - part.left} of {part.of}" + (f" ({part.handed_on} handed on)" if part.handed_on else "")


def _gates(result: ProjectStatus) -> None:
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
                coefficients[1] += f" {f.alpha_level}"
                rows.append(
                    [
                        str(batch.batch), str(gate.phase) if gate.phase.alone else f"{gate.phase}*", f.criterion, *coefficients, percent(f.agreement),
                        str(f.n), str(f.missing), "reached" if gate.passed else "below",
                    ]
                )  # fmt: skip
    if rows:
        columns = [
            "batch",
            "after",
            "criterion",
            with_level("fleiss"),
            f"{with_level('alpha')} or nominal",
            "agree",
            "n",
            "missing",
            "gate",
        ]
        render.table("The gate, with 95 % intervals", columns, rows)
    if any(not gate.phase.alone for batch in result.batches for gate in batch.gates):
        print(
            "* People had seen each other's labels by then: how far they agree on their own is what stands after labelling."
        )


def _people(result: ProjectStatus) -> None:
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


def _training(person: PersonStatus) -> str:
    """Write the share of anchors that a person placed as they were written, by criterion where there are several."""
    with_criterion = len(person.training) > 1
    return "; ".join(
        f"{f'{a.criterion} ' if with_criterion else ''}{percent(a.right)} of {a.n}" for a in person.training
    )


def show_annotate_export(result: ExportedLabels) -> None:
    """Print which labels were written where."""
    for note in result.notes:
        print(f"note: {note}")
    batches = f"batch {ranges(result.batches)}" if result.batches else "no batch"
    print(f"{result.labels} labels of {batches}: {', '.join(w.file for w in result.files)}")
    print(result.path)


def show_annotate_import(result: ImportedLabels) -> None:
    """Print how many labels were taken in."""
    for note in result.notes:
        print(f"note: {note}")
    replaced = f", {result.superseded} of them in place of others" if result.superseded else ""
    print(
        f"{result.labels} labels taken in{replaced}, {result.handed_on} items handed on, {result.same} were there already "
        f"({result.form})"
    )
    if result.closed:
        print(f"closed: batch {ranges(result.closed)}")
