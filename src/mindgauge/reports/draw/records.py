"""The pictures of a suite, as records: each holds what it draws, its finding and the table behind it."""

from __future__ import annotations

import msgspec

from mindgauge.records.rounding import Kind
from mindgauge.reports.content import ReportTable, System

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
        """Whether it names the systems itself, so that it needs no key."""
        return False

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
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

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
        return _unique([spot.system for row in self.rows for spot in row.spots])


class Radar(SuitePicture):
    """Systems around a circle, an axis for each dimension, from 0 at the centre to 1; a band where an interval is."""

    rows: list[DotRow]

    @property
    def named(self) -> bool:
        """Whether each has a circle of its own."""
        return len(self.systems) > TOGETHER

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
        return _unique([spot.system for row in self.rows for spot in row.spots])


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

    @property
    def named(self) -> bool:
        """Each small picture has its name."""
        return True

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
        return _unique([stretch.system for stretch in self.stretches])


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

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
        return _unique([bar.system for bar in self.bars])


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

    @property
    def named(self) -> bool:
        """Each small picture has its name."""
        return True

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
        return _unique([cloud.system for cloud in self.clouds])


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


def _unique(systems: list[System]) -> list[System]:
    return list({system.number: system for system in systems}.values())
