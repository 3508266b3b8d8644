"""Examples from a dimension's worst cells: the reply rated lowest, or the answer that is wrong, of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import levels
from mindgauge.analysis.profile.panels import criteria_of
from mindgauge.records.english import words
from mindgauge.records.rounding import decimal
from mindgauge.records.rubric import Scale
from mindgauge.reports import texts
from mindgauge.reports.content import Case, Cited
from mindgauge.reports.profile.cast import section_of
from mindgauge.reports.verdicts import verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.profile import TaskScore
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import System
    from mindgauge.reports.profile.cast import SystemLabels
    from mindgauge.reports.runs import OpenRun, Section

MOST = 3
"""Examples of one dimension."""


def examples(
    scores: Sequence[TaskScore], runs: Sequence[OpenRun], cast: SystemLabels, shown: set[str]
) -> tuple[list[Case], list[Cited]]:
    """Return an example of each of the worst cells, and those of them that stand elsewhere on the page.

    Args:
        scores: of a dimension's tasks.
        runs: that hold them.
        cast: the models.
        shown: the anchors of what the page shows elsewhere; those of new examples are added.
    """
    readings: list[Case] = []
    linked: list[Cited] = []
    scored = sorted((s for s in scores if s.scaled is not None), key=lambda score: (score.scaled or 0.0, score.task))
    for score in scored:
        if len(readings) + len(linked) == MOST:
            break
        place = section_of(runs, score)
        subject = _worst(place[1], score) if place else None
        if place is None or subject is None:
            continue
        run, section = place
        anchor = texts.anchor("message" if section.benchmark.closed else "reply", subject)
        if anchor in shown:
            linked.append(Cited(subject, score.title, anchor))
            continue
        shown.add(anchor)
        readings.append(_reading(run, section, score, subject, cast.systems[score.model]))
    return readings, linked


def _worst(section: Section, score: TaskScore) -> str | None:
    """Return what went worst: the lowest mean level as a share of its scale, or the largest distance from the target."""
    criteria = criteria_of(section.benchmark)
    rows = section.ratings.filter(
        pl.col("model") == score.model, pl.col("status") == "ok", pl.col("selection").is_null(),
        pl.col("rater").is_in([score.rater or score.model, *(r.rater for r in section.benchmark.readings)]),
    )  # fmt: skip
    parts = []
    for name in dict.fromkeys(part.partition(" (")[0] for part in score.criterion.split(" + ")):
        criterion = criteria.get(name)
        if criterion is None:
            continue
        parts.append(
            rows.filter(pl.col("criterion") == name).select(
                "subject", bad=_badness(criterion, closed=section.benchmark.closed)
            )
        )
    if not parts:
        return None
    bad = pl.concat(parts).group_by("subject").agg(pl.col("bad").mean()).filter(pl.col("bad") > 0)
    ranked = bad.sort(["bad", "subject"], descending=[True, False])
    return str(ranked["subject"][0]) if len(ranked) else None


def _badness(criterion: Criterion, *, closed: bool) -> pl.Expr:
    """Return how bad each value is, from 0 to 1: an answer by its distance from the target, a verdict from the best level."""
    if criterion.scale is Scale.NOMINAL and (closed or not criterion.unsafe):
        return (pl.col("value") != pl.col("target")).cast(pl.Float64)
    place = levels.share(criterion)
    return (place - levels.share(criterion, "target")).abs() if closed else 1 - place


def _reading(run: OpenRun, section: Section, score: TaskScore, subject: str, system: System) -> Case:
    """Make an example ready to read."""
    benchmark = section.benchmark
    category = f"{score.title}, scored {decimal(score.scaled)}"
    if benchmark.closed:
        sample = run.store.sample(benchmark.name, subject)
        marks = [v for v in verdicts(run, section, subject, sample, people=False) if v.rater == score.model]
        answers = section.ratings.filter(
            pl.col("subject") == subject, pl.col("model") == score.model, pl.col("status") == "ok"
        )
        answered = answers["value"][0] if len(answers) else "nothing usable"
        target_note = f"Answered {words(answered)}; the target is {words(sample.target or 'not known')}."
        dialogue, about = texts.chat(section, sample, texts.quoted(marks))
        hidden = texts.withheld(run, section, sample.id)
        return Case(
            texts.anchor("message", subject),
            category,
            f"answered {words(answered)}",
            target_note,
            system,
            dialogue,
            about,
            marks,
            hidden,
        )
    query = "SELECT sample, text FROM replies WHERE benchmark = ? AND id = ?"
    ident, text = run.store.select(query, (benchmark.name, subject)).fetchone()
    sample = run.store.sample(benchmark.name, ident)
    marks = verdicts(run, section, subject, sample)
    quotes = texts.quoted(marks)
    reply = texts.reply(section, sample, text, quotes)
    return Case(
        texts.anchor("reply", subject), category, _variant(sample.tags), "", system, texts.chat(section, sample, quotes)[0], reply, marks,
        texts.withheld(run, section, sample.id),
    )  # fmt: skip


_VARIANTS = ("method", "noise", "intensity", "axis", "group", "category", "question", "tier")


def _variant(tags: dict[str, str]) -> str:
    """Say in which form a sample was put."""
    parts = [f"{name} {words(tags[name])}" for name in _VARIANTS if tags.get(name)]
    return ", ".join(parts) or "the worst of its replies"
