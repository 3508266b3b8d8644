"""How far to trust it: what the run itself shows of its judges, without a claim that it does not support."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.raters.family import same_family
from mindgauge.records import Evidence
from mindgauge.reports import people
from mindgauge.reports.content import JudgeTrust, Trust
from mindgauge.reports.numbers import count, decimal, interval, percent, plural
from mindgauge.reports.runs import PERSON, RULE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.runs import Run, Section

DEMONSTRATION = (
    "The judge {judge} is a demonstration model of 135 million parameters and no judge to trust: its verdicts show that "
    "everything runs, and say nothing about the replies."
)
_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode


def is_demonstration(judge: str) -> bool:
    """Whether a judge is the embedded model, which is there to show that everything runs."""
    return "smollm2-135m" in judge.casefold()


def judges_of(runs: Sequence[Run]) -> list[str]:
    """Return the models that judged replies, by name."""
    return sorted({r for run in runs for s in run.sections for r, kind in s.judges() if kind not in {PERSON, RULE}})


def checked(runs: Sequence[Run], judge: str) -> people.Comparison | None:
    """Return how a judge compares with people on the first replies that both rated; None where there are none."""
    found = (people.compare(section, judge) for run in runs for section in run.sections)
    return next((comparison for comparison in found if comparison is not None), None)


def trust(runs: Sequence[Run]) -> Trust:
    """Gather what is known of each judge, and of people's agreement."""
    judges = []
    for judge in judges_of(runs):
        facts = [DEMONSTRATION.format(judge=judge)] if is_demonstration(judge) else []
        for run in runs:
            for section in run.sections:
                if judge in {rater for rater, _ in section.judges()}:
                    facts += _judge(run, section, judge)
        judges.append(JudgeTrust(judge, list(dict.fromkeys(facts))))
    sheets = [people.sheet(section) for run in runs for section in run.sections]
    general = [fact for run in runs for fact in _general(run)]
    if not any(kind == PERSON for run in runs for s in run.sections for _, kind in s.judges()) and judges:
        general.insert(
            0,
            "No ratings by people were compared here, so there is no reliability card: nobody knows yet how far these judges agree with people.",
        )
    return Trust(list(dict.fromkeys(general)), judges, [sheet for sheet in sheets if sheet is not None])


def _judge(run: Run, section: Section, judge: str) -> Iterator[str]:
    mine = section.asked.filter(pl.col("rater") == judge)
    kin = sorted(model for model in mine["model"].unique() if same_family(judge, model))
    if kin:
        themselves = [model for model in kin if model == judge]
        others = [model for model in kin if model != judge]
        if themselves:
            yield "It judged its own replies; models tend to favour their own."
        if others:
            yield f"It comes from the same family as {', '.join(others)}, which it judged; models tend to favour their own kind."
    tried = mine.filter(pl.col("status") != "not_applicable")
    unread = tried.filter(pl.col("status") != "ok")
    if tried.is_empty():
        return
    yield (
        f"Of {plural(len(tried), 'verdict')} on {section.benchmark.name}, {count(len(unread)) if len(unread) else 'none'} could not be used"
        f"{f' ({percent(len(unread) / len(tried))}: {_by_status(unread)})' if len(unread) else ''}."
    )
    yield _quotes(run, section, judge)
    yield from _repeats(run, section, judge, mine)


def _by_status(rows: pl.DataFrame) -> str:
    counted = rows.group_by("status").len().sort("len", "status", descending=[True, False]).iter_rows()
    return ", ".join(f"{count(n)} {status}" for status, n in counted)


def _quotes(run: Run, section: Section, judge: str) -> str:
    query = "SELECT evidence FROM ratings WHERE benchmark = ? AND rater = ? AND status = 'ok' AND evidence IS NOT NULL"
    quoted = [e for (raw,) in run.store.select(query, (section.benchmark.name, judge)) for e in _evidence(raw)]
    if not quoted:
        return "It quoted nothing to support its verdicts."
    found = sum(e.found for e in quoted)
    return f"Of the {plural(len(quoted), 'passage')} it quoted, {count(found) if found else 'none'} really {'stands' if found == 1 else 'stand'} in the text ({percent(found / len(quoted))})."


def _repeats(run: Run, section: Section, judge: str, mine: pl.DataFrame) -> Iterator[str]:
    """Say how far a judge agrees with itself over its repeats."""
    usable = (
        mine.filter(pl.col("status") == "ok")
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
        k for k in run.scores.find("fleiss_kappa", benchmark=section.benchmark.name, rater=judge) if k.value is not None
    ]
    if kappas:
        each = "; ".join(
            f"{decimal(k.value)} ({interval(k.low, k.high)}; n {count(k.clusters)}) on replies by {k.model}"
            for k in kappas
        )
        yield f"Agreement of its repeats beyond chance, Fleiss' kappa: {each}."


def _general(run: Run) -> Iterator[str]:
    for section in (s for s in run.sections if s.benchmark.closed):
        name = section.benchmark.name
        raters = section.asked.filter(pl.col("rater_kind") == PERSON)["rater"].n_unique()
        for kappa in run.scores.find("fleiss_kappa", benchmark=name, model="people"):
            yield (
                f"On {name}, {raters} people agreed among themselves with Fleiss' kappa {decimal(kappa.value)} "
                f"({interval(kappa.low, kappa.high)}; {plural(kappa.clusters, 'message')}): no model can be expected to do better than people agree."
            )
        if not raters:
            yield f"On {name}, answers are compared with the labels that come with the messages; how far people agree on them is not known from this run."
        for kappa in run.scores.find("fleiss_kappa", benchmark=name):
            if kappa.model != "people" and kappa.rater == kappa.model and kappa.value is not None:
                yield f"Asked again, {kappa.model} agrees with itself on {name} with Fleiss' kappa {decimal(kappa.value)} ({interval(kappa.low, kappa.high)}; {plural(kappa.clusters, 'message')})."
