"""Sentences that follow from one number, by rule. Whole numbers, n always, and the bound that matters for safety."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mindgauge.reports.numbers import FEW, SMALL, count, decimal, named, percent, plural, words
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.score import Score

CRISIS, CALM = "that shows a crisis", "without a crisis"


def hits(share: float | None, n: int) -> int:
    """Return how many of n a share is."""
    return round((share or 0.0) * n)


def at_most(high: float | None) -> str:
    """Say how large a feared share could be."""
    if high is None:
        return ""
    return "; it could be nearly all" if high > 0.995 else f"; it could be as many as {percent(high)}"


def at_least(low: float | None) -> str:
    """Say how small a wanted share could be."""
    if low is None:
        return ""
    return "; it could be nearly none" if low < 0.005 else f"; it could be as few as {percent(low)}"


def missed(score: Score) -> str:
    """Say how many crises were treated as none."""
    return _called(score, CRISIS, "no crisis")


def overcalled(score: Score) -> str:
    """Say how often a crisis was seen where there is none."""
    return _called(score, CALM, "a crisis")


def _called(score: Score, what: str, as_: str) -> str:
    """Say how often messages were taken for what they are not, and what the missing answers could add to it.

    `n` counts answers, `clusters` messages: where each was asked about once, the sentence speaks of messages.
    """
    repeated = score.n > score.clusters
    messages = plural(score.clusters, f"message {what}", f"messages {what.replace('shows', 'show')}")
    base = f"{plural(score.n, 'answer')} to {messages}" if repeated else messages
    if score.missing >= score.n:
        return f"None of {base} could be used, so nothing can be said here." if repeated else (
            f"No answer on {messages} could be used, so nothing can be said here."
        )  # fmt: skip
    number = hits(score.value, score.n)
    if score.n == 1:
        return (
            f"The one message {what} was {'' if number else 'not '}treated as {as_}; one message shows next to nothing."
        )
    if number == score.n:
        share = f"100 %; at least {percent(score.low)}" if score.low is not None else "100 %"
    else:
        share = percent(score.value) + at_most(score.high)
    if repeated:
        text = f"In {count(number)} of {base}, the model saw {as_} ({share})"
    else:
        some = "none" if number == 0 else "all" if number == score.n else count(number)
        text = f"Of {base}, the model treated {some} as {as_} ({share})"
    return text + _lost(score) + "."


def _lost(score: Score) -> str:
    if not score.missing:
        return ""
    worst = hits(score.worst, score.n)
    they = "it" if score.missing == 1 else "they"
    return f"; {plural(score.missing, 'answer')} could not be used, and if {they} had gone wrong too it would be {count(worst)} ({percent(score.worst)})"


def right(score: Score) -> str:
    """Say how many answers agree with the label."""
    if score.missing >= score.n:
        return f"None of its {plural(score.n, 'answer')} could be used."
    text = f"It named the right class in {count(hits(score.value, score.n))} of {plural(score.n, 'answer')}"
    return f"{text} ({percent(score.value)}{at_least(score.low)}){_lost_right(score)}."


def right_of_read(strict: Score, read: Score | None) -> str:
    """Say how many of the answers that could be read are right, where that is not the same; empty where it is."""
    if read is None or not strict.missing or not read.n:
        return ""
    return f"Of the {plural(read.n, 'answer')} that could be read, {count(hits(read.value, read.n))} {'is' if hits(read.value, read.n) == 1 else 'are'} right ({percent(read.value)})."


def beside_constant(score: Score, constant: Sequence[Score]) -> str:
    """Say what the best answer that reads nothing would reach; empty where nobody asks."""
    known = [(s.value, s.model) for s in constant if s.value is not None]
    if not known or score.missing >= score.n:
        return ""
    best, name = max(known, key=lambda found: found[0])
    equal = [model for value, model in known if value == best]
    what = next((model for model in equal if model.startswith("always ")), name).removeprefix("always ")
    said = f"Answering {words(what)} to everything would be right in {percent(best)}"
    low = score.low if score.low is not None else 0.0
    return f"{said}{'' if low > best else ', which its interval does not exclude' if (score.value or 0.0) >= best else ', which is more'}."


def _lost_right(score: Score) -> str:
    return f"; {count(score.missing)} could not be used and count as wrong" if score.missing else ""


def least_recognised(recalls: Sequence[Score]) -> str:
    """Name the class that is recognised least; empty where there is nothing to compare.

    A class with too few messages is named apart, so that it does not hide one that says more.
    """
    usable = [r for r in recalls if r.missing < r.n]
    worst, value = lowest(usable)
    if not worst:
        return ""
    if value == 0 and len(worst) > 3:
        return f"It recognised no {named([words(r.slice) for r in worst], joined='or')}."
    rarer = [r for r in usable if r.clusters < FEW <= worst[0].clusters and (r.value or 0.0) < value]
    apart = f"; of rarer classes, {named([_of(r) for r in rarer])}" if rarer else ""
    return f"It recognised {named([_of(r) for r in worst])} least{apart}."


def always_the_same(answers: Sequence[str], targets: Sequence[str]) -> str:
    """Warn where nearly all answers are one label though the messages differ: its few misses then mean nothing."""
    if len(answers) < FEW:
        return ""
    label, times = Counter(answers).most_common(1)[0]
    if times < 0.8 * len(answers) or targets.count(label) > 0.6 * len(targets):
        return ""
    return f"It answered {words(label)} in {count(times)} of {count(len(answers))} usable answers whatever was said, so what it got right shows little insight."


def _of(recall: Score) -> str:
    return f"{words(recall.slice)} ({count(hits(recall.value, recall.n))} of {count(recall.n)})"


def lowest(scores: Sequence[Score]) -> tuple[list[Score], float]:
    """Return the lowest scores and their value: all that tie, unless all do; of those with enough conversations, if any."""
    known = [(s.value, s) for s in scores if s.value is not None]
    solid = [(value, s) for value, s in known if s.clusters >= FEW] or known
    least = min((value for value, _ in solid), default=0.0)
    worst = [s for value, s in solid if value == least]
    return (worst, least) if len(worst) < len(solid) else ([], least)


def rated(whole: Score, person: bool, what: str, levels: Mapping[int, int], scale: Sequence[int], clusters: int) -> str:
    """Say how one rater rated replies, from how often each level was given.

    Args:
        whole: the mean, with what is missing.
        person: whether the rater is one.
        what: what the replies are replies to.
        levels: level → how many verdicts.
        scale: the levels, worst to best; of five or more, two at each end count as low and as high.
        clusters: conversations behind the verdicts, which decide how wide the bound is.
    """
    n = sum(levels.values())
    who = f"{'The person' if person else 'The judge'} {whole.rater}"
    if not n:
        return f"{who} gave no usable verdict on its replies{what}, so nothing can be said of them."
    ends = 2 if len(scale) >= 5 else 1
    bottom, top = tuple(scale[:ends]), tuple(scale[-ends:])
    good, bad = (sum(levels.get(level, 0) for level in some) for some in (top, bottom))
    of = (
        f"rated {plural(n, 'reply', 'replies')}{what}"
        if n == clusters
        else f"gave {plural(n, 'verdict')} on replies{what}"
    )
    high = clopper_pearson(bad / n * clusters, clusters).high
    share = percent(bad / n) + (at_most(high) if bad < n else "")
    harmful = levels.get(bottom[0], 0)
    how_many = "none" if not harmful else "all" if harmful == bad > 1 else count(harmful)
    worst = f", {how_many} of them at {bottom[0]}" if ends > 1 and bad else ""
    mean = sum(level * k for level, k in levels.items()) / n
    return (
        f"{who} {of}: {count(good) if good else 'none'} at {_range(top)}, and {count(bad) if bad else 'none'} at {_range(bottom)} "
        f"({share}){worst}; the mean is {decimal(mean, 1)} on the scale from {scale[0]} to {scale[-1]}{_bounds(whole)}."
    )


def profile(means: Sequence[Score], person: bool, what: str) -> str:
    """Say what one rater thought of replies on many criteria: the lowest and the highest mean, and the n behind them."""
    who = f"{'The person' if person else 'The judge'} {means[0].rater}"
    usable = sorted((s.value, words(s.criterion)) for s in means if s.value is not None)
    if not usable:
        return f"{who} gave no usable verdict on its replies{what}, so nothing can be said of them."
    (low, worst), (high, best) = usable[0], usable[-1]
    n, lost = max(s.n for s in means), sum(s.missing for s in means)
    gone = f"; {plural(lost, 'verdict')} could not be used" if lost else ""
    if len(usable) == 1:
        return f"{who} rated {plural(n, 'reply', 'replies')}{what} on {worst}: mean {decimal(low, 1)}{gone}."
    return (
        f"{who} rated {plural(n, 'reply', 'replies')}{what} on {len(usable)} criteria: means go from {decimal(low, 1)} ({worst}) "
        f"to {decimal(high, 1)} ({best}){gone}."
    )


def _range(levels: tuple[int, ...]) -> str:
    return f"{levels[0]} or {levels[-1]}" if len(levels) > 1 else str(levels[0])


def _bounds(whole: Score) -> str:
    """Say what the missing verdicts could do to a mean."""
    if not whole.missing:
        return ""
    return (
        f" ({decimal(whole.worst, 1)} to {decimal(whole.best, 1)} if the {count(whole.missing)} of {count(whole.n)} without a verdict "
        f"{'was' if whole.missing == 1 else 'were all'} the worst or the best)"
    )


def lowest_categories(means: Mapping[str, Sequence[Score]]) -> list[str]:
    """Name, for each rater's means per category, the category whose replies it rated lowest; say it once if all agree."""
    found: dict[tuple[str, ...], list[tuple[str, list[Score], float]]] = {}
    for rater, scores in means.items():
        worst, value = lowest(scores)
        if worst:
            found.setdefault(tuple(words(s.slice) for s in worst), []).append((rater, worst, value))
    sentences = []
    for categories, raters in found.items():
        where = f"replies to {named(categories)}"
        n = count(max(s.n - s.missing for _, worst, _ in raters for s in worst))
        values = sorted({decimal(value, 1) for _, _, value in raters})
        mean = f"mean {values[0]}" if len(values) == 1 else f"means {values[0]} to {values[-1]}"
        each = " each" if len(categories) > 1 else ""
        by = (
            ""
            if len(means) == 1
            else " by every judge"
            if len(raters) == len(means)
            else f" by {named([r for r, *_ in raters])}"
        )
        sentences.append(f"Rated lowest{by} were {where} ({mean}, n {n}{each}).")
    return sentences


def small(clusters: int) -> str:
    """Warn where few conversations stand behind the numbers."""
    if clusters >= SMALL:
        return ""
    if clusters == 1:
        return "One conversation stands behind this; it is an example, not a measurement."
    return f"Only {clusters} conversations stand behind this, so every share and mean here is rough."
