"""Finding objects in what a model wrote: JSON, or dictionaries as Python writes them, read as literals and never run.

Whatever a model writes, the work grows with its length and nothing is raised.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from mindgauge.raters import notation

LONGEST = 64 * 1024
"""Characters of an answer; a longer one is not looked at for objects, and is no verdict."""
_THOUGHT = re.compile(r"\s*+<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSED = re.compile(r"</think(?:ing)?>[ \t]*+(?:[\r\n]++|\Z)", re.IGNORECASE)
HOLE = "…"
"""What stands in the place of an object that was taken out."""
CLOSING = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FIRST = re.compile(r"\{\s*+(')?")
_JSON_PIECE = re.compile(r'"(?:[^"\\]|\\.)*+("?)|[{}]', re.DOTALL)
_PYTHON_PIECE = re.compile(r"""'(?:[^'\\]|\\.)*+('?)|"(?:[^"\\]|\\.)*+("?)|[{}]""", re.DOTALL)


class JsonObject(NamedTuple):
    """An object and the span of text that it stands in; no value where it is broken, or breaks off."""

    start: int
    end: int
    value: dict[str, Any] | None
    breaks_off: bool = False


def after_thinking(text: str) -> str:
    """Return what follows a model's marked thinking; empty where nothing does, the text as it is without such marks."""
    if opening := _THOUGHT.match(text):
        closing = re.compile(f"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
        text = text[closing.end() :] if closing else ""
    # Some servers send only the closing mark. A line break after it cannot stand inside JSON.
    last = None
    for last in _CLOSED.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    return text[last.end() :] if last else text


def objects(text: str) -> list[JsonObject]:
    """Return the outermost objects in the order of the text, each that is broken or breaks off among them.

    What stands inside another pair of braces is no object of its own, whether that other one can be read or not. After
    one that breaks off nothing is looked for.
    """
    parts: list[JsonObject] = []
    place = 0
    while (start := text.find("{", place)) >= 0:
        strict = notation.begun(text, start)
        if strict is not None:  # it ends where its braces do
            parts.append(JsonObject(start, strict[1], strict[0]))
            place = strict[1]
            continue
        end = _closing(text, start)
        if end is None:
            parts.append(JsonObject(start, len(text), None, breaks_off=True))
            break
        parts.append(JsonObject(start, end, _value(text[start:end])))
        place = end
    return parts


def without(text: str, parts: list[JsonObject]) -> str:
    """Return a text with `HOLE` in the place of each object."""
    pieces, place = [], 0
    for part in parts:
        pieces += [text[place : part.start], HOLE]
        place = part.end
    return "".join([*pieces, text[place:]])


def _closing(text: str, start: int) -> int | None:
    """Return where the braces that open here are closed, those within strings aside; None if they are not."""
    first = _FIRST.match(text, start)
    pieces = _PYTHON_PIECE if first and first[1] else _JSON_PIECE
    depth = 0
    for piece in pieces.finditer(text, start):
        if piece[0] == "{":
            depth += 1
        elif piece[0] == "}":
            depth -= 1
            if depth == 0:
                return piece.end()
        elif not any(piece.groups()):  # a string that never ends
            return None
    return None


def _value(text: str) -> dict[str, Any] | None:
    try:
        value = notation.read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
