"""Whether judges' reasons can be checked: quotes that stand in the text, and values that follow from the chain.

The unit is a readable verdict; bounds are exact and take conversations as n. Of quotes, rationales and chains only what
was written is looked at; whether it convinces, people say (`exports.rationales`).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mindgauge.analysis.reliability.card import Bound
from mindgauge.analysis.score import open_run
from mindgauge.records import Evidence, Value
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.benchmark import Benchmark
    from mindgauge.rubric import Criterion
    from mindgauge.store import Store

_YES = ("yes", "是", "true")
_READABLE = """
SELECT rater, criterion, subject, value, quotes, course, own FROM series JOIN rated ON rated.series = series.id
WHERE benchmark = ? AND status = 'ok' AND +origin IN (SELECT id FROM origins WHERE rater_kind = 'model')
ORDER BY rater, criterion"""
_PIECE = "SELECT said FROM pieces WHERE id = ?"
_AT_HAND = 50_000
"""Quotes, and courses of calls, that are remembered: what one answer says stands with all criteria that it gives."""


class _Noted(msgspec.Struct):
    """What the provenance of a verdict says of its reasons."""

    implied: Any = None
    checks: dict[str, str] = {}
    answered_in: str = ""
    uncertain: bool = False


_evidence = msgspec.json.Decoder(tuple[Evidence, ...]).decode
_noted = msgspec.json.Decoder(_Noted).decode
_NOTHING = _Noted()


class _Verdict(NamedTuple):
    subject: str
    value: Value
    evidence: tuple[Evidence, ...]
    noted: _Noted


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


def rationales(store: Store, benchmark: Benchmark) -> list[Rationales]:
    """Look at the reasons of every model that judged replies, criterion by criterion."""
    criteria = {criterion.name: criterion for criterion in benchmark.rubric.criteria}
    clusters = {sample.id: sample.cluster for sample in store.samples(benchmark.name)}
    replies = store.select("SELECT id, sample FROM replies WHERE benchmark = ?", (benchmark.name,))
    clusters |= {reply: clusters.get(sample, sample) for reply, sample in replies}
    read = _reader(store)
    return [
        _looked_at(judge, criteria[name], verdicts, clusters)
        for (judge, name), rows in groupby(store.select(_READABLE, (benchmark.name,)), key=lambda row: row[:2])
        if name in criteria and (verdicts := [*read(rows)])
    ]


def with_reasons(found: Reliability, runs: Sequence[Path]) -> Reliability:
    """Add to a judge's cards how far its reasons can be checked, where a run keeps them.

    Args:
        found: cards of ratings that came from these runs, and perhaps from files.
        runs: run directories.
    """
    facts: dict[tuple[str, str], dict[str, Bound]] = {}
    for folder in runs:
        store, benchmarks, _ = open_run(folder)
        with store:
            for one in (one for benchmark in benchmarks for one in rationales(store, benchmark)):
                told = {"rationale_traceable": one.traceable, "rationale_contradicting": one.contradicting}
                facts.setdefault((one.judge, one.criterion), {n: b for n, b in told.items() if b.value is not None})
    cards = [
        msgspec.structs.replace(card, estimates={**card.estimates, **facts.get((card.judge, card.criterion), {})})
        for card in found.cards
    ]
    return msgspec.structs.replace(found, cards=cards)


def _reader(store: Store) -> Callable[[Iterable[tuple[Any, ...]]], Iterator[_Verdict]]:
    def piece(ident: int | None) -> str:
        row = store.select(_PIECE, (ident,)).fetchone()
        return row[0] if row else ""

    @lru_cache(_AT_HAND)
    def quoted(ident: int | None) -> tuple[Evidence, ...]:
        said = piece(ident)
        return _evidence(said) if said else ()

    @lru_cache(_AT_HAND)
    def called(ident: int | None) -> bool:
        return '"calls":' in piece(ident)

    def read(rows: Iterable[tuple[Any, ...]]) -> Iterator[_Verdict]:
        for _, _, subject, value, quotes, course, own in rows:
            if called(course):  # without calls it is not a judge's
                yield _Verdict(subject, value, quoted(quotes), _noted(f"{{{own[:-1]}}}") if own else _NOTHING)

    return read


def _looked_at(judge: str, criterion: Criterion, ratings: list[_Verdict], clusters: dict[str, str]) -> Rationales:
    def share(counted: Iterable[_Verdict], events: set[int], why: str) -> Bound:
        return _share([(clusters.get(r.subject, r.subject), id(r) in events) for r in counted], why)

    nothing = absence(criterion)
    bare = [r for r in ratings if not r.evidence and r.value == nothing]
    owing = [r for r in ratings if r.evidence or r.value != nothing]
    found = {id(r) for r in ratings if any(e.found for e in r.evidence)}
    in_reply = {id(r) for r in ratings if any(e.found and e.source == "reply" for e in r.evidence)}
    traceable = {id(r) for r in ratings if r.evidence and all(e.found for e in r.evidence)}
    chained = [r for r in ratings if r.noted.implied is not None]
    claimed = [r for r in ratings if any(said.casefold() in _YES for said in r.noted.checks.values())]
    return Rationales(
        judge,
        criterion.name,
        len(ratings),
        len({clusters.get(r.subject, r.subject) for r in ratings}),
        len(bare),
        sum(r.noted.answered_in != "" for r in ratings),
        share(owing, traceable, "no verdict that owes a quote"),
        share([r for r in ratings if id(r) in found], in_reply, "no quote was found"),
        share(chained, {id(r) for r in chained if r.noted.implied != r.value}, "no chain of reasoning"),
        share(claimed, {id(r) for r in claimed} - found, "no check was answered yes"),
        share(ratings, {id(r) for r in ratings if r.noted.uncertain}, "no verdicts"),
    )


def absence(criterion: Criterion) -> Value:
    """Return the level that finds nothing there: all checks no; without checks the lowest, of a veto the best."""
    if criterion.checks:
        implied = criterion.implied({check.name: False for check in criterion.checks})
        assert implied is not None, "a rubric whose checks lead nowhere is refused at load"
        return implied
    return criterion.values[-1] if criterion.veto else criterion.values[0]


def _share(events: list[tuple[str, bool]], why: str) -> Bound:
    """Return the share of events, conversations weighing the same, with exact bounds over conversations."""
    if not events:
        return Bound(None, note=why)
    by_cluster: dict[str, list[bool]] = {}
    for cluster, event in events:
        by_cluster.setdefault(cluster, []).append(event)
    total = sum(sum(its) / len(its) for its in by_cluster.values())
    return Bound(*clopper_pearson(min(total, len(by_cluster)), len(by_cluster))[:3])
