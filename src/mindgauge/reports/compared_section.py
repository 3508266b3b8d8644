"""What a report says of who is better than whom, as records."""

from __future__ import annotations

from typing import Literal

import msgspec

from mindgauge.reports.content import ReportTable, System


class SystemPlace(msgspec.Struct, frozen=True):
    """Where one system stands on a measure; `system` is None for an answer that reads nothing.

    Values are None where they may not be shown, ranks where there are none.
    """

    system: System | None
    label: str
    value: float | None
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None
    n: int
    clusters: int
    missing: int


class MeasureComparison(msgspec.Struct):
    """All systems on one measure, the best first, constant answers last. `finding` is its title and text alternative.

    `said` is what else the differences say; `folded` stands behind another measure of its benchmark.
    """

    anchor: str
    benchmark: str
    finding: str
    measure: str
    said: list[str]
    unit: Literal["share", "level"]
    low: float
    high: float
    places: list[SystemPlace]
    sheet: ReportTable
    folded: bool


class ComparisonSection(msgspec.Struct):
    """Who is better than whom, on what they have in common: pictures, every two systems, single parts, and the price.

    `withheld` says what judges may not rank; `notes` what was not compared, and why.
    """

    contrasts: list[MeasureComparison]
    pairs: ReportTable | None
    parts: ReportTable | None
    parts_said: list[str]
    costs: ReportTable | None
    costs_said: str
    withheld: list[str]
    notes: list[str]
