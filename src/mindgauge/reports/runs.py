"""The runs a report is about, opened once: scores, manifest, and each benchmark's ratings as a table."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge.analysis import drawn_part, fidelity, frame, scoring_views
from mindgauge.analysis.score import Score, Scores, open_run, score
from mindgauge.benchmarks import Benchmark
from mindgauge.benchmarks.restricted import open_samples
from mindgauge.raters.window import Unit
from mindgauge.records.rubric import Criterion, Scale
from mindgauge.records.short_names import short_names
from mindgauge.reports.content import CLIENT_MESSAGES, DIALOGUES, REPLIES, TURNS, Rated, System
from mindgauge.reports.reliability_gate import ReliabilityGate, masked, standings
from mindgauge.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PERSON, MODEL, RULE, GOLD = "person", "model", "rule", "gold"
_RATED = {Unit.TURN.value: TURNS, Unit.DIALOGUE.value: DIALOGUES, Unit.CLIENT.value: CLIENT_MESSAGES}


class Section(msgspec.Struct, dict=True):
    """One benchmark in one run, with its ratings (columns as in `frame.ratings`)."""

    run: int
    benchmark: Benchmark
    ratings: pl.DataFrame
    replies: pl.DataFrame
    """Every reply that came (columns as in `frame.replies`); none of a closed question."""
    stated: pl.DataFrame
    """What released review sets state of judges (columns as in `stated.means`)."""
    open_texts: frozenset[str] | None = None
    """The samples whose texts may be shown; None for all."""

    def hides(self, sample: str) -> bool:
        """Whether a sample is told by its id alone."""
        return self.open_texts is not None and sample not in self.open_texts

    @property
    def holds_dialogues(self) -> bool:
        """Whether models hold dialogues of several turns here, of which each criterion rates turns, wholes or clients."""
        return self.benchmark.holds_dialogues

    def noun(self, criterion: str) -> Rated:
        """Return what a criterion rates."""
        known = self.scored.get(criterion)
        units = known.applies.get("unit", ()) if known is not None and self.holds_dialogues else ()
        return _RATED.get(units[0] if len(units) == 1 else "", REPLIES)

    @cached_property
    def lead_group(self) -> str:
        """The group that is looked at first: the benchmark's, or all where nothing here is in it, as where nobody says what messages show."""
        group = self.benchmark.lead_group
        tags = self.benchmark.groups.get(group, {}).items()
        inside = [pl.col(f"tag.{tag}").is_in(list(values)) for tag, values in tags]
        rows = (frame.lazy().filter(*inside).head(1).collect() for frame in (self.replies, self.ratings))
        return group if any(map(len, rows)) else "all"

    @cached_property
    def criteria(self) -> dict[str, Criterion]:
        """The benchmark's own criteria and their composites."""
        return frame.criteria(self.benchmark)

    @cached_property
    def scored(self) -> dict[str, Criterion]:
        """All that scores are on: these, several taken together, and what is read from replies by rule."""
        together = {name: self.benchmark.pooled_criterion(name) for name in self.benchmark.pooled}
        read = {reading.criterion.name: reading.criterion for reading in self.benchmark.readings}
        return {**together, **self.criteria, **read}

    @property
    def targeted(self) -> bool:
        """Whether it is known of any message what is right: else it goes first by how often each label was given (`analysis.scoring_views`)."""
        shares = {metric.name for metric in self.benchmark.distribution}
        return not shares or {*self.benchmark.headline[: len(shares)]} != shares

    @property
    def asked(self) -> pl.LazyFrame:
        """The ratings on the rubric's own criteria that are no gold labels; only what is taken of them is copied."""
        own = [c.name for c in self.benchmark.rubric.criteria]
        return self.ratings.lazy().filter(pl.col("criterion").is_in(own), pl.col("rater_kind") != GOLD)

    @cached_property
    def by_people(self) -> pl.DataFrame:
        """The ratings by people, on composites too."""
        return self.ratings.filter(pl.col("rater_kind") == PERSON)

    @cached_property
    def judged(self) -> pl.DataFrame:
        """Judges' verdicts, those that are missing and those that are only stated among them: subject, criterion, rater, status, value."""
        columns = ["subject", "criterion", "rater", "status", "value"]
        nobody = pl.col("rater_kind").is_in([PERSON, RULE, GOLD])
        own = self.ratings.filter(~nobody, pl.col("status") != "not_applicable").select(columns)
        people = self.by_people["rater"].unique().implode()
        absent = drawn_part.standing_in(self.stated.filter(~pl.col("rater").is_in(people)), own)
        return pl.concat([own, absent.with_columns(status=pl.lit("ok")).select(columns)])

    @property
    def ordinal(self) -> dict[str, Criterion]:
        """The criteria whose levels are numbers, worst to best."""
        ordered = (c for c in self.benchmark.rubric.criteria if c.scale is Scale.ORDINAL)
        return {c.name: c for c in ordered if all(isinstance(value, int) for value in c.values)}

    def judges(self) -> list[tuple[str, str]]:
        """Return who rated replies, with their kind: people first, then models, by name."""
        return [] if self.benchmark.closed else self.raters

    @cached_property
    def raters(self) -> list[tuple[str, str]]:
        """Who rated anything that was asked, with their kind: people first, then models, by name."""
        rows = self.asked.select("rater_kind", "rater").unique().collect().iter_rows()
        return [(rater, kind) for kind, rater in sorted(rows, key=lambda pair: (pair[0] != PERSON, pair[1]))]

    @cached_property
    def read_by_rules(self) -> bool:
        """Whether rules read replies, on the rubric's criteria or on others."""
        return bool((self.ratings["rater_kind"] == RULE).any())

    @property
    def unsafe_criteria(self) -> dict[str, Criterion]:
        """The criteria with unsafe levels, gates among them; none of a closed question or of reasoning, which are about no reply."""
        criteria = {} if self.benchmark.closed else self.criteria
        return {name: c for name, c in criteria.items() if c.unsafe and not c.of_reasoning}

    @cached_property
    def outside(self) -> pl.DataFrame:
        """The replies to which no criterion with unsafe levels applies: subject, status."""
        rated = self.ratings.filter(pl.col("criterion").is_in(list(self.unsafe_criteria)))
        return rated.group_by("subject").agg((pl.col("status") == "not_applicable").all()).filter("status")

    @cached_property
    def of_concern(self) -> pl.DataFrame:
        """The replies that could be called unsafe, rated or not: the applicable ones."""
        return self.replies.join(self.outside, on="subject", how="anti")

    @cached_property
    def unsafe(self) -> pl.DataFrame:
        """Whether people together call each reply that they read unsafe: subject, unsafe."""
        return drawn_part.anywhere(self.by_people, self.criteria).drop_nulls()


class OpenRun(msgspec.Struct, dict=True):
    """A run, open for reading."""

    folder: Path
    store: Store
    manifest: dict[str, Any]
    scores: Scores
    """Without those that the cards withhold."""
    standings: ReliabilityGate
    sections: list[Section]

    @cached_property
    def scores_by_model(self) -> dict[tuple[str, str], list[Score]]:
        """The scores of each benchmark and model, in their order."""
        by_model: dict[tuple[str, str], list[Score]] = {}
        for figure in self.scores.metrics:
            by_model.setdefault((figure.benchmark, figure.model), []).append(figure)
        return by_model


def read(
    folder: Path, number: int, *, show_unreliable: bool = False, show_texts: bool = False, scores: Scores | None = None
) -> OpenRun:
    """Open a run, compute its scores and its judges' cards, and take out the scores that these do not allow.

    Texts that a benchmark's authors released under restrictions are hidden, unless `show_texts`. Its `scores` are computed
    unless they are known.

    Raises:
        UsageError: there is no run in the folder.
        DataError: its ratings cannot be compared.
    """
    scores = score(folder) if scores is None else scores
    store, benchmarks, manifest = open_run(folder)
    gate = standings(folder, store, benchmarks, shown=show_unreliable)
    sections = [
        Section(
            number,
            b,
            fidelity.of_targets(frame.of_targets(frame.ratings(store, b), b), scores.fidelity_of(b.name)),
            frame.of_targets(frame.replies(store, b), b),
            drawn_part.mean_calls(store, b),
            None if show_texts else open_samples(b, manifest),
        )
        for b in benchmarks
    ]
    return OpenRun(folder, store, manifest, masked(scores, gate), gate, sections)


def names(runs: Sequence[OpenRun]) -> dict[str, str]:
    """Map models and judges that were given by their addresses to short names."""
    return short_names(name for run in runs for name in (*run.scores.models, *run.scores.judges))


def systems(runs: Sequence[OpenRun]) -> list[System]:
    """Name every model that a run measured, by a short name; one that several runs measured is named with its run."""
    short = names(runs)
    measured = [(number, model) for number, run in enumerate(runs) for model in sorted(_measured(run))]
    models = [model for _, model in measured]
    named = []
    for number, model in measured:
        label = short.get(model, model)
        label = label if models.count(model) == 1 else f"{label} ({runs[number].folder.resolve().name})"
        named.append(label)
    return [
        System(label if named.count(label) == 1 else f"{label} #{run + 1}", model, run, i)
        for i, (label, (run, model)) in enumerate(zip(named, measured, strict=True))
    ]


def _measured(run: OpenRun) -> set[str]:
    models: set[str] = set()
    for section in run.sections:
        if section.benchmark.closed:
            models |= {rater for rater, kind in section.raters if kind not in {PERSON, RULE}}
        else:
            query = "SELECT DISTINCT model FROM replies WHERE benchmark = ?"
            replied = pl.DataFrame(
                list(run.store.select(query, (section.benchmark.name,))), {"model": pl.String}, orient="row"
            )
            models |= set(frame.of_targets(replied, section.benchmark)["model"])
    return models


def constant(run: OpenRun, section: Section) -> list[Score]:
    """Return the scores of the raters that read nothing and give one answer to everything."""
    names = scoring_views.baseline_names(section.benchmark)
    return [s for s in run.scores.metrics if s.benchmark == section.benchmark.name and s.model in names]


def is_demonstration(judge: str) -> bool:
    """Whether a judge is the embedded model, which is there to show that everything runs."""
    return "smollm2-135m" in judge.casefold()


def judges(runs: Sequence[OpenRun], measured: Sequence[System]) -> dict[tuple[int, str], System]:
    """Name everybody whose cards or entry tests the runs hold, by run and name.

    A judge that is measured, too, keeps the colour and shape it has there; the others take the next ones.
    """
    examined = [
        (number, judge)
        for number, run in enumerate(runs)
        for judge in dict.fromkeys([s.card.judge for s in run.standings.cards.values()] + [q.judge for q in run.scores.qualifications])
    ]  # fmt: skip
    numbers: dict[str, int] = {}
    for system in measured:
        numbers.setdefault(system.model, system.number)
    for _, judge in examined:
        numbers.setdefault(judge, max([*numbers.values(), len(measured) - 1], default=-1) + 1)
    many_runs = len({number for number, _ in examined}) > 1
    shown_as = {judge: judge for _, judge in examined} | names(runs)
    labels = {
        (n, judge): f"{shown_as[judge]} ({runs[n].folder.resolve().name})" if many_runs else shown_as[judge]
        for n, judge in examined
    }
    return {(n, judge): System(labels[n, judge], judge, n, numbers[judge]) for n, judge in examined}


def scores_of(run: OpenRun, system: System, section: Section) -> Iterator[Score]:
    """Return the scores of one system on one benchmark's criteria and readings, majorities over repeats and what is void left out."""
    yield from (score for score in every_score_of(run, system, section) if not score.void)


def void_of(run: OpenRun, system: System, section: Section) -> Iterator[Score]:
    """Return what would be scores of one system if enough answers could be used, and its judge too."""
    yield from (score for score in every_score_of(run, system, section) if score.void)


def every_score_of(run: OpenRun, system: System, section: Section) -> Iterator[Score]:
    """Return the scores of one system on one benchmark's criteria and readings, majorities over repeats left out."""
    criteria = section.scored
    for figure in run.scores_by_model.get((section.benchmark.name, system.model), []):
        if figure.criterion in criteria and (not section.benchmark.closed or figure.rater == figure.model):
            yield figure
