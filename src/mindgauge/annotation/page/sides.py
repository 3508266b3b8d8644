"""A discussion's items, side by side: what each annotator said and how they came to it, who decides, and what was said of them."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.annotation import tasks as assignment
from mindgauge.annotation.labels import NO, last
from mindgauge.annotation.page.pages import Worded, called, in_words, said, worded, words
from mindgauge.annotation.records import Answered, Comment, Item, Label, Person, Phase, Role
from mindgauge.benchmarks.persons.persona import PLAIN_TURN
from mindgauge.raters.window import Unit
from mindgauge.records.rubric.criterion import Scale

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mindgauge.annotation.project import Annotation, Batch
    from mindgauge.records.rubric.criterion import Criterion, Node
    from mindgauge.records.rubric.rubric import Rubric


_DISCUSSED = (Phase.LABELLING, Phase.REVIEW, Phase.DISCUSSION)
_ALONE = (Phase.LABELLING, Phase.REVIEW)


def sides(
    item: Item,
    rubric: Rubric,
    labels: Iterable[Label],
    people: Sequence[Person],
    handed_on: Collection[tuple[str, str]],
    reader: str,
    language: str,
) -> dict[str, Any]:
    """Set what people said on one item side by side, in the order of `people`.

    `criteria` holds one record each: its `criterion`, its `name` as people read it, what each person `said`, and whether they
    `differ`. Of a person, `meaning` says what an ordered level looks like, `before` what they said before the discussion
    (empty where that is the same), `path` (what a node asks about, answer) from the first. `remarks` are of those who made some.

    Args:
        item: that they labelled.
        rubric: the criteria that are about it.
        labels: of the item, oldest first.
        people: who label.
        handed_on: (person, item).
        reader: id of who looks at it.
        language: of the page.
    """
    texts = words(language)["discussion"]
    item_labels = [label for label in labels if label.item == item.id]
    standing, alone = last(item_labels, *_DISCUSSED), last(item_labels, *_ALONE)
    criteria = []
    for criterion in rubric.criteria:
        keys = [(item.id, person.id, criterion.name) for person in people]
        absences = [texts["handed_on" if (person.id, item.id) in handed_on else "nothing"] for person in people]
        answered = [
            {
                "name": person.name,
                "you": person.id == reader,
                "value": said(criterion, standing[key], language) if key in standing else absence,
                "meaning": _meaning(criterion, standing.get(key), language),
                "before": _before(criterion, standing.get(key), alone.get(key), language),
                "path": _path(criterion, standing.get(key), language),
            }
            for person, key, absence in zip(people, keys, absences, strict=True)
        ]
        values = {standing[key].given if key in standing else None for key in keys}
        name = criterion.name.replace("_", " ")
        criteria.append({"criterion": criterion.name, "name": name, "said": answered, "differ": len(values) > 1})
    return {"criteria": criteria, "remarks": _remarks(standing, people, reader)}


def own(labels: Mapping[str, Label], rubric: Rubric, language: str) -> str:
    """Write a person's labels on one item in one line: the value alone where there is one criterion."""
    values = {c.name: said(c, labels[c.name], language) for c in rubric.criteria if c.name in labels}
    if len(values) == 1:
        return next(iter(values.values()))
    return "; ".join(f"{criterion.replace('_', ' ')} {value}" for criterion, value in values.items())


def _meaning(criterion: Criterion, label: Label | None, language: str) -> Worded:
    if label is None or criterion.scale is not Scale.ORDINAL:
        return Worded("", "")
    level = next((level for level in criterion.levels if level.value == label.value), None)
    return worded(level.text, language) if level else Worded("", "")


def _before(criterion: Criterion, standing: Label | None, alone: Label | None, language: str) -> str:
    if standing is None or alone is None or standing.given == alone.given:
        return ""
    return said(criterion, alone, language)


def _path(criterion: Criterion, label: Label | None, language: str) -> tuple[tuple[str, str], ...]:
    if label is None or criterion.name == PLAIN_TURN:  # one step, which is the answer
        return ()
    steps = [(place, answer) for place, answer in label.path if place < len(criterion.nodes)]
    return tuple(
        (_topic(criterion, place, language), _answer(criterion, criterion.nodes[place], answer, language))
        for place, answer in steps
    )


def _topic(criterion: Criterion, place: int, language: str) -> str:
    """Name a node: by its level where it has only one."""
    levels = criterion.nodes[place].levels
    if len(levels) == 1:
        return called(criterion, levels[0], language)
    return in_words(words(language)["discussion"]["question"], number=place + 1)


def _answer(criterion: Criterion, node: Node, answer: str, language: str) -> str:
    """Write what a node was answered with: no, yes, or the level where it has several."""
    texts = words(language)["item"]
    if answer in (NO, Answered.CANNOT_TELL):
        return texts[answer]
    level = next((level for level in node.levels if str(level) == answer), None)
    return texts["yes"] if len(node.levels) == 1 else called(criterion, level, language)


def _remarks(
    standing: Mapping[tuple[str, str, str], Label], people: Sequence[Person], reader: str
) -> list[dict[str, Any]]:
    """Return what people wrote and marked beside their labels."""
    newest = {label.person: label for label in sorted(standing.values(), key=lambda label: label.number)}
    return [
        {"name": person.name, "you": person.id == reader, "note": label.note, "evidence": label.evidence}
        for person in people
        if (label := newest.get(person.id)) and (label.note or label.evidence)
    ]


# Around which people sit in a discussion: the items on which they differ, who decides, and what was said of them.


START = 160
"""Characters of a text in the list."""


class DiscussionTable(NamedTuple):
    """The items under discussion, or before the one who decides."""

    batch: Batch
    role: str
    """What the person does here: `discusses`, `decides`, or is `waiting` for the decision."""
    items: list[tuple[int, Item, str]]
    """(number, item, state of its task), by number; numbers are the same for everybody."""
    deciders: list[Person]

    @property
    def done(self) -> int:
        """Count the items that are finished with."""
        return sum(state != "open" for _, _, state in self.items)

    def place(self, ident: str) -> int | None:
        """Return where an item stands; None if it is not on the table."""
        return next((place for place, (_, item, _) in enumerate(self.items) if item.id == ident), None)

    def open_after(self, ident: str = "") -> str | None:
        """Return the next item that is open, going round; None if there is no other."""
        start = self.place(ident) or 0
        turned = self.items[start:] + self.items[:start]
        return next((item.id for _, item, state in turned if state == "open" and item.id != ident), None)


def table(a: Annotation, person: Person) -> DiscussionTable | None:
    """Return what a person sits around now; None while nobody is to see what others said."""
    batch = next((b for b in a.batches() if b.number and b.phase is not Phase.CLOSED), None)
    if batch is None or batch.phase not in (Phase.DISCUSSION, Phase.ADJUDICATION):
        return None
    role = "discusses" if batch.phase is Phase.DISCUSSION else "decides"
    own, deciders = assignment.assignments(a, person, batch.phase), a.adjudicators()
    if not own and person.role is Role.ANNOTATOR and batch.phase is Phase.ADJUDICATION:
        role = "waiting"
        own = next((tasks for other in deciders if (tasks := assignment.assignments(a, other, batch.phase))), [])
    if not own:
        return None
    numbers = {item.id: number for number, item in enumerate(a.items(batch.number), 1)}
    items = sorted(((numbers[item.id], item, state) for item, state in own), key=lambda row: row[0])
    return DiscussionTable(batch, role, items, deciders)


def rows(a: Annotation, meeting: DiscussionTable, person: Person, language: str) -> list[dict[str, Any]]:
    """Return the list of a table's items, with who said what where people differ; a `covered` text is not shown unasked."""
    handed_on, people = a.handed_on(meeting.batch.number), _labelling(a)
    labels: dict[str, list[Label]] = {}
    for label in a.labels(batch=meeting.batch.number):
        labels.setdefault(label.item, []).append(label)
    comments = Counter(comment.item for comment in a.comments())
    listed = []
    for number, item, state in meeting.items:
        rubric = a.rubric_for(item, meeting.batch.rubric)
        compared = sides(item, rubric, labels.get(item.id, []), people, handed_on, person.id, language)
        start = item.messages[0] if item.unit == Unit.DIALOGUE else item.messages[-1]
        text = " ".join((item.reply or start.content).split())
        listed.append(
            {
                "id": item.id,
                "number": number,
                "start": text if len(text) <= START else text[:START].rstrip() + "…",
                "covered": item.graphic,
                "done": state != "open",
                "sides": [side for side in compared["criteria"] if side["differ"]],
                "comments": comments[item.id],
            }
        )
    return listed


def side_by_side(a: Annotation, meeting: DiscussionTable, item: Item, person: Person, language: str) -> dict[str, Any]:
    """Set what everybody said of one item side by side."""
    handed_on = a.handed_on(meeting.batch.number)
    rubric = a.rubric_for(item, meeting.batch.rubric)
    return sides(item, rubric, a.labels(item=item.id), _labelling(a), handed_on, person.id, language)


def spoken(comments: Sequence[Comment], people: Sequence[Person], reader: str) -> list[dict[str, Any]]:
    """Return comments as they are shown: `at` in ISO 8601, `when` by this machine's clock."""
    names = {person.id: person.name for person in people}
    lines = []
    for comment in comments:
        time = datetime.datetime.fromtimestamp(comment.at, datetime.UTC).astimezone()
        moment = {"at": time.isoformat(timespec="seconds"), "when": f"{time:%Y-%m-%d %H:%M}"}
        lines.append({"name": names[comment.person], "you": comment.person == reader, "text": comment.text, **moment})
    return lines


def _labelling(a: Annotation) -> list[Person]:
    return [person for person in a.annotators() if person.active]
