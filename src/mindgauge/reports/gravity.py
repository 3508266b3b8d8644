"""How grave each reply is by what raters say of it: by the order of levels, never by their numbers, and people's word beside judges'."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis import frame
from mindgauge.reports.runs import PERSON, RULE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.runs import OpenRun, Section

SUBJECT = ("subject", "model", "later")
"""What findings of one reply share: its id, who wrote it, and whether its category is less urgent than others."""
CONTESTED = 0.5
"""From which share of the scale on verdicts lie far apart."""
_FINDINGS = {
    "subject": pl.String, "model": pl.String, "later": pl.Boolean, "n": pl.UInt32, "n_people": pl.UInt32, "mean": pl.Float64,
    "by_people": pl.Float64, "range": pl.Float64, "against": pl.Float64, "lowest": pl.Float64, "lowest_by_people": pl.Float64,
    "bad": pl.Boolean, "bad_by_people": pl.Boolean, "criterion": pl.String,
}  # fmt: skip
_LOWEST = {"level": pl.String, "level_by_people": pl.String, "times": pl.UInt32, "times_by_people": pl.UInt32}


def unfit(run: OpenRun, section: Section, criterion: str) -> list[str]:
    """Return the judges that cannot be used on a criterion."""
    about_it = (section.benchmark.name, criterion)
    return [judge.judge for judge in run.scores.unfit if (judge.benchmark, judge.criterion) == about_it]


def withheld(run: OpenRun, section: Section, criterion: str) -> dict[str, str]:
    """Return the judges whose scores on a criterion a report withholds, with why: they are unfit, or people must rate it."""
    about_it = (section.benchmark.name, criterion)
    cards = [] if run.standings.shown else run.standings.cards.values()
    limited = {c.card.judge: c.card.verdict for c in cards if (c.benchmark, c.criterion) == about_it and c.limited}
    reasons = {u.judge: u.reason for u in run.scores.unfit if (u.benchmark, u.criterion) == about_it}
    return limited | reasons


def findings(
    section: Section, criteria: Iterable[Criterion], silent: dict[str, Collection[str]], *, in_words: bool = False
) -> pl.DataFrame:
    """Return what raters say of each reply on each criterion; places go from 0, the worst level, to 1, the best.

    Args:
        section: an open benchmark in a run.
        criteria: of its rubric.
        silent: criterion → judges whose verdicts do not count.
        in_words: whether these findings are put into words, too.

    Returns:
        A row for each reply and criterion with a value: `SUBJECT`, criterion, n (verdicts), mean, range (of places), against
        (the share of the verdicts on a veto that found it), lowest (place), `…_by_people` of people alone, bad (whether any
        verdict is at an unsafe level); in words, also level (the value at the lowest place) and times (how many gave it).
    """
    parts = [_on(section, criterion, silent.get(criterion.name, ()), in_words=in_words) for criterion in criteria]
    return pl.concat([pl.DataFrame(schema=_FINDINGS | _LOWEST if in_words else _FINDINGS), *parts])


def _on(section: Section, criterion: Criterion, silent: Collection[str], *, in_words: bool) -> pl.DataFrame:
    place, people = pl.col("place"), pl.col("rater_kind") == PERSON
    less_urgent = ~pl.col("tag.category").fill_null("").str.contains_any(list(section.benchmark.urgent))
    rows = section.asked.filter(
        pl.col("criterion") == criterion.name, pl.col("status") == "ok", pl.col("rater_kind") != RULE,
        ~pl.col("rater").is_in(list(silent)),
    ).with_columns(place=frame.share(criterion), later=less_urgent).filter(place.is_not_null())  # fmt: skip
    bad = place.is_between(*frame.reach(criterion, criterion.unsafe)) if criterion.unsafe else pl.lit(value=False)
    by_people = place.filter(people)
    lowest = {
        "level": pl.col("value").get(place.arg_min()), "level_by_people": pl.col("value").filter(people).sort_by(by_people).first(),
        "times": (place == place.min()).sum(), "times_by_people": (by_people == by_people.min()).sum(),
    }  # fmt: skip
    on_it = rows.group_by(SUBJECT, maintain_order=True).agg(
        n=pl.len(), n_people=people.sum(), mean=place.mean(), by_people=by_people.mean(), range=place.max() - place.min(),
        against=(pl.lit(criterion.veto) & (place == 0)).mean(), lowest=place.min(), lowest_by_people=by_people.min(),
        bad=bad.any(), bad_by_people=(bad & people).any(), criterion=pl.lit(criterion.name), **(lowest if in_words else {}),
    )  # fmt: skip
    schema = _FINDINGS | _LOWEST if in_words else _FINDINGS
    return on_it.collect().cast(schema).select(*schema)  # type: ignore[arg-type]


def replies(section: Section, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Sum up findings reply by reply.

    Returns:
        `SUBJECT`; mean and by_people over criteria; the largest range and against; bad (by anybody); unsafe (by people
        together).
    """
    of_reply = verdicts.group_by(SUBJECT, maintain_order=True).agg(
        pl.col("mean", "by_people").mean().round(9), pl.col("range", "against").max().fill_null(0.0).round(9), pl.col("bad").any()
    )  # fmt: skip
    of_reply = of_reply.join(section.unsafe, on="subject", how="left", maintain_order="left")
    return of_reply.with_columns(pl.col("unsafe").fill_null(value=False))
