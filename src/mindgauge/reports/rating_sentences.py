"""Sentences that follow from one number, by rule, and from what people called unsafe: whole numbers, n always, the bound that matters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import drawn, unsafe_replies
from mindgauge.analysis import unsafe_replies as stated
from mindgauge.benchmarks.metrics import label_of
from mindgauge.benchmarks.metrics.sentences import FEW, SMALL, at_least, at_most, lowest
from mindgauge.records.english import named, raised, words
from mindgauge.records.rounding import count, decimal, interval, percent, plural, write
from mindgauge.records.rubric.criterion import share_of
from mindgauge.reports.runs import PERSON, RULE
from mindgauge.reports.standing import DOUBT
from mindgauge.stats import sampling
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from mindgauge.analysis.score import Score
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion
    from mindgauge.reports.runs import Section
    from mindgauge.stats.interval import Interval


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


def rated(rater: str, counts: RaterTally, mean: Score, scope: str, scale: str) -> str:
    """Say how one rater rated replies.

    Args:
        rater: the rater's name, as a sentence begins with it.
        counts: of the replies.
        mean: of its verdicts.
        scope: the messages that the replies answer, as the end of a phrase.
        scale: from where to where the levels go.
    """
    c = counts
    if not c.valued:
        return f"{rater} gave no usable verdict on its replies{scope}, so nothing can be said of them."
    amount = (
        plural(c.n, "reply", "replies")
        if c.valued == c.n
        else f"{count(c.valued)} of {plural(c.n, 'reply', 'replies')}"
    )
    context = "" if c.n == c.conversations else f" in {plural(c.conversations, 'conversation')}"
    fewest, largest = c.times
    often = f", each {'' if fewest == largest else 'up to '}{count(largest)} times" if largest > 1 else ""
    middle = ", the middle verdict counting" if largest > 1 else ""
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
        f"{rater} rated {amount}{scope}{context}{often}{middle}: {count(c.good) if c.good else 'none'} at {_range(c.best)}, and "
        f"{count(c.bad) if c.bad else 'none'} at {_range(c.worst)} ({share}){lowest}{lost}; the mean is {decimal(mean.value, 1)} on the "
        f"scale from {scale}{_bounds(mean)}."
    )


def profile(rater: str, means: Sequence[Score], criteria: Mapping[str, Criterion], scope: str) -> str:
    """Say what one rater thought of replies on many criteria: the worst and the best mean, and the n behind them.

    Criteria of different scales are compared by how far their means stand on the way from worst to best.
    """
    usable = sorted(
        ((share_of(criteria[s.criterion], s.value), s.value, s.criterion) for s in means if s.value is not None),
        key=lambda entry: (entry[0], entry[2]),
    )
    if not usable:
        return f"{rater} gave no usable verdict on its replies{scope}, so nothing can be said of them."
    n, lost = max(s.subjects for s in means), sum(s.missing for s in means)
    lost_note = f"; {plural(lost, 'verdict')} could not be used" if lost else ""
    mixed_scales = len({criteria[s.criterion].worst_first for s in means}) > 1
    ends = [
        f"{decimal(mean, 1)} ({words(name)}{f', {scale[0]} to {scale[-1]}' if mixed_scales else ''})"
        for _, mean, name in (usable[0], usable[-1])
        for scale in [criteria[name].worst_first]
    ]
    if len(usable) == 1:
        return f"{rater} rated {plural(n, 'reply', 'replies')}{scope} on {words(usable[0][2])}: mean {decimal(usable[0][1], 1)}{lost_note}."
    return f"{rater} rated {plural(n, 'reply', 'replies')}{scope} on {len(usable)} criteria: means go from {ends[0]} to {ends[1]}{lost_note}."


def headline(rater: str, scores: Sequence[Score], title: str = "") -> str:
    """Say what a measure is that has no sentence of its own: on one criterion or several, by one rater.

    Args:
        rater: the rater's name, in the middle of a sentence; empty where the model answered itself.
        scores: of one metric, one for each criterion.
        title: of the metric, as `MetricWords` has it; its name if empty, or where it names one criterion of several.
    """
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
    cannot = f"cannot be worked out on {named(unknown, limit=9)}" if unknown else ""
    if not values:
        return f"{subject}{source} {cannot}, from {basis}."
    lost = sum(s.missing for s in scores)
    lost_note = f"; {plural(lost, 'verdict' if rater else 'answer')} could not be used" if lost else ""
    cannot = f", and {cannot}" if cannot else ""
    return f"{subject}{source} is {named(values, limit=9)}{cannot}, over {basis}{f'; {better}' if better else ''}{lost_note}."


def measured(title: str, raters: Sequence[tuple[str, Score]]) -> str:
    """Say what one measure of one criterion is by each rater.

    Args:
        title: of the measure on the criterion.
        raters: of each, the name, in the middle of a sentence, and the score.
    """
    values = [
        f"{write(s.value, s.unit)} by {name} ({f'{interval(s.low, s.high, s.unit)}, ' if s.low is not None else ''}"
        f"of {plural(s.subjects, 'reply', 'replies')}{f', {count(s.missing)} without a verdict' if s.missing else ''})"
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
        sentences.append(f"Rated lowest{source} were {place} ({mean}, n {n}{per_category}).")
    return sentences


def _everybody(names: Sequence[str], judges: Collection[str]) -> str:
    """Name some raters; where these are all the judges there are, and several, count them."""
    people = [name for name in names if name not in judges]
    if len(judges) < 2 or not {*judges} <= {*names}:
        return named(names, limit=9)
    all_judges = "both judges" if len(judges) == 2 else f"all {count(len(judges))} judges"
    return named([*people, all_judges], limit=9)


def small(clusters: int) -> str:
    """Warn where few conversations stand behind the numbers."""
    if clusters >= SMALL:
        return ""
    if clusters == 1:
        return "One conversation stands behind this; it is an example, not a measurement."
    return f"Only {clusters} conversations stand behind this, so every share and mean here is rough."


# What people read and called unsafe, whichever replies they read, and what each judge made of the same replies: counts and sentences.


class Called(NamedTuple):
    """What people made of some replies.

    Of the `n` replies that could be called unsafe at all, people were given `asked`, from `conversations`; they read, and
    have a value of, `read`, and together call `unsafe` of them that. `selected`: what they were given was chosen by what
    a judge thought of it. `stands_for`: the share of all that is unsafe, with its interval, where it was drawn with known
    probabilities.
    """

    people: list[str]
    n: int
    asked: int
    conversations: int
    read: int
    unsafe: int
    selected: bool
    stands_for: Interval | None = None


class UnsafeRecall(NamedTuple):
    """How many of the `n` replies that people call unsafe a judge, which was asked about them, calls unsafe too.

    `stands_for`: the share that it finds of all unsafe ones, where those that people read were drawn with known probabilities.
    """

    judge: str
    n: int
    conversations: int
    found: int
    stands_for: Interval | None = None


def criteria(section: Section) -> dict[str, Criterion]:
    """Return the criteria with unsafe levels, gates among them; none of a closed question, which is about no reply."""
    return {} if section.benchmark.closed else {name: c for name, c in section.criteria.items() if c.unsafe}


def called(section: Section, model: str = "", group: str = "all", *, outside: bool = False) -> Called | None:
    """Count what people read and called unsafe; None where no person rated anything that could be.

    Args:
        section: of a run.
        model: whose replies; all if not given.
        group: of the benchmark's groups.
        outside: of the replies that are not in the group.
    """
    people = section.by_people.filter(pl.col("criterion").is_in(list(criteria(section))))
    names = people["rater"].unique().sort().to_list()
    if not names:
        return None
    tags = section.benchmark.groups.get(group, {}).items()
    inside = pl.all_horizontal(pl.lit(value=True), *(_among(tag, values) for tag, values in tags))
    of_model = [pl.col("model") == model] if model else []
    replies = _of_concern(section).filter(~inside if outside else inside, *of_model)
    assignment = people.group_by("subject").agg(pl.col("selection", *drawn.COLUMNS).first())
    assigned = replies.join(assignment, on="subject")
    read = assigned.join(section.unsafe, on="subject")
    chosen = not assigned["selection"].is_null().all()
    return Called(
        names, len(replies), len(assigned), assigned["cluster"].n_unique(), len(read), int(read["unsafe"].sum()), chosen,
        _weighted(assigned.join(section.unsafe, on="subject", how="left", maintain_order="left"), "unsafe"),
    )  # fmt: skip


def _weighted(subjects: pl.DataFrame, event: str) -> Interval | None:
    """Return the weighted share of subjects with an event (null: says nothing); None where they were not drawn."""
    if not drawn.is_drawn(subjects):
        return None
    return sampling.share(subjects[event].cast(pl.Float64).fill_null(float("nan")).to_numpy(), drawn.sample(subjects))


def _of_concern(section: Section) -> pl.DataFrame:
    """Return the replies that could be called unsafe, rated or not: those of which nobody says that nothing applies."""
    rated = section.ratings.filter(pl.col("criterion").is_in(list(criteria(section))))
    outside = rated.group_by("subject").agg((pl.col("status") == "not_applicable").all()).filter("status")
    return section.replies.join(outside, on="subject", how="anti")


def _among(tag: str, values: Sequence[str]) -> pl.Expr:
    return pl.col(f"tag.{tag}").is_in(list(values)).fill_null(value=False)


def found_by(section: Section) -> Iterator[UnsafeRecall]:
    """Count, for each judge, the replies that people call unsafe and that it was asked about, and those it calls so too.

    A verdict that is missing finds nothing. What a released review set states of a judge counts where the verdicts
    themselves are not there.
    """
    called_unsafe = section.unsafe.filter("unsafe").join(section.replies, on="subject")
    definitions = criteria(section)
    people = section.by_people.filter(pl.col("criterion").is_in(list(definitions)))
    assignment = people.group_by("subject", maintain_order=True).agg(pl.col(*drawn.COLUMNS).first())
    rated = judged(section).filter(pl.col("subject").is_in(called_unsafe["subject"].implode()))
    for judge in rated["rater"].unique().sort():
        judge_rows = rated.filter(pl.col("rater") == judge, pl.col("criterion").is_in(list(definitions)))
        assigned = called_unsafe.filter(pl.col("subject").is_in(judge_rows["subject"].implode()))
        if len(assigned):
            verdicts = unsafe_replies.anywhere(judge_rows, definitions)
            detected = int(verdicts["unsafe"].sum())
            detections = (
                assigned.select("subject")
                .join(verdicts, on="subject", how="left")
                .select("subject", found=pl.col("unsafe").fill_null(value=False))
            )
            read = assignment.join(section.replies.select("subject", "cluster"), on="subject").join(
                detections, on="subject", how="left", maintain_order="left"
            )
            yield UnsafeRecall(judge, len(assigned), assigned["cluster"].n_unique(), detected, _weighted(read, "found"))


def judged(section: Section) -> pl.DataFrame:
    """Return judges' verdicts, those that are missing and those that are only stated among them."""
    columns = ["subject", "criterion", "rater", "status", "value"]
    own = section.ratings.filter(
        ~pl.col("rater_kind").is_in([PERSON, RULE, "gold"]), pl.col("status") != "not_applicable"
    ).select(columns)  # fmt: skip
    people = section.by_people["rater"].unique().implode()
    absent = stated.standing_in(section.stated.filter(~pl.col("rater").is_in(people)), own)
    return pl.concat([own, absent.with_columns(status=pl.lit("ok")).select(columns)])


CHOSEN = "chosen for what a judge thought of them, "
DRAWN = "drawn with known probabilities, "


def _chosen(counts: Called) -> str:
    return DRAWN if counts.stands_for is not None else CHOSEN


def _others(counts: Called) -> str:
    """Say what all are like, where what people read stands for them; otherwise that nobody knows."""
    share = counts.stands_for
    if share is None or share.value is None:
        return "whether the others are unsafe is not known"
    return f"by what each stands for, {percent(share.value)} of all are ({interval(share.low, share.high, 'share')})"


def of_system(counts: Called, scope: str, owner: str = "its") -> str:
    """Say what people read and called unsafe of a system's replies, and the floor that follows.

    Args:
        counts: what they made of these replies.
        scope: the messages that the replies answer, as the end of a phrase.
        owner: possessive of the system that wrote the replies.
    """
    c = counts
    if not c.n:
        return ""
    if not c.read:
        return f"No person read any of {owner} {plural(c.n, 'reply', 'replies')}{scope}."
    people, bad = f"People ({named(c.people)})", count(c.unsafe) if c.unsafe else "none"
    if c.read == c.n:
        extent = (
            f"all {count(c.n)} of {owner} replies"
            if c.n > 1
            else f"{owner} only reply".replace("other only", "only other")
        )
        chosen = f", {_chosen(c).removesuffix(', ')}," if c.selected else ""
        return f"{people} read {extent}{scope}{chosen} and called {bad} unsafe ({_share(c)})."
    reading = f"{people} read {count(c.read)} of {owner} {plural(c.n, 'reply', 'replies')}{scope}"
    chosen = f", {_chosen(c)}" if c.selected else " "
    share = "" if c.selected else f" ({_share(c)})"
    return f"{reading}{chosen}and called {bad} unsafe{share}{_floor(c)}; {_others(c)}."


def _share(counts: Called) -> str:
    """Write the share that is unsafe of what was read, with what it could be at most; conversations are n.

    A reply that people were given and have no value of counts as unsafe there.
    """
    c = counts
    feared = (c.unsafe + c.asked - c.read) / c.asked
    high = clopper_pearson(feared * c.conversations, c.conversations).high
    return percent(c.unsafe / c.read) + (at_most(high) if c.unsafe < c.asked else "")


def of_all(total: Called, parts: Sequence[tuple[str, Called]], scope: str) -> str:
    """Say the same of several systems together, and which replies are whose.

    Args:
        total: the counts over all systems.
        parts: each system's, by its label.
        scope: the benchmark of the replies, as the end of a phrase; empty where it is clear.
    """
    if not total.read:
        return ""
    by_system = [f"{count(c.unsafe)} of {count(c.read)} by {label}" for label, c in parts if c.read]
    breakdown = f" ({named(by_system, limit=12)})" if total.unsafe and len(by_system) > 1 else ""
    extent = (
        f"all {count(total.n)} replies here{scope}"
        if total.read == total.n
        else f"{count(total.read)} of the {count(total.n)} replies here{scope}"
    )
    chosen = f", {_chosen(total)}" if total.selected else " "
    rest = "" if total.read == total.n else f"{_floor(total)}; {_others(total)}"
    bad = count(total.unsafe) if total.unsafe else "none"
    return f"People ({named(total.people)}) read {extent}{chosen}and called {bad} of them unsafe{breakdown}{rest}."


def _floor(counts: Called) -> str:
    """Say what follows for all replies from what was read of them."""
    c = counts
    if not c.unsafe:
        return ""
    return f", so at least {count(c.unsafe)} of the {count(c.n)} {'is' if c.unsafe == 1 else 'are'} ({percent(c.unsafe / c.n)})"


def found(unsafe: int, by_judges: Sequence[UnsafeRecall]) -> Iterator[str]:
    """Say how many of the replies that people call unsafe each judge called so, too: those that missed most first."""
    replies = plural(unsafe, "reply", "replies")
    for f in sorted(by_judges, key=lambda f: (f.found / f.n, f.judge)):
        share = f.found / f.n
        low = clopper_pearson(share * f.conversations, f.conversations).low
        detected = "none" if not f.found else "all" if f.found == f.n > 1 else count(f.found)
        assigned = "" if f.n == unsafe else f" was asked about {count(f.n)} and"
        bound = f"{percent(share)}{at_least(low) if f.found else ''}"
        if f.stands_for is not None and f.stands_for.value is not None:
            stands = f.stands_for
            bound = f"by what each stands for, {percent(stands.value)}{at_least(stands.low) if f.found else ''}"
        yield f"Of the {replies} that people call unsafe, the judge {f.judge}{assigned} called {detected} unsafe ({bound})."
