"""A dialogue of several turns as it is read: turn by turn, numbered, each message with the side that it is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.raters.window import Unit

if TYPE_CHECKING:
    from mindgauge.annotation.records import Item


class Line(NamedTuple):
    """One message; `hidden` stands for what was answered and is not shown."""

    side: str
    """`user`, `assistant` or `system`."""
    text: str
    hidden: bool = False


class ShownTurn(NamedTuple):
    """A message of the person, and what was answered; number 0 has what came before the person spoke."""

    number: int
    lines: list[Line]


def in_turns(item: Item) -> list[ShownTurn]:
    """Return the turns of an item's dialogue, without a reply or message that is judged by itself."""
    turns: list[ShownTurn] = []
    number = 0
    for message in item.messages:
        if message.role == "user":
            number += 1
        if not turns or turns[-1].number != number:
            turns.append(ShownTurn(number, []))
        turns[-1].lines.append(Line(message.role, message.content))
        if item.unit == Unit.CLIENT:
            turns[-1].lines.append(Line("assistant", "", hidden=True))
    return turns
