"""What a report says, as records: the page, the JSON file and the summary are three renderings of one `Report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.analysis.classifiers import Calibrated
from mindgauge.analysis.closed_answers import DecisionPath
from mindgauge.analysis.reliability.card import NOT_ESTIMABLE, Bound
from mindgauge.analysis.score import Scores
from mindgauge.benchmarks.trials import RubricTrial
from mindgauge.reports.compared import ComparisonSection
from mindgauge.reports.content import Case, ConfusionSection, Figure, ReportTable, System, SystemFindings
from mindgauge.reports.draw.records import DialoguePart, Dots
from mindgauge.reports.profile.records import ProfileSection
from mindgauge.reports.reliability_gate import RunCard, SuppressedScore

if TYPE_CHECKING:
    from collections.abc import Sized


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
    sets: ReportTable | None = None
    """Which levels people's value can have, given a judge's; `widest` says where they are most open."""
    widest: str = ""


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


class RubricTrials(msgspec.Struct):
    """Trials of a benchmark's words, whichever model judges: a line for each wording and language, and all trials in its folder."""

    benchmark: str
    lines: list[str]
    trials: list[RubricTrial]


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
    trials: list[RubricTrials] = []


MOST_OPEN = 4
"""Benchmarks whose parts of a report stand open; of more, each is folded."""


def many(benchmarks: Sized) -> bool:
    """Whether there are so many benchmarks that each one's part is folded."""
    return len(benchmarks) > MOST_OPEN


STATEMENT_HEADS = ("What was found", "How far to trust it", "What to do now")
"""What each sentence of the first screen says."""


class FirstScreen(msgspec.Struct):
    """The answer: what was found, how far to trust it, what to do now; one picture; one table of systems.

    `paragraphs` say the same of each benchmark (its name, title and statements) where there are several; of a suite there are none, and its profile has the picture.
    """

    statements: list[str]
    picture: Dots | None
    table: ReportTable | None
    paragraphs: list[dict[str, Any]]


class ClinicalAnswer(msgspec.Struct):
    """A question that a clinician asks, and what the data say; `leads_to` is the section with more."""

    question: str
    answer: list[str]
    table: ReportTable | None
    leads_to: str = ""


class Summary(msgspec.Struct):
    """What the numbers say of one system, a paragraph per benchmark; what may not be said; what they force one to add.

    `facts` and `withheld` are empty where they stand by task.
    """

    system: System
    facts: list[str]
    withheld: list[str]
    caveats: list[str]


class TaskAnswer(msgspec.Struct):
    """What the numbers say of every system in one benchmark. `finding` is the first of it, `not_shown` what it leaves out."""

    benchmark: str
    title: str
    finding: str
    told: list[SystemFindings]
    not_shown: str


class ToRead(msgspec.Struct):
    """A list of readings and what it was chosen from."""

    title: str
    note: str
    items: list[Case]
    opens: str = ""
    """Which lines of the reader it was chosen from."""


class Flow(msgspec.Struct):
    """How a system's answers went through labels that are decided in order. `finding` is its title."""

    anchor: str
    system: System
    benchmark: str
    finding: str
    measure: str
    path: DecisionPath
    sheet: ReportTable


class Weak(msgspec.Struct):
    """Where it is weak. `withheld` says, a sentence for each judge, what is not drawn.

    `flows` stand worst first; `decisions` is how often every system, and answers that read nothing, decided each step
    rightly. `cited` are the messages that confusions give as examples, each once; `cited_note` says what is not shown.
    """

    figures: list[Figure]
    withheld: list[str]
    flows: list[Flow]
    decisions: ReportTable | None
    confusions: list[ConfusionSection]
    cited: list[Case]
    cited_note: str
    rules: ReportTable | None
    scores: ReportTable
    stock: list[str] = []
    """How many of each model's replies are stock; nothing of models without any."""
    stock_tables: list[ReportTable] = []
    responsible: ReportTable | None = None
    """What share of each model's replies is unsafe, refuses a benign request, or is stock."""
    unmeasured: list[str] = []
    """Which of these shares no run has, and which command adds it."""


class Wrong(msgspec.Struct):
    """What went wrong."""

    facts: list[str]
    statuses: ReportTable
    categories: ReportTable | None
    bounds: ReportTable | None


class InstrumentSection(msgspec.Struct):
    """A benchmark's card and the very words that raters were shown."""

    benchmark: str
    title: str
    measures: str
    does_not_measure: str
    departures: list[str]
    sent: list[tuple[str, str]]
    """In which form something is sent to whom, parameters aside: `to a model under test`, `to a judge`."""
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
    commands: list[str]
    """What was typed, in its order, from the first command to the last by which the run grew."""
    unrecorded: int
    """How many commands were calls from Python, which are not recorded."""
    facts: list[tuple[str, str]]
    plan: str
    models: ReportTable
    setups: list[tuple[str, str]]
    """What models were asked with beside their names, as TOML."""


class MethodsSection(msgspec.Struct):
    """How it was done."""

    instruments: list[InstrumentSection]
    runs: list[Made]
    methods: list[str]


class FidelitySection(msgspec.Struct):
    """Whether the models that play persons are fit for it, before anything that follows from their dialogues."""

    title: str
    facts: list[str]
    tables: list[ReportTable]


class Report(msgspec.Struct):
    """A whole report."""

    title: str
    subtitle: str
    made: str
    software: str
    names: dict[str, str]
    """What models and judges that were given by their addresses are called on the page and in the summary."""
    systems: list[System]
    first: FirstScreen
    fidelity: FidelitySection | None
    """None where no client plays."""
    unfit: list[str]
    """Which judges cannot be used, before anything that others say; empty where all can."""
    people: list[str]
    """What people called unsafe, before anything that judges say; empty where nobody read."""
    lead: list[str]
    """The answer in one paragraph, where there is a profile; empty where there is none."""
    answers: list[Summary]
    tasks: list[TaskAnswer]
    """The answer task by task, where there is a profile."""
    caveats: list[str]
    not_shown: list[str]
    hidden: list[str]
    """What is told by its id alone, since its texts are restricted; empty where everything may be shown."""
    profile: ProfileSection | None
    """None where the runs hold fewer than two tasks of a suite."""
    reading: list[ToRead]
    clinical: list[ClinicalAnswer]
    """What a clinician asks, each question answered or said to be open."""
    dialogues: list[DialoguePart]
    """What there is to see of dialogues of several turns, benchmark by benchmark; empty where there are none."""
    weak: Weak
    trust: Trust
    wrong: Wrong
    paired: ComparisonSection | None
    """None where one system stands alone."""
    compared_title: str
    """Of one model, which nobody is compared with, that it stands beside answers that read nothing."""
    compared: ReportTable | None
    how: MethodsSection
    scores: list[Scores]
    drawn: ReportTable | None
    """What people's ratings of a drawn part say of all replies; None where nothing was drawn with known probabilities."""
    withheld: list[SuppressedScore]
    reader: str = ""
    """The first page of the reader beside the report; empty where none was written."""
    language: str = "en"
    """Of the page and the summary; the records are in English in any."""

    @property
    def folds(self) -> bool:
        """Whether each benchmark's part of a section is folded."""
        return many(self.how.instruments)

    @property
    def titles(self) -> dict[str, str]:
        """What each benchmark is called: as a task of the suite, else by its own title."""
        titles = {instrument.benchmark: instrument.title for instrument in self.how.instruments}
        tasks = self.profile.scores.tasks if self.profile else []
        return titles | {task.benchmark: task.title for task in tasks}
