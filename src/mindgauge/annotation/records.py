"""What annotation is about: a project, its people, the items they label, and every label ever given."""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Any

import msgspec

from mindgauge.records import Evidence, Message, Status, Value
from mindgauge.records.drawn import Drawn


class Role(StrEnum):
    """What a person may do."""

    OWNER = "owner"
    """Sees how far the work is, gives out and revokes invitations."""
    ANNOTATOR = "annotator"
    """Labels, alone and blind; later discusses."""
    ADJUDICATOR = "adjudicator"
    """Decides what is left after discussion."""


class Phase(StrEnum):
    """Where a batch stands. Labels carry the phase in which they were given."""

    TRAINING = "training"
    """On anchors, with feedback, before the first batch."""
    LABELLING = "labelling"
    """Everybody alone."""
    REVIEW = "review"
    """The agreement was below the gate: everybody alone again, on what they disagree on."""
    DISCUSSION = "discussion"
    """Still below: side by side, with comments; labels may be changed."""
    ADJUDICATION = "adjudication"
    """What is left is decided by one person."""
    CLOSED = "closed"

    @property
    def alone(self) -> bool:
        """Whether people label without having seen each other's labels."""
        return self in {Phase.TRAINING, Phase.LABELLING, Phase.REVIEW}


class Answered(StrEnum):
    """What became of one question to one person."""

    OK = "ok"
    CANNOT_TELL = "cannot_tell"
    """The person looked and could not say."""
    NOT_APPLICABLE = "not_applicable"
    WITHDRAWN = "withdrawn"
    """The person took the label before it back; nothing stands in its place yet."""

    @property
    def status(self) -> Status:
        """What a rating is whose rater answered so."""
        return _STATUS[self]


_STATUS = {
    Answered.OK: Status.OK,
    Answered.CANNOT_TELL: Status.UNPARSABLE,
    Answered.NOT_APPLICABLE: Status.NOT_APPLICABLE,
    Answered.WITHDRAWN: Status.REFUSED,
}


class Policy(StrEnum):
    """How a gold value is read off the labels. Ties stay ties under each."""

    MAJORITY = "majority"
    """The value that most of the people's last labels have."""
    ADJUDICATED = "adjudicated"
    """The adjudicator's where there is one, else the majority's."""


class Project(msgspec.Struct, frozen=True):
    """What was set up by `annotate new`."""

    name: str
    benchmark: str
    """Empty where a rubric file stands alone."""
    batch: int
    """Items per batch."""
    gate: float
    """The least agreement with which a batch closes."""
    training: int
    """Anchors that each annotator labels first."""
    seed: int
    policy: Policy
    protocol: str = ""
    """The tag of an item that chooses the wording of levels, if one does."""
    url: str = "http://127.0.0.1:8765"
    """Under which people reach the page."""
    created: str = ""


class Person(msgspec.Struct, frozen=True):
    """Somebody who takes part."""

    id: str
    name: str
    role: Role
    language: str = ""
    """Of the page; empty until chosen."""
    noticed: bool = False
    """Whether they have read the notice on the content."""
    active: bool = True


def _drawn() -> str:
    """Draw an id; the letter in front keeps spreadsheets from reading digits, or 1e11, as a number."""
    return f"i{secrets.token_hex(8)}"


class Item(msgspec.Struct, frozen=True):
    """What is labelled: a dialogue, and the reply to it where the question is about one. It does not say who wrote it."""

    subject: str
    """What ratings of it are about: a reply's id in an open benchmark, a sample's in a closed one.

    It is a hash of the texts and of who wrote them, so that who knows the texts can guess the rest: nobody who labels is
    shown it, or anything that is computed from it.
    """
    messages: tuple[Message, ...]
    reply: str
    """Empty where the question is about the dialogue itself."""
    tags: dict[str, str] = {}
    cluster: str = ""
    crisis: bool = False
    """Whether it comes first, and counts as distressing: a sign of risk, or tagged so."""
    graphic: bool = False
    """Whether its text is covered until wanted."""
    batch: int = 0
    """0 is the training round."""
    tier: int = 0
    """Within a batch, lower tiers come first for everybody."""
    expected: dict[str, Value | None] = {}
    """Of an anchor: the levels it was written for; None where the criterion does not apply."""
    drawn: Drawn | None = None
    """With which probability it was drawn, where not all were taken; it goes with each rating, and is shown to nobody."""
    dialogue: str = ""
    """Drawn by lot, too: the same for what is labelled of one dialogue, which everybody meets in the order of its turns."""
    turn: int = 0
    """Of a part of a dialogue, from 1; nobody knows what comes later when they label it."""
    id: str = msgspec.field(default_factory=_drawn)
    """Its name in this project, by which people are shown it: drawn by lot, so that it says nothing."""

    @property
    def unit(self) -> str:
        """What of a dialogue of several turns it is, as `raters.window.Unit` has it; empty where it is none."""
        return self.tags.get("unit", "")

    @property
    def turns(self) -> int:
        """How many messages of the person it has."""
        rated = self.unit == "client"
        return sum(message.role == "user" for message in self.messages) + rated

    @property
    def lot(self) -> tuple[str, int, str]:
        """By which items without another order stand: dialogues as they were drawn, each in the order of its turns."""
        return self.dialogue or self.id, self.turn, self.id


class Answer(msgspec.Struct, frozen=True):
    """One person's answer on one criterion, as a form hands it in. `path` has (node from 0, answer) of a walk: `no`, or the level chosen."""

    criterion: str
    answered: Answered
    value: Value | None = None
    path: tuple[tuple[int, str], ...] = ()


class Label(msgspec.Struct, frozen=True):
    """One answer as it is kept, for ever: who, when, in which phase, under which version of the rubric.

    `number` rises with time; the last of a person, item and criterion binds.
    """

    number: int
    person: str
    item: str
    criterion: str
    phase: Phase
    answered: Answered
    value: Value | None
    path: tuple[tuple[int, str], ...]
    note: str
    evidence: tuple[Evidence, ...]
    instrument: str
    """`rubric_id@version` and the hash of its words, as `Rating.instrument` has it."""
    at: float
    """Seconds since 1970, UTC."""
    seconds: float
    """How long the item was on the screen."""
    source: str
    """`page`, or the file it was imported from."""

    @property
    def given(self) -> Value | str | None:
        """What was answered, as one word: the value, or why there is none; None where it was taken back."""
        if self.answered is Answered.WITHDRAWN:
            return None
        return self.value if self.answered is Answered.OK else self.answered.value


class Comment(msgspec.Struct, frozen=True):
    """What somebody says in a discussion."""

    person: str
    item: str
    text: str
    at: float


class Gate(msgspec.Struct, frozen=True):
    """What the gate said of a batch after a phase. `figures` are `agreement.AgreementFigure`s."""

    batch: int
    phase: Phase
    at: float
    passed: bool
    figures: list[Any]
