"""What of a long dialogue a judge is shown: what is rated, whole, and as much of the rest as fits.

In this order of right: the turns that are rated and the person's turn before the last of them; the turn in which the
person first says that they are at risk, and the assistant's answer to it; the person's first turn, and an earlier one
that may hint at risk; in up to half of what room is left, the other turns with signs of it; then the newest. Where there
is no sign of risk, all that room is the newest turns'.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.raters.risk_cues import signs
from mindgauge.records import Status
from mindgauge.records.prompt import transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from mindgauge.records import Message, Reply

GAP = 24
"""Tokens set aside for the mark that stands for turns left out."""
WHOLE, TURNS = " (whole dialogue)", " (all turns)"
"""What the name of a model gains where all of its turns are rated together, or where the ratings of all are taken together,
so that no figure mixes these with single turns."""
TOO_LONG = "what is to be rated is longer than the model's context"


class Unit(StrEnum):
    """What of a dialogue is rated at once."""

    TURN = "turn"
    """One of the assistant's turns, as a reply to all before it."""
    DIALOGUE = "dialogue"
    """All of the assistant's turns together."""
    CLIENT = "client"
    """A message of the person, shown without what was answered."""


def status_alone(reply: Reply) -> Status:
    """Return the status of a reply to those who rate single replies; a whole dialogue or a person's message is none."""
    return Status.NOT_APPLICABLE if reply.provenance.get("unit") in {Unit.DIALOGUE, Unit.CLIENT} else reply.status


class Window(msgspec.Struct, frozen=True, dict=True):
    """The turns of a dialogue that are shown; all are counted from 0.

    Where what is rated alone is longer than the budget, everything is shown, and `fits` is false.
    """

    turns_shown: tuple[int, ...] = ()
    turns: int = 0
    first_risk: int | None = None
    """Of a dialogue that is not shown whole: where the person first says that they are at risk, or else hints at it."""
    fits: bool = True

    @property
    def left_out(self) -> tuple[tuple[int, int], ...]:
        """The first and last turn of every gap, counted from 1 as in the transcript."""
        return tuple(_gaps(self.turns_shown, self.turns))

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What a rating says about it; nothing where all was shown."""
        if not self.left_out:
            return {}
        risk = {} if self.first_risk is None else {"first_risk": self.first_risk + 1}
        return {"window": {"left_out": [list(gap) for gap in self.left_out], "turns": self.turns, **risk}}

    def transcript(self, messages: Sequence[Message], nonce: str = "") -> str:
        """Write the shown turns among these first messages as text, each gap marked where it stands."""
        starts = {first - 1: last for first, last in self.left_out}
        paragraphs = []
        numbered = _turns(messages, nonce)
        for place, text in enumerate(numbered):
            if place in self.turns_shown:
                paragraphs.append(text)
            elif place in starts:
                paragraphs.append(f"[turns {place + 1}–{starts[place]} left out{' ' * bool(nonce)}{nonce}]")
        return "\n\n".join(paragraphs)


def _turns(messages: Sequence[Message], nonce: str) -> list[str]:
    """Write every turn as it stands in a transcript, with its number among all of them where there is a nonce."""
    numbers = (f"[{number} {nonce}] " if nonce else "" for number in count(1))
    return [number + transcript((message,)) for number, message in zip(numbers, messages, strict=False)]


def size(*texts: str) -> int:
    """Estimate tokens from above: a third of the bytes fits English (4 a token) and Chinese (3 a character) alike."""
    return sum(len(text.encode()) // 3 + 8 for text in texts)


def window(
    messages: Sequence[Message], budget: float, cost: Callable[[Message], int], rated: Collection[int] = ()
) -> Window:
    """Choose what of a dialogue is shown.

    Args:
        messages: the dialogue, up to and with the last turn that is rated.
        budget: tokens that it may have.
        cost: the tokens of a turn as it is shown.
        rated: the places of the turns that are rated, from 0; the last one if not given.
    """
    turns, costs = len(messages), [cost(message) for message in messages]
    all_places = tuple(range(turns))
    rated = frozenset(rated or all_places[-1:])
    if sum(costs) <= budget:
        return Window(all_places, turns)
    risks = signs([message for place, message in enumerate(messages) if place <= max(rated, default=0)])
    risk = next(iter(risks), None)

    def taken(places: Collection[int]) -> int:
        gaps = sum(1 for _ in _gaps(sorted(places), turns))
        return sum(costs[place] for place in places) + GAP * gaps

    by_person = [place for place, message in enumerate(messages) if message.role == "user"]
    chosen = {*rated, *[place for place in by_person if place < max(rated)][-1:]}
    if taken(chosen) > budget:
        return Window(all_places, turns, risk, fits=False)
    answered = [] if risk is None else [p for p in all_places if p > risk and messages[p].role == "assistant"][:1]
    for place in [*risks[:1], *answered, *by_person[:1], *[early for early in risks[1:2] if early < risks[0]]]:
        chosen = chosen | {place} if taken(chosen | {place}) <= budget else chosen
    half = (taken(chosen) + budget) / 2
    for place in risks[1:]:
        chosen = chosen | {place} if taken(chosen | {place}) <= half else chosen
    for place in reversed(all_places):
        if taken(chosen | {place}) > budget:
            break
        chosen.add(place)
    return Window(tuple(sorted(chosen)), turns, risk)


def _gaps(turns_shown: Sequence[int], turns: int) -> Iterator[tuple[int, int]]:
    """Return the first and last turn of every gap, from 1."""
    return ((before + 2, after) for before, after in pairwise((-1, *turns_shown, turns)) if after - before > 1)
