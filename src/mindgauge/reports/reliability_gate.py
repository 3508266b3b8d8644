"""Which scores may stand: the reliability cards of a run, and the judges' scores that they withhold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from mindgauge.analysis import frame, scoring_views
from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import (
    BLIND_END,
    GOOD,
    LIMITED,
    MODERATE,
    NOT_ESTIMABLE,
    Bound,
    ManyFacets,
    People,
    ReliabilityCard,
)
from mindgauge.analysis.responsible import unsafe_criteria
from mindgauge.analysis.score import open_run
from mindgauge.analysis.scoring_views import UNSAFE, UNSAFE_SHARE
from mindgauge.benchmarks import passed_tests
from mindgauge.benchmarks.metrics import UNMOVED
from mindgauge.records import Value
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, percent, plural
from mindgauge.stats import level

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.card import Reliability
    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.score import Score, Scores
    from mindgauge.benchmarks import Benchmark
    from mindgauge.store import Store

    Judged = Sequence[tuple[str, "RunCard"]]

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


NAMES = {
    "percent": "same value", "within_1": "within one level", "pearson": "Pearson's r",
    "ccc": "Lin's concordance", "bias": "bias", "mse": "mean square of judge minus people", "limits": "limits of agreement",
    "people_mean": "people's mean", "judge_mean": "judge's mean", "people_top": "people at the best level",
    "judge_top": "judge at the best level",
    "system_pearson": "systems' means: Pearson's r",
    "unsafe_found": "unsafe replies found", "lowest_found": "replies at the worst level found",
    "unsafe_found_any": "found of what anybody calls unsafe", "passed_unsafe": "unsafe among what it passes",
    "same_level": "same value",
    "rationale_traceable": "reasons whose quotes are all found",
    "rationale_contradicting": "values against the judge's own chain",
}  # fmt: skip
_PREFIXES = {"ceiling_": "one person with another: ", "repeat_": "judge with itself: "}


def label(name: str, *, ordered: bool) -> str:
    """Name an estimate for a reader, a coefficient with its level of measurement."""
    for prefix, owner in _PREFIXES.items():
        if name.startswith(prefix):
            return owner + label(name.removeprefix(prefix), ordered=ordered)
    return level.named(name, ordered=ordered) or NAMES[name]


def in_sentence(card: ReliabilityCard) -> str:
    """Name the coefficient that decides, before its value."""
    return level.in_sentence(card.coefficient, ordered=card.ordered)


def main(card: ReliabilityCard) -> str:
    """Return the coefficient that decides about single replies: of values with an order, and of classes."""
    return card.coefficient


def agreement(card: ReliabilityCard) -> Bound:
    """Return a judge's agreement with one person on single replies, within systems."""
    return card.agreement


def ceiling(card: ReliabilityCard) -> Bound | None:
    """Return one person's agreement with another."""
    return card.estimates.get("ceiling_icc_a1" if card.ordered else "ceiling_alpha")


def repeated(card: ReliabilityCard) -> Bound | None:
    """Return the judge's agreement with itself, asked again."""
    return card.estimates.get("repeat_icc_a1" if card.ordered else "repeat_alpha")


def span(card: ReliabilityCard) -> float:
    """Return the distance between the scale's ends: of words, in steps."""
    first, last = card.scale[0], card.scale[-1]
    return last - first if isinstance(first, int | float) and isinstance(last, int | float) else len(card.scale) - 1.0


def worst_level_phrase(card: ReliabilityCard) -> str:
    """Say whether figures about the worst level alone may rest on a judge; empty where people put no reply there."""
    danger = card.danger
    if danger is None or danger.lowest is None or not danger.lowest.n:
        return ""
    level = words(str(card.scale[-1 if card.falling else 0]))
    if danger.worst_level:
        return f"{danger.worst_level}: figures about level {level} are not shown"
    return f"it puts {danger.lowest.events} of {plural(danger.lowest.n, 'reply', 'replies')} at people's worst level there: figures about level {level} are shown"


FEW_NAMES = 4
"""A title names at most so many criteria."""


def finding(judged: Judged) -> str:
    """State what the cards of one benchmark allow: first on single replies, then on ranking systems.

    Args:
        judged: the judges, as they are called, with their cards.
    """
    if all(s.card.verdict == NOT_ESTIMABLE for _, s in judged):
        reasons = {s.card.reasons[0].partition(", so ")[0] for _, s in judged}
        reason = f": {reasons.pop()}" if len(reasons) == 1 else ""
        judges = _judges(judged)
        return f"No verdict on {judges[0] if len(judges) == 1 else 'these judges'}{reason}"
    return _on_replies(judged) + _on_ranking(judged)


def _on_replies(judged: Judged) -> str:
    granted = [(judge, s) for judge, s in judged if s.card.rate_replies.granted]
    judges, able = _judges(judged), _judges(granted)
    if len(judged) == 1:
        criterion = words(judged[0][1].criterion)
        return {
            GOOD: f"{judges[0]} may rate {criterion} on its own",
            MODERATE: f"{judges[0]} may rate {criterion} only with people beside it",
            BLIND_END: f"There are too few unsafe replies to judge {judges[0]}, so people must rate {criterion}, too",
            LIMITED: f"People must rate {criterion}: {judges[0]} {_fault([judged[0][1].card], 'them', 'they')}",
        }[judged[0][1].card.verdict]
    if not granted:
        return f"{'No judge may' if len(judges) > 1 else f'{judges[0]} may not'} rate single replies on its own"
    if len(granted) == len(judged):
        return f"{'Every judge' if len(judges) > 1 else judges[0]} may rate single replies on its own"
    scope = _on(granted, judged)
    if len(judges) == 1:
        return f"{judges[0]} may rate single replies on its own only{scope}"
    return f"Only {named(able)} may rate single replies on {'its' if len(able) == 1 else 'their'} own{',' if scope else ''}{scope}"


def _on_ranking(judged: Judged) -> str:
    """Say who may rank systems; nothing where there are too few systems for anybody."""
    if all(s.card.rank_systems.verdict == NOT_ESTIMABLE for _, s in judged):
        return ""
    granted = [(judge, s) for judge, s in judged if s.card.rank_systems.granted]
    judges, able = _judges(judged), _judges(granted)
    if not granted:
        return "; none may rank systems" if len(judges) > 1 else "; it may not rank systems"
    rankers = "it" if len(judges) == 1 else "all" if set(able) == set(judges) else named(able)
    return f"; {rankers} may rank systems{_on(granted, judged) if len(granted) < len(judged) else ''}"


def _on(granted: Judged, judged: Judged) -> str:
    """Say on which criteria something is granted; nothing where there is only one, no names where judges differ."""
    names = _criteria(s for _, s in granted)
    if len(_criteria(s for _, s in judged)) == 1:
        return ""
    alike = len(granted) == len(_judges(granted)) * len(names)
    return f" on {named(names)}" if alike and len(names) <= FEW_NAMES else " on some criteria"


def _judges(judged: Judged) -> list[str]:
    return list(dict.fromkeys(judge for judge, _ in judged))


def _criteria(cards: Iterable[RunCard]) -> list[str]:
    return list(dict.fromkeys(words(s.criterion) for s in cards))


def not_shown(cards: Mapping[str, Sequence[RunCard]], *, alone: bool) -> Iterator[str]:
    """Say which judges' scores are not shown, and why; judges with the same criteria together.

    Args:
        cards: judge → its cards that say that people must rate.
        alone: whether nobody else's scores stand in their place.
    """
    for judges, names, fault in _alike(cards):
        criteria, subject, single = named(names, limit=9), _the(judges), len(judges) == 1
        head = (
            f"{criteria[:1].upper()}{criteria[1:]} {'is' if len(names) == 1 else 'are'} not shown: {subject}"
            if alone
            else f"What {subject} {'says' if single else 'say'} of {criteria} is not shown: {'it' if single else 'they'}"
        )
        yield f"{head} {fault} ({_each(judges, cards)}; {LIMITED})."


def not_drawn(cards: Mapping[str, Sequence[RunCard]]) -> Iterator[str]:
    """Say whose scores have no picture."""
    for judges, names, _ in _alike(cards):
        yield f"How {_the(judges)} rated {named(names, limit=9)} is not drawn ({LIMITED})."


def unreliable(cards: Mapping[str, Sequence[RunCard]]) -> Iterator[str]:
    """Mark the scores of judges that may not give them, where they are shown all the same."""
    for judges, names, fault in _alike(cards):
        yield (
            f"Unreliable, and shown only on request, is what {_the(judges)} {'says' if len(judges) == 1 else 'say'} of {named(names, limit=9)}: "
            f"{'it' if len(judges) == 1 else 'they'} {fault} ({_each(judges, cards)}; {LIMITED})."
        )


def caveats(cards: Mapping[str, Sequence[RunCard]]) -> Iterator[str]:
    """Say how far judges may be relied on whose scores are shown: a sentence for each verdict."""
    for verdict in (BLIND_END, GOOD, MODERATE):
        for judge, all_ in cards.items():
            verdict_cards = {judge: [s for s in all_ if s.card.verdict == verdict]}
            criteria = named(_criteria(verdict_cards[judge]), limit=9)
            if not verdict_cards[judge]:
                continue
            evidence = _each([judge], verdict_cards)
            if verdict == BLIND_END:
                yield f"On {criteria}, people called too few replies unsafe to show how many of those the judge {judge} finds, so its scores do not show that replies are safe ({evidence}; {BLIND_END})."
            elif verdict == GOOD:
                yield f"The judge {judge} agrees with people well enough to rate {criteria} on its own ({evidence})."
            else:
                yield f"On {criteria}, people must check the judge {judge} before its scores are relied on: {_PARTLY[gravest(s.card for s in verdict_cards[judge])]} ({evidence}; {MODERATE})."
    reasons: dict[tuple[str, str], list[str]] = {}
    for judge, all_ in cards.items():
        for reason in dict.fromkeys(s.card.reasons[0] for s in all_ if s.card.verdict == NOT_ESTIMABLE):
            names = [
                words(s.criterion) for s in all_ if s.card.verdict == NOT_ESTIMABLE and s.card.reasons[0] == reason
            ]
            reasons.setdefault((reason, named(names, limit=9)), []).append(judge)
    for (reason, criteria), judges in reasons.items():
        yield f"How far {_the(judges)} can be trusted on {criteria} is not estimable: {reason}."


_PARTLY = {
    "unsafe": "it may miss more of what people call unsafe than a clinician would",
    "agreement": "it agrees with them only in part",
    "safe": "it may call more safe replies unsafe than a clinician would",
    "absent": "it gave no verdict on some of what they rated",
    "alone": "no two people rated the same replies, so nothing compares it with a clinician",
}


def gravest(cards: Iterable[ReliabilityCard]) -> str:
    """Return the gravest fault of cards of one verdict (`Licence.faults`): of agreement, where nothing is said."""
    faults = {fault for card in cards for fault in card.rate_replies.faults}
    return next((name for name in rule.FAULTS if name in faults), "agreement")


def _alike(cards: Mapping[str, Sequence[RunCard]]) -> list[tuple[list[str], list[str], str]]:
    """Put judges together whose cards are of the same criteria and have the same fault: (judges, criteria, fault)."""
    alike: dict[tuple[tuple[str, ...], bool, bool], list[str]] = {}
    for judge, judge_cards in cards.items():
        disagrees, misses = _faults([s.card for s in judge_cards])
        alike.setdefault((tuple(_criteria(judge_cards)), disagrees, misses), []).append(judge)
    return [
        (judges, list(names), _fault([s.card for s in cards[judges[0]]], many=len(judges) > 1))
        for (names, *_), judges in alike.items()
    ]


def _faults(cards: Sequence[ReliabilityCard]) -> tuple[bool, bool]:
    """Say whether judges agree too little with people, and whether they miss too much of what people call unsafe."""
    faults = {fault for card in cards for fault in card.rate_replies.faults}
    return bool(faults - {"unsafe"}) or not faults, "unsafe" in faults


def _fault(
    cards: Sequence[ReliabilityCard], people: str = "people", pronoun: str = "people", *, many: bool = False
) -> str:
    disagrees, misses = _faults(cards)
    faults = [f"{'agree' if many else 'agrees'} too little with {people}"] if disagrees else []
    faults += (
        [f"{'miss' if many else 'misses'} too much of what {'they' if disagrees else pronoun} call unsafe"]
        if misses
        else []
    )
    return " and ".join(faults)


def _the(judges: Sequence[str]) -> str:
    return f"the {'judge' if len(judges) == 1 else 'judges'} {named(judges)}"


def _each(judges: Sequence[str], cards: Mapping[str, Sequence[RunCard]]) -> str:
    """Write the evidence of each judge: agreement, bias where there is some, what is found; of several criteria the range."""
    evidence = []
    for judge in judges:
        judge_cards = [s.card for s in cards[judge]]
        values = sorted(v for card in judge_cards if (v := agreement(card).value) is not None)
        evidence.append(
            f"{in_sentence(judge_cards[0])} {_range([decimal(value) for value in values])}{_leaning(judge_cards[0]) if len(judge_cards) == 1 else ''}{_found(judge_cards)}"
        )
    return (
        evidence[0]
        if len(evidence) == 1
        else "; ".join(f"{judge}: {line}" for judge, line in zip(judges, evidence, strict=True))
    )


def _range(numbers: Sequence[str]) -> str:
    """Write the ends of sorted numbers, once where they are written alike."""
    return " to ".join(dict.fromkeys((numbers[0], numbers[-1]))) if numbers else "none"


def _found(cards: Sequence[ReliabilityCard]) -> str:
    """Write what a judge finds of what people call unsafe, and, on one criterion, how many unsafe replies it may pass."""
    shares = sorted(
        (c.danger.found for c in cards if c.danger is not None and c.danger.found.value is not None),
        key=lambda share: share.value or 0.0,
    )
    if not shares:
        return ""
    if len(cards) > 1:
        return f"; of what people call unsafe it finds {_range([percent(share.value) for share in shares])}"
    (share,), danger = shares, cards[0].danger
    amount = "none" if not share.events else "all" if share.events == share.n > 1 else count(share.events)
    passed = danger.passed.high if danger is not None else None
    lets = (
        f"; of 100 replies that it passes, up to {math.ceil(100 * passed - 1e-9)} are unsafe"
        if passed is not None
        else ""
    )
    return f"; it finds {amount} of {plural(share.n, 'reply', 'replies')} that people call unsafe{lets}"


def _leaning(card: ReliabilityCard) -> str:
    bias = card.estimates.get("bias")
    if bias is None or bias.value is None or bias.low is None or bias.high is None or bias.low <= 0 <= bias.high:
        return ""
    return f", {decimal(abs(bias.value), 1)} levels {'more lenient' if (bias.value > 0) is not card.falling else 'more severe'} than people"
