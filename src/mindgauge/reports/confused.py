"""What was taken for what: a table for each system, and for every confusion up to three messages as examples.

Each message stands on the page once, whoever confused it, and only so many of them that the page stays small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.confusion import confusion
from mindgauge.records import RaterKind, Status
from mindgauge.records.english import named, words
from mindgauge.records.rounding import plural
from mindgauge.reports import texts
from mindgauge.reports.content import Case, Cited, Column, Confused, ConfusionSection, ReportTable
from mindgauge.reports.sections import many
from mindgauge.reports.texts import verdicts_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.confusion import ConfusionCell
    from mindgauge.analysis.confusion import ConfusionMatrix as Counted
    from mindgauge.reports.content import RaterVerdicts, System
    from mindgauge.reports.runs import OpenRun, Section

EXAMPLES = 3
BUDGET = 800_000
"""Characters of examples, verdicts included, that the page shows; the other examples are told by their ids."""
TIGHT = 100
"""Examples that it shows where many benchmarks share it."""

Key = tuple[str, str]
"""A benchmark and a sample in it."""


class SystemConfusions(NamedTuple):
    """A system's confusions on one criterion."""

    system: System
    section: Section
    counted: Counted
    abstains: bool

    def outcome(self, name: str) -> str:
        """Write an outcome in words; a classifier that declines abstains."""
        return "abstained" if self.abstains and name == Status.REFUSED else words(name)


def confusions(
    runs: Sequence[OpenRun], systems: Sequence[System], on_page: set[str]
) -> tuple[list[ConfusionSection], list[Case], str]:
    """Return every system's confusions, the messages they cite, and what to say of those that are not shown.

    `on_page` are the anchors of the messages that the page shows elsewhere.
    """
    matrices = [
        matrix for system in systems for section in runs[system.run].sections for matrix in _found(section, system)
    ]
    cited = _cited(matrices)
    crowded = many({section.benchmark.name for run in runs for section in run.sections})
    readings, left_out = _within_budget(_readings(runs, cited, on_page), TIGHT if crowded else len(cited))
    places = {
        (section.benchmark.name, ident): place
        for section in {id(matrix.section): matrix.section for matrix in matrices}.values()
        for ident, place in texts.places(runs[section.run], section, _of(cited, section)).items()
    }
    anchors = {key: reading.anchor for key, reading in readings.items()}
    anchors |= {key: anchor for key in cited if (anchor := texts.anchor("message", key[1])) in on_page}
    note = (
        f"{plural(left_out, 'more message is', 'more messages are')} named by {'its id' if left_out == 1 else 'their ids'} alone, to keep this page small."
        if left_out
        else ""
    )
    return [_confusion(matrix, places, anchors) for matrix in matrices], list(readings.values()), note


def _found(section: Section, system: System) -> Iterator[SystemConfusions]:
    for criterion in section.benchmark.rubric.criteria if section.benchmark.closed else ():
        rows = section.asked.filter(
            pl.col("rater") == system.model, pl.col("criterion") == criterion.name,
            pl.col("target").is_not_null(), pl.col("selection").is_null(),
        ).collect()  # fmt: skip
        if not rows.is_empty():
            yield SystemConfusions(
                system, section, confusion(rows, criterion), rows["rater_kind"][0] == RaterKind.CLASSIFIER
            )


def _cited(matrices: Sequence[SystemConfusions]) -> dict[Key, list[tuple[SystemConfusions, ConfusionCell]]]:
    """Return the samples that are examples, with what they are examples of: every cell's first before any cell's second."""
    cited: dict[Key, list[tuple[SystemConfusions, ConfusionCell]]] = {}
    for place in range(EXAMPLES):
        for matrix in matrices:
            for cell in matrix.counted.wrong:
                if place < len(cell.samples):
                    cited.setdefault((matrix.section.benchmark.name, cell.samples[place]), []).append((matrix, cell))
    return cited


def _of(cited: dict[Key, list[tuple[SystemConfusions, ConfusionCell]]], section: Section) -> list[str]:
    return [
        ident for (name, ident), citations in cited.items() if any(matrix.section is section for matrix, _ in citations)
    ]


def _readings(
    runs: Sequence[OpenRun], cited: dict[Key, list[tuple[SystemConfusions, ConfusionCell]]], on_page: set[str]
) -> Iterator[tuple[Key, Case]]:
    """Make the samples whose texts may be shown, and are not yet, ready to read."""
    samples = {
        key: runs[citations[0][0].section.run].store.sample(*key)
        for key, citations in cited.items()
        if not citations[0][0].section.hides(key[1]) and texts.anchor("message", key[1]) not in on_page
    }
    verdict_lists: dict[Key, list[RaterVerdicts]] = {key: [] for key in samples}
    for run in runs:
        for section in run.sections:
            section_samples = {
                ident: sample for (name, ident), sample in samples.items() if name == section.benchmark.name
            }
            for ident, verdicts in verdicts_on(run, section, section_samples, people=False).items():
                verdict_lists[section.benchmark.name, ident] += verdicts
    for key, sample in samples.items():
        matrix, cell = cited[key][0]
        outcomes = list(dict.fromkeys(other.outcome(cited_cell.outcome) for other, cited_cell in cited[key]))
        yield key, Case(
            texts.anchor("message", sample.id), words(cell.target), f"answered {named(outcomes)}",
            f"The label that comes with it is {words(cell.target)}.", None,
            *texts.chat(matrix.section, sample, texts.quoted(verdict_lists[key])), verdict_lists[key],
        )  # fmt: skip


def _within_budget(readings: Iterator[tuple[Key, Case]], limit: int) -> tuple[dict[Key, Case], int]:
    """Keep the first readings, as many as there is room for and at most so many; return how many there was none for."""
    selected: dict[Key, Case] = {}
    spent = left_out = 0
    for key, reading in readings:
        passages = [part.text for p in (*reading.dialogue, reading.reply) if p is not None for part in p.parts]
        marks = [mark for verdict in reading.verdicts for mark in verdict.marks]
        spent += sum(map(len, passages)) + sum(len(mark.level) + len(mark.rationale) for mark in marks)
        if spent <= BUDGET and len(selected) < limit:
            selected[key] = reading
        else:
            left_out += 1
    return selected, left_out


def _confusion(matrix: SystemConfusions, places: dict[Key, str], anchors: dict[Key, str]) -> ConfusionSection:
    system, name, counted = matrix.system, matrix.section.benchmark.name, matrix.counted
    labels, columns = (
        [words(target) for target in counted.targets],
        [matrix.outcome(outcome) for outcome in counted.outcomes],
    )
    title = f"What {system.label} answered to each class"
    sheet = ReportTable(
        f"confusion-{system.number}", title, [Column("class"), *(Column(c, "count") for c in columns)],
        [[label, *row] for label, row in zip(labels, counted.counts, strict=True)],
    )  # fmt: skip
    cells = []
    for cell in counted.wrong:
        keys = [(name, ident) for ident in cell.samples[:EXAMPLES]]
        examples = [Cited(key[1], places.get(key, ""), anchors.get(key, "")) for key in keys]
        cells.append(Confused(words(cell.target), matrix.outcome(cell.outcome), cell.n, len(cell.samples), examples))
    table = ReportTable(
        f"confusions-{system.number}", f"Every confusion of {system.label}",
        [Column("label"), Column("answered"), Column("answers", "count"), Column("messages", "count"),
         *(Column(f"example {i + 1}") for i in range(EXAMPLES))],
        [[c.label, c.outcome, c.answers, c.messages, *_padded([e.sample for e in c.examples])] for c in cells],
    )  # fmt: skip
    return ConfusionSection(system, name, labels, columns, counted.counts, sheet, cells, table)


def _padded(ids: list[str]) -> list[str | None]:
    return [*ids, *[None] * (EXAMPLES - len(ids))]
