"""Which column holds what, as the user says it: `user=COLUMN,reply=COLUMN,label.RATER.empathy=COLUMN,…`.

A column is named by its header, by its position (`#1`), or, where no header is so called, by its letter in a spreadsheet.
Nothing is guessed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mindgauge import bounds
from mindgauge.errors import DataError, UsageError
from mindgauge.files import File
from mindgauge.records import RaterKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.benchmarks.psycrisis.sheet import Sheet
    from mindgauge.files import Readable
    from mindgauge.rubric import Rubric

FILE = "columns.toml"
"""Lies beside a table and says the same where no command does: `user = "#1"`, `label.H1.empathy = "G"`."""
FIELDS = ("user", "reply", "category", "model", "rater", "id", "source", "language")
LABEL, JUDGE, TOTAL, RATER = "label", "judge", "total", "rater"
SHEET, HEADER, ENCODING = "sheet", "header", "encoding"
_HOW = {SHEET, HEADER, ENCODING}
"""Say how the file is to be read, not what a column holds."""
PEOPLE = "people"
"""Who labelled where no name is given."""
_USE = f"{', '.join(FIELDS)}, label.RATER.CRITERION, judge.NAME.CRITERION, judge.NAME (its raw answer), {SHEET}, {HEADER} (its row, 0 for none), {ENCODING}"
_POSITION, _LETTERS = re.compile(r"#(\d{1,5})"), re.compile(r"[A-Z]{1,2}")


class Labels(NamedTuple):
    """A column with one rater's values on one criterion; `total` stands for the sum of the five dimensions."""

    rater: str
    kind: RaterKind
    criterion: str
    column: int


class Columns(NamedTuple):
    """Positions (from 0) of the fields, of everybody's values, and of judges' raw answers; `told` says it in words."""

    fields: dict[str, int]
    labels: list[Labels]
    answers: dict[str, int]
    told: str


def beside(path: Readable) -> dict[str, str]:
    """Read the mapping that lies beside a table; empty if none does.

    Raises:
        DataError: it is not TOML, or names a column by something else than text.
    """
    file = path.beside(FILE) if isinstance(path, File) else path.parent / FILE
    if file is None or (isinstance(file, Path) and not file.is_file()):
        return {}
    try:
        content = bounds.toml(file) if isinstance(file, Path) else bounds.toml_value(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file}: cannot read the mapping ({error.strerror})") from error
    except ValueError as error:
        raise DataError(f"{file}: cannot read the mapping ({error})") from error
    found = _flat(content)
    odd = next((key for key, column in found.items() if not isinstance(column, str)), None)
    if odd is not None:
        raise DataError(f'{file}: {odd} must name a column as text, for example "#1"')
    return found


def header_row(mapping: Mapping[str, str]) -> int | None:
    """Return the row that is said to hold the headers, 0 for none; None if nothing is said.

    Raises:
        UsageError: it is no number.
    """
    said = mapping.get(HEADER)
    if said is not None and not (said.isascii() and said.isdigit()):
        raise UsageError(f"--map {HEADER}={said}: write the number of the row that holds the headers, 0 for none")
    return None if said is None else int(said)


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def resolve(mapping: Mapping[str, str], sheet: Sheet, rubric: Rubric) -> Columns:
    """Find the columns that a mapping names.

    Raises:
        DataError: there is no mapping, or it does not fit the table; the message names the columns found.
        UsageError: it maps something that is not known.
    """
    if not mapping.keys() - _HOW:
        raise DataError(
            f"{sheet.path}: say which column is which with --map user=COLUMN,reply=COLUMN,…, or in {FILE} beside it "
            f'(user = "COLUMN"); the columns are {sheet.columns}'
        )
    known = {
        name.casefold(): criterion.name
        for criterion in rubric.criteria
        for name in (criterion.name, *criterion.aliases)
    } | {TOTAL: TOTAL, "总分": TOTAL}
    places = {key: _place(key, column, sheet) for key, column in mapping.items() if key not in _HOW}
    if "user" not in places:
        raise DataError(
            f"{sheet.path}: no column is mapped to user, the person's message; the columns are {sheet.columns}"
        )
    fields = {key: place for key, place in places.items() if key in FIELDS}
    labels, answers = [], {}
    for key, place in places.items():
        if key in FIELDS:
            continue
        kind, *rest = key.split(".")
        criterion = known.get(rest[-1].casefold()) if rest else None
        if kind == LABEL and criterion is not None:
            labels.append(Labels(".".join(rest[:-1]) or PEOPLE, RaterKind.PERSON, criterion, place))
        elif kind == JUDGE and criterion is not None and len(rest) > 1:
            labels.append(Labels(".".join(rest[:-1]), RaterKind.MODEL, criterion, place))
        elif kind == JUDGE and rest and criterion is None:
            answers[".".join(rest)] = place
        else:
            raise UsageError(
                f"--map {key}: not known here; map {_USE}; criteria are {', '.join(dict.fromkeys(known.values()))}"
            )
    _check(fields, labels, answers, sheet)
    said = ", ".join(f"{key} from column {place + 1} ({sheet.headers[place][:40]!r})" for key, place in places.items())
    apart = "" if sheet.separator == "," else f", cells separated by {sheet.separator!r}"
    return Columns(fields, labels, answers, f"{sheet.path.name}: read {said}{apart}")


def _check(fields: dict[str, int], labels: list[Labels], answers: dict[str, int], sheet: Sheet) -> None:
    """Refuse values without a reply that they are about, and two columns for one rater's values."""
    if (labels or answers) and "reply" not in fields:
        raise DataError(
            f"{sheet.path}: labels are of replies, and no column is mapped to reply; the columns are {sheet.columns}"
        )
    named = next((one.rater for one in labels if one.kind is RaterKind.PERSON and one.rater != PEOPLE), None)
    if RATER in fields and named is not None:
        raise UsageError(
            f"--map {LABEL}.{named}.…: a column is mapped to {RATER}, so write {LABEL}.CRITERION without a name"
        )
    raters = {(label.rater, label.criterion) for label in labels}
    if len(raters) < len(labels):
        raise UsageError("--map: two columns are mapped to one rater's values on one criterion")
    kinds = {(label.rater, label.kind) for label in labels} | {(judge, RaterKind.MODEL) for judge in answers}
    both = {rater for rater, kind in kinds if kind is RaterKind.PERSON} & {
        r for r, kind in kinds if kind is RaterKind.MODEL
    }
    twice = {label.rater for label in labels if label.kind is RaterKind.MODEL} & answers.keys()
    if both or twice:
        raise UsageError(f"--map: {min(both | twice)} is mapped in two ways; give each rater one name")


def _place(key: str, column: str, sheet: Sheet) -> int:
    headers = [header.casefold() for header in sheet.headers]
    wanted = column.strip().casefold()
    if headers.count(wanted) > 1:
        raise DataError(f"{sheet.path}: several columns are called {column!r}; name {key} by its position (#1, #2, …)")
    if wanted in headers:
        return headers.index(wanted)
    place = -1
    if match := _POSITION.fullmatch(column.strip()):
        place = int(match[1]) - 1
    elif _LETTERS.fullmatch(column.strip()):
        place = 0
        for letter in column.strip():
            place = place * 26 + ord(letter) - ord("A") + 1
        place -= 1
    if not 0 <= place < len(headers):
        raise DataError(f"{sheet.path}: no column {column!r} for {key}; the columns are {sheet.columns}")
    return place
