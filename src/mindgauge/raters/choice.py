"""Which option a model chose, read from what it wrote: by rule, and never by guessing.

An article is no choice: a lone `A` or `I` that begins a sentence is a word of it. A letter that the answer quotes, or
turns down, is none either.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mindgauge.raters.echo import NOTHING, Shown, unlined, unquoted
from mindgauge.raters.notation import DOUBLED
from mindgauge.raters.objects import after_thinking, objects, without

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KEYS = ("choice", "answer")
"""The keys of a JSON object under which a letter is looked for, the first that is there."""
_ANSWER = re.compile(r"[\W_]*+(?i:final answer|answer|choice|答案|选项)[\s*_]*+(?i:is\b|[:：])")
_LETTER = re.compile(r"[\W_]*+([A-Z])(?![\w'’])")
_FIRST = re.compile(r"[\W_]*+([A-Z])(?![A-Za-z0-9]|['’-]\w)")
_LAST = re.compile(r"(?<![A-Za-z0-9'’-])([A-Z])(?:[^\w{}]|_)*+\Z")
_LEADS_TO_IT = re.compile(
    r"(?i:\b(?:is|are|be|choose|chose|pick|select|with|for|answer|option|choice|say|prefer|recommend|go)|选择?|是|为|答案|选项)"
    r"[\s:：*_(\"“'「]*+\Z"
)
_NOT = re.compile(
    r"(?i:\b(?:not|never|no|neither|nor|none|except|rather than|instead of|anything but|refus\w*|declin\w*|wrong|cannot)\b|n['’]t\b)"
    r"|[不别非否]"
)
_ENDS = ".!?;。！？；"
_WORD = re.compile(r"[\W_]*+[AI] +(?!(?:and|or|because|since|is)\b)[a-z]")
_OPTION = re.compile(r"\W*([A-Za-z])(?:\W*|\s*[.):：].*)", re.DOTALL)


def choice(text: str, letters: str) -> str | None:
    """Read which option a model chose; None where it is none of them, or not clear.

    In this order: the JSON objects with `choice` or `answer` (a small letter will do there); then as in `lone_letter`.
    Two different letters are no answer, whether they stand in objects or in a line `answer: X`, and neither is an object
    that is broken.

    Args:
        text: what the model wrote; its marked thinking does not count.
        letters: the options that there are, `ABCD`.
    """
    answer = unlined(after_thinking(text))
    parts = objects(answer)
    if any(part.value is None and _names_one(answer[part.start : part.end]) for part in parts):
        return None
    values = [part.value for part in parts if part.value is not None and {*KEYS} & part.value.keys()]
    rest = without(answer, parts)
    if not values:
        return lone_letter(rest, letters)
    return _one({*map(_chosen, values), *stated(rest)}, letters)


def lone_letter(text: str, letters: str, shown: Shown = NOTHING) -> str | None:
    """Read the option letter of an answer without JSON; None where there is none, or two different ones.

    In this order: lines `answer: X`; a capital that stands alone at the start of the first line, or that the end of the
    last line leads to.

    Args:
        text: what the model wrote.
        letters: the options that there are, `ABCD`.
        shown: what stood before the model; a line of it is not the model's own.
    """
    for step in (stated(text, shown), _alone(unquoted(text), shown)):
        named = {letter for letter in step if letter in letters}
        if named:
            return _one(named, letters)
    return None


def stated(text: str, shown: Shown = NOTHING) -> Iterator[str]:
    """Yield the letter of each line `answer: X`; it may stand in the line below."""
    waiting = ""
    for line in unquoted(text).splitlines():
        match = _ANSWER.match(line)
        letter = _LETTER.match(line, match.end()) if match else _LETTER.match(line) if waiting else None
        if letter and not shown.says_beside(letter[1], waiting or line[: letter.start(1)], line[letter.end(1) :]):
            yield letter[1]
        if line.strip():
            waiting = line if match and not letter and not line[match.end() :].strip(" \t*_") else ""


def _one(named: set[str | None] | set[str], letters: str) -> str | None:
    letter = next(iter(named)) if len(named) == 1 else None
    return letter if letter and letter in letters else None


def _names_one(text: str) -> bool:
    return any(key in text for key in KEYS)


def _chosen(value: dict[str, Any]) -> str | None:
    answer = next((value[key] for key in KEYS if key in value), None)
    letter = _OPTION.fullmatch(answer) if isinstance(answer, str) and DOUBLED not in value else None
    return letter[1].upper() if letter else None


def _alone(text: str, shown: Shown) -> Iterable[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return
    first = None if _WORD.match(lines[0]) else _FIRST.match(lines[0])
    if first and not shown.says_beside(first[1], "", " ".join([lines[0][first.end(1) :], *lines[1:2]])):
        yield first[1]
    last = _LAST.search(lines[-1])
    before = lines[-1][: last.start(1)] if last else ""
    if last and (first or _meant(before)) and not shown.says_beside(last[1], " ".join([*lines[-2:-1], before]), ""):
        yield last[1]


def _meant(before: str) -> bool:
    """Whether the words before the last letter of an answer lead to it."""
    sentence = before[max(before.rfind(sign) for sign in _ENDS) + 1 :]
    leads = _LEADS_TO_IT.search(before) or not before.strip(" \t*_#([\"“'「")
    return bool(leads) and not _NOT.search(sentence)
