"""The systems that runs measured: a model in a run, its ratings, its name among the others, and what it took."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import polars as pl

from mindgauge.analysis import composites, fitness, frame, scoring_views, stock
from mindgauge.analysis.fidelity import gate
from mindgauge.analysis.pairing import ComparedSystem, Cost
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.score import open_run
from mindgauge.records import BASE, RaterKind, digest
from mindgauge.records.drawn import KNOWN
from mindgauge.records.english import named as named_in
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import plural
from mindgauge.store.run import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Reply, Sample
    from mindgauge.store import Store

Key: TypeAlias = tuple[int, str]
"""A system: the number of its run, and the model."""
NO_RUN = -1
"""The run of constant raters."""
OWNER, PART = "owner", ", "
"""The column with the model whose parts are systems, and what comes between its name and a part's."""


class SystemRatings(NamedTuple):
    """What the systems of all runs answered to one benchmark, or how others rated their replies.

    `rows` are ratings of which a metric can be computed, all of the same unit, on subjects that were not chosen by what a
    judge thought of them: columns as in `frame.ratings`, less what tells dialogues and protocols apart, and `run_number`; `instrument` is all that the rater worked with there.
    """

    benchmark: Benchmark
    rows: pl.DataFrame

    @property
    def keys(self) -> list[Key]:
        """Its systems, in the order of the runs, constant raters last."""
        pairs = frame.distinct(self.rows, "run_number", "model").iter_rows()
        return sorted(pairs, key=lambda key: (key[0] == NO_RUN, *key))


def read(
    folders: Sequence[Path], *, drawn: bool = False, tag: str = ""
) -> tuple[list[SystemRatings], dict[tuple[Key, str], Cost], list[str]]:
    """Open runs and return the ratings of their systems by benchmark and unit, and what each system took on each benchmark.

    Judges that cannot be used are left out, systems whose clients were not fit for their part, and systems of which too few answers or verdicts can be; the third says so.

    Args:
        folders: runs.
        drawn: whether replies that were drawn with known probabilities are among them, which have a `selection`; whoever
            takes a mean of them has to weigh them.
        tag: of samples; each model is then as many systems as its samples have values of it, and each model has a part of its own.

    Raises:
        UsageError: there is no run in a folder, or no sample has the tag.
    """
    benchmarks: dict[str, Benchmark] = {}
    ratings: dict[str, list[pl.DataFrame]] = {}
    costs: dict[tuple[Key, str], Cost] = {}
    notes: list[str] = []
    tag_names = set[str]()
    for number, folder in enumerate(folders):
        store, members, _ = open_run(folder)
        with store:
            for benchmark in members:
                previous = benchmarks.get(benchmark.name)
                benchmarks[benchmark.name] = benchmark if previous is None else _common(previous, benchmark)
                tag_names.update(*(sample.tags for sample in store.samples(benchmark.name)) if tag else ())
                rows = _usable(store, benchmark, number, notes, drawn=drawn, tag=tag)
                ratings.setdefault(benchmark.name, []).append(rows)
                costs |= {((number, c.system), benchmark.name): c for c in _costs(store, benchmark)}
    if tag and not any(len(rows) for parts in ratings.values() for rows in parts):
        if tag in tag_names:
            raise UsageError(f"--by {tag}: no verdict in this run can be used, so there is nothing to compare")
        raise UsageError(f"--by {tag}: no rated sample has that tag; their tags are {named_in(sorted(tag_names), limit=20)}")  # fmt: skip
    rated = [
        _rated(benchmarks[name], rows)
        for name, parts in ratings.items()
        for rows in _apart(stock.mentioned(pl.concat(parts, how="diagonal")))
    ]
    return rated, costs, list(dict.fromkeys(notes))


def _usable(
    store: Store, benchmark: Benchmark, number: int, notes: list[str], *, drawn: bool, tag: str
) -> pl.DataFrame:
    unfit = fitness.unfit(store, benchmark, frame.ratings(store, benchmark))
    notes += fitness.told(unfit)
    clients = gate.fidelity(store, benchmark, frame.ratings(store, benchmark), unfit)
    notes += gate.sentences(clients)
    ratings = _ratings(store, benchmark, number, unfit, drawn=drawn, cases=not tag)
    rows = gate.allowed(scoring_views.trusted(frame.of_targets(ratings, benchmark), unfit), clients)
    rows = _by_tag(rows, store, benchmark, tag, notes) if tag else rows
    columns = ("model", "rater", "criterion")
    answered, dropped = scoring_views.answered(RatingPart.of(rows), columns, closed=benchmark.closed)
    for (model, rater, criterion), reason in dropped.items():
        subject = model if benchmark.closed else f"{rater}, of {model}'s replies on {criterion},"
        notes.append(f"{benchmark.name}: {subject} gave {reason}; left out")
    return answered.rows


def _common(first: Benchmark, second: Benchmark) -> Benchmark:
    """Return a benchmark with what two runs of it have in common; a criterion must mean the same in both that have it."""
    added = [
        *first.foreign_criteria,
        *(criterion for criterion in second.foreign_criteria if criterion not in first.foreign_criteria),
    ]
    names = Counter(criterion.name for criterion in added)
    return msgspec.structs.replace(
        first,
        foreign_criteria=tuple(criterion for criterion in added if names[criterion.name] == 1),
        metrics=tuple(metric for metric in first.metrics if metric in second.metrics),
        slices=tuple(tag for tag in first.slices if tag in second.slices),
    )


def named(keys: Iterable[Key], folders: Sequence[Path]) -> dict[Key, ComparedSystem]:
    """Name every system: by its model, with its run where several have that, by the run's number where they are alike."""
    listed = list(dict.fromkeys(keys))
    models = Counter(model for _, model in listed)
    labels = {
        (run, model): model if models[model] == 1 else f"{model} ({folders[run].resolve().name})"
        for run, model in listed
    }
    alike = Counter(labels.values())
    return {
        (run, model): ComparedSystem(
            label if alike[label] == 1 else f"{label} #{run + 1}",
            "" if run == NO_RUN else str(folders[run]),
            model,
            run == NO_RUN,
        )
        for (run, model), label in labels.items()
    }


def _ratings(
    store: Store, benchmark: Benchmark, number: int, unfit: list[fitness.Unfit], *, drawn: bool, cases: bool
) -> pl.DataFrame:
    key = ["criterion", "rater", "unit"]
    rated = pl.concat([frame.ratings(store, benchmark), stock.ratings(store, benchmark)], how="diagonal_relaxed")
    rows = scoring_views.tagged(rated, store, benchmark, unfit)
    rows = _by_case(rows, store, benchmark) if cases else rows
    used = frame.distinct(rows, *key, "instrument").sort("instrument")
    together = used.group_by(key).agg(pl.col("instrument").str.join(", "))
    if len(together) < len(used):
        instrument = rows.select(key).join(together, on=key, how="left", nulls_equal=True, maintain_order="left")
        rows = rows.with_columns(instrument["instrument"])
    rows = pl.concat([rows, composites.over_turns(rows, benchmark)])
    lot = pl.col("selection").str.starts_with(KNOWN) & (pl.col("rater_kind") != RaterKind.PERSON.value)
    chosen = pl.col("selection").is_null() | (pl.lit(drawn) & lot)
    rows = frame.only(rows, chosen, pl.col("status") != "not_applicable")
    return rows.drop("protocol", "dialogue", "turns").with_columns(run_number=pl.lit(number))


def _apart(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Part what was rated at once: replies, turns of dialogues, whole ones, or all turns; and models whose parts are compared."""
    keys = ["unit", *(["run_number", OWNER] if OWNER in rows.columns else [])]
    return [rows] if frame.distinct(rows, *keys).height < 2 else rows.partition_by(keys, maintain_order=True)


def _by_tag(rows: pl.DataFrame, store: Store, benchmark: Benchmark, tag: str, notes: list[str]) -> pl.DataFrame:
    """Make a system of a model's ratings with one value of a tag; its samples are the items that theirs are variants of."""
    samples = [(s.id, s.tags.get(BASE, s.id), s.tags.get(tag)) for s in store.samples(benchmark.name)]
    schema = dict.fromkeys(("sample", "item", "part"), pl.String)
    parts = pl.DataFrame(samples, schema, orient="row")
    tagged = parts.drop_nulls("part")
    if lacking := parts.height - tagged.height:
        notes.append(f"{benchmark.name}: {lacking} of {plural(parts.height, 'sample')} have no tag {tag}; left out")
    items = tagged.group_by("item").agg(pl.col("part").n_unique())
    values = tagged["part"].unique().sort().to_list()
    if incomplete := items.filter(pl.col("part") < len(values)).height:
        notes.append(
            f"{benchmark.name}: {incomplete} of {plural(items.height, 'item')} are not there as every {tag} ({named_in(values, limit=9)}); "
            "two are compared on what both have"
        )
    joined = rows.join(tagged, on="sample", how="inner", maintain_order="left")
    model = pl.concat_str("model", "part", separator=PART)
    return joined.with_columns(pl.col("item").alias("sample"), model, **{OWNER: "model"}).drop("item", "part")


def _by_case(rows: pl.DataFrame, store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Give all that was rated of a dialogue of several turns one sample: the case that it is about.

    Every system writes turns of its own, so that what stands before its replies differs. A case goes by the dialogue's
    `id`, or else its `cluster`, where the file named them, or else by what the person says first.
    """
    if rows["unit"].is_null().all():
        return rows
    samples = {sample.id: sample for sample in store.samples(benchmark.name)}
    cases = [
        (reply.id, _case(samples[reply.sample], reply))
        for reply in store.replies(benchmark.name)
        if "unit" in reply.provenance
    ]
    case_frame = pl.DataFrame(cases, {"subject": pl.String, "case": pl.String}, orient="row")
    joined = rows.join(case_frame, on="subject", how="left", maintain_order="left")
    return joined.with_columns(sample=pl.coalesce("case", "sample")).drop("case")


def _case(sample: Sample, reply: Reply) -> str:
    if "source_id" in reply.provenance:
        return str(reply.provenance["source_id"])
    if sample.cluster != reply.provenance["dialogue"]:
        return sample.cluster
    first = next(place for place, message in enumerate(sample.messages) if message.role == "user")
    return digest("opening", sample.messages[: first + 1])


def _rated(benchmark: Benchmark, rows: pl.DataFrame) -> SystemRatings:
    """Keep what something is computed of, and add constant raters, those that say the same but once; none to parts of a model."""
    kinds = frame.distinct(rows, "criterion", "rater_kind").iter_rows()
    computable = [
        (pl.col("criterion") == criterion) & (pl.col("rater_kind") == kind)
        for criterion, kind in kinds
        if scoring_views.find(benchmark, criterion, kind) is not None
    ]
    answered = frame.only(rows, pl.any_horizontal(pl.lit(False), *computable))
    constant = {} if OWNER in rows.columns else scoring_views.baselines(benchmark, answered)
    labels = [str(label) for label in scoring_views.labels(benchmark)]
    if constant and constant[scoring_views.MAJORITY]["value"].first() in labels:
        del constant[scoring_views.MAJORITY]
    added = [part.with_columns(run_number=pl.lit(NO_RUN)) for part in constant.values()]
    return SystemRatings(benchmark, pl.concat([answered, *added]))


class _Call(NamedTuple):
    model: str
    cost: float | None
    unpriced: int
    seconds: float


class RatingOrigin(msgspec.Struct):
    """What the provenance of a rating says of the calls it came from, or of the time it took without any."""

    calls: list[str] = []
    seconds: float | None = None


def _costs(store: Store, benchmark: Benchmark) -> Iterator[Cost]:
    """Return what each system of a run took on one benchmark; `system` is its name in this run."""
    # A call for a reply leaves its words to the reply, which tells it from one for a verdict by the same model.
    query = f"SELECT key, model, cost, {UNPRICED}, seconds FROM calls WHERE benchmark = ? AND (text IS NULL) = ?"  # noqa: S608 - constant text
    calls = {row[0].hex(): _Call(*row[1:]) for row in store.select(query, (benchmark.name, not benchmark.closed))}
    yield from (_of_answers if benchmark.closed else _of_replies)(store, benchmark.name, calls)


def _of_replies(store: Store, benchmark: str, calls: dict[str, _Call]) -> Iterator[Cost]:
    query = "SELECT model, count(*) FROM replies WHERE benchmark = ? GROUP BY 1"
    for model, answers in store.select(query, (benchmark,)):
        yield _cost(benchmark, model, answers, [call for call in calls.values() if call.model == model])


def _of_answers(store: Store, benchmark: str, calls: dict[str, _Call]) -> Iterator[Cost]:
    """Tell the calls of one way of asking a model from those of another by what ratings say of themselves."""
    answers: dict[str, int] = {}
    named: dict[str, set[str]] = {}
    took: dict[str, list[float]] = {}
    query = "SELECT rater, rater_kind, provenance FROM ratings WHERE benchmark = ? AND rater_kind != 'gold'"
    for rater, kind, provenance in store.select(query, (benchmark,)):
        origin = msgspec.json.decode(provenance, type=RatingOrigin)
        answers[rater] = answers.get(rater, 0) + 1
        named.setdefault(rater, set()).update(calls.keys() & origin.calls)
        if kind == RaterKind.CLASSIFIER and origin.seconds is not None:
            took.setdefault(rater, []).append(origin.seconds)
    for rater, n in answers.items():
        if rater in took:
            yield Cost(benchmark, rater, n, 0.0, 1000 * sum(took[rater]) / len(took[rater]))
        else:
            yield _cost(benchmark, rater, n, [calls[key] for key in named[rater]])


def _cost(benchmark: str, system: str, answers: int, calls: Iterable[_Call]) -> Cost:
    call_list = list(calls)
    if not call_list:
        return Cost(benchmark, system, answers, None, None)
    paid = [call.cost for call in call_list if call.cost is not None]
    dollars = 1000 * sum(paid) / answers if paid and not any(call.unpriced for call in call_list) else None
    return Cost(benchmark, system, answers, dollars, 1000 * sum(call.seconds for call in call_list) / answers)
