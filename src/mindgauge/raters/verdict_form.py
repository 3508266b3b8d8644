"""The form in which a prompt that is not ours asks for its answer, and how such an answer is read: one call, never asked again."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mindgauge.raters import json_objects, rule, verdict
from mindgauge.raters.echo import NOTHING
from mindgauge.raters.json_objects import LONGEST, after_thinking
from mindgauge.raters.verdict import Verdict
from mindgauge.records import Status
from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.raters.echo import PromptText
    from mindgauge.records.rubric import Criterion


class VerdictForm(StrEnum):
    """What a prompt asks a model to answer with."""

    LABEL = "label"
    """A level of its one criterion and nothing else, as far as the first full stop or line; or the one number before a bracket, `4) …`."""
    LIST = "list"
    """A list in brackets with a level for each criterion, in the rubric's order."""
    DICT = "dict"
    """A dictionary as Python writes it; it is read as a literal and never run."""
    JSON = "json"
    """A JSON object."""

    @property
    def of_words(self) -> bool:
        """Whether answers are bare values, without names of criteria."""
        return self in {VerdictForm.LABEL, VerdictForm.LIST}


_NOT_A_LABEL = "it is none of the labels"
_NO_LIST = "there is no list with a level for each criterion"
_CUTS = (".", "。", "\n")
_ASIDE = regex(r"\([^()]*\)")
_NUMBERED = regex(r"(?<![\w.+-])(\d{1,4})[)）]")


def read(
    form: VerdictForm, text: str, criteria: Sequence[Criterion], prompt_text: PromptText = NOTHING
) -> dict[str, Verdict]:
    """Read one verdict per criterion from an answer in a form; never raises.

    Args:
        form: that the prompt asks for.
        text: what the model answered.
        criteria: that it was asked about.
        prompt_text: what others wrote and stood before the model; no part of it becomes a verdict.
    """
    if not form.of_words:
        return verdict.read(text, criteria, prompt_text)
    answer = after_thinking(text)[:LONGEST].strip()
    values = _label(answer, criteria) if form is VerdictForm.LABEL else _list(answer, criteria)
    if values is not None:
        return values
    problem = _NOT_A_LABEL if form is VerdictForm.LABEL else _NO_LIST
    status = Status.REFUSED if rule.refusal(answer) else Status.UNPARSABLE
    return {c.name: Verdict(status, problem=problem, answer_text=answer[:60]) for c in criteria}


def _label(answer: str, criteria: Sequence[Criterion]) -> dict[str, Verdict] | None:
    """Read the one level that the answer is, that stands before its first full stop or line's end, or as a number before a bracket."""
    if len(criteria) != 1:
        return None
    (criterion,) = criteria
    beginnings = [answer, *(answer.split(cut, 1)[0] for cut in _CUTS)]
    value = next((v for part in beginnings if (v := rule.option(part, criterion)) is not None), None)
    if value is None:
        numbers = {*map(criterion.read, _NUMBERED.findall(_ASIDE.sub(" ", answer)))}
        value = numbers.pop() if len(numbers) == 1 else None
    return None if value is None else {criterion.name: Verdict(Status.OK, value)}


def _list(answer: str, criteria: Sequence[Criterion]) -> dict[str, Verdict] | None:
    """Read the one list in brackets that the answer holds."""
    if answer.count("[") != 1 or "]" not in answer:
        return None
    start, end = answer.index("["), answer.rindex("]") + 1
    try:
        items = json_objects.read(answer[start:end])
    except ValueError:
        return None
    if not isinstance(items, list) or len(items) != len(criteria):
        return None
    return {c.name: _item(item, c) for c, item in zip(criteria, items, strict=True)}


def _item(item: object, criterion: Criterion) -> Verdict:
    value = criterion.read(item)
    if value is not None:
        return Verdict(Status.OK, value)
    return Verdict(Status.UNPARSABLE, problem=_NOT_A_LABEL, answer_text=str(item)[:60])
