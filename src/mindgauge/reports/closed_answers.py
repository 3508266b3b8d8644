"""Where answers to closed questions went: what was taken for what, with examples, and the decision path of every system.

Each message stands on the page once, whoever confused it, and only so many of them that the page stays small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.closed_answers import confusion, decision_path
from mindgauge.records import RaterKind, Status
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.records.rubric import in_language
from mindgauge.reports import content, texts
from mindgauge.reports.content import (
    Case,
    Cited,
    Column,
    Confused,
    ConfusionSection,
    LabelDifference,
    ReportTable,
    heads,
    slug,
)
from mindgauge.reports.runs import constant
from mindgauge.reports.sections import Flow, many
from mindgauge.reports.texts import verdicts_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.closed_answers import ConfusionCell, DecisionPath, Visited
    from mindgauge.analysis.closed_answers import ConfusionMatrix as Counted
    from mindgauge.records import Sample
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import Cell, RaterVerdicts, System
    from mindgauge.reports.runs import OpenRun, Section


EXAMPLES = 3
DIFFERENCES = 3
"""Pairs of a label and another answer of which the definitions are shown."""
LONGEST_EXAMPLE = 600
"""Characters of a message that stand beside the definitions."""
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
    criterion: Criterion
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
    sections = [_confusion(matrix, places, anchors) for matrix in matrices]
    for matrix, confused in zip(matrices, sections, strict=True):
        confused.differences = _differences(runs[matrix.system.run], matrix, places, anchors)
    return sections, list(readings.values()), note


def differences(run: OpenRun, systems: Sequence[System]) -> Iterator[tuple[System, Section, list[LabelDifference]]]:
    """Return where each system's answers in a run differ most from the labels, with both definitions and an example."""
    for system in systems:
        for section in run.sections:
            for matrix in _found(section, system):
                cited = [cell.samples[0] for cell in matrix.counted.wrong]
                places = {(section.benchmark.name, i): p for i, p in texts.places(run, section, cited).items()}
                if pairs := _differences(run, matrix, places, {}):
                    yield system, section, pairs


def _differences(
    run: OpenRun, matrix: SystemConfusions, places: dict[Key, str], anchors: dict[Key, str]
) -> list[LabelDifference]:
    """Put the definitions of the labels that are confused most beside each other; answers without a label are left out."""
    section, criterion = matrix.section, matrix.criterion
    name, levels = section.benchmark.name, {str(level.value): level.text for level in criterion.levels}
    cells = [c for c in matrix.counted.wrong if levels.get(c.target) and levels.get(c.outcome)][:DIFFERENCES]
    samples = {cell.samples[0]: run.store.sample(name, cell.samples[0]) for cell in cells}
    verdicts = texts.verdicts_on(run, section, samples, people=False)
    totals = dict(zip(matrix.counted.targets, map(sum, matrix.counted.counts), strict=True))
    pairs = []
    for cell in cells:
        sample = samples[cell.samples[0]]
        language = sample.tags.get("language", "en")
        marks = [
            mark
            for verdict in verdicts[sample.id]
            if (verdict.rater, verdict.criterion) == (matrix.system.model, criterion.name)
            for mark in verdict.marks
            if mark.value == cell.outcome
        ]
        reason = next((mark.rationale for mark in marks if mark.rationale), "")
        label, outcome = words(cell.target), words(cell.outcome)
        key = (name, sample.id)
        pairs.append(LabelDifference(
            label, outcome, cell.n, f"Labelled {label}, answered {outcome}: {count(cell.n)} of {plural(totals[cell.target], 'answer')}",
            (in_language(levels[cell.target], language), in_language(levels[cell.outcome], language)), language,
            Cited(sample.id, places.get(key, ""), anchors.get(key, "")), _shown(section, sample), _steady(cell), reason,
            _followed(outcome, reason, abstains=matrix.abstains, hidden=section.hides(sample.id)),
        ))  # fmt: skip
    return pairs


def _shown(section: Section, sample: Sample) -> str:
    """Return what the definitions are about: the last message, or that and the reply; nothing where they may not be shown."""
    if section.hides(sample.id):
        return ""
    messages = sample.messages[-2 if section.benchmark.about_reply else -1 :]
    passages = [texts.cut(message.content, LONGEST_EXAMPLE) for message in messages]
    return " → ".join(" ".join(texts.clean(text).split()) + ("…" if rest else "") for text, rest in passages)


def _steady(cell: ConfusionCell) -> str:
    """Say whether the answer stays the same when the question is repeated."""
    if cell.repeats == 1:
        return "The example was asked once, so nothing shows how steady its answer is."
    every = f"{count(cell.steady)} of {plural(len(cell.samples), 'message')} got it in every repeat"
    return f"The example got this answer in {count(cell.times)} of {count(cell.repeats)} repeats; {every}."


def _followed(outcome: str, reason: str, *, abstains: bool, hidden: bool) -> str:
    """Say what can be told of whether the words of the rubric led to an answer."""
    if abstains:
        return "A classifier reads no definitions, so they do not explain its answer."
    if hidden:
        return "The text and the reason are restricted, so neither is shown here."
    if not reason:
        return "No reason is kept with the answer, so nothing shows whether the model followed the definitions."
    return (
        f"Compare this reason with the definition of {outcome}. If it fits, the model followed our words, and the words or the "
        "label are in doubt. If not, the model did not follow them. This program cannot decide which."
    )


def _found(section: Section, system: System) -> Iterator[SystemConfusions]:
    for criterion in section.benchmark.rubric.criteria if section.benchmark.closed else ():
        rows = section.asked.filter(
            pl.col("rater") == system.model, pl.col("criterion") == criterion.name,
            pl.col("target").is_not_null(), pl.col("selection").is_null(),
        ).collect()  # fmt: skip
        if not rows.is_empty():
            yield SystemConfusions(
                system, section, criterion, confusion(rows, criterion), rows["rater_kind"][0] == RaterKind.CLASSIFIER
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
            words=texts.words(matrix.section, sample),
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
        [*heads("label | answered | answers:count | messages:count"),
         *(Column(f"example {i + 1}") for i in range(EXAMPLES))],
        [[c.label, c.outcome, c.answers, c.messages, *[e.sample for e in c.examples], *[None] * (EXAMPLES - len(c.examples))] for c in cells],
    )  # fmt: skip
    answers = {outcome: {"answer": outcome} for outcome in counted.targets}
    opens = [
        [
            content.lines(system=system.label, benchmark=name, label=target, **answers.get(outcome, {"sign": "missing"}))
            for outcome in counted.outcomes
        ]
        for target in counted.targets
    ] if len(matrix.section.benchmark.rubric.criteria) == 1 else []  # fmt: skip
    return ConfusionSection(system, name, labels, columns, counted.counts, sheet, cells, table, opens=opens)


def flows(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[Flow]:
    """Follow every system's answers to questions that are decided in order; those most often wrong come first."""
    all_flows = [
        _flow(system, section, path)
        for system in systems
        for section in runs[system.run].sections
        if section.benchmark.closed
        for criterion in section.benchmark.rubric.criteria
        for path in [decision_path(runs[system.run].store, section.benchmark, section.ratings, system.model, criterion)]
        if path is not None
    ]
    return sorted(all_flows, key=lambda flow: -(flow.path.wrong / flow.path.targets if flow.path.targets else 0.0))


def _flow(system: System, section: Section, path: DecisionPath) -> Flow:
    name = section.benchmark.name
    ident = slug(name, path.criterion, system.number)
    finding = _finding(path)
    sheet = ReportTable(f"path-{ident}", f"{system.label}: {finding}", *_table(path))
    return Flow(f"flow-{ident}", system, name, finding, _measure(path), path, sheet)


def step(node: Visited) -> str:
    """Name a node by what it decides."""
    if node.otherwise:
        return f"{words(node.otherwise)} or not"
    return named([words(level) for level in node.decides], joined="or")


def _finding(path: DecisionPath) -> str:
    """Say at which step most answers part from the label's way."""
    if not path.targets:
        end = max(path.nodes, key=lambda node: sum(outcome.answers for outcome in node.outcomes))
        ended = sum(outcome.answers for outcome in end.outcomes)
        if path.lost >= ended:
            return f"{'No answer has' if path.lost == path.n else 'Many answers do not have'} a label ({count(path.lost)} of {count(path.n)} without one)"
        return f"Answers end most often at step {end.number}, {step(end)} ({count(ended)} of {count(path.n)})"
    if not path.wrong:
        return f"All of {plural(path.targets, 'answer')} follow the path of the label"
    worst, errors = max(path.nodes, key=lambda node: node.wrong), plural(path.wrong, "wrong answer")
    if path.lost_targets > worst.wrong:
        return f"More answers have no label than go wrong at any step ({count(path.lost_targets)} of {errors})"
    return f"Wrong most often at step {worst.number}, {step(worst)} ({count(worst.wrong)} of {errors})"


def _measure(path: DecisionPath) -> str:
    """Say what is drawn, and how the path is known."""
    text = f"{plural(path.n, 'answer')} on {plural(path.clusters, 'conversation')}, decided in order: the first yes ends the path."
    if path.targets:
        text += " Bars are answers, upright strokes what the labels would give."
        worst = max(path.nodes, key=lambda node: node.wrong)
        ways = [
            (worst.early, "stop there too early"),
            (worst.passed, "pass on what is decided there"),
            (worst.other, "choose another label of that step"),
            (worst.unread_targets, "cannot be read there"),
        ]
        mistakes = [f"{count(n)} {mistake}" for n, mistake in ways if n]
        if mistakes:
            text += f" At step {worst.number}, {named(mistakes)}."
    if 0 < path.targets < path.n:
        text += f" {plural(path.targets, 'answer has', 'answers have')} a label to compare with."
    if path.recorded == path.n:
        return f"{text} Each step was a question of its own, so the path is what was asked."
    if path.recorded:
        return f"{text} In {plural(path.recorded, 'answer')} each step was asked; elsewhere the path follows from the label given."
    return f"{text} Each answer named one label; its path follows from that label by the order of decision."


def _table(path: DecisionPath) -> tuple[list[Column], list[list[Cell]], str]:
    columns = heads(
        "step:count | what | answers:count | labels:count | rightly decided:share± | n:count | too early:count | "
        "passed on:count | other label:count | unread:count"
    )
    rows: list[list[Cell]] = []
    for node in path.nodes:
        right = node.accuracy
        rows.append([
            node.number, f"get to: {step(node)}", node.answers, node.targets, right.value, right.low, right.high, right.n,
            node.early, node.passed, node.other, node.unread,
        ])  # fmt: skip
        rows += [
            [node.number, f"end: {words(outcome.label)}", outcome.answers, outcome.targets, *[None] * 8]
            for outcome in node.outcomes
        ]
    if path.lost:
        rows.append([None, "no label, step not known", path.lost, None, *[None] * 8])
    note = (
        "Of the answers whose label gets to a step, those rightly decided end there with it or go on where it does; one that ended earlier, or "
        "cannot be read, is wrong. A wrong answer stands once under the step at which it parts from the label: it ends there too early, passes "
        "on what is decided there, chooses another of its labels, or is unread. Intervals are exact, with conversations as n."
    )
    return columns, rows, note


def decisions(runs: Sequence[OpenRun], all_flows: Sequence[Flow]) -> ReportTable | None:
    """Put how often each step is rightly decided side by side, with answers that read nothing."""
    if not all_flows:
        return None
    rows: list[tuple[Cell, ...]] = [
        (flow.benchmark, node.number, step(node), flow.system.label, right.value, right.low, right.high, right.n, right.clusters)
        for flow in all_flows
        for node in flow.path.nodes
        for right in [node.accuracy]
    ]  # fmt: skip
    rows += dict.fromkeys(_constant(runs, all_flows))
    rows.sort(key=lambda row: (str(row[0]), int(row[1] or 0)))
    columns = heads("benchmark | step:count | what | by | rightly decided:share± | n:count | conversations:count")
    note = "“Always” a label and the majority class read nothing: a model that decides no better has learned nothing at that step."
    return ReportTable(
        "decisions", "How often each step is rightly decided", columns, [list(row) for row in rows], note
    )


def _constant(runs: Sequence[OpenRun], all_flows: Sequence[Flow]) -> Iterator[tuple[Cell, ...]]:
    """Return the same of the constant raters that a benchmark asks for."""
    steps = {
        (flow.benchmark, f"node_{node.number}_accuracy"): (node.number, step(node))
        for flow in all_flows
        for node in flow.path.nodes
    }
    for s in (s for run in runs for section in run.sections for s in constant(run, section)):
        if s.slice == "all" and (s.benchmark, s.name) in steps:
            number, step_name = steps[s.benchmark, s.name]
            yield s.benchmark, number, step_name, s.model, s.value, s.low, s.high, s.n, s.clusters


def share_right(node: Visited) -> str:
    """Write how often a step is rightly decided, with its interval; empty where no label says so."""
    right = node.accuracy
    if right.value is None:
        return ""
    bounds = f"{interval(right.low, right.high, 'share')}; " if right.low is not None else ""
    return f"rightly decided {percent(right.value)} ({bounds}n {count(right.n)})"
