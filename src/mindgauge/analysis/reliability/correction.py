"""Whether people rated a part of a judge's subjects that the judge itself sees as unlike the rest.

One place says it: an audit finds it, a card warns of it, and nothing is corrected by such a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability.card import Bound, CorrectedMean
from mindgauge.records.rounding import count
from mindgauge.stats import correction, sampling, stratified

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.stats.interval import Ends


SELECTED = 0.25
"""Standard deviations by which the judge's scores of both differ where these are no longer alike (Rubin 2001)."""
CHANCE = 0.01
"""The p-value above which a difference is left to chance: several systems are looked at."""


class Chosen(NamedTuple):
    """The judge's mean score of subjects that people rated, and of the `n` others.

    `system` is empty where it is of all systems. `within_systems` says that the two differ within systems, each counting by what
    it has of both; otherwise people only rated more of some systems than of others, which is no fault of the part.
    """

    system: str
    labelled: float
    others: float
    n: int
    within_systems: bool

    @property
    def side(self) -> str:
        """Whether the judge scored what people rated lower or higher than the rest."""
        return "lower" if self.labelled < self.others else "higher"


def chosen(judged: pl.DataFrame, rated: pl.DataFrame, systems: Sequence[str]) -> list[Chosen]:
    """Return what is found: over all systems first, then of each.

    Args:
        judged: the judge's valued rows: subject, cluster, system (an index), number.
        rated: people's valued rows: subject.
        systems: names, by index.
    """
    scores = subjects(judged, rated)
    if scores.is_empty():
        return []
    several_systems = scores["system"].n_unique() > 1
    overall = _gap(scores, "", labelled_within=True)
    gaps = [overall] if overall else []
    if several_systems:
        parts = scores.partition_by("system", maintain_order=True)
        gaps += [gap for part in parts if (gap := _gap(part, systems[part["system"][0]], labelled_within=True))]
    if not gaps and several_systems and (pooled := _gap(scores.with_columns(system=0), "", labelled_within=False)):
        gaps.append(pooled)
    return gaps


def subjects(judged: pl.DataFrame, rated: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each subject of the judge's: subject, cluster, system, judge's and people's mean, null if none."""
    place = [pl.col("cluster").first(), pl.col("system").first()]
    scores = judged.lazy().group_by("subject", maintain_order=True).agg(*place, judge=pl.col("number").mean())
    known = [pl.col(name).first() for name in drawn.COLUMNS if name in rated.columns]
    people = rated.lazy().group_by("subject", maintain_order=True).agg(*known, people=pl.col("number").mean())
    return scores.join(people, on="subject", how="left", maintain_order="left").collect()


def _gap(scores: pl.DataFrame, system: str, *, labelled_within: bool) -> Chosen | None:
    own = scores.select("cluster", "system", number="judge", chosen=pl.col("people").is_not_null())
    gap = difference(own)
    return None if gap is None else Chosen(system, gap.labelled, gap.others, gap.n, labelled_within)


def difference(scores: pl.DataFrame, p: float = CHANCE) -> stratified.LabellingGap | None:
    """Return by how much chosen subjects' scores differ from others' of the same system; None where they are alike.

    Args:
        scores: of subjects: cluster, system, number, chosen.
        p: above which a difference is left to chance.
    """
    columns = (scores["number"], scores["chosen"].cast(pl.Float64), scores["cluster"], scores["system"])
    gap = stratified.labelling_gap(*(column.to_numpy() for column in columns))
    return gap if gap is not None and abs(gap.size) >= SELECTED and gap.p <= p else None


FEWEST = 5
"""Labelled conversations of a system from which its mean is corrected; with fewer, nothing tells how far they vary."""
COMPLETE = "people rated every subject that the judge was given, so there is nothing to correct"
CHOSEN = "people rated what this judge scored {side} than the rest{where}, so they cannot correct its mean"


def corrected(
    judge_rows: pl.DataFrame,
    rated: pl.DataFrame,
    systems: Sequence[str],
    gaps: Sequence[Chosen],
    *,
    selected: str,
    ends: Ends | None = None,
) -> list[CorrectedMean]:
    """Correct the judge's mean of each system, and of all where there are several.

    People's ratings must be of a random part of what the judge was given of a system; they may be more of one system
    than of another. Where they were selected by what a judge thought, nothing is corrected. A row whose correction has
    no value says why.

    Args:
        judge_rows: the judge's rows, missing verdicts included: subject, cluster, system, number.
        rated: people's valued rows: the same.
        systems: names, by index.
        gaps: how what people rated differs from the rest, see `chosen`.
        selected: why people rated what they rated, if it depended on a judge.
        ends: the lowest and the highest value of the scale.
    """
    if selected:
        return []
    if drawn.is_drawn(rated):
        return _drawn(judge_rows, rated, systems, ends)
    both = subjects(judge_rows, rated)
    faults = {gap.system: gap for gap in gaps if gap.within_systems}
    present = [
        _System(systems[part["system"][0]], part)
        for part in both.sort("system", maintain_order=True).partition_by("system", maintain_order=True)
        if part["judge"].null_count() < len(part)
    ]
    rows = []
    for system in present:
        fault = faults.get("") or faults.get(system.name)
        reason = CHOSEN.format(side=fault.side, where="") if fault else system.lacking
        means = correction.prediction_powered_mean(*(system.rows[name].to_numpy() for name in _COLUMNS))
        rows.append(_row(system.name, system.rows, means, reason))
    if len(present) > 1:
        rows.append(_all(present, next(iter(faults.values()), None)))
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


def _all(systems: list[_System], fault: Chosen | None) -> CorrectedMean:
    """Correct the mean over all systems, each with its share of what the judge was given."""
    rows = pl.concat([system.rows for system in systems])
    sparse = [system for system in systems if system.labelled < FEWEST and not system.complete]
    reason = ""
    if fault:
        reason = CHOSEN.format(side=fault.side, where=f" of {fault.system}" if fault.system else "")
    elif all(system.complete for system in systems):
        reason = COMPLETE
    elif sparse:
        names = ", ".join(system.name or "a system without a name" for system in sparse[:_NAMED])
        remainder = f" and {len(sparse) - _NAMED} more" if len(sparse) > _NAMED else ""
        reason = f"of {names}{remainder} people rated fewer than {FEWEST} conversations, and all systems count by their share"
    means = stratified.prediction_powered_mean(*(rows[name].to_numpy() for name in (*_COLUMNS, "system")))
    return _row("", rows, means, reason)


_NAMED = 3
_OTHER = 0.05
"""By how much of the frame what a judge rated may differ from it before its mean is that of something else."""


def _drawn(
    judge_rows: pl.DataFrame, rated: pl.DataFrame, systems: Sequence[str], ends: Ends | None
) -> list[CorrectedMean]:
    """Correct the judge by what people rated of a draw, each by what it stands for: of all systems, and of each."""
    both = subjects(judge_rows, rated)
    frame = float(rated["frame"].max() or 0.0)  # type: ignore[arg-type]
    reason = ""
    if frame and abs(len(both) - frame) > _OTHER * frame:
        reason = f"the judge rated {count(len(both))} replies, and people's were drawn from {count(int(frame))}: its mean is not that of the frame"
    present = both.sort("system", maintain_order=True).partition_by("system", maintain_order=True)
    parts = [(systems[part["system"][0]], part) for part in present] if len(present) > 1 else []
    rows = [(systems[both["system"][0]] if len(present) == 1 else "", both)] if present else []
    return [
        _weighted(name, part, reason, ends) for name, part in (*parts, *rows) if part["judge"].null_count() < len(part)
    ]


def _weighted(name: str, rows: pl.DataFrame, reason: str, ends: Ends | None) -> CorrectedMean:
    labelled = rows.filter(pl.col("people").is_not_null())
    if labelled.is_empty():
        means = correction.prediction_powered_mean(*(rows[column].to_numpy() for column in _COLUMNS))
        return _row(name, rows, means, "people rated nothing of it")
    judge, people, cluster = (rows[column].to_numpy() for column in _COLUMNS)
    means = sampling.prediction_powered_mean(judge, people, cluster, drawn.sample(labelled), ends=ends)
    if not reason and labelled["cluster"].n_unique() < FEWEST:
        reason = _System(name, rows).lacking
    return _row(name, rows, means, reason)


def _row(name: str, rows: pl.DataFrame, means: correction.CorrectedIntervals, reason: str) -> CorrectedMean:
    return CorrectedMean(
        name, len(rows), len(rows) - rows["people"].null_count(), Bound(*means.judge_only), Bound(*means.human_only),
        Bound(None, note=reason) if reason else Bound(*means.corrected), None if reason else means.gain,
    )  # fmt: skip
