"""What a card is about: what may be said by it and what not, of which systems, on whose messages, under which licences."""

from __future__ import annotations

import datetime
from collections import Counter
from typing import TYPE_CHECKING

from mindgauge.records.english import ended, first_sentence, lowered, named, raised
from mindgauge.records.rounding import plural
from mindgauge.reports import clinical, provenance
from mindgauge.reports.content import Column, ReportTable
from mindgauge.reports.evaluation_card.records import CardEntry
from mindgauge.reports.evaluation_card.validity import AnswerDates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from mindgauge.benchmarks.card import BenchmarkCard
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.evaluation_card.facts import OwnerFacts
    from mindgauge.reports.runs import OpenRun, Section
    from mindgauge.reports.sections import Report

HASHES = "hashes"
FULL = 3
"""So many benchmarks are told of in full; of more, each in a sentence."""
_REPLAYED = "replay/"
"""How models are called that give again what was answered before, nobody knows when."""
_CALLS = """
SELECT model, group_concat(DISTINCT model_resolved), min(at), max(at) FROM calls WHERE status != 'failed' GROUP BY model"""


def intended(runs: Sequence[OpenRun], facts: OwnerFacts) -> CardEntry:
    """Say what the figures speak of; what the system is for, only its owner knows."""
    entry = CardEntry("intended_use", "Intended use", stated=facts.stated("intended_use"))
    titles = short_titles(runs)
    entry.computed = (
        [
            f"What was measured: {named([lowered(title) for title in titles.values()], limit=len(titles))}; the report has what each asks."
        ]
        if len(titles) > FULL
        else _of_cards(runs, lambda card: card.measures, "What was measured: ")
    )
    if not entry.stated:
        entry.open = ["What the system is for, and who may use it, is not recorded."]
    return entry


def not_intended(runs: Sequence[OpenRun], facts: OwnerFacts) -> CardEntry:
    """Say what the figures say nothing of."""
    entry = CardEntry("not_intended_use", "Not intended for", stated=facts.stated("not_intended_use"))
    entry.computed = _of_cards(runs, lambda card: card.does_not_measure, "No figure here shows: ")
    if not entry.stated:
        entry.open = ["For what the system must not be used is not recorded."]
    return entry


def short_titles(runs: Sequence[OpenRun]) -> dict[str, str]:
    """Call each benchmark by the beginning of its title, or by the rest of it where another begins alike."""
    titles = {s.benchmark.name: s.benchmark.card.title for run in runs for s in run.sections}
    parts = {name: title.partition(": ") for name, title in titles.items()}
    heads = Counter(head for head, _, _ in parts.values())
    return {name: head if heads[head] == 1 or not rest else raised(rest) for name, (head, _, rest) in parts.items()}


def _of_cards(runs: Sequence[OpenRun], text_of: Callable[[BenchmarkCard], str], head: str) -> list[str]:
    """Return what the benchmarks' cards say of one thing, what several say alike once."""
    cards = {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}
    titles_of = short_titles(runs)
    alike: dict[str, list[str]] = {}
    for name, card in cards.items():
        alike.setdefault(text_of(card).strip(), []).append(titles_of[name])
    texts = {text: titles for text, titles in alike.items() if text}
    short = len(texts) > FULL
    return [
        f"{f'{named(list(dict.fromkeys(titles)))}: ' if len(alike) > 1 else head}{ended(first_sentence(text) if short else text)}"
        for text, titles in texts.items()
    ]


def systems(runs: Sequence[OpenRun], measured: Sequence[System]) -> tuple[CardEntry, list[AnswerDates]]:
    """Name the systems with the builds that answered and when; and say of each when that was."""
    entry = CardEntry("systems", "What was evaluated")
    calls = [{row[0]: row[1:] for row in run.store.select(_CALLS)} for run in runs]
    rows: list[list[Cell]] = []
    dates = []
    for system in measured:
        resolved, first, last = calls[system.run].get(provenance.model_behind(system.model), (None, None, None))
        if system.model.startswith(_REPLAYED):
            resolved = first = last = None
        build = provenance.bare(resolved)
        known = AnswerDates(system.label, _day(first), _day(last))
        dates.append(known)
        span = " to ".join(dict.fromkeys(day.isoformat() for day in (known.first, known.last) if day is not None))
        rows.append([system.label, build, span, _answers(runs[system.run], system)])
    unknown = [str(row[0]) for row in rows if not row[1]]
    if unknown:
        entry.open.append(f"Which build of {named(unknown)} answered is not recorded.")
    undated = [known.system for known in dates if known.first is None]
    if undated:
        entry.open.append(f"When {named(undated)} answered is not recorded.")
    if rows:
        columns = [Column("system"), Column("build"), Column("answered"), Column("answers", "count")]
        entry.tables = [ReportTable("systems", "The systems", columns, rows)]
    else:
        entry.open.append("Nothing was measured.")
    return entry, dates


def _day(at: float | None) -> datetime.date | None:
    return None if at is None else datetime.datetime.fromtimestamp(at, datetime.UTC).date()


def _answers(run: OpenRun, system: System) -> int:
    """Count the replies of a system, and the messages that it answered a question about."""
    return sum(
        section.asked.filter(rater=system.model).collect().n_unique(["subject", "run"])
        if section.benchmark.closed
        else len(section.replies.filter(model=system.model))
        for section in run.sections
    )


def populations(runs: Sequence[OpenRun], report: Report, facts: OwnerFacts) -> CardEntry:
    """Say whose messages these are, in which languages, what they leave out and who wrote them."""
    entry = CardEntry("populations", "Populations and languages", stated=facts.stated("populations"))
    titles = short_titles(runs)
    sections = [(run, section) for run in runs for section in run.sections]
    counted, untagged = [], []
    left_out: dict[str, list[str]] = {}
    for run, section in sections:
        title = titles[section.benchmark.name]
        samples = clinical.samples_of(section)
        if len(samples):
            counted.append((title, _amount(section, samples), clinical.tagged_groups(samples)))
            untagged += [title] if "tag.language" not in samples.columns else []
        left_out.setdefault("" if clinical.brought(run) else section.benchmark.card.not_covered, []).append(title)
    if len(titles) > FULL:
        amounts = [f"{title} {n}" for title, n, _ in counted]
        entry.computed += [ended(named(amounts, limit=len(amounts)))] if amounts else []
    else:
        entry.computed += [
            f"{f'{title}: ' if len(titles) > 1 else ''}{n}{f', {named(groups)}' if groups else ''}."
            for title, n, groups in counted
        ]
    if untagged:
        whose = f" of {named(list(dict.fromkeys(untagged)))}" if len(titles) > 1 else ""
        entry.open.append(f"In which languages the messages{whose} are written is not recorded.")
    for text, names in left_out.items():
        whose = "" if len(left_out) == 1 else f" of {named(list(dict.fromkeys(names)))}"
        if text:
            entry.computed.append(f"{f'Messages{whose}: ' if whose else ''}{text}")
        elif sections:
            entry.open.append(f"Which groups and conditions the messages{whose} leave out is not recorded.")
    answers = {answer.question: answer.answer for answer in report.clinical}
    entry.computed += answers[clinical.WRITTEN]
    return entry


def _amount(section: Section, samples: pl.DataFrame) -> str:
    """Count the messages, and what belongs together of them."""
    n, clusters = len(samples), samples["cluster"].n_unique()
    if section.holds_dialogues:
        return f"{plural(n, 'turn')} with {plural(clusters, 'persona')}"
    return plural(n, "message") + (f" in {plural(clusters, 'conversation')}" if clusters < n else "")


def licences(runs: Sequence[OpenRun], facts: OwnerFacts) -> CardEntry:
    """Say under which licences the data stand."""
    entry = CardEntry("licences", "Data licences", stated=facts.stated("licences"))
    brought = any(clinical.brought(run) and not run.manifest.get("plan", {}).get("loaded") for run in runs)
    of_authors: dict[str, list[str]] = {}
    titles_of = short_titles(runs)
    for name, card in {s.benchmark.name: s.benchmark.card for run in runs for s in run.sections}.items():
        licence = (
            f"{ended(card.licence)}{' The released texts are not open.' if card.restricted else ''}"
            if card.licence
            else ""
        )
        of_authors.setdefault(licence, []).append(titles_of[name])
    for licence, titles in of_authors.items():
        whose = named(list(dict.fromkeys(titles)))
        if licence:
            entry.computed.append(f"{whose}: {ended(first_sentence(licence)) if len(of_authors) > FULL else licence}")
        else:
            entry.open.append(f"Under which licence the data of {whose} stand is not recorded.")
    if brought:
        entry.open.append(
            "Under which licence the files stand that this run was given is not recorded, where they are not the authors’."
        )
    return entry


def identity(runs: Sequence[OpenRun], report: Report) -> tuple[CardEntry, list[str]]:
    """Name instruments and messages by their hashes; and the benchmarks whose instrument has changed since."""
    entry = CardEntry("identity", "Instruments and data, by their hashes")
    rows: list[list[Cell]] = []
    lacking = False
    for instrument in report.how.instruments:
        hashes = [_samples_hash(run, instrument.benchmark) for run in runs if _holds(run, instrument.benchmark)]
        lacking = lacking or "" in hashes
        messages = ", ".join(dict.fromkeys(filter(None, hashes)))
        rows.append(
            [instrument.benchmark, instrument.rubric, instrument.rubric_hash, ", ".join(instrument.used), messages]
        )
    columns = [Column("benchmark"), Column("rubric"), Column("its hash"), Column("what rated"), Column("messages")]
    entry.tables = [ReportTable(HASHES, "Hashes", columns, rows)] if rows else []
    files = sum(len(run.manifest.get("sources", {})) for run in runs)
    if files:
        entry.computed.append(
            f"The data are {plural(files, 'released file')}, each with its SHA-256 in the run’s manifest."
        )
    if lacking:
        entry.open.append("Of some messages the run has no hash.")
    if any(not instrument.used for instrument in report.how.instruments):
        entry.open.append("With which words some raters were asked is not recorded.")
    changed = [report.titles[instrument.benchmark] for instrument in report.how.instruments if not instrument.same]
    if changed:
        entry.computed.append(
            f"The instrument of {named(changed)} is not the one that this version has: the figures stand for the words that were used."
        )
    return entry, changed


def _holds(run: OpenRun, benchmark: str) -> bool:
    return any(section.benchmark.name == benchmark for section in run.sections)


def _samples_hash(run: OpenRun, benchmark: str) -> str:
    """Return the hash of a benchmark's messages, as the run's plan has it; empty where it has none."""
    plan = run.manifest.get("plan", {})
    return str(dict(zip(plan.get("benchmarks", []), plan.get("samples", []), strict=False)).get(benchmark, ""))
