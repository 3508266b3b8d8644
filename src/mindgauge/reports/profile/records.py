"""What a report says of a suite, as records."""

from __future__ import annotations

import msgspec

from mindgauge.analysis.profile.records import Profile
from mindgauge.reports.content import Case, Cited, ReportTable, System
from mindgauge.reports.draw.records import Dots, Radar, SuitePicture


class HeatCell(msgspec.Struct, frozen=True):
    """One system in one task: its scaled score, or why there is none; `worst` is the system's lowest."""

    value: float | None
    said: str
    why: str = ""
    worst: bool = False


class HeatRow(msgspec.Struct, frozen=True):
    """One task; `dimension` is named where it begins."""

    dimension: str
    title: str
    note: str
    cells: list[HeatCell]


class Heat(msgspec.Struct):
    """Tasks by models, scaled scores, as a table with shaded cells."""

    finding: str
    measure: str
    systems: list[System]
    rows: list[HeatRow]
    sheet: ReportTable


class DimensionPart(msgspec.Struct):
    """One dimension: who stands where, its pictures, and examples from its worst cells.

    `confused` are the benchmarks whose confusions belong here; `linked` are examples that stand elsewhere on the page.
    """

    anchor: str
    name: str
    said: list[str]
    pictures: list[SuitePicture]
    confused: list[str]
    confused_said: list[str]
    sheet: ReportTable
    examples: list[Case]
    linked: list[Cited]


class ProfileSection(msgspec.Struct):
    """A suite in a report."""

    title: str
    suite: str
    said: list[str]
    radar: Radar | None
    dots: Dots | None
    heat: Heat
    dimensions: list[DimensionPart]
    ranks: ReportTable
    lacking: list[str]
    notes: list[str]
    scores: Profile

    @property
    def confused(self) -> list[str]:
        """The benchmarks whose confusions stand in this section."""
        return [name for dimension in self.dimensions for name in dimension.confused]
