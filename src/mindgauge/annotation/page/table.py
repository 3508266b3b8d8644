"""Around which people sit in a discussion: the items on which they differ, who decides, and what was said of them."""

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from mindgauge.annotation import assignment
from mindgauge.annotation.page.sides import Side, Sides, sides
from mindgauge.annotation.project import Annotation, Batch
from mindgauge.annotation.records import Comment, Item, Label, Person, Phase, Role

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


class ItemRow(NamedTuple):
    """One item in the list."""

    id: str
    number: int
    start: str
    covered: bool
    """Whether its text is not shown unasked."""
    done: bool
    sides: list[Side]
    """Of the criteria on which people still differ."""
    comments: int


class Spoken(NamedTuple):
    """One comment, with the name of who wrote it."""

    name: str
    you: bool
    text: str
    at: str
    """ISO 8601."""
    when: str
    """Date and time of day, as this machine's clock has it."""


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


def rows(a: Annotation, meeting: DiscussionTable, person: Person, language: str) -> list[ItemRow]:
    """Return the list of a table's items, with who said what."""
    handed_on, people = a.handed_on(meeting.batch.number), _labelling(a)
    labels: dict[str, list[Label]] = {}
    for label in a.labels(batch=meeting.batch.number):
        labels.setdefault(label.item, []).append(label)
    comments = Counter(comment.item for comment in a.comments())
    listed = []
    for number, item, state in meeting.items:
        rubric = a.rubric_for(item, meeting.batch.rubric)
        compared = sides(item, rubric, labels.get(item.id, []), people, handed_on, person.id, language)
        text = " ".join((item.reply or item.messages[-1].content).split())
        listed.append(
            ItemRow(
                id=item.id,
                number=number,
                start=text if len(text) <= START else text[:START].rstrip() + "…",
                covered=item.graphic,
                done=state != "open",
                sides=[side for side in compared.criteria if side.differ],
                comments=comments[item.id],
            )
        )
    return listed


def side_by_side(a: Annotation, meeting: DiscussionTable, item: Item, person: Person, language: str) -> Sides:
    """Set what everybody said of one item side by side."""
    handed_on = a.handed_on(meeting.batch.number)
    rubric = a.rubric_for(item, meeting.batch.rubric)
    return sides(item, rubric, a.labels(item=item.id), _labelling(a), handed_on, person.id, language)


def spoken(comments: Sequence[Comment], people: Sequence[Person], reader: str) -> list[Spoken]:
    """Return comments as they are shown."""
    names = {person.id: person.name for person in people}
    lines = []
    for comment in comments:
        time = datetime.datetime.fromtimestamp(comment.at, datetime.UTC).astimezone()
        shown_time = f"{time:%Y-%m-%d %H:%M}"
        lines.append(
            Spoken(
                names[comment.person],
                comment.person == reader,
                comment.text,
                time.isoformat(timespec="seconds"),
                shown_time,
            )
        )
    return lines


def _labelling(a: Annotation) -> list[Person]:
    return [person for person in a.annotators() if person.active]
