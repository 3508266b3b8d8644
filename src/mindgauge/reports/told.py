"""What a run's numbers say of one model in one benchmark, in plain sentences that follow from the numbers by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from mindgauge.reports import card_phrases, gates, phrases, void
from mindgauge.reports.numbers import plural, words
from mindgauge.reports.runs import PERSON, constant, scores_of
from mindgauge.reports.sections import Told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import Run, Section
    from mindgauge.reports.standing import Standing, Standings

MANY = 3
"""With more criteria than this, each rater is told in one sentence."""
_TO = {"crisis only": " to messages that show a crisis", "all": ""}


def told(run: Run, section: Section, system: System) -> Told | None:
    """Say what the numbers say of one system in one benchmark; None where it has none."""
    scores = list(scores_of(run, system, section))
    without = list(void.told(run, section, system))
    if not scores and not without:
        return None
    closed = section.benchmark.closed
    sentences = (
        _closed(scores, section, system, constant(run, section))
        if closed
        else _open(scores, section, system, run.standings)
    )
    said = [*without, *(fact for fact in sentences if fact)]
    apart = len(section.judges()) > 2 and len(section.ordinal) <= MANY
    return Told(
        system, said if apart else [" ".join(said)] if said else [], [] if closed else _withheld(scores, run.standings)
    )


def _closed(scores: Sequence[Score], section: Section, system: System, nothing_read: Sequence[Score]) -> Iterator[str]:
    whole = {s.name: s for s in scores if s.slice == "all"}
    if "missed_crisis_rate" in whole:
        yield phrases.missed(whole["missed_crisis_rate"])
    if "overcalled_crisis_rate" in whole:
        yield phrases.overcalled(whole["overcalled_crisis_rate"])
    if "accuracy" in whole and "missed_crisis_rate" not in whole:
        yield phrases.right(whole["accuracy"])
        yield phrases.right_of_read(whole["accuracy"], whole.get("accuracy_of_read"))
        yield phrases.beside_constant(
            whole["accuracy"], [s for s in nothing_read if (s.name, s.slice) == ("accuracy", "all")]
        )
    yield phrases.least_recognised([s for s in scores if s.name == "recall"])
    valued = section.asked.filter(
        pl.col("rater") == system.model, pl.col("status") == "ok", pl.col("target").is_not_null()
    )
    mine = valued.select("value", "target").collect()
    yield phrases.always_the_same(mine["value"].to_list(), mine["target"].to_list())


def _open(scores: Sequence[Score], section: Section, system: System, standings: Standings) -> Iterator[str]:
    group = next((name for name in section.benchmark.groups if any(s.slice == name for s in scores)), "all")
    people = {rater for rater, kind in section.judges() if kind == PERSON}
    means = [s for s in scores if s.name == "mean" and s.criterion in section.ordinal]
    whole = [s for s in means if s.slice == group]
    what = _TO.get(group, f" ({group})")
    allowed = [s for s in whole if not standings.limited(s)]
    yield from gates.told(scores, section, standings, group, what)
    yield from _told(allowed, section, system, people, group, what)
    yield from _lowest([s for s in means if not standings.limited(s)], allowed, section)
    doubtful = [s for s in whole if standings.limited(s)]
    if standings.shown and doubtful:
        yield from card_phrases.unreliable(_cards(doubtful, standings))
        yield from _told(doubtful, section, system, people, group, what)
    if means and not whole:
        n = max(s.n for s in means)
        yield f"Only {plural(n, 'of its replies', 'of its replies')} that {'was' if n == 1 else 'were'} chosen for what a judge thought of them {'was' if n == 1 else 'were'} rated, so nothing can be said about its replies as a whole."


def _cards(scores: Sequence[Score], standings: Standings) -> dict[str, list[Standing]]:
    """Return the cards behind some scores, by judge."""
    found: dict[str, dict[str, Standing]] = {}
    for s in scores:
        standing = standings.of(s)
        if standing is not None:
            found.setdefault(s.rater, {})[s.criterion] = standing
    return {judge: list(mine.values()) for judge, mine in found.items()}


def _withheld(scores: Sequence[Score], standings: Standings) -> list[str]:
    """Say which scores of a system are not shown."""
    means = [s for s in scores if s.name in {"mean", *gates.RATES}]
    hidden = [s for s in means if standings.withholds(s)]
    seen = {s.criterion for s in means if not standings.withholds(s)}
    alone = not any(s.criterion in seen for s in hidden)
    return list(card_phrases.not_shown(_cards(hidden, standings), alone=alone))


def _told(
    whole: Sequence[Score], section: Section, system: System, people: set[str], group: str, what: str
) -> Iterator[str]:
    """Say what raters gave: of one criterion or a few, how often each level; of many, each rater's means."""
    if len(section.ordinal) > MANY:
        for rater in dict.fromkeys(s.rater for s in whole):
            yield phrases.profile([s for s in whole if s.rater == rater], rater in people, what)
        return
    for name, criterion in section.ordinal.items():
        on = f"{what}, on {words(name)}" if len(section.ordinal) > 1 else what
        for s in (s for s in whole if s.criterion == name):
            levels, clusters = _levels(section, system, s, group)
            yield phrases.rated(s, s.rater in people, on, levels, [int(v) for v in criterion.values], clusters)


def _lowest(means: Sequence[Score], whole: Sequence[Score], section: Section) -> Iterator[str]:
    """Name the category rated lowest, where there are few criteria."""
    if len(section.ordinal) > MANY:
        return
    for name in section.ordinal:
        raters = dict.fromkeys(s.rater for s in whole if s.criterion == name)
        yield from phrases.lowest_categories(
            {
                r: [s for s in means if (s.rater, s.criterion) == (r, name) and s.slice.startswith("category=")]
                for r in raters
            }
        )


def _levels(section: Section, system: System, whole: Score, group: str) -> tuple[dict[int, int], int]:
    """Count each level that a rater gave to a system's replies, and the conversations behind them."""
    rows = section.asked.filter(
        pl.col("criterion") == whole.criterion, pl.col("model") == system.model, pl.col("rater") == whole.rater,
        pl.col("selection").is_null(), pl.col("status") == "ok",
    )  # fmt: skip
    for tag, values in section.benchmark.groups.get(group, {}).items():
        rows = rows.filter(pl.col(f"tag.{tag}").is_in(list(values)))
    found = rows.select("value", "cluster").collect()
    counted = found.group_by("value").len().iter_rows()
    return {int(value): n for value, n in counted if value is not None}, found["cluster"].n_unique()
