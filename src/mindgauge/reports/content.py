"""What the sections of a report are made of: tables, passages, verdicts, pictures.

The CSV is safe to open in a spreadsheet; a long one is zipped, so that the page stays small.
"""

from __future__ import annotations

import base64
import csv
import io
import re
import zipfile
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast, get_args
from urllib.parse import quote, urlencode

import msgspec

from mindgauge.records import Value, rounding
from mindgauge.records.rounding import plural
from mindgauge.records.text import shown

if TYPE_CHECKING:
    from collections.abc import Sequence


Kind: TypeAlias = Literal[
    "text", "count", "share", "precise", "points", "level", "interval", "seconds", "dollars", "subject", "p", "quote"
]
Cell: TypeAlias = str | int | float | None


def slug(*parts: object) -> str:
    """Return the name of a thing within the page, which its address ends with: what it is about, in small letters."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(map(str, parts)).casefold()).strip("-")


class Rated(NamedTuple):
    """What is rated, one and many of it, and what of it is drawn together, so that an interval is about others of these."""

    one: str
    many: str
    cluster: str = "conversation"

    @property
    def aside(self) -> str:
        """What stands behind an n that is not of replies, which are the usual thing."""
        return "" if self.many == "replies" else f" {self.many}"

    def counted(self, n: int) -> str:
        """Write how many there are."""
        return plural(n, self.one, self.many)


REPLIES = Rated("reply", "replies")
TURNS = Rated("turn", "turns", "persona")
DIALOGUES = Rated("dialogue", "dialogues", "persona")
CLIENT_MESSAGES = Rated("client message", "client messages", "persona")


class System(msgspec.Struct, frozen=True):
    """A model as one run measured it. `number` chooses its colour and its shape in every picture."""

    label: str
    model: str
    run: int
    number: int


class SystemFindings(msgspec.Struct):
    """What the numbers say of one system in one benchmark, and what may not be said."""

    system: System
    facts: list[str]
    withheld: list[str]


class Column(msgspec.Struct, frozen=True):
    """A column's heading and how its values are written."""

    name: str
    kind: Kind = "text"


def heads(described: str) -> list[Column]:
    """Return columns from their headings, as in `model | n:count | yes:share±`: a kind where it is no text, ± before its two bounds."""
    columns = []
    for entry in described.split(" | "):
        name, _, kind = entry.partition(":")
        written = cast("Kind", kind.removesuffix("±") or "text")
        assert written in get_args(Kind), described
        columns += [Column(head, written) for head in ((name, "from", "to") if kind.endswith("±") else (name,))]
    return columns


class ReportTable(msgspec.Struct):
    """A table. `name` is its file name as CSV; `links` are the anchors on the page that its subjects may point to."""

    name: str
    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    note: str = ""
    links: list[str] = []
    opens: list[str] = []
    """Row by row, which lines of the reader it stands for (`links.lines`); empty where it stands for none."""


class TextSpan(msgspec.Struct, frozen=True):
    """A stretch of text, marked where a rater quotes it."""

    text: str
    marked: bool = False


class Passage(msgspec.Struct):
    """Somebody's words, made safe to show. `cut` counts the characters left out at the end."""

    role: str
    language: str
    parts: list[TextSpan]
    cut: int = 0


class Quote(msgspec.Struct, frozen=True):
    """Words a rater quotes, and whether they stand in the text."""

    text: str
    found: bool


class VerdictMark(msgspec.Struct):
    """One verdict: a value with its level's wording, or a status; the reason given and the words quoted."""

    run: int
    status: str
    value: Value | None
    level: str
    rationale: str
    quotes: list[Quote]
    language: str


class RaterVerdicts(msgspec.Struct):
    """One rater's verdicts on one criterion, repeats together. `withheld` says why no figure holds them; empty where they do.

    `harm` says whether the criterion's worst level rules a reply out, `contested` whether verdicts on it that count lie half
    the scale or more apart.
    """

    rater: str
    kind: str
    criterion: str
    scale: str
    marks: list[VerdictMark]
    withheld: str = ""
    harm: bool = False
    contested: bool = False


class Case(msgspec.Struct):
    """A reply, or a message, that a person should look at.

    `system` wrote the reply; where it is None, the reply is part of the sample. Where the texts may not be shown,
    `withheld` says where they stand, and nothing is quoted.
    """

    anchor: str
    category: str
    summary: str
    why: str
    system: System | None
    dialogue: list[Passage]
    reply: Passage | None
    verdicts: list[RaterVerdicts]
    withheld: str = ""
    words: str = ""
    """How the message begins; empty where it may not be shown."""
    opens: str = ""
    """Where it stands in the reader."""
    reasoning: Passage | None = None
    """What the model thought before the reply."""


class Dot(msgspec.Struct, frozen=True):
    """One system's value on one row of a figure, with its interval."""

    system: System
    row: str
    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    missing: int
    opens: str = ""
    """Which lines of the reader it stands for."""

    @property
    def thin(self) -> bool:
        """Whether too few conversations stand behind it to draw an interval."""
        return self.low is None or self.high is None


class Figure(msgspec.Struct):
    """Dots with intervals, rows worst first. `finding` is its title and its text alternative."""

    anchor: str
    benchmark: str
    finding: str
    measure: str
    unit: Literal["share", "level"]
    low: float
    high: float
    rows: list[str]
    dots: list[Dot]
    sheet: ReportTable
    folded: str = ""
    """Where it stands behind another figure: what its fold says."""
    few: list[str] = []
    """Rows with too few conversations to be ranked, which stand below those that are."""
    targets: dict[str, float] = {}
    """Row → where its dots should stand, if that is known; such dots have no intervals."""

    @property
    def systems(self) -> list[System]:
        """Who is drawn."""
        return list({dot.system.number: dot.system for dot in self.dots}.values())


class Cited(msgspec.Struct, frozen=True):
    """A sample as an example: its id, where it stands, and its anchor on the page if its text is shown there."""

    sample: str
    place: str
    anchor: str


class Confused(msgspec.Struct, frozen=True):
    """One label taken for another outcome: in how many answers to how many messages, and up to three of these."""

    label: str
    outcome: str
    answers: int
    messages: int
    examples: list[Cited]


class LabelDifference(msgspec.Struct):
    """A label that a system often answers with another: both definitions, and a message as an example.

    `finding` says how often, `steady` whether repeats of the question change the answer, `reason` what the model gave
    for it, and `followed` what that tells of whether the model followed the definitions.
    """

    label: str
    outcome: str
    answers: int
    finding: str
    definitions: tuple[str, str]
    language: str
    example: Cited
    words: str
    steady: str
    reason: str
    followed: str


class ConfusionSection(msgspec.Struct):
    """What a system answered to each class. The columns are the labels, then what became of answers without one.

    `cells` are the confusions, the fullest first, with examples; `differences` the fullest of them, with definitions.
    """

    system: System
    benchmark: str
    labels: list[str]
    columns: list[str]
    counts: list[list[int]]
    sheet: ReportTable
    cells: list[Confused]
    examples: ReportTable
    differences: list[LabelDifference] = []
    opens: list[list[str]] = []
    """Cell by cell, which lines of the reader it counts."""


_TAGS = {"category", "label", "language", "persona"}
"""The tags of samples that the reader filters by."""


def lines(**wanted: str | Sequence[str]) -> str:
    """Return the address of the lines that have all of some properties, of several values of one property any of them.

    Properties are system (its label), benchmark, category, language, label, answer, persona, rater, sign (`rows.Sign`, in
    small letters), criterion, level, by (who gave it) and q (a text that is searched for).
    """
    pairs = [
        (name, value)
        for name, values in wanted.items()
        for value in ([values] if isinstance(values, str) else values)
        if value
    ]
    return f"#{urlencode(pairs, quote_via=quote)}"


def of_slice(part: str, **wanted: str | Sequence[str]) -> str:
    """Return the address of the lines of a slice (`category=suicide`); empty where the reader has no such filter."""
    tag, equals, value = part.partition("=")
    if part == "all":
        return lines(**wanted)
    return lines(**wanted, **{tag: value}) if equals and tag in _TAGS else ""


_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
LONG = 1000
"""Rows of a table whose CSV is zipped if it has more."""
ENDS = ("from", "to")
"""The headings of an interval's ends, which follow the column of its estimate; its name may stand before them."""
_BOUNDED: dict[Kind, rounding.Kind] = {"share": "share", "precise": "precise", "points": "points", "level": "level"}
_UNIT = re.compile(r" (?:%|points)$")
_NUMERIC = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


def neutral(text: str) -> str:
    """Return a cell without hidden characters that no spreadsheet takes for a formula: a leading apostrophe, unless it is a number."""
    text = shown(text)
    return "'" + text if text.startswith(_RISKY) and not _NUMERIC.fullmatch(text) else text


def as_csv(sheet: ReportTable) -> str:
    """Write a table as CSV, numbers unrounded."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([neutral(column.name) for column in sheet.columns])
    writer.writerows([[neutral(cell) if isinstance(cell, str) else cell for cell in row] for row in sheet.rows])
    return buffer.getvalue()


def data_link(sheet: ReportTable) -> str:
    """Return the CSV as a link that needs no network. A mark at its start lets spreadsheets see that it is UTF-8.

    A long one is in a ZIP file, which every system opens, and statistics software reads as it is.
    """
    content = as_csv(sheet).encode("utf-8-sig")
    kind = "text/csv;charset=utf-8"
    if is_long(sheet):
        kind, content = "application/zip", _zipped(f"{sheet.name}.csv", content)
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def is_long(sheet: ReportTable) -> bool:
    """Whether a table is too long to stand in the page as it is."""
    return len(sheet.rows) > LONG


def _zipped(name: str, content: bytes) -> bytes:
    """Put one file into a ZIP file, the same for the same content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def written_cells(row: Sequence[Cell], columns: Sequence[Column]) -> list[str]:
    """Write the cells of a row, as the page, Markdown and the terminal show them; the ends of an interval never alike."""
    cells = [_written(cell, column) for cell, column in zip(row, columns, strict=True)]
    for place in intervals(columns):
        low, high = row[place + 1 : place + 3]
        kind = _BOUNDED.get(columns[place].kind)
        if kind is not None and isinstance(low, int | float) and isinstance(high, int | float):
            cells[place + 1 : place + 3] = rounding.ends(low, high, kind, signed=kind == "points")
    return cells


def intervals(columns: Sequence[Column]) -> list[int]:
    """Return the places of columns behind which the two ends of an interval follow."""
    names = [column.name for column in columns]
    return [
        place
        for place, name in enumerate(names[:-2])
        if tuple(names[place + 1 : place + 3]) in {ENDS, tuple(f"{name} {end}" for end in ENDS)}
    ]


class PageTable(NamedTuple):
    """A table as a page shows it: an interval stands beside its estimate, and what is the same in every row once, below."""

    columns: list[Column]
    rows: list[list[str]]
    same: list[tuple[str, str]]
    """Headings and values of columns that say the same in every row."""
    width: str
    """How much room it takes: `few`, `some`, `many` or `most` columns."""


_WIDTHS = ((10, "most"), (7, "many"), (5, "some"), (0, "few"))
"""From so many columns on, a table stands row by row where there is less room, and the widest is set smaller."""


def of_page(sheet: ReportTable, most_rows: int) -> PageTable:
    """Return a table as a page shows it; `most_rows` of its rows."""
    places = intervals(sheet.columns)
    ends = {end for place in places for end in (place + 1, place + 2)}
    rows = []
    for row in sheet.rows[:most_rows]:
        cells = written_cells(row, sheet.columns)
        for place in places:
            value, low, high = cells[place : place + 3]
            if rounding.NONE not in {low, high}:
                cells[place] = f"{value} [{_UNIT.sub('', low)}, {_UNIT.sub('', high)}]"
        rows.append(cells)
    alike = {n for n in range(1, len(sheet.columns)) if len(rows) > 1 and len({row[n] for row in rows}) == 1}
    if len(alike | ends) == len(sheet.columns) - 1:
        # Names alone are no table.
        alike = set()
    kept = [n for n in range(len(sheet.columns)) if n not in ends | alike]
    same = [(sheet.columns[n].name, rows[0][n]) for n in sorted(alike - ends) if rows[0][n] != rounding.NONE]
    width = next(width for least, width in _WIDTHS if len(kept) >= least)
    return PageTable([sheet.columns[n] for n in kept], [[row[n] for n in kept] for row in rows], same, width)


def joined(sheet: ReportTable) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows as text where there is little room: an estimate and its interval in one cell.

    `0.36 [0.31, 0.42]`; what is not known is empty, and so is no column.
    """
    places = intervals(sheet.columns)
    ends = {end for place in places for end in (place + 1, place + 2)}
    rows = []
    for row in sheet.rows:
        cells = [
            "" if cell in {None, ""} else text
            for cell, text in zip(row, written_cells(row, sheet.columns), strict=True)
        ]
        for place in places:
            value, low, high = (
                _UNIT.sub("", text) if index else text for index, text in enumerate(cells[place : place + 3])
            )
            cells[place] = f"{value} [{low}, {high}]" if value and low and high else value
        rows.append(cells)
    visible = [index for index in range(len(sheet.columns)) if index not in ends and any(row[index] for row in rows)]
    return [sheet.columns[index].name for index in visible], [[row[index] for index in visible] for row in rows]


def narrowed(sheet: ReportTable, names: Sequence[str] = ()) -> ReportTable:
    """Return a table for a narrow page: columns of words that say the same in every row stand in its title.

    Args:
        sheet: the table; it is not changed.
        names: the columns that are kept, with the ends of their intervals; all if not given.
    """
    ends = {place + end: place for place in intervals(sheet.columns) for end in (1, 2)}
    selected = [
        place
        for place, column in enumerate(sheet.columns)
        if not names or sheet.columns[ends.get(place, place)].name in names
    ]
    alike = {
        place
        for place in selected
        if len(sheet.rows) > 1 and sheet.columns[place].kind == "text" and len({row[place] for row in sheet.rows}) == 1
    }
    constant = [
        f"{sheet.columns[place].name}: {sheet.rows[0][place]}" for place in sorted(alike) if sheet.rows[0][place]
    ]
    places = [place for place in selected if place not in alike]
    return msgspec.structs.replace(
        sheet,
        title="; ".join(filter(None, [sheet.title, *constant])),
        columns=[sheet.columns[place] for place in places],
        rows=[[row[place] for place in places] for row in sheet.rows],
    )


def _written(cell: Cell, column: Column) -> str:
    if cell is None or isinstance(cell, str):
        return (cell or rounding.NONE)[: 8 if column.kind == "subject" else None]
    if column.kind in {"precise", "points"}:
        return rounding.precise(cell) if column.kind == "precise" else rounding.points(cell, signed=True)
    if column.kind in {"seconds", "dollars"}:
        return rounding.seconds(cell, 1) if column.kind == "seconds" else rounding.dollars(cell)
    if column.kind in {"share", "p"}:
        return rounding.percent(cell) if column.kind == "share" else rounding.p_value(cell)
    return rounding.count(cell) if isinstance(cell, int) and column.kind != "level" else rounding.decimal(cell)
