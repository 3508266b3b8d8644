"""Texts that models might write to make a reader fail, or to make it slow."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCENTS = "\u0316\u0301"
ATOMS = (
    "\n", " ", "\t", "\r\n", "\u2028", '"', "'", "“", "”", "「", "「」", "‘", "«", "{", "}", "{}", "[", "]", "[]", "(", ")", "（", "<", ">", "> ",
    "|", "`", "```\n", "~~~\n", "*", "_", "-", "- ", "−", "+", "#", ".", "..", "…", ".…", "。", "!", "?", ".'", '."', ".)", ",", "，", ":", "：", ";",
    "\\", '\\"', "\\'", "\\u", "\\u0041", "\\n", "\0", "\ud800", "\udc00", "\ufeff", "\u200b", "\u200d", "\ufe0f", "\U000e0041", "\u0301", ACCENTS,
    "\ufdfa", "ﬁ", "Ａ", "９", "٣", "²", "A", "A ", "A.", "A)", "I ", "a", "a ", "a\n", "B\n", "1", "1 ", "1,", "1.", "-1 ", "0x", "9" * 20, "1e9", "5 ",
    "e.g. ", "Dr. ", "No. ", "word ", "answer", "answer ", "Answer: ", "Answer:\n", "answer is ", "final answer:", "答案：", "选项", "我选", "是", "不",
    "I would say ", "the answer is ", "I ", "so ", "yes", "no ", "Yes. ", "minus ", "minus fifty", "NTA ", "attempt ", "total: ", "总分：", "null", "None ",
    "I'm sorry ", "I am sorry, I cannot help ", "as an ai ", "抱歉", "我无法", "helpline ", "error", "nan ", "empty response ", "the reply is ",
    "<think>", "</think>", "</think>\n", "<thinking>", "<reply>", "</reply>", '{"', "{'", '{"a":', "{'a':", '{"a":1}', "{'a':1}", '{"a":1,', '["', "['a'],",
    '["a"', '["a", {{}}]', "{{", "}}", "[[", "[1", "(a", "（甲", "not ", "he kms ", "kms ", "hit me ", "I die ", "she wants to die ", "自杀", "我想死",
    '"Explanation":', ',"Safety":1', '{"Safety":1', '"quotes":[', '{"choice":"B"}', '{"reasoning":"x"}', '{"score":', '"value":', "&", "&#", "&#123;", "&quot;",
    "= ", "@", "=1+1", "1) ", "(1) ", "1|", "\u0e33", "\u1100\u1161", "e\u0301", "\U0001f600",
)  # fmt: skip
"""Pieces; repeated, each of them could make a pattern retry."""
AROUND = (
    ("", ""),
    ('{"score": ', "x"),
    ("answer: ", "x"),
    ("A", "."),
    (".", "x"),
    ("{'a': '", "'}"),
    ("<think>", "</think>\nB"),
    ("> ", '"'),
)
"""What stands before and behind a repeated piece: what makes a pattern begin, and what makes it fail at the end."""
NAMES = (
    "score",
    "warmth",
    "appropriateness",
    "choice",
    "answer",
    "verdict",
    "severity",
    "reasoning",
    "quotes",
    "rationale",
    "checks",
    "value",
    "empathy",
)


def repeated() -> Iterator[tuple[str, str, str]]:
    """Yield piece, beginning and end of texts that could be slow."""
    for atom in ATOMS:
        for before, after in AROUND:
            yield atom, before, after


def long_text(atom: str, before: str, after: str, size: int) -> str:
    """Write a text of about so many characters."""
    return before + (atom * (size // len(atom) + 1))[:size] + after


class Texts:
    """Draws texts, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self) -> str:
        """Draw pieces in any order, or something that is nearly a verdict."""
        chance = self._random
        parts = [self._piece() for _ in range(chance.choice((0, 1, 2, 3, 5, 8, 20, 60)))]
        return "".join(parts)

    def _piece(self) -> str:
        chance = self._random
        kind = chance.random()
        if kind < 0.55:
            return chance.choice(ATOMS) * chance.choice((1, 1, 1, 1, 2, 40))
        if kind < 0.9:
            return self._damaged(self._written(self._value(chance.choice((1, 2, 4)))))
        return "".join(
            chr(chance.choice((chance.randrange(128), chance.randrange(0x3000), chance.randrange(0x110000))))
            for _ in range(6)
        )

    def _value(self, depth: int) -> object:
        chance = self._random
        simple: list[object] = [
            1, 5, -50, 4.0, 1e300, float("nan"), float("inf"), True, None, "", "B", "no", "not_applicable", "\ud800", "x" * 90, 10**30, ACCENTS,
        ]  # fmt: skip
        if not depth or chance.random() < 0.4:
            return chance.choice(simple)
        if chance.random() < 0.3:
            return [self._value(depth - 1) for _ in range(chance.randrange(4))]
        return {chance.choice((*NAMES, *NAMES, *ATOMS)): self._value(depth - 1) for _ in range(chance.randrange(5))}

    def _written(self, value: object) -> str:
        kind = self._random.randrange(4)
        if kind == 0:
            return repr(value)
        return json.dumps(value, ensure_ascii=kind == 1, indent=2 if kind == 2 else None)

    def _damaged(self, text: str) -> str:
        chance = self._random
        if not text or chance.random() < 0.6:
            return text
        place = chance.randrange(len(text))
        return chance.choice(
            (text[:place], text[place:], text[:place] + chance.choice(ATOMS) + text[place + 1 :], text * 2)
        )
