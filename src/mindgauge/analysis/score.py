"""The metrics of a run, from what it holds."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from mindgauge import benchmarks
from mindgauge.analysis import (
    classifiers,
    client_study,
    composites,
    cross_checks,
    drawn_part,
    frame,
    reasoned,
    responsible,
    scoring_views,
    stock,
)
from mindgauge.analysis.fidelity import Fidelity, allowed, check_clients
from mindgauge.analysis.fitness import UNTESTED, Qualification, Unfit, qualify, unfit_judges, untested
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.benchmarks import replica, standalone_rubric, suite
from mindgauge.benchmarks.metrics import (
    SHARES_OF_YES,
    STATUS_RATES,
    Estimate,
    Metric,
    RatingTable,
    estimate,
    fleiss_kappa,
)
from mindgauge.benchmarks.metrics.resistance import over_refusal_rate
from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import Kind
from mindgauge.records.rubric import Rubric
from mindgauge.records.shell import command_line
from mindgauge.store import Store, continued
from mindgauge.store.batches import Batches
from mindgauge.store.continued import Continued
from mindgauge.store.manifest import read as read_manifest
from mindgauge.store.run import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rubric import Criterion

    Cut: TypeAlias = Callable[[RatingPart], Iterable[tuple[str, RatingPart]]]
    "How the ratings of one rater are cut into slices."

MAJORITY = ":majority"
CLIENT_FAILED = "client_failed"
"""What became of ratings of dialogues in which the client failed."""
_BY = ("criterion", "model", "rater", "rater_kind")
_COLUMNS = {
    **dict.fromkeys(("model", "benchmark", "metric"), pl.String),
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "missing"), pl.Int64),
    **dict.fromkeys(("slice", "rater", "criterion", "name", "unit", "better"), pl.String),
    **dict.fromkeys(("worst", "best"), pl.Float64),
    **dict.fromkeys(("clusters", "subjects", "runs"), pl.Int64),
    **dict.fromkeys(("mean_of_runs", "sd"), pl.Float64),
    **dict.fromkeys(("note", "void"), pl.String),
}
"""The columns of the table of scores, those that people read first first."""
_NO_VALUE = dict.fromkeys(("value", "low", "high", "worst", "best", "mean_of_runs", "sd"))


class Score(msgspec.Struct, frozen=True):
    """One metric of one model on one slice, as one rater sees it. `missing` of the `n` ratings have no value.

    `low` and `high` bound it with 95 % confidence; `worst` and `best` are its values were all missing ratings so.
    `runs` repeats are pooled in the value; `mean_of_runs` and `sd` are the mean and the sample SD of the repeats' own. The
    ratings are of `subjects` replies, or are as many answers. `note` says why there is no interval, or why it is not the
    usual one. `unit` is `share` or `level`; `better` is `higher`, `lower` or empty. `void` says why this is no score: too
    few answers could be used, or the judge cannot be; its numbers then stand here for the record, and are shown nowhere.
    """

    benchmark: str
    name: str
    criterion: str
    slice: str
    model: str
    rater: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    missing: int
    worst: float | None
    best: float | None
    runs: int = 1
    mean_of_runs: float | None = None
    sd: float | None = None
    subjects: int = 0
    note: str = ""
    unit: Kind = "level"
    better: str = ""
    void: str = ""
    fault: bool = False
    """Whether it is the user's own metric that failed, which `note` says."""
    title: str = ""
    """What the metric is called in a sentence, its criterion included where others rate."""

    def worse_than(self, other: Score) -> bool:
        """Whether it is worse than another score of the same metric, which also has a value."""
        if self.value is None or other.value is None:
            return False
        return self.value > other.value if self.better == "lower" else self.value < other.value


class StatusCount(msgspec.Struct, frozen=True):
    """How many replies or ratings of one model or rater ended in one status."""

    benchmark: str
    kind: str
    name: str
    status: str
    n: int


class Headline(msgspec.Struct, frozen=True):
    """The metrics that a benchmark goes by, by name, and the group of samples that is looked at first."""

    metrics: tuple[str, ...]
    group: str
    parts: tuple[str, ...] = ()
    """Its metrics that are about one label of the subjects that have it."""
    of_read: dict[str, str] = {}
    """Its metrics that leave out missing answers → those that count them as wrong."""
    counting: tuple[str, ...] = ()
    """Its metrics in which a missing answer counts as something."""

    def holds(self, score: Score) -> bool:
        """Whether a score is among what the benchmark goes by; what a rule finds is asked for by who names the rule."""
        named = score.name in self.metrics or (score.rater.startswith("rule/") and score.name in SHARES_OF_YES)
        return named and score.slice in {"all", self.group}


class Scores(Tabular, msgspec.Struct, frozen=True):
    """What a run holds, in numbers."""

    run: str
    benchmark: str
    models: list[str]
    judges: list[str]
    calls: dict[str, Any]
    statuses: dict[str, int]
    statuses_by: list[StatusCount]
    metrics: list[Score]
    qualifications: list[Qualification]
    """How judges did in their entry test; empty where none took it."""
    unfit: list[Unfit] = []
    """The judges that cannot be used, criterion by criterion, and why; their metrics are `void`."""
    notes: list[str] = []
    """What must be known of these scores: what was not run, which classifiers rated what they had learned from."""
    continued: list[Continued] = []
    """The commands that went on with the run, and what they kept."""
    broken: dict[str, str] = {}
    """Benchmarks that were asked for and not run, since their data cannot be used: why."""
    headlines: dict[str, Headline] = {}
    """What each benchmark goes by."""
    frames: list[drawn_part.FrameEstimate] = []
    """What people's ratings of a part that was drawn with known probabilities say of all it was drawn from."""
    unfinished: dict[str, list[str]] = {}
    """What the command that made the run has not asked for yet, by benchmark, as where it was stopped: it is in no figure."""
    fidelity: list[Fidelity] = []
    """Whether the models that play persons are fit for it, target by target; where not, its metrics are `void` and empty."""
    responsible: list[Score] = []
    """What share of each model's replies is unsafe, refuses a benign request, or is stock, as each rater has it."""
    unmeasured: dict[str, str] = {}
    """Which of these shares the run does not have, by metric, and which command adds it."""

    @property
    def still_missing(self) -> str:
        """Say what was not asked for yet; empty where nothing is left."""
        return still_missing(self.unfinished)

    @property
    def withheld_by_clients(self) -> dict[tuple[str, str], str]:
        """Benchmark and model → why it has no score, where its clients were not fit for their part."""
        return {
            (entry.benchmark, name): "; ".join(entry.withheld)
            for entry in self.fidelity
            for name in entry.names
            if entry.withheld
        }

    def fidelity_of(self, benchmark: str) -> list[Fidelity]:
        """Return what is known of the clients in one benchmark."""
        return [entry for entry in self.fidelity if entry.benchmark == benchmark]

    @property
    def leading(self) -> list[Score]:
        """The metrics that their benchmarks go by, on the whole and on the group that leads."""
        return [
            m for m in self.metrics if (headline := self.headlines.get(m.benchmark)) is not None and headline.holds(m)
        ]

    @property
    def table(self) -> pl.DataFrame:
        """Every metric, one row each: first what the benchmarks go by. A score that is void has no value.

        The first columns are `model`, `benchmark`, `metric` (in words), `value`, `low`, `high` (95 %), `n`, `missing`, `slice`
        and `rater`; `name` is the metric's name, as `find` takes it.
        """
        leading = {id(score) for score in self.leading}
        rows = [
            {**msgspec.structs.asdict(score), "metric": score.title or score.name, **(_NO_VALUE if score.void else {})}
            for score in sorted(self.metrics, key=lambda score: id(score) not in leading)
        ]
        return pl.DataFrame(rows, _COLUMNS)

    def summary(self) -> list[str]:
        """Say what was measured; its numbers are shown where it is known which judges may be believed (`reports`)."""
        return [f"{self.benchmark}: {len(self.metrics)} scores in .table; {self.run}"]

    def find(self, name: str, slice_: str = "all", **fields: str) -> list[Score]:
        """Return the metrics of this name and slice whose other fields are as given."""
        return [
            m
            for m in self.metrics
            if m.name == name and m.slice == slice_ and all(getattr(m, k) == v for k, v in fields.items())
        ]


def still_missing(unfinished: Mapping[str, Sequence[str]]) -> str:
    """Say what was not asked for yet, by benchmark; empty where nothing is left."""
    several = len(unfinished) > 1
    parts = [f"{part} on {name}" if several else part for name, parts in unfinished.items() for part in parts]
    return f"{named(parts)} are not there yet, and in no figure" if parts else ""


def open_run(folder: Path) -> tuple[Store, list[Benchmark], dict[str, Any]]:
    """Open a run for reading: its store, the benchmarks in it, its manifest.

    Raises:
        UsageError: there is no run, or it belongs to a benchmark that is not here.
    """
    manifest = read_manifest(folder)
    store = Store(folder)
    named = [b for name in manifest.get("plan", {}).get("benchmarks", []) for b in _named(name, folder, manifest)]
    members = [scoring_views.described(_in_run(benchmark, folder, manifest), store, manifest) for benchmark in named]
    if not members:
        raise UsageError(f"{folder}: manifest.toml names no benchmark; is this a run?")
    return store, members, manifest


def _named(name: str, folder: Path, manifest: dict[str, Any]) -> list[Benchmark]:
    """Find a benchmark, or the rubric of its own that a run keeps."""
    own = standalone_rubric.kept(name, folder, manifest)
    return [own] if own is not None else benchmarks.of_run(name, manifest.get("folders"), folder)


def _in_run(benchmark: Benchmark, folder: Path, manifest: dict[str, Any]) -> Benchmark:
    """Return a benchmark with the criteria that a run adds to it: of a paper's protocol, of classifiers, what people alone were asked."""
    protocol = replica.of_record(benchmark.folder, manifest.get(replica.RECORD))
    own_rubric = None if protocol is None else replica.own_rubric(protocol, benchmark.folder)
    if protocol is not None and own_rubric is not None:
        criteria = (*benchmark.rubric.criteria, *own_rubric.criteria)
        rubric = msgspec.structs.replace(benchmark.rubric, criteria=criteria)
        first = dict.fromkeys(column.metric for column in protocol.columns.values())
        benchmark = msgspec.structs.replace(benchmark, rubric=rubric, headline=(*first, *benchmark.headline))
    added: dict[str, Criterion] = {}
    for classifier in manifest.get("classifiers", {}).values():
        file = classifier.get("apart", {}).get(benchmark.name)
        if file is not None:
            rubric = Rubric.kept(folder / file)
            name = f"{rubric.id}/{rubric.criteria[0].name}"
            added[name] = msgspec.structs.replace(rubric.criteria[0], name=name)
    annotation = manifest.get("annotation", {})
    if annotation.get("asked_of_people") and annotation.get("benchmark") == benchmark.name:
        rubric = Rubric.kept(folder / standalone_rubric.FILE, f"`{command_line('annotate', 'status', folder)}`")
        added |= {c.name: c for c in rubric.criteria if c.name in annotation["asked_of_people"]}
    return msgspec.structs.replace(benchmark, foreign_criteria=tuple(added.values()))


def score(folder: Path, *, resamples: int = 2000, seed: int = 0, metrics: Sequence[Metric] = ()) -> Scores:
    """Compute every metric of a run's benchmarks, and those of the user's own, for every model and rater in it.

    Raises:
        UsageError: there is no run in the folder, or a metric of the user's own cannot be computed or has a taken name.
    """
    store, members, manifest = open_run(folder)
    with store:
        members = [_with(metrics, benchmark) for benchmark in members]
        recognised = manifest["plan"].get("protocol") == "recognised"
        rated = {b.name: frame.ratings(store, b) for b in members}
        qualifications = qualify(store, members, resamples=resamples, seed=seed)
        unfit = [entry for b in members for entry in unfit_judges(qualifications, rated[b.name], b)]
        rated = {b.name: scoring_views.tagged(rated[b.name], store, b, unfit) for b in members}
        clients = [entry for b in members for entry in check_clients(store, b, rated[b.name], unfit)]
        shown = {
            name: allowed(rows, [entry for entry in clients if entry.benchmark == name]) for name, rows in rated.items()
        }
        status_counts = [entry for benchmark in members for entry in _statuses(store, benchmark, rated[benchmark.name])]
        figures = [
            m
            for b in members
            for m in _voided(
                _scores(_with_rules(rated[b.name], store, b), b, recognised, resamples, seed), unfit, clients
            )
        ]
        side_by_side = [
            m
            for b in members
            if not b.closed
            for m in _voided(
                _scores(responsible.ratings(rated[b.name], store, b), b, recognised, resamples, seed),
                [
                    msgspec.structs.replace(entry, criterion=scoring_views.UNSAFE)
                    for entry in unfit
                    if entry.benchmark == b.name and entry.criterion in responsible.unsafe_criteria(b)
                ],
                clients,
            )
        ]
        side_by_side += [m for m in figures if m.name == over_refusal_rate.name]
        side_by_side = [m for m in side_by_side if m.name in responsible.KINDS and m.slice == "all"]
        constant = {name for b in members for name in scoring_views.baseline_names(b)}
        totals: dict[str, int] = {}
        for entry in status_counts:
            totals[entry.status] = totals.get(entry.status, 0) + entry.n
        return Scores(
            run=str(folder),
            benchmark=", ".join(b.name for b in members),
            models=sorted(
                ({m.model for m in figures} - constant) | {c.name for c in status_counts if c.kind == "reply"}
            ),
            judges=sorted(_judges(members, status_counts)),
            calls=_calls(store, manifest),
            statuses=totals,
            statuses_by=status_counts,
            metrics=figures,
            qualifications=qualifications,
            unfit=unfit,
            notes=[
                *dict.fromkeys(figure.note for figure in figures if figure.fault),
                *_not_run(manifest),
                *(
                    f"{name}: the judge {judge} {UNTESTED}"
                    for name, judges in untested(manifest, qualifications).items()
                    for judge in judges
                ),
                *manifest.get("remarks", []),
                *(note for b in members for note in scoring_views.target_notes(b, store, manifest)),
                *Batches(store).notes(),
                *stock.reply_notes(store, [b.name for b in members]),
                *classifiers.notes(store, [b.name for b in members], manifest),
                *(note for b in members for note in cross_checks.notes(b, shown[b.name])),
                *(note for b in members for note in composites.notes(shown[b.name], b)),
                *(note for b in members for note in drawn_part.notes(b, shown[b.name])),
                *(note for b in members for note in client_study.notes(shown[b.name], b)),
                *(note for b in members for note in scoring_views.notes(shown[b.name], store, b, unfit)),
            ],
            continued=continued.read(store, manifest),
            broken=manifest.get("not_run", {}).get("broken", {}),
            headlines={b.name: _headline(b) for b in members},
            frames=[
                entry
                for b in members
                for entry in drawn_part.estimates(b, shown[b.name], loaded=bool(manifest["plan"].get("loaded")))
            ],
            fidelity=clients,
            responsible=[*dict.fromkeys(side_by_side)],
            unmeasured=responsible.missing({m.name for m in side_by_side}, str(folder), members),
        )


def _with_rules(rated: pl.DataFrame, store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return ratings with what follows of replies and their reasoning, and what is said of stock replies, where there are any."""
    both = reasoned.ratings(rated, benchmark)
    rated = rated if both.is_empty() else pl.concat([rated, both])
    if stock.found(store, benchmark)["stock"].is_null().all():
        return rated  # as in most runs: nothing is joined or copied
    return pl.concat([rated, stock.mentioned(stock.ratings(store, benchmark))], how="diagonal_relaxed")


def _with(metrics: Sequence[Metric], benchmark: Benchmark) -> Benchmark:
    """Return a benchmark with metrics of the user's own, which then lead.

    Raises:
        UsageError: one has the name of another, or is about a criterion that no benchmark's rubric has.
    """
    names = [metric.name for metric in (*benchmark.metrics, *metrics)]
    twice = next((metric.name for metric in metrics if names.count(metric.name) > 1), None)
    if twice is not None:
        raise UsageError(f"{benchmark.name} has a metric {twice} already: give yours another name")
    own = tuple(msgspec.structs.replace(metric, expected=True) for metric in metrics)
    return msgspec.structs.replace(
        benchmark, metrics=(*benchmark.metrics, *own), headline=(*(metric.name for metric in own), *benchmark.headline)
    )


def _scores(rated: pl.DataFrame, benchmark: Benchmark, recognised: bool, resamples: int, seed: int) -> Iterator[Score]:
    rated = frame.of_targets(rated, benchmark)
    # What a criterion does not apply to is counted among the statuses; it is no rating that is missing.
    ratings = frame.only(
        pl.concat([together(rated, benchmark), rated, composites.over_turns(rated, benchmark)]),
        pl.col("status") != "not_applicable",
    )
    lost = _lost(rated, benchmark)
    find = functools.cache(functools.partial(scoring_views.find, benchmark, recognised=recognised))
    for key, part in _by_rater(ratings, benchmark):
        name, model, rater, kind = key
        question = find(name, kind)
        if question is None:
            continue
        views = [(rater, part)]
        if question.benchmark.closed and part.rows["run"].n_unique() > 1:
            views.append((f"{rater}{MAJORITY}", RatingPart.of(frame.majority(part.rows))))
        shortage = scoring_views.shortage(part, closed=question.benchmark.closed)
        by_recognition = recognised and not question.benchmark.closed
        for view, viewed in views:
            cut = functools.partial(scoring_views.slices, question.benchmark, by_recognition=by_recognition)
            scores = _estimated(benchmark, question, (model, view), viewed, cut, resamples, seed, shortage)
            if key in lost:
                scores = _with_lost(scores, question, pl.concat([viewed.rows, lost[key]]), cut)
            yield from scores
    yield from _constant(benchmark, ratings, resamples, seed)
    yield from _people(benchmark, ratings, resamples, seed)


def _lost(rated: pl.DataFrame, benchmark: Benchmark) -> dict[tuple[str, ...], pl.DataFrame]:
    """Return what there would be ratings of had the client not failed, by criterion, model, rater and kind."""
    if frame.LOST not in rated.columns:
        return {}
    rows = pl.concat([rated, together(rated, benchmark)]).filter(frame.LOST)
    lost = RatingPart.of(rows.with_columns(status=pl.lit(CLIENT_FAILED)))
    return {key: part.rows for key, part in lost.by(*_BY)}


def _with_lost(
    scores: Iterator[Score], question: scoring_views.ScoringQuestion, rows: pl.DataFrame, cut: Cut
) -> Iterator[Score]:
    """Let the worst and the best of scores allow for dialogues in which the client failed; n and value know nothing of them."""
    bounds = {
        (f"label={metric.label}" if metric.label else slice_, metric.name): (figure.worst, figure.best)
        for slice_, metric, figure in _estimates(question, RatingPart.of(rows), cut, 1, 0)
        if not metric.of_status
    }
    for figure in scores:
        worst, best = bounds.get((figure.slice, figure.name), (figure.worst, figure.best))
        yield msgspec.structs.replace(figure, worst=worst, best=best)


def _voided(scores: Iterator[Score], unfit: list[Unfit], clients: list[Fidelity]) -> Iterator[Score]:
    """Mark what judges say that cannot be used, and empty what was said of targets whose clients were not fit for their part.

    What became of verdicts stays.
    """
    reasons = {
        (entry.benchmark, entry.judge, name): entry.reason
        for entry in unfit
        for name in (reasoned.CRITERION.name, entry.criterion)
    }
    withheld = {(entry.benchmark, name): "; ".join(entry.withheld) for entry in clients for name in entry.names}
    rates = {metric.name for metric in STATUS_RATES}
    for figure in scores:
        of_clients = withheld.get((figure.benchmark, figure.model), "")
        reason = reasons.get((figure.benchmark, figure.rater, figure.criterion), "")
        if figure.name in rates:
            yield figure
        elif of_clients:
            yield msgspec.structs.replace(figure, void=of_clients, **_NO_VALUE)
        else:
            void = f"{figure.rater} cannot be used: {reason}" if reason and not figure.void else figure.void
            yield msgspec.structs.replace(figure, void=void)


def _by_rater(ratings: pl.DataFrame, benchmark: Benchmark) -> list[tuple[tuple[str, ...], RatingPart]]:
    """Part ratings by criterion, model, rater and kind; criteria as the rubric has them, its gates before everything.

    What rules say comes last.
    """
    places = {name: place for place, name in enumerate((*benchmark.pooled, *frame.criteria(benchmark)))}
    return sorted(RatingPart.of(ratings).by(*_BY), key=lambda part: (places.get(part[0][0], len(places)), part[0]))


def _constant(benchmark: Benchmark, ratings: pl.DataFrame, resamples: int, seed: int) -> Iterator[Score]:
    """Score the constant raters that a benchmark asks for; of single labels, and of statuses, there is nothing to say."""
    rates = {metric.name for metric in (*STATUS_RATES, *benchmark.distribution)}
    metrics = tuple(m for m in benchmark.metrics if not m.label and m.name not in rates)
    question = scoring_views.ScoringQuestion(benchmark, benchmark.rubric.criteria[0], metrics)
    for name, rows in scoring_views.baselines(benchmark, ratings).items():
        cut = functools.partial(scoring_views.slices, benchmark)
        yield from _estimated(benchmark, question, (name, name), RatingPart.of(rows), cut, resamples, seed)


def _estimated(
    benchmark: Benchmark,
    question: scoring_views.ScoringQuestion,
    names: tuple[str, str],
    ratings: RatingPart,
    cut: Cut,
    resamples: int,
    seed: int,
    shortage: str = "",
) -> Iterator[Score]:
    """Score every metric on every slice; `shortage` says why there is no score at all, if too few answers could be used."""
    closed, majority = question.benchmark.closed, names[1].endswith(MAJORITY)
    unreplied = scoring_views.unreplied(ratings)
    for slice_, metric, figure in _estimates(question, ratings, cut, resamples, seed):
        label = f"label={metric.label}" if metric.label else slice_
        local_shortage = (
            "" if majority else scoring_views.too_few(figure.missing, figure.n, closed=closed, unreplied=unreplied)
        )
        void = "" if metric.of_status else shortage or local_shortage
        yield msgspec.structs.replace(_score(benchmark, metric, question.criterion, label, names, figure), void=void)


def _score(
    benchmark: Benchmark, metric: Metric, criterion: Criterion, slice_: str, names: tuple[str, str], figure: Estimate
) -> Score:
    """Put an estimate with what it is of."""
    figures = msgspec.structs.asdict(figure)
    own_answers = benchmark.closed and names[0] == names[1].removesuffix(MAJORITY)
    return Score(
        benchmark.name, metric.name, criterion.name, slice_, *names, **figures, unit=metric.unit, better=metric.better,
        title=metric.titled(criterion.name, own_answers=own_answers),
    )  # fmt: skip


def _estimates(
    question: scoring_views.ScoringQuestion, ratings: RatingPart, cut: Cut, resamples: int, seed: int
) -> Iterator[tuple[str, Metric, Estimate]]:
    """Estimate every metric on every slice; a slice that leaves nothing out is not computed again."""
    previous: tuple[int, dict[str, Estimate | None]] = (-1, {})
    for slice_, part in cut(ratings.by_cluster()):
        if len(part) == previous[0] and not slice_.startswith("selection="):
            figures = previous[1]
        else:
            columns = part.table(question.criterion, question.benchmark.metric_tags)
            figures = {m.name + m.label: _one(m, columns, slice_, resamples, seed) for m in question.metrics}
            figures |= _undefined(question, columns, figures) if slice_ == "all" else {}
            previous = (len(part), figures) if slice_ == "all" else previous
        for metric in question.metrics:
            estimate_ = figures[metric.name + metric.label]
            if estimate_ is not None and (slice_ == "all" or not metric.label):
                yield slice_, metric, estimate_


def _people(benchmark: Benchmark, ratings: pl.DataFrame, resamples: int, seed: int) -> Iterator[Score]:
    """Agreement among people on a closed question, which is the ceiling for any model."""
    agreement = benchmark.metric(fleiss_kappa.name)
    if not benchmark.closed or agreement is None:
        return
    people = ratings.filter(pl.col("rater_kind") == "person")
    if people["rater"].n_unique() < 2:
        return
    for criterion in benchmark.rubric.criteria:
        rows = people.filter(pl.col("criterion") == criterion.name)
        figure = estimate(agreement, RatingPart.of(rows).table(criterion), resamples=resamples, seed=seed)
        yield _score(benchmark, agreement, criterion, "all", ("people", "people"), figure)


def _one(metric: Metric, columns: RatingTable, slice_: str, resamples: int, seed: int) -> Estimate | None:
    """Estimate a metric; None where it has nothing to say: no rows it concerns, or a label's metric off the whole."""
    if metric.label and slice_ != "all":
        return None
    figure = estimate(metric, columns, resamples=resamples, seed=seed)
    return figure if figure.value is not None or figure.worst is not None or figure.fault else None


def _undefined(
    question: scoring_views.ScoringQuestion, columns: RatingTable, figures: dict[str, Estimate | None]
) -> dict[str, Estimate | None]:
    """Return what a suite goes by, or a user expects, and is not defined on these ratings, so that this is said."""
    headlines = suite.headlines(question.benchmark.name)
    expected = [m for m in question.metrics if (m.name in headlines or m.expected) and not m.label]
    silent = [metric for metric in expected if figures[metric.name] is None]
    silent_figures = {metric.name: estimate(metric, columns, resamples=1) for metric in silent}
    return {name: figure for name, figure in silent_figures.items() if figure.n}


def _headline(benchmark: Benchmark) -> Headline:
    of_read = {metric.name: metric.of_read for metric in benchmark.metrics if metric.of_read}
    counting = tuple(metric.name for metric in benchmark.metrics if metric.missing_is_outcome)
    return Headline(benchmark.headline, benchmark.lead_group, tuple(sorted(benchmark.parts)), of_read, counting)


def _not_run(manifest: dict[str, Any]) -> list[str]:
    return [
        f"{name} was not run: {reason}"
        for kind in manifest.get("not_run", {}).values()
        for name, reason in kind.items()
    ]


def _statuses(store: Store, benchmark: Benchmark, rated: pl.DataFrame) -> Iterator[StatusCount]:
    """Count what became of replies, and of ratings by all but the gold; a composite is nobody's own rating."""
    query = "SELECT model, status, count(*) FROM replies WHERE benchmark = ? GROUP BY 1, 2"
    for name, status, n in store.select(query, (benchmark.name,)):
        yield StatusCount(benchmark.name, "reply", name, status, n)
    own = rated.lazy().filter(pl.col("rater_kind") != "gold", ~pl.col("criterion").is_in(list(benchmark.composites)))
    counted = own.group_by("rater", "status").len().collect(engine="streaming").sort("rater", "status")
    for name, status, n in counted.iter_rows():
        yield StatusCount(benchmark.name, "rating", name, status, n)


def _judges(members: list[Benchmark], counts: list[StatusCount]) -> set[str]:
    """Return who rated replies."""
    open_names = {benchmark.name for benchmark in members if not benchmark.closed}
    read = {reading.rater for b in members for reading in (*b.readings, *b.replica_readings)}
    return {entry.name for entry in counts if entry.kind == "rating" and entry.benchmark in open_names} - read


def _calls(store: Store, manifest: dict[str, Any]) -> dict[str, Any]:
    query = (
        "SELECT count(*), coalesce(sum(status = 'failed'), 0), coalesce(sum(prompt_tokens), 0), "  # noqa: S608 - constant text
        "coalesce(sum(cached_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(attempts - 1), 0), "
        f"sum(cost), coalesce(sum({UNPRICED}), 0), coalesce(sum(seconds), 0) FROM calls"
    )
    names = (
        "made",
        "failed",
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "retries",
        "cost",
        "unpriced",
        "model_seconds",
    )
    return {**dict(zip(names, store.select(query).fetchone(), strict=True)), "seconds": manifest.get("seconds", 0.0)}


def together(rows: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """Return the ratings on criteria that are taken together once more, under the name that they have together.

    Each verdict counts once, so a criterion that applies to more dialogues weighs more; all of a cluster stay in it. Whoever
    rated a model on some of the criteria only has no score over all.
    """
    key = ["model", "rater", "rater_kind"]
    pooled = [rows.clear()]
    for name, parts in benchmark.pooled.items():
        own = rows.filter(pl.col("criterion").is_in(parts))
        rated = own.group_by(key).agg(pl.col("criterion").n_unique()).filter(pl.col("criterion") == len(parts))
        complete = own.join(rated.select(key), on=key, how="semi", maintain_order="left")
        pooled.append(complete.with_columns(criterion=pl.lit(name)))
    return pl.concat(pooled)
