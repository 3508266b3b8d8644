"""An item as one text, for tools that show one, and where marked words stand in it. Places count characters from 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.raters.quotes import DIALOGUE, REPLY
from mindgauge.records import Evidence
from mindgauge.records.prompt import transcript

if TYPE_CHECKING:
    from mindgauge.annotation.records import Item

_REPLY = "\n\nReply: "


def dialogue(item: Item) -> str:
    """Return the dialogue, one speaker a paragraph."""
    return transcript(item.messages)


def whole(item: Item) -> str:
    """Return the dialogue and the reply to it, where the question is about one."""
    return f"{dialogue(item)}{_REPLY}{item.reply}" if item.reply else dialogue(item)


def place(item: Item, mark: Evidence) -> tuple[int, int] | None:
    """Return where marked words begin and end in the whole text; None where they do not stand in it letter for letter."""
    begin = len(whole(item)) - len(item.reply)
    if mark.source != DIALOGUE and item.reply and (start := item.reply.find(mark.quote)) >= 0:
        return begin + start, begin + start + len(mark.quote)
    start = -1 if mark.source == REPLY else dialogue(item).find(mark.quote)
    return None if start < 0 else (start, start + len(mark.quote))


def marked(item: Item, start: int, end: int) -> Evidence | None:
    """Return what stands between two places of the whole text; None where that is nothing."""
    text = whole(item)
    if not 0 <= start < end <= len(text):
        return None
    inside = item.reply and start >= len(text) - len(item.reply)
    return Evidence(text[start:end], source=REPLY if inside else DIALOGUE)
