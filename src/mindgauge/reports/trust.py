"""How far to trust it: the judges' cards, their entry test, classifiers' own certainty, and what else the run shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import fitness
from mindgauge.analysis.classifiers import calibrated
from mindgauge.benchmarks import trials
from mindgauge.benchmarks.metrics import fleiss_kappa
from mindgauge.models.family import same_family
from mindgauge.records import RaterKind, languages
from mindgauge.records.english import named as names
from mindgauge.records.rounding import count, decimal, interval, percent, plural
from mindgauge.reports import cards
from mindgauge.reports.content import ReportTable, heads, slug
from mindgauge.reports.juries import Reasons, entry_test, juries
from mindgauge.reports.provenance import rounds
from mindgauge.reports.reading_order import reading_orders
from mindgauge.reports.runs import MODEL, PERSON, RULE, is_demonstration, judges
from mindgauge.reports.sections import CalibrationSection, InWords, Judged, JudgeTrust, RubricTrials, Trust, many
from mindgauge.reports.stress import card_lines
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mindgauge.analysis.classifiers import Calibrated
    from mindgauge.analysis.reliability.card import ManyFacets, People
    from mindgauge.reports.content import Cell, System
    from mindgauge.reports.reliability_gate import RunCard
    from mindgauge.reports.runs import OpenRun, Section
    from mindgauge.reports.sections import AgreementSection, EntryTestSection


def calibrations(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[CalibrationSection]:
    """Compare what every classifier says of itself with how often it is right, where the run kept its probabilities."""
    sections = []
    for system in systems:
        run = runs[system.run]
        for section in (s for s in run.sections if s.benchmark.closed):
            for criterion in section.benchmark.rubric.criteria:
                record = calibrated(run.store, section.benchmark, section.ratings, system.model, criterion)
                if record is not None:
                    ident = slug(section.benchmark.name, criterion.name, system.number)
                    finding = _finding(system, record)
                    sections.append(
                        CalibrationSection(
                            f"calibration-{ident}", system, section.benchmark.name, finding, _measure(record), record, _sheet(ident, finding, record)
                        )
                    )  # fmt: skip
    return sections


def unknown(runs: Sequence[OpenRun], systems: Sequence[System], known: Sequence[CalibrationSection]) -> Iterator[str]:
    """Name the classifiers of which a run keeps answers and no probabilities."""
    for system in systems:
        raters = {rater for section in runs[system.run].sections for rater in section.raters}
        if (system.model, RaterKind.CLASSIFIER) in raters and system not in [section.system for section in known]:
            yield f"Of {system.label} there are labels and no probabilities, so it is not known whether it is as often right as it would say."


def _finding(system: System, record: Calibrated) -> str:
    """Say whether the share that is right agrees, within its bounds, with what the classifier says."""
    low, high = record.right_low or 0.0, 1.0 if record.right_high is None else record.right_high
    verdict = (
        "too sure"
        if record.confidence > high
        else "not sure enough"
        if record.confidence < low
        else "about as it should be"
    )
    return f"{system.label} is {percent(record.confidence)} sure on average and right in {percent(record.right)}: {verdict}"


def _measure(record: Calibrated) -> str:
    abstained = (
        f", {plural(record.abstained, 'abstention')} among them by the label it found likeliest"
        if record.abstained
        else ""
    )
    return (
        "Share right, by the probability of the label, in ten bins; the slanting line is a classifier that is right as often as it says. "
        "Lines are exact 95 % intervals over conversations, bars below how many labels fall into each bin. "
        f"n {count(record.n)} on {plural(record.clusters, 'conversation')}{abstained}; right in {percent(record.right)} "
        f"({interval(record.right_low, record.right_high, 'share')}); expected calibration error {decimal(record.by_bin.ece)}, log loss {decimal(record.by_bin.log_loss)}."
        + (
            f" {count(record.seen)} of them stood in its own training or development data, or come from the same dialogues: on these this is no test."
            if record.seen
            else ""
        )
    )


def _sheet(ident: str, finding: str, record: Calibrated) -> ReportTable:
    columns = heads("probability above:share | up to:share | n:count | mean probability:share | share right:share±")
    rows: list[list[Cell]] = [
        [b.low, b.high, b.n, b.confidence, b.accuracy, b.accuracy_low, b.accuracy_high] for b in record.by_bin.bins
    ]
    return ReportTable(f"calibration-{ident}", finding, columns, rows)


DEMONSTRATION = (
    "The judge {judge} is a demonstration model of 135 million parameters and no judge to trust: its verdicts show that "
    "everything runs, and say nothing about the replies."
)


def judges_of(runs: Sequence[OpenRun]) -> list[str]:
    """Return the models that judged replies, by name."""
    return sorted({r for run in runs for s in run.sections for r, kind in s.judges() if kind not in {PERSON, RULE}})


def cards_of(runs: Sequence[OpenRun], judge: str) -> list[RunCard]:
    """Return a judge's cards in all runs."""
    return [s for run in runs for s in run.standings.cards.values() if s.card.judge == judge]


def allowed(run: OpenRun, rater: str, model: str) -> bool:
    """Whether a run was told, by `--own-family`, that a judge, by whatever method, may rate a model of its own family."""
    permitted: dict[str, list[str]] = run.manifest.get("own_family", {})
    return any(
        model in models and (rater == judge or rater.startswith(f"{judge} (")) for judge, models in permitted.items()
    )


def trust(runs: Sequence[OpenRun], systems: Sequence[System], anchors: set[str]) -> Trust:
    """Gather what is known of each judge, and of people's agreement; `anchors` are of the replies that the page shows."""
    named = judges(runs, systems)
    reasons = [Reasons.of(run, number) for number, run in enumerate(runs)]
    judge_trust = [_told(runs, judge, reasons) for judge in judges_of(runs)]
    calibrated = calibrations(runs, systems)
    together, not_together = juries(runs)
    escalated, not_escalated = reading_orders(runs, named)
    general = [
        *(fact for run in runs for fact in _general(run)), *unknown(runs, systems, calibrated),
        *not_together, *not_escalated, *told(tried := tried_words(runs), {}),
    ]  # fmt: skip
    if judge_trust and not any(cards_of(runs, judge.rater) for judge in judge_trust):
        general.insert(
            0,
            "No ratings by people were compared here, so there is no reliability card: it is not known yet how far these judges agree with people.",
        )
    return Trust(
        list(dict.fromkeys(general)), _agreement(runs, named, anchors), calibrated, _entry(runs, named), together, escalated,
        judge_trust, [s for run in runs for s in run.standings.cards.values()], tried,
    )  # fmt: skip


def tried_words(runs: Sequence[OpenRun]) -> list[RubricTrials]:
    """Say of each benchmark whose words a model was shown which trials there were of these, whatever that model is worth."""
    instruments: dict[str, set[str]] = {}
    tags: dict[str, set[str]] = {}
    folders = {section.benchmark.name: section.benchmark.folder for run in runs for section in run.sections}
    for section in (section for run in runs for section in run.sections):
        name = section.benchmark.name
        rows = section.asked.filter(pl.col("rater_kind") == MODEL, pl.col("instrument").fill_null("") != "")
        tag = pl.col("tag.language") if "tag.language" in section.ratings.columns else pl.lit(None, pl.String)
        for instrument, language in rows.select("instrument", language=tag).unique().collect().iter_rows():
            instruments.setdefault(name, set()).add(instrument)
            tags.setdefault(name, set()).update([languages.named(language)] if language else [])
    files = {name: trials.read(folders[name]) for name in instruments}
    return [
        RubricTrials(name, trials.lines(files[name], names, tags[name]), list(files[name]))
        for name, names in instruments.items()
    ]


def told(tried: Sequence[RubricTrials], titles: Mapping[str, str]) -> list[str]:
    """Put the lines one after the other, each with the names of its benchmarks, or titles in their place, where there are several."""
    alike: dict[str, list[str]] = {}
    for entry in tried:
        for line in entry.lines:
            alike.setdefault(line, []).append(titles.get(entry.benchmark, entry.benchmark))
    return [line if len(tried) == 1 else f"{names(of, limit=len(of))}: {line}" for line, of in alike.items()]


def _told(runs: Sequence[OpenRun], judge: str, reasons: Sequence[Reasons]) -> JudgeTrust:
    """Say what is known of a judge: benchmark by benchmark where there are many, else all together."""
    cards = cards_of(runs, judge)
    many_runs = sum(bool(run.standings.cards) for run in runs) > 1
    parts: dict[str, Judged] = {}
    for run, run_reasons in zip(runs, reasons, strict=True):
        for section in run.sections:
            name = section.benchmark.name
            if judge in {rater for rater, _ in section.judges()}:
                part = parts.setdefault(name, Judged(name, [], [], []))
                part.facts += fitness.told(
                    [
                        unfit_judge
                        for unfit_judge in run.scores.unfit
                        if (unfit_judge.benchmark, unfit_judge.judge) == (name, judge)
                    ]
                )
                if judge in fitness.untested(run.manifest, run.scores.qualifications).get(name, []):
                    part.facts.append(f"It {fitness.UNTESTED}.")
                part.facts += _judge(run, section, judge, run_reasons, carded=bool(cards))
                part.facts += run_reasons.facts(judge, name)
                part.reasons += run_reasons.sheets(judge, name)
    for standing in cards:
        part = parts.setdefault(standing.benchmark, Judged(standing.benchmark, [], [], []))
        part.cards.append(_in_words(standing, named=many_runs))
    demonstration = [DEMONSTRATION.format(judge=judge)] if is_demonstration(judge) else []
    benchmarks = [section.benchmark for run in runs for section in run.sections]
    questions = dict.fromkeys(f"Asked with {standing.card.asked}." for standing in cards if standing.card.asked)
    moved = [line for run in runs for line in card_lines(run.store, [s.benchmark for s in run.sections], judge)]
    if many({benchmark.name for benchmark in benchmarks}):
        return JudgeTrust(
            judge, list(dict.fromkeys([*demonstration, *questions, *moved])), [], [], list(parts.values())
        )
    facts = [fact for part in parts.values() for fact in part.facts]
    return JudgeTrust(
        judge, list(dict.fromkeys([*demonstration, *questions, *facts, *moved])), [c for p in parts.values() for c in p.cards],
        [sheet for part in parts.values() for sheet in part.reasons], [],
    )  # fmt: skip


def _in_words(standing: RunCard, *, named: bool) -> InWords:
    card = standing.card
    return InWords(
        Path(standing.run).resolve().name if named else "",
        standing.criterion, card.rate_replies.verdict, card.rate_replies.reasons, card.rank_systems.verdict,
        card.rank_systems.reasons, card.warnings,
    )  # fmt: skip


def _agreement(
    runs: Sequence[OpenRun], named: dict[tuple[int, str], System], anchors: set[str]
) -> list[AgreementSection]:
    by_benchmark: dict[str, list[tuple[System, RunCard]]] = {}
    people: dict[str, list[People]] = {}
    facets: dict[str, list[ManyFacets]] = {}
    for number, run in enumerate(runs):
        for standing in run.standings.cards.values():
            by_benchmark.setdefault(standing.benchmark, []).append((named[number, standing.card.judge], standing))
        for benchmark, entries in run.standings.people.items():
            people.setdefault(benchmark, []).extend(entries)
        for benchmark, views in run.standings.facets.items():
            facets.setdefault(benchmark, []).extend(views)
    return [
        cards.picture(of_benchmark, anchors, people.get(name, []), facets.get(name, []))
        for name, of_benchmark in by_benchmark.items()
    ]


def _entry(runs: Sequence[OpenRun], named: dict[tuple[int, str], System]) -> list[EntryTestSection]:
    tests = [(named[number, q.judge], q) for number, run in enumerate(runs) for q in run.scores.qualifications]
    names = dict.fromkeys(q.benchmark for _, q in tests)
    return [entry_test([(judge, q) for judge, q in tests if q.benchmark == name]) for name in names]


def _judge(run: OpenRun, section: Section, judge: str, reasons: Reasons, *, carded: bool) -> Iterator[str]:
    """Say what a run shows of a judge; kinship and agreement with itself only where no card does."""
    rated = section.asked.filter(pl.col("rater") == judge)
    judge_rows = rated.select("criterion", "subject", "model", "status", "value").collect()
    kin = sorted(model for model in judge_rows["model"].unique() if same_family(judge, model))
    if kin and not carded:
        themselves = [model for model in kin if model == judge]
        others = [model for model in kin if model != judge]
        if themselves:
            yield "It judged its own replies; models tend to favour their own."
        if others:
            yield f"It comes from the same family as {', '.join(others)}, which it judged; models tend to favour their own kind."
    tried = judge_rows.filter(pl.col("status") != "not_applicable")
    unread = tried.filter(pl.col("status") != "ok")
    if tried.is_empty():
        return
    counted = unread.group_by("status").len().sort("len", "status", descending=[True, False]).iter_rows()
    reasons_lost = ", ".join(f"{count(n)} {status}" for status, n in counted)
    yield (
        f"Of {plural(len(tried), 'verdict')} on {section.benchmark.name}, {f'{count(len(unread))} could not' if len(unread) else 'all could'} be used"
        f"{f' ({percent(len(unread) / len(tried))}: {reasons_lost})' if len(unread) else ''}."
    )
    yield _quotes(*reasons.quoted.get((section.benchmark.name, judge), (0, 0)))
    yield from run.standings.worst_levels(section.benchmark.name, {judge})
    if not carded:
        yield from _repeats(run, section, judge, judge_rows)


def _quotes(quoted: int, traceable: int) -> str:
    if not quoted:
        return "It quoted nothing to support its verdicts."
    return f"Of the {plural(quoted, 'passage')} it quoted, {count(traceable) if traceable else 'none'} really {'stands' if traceable == 1 else 'stand'} in the text ({percent(traceable / quoted)})."


def _repeats(run: OpenRun, section: Section, judge: str, judge_rows: pl.DataFrame) -> Iterator[str]:
    """Say how far a judge agrees with itself over its repeats."""
    usable = (
        judge_rows.filter(pl.col("status") == "ok")
        .group_by("criterion", "subject")
        .agg(pl.col("value").n_unique().alias("values"), pl.len().alias("times"))
    )
    repeated = usable.filter(pl.col("times") > 1)
    if repeated.is_empty():
        yield "It rated each reply once, so its agreement with itself is not known."
        return
    same = len(repeated.filter(pl.col("values") == 1))
    yield f"Asked again about the same reply, it gave the same level every time for {count(same)} of {plural(len(repeated), 'reply', 'replies')} ({percent(same / len(repeated))})."
    kappas = [
        k
        for k in run.scores.find(fleiss_kappa.name, benchmark=section.benchmark.name, rater=judge)
        if k.value is not None
    ]
    if kappas:
        kappa_text = "; ".join(
            f"{decimal(k.value)} ({interval(k.low, k.high)}; n {count(k.clusters)}) on replies by {k.model}"
            for k in kappas
        )
        yield f"Agreement of its repeats beyond chance, {with_level('fleiss_kappa')}: {kappa_text}."


def _general(run: OpenRun) -> Iterator[str]:
    labelled = rounds(run.manifest)
    if labelled:
        yield labelled
    for judge, models in run.manifest.get("own_family", {}).items():
        subject = "its own replies" if models == [judge] else f"replies of its own family, by {', '.join(models)}"
        yield f"--own-family allowed {judge} to judge {subject}; models tend to favour their own kind."
    unlabelled = []
    for section in (s for s in run.sections if s.benchmark.closed):
        name = section.benchmark.name
        raters = sum(kind == PERSON for _, kind in section.raters)
        for kappa in run.scores.find(fleiss_kappa.name, benchmark=name, model="people"):
            yield (
                f"On {name}, {raters} people agreed among themselves with {with_level('fleiss_kappa')}: {decimal(kappa.value)} "
                f"({interval(kappa.low, kappa.high)}; {plural(kappa.clusters, 'message')}): no model can be expected to do better than people agree."
            )
        if not section.targeted:
            yield f"On {name}, no message has a target, so it cannot be said whether an answer is right: only how often each label was given."
        elif not raters:
            unlabelled.append(name)
        for kappa in run.scores.find(fleiss_kappa.name, benchmark=name):
            if kappa.model != "people" and kappa.rater == kappa.model and kappa.value is not None:
                yield f"Asked again, {kappa.model} agrees with itself on {name} with {with_level('fleiss_kappa')}: {decimal(kappa.value)} ({interval(kappa.low, kappa.high)}; {plural(kappa.clusters, 'message')})."
    if unlabelled:
        yield f"On {names(unlabelled, limit=12)}, answers are compared with the labels that come with the messages; how far people agree on them is not known from this run."
