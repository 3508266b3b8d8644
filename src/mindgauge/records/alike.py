"""Notes that say the same of one place after another, put together: fifty lines that differ in a number are one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.records.rounding import count, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACE = re.compile(r"^(?=[^\s./]*+[./])(?P<file>\S*): (?=\S)")
_NUMBER = re.compile(r"(?<![\w.])\d++(?:,\d{3})*(?![\w.]*\w)")
_FIRST = 3
"""Numbers that are listed of what a note is said of, before the last one."""


class _Note(NamedTuple):
    text: str
    file: str
    shape: str
    numbers: tuple[str, ...]


def put_together(notes: Sequence[str], rest: str) -> list[str]:
    """Return a line for each kind of note, in the order in which they first occur.

    Notes are of one kind where they differ in numbers and in the file that they begin with. The first one stands for them,
    its file without folders, with how many more there are, and of what; a repeated note stands once.

    Args:
        notes: to be put together.
        rest: where all of them are listed, as the end of a sentence.
    """
    kinds: dict[str, list[_Note]] = {}
    for text in dict.fromkeys(notes):
        note = _read(text)
        kinds.setdefault(note.shape, []).append(note)
    return [_line(alike, rest) for alike in kinds.values()]


def _read(text: str) -> _Note:
    place = _PLACE.match(text)
    text_after = text[place.end() :] if place else text
    numbers = tuple(match[0] for match in _NUMBER.finditer(text_after))
    return _Note(text, place["file"] if place else "", f"{bool(place)} {_NUMBER.sub('#', text_after)}", numbers)


def _line(alike: Sequence[_Note], rest: str) -> str:
    first, *others = alike
    if not others:
        return first.text
    text = first.text.replace(first.file, first.file.rpartition("/")[2], 1) if first.file else first.text
    files = len({note.file for note in alike})
    files_named = f" in {plural(files, 'file')}" if files > 1 else ""
    numbers = [] if files > 1 else _varying(alike)[1:]
    listed = f": {', '.join(numbers[:_FIRST])}" if numbers else ""
    if len(numbers) > _FIRST:
        listed += f" … {numbers[-1]}"
    return f"{text} (and {count(len(others))} more like it{files_named}{listed}; {rest})"


def _varying(alike: Sequence[_Note]) -> list[str]:
    """Return the first number of each note that is not the same in all; none where there is no such place."""
    places = zip(*(note.numbers for note in alike), strict=True)
    return next(([*values] for values in places if len(set(values)) > 1), [])
