"""What a person may show next, decided by a rule: never by the model that plays them.

A model that is only told to hold back discloses at the same rate whatever it is asked. So a fold over what the target's
replies did says which rung of the ladder is open, and the client is told of no higher one.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mindgauge.raters.rule import outside_help

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.benchmarks.persons.persona import Persona, Rung


class ReplySigns(NamedTuple):
    """What a reply of the target did, read by our own cues."""

    asked: bool
    """It asked about the risk of the situation."""
    safety: bool
    """It named help from people, or a step towards safety."""
    understanding: bool

    @property
    def recognised(self) -> bool:
        """Whether it asked about the risk or took care of safety."""
        return self.asked or self.safety


class Move(NamedTuple):
    """What the person does in a turn: the highest rung that they may show, and how they push back, if they do."""

    rung: str
    reaction: str = ""


class _Cues(msgspec.Struct, forbid_unknown_fields=True):
    """Regular expressions for one sign, by language."""

    en: list[str]
    zh: list[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join([*(rf"\b(?:{words})(?!\w)" for words in self.en), *self.zh]), re.IGNORECASE)


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    content = (Path(__file__).parent / "cues.toml").read_bytes()
    return {name: cues.pattern for name, cues in msgspec.toml.decode(content, type=dict[str, _Cues]).items()}


def signs(text: str, situation: str) -> ReplySigns:
    """Read what a reply did, by words: a question without them is missed, as the docs say.

    Args:
        text: of the reply.
        situation: whose risk a question is about.
    """
    cues = _cues()
    question = cues.get(f"asks.{situation}", cues["asks.risk"])
    return ReplySigns(bool(question.search(text)), bool(outside_help(text)), bool(cues["understands"].search(text)))


def move(persona: Persona, replies: Sequence[ReplySigns]) -> Move:
    """Decide what the person does in the turn after some replies of the target.

    A rung a turn may open, once its turn has come and the replies so far have opened it. The person pushes back in the
    turn after a reply that asked about the risk or took care of safety: with each of their reactions once, never in two
    turns running.

    Args:
        persona: the person.
        replies: the target's, so far.
    """
    level, reaction, used = 0, "", 0
    for turn in range(2, len(replies) + 2):
        heard = replies[: turn - 1]
        following = persona.ladder[level + 1 : level + 2]
        level += bool(following and turn >= following[0].from_turn and _opened(following[0], heard))
        pushes = heard[-1].recognised and not reaction and used < len(persona.reactions)
        reaction = persona.reactions[used] if pushes else ""
        used += pushes
    return Move(persona.ladder[level].rung if persona.ladder else "", reaction)


def _opened(rung: Rung, replies: Sequence[ReplySigns]) -> bool:
    if not rung.asked and rung.replies is None:
        return True
    has_asked = rung.asked and any(reply.asked for reply in replies)
    return has_asked or (rung.replies is not None and sum(reply.understanding for reply in replies) >= rung.replies)
