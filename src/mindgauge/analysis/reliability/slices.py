"""Does a judge miss more in one slice of the replies than elsewhere, and in which could it miss half unseen?

Slices are the values of whatever is known of a reply: its language, system, category and raters, whether it is stock, of
dialogues the persona and the turn, its length, and further columns of a table. Numbers are cut into quarters and the two
outer eighths. All slices are tested at once (`stats.slices`), among replies that the same number of people call unsafe: a
reply that one of three calls unsafe is missed more often than one that all do, by sound judges, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis.reliability.card import Slice
from mindgauge.benchmarks.metrics.conversations import TURN
from mindgauge.records import languages
from mindgauge.records.ratings.attributes import LENGTH, VALUES
from mindgauge.records.rounding import p_equals
from mindgauge.stats.codes import dense
from mindgauge.stats.slices import worse_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mindgauge.analysis.reliability.card import Danger, Share
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

    Mask = NDArray[np.bool_]

_OWN = ("language", "category", "system", "stock")
_EACH = 8
"""Values of a number up to which each is a slice."""
_CUTS = ((None, 0.125), (None, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, None), (0.875, None))
_MANY = 3
"""Raters of a reply above which only the share of them counts that call it unsafe."""
_FEW, _CHANCE = 3, 0.01
_NO_SLICE = {"category", languages.LANGUAGE, "unit"}
"""Tags that ratings have as columns of their own, and the one that is the same for all replies of a criterion."""
_LENGTHS = "SELECT id, sample, length(text) FROM replies WHERE benchmark = ? AND status = 'ok'"


class Slices(NamedTuple):
    """The slices of S subjects: what each is, and of which subjects, shape (S, slices).

    `stratum` says how many of their raters call a subject unsafe, `cluster` its conversation, both as codes.
    """

    names: list[tuple[str, str]]
    inside: Mask
    stratum: NDArray[np.intp]
    cluster: NDArray[np.intp]


def of_replies(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return what a run knows of its replies besides what ratings say: subject, reply length, and tags of their samples."""
    replies = pl.DataFrame(
        store.columns(_LENGTHS, (benchmark.name,), subject=str, sample=str, length=int),
        schema_overrides={"subject": pl.String, "sample": pl.String, "length": pl.Int64},
    )
    samples = store.samples(benchmark.name)
    values: dict[str, set[str]] = {}
    for sample in samples:
        for name, value in sample.tags.items():
            values.setdefault(name, set()).add(value)
    names = [name for name, distinct in values.items() if 1 < len(distinct) <= VALUES and name not in _NO_SLICE]
    tags = pl.DataFrame(
        [(sample.id, *(sample.tags.get(name) for name in names)) for sample in samples],
        dict.fromkeys(("sample", *names), pl.String), orient="row",
    )  # fmt: skip
    if TURN in names:
        tags = tags.with_columns(pl.col(TURN).cast(pl.Float64, strict=False))
    lengths = pl.col("length").cast(pl.Float64).alias(LENGTH)
    return replies.select("subject", "sample", lengths).join(tags, on="sample", how="left").drop("sample")


def cut(subjects: pl.DataFrame, raters: pl.DataFrame, attributes: pl.DataFrame | None) -> Slices:
    """Cut subjects into slices.

    Args:
        subjects: subject, cluster, `_OWN` as far as it is there, votes, raters.
        raters: who rated which: subject, rater.
        attributes: what else is known of subjects: subject, and texts or numbers.
    """
    table = subjects.select("subject", *(name for name in _OWN if name in subjects.columns))
    if attributes is not None:
        table = table.join(attributes.drop(c for c in _OWN if c in attributes.columns), on="subject", how="left", maintain_order="left")  # fmt: skip
    parts = [part for column in table.drop("subject").get_columns() for part in _parts(column)]
    pairs = raters.unique()
    for rater in pairs["rater"].value_counts(sort=True)["rater"].head(VALUES).sort() if len(pairs) else ():
        own = pairs.filter(pl.col("rater") == rater)["subject"]
        parts.append((("rater", str(rater)), table["subject"].is_in(own.implode()).to_numpy()))
    parts = [(name, inside) for name, inside in parts if 0 < inside.sum() < len(table)]
    inside = np.stack([inside for _, inside in parts], axis=1) if parts else np.zeros((len(table), 0), dtype=bool)
    votes, number = (subjects[name].to_numpy().astype(np.intp) for name in ("votes", "raters"))
    share = np.where(votes == number, 2, 2 * votes > number)
    stratum = np.where(number <= _MANY, (_MANY + 1) * number + votes, -1 - share)
    return Slices([name for name, _ in parts], inside, dense(stratum)[1], dense(subjects["cluster"].to_numpy())[1])


def _parts(column: pl.Series) -> Iterator[tuple[tuple[str, str], Mask]]:
    """Yield the slices of one column."""
    if column.dtype.is_numeric():
        yield from _cuts(column)
        return
    texts = column.cast(pl.String).fill_null("")
    values = texts.value_counts(sort=True)[column.name].to_list()
    for value in sorted(values[:VALUES]):
        yield (column.name, value or "not given"), (texts == value).to_numpy()
    if values[VALUES:]:
        yield (column.name, f"the {len(values) - VALUES} others"), texts.is_in(values[VALUES:]).to_numpy()


def _cuts(column: pl.Series) -> Iterator[tuple[tuple[str, str], Mask]]:
    """Yield each value of a number where there are few, else its quarters and its outer eighths."""
    numbers = column.cast(pl.Float64).to_numpy()
    finite = numbers[np.isfinite(numbers)]
    values = np.unique(finite)
    if len(values) <= _EACH:
        yield from (((column.name, f"{value:g}"), numbers == value) for value in values)
        return
    labels = set()
    for low, high in _CUTS:
        above = -np.inf if low is None else float(np.quantile(finite, low, method="lower"))
        upto = np.inf if high is None else float(np.quantile(finite, high, method="lower"))
        name = f"> {above:g}" if high is None else f"≤ {upto:g}" if low is None else f"{above:g}–{upto:g}"
        if name not in labels and above < upto:
            labels.add(name)
            yield (column.name, name), (numbers > above) & (numbers <= upto)


def compared(
    slices: Slices, detected: Mask, given: Mask, unsafe: Mask, to_any: Mask, share: Callable[[Mask, Mask], Share]
) -> list[Slice]:
    """Compare what a judge finds in each slice with what it finds elsewhere, the smallest p first.

    Args:
        slices: of S subjects.
        detected: shape (S,), which the judge calls unsafe.
        given: which it was given.
        unsafe: which of these people together call unsafe.
        to_any: which of these at least one person calls unsafe.
        share: of subjects with an event among some, with exact bounds.
    """
    replies = slices.inside[given].sum(axis=0)
    is_part = np.flatnonzero((replies > 0) & (replies < given.sum()))
    if not to_any.any():
        return []
    inside = slices.inside[:, is_part]
    tests = worse_slices(
        ~detected[to_any], inside[to_any], dense(slices.stratum[to_any])[1], dense(slices.cluster[to_any])[1]
    )
    rows = []
    for place, (column, p) in enumerate(zip(is_part, tests.adjusted, strict=True)):
        recall = share(detected, unsafe & inside[:, place])
        low, high = (0.0, 1.0) if recall.low is None or recall.high is None else (recall.low, recall.high)
        missed = recall.n - recall.events
        rows.append(
            Slice(
                *slices.names[column], int(replies[column]), recall.n, recall.events, missed, low, high, float(p), recall.conversations,
            )
        )  # fmt: skip
    return [rows[place] for place in np.argsort(tests.p, kind="stable")]


def objection(danger: Danger, level: float) -> str:
    """Say in which slice a judge is worse than elsewhere, in a sentence; empty where it is in none.

    It misses more there (adjusted p below the level), or finds nothing at all there, at least `_FEW` unsafe replies, though a
    judge that misses as many as it does elsewhere would find nothing in as many conversations with a chance of at most `_CHANCE`.
    That second clause is not adjusted: it is for small slices, in which no adjusted p can be small.
    """
    worse = next((part for part in danger.slices if part.missed and part.p < level), None)
    if worse is not None:
        return (
            f"it misses {worse.missed} of {worse.n} unsafe replies in the slice {worse.where}, more often than elsewhere "
            f"({p_equals(worse.p)}, adjusted for {len(danger.slices)} slices)"
        )
    for part in danger.slices:
        n = danger.found.n - part.n
        missed = n - (danger.found.events - part.found)
        if part.n >= _FEW and not part.found and n and (missed / n) ** part.conversations <= _CHANCE:
            return f"it finds none of the {part.n} unsafe replies in the slice {part.where}, and misses {missed} of {n} elsewhere"
    return ""


def unseen(slices: Sequence[Slice]) -> Slice | None:
    """Return the largest slice in which a judge could miss half of what is unsafe, as far as these replies tell."""
    return max((part for part in slices if part.low <= 0.5), key=lambda part: part.replies, default=None)
