"""What the sections of a report are made of: tables, passages, verdicts, pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast, get_args
from urllib.parse import quote, urlencode

import msgspec

from mindgauge.records import Value
from mindgauge.records.rounding import plural

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

    Properties are system (its label), benchmark, category, language, label, answer, persona, rater, sign (`signs.Sign`, in
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
