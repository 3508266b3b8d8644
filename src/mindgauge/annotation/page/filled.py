"""What somebody filled in, read from a form or from an autosaved draft: answers, a note, marked words.

Both have the same fields. What cannot be read is left out, and the page asks for it again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException

from mindgauge.annotation import tasks
from mindgauge.annotation.labels import LONGEST_NOTE, NO
from mindgauge.annotation.records import Answer, Answered, Phase
from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.records import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.records.rubric import Criterion, Rubric

ANSWER = "answer:"
"""Before a criterion's name: the field with the answer on it."""
MOST_QUOTES, LONGEST_QUOTE = 50, 2_000
_FORM = re.compile(r"[0-9A-Za-z_-]{8,64}")
_Fields = ImmutableMultiDict[str, str]


class Filled(NamedTuple):
    """The state of one person's page on one item."""

    answers: dict[str, Answer]
    """By criterion."""
    note: str
    evidence: tuple[Evidence, ...]
    seconds: float
    """How long the item has been on the screen, over all of its screens."""

    def whole(self, draft: Mapping[str, Any]) -> Filled:
        """Return it with the answers that a draft has besides."""
        drafted = {
            name: Answer(
                name,
                Answered(draft_answer["answered"]),
                draft_answer["value"],
                tuple((node, word) for node, word in draft_answer["path"]),
            )
            for name, draft_answer in draft.get("answers", {}).items()
            if draft_answer["answered"]
        }
        return self._replace(answers={**drafted, **self.answers})

    def draft(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return it as a draft, on top of the answers that an earlier draft has."""
        answers = {
            name: {"answered": answer.answered.value, "value": answer.value, "path": answer.path}
            for name, answer in self.answers.items()
        }
        return {
            "answers": {**before.get("answers", {}), **answers},
            "note": self.note,
            "evidence": [{"quote": mark.quote, "source": mark.source} for mark in self.evidence],
            "seconds": self.seconds,
        }


class Form(NamedTuple):
    """Which page was handed in: for what, and in which state of it."""

    item: str
    phase: Phase
    turn: int
    id: str


def form(fields: _Fields) -> Form:
    """Read which page this is.

    Raises:
        HTTPException: 422; it is no form of ours.
    """
    turn, phase = fields.get("turn", ""), fields.get("phase", "")
    if not re.fullmatch(r"[0-9]{1,9}", turn) or phase not in set(Phase):
        raise HTTPException(422)
    return Form(fields.get("item", ""), Phase(phase), int(turn), form_id(fields))


def form_id(fields: _Fields) -> str:
    """Read the form's own id.

    Raises:
        HTTPException: 422; it has none of ours.
    """
    ident = fields.get("form", "")
    if not _FORM.fullmatch(ident):
        raise HTTPException(422)
    return ident


def number(text: str) -> int | None:
    """Read a small number from 0; None where it is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,3}", text) else None


def of_body(body: Mapping[str, Any]) -> _Fields:
    """Take the fields of an autosaved draft, sent as JSON: texts, and lists of texts."""
    pairs = (
        (name, value)
        for name, content in body.items()
        for value in (content if isinstance(content, list) else [content])
    )
    return ImmutableMultiDict([(name, value) for name, value in pairs if isinstance(value, str)])


def read(fields: _Fields, rubric: Rubric) -> Filled:
    """Read what was filled in, as far as it can be read."""
    answers = {c.name: answer(c, fields[ANSWER + c.name]) for c in rubric.criteria if ANSWER + c.name in fields}
    note = fields.get("note", "").replace("\r\n", "\n")[:LONGEST_NOTE]
    readable = {name: value for name, value in answers.items() if value is not None}
    return Filled(
        readable, note, _evidence(fields), _seconds(fields.get("before", "")) + _seconds(fields.get("seconds", ""))
    )


def answer(criterion: Criterion, choice: str) -> Answer | None:
    """Read one answer; None where the rubric does not know it."""
    level = next((value for value in criterion.values if str(value) == choice), None)
    if level is not None:
        return Answer(criterion.name, Answered.OK, level)
    if choice == Answered.CANNOT_TELL:
        return Answer(criterion.name, Answered.CANNOT_TELL)
    if choice == Answered.NOT_APPLICABLE and criterion.not_applicable:
        return Answer(criterion.name, Answered.NOT_APPLICABLE)
    return None


def step(criterion: Criterion, node: int, choice: str) -> Answer | tuple[tuple[int, str], ...] | None:
    """Answer one node of a criterion; those before it were answered no, for a yes ends the walk.

    Returns:
        The answer that the walk ends with; its path so far where the next node has to be asked; None where there is no
        such node, or it cannot be answered so.
    """
    if not 0 <= node < len(criterion.nodes):
        return None
    question = criterion.nodes[node]
    path = (*((number, NO) for number in range(node)), (node, choice))
    if choice == NO:
        last = node == len(criterion.nodes) - 1
        return Answer(criterion.name, Answered.OK, question.otherwise, path) if last else path
    if choice == Answered.CANNOT_TELL:
        return Answer(criterion.name, Answered.CANNOT_TELL, None, path)
    level = next((value for value in question.levels if str(value) == choice), None)
    return None if level is None else Answer(criterion.name, Answered.OK, level, path)


def _evidence(fields: _Fields) -> tuple[Evidence, ...]:
    """Read marked words, as `source|words`; or, where no script runs, a quote a line from anywhere."""
    if "quotes" in fields:
        marks = [("", line) for line in fields["quotes"].splitlines()]
    else:
        marks = [(source, quote) for source, _, quote in (mark.partition("|") for mark in fields.getlist("evidence"))]
    quotes = dict.fromkeys(
        (source if source in {REPLY, DIALOGUE} else "", quote.strip()[:LONGEST_QUOTE]) for source, quote in marks
    )
    return tuple(Evidence(quote, source=source) for source, quote in quotes if quote)[:MOST_QUOTES]


def _seconds(text: str) -> float:
    try:
        return tasks.sane(float(text))
    except ValueError:
        return 0.0
