"""A small open benchmark with a chain of reasoning, replies that carry their true levels, and judges with planted faults."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.benchmarks import Benchmark, registry
from mindgauge.benchmarks.metrics import mean_level
from mindgauge.models.scripted import Scripted
from tests.cards import CARD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mindgauge.records import Exchange
    from mindgauge.records.request import Request

RUBRIC = """
id = "care"
version = "1"
source = "ours"
[[criteria]]
name = "warmth"
text.en = "The warmth."
scale = "ordinal"
levels = [{ value = 1, text.en = "cold" }, { value = 2, text.en = "polite" }, { value = 3, text.en = "warm" }]
[[criteria]]
name = "asks"
text.en = "The asks."
scale = "ordinal"
levels = [{ value = "no", text.en = "does not ask" }, { value = "yes", text.en = "asks", needs = ["question"] }]
look.en = "Questions in the reply."
checks = [{ name = "question", ask.en = "Does it ask the person something?" }]
"""
JUDGE = "Judge by the levels.\n{rubric}\n{form}\n{nonce}\n{dialogue}\n{reply}"
Behave = "Callable[[str, int, str, Request], dict[str, Any] | str | Exchange]"


@pytest.fixture
def care(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    folder = tmp_path / "care"
    folder.mkdir()
    for name, text in (("card.toml", CARD), ("rubric.toml", RUBRIC), ("judge.en.md", JUDGE)):
        (folder / name).write_text(text, encoding="utf-8")
    planted = Benchmark.from_folder(folder, metrics=(mean_level,), read=lambda _: [])
    monkeypatch.setattr(registry, "_known", lambda: registry._Known({planted.name: planted}, {}))
    return planted


def chance(*parts: object) -> float:
    """Return a number between 0 and 1 that follows from what it is of."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) / 2**32


def reply(dialogue: int, system: int) -> dict[str, Any]:
    """Write a reply whose true levels stand in it; later systems are warmer."""
    warmth = min(3, 1 + int(chance("w", dialogue, system) * (1.2 + 0.4 * system)))
    asks = "yes" if chance("a", dialogue, system) < 0.5 else "no"
    return {
        "user": f"I feel low, day {dialogue}.", "model": f"s{system}", "reply": f"I hear you [{warmth},{asks}] {dialogue}/{system}.",
        "label.warmth": warmth, "label.asks": asks,
    }  # fmt: skip


def replies_file(path: Path, dialogues: int = 20, systems: int = 6, **change: Any) -> Path:
    rows = [{**reply(d, s), **change} for d in range(dialogues) for s in range(systems)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def method_of(request: Request) -> str:
    text = request.messages[0].content
    return "rule" if "Judge by the levels." in text else "chain" if '"checks"' in text else "general"


def judge(behave: Callable[[str, int, str, Request], Any], name: str = "j") -> Scripted:
    """Return a judge that is told the method, and a reply's true levels, and answers in the method's form."""

    def answer(request: Request) -> str | Exchange:
        method = method_of(request)
        found = re.search(r"\[(\d),(\w+)\]", request.messages[0].content)
        assert found is not None
        said = behave(method, int(found[1]), found[2], request)
        if not isinstance(said, tuple):
            return said if not isinstance(said, dict) else json.dumps(said)
        warmth, asks = said
        if method != "chain":
            return json.dumps({"quotes": ["I hear you"], "rationale": "it says so", "warmth": warmth, "asks": asks})
        reasons: dict[str, Any] = {"quotes": ["I hear you"], "rationale": "it says so", "uncertain": False}
        return json.dumps({
            "warmth": {**reasons, "value": warmth}, "asks": {"checks": {"question": asks}, **reasons, "value": asks},
        })  # fmt: skip

    return Scripted(name, answer)
