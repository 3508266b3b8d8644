"""What a report says, as records: the page, the JSON file and the summary are three renderings of one `Report`."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from mindgauge.analysis.score import Scores
from mindgauge.records import Value

Kind: TypeAlias = Literal["text", "count", "share", "level", "interval", "seconds", "dollars"]
Cell: TypeAlias = str | int | float | None


class System(msgspec.Struct, frozen=True):
    """A model as one run measured it. `number` chooses its colour and its shape in every picture."""

    label: str
    model: str
    run: int
    number: int


class Column(msgspec.Struct, frozen=True):
    """A column's heading and how its values are written."""

    name: str
    kind: Kind = "text"


class Sheet(msgspec.Struct):
    """A table. `name` is its file name as CSV."""

    name: str
    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    note: str = ""


class Answer(msgspec.Struct):
    """What the numbers say of one system, a paragraph per benchmark, and what they force one to add."""

    system: System
    facts: list[str]
    caveats: list[str]


class Part(msgspec.Struct, frozen=True):
    """A stretch of text, marked where a rater quotes it."""

    text: str
    marked: bool = False


class Passage(msgspec.Struct):
    """Somebody's words, made safe to show. `cut` counts the characters left out at the end."""

    role: str
    language: str
    parts: list[Part]
    cut: int = 0


class Quote(msgspec.Struct, frozen=True):
    """Words a rater quotes, and whether they stand in the text."""

    text: str
    found: bool


class Mark(msgspec.Struct):
    """One verdict: a value with its level's wording, or a status; the reason given and the words quoted."""

    run: int
    status: str
    value: Value | None
    level: str
    rationale: str
    quotes: list[Quote]
    language: str


class Verdict(msgspec.Struct):
    """One rater's verdicts on one criterion, repeats together."""

    rater: str
    kind: str
    criterion: str
    scale: str
    marks: list[Mark]


class Reading(msgspec.Struct):
    """A reply, or a missed message, that a person should look at."""

    anchor: str
    category: str
    summary: str
    why: str
    system: System | None
    dialogue: list[Passage]
    reply: Passage | None
    verdicts: list[Verdict]


class ToRead(msgspec.Struct):
    """A list of readings and what it was chosen from."""

    title: str
    note: str
    items: list[Reading]


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
    sheet: Sheet
    folded: str = ""
    """Where it stands behind another figure: what its fold says."""


class Confusion(msgspec.Struct):
    """What a system answered to each class. The last column counts answers without a value."""

    system: System
    benchmark: str
    labels: list[str]
    columns: list[str]
    counts: list[list[int]]
    sheet: Sheet


class Weak(msgspec.Struct):
    """Where it is weak."""

    figures: list[Figure]
    confusions: list[Confusion]
    rules: Sheet | None
    scores: Sheet


class JudgeTrust(msgspec.Struct):
    """What is known of one rater, in sentences."""

    rater: str
    facts: list[str]


class Trust(msgspec.Struct):
    """How far to trust it."""

    general: list[str]
    judges: list[JudgeTrust]
    people: list[Sheet]


class Wrong(msgspec.Struct):
    """What went wrong."""

    facts: list[str]
    statuses: Sheet
    categories: Sheet | None
    bounds: Sheet | None


class Instrument(msgspec.Struct):
    """A benchmark's card and the very words that raters were shown."""

    benchmark: str
    title: str
    measures: str
    does_not_measure: str
    departures: list[str]
    licence: str
    citation: str
    link: str
    rubric: str
    rubric_hash: str
    used: list[str]
    same: bool
    """Whether the words shown here are those that the run used."""
    prompts: list[tuple[str, str, str, str]]
    """Kind, language, hash and text."""
    criteria: list[dict[str, Any]]


class Made(msgspec.Struct):
    """How one run was made."""

    run: str
    command: str
    facts: list[tuple[str, str]]
    plan: str
    models: Sheet


class How(msgspec.Struct):
    """How it was done."""

    instruments: list[Instrument]
    runs: list[Made]
    methods: list[str]


class Report(msgspec.Struct):
    """A whole report."""

    title: str
    subtitle: str
    made: str
    software: str
    systems: list[System]
    answers: list[Answer]
    caveats: list[str]
    not_shown: list[str]
    reading: list[ToRead]
    weak: Weak
    trust: Trust
    wrong: Wrong
    compared: Sheet | None
    how: How
    scores: list[Scores]
