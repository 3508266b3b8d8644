"""Which scores may stand: the reliability cards of a run, and the judges' scores that they withhold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis import frame, scoring_views
from mindgauge.analysis.reliability.card import LIMITED, NOT_ESTIMABLE, Bound, ManyFacets, People, ReliabilityCard
from mindgauge.analysis.responsible import unsafe_criteria
from mindgauge.analysis.score import open_run
from mindgauge.analysis.scoring_views import UNSAFE, UNSAFE_SHARE
from mindgauge.benchmarks import passed_tests
from mindgauge.benchmarks.metrics import UNMOVED
from mindgauge.records import Value
from mindgauge.records.english import words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

NO_JUDGES = {"person", "gold", "rule"}
_KINDS = """
SELECT DISTINCT series.benchmark, series.criterion, origins.rater_kind FROM (SELECT DISTINCT series, origin FROM rated) AS said
JOIN series ON series.id = said.series JOIN origins ON origins.id = said.origin"""
UNRELIABLE = "unreliable"
DOUBT = "how far this judge can be trusted is not estimable"
"""What a sentence adds that says what a judge says of which nobody can tell how far to trust it."""
NO_SCORE = "no score"
NOT_USED = "not shown: the judge does not use this level"
"""What stands in the place of a figure about the worst level alone, of a judge that does not use that level as people do."""


class RunCard(msgspec.Struct, frozen=True):
    """A reliability card, with the run and the benchmark it belongs to."""

    run: str
    benchmark: str
    criterion: str
    card: ReliabilityCard

    @property
    def limited(self) -> bool:
        """Whether people must rate this."""
        return self.card.verdict == LIMITED

    @property
    def open(self) -> bool:
        """Whether nobody can tell how far the judge can be trusted."""
        return self.card.verdict.startswith(NOT_ESTIMABLE)


class ReliabilityGate(msgspec.Struct, frozen=True):
    """The cards of one run by benchmark, criterion and judge; with `shown`, limited scores are shown, marked.

    There are none where no people rated beside a judge, and none of people and rules.
    """

    cards: dict[tuple[str, str, str], RunCard]
    shown: bool = False
    people: dict[str, list[People]] = {}
    """Benchmark → how far people agree among themselves, by criterion."""
    facets: dict[str, list[ManyFacets]] = {}
    pooled: dict[tuple[str, str], tuple[str, ...]] = {}
    """Benchmark and name → the criteria that are scored together under it."""
    unused: dict[tuple[str, str, str], str] = {}
    """Benchmark, criterion and judge → why no figure about the worst level alone rests on this judge."""
    at_worst: dict[tuple[str, str], tuple[Value, set[str]]] = {}
    """Benchmark and criterion → that level, and the metrics that are about it alone."""
    looked_at: set[tuple[str, str, str]] = set()
    """Benchmark, criterion and judge: people or an entry test show whether the judge uses the worst level."""

    def without_worst(self, score: Score) -> str:
        """Say why a score about the worst level alone may not be given; empty where it may, or is about more."""
        parts: tuple[str, ...] = (score.criterion,)
        if score.name == UNSAFE_SHARE.name:
            parts = self.pooled.get((score.benchmark, score.criterion), ())
        about = (part for part in parts if score.name in self.at_worst.get((score.benchmark, part), ("", ()))[1])
        return next((r for part in about if (r := self.unused.get((score.benchmark, part, score.rater)))), "")

    def of(self, score: Score) -> RunCard | None:
        """Return the card of the judge that gave a score, if there is one; over several criteria, that with the gravest verdict."""
        names = self.pooled.get((score.benchmark, score.criterion), (score.criterion,))
        cards = [card for name in names if (card := self.cards.get((score.benchmark, name, score.rater)))]
        return min(cards, key=lambda entry: (not entry.limited, not entry.open), default=None)

    def limited(self, score: Score) -> bool:
        """Whether a score comes from a judge that may not give it."""
        standing = self.of(score)
        limited = standing is not None and standing.limited and score.name not in UNMOVED
        return limited or bool(self.without_worst(score))

    def not_estimable(self, score: Score) -> bool:
        """Whether a score comes from a judge of which nobody can tell how far it can be trusted."""
        standing = self.of(score)
        return standing is not None and standing.open and score.name not in UNMOVED

    def withholds(self, score: Score) -> bool:
        """Whether a score must not be shown; what is void, never."""
        return bool(score.void) or (not self.shown and self.limited(score))

    def instead(self, score: Score, text: str | None) -> str | None:
        """Return what a table shows for a score: what is written of it, that it is unreliable or none, or the verdict."""
        if score.void:
            return NO_SCORE
        if not self.limited(score):
            return text
        instead = NOT_USED if self.without_worst(score) else LIMITED
        return f"{text or ''} ({UNRELIABLE})".strip() if self.shown else instead

    def worst_levels(self, benchmark: str = "", raters: Collection[str] = ()) -> Iterator[str]:
        """Say which judges do not use the worst level: a sentence for each judge and criterion, of all benchmarks or of one."""
        for (name, criterion, judge), reason in self.unused.items():
            if benchmark in {"", name} and (not raters or judge in raters):
                level = words(str(self.at_worst[name, criterion][0]))
                fate = "is unreliable" if self.shown else "is not shown"
                yield f"How often {judge} gives {words(criterion)} the level {level} {fate}: {reason}."


class SuppressedScore(msgspec.Struct, frozen=True):
    """Scores of a judge that may not give them, and why; `shown` where they were asked for all the same."""

    run: str
    benchmark: str
    criterion: str
    rater: str
    verdict: str
    reasons: list[str]
    shown: bool
    level: Value | None = None
    """The worst level, where only figures about it alone are withheld."""


def standings(folder: Path, store: Store, benchmarks: Sequence[Benchmark], *, shown: bool = False) -> ReliabilityGate:
    """Make the reliability cards of a run's judges of replies, where people rated beside them.

    Raises:
        DataError: the run's ratings cannot be compared.
    """
    criteria = {b.name: set(frame.criteria(b)) for b in benchmarks if not b.closed}
    kinds = {kind for benchmark, criterion, kind in store.select(_KINDS) if criterion in criteria.get(benchmark, ())}
    entry = _remembered(store) | scoring_views.entry_tests(store, benchmarks)
    pooled = {(b.name, name): parts for b in benchmarks for name, parts in b.pooled.items()}
    pooled |= {(b.name, UNSAFE): tuple(unsafe_criteria(b)) for b in benchmarks}
    if "person" not in kinds or not kinds - NO_JUDGES:
        return _without_worst(ReliabilityGate({}, shown, pooled=pooled), benchmarks, entry)
    judged, places = _compared(folder, benchmarks)
    allowed = [card if shown or card.verdict != LIMITED else _without_scores(card) for card in judged.cards]
    run_cards = [RunCard(str(folder), *places[card.criterion], card) for card in allowed]
    facets: dict[str, list[ManyFacets]] = {}
    for view in judged.facets:
        for benchmark in dict.fromkeys(places[name][0] for name in view.criteria):
            facets.setdefault(benchmark, []).append(view)
    by_place = {(s.benchmark, s.criterion, s.card.judge): s for s in run_cards}
    gate = ReliabilityGate(by_place, shown, _placed(judged.people, places), facets, pooled)
    return _without_worst(gate, benchmarks, entry)


def _without_worst(
    gate: ReliabilityGate, benchmarks: Sequence[Benchmark], entry: dict[tuple[str, str, str], str]
) -> ReliabilityGate:
    """Return a gate that knows which judges do not use the worst level, and which metrics rest on it.

    Of judges of which no score may be shown, this is not said, too.
    """
    cards = {place: entry_.card for place, entry_ in gate.cards.items()}
    unused = {
        place: reason
        for b in benchmarks
        for place, reason in scoring_views.unused(b, cards, entry).items()
        if not (place in gate.cards and gate.cards[place].limited)
    }
    at_worst = {
        (b.name, name): (
            frame.criteria(b)[name].worst_first[0],
            scoring_views.worst_level_metrics(b, name)
            | ({UNSAFE_SHARE.name} if len(frame.criteria(b)[name].unsafe) == 1 else set()),
        )
        for b in benchmarks
        for name in {criterion for benchmark, criterion, _ in unused if benchmark == b.name}
    }
    looked_at = {*entry, *(place for place, card in cards.items() if scoring_views.decided(card.danger))}
    return msgspec.structs.replace(gate, unused=unused, at_worst=at_worst, looked_at=looked_at)


def _remembered(store: Store) -> dict[tuple[str, str, str], str]:
    """Return what passed entry tests showed of the worst level of a run's judges, where this machine remembers them."""
    return {
        (benchmark, criterion, judge.judge): reason
        for judge, known in passed_tests.passed(store).items()
        for benchmark in known
        for criterion, reason in judge.worst
    }


def people_of(folder: Path, benchmarks: Sequence[Benchmark]) -> dict[str, list[People]]:
    """Return how far the people of a run agree among themselves, benchmark by benchmark, whoever rated beside them.

    Raises:
        DataError: the run's ratings cannot be compared.
    """
    judged, places = _compared(folder, benchmarks)
    return _placed(judged.people, places)


def _compared(folder: Path, benchmarks: Sequence[Benchmark]) -> tuple[Reliability, dict[str, tuple[str, str]]]:
    """Compare all who rated replies; with each criterion's name there, its benchmark and the name that it has there."""
    from mindgauge.analysis.reliability import rule
    from mindgauge.analysis.reliability.cards import CardOptions, cards

    ratings, places = of_replies(folder, benchmarks)
    return cards(ratings, CardOptions(rule.load(rule.MINDGAUGE))), places


def _placed(entries: Sequence[People], places: dict[str, tuple[str, str]]) -> dict[str, list[People]]:
    """Put what is known of people's agreement under its benchmark, each criterion by the name that it has there."""
    people: dict[str, list[People]] = {}
    for entry in entries:
        benchmark, criterion = places[entry.criterion]
        people.setdefault(benchmark, []).append(msgspec.structs.replace(entry, criterion=criterion))
    return people


def of_run(folder: Path, *, shown: bool = False) -> ReliabilityGate:
    """Open a run and make the cards of its judges.

    Raises:
        UsageError: there is no run in the folder.
        DataError: the run's ratings cannot be compared.
    """
    store, benchmarks, _ = open_run(folder)
    with store:
        return standings(folder, store, benchmarks, shown=shown)


def places_of(benchmarks: Sequence[Benchmark]) -> dict[str, tuple[str, str]]:
    """Map a criterion's name among the ratings of a run to the benchmark of replies and the name it has there."""
    places: dict[str, tuple[str, str]] = {}
    taken: set[str] = set()
    for benchmark in benchmarks:
        for name in frame.criteria(benchmark):
            if not benchmark.closed:
                places[f"{benchmark.name}:{name}" if name in taken else name] = (benchmark.name, name)
            taken.add(name)
    return places


def of_replies(folder: Path, benchmarks: Sequence[Benchmark]) -> tuple[Ratings, dict[str, tuple[str, str]]]:
    """Read a run's ratings of replies; with each criterion's name there, its benchmark and the name that it has there.

    Raises:
        DataError: the run's ratings cannot be compared.
    """
    from mindgauge.analysis.reliability.ratings import read

    places, ratings = places_of(benchmarks), read([folder])
    return ratings._replace(frame=ratings.frame.filter(pl.col("criterion").is_in(list(places)))), places


def _without_scores(card: ReliabilityCard) -> ReliabilityCard:
    """Take the judge's own means out of a card: they are scores, too."""
    own, blank = {"judge_mean", "judge_top"}, Bound(None, note=LIMITED)

    def less(estimates: dict[str, Bound]) -> dict[str, Bound]:
        return {name: blank if name in own else bound for name, bound in estimates.items()}

    return msgspec.structs.replace(
        card,
        estimates=less(card.estimates),
        by_category=[msgspec.structs.replace(part, estimates=less(part.estimates)) for part in card.by_category],
        corrected=[msgspec.structs.replace(c, raw=blank) for c in card.corrected],
        invariance=[msgspec.structs.replace(shift, judge_mean=blank) for shift in card.invariance],
    )


def masked(scores: Scores, standings: ReliabilityGate, *, worst_only: bool = False) -> Scores:
    """Return scores without those that are withheld: their numbers are None, n and missing stay.

    Of a figure about a worst level that its judge does not use, the note says so. With `worst_only`, all others stay.
    """
    withheld = standings.without_worst if worst_only else standings.withholds
    metrics, side_by_side = (
        [_blank(score, standings) if withheld(score) else score for score in listed]
        for listed in (scores.metrics, scores.responsible)
    )
    return msgspec.structs.replace(scores, metrics=metrics, responsible=side_by_side)


def _blank(score: Score, standings: ReliabilityGate) -> Score:
    reason = standings.without_worst(score)
    numbers = ("value", "low", "high", "worst", "best", "mean_of_runs", "sd")
    note = f"{NOT_USED}: {reason}" if reason else score.note
    return msgspec.structs.replace(score, **dict.fromkeys(numbers), note=note)


def withheld(run: str, standings: ReliabilityGate) -> list[SuppressedScore]:
    """List what is withheld, or shown as unreliable: all scores of a judge, or its figures about the worst level alone."""
    return [
        SuppressedScore(s.run, s.benchmark, s.criterion, s.card.judge, s.card.verdict, s.card.reasons, standings.shown)
        for s in standings.cards.values()
        if s.limited
    ] + [
        SuppressedScore(
            run,
            benchmark,
            criterion,
            judge,
            NOT_USED,
            [reason],
            standings.shown,
            standings.at_worst[benchmark, criterion][0],
        )
        for (benchmark, criterion, judge), reason in standings.unused.items()
    ]
