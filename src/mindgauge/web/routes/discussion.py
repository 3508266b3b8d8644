"""Discussion and adjudication: what people disagree on, side by side, with comments; then one decides what is left."""

import secrets
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mindgauge.annotation import assignment, tasks, work
from mindgauge.annotation.answers import InvalidAnswerError
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered, Label, Person
from mindgauge.web import outcome
from mindgauge.web.access import Discussant, Opened, PostedDiscussant, Visitor
from mindgauge.web.filled import form, form_id
from mindgauge.web.forms import Fields
from mindgauge.web.pages import language, page
from mindgauge.web.screens import screen
from mindgauge.web.sides import Sides, own
from mindgauge.web.table import Table, rows, side_by_side, spoken, table
from mindgauge.web.words import in_words, words

router = APIRouter()
LONGEST = 4000
"""Characters of a comment."""


@router.get("/discussion")
def disputed(request: Request, a: Opened, visitor: Discussant) -> Response:
    """List what people disagree on."""
    at = table(a, visitor.person)
    if at is None:
        return RedirectResponse("/", 303)
    return page(
        request,
        "discussion",
        visitor,
        rows=rows(a, at, visitor.person, language(request, visitor)),
        open_item=None if at.role == "waiting" else at.open_after(),
        **_frame(request, a, visitor, at),
    )


@router.get("/discussion/{item}")
def together(request: Request, a: Opened, visitor: Discussant, item: str) -> Response:
    """Show one item: what everybody said, the comments, and what the visitor can do."""
    return _shown(request, a, visitor, item)


@router.post("/discussion/{item}/comment")
def comment(request: Request, a: Opened, visitor: PostedDiscussant, item: str, fields: Fields) -> Response:
    """Add a comment."""
    texts = words(language(request, visitor))["discussion"]
    text = fields.get("text", "").replace("\r\n", "\n").strip()
    at = table(a, visitor.person)
    if at is None or at.role == "waiting":
        return RedirectResponse("/", 303)
    if at.place(item) is None:
        raise HTTPException(404)
    ident = form_id(fields)
    if not text:
        return _shown(request, a, visitor, item, 422, problem=texts["comment_empty"])
    if len(text) > LONGEST:
        problem = in_words(texts["comment_long"], most=LONGEST)
        return _shown(request, a, visitor, item, 422, problem=problem, typed=text)
    try:
        work.comment(a, visitor.person, item, text, ident)
    except tasks.StaleError:
        return _shown(request, a, visitor, item, 409, problem=texts["stale"], typed=text)
    return RedirectResponse(f"{_path(item)}#latest", 303)


@router.post("/discussion/{item}/keep")
def keep(request: Request, a: Opened, visitor: PostedDiscussant, item: str, fields: Fields) -> Response:
    """Leave things as they are: a person their label, who decides the disagreement, with the reason."""
    spoken_in = language(request, visitor)
    texts = words(spoken_in)["discussion"]
    at = table(a, visitor.person)
    if at is None or at.role == "waiting":
        return RedirectResponse("/", 303)
    if at.place(item) is None:
        raise HTTPException(404)
    sent, now = form(fields), _now(a, visitor.person, item)
    if now is None:
        return RedirectResponse("/", 303)
    label = next(iter(now.own.values()), None)
    note, evidence = (label.note, label.evidence) if label else ("", ())
    answers = [Answer(name, label.answered, label.value, label.path) for name, label in now.own.items()]
    if at.role == "decides":
        note, evidence = fields.get("note", "").strip(), ()
        if not note:
            return _shown(request, a, visitor, item, 422, problem=texts["leave_empty"])
        answers = _undecided(side_by_side(a, at, now.item, visitor.person, spoken_in), now)
    try:
        work.submit(a, visitor.person, item, sent.phase, sent.turn, sent.id, answers, note=note, evidence=evidence)
    except tasks.StaleError:
        return _shown(request, a, visitor, item, 409, problem=texts["stale"], note=fields.get("note", ""))
    except InvalidAnswerError:  # not everything was labelled, so there is nothing to keep
        return _shown(request, a, visitor, item, 422, problem=texts["own_none"])
    at = table(a, visitor.person)
    following = at.open_after(item) if at else None
    return RedirectResponse(_path(following) if following else "/", 303)


# -- the pieces -----------------------------------------------------------------------------------------------------


def _shown(
    request: Request,
    a: Annotation,
    visitor: Visitor,
    ident: str,
    status: int = 200,
    *,
    problem: str = "",
    typed: str = "",
    note: str = "",
) -> Response:
    """Render one item; `typed` and `note` are what could not be kept, so that it is not lost."""
    at, spoken_in = table(a, visitor.person), language(request, visitor)
    now = _now(a, visitor.person, ident) if at and at.role != "waiting" else None
    if at is None:
        return RedirectResponse("/", 303)
    place = at.place(ident)
    if place is None:
        raise HTTPException(404)
    if now is None and at.role != "waiting":
        return RedirectResponse("/", 303)
    number, item, state = at.items[place]
    return page(
        request,
        "discussion_item",
        visitor,
        status,
        item=item,
        number=number,
        finished=state != "open",
        sides=side_by_side(a, at, item, visitor.person, spoken_in),
        comments=spoken(a.comments(item.id), a.people(), visitor.person.id),
        now=now,
        own=own(now.own, now.rubric, spoken_in) if now else "",
        screen=screen(_at_once(now), spoken_in) if now else None,
        form=secrets.token_hex(16),
        previous=at.items[place - 1][1].id if place else None,
        next=at.items[place + 1][1].id if place + 1 < len(at.items) else None,
        most=LONGEST,
        problem=problem,
        typed=typed,
        note=note,
        **_frame(request, a, visitor, at),
    )


def _frame(request: Request, a: Annotation, visitor: Visitor, at: Table) -> dict[str, Any]:
    """Return what the list and an item's page both say."""
    texts = words(language(request, visitor))["discussion"]
    return {
        "heading": texts["title" if at.role == "discusses" else "adjudication"],
        "role": at.role,
        "done": at.done,
        "of": len(at.items),
        "deciders": ", ".join(person.name for person in at.deciders),
        "measured": outcome.latest(a.gates(at.batch.number), a.project.gate),
    }


def _path(item: str) -> str:
    return f"/discussion/{quote(item, safe='')}"


def _now(a: Annotation, person: Person, ident: str) -> assignment.Assignment | None:
    """Return an item as it is before a person; None where the phase has just ended."""
    try:
        now = assignment.current(a, person, ident)
    except KeyError:
        return None
    return now if isinstance(now, assignment.Assignment) else None


def _at_once(now: assignment.Assignment) -> assignment.Assignment:
    """Return an assignment that asks for levels at once, not node by node: here people know where they differ."""
    criteria = tuple(msgspec.structs.replace(criterion, nodes=()) for criterion in now.rubric.criteria)
    return msgspec.structs.replace(now, rubric=msgspec.structs.replace(now.rubric, criteria=criteria))


def _undecided(found: Sides, now: assignment.Assignment) -> list[Answer]:
    """Return the answers that leave a disagreement: it cannot be told, but where all say the same, that stands."""
    answers = []
    for side in found.criteria:
        same: Label | None = None
        if not side.differ:
            same = next((its[side.criterion] for its in now.others.values() if side.criterion in its), None)
        if same is None:
            answers.append(Answer(side.criterion, Answered.CANNOT_TELL))
        else:
            answers.append(Answer(side.criterion, same.answered, same.value))
    return answers
