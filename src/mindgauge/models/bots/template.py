"""What is sent to a bot and read from it: templates with placeholders, and places in an answer.

A template is filled in one pass, so that words of a person that look like a placeholder stay words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlsplit

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.records import Message

MESSAGE, MESSAGES, CONVERSATION = "message", "messages", "conversation"
PLACEHOLDERS = (MESSAGE, MESSAGES, CONVERSATION)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")
"""`{{word}}` stands for the word in braces."""
_STEP = re.compile(r"""\[(-?\d+)\]|\[(?:"([^"\]]+)"|'([^'\]]+)')\]|\.?([^.\[\]"']+)""")
Place: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the outside in."""


class Filling(NamedTuple):
    """What the placeholders stand for in one call."""

    message: str
    messages: list[dict[str, str]]
    conversation: str

    def text(self, name: str) -> str:
        """Return what stands within a longer text; the list of messages there as JSON."""
        return msgspec.json.encode(self.messages).decode() if name == MESSAGES else str(getattr(self, name))

    def body(self, template: Any) -> Any:
        """Fill a template of JSON; a string that is nothing but `{messages}` becomes the list."""
        if isinstance(template, dict):
            return {key: self.body(value) for key, value in template.items()}
        if isinstance(template, list):
            return [self.body(value) for value in template]
        if template == f"{{{MESSAGES}}}":
            return self.messages
        return self._filled(template) if isinstance(template, str) else template

    def url(self, template: str) -> str:
        """Fill an address; what is put in is escaped.

        Raises:
            ValueError: it leads out of the template's path, as `.` and `..` do however they are escaped; or holds half a character.
        """
        address = _PLACEHOLDER.sub(
            lambda part: quote(f"{{{part[1]}}}" if part[1] else self.text(part[2]), safe=""), template
        )
        if _turns(address) != _turns(template):
            raise ValueError(f"{self.conversation[:20]!r} leads out of the path {urlsplit(template).path}")
        return address

    def _filled(self, template: str) -> str:
        return _PLACEHOLDER.sub(lambda part: f"{{{part[1]}}}" if part[1] else self.text(part[2]), template)


def _turns(address: str) -> int:
    """Count the parts of an address's path that lead elsewhere than below it."""
    return sum(unquote(part) in {".", ".."} for part in urlsplit(address).path.split("/"))


def listed(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return messages as chat programs write them."""
    return [{"role": message.role, "content": message.content} for message in messages]


def named(template: Any) -> set[str]:
    """Return the placeholders of a template."""
    return {name for text in strings(template) for _, name in _PLACEHOLDER.findall(text) if name}


def strings(template: Any) -> Iterator[str]:
    """Return all strings of a template, keys aside."""
    if isinstance(template, dict | list):
        for value in template.values() if isinstance(template, dict) else template:
            yield from strings(value)
    elif isinstance(template, str):
        yield template


# -- places in an answer -------------------------------------------------------------------------------------------------


def place(text: str) -> Place:
    """Read a place: `data.reply.text`, `choices[0].message.content`, `["a key.with dots"][-1]`.

    Raises:
        ValueError: it is none.
    """
    steps: list[str | int] = []
    position = 0
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None or (position == 0 and text.startswith(".")):
            break
        index, *keys = step.groups()
        steps.append(int(index) if index is not None else next(key for key in keys if key is not None))
        position = step.end()
    if not steps or position < len(text):
        raise ValueError(f"{text!r} is no place; write it like data.reply.text or choices[0].message.content")
    return tuple(steps)


def at(answer: Any, steps: Place) -> Any:
    """Return what stands at a place of an answer.

    Raises:
        LookupError: nothing does.
    """
    for step in steps:
        fits = isinstance(answer, list) if isinstance(step, int) else isinstance(answer, dict)
        if not fits:
            raise LookupError(step)
        answer = answer[step]
    return answer
