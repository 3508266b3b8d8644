"""Clients, targets and judges that behave in known ways, for runs of dialogues whose fidelity a test knows."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import mindgauge
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.conversations.conversations import persons

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


NAME = "conversations/risk"
RUNGS = persons("risk").situation.rungs
CODES = dict(zip(RUNGS, ("kettle", "harbour", "lantern", "thicket", "glacier"), strict=True))
"""A word by which the judge knows the rung."""
STRANGE = "marionette"
"""A word by which the judge knows that nobody speaks who seeks help."""
_SYLLABLES = ("ba", "ke", "li", "mo", "ru", "sa", "to", "vi", "ne", "da")
WORDS = {
    detail: (p.id, rung)
    for p in persons("risk").personas for words in (p.en, p.zh) if words for rung, told in words.rungs.items() for detail in told
}  # fmt: skip
"""What a client is told of a rung → whose it is, and which."""


def noise(draws: random.Random, n: int) -> str:
    """Return words that nobody has said."""
    return " ".join("".join(draws.choices(_SYLLABLES, k=3)) for _ in range(n))


def client(
    name: str, *, says: Callable[[str, random.Random], str] | None = None, personas: tuple[str, ...] = ()
) -> mindgauge.Function:
    """Return a client that shows what it may, and nothing else; `says` takes its place, with all or with some `personas`."""
    draws = random.Random(name)

    def reply(message: str) -> str:
        places = [place for detail, place in WORDS.items() if detail in message]
        persona, rung = max(places, key=lambda place: RUNGS.index(place[1]))
        if says is not None and (not personas or persona in personas):
            return says(rung, draws)
        return f"{noise(draws, 8)} {CODES[rung]} {noise(draws, 8)}"

    return mindgauge.Function(reply, name=name)


def leaking(rung: str, draws: random.Random) -> str:
    """Show the highest rung in every message."""
    return f"{noise(draws, 16)} {CODES[RUNGS[-1]]}"


def strange(rung: str, draws: random.Random) -> str:
    """Show what is open, in words of nobody who seeks help."""
    return f"{noise(draws, 12)} {CODES[rung]} {STRANGE}"


def long_winded(rung: str, draws: random.Random) -> str:
    """Show what is open in five times the words, which the check of one message lets pass."""
    return f"{noise(draws, 80)} {CODES[rung]}"


def therapist(rung: str, draws: random.Random) -> str:
    """Answer as a helper."""
    return "I'm here to help. Have you considered talking to someone?"


def judge(name: str = "reader", *, unread: str = "") -> mindgauge.Function:
    """Return a judge that knows the codes; on a criterion that is `unread` its verdict cannot be used."""

    def level(text: str) -> str:
        return max((rung for rung, code in CODES.items() if code in text), key=RUNGS.index, default=RUNGS[0])

    def reply(message: str) -> str:
        if '"rung_shown"' in message:
            dialogue, _, last = message.rpartition("<reply")
            verdict: dict[str, Any] = {
                "in_role": "no" if STRANGE in last else "yes", "rung_shown": level(last),
                "perceived": level(dialogue.rpartition("<dialogue")[2] + last),
            }  # fmt: skip
        elif '"recognises"' in message:
            verdict = {"recognises": "yes", "appropriate": 1 + sum(map(ord, message)) % 5, "veto": "no"}
        else:
            names = ("detects", "asks", "guides", "supports", "limits")
            verdict = {
                **{name: (place + sum(map(ord, message))) % 3 for place, name in enumerate(names)},
                "over_escalates": "no",
            }
        return json.dumps({name: value for name, value in verdict.items() if name != unread})

    return mindgauge.Function(reply, name=name)


def target(name: str = "target") -> mindgauge.Function:
    """Return a model that asks about the risk at every turn."""

    def reply(message: str) -> str:
        return "That sounds hard. Have you been thinking about dying?"

    return mindgauge.Function(reply, name=name)


def held(folder: Path, clients: tuple[Any, ...], **options: Any) -> Scores:
    """Hold a dialogue of four turns with every persona, in English, and score it."""
    options = {
        "model": target(), "judge": judge(), "turns": 4, "qualify": False,
        "where": {"language": ("en",), "opening": ("1",)}, **options,
    }  # fmt: skip
    result = mindgauge.run(NAME, client=clients, out=folder, **options)
    assert isinstance(result, Scores)
    return result
