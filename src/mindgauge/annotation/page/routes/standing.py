"""Where a person stands when there is nothing before them: waiting, between batches, or done; and what came of a batch."""

import datetime
from typing import Any

from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import Response

from mindgauge.annotation import tasks
from mindgauge.annotation.labels import last
from mindgauge.annotation.page import screens
from mindgauge.annotation.page.access import Anyone, Opened
from mindgauge.annotation.page.pages import language, page
from mindgauge.annotation.project import Annotation, Batch
from mindgauge.annotation.records import Person, Phase, Role

router = APIRouter()


@router.get("/standing")
def standing(request: Request, a: Opened, visitor: Anyone, batch: int | None = None) -> Response:
    """Show how far the work is, without anybody's labels, and what came of the batches that are closed."""
    person = visitor.person
    closed = [candidate for candidate in a.batches() if candidate.number and candidate.phase is Phase.CLOSED]
    chosen = closed[-1] if closed else None
    if batch is not None:
        chosen = next((candidate for candidate in closed if candidate.number == batch), None)
        if chosen is None:  # nothing is told of a batch before it is closed
            raise HTTPException(404)
    current = tasks.current(a, person)
    finished = isinstance(current, tasks.NothingToDo) and current.kind == "finished"
    return page(
        request,
        "standing",
        visitor,
        now=current,
        kind="work" if isinstance(current, tasks.Assignment) else current.kind,
        waiting=_waiting(person, current),
        closed=_closed(a, chosen, person, language(request, visitor)) if chosen else None,
        batches=closed,
        counts=list(_counts(a, person).items()) if finished else [],
        training=screens.trained(a, person) if person.role is Role.ANNOTATOR else (0, 0),
    )


def _waiting(person: Person, current: tasks.Assignment | tasks.NothingToDo) -> str:
    """Name the text that says what is waited for."""
    if not isinstance(current, tasks.NothingToDo) or current.phase is None:
        return ""
    if person.role is not Role.ANNOTATOR and current.phase is not Phase.ADJUDICATION:
        return "waiting_nothing"
    return f"waiting_{current.phase}"


def _closed(a: Annotation, batch: Batch, person: Person, spoken: str) -> dict[str, Any]:
    """Say what came of a batch: how it closed, what the gate said after each phase, and one's own labels beside the gold."""
    measured = {gate.phase: screens.measured(gate, a.project.gate) for gate in a.gates(batch.number)}
    decided = f"decided_{batch.decided}"
    if batch.decided == "passed" and measured:
        decided += f"_{[*measured][-1]}"
    adjudicated = any(label.phase is Phase.ADJUDICATION for label in a.labels(batch=batch.number))
    date = datetime.datetime.fromtimestamp(batch.closed or 0.0, datetime.UTC).astimezone()
    return {
        "batch": batch, "date": f"{date:%Y-%m-%d}", "decided": decided, "adjudicated": adjudicated,
        "steps": [{"phase": phase, "measured": figures} for phase, figures in measured.items()],
        "beside": screens.beside(a, batch, person, spoken),
    }  # fmt: skip


def _counts(a: Annotation, person: Person) -> dict[str, int]:
    """Count what a person did in the whole project, the training aside."""
    items = a.items()
    labels = {key: label for key, label in last(a.labels()).items() if key[1] == person.id}
    labelled = {item for item, _, _ in labels}
    decided = {label.item for label in labels.values() if label.phase is Phase.ADJUDICATION}
    return {
        "items": len(labelled - decided),
        "labels": sum(label.phase is not Phase.ADJUDICATION for label in labels.values()),
        "distressing": sum((item.crisis or item.graphic) and item.id in labelled for item in items),
        "comments": sum(comment.person == person.id for comment in a.comments()),
        "decisions": len(decided),
    }
