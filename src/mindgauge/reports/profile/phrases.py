"""What a suite's pictures find, in words; each sentence follows from the numbers by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.english import named
from mindgauge.metrics.words import FEW
from mindgauge.rounding import count, decimal, interval, percent, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.profile import DimensionScore, TaskScore
    from mindgauge.reports.content import System
    from mindgauge.reports.profile.picture import Row, Spot

FEW_MODELS = 4
"""Of so many models every two that cannot be told apart are named."""
OURS = "our definition"
_DEFINED = {"ours": OURS, "upstream": "the data set’s own paper", "authors": "the authors"}


def defined(who: str) -> str:
    """Say who defined a score."""
    return _DEFINED.get(who, who)


def counted(ns: Sequence[int]) -> str:
    """Write one n, or between which they lie; empty where there is none."""
    known = sorted({n for n in ns if n})
    if not known:
        return ""
    return f"n {count(known[0])}" if len(known) == 1 else f"n {count(known[0])} to {count(known[-1])}"


def weakest(rows: Sequence[Row], systems: Sequence[System]) -> str:
    """Name where each system is weakest; of many systems, where most are."""
    lowest = {}
    for system in systems:
        spots = [(spot.value, row.label) for row in rows for spot in row.spots
                 if spot.system.number == system.number and spot.value is not None]  # fmt: skip
        if spots:
            lowest[system.label] = min(spots)
    if not lowest:
        return "No dimension has a score"
    if len(lowest) == 1:
        value, label = next(iter(lowest.values()))
        return f"Weakest in {label.lower()} ({decimal(value)})"
    if len(lowest) <= FEW_MODELS:
        said = [f"{label} in {where.lower()} ({decimal(value)})" for label, (value, where) in lowest.items()]
        return f"Weakest: {named(said, most=FEW_MODELS)}"
    places = [where for _, where in lowest.values()]
    most = max(dict.fromkeys(places), key=places.count)
    return f"{places.count(most)} of {len(lowest)} models are weakest in {most.lower()}"


def ahead(scores: Sequence[DimensionScore], labels: dict[str, str], few: set[str]) -> str:
    """Say in which dimensions one model can be told apart from all others as the best, and in how many none can.

    Those in `few` rest on too few conversations to say so.
    """
    led, several = leads(scores, labels, few)
    if not several:
        values = [(score.value, score.dimension) for score in scores if score.value is not None]
        if not values:
            return "No dimension has a score"
        value, name = max(values)
        return f"Strongest in {name.lower()} ({decimal(value)})"
    open_ = several - sum(map(len, led.values()))
    if not led:
        return f"In none of {plural(several, 'dimension')} is one model ahead of all others"
    said = [f"{model} in {named(names)}" for model, names in led.items()]
    rest = f". In {count(open_)} of {several} the first cannot be told apart from the next" if open_ else ""
    return f"Ahead of all others: {'; '.join(said)}{rest}"


def leads(scores: Sequence[DimensionScore], labels: dict[str, str], few: set[str]) -> tuple[dict[str, list[str]], int]:
    """Return the dimensions in which one model is ahead of all others, by its label, and in how many several have a score."""
    by_dimension: dict[str, list[DimensionScore]] = {}
    for score in scores:
        if score.value is not None:
            by_dimension.setdefault(score.dimension, []).append(score)
    several = {name: found for name, found in by_dimension.items() if len(found) > 1}
    led: dict[str, list[str]] = {}
    for name, found in several.items():
        best = min(found, key=lambda score: score.rank or len(found))
        if not best.indistinguishable and name not in few:
            led.setdefault(labels[best.model], []).append(name.lower())
    return led, len(several)


def standing(scores: Sequence[DimensionScore], labels: dict[str, str], *, few: bool) -> list[str]:
    """Say of one dimension which ranks the models may have, and which of them cannot be told apart.

    With `few`, too few conversations stand behind one of its tasks to say either.
    """
    known = sorted((s for s in scores if s.value is not None and s.rank is not None), key=lambda s: s.rank or 0.0)
    if not known:
        return []
    if few and len(known) > 1:
        return [f"One of its tasks has fewer than {FEW} conversations, too few to say who is better."]
    if len(known) == 1:
        only = known[0]
        bounds = f" ({interval(only.low, only.high)})" if only.low is not None and not few else ""
        return [f"Score {decimal(only.value)}{bounds}."]
    said = [f"{labels[s.model]} {_rank(s)}" for s in known]
    return [f"Possible ranks: {named(said, most=8)}.", f"{_untold(known, labels)}."]


def _rank(score: DimensionScore) -> str:
    low, high = (f"{r:g}" for r in (score.rank_low or score.rank or 0, score.rank_high or score.rank or 0))
    return low if low == high else f"{low} to {high}"


def _untold(known: Sequence[DimensionScore], labels: dict[str, str]) -> str:
    """Say who cannot be told apart from whom."""
    inside = {score.model for score in known}
    pairs = [(one.model, other.model) for place, one in enumerate(known) for other in known[place + 1 :]]
    open_ = [pair for pair in pairs if pair[1] in _score(known, pair[0]).indistinguishable]
    if not open_:
        return "Each of them can be told apart from every other" if len(known) > 2 else "They can be told apart"
    if len(open_) == len(pairs):
        return "They cannot be told apart" if len(known) == 2 else "None of them can be told apart from any other"
    if len(known) <= FEW_MODELS:
        said = [f"{labels[one]} and {labels[other]}" for one, other in open_]
        return f"These cannot be told apart: {named(said, most=6)}"
    first = known[0]
    others = [labels[model] for model in first.indistinguishable if model in inside]
    if not others:
        return f"{labels[first.model]}, the first, can be told apart from all others"
    return f"{labels[first.model]}, the first, cannot be told apart from {named(others)}"


def _score(known: Sequence[DimensionScore], model: str) -> DimensionScore:
    return next(score for score in known if score.model == model)


def lowest_task(scores: Sequence[TaskScore], labels: dict[str, str]) -> str:
    """Name the task with the lowest scaled score, and whose it is."""
    known = [score for score in scores if score.scaled is not None]
    if not known:
        return "No task has a score"
    worst = min(known, key=lambda score: score.scaled or 0.0)
    by = f", {labels[worst.model]}" if len({score.model for score in known}) > 1 else ""
    guess = worst.chance
    beside = f"; guessing gives {decimal(guess)}" if guess is not None and (worst.scaled_low or 0) <= guess else ""
    return f"Lowest: {worst.title} ({decimal(worst.scaled)}{by}{beside})"


def drop(starts: dict[int, Spot], cells: Sequence[tuple[str, float, Spot]], several: bool) -> str:
    """Name the largest fall from the score without noise."""
    falls = [
        (start.value - spot.value, noise, at, spot)
        for noise, at, spot in cells
        if spot.value is not None and (start := starts.get(spot.system.number)) is not None and start.value is not None
    ]
    if not falls:
        return "There is nothing without noise to compare with"
    fall, noise, at, spot = max(falls, key=lambda found: found[0])
    by = f"{spot.system.label}, " if several else ""
    before = starts[spot.system.number].value
    if fall <= 0:
        return "No kind of noise lowers the score"
    return f"Falls most: {by}from {decimal(before)} to {decimal(spot.value)} under {noise} noise of intensity {at:g}"


def groups(rows: Sequence[Row], several: bool) -> str:
    """Name the group that is treated most differently from a neutral sentence, if any goes beyond the noise."""
    found = [(row.label, spot) for row in rows for spot in row.spots if spot.value is not None]
    beyond = [
        (label, spot) for label, spot in found
        if spot.floor is not None and spot.low is not None and spot.high is not None
        and (spot.high < -spot.floor or spot.low > spot.floor)
    ]  # fmt: skip
    if not found:
        return "No group has a score"
    if not beyond:
        return "No group differs from a neutral sentence by more than noise"
    label, spot = max(beyond, key=lambda one: abs(one[1].value or 0.0))
    by = f" by {spot.system.label}" if several else ""
    way = "lower" if (spot.value or 0.0) < 0 else "higher"
    more = f"; {len(beyond)} of {len(found)} differ by more than noise" if len(beyond) > 1 else ""
    return (
        f"Replies{by} to “{label}” are rated {decimal(abs(spot.value or 0.0))} {way} than to a neutral sentence{more}"
    )


def more_than_people(rows: Sequence[Row], several: bool) -> str:
    """Name what is done most beyond what people do; without people, what is done most."""
    found = [
        (spot.value - (row.people[0] if row.people else 0.0), row, spot)
        for row in rows
        for spot in row.spots
        if spot.value is not None
    ]
    beside = [one for one in found if one[1].people is not None]
    if not found:
        return "No reply has a verdict"
    most, row, spot = max(beside or found, key=lambda one: one[0])
    by = f"{spot.system.label}: " if several else ""
    if row.people is None:
        return f"{by}{row.label} in {percent(spot.value)} of the replies"
    if most <= 0:
        return "Nothing is done more often than by people"
    return f"{by}{row.label} in {percent(spot.value)} of the replies, in people’s {percent(row.people[0])}"
