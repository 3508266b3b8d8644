"""Who is better, by how much, on what, and how sure that is: the systems of one or several runs, paired by sample."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import client_study, composites, fidelity, fitness, frame, pairing, scoring_views, stock
from mindgauge.analysis.pairing import ComparedSystem, Cost, Measure, SystemComparison, contrasts, pair
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE
from mindgauge.analysis.score import open_run
from mindgauge.records import BASE, RaterKind, digest
from mindgauge.records.drawn import KNOWN
from mindgauge.records.english import named as named_in
from mindgauge.records.errors import OwnCodeError, UsageError
from mindgauge.records.rounding import plural
from mindgauge.store.run import UNPRICED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.card import ReliabilityCard
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import RatingTable
    from mindgauge.benchmarks.metrics.table import Codes
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


def read_systems(
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
    clients = fidelity.check_clients(store, benchmark, frame.ratings(store, benchmark), unfit)
    notes += fidelity.sentences(clients)
    ratings = _ratings(store, benchmark, number, unfit, drawn=drawn, cases=not tag)
    rows = fidelity.allowed(scoring_views.trusted(frame.of_targets(ratings, benchmark), unfit), clients)
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


def named_systems(keys: Iterable[Key], folders: Sequence[Path]) -> dict[Key, ComparedSystem]:
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
    calls_of: dict[str, set[str]] = {}
    took: dict[str, list[float]] = {}
    query = "SELECT rater, rater_kind, provenance FROM ratings WHERE benchmark = ? AND rater_kind != 'gold'"
    for rater, kind, provenance in store.select(query, (benchmark,)):
        origin = msgspec.json.decode(provenance, type=RatingOrigin)
        answers[rater] = answers.get(rater, 0) + 1
        calls_of.setdefault(rater, set()).update(calls.keys() & origin.calls)
        if kind == RaterKind.CLASSIFIER and origin.seconds is not None:
            took.setdefault(rater, []).append(origin.seconds)
    for rater, n in answers.items():
        if rater in took:
            yield Cost(benchmark, rater, n, 0.0, 1000 * sum(took[rater]) / len(took[rater]))
        else:
            yield _cost(benchmark, rater, n, [calls[key] for key in calls_of[rater]])


def _cost(benchmark: str, system: str, answers: int, calls: Iterable[_Call]) -> Cost:
    call_list = list(calls)
    if not call_list:
        return Cost(benchmark, system, answers, None, None)
    paid = [call.cost for call in call_list if call.cost is not None]
    dollars = 1000 * sum(paid) / answers if paid and not any(call.unpriced for call in call_list) else None
    return Cost(benchmark, system, answers, dollars, 1000 * sum(call.seconds for call in call_list) / answers)


Cards: TypeAlias = "Mapping[tuple[str, str, str, str], ReliabilityCard]"
"""Reliability cards by run, benchmark, criterion and judge."""
Labels: TypeAlias = "Mapping[Key, str]"
Wanted: TypeAlias = "Callable[[Benchmark, str, str, str], bool]"
"""Whether a measure is asked for: by benchmark, metric, criterion and rater."""

CASE = "one case by its `id` or `cluster`, or else by what the person says first"
"""What pairs the dialogues of two systems, each with turns of its own."""
_GRAVEST_FIRST = (LIMITED, NOT_ESTIMABLE, BLIND_END, MODERATE, GOOD)
_WORTH = {
    ("least", "higher"): "wrong", ("most", "lower"): "wrong", ("most", "higher"): "right", ("least", "lower"): "right",
}  # fmt: skip


class _CriterionBlock(NamedTuple):
    """Ratings on one criterion, by one rater of all systems or by the systems themselves (`rater` empty)."""

    rated: SystemRatings
    criterion: str
    rater: str
    ratings: RatingPart


def compare(
    folders: Sequence[Path],
    *,
    cards: Cards | None = None,
    unused: Mapping[tuple[str, str, str, str], str] | None = None,
    wanted: Wanted | None = None,
    tag: str = "",
    resamples: int = 2000,
    seed: int = 0,
) -> SystemComparison:
    """Compare every system of some runs with every other that answered the same samples, or had the same dialogues.

    Single turns of dialogues, whole ones, and all turns taken together are compared each among themselves. With `tag`, each
    model is compared with itself: on samples with one value of the tag, and on those with another that share a base.

    Args:
        folders: run directories.
        cards: of the judges in these runs.
        unused: run, benchmark, criterion and judge → why no figure about the worst level alone rests on this judge.
        wanted: says which measures are computed; all, if not given.
        tag: of samples, whose values are compared within each model; models are compared, if not given.
        resamples: of conversations, and of signs; more are drawn where many pairs are compared.
        seed: of their generators.

    Raises:
        UsageError: there is no run in a folder, or nothing can be compared; the message says why.
    """
    rated, costs, notes = read_systems(folders, tag=tag)
    frame.forget()
    named = named_systems((key for part in rated for key in part.keys), folders)
    if tag:
        owner = {key: str(part.rows[OWNER].first()) for part in rated for key in part.keys}
        named = {
            key: msgspec.structs.replace(
                system, model=owner[key], part=system.model.removeprefix(f"{owner[key]}{PART}")
            )
            for key, system in named.items()
        }

    def labels_of(part: SystemRatings) -> Labels:
        return {key: named[key].label for key in part.keys}

    measures: list[Measure] = []
    studies = {
        part.benchmark.name: study
        for part in rated
        if (study := client_study.of(part.rows, part.benchmark, labels_of(part))) is not None
    }
    for part in rated:
        labels = labels_of(part)
        name = part.benchmark.name
        if name in studies and not studies[name].ranked:
            if (reason := f"{name}: {studies[name].reason}") not in notes:
                notes.append(reason)
            continue
        for block in _blocks(_together(part, labels, notes), notes):
            places = _places(block, folders)
            licences = _licences(places, cards or {})
            of_block = _measures(block, labels, licences, {"resamples": resamples, "seed": seed}, wanted, notes)
            reason = next((unused[place] for place in places if place in unused), "") if unused else ""
            of_block = _without_worst(of_block, part.benchmark, block.criterion, reason) if reason else of_block
            model = named[part.keys[0]].model if tag else ""
            measures += [msgspec.structs.replace(measure, tag=tag, model=model) for measure in of_block]
    if all(measure.rater == stock.RATER for measure in measures):
        raise UsageError(
            ": ".join(["nothing to compare", *filter(None, ["; ".join(note.removesuffix(".") for note in notes)])])
        )
    measures.sort(key=lambda measure: measure.rater == stock.RATER)  # behind what was asked for
    compared_pairs = {(m.benchmark, s.system) for m in measures for s in m.standings}
    return SystemComparison(
        [str(folder) for folder in folders],
        [system for system in named.values() if system.label in {label for _, label in compared_pairs}],
        measures,
        [
            msgspec.structs.replace(cost, system=named[key].label)
            for (key, benchmark), cost in costs.items()
            if key in named and (benchmark, named[key].label) in compared_pairs
        ],
        notes,
        {part.benchmark.name: part.benchmark.headline for part in rated},
        tag,
    )


# -- who can be compared ----------------------------------------------------------------------------------------------


def _together(rated: SystemRatings, labels: Labels, notes: list[str]) -> SystemRatings:
    """Leave out systems that share no sample with another, and samples whose target is not the same in all runs."""
    name, rows = rated.benchmark.name, rated.rows
    if len(labels) < 2:
        alone = (
            f"only {next(iter(labels.values()))}, and nobody to compare it with" if labels else "no ratings of systems"
        )
        notes.append(f"{name}: {alone}")
        return rated._replace(rows=rows.clear())
    variants = [OWNER, "model"] if OWNER in rows.columns else []  # of one item, each with its own target
    targets = frame.distinct(rows, "sample", "criterion", "target", *variants)
    targets = targets.group_by("sample", "criterion", *variants).len()
    differing = targets.filter(pl.col("len") > 1)["sample"].unique()
    if len(differing):
        notes.append(f"{name}: {len(differing)} samples have different targets in different runs; left out")
        rows = rows.filter(~pl.col("sample").is_in(differing.implode()))
    key, read = ["run_number", "model"], pl.col("run_number") != NO_RUN
    readers = {system: label for system, label in labels.items() if system[0] != NO_RUN}
    if len(readers) == 1:  # beside constant raters, which answer whatever it did
        return rated._replace(rows=rows)
    answered = frame.distinct(rows, "sample", *key).filter(read)
    shared = answered.filter(pl.len().over("sample") > 1)
    shared_systems = set(shared.select(key).unique().iter_rows())
    unit, detail = ("sample", "") if rows["unit"].is_null().all() else ("dialogue", f" ({CASE})")
    if not shared_systems:
        notes.append(f"{name}: no two of {', '.join(readers.values())} have a {unit} in common{detail}")
    else:
        absent = [label for system, label in readers.items() if system not in shared_systems]
        notes += [f"{name}: {label} has no {unit} in common with the others; left out{detail}" for label in absent]
    all_systems = set(frame.distinct(rows, *key).iter_rows())
    shared_rows = (
        rows if shared_systems == all_systems else rows.join(shared, on=key, how="semi", maintain_order="left")
    )
    constant = rows.filter(~read)
    if constant.is_empty():
        return rated._replace(rows=shared_rows)
    constant = constant.join(shared_rows, on="sample", how="semi", maintain_order="left")
    return rated._replace(rows=pl.concat([shared_rows, constant]))


def _blocks(rated: SystemRatings, notes: list[str]) -> Iterator[_CriterionBlock]:
    """Yield the ratings of two systems or more by the same rater, or by themselves on a closed question."""
    name, closed = rated.benchmark.name, rated.benchmark.closed
    groups = RatingPart.of(rated.rows).by(*(["criterion"] if closed else ["criterion", "rater"]))
    common = [
        _CriterionBlock(rated, key[0], "" if closed else key[1], ratings)
        for key, ratings in groups
        if len(ratings.by("run_number", "model")) > 1
    ]
    raters = sorted({"" if closed else key[1] for key, _ in groups} - {stock.RATER})
    if raters and not any(block.rater != stock.RATER for block in common):
        notes.append(f"{name}: nobody rated replies of two systems; each was rated by {' or '.join(raters)} alone")
    instruments: dict[str, set[str]] = {}
    for block in common:
        instruments.setdefault(block.rater, set()).update(text for (text,), _ in block.ratings.by("instrument"))
    notes += [
        f"{name}: {rater} did not work with the same rubric and prompt in all runs ({', '.join(sorted(texts))}), "
        "and part of a difference may come from that"
        for rater, texts in sorted(instruments.items())
        if rater and len(texts) > 1
    ]
    if closed and common and rated.rows.filter(pl.col("run_number") != NO_RUN)["run"].n_unique() > 1:
        notes.append(
            f"{name}: each repeated answer counts separately here, as in `mindgauge score` in the rows without :majority"
        )
    yield from common


def _places(block: _CriterionBlock, folders: Sequence[Path]) -> list[tuple[str, str, str, str]]:
    """Return run, benchmark, criterion and rater, run by run."""
    numbers = [int(number) for (number,), _ in block.ratings.by("run_number")]
    runs = [str(folders[run]) for run in numbers if run != NO_RUN]
    return [(run, block.rated.benchmark.name, block.criterion, block.rater) for run in runs]


def _without_worst(measures: Iterator[Measure], benchmark: Benchmark, name: str, reason: str) -> Iterator[Measure]:
    """Mark the measures about the worst level alone: the rater may neither give them nor rank by them."""
    about_it = scoring_views.worst_level_metrics(benchmark, name)
    for measure in measures:
        if measure.name in about_it:
            yield msgspec.structs.replace(measure, rate_replies=LIMITED, rank_systems=LIMITED, unused=reason)
        else:
            yield measure


def _licences(places: Sequence[tuple[str, str, str, str]], cards: Cards) -> tuple[str, str]:
    """Return what the rater's card allows, single ratings and ranks; of several cards the gravest, empty without one."""
    matching = [cards[place] for place in places if place in cards]
    rate, rank = {card.rate_replies.verdict for card in matching}, {card.rank_systems.verdict for card in matching}
    return _gravest(rate), _gravest(rank)


def _gravest(verdicts: set[str]) -> str:
    return next((verdict for verdict in _GRAVEST_FIRST if verdict in verdicts), "")


# -- how they compare -------------------------------------------------------------------------------------------------


def _measures(
    block: _CriterionBlock,
    labels: Labels,
    licences: tuple[str, str],
    bootstrap: Mapping[str, int],
    wanted: Wanted | None,
    notes: list[str],
) -> Iterator[Measure]:
    """Compare systems by every metric on every slice; of a metric of the user's own that fails, a note says so."""
    benchmark = block.rated.benchmark
    kind = "model" if benchmark.closed else block.ratings.first("rater_kind")
    question = scoring_views.find(benchmark, block.criterion, kind)
    assert question is not None
    metrics = [
        metric
        for metric in question.metrics
        if (metric.item_score is not None or metric.waits is not None)
        and (wanted is None or wanted(benchmark, metric.name, block.criterion, block.rater))
    ]
    if not metrics:
        return
    for slice_, cut in scoring_views.slices(benchmark, block.ratings):
        is_all = slice_ == "all"
        if not is_all and len(cut) == len(block.ratings):
            continue
        rated, _ = scoring_views.answered(cut, ("run_number", "model"), closed=benchmark.closed)
        if not len(rated):
            continue
        wanted_metrics = metrics if is_all else [m for m in metrics if not m.label]
        full = _part(rated, question, labels)
        # Of single labels there is nothing to say of a constant rater: it has all of one and none of the others.
        constant = rated.among("run_number", [str(NO_RUN)])
        readers = _part(rated.where(~constant), question, labels) if constant.any() else full
        for metric in wanted_metrics:
            table, system, sample, names = readers if metric.label else full
            unit = "share" if metric.exact else "level"
            label = f"label={metric.label}" if metric.label else slice_
            about = (benchmark.name, metric.name, block.criterion, label, block.rater, unit, metric.better)
            title = metric.titled(block.criterion, own_answers=not block.rater)
            if metric.waits is not None:
                outcome = pairing.wait_contrasts(metric, names, table, system, **bootstrap)
                if outcome[1]:
                    yield Measure(*about, *licences, 0, *outcome, title=title)
                continue
            try:
                scores = pair(metric, table, system, sample)
            except OwnCodeError as error:
                notes += [note for note in [str(error)] if note not in notes]
                continue
            if np.count_nonzero(scores.present.any(axis=0)) > 1:
                outcome = contrasts(metric, names, scores, **bootstrap)
                counted = _WORTH.get((scores.missing_as, metric.better), "")
                yield Measure(*about, *licences, scores.left_out, *outcome, missing_as=counted, title=title)


def _part(
    ratings: RatingPart, question: scoring_views.ScoringQuestion, labels: Labels
) -> tuple[RatingTable, Codes, Codes, list[str]]:
    """Return ratings of all systems as columns, the number of each rating's system and sample, and the systems' names."""
    places: dict[tuple[str, ...], int] = {(str(run), model): place for place, (run, model) in enumerate(labels)}
    system, sample = ratings.numbered(places, "run_number", "model"), ratings.dense("sample")
    table = ratings.table(question.criterion, question.benchmark.metric_tags)
    return table, system, sample, list(labels.values())
