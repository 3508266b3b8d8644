"""The rubric beside the question: criteria, levels, what to look at, and what authored replies at a level read like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.annotation.labels import last
from mindgauge.annotation.page.words import Worded, called, worded
from mindgauge.annotation.records import Phase, Role
from mindgauge.records.visible import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mindgauge.annotation.assignment import Assignment
    from mindgauge.annotation.project import Annotation
    from mindgauge.annotation.records import Item, Person
    from mindgauge.records.rubric import Criterion

MOST_EXAMPLES = 2
"""For each level."""


class Example(NamedTuple):
    """An authored text: what the person says last, and the reply to it, which may be empty."""

    person: Worded
    reply: Worded


class GuideLevel(NamedTuple):
    """One level."""

    name: str
    meaning: Worded
    examples: list[Example]


class GuideCriterion(NamedTuple):
    """One criterion."""

    name: str
    text: Worded
    asked: bool
    look: Worded
    checks: list[Worded]
    levels: list[GuideLevel]
    not_applicable: Worded
    ordered: bool
    """Whether its levels are decided in an order."""


def guide(
    a: Annotation, assignment: Assignment, person: Person, language: str, open_criteria: Collection[str]
) -> list[GuideCriterion]:
    """Return the rubric as it is about an item, with examples that this person is not to label any more.

    Args:
        a: the project.
        assignment: the item before the person.
        person: who labels.
        language: of the interface.
        open_criteria: the criteria that are asked about now.
    """
    anchors = _anchors(a, assignment, person)
    return [
        _part(criterion, anchors, language, criterion.name in open_criteria) for criterion in assignment.rubric.criteria
    ]


def _anchors(a: Annotation, assignment: Assignment, person: Person) -> list[Item]:
    items = [item for item in a.items(0) if item.id != assignment.item.id]
    if assignment.phase is Phase.TRAINING and person.role is Role.ANNOTATOR:
        answered = {item for item, author, _ in last(a.labels(batch=0), Phase.TRAINING) if author == person.id}
        items = [item for item in items if item.id in answered]
    protocol, spoken = a.project.protocol, assignment.item.tags.get("language", "")
    if protocol:
        items = [item for item in items if item.tags.get(protocol) == assignment.item.tags.get(protocol)]
    return sorted(items, key=lambda item: item.tags.get("language", "") != spoken)


def _part(criterion: Criterion, anchors: Sequence[Item], language: str, is_open: bool) -> GuideCriterion:
    levels = []
    for level in criterion.levels:
        fitting = [item for item in anchors if item.expected.get(criterion.name) == level.value][:MOST_EXAMPLES]
        levels.append(
            GuideLevel(
                called(criterion, level.value, language), worded(level.text, language), [_example(i) for i in fitting]
            )
        )
    return GuideCriterion(
        name=criterion.name.replace("_", " "),
        text=worded(criterion.text, language),
        asked=is_open,
        look=worded(criterion.look, language),
        checks=[worded(check.ask, language) for check in criterion.checks],
        levels=levels,
        not_applicable=worded(criterion.not_applicable, language),
        ordered=bool(criterion.nodes),
    )


def _example(item: Item) -> Example:
    lang = item.tags.get("language", "")
    return Example(Worded(visible(item.messages[-1].content), lang), Worded(visible(item.reply), lang))
