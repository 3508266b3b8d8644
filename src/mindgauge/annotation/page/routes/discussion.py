"""Discussion and adjudication: what people disagree on, side by side, with comments; then one decides what is left."""

import secrets
from typing import Any
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.labels import InvalidAnswerError
from mindgauge.annotation.page import screens
from mindgauge.annotation.page.access import Discussant, Fields, Opened, PostedDiscussant, Visitor
from mindgauge.annotation.page.filled import form, form_id
from mindgauge.annotation.page.pages import in_words, language, page, words
from mindgauge.annotation.page.screens import screen
from mindgauge.annotation.page.sides import DiscussionTable, own, rows, side_by_side, spoken, table
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Answered

router = APIRouter()
LONGEST = 4000
"""Characters of a comment."""


@router.get("/discussion")
def disputed(request: Request, a: Opened, visitor: Discussant) -> Response:
    """List what people disagree on."""
    meeting = table(a, visitor.person)
    if meeting is None:
        return RedirectResponse("/", 303)
    return page(
        request,
        "discussion",
        visitor,
        rows=rows(a, meeting, visitor.person, language(request, visitor)),
        open_item=None if meeting.role == "waiting" else meeting.open_after(),
        **_frame(request, a, visitor, meeting),
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
    meeting = table(a, visitor.person)
    if meeting is None or meeting.role == "waiting":
        return RedirectResponse("/", 303)
    if meeting.place(item) is None:
        raise HTTPException(404)
    ident = form_id(fields)
    if not text:
        return _shown(request, a, visitor, item, 422, problem=texts["comment_empty"])
    if len(text) > LONGEST:
        problem = in_words(texts["comment_long"], most=LONGEST)
        return _shown(request, a, visitor, item, 422, problem=problem, typed=text)
    try:
        submissions.comment(a, visitor.person, item, text, ident)
    except tasks.StaleError:
        return _shown(request, a, visitor, item, 409, problem=texts["stale"], typed=text)
    return RedirectResponse(f"{_path(item)}#latest", 303)


@router.post("/discussion/{item}/keep")
def keep(request: Request, a: Opened, visitor: PostedDiscussant, item: str, fields: Fields) -> Response:
    """Leave things as they are: a person their label, who decides the disagreement, with the reason."""
    spoken_in = language(request, visitor)
    texts = words(spoken_in)["discussion"]
    meeting = table(a, visitor.person)
    if meeting is None or meeting.role == "waiting":
        return RedirectResponse("/", 303)
    if meeting.place(item) is None:
        raise HTTPException(404)
    posted, current = form(fields), tasks.find(a, visitor.person, item)
    if current is None:
        return RedirectResponse("/", 303)
    label = next(iter(current.own.values()), None)
    note, evidence = (label.note, label.evidence) if label else ("", ())
    answers = [Answer(name, label.answered, label.value, label.path) for name, label in current.own.items()]
    if meeting.role == "decides":
        note, evidence = fields.get("note", "").strip(), ()
        if not note:
            return _shown(request, a, visitor, item, 422, problem=texts["leave_empty"])
        answers = _undecided(side_by_side(a, meeting, current.item, visitor.person, spoken_in), current)
    try:
        submissions.submit(
            a, visitor.person, item, posted.phase, posted.turn, posted.id, answers, note=note, evidence=evidence
        )
    except tasks.StaleError:
        return _shown(request, a, visitor, item, 409, problem=texts["stale"], note=fields.get("note", ""))
    except InvalidAnswerError:  # not everything was labelled, so there is nothing to keep
        return _shown(request, a, visitor, item, 422, problem=texts["own_none"])
    meeting = table(a, visitor.person)
    following = meeting.open_after(item) if meeting else None
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
    meeting, spoken_in = table(a, visitor.person), language(request, visitor)
    current = tasks.find(a, visitor.person, ident) if meeting and meeting.role != "waiting" else None
    if meeting is None:
        return RedirectResponse("/", 303)
    place = meeting.place(ident)
    if place is None:
        raise HTTPException(404)
    if current is None and meeting.role != "waiting":
        return RedirectResponse("/", 303)
    number, item, state = meeting.items[place]
    return page(
        request,
        "discussion_item",
        visitor,
        status,
        item=item,
        number=number,
        finished=state != "open",
        sides=side_by_side(a, meeting, item, visitor.person, spoken_in),
        comments=spoken(a.comments(item.id), a.people(), visitor.person.id),
        now=current,
        own=own(current.own, current.rubric, spoken_in) if current else "",
        screen=screen(_at_once(current), spoken_in) if current else None,
        form=secrets.token_hex(16),
        previous=meeting.items[place - 1][1].id if place else None,
        next=meeting.items[place + 1][1].id if place + 1 < len(meeting.items) else None,
        most=LONGEST,
        problem=problem,
        typed=typed,
        note=note,
        **_frame(request, a, visitor, meeting),
    )


def _frame(request: Request, a: Annotation, visitor: Visitor, meeting: DiscussionTable) -> dict[str, Any]:
    """Return what the list and an item's page both say."""
    texts = words(language(request, visitor))["discussion"]
    return {
        "heading": texts["title" if meeting.role == "discusses" else "adjudication"],
        "role": meeting.role,
        "done": meeting.done,
        "of": len(meeting.items),
        "deciders": ", ".join(person.name for person in meeting.deciders),
        "measured": screens.latest(a.gates(meeting.batch.number), a.project.gate),
    }


def _path(item: str) -> str:
    return f"/discussion/{quote(item, safe='')}"


def _at_once(current: tasks.Assignment) -> tasks.Assignment:
    """Return an assignment that asks for levels at once, not node by node: here people know where they differ."""
    criteria = tuple(msgspec.structs.replace(criterion, nodes=()) for criterion in current.rubric.criteria)
    return msgspec.structs.replace(current, rubric=msgspec.structs.replace(current.rubric, criteria=criteria))


def _undecided(compared: dict[str, Any], current: tasks.Assignment) -> list[Answer]:
    """Return the answers that leave a disagreement: it cannot be told, but where all say the same, that stands."""
    answers = []
    for side in compared["criteria"]:
        name, same = side["criterion"], None
        if not side["differ"]:
            same = next((labels[name] for labels in current.others.values() if name in labels), None)
        if same is None:
            answers.append(Answer(name, Answered.CANNOT_TELL))
        else:
            answers.append(Answer(name, same.answered, same.value))
    return answers
