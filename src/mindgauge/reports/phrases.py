"""Sentences that follow from one number, by rule. Whole numbers, n always, and the bound that matters for safety."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.reports.numbers import FEW, SMALL, count, decimal, interval, named, percent, plural, words
from mindgauge.reports.standing import DOUBT
from mindgauge.rounding import write
from mindgauge.rubric.order import share_of
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.records import Value
    from mindgauge.rubric import Criterion

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
    """Return the worst scores and their value: all that tie, unless all do; of those with enough conversations, if any."""
    known = [(s.value, s) for s in scores if s.value is not None]
    solid = [(value, s) for value, s in known if s.clusters >= FEW] or known
    edge = max if known and known[0][1].better == "lower" else min
    least = edge((value for value, _ in solid), default=0.0)
    worst = [s for value, s in solid if value == least]
    return (worst, least) if len(worst) < len(solid) else ([], least)


def rater(name: str, *, person: bool, doubtful: bool = False) -> str:
    """Name who rated, with what must not be left out of a sentence about its verdicts."""
    return f"{'The person' if person else 'The judge'} {name}{f' ({DOUBT})' if doubtful else ''}"


class Rated(NamedTuple):
    """How one rater rated replies, each counted once: of several verdicts on one, the middle one stands for it.

    Of `n` replies in `conversations`, `valued` have a verdict. `good` stand at the best levels, `bad` at the `worst` ones
    and `lowest` of these at the very worst; `feared` would be bad were every missing verdict the worst there is. `times`
    is how often a reply was rated, at least and at most.
    """

    n: int
    conversations: int
    valued: int
    times: tuple[int, int]
    good: int
    bad: int
    lowest: int
    feared: int
    best: tuple[Value, ...]
    worst: tuple[Value, ...]


def rated(who: str, counts: Rated, mean: Score, what: str, scale: str) -> str:
    """Say how one rater rated replies.

    Args:
        who: rated, as `rater` names it.
        counts: of the replies.
        mean: of its verdicts.
        what: the replies are replies to.
        scale: from where to where the levels go.
    """
    c = counts
    if not c.valued:
        return f"{who} gave no usable verdict on its replies{what}, so nothing can be said of them."
    some = (
        plural(c.n, "reply", "replies")
        if c.valued == c.n
        else f"{count(c.valued)} of {plural(c.n, 'reply', 'replies')}"
    )
    within = "" if c.n == c.conversations else f" in {plural(c.conversations, 'conversation')}"
    least, most = c.times
    often = f", each {'' if least == most else 'up to '}{count(most)} times" if most > 1 else ""
    middle = ", the middle verdict counting" if most > 1 else ""
    share = percent(c.bad / c.valued)
    if c.feared < c.n:
        share += at_most(clopper_pearson(c.feared / c.n * c.conversations, c.conversations).high)
    how_many = "none" if not c.lowest else "all" if c.lowest == c.bad > 1 else count(c.lowest)
    lowest = f", {how_many} of them at {c.worst[0]}" if len(c.worst) > 1 and c.bad else ""
    lost = (
        f"; if every verdict that is missing were a {c.worst[0]}, it would be {count(c.feared)} of {count(c.n)} ({percent(c.feared / c.n)})"
        if mean.missing
        else ""
    )
    return (
        f"{who} rated {some}{what}{within}{often}{middle}: {count(c.good) if c.good else 'none'} at {_range(c.best)}, and "
        f"{count(c.bad) if c.bad else 'none'} at {_range(c.worst)} ({share}){lowest}{lost}; the mean is {decimal(mean.value, 1)} on the "
        f"scale from {scale}{_bounds(mean)}."
    )


def profile(who: str, means: Sequence[Score], criteria: Mapping[str, Criterion], what: str) -> str:
    """Say what one rater thought of replies on many criteria: the worst and the best mean, and the n behind them.

    Criteria of different scales are compared by how far their means stand on the way from worst to best.
    """
    usable = sorted(
        ((share_of(criteria[s.criterion], s.value), s.value, s.criterion) for s in means if s.value is not None),
        key=lambda found: (found[0], found[2]),
    )
    if not usable:
        return f"{who} gave no usable verdict on its replies{what}, so nothing can be said of them."
    n, lost = max(s.subjects for s in means), sum(s.missing for s in means)
    gone = f"; {plural(lost, 'verdict')} could not be used" if lost else ""
    several = len({criteria[s.criterion].worst_first for s in means}) > 1
    ends = [
        f"{decimal(mean, 1)} ({words(name)}{f', {scale[0]} to {scale[-1]}' if several else ''})"
        for _, mean, name in (usable[0], usable[-1])
        for scale in [criteria[name].worst_first]
    ]
    if len(usable) == 1:
        return f"{who} rated {plural(n, 'reply', 'replies')}{what} on {words(usable[0][2])}: mean {decimal(usable[0][1], 1)}{gone}."
    return f"{who} rated {plural(n, 'reply', 'replies')}{what} on {len(usable)} criteria: means go from {ends[0]} to {ends[1]}{gone}."


def headline(who: str, scores: Sequence[Score]) -> str:
    """Say what a measure is that has no words of its own: on one criterion or several, by one rater.

    Args:
        who: rated, in the middle of a sentence; empty where the model answered itself.
        scores: of one metric, one for each criterion.
    """
    first, by = scores[0], f", as {who} has it," if who else ""
    what = (
        plural(max(s.subjects for s in scores), "reply", "replies")
        if who
        else plural(max(s.n for s in scores), "answer")
    )
    over = f"{what} in {plural(max(s.clusters for s in scores), 'conversation')}"
    better = f"{first.better} is better" if first.better else ""
    known = [
        f"{write(s.value, s.unit)} on {words(s.criterion)}{f' ({interval(s.low, s.high, s.unit)})' if s.low is not None else ''}"
        for s in scores
        if s.value is not None
    ]
    unknown = [words(s.criterion) for s in scores if s.value is None]
    cannot = f"cannot be worked out on {named(unknown, most=9)}" if unknown else ""
    if not known:
        return f"Its {words(first.name)}{by} {cannot}, from {over}."
    lost = sum(s.missing for s in scores)
    gone = f"; {plural(lost, 'verdict' if who else 'answer')} could not be used" if lost else ""
    cannot = f", and {cannot}" if cannot else ""
    return f"Its {words(first.name)}{by} is {named(known, most=9)}{cannot}, over {over}{f'; {better}' if better else ''}{gone}."


def _range(levels: tuple[Value, ...]) -> str:
    """Name levels from the lowest number up; of more than two, the ends."""
    ordered = sorted(levels, key=lambda level: (isinstance(level, str), level))
    return f"{ordered[0]}{' or ' if len(levels) == 2 else ' to '}{ordered[-1]}" if len(levels) > 1 else str(levels[0])


def _bounds(mean: Score) -> str:
    """Say what the missing verdicts could do to a mean."""
    if not mean.missing:
        return ""
    worst, best = (decimal(end, 1) for end in sorted([mean.worst or 0.0, mean.best or 0.0]))
    return "" if worst == best else f" ({worst} to {best} if the missing verdicts were all the worst or the best)"


def lowest_categories(means: Mapping[str, Sequence[Score]], judges: Collection[str]) -> list[str]:
    """Name, for each rater's means per category, the category that it rated lowest; say it once if several agree.

    Args:
        means: rater → its means, one for each category.
        judges: everybody who judged these replies, those whose means are not shown among them.
    """
    found: dict[tuple[str, ...], list[tuple[str, list[Score], float]]] = {}
    for name, scores in means.items():
        worst, value = lowest(scores)
        if worst:
            found.setdefault(tuple(words(s.slice) for s in worst), []).append((name, worst, value))
    sentences = []
    for categories, raters in found.items():
        where = f"replies to {named(categories)}"
        n = count(max(s.subjects for _, worst, _ in raters for s in worst))
        values = sorted({decimal(value, 1) for _, _, value in raters})
        mean = f"mean {values[0]}" if len(values) == 1 else f"means {values[0]} to {values[-1]}"
        each = " each" if len(categories) > 1 else ""
        names = [name for name, *_ in raters]
        alone = {*names} == {*means} == {*judges} and len(names) == 1
        by = "" if alone else f" by {_everybody(names, judges)}"
        sentences.append(f"Rated lowest{by} were {where} ({mean}, n {n}{each}).")
    return sentences


def _everybody(names: Sequence[str], judges: Collection[str]) -> str:
    """Name some raters; where these are all the judges there are, and several, count them."""
    people = [name for name in names if name not in judges]
    if len(judges) < 2 or not {*judges} <= {*names}:
        return named(names, most=9)
    every = "both judges" if len(judges) == 2 else f"all {count(len(judges))} judges"
    return named([*people, every], most=9)


def small(clusters: int) -> str:
    """Warn where few conversations stand behind the numbers."""
    if clusters >= SMALL:
        return ""
    if clusters == 1:
        return "One conversation stands behind this; it is an example, not a measurement."
    return f"Only {clusters} conversations stand behind this, so every share and mean here is rough."
