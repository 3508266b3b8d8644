"""Whether judges' reasons can be checked: by quotes that are in the text, and values that follow from the chain.

The unit is a readable verdict; bounds are exact and take conversations as n. Of quotes, rationales and chains only what was
written is looked at; whether it convinces, people say in an annotation project (`annotate new --rubric rationales`).
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis import frame
from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.score import open_run
from mindgauge.records.rubric.criterion import numbered, numbers_of_levels
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion
    from mindgauge.store import Store

_YES = ("yes", "是", "true")
_SERIES = "SELECT rater, id, criterion FROM series WHERE benchmark = ? ORDER BY rater, criterion"
_USABLE = """
SELECT subject, CAST(value AS TEXT), value = ?, quotes, iif(origin IN (SELECT id FROM origins WHERE rater_kind = 'model'), course, NULL), own
FROM rated WHERE series = ? AND status = 'ok'"""
_CALLING = """SELECT id FROM pieces WHERE instr(said, '"calls":')"""
_QUOTES = """
SELECT pieces.id, count(*), sum(json_extract(passage.value, '$.found') IS 1),
    max(json_extract(passage.value, '$.source') IS 'reply')
FROM pieces, json_each(pieces.said) AS passage WHERE pieces.id IN (SELECT value FROM json_each(?)) GROUP BY pieces.id"""
_STATED = ("chained", "against", "claimed", "uncertain", "elsewhere")
"""What a verdict says of itself: it follows a chain, against whose end it is; a check was answered yes; and so on."""


class Rationales(msgspec.Struct, frozen=True):
    """One judge's reasons on one criterion.

    Of `n` readable verdicts, `absent` find that something is not there and quote nothing, which needs no quote.
    `traceable` is the share of the others with a quote whose quotes are all found, `quoted_reply` of those with a found
    quote the share that quotes the reply. Where there is a chain, `contradicting` is the share whose value is not the
    one that follows from its checks, `unsupported` the share of those with a check answered yes that quote nothing
    that is found. `uncertain` is the share that calls itself so; `answered_elsewhere` counts rationales in another
    language than the prompt's.
    """

    judge: str
    criterion: str
    n: int
    clusters: int
    absent: int
    answered_elsewhere: int
    traceable: Bound
    quoted_reply: Bound
    contradicting: Bound
    unsupported: Bound
    uncertain: Bound


def reasons(store: Store, benchmark: Benchmark) -> tuple[list[Rationales], dict[str, tuple[int, int]]]:
    """Look at all reasons, rater by rater, so that of a large run little is in memory at once.

    Returns:
        The reasons of models that judged replies, and how many passages each rater quotes, and how many of these are in the text.
    """
    criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    clusters = {sample.id: sample.cluster for sample in store.samples(benchmark.name)}
    replies = store.select("SELECT id, sample FROM replies WHERE benchmark = ?", (benchmark.name,))
    clusters |= {reply: clusters.get(sample, sample) for reply, sample in replies}
    calling = frame.columns(store, _CALLING, (), course=int)
    checked: list[Rationales] = []
    passages: dict[str, tuple[int, int]] = {}
    for rater, series in groupby(store.select(_SERIES, (benchmark.name,)).fetchall(), key=itemgetter(0)):
        verdicts = pl.concat(_usable(store, ident, name, criteria.get(name)) for _, ident, name in series)
        # What one answer quotes goes with all criteria that it gives, and is read but once.
        idents = verdicts["quotes"].drop_nulls().unique().to_list()
        kinds = {"quotes": int, "passages": int, "located": int, "in_reply": int}
        quoted = frame.columns(store, _QUOTES, (msgspec.json.encode(idents).decode(),), **kinds)
        verdicts = verdicts.join(quoted, on="quotes", how="left", maintain_order="left")
        passages[rater] = int(verdicts["passages"].sum()), int(verdicts["located"].sum())
        judged = verdicts.filter(pl.col("criterion").is_in(list(criteria))).join(
            calling, on="course", how="semi", maintain_order="left"
        )
        if judged.is_empty():
            continue
        stated = [_stated(own, value) for own, value in judged.select("own", "value").iter_rows()]
        judged = judged.with_columns(
            pl.col("passages", "located", "in_reply").fill_null(0),
            *pl.DataFrame(stated, dict.fromkeys(_STATED, pl.Boolean), orient="row").get_columns(),
            cluster=pl.Series([clusters.get(subject, subject) for subject in judged["subject"]], dtype=pl.String),
        ).with_columns(absent=(pl.col("absent") == 1) & (pl.col("passages") == 0), in_reply=pl.col("in_reply") == 1)
        of_criteria = judged.partition_by("criterion", maintain_order=True)
        checked += (_looked_at(rater, criteria[rows["criterion"][0]], rows) for rows in of_criteria)
    return checked, passages


def _usable(store: Store, series: int, name: str, criterion: Criterion | None) -> pl.DataFrame:
    """Return a rater's usable verdicts on a criterion; `absent` is 1 where one finds that something is not there."""
    absent = None if criterion is None else absence(criterion)
    kinds = {"subject": str, "value": str, "absent": int, "quotes": int, "course": int, "own": str}
    return frame.columns(store, _USABLE, (absent, series), **kinds).with_columns(criterion=pl.lit(name))


def _stated(own: str | None, value: str) -> tuple[bool, ...]:
    """Return what a verdict says of itself, in the order of `_STATED`."""
    noted: dict[str, Any] = msgspec.json.decode(f"{{{own[:-1]}}}") if own else {}
    implied, checks = noted.get("implied"), noted.get("checks", {})
    claimed = any(answer.casefold() in _YES for answer in checks.values())
    against = implied is not None and str(implied) != value
    return implied is not None, against, claimed, noted.get("uncertain", False), noted.get("answered_in", "") != ""


def _looked_at(judge: str, criterion: Criterion, rows: pl.DataFrame) -> Rationales:
    located = pl.col("located") > 0
    shares = {
        "traceable": (~pl.col("absent"), located & (pl.col("located") == pl.col("passages")), "no verdict that owes a quote"),
        "quoted_reply": (located, pl.col("in_reply"), "no quote was found"),
        "contradicting": (pl.col("chained"), pl.col("against"), "no chain of reasoning"),
        "unsupported": (pl.col("claimed"), ~located, "no check was answered yes"),
        "uncertain": (pl.col("cluster").is_not_null(), pl.col("uncertain"), "no verdicts"),
    }  # fmt: skip
    by_cluster = rows.group_by("cluster", maintain_order=True).agg(
        pl.struct(n=counted.cast(pl.UInt32).sum(), events=(counted & event).sum()).alias(name)
        for name, (counted, event, _) in shares.items()
    )
    return Rationales(
        judge,
        criterion.name,
        len(rows),
        len(by_cluster),
        int(rows["absent"].sum()),
        int(rows["elsewhere"].sum()),
        **{name: _share(by_cluster[name].struct.unnest(), reason) for name, (*_, reason) in shares.items()},
    )


def absence(criterion: Criterion) -> Value:
    """Return the level that finds nothing there: all checks no; without checks the lowest number or the first word, of a veto the best."""
    if criterion.checks:
        implied = criterion.implied({check.name: False for check in criterion.checks})
        assert implied is not None, "a rubric whose checks lead nowhere is refused at load"
        return implied
    if criterion.veto:
        return criterion.worst_first[-1]
    return (
        min(criterion.values, key=numbers_of_levels(criterion).__getitem__)
        if numbered(criterion)
        else criterion.values[0]
    )


def _share(by_cluster: pl.DataFrame, reason: str) -> Bound:
    """Return the share of events, conversations weighing the same, with exact bounds over conversations."""
    counted = by_cluster.filter(pl.col("n") > 0)
    if counted.is_empty():
        return Bound(None, note=reason)
    total = float((counted["events"] / counted["n"]).sum())
    return Bound(*clopper_pearson(min(total, len(counted)), len(counted)))


def with_reasons(reliability: Reliability, runs: Sequence[Path]) -> Reliability:
    """Add to a judge's cards how far its reasons can be checked, where a run keeps them.

    Args:
        reliability: cards of ratings that came from these runs, and perhaps from files.
        runs: run directories.
    """
    facts: dict[tuple[str, str], dict[str, Bound]] = {}
    for folder in runs:
        store, benchmarks, _ = open_run(folder)
        with store:
            for checked in (checked for b in benchmarks for checked in reasons(store, b)[0]):
                figures = {"rationale_traceable": checked.traceable, "rationale_contradicting": checked.contradicting}
                facts.setdefault(
                    (checked.judge, checked.criterion), {n: b for n, b in figures.items() if b.value is not None}
                )
    cards = [
        msgspec.structs.replace(card, estimates={**card.estimates, **facts.get((card.judge, card.criterion), {})})
        for card in reliability.cards
    ]
    return msgspec.structs.replace(reliability, cards=cards)
