"""Lists of texts that were written into a cell as Python writes them, some of them cut off."""

from __future__ import annotations

import ast
import re
import warnings

_OPENING, _BETWEEN = re.compile(r"\s*\[\s*"), re.compile(r"\s*(?:,\s*|(?=\])|$)")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:x[0-9a-f]?|u[0-9a-f]{0,3}|U[0-9a-f]{0,7})?)$")


def read(cell: str) -> tuple[list[str], bool]:
    """Read a list of texts; nothing in it is run.

    Where the cell was cut off, the last text ends where the cell does.

    Returns:
        The texts, and whether the list was cut off.

    Raises:
        ValueError: it is no list of texts, whole or cut off.
    """
    opening = _OPENING.match(cell)
    if opening is None:
        raise ValueError("no list")
    texts, place = [], opening.end()
    while match := _STRING.match(cell, place):
        texts.append(_text(match[0]))
        between = _BETWEEN.match(cell, match.end())
        if between is None:
            raise ValueError(f"no comma after text {len(texts)}")
        place = between.end()
    rest = cell[place:].rstrip()
    if rest == "]":
        return texts, False
    if rest[:1] in {"'", '"'}:
        mended = _CUT_ESCAPE.sub(lambda cut: cut[0].removesuffix(cut[1]), rest)
        texts.append(_text(mended + rest[0]))
    elif rest:
        raise ValueError(f"no text after text {len(texts)}")
    return texts, True


def _text(literal: str) -> str:
    try:
        with warnings.catch_warnings(action="ignore"):  # a backslash that escapes nothing
            return str(ast.literal_eval(literal.replace("\n", "\\n").replace("\r", "\\r")))
    except (ValueError, SyntaxError, MemoryError) as error:
        raise ValueError(f"a text that cannot be read: {error}") from None
