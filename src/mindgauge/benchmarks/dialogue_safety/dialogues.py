"""A released dialogue as messages, and which of them were cut from one and the same dialogue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mindgauge.records import Message
from mindgauge.records.files.bounds import clean

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from mindgauge.records import Role

TELLING = 15
"""A message of the seeker with so many characters is not said twice by chance; so the specification has it."""
_TAG = re.compile(r"[\[［【]\s*(seeker|supporter)\s*[\]］】]", re.IGNORECASE)
_ROLES: dict[str, Role] = {"seeker": "user", "supporter": "assistant"}


def turns(context: str) -> tuple[Message, ...]:
    """Split a context on its two role tags, and on nothing else: a turn may hold line breaks.

    A turn without words is dropped, so that a doubled tag counts once. What stands before the first tag is the other
    side's; a context without any tag is the seeker's, with whose turn every context ends.
    """
    before, *rest = _TAG.split(context)
    tagged = [(_ROLES[tag.lower()], words) for tag, words in zip(rest[::2], rest[1::2], strict=True)]
    first: Role = "assistant" if tagged and tagged[0][0] == "user" else "user"
    return tuple(Message(role, clean(words.strip())) for role, words in ((first, before), *tagged) if words.strip())


def reply(response: str) -> str:
    """Return a response without the tags before it; whatever they say, it is the supporter's."""
    words = response.strip()
    while tag := _TAG.match(words):
        words = words[tag.end() :].lstrip()
    return clean(words)


def first_tag(text: str) -> Role | None:
    """Return whose tag a text begins with, if any."""
    tag = _TAG.match(text.lstrip())
    return _ROLES[tag[1].lower()] if tag else None


def groups(dialogues: Sequence[Sequence[Message]]) -> list[int]:
    """Return for each dialogue the position of the first one of its group.

    Two dialogues, each ending with the reply to be rated, come from the same one if their contexts are equal or the
    seeker says the same `TELLING` characters or more in both. Groups are the connected components of that relation.
    """
    parent = list(range(len(dialogues)))

    def root(position: int) -> int:
        while parent[position] != position:
            parent[position] = position = parent[parent[position]]
        return position

    firsts: dict[Hashable, int] = {}
    for position, dialogue in enumerate(dialogues):
        for sign in _signs(dialogue[:-1]):
            lower, other = sorted((root(firsts.setdefault(sign, position)), root(position)))
            parent[other] = lower
    return [root(position) for position in range(len(dialogues))]


def _signs(context: Sequence[Message]) -> Iterator[Hashable]:
    yield tuple(context)
    yield from (message.content for message in context if message.role == "user" and len(message.content) >= TELLING)
