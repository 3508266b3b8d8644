"""How often each label was given, as a table: by each rater, to texts of the user's or to the replies of each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindgauge.cli import render
from mindgauge.records.rounding import interval, precise

if TYPE_CHECKING:
    from mindgauge.analysis.score import Score, Scores

_OF = "model="
_BESIDE = 4
"""Models beside each other in one table."""


def show(result: Scores) -> None:
    """Show the shares of labels where there are any: of texts and dialogues of the user's own, or on a classifier's own criterion."""
    shares: dict[tuple[str, str, str], dict[str, list[Score]]] = {}
    for metric in result.metrics:
        overall = metric.slice == "all"
        itself = metric.model == metric.rater  # a slice says whose replies those are
        if not render.given(metric):
            continue
        if overall or (itself and metric.slice.startswith(_OF)):
            model = metric.slice.removeprefix(_OF) if itself else metric.model
            by_model = shares.setdefault((metric.benchmark, metric.criterion, metric.rater), {})
            by_model.setdefault(model, []).append(metric)
    for (benchmark, criterion, rater), by_model in shares.items():
        print(f"{benchmark}: {criterion}, labelled by {rater} (share of the answers, 95 % interval)")
        listed = (
            list(by_model.items()) if len(by_model) != 2 else list(by_model.items())[-1:]
        )  # all, and the only model
        for start in range(0, len(listed), _BESIDE):
            _table(listed[start : start + _BESIDE])


def _table(columns: list[tuple[str, list[Score]]]) -> None:
    from mindgauge.benchmarks.metrics import SHARE

    rows = [
        [name.removeprefix(SHARE), *(_cell(metric) for metric in same)]
        for name, *same in zip([m.name for m in columns[0][1]], *(metrics for _, metrics in columns), strict=True)
    ]
    first = [metrics[0] for _, metrics in columns]
    rows.append(["(no label)", *(precise(m.missing / m.n) for m in first)])
    rows.append(["answers", *(str(m.n) for m in first)])
    rows.append(["conversations", *(str(m.clusters) for m in first)])
    render.table("", ["label", *(model for model, _ in columns)], rows)


def _cell(metric: Score) -> str:
    if metric.value is None:
        return "–"
    bounds = "" if metric.low is None else f"  ({interval(metric.low, metric.high, 'precise').removesuffix(' %')})"
    return f"{precise(metric.value)}{bounds}"
