"""What stands behind one headline, as records: values of one kind, each with its interval."""

from __future__ import annotations

from enum import StrEnum

import msgspec

UNTOUCHED = ""
"""The noise of samples without any."""
PLAIN, BENIGN = "none", "benign"
"""The methods of what is asked plainly, and of harmless requests that no reply should refuse."""
NO_VERDICT = "no verdict"


class FigureKind(StrEnum):
    """What a panel's marks are."""

    CURVES = "curves"
    """Scores by noise (`part`) and intensity (`of`); of the samples without noise, both are empty."""
    GROUPS = "groups"
    """Differences of groups (`of`) on axes (`part`) from the mean under sentences that should change nothing."""
    OUTCOMES = "outcomes"
    """Shares of outcomes (`of`) under methods (`part`), of all replies, those without a verdict among them."""
    PEOPLE = "people"
    """The model's number for each item (`of`) of a tier (`part`), `beside` people's, or what the item's author expects."""
    RATES = "rates"
    """How often the model does something (`part`), `beside` how often people do, where that is known."""


class FigureMark(msgspec.Struct, frozen=True):
    """One value with its 95 % interval, by conversations; `missing` of the `n` ratings have no value."""

    part: str
    of: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    missing: int
    beside: float | None = None
    beside_low: float | None = None
    beside_high: float | None = None


class TaskFigure(msgspec.Struct, frozen=True):
    """One task of one model as marks. `totals` sum them up: the correlation of each tier, the noise floor of groups."""

    kind: FigureKind
    benchmark: str
    task: str
    model: str
    rater: str
    criterion: str
    closed: bool
    marks: list[FigureMark]
    totals: list[FigureMark] = []
    asked: bool = True
    """Whether people were asked what stands beside; otherwise it is what we expect of them."""
