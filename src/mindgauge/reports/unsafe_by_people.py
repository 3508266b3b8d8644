"""What people read and called unsafe, whichever replies they read, and what each judge made of the same: counts and sentences.

A dialogue is a sample that was put to a model, however often it was answered: it counts once, as unsafe where one of the
replies to it is.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import drawn, drawn_part
from mindgauge.benchmarks.metrics.metric_sentences import with_least, with_most
from mindgauge.records.english import named
from mindgauge.records.rounding import count, interval, percent, plural
from mindgauge.reports import texts
from mindgauge.reports.runs import GOLD, PERSON, RULE, every_score_of
from mindgauge.stats import sampling
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mindgauge.benchmarks import Benchmark
    from mindgauge.reports.content import System
    from mindgauge.reports.runs import OpenRun, Section
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
    among = (pl.col(f"tag.{tag}").is_in(list(values)).fill_null(value=False) for tag, values in tags)
    inside = pl.all_horizontal(pl.lit(value=True), *among)
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


class Place(NamedTuple):
    """One benchmark in one run, and the systems that the run measured on it."""

    run: OpenRun
    section: Section
    systems: list[System]
    verdicts: UnsafeVerdicts


class Part(NamedTuple):
    """One benchmark in all runs of a report."""

    benchmark: Benchmark
    title: str
    places: list[Place]

    @property
    def systems(self) -> list[System]:
        """All systems, in their order."""
        return [system for place in self.places for system in place.systems]

    @property
    def counts_replies(self) -> bool:
        """Whether its replies can be called unsafe one by one; else its own measures stand for it."""
        section = self.places[0].section
        return bool(section.unsafe_criteria) and not section.holds_dialogues

    @property
    def lead_group(self) -> str:
        """The group that is looked at first: the benchmark's, or all where nothing in these runs is in it."""
        group = self.benchmark.lead_group
        return group if any(place.section.lead_group == group for place in self.places) else "all"

    @property
    def subjects(self) -> str:
        """What the dialogues that are looked at first are called, of several."""
        group = self.lead_group
        title = self.benchmark.group_titles.get(group, f"dialogues ({group})")
        return "dialogues" if group == "all" else title


def benchmark_parts(runs: Sequence[OpenRun], systems: Sequence[System], titles: dict[str, str]) -> list[Part]:
    """Put what runs hold of each benchmark together.

    Args:
        runs: of the report.
        systems: that they measured.
        titles: what each benchmark is called.
    """
    by_benchmark: dict[str, Part] = {}
    for number, run in enumerate(runs):
        for section in run.sections:
            benchmark = section.benchmark
            part = by_benchmark.setdefault(
                benchmark.name, Part(benchmark, titles.get(benchmark.name, benchmark.name), [])
            )
            own = [s for s in systems if s.run == number and _measured(run, section, s)]
            part.places.append(Place(run, section, own, UnsafeVerdicts(run, section)))
    return [part for part in by_benchmark.values() if part.systems]


def _measured(run: OpenRun, section: Section, system: System) -> bool:
    """Whether a system replied, or answered, in a benchmark."""
    if section.benchmark.closed:
        return any(True for _ in every_score_of(run, system, section))
    return bool((section.replies["model"] == system.model).any())


class DialogueTally(NamedTuple):
    """Some dialogues in the eyes of a rater, or of people together.

    Of `n` dialogues of which a reply was to be rated, `valued` have a verdict (none is missing, or one is unsafe), and
    `unsafe` are unsafe. They stand for so many `conversations`, which is what exact bounds count.
    """

    n: int
    valued: int
    unsafe: int
    conversations: int

    @property
    def share(self) -> float | None:
        """The share of the dialogues with a verdict that is unsafe."""
        return self.unsafe / self.valued if self.valued else None

    @property
    def bounds(self) -> Interval:
        """The exact 95 % interval of the share, n being conversations."""
        share = self.share
        if share is None:
            return clopper_pearson(0, 0)
        return clopper_pearson(share * self.conversations, self.conversations)

    @property
    def feared(self) -> float | None:
        """How large the share could be, every missing verdict being unsafe."""
        if not self.n:
            return None
        share = (self.unsafe + self.n - self.valued) / self.n
        return clopper_pearson(share * self.conversations, self.conversations).high


class UnsafeVerdicts:
    """Who called which replies of one benchmark in one run unsafe; columns subject, unsafe (null: no usable verdict)."""

    def __init__(self, run: OpenRun, section: Section) -> None:
        self.run, self.section = run, section

    @property
    def people(self) -> pl.DataFrame:
        """What people together say of the replies that they read."""
        return self.section.unsafe

    @cached_property
    def judges(self) -> dict[str, pl.DataFrame]:
        """What each judge says of the replies that it was asked about; none that cannot be used or agrees too little with people."""
        criteria = self.section.unsafe_criteria
        silent = {name: texts.withheld_judges(self.run, self.section, name) for name in criteria}
        rows = self.section.judged
        raters = [rater for rater, kind in self.section.judges() if kind not in {PERSON, RULE}]
        verdicts = {}
        for rater in raters:
            usable = {name: criterion for name, criterion in criteria.items() if rater not in silent[name]}
            rater_rows = rows.filter(pl.col("rater") == rater, pl.col("criterion").is_in(list(usable)))
            if len(rater_rows):
                verdicts[rater] = drawn_part.anywhere(rater_rows, usable)
        return verdicts

    def dialogues(self, model: str, group: str = "all") -> int:
        """Count the dialogues of a group that were put to a model, those left out to whose replies the rubric does not apply."""
        applicable = self._replies(model, group).join(self.section.outside.lazy(), on="subject", how="anti")
        return int(applicable.select(pl.col("sample").n_unique()).collect().item())

    def _replies(self, model: str, group: str) -> pl.LazyFrame:
        """Return the replies of a model to a group's samples, those that never came among them: subject, sample, cluster."""
        tags = self.section.benchmark.groups.get(group, {}).items()
        inside = [pl.col(f"tag.{tag}").is_in(list(values)) for tag, values in tags]
        return self._asked_for.lazy().filter(pl.col("model") == model, *inside).select("subject", "sample", "cluster")

    @cached_property
    def _asked_for(self) -> pl.DataFrame:
        """Every reply that came, and every other that was to be rated."""
        came = self.section.replies
        rated = self.section.ratings.lazy().filter(pl.col("rater_kind") != GOLD)
        missing = (
            rated.select(name for name in came.columns if name in self.section.ratings.columns)
            .join(came.lazy().select("subject"), on="subject", how="anti")
            .unique("subject", keep="first", maintain_order=True)
        )
        return pl.concat([came, missing.collect()], how="diagonal")

    def tally(
        self, verdicts: pl.DataFrame, model: str, group: str = "all", among: pl.DataFrame | None = None
    ) -> DialogueTally:
        """Count the dialogues of a model.

        Args:
            verdicts: of one rater, or of people together.
            model: whose replies.
            group: of the benchmark's groups.
            among: only the replies with such a `subject`; all if not given.
        """
        replies = self._replies(model, group)
        if among is not None:
            replies = replies.join(among.lazy(), on="subject", how="semi")
        rated = replies.join(verdicts.lazy(), on="subject")
        is_unsafe = pl.col("unsafe").any()
        is_valued = is_unsafe | pl.col("unsafe").is_not_null().all()
        dialogues = rated.group_by("sample").agg(pl.col("cluster").first(), unsafe=is_unsafe, valued=is_valued)
        counted = dialogues.select(pl.len(), pl.col("valued", "unsafe").sum(), pl.col("cluster").n_unique())
        return DialogueTally(*counted.collect().row(0))
