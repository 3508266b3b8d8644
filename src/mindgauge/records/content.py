"""What stands in a message: text in one piece or in parts, and what a model thought apart from what it said.

OpenAI, Anthropic and Inspect write `[{"type": "text", "text": …}, …]`, OpenTelemetry `[{"type": "text", "content": …}, …]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_SPOKEN = {"text", "input_text", "output_text", "refusal", ""}
_THOUGHT = {"reasoning", "thinking", "redacted_thinking", "reasoning_text", "summary_text", "reasoning.text", "reasoning.summary"}  # fmt: skip
_KEYS = ("text", "content", "value", "thinking", "reasoning", "refusal")
"""Where the text of a part stands, in the order in which they are looked for."""


class MessageContent(NamedTuple):
    """The texts that are said and those that are only thought, in their order; `others` counts parts that are no text."""

    texts: list[str]
    reasoning: list[str]
    others: int = 0

    def text(self, joint: str = "\n\n") -> str:
        """What is said, its parts put together."""
        return joint.join(self.texts)


def read(content: object) -> MessageContent | None:
    """Read the content of a message; None where it is no text, no part and no list of parts."""
    if content is None:
        return MessageContent([], [])
    if isinstance(content, str):
        return MessageContent([content], [])
    if isinstance(content, dict):
        parts = content.get("parts")
        content = parts if isinstance(parts, list) else [content]
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    reasoning: list[str] = []
    others = 0
    for part in content:
        kind, text = _part(part)
        if text is None or kind not in {*_SPOKEN, *_THOUGHT}:
            others += part is not None
        else:
            (texts if kind in _SPOKEN else reasoning).append(text)
    return MessageContent(texts, reasoning, others)


def thought(value: object, deep: int = 5) -> str:
    """Return what a model thought, as its server sends it: a text, a part with one or with a summary, or a list of these."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and deep:
        return "\n\n".join(filter(None, (thought(part, deep - 1) for part in value)))
    if isinstance(value, dict) and deep and value.get("redacted") is not True:  # Inspect's mark of reasoning in cipher
        return next(filter(None, (thought(value.get(key), deep - 1) for key in (*_KEYS, "summary"))), "")
    return ""


def _part(part: object) -> tuple[str, str | None]:
    """Return the kind of a part, and its text if it has any."""
    if isinstance(part, str):
        return "", part
    if not isinstance(part, dict):
        return "", None
    kind = str(part.get("type") or part.get("kind") or "")
    text = None if part.get("redacted") is True else _text(part)
    return kind, (thought(part) or text) if kind in _THOUGHT and not text else text


def _text(part: Mapping[str, Any]) -> str | None:
    for key in _KEYS:
        value = part.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and isinstance(value.get("value"), str):
            return str(value["value"])
    return None
