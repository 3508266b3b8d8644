"""What is said of a panel: its juries beside its members, and what each member adds."""

from __future__ import annotations

from typing import Any

import msgspec

from mindgauge.analysis.reliability.card import Bound, ReliabilityCard, estimate_columns
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded

_SHOWN = ("icc_a1", "alpha", "kappa_quadratic", "kappa", "percent", "pearson", "bias", "mse", "system_icc_c1")


class Without(msgspec.Struct, frozen=True):
    """The ranking of systems by the mean jury without one judge, beside that by all."""

    judge: str
    tau: Bound
    """Kendall's tau-b between the two rankings, resampled over conversations."""
    first: str
    """The system that is first without this judge."""
    same_first: float | None
    """Share of resamples of conversations in which the same system is first with and without this judge."""


class JuryErrors(msgspec.Struct, frozen=True):
    """How far raters are from people's true value: mean squares, in squared steps of the scale; None where unknown.

    Each is first put on people's scale by a line fitted on other conversations. `constant` says people's mean each time,
    `average` is the mean of all members', `best` that of the member chosen on other conversations, `jury` that of the
    members' mean. `skill` is the share by which the jury's is below `constant`, `gain` that by which it is below `best`.
    `floored` says that people's own error is known, from subjects that several rated, and taken off.
    """

    constant: float | None
    average: float | None
    best: float | None
    jury: float | None
    skill: Bound
    gain: Bound
    floored: bool

    @property
    def follows(self) -> bool:
        """Whether the jury surely knows something of what people think; one that never errs does."""
        return self.skill.low > 0 if self.skill.low is not None else self.jury == 0


class JuryCard(msgspec.Struct, frozen=True, kw_only=True):
    """A panel on one criterion.

    `cards` are the members' and the juries' beside people, and, named `chosen`, that of the judge who follows people
    best on *other* conversations; empty where no person rated. `best` is the member that follows people best on the
    same conversations that it is shown on, which flatters it. `complete` counts subjects of which all members have a
    verdict, `incomplete` the others to which the criterion applies.
    """

    criterion: str
    members: list[str]
    sittings: int
    complete: int
    incomplete: int
    cards: list[ReliabilityCard]
    best: str
    chosen: dict[str, int]
    """How often each judge was the best on the other conversations, of the folds."""
    independent: Bound
    """Like how many independent judges the members err, given people's value; of judges that do not follow people it
    says nothing of what they are worth. Where people's own error is not `floored`, it is that many at least."""
    errors: JuryErrors
    """How far the members, and their mean, are from people's value."""
    first: str
    """The system that the mean jury puts first."""
    without: list[Without]
    means: dict[str, dict[str, float]]
    """Rater → system → mean value."""


class Panels(Tabular, msgspec.Struct, frozen=True):
    """The panels of some ratings, criterion by criterion."""

    source: str
    people: list[str]
    panels: list[JuryCard]
    notes: list[str]

    def summary(self) -> list[str]:
        """Say of each criterion how the members and their juries agree with people, the best first."""
        lines = []
        for panel in self.panels:
            cards = sorted(
                panel.cards, key=lambda card: -(card.agreement.value if card.agreement.value is not None else -2.0)
            )
            agreements = [
                f"{card.judge} {bounded(card.agreement.value, card.agreement.low, card.agreement.high)}"
                for card in cards[:3]
            ]
            lines.append(
                f"{panel.criterion}: {', '.join(agreements) or f'{len(panel.members)} judges, nobody to compare with'}"
            )
        members = list(dict.fromkeys(member for panel in self.panels for member in panel.members))
        whom = f"agreement with {named(self.people)}" if self.people else "without people"
        return [
            f"{self.source}: juries of {named(members)}, {whom}",
            *first_of(lines, 6),
            *noted(self.notes),
            ".table has every member and jury.",
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {"criterion": panel.criterion, "rater": rater, "member": rater in panel.members}
            | {"n": card.n if card else None, "missing": card.missing if card else None}
            | estimate_columns({name: card.estimates.get(name, Bound(None)) for name in _SHOWN} if card else {})
            for panel in self.panels
            for cards in [{card.judge: card for card in panel.cards}]
            for rater in dict.fromkeys([*panel.means, *cards])
            for card in [cards.get(rater)]
        ]
