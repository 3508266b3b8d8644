"""Steps that look at all items: a sample by lot, with weights, and a split that keeps together what belongs together."""

from __future__ import annotations

import hashlib
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.audit import texts as audited
from mindgauge.analysis.dataset.duplicates import chained, plain
from mindgauge.analysis.dataset.items import StepResult, nothing_dropped, parted
from mindgauge.stats.codes import components
from mindgauge.stats.sampling import draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.analysis.dataset.recipe import Sampling, Splitting


def sampled(items: pl.DataFrame, step: Sampling, seed: int) -> StepResult:
    """Draw so many items of each stratum, and note with which probability."""
    stratum = pl.lit("all") if step.by == "all" else pl.col(step.by).fill_null("")
    rows = items.with_columns(stratum=stratum)
    strata = rows.group_by("stratum").agg("row").sort("stratum")
    names, members = strata["stratum"].to_list(), strata["row"].to_list()
    sizes = [len(listed) for listed in members]
    numbers = [
        size if (number := _number(step, name)) is None else min(number, size)
        for name, size in zip(names, sizes, strict=True)
    ]
    drawn = {
        member: number / size
        for listed, number, size, places in zip(members, numbers, sizes, draw(sizes, numbers, seed), strict=True)
        for member in _at(sorted(listed), places.tolist())
    }
    chosen = pl.DataFrame({"row": [*drawn], "share": [*drawn.values()]}, {"row": pl.UInt32, "share": pl.Float64})
    shares = items.join(chosen, on="row", how="left", maintain_order="left")
    result = parted(shares, pl.when(pl.col("share").is_null()).then(pl.lit("not drawn")))
    chosen_items = result.items.with_columns(probability=pl.col("probability") * pl.col("share")).drop("share")
    return StepResult(chosen_items, result.dropped.drop("share"))


def _at(members: Sequence[int], places: Sequence[int]) -> list[int]:
    return [members[place] for place in places]


def _number(step: Sampling, name: str) -> int | None:
    return step.number if isinstance(step.number, int) else step.number.get(name)


def split(items: pl.DataFrame, step: Splitting, seed: int) -> StepResult:
    """Share items among parts: what shares a group of its source, a cluster, a text or a long passage goes to one part.

    `together` is the first row of those with which an item stays.
    The largest groups come first, the others in an order drawn by lot; each goes where most is missing.
    """
    roots = components(items.height, chain.from_iterable(_links(items, passages=step.passages)))
    members = items.select("row").with_columns(place=pl.Series(roots))
    sizes = members.group_by("place").agg(pl.len(), pl.col("row").min()).rows()
    lots = [
        (-size, hashlib.blake2b(f"{seed} {row}".encode(), digest_size=8).digest(), place) for place, size, row in sizes
    ]
    missing = {name: share * items.height for name, share in step.parts.items()}
    parts: dict[int, str] = {}
    for size, _, place in sorted(lots):
        part = max(missing, key=lambda name: missing[name])
        missing[part] += size
        parts[place] = part
    named = pl.Series("split", [parts[root] for root in roots.tolist()], pl.String)
    groups = pl.Series("together", items["row"].to_numpy()[roots], pl.UInt32)
    return nothing_dropped(items.with_columns(named, groups))


def _links(items: pl.DataFrame, *, passages: bool) -> Iterator[Iterator[tuple[int, int]]]:
    """Yield pairs of places of items that stay together, by one reason after the other."""
    rows = items.with_row_index("item").with_columns(whole=plain())
    for keys in (["source", "group"], ["cluster"], ["whole"]):
        named = rows.filter(pl.all_horizontal(pl.col(keys).is_not_null()))
        yield chained(named.group_by(keys).agg("item").filter(pl.col("item").list.len() > 1)["item"].to_list())
    if passages:
        candidates = rows.select("item", "whole", raw="text")
        yield iter(audited.groups(audited.tied_items(candidates)).items())
