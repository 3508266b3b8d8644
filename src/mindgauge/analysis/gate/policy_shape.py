"""What in a policy's file has a name that nothing there has, or a word that is none of those possible: where, and what there is."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_HEADER = re.compile(r"\s*\[\[?\s*([\w-]+)\s*\]\]?")


def faults(
    content: Mapping[str, Any],
    text: str,
    tables: Mapping[str, type[msgspec.Struct]],
    words: Mapping[str, Collection[str]],
) -> Iterator[str]:
    """Say what is misnamed, each with its line.

    Args:
        content: of the TOML.
        text: as it is written.
        tables: the struct of each table; that of the file under the empty name.
        words: name → the words that it may be.
    """
    yield from _of_table(content, ("", 1), text, tables, words)
    for name, value in content.items():
        listed = value if isinstance(value, list) else [value]
        for number, table in enumerate(listed if name in tables else (), 1):
            if isinstance(table, dict):
                yield from _of_table(table, (name, number), text, tables, words)


def _of_table(
    content: Mapping[str, Any],
    place: tuple[str, int],
    text: str,
    tables: Mapping[str, type[msgspec.Struct]],
    words: Mapping[str, Collection[str]],
) -> Iterator[str]:
    fields = [
        field.name for field in msgspec.structs.fields(tables[place[0]]) if (place[0], field.name) != ("", "path")
    ]
    for key, value in content.items():
        position = f"line {line}: " if (line := _line(text, place, key)) else ""
        if key not in fields:
            yield f"{position}there is no `{key}` {f'in [{place[0]}]' if place[0] else 'in a policy'}; {_near(key, fields)}"
        elif key in words and value not in words[key]:
            yield f"{position}{key} = {value!r}; {_near(str(value), words[key])}"


def _near(name: str, names: Collection[str]) -> str:
    """Say what there is, what comes near first."""
    close = difflib.get_close_matches(name, names, 1, 0.6)
    return f"{f'did you mean `{close[0]}`? ' if close else ''}there are {', '.join(names)}"


def _line(text: str, place: tuple[str, int], key: str) -> int:
    """Return the line of a key in the so many-th table of a name, or of a table's own header; 0 where it cannot be seen."""
    counts = {"": 1}
    table = ""
    assigned = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*[=.]""")
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = header[1]
            counts[table] = counts.get(table, 0) + 1
            if table == key and not place[0]:
                return number
        elif (table, counts[table]) == place and assigned.match(line):
            return number
    return 0
