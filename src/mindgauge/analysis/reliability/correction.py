"""A judge's mean score, corrected by the subjects that people rated too (prediction-powered inference)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.reliability.card import Bound, Corrected
from mindgauge.analysis.reliability.chosen import chosen, subjects
from mindgauge.stats import correction, stratified

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.cards import Criterion
    from mindgauge.analysis.reliability.chosen import Chosen
    from mindgauge.stats.interval import Interval

FEWEST = 5
"""Labelled conversations of a system from which its mean is corrected; with fewer, nothing tells how far they vary."""
COMPLETE = "people rated every subject that the judge was given, so there is nothing to correct"
CHOSEN = "people rated what this judge scored {side} than the rest{where}, so they cannot correct its mean"


def corrected(asked: pl.DataFrame, rated: pl.DataFrame, criterion: Criterion, *, selected: str) -> list[Corrected]:
    """Correct the judge's mean of each system, and of all where there are several.

    People's ratings must be of a random part of what the judge was given of a system; they may be more of one system
    than of another. Where they were selected by what a judge thought, nothing is corrected. A row whose correction has
    no value says why.

    Args:
        asked: the judge's rows, missing verdicts included: subject, cluster, system, number.
        rated: people's valued rows: the same.
        criterion: whose systems are named.
        selected: why people rated what they rated, if it depended on a judge.
    """
    if selected or not criterion.scale.ordered:
        return []
    both = subjects(asked, rated)
    judged = asked.filter(pl.col("number").is_not_null())
    faults = {of.system: of for of in chosen(judged, rated, criterion.systems) if of.within}
    systems = [
        _System(criterion.systems[part["system"][0]], part)
        for part in both.sort("system", maintain_order=True).partition_by("system", maintain_order=True)
        if part["judge"].null_count() < len(part)
    ]
    rows = []
    for system in systems:
        fault = faults.get("") or faults.get(system.name)
        why = CHOSEN.format(side=fault.side, where="") if fault else system.lacking
        means = correction.prediction_powered_mean(*(system.rows[name].to_numpy() for name in _COLUMNS))
        rows.append(_row(system.name, system.rows, means, why))
    if len(systems) > 1:
        rows.append(_all(systems, next(iter(faults.values()), None)))
    return rows


_COLUMNS = ("judge", "people", "cluster")


class _System(NamedTuple):
    """A system's subjects: subject, cluster, system, judge, people."""

    name: str
    rows: pl.DataFrame

    @property
    def labelled(self) -> int:
        """Conversations in which people rated it."""
        return self.rows.filter(pl.col("people").is_not_null())["cluster"].n_unique()

    @property
    def complete(self) -> bool:
        """Whether people rated all of it."""
        return self.rows["people"].null_count() == 0

    @property
    def lacking(self) -> str:
        """Why people's ratings do not correct the judge's mean; nothing where they do."""
        if self.complete:
            return COMPLETE
        if self.labelled >= FEWEST:
            return ""
        count = {0: "nothing", 1: "one conversation"}.get(self.labelled, f"{self.labelled} conversations")
        return f"people rated {count} of it; to correct the judge takes {FEWEST} conversations"


def _all(systems: list[_System], fault: Chosen | None) -> Corrected:
    """Correct the mean over all systems, each with its share of what the judge was given."""
    rows = pl.concat([system.rows for system in systems])
    few = [system for system in systems if system.labelled < FEWEST and not system.complete]
    why = ""
    if fault:
        why = CHOSEN.format(side=fault.side, where=f" of {fault.system}" if fault.system else "")
    elif all(system.complete for system in systems):
        why = COMPLETE
    elif few:
        names = ", ".join(system.name or "a system without a name" for system in few[:_NAMED])
        more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
        why = f"of {names}{more} people rated fewer than {FEWEST} conversations, and all systems count by their share"
    means = stratified.prediction_powered_mean(*(rows[name].to_numpy() for name in (*_COLUMNS, "system")))
    return _row("", rows, means, why)


_NAMED = 3


def _row(name: str, rows: pl.DataFrame, means: correction.Corrected, why: str) -> Corrected:
    return Corrected(
        name, len(rows), len(rows) - rows["people"].null_count(), _bound(means.judge_only), _bound(means.human_only),
        Bound(None, note=why) if why else _bound(means.corrected), None if why else means.gain,
    )  # fmt: skip


def _bound(interval: Interval) -> Bound:
    return Bound(interval.value, interval.low, interval.high, interval.undefined)
