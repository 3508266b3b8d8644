"""Which column holds what, and how a file is to be read, as the user says it: one grammar for `--map` in every command.

    --map user=Frage,reply=#2,label.H1.empathy=G,sheet=Tabelle2,header=3,encoding=gb18030

Left of `=` stands a name of ours. Right of it stands a column: its header, or its position (`#2`), or, where no header is
so called, its letter in a spreadsheet (`G`). Four names say how the file is to be read (`LAYOUT`). `--map FILE.toml` says
the same in a file, and so does `columns.toml` beside a table where no command line is. Nothing is guessed.
`docs/reference/files.md` lists the names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.files import bounds
from mindgauge.records.files.folder import File

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mindgauge.records.files.folder import Readable

FILE = "columns.toml"
"""Lies beside a table and says what its columns hold: `user = "#1"`, `label.H1.empathy = "G"`."""
SHEET, HEADER, ENCODING, SEPARATOR = LAYOUT = ("sheet", "header", "encoding", "separator")
LABEL, JUDGE, RATER, CRITERION = "label.", "judge.", "rater.", "criterion."
"""Before a name of the user's: the column with somebody's labels, a judge's answers; what the file calls a rater or a criterion."""
TAG = "tag."
"""Before the name of a tag that has a column of its own."""
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_POSITION, _LETTERS = re.compile(r"#(\d{1,5})"), re.compile(r"[A-Z]{1,3}")
_NEXT = re.compile(r",(?=\s*+[\w.\- ]++=)")
"""A comma before a further NAME=; every other one is part of a column's name."""
_SHOWN, _LONGEST = 30, 40


class FileLayout(NamedTuple):
    """How a file is to be read; what is not said is seen from the file, or is its first row."""

    sheet: str = ""
    header: int | None = None
    """The row that holds the headers, as the file counts them from 1; 0 where none does."""
    encoding: str = ""
    separator: str = ""


class ColumnMap(NamedTuple):
    """What a mapping says: our name → the file's column, and how the file is to be read."""

    columns: dict[str, str]
    layout: FileLayout = FileLayout()


NOTHING = ColumnMap({})
"""Where nothing is said."""


def read(mapped: Mapping[str, str] | None, names: Collection[str], prefixes: Iterable[str] = ()) -> ColumnMap:
    """Check a mapping against what a command reads.

    Args:
        mapped: name → column.
        names: of the columns that are read.
        prefixes: of those that name something of the user's (`label.`).

    Raises:
        UsageError: a name is none of them, or it is said badly how the file is to be read.
    """
    columns = {name: column for name, column in (mapped or {}).items() if name not in LAYOUT}
    prefixes = tuple(prefixes)
    unknown = next((name for name in columns if name not in names and not name.startswith(prefixes)), None)
    if unknown is not None:
        families = "".join(f", {prefix}…" for prefix in prefixes)
        if columns[unknown] in names:
            raise UsageError(
                f"--map {unknown}={columns[unknown]}: turn it round, {columns[unknown]}={unknown}: Mindgauge's name, then the file's"
            )
        raise UsageError(
            f"--map {unknown}={columns[unknown]}: {unknown!r} is not one of Mindgauge's columns; they are {', '.join(names)}{families}, and "
            f"{', '.join(LAYOUT)}, which say how the file is to be read"
        )
    return ColumnMap(columns, layout(mapped or {}))


def layout(mapped: Mapping[str, str]) -> FileLayout:
    """Read how a file is to be read.

    Raises:
        UsageError: the row of the headers is no number, or the separator no single character.
    """
    header = mapped.get(HEADER)
    if header is not None and not (header.isascii() and header.isdigit() and len(header) < 10):
        raise UsageError(
            f"--map {HEADER}={header}: write the number of the row that holds the headers, 0 where none does"
        )
    separator = SEPARATORS.get(mapped.get(SEPARATOR, ""), mapped.get(SEPARATOR, ""))
    if len(separator) > 1 or separator in {'"', "\n", "\r"} or "\ud800" <= separator <= "\udfff":
        raise UsageError(f"--map {SEPARATOR}={separator}: write one character, or {', '.join(SEPARATORS)}")
    return FileLayout(
        mapped.get(SHEET, ""), None if header is None else int(header), mapped.get(ENCODING, ""), separator
    )


def parse(items: Iterable[str]) -> dict[str, str]:
    """Read NAME=COLUMN options, several of them separated by commas, or files of them.

    Raises:
        UsageError: one has no equals sign, or a name stands there twice with two columns.
        DataError: a file cannot be read.
    """
    pairs: list[tuple[str, str]] = []
    for text in items:
        if text.endswith(".toml") and "=" not in text:
            pairs += from_file(Path(text)).items()
            continue
        for item in _NEXT.split(text):
            name, equals, column = (part.strip() for part in item.partition("="))
            if not (name and equals and column):
                raise UsageError(f"--map {item!r}: write NAME=COLUMN, or name a file of them, FILE.toml")
            pairs.append((name, column))
    mapped: dict[str, str] = {}
    for name, column in pairs:
        if mapped.setdefault(name, column) != column:
            raise UsageError(f"--map {name}: given as {mapped[name]} and as {column}; name one")
    return mapped


def beside(path: Readable) -> dict[str, str]:
    """Read the mapping that lies beside a table; empty if none does.

    Raises:
        DataError: it is not TOML, or names a column by something else than text.
    """
    file = path.beside(FILE) if isinstance(path, File) else path.parent / FILE
    return {} if file is None or (isinstance(file, Path) and not file.is_file()) else from_file(file)


def from_file(file: Readable) -> dict[str, str]:
    """Read a mapping in TOML.

    Raises:
        DataError: it is not TOML, or names a column by something else than text.
    """
    try:
        content = bounds.toml(file) if isinstance(file, Path) else bounds.toml_value(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: cannot read the mapping ({error.strerror})") from error
    except ValueError as error:
        raise DataError(f"{file}: cannot read the mapping ({error})") from error
    mapped = {name: str(column) if name == HEADER else column for name, column in _flat(content).items()}
    odd = next((name for name, column in mapped.items() if not isinstance(column, str)), None)
    if odd is not None:
        raise DataError(f'{file}: {odd} must name a column as text, for example "#1"')
    return mapped


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flattened: dict[str, Any] = {}
    for key, value in table.items():
        flattened |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flattened


def place(name: str, column: str, headers: Sequence[str], table: object) -> int:
    """Return where a column stands, from 0: by its header, its position, or its letter.

    Raises:
        DataError: there is none, or there are several; the message names the table and its columns.
    """
    wanted, spelled = column.strip().casefold(), [header.strip().casefold() for header in headers]
    if spelled.count(wanted) > 1:
        raise DataError(f"{table}: several columns are called {column!r}; name {name} by its position (#1, #2, …)")
    if wanted in spelled:
        return spelled.index(wanted)
    position = -1
    if match := _POSITION.fullmatch(column.strip()):
        position = int(match[1]) - 1
    elif _LETTERS.fullmatch(column.strip()):
        position = 0
        for letter in column.strip():
            position = position * 26 + ord(letter) - ord("A") + 1
        position -= 1
    if not 0 <= position < len(headers):
        columns = f"the columns are {described(headers)}" if headers else "the table is empty"
        raise DataError(f"{table}: no column {column!r} for {name}; {columns}")
    return position


def described(headers: Sequence[str]) -> str:
    """Name columns with their positions."""
    named = [f"{number} {header[:_LONGEST]!r}" for number, header in enumerate(headers[:_SHOWN], 1)]
    surplus = f", and {len(headers) - _SHOWN} more" if len(headers) > _SHOWN else ""
    return (", ".join(named) + surplus) or "nothing"
