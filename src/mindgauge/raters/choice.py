"""Which option a model chose, read from what it wrote: by rule, and never by guessing.

An article is no choice: a lone `A` or `I` that begins a sentence is a word of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mindgauge.raters.objects import DOUBLED, after_thinking, json_objects

if TYPE_CHECKING:
    from collections.abc import Iterable

KEYS = ("choice", "answer")
"""The keys of a JSON object under which a letter is looked for, the first that is there."""
_ANSWER = re.compile(r"(?im)^\W*(?:final answer|answer|choice|答案|选项)\s*(?:is|[:：])\s*\W*(?-i:([A-Z]))(?![\w'’])")
_FIRST = re.compile(r"[\W_]*([A-Z])(?![A-Za-z0-9]|['’-]\w)")
_LAST = re.compile(r"(?<![A-Za-z0-9'’-])([A-Z])(?:[^\w{}]|_)*$")
_WORD = re.compile(r"[\W_]*[AI] +(?!(?:and|or|because|since|is)\b)[a-z]")
_OPTION = re.compile(r"\W*([A-Za-z])(?:\W*|\s*[.):：].*)", re.DOTALL)


def choice(text: str, letters: str) -> str | None:
    """Read which option a model chose; None where it is none of them, or not clear.

    In this order: the JSON objects with `choice` or `answer` (a small letter will do there); then as in `lone_letter`.
    Two different letters at the same step are no answer.

    Args:
        text: what the model wrote; its marked thinking does not count.
        letters: the options that there are, `ABCD`.
    """
    told = after_thinking(text)
    found = _told((_chosen(one.value) for one in json_objects(told) if one.value is not None), letters)
    return _one(found) if found else lone_letter(told, letters)


def lone_letter(text: str, letters: str) -> str | None:
    """Read the option letter of an answer without JSON; None where there is none, or two different ones.

    In this order: lines `answer: X`; a capital that stands alone at the start of the first line or the end of the last.

    Args:
        text: what the model wrote.
        letters: the options that there are, `ABCD`.
    """
    return next(
        (_one(found) for step in (_ANSWER.findall(text), _alone(text)) if (found := _told(step, letters))), None
    )


def _told(found: Iterable[str | None], letters: str) -> set[str]:
    return {letter for letter in found if letter and letter in letters}


def _one(found: set[str]) -> str | None:
    return found.copy().pop() if len(found) == 1 else None


def _chosen(value: dict[str, Any]) -> str | None:
    told = next((value[key] for key in KEYS if key in value), None)
    letter = _OPTION.fullmatch(told) if isinstance(told, str) and DOUBLED not in value else None
    return letter[1].upper() if letter else None


def _alone(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    first = None if _WORD.match(lines[0]) else _FIRST.match(lines[0])
    return [letter[1] for letter in (first, _LAST.search(lines[-1])) if letter]
