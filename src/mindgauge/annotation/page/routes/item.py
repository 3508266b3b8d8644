"""The item before a person: shown, answered, put off, handed on, taken back; and what a training item was written for."""

import math
from collections.abc import Callable
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from mindgauge.annotation import submissions, tasks
from mindgauge.annotation.labels import InvalidAnswerError
from mindgauge.annotation.page import filled
from mindgauge.annotation.page.access import (
    Annotator,
    Anyone,
    Body,
    Discussant,
    Fields,
    Opened,
    PostedAnnotator,
    PostedDiscussant,
    Visitor,
)
from mindgauge.annotation.page.filled import Filled, Form
from mindgauge.annotation.page.pages import called, go_on, in_words, language, page, said, words
from mindgauge.annotation.page.screens import feedback, guide, screen
from mindgauge.annotation.project import Annotation
from mindgauge.annotation.records import Answer, Item, Person, Phase, Role
from mindgauge.records.rubric import Rubric

router = APIRouter()


@router.get("/")
def start(visitor: Anyone, a: Opened) -> Response:
    """Lead everybody to what is before them."""
    if visitor.person.role is Role.OWNER:
        return RedirectResponse("/owner", 303)
    if not visitor.person.noticed:
        return RedirectResponse("/notice", 303)
    current = tasks.current(a, visitor.person)
    if isinstance(current, tasks.NothingToDo):
        return RedirectResponse("/standing", 303)
    return RedirectResponse("/discussion" if current.phase in tasks.TOGETHER else "/item", 303)


@router.get("/item")
def show(
    request: Request, visitor: Discussant, a: Opened, item: str = "", criterion: str = "", node: str = ""
) -> Response:
    """Show the item that is next, or a step of it that was taken before."""
    try:
        current = tasks.current(a, visitor.person, item)
    except KeyError:
        return RedirectResponse("/", 303)
    if isinstance(current, tasks.NothingToDo) or (current.phase in tasks.TOGETHER and not item):
        return RedirectResponse("/", 303)
    step = filled.number(node)
    return _shown(request, visitor, a, current, step_back=None if step is None else (criterion, step))


@router.post("/item/decide")
def decide(request: Request, visitor: PostedDiscussant, a: Opened, fields: Fields) -> Response:
    """Take the answer to one node, and ask the next, or hand in where it was the last of all."""
    form, item, rubric = _form(a, fields)
    criterion = next((c for c in rubric.criteria if c.name == fields.get("criterion") and c.nodes), None)
    node = filled.number(fields.get("node", ""))
    if criterion is None or node is None or node >= len(criterion.nodes):
        raise HTTPException(422)
    typed = filled.read(fields, rubric)
    step = filled.step(criterion, node, fields.get("answer", ""))
    if step is None:
        return _refused(request, visitor, a, form, typed, frozenset({criterion.name}), step_back=(criterion.name, node))
    drafted = _draft(a, visitor, form) if len(rubric.criteria) > 1 else {}
    if isinstance(step, Answer):
        typed = typed._replace(answers={criterion.name: step}).whole(drafted)
        if all(c.nodes and c.name in typed.answers for c in rubric.criteria):
            return _submitted(request, visitor, a, form, item, rubric, typed)
    body = typed.draft(drafted)
    if not isinstance(step, Answer):
        body["answers"][criterion.name] = {"answered": "", "value": None, "path": step}
    try:
        submissions.save_draft(a, visitor.person, form.item, form.phase, form.turn, body)
    except tasks.StaleError as error:
        return _stale(request, visitor, item, rubric, typed, error)
    return go_on(request, f"{_here(form.item, form.phase)}#question")


@router.post("/item/submit")
def submit(request: Request, visitor: PostedDiscussant, a: Opened, fields: Fields) -> Response:
    """Take a form: an answer on every criterion that was not decided node by node before."""
    form, item, rubric = _form(a, fields)
    typed = filled.read(fields, rubric)
    if any(c.nodes and c.name not in typed.answers for c in rubric.criteria):
        typed = typed.whole(_draft(a, visitor, form))
    return _submitted(request, visitor, a, form, item, rubric, typed)


@router.post("/item/skip")
def skip(request: Request, visitor: PostedAnnotator, a: Opened, fields: Fields) -> Response:
    """Put the item off to the end."""
    return _put_away(request, visitor, a, fields, submissions.skip)


@router.post("/item/hand-on")
def hand_on(request: Request, visitor: PostedAnnotator, a: Opened, fields: Fields) -> Response:
    """Hand the item on, without a reason."""
    return _put_away(request, visitor, a, fields, submissions.hand_on)


@router.post("/item/undo")
def undo(visitor: PostedAnnotator, a: Opened, fields: Fields) -> Response:
    """Take back what was handed in last."""
    submissions.undo(a, visitor.person, filled.form_id(fields))
    return RedirectResponse("/", 303)


@router.post("/draft")
def draft(visitor: PostedDiscussant, a: Opened, body: Body) -> Response:
    """Keep what is typed and not handed in; 409 where the item was changed on another page."""
    fields = filled.of_body(body)
    form, _, rubric = _form(a, fields)
    typed = filled.read(fields, rubric)
    try:
        submissions.save_draft(
            a, visitor.person, form.item, form.phase, form.turn, typed.draft(_draft(a, visitor, form))
        )
    except tasks.StaleError:
        return Response(status_code=409)
    return Response(status_code=204)


@router.get("/training/feedback/{item}")
def trained(request: Request, visitor: Annotator, a: Opened, item: str) -> Response:
    """Show what a training item was written for, to whoever has answered it."""
    subject = a.item(item)
    if subject is None or subject.batch:
        raise HTTPException(404)
    compared = feedback(a, _rubric(a, subject), subject, visitor.person, language(request, visitor))
    if compared is None:
        return RedirectResponse("/", 303)
    current = tasks.current(a, visitor.person)
    going_on = isinstance(current, tasks.Assignment) and current.phase is Phase.TRAINING
    return page(request, "training", visitor, item=subject, feedback=compared, going_on=going_on)


# -- the pieces -----------------------------------------------------------------------------------------------------


def _form(a: Annotation, fields: Fields) -> tuple[Form, Item, Rubric]:
    """Read which page was handed in, and find its item and as much of the rubric as is about it."""
    form = filled.form(fields)
    item = a.item(form.item)
    if item is None:
        raise HTTPException(404)
    return form, item, _rubric(a, item)


def _put_away(
    request: Request,
    visitor: Visitor,
    a: Annotation,
    fields: Fields,
    change: Callable[[Annotation, Person, str, Phase, int, str], None],
) -> Response:
    form, item, rubric = _form(a, fields)
    try:
        change(a, visitor.person, form.item, form.phase, form.turn, form.id)
    except tasks.StaleError as error:
        return _stale(request, visitor, item, rubric, filled.read(fields, rubric), error)
    return RedirectResponse("/", 303)


def _rubric(a: Annotation, item: Item) -> Rubric:
    return a.rubric_for(item, a.rubric_of(item.batch))


def _draft(a: Annotation, visitor: Visitor, form: Form) -> dict[str, object]:
    current = _current(a, visitor, form)
    return {} if current is None else current.draft


def _current(a: Annotation, visitor: Visitor, form: Form) -> tasks.Assignment | None:
    current = tasks.find(a, visitor.person, form.item)
    return current if current is not None and current.phase is form.phase else None


def _here(item: str, phase: Phase) -> str:
    """Return the path of the page on an item."""
    return f"/item?item={quote(item, safe='')}" if phase in tasks.TOGETHER else "/item"


def _after(a: Annotation, visitor: Visitor, form: Form) -> str:
    """Return the path to go to when an item was handed in that was not the last."""
    if form.phase is Phase.TRAINING:
        return f"/training/feedback/{quote(form.item, safe='')}"
    if form.phase not in tasks.TOGETHER:
        return "/item"
    current = tasks.current(a, visitor.person)
    return f"/discussion/{quote(current.item.id, safe='')}" if isinstance(current, tasks.Assignment) else "/standing"


def _submitted(
    request: Request, visitor: Visitor, a: Annotation, form: Form, item: Item, rubric: Rubric, typed: Filled
) -> Response:
    try:
        submission = submissions.submit(
            a,
            visitor.person,
            form.item,
            form.phase,
            form.turn,
            form.id,
            list(typed.answers.values()),
            note=typed.note,
            evidence=typed.evidence,
            seconds=typed.seconds,
        )
    except tasks.StaleError as error:
        return _stale(request, visitor, item, rubric, typed, error)
    except InvalidAnswerError as error:
        missing = frozenset(c.name for c in rubric.criteria if c.name not in typed.answers)
        return _refused(request, visitor, a, form, typed, missing, problem="" if missing else str(error))
    return go_on(
        request, "/standing" if submission.last and form.phase is not Phase.TRAINING else _after(a, visitor, form)
    )


def _refused(
    request: Request,
    visitor: Visitor,
    a: Annotation,
    form: Form,
    typed: Filled,
    missing: frozenset[str],
    *,
    problem: str = "",
    step_back: tuple[str, int] | None = None,
) -> Response:
    """Show the page once more with what was typed, and what is wrong with it."""
    current = _current(a, visitor, form)
    if current is None:
        return RedirectResponse("/", 303)
    texts = words(language(request, visitor))["item"]
    problem = in_words(texts["problem"], problem=problem) if problem else texts["invalid"]
    current = msgspec.structs.replace(current, draft=typed.draft(current.draft))
    return _shown(request, visitor, a, current, 422, step_back=step_back, missing=missing, problem=problem)


def _shown(
    request: Request,
    visitor: Visitor,
    a: Annotation,
    current: tasks.Assignment,
    status: int = 200,
    *,
    step_back: tuple[str, int] | None = None,
    missing: frozenset[str] = frozenset(),
    problem: str = "",
) -> Response:
    spoken = language(request, visitor)
    item_screen = screen(current, spoken, step_back=step_back, missing=missing, problem=problem)
    return page(
        request,
        "item",
        visitor,
        status,
        now=current,
        item=current.item,
        screen=item_screen,
        guide=guide(a, current, visitor.person, spoken, item_screen.asked),
        left=_left(current.seconds_left, words(spoken)["item"]),
    )


def _left(seconds: float | None, texts: dict[str, str]) -> str:
    """Say how long the rest takes; nothing where that is not known."""
    if seconds is None:
        return ""
    if seconds < 60:
        return texts["left_under_minute"]
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return in_words(texts["left_minutes"], minutes=minutes)
    return in_words(texts["left_hours"], hours=minutes // 60, minutes=minutes % 60)


def _stale(
    request: Request, visitor: Visitor, item: Item, rubric: Rubric, typed: Filled, error: tasks.StaleError
) -> Response:
    """Say that the page was old, what is kept, and what was typed on it, so that it can be used."""
    spoken = language(request, visitor)
    texts = words(spoken)["item"]
    criteria = {criterion.name: criterion for criterion in rubric.criteria}
    labels = [(name, said(criteria[name], label, spoken)) for name, label in error.kept.items() if name in criteria]
    answers = [
        (name, texts[answer.answered] if answer.value is None else called(criteria[name], answer.value, spoken))
        for name, answer in typed.answers.items()
    ]
    return page(request, "item_stale", visitor, 409, item=item, kept=labels, answers=answers, typed=typed)
