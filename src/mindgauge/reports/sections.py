"""What a report says, as records: the page, the JSON file and the summary are three renderings of one `Report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mindgauge.analysis.decision_path import DecisionPath
from mindgauge.analysis.score import Scores
from mindgauge.reports.compared import ComparisonSection
from mindgauge.reports.content import Case, ConfusionSection, Figure, ReportTable, System
from mindgauge.reports.profile.records import ProfileSection
from mindgauge.reports.standing import SuppressedScore
from mindgauge.reports.trust_section import Trust

if TYPE_CHECKING:
    from collections.abc import Sized

MOST_OPEN = 4
"""Benchmarks whose parts of a report stand open; of more, each is folded."""


def many(benchmarks: Sized) -> bool:
    """Whether there are so many benchmarks that each one's part is folded."""
    return len(benchmarks) > MOST_OPEN


class Summary(msgspec.Struct):
    """What the numbers say of one system, a paragraph per benchmark; what may not be said; what they force one to add.

    `facts` and `withheld` are empty where they stand by task.
    """

    system: System
    facts: list[str]
    withheld: list[str]
    caveats: list[str]


class SystemFindings(msgspec.Struct):
    """What the numbers say of one system in one benchmark, and what may not be said."""

    system: System
    facts: list[str]
    withheld: list[str]


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
    """What is sent to whom, unless the command says otherwise: `to a model under test`, `to a judge`."""
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
    models: ReportTable
    setups: list[tuple[str, str]]
    """What models were asked with beside their names, as TOML."""


class MethodsSection(msgspec.Struct):
    """How it was done."""

    instruments: list[InstrumentSection]
    runs: list[Made]
    methods: list[str]


class Report(msgspec.Struct):
    """A whole report."""

    title: str
    subtitle: str
    made: str
    software: str
    systems: list[System]
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
    weak: Weak
    trust: Trust
    wrong: Wrong
    paired: ComparisonSection | None
    """None where one system stands alone."""
    compared: ReportTable | None
    how: MethodsSection
    scores: list[Scores]
    withheld: list[SuppressedScore]

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
