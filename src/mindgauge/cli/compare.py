"""`mindgauge compare`."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from mindgauge.cli import options, render
from mindgauge.cli.report import ShowUnreliable  # noqa: TC001 - typer reads the annotations
from mindgauge.records.rounding import bounded, dollars, p_value, percent, seconds, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.compared import Measure, SystemComparison, SystemDifference, SystemStanding
    from mindgauge.records.rounding import Kind

PARTS = 20
"""Differences on single parts that are shown without --full."""
PAIRS = 6
"""Pairs beside the first system's that are named without --full."""
_PAIR = ["first minus second", "p, adjusted", "samples", "worst … best"]


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; one will do where it holds several models.")],
    full: Annotated[bool, typer.Option("--full", help="Every metric, and every two systems.")] = False,
    show_unreliable: ShowUnreliable = False,
    json: options.Json = False,
) -> None:
    """Say which system is better, by how much, on what and at what cost: chat models, classifiers, ways of asking."""
    from mindgauge.commands.compare import compare as verb

    result = verb(list(runs))
    if json:
        render.as_json(result)
        return
    measures = [m for m in result.measures if full or m.part or m.name in result.headlines.get(m.benchmark, ())]
    allowed = [m for m in measures if show_unreliable or not _limited(m.rank_systems)]
    for measure in allowed:
        if measure.slice == "all":
            _whole(measure, full=full, shown=show_unreliable)
    _parts([m for m in allowed if m.slice != "all"], full=full)
    _doubtful([m for m in measures if _limited(m.rank_systems)], shown=show_unreliable)
    _costs(result)
    if any(
        _scored(measure, standing) for measure in allowed for standing in measure.standings if measure.slice == "all"
    ):
        print(
            "value: each conversation counts once, on the samples that all systems answered; in score: each answer counts "
            "once, on all samples that the system answered, as in `mindgauge score`."
        )
    for line in render.counted_missing((m.benchmark, m.name, m.missing_as) for m in allowed if m.slice == "all"):
        print(line)
    for note in result.notes:
        print(f"note: {note}")


def _limited(verdict: str) -> bool:
    from mindgauge.analysis.reliability.card import LIMITED

    return verdict == LIMITED


def _whole(measure: Measure, *, full: bool, shown: bool) -> None:
    """Show where each system stands, how far it is from the first, and which of the others cannot be told apart."""
    first, *others = measure.standings
    behind = {d.second: d for d in measure.differences if d.first == first.system}
    rest = [d for d in measure.differences if d.first != first.system]
    rows = [[*_standing(measure, first, shown=shown), "", "", "", ""]]
    rows += [[*_standing(measure, o, shown=shown), *_behind(measure, behind[o.system])] for o in others]
    columns = ["system", "value", "in score", "ranks, 95 %", "first in", "n", "conversations", "missing"]
    columns += ["minus the first", "p, adjusted", "worst … best", ""]
    used = [i for i, column in enumerate(columns) if not column or any(row[i] for row in rows)]
    render.table(_title(measure), [columns[i] for i in used], [[row[i] for i in used] for row in rows])
    if full and rest:
        pairs = [[d.first, d.second, *_pair(measure, d), _verdict(d)] for d in rest]
        render.table("", ["first", "second", *_PAIR, "verdict"], pairs)
    elif rest:
        print(_others(rest))
    if measure.left_out:
        print(f"{measure.left_out} samples were not answered by all, and are left out")
    print()


def _others(rest: Sequence[SystemDifference]) -> str:
    same = [f"{d.first} and {d.second}" for d in rest if not d.told_apart]
    if len(same) > PAIRS:
        return f"Of the others, {len(same)} of {len(rest)} pairs cannot be told apart (--full lists them)"
    return f"Of the others, not told apart: {'; '.join(same)}" if same else "Of the others, each two can be told apart"


def _title(measure: Measure) -> str:
    rated = f" of {measure.criterion}, as rated by {measure.rater}" if measure.rater else ""
    return f"{measure.benchmark}: {measure.name}{rated}"


def _standing(measure: Measure, standing: SystemStanding, *, shown: bool) -> list[str]:
    value = _bound(measure, standing.value, standing.low, standing.high)
    if _limited(measure.rate_replies):
        value = f"{value} (unreliable)" if shown else "people must rate"
    ranks = "–" if standing.rank_low is None else f"{standing.rank_low} to {standing.rank_high}"
    return [
        standing.system, value, _scored(measure, standing), ranks, percent(standing.best),
        str(standing.n), str(standing.clusters), str(standing.missing),
    ]  # fmt: skip


def _scored(measure: Measure, standing: SystemStanding) -> str:
    """Write the value as `score` has it, where that is another; nothing where it is the same, or not to be shown."""
    if standing.value is None or standing.pooled is None or _limited(measure.rate_replies):
        return ""
    kind: Kind = "precise" if measure.unit == "share" else "level"
    value, pooled = (write(number, kind) for number in (standing.value, standing.pooled))
    return "" if value == pooled else pooled


def _behind(measure: Measure, difference: SystemDifference) -> list[str]:
    """Write a difference from the first system the other way round."""
    said = {None: "too little to say", False: "not told apart", True: "told apart"}[difference.told_apart]
    if difference.better:
        said = "worse" if difference.better == difference.first else "better"
    d = difference
    turned = (None if v is None else -v for v in (d.value, d.high, d.low, d.best, d.worst))
    value, low, high, worst, best = turned
    return [_bound(measure, value, low, high, gap=True), _p(d), _bounds(measure, worst, best), said]


def _parts(measures: Sequence[Measure], *, full: bool) -> None:
    """Show on which parts systems can be told apart."""
    apart = [(m, d) for m in measures for d in m.differences if d.told_apart]
    rows = [
        [m.slice, m.name if not m.rater else f"{m.name} of {m.criterion} by {m.rater}", d.first, d.second, *_pair(m, d)]
        for m, d in (apart if full else apart[:PARTS])
    ]
    if rows:
        render.table("On which parts they can be told apart", ["where", "metric", "first", "second", *_PAIR], rows)
    compared = sum(len(m.differences) for m in measures)
    if compared:
        more = f"{len(apart) - len(rows)} more with --full; " if len(apart) > len(rows) else ""
        print(
            f"On single parts {len(apart)} of {compared} pairs can be told apart ({more}p is adjusted within one metric and part)."
        )


def _pair(measure: Measure, difference: SystemDifference) -> list[str]:
    value = _bound(measure, difference.value, difference.low, difference.high, gap=True)
    return [value, _p(difference), str(difference.n), _bounds(measure, difference.worst, difference.best)]


def _verdict(difference: SystemDifference) -> str:
    if difference.told_apart is None:
        return "too little to say"
    if not difference.told_apart:
        return "cannot be told apart"
    return f"{difference.better} is better" if difference.better else "they differ"


def _doubtful(measures: Sequence[Measure], *, shown: bool) -> None:
    """Name the criteria on which a judge may not rank systems."""
    by_judge: dict[str, dict[str, None]] = {}
    for measure in measures:
        by_judge.setdefault(measure.rater, {})[measure.criterion] = None
    for judge, criteria in by_judge.items():
        said = "shown, but unreliable" if shown else "not shown; --show-unreliable shows them"
        print(f"{judge} agrees too little with people to rank systems on {', '.join(criteria)} ({said})")


def _costs(result: SystemComparison) -> None:
    if all(cost.cost is None and cost.seconds is None for cost in result.costs):
        print("What a reply costs, and how long it takes, is not known: these runs hold no calls.")
        return
    rows = [
        [
            c.benchmark, c.system, str(c.answers), dollars(c.cost), seconds(c.seconds, 1),
        ]
        for c in result.costs
    ]  # fmt: skip
    columns = ["benchmark", "system", "answers here", "cost", "time of the model"]
    render.table("What a thousand answers take", columns, rows)


def _bound(measure: Measure, value: float | None, low: float | None, high: float | None, *, gap: bool = False) -> str:
    """Write an estimate and its interval: a share in percent, a gap between two, with its sign, in percentage points."""
    kind: Kind = "level" if measure.unit == "level" else "points" if gap else "precise"
    return bounded(value, low, high, kind, signed=gap)


def _bounds(measure: Measure, worst: float | None, best: float | None) -> str:
    """Write what missing ratings could make of a difference; nothing where none is missing."""
    if worst is None or best is None or worst == best:
        return ""
    kind: Kind = "level" if measure.unit == "level" else "points"
    return " … ".join(write(end, kind, signed=True).removesuffix(" points") for end in (worst, best))


def _p(difference: SystemDifference) -> str:
    return p_value(difference.adjusted)
