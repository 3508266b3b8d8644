"""How often each label was given, as a table: to the replies of each model, by each rater."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import render
from mindgauge.records.rounding import interval, precise

if TYPE_CHECKING:
    from mindgauge.analysis.score import Score, Scores

_SHARE, _OF, _ALL = "share_", "model=", "all"
_BESIDE = 4
"""Models beside each other in one table."""


def show(result: Scores) -> None:
    """Show the shares of labels where there are any: of dialogues of the user's own, or on a classifier's own criterion."""
    shares: dict[tuple[str, str, str], dict[str, list[Score]]] = {}
    for metric in result.metrics:
        overall = metric.slice == _ALL
        itself = metric.model == metric.rater  # it answered a closed question; a slice says whose replies those are
        counted = metric.name.startswith(_SHARE) and not metric.better  # of a label, whichever is better
        if not counted or not (itself or metric.rater.startswith("classifier/")):
            continue
        if overall or (itself and metric.slice.startswith(_OF)):
            model = metric.slice.removeprefix(_OF) if itself else metric.model
            by_model = shares.setdefault((metric.benchmark, metric.criterion, metric.rater), {})
            by_model.setdefault(model, []).append(metric)
    for (benchmark, criterion, rater), by_model in shares.items():
        print(f"{benchmark}: {criterion}, labelled by {rater} (share of the replies, 95 % interval)")
        only_model = len(by_model) == 2 and _ALL in by_model
        listed = [item for item in by_model.items() if not (only_model and item[0] == _ALL)]
        for start in range(0, len(listed), _BESIDE):
            _table(listed[start : start + _BESIDE])


def _table(columns: list[tuple[str, list[Score]]]) -> None:
    rows = [
        [name.removeprefix(_SHARE), *(_cell(metric) for metric in same)]
        for name, *same in zip([m.name for m in columns[0][1]], *(metrics for _, metrics in columns), strict=True)
    ]
    first = [metrics[0] for _, metrics in columns]
    rows.append(["(no label)", *(precise(m.missing / m.n) for m in first)])
    rows.append(["replies", *(str(m.n) for m in first)])
    rows.append(["conversations", *(str(m.clusters) for m in first)])
    render.table("", ["label", *(model for model, _ in columns)], rows)


def _cell(metric: Score) -> str:
    if metric.value is None:
        return "–"
    bounds = "" if metric.low is None else f"  ({interval(metric.low, metric.high, 'precise').removesuffix(' %')})"
    return f"{precise(metric.value)}{bounds}"
