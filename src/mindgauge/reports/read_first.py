"""What to read first: the replies rated lowest, those that raters differ on most, and the crises that were missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.records.english import words
from mindgauge.records.rounding import decimal, percent, plural
from mindgauge.records.rubric import Scale
from mindgauge.records.rubric.composite import NO, YES
from mindgauge.records.rubric.criterion import numbered, place_of, rising
from mindgauge.reports import content, texts
from mindgauge.reports.content import REPLIES, TURNS, Case
from mindgauge.reports.reader import rows
from mindgauge.reports.runs import PERSON
from mindgauge.reports.sections import ToRead
from mindgauge.reports.texts import verdicts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from mindgauge.reports.content import RaterVerdicts, System
    from mindgauge.reports.runs import OpenRun, Section

MOST = 10
CONTESTED = 5
LOWEST = "The replies rated worst"
CONTESTED_REPLIES = "Where raters differ most"


def to_read(runs: Sequence[OpenRun], systems: Sequence[System]) -> list[ToRead]:
    """Choose what a person should read now. The same run always gives the same choice."""
    rated = _rated(runs)
    feared = rated.filter("unsafe").sort("by_people", "mean", "later", "subject")
    called_unsafe = feared.head(MOST)
    judged = rated.filter(~pl.col("subject").is_in(called_unsafe["subject"].implode()))
    vetoed = judged.filter(pl.col("against") > 0).sort(
        ["against", "mean", "later", "subject"], descending=[True, False, False, False]
    )
    first = vetoed.head(MOST)
    rest = judged.filter(~pl.col("subject").is_in(first["subject"].implode()))
    lowest = rest.filter(pl.col("mean") < 1).sort("mean", "later", "subject").head(MOST)
    contested = rest.filter(pl.col("range") >= texts.CONTESTED, ~pl.col("subject").is_in(lowest["subject"].implode())).sort(
        ["range", "mean", "later", "subject"], descending=[True, False, False, False]
    ).head(CONTESTED)  # fmt: skip
    lists: list[ToRead] = []

    def take(title: str, note: str, chosen: pl.DataFrame, **sign: str) -> None:
        lists.append(ToRead(title, note, list(_replies(runs, systems, chosen)), content.lines(**sign)))

    if len(called_unsafe):
        note = f"By the median of their ratings, people call {plural(len(feared), 'reply', 'replies')} unsafe; {_shown(called_unsafe, feared)}, the worst rated first."
        take("The replies that people call unsafe", note, called_unsafe, sign="by_people")
    but = ", those above aside" if lists else ""
    if len(first):
        extent = _shown(first, vetoed)
        note = f"In {plural(len(vetoed), 'reply', 'replies')} of {len(judged):,} rated{but}, a rater found harm, and a reply with harm cannot count as safe; {extent}, those on which most raters agree first."
        take("The replies in which harm was found", note, first, sign="harm")
    if len(lowest):
        but = ", those above aside" if lists else ""
        note = f"Chosen from {plural(len(rest), 'rated reply', 'rated replies')}{but}: worst mean verdict first, then suicide and self-harm first."
        take(LOWEST, note, lowest)
    if len(contested):
        note = "On these, verdicts lie half the scale or more apart. A person should say who is right."
        take(CONTESTED_REPLIES, note, contested, sign="contested")
    missed = _missed(runs, systems)
    if missed is not None:
        lists.append(missed)
    return lists


def _shown(selected: pl.DataFrame, candidates: pl.DataFrame) -> str:
    return "all of them are here" if len(selected) == len(candidates) else f"{len(selected)} of them are here"


_PLACE = {"run": pl.Int64, "section": pl.Int64}
_RATED = {
    "subject": pl.String, "model": pl.String, "later": pl.Boolean, "mean": pl.Float64, "by_people": pl.Float64, "range": pl.Float64,
    "against": pl.Float64, "bad": pl.Boolean, "unsafe": pl.Boolean,
}  # fmt: skip


def _rated(runs: Sequence[OpenRun]) -> pl.DataFrame:
    """Return every rated reply with what its verdicts say (columns as `texts.replies` has them), and its run and section.

    Judges that cannot be used have no say.
    """
    frames = [pl.DataFrame(schema={**_RATED, **_PLACE})]
    for number, run in enumerate(runs):
        for index, section in enumerate(run.sections):
            if section.benchmark.closed:
                continue
            # Whole dialogues have a section of their own.
            criteria = [c for c in section.benchmark.rubric.criteria if section.noun(c.name) in {REPLIES, TURNS}]
            silent: dict[str, Collection[str]] = {c.name: texts.unfit(run, section, c.name) for c in criteria}
            replies = texts.replies(section, texts.findings(section, criteria, silent))
            place = {"run": pl.lit(number, pl.Int64), "section": pl.lit(index, pl.Int64)}
            frames.append(replies.with_columns(**place))
    rated = pl.concat(frames, how="diagonal")
    # Two tasks may put the same question and so hold the same reply: it is read once, in the first of them.
    return rated.sort("section").unique(["run", "subject"], keep="first", maintain_order=True)


def _replies(runs: Sequence[OpenRun], systems: Sequence[System], chosen: pl.DataFrame) -> Iterator[Case]:
    for row in chosen.iter_rows(named=True):
        run = runs[row["run"]]
        section = run.sections[row["section"]]
        reply = run.store.reply(section.benchmark.name, row["subject"])
        assert reply is not None
        sample = reply.answered(run.store.sample(section.benchmark.name, reply.sample))
        system = next(s for s in systems if (s.run, s.model) == (row["run"], row["model"]))
        reply_verdicts = verdicts(run, section, row["subject"], sample)
        quotes = texts.quoted(reply_verdicts)
        turn = (
            f"{words(sample.tags['persona'])}, turn {sample.tags['turn']}"
            if section.holds_dialogues and "persona" in sample.tags
            else ""
        )
        category = turn or words(sample.tags.get("category", ""))
        yield Case(
            texts.anchor("reply", row["subject"]), category, _summary(reply_verdicts, section), "", system, texts.chat(section, sample, quotes)[0],
            texts.reply(section, sample, reply.text, quotes), reply_verdicts, texts.withheld(run, section, sample.id),
            texts.words(section, sample), content.lines(open=rows.key(section.benchmark.name, reply.id, row["model"], reply.run)),
            texts.reply(section, sample, reply.reasoning, quotes) if reply.reasoning else None,
        )  # fmt: skip


def _summary(reply_verdicts: Sequence[RaterVerdicts], section: Section) -> str:
    """Sum verdicts up for a heading: harm that was found, else how many levels there are and their mean.

    Where people rated, the mean is theirs.
    """
    worst = {c.name: c.worst_first[0] for c in section.benchmark.rubric.criteria if c.veto}
    marks = {
        name: [m.value for v in reply_verdicts if v.criterion == name for m in v.marks if m.status == "ok"]
        for name in worst
    }
    harms = [
        f"{words(name)} in {values.count(worst[name])} of {plural(len(values), 'verdict')}"
        for name, values in marks.items()
        if worst[name] in values
    ]
    rest = f", and {plural(len(harms) - 1, 'other harm')}" if len(harms) > 1 else ""
    if harms:
        return f"{harms[0]}{rest}"
    by_people = [verdict for verdict in reply_verdicts if verdict.kind == PERSON]
    if by_people:
        summary = _levels(by_people, section) or _met(by_people, section)
        return f"{summary} by people" if summary else ""
    return _levels(reply_verdicts, section) or _met(reply_verdicts, section)


def _met(reply_verdicts: Sequence[RaterVerdicts], section: Section) -> str:
    """Count the verdicts of yes or no at the better level, where there are any."""
    best = {c.name: c.worst_first[-1] for c in section.benchmark.rubric.criteria if set(c.values) == {YES, NO}}
    values = [
        m.value == best[v.criterion] for v in reply_verdicts if v.criterion in best for m in v.marks if m.status == "ok"
    ]
    return f"the better level in {sum(values)} of {plural(len(values), 'verdict')}" if values else ""


def _levels(reply_verdicts: Sequence[RaterVerdicts], section: Section) -> str:
    """Sum levels up for a heading: how many, and their mean on the scale; of several scales, as a share of the way up.

    Nothing where all that was said is yes or no.
    """
    ordered = {c.name: c for c in section.benchmark.rubric.criteria if c.scale is Scale.ORDINAL}
    marks = [
        (ordered[v.criterion], m.value)
        for v in reply_verdicts
        if v.criterion in ordered
        for m in v.marks
        if m.value is not None
    ]
    scales = {criterion.worst_first for criterion, _ in marks}
    if not marks or all(set(scale) == {YES, NO} for scale in scales):
        return ""
    if len(scales) > 1 or not numbered(marks[0][0]):
        way = sum(place_of(criterion, value) for criterion, value in marks) / len(marks)
        return f"on average {percent(way)} of the way from worst to best in {plural(len(marks), 'verdict')}"
    worst, *_, best = marks[0][0].worst_first
    scale_text = f" of {best}" if rising(marks[0][0]) else f", where {worst} is worst and {best} best,"
    if len(marks) == 1:
        return f"rated {marks[0][1]}{scale_text}".removesuffix(",")
    mean = sum(float(value) for _, value in marks) / len(marks)
    return f"mean {decimal(mean, 1)}{scale_text} in {plural(len(marks), 'verdict')}"


def _missed(runs: Sequence[OpenRun], systems: Sequence[System]) -> ToRead | None:
    """List messages that show a crisis and were taken for none, first those that most models missed."""
    frames = []
    for number, run in enumerate(runs):
        for index, section in enumerate(run.sections):
            calm = list(section.benchmark.calm)
            if calm:
                models = [s.model for s in systems if s.run == number]
                rows = section.asked.filter(pl.col("rater").is_in(models), pl.col("value").is_in(calm))
                rows = rows.filter(pl.col("target").is_not_null(), ~pl.col("target").is_in(calm))
                frames.append(rows.select(
                    "subject", "rater", "target", run=pl.lit(number), section=pl.lit(index),
                    later=~pl.col("target").str.contains_any(list(section.benchmark.urgent)),
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
        message_verdicts = [v for r in runs for s in r.sections if s.benchmark.name == section.benchmark.name
                 for v in verdicts(r, s, row["subject"], sample, people=False)]  # fmt: skip
        summary = f"missed by {plural(row['by'], 'model')}" if len(systems) > 1 else "taken for no crisis"
        items.append(Case(
            texts.anchor("message", row["subject"]), words(row["target"]), summary, "", None,
            *texts.chat(section, sample, texts.quoted(message_verdicts)), message_verdicts, texts.withheld(run, section, sample.id),
            texts.words(section, sample),
        ))  # fmt: skip
    extent = "all of them are here" if len(by_message) <= MOST else f"{len(items)} of them are here"
    note = f"{plural(len(by_message), 'message that shows', 'messages that show')} a crisis {'was' if len(by_message) == 1 else 'were'} classified as no crisis at least once; {extent}, suicide and self-harm first."
    return ToRead("The crises that were missed", note, items, content.lines(sign="missed"))
