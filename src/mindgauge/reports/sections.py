"""What a report says, as records: the page, the JSON file and the summary are three renderings of one `Report`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from mindgauge.analysis.calibrated import Calibrated
from mindgauge.analysis.decision_path import DecisionPath
from mindgauge.analysis.reliability.card import NOT_ESTIMABLE, Bound
from mindgauge.analysis.score import Scores
from mindgauge.reports.content import Confusion, Figure, Reading, Sheet, System
from mindgauge.reports.standing import Standing, Withheld


class Answer(msgspec.Struct):
    """What the numbers say of one system, a paragraph per benchmark; what may not be said; what they force one to add."""

    system: System
    facts: list[str]
    withheld: list[str]
    caveats: list[str]


class ToRead(msgspec.Struct):
    """A list of readings and what it was chosen from."""

    title: str
    note: str
    items: list[Reading]


class Flow(msgspec.Struct):
    """How a system's answers went through labels that are decided in order. `finding` is its title."""

    anchor: str
    system: System
    benchmark: str
    finding: str
    measure: str
    path: DecisionPath
    sheet: Sheet


class Weak(msgspec.Struct):
    """Where it is weak. `withheld` says, a sentence for each judge, what is not drawn.

    `flows` stand worst first; `decisions` is how often every system, and answers that read nothing, decided each step
    rightly. `cited` are the messages that confusions give as examples, each once; `cited_note` says what is not shown.
    """

    figures: list[Figure]
    withheld: list[str]
    flows: list[Flow]
    decisions: Sheet | None
    confusions: list[Confusion]
    cited: list[Reading]
    cited_note: str
    rules: Sheet | None
    scores: Sheet


class Axis(msgspec.Struct, frozen=True):
    """The two scales of a picture of agreement: agreement from `low` to 1, bias from -`reach` to `reach` in `unit`."""

    low: float
    moderate: float
    good: float
    reach: float
    zone: float
    """Bias up to this is as good as none."""
    unit: str


class Row(msgspec.Struct, frozen=True):
    """One judge on one criterion: agreement with people, people's among themselves, bias in the axis' unit, verdicts."""

    judge: System
    criterion: str
    n: int
    agreement: Bound
    ceiling: Bound
    bias: Bound
    verdict: str
    ranking: str
    """Empty where nothing can be said about ranking in the whole picture."""

    @property
    def firm(self) -> bool:
        """Whether the data allow a verdict."""
        return self.verdict != NOT_ESTIMABLE


class Panel(msgspec.Struct):
    """Rows drawn on one axis, worst first: one judge's criteria or, where there is one criterion, all judges.

    `said` is the text alternative.
    """

    anchor: str
    judge: System | None
    said: str
    rows: list[Row]


class Agreement(msgspec.Struct):
    """How far judges agree with people on one benchmark: picture, tables, corrected scores."""

    benchmark: str
    finding: str
    measure: str
    axis: Axis
    panels: list[Panel]
    sheets: list[Sheet]
    corrected: Sheet | None


class InWords(msgspec.Struct):
    """A card in words: verdicts on single replies and on ranking systems, each with reasons, and what it warns of.

    `run` names the run where several have cards.
    """

    run: str
    criterion: str
    verdict: str
    reasons: list[str]
    ranking: str
    ranking_reasons: list[str]
    warnings: list[str]


class JudgeTrust(msgspec.Struct):
    """What is known of one judge: in sentences, and its cards in words."""

    rater: str
    facts: list[str]
    cards: list[InWords]


class EntryTest(msgspec.Struct):
    """How judges placed replies that Mindgauge's authors wrote to stand at known levels."""

    benchmark: str
    finding: str
    measure: str
    figures: list[Figure]
    sheets: list[Sheet]


class Calibration(msgspec.Struct):
    """Whether a classifier is as often right as it says. `finding` is its title and its text alternative."""

    anchor: str
    system: System
    benchmark: str
    finding: str
    measure: str
    calibrated: Calibrated
    sheet: Sheet


class Trust(msgspec.Struct):
    """How far to trust it: the cards as pictures, tables, words and records; the entry test; what else is known."""

    general: list[str]
    agreement: list[Agreement]
    calibration: list[Calibration]
    entry: list[EntryTest]
    judges: list[JudgeTrust]
    cards: list[Standing]


class Wrong(msgspec.Struct):
    """What went wrong."""

    facts: list[str]
    statuses: Sheet
    categories: Sheet | None
    bounds: Sheet | None


class Place(msgspec.Struct, frozen=True):
    """Where one system stands on a measure; `system` is None for an answer that reads nothing.

    Values are None where they may not be shown, ranks where there are none.
    """

    system: System | None
    label: str
    value: float | None
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None
    n: int
    clusters: int
    missing: int


class Contrast(msgspec.Struct):
    """All systems on one measure, the best first, constant answers last. `finding` is its title and text alternative.

    `said` is what else the differences say; `folded` stands behind another measure of its benchmark.
    """

    anchor: str
    benchmark: str
    finding: str
    measure: str
    said: list[str]
    unit: Literal["share", "level"]
    low: float
    high: float
    places: list[Place]
    sheet: Sheet
    folded: bool

    @property
    def drawn(self) -> list[tuple[str, str]]:
        """Its pictures as SVG by the name of their width, which are no part of the record."""
        from mindgauge.reports import paired_chart

        return paired_chart.drawn(self)


class Paired(msgspec.Struct):
    """Who is better than whom, on what they have in common: pictures, every two systems, single parts, and the price.

    `withheld` says what judges may not rank; `notes` what was not compared, and why.
    """

    contrasts: list[Contrast]
    pairs: Sheet | None
    parts: Sheet | None
    parts_said: list[str]
    costs: Sheet | None
    costs_said: str
    withheld: list[str]
    notes: list[str]


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
    hidden: list[str]
    """What is told by its id alone, since its texts are restricted; empty where everything may be shown."""
    reading: list[ToRead]
    weak: Weak
    trust: Trust
    wrong: Wrong
    paired: Paired | None
    """None where one system stands alone."""
    compared: Sheet | None
    how: How
    scores: list[Scores]
    withheld: list[Withheld]
