"""What the section on dialogues is made of: a ribbon for each dialogue, curves of recognition, and a page for each persona."""

from __future__ import annotations

import msgspec

from mindgauge.benchmarks.persons.dialogues import Outcome
from mindgauge.reports.content import Case, ReportTable, System
from mindgauge.reports.draw.records import SuitePicture


class RibbonTurn(msgspec.Struct, frozen=True):
    """One turn of a dialogue: what the person might show, and what was found in the reply.

    `allowed` and `perceived` are places among the rungs of the situation, from 0; None where nobody knows. `recognised` and
    `veto` are None where nobody said. `came` says whether there is a reply.
    """

    turn: int
    reply: str
    allowed: int | None = None
    perceived: int | None = None
    recognised: bool | None = None
    veto: bool | None = None
    appropriate: float | None = None
    reaction: str = ""
    came: bool = True


class Ribbon(msgspec.Struct):
    """One dialogue as a picture: a step for every turn, its marks, and how it ended. `said` is its text alternative.

    Where the person's turns were planned, the first plain sign is the plan's; in transcripts, which nobody planned, it is the
    first that a reader of the person's messages sees.
    """

    key: str
    """The same for all models that were spoken with in the same way: who, in which language, played by whom."""
    benchmark: str
    persona: str
    """Empty where nobody says who the person is."""
    cluster: str
    """What it shares with others that are not independent of it."""
    setting: str
    planned: str
    calm: bool
    system: System
    rungs: list[str]
    """Of the situation, lowest first; empty where it has none."""
    plain: int
    """From which of them on a reader can plainly see the risk."""
    length: int
    """Turns that the dialogue was to have."""
    turns: list[RibbonTurn]
    outcome: str
    over_escalates: bool | None = None
    said: str = ""
    anchor: str = ""
    opens: str = ""
    """Where its turns stand in the reader."""
    cause: str = ""
    """Why `case` is the turn where it went wrong; empty where none did."""
    case: Case | None = None

    @property
    def unplanned(self) -> bool:
        """Whether nobody planned what the person may show in which turn."""
        return all(turn.allowed is None for turn in self.turns)

    @property
    def read(self) -> bool:
        """Whether somebody says what a reader of the person's messages sees."""
        return any(turn.perceived is not None for turn in self.turns)

    def first_plain(self, *, perceived: bool | None = None) -> int | None:
        """Return the turn in which the first plain sign shows; None where none does.

        Args:
            perceived: as a reader sees it, or else by plan; by plan where there is one, if not given.
        """
        by_reader = self.unplanned if perceived is None else perceived
        levels = [(t.turn, t.perceived if by_reader else t.allowed) for t in self.turns if t.came]
        return next((turn for turn, level in levels if self.rungs and level is not None and level >= self.plain), None)

    @property
    def vetoed(self) -> list[int]:
        """The turns with a veto."""
        return [t.turn for t in self.turns if t.veto]

    @property
    def asked(self) -> int | None:
        """The first turn, from the first plain sign on, whose reply recognises the risk."""
        start = self.first_plain() or 1
        return next((t.turn for t in self.turns if t.turn >= start and t.recognised), None)

    @property
    def failed_by_client(self) -> bool:
        """Whether it ended with a failure of the client, so that it is no evidence of the model."""
        return bool(self.outcome) and Outcome(self.outcome).of_client

    @property
    def never(self) -> bool:
        """Whether the first plain sign and all that follows is known to go unrecognised."""
        start = self.first_plain()
        after = [t.recognised for t in self.turns if t.came and start is not None and t.turn >= start]
        return bool(after) and all(known is False for known in after) and not self.failed_by_client

    @property
    def late(self) -> int:
        """Turns from the first plain sign to its recognition; 0 where there is none, or never one."""
        start, asked = self.first_plain(), self.asked
        return 0 if start is None or asked is None else asked - start

    @property
    def went_wrong(self) -> int | None:
        """The turn to read first: of the first veto, or of the first plain sign that was passed over."""
        return self.vetoed[0] if self.vetoed else self.first_plain() if self.never or self.late else None


class SurvivalLine(msgspec.Struct, frozen=True):
    """One system's curve: the share that is not yet recognised after so many replies, from 0 on.

    `at_risk` counts, at each number of replies, the dialogues that go on unrecognised; `censored` holds where dialogues end
    unrecognised, with the share there.
    """

    system: System
    shares: list[float]
    at_risk: list[int]
    censored: list[tuple[int, float]]


class Survival(SuitePicture):
    """Curves of recognition, a line for each system."""

    benchmark: str
    lines: list[SurvivalLine]
    folded: str = ""

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
        return [line.system for line in self.lines]


class PersonaPage(msgspec.Struct):
    """A persona over models: who the person is, and the ribbons of all models under each setting."""

    anchor: str
    name: str
    about: str
    who: str
    language: str
    finding: str
    settings: list[tuple[str, list[Ribbon]]]
    left_out: int = 0


class DialoguePart(msgspec.Struct):
    """The dialogues of one benchmark."""

    benchmark: str
    title: str
    facts: list[str]
    """What was found, system by system."""
    rungs: list[tuple[str, str]]
    """The rungs with what each looks like."""
    plain: str
    perceived: bool
    transcripts: bool
    """Whether there are dialogues that were held elsewhere, of which nobody says that their persons are invented."""
    source: str
    """Who says what was recognised."""
    curves: list[Survival]
    withheld: list[str]
    worst: list[Ribbon]
    rest: list[Ribbon]
    left_out: int
    sheet: ReportTable
    personas: list[PersonaPage]
