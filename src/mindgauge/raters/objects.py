"""Finding objects in what a model wrote: JSON, or dictionaries as Python writes them, read as literals and never run.

Whatever a model writes, the work is bounded and nothing is raised.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

DOUBLED = "\0doubled"
"""The key that marks an object which gives two values for one key: it is not clear which one is meant."""
LONGEST = 64 * 1024
"""Characters, counted from the end, in which objects are looked for."""
_MOST_OPENINGS = 400
"""How many places an object may begin at, counted from the end; bounds the work on a text made to be slow."""
_MOST_REPAIRS = 20
"""How many objects that are no JSON are followed to their end."""
_OPENING, _SINGLE = re.compile(r'\{\s*"'), re.compile(r"\{\s*'")
_PIECE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[{}]", re.DOTALL)
_THOUGHT = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSED = re.compile(r"</think>[ \t]*(?:[\r\n]+|\Z)", re.IGNORECASE)
_AROUND = " \t\r\n`"
_LONGEST_NUMBER = 10**18


class Found(NamedTuple):
    """An object and the span of text that it stands in; no value where it is broken, or breaks off."""

    start: int
    end: int
    value: dict[str, Any] | None
    breaks_off: bool = False


def after_thinking(text: str) -> str:
    """Return what follows a model's marked thinking; empty where nothing does, the text as it is without such marks."""
    if opening := _THOUGHT.match(text):
        return text[opening.end() :].partition(f"</{opening[1]}>")[2]
    # Some servers send only the closing mark. A line break after it cannot stand inside JSON.
    closing = _CLOSED.search(text)
    return text[closing.end() :] if closing else text


def json_objects(text: str) -> list[Found]:
    """Return the outermost JSON objects in the order of the text, each that is broken or breaks off among them.

    Of a text longer than can be looked at, an object counts only where nothing follows it: what is seen of such a text
    may begin within another object.
    """
    found: list[Found] = []
    end = failures = 0
    starts = [match.start() for match in _OPENING.finditer(text, max(0, len(text) - LONGEST))]
    for start in starts[-_MOST_OPENINGS:]:
        if start < end:
            continue
        try:
            value, end = _STRICT.raw_decode(text, start)
        except json.JSONDecodeError as error:
            failures += 1
            closed = _closing(text, start) if failures <= _MOST_REPAIRS else None
            if closed is not None:
                found.append(Found(start, closed, None))
            elif error.pos >= len(text) or error.msg.startswith("Unterminated"):
                found.append(Found(start, len(text), None, breaks_off=True))
            end = closed or max(start + 1, error.pos)
        except (ValueError, RecursionError):  # a number of thousands of digits, a depth of thousands
            found.append(Found(start, len(text), None, breaks_off=True))
            break
        else:
            found.append(Found(start, end, value))
    if len(text) > LONGEST or len(starts) > _MOST_OPENINGS:
        return [one for one in found if one.value is None or not text[one.end :].strip(_AROUND)]
    return found


def literals(text: str) -> list[Found]:
    """Return the outermost dictionaries in Python's notation; nothing is looked for after one that is none.

    A text longer than can be looked at has none.
    """
    found: list[Found] = []
    for opening in islice(_SINGLE.finditer(text), _MOST_OPENINGS) if len(text) <= LONGEST else ():
        start = opening.start()
        if found and start < found[-1].end:
            continue
        end = _closing(text, start) or len(text)
        found.append(Found(start, end, _evaluated(text[start:end])))
        if found[-1].value is None:
            break
    return found


def own_words(text: str, shown: str) -> str:
    """Return an answer without the objects that it repeats, among other words, from what it was shown.

    A judge may quote the verdict that somebody planted, or give its question back. An object that is the whole answer is
    the judge's own, whoever else wrote the same.
    """
    written = json_objects(text) or literals(text) if "{" in shown else []
    planted = list(_anywhere(shown[-LONGEST:])) if written else []
    for one in reversed(written):
        around = f"{text[: one.start]}{text[one.end :]}".strip(_AROUND).removeprefix("json").strip(_AROUND)
        if one.value in planted and around:
            text = f"{text[: one.start]}…{text[one.end :]}"
    return text


def _anywhere(text: str) -> Iterator[dict[str, Any]]:
    """Return objects of either notation, with those inside them."""
    failures = 0
    for opening in islice(re.finditer(r"\{\s*['\"]", text), _MOST_OPENINGS):
        start = opening.start()
        try:
            yield _STRICT.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            failures += 1
            closed = _closing(text, start) if failures <= _MOST_REPAIRS else None
            if closed is not None and (value := _evaluated(text[start:closed])) is not None:
                yield value


def _closing(text: str, start: int) -> int | None:
    """Return where the object that begins here ends, braces within strings aside; None if it does not."""
    depth = 0
    for piece in _PIECE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(piece[0], 0)
        if depth == 0:
            return piece.end()
    return None


def _evaluated(text: str) -> dict[str, Any] | None:
    """Read a literal that JSON could hold as well; anything else, code among it, is none."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a stray backslash
            tree = ast.parse(text, mode="eval")
        return _plain(tree.body) if isinstance(tree.body, ast.Dict) else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _plain(node: ast.expr) -> Any:
    """Return a node's value.

    Raises:
        ValueError: it is none that JSON could hold.
    """
    match node:
        case ast.Dict(keys, values):
            return _marked([(str(_plain(key)), _plain(value)) for key, value in zip(keys, values, strict=True)])  # type: ignore[arg-type]
        case ast.List(items) | ast.Tuple(items):
            return [_plain(item) for item in items]
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as number)):
            return -_plain(ast.Constant(number))
        case ast.Constant(str() | int() | float() | None as value) if not _huge(value):
            return value
    raise ValueError("not a literal that JSON could hold")


def _huge(value: object) -> bool:
    return isinstance(value, int) and abs(value) > _LONGEST_NUMBER


def _marked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else {**found, DOUBLED: True}


_STRICT = json.JSONDecoder(object_pairs_hook=_marked)
