"""The owner's page: how far the work is, what the gate said, who takes part, and their links. Nobody's labels."""

import datetime
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mindgauge.annotation import people, rounds
from mindgauge.annotation.page import screens
from mindgauge.annotation.page.access import Fields, Opened, Owner, PostedOwner, Visitor
from mindgauge.annotation.page.pages import page
from mindgauge.annotation.project import Annotation, Batch
from mindgauge.annotation.records import Person, Phase, Role
from mindgauge.annotation.tasks import Progress, progress
from mindgauge.annotation.web.guard import is_here
from mindgauge.records.errors import UsageError

router = APIRouter()


@router.get("/owner")
def owner(request: Request, annotation: Opened, visitor: Owner) -> Response:
    """Show how far the work is."""
    return _page(request, annotation, visitor)


@router.post("/owner/invite")
def invite(request: Request, fields: Fields, annotation: Opened, visitor: PostedOwner) -> Response:
    """Make a new link for a person and show it, once; what they had before ends, but not the owner's own session."""
    person = _named(annotation, fields)
    if person.id != visitor.person.id:
        people.revoke(annotation, person.id)
    return _page(request, annotation, visitor, link=_link(request, annotation, person), invited=person)


@router.post("/owner/revoke")
def revoke(fields: Fields, annotation: Opened, _: PostedOwner) -> Response:
    """End a person's links and sessions."""
    people.revoke(annotation, _named(annotation, fields).id)
    return RedirectResponse("/owner#people", 303)


@router.post("/owner/retire")
def retire(fields: Fields, annotation: Opened, _: PostedOwner) -> Response:
    """Let an annotator take no further part, so that nobody waits for them."""
    person = _named(annotation, fields)
    try:
        rounds.retire(annotation, person)
    except UsageError as error:
        raise HTTPException(422) from error
    people.revoke(annotation, person.id)
    return RedirectResponse("/owner#people", 303)


@router.post("/owner/add")
def add(request: Request, fields: Fields, annotation: Opened, visitor: PostedOwner) -> Response:
    """Add somebody, and show their link; annotators only before labelling began."""
    name, role = people.tidy_name(fields.get("name", "")), fields.get("role", "")
    if role not in {Role.ANNOTATOR, Role.ADJUDICATOR}:
        raise HTTPException(422)
    if not people.readable_name(name):
        return _page(request, annotation, visitor, 422, fault="name", typed=name[: people.LONGEST_NAME])
    if people.reserved_name(name):
        return _page(request, annotation, visitor, 422, fault="taken", typed=name)
    try:
        person = annotation.add(Person("", name, Role(role)))
    except UsageError:
        exists = name.casefold() in {person_here.name.casefold() for person_here in annotation.people()}
        return _page(request, annotation, visitor, 422, fault="taken" if exists else "begun", typed=name)
    return _page(request, annotation, visitor, link=_link(request, annotation, person), invited=person)


def _page(
    request: Request,
    annotation: Annotation,
    visitor: Visitor,
    status: int = 200,
    *,
    link: str = "",
    invited: Person | None = None,
    fault: str = "",
    typed: str = "",
) -> Response:
    team = annotation.people()
    visits = people.access(annotation)
    batches = annotation.batches()
    return page(
        request,
        "owner",
        visitor,
        status,
        rows=_rows(batches, progress(annotation)),
        needed=request.app.state.needed,
        annotators=[person for person in team if person.role is Role.ANNOTATOR],
        gates=[
            (batch.number, gate, screens.measured(gate, annotation.project.gate))
            for batch in reversed(batches)
            for gate in annotation.gates(batch.number)
        ],
        people=[{"person": one, "access": visits[one.id], "seen": _time(visits[one.id].seen)} for one in team],
        decides=Role.ADJUDICATOR in visitor.roles and any(batch.phase is Phase.ADJUDICATION for batch in batches),
        begun=any(batch.number and batch.opened for batch in batches),
        link=link,
        invited=invited,
        fault=fault,
        typed=typed,
    )


def _rows(batches: list[Batch], counted: list[Progress]) -> list[dict[str, Any]]:
    """Return each batch with its state (`waiting` before its first label, else its phase) and everybody's items in it.

    Phases come in their order, so that of a closed batch the last one stays that a person had items in.
    """
    order = list(Phase)
    rows = []
    for batch in batches:
        own = sorted(
            (entry for entry in counted if entry.batch == batch.number),
            key=lambda entry: order.index(entry.phase),
        )
        if batch.phase is not Phase.CLOSED:
            own = [entry for entry in own if entry.phase is batch.phase]
        waiting = batch.phase is Phase.LABELLING and not any(entry.done or entry.handed_on for entry in own)
        state = "waiting" if waiting else batch.phase.value
        rows.append({"batch": batch, "state": state, "people": {entry.person: entry for entry in own}})
    return rows


def _named(annotation: Annotation, fields: Fields) -> Person:
    person = annotation.person(fields.get("person", ""))
    if person is None:
        raise HTTPException(422)
    return person


def _link(request: Request, annotation: Annotation, person: Person) -> str:
    """Return a new link under the project's own address, or under this request's where the project has none."""
    url = annotation.project.url
    if is_here(urlsplit(url).hostname or ""):
        url = f"{request.url.scheme}://{request.headers['host']}"
    return people.link(annotation, person.id, url)


def _time(seconds: float | None) -> str:
    return "" if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M")
