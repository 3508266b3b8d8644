"""How long a card holds: by rule from the answers' age, and no longer than what it is about stays as it is."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.english import lowered, named
from mindgauge.reports.evaluation_card.records import Validity

if TYPE_CHECKING:
    from collections.abc import Sequence

LASTS = 180
"""Days from the oldest answer: a convention of ours, since models, products and what people write about change."""
_SOONER = (
    "It ends at once when a model, an instrument or the messages change: their builds and hashes stand on this card."
)


class AnswerDates(NamedTuple):
    """When a system's answers were made; None where the run does not say."""

    system: str
    first: datetime.date | None
    last: datetime.date | None


def validity(
    answers: Sequence[AnswerDates], changed: Sequence[str], owners: datetime.date | None, today: datetime.date
) -> Validity:
    """Say until when a card holds.

    Args:
        answers: of each system.
        changed: the benchmarks whose instrument is no longer the one that rated.
        owners: the day that the owner set, if any.
        today: in UTC.
    """
    if changed:
        return Validity(
            "expired",
            "",
            f"The instrument of {named(list(changed))} has changed since it rated these replies. {_SOONER}",
        )
    undated = [entry.system for entry in answers if entry.first is None]
    known = [entry.first for entry in answers if entry.first is not None]
    by_rule = min(known) + datetime.timedelta(days=LASTS) if known and not undated else None
    days = [day for day in (owners, by_rule) if day is not None]
    if not days:
        whose = f"when {named(undated)} answered is not recorded" if undated else "nothing was measured"
        return Validity(
            "undated",
            "",
            f"No day can be given: {whose}. The card speaks of what was rated, and of no system in use. {_SOONER}",
        )
    ends = min(days)
    rule = f"The rule is {LASTS} days from the oldest answer"
    if owners is None:
        because = rule
    elif by_rule is None:
        because = f"The owner set this day; {lowered(rule)}, which gives none, since not all answers are dated"
    elif owners <= by_rule:
        because = f"The owner set this day; {lowered(rule)}, {by_rule}"
    else:
        because = f"{rule}; the owner set {owners}, and a later day than the rule’s does not count"
    return Validity("expired" if ends < today else "valid", ends.isoformat(), f"{because}. {_SOONER}")
