"""What to read first: the replies rated lowest, those that raters differ on most, and the crises that were missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.reports import texts
from mindgauge.reports.content import Reading
from mindgauge.reports.numbers import decimal, plural, words
from mindgauge.reports.passages import language_of, passage
from mindgauge.reports.runs import RULE
from mindgauge.reports.sections import ToRead
from mindgauge.reports.verdicts import verdicts
from mindgauge.rubric import Scale
from mindgauge.rubric.composite import NO, YES, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.content import System, Verdict
    from mindgauge.reports.runs import Run, Section

MOST = 10
CONTESTED = 5
NO_CRISIS = "no_crisis"
_FIRST = ("suicid", "self-harm", "self_harm")


def to_read(runs: Sequence[Run], systems: Sequence[System]) -> list[ToRead]:
    """Choose what a person should read now. The same run always gives the same choice."""
    rated = _rated(runs)
    vetoed = rated.filter(pl.col("against") > 0).sort(
        ["against", "mean", "later", "subject"], descending=[True, False, False, False]
    )
    first = vetoed.head(MOST)
    rest = rated.filter(~pl.col("subject").is_in(first["subject"].implode()))
    lowest = rest.sort("mean", "later", "subject").head(MOST)
    contested = rest.filter(pl.col("range") >= 0.5, ~pl.col("subject").is_in(lowest["subject"].implode())).sort(
        ["range", "mean", "later", "subject"], descending=[True, False, False, False]
    ).head(CONTESTED)  # fmt: skip
    lists = []
    if len(first):
        shown = "all of them are here" if len(vetoed) == len(first) else f"{len(first)} of them are here"
        note = f"In {plural(len(vetoed), 'reply', 'replies')} of {len(rated):,} rated, somebody found harm that forbids to call it safe; {shown}, those on which most raters agree first."
        lists.append(ToRead("The replies in which harm was found", note, list(_replies(runs, systems, first))))
    if len(lowest):
        but = ", those above aside" if len(first) else ""
        note = f"Chosen from {plural(len(rest), 'rated reply', 'rated replies')}{but}: lowest mean verdict first, then suicide and self-harm first."
        lists.append(ToRead("The replies rated lowest", note, list(_replies(runs, systems, lowest))))
    if len(contested):
        note = "On these, verdicts lie half the scale or more apart. A person should say who is right."
        lists.append(ToRead("Where raters differ most", note, list(_replies(runs, systems, contested))))
    missed = _missed(runs, systems)
    if missed is not None:
        lists.append(missed)
    return lists


def _rated(runs: Sequence[Run]) -> pl.DataFrame:
    """Return every rated reply with the mean and the range of its verdicts on a scale from 0 to 1, and who vetoes it.

    The mean is over criteria, the range the largest of a criterion; `against` is the largest share of the verdicts on
    one veto that found it.
    """
    frames = [
        pl.DataFrame(
            schema={
                "run": pl.Int64,
                "section": pl.Int64,
                "subject": pl.String,
                "model": pl.String,
                "mean": pl.Float64,
                "range": pl.Float64,
                "later": pl.Boolean,
                "against": pl.Float64,
            }
        )
    ]
    for number, run in enumerate(runs):
        for at, section in enumerate(run.sections):
            if section.benchmark.closed:
                continue
            for criterion in section.benchmark.rubric.criteria:
                if criterion.scale is not Scale.ORDINAL:
                    continue
                places = {str(value): number for value, number in numbers(criterion).items()}
                low, high = min(places.values()), max(places.values())
                unfit = [
                    one.judge
                    for one in run.scores.unfit
                    if one.benchmark == section.benchmark.name and one.criterion == criterion.name
                ]
                rows = section.asked.filter(
                    pl.col("criterion") == criterion.name, pl.col("status") == "ok", pl.col("rater_kind") != RULE,
                    ~pl.col("rater").is_in(unfit),
                )  # fmt: skip
                place = pl.col("value").cast(pl.String).replace_strict(places, default=None, return_dtype=pl.Float64)
                number_of = pl.coalesce(pl.col("value").cast(pl.Float64, strict=False), place)
                found = pl.lit(criterion.veto) & (pl.col("value") == 0)
                scaled = rows.with_columns(value=(number_of - low) / (high - low))
                frames.append(scaled.select(
                    pl.lit(number, pl.Int64).alias("run"), pl.lit(at, pl.Int64).alias("section"), "subject", "model", "value",
                    later=~pl.col("tag.category").fill_null("").str.contains_any(list(_FIRST)),
                ).group_by("run", "section", "subject", "model", "later").agg(
                    pl.col("value").mean().alias("mean"), (pl.col("value").max() - pl.col("value").min()).alias("range"),
                    against=found.mean(),
                ).collect())  # fmt: skip
    rated = pl.concat(frames, how="diagonal")
    keys = ["run", "section", "subject", "model", "later"]
    replies = rated.group_by(keys).agg(
        pl.col("mean").mean().round(9), pl.col("range").max().round(9), pl.col("against").max().fill_null(0.0).round(9)
    )
    # Two tasks may put the same question and so hold the same reply: it is read once, in the first of them.
    return replies.sort("section").unique(["run", "subject"], keep="first", maintain_order=True)


def _replies(runs: Sequence[Run], systems: Sequence[System], chosen: pl.DataFrame) -> Iterator[Reading]:
    for row in chosen.iter_rows(named=True):
        run = runs[row["run"]]
        section = run.sections[row["section"]]
        query = "SELECT sample, text FROM replies WHERE benchmark = ? AND id = ?"
        sample_id, text = run.store.select(query, (section.benchmark.name, row["subject"])).fetchone()
        sample = run.store.sample(section.benchmark.name, sample_id)
        system = next(s for s in systems if (s.run, s.model) == (row["run"], row["model"]))
        given = verdicts(run, section, row["subject"], sample)
        quotes = texts.quoted(given)
        language = sample.tags.get("language", "en")
        category = words(sample.tags.get("category", ""))
        yield Reading(
            texts.anchor("reply", row["subject"]), category, _summary(given, section), "", system, texts.chat(section, sample, quotes)[0],
            passage("reply", text, quotes, language_of(text, language)), given, texts.withheld(run, section, sample.id),
        )  # fmt: skip


def _summary(given: Sequence[Verdict], section: Section) -> str:
    """Sum verdicts up for a heading: harm that was found, else how many levels there are and their mean."""
    worst = {c.name: c.values[0] for c in section.benchmark.rubric.criteria if c.veto}
    marks = {
        name: [m.value for v in given if v.criterion == name for m in v.marks if m.status == "ok"] for name in worst
    }
    found = [
        f"{words(name)} in {values.count(worst[name])} of {plural(len(values), 'verdict')}"
        for name, values in marks.items()
        if worst[name] in values
    ]
    return ", ".join(found) or _levels(given) or _met(given, section)


def _met(given: Sequence[Verdict], section: Section) -> str:
    """Count the verdicts of yes or no at the better level, where there are any."""
    best = {c.name: c.values[-1] for c in section.benchmark.rubric.criteria if set(c.values) == {YES, NO}}
    values = [m.value == best[v.criterion] for v in given if v.criterion in best for m in v.marks if m.status == "ok"]
    return f"the better level in {sum(values)} of {plural(len(values), 'verdict')}" if values else ""


def _levels(given: Sequence[Verdict]) -> str:
    """Sum levels up for a heading: how many, and their mean on the scale."""
    marks = [m.value for v in given if v.scale for m in v.marks if isinstance(m.value, int)]
    scale = next((v.scale for v in given if v.scale), "")
    if not marks:
        return ""
    if len(marks) == 1:
        return f"rated {marks[0]} of {scale.split()[-1]}"
    return f"mean {decimal(sum(marks) / len(marks), 1)} of {scale.split()[-1]} in {plural(len(marks), 'verdict')}"


def _missed(runs: Sequence[Run], systems: Sequence[System]) -> ToRead | None:
    """List messages that show a crisis and were taken for none, first those that most models missed."""
    frames = []
    for number, run in enumerate(runs):
        for at, section in enumerate(run.sections):
            labels = {v for c in section.benchmark.rubric.criteria for v in c.values}
            if section.benchmark.closed and NO_CRISIS in labels:
                models = [s.model for s in systems if s.run == number]
                rows = section.asked.filter(pl.col("rater").is_in(models), pl.col("value") == NO_CRISIS)
                rows = rows.filter(pl.col("target").is_not_null(), pl.col("target") != NO_CRISIS)
                frames.append(rows.select(
                    "subject", "rater", "target", run=pl.lit(number), section=pl.lit(at),
                    later=~pl.col("target").str.contains_any(list(_FIRST)),
                ).collect())  # fmt: skip
    if not frames or not len(missed := pl.concat(frames)):
        return None
    by_message = missed.group_by("subject", "target", "later").agg(
        pl.struct("run", "rater").n_unique().alias("by"),
        pl.len().alias("times"),
        pl.col("run").min(),
        pl.col("section").min(),
    )
    chosen = by_message.sort(["later", "by", "times", "subject"], descending=[False, True, True, False]).head(MOST)
    items = []
    for row in chosen.iter_rows(named=True):
        run = runs[row["run"]]
        section = run.sections[row["section"]]
        sample = run.store.sample(section.benchmark.name, row["subject"])
        given = [v for r in runs for s in r.sections if s.benchmark.name == section.benchmark.name
                 for v in verdicts(r, s, row["subject"], sample, people=False)]  # fmt: skip
        summary = f"missed by {plural(row['by'], 'model')}" if len(systems) > 1 else "taken for no crisis"
        items.append(Reading(
            texts.anchor("message", row["subject"]), words(row["target"]), summary, "", None,
            *texts.chat(section, sample, texts.quoted(given)), given, texts.withheld(run, section, sample.id),
        ))  # fmt: skip
    shown = "all of them are here" if len(by_message) <= MOST else f"{len(items)} of them are here"
    note = f"{plural(len(by_message), 'message that shows', 'messages that show')} a crisis {'was' if len(by_message) == 1 else 'were'} taken for none at least once; {shown}, suicide and self-harm first."
    return ToRead("The crises that were missed", note, items)
