"""After a training item: what it was written for, beside what the person said."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.annotation.labels import last
from mindgauge.annotation.records import Answered, Phase
from mindgauge.web.wording import Worded, called, said, worded
from mindgauge.web.words import words

if TYPE_CHECKING:
    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Item, Label, Person
    from mindgauge.records import Value
    from mindgauge.rubric import Criterion, Rubric


class Line(NamedTuple):
    """One criterion: the authored level and the person's answer, each with what it looks like."""

    name: str
    same: bool | None
    """None where no level was set."""
    authored: str
    authored_meaning: Worded
    yours: str
    yours_meaning: Worded


class Feedback(NamedTuple):
    """One item, and how often person and authors agreed so far."""

    lines: list[Line]
    same: int
    of: int


def feedback(a: Annotation, rubric: Rubric, item: Item, person: Person, language: str) -> Feedback | None:
    """Compare a person's training labels with the authored levels; None where they have not answered this item.

    Args:
        a: the project.
        rubric: as far as it is about the item.
        item: of the training round.
        person: who labelled it.
        language: of the interface.
    """
    labels = {key: label for key, label in last(a.labels(batch=0), Phase.TRAINING).items() if key[1] == person.id}
    own = {criterion: label for (ident, _, criterion), label in labels.items() if ident == item.id}
    if not own:
        return None
    lines = [_line(c, item, own[c.name], language) for c in rubric.criteria if c.name in own]
    items = {other.id: other for other in a.items(0)}
    verdicts = [_same(items[ident].expected, label) for (ident, _, _), label in labels.items()]
    levelled = [verdict for verdict in verdicts if verdict is not None]
    return Feedback(lines, sum(levelled), len(levelled))


def _same(expected: dict[str, Value | None], label: Label) -> bool | None:
    if label.criterion not in expected:
        return None
    authored = expected[label.criterion]
    return label.given == (Answered.NOT_APPLICABLE.value if authored is None else authored)


def _line(criterion: Criterion, item: Item, label: Label, language: str) -> Line:
    same = _same(item.expected, label)
    authored = item.expected.get(criterion.name)
    name = ""
    if same is not None:
        name = (
            words(language)["training"]["not_applicable"] if authored is None else called(criterion, authored, language)
        )
    return Line(
        name=criterion.name.replace("_", " "),
        same=same,
        authored=name,
        authored_meaning=Worded("", "") if same is None else _meaning(criterion, authored, language),
        yours=said(criterion, label, language),
        yours_meaning=_meaning(criterion, label.value, language),
    )


def _meaning(criterion: Criterion, value: Value | None, language: str) -> Worded:
    if value is None:
        return worded(criterion.not_applicable, language)
    return next((worded(level.text, language) for level in criterion.levels if level.value == value), Worded("", ""))
