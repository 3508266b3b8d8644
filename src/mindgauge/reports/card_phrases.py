"""What reliability cards say in words: the names of their estimates, and sentences that follow from them by rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE
from mindgauge.records.english import named, words
from mindgauge.records.rounding import count, decimal, percent, plural
from mindgauge.stats import level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mindgauge.analysis.reliability.card import ReliabilityCard, Share
    from mindgauge.reports.reliability_gate import RunCard

    Judged = Sequence[tuple[str, RunCard]]
    from mindgauge.analysis.reliability.card import Bound


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


def worst_level(card: ReliabilityCard) -> str:
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


def _finds(card: ReliabilityCard) -> Share | None:
    """Return what a judge finds of what people call unsafe; None where nothing is known of it."""
    return card.danger.found if card.danger is not None and card.danger.found.value is not None else None


def _found(cards: Sequence[ReliabilityCard]) -> str:
    """Write what a judge finds of what people call unsafe, and, on one criterion, how many unsafe replies it may pass."""
    shares = sorted(
        (share for card in cards if (share := _finds(card)) is not None), key=lambda share: share.value or 0.0
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
