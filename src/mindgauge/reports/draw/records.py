"""The pictures of a suite, as records: each holds what it draws, its finding and the table behind it."""

from __future__ import annotations

import msgspec

from mindgauge.benchmarks.persons.dialogues import Outcome
from mindgauge.records.rounding import Kind
from mindgauge.reports.content import Case, ReportTable, System

TOGETHER = 3
"""So many systems can be told apart on one circle."""


class Point(msgspec.Struct, frozen=True):
    """One system's value with its interval. `floor` is how far a value may lie from 0 by noise alone.

    `why` says why there is no value, `opens` which lines of the reader it stands for.
    """

    system: System
    value: float | None
    low: float | None
    high: float | None
    n: int = 0
    missing: int = 0
    floor: float | None = None
    why: str = ""
    opens: str = ""


class DotRow(msgspec.Struct, frozen=True):
    """All systems on one thing. `head` is what stands above it, if a new group begins with it.

    `chance` is the value of guessing, `people` the value of people with its interval.
    """

    label: str
    note: str
    spots: list[Point]
    head: str = ""
    chance: float | None = None
    people: tuple[float, float | None, float | None] | None = None


class SuitePicture(msgspec.Struct, kw_only=True):
    """A picture. `finding` is its title and text alternative, `measure` its subtitle, with n."""

    anchor: str
    finding: str
    measure: str
    sheet: ReportTable

    @property
    def named(self) -> bool:
        """Whether it names the systems itself, so that it needs no key: where each has a small picture of its own."""
        return isinstance(self, Curves | Scatter) or (isinstance(self, Radar) and len(self.systems) > TOGETHER)

    @property
    def systems(self) -> list[System]:
        """Who is drawn, each once."""
        return list({system.number: system for system in self._drawn()}.values())

    def _drawn(self) -> list[System]:
        raise NotImplementedError


class Dots(SuitePicture):
    """Dots with intervals, a row for each thing and in it a line for each system; `ends` say what the axis's ends mean."""

    low: float
    high: float
    ends: tuple[str, str]
    rows: list[DotRow]
    share: bool = False
    signed: bool = False
    """Values are differences, so 0 is marked."""

    def _drawn(self) -> list[System]:
        return [spot.system for row in self.rows for spot in row.spots]


class Radar(SuitePicture):
    """Systems around a circle, an axis for each dimension, from 0 at the centre to 1; a band where an interval is."""

    rows: list[DotRow]

    def _drawn(self) -> list[System]:
        return [spot.system for row in self.rows for spot in row.spots]


class Series(msgspec.Struct, frozen=True):
    """Scores of one system under one kind of noise, by intensity."""

    system: System
    noise: str
    points: list[tuple[float, Point]]


class Curves(SuitePicture):
    """Scores by intensity, a line for each kind of noise and a small picture for each system.

    `starts` are the scores without noise.
    """

    stretches: list[Series]
    starts: list[Point]

    def _drawn(self) -> list[System]:
        return [stretch.system for stretch in self.stretches]


class Bar(msgspec.Struct, frozen=True):
    """How the replies of one system under one method end: a share for each outcome."""

    method: str
    system: System
    shares: list[float]
    n: int


class Outcomes(SuitePicture):
    """Stacked bars, methods worst first, a bar for each system."""

    outcomes: list[str]
    """In the order of the shares: the worst first, those without a verdict last."""
    bars: list[Bar]

    def _drawn(self) -> list[System]:
        return [bar.system for bar in self.bars]


class Cloud(msgspec.Struct, frozen=True):
    """People's and one system's numbers for the items of a tier, and what their correlation is."""

    system: System
    points: list[tuple[float, float]]
    said: str


class Scatter(SuitePicture):
    """The model's number against people's, a small picture for each system; the diagonal is full agreement."""

    low: float
    high: float
    clouds: list[Cloud]
    across: str = "people"
    """What the horizontal axis shows."""

    def _drawn(self) -> list[System]:
        return [cloud.system for cloud in self.clouds]


class ControlPoint(msgspec.Struct, frozen=True):
    """A rate in one look. `doubtful` where the judge is not trusted."""

    number: int
    value: float | None
    low: float | None
    high: float | None
    alarm: bool = False
    doubtful: bool = False


class ControlChart(msgspec.Struct, frozen=True):
    """A rate from look to look. `finding` is its title and text alternative, `ends` those of its axis."""

    anchor: str
    finding: str
    measure: str
    unit: Kind
    limit: float
    ends: tuple[float, float]
    points: list[ControlPoint]
    sheet: ReportTable


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

    def _drawn(self) -> list[System]:
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
