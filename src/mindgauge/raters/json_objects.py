"""Objects in what a model wrote: JSON, or dictionaries as Python writes them, read as data and never run.

Whatever a model writes, the work grows with its length and nothing is raised.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable


DOUBLED = "\0doubled"
"""The key that marks an object which gives two values for one key: it is not clear which one is meant."""
DEEPEST = 60
"""Objects and lists within each other; what is nested deeper is not read."""
_TOKEN = regex(
    r"""\s*+(?:(?P<string>'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+")|(?P<number>-?\d{1,18}(?:\.\d{1,18})?+(?:[eE][+-]?\d{1,3})?+)(?![\w.])"""
    r"""|(?P<word>True|False|None|true|false|null)\b|(?P<sign>[{}\[\]():,]))""",
    re.DOTALL,
)
_ESCAPE = regex(
    r"\\(?:(?P<code>x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|(?P<sign>.))", re.DOTALL
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": ""}
_WORDS = {"true": True, "false": False, "none": None, "null": None}
_CLOSING = {"{": "}", "[": "]", "(": ")"}


def read(text: str) -> Any:
    """Read one object or list, in JSON or as Python writes it; of a key that is given twice, both ways are marked.

    Raises:
        ValueError: it is none, or one that is nested too deeply.
    """
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError):
        return _Literal(text).read()
    if _deeper(value):
        raise ValueError("nested too deeply")
    return value


def begun(text: str, place: int) -> tuple[Any, int] | None:
    """Read the JSON that begins here, as `read` would; return it and where it ends, None where it is none or too deep."""
    try:
        value, end = _STRICT.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None
    return None if _deeper(value) else (value, end)


def _deeper(value: Any) -> bool:
    """Whether a value is nested more deeply than can be worked with."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        if not level:
            return False
        level = [part for nested in level if isinstance(nested, dict | list) for part in _parts(nested)]
    return bool(level)


def _parts(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


class _Literal:
    """A literal of Python that JSON could hold as well: no code, no bytes, no sets, no huge numbers."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = self._depth = 0

    def read(self) -> Any:
        """Read the one value that the text is.

        Raises:
            ValueError: it is none, or not only one.
        """
        value = self._value(*self._next())
        if self._text[self._place :].strip():
            raise ValueError("more than one literal")
        return value

    def _next(self) -> tuple[str, str]:
        token = _TOKEN.match(self._text, self._place)
        if token is None:
            raise ValueError("no literal that JSON could hold")
        self._place = token.end()
        kind = token.lastgroup or ""
        return kind, token[kind]

    def _value(self, kind: str, token: str) -> Any:
        match kind:
            case "string":
                return _ESCAPE.sub(_unescaped, token[1:-1])
            case "number":
                return float(token) if {*token} & {*".eE"} else int(token)
            case "word":
                return _WORDS[token.casefold()]
        if token not in _CLOSING:
            raise ValueError("a sign where a value belongs")
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError("nested too deeply")
        closing = _CLOSING[token]
        value = self._object() if closing == "}" else self._list(closing)
        self._depth -= 1
        return value

    def _list(self, closing: str) -> Any:
        items: list[Any] = []
        comma = False
        while True:
            kind, token = self._next()
            if token == closing and kind == "sign":
                return items[0] if closing == ")" and len(items) == 1 and not comma else items
            items.append(self._value(kind, token))
            comma = self._separated(closing)

    def _object(self) -> dict[str, Any]:
        pairs: list[tuple[str, Any]] = []
        while True:
            kind, token = self._next()
            if (kind, token) == ("sign", "}"):
                return _marked(pairs)
            if kind not in {"string", "number"}:
                raise ValueError("a key that is no text")
            key = self._value(kind, token)
            if self._next() != ("sign", ":"):
                raise ValueError("a key without a value")
            pairs.append((str(key), self._value(*self._next())))
            self._separated("}")

    def _separated(self, closing: str) -> bool:
        """Pass over a comma; where there is none, the closing sign must follow, and stays."""
        place = self._place
        token = self._next()
        if token == ("sign", ","):
            return True
        if token != ("sign", closing):
            raise ValueError("no comma between two values")
        self._place = place
        return False


def _unescaped(match: re.Match[str]) -> str:
    if match["code"]:
        return chr(int(match["code"][1:], 16))
    return _ESCAPED.get(match["sign"], match[0])


def _marked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else {**members, DOUBLED: True}


_STRICT = json.JSONDecoder(object_pairs_hook=_marked)


# Finding objects in what a model wrote: JSON, or dictionaries as Python writes them, read as literals and never run.


LONGEST = 64 * 1024
"""Characters of an answer; a longer one is not looked at for objects, and is no verdict."""
_THOUGHT = regex(r"\s*+<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSED = regex(r"</think(?:ing)?>[ \t]*+(?:[\r\n]++|\Z)", re.IGNORECASE)
HOLE = "…"
"""What stands in the place of an object that was taken out."""
CLOSING = regex(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_NAME = r"(?:\w{1,20}:)?(?:think|thinking|thought|reasoning)"
_END = regex(rf"</{_NAME}(?:\s[^<>]{{0,200}})?>|(?-i:\[/THINK\])", re.IGNORECASE)
_ANY = rf"<(/?){_NAME}(?:\s[^<>]{{0,200}})?>|(?-i:\[(/?)THINK\])"
_MARK = regex(rf"(?<![`A-Za-z0-9])(`)`*+(?=\S)[^`\n]++(?<=\S)`++(?![A-Za-z0-9])|{_ANY}", re.IGNORECASE)
_MARKS = regex(_ANY.replace("(/?)", "/?"), re.IGNORECASE)
_MENTION = regex(r"""(?:(?<=[\w,;:(][ ])|(?<=["'(“‘「]))<\w++>(?=[^\w\n])""")
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060 \t\r\n\f\v\u00a0\u3000"
_FIRST = regex(r"\{\s*+(')?")
_JSON_PIECE = regex(r'"(?:[^"\\]|\\.)*+("?)|[{}]', re.DOTALL)
_PYTHON_PIECE = regex(r"""'(?:[^'\\]|\\.)*+('?)|"(?:[^"\\]|\\.)*+("?)|[{}]""", re.DOTALL)


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


def apart(text: str) -> tuple[str, str]:
    """Return a reply without the blocks in which a model thinks, and what is in them; the text as it is without a mark.

    A mark is `<think>`, `<thinking>`, `<thought>` or `<reasoning>`, also with attributes or a prefix (`<seed:think>`), or
    `[THINK]`. A closing mark of any spelling closes. Blocks may stand anywhere, and the text around them is put together.
    Whatever precedes a closing mark without an opening one is thought: many servers send only that one. A block that never
    ends leaves no reply, since it is unclear where the reply begins.

    In a reply, a mark in a code span (between backticks, on one line) is none. Nor is an opening one that is never closed
    if it is in the middle of a sentence, with a space or punctuation after it ("the <think> tag"). Each other mark counts.
    """
    last = max((mark.start() for mark in _END.finditer(text)), default=-1)
    outside: list[str] = []
    blocks: list[tuple[int, int]] = []
    begin = place = 0
    while mark := _MARK.search(text, place):
        start, place = mark.span()
        if mark[1] or (last < start and _MENTION.match(text, start)):
            continue
        if mark[2] or mark[3]:
            outside, blocks = [], [(0, start)]
        elif last > start and (closing := _END.search(text, place)):
            outside.append(text[begin:start])
            blocks.append((place, closing.start()))
            place = closing.end()
        else:
            outside, blocks, place = [], [(0, len(text))], len(text)
        begin = place
    if not blocks:
        return text, ""
    pieces = [""]
    for piece in (*outside, text[begin:]):
        pieces.append(piece.lstrip(" \t") if pieces[-1][-1:].isspace() else piece)
    thoughts = (part.strip() for begin, end in blocks for part in _MARKS.split(text[begin:end]))
    return "".join(pieces).strip(_INVISIBLE), "\n\n".join(filter(None, thoughts))


def objects(text: str) -> list[JsonObject]:
    """Return the outermost objects in the order of the text, each that is broken or breaks off among them.

    What stands inside another pair of braces is no object of its own, whether that other one can be read or not. After
    one that breaks off nothing is looked for.
    """
    parts: list[JsonObject] = []
    place = 0
    while (start := text.find("{", place)) >= 0:
        strict = begun(text, start)
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
        value = read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
