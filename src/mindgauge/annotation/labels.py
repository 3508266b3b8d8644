"""What a person hands in, checked against rubric and text; labels as they are kept, and which of them bind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import select

from mindgauge.annotation import schema
from mindgauge.annotation.records import Answered, Label, Phase
from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.records import Evidence, encode
from mindgauge.records.errors import MindgaugeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Row, Select

    from mindgauge.annotation.records import Answer, Item
    from mindgauge.records.rubric import Criterion, Rubric


LONGEST_NOTE = 10_000
"""Letters of a note."""
NO = "no"
"""What a node is answered with where none of its levels holds."""


class InvalidAnswerError(MindgaugeError):
    """An answer is missing, or is none that the rubric allows; `criterion` says on what."""

    def __init__(self, criterion: str, message: str) -> None:
        super().__init__(message)
        self.criterion = criterion


def check(rubric: Rubric, answers: Sequence[Answer]) -> None:
    """See that there is one answer for each criterion, and that the rubric allows it.

    Raises:
        InvalidAnswerError: it does not.
    """
    by_criterion = {answer.criterion: answer for answer in answers}
    criteria = {criterion.name: criterion for criterion in rubric.criteria}
    stray = next((name for name in by_criterion if name not in criteria), None)
    if stray is not None:
        raise InvalidAnswerError(stray, f"{stray}: the rubric has no such criterion (it has {', '.join(criteria)})")
    if len(by_criterion) < len(answers):
        raise InvalidAnswerError(answers[0].criterion, "a criterion is answered twice")
    for name, criterion in criteria.items():
        if name not in by_criterion:
            raise InvalidAnswerError(name, f"{name}: not answered yet")
        fault = _fault(criterion, by_criterion[name])
        if fault:
            raise InvalidAnswerError(name, f"{name}: {fault}")


def _fault(criterion: Criterion, answer: Answer) -> str:
    match answer.answered:
        case Answered.OK:
            if answer.value not in criterion.values or isinstance(answer.value, bool):
                return f"{answer.value!r} is not one of {', '.join(map(str, criterion.values))}"
            return (
                "" if not answer.path or decided(criterion, answer.path) == answer.value else "its path leads elsewhere"
            )
        case Answered.NOT_APPLICABLE if not criterion.not_applicable:
            return "it always applies"
        case Answered.WITHDRAWN:
            return "a label is taken back, not handed in as such"
        case _:
            return "" if answer.value is None else "there is no value where it cannot be told"


def decided(criterion: Criterion, path: Sequence[tuple[int, str]]) -> object:
    """Return the level that a walk over the nodes ends at; None where it is no whole walk."""
    for step, (number, word) in enumerate(path):
        if number != step or step >= len(criterion.nodes):
            return None
        node = criterion.nodes[step]
        if word != NO:
            level = next((level for level in node.levels if str(level) == word), None)
            return level if step == len(path) - 1 else None
    return criterion.nodes[-1].otherwise if len(path) == len(criterion.nodes) else None


def columns(answer: Answer) -> dict[str, Any]:
    """Return an answer as the columns of its row."""
    return {
        "criterion": answer.criterion,
        "answered": answer.answered,
        "value": encode(answer.value).decode() if answer.answered is Answered.OK else None,
        "path": encode(answer.path).decode(),
    }


def located(item: Item, marked: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return marked words with whether and where they stand in the text, letter for letter, blanks aside."""
    texts = {REPLY: _blanks(item.reply), DIALOGUE: _blanks("\n".join(m.content for m in item.messages))}
    quotes = []
    for mark in marked:
        quote = _blanks(mark.quote)
        wanted = [mark.source] if mark.source in texts else list(texts)
        source = next((name for name in wanted if quote and quote in texts[name]), "")
        quotes.append(Evidence(mark.quote, found=bool(source), source=source))
    return tuple(quotes)


def _blanks(text: str) -> str:
    return " ".join(text.split())


def last(labels: Iterable[Label], *phases: Phase) -> dict[tuple[str, str, str], Label]:
    """Return (item, person, criterion) → the label that binds; without those that were taken back.

    Args:
        labels: oldest first.
        phases: that count; all but the training round if none is named.
    """
    latest: dict[tuple[str, str, str], Label] = {}
    for label in labels:
        if label.phase in phases if phases else label.phase is not Phase.TRAINING:
            latest[label.item, label.person, label.criterion] = label
    return {key: label for key, label in latest.items() if label.answered is not Answered.WITHDRAWN}


def labels_of(
    c: Connection, *, batch: int | None = None, item: str | None = None, person: str | None = None
) -> list[Label]:
    """Return labels, oldest first, as a running transaction sees them."""
    query: Select[tuple[object, ...]] = select(schema.labels, schema.rubrics.c.instrument).join(
        schema.rubrics, schema.rubrics.c.number == schema.labels.c.rubric
    )
    if batch is not None:
        query = query.join(schema.items, schema.items.c.id == schema.labels.c.item).where(schema.items.c.batch == batch)
    if item is not None:
        query = query.where(schema.labels.c.item == item)
    if person is not None:
        query = query.where(schema.labels.c.person == person)
    return [_label(row) for row in c.execute(query.order_by(schema.labels.c.number))]


def _label(r: Row[tuple[object, ...]]) -> Label:
    return Label(
        r.number, r.person, r.item, r.criterion, Phase(r.phase), Answered(r.answered),
        None if r.value is None else msgspec.json.decode(r.value),
        msgspec.json.decode(r.path, type=tuple[tuple[int, str], ...]), r.note,
        msgspec.json.decode(r.evidence, type=tuple[Evidence, ...]), r.instrument, r.at, r.seconds, r.source,
    )  # fmt: skip
