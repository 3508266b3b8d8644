"""Who is better, by how much, on what, and how sure that is: the systems of one or several runs, paired by sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import client_study, frame, pairing, scoring_views, stock, systems, worst_level
from mindgauge.analysis.pairing import Measure, SystemComparison, contrasts, pair
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.analysis.reliability.card import BLIND_END, GOOD, LIMITED, MODERATE, NOT_ESTIMABLE
from mindgauge.records.errors import OwnCodeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mindgauge.analysis.reliability.card import ReliabilityCard
    from mindgauge.benchmarks import Benchmark
    from mindgauge.benchmarks.metrics import RatingTable
    from mindgauge.benchmarks.metrics.table import Codes

Cards: TypeAlias = "Mapping[tuple[str, str, str, str], ReliabilityCard]"
"""Reliability cards by run, benchmark, criterion and judge."""
Labels: TypeAlias = "Mapping[systems.Key, str]"
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

    rated: systems.SystemRatings
    criterion: str
    rater: str
    ratings: RatingPart


class _Part(NamedTuple):
    """Ratings of all systems on one slice as columns, with the number of each rating's system and sample."""

    table: RatingTable
    system: Codes
    sample: Codes
    names: list[str]


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
    rated, costs, notes = systems.read(folders, tag=tag)
    frame.forget()
    named = systems.named((key for part in rated for key in part.keys), folders)
    if tag:
        owner = {key: str(part.rows[systems.OWNER].first()) for part in rated for key in part.keys}
        named = {
            key: msgspec.structs.replace(
                system, model=owner[key], part=system.model.removeprefix(f"{owner[key]}{systems.PART}")
            )
            for key, system in named.items()
        }

    def labels_of(part: systems.SystemRatings) -> Labels:
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


def _together(rated: systems.SystemRatings, labels: Labels, notes: list[str]) -> systems.SystemRatings:
    """Leave out systems that share no sample with another, and samples whose target is not the same in all runs."""
    name, rows = rated.benchmark.name, rated.rows
    if len(labels) < 2:
        alone = (
            f"only {next(iter(labels.values()))}, and nobody to compare it with" if labels else "no ratings of systems"
        )
        notes.append(f"{name}: {alone}")
        return rated._replace(rows=rows.clear())
    variants = (
        [systems.OWNER, "model"] if systems.OWNER in rows.columns else []
    )  # of one item, each with its own target
    targets = frame.distinct(rows, "sample", "criterion", "target", *variants)
    targets = targets.group_by("sample", "criterion", *variants).len()
    differing = targets.filter(pl.col("len") > 1)["sample"].unique()
    if len(differing):
        notes.append(f"{name}: {len(differing)} samples have different targets in different runs; left out")
        rows = rows.filter(~pl.col("sample").is_in(differing.implode()))
    key, read = ["run_number", "model"], pl.col("run_number") != systems.NO_RUN
    readers = {system: label for system, label in labels.items() if system[0] != systems.NO_RUN}
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


def _blocks(rated: systems.SystemRatings, notes: list[str]) -> Iterator[_CriterionBlock]:
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
    if closed and common and rated.rows.filter(pl.col("run_number") != systems.NO_RUN)["run"].n_unique() > 1:
        notes.append(
            f"{name}: each repeated answer counts separately here, as in `mindgauge score` in the rows without :majority"
        )
    yield from common


def _places(block: _CriterionBlock, folders: Sequence[Path]) -> list[tuple[str, str, str, str]]:
    """Return run, benchmark, criterion and rater, run by run."""
    numbers = [int(number) for (number,), _ in block.ratings.by("run_number")]
    runs = [str(folders[run]) for run in numbers if run != systems.NO_RUN]
    return [(run, block.rated.benchmark.name, block.criterion, block.rater) for run in runs]


def _without_worst(measures: Iterator[Measure], benchmark: Benchmark, name: str, reason: str) -> Iterator[Measure]:
    """Mark the measures about the worst level alone: the rater may neither give them nor rank by them."""
    about_it = worst_level.metrics(benchmark, name)
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
        constant = rated.among("run_number", [str(systems.NO_RUN)])
        readers = _part(rated.where(~constant), question, labels) if constant.any() else full
        for metric in wanted_metrics:
            part = readers if metric.label else full
            unit = "share" if metric.exact else "level"
            label = f"label={metric.label}" if metric.label else slice_
            about = (benchmark.name, metric.name, block.criterion, label, block.rater, unit, metric.better)
            title = metric.titled(block.criterion, own_answers=not block.rater)
            if metric.waits is not None:
                outcome = pairing.wait_contrasts(metric, part.names, part.table, part.system, **bootstrap)
                if outcome[1]:
                    yield Measure(*about, *licences, 0, *outcome, title=title)
                continue
            try:
                scores = pair(metric, part.table, part.system, part.sample)
            except OwnCodeError as error:
                notes += [note for note in [str(error)] if note not in notes]
                continue
            if np.count_nonzero(scores.present.any(axis=0)) > 1:
                outcome = contrasts(metric, part.names, scores, **bootstrap)
                counted = _WORTH.get((scores.missing_as, metric.better), "")
                yield Measure(*about, *licences, scores.left_out, *outcome, missing_as=counted, title=title)


def _part(ratings: RatingPart, question: scoring_views.ScoringQuestion, labels: Labels) -> _Part:
    places: dict[tuple[str, ...], int] = {(str(run), model): place for place, (run, model) in enumerate(labels)}
    system, sample = ratings.numbered(places, "run_number", "model"), ratings.dense("sample")
    table = ratings.table(question.criterion, question.benchmark.metric_tags)
    return _Part(table, system, sample, list(labels.values()))
