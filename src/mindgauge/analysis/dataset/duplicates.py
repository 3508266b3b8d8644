"""Texts that are the same, or nearly: equal after normalising, or alike in their shingles by MinHash and LSH.

A shingle is nine bytes of a text in small letters without blanks on the rim: three Chinese characters, or nine Latin ones.
Signatures come from `rensa` (MIT). Texts that agree in a band of them are candidates, and a candidate counts by its exact
Jaccard similarity, so that no estimate decides that texts are alike.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.stats.codes import components

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Signatures = NDArray[np.uint32]
    Places = NDArray[np.int64]


COLUMNS: dict[str, pl.DataType] = {
    "row": pl.UInt32(), "source": pl.String(), "origin": pl.String(), "group": pl.String(), "label": pl.String(),
    "language": pl.String(), "text": pl.String(), "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
    "cluster": pl.UInt32(), "copies": pl.UInt32(), "probability": pl.Float64(), "split": pl.String(),
}  # fmt: skip
"""`row` is a row's number in the order of contents, whatever the order of files; `origin` its id in the source."""


class StepResult(NamedTuple):
    """What a step keeps, and what it drops: `row`, `reason`, and in `of` the row that stands for a dropped one."""

    items: pl.DataFrame
    dropped: pl.DataFrame


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Put rows into the order of their contents, and number them: rows that are equal in all may change places."""
    kinds = {name: kind for name, kind in COLUMNS.items() if name != "row"}
    blank = {"copies": pl.lit(0), "probability": pl.lit(1.0)}
    columns = [
        (pl.col(name) if name in frame.columns else blank.get(name, pl.lit(None))).cast(kind).alias(name)
        for name, kind in kinds.items()
    ]
    ordered = frame.select(columns).sort("source", "origin", "text", "group", "label", "language", nulls_last=True)
    return ordered.with_row_index("row").select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def parted(items: pl.DataFrame, reason: pl.Expr) -> StepResult:
    """Drop the items for which an expression gives a reason, and keep those for which it is null."""
    rows = items.with_columns(reason=reason)
    dropped = rows.filter(pl.col("reason").is_not_null()).drop("reason")
    reasons = rows.filter(pl.col("reason").is_not_null())["reason"]
    remaining = rows.filter(pl.col("reason").is_null()).drop("reason")
    return StepResult(remaining, dropped.with_columns(reasons, of=pl.lit(None, pl.UInt32)))


def nothing_dropped(items: pl.DataFrame) -> StepResult:
    """Keep all."""
    return StepResult(items, items.clear().with_columns(reason=pl.lit(None, pl.String), of=pl.lit(None, pl.UInt32)))


SHINGLE = 9
"""Bytes."""
PERMUTATIONS = 128
SURE = 0.999
"""The probability with which a pair at the threshold becomes a candidate, at least."""
_BATCH = 20_000
"""Texts that are hashed at once."""
COMPARED = 1000
"""Possible centres of a group that a text is compared with at most, so that time grows with the number of texts."""
_CENTRED = 4
"""Rows of a band: two texts of similarity .5 agree in one of the 32 bands in seven of eight cases, of .6 in 99 of 100."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def plain() -> pl.Expr:
    """Write texts so that those which differ in case, blanks and forms of characters alone are equal."""
    text = pl.col("text").str.normalize("NFKC").str.to_lowercase()
    return text.str.replace_all(r"\s+", " ").str.strip_chars()


def exact(items: pl.DataFrame) -> StepResult:
    """Keep the first of texts that are equal."""
    rows = items.with_columns(of=pl.col("row").min().over(plain()))
    return _kept_first(items, rows.select("row", "of"), "the same text")


def near(items: pl.DataFrame, threshold: float, seed: int, *, drop: bool = True) -> StepResult:
    """Put texts that are nearly the same into clusters, and keep the first of each, or all."""
    rows = items["row"].to_numpy()
    texts = items.select(plain()).to_series()
    roots = similar(texts, threshold, seed)
    linked = pl.DataFrame({"row": rows, "of": rows[roots]}, {"row": pl.UInt32, "of": pl.UInt32})
    if drop:
        return _kept_first(items, linked, "nearly the same text")
    clusters = items.join(linked, on="row", maintain_order="left").with_columns(cluster="of").drop("of")
    return StepResult(clusters, items.clear().with_columns(reason=pl.lit(None, pl.String), of=pl.lit(None, pl.UInt32)))


def _kept_first(items: pl.DataFrame, linked: pl.DataFrame, reason: str) -> StepResult:
    """Keep the rows that stand for themselves, and count with each the rows for which it stands."""
    rows = items.join(linked, on="row", maintain_order="left")
    own = pl.col("row") == pl.col("of")
    stood_for = pl.col("copies") + pl.when(own).then(0).otherwise(1)
    remaining = rows.with_columns(copies=stood_for.sum().over("of").cast(COLUMNS["copies"])).filter(own).drop("of")
    return StepResult(
        remaining, rows.filter(~own).with_columns(reason=pl.lit(reason)).select(*items.columns, "reason", "of")
    )


def similar(texts: pl.Series, threshold: float, seed: int) -> NDArray[np.intp]:
    """Join texts that are alike at least as far as a threshold: for each the smallest place of a text that it is joined to.

    Args:
        texts: normalised.
        threshold: of Jaccard similarity.
        seed: of the signatures.
    """

    @lru_cache(maxsize=1 << 13)
    def shingles_at(place: int) -> Hashes:
        return shingles(texts[place])

    @lru_cache(maxsize=1 << 20)  # a pair that is not alike comes up in several bands
    def alike(low: int, high: int) -> bool:
        return jaccard(shingles_at(low), shingles_at(high)) >= threshold

    signs, joined = signatures(texts, seed), np.arange(len(texts), dtype=np.intp)
    for first, second in candidates(signs, threshold):
        apart = np.flatnonzero(joined[first] != joined[second])
        apart = apart[_likely(signs, first[apart], second[apart], threshold)]
        links = zip(first[apart].tolist(), second[apart].tolist(), strict=True)
        joined = components(len(texts), links, joined, alike)
    return joined


def gather(
    texts: pl.Series, times: NDArray[np.int64], size: int, threshold: float, is_group: Callable[[Places], bool]
) -> Places:
    """Group texts that are alike to one of them, so that no chain joins what is not alike: for each the place of that one, or -1.

    The texts given most often come first, of these the ones that most others are like. Similarity is estimated from
    `PERMUTATIONS` hashes, with a standard error of .04 at .5.

    Args:
        texts: normalised, each once, in an order that does not depend on how they came.
        times: how often each was given.
        size: how often those of a group were given together, at least.
        threshold: of Jaccard similarity.
        is_group: whether texts at some places are one.
    """
    signs = signatures(texts, seed=0)
    bands = []
    for key in _keys(signs, _CENTRED):
        order = np.argsort(key, kind="stable")
        bands.append((order, *(np.searchsorted(key[order], key, side) for side in ("left", "right"))))
    company = np.zeros(len(texts), dtype=np.int64)
    for order, begin, end in bands:
        total = np.concatenate([[0], np.cumsum(times[order])])
        company += total[end] - total[begin] - times
    group, comparisons = np.full(len(texts), -1), np.zeros(len(texts), dtype=np.int64)
    for place in np.lexsort((-company, -times)):
        if group[place] >= 0 or comparisons[place] >= COMPARED or company[place] + times[place] < size:
            continue
        candidate = np.unique(np.concatenate([order[begin[place] : end[place]] for order, begin, end in bands]))
        candidate = candidate[(group[candidate] < 0) & (comparisons[candidate] < COMPARED)]
        comparisons[candidate] += 1
        member = candidate[np.count_nonzero(signs[candidate] == signs[place], axis=1) >= threshold * PERMUTATIONS]
        if times[member].sum() >= size and is_group(member):
            group[member] = place
    return group


def shingles(text: str) -> Hashes:
    """Return the hashes of a normalised text's shingles, each once."""
    return np.unique(_hashed([text])[0])


def jaccard(first: Hashes, second: Hashes) -> float:
    """Return the share of shingles of two texts that stand in both."""
    both = len(np.intersect1d(first, second, assume_unique=True))
    return both / (len(first) + len(second) - both)


def _likely(signs: Signatures, first: Places, second: Places, threshold: float) -> NDArray[np.bool_]:
    """Say of which pairs the signatures do not rule out that they are alike: four standard errors are allowed for."""
    slack = 4 * (threshold * (1 - threshold) / PERMUTATIONS) ** 0.5
    likely = [
        (signs[first[start : start + _BATCH]] == signs[second[start : start + _BATCH]]).mean(axis=1)
        >= threshold - slack
        for start in range(0, len(first), _BATCH)
    ]
    return np.concatenate([np.zeros(0, dtype=bool), *likely])


def signatures(texts: pl.Series, seed: int) -> Signatures:
    """Return the MinHash signature of each text, shape (n, `PERMUTATIONS`)."""
    from rensa import RMinHash

    signs = np.empty((len(texts), PERMUTATIONS), dtype=np.uint32)
    for start in range(0, len(texts), _BATCH):
        hashes, offsets = _hashed(texts[start : start + _BATCH].to_list())
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, PERMUTATIONS, seed)
        signs[start : start + _BATCH] = matrix.to_rows()
    return signs


def _hashed(texts: list[str]) -> tuple[Hashes, Hashes]:
    """Return the hashes of the shingles of all texts, and where those of each begin, and the last end."""
    encoded = [text.encode().ljust(SHINGLE) for text in texts]
    sizes = np.array([len(text) for text in encoded], dtype=np.int64)
    content = np.frombuffer(b"".join(encoded), dtype=np.uint8).astype(np.uint64)
    windows = len(content) - SHINGLE + 1
    hashes = np.zeros(windows, dtype=np.uint64)
    for place in range(SHINGLE):
        hashes = hashes * _MULTIPLIER + content[place : place + windows] + np.uint64(1)
    hashes ^= hashes >> np.uint64(31)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(29)
    begins_shingle = np.ones(len(content), dtype=bool)
    ends = np.cumsum(sizes)
    for place in range(1, SHINGLE):  # the last bytes of a text begin no shingle of it
        begins_shingle[ends - place] = False
    offsets = np.concatenate([[0], np.cumsum(sizes - SHINGLE + 1)]).astype(np.uint64)
    return hashes[begins_shingle[:windows]], offsets


def rows_of_band(threshold: float) -> int:
    """Return the longest band with which a pair at the threshold becomes a candidate as surely as it should."""
    fitting = [rows for rows in range(1, 17) if 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) >= SURE]
    return max(fitting, default=1)


def candidates(signs: Signatures, threshold: float) -> Iterator[tuple[Places, Places]]:
    """Yield, band by band, pairs that agree in it: each with the first of its bucket, and with its neighbour."""
    length = len(signs)
    for key in _keys(signs, rows_of_band(threshold)):
        order = np.argsort(key, kind="stable")
        same = key[order][1:] == key[order][:-1]
        begins = np.concatenate([[True], ~same])[:length]
        head = order[np.maximum.accumulate(np.where(begins, np.arange(length), 0))]
        member = order[1:][same]
        yield np.concatenate([head[1:][same], order[:-1][same]]), np.concatenate([member, member])


def _keys(signs: Signatures, rows: int) -> Iterator[Hashes]:
    """Yield for each band a number that two texts share where they agree in it."""
    for band in range(PERMUTATIONS // rows):
        key = np.zeros(len(signs), dtype=np.uint64)
        for column in range(band * rows, (band + 1) * rows):
            key = (key ^ signs[:, column].astype(np.uint64)) * _MULTIPLIER
            key ^= key >> np.uint64(32)
        yield key


def chained(values: list[list[int]]) -> Iterator[tuple[int, int]]:
    """Yield pairs that link what stands together."""
    for listed in values:
        yield from pairwise(listed)
