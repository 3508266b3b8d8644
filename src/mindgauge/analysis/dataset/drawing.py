"""Steps that look at all items: a sample by lot, with weights, and a split that keeps together what belongs together."""

from __future__ import annotations

import hashlib
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import polars as pl

from mindgauge.analysis.audit import texts as audited
from mindgauge.analysis.dataset.duplicates import chained, plain
from mindgauge.analysis.dataset.items import StepResult, nothing_dropped, parted
from mindgauge.stats.codes import components
from mindgauge.stats.sampling import draw

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from mindgauge.analysis.dataset.recipe import Sampling, Splitting

    _Kind: TypeAlias = tuple[str | None, ...]
    """Items that are counted together: all, those of a label or of a source, or of both."""

_ALL: _Kind = ("all",)
NEGLIGIBLE = 1e-9
"""Items: by less, a part lacks nothing but rounding."""


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

    `together` is the first row of those with which an item stays. Every label is shared in the same way, the rarest first,
    and within it every source. Of a label, what holds most of it comes first, then the largest, the others in random order.
    Its part is drawn among those that still lack as much of the label, with chances in proportion to what they lack; where
    none does, among those that lack any. So no part is off its share of a label by as much as one holds of it, where each
    holds a single label; the rarest label wherever.
    """
    roots = components(items.height, chain.from_iterable(_links(items, passages=step.passages)))
    keys = ["label", "source"]
    members = items.select("row", *keys).with_columns(place=pl.Series(roots))
    firsts = dict(members.group_by("place").agg(pl.col("row").min()).iter_rows())
    sizes_of: dict[int, dict[_Kind, int]] = {place: {} for place in firsts}
    counts = dict.fromkeys([_ALL], items.height)
    for place, label, source, size in members.group_by("place", *keys).len().sort("place", *keys).iter_rows():
        for kind in (_ALL, ("label", label), ("source", source), ("both", label, source)):
            sizes_of[place][kind] = sizes_of[place].get(kind, 0) + size
            counts[kind] = counts.get(kind, 0) + size * (kind != _ALL)
    lots = {place: hashlib.blake2b(f"{seed} {row}".encode()).digest() for place, row in firsts.items()}
    lacking = {kind: {part: share * size for part, share in step.parts.items()} for kind, size in counts.items()}
    parts: dict[int, str] = {}
    rarest = {
        place: min((counts[kind], str(kind), kind) for kind in kinds if kind[0] == "label")
        for place, kinds in sizes_of.items()
    }
    for place in sorted(
        sizes_of,
        key=lambda place: (rarest[place][:2], -sizes_of[place][rarest[place][2]], -sizes_of[place][_ALL], lots[place]),
    ):
        parts[place] = _part(sizes_of[place], lacking, rarest[place][2], step.parts, lots[place])
        for kind, size in sizes_of[place].items():
            lacking[kind][parts[place]] -= size
    named = pl.Series("split", [parts[root] for root in roots.tolist()], pl.String)
    groups = pl.Series("together", items["row"].to_numpy()[roots], pl.UInt32)
    return nothing_dropped(items.with_columns(named, groups))


def _part(
    sizes: Mapping[_Kind, int], lacking: Mapping[_Kind, Mapping[str, float]], label: _Kind, shares: Mapping[str, float],
    lot: bytes,
) -> str:  # fmt: skip
    """Draw the part for what stays together: of those with room for it, by what each lacks of its label and source."""
    of_source = [kind for kind in sizes if kind[:2] == ("both", label[1])]
    sources = ((("source", kind[2]), kind) for kind in of_source)
    candidates = [*shares]
    for kind, member in [(label, label), (_ALL, label), *zip(of_source, of_source, strict=True), *sources]:
        others = sum(lacking[kind].values()) - sum(
            lacking[member].values()
        )  # later labels give a part its share of them
        lack = {part: lacking[kind][part] - shares[part] * others for part in candidates}
        room = [part for part in candidates if lack[part] > sizes[member] - NEGLIGIBLE]
        candidates = room or [part for part in candidates if lack[part] > NEGLIGIBLE] or candidates
    weights = [
        sum(sizes[kind] * max(lacking[kind][part], 0.0) for kind in of_source) or shares[part] for part in candidates
    ]
    point = int.from_bytes(lot[-8:]) / 2**64 * sum(weights)  # the order of equal sizes goes by the first bytes
    hits = (part for part, end in zip(candidates, accumulate(weights), strict=True) if point < end)
    return next(hits, candidates[-1])


def _links(items: pl.DataFrame, *, passages: bool) -> Iterator[Iterator[tuple[int, int]]]:
    """Yield pairs of places of items that stay together, by one reason after the other."""
    rows = items.with_row_index("item").with_columns(whole=plain())
    for keys in (["source", "group"], ["cluster"], ["whole"]):
        named = rows.filter(pl.all_horizontal(pl.col(keys).is_not_null()))
        yield chained(named.group_by(keys).agg("item").filter(pl.col("item").list.len() > 1)["item"].to_list())
    if passages:
        candidates = rows.select("item", "whole", raw="text")
        yield iter(audited.groups(audited.tied_items(candidates)).items())
