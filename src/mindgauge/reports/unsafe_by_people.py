"""What people read and called unsafe, whichever replies they read, and what each judge made of the same: counts and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import drawn, drawn_part
from mindgauge.benchmarks.metrics.metric_sentences import with_least, with_most
from mindgauge.records.english import named
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.stats import sampling
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.reports.runs import Section
    from mindgauge.stats.interval import Interval


class Called(NamedTuple):
    """What people made of some replies.

    Of the `n` replies that could be called unsafe at all, people were given `asked`, from `conversations`; they read, and
    have a value of, `read`, and together call `unsafe` of them that. `selected`: what they were given was chosen by what
    a judge thought of it. `stands_for`: the share of all that is unsafe, with its interval, where it was drawn with known
    probabilities. `exist`: how many replies there are, those to which the rubric does not apply among them.
    """

    people: list[str]
    n: int
    asked: int
    conversations: int
    read: int
    unsafe: int
    selected: bool
    stands_for: Interval | None = None
    exist: int = 0

    @property
    def kind(self) -> str:
        """What the `n` replies are, before the noun: applicable, where others exist too."""
        return "applicable " if self.exist > self.n else ""

    def replies(self) -> str:
        """Count the `n` replies."""
        return plural(self.n, f"{self.kind}reply", f"{self.kind}replies")


class UnsafeRecall(NamedTuple):
    """How many of the `n` replies that people call unsafe a judge, which was asked about them, calls unsafe too.

    `stands_for`: the share that it finds of all unsafe ones, where those that people read were drawn with known probabilities.
    """

    judge: str
    n: int
    conversations: int
    found: int
    stands_for: Interval | None = None

    @property
    def share(self) -> float:
        """What it finds: of all unsafe ones, where that is known, else of those that were read."""
        of_all = None if self.stands_for is None else self.stands_for.value
        return self.found / self.n if of_all is None else of_all


def called(section: Section, model: str = "", group: str = "all", *, outside: bool = False) -> Called | None:
    """Count what people read and called unsafe; None where no person rated anything that could be.

    Args:
        section: of a run.
        model: whose replies; all if not given.
        group: of the benchmark's groups.
        outside: of the replies that are not in the group.
    """
    people = section.by_people.filter(pl.col("criterion").is_in(list(section.unsafe_criteria)))
    names = people["rater"].unique().sort().to_list()
    if not names:
        return None
    tags = section.benchmark.groups.get(group, {}).items()
    inside = pl.all_horizontal(pl.lit(value=True), *(_among(tag, values) for tag, values in tags))
    of_model = [pl.col("model") == model] if model else []
    chosen_rows = (~inside if outside else inside, *of_model)
    replies = section.of_concern.filter(*chosen_rows)
    assignment = people.group_by("subject").agg(pl.col("selection", *drawn.COLUMNS).first())
    assigned = replies.join(assignment, on="subject")
    read = assigned.join(section.unsafe, on="subject")
    chosen = not assigned["selection"].is_null().all()
    return Called(
        names, len(replies), len(assigned), assigned["cluster"].n_unique(), len(read), int(read["unsafe"].sum()), chosen,
        _weighted(assigned.join(section.unsafe, on="subject", how="left", maintain_order="left"), "unsafe"),
        len(section.replies.filter(*chosen_rows)),
    )  # fmt: skip


def _weighted(subjects: pl.DataFrame, event: str) -> Interval | None:
    """Return the weighted share of subjects with an event (null: says nothing); None where they were not drawn."""
    if not drawn.is_drawn(subjects):
        return None
    return sampling.share(subjects[event].cast(pl.Float64).fill_null(float("nan")).to_numpy(), drawn.sample(subjects))


def _among(tag: str, values: Sequence[str]) -> pl.Expr:
    return pl.col(f"tag.{tag}").is_in(list(values)).fill_null(value=False)


def found_by(section: Section) -> Iterator[UnsafeRecall]:
    """Count, for each judge, the replies that people call unsafe and that it was asked about, and those it calls so too.

    A verdict that is missing finds nothing. What a released review set states of a judge counts where the verdicts
    themselves are not there.
    """
    called_unsafe = section.unsafe.filter("unsafe").join(section.replies, on="subject")
    definitions = section.unsafe_criteria
    people = section.by_people.filter(pl.col("criterion").is_in(list(definitions)))
    assignment = people.group_by("subject", maintain_order=True).agg(pl.col(*drawn.COLUMNS).first())
    rated = section.judged.filter(pl.col("subject").is_in(called_unsafe["subject"].implode()))
    for judge in rated["rater"].unique().sort():
        judge_rows = rated.filter(pl.col("rater") == judge, pl.col("criterion").is_in(list(definitions)))
        assigned = called_unsafe.filter(pl.col("subject").is_in(judge_rows["subject"].implode()))
        if len(assigned):
            verdicts = drawn_part.anywhere(judge_rows, definitions)
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


MANY = 12
"""Systems that a sentence names."""
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
        return f"No person read any of {owner} {c.replies()}{scope}."
    people, bad = f"People ({named(c.people)})", count(c.unsafe) if c.unsafe else "none"
    if c.read == c.n:
        extent = (
            f"all {count(c.n)} of {owner} {c.kind}replies"
            if c.n > 1
            else f"{owner} only {c.kind}reply".replace("other only", "only other")
        )
        chosen = f", {_chosen(c).removesuffix(', ')}," if c.selected else ""
        return f"{people} read {extent}{scope}{chosen} and called {bad} unsafe ({_share(c)})."
    reading = f"{people} read {count(c.read)} of {owner} {c.replies()}{scope}"
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
    return with_most(c.unsafe / c.read, high) if c.unsafe < c.asked else percent(c.unsafe / c.read)


def of_all(total: Called, parts: Sequence[tuple[str, Called]], scope: str) -> str:
    """Say the same of several systems together, and which replies are whose.

    Args:
        total: the counts over all systems.
        parts: each system's, by its label.
        scope: the benchmark of the replies, as the end of a phrase; empty where it is clear.
    """
    if not total.read:
        return ""
    read = [(label, c) for label, c in parts if c.read]
    if len(read) > MANY:  # the worst are named
        read.sort(key=lambda part: -part[1].unsafe / part[1].read)
    by_system = [f"{count(c.unsafe)} of {count(c.read)} by {label}" for label, c in read]
    breakdown = f" ({named(by_system, limit=MANY)})" if total.unsafe and len(by_system) > 1 else ""
    extent = (
        f"all {total.replies()} here{scope}"
        if total.read == total.n
        else f"{count(total.read)} of the {total.replies()} here{scope}"
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
    for f in sorted(by_judges, key=lambda f: (f.share, f.judge)):
        share = f.found / f.n
        low = clopper_pearson(share * f.conversations, f.conversations).low
        detected = "none" if not f.found else "all" if f.found == f.n > 1 else count(f.found)
        assigned = "" if f.n == unsafe else f" was asked about {count(f.n)} and"
        bound = with_least(share, low if f.found else None)
        if f.stands_for is not None and f.stands_for.value is not None:
            stands = f.stands_for
            bound = f"by what each stands for, {with_least(stands.value, stands.low if f.found else None)}"
        yield f"Of the {replies} that people call unsafe, the judge {f.judge}{assigned} called {detected} unsafe ({bound})."
