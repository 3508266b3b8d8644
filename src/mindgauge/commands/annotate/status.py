"""`annotate status`: how far the work is, what the gate said, and who is awaited. It says nothing of what anybody labelled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.annotation import agreement, ratings
from mindgauge.annotation.people import access
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answered, Phase, Policy, Role
from mindgauge.annotation.tasks import progress
from mindgauge.commands.command import command
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.rounding import plural
from mindgauge.records.shell import command_line

if TYPE_CHECKING:
    from mindgauge.annotation.project import Batch
    from mindgauge.annotation.records import Person
    from mindgauge.annotation.tasks import Progress


class GateResult(msgspec.Struct, frozen=True):
    """What the gate said after a phase. `figures` are of each criterion, each followed by its levels against the rest."""

    phase: Phase
    at: str
    passed: bool
    figures: list[agreement.AgreementFigure]


class PersonProgress(msgspec.Struct, frozen=True):
    """The items of one person in one phase of a batch; `left` of them wait."""

    phase: Phase
    person: str
    of: int
    done: int
    handed_on: int
    left: int


class BatchStatus(msgspec.Struct, frozen=True):
    """How far a batch is; 0 is the training round. `decided` is `passed`, `adjudicated` or `below`, once it is closed."""

    batch: int
    phase: Phase
    items: int
    opened: str
    closed: str
    decided: str
    people: list[PersonProgress]
    gates: list[GateResult]


class WithAnchors(msgspec.Struct, frozen=True):
    """How far a person's first answers in the training round agree with the levels that anchors were written for."""

    criterion: str
    n: int
    missing: int
    right: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    note: str


class PersonStatus(msgspec.Struct, frozen=True):
    """One person. `labels` counts their answers after training, one for each criterion; `seen` is when last, UTC."""

    name: str
    role: Role
    active: bool
    joined: str
    seen: str
    labels: int
    training: list[WithAnchors]


class ProjectStatus(Tabular, msgspec.Struct, frozen=True):
    """How far a project is. `in_run` lists the batches whose ratings are in the folder's run."""

    folder: str
    name: str
    benchmark: str
    rubric: str
    gate: float
    policy: Policy
    next: str
    batches: list[BatchStatus]
    people: list[PersonStatus]
    in_run: list[int]
    notes: list[str]

    def summary(self) -> list[str]:
        """Say how far each batch is and what the work waits for; nothing of what anybody labelled."""
        batches = [
            f"Batch {batch.batch or 'of training'}: {batch.decided or batch.phase}, {plural(batch.items, 'item')}"
            for batch in self.batches
        ]
        return [
            f"{self.folder}: {self.rubric}, {plural(len(self.people), 'person', 'people')}, gate {self.gate:g}, gold {self.policy}",
            *first_of(batches, 5),
            *noted(self.notes),
            self.next,
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [{"batch": b.batch, **msgspec.to_builtins(part)} for b in self.batches for part in b.people]


@command()
def annotate_status(folder: str | Path) -> ProjectStatus:
    """Say how far the work is, what the gate said, and who is awaited.

    Args:
        folder: The project's folder.

    Raises:
        UsageError: there is no project.
        DatabaseError: its database cannot be read.
        MindgaugeError: the run cannot be written.
    """
    path = Path(folder)
    with Annotation.open(path) as a:
        flowed = ratings.flow(a)
        people = a.people()
        names = {person.id: person.name for person in people}
        tallies = progress(a)
        batches = a.batches()
        about = a.project
        return ProjectStatus(
            folder=str(path),
            name=about.name,
            benchmark=about.benchmark,
            rubric=a.rubric().name,
            gate=about.gate,
            policy=about.policy,
            next=_next(path, batches, tallies, people),
            batches=[_batch(a, batch, tallies, names) for batch in batches],
            people=_people(a, people),
            in_run=flowed.batches,
            notes=[note for note in (a.elsewhere, flowed.note, _peeking(path, batches)) if note],
        )


def _batch(a: Annotation, batch: Batch, tallies: list[Progress], names: dict[str, str]) -> BatchStatus:
    parts = [
        PersonProgress(p.phase, names[p.person], p.of, p.done, p.handed_on, p.left)
        for p in tallies
        if p.batch == batch.number
    ]
    order = {phase: place for place, phase in enumerate(Phase)}
    places = {name: place for place, name in enumerate(names.values())}
    return BatchStatus(
        batch=batch.number,
        phase=batch.phase,
        items=batch.items,
        opened=ratings.time(batch.opened),
        closed=ratings.time(batch.closed),
        decided=batch.decided,
        people=sorted(parts, key=lambda part: (order[part.phase], places[part.person])),
        gates=[
            GateResult(
                g.phase, ratings.time(g.at), g.passed, msgspec.convert(g.figures, list[agreement.AgreementFigure])
            )
            for g in a.gates(batch.number)
        ],
    )


def _people(a: Annotation, people: list[Person]) -> list[PersonStatus]:
    labels = a.labels()
    label_counts = Counter(
        label.person
        for label in labels
        if label.phase is not Phase.TRAINING and label.answered is not Answered.WITHDRAWN
    )
    trained: dict[str, list[WithAnchors]] = {}
    practice = [label for label in labels if label.phase is Phase.TRAINING]
    for f in agreement.with_anchors(practice, a.items(0), a.rubric(), seed=a.project.seed):
        anchor_result = WithAnchors(f.criterion, f.n, f.missing, f.right, f.kappa, f.kappa_low, f.kappa_high, f.note)
        trained.setdefault(f.person, []).append(anchor_result)
    visits = access(a)
    return [
        PersonStatus(
            name=person.name,
            role=person.role,
            active=person.active,
            joined=ratings.time(visits[person.id].joined),
            seen=ratings.time(visits[person.id].seen),
            labels=label_counts[person.id],
            training=trained.get(person.id, []),
        )
        for person in people
    ]


def _peeking(folder: Path, batches: list[Batch]) -> str:
    """Say what looking after each batch does to a figure; empty before the first batch is closed, and after the last."""
    numbered = [batch for batch in batches if batch.number]
    if len({batch.phase is Phase.CLOSED for batch in numbered}) < 2:
        return ""
    return (
        "labelling goes on: whoever looks after each batch, and stops when a figure is good, sees a good one by chance more often "
        f"than a single look does. For a judge's card: `{command_line('reliability', folder, '--look-until', sum(batch.items for batch in numbered))}`"
    )


def _next(folder: Path, batches: list[Batch], tallies: list[Progress], people: list[Person]) -> str:
    """Say in one sentence what the work waits for."""
    running = next((batch for batch in batches if batch.number and batch.phase is not Phase.CLOSED), None)
    if running is None:
        return f"All batches are closed; go on with `{command_line('reliability', folder)}` or `{command_line('report', folder)}`."
    awaited = []
    for person in (person for person in people if person.active):
        unlabelled = {(p.batch, p.phase): p.left for p in tallies if p.person == person.id}
        items, anchors = unlabelled.get((running.number, running.phase), 0), unlabelled.get((0, Phase.TRAINING), 0)
        if items:
            awaited.append(f"{person.name} ({items} left{f', after {anchors} anchors' if anchors else ''})")
    names = ", ".join(awaited) or "nobody, since everybody who should go on is inactive"
    return f"Batch {running.number} is in {running.phase} and waits for {names}."
