"""What a gate looks at on one side: the ratings of a run's systems, or those that a baseline file keeps of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import scoring_views, stock, systems
from mindgauge.analysis.rating_part import RatingPart
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mindgauge.analysis.systems import SystemRatings
    from mindgauge.benchmarks import Benchmark
    from mindgauge.records import Value
    from mindgauge.records.rubric import Criterion

_LABEL = re.compile(r"@[\w.+-]+(?= \(|$)")


class GateSide(NamedTuple):
    """The ratings of one side, by benchmark and by what was rated at once; columns as in `SystemRatings`."""

    name: str
    parts: list[SystemRatings]
    notes: list[str]

    def models(self, benchmark: str) -> list[str]:
        """Return its systems on a benchmark."""
        parts = [part for part in self.parts if part.benchmark.name == benchmark]
        return sorted({model for part in parts for model in part.rows["model"].unique()})

    @property
    def benchmarks(self) -> list[str]:
        """The names of its benchmarks."""
        return list(dict.fromkeys(part.benchmark.name for part in self.parts))


class SystemBlock(NamedTuple):
    """Ratings of one system on one criterion and slice, by one rater or, on a closed question, by itself."""

    benchmark: Benchmark
    criterion: str
    rater: str
    kind: str
    model: str
    rows: pl.DataFrame

    @property
    def instruments(self) -> set[str]:
        """What the rater worked with."""
        return set(self.rows["instrument"].drop_nulls())


def read(folder: Path) -> GateSide:
    """Read the side of a run.

    Raises:
        UsageError: there is no run in the folder.
    """
    parts, _, notes = systems.read([folder], drawn=True)
    return GateSide(str(folder), [part._replace(rows=_asked_for(part)) for part in parts], notes)


def _asked_for(part: SystemRatings) -> pl.DataFrame:
    """Leave out constant raters, and what is said of stock replies unasked: no policy names it, and a side may have none."""
    raters = [*scoring_views.baseline_names(part.benchmark), stock.RATER]
    return part.rows.filter(pl.col("run_number") != systems.NO_RUN, ~pl.col("rater").is_in(raters))


def blocks(
    part: SystemRatings, slice_: str, *, criterion: str = "", rater: str = "", model: str = ""
) -> list[SystemBlock]:
    """Return the ratings on one slice, each system, criterion and rater apart; what is not named may be any."""
    wanted = [
        pl.col(column) == name
        for column, name in (("criterion", criterion), ("rater", rater), ("model", model))
        if name
    ]
    rows = part.rows.filter(pl.col("rater_kind") != "gold", *wanted)
    cut = scoring_views.slices(part.benchmark, RatingPart.of(rows))
    sliced = next((sliced.rows for name, sliced in cut if name == slice_), rows.clear())
    keys = ["criterion", "rater", "rater_kind", "model"]
    groups = sorted(sliced.group_by(keys), key=lambda group: tuple(map(str, group[0])))
    return [
        SystemBlock(part.benchmark, str(criterion_), str(rater_), str(kind), str(model_), group)
        for (criterion_, rater_, kind, model_), group in groups
    ]


def counterpart(model: str, models: Sequence[str], others: Sequence[str]) -> str:
    """Return which of the other side's systems a system is compared with.

    That of its name, else the one of its name but for the label, which says which build it is; else the only one there is.
    """
    if model in others:
        return model
    builds = [other for other in others if unlabelled(other) == unlabelled(model)]
    if len(builds) == 1:
        return builds[0]
    return others[0] if len(models) == len(others) == 1 else ""


def unlabelled(model: str) -> str:
    """Return a system's name without the label that says which build it is."""
    return _LABEL.sub("", model)


def levels_among(criterion: Criterion, wanted: Iterable[Value]) -> set[str]:
    """Return those of some levels that a criterion has, as ratings hold them."""
    by_form = {_form(value): str(value) for value in criterion.values}
    return {by_form[form] for form in map(_form, wanted) if form in by_form}


def refuse_unknown_levels(title: str, wanted: Iterable[Value], criteria: Sequence[Criterion]) -> None:
    """See that each level is one of some criterion's: one that is written wrongly would never be met.

    Raises:
        UsageError: one is not; the message names those there are.
    """
    known = {_form(value) for criterion in criteria for value in criterion.values}
    unknown = [str(level) for level in wanted if _form(level) not in known]
    if unknown:
        levels = "; ".join(f"{c.name} has {', '.join(map(str, c.values))}" for c in criteria)
        raise UsageError(f"{title}: there is no level {', '.join(unknown)}; {levels}")


def _form(value: Value) -> str:
    """Write a level in one way; a number as a number, however it was given."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return str(value)
