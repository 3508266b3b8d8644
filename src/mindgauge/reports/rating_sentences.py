"""Sentences that follow from one number, by rule: whole numbers, n always, the bound that matters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mindgauge.benchmarks.metrics import label_of
from mindgauge.benchmarks.metrics.metric_sentences import FEW, SMALL, lowest, with_most
from mindgauge.records.english import named, raised, words
from mindgauge.records.rounding import count, decimal, interval, percent, plural, write
from mindgauge.records.rubric.criterion import share_of
from mindgauge.reports.content import REPLIES
from mindgauge.reports.reliability_gate import DOUBT
from mindgauge.reports.score_tables import worst_first
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.content import Rated


MANY = 9
"""Values that a sentence names."""


def always_the_same(answers: Sequence[str], targets: Sequence[str]) -> str:
    """Warn where nearly all answers are one label though the messages differ: its few misses then mean nothing."""
    if len(answers) < FEW:
        return ""
    label, times = Counter(answers).most_common(1)[0]
    if times < 0.8 * len(answers) or targets.count(label) > 0.6 * len(targets):
        return ""
    return f"It answered {words(label)} in {count(times)} of {count(len(answers))} usable answers whatever was said, so what it got right shows little insight."


def rater(name: str, *, person: bool, doubtful: bool = False) -> str:
    """Name who rated, with what must not be left out of a sentence about its verdicts."""
    return f"{'The person' if person else 'The judge'} {name}{f' ({DOUBT})' if doubtful else ''}"


class RaterTally(NamedTuple):
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
    exist: int = 0
    """How many replies there are, those to which the criterion does not apply among them."""


def rated(
    rater: str, counts: RaterTally, mean: Score, scope: str, scale: str, noun: Rated = REPLIES, *, unused: bool = False
) -> str:
    """Say how one rater rated replies.

    Args:
        rater: the rater's name, as a sentence begins with it.
        counts: of the replies.
        mean: of its verdicts.
        scope: the messages that the replies answer, as the end of a phrase.
        scale: from where to where the levels go.
        noun: what is rated.
        unused: whether the rater does not use the worst level as people do, so that how many are there says nothing.
    """
    c = counts
    if not c.valued:
        return f"{rater} gave no usable verdict on its {noun.many}{scope}, so nothing can be said of them."
    amount = noun.counted(c.n) if c.valued == c.n else f"{count(c.valued)} of {noun.counted(c.n)}"
    context = "" if c.n == c.conversations else f" in {plural(c.conversations, noun.cluster)}"
    fewest, largest = c.times
    often = f", each {'' if fewest == largest else 'up to '}{count(largest)} times" if largest > 1 else ""
    middle = ", the middle verdict counting" if largest > 1 else ""
    share, feared = c.bad / c.valued, clopper_pearson(c.feared / c.n * c.conversations, c.conversations)
    amount_bad = with_most(share, feared.high) if c.feared < c.n else percent(share)
    how_many = "none" if not c.lowest else "all" if c.lowest == c.bad > 1 else count(c.lowest)
    lowest = f", {how_many} of them at {c.worst[0]}" if len(c.worst) > 1 and c.bad and not unused else ""
    lost = (
        f"; if every verdict that is missing were a {c.worst[0]}, it would be {count(c.feared)} of {count(c.n)} ({percent(c.feared / c.n)})"
        if mean.missing
        else ""
    )
    return (
        f"{rater} rated {amount}{scope}{context}{often}{middle}: {count(c.good) if c.good else 'none'} at {_range(c.best)}, and "
        f"{count(c.bad) if c.bad else 'none'} at {_range(c.worst)} ({amount_bad}){lowest}{lost}; the mean is {decimal(mean.value, 1)} on the "
        f"scale from {scale}{_bounds(mean)}."
    )


def profile(
    rater: str, means: Sequence[Score], criteria: Mapping[str, Criterion], scope: str, noun: Rated = REPLIES
) -> str:
    """Say what one rater thought of replies on many criteria: the worst and the best mean, and the n behind them.

    Criteria of different scales are compared by how far their means stand on the way from worst to best.
    """
    usable = sorted(
        ((share_of(criteria[s.criterion], s.value), s.value, s.criterion) for s in means if s.value is not None),
        key=lambda entry: (entry[0], entry[2]),
    )
    if not usable:
        return f"{rater} gave no usable verdict on its {noun.many}{scope}, so nothing can be said of them."
    n, lost = max(s.subjects for s in means), sum(s.missing for s in means)
    valued = max(s.n - s.missing for s in means)
    amount = noun.counted(n) if valued >= n else f"{count(valued)} of {noun.counted(n)}"
    lost_note = f"; {plural(lost, 'verdict')} could not be used" if lost else ""
    mixed_scales = len({criteria[s.criterion].worst_first for s in means}) > 1
    ends = [
        f"{decimal(mean, 1)} ({words(name)}{f', {scale[0]} to {scale[-1]}' if mixed_scales else ''})"
        for _, mean, name in (usable[0], usable[-1])
        for scale in [criteria[name].worst_first]
    ]
    if len(usable) == 1:
        return f"{rater} rated {amount}{scope} on {words(usable[0][2])}: mean {decimal(usable[0][1], 1)}{lost_note}."
    return f"{rater} rated {amount}{scope} on {len(usable)} criteria: means go from {ends[0]} to {ends[1]}{lost_note}."


def headline(rater: str, scores: Sequence[Score], title: str = "") -> str:
    """Say what a measure is that has no sentence of its own: on one criterion or several, by one rater.

    Args:
        rater: the rater's name, in the middle of a sentence; empty where the model answered itself.
        scores: of one metric, one for each criterion.
        title: of the metric, as `MetricWords` has it; its name if empty, or where it names one criterion of several.
    """
    if len(scores) > MANY:  # the worst are named
        scores = sorted(scores, key=worst_first)
    first, source = scores[0], f", as rated by {rater}," if rater else ""
    names_criterion = "{}" in title and len(scores) == 1
    titled = names_criterion or (title and "{}" not in title)
    subject = raised(title.format(words(first.criterion))) if titled else f"Its {words(first.name)}"
    amount = (
        plural(max(s.subjects for s in scores), "reply", "replies")
        if rater
        else plural(max(s.n for s in scores), "answer")
    )
    basis = f"{amount} in {plural(max(s.clusters for s in scores), 'conversation')}"
    better = f"{first.better} is better" if first.better else ""
    values = [
        f"{write(s.value, s.unit)}{'' if names_criterion else f' on {words(s.criterion)}'}{f' ({interval(s.low, s.high, s.unit)})' if s.low is not None else ''}"
        for s in scores
        if s.value is not None
    ]
    unknown = [words(s.criterion) for s in scores if s.value is None]
    cannot = f"cannot be worked out on {named(unknown, limit=MANY)}" if unknown else ""
    if not values:
        return f"{subject}{source} {cannot}, from {basis}."
    lost = sum(s.missing for s in scores)
    lost_note = f"; {plural(lost, 'verdict' if rater else 'answer')} could not be used" if lost else ""
    cannot = f", and {cannot}" if cannot else ""
    return f"{subject}{source} is {named(values, limit=MANY)}{cannot}, over {basis}{f'; {better}' if better else ''}{lost_note}."


def measured(title: str, raters: Sequence[tuple[str, Score]]) -> str:
    """Say what one measure of one criterion is by each rater.

    Args:
        title: of the measure on the criterion.
        raters: of each, the name, in the middle of a sentence, and the score.
    """
    values = [
        f"{write(s.value, s.unit)} by {name} ({f'{interval(s.low, s.high, s.unit)}, ' if s.low is not None else ''}"
        f"of {_counted(s)}{f', {count(s.missing)} without a verdict' if s.missing else ''})"
        for name, s in raters
    ]
    better = raters[0][1].better
    return f"{title[:1].upper()}{title[1:]} is {named(values, limit=9)}{f'; {better} is better' if better else ''}."


def classes(criterion: Criterion, by_rater: Mapping[str, Sequence[Score]]) -> str:
    """Say how often each rater gave each class, the most frequent first; those never given are left out.

    Args:
        criterion: whose levels are classes.
        by_rater: name of the rater, in the middle of a sentence → the shares of its classes.
    """
    labels = {f"share_{value}": words(str(value)) for value in criterion.values}
    parts = []
    for name, scores in by_rater.items():
        shares = sorted((s for s in scores if s.name in labels and s.value), key=lambda s: -(s.value or 0.0))
        listed = [f"{labels[s.name]} {percent(s.value)}" for s in shares]
        parts.append(f"{name} gave {named(listed, limit=9)} (of {plural(scores[0].subjects, 'reply', 'replies')})")
    return f"On {words(criterion.name)}, {'; '.join(parts)}."


def distribution(scores: Sequence[Score], *, targeted: bool) -> str:
    """Say how often each label was given on one criterion.

    Args:
        scores: the share of each label, in the rubric's order.
        targeted: whether it is known of any message what is right.
    """
    first = scores[0]
    on = f" on {words(first.criterion)}"
    usable = f"{count(first.n - first.missing)} usable of " if first.missing else ""
    basis = f"{usable}{plural(first.n, 'answer')} in {plural(first.clusters, 'conversation')}"
    unknown = "" if targeted else "; what is right is not known, since no message has a target"
    occurring = sorted((s for s in scores if s.value), key=lambda s: -(s.value or 0.0))
    shares = [
        f"{write(s.value, s.unit)} are “{_label(s)}”{f' ({interval(s.low, s.high, s.unit)})' if s.low is not None else ''}"
        for s in occurring
    ]
    never = [f"“{_label(s)}”" for s in scores if s.value == 0]
    if not shares:
        return f"None of {plural(first.n, 'answer')}{on} could be used."
    none = f", and none is {named(never, 'or', limit=9)}" if never else ""
    return f"Of {basis}{on}, {named(shares, limit=9)}{none}{unknown}."


def _label(score: Score) -> str:
    return words(label_of(score.name))


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
    by_categories: dict[tuple[str, ...], list[tuple[str, list[Score], float]]] = {}
    for name, scores in means.items():
        worst, value = lowest(scores)
        if worst:
            by_categories.setdefault(tuple(words(s.slice) for s in worst), []).append((name, worst, value))
    sentences = []
    for categories, raters in by_categories.items():
        place = f"replies to {named(categories)}"
        n = count(max(s.subjects for _, worst, _ in raters for s in worst))
        values = sorted({decimal(value, 1) for _, _, value in raters})
        mean = f"mean {values[0]}" if len(values) == 1 else f"means {values[0]} to {values[-1]}"
        per_category = " each" if len(categories) > 1 else ""
        names = [name for name, *_ in raters]
        alone = {*names} == {*means} == {*judges} and len(names) == 1
        source = "" if alone else f" by {_everybody(names, judges)}"
        sentences.append(f"Rated worst{source} were {place} ({mean}, n {n}{per_category}).")
    return sentences


def _everybody(names: Sequence[str], judges: Collection[str]) -> str:
    """Name some raters; where these are all the judges there are, and several, count them."""
    people = [name for name in names if name not in judges]
    if len(judges) < 2 or not {*judges} <= {*names}:
        return named(names, limit=9)
    all_judges = "both judges" if len(judges) == 2 else f"all {count(len(judges))} judges"
    return named([*people, all_judges], limit=9)


def small(clusters: int, noun: Rated = REPLIES) -> str:
    """Warn where few conversations, or personas, stand behind the numbers."""
    if clusters >= SMALL:
        return ""
    if clusters == 1:
        return f"One {noun.cluster} stands behind this; it is an example, not a measurement."
    return f"Only {clusters} {noun.cluster}s stand behind this, so every share and mean here is rough."


def _counted(score: Score) -> str:
    """Count what a score is of: replies, or the dialogues that several of them make."""
    return plural(score.n, "dialogue") if score.n < score.subjects else plural(score.subjects, "reply", "replies")
