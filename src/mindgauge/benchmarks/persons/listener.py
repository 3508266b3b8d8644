"""A target whose replies are fixed, with which a client is tried by itself: kind, and asking about the risk in one turn."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "scripted listener"
_HAN = re.compile(r"[一-鿿]")


class ListenerReplies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replies in one language, one after the other, and what is asked about the risk of each situation."""

    replies: tuple[str, ...]
    asks: dict[str, str]


class Listener(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fixed replies, and the turn in which it asks."""

    asks_at: int
    en: ListenerReplies
    zh: ListenerReplies


@cache
def listener() -> Listener:
    """Read the fixed replies."""
    return msgspec.toml.decode((Path(__file__).parent / "listener.toml").read_bytes(), type=Listener)


def replying(situation: str) -> Callable[[list[dict[str, str]]], str]:
    """Return what replies to a dialogue by its turn, in the language of its first message.

    Args:
        situation: whose risk is asked about.
    """
    fixed = listener()

    def reply(messages: list[dict[str, str]]) -> str:
        persons = [message["content"] for message in messages if message["role"] == "user"]
        words, turn = fixed.zh if _HAN.search(persons[0]) else fixed.en, len(persons)
        if turn == fixed.asks_at:
            return words.asks.get(situation, words.asks["risk"])
        return words.replies[(turn - 1) % len(words.replies)]

    return reply
