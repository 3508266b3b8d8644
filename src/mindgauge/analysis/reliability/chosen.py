"""Whether people rated a part of a judge's subjects that the judge itself sees as unlike the rest.

One place says it: an audit finds it, a card warns of it, and nothing is corrected by such a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.stats import stratified

if TYPE_CHECKING:
    from collections.abc import Sequence

SELECTED = 0.25
"""Standard deviations by which the judge's scores of both differ where these are no longer alike (Rubin 2001)."""
CHANCE = 0.01
"""The p-value above which a difference is left to chance: several systems are looked at."""


class Chosen(NamedTuple):
    """The judge's mean score of subjects that people rated, and of the `n` others.

    `system` is empty where it is of all systems. `within` says that the two differ within systems, each counting by what
    it has of both; otherwise people only rated more of some systems than of others, which is no fault of the part.
    """

    system: str
    labelled: float
    others: float
    n: int
    within: bool

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
    several = scores["system"].n_unique() > 1
    whole = _gap(scores, "", within=True)
    found = [whole] if whole else []
    if several:
        parts = scores.partition_by("system", maintain_order=True)
        found += [gap for part in parts if (gap := _gap(part, systems[part["system"][0]], within=True))]
    if not found and several and (pooled := _gap(scores.with_columns(system=0), "", within=False)):
        found.append(pooled)
    return found


def subjects(judged: pl.DataFrame, rated: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each subject of the judge's: subject, cluster, system, judge's and people's mean, null if none."""
    place = [pl.col("cluster").first(), pl.col("system").first()]
    scores = judged.group_by("subject", maintain_order=True).agg(*place, judge=pl.col("number").mean())
    people = rated.group_by("subject", maintain_order=True).agg(people=pl.col("number").mean())
    return scores.join(people, on="subject", how="left", maintain_order="left")


def _gap(scores: pl.DataFrame, system: str, *, within: bool) -> Chosen | None:
    own = scores.select("cluster", "system", number="judge", chosen=pl.col("people").is_not_null())
    found = difference(own)
    return None if found is None else Chosen(system, found.labelled, found.others, found.n, within)


def difference(scores: pl.DataFrame, p: float = CHANCE) -> stratified.Gap | None:
    """Return by how much chosen subjects' scores differ from others' of the same system; None where they are alike.

    Args:
        scores: of subjects: cluster, system, number, chosen.
        p: above which a difference is left to chance.
    """
    columns = (scores["number"], scores["chosen"].cast(pl.Float64), scores["cluster"], scores["system"])
    found = stratified.labelling_gap(*(column.to_numpy() for column in columns))
    return found if found is not None and abs(found.size) >= SELECTED and found.p <= p else None
