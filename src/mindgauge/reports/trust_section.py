"""What a report says of how far to trust it, as records."""

from __future__ import annotations

import msgspec

from mindgauge.analysis.calibrated import Calibrated
from mindgauge.analysis.reliability.card import NOT_ESTIMABLE, Bound
from mindgauge.reports.content import Figure, ReportTable, System
from mindgauge.reports.standing import RunCard


class Axis(msgspec.Struct, frozen=True):
    """The two scales of a picture of agreement: agreement from `low` to 1, bias from -`reach` to `reach` in `unit`."""

    low: float
    moderate: float
    good: float
    reach: float
    zone: float
    """Bias up to this is as good as none."""
    unit: str


class JudgeRow(msgspec.Struct, frozen=True):
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


class AgreementPanel(msgspec.Struct):
    """Rows drawn on one axis, worst first: one judge's criteria or, where there is one criterion, all judges.

    `said` is the text alternative.
    """

    anchor: str
    judge: System | None
    said: str
    rows: list[JudgeRow]


class AgreementSection(msgspec.Struct):
    """How far judges agree with people on one benchmark: picture, tables, corrected scores."""

    benchmark: str
    finding: str
    measure: str
    axis: Axis
    panels: list[AgreementPanel]
    sheets: list[ReportTable]
    corrected: ReportTable | None


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


class Judged(msgspec.Struct):
    """What is known of a judge on one benchmark: in sentences, its cards in words, and how far its reasons can be checked."""

    benchmark: str
    facts: list[str]
    cards: list[InWords]
    reasons: list[ReportTable]


class JudgeTrust(msgspec.Struct):
    """The same of a judge as a whole; of many benchmarks, each one's `parts` stand apart."""

    rater: str
    facts: list[str]
    cards: list[InWords]
    reasons: list[ReportTable]
    parts: list[Judged]


class JurySection(msgspec.Struct):
    """What several judges know together on one benchmark: juries beside their members, and what each member adds.

    `run` names the run where the report is about several.
    """

    run: str
    benchmark: str
    finding: str
    said: list[str]
    sheets: list[ReportTable]


class Curve(msgspec.Struct, frozen=True):
    """An order of reading.

    `kind` is `judge`, `jury` or `fitted`, `judge` who it is. `reads` is the share read for the target, `found` the
    shares of the unsafe found once 0, 1, …, 100 % are read.
    """

    name: str
    kind: str
    judge: System | None
    reads: Bound
    found: list[float]


class Escalated(msgspec.Struct):
    """How much people must read to find what they call unsafe. `finding` is its title and text alternative.

    `run` names the run where the report is about several. `notes` say what the figures rest on, and where they mislead. `ideal` is the share that an order without error would
    read for the target, `curves` are those that are drawn.
    """

    anchor: str
    run: str
    benchmark: str
    unsafe: str
    finding: str
    measure: str
    said: list[str]
    notes: list[str]
    target: float
    n: int
    n_unsafe: int
    ideal: float
    curves: list[Curve]
    sheet: ReportTable


class EntryTestSection(msgspec.Struct):
    """How judges placed replies that Mindgauge's authors wrote to stand at known levels."""

    benchmark: str
    finding: str
    measure: str
    figures: list[Figure]
    sheets: list[ReportTable]


class CalibrationSection(msgspec.Struct):
    """Whether a classifier is as often right as it says. `finding` is its title and its text alternative."""

    anchor: str
    system: System
    benchmark: str
    finding: str
    measure: str
    calibrated: Calibrated
    sheet: ReportTable


class Trust(msgspec.Struct):
    """How far to trust it: cards as pictures, tables, words and records; entry test, juries, escalation; what else is known."""

    general: list[str]
    agreement: list[AgreementSection]
    calibration: list[CalibrationSection]
    entry: list[EntryTestSection]
    juries: list[JurySection]
    escalated: list[Escalated]
    judges: list[JudgeTrust]
    cards: list[RunCard]
