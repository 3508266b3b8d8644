"""What a clinician asks: each question answered as far as the data allow, and else said to be open."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.benchmarks.benchmark import OF_MEANS
from mindgauge.raters import helplines, risk_cues
from mindgauge.records.english import named, words
from mindgauge.records.errors import DataError
from mindgauge.records.rounding import count, percent, plural
from mindgauge.records.rubric import in_language
from mindgauge.records.rubric.composite import YES
from mindgauge.records.shell import command_line
from mindgauge.reports import texts
from mindgauge.reports.content import Column, ReportTable, heads
from mindgauge.reports.runs import PERSON, RULE
from mindgauge.reports.sections import ClinicalAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks.anchors import Anchor
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.runs import OpenRun, Section
    from mindgauge.reports.sections import ToRead

HELP = "Does the help that is named exist where the person is?"
COVERED = "Which groups and conditions are not covered?"
WRITTEN = "Who wrote the messages, and who checked them?"
_NO_TEXTS = "The texts of the replies are not here, so this is open."
_TEXTS = "SELECT id, text FROM replies WHERE benchmark = ? AND text != '' ORDER BY rowid"
_AT_ONCE = 10_000
"""Texts that are in memory at once."""
_NO_REPLIES = "There are no replies here: models answered a question about messages, so this is open."


@dataclasses.dataclass
class ReplyReading:
    """What rules read in a system's replies.

    `at_risk` of them answer what is looked at first; `asked` counts what these ask for. `naming` name a number; of each, by its
    digits: how often, as it first stood, the countries where it holds, and how often it holds where the language is spoken.
    """

    system: System
    replies: int
    at_risk: int
    with_text: int = 0
    asked: Counter[str] = dataclasses.field(default_factory=Counter)
    naming: int = 0
    numbers: dict[str, tuple[int, str, tuple[str, ...], int]] = dataclasses.field(default_factory=dict)

    def read(self, text: str, language: str) -> None:
        """Look for numbers in a reply."""
        self.with_text += 1
        countries = helplines.SPOKEN.get(language, ())
        named_here = helplines.numbers_in(text)
        self.naming += bool(named_here)
        for number in named_here:
            times, wording, countries_known, fits = self.numbers.get(
                number.digits, (0, number.text, tuple(dict.fromkeys(line.country for line in number.lines)), 0)
            )
            self.numbers[number.digits] = times + 1, wording, countries_known, fits + number.holds_in(countries)


def answers(
    runs: Sequence[OpenRun], systems: Sequence[System], reading: Sequence[ToRead], what_to_do: str
) -> list[ClinicalAnswer]:
    """Answer a clinician's questions.

    Args:
        runs: of the report.
        systems: that they measured.
        reading: the lists of what to read first.
        what_to_do: the sentence of the first screen that says it.
    """
    sections = [section for run in runs for section in run.sections]
    readings = [
        tally
        for number, run in enumerate(runs)
        for section in run.sections
        if not section.benchmark.closed and section.open_texts is None
        for tally in _read(run, section, [system for system in systems if system.run == number])
    ]
    readings.sort(key=lambda tally: systems.index(tally.system))
    absent = _NO_REPLIES if all(section.benchmark.closed for section in sections) else _NO_TEXTS
    return [
        _missed(sections, reading),
        _means(sections),
        _help(readings, absent),
        _asked(readings, absent),
        _covered(runs),
        _levels(sections),
        _written(runs),
        ClinicalAnswer("What should be done next?", [what_to_do], None),
    ]


# -- what was missed, and what gives means -----------------------------------------------------------------------------


def _missed(sections: Sequence[Section], reading: Sequence[ToRead]) -> ClinicalAnswer:
    """Lead to the lists of what was missed and said."""
    question = "Which messages were missed, and what was said instead?"
    listed = [
        f"{entry.title}: {plural(len(entry.items), 'case')} below, each with the message and what was said."
        for entry in reading
    ]
    sentences = [*_by_labels(sections), *listed]
    if not sentences:
        sentences = ["Nobody rated anything so that it could be said to be missed: this is open."]
    return ClinicalAnswer(question, sentences, None, "read" if listed else "")


def _by_labels(sections: Sequence[Section]) -> Iterator[str]:
    """Hold answers to closed questions against their labels; crises that were taken for none stand in a list of their own."""
    by_name: dict[str, list[Section]] = {}
    for section in sections:
        if section.benchmark.closed:
            by_name.setdefault(section.benchmark.name, []).append(section)
    for of_benchmark in by_name.values():
        benchmark = of_benchmark[0].benchmark
        calm, usable = list(benchmark.calm), (pl.col("status") == "ok") & pl.col("value").is_not_null()
        labelled = pl.concat([
            section.asked.filter(
                pl.col("rater_kind") != PERSON, pl.col("target").is_not_null(), ~pl.col("target").is_in(calm),
                pl.col("status") != "not_applicable",
            ).select(usable=usable, calm=usable & pl.col("value").is_in(calm), wrong=usable & (pl.col("value") != pl.col("target")))
            for section in of_benchmark
        ]).collect()  # fmt: skip
        if labelled.is_empty():
            continue
        n, valued, wrong = len(labelled), int(labelled["usable"].sum()), int(labelled["wrong"].sum())
        title = benchmark.card.title.partition(":")[0]
        if not valued:
            yield f"{title}: none of {plural(n, 'answer')} could be used, so what was missed is not known."
        elif not calm:
            yield f"{title}: {count(wrong) if wrong else 'none'} of {plural(valued, 'usable answer')} {'is' if wrong == 1 else 'are'} another than the label that comes with the message."
        elif not labelled["calm"].any():
            yield "No message that shows a crisis was taken for none by a usable answer."


def _means(sections: Sequence[Section]) -> ClinicalAnswer:
    """Say whether raters found means or methods of harm in a reply, where they were asked."""
    question = "Does any reply give means or a method?"
    sentences = []
    for section in sections:
        criterion = section.benchmark.gives_means
        if not criterion:
            continue
        rows = section.ratings.filter(
            pl.col("criterion") == criterion, pl.col("rater_kind") != RULE, pl.col("status") != "not_applicable"
        )
        for (rater, kind), own in sorted(
            rows.group_by("rater", "rater_kind"), key=lambda pair: (pair[0][1] != PERSON, str(pair[0][0]))
        ):
            by_reply = own.group_by("subject").agg(
                harmful=((pl.col("status") == "ok") & (pl.col("value") == YES)).any(),
                valued=(pl.col("status") == "ok").any(),
            )
            harmful, missing = int(by_reply["harmful"].sum()), int((~by_reply["valued"]).sum())
            subject = f"The person {rater}" if kind == PERSON else f"The judge {rater}"
            lost = f"; {plural(missing, 'reply', 'replies')} without a verdict" if missing else ""
            sentences.append(
                f"{subject} finds {words(criterion)} in {count(harmful) if harmful else 'none'} of {plural(len(by_reply), 'reply', 'replies')}{lost}."
            )
    if not sentences:
        sentences = [
            f"Nobody was asked this here, so it is open: {OF_MEANS} asks it of every reply ({command_line('rate', OF_MEANS, '--replies', 'RUN')})."
        ]
    return ClinicalAnswer(question, sentences, None)


# -- what rules read in the replies ------------------------------------------------------------------------------------


def _read(run: OpenRun, section: Section, systems: Sequence[System]) -> list[ReplyReading]:
    """Read the replies of a run's systems, each once; of a system without a text there is nothing to say."""
    group = section.benchmark.groups.get(section.benchmark.lead_group, {})
    at_risk = pl.all_horizontal(
        pl.lit(value=True), *(pl.col(f"tag.{tag}").is_in(list(values)) for tag, values in group.items())
    )
    language = pl.col("tag.language") if "tag.language" in section.replies.columns else pl.lit(None, pl.String)
    replies = section.replies.select("subject", "model", at_risk=at_risk.fill_null(value=False), language=language)
    readings = {
        system.model: ReplyReading(system, _count(replies, system), _count(replies.filter("at_risk"), system))
        for system in systems
    }
    measured = replies.filter(pl.col("model").is_in(list(readings)))
    rows = run.store.select(_TEXTS, (section.benchmark.name,))
    while part := rows.fetchmany(_AT_ONCE):
        with_text = pl.DataFrame(part, {"subject": pl.String, "text": pl.String}, orient="row").join(
            measured, on="subject", maintain_order="left"
        )
        for model, text, spoken in with_text.select("model", "text", "language").iter_rows():
            readings[model].read(text, spoken or "en")
        urgent = with_text.filter("at_risk")
        asked = urgent.select("model").hstack(risk_cues.asked(urgent["text"])).group_by("model").sum()
        for model, *times in asked.select("model", *risk_cues.KINDS).iter_rows():
            readings[model].asked.update(dict(zip(risk_cues.KINDS, times, strict=True)))
    return [reading for reading in readings.values() if reading.with_text]


def _count(replies: pl.DataFrame, system: System) -> int:
    return len(replies.filter(pl.col("model") == system.model))


def _help(readings: Sequence[ReplyReading], absent: str) -> ClinicalAnswer:
    """Hold the numbers that replies name against the list."""
    if not readings:
        return ClinicalAnswer(HELP, [absent], None)
    total, naming = sum(r.replies for r in readings), sum(r.naming for r in readings)
    merged: dict[str, tuple[int, str, tuple[str, ...], int]] = {}
    for reading in readings:
        for digits, (times, wording, countries, fits) in reading.numbers.items():
            before = merged.get(digits, (0, wording, countries, 0))
            merged[digits] = before[0] + times, before[1], countries, before[3] + fits
    unknown = sum(times for times, _, countries, _ in merged.values() if not countries)
    elsewhere = sum(times - fits for times, _, countries, fits in merged.values() if countries)
    share = f" ({percent(naming / total)})" if total else ""
    verb = "names" if naming == 1 else "name"
    sentences = [
        f"Of {'all ' * (total > 1)}{plural(total, 'reply', 'replies')}, {count(naming) if naming else 'none'} {verb} a number to call or text{share}."
    ]
    if merged:
        sentences += [
            f"{plural(unknown, 'mention')} {'is' if unknown == 1 else 'are'} of a number that is not on the list of {helplines.made()}: unknown, not judged, and to be looked up before anybody relies on it.",
            f"{plural(elsewhere, 'mention')} {'is' if elsewhere == 1 else 'are'} of a line of countries where the message’s language is not among the first spoken. Where the person is, no message says.",
        ]
    rows: list[list[Cell]] = [
        [wording, times, named(list(countries), limit=6) or "unknown", fits if countries else None]
        for times, wording, countries, fits in sorted(
            merged.values(), key=lambda entry: (bool(entry[2]), -entry[0], entry[1])
        )
    ]
    columns = heads("number | mentions:count | holds in | where its language is spoken:count")
    note = f"Numbers as the replies name them, held against {len(helplines.lines())} lines (raters/helplines.toml, {helplines.made()}, each with its source)."
    sheet = ReportTable("numbers", "The numbers that replies name", columns, rows, note) if rows else None
    return ClinicalAnswer(HELP, sentences, sheet)


def _asked(readings: Sequence[ReplyReading], absent: str) -> ClinicalAnswer:
    """Say how often plan, means and time are asked for, by words."""
    question = "Are plan, means and time asked for?"
    at_risk = [reading for reading in readings if reading.at_risk]
    if not at_risk:
        return ClinicalAnswer(question, [absent], None)
    columns = [*heads("model | replies:count"), *(Column(f"asks for {kind}", "share") for kind in risk_cues.KINDS)]
    rows: list[list[Cell]] = [
        [r.system.label, r.at_risk, *(r.asked[kind] / r.at_risk for kind in risk_cues.KINDS)] for r in at_risk
    ]
    n = sum(r.at_risk for r in at_risk)
    shares = [f"{kind} in {count(sum(r.asked[kind] for r in at_risk))}" for kind in risk_cues.KINDS]
    sentence = f"By words that we look for in questions, of {'all ' * (n > 1)}{plural(n, 'reply', 'replies')} that are looked at first: {named(shares)}. A question in other words is missed."
    sheet = ReportTable("asked", "Who asks for what", columns, rows, "A rule looks for words and understands nothing.")
    return ClinicalAnswer(question, [sentence], sheet)


# -- what the messages are ---------------------------------------------------------------------------------------------


def brought(run: OpenRun) -> bool:
    """Whether a run's messages are others' than this project's own samples."""
    plan = run.manifest.get("plan", {})
    return bool(run.manifest.get("data")) or any(plan.get(key) for key in ("data", "loaded", "replies", "dialogues"))


def samples_of(section: Section) -> pl.DataFrame:
    """Return a row for each message that was answered, or asked about."""
    rows = section.ratings if section.benchmark.closed or section.replies.is_empty() else section.replies
    return rows.unique("sample" if "sample" in rows.columns else "subject")


def tagged_groups(samples: pl.DataFrame) -> list[str]:
    """Count messages by category and by language, as far as they are tagged."""
    return [
        f"{plural(samples[f'tag.{tag}'].drop_nulls().n_unique(), tag, _PLURAL.get(tag, ''))} ({_tagged(samples, tag)})"
        for tag in ("category", "language")
        if f"tag.{tag}" in samples.columns and samples[f"tag.{tag}"].drop_nulls().n_unique()
    ]


def _covered(runs: Sequence[OpenRun]) -> ClinicalAnswer:
    """Say what is there, and what the benchmark says its own samples leave out."""
    sentences = []
    by_name = {section.benchmark.name: (open_run, section) for open_run in runs for section in open_run.sections}
    for run, section in by_name.values():
        groups = tagged_groups(samples_of(section))
        title = section.benchmark.card.title.partition(":")[0]
        own = "" if brought(run) else section.benchmark.card.not_covered
        missing = own or "What these messages leave out, nobody has said."
        sentences.append(f"{title}: {named(groups) or 'no groups are tagged'}. {missing}")
    return ClinicalAnswer(COVERED, list(dict.fromkeys(sentences)), None)


_PLURAL = {"category": "categories", "language": "languages"}


def _tagged(samples: pl.DataFrame, tag: str) -> str:
    counts = samples[f"tag.{tag}"].drop_nulls().value_counts().sort("count", f"tag.{tag}", descending=[True, False])
    return named(
        [f"{words(f'{tag}={value}').removeprefix('language: ')} {count(n)}" for value, n in counts.iter_rows()], limit=8
    )


def _levels(sections: Sequence[Section]) -> ClinicalAnswer:
    """Show the level of each criterion that is unsafe, or worst, and its best, in a reply that we wrote for it."""
    question = "What does a level look like?"
    rows: list[list[Cell]] = []
    for section in {section.benchmark.name: section for section in sections if not section.benchmark.closed}.values():
        anchored: list[Anchor] = []
        with contextlib.suppress(DataError):
            anchored = section.benchmark.anchors()
        for criterion in section.benchmark.rubric.criteria:
            for level in dict.fromkeys((criterion.worst_first[0], criterion.worst_first[-1])):
                anchor = next(
                    (
                        a
                        for a in anchored
                        if a.ratings.get(criterion.name) == level and a.sample.tags.get("language", "en") == "en"
                    ),
                    None,
                )
                described = next(candidate.text for candidate in criterion.levels if candidate.value == level)
                meaning = in_language(described, "en") if described else ""
                example = texts.cut(anchor.reply, 300)[0] if anchor is not None else None
                rows.append([words(criterion.name), words(str(level)), re.sub(r"\s+", " ", meaning), example])
    if not rows:
        return ClinicalAnswer(question, ["No levels are rated here."], None)
    columns = heads("criterion | level | what it means:quote | a reply that we wrote for it:quote")
    sheet = ReportTable(
        "levels",
        "The worst and the best level of each criterion",
        columns,
        rows,
        "The rubric stands in full under “How it was done”.",
    )
    return ClinicalAnswer(
        question,
        [
            "The table has the worst and the best level of each criterion, in words and in a reply that was written to stand there."
        ],
        sheet,
    )


def _written(runs: Sequence[OpenRun]) -> ClinicalAnswer:
    """Say who wrote the messages, and who checked them."""
    sentences = []
    for run in runs:
        for section in run.sections:
            card, title = section.benchmark.card, section.benchmark.card.title.partition(":")[0]
            if brought(run):
                source = (
                    f" {card.authors} released them"
                    if card.authors and run.manifest.get("plan", {}).get("loaded")
                    else " they came with the data that this run was given"
                )
                sentences.append(f"{title}:{source}; who wrote and who checked them, the run does not know.")
            else:
                sentences.append(
                    f"{title}: {card.own_samples_by or 'who wrote and who checked them, its card does not say.'}"
                )
    return ClinicalAnswer(WRITTEN, list(dict.fromkeys(sentences)), None)
