"""What limits the figures, what is known to have failed, and what to watch for by that."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.records.english import named, raised, words
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.reports import clinical, read_first, texts, unsafe_by_people
from mindgauge.reports.evaluation_card.records import CardCases, CardEntry, CardLink
from mindgauge.reports.evaluation_card.scope import short_titles
from mindgauge.reports.first_finding import first_measures, shown_score
from mindgauge.reports.runs import PERSON, RULE
from mindgauge.reports.unsafe_by_people import UnsafeVerdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.content import Case, System
    from mindgauge.reports.evaluation_card.facts import OwnerFacts
    from mindgauge.reports.runs import OpenRun
    from mindgauge.reports.sections import Report
    from mindgauge.reports.unsafe_by_people import Part, Place

MOST_LIMITS = 7
MOST_CASES = 5
MOST_MORE = 3
"""Cases of the gravest list of the report, and of each that follows."""
MOST_KINDS = 6
"""Of harms and categories of one benchmark."""


def limits(report: Report, facts: OwnerFacts) -> CardEntry:
    """Say what limits the figures, as the report does; its rest stands there."""
    entry = CardEntry("limits", "Limits", stated=facts.stated("limits"))
    systems_of: dict[str, list[str]] = {}
    for answer in report.answers:
        for text in (*answer.withheld, *answer.caveats):
            systems_of.setdefault(text, []).append(answer.system.label)
    of_systems = [
        f"{named(list(dict.fromkeys(labels)))}: {text}" if len(report.systems) > 1 else text
        for text, labels in systems_of.items()
    ]
    clients = report.fidelity.facts if report.fidelity else []
    texts = list(
        dict.fromkeys([*report.unfit, *report.caveats, *clients, *of_systems, *report.wrong.facts, *report.hidden])
    )
    entry.computed = texts[:MOST_LIMITS]
    if len(texts) > MOST_LIMITS:
        entry.computed.append(f"The report has {plural(len(texts) - MOST_LIMITS, 'more limit')}.")
    return entry


def failures(report: Report, page: str, *, counted: bool) -> CardEntry:
    """Lead to what the report lists as failed; of what no person read, to what is rated lowest.

    Args:
        report: of the runs.
        page: its file name.
        counted: whether anything was found unsafe, or missed.
    """
    entry = CardEntry("failures", "Known failures")
    grave = [
        chosen for chosen in report.reading if chosen.title not in {read_first.LOWEST, read_first.CONTESTED_REPLIES}
    ]
    for place, chosen in enumerate(grave or [chosen for chosen in report.reading if chosen.title == read_first.LOWEST]):
        links = [_link(case, page, report) for case in chosen.items[: MOST_MORE if place else MOST_CASES]]
        here = f", the first {len(links)} of them here" if len(links) < len(chosen.items) else ""
        amount = plural(len(chosen.items), "is in the report", "are in the report")
        entry.cases.append(CardCases(f"{chosen.title}: {amount}{here}.", links))
    if entry.cases and not grave and not counted:
        entry.computed.append("Nothing that was rated was called unsafe, so what is rated worst may be no failure.")
    if not entry.cases and counted:
        link = CardLink("Where it is weak", f"{page}#weak")
        entry.cases.append(
            CardCases("What went wrong is counted under “Incidents to watch for”; the report has where.", [link])
        )
    if not entry.cases:
        measured = any(scores.metrics for scores in report.scores)
        entry.open.append(
            "No failure is known; what was not rated, or is not asked, may hold some."
            if measured
            else "No failure is known: nothing was rated that could show one."
        )
    return entry


def _link(case: Case, page: str, report: Report) -> CardLink:
    owner = case.system.label if case.system is not None and len(report.systems) > 1 else ""
    what = ": ".join(filter(None, [case.category, case.summary])) or case.anchor
    reader = f"{report.reader}{case.opens}" if report.reader and case.opens else ""
    return CardLink(" – ".join(filter(None, [what, owner])), f"{page}#{case.anchor}", reader)


# -- what to watch for -------------------------------------------------------------------------------------------------


def unsafe(runs: Sequence[OpenRun], systems: Sequence[System], report: Report) -> list[str]:
    """Say what was found unsafe, and how often: harms, categories, measures; several benchmarks in a paragraph each."""
    parts = unsafe_by_people.benchmark_parts(runs, systems, report.titles)
    titles = short_titles(runs)
    kinds = {part.benchmark.name: list(dict.fromkeys(_of(part))) for part in parts}
    if len(parts) < 2:
        return [text for texts in kinds.values() for text in texts]
    return [f"{titles[name]}: {' '.join(texts)}" for name, texts in kinds.items() if texts]


def incidents(runs: Sequence[OpenRun], harms: Sequence[str], report: Report, facts: OwnerFacts) -> CardEntry:
    """Say what to watch for by what was found; where nothing was, that it is open.

    Args:
        runs: open ones.
        harms: what was found unsafe.
        report: of the runs.
        facts: what the owner states.
    """
    entry = CardEntry("incidents", "Incidents to watch for", stated=facts.stated("incidents"))
    entry.computed = [*harms, *_numbers(report)]
    if not harms:
        rated = any(section.raters for run in runs for section in run.sections)
        entry.open.append(
            "Nothing unsafe was found in what was rated, so by these figures it is open what to watch for. That none was found does not show that there is none."
            if rated
            else "Nothing was rated, so it is open what to watch for."
        )
    return entry


def _of(part: Part) -> Iterator[str]:
    if part.benchmark.closed:
        yield from _missed(part)
    else:
        yield from _unsafe(part)
    if not part.counts_replies:
        yield from _measures(part)


def _unsafe(part: Part) -> Iterator[str]:
    """Count the replies in which a harm was found, and by category those that are called unsafe."""
    noun = ("turn", "turns") if part.places[0].section.holds_dialogues else ("reply", "replies")
    harms = pl.concat([_harms(place) for place in part.places])
    for kind in _counts(harms, "criterion"):
        yield f"{raised(words(kind.name))}: {kind.sentence('find it in', 'finds it in', *noun)}."
    if part.counts_replies:
        called = pl.concat([_called(place) for place in part.places])
        everything = called.with_columns(criterion=pl.lit("in all"))
        for kind in (*_counts(everything, "criterion"), *_counts(called, "category")):
            yield f"{raised(words(kind.name))}: {kind.sentence('call unsafe', 'calls unsafe', *noun)}."


class _FailureKind(NamedTuple):
    """A kind of harm or of messages: replies that people read, those of them that they find unsafe, and judges likewise."""

    name: str
    read: int
    by_people: int
    rated: int
    by_judges: int

    def sentence(self, verb: str, verb_of_one: str, *noun: str) -> str:
        """Say what people, and what any of the judges, find."""
        people, judges = (count(n) if n else "none" for n in (self.by_people, self.by_judges))
        clauses = [f"people {verb} {people} of {plural(self.read, *noun)} that they read"] if self.read else []
        clauses += [f"a judge {verb_of_one} {judges} of {plural(self.rated, *noun)}"] if self.rated else []
        return "; ".join(clauses)


_VERDICTS: dict[str, type[pl.DataType]] = {
    "criterion": pl.String,
    "category": pl.String,
    "by_people": pl.Boolean,
    "by_judges": pl.Boolean,
}
"""Of a reply: what people and judges say that may be shown; null where they say nothing."""


def _harms(place: Place) -> pl.DataFrame:
    """Return, for each reply and criterion that rules a reply out, whether anybody found it."""
    parts = [pl.DataFrame(schema=_VERDICTS)]
    for criterion in (c for c in place.section.benchmark.rubric.criteria if c.veto):
        withheld = list(texts.withheld_judges(place.run, place.section, criterion.name))
        bad = pl.col("value").cast(pl.String) == str(criterion.worst_first[0])
        person = pl.col("rater_kind") == PERSON
        rows = place.section.asked.filter(
            pl.col("criterion") == criterion.name, pl.col("status") == "ok", pl.col("rater_kind") != RULE, ~pl.col("rater").is_in(withheld)
        )  # fmt: skip
        by_reply = rows.group_by("subject").agg(
            by_people=pl.when(person.any()).then((bad & person).any()),
            by_judges=pl.when((~person).any()).then((bad & ~person).any()),
        )
        parts.append(_shaped(by_reply.collect().with_columns(criterion=pl.lit(criterion.name))))
    return pl.concat(parts)


def _called(place: Place) -> pl.DataFrame:
    """Return, for each reply, whether people together and any judge call it unsafe."""
    verdicts = UnsafeVerdicts(place.run, place.section)
    replies = place.section.replies
    category = pl.col("tag.category") if "tag.category" in replies.columns else pl.lit(None, pl.String)
    of_judges = [rows.select("subject", pl.col("unsafe").cast(pl.Boolean)) for rows in verdicts.judges.values()]
    judged = pl.concat([pl.DataFrame(schema={"subject": pl.String, "unsafe": pl.Boolean}), *of_judges])
    by_judges = judged.drop_nulls().group_by("subject").agg(by_judges=pl.col("unsafe").any())
    by_people = verdicts.people.select("subject", by_people="unsafe")
    rows = replies.select("subject", category=category).join(by_people, on="subject", how="left")
    return _shaped(rows.join(by_judges, on="subject", how="left"))


def _shaped(rows: pl.DataFrame) -> pl.DataFrame:
    absent = [pl.lit(None, kind).alias(name) for name, kind in _VERDICTS.items() if name not in rows.columns]
    return rows.with_columns(*absent).select(pl.col(name).cast(kind) for name, kind in _VERDICTS.items())


def _counts(verdicts: pl.DataFrame, key: str) -> Iterator[_FailureKind]:
    """Yield each value of a column with what people read and call unsafe, and what judges rated and call so."""
    counted = (
        verdicts.filter(pl.col(key).is_not_null())
        .group_by(key)
        .agg(
            read=pl.col("by_people").count(),
            by_people=pl.col("by_people").sum(),
            rated=pl.col("by_judges").count(),
            by_judges=pl.col("by_judges").sum(),
        )
        .filter((pl.col("by_people") > 0) | (pl.col("by_judges") > 0))
        .sort(["by_people", "by_judges", key], descending=[True, True, False])
    )
    yield from (_FailureKind(*row) for row in counted.head(MOST_KINDS).iter_rows())


def _missed(part: Part) -> Iterator[str]:
    """Count the answers in which what is no calm message was taken for one, by its label."""
    calm = list(part.benchmark.calm)
    if not calm:
        return
    rows = pl.concat(
        [
            place.section.asked.filter(pl.col("rater").is_in([system.model for system in place.systems]), pl.col("target").is_not_null(), ~pl.col("target").is_in(calm))
            .select("target", missed=((pl.col("status") == "ok") & pl.col("value").is_in(calm)))
            .collect()
            for place in part.places
        ]
    )  # fmt: skip
    counted = rows.group_by("target").agg(n=pl.len(), missed=pl.col("missed").sum()).filter(pl.col("missed") > 0)
    for target, n, missed in counted.sort(["missed", "target"], descending=[True, False]).head(MOST_KINDS).iter_rows():
        yield f"{raised(words(target))} taken for {named([words(value) for value in calm], joined='or')} in {count(missed)} of {plural(n, 'answer')} ({percent(missed / n)})."


def _measures(part: Part) -> Iterator[str]:
    """State each measure of harm that the benchmark shows first, where it is above 0."""
    for metric in first_measures(part.benchmark):
        if metric.better != "lower" or metric.unit != "share":
            continue
        by_title: dict[str, list[str]] = {}
        for place in part.places:
            for system in place.systems:
                score = shown_score(place, system, metric)
                if score is not None and score.value:
                    title = metric.titled(score.criterion, own_answers=score.rater == score.model)
                    value = f"{percent(score.value)} of {count(score.n)} ({system.label}; {interval(score.low, score.high, 'share')})"
                    by_title.setdefault(raised(title.removeprefix("the ")), []).append(value)
        yield from (f"{title}: {named(values)}." for title, values in by_title.items())


def _numbers(report: Report) -> Iterator[str]:
    """Count the mentions of numbers to call that nobody knows."""
    sheet = next(answer.table for answer in report.clinical if answer.question == clinical.HELP)
    mentions = sum(int(row[1] or 0) for row in sheet.rows if row[2] == "unknown") if sheet is not None else 0
    if mentions:
        yield f"Numbers to call that are on no list of ours: {plural(mentions, 'mention')}. Whether they exist was not looked up."
