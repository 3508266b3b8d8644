"""What a comparison says: who was compared, where each stands on each measure, and how each two differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.records.command_result import Tabular
from mindgauge.records.english import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


class ComparedSystem(msgspec.Struct, frozen=True):
    """A model as one run measured it; or a constant rater (`baseline`), which belongs to no run.

    `label` is unique among the systems of a comparison: the model's name, with the run's where several have it.
    """

    label: str
    run: str
    model: str
    baseline: bool = False
    part: str = ""
    """The value of a tag by which the model's replies are parted, where parts of one model are compared."""


class Cost(msgspec.Struct, frozen=True):
    """What a thousand of a system's replies, or of its answers to a closed question, take, as its run had it.

    `cost` is in US dollars, `seconds` the time that the model takes one after the other. None where it is unknown: the
    run holds no calls, or, for the cost, one without a price. A classifier makes no calls and costs none.
    """

    benchmark: str
    system: str
    answers: int
    cost: float | None
    seconds: float | None


class SystemStanding(msgspec.Struct, frozen=True):
    """Where a system stands on one measure, on the samples that are compared; 1 is best, ties share their ranks' mean.

    `value` is the mean over conversations, each counting once, on the samples that another system answered too; a share has exact bounds on them. `rank_low` and `rank_high` bound the ranks of all systems
    at once with 95 % confidence; `best` is the share of resamples in which it was first. Of `n` replies or answers in
    `clusters` conversations, `missing` have no value. `pooled` is the value as `score` has it: over all ratings of the
    system, each counting once, also of samples that others did not answer.
    """

    system: str
    value: float | None
    low: float | None
    high: float | None
    rank: float | None
    rank_low: int | None
    rank_high: int | None
    best: float | None
    n: int
    clusters: int
    missing: int
    pooled: float | None = None


class SystemDifference(msgspec.Struct, frozen=True):
    """By how much the first system's value exceeds the second's, on what both answered.

    That are `n` samples of `clusters` conversations, each of which counts once; a conversation's difference is the mean over
    the samples of which both have a value. Where a share differs in only a few of
    them, resamples know too little and the interval is made of exact bounds, which are wide. With few
    conversations interval and p may disagree, and only both together tell two apart. `p` is of the sign-flip test, `adjusted` by Holm for all pairs of the measure. `told_apart`: the interval leaves out 0
    and `adjusted` is at most .05; None where neither can be computed. `better` names the better one of two that can be
    told apart. `worst` and `best` are the difference if all missing ratings were as bad, or as good, for the first
    as they can be; as the samples with values differ, where that is further out.
    """

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    told_apart: bool | None
    better: str
    n: int
    clusters: int
    worst: float | None
    best: float | None


class Measure(msgspec.Struct, frozen=True):
    """One metric on one slice, as one rater has it (the systems themselves where `rater` is empty).

    `unit` is `share` or `level`. `direction` says which values are better: `higher`, `lower`, or empty where neither is, and there are no ranks.
    `rate_replies` and `rank_systems` are what the rater's reliability card allows, empty where it has none. `left_out`
    samples were answered by one system alone.
    """

    benchmark: str
    name: str
    criterion: str
    slice: str
    rater: str
    unit: str
    direction: str
    rate_replies: str
    rank_systems: str
    left_out: int
    standings: list[SystemStanding]
    differences: list[SystemDifference]
    missing_as: str = ""
    """What an answer without a value counts as, `right` or `wrong`; empty where it is neither, or none is missing."""
    title: str = ""
    """What it is called in a sentence, its criterion included where others rate."""
    unused: str = ""
    """Why it may not be shown though others of this rater may: it is about the worst level alone, which the rater does not use."""
    tag: str = ""
    """The tag whose values are its systems, all of one `model`; empty where models are compared."""
    model: str = ""

    @property
    def part(self) -> bool:
        """Whether it is about one label of the subjects that have it."""
        return self.slice.startswith("label=")


class SystemComparison(Tabular, msgspec.Struct, frozen=True):
    """All systems on all measures that they have in common. `notes` says what was not compared, and why."""

    runs: list[str]
    systems: list[ComparedSystem]
    measures: list[Measure]
    costs: list[Cost]
    notes: list[str]
    headlines: dict[str, tuple[str, ...]] = {}
    """The metrics that each benchmark goes by."""
    tag: str = ""
    """The tag whose values are compared within each model; empty where models are compared."""

    @property
    def table(self) -> pl.DataFrame:
        """The differences, one row for each measure and two systems; `value` is the first's less the second's.

        The first columns are `first`, `second`, `benchmark`, `metric` (in words), `value`, `low`, `high` (95 %), `n`, `better` and
        `told_apart`.
        """
        return self._rows("differences", SystemDifference, ("first", "second"), ("better", "told_apart"))

    @property
    def standings(self) -> pl.DataFrame:
        """Where each system stands, one row for each measure and system.

        The first columns are `model`, `benchmark`, `metric` (in words), `value`, `low`, `high` (95 %), `n`, `missing` and `rank`.
        """
        return self._rows("standings", SystemStanding, ("system",), ("missing", "rank")).rename({"system": "model"})

    def _rows(self, part: str, kind: type[msgspec.Struct], who: Sequence[str], then: Sequence[str]) -> pl.DataFrame:
        """Tabulate a part of all measures: who, what, how much, and then the rest."""
        import polars as pl

        about = (
            "benchmark",
            "slice",
            "rater",
            "criterion",
            "rate_replies",
            "rank_systems",
            "name",
            "unit",
            "direction",
        )
        rows = [
            {"metric": measure.title or measure.name, **{column: getattr(measure, column) for column in about}}
            | msgspec.structs.asdict(row)
            for measure in self.measures
            for row in getattr(measure, part)
        ]
        first = (*who, "benchmark", "metric", "value", "low", "high", "n", *then)
        columns = dict.fromkeys((*first, *about, *kind.__struct_fields__))
        return pl.DataFrame(rows, [*columns], infer_schema_length=None) if rows else pl.DataFrame(schema=[*columns])

    def summary(self) -> list[str]:
        """Say what was compared; who is better is shown where it is known which judges may be believed (`reports`)."""
        return [f"{named([system.label for system in self.systems])}: {len(self.measures)} measures in .table"]

    def find(self, name: str, slice_: str = "all", **fields: str) -> list[Measure]:
        """Return the measures of this name and slice whose other fields are as given."""
        return [
            m
            for m in self.measures
            if m.name == name and m.slice == slice_ and all(getattr(m, k) == v for k, v in fields.items())
        ]
