"""What people's ratings of a drawn part say of all that it was drawn from: by people alone, and with each judge's help.

The unsafe levels are the rubric's (`Criterion.unsafe`). Over several criteria, a reply is unsafe where it is on one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import drawn, frame
from mindgauge.analysis.reliability.scale import Unsafe, of_criterion
from mindgauge.analysis.reliability.unsafe_levels import together
from mindgauge.records import instruments
from mindgauge.records.rounding import count
from mindgauge.records.rubric import Scale
from mindgauge.records.rubric.criterion import numbers_of_levels
from mindgauge.stats import sampling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mindgauge.analysis.reliability.scale import ValueScale
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records.rounding import Kind
    from mindgauge.records.rubric import Criterion
    from mindgauge.stats.interval import Interval
    from mindgauge.store import Store


def on(ratings: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
    """Say of each subject whether its raters together call it unsafe on one criterion.

    Args:
        ratings: on that criterion, by one rater or several: subject, rater, status, value (as text).
        criterion: with unsafe levels.

    Returns:
        Columns subject, unsafe (null where no rater has a value).
    """
    return _called(ratings.with_columns(criterion=pl.lit(criterion.name)), {criterion.name: criterion})


def anywhere(ratings: pl.DataFrame, criteria: Mapping[str, Criterion]) -> pl.DataFrame:
    """Say of each subject whether its raters together call it unsafe on one of several criteria.

    Args:
        ratings: subject, criterion, rater, status, value (as text).
        criteria: of which those without unsafe levels, and those that look at the reasoning, say nothing.

    Returns:
        Columns subject, unsafe (null where no rater has a value on a criterion with unsafe levels).
    """
    speaking = {
        name: criterion for name, criterion in criteria.items() if criterion.unsafe and not criterion.of_reasoning
    }
    return _called(ratings.filter(pl.col("criterion").is_in(list(speaking))), speaking)


def complete(ratings: pl.DataFrame, criteria: Iterable[Criterion]) -> pl.DataFrame:
    """Say the same of subjects that have a verdict on each criterion on which they were rated.

    A share that counted who is unsafe and lacks a verdict, but not who looks safe and lacks one, would be too high. A value
    off the scale is no verdict.

    Returns:
        Columns subject, unsafe (null where a verdict is missing), known (whether it is unsafe on one, be others missing).
    """
    schema = pl.DataFrame(schema={"subject": pl.String, "unsafe": pl.Boolean})
    each = (on(ratings.filter(pl.col("criterion") == criterion.name), criterion) for criterion in criteria)
    unsafe = pl.col("unsafe")
    return (
        pl.concat([schema, *each])
        .group_by("subject", maintain_order=True)
        .agg(pl.when(unsafe.is_not_null().all()).then(unsafe.any()), known=unsafe.any())
    )


def _called(ratings: pl.DataFrame, criteria: Mapping[str, Criterion]) -> pl.DataFrame:
    """Say the same of each subject with a rating, all of which are on these criteria."""
    used = ratings.lazy().filter(pl.col("status") == "ok", pl.col("value").is_not_null())
    scales = {name: of_criterion(criterion) for name, criterion in criteria.items()}
    numbers = [
        (name, value, _above(value, scales[name]))
        for name, value in used.select("criterion", "value").unique().collect().iter_rows()
    ]
    schema = {"criterion": pl.String, "value": pl.String, "number": pl.Float64}
    above = pl.LazyFrame(numbers, schema, orient="row").drop_nulls()
    valued = used.join(above, on=["criterion", "value"], maintain_order="left")
    decided = together(valued, Unsafe(0.0), "criterion").group_by("subject").agg(pl.col("unsafe").any())
    asked = ratings.lazy().select("subject").unique(maintain_order=True)
    return asked.join(decided, on="subject", how="left", maintain_order="left").collect()


def _above(value: str, scale: ValueScale) -> float | None:
    """Return how far a value lies above the unsafe ones of its scale, which are at 0 and below; None where it is not on it."""
    try:
        number = float(scale.words.index(value) if scale.words else value)
    except ValueError:
        return None
    if not scale.low <= number <= scale.high:
        return None
    unsafe = scale.unsafe or Unsafe()
    if unsafe.limit is None:
        return float(not unsafe.has(number))
    return unsafe.limit - number if unsafe.falling else number - unsafe.limit


# What released review sets state of judges' verdicts on replies, where the verdicts themselves were not released.


_STATED = """
SELECT replies.id, json_each.value FROM replies, json_each(replies.provenance, '$.review_sets')
WHERE benchmark = ?"""


def mean_calls(store: Store, benchmark: Benchmark) -> pl.DataFrame:
    """Return the mean verdicts that review sets state of single judges; a panel's are nobody's.

    Returns:
        Columns subject, criterion, rater, value (the mean, as text).
    """
    rows = [
        (subject, facts["criterion"], rater, str(facts["mean"]))
        for subject, rater, facts in _stated(store, benchmark)
        if facts.get("mean") is not None and facts.get("criterion")
    ]
    schema = dict.fromkeys(("subject", "criterion", "rater", "value"), pl.String)
    return pl.DataFrame(rows, schema, orient="row")


def reasons(store: Store, benchmark: Benchmark, criterion: str) -> list[tuple[str, str, str]]:
    """Return the reasons of single judges that review sets state: subject, rater, reason."""
    return [
        (subject, rater, facts["explanation"])
        for subject, rater, facts in _stated(store, benchmark)
        if facts.get("explanation") and facts.get("criterion") == criterion
    ]


def _stated(store: Store, benchmark: Benchmark) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for subject, text in store.select(_STATED, (benchmark.name,)):
        for rater, facts in msgspec.json.decode(text).items():
            if not facts.get("panel"):
                yield subject, rater, facts


def standing_in(stated: pl.DataFrame, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return the stated means of replies of which a run holds no verdict of the judge; where there is one, it counts."""
    return stated if stated.is_empty() else stated.join(ratings, on=["subject", "criterion", "rater"], how="anti")


MEAN, UNSAFE = "mean", "unsafe"
ALONE = "people"
_OTHER = 0.05
"""By how much of the frame what a judge rated may differ from it before it is something else."""
_FEW = 5
"""Events below which Student's interval of a share holds too little."""
TOO_FEW = "among those that were drawn too few are unsafe, or safe, for a judge to make the share surer"
TOO_OTHER = "{judge} rated {judged} replies, and these were drawn from {frame}"


class FrameEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """People's mean, or the share that they call unsafe, of all replies of a frame from those drawn of it.

    `low` and `high` are of conversations like these, `frame_low` and `frame_high` of these replies alone. `n` replies have
    a value of the `drawn` ones that people were asked about; had the others the worst or the best value, it would be
    `worst` or `best`, None where there are no others. `gain` says how many times as many ratings the judge in `by` is worth.
    """

    benchmark: str
    criterion: str
    measure: str
    by: str
    value: float | None
    low: float | None
    high: float | None
    frame_low: float | None
    frame_high: float | None
    worst: float | None
    best: float | None
    n: int
    drawn: int
    frame: int
    conversations: int
    people: list[str]
    gain: float | None = None
    note: str = ""

    @property
    def judge(self) -> str:
        """The judge that helps; empty of people alone."""
        return self.by.removeprefix(f"{ALONE} and ") if self.by != ALONE else ""

    @property
    def unit(self) -> Kind:
        """What its value is."""
        return "share" if self.measure == UNSAFE else "level"


class _AskedSubjects(NamedTuple):
    """What people were asked about of one draw: a row a subject, with cluster, `drawn.COLUMNS` and value (null if none)."""

    subjects: pl.DataFrame
    people: list[str]
    low: float
    high: float
    worst_is_high: bool


def estimates(benchmark: Benchmark, rows: pl.DataFrame, *, loaded: bool = False) -> Iterator[FrameEstimate]:
    """Estimate each criterion's mean and share of unsafe replies from what people rated of one draw.

    Args:
        benchmark: whose replies.
        rows: all its ratings, as `frame.ratings` has them.
        loaded: whether these are of a run that was loaded from a paper's release.
    """
    people = rows.filter(pl.col("rater_kind") == "person", pl.col("status") != "not_applicable")
    if people["probability"].null_count() == len(people):
        return
    used = instruments.by_rater(rows.select("rater", "instrument").unique().iter_rows(), loaded=loaded)
    for name, criterion in frame.criteria(benchmark).items():
        part = drawn.alone(people.filter(pl.col("criterion") == name))[0]
        if not drawn.is_drawn(part):
            continue
        judged = rows.filter(pl.col("criterion") == name, pl.col("rater_kind").is_in(["model", "classifier"]))
        for measure in (MEAN, UNSAFE):
            if (about := _part(part, criterion, measure)) is not None:
                for estimate in _estimates(benchmark.name, criterion, measure, about, judged):
                    yield _with_instruments(estimate, used)


def _with_instruments(estimate: FrameEstimate, used: Mapping[str, frozenset[str]]) -> FrameEstimate:
    """Say first where a judge and people did not work with the same instrument."""
    difference = instruments.difference(estimate.judge, estimate.people, used)
    note = "; ".join(filter(None, [difference, estimate.note]))
    return msgspec.structs.replace(estimate, note=note)


def notes(benchmark: Benchmark, rows: pl.DataFrame) -> Iterator[str]:
    """Say what was drawn, and what is left out beside it, once for all criteria of which that is the same."""
    people = rows.filter(pl.col("rater_kind") == "person", pl.col("status") != "not_applicable")
    draw_notes = {
        drawn.alone(people.filter(pl.col("criterion") == name))[1] for name in people["criterion"].unique().sort()
    }
    yield from (f"{benchmark.name}: {note}" for note in sorted(draw_notes) if note)


def _part(rows: pl.DataFrame, criterion: Criterion, measure: str) -> _AskedSubjects | None:
    subjects = rows.unique("subject", keep="first", maintain_order=True).select("subject", "cluster", *drawn.COLUMNS)
    people = rows["rater"].unique().sort().to_list()
    if measure == UNSAFE:
        if not criterion.unsafe:
            return None
        values = on(rows, criterion).select("subject", value=pl.col("unsafe").cast(pl.Float64))
        return _AskedSubjects(
            subjects.join(values, on="subject", how="left", maintain_order="left"), people, 0.0, 1.0, True
        )
    if criterion.scale is not Scale.ORDINAL:
        return None
    counts = numbers_of_levels(criterion)
    ok = pl.col("status") == "ok"
    values = rows.group_by("subject").agg(value=frame.number(criterion).filter(ok).mean())
    joined = subjects.join(values, on="subject", how="left", maintain_order="left")
    worst, best = (counts[criterion.worst_first[end]] for end in (0, -1))
    return _AskedSubjects(joined, people, min(worst, best), max(worst, best), worst > best)


def _estimates(
    benchmark: str, criterion: Criterion, measure: str, part: _AskedSubjects, judged: pl.DataFrame
) -> Iterator[FrameEstimate]:
    subjects = part.subjects
    rated = subjects.filter(pl.col("value").is_not_null())
    if rated.is_empty():
        return
    sample = drawn.sample(subjects).rows(subjects["value"].is_not_null().to_numpy())
    value = rated["value"].to_numpy()
    ends = None if measure == UNSAFE else (part.low, part.high)  # a share has bounds of its own
    weighted = sampling.statistic(lambda weights: weights @ value / weights.sum(axis=1), sample, ends=ends)
    interval = weighted.interval
    if measure == UNSAFE:
        filled = subjects["value"].to_numpy()
        interval = sampling.share(filled, drawn.sample(subjects))
    size = int(subjects["frame"].max() or 0)  # type: ignore[arg-type]
    lowest, highest = (_filled(subjects, end) for end in (part.low, part.high))
    worst, best = (highest, lowest) if part.worst_is_high else (lowest, highest)
    lacking = len(rated) < len(subjects)
    alone = FrameEstimate(
        benchmark=benchmark, criterion=criterion.name, measure=measure, by=ALONE, value=interval.value,
        low=_within(interval.low, part), high=_within(interval.high, part), frame_low=_within(weighted.frame.low, part),
        frame_high=_within(weighted.frame.high, part), worst=worst if lacking else None, best=best if lacking else None, n=len(rated), drawn=len(subjects), frame=size,
        conversations=rated["cluster"].n_unique(), people=part.people, note=interval.undefined,
    )  # fmt: skip
    yield _rare(alone, measure, interval)
    for judge in judged["rater"].unique().sort().to_list():
        yield _powered(alone, part, criterion, measure, judge, judged.filter(pl.col("rater") == judge))


def _rare(estimate: FrameEstimate, measure: str, interval: Interval) -> FrameEstimate:
    """Give a share of the frame alone the bounds for rare events where Student's say more than they can know."""
    if measure != UNSAFE or interval.value is None or estimate.frame_low is None:
        return estimate
    if min(interval.value, 1 - interval.value) * estimate.n >= _FEW:
        return estimate
    return msgspec.structs.replace(estimate, frame_low=interval.low, frame_high=interval.high)


def _filled(subjects: pl.DataFrame, end: float) -> float:
    """Return the weighted mean were every value that is missing the one at an end."""
    weight = 1 / subjects["probability"].to_numpy()
    return float(np.average(subjects["value"].fill_null(end).to_numpy(), weights=weight))


def _within(bound: float | None, part: _AskedSubjects) -> float | None:
    return None if bound is None else min(max(bound, part.low), part.high)


def _powered(
    alone: FrameEstimate, part: _AskedSubjects, criterion: Criterion, measure: str, judge: str, rows: pl.DataFrame
) -> FrameEstimate:
    """Estimate the same with a judge's ratings of the whole frame, which people's correct."""
    if measure == UNSAFE:
        verdicts = on(rows, criterion).select("subject", judge=pl.col("unsafe").cast(pl.Float64))
    else:
        number = frame.number(criterion).filter(pl.col("status") == "ok").mean()
        verdicts = rows.group_by("subject", maintain_order=True).agg(judge=number)
    places = rows.unique("subject", keep="first", maintain_order=True).select("subject", "cluster")
    both = places.join(verdicts, on="subject", how="left", maintain_order="left").join(
        part.subjects.drop("cluster"), on="subject", how="left", maintain_order="left"
    )
    rated = both.filter(pl.col("value").is_not_null())
    blank = msgspec.structs.replace(
        alone, by=f"{ALONE} and {judge}", value=None, low=None, high=None, frame_low=None, frame_high=None, worst=None,
        best=None, n=len(rated), gain=None,
    )  # fmt: skip
    if alone.frame and abs(len(both) - alone.frame) > _OTHER * alone.frame:
        reason = TOO_OTHER.format(judge=judge, judged=count(len(both)), frame=count(alone.frame))
        return msgspec.structs.replace(blank, note=reason)
    if rated.is_empty():
        return msgspec.structs.replace(blank, note=f"{judge} rated nothing of what people rated")
    events = rated["value"].sum()
    if measure == UNSAFE and min(events, len(rated) - events) < _FEW:
        return msgspec.structs.replace(blank, note=TOO_FEW)
    means = sampling.prediction_powered_mean(
        both["judge"].to_numpy(), both["value"].to_numpy(), both["cluster"].fill_null("").to_numpy().astype(str),
        drawn.sample(rated), ends=None if measure == UNSAFE else (part.low, part.high),
    )  # fmt: skip
    interval = means.corrected
    return msgspec.structs.replace(
        blank, value=_within(interval.value, part), low=_within(interval.low, part), high=_within(interval.high, part),
        gain=means.gain, note=interval.undefined,
    )  # fmt: skip
