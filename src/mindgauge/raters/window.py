"""What of a long dialogue a judge is shown: what is rated, whole, and as much of the rest as fits.

In this order of right: the turns that are rated and the person's turn before the last of them; the turn in which the
person first says that they are at risk, and the assistant's answer to it; the person's first turn, and an earlier one
that may hint at risk; in up to half of what room is left, the other turns with signs of it; then the newest. Where there
is no sign of risk, all that room is the newest turns'.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from threading import get_ident
from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.raters.risk_cues import cue, hint, ranked
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
        return () if len(self.turns_shown) == self.turns else tuple(_gaps(self.turns_shown, self.turns))

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What a rating says about it; nothing where all was shown."""
        if not self.left_out:
            return {}
        risk = {} if self.first_risk is None else {"first_risk": self.first_risk + 1}
        return {"window": {"left_out": [list(gap) for gap in self.left_out], "turns": self.turns, **risk}}

    def transcript(self, messages: Sequence[Message], nonce: str = "") -> str:
        """Write the shown turns among these first messages as text, each gap marked where it stands."""
        if not self.left_out:
            return transcript(messages, nonce)
        ends = {first - 1: last for first, last in self.left_out}
        paragraphs = []
        for place in sorted((*self.turns_shown, *ends)):
            if place >= len(messages):
                break
            if place in ends:
                paragraphs.append(f"[turns {place + 1}–{ends[place]} left out{' ' * bool(nonce)}{nonce}]")
            else:
                paragraphs.append(f"[{place + 1} {nonce}] " * bool(nonce) + transcript((messages[place],)))
        return "\n\n".join(paragraphs)


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
    turns = len(messages)
    rated = rated or range(turns)[-1:]
    last = max(rated, default=0)
    measured = _measured(cost, tuple(messages[:2]), get_ident()).extended(messages)
    if measured.sums[turns] <= budget:
        return Window(tuple(range(turns)), turns)
    risks = measured.signs(last)
    risk = next(iter(risks), None)
    by_person = measured.by_person[: bisect_left(measured.by_person, turns)]
    before = by_person[: bisect_left(by_person, last)]
    chosen = _TurnSelection(measured.sums, turns)
    for place in (*rated, *before[-1:]):
        chosen.take(place, math.inf)
    if chosen.tokens > budget:
        return Window(tuple(range(turns)), turns, risk, fits=False)
    answered = () if risk is None else (p for p in range(risk + 1, turns) if messages[p].role == "assistant")
    earlier = [early for early in risks[1:2] if early < risks[0]]
    for place in (*risks[:1], *islice(answered, 1), *by_person[:1], *earlier):
        chosen.take(place, budget)
    half = (chosen.tokens + budget) / 2
    for place in risks[1:]:
        chosen.take(place, half)
    for place in reversed(range(turns)):
        if not chosen.take(place, budget):
            break
    return Window(tuple(sorted(chosen.places)), turns, risk)


class _TurnSelection:
    """The turns that are shown, and their tokens with the marks of the gaps between them."""

    def __init__(self, sums: Sequence[int], turns: int) -> None:
        self._sums, self._turns = sums, turns
        self.places: set[int] = set()
        self.tokens = GAP

    def take(self, place: int, room: float) -> bool:
        """Choose a turn, where there is room for it and for the marks of gaps that it splits, less those that it closes."""
        if place in self.places:
            return True
        gaps = sum(0 <= beside < self._turns and beside not in self.places for beside in (place - 1, place + 1))
        tokens = self.tokens + self._sums[place + 1] - self._sums[place] + GAP * (gaps - 1)
        if tokens > room:
            return False
        self.places.add(place)
        self.tokens = tokens
        return True


class _Measured:
    """What is counted of a dialogue once, for all of its beginnings: sums of costs, who speaks where, signs of risk."""

    def __init__(self, cost: Callable[[Message], int]) -> None:
        self._cost = cost
        self._messages: list[Message] = []
        self._graded = 0
        self.sums, self.by_person = [0], list[int]()
        self._plain, self._hinted = list[int](), list[int]()

    def extended(self, messages: Sequence[Message]) -> _Measured:
        """Count what is new. The last message may have been another: a person's, as a reply that is rated."""
        wanted = [*messages]
        limit = min(len(wanted), len(self._messages))
        same = next((n for n in (limit, limit - 1) if self._messages[:n] == wanted[:n]), 0) if limit else 0
        if same < limit:
            for places in (self.by_person, self._plain, self._hinted):
                del places[bisect_left(places, same) :]
            del self._messages[same:], self.sums[same + 1 :]
            self._graded = min(self._graded, same)
        for message in wanted[len(self._messages) :]:
            if message.role == "user":
                self.by_person.append(len(self._messages))
            self.sums.append(self.sums[-1] + self._cost(message))
            self._messages.append(message)
        return self

    def signs(self, last: int) -> list[int]:
        """Return the places of signs of risk up to a turn, those that matter most first."""
        for place in self.by_person[bisect_left(self.by_person, self._graded) :]:
            text = self._messages[place].content
            if cue(text):
                self._plain.append(place)
            elif hint(text):
                self._hinted.append(place)
        self._graded = len(self._messages)
        return ranked(*(places[: bisect_right(places, last)] for places in (self._plain, self._hinted)))


@lru_cache(64)
def _measured(cost: Callable[[Message], int], opening: tuple[Message, ...], thread: int) -> _Measured:  # noqa: ARG001 - the keys
    return _Measured(cost)


def _gaps(turns_shown: Sequence[int], turns: int) -> Iterator[tuple[int, int]]:
    """Return the first and last turn of every gap, from 1."""
    return ((before + 2, after) for before, after in pairwise((-1, *turns_shown, turns)) if after - before > 1)
