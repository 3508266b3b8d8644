"""What a labelled data set says of its labels: who gave them, how far they agree, and how far a panel is from people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import msgspec

from mindgauge.records.rounding import bounded, decimal

if TYPE_CHECKING:
    from mindgauge.records.rounding import Kind
    from mindgauge.stats.interval import Interval

LABELS = ("gold", "gold_status", "panel_label", "panel_status", "panel_agreement")
"""The columns that items gain by labels; they are of those words, and of nothing made from them."""
TIE, UNREADABLE = "(tie)", "(unreadable)"
"""In the place of a label: no strict majority, and too few verdicts that can be read for one."""
UNDECIDED = "(undecided)"
"""In the place of people's label: they tie, could not tell, or handed it on."""
NO_LABELS = frozenset({TIE, UNREADABLE, UNDECIDED})


class LabelFigure(msgspec.Struct, frozen=True):
    """A figure with its interval, from n items; `note` says why there is no value, or no interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str = ""

    @classmethod
    def of(cls, interval: Interval, n: int) -> Self:
        """Take an estimate."""
        return cls(interval.value, interval.low, interval.high, n, interval.undefined)

    def written(self, kind: Kind = "level") -> str:
        """Write it as a share or as a level, and why where there is none, or no interval."""
        number = "not known" if self.value is None else bounded(self.value, self.low, self.high, kind)
        return f"{number} ({self.note})" if self.note else number


class ClassShare(msgspec.Struct, frozen=True):
    """A class: the share of all items that the panel gives it, the one that people would, and how much of it the panel finds."""

    label: str
    panel: float
    people: LabelFigure
    """People's share of these items, as the check lets us say."""
    recall: LabelFigure
    """Of what people call it, the share that the panel does, too."""


class PanelConfusion(msgspec.Struct, frozen=True):
    """Of what the panel calls one thing, the share that people call another, or the same."""

    panel: str
    people: str
    share: LabelFigure


class LabelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who labelled by what, how far people agree and the panel's members do, and how far the panel is from people."""

    rubric: str
    criterion: str
    judges: list[str]
    runs: int
    ties: int
    unreadable: int
    coefficient: str
    """Of both agreements: Fleiss' kappa of classes, Krippendorff's ordinal alpha of an order."""
    panel_agreement: LabelFigure
    people: list[str]
    people_agreement: LabelFigure
    """Before any discussion, weighted to all items."""
    gate: float
    passed: bool | None
    """None where the agreement could not be measured."""
    checked: int
    disputed: int
    """How many of those checked were chosen because the panel disagrees most."""
    gold: int
    undecided: int
    classes: list[ClassShare]
    confusion: list[PanelConfusion]

    @property
    def met(self) -> list[PanelConfusion]:
        """Return what was met of the confusion, and how often people say the same: with many classes most pairs never are."""
        return [cell for cell in self.confusion if cell.share.value != 0 or cell.panel == cell.people]

    @property
    def standing(self) -> str:
        """Say whether people agree as much as the gate asks for, and where so few labels leave it open."""
        if self.passed is None:
            return "not held against the gate"
        low = self.people_agreement.low
        if not self.passed or low is None or low >= self.gate:
            return f"{'reaches' if self.passed else 'below'} the gate of {self.gate:g}"
        chance = ", no better than chance: people labelled too few items, or too few groups of them" if low <= 0 else ""
        return f"reaches the gate of {self.gate:g}, but the interval goes down to {decimal(low)}{chance}"
