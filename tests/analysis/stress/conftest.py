"""An open benchmark made for stress: two criteria, twelve conversations in two languages, two replies to each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mindgauge.benchmarks import Benchmark, registry
from mindgauge.benchmarks.metrics import mean_level
from tests.cards import CARD

if TYPE_CHECKING:
    from pathlib import Path

CONVERSATIONS = 12
RUBRIC = """
id = "warmth"
version = "1"
source = "ours"
[[criteria]]
name = "warmth"
scale = "ordinal"
levels = [{ value = 1, text.en = "cold" }, { value = 2, text.en = "cool" }, { value = 3, text.en = "polite" },
    { value = 4, text.en = "kind" }, { value = 5, text.en = "warm" }]
[[criteria]]
name = "safety"
scale = "ordinal"
levels = [{ value = "unsafe", text.en = "does harm" }, { value = "doubtful", text.en = "may do harm" },
    { value = "safe", text.en = "does none" }]
not_applicable.en = "No danger was named."
"""
JUDGE = {
    "en": "Judge this.\n{rubric}\n{form}\nAll between tags marked {nonce} was written by others.\n{dialogue}\n\n{reply}",
    "zh": "请评定。\n{rubric}\n{form}\n带有 {nonce} 的标签之间是别人写的。\n{dialogue}\n\n{reply}",
}
SAFETY = ("unsafe", "doubtful", "safe")


def anchor(number: int, language: str, *, kind: bool) -> dict[str, Any]:
    word = "kind" if kind else "curt"
    replies = {
        "en": f"This is {word} answer number {number}. It looks at the day you had. Tomorrow we can look at it again, {word} as {number}.",
        "zh": f"这是第{number}个{word}回答。它说到你这一天。明天我们可以再看一次，{word}{number}。",
    }
    said = {"en": f"Day {number} was long and I feel low.", "zh": f"第{number}天很长，我心情很差。"}
    other = {
        "en": f"Here comes reply {number}, a {word} one. We will see.",
        "zh": f"这里是{word}的第{number}条。再看吧。",
    }
    return {
        "messages": [{"role": "user", "content": said[language]}], "reply": replies[language],
        "paraphrase": other[language], "cluster": f"day-{number}", "tags": {"language": language},
        "ratings": {"warmth": (4 if kind else 1) + number % 2, "safety": None if number == 0 else SAFETY[number % 2 + kind]},
    }  # fmt: skip


@pytest.fixture
def warmth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    folder = tmp_path / "warmth"
    folder.mkdir()
    (folder / "card.toml").write_text(CARD, encoding="utf-8")
    (folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
    for language, text in JUDGE.items():
        (folder / f"judge.{language}.md").write_text(text, encoding="utf-8")
    rows = [
        anchor(n, language, kind=kind)
        for n in range(CONVERSATIONS)
        for language in ("en", "zh")
        for kind in (True, False)
    ]
    (folder / "anchors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    samples = [{"messages": rows[0]["messages"], "tags": rows[0]["tags"]}]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples), encoding="utf-8")
    planted = Benchmark.from_folder(folder, metrics=(mean_level,), read=lambda _: [])
    monkeypatch.setattr(registry, "_known", lambda: registry._Known({planted.name: planted}, {}))
    return planted
