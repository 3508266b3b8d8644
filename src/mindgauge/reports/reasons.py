"""How far a judge's reasons can be checked, and what people said of them on blind forms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.rated_rationales import rated
from mindgauge.analysis.rationales import rationales
from mindgauge.annotation.blind import RATIONALES
from mindgauge.records.english import named, words
from mindgauge.records.files import tables
from mindgauge.records.rounding import count, decimal, interval, percent, plural
from mindgauge.reports.content import Column, ReportTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mindgauge.analysis.rationales import Rationales
    from mindgauge.analysis.reliability.card import Bound
    from mindgauge.reports.content import Cell
    from mindgauge.reports.runs import OpenRun, Section

_QUESTIONS = {
    "rationality": "the reasons make sense",
    "traceability": "what they say is in the text",
    "consistency": "the value follows from them",
}


class Reasons(NamedTuple):
    """What one run shows of its judges' reasons: by benchmark and judge, what people said by judge, and of them all."""

    number: int
    checked: dict[tuple[str, str], list[Rationales]]
    by_people: dict[str, list[str]]
    general: list[str]

    @classmethod
    def of(cls, run: OpenRun, number: int) -> Reasons:
        """Look at the reasons in a run."""
        reasons = cls(number, {}, {}, [])
        for section in (s for s in run.sections if not s.benchmark.closed):
            for rationale in rationales(run.store, section.benchmark):
                reasons.checked.setdefault((section.benchmark.name, rationale.judge), []).append(rationale)
            _by_people(run, section, reasons)
        return reasons

    def facts(self, judge: str, benchmark: str) -> list[str]:
        """Say how far a judge's reasons can be checked on a benchmark."""
        return list(told(self.checked.get((benchmark, judge), [])))

    def sheets(self, judge: str, benchmark: str) -> list[ReportTable]:
        """Tabulate them."""
        checked = self.checked.get((benchmark, judge))
        return [sheet(f"{benchmark}-{judge}-{self.number}", judge, checked)] if checked else []


def told(checked: Sequence[Rationales]) -> Iterator[str]:
    """Say of one judge, over its criteria, how many of its reasons can be checked and hold."""
    yield from filter(None, (
        _shares(checked, lambda r: r.traceable, min, "Of its verdicts that need a quote, {} quote only what stands in the text{}."),
        _shares(checked, lambda r: r.contradicting, max, "Of those that follow a chain of checks, {} contradict the judge's own checks{}."),
        _shares(checked, lambda r: r.unsupported, max, "Of those with a check answered yes, {} quote nothing that is found{}."),
        _shares(checked, lambda r: r.uncertain, max, "The judge calls {} of its verdicts uncertain{}."),
    ))  # fmt: skip
    elsewhere = sum(r.answered_elsewhere for r in checked)
    if elsewhere:
        yield f"Of {plural(sum(r.n for r in checked), 'reason')}, {count(elsewhere)} {'is' if elsewhere == 1 else 'are'} in another language than the question."


def _shares(
    checked: Sequence[Rationales],
    share_of: Callable[[Rationales], Bound],
    worst: Callable[..., Rationales],
    template: str,
) -> str:
    """Write a share with its interval; of several criteria, the worst."""
    estimated = [r for r in checked if share_of(r).value is not None]
    if not estimated:
        return ""
    last = worst(estimated, key=lambda rationale: share_of(rationale).value or 0.0)
    bounds, share = interval(share_of(last).low, share_of(last).high, "share"), percent(share_of(last).value)
    if len(estimated) == 1:
        return template.format(share, f" ({bounds}; {plural(last.n, 'verdict')} in all)")
    edge = "at least" if worst is min else "at most"
    place = f", {'least' if worst is min else 'most'} on {words(last.criterion)} ({bounds}; {plural(last.n, 'verdict')} in all)"
    return template.format(f"{edge} {share}", place)


def sheet(name: str, judge: str, found: Sequence[Rationales]) -> ReportTable:
    """Tabulate how far one judge's reasons can be checked, criterion by criterion."""
    shares: list[tuple[str, Callable[[Rationales], Bound]]] = [
        ("quotes all found", lambda r: r.traceable), ("quotes the reply", lambda r: r.quoted_reply),
        ("against its own checks", lambda r: r.contradicting), ("checks without a quote", lambda r: r.unsupported),
        ("uncertain", lambda r: r.uncertain),
    ]  # fmt: skip
    columns = [
        Column("criterion"), Column("verdicts", "count"), Column("conversations", "count"), Column("nothing to quote", "count"),
        *(Column(name, "share") for head, _ in shares for name in (head, "from", "to")), Column("in another language", "count"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for r in found:
        bounds = [of(r) for _, of in shares]
        values: list[Cell] = [end for b in bounds for end in (b.value, b.low, b.high)]
        rows.append([words(r.criterion), r.n, r.clusters, r.absent, *values, r.answered_elsewhere])
    ident = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
    note = (
        "A verdict that something is not there needs no quote. “Quotes all found” is of the others; “quotes the reply” of those with a found quote; "
        "“against its own checks” of those with a chain; “checks without a quote” of those with a check answered yes. Bounds are exact, with "
        "conversations as n. That a quote is found does not mean that it matters."
    )
    return ReportTable(f"reasons-{ident}", f"Whether the reasons of {judge} can be checked", columns, rows, note)


def _by_people(run: OpenRun, section: Section, reasons: Reasons) -> None:
    """Say of each judge what people said of its reasons on blind forms, and how far they agree."""
    rows = _rated(run, section)
    if rows.is_empty():
        return
    of_judge: dict[str, list[str]] = {}
    agreed: list[str] = []
    for question, meaning in _QUESTIONS.items():
        question_rows = rows.filter(pl.col("criterion") == question)
        if question_rows.is_empty():
            continue
        summary = rated(question_rows, question)
        counted = question_rows.group_by("judge").agg(
            n=pl.col("subject").filter(pl.col("number").is_not_null()).n_unique(), asked=pl.col("subject").n_unique()
        )
        numbers = {judge: (n, n_asked) for judge, n, n_asked in counted.iter_rows()}
        for judge, mean in summary.means.items():
            n, n_asked = numbers[judge]
            of_judge.setdefault(judge, []).append(
                f"{question} ({meaning}) {decimal(mean.value, 1)} ({interval(mean.low, mean.high)}; {count(n)} of {plural(n_asked, 'verdict')})"
            )
        icc = summary.agreement["icc_a1"]
        if icc.value is not None:
            agreed.append(f"{question} {decimal(icc.value)} ({interval(icc.low, icc.high)})")
    people = rows["rater"].n_unique()
    start = f"On blind forms, {plural(people, 'person', 'people')} rated its reasons from 1, not at all, to 5, fully: "
    for judge, sentences in sorted(of_judge.items()):
        reasons.by_people.setdefault(judge, []).append(f"{start}{named(sentences, limit=9)}.")
    if agreed:
        reasons.general.append(f"On blind forms, people's ratings of reasons agree with ICC(A,1): {'; '.join(agreed)}.")


def _rated(run: OpenRun, section: Section) -> pl.DataFrame:
    """Return people's ratings of reasons, with the judge and the conversation that each is about.

    Whose verdict it was stands in the key, which the run keeps; ratings without a key are left out.
    """
    name = section.benchmark.name
    ratings = list(run.store.ratings(f"{name}:rationales"))
    if not ratings:
        return pl.DataFrame()
    key = run.folder / RATIONALES
    verdicts = {row["verdict"]: row for _, row in tables.rows(key)} if key.exists() else {}
    cluster = {sample.id: sample.cluster for sample in run.store.samples(name)}
    replies = run.store.select("SELECT id, sample FROM replies WHERE benchmark = ?", (name,))
    of_reply = {reply: cluster.get(sample, sample) for reply, sample in replies}
    rows = [
        (r.subject, r.criterion, verdicts[r.subject]["judge"], of_reply.get(verdicts[r.subject]["reply"], r.subject), r.rater, r.value)
        for r in ratings
        if r.subject in verdicts
    ]  # fmt: skip
    columns = {**dict.fromkeys(("subject", "criterion", "judge", "cluster", "rater"), pl.String), "number": pl.Float64}
    return pl.DataFrame(rows, columns, orient="row")
