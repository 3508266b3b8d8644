"""The published numbers beside those of a user's file: how many messages, and how judges' totals go with people's.

The agreement table is withdrawn and its data are not released, so its cells stay empty unless the file holds totals, or
all five dimensions, of people and of a judge called as in the table. Pearson is computed over models' means, as its
name says; Spearman and Kendall over single replies, since their unit is not published.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from mindgauge.benchmarks import RecomputedCell
from mindgauge.benchmarks.psycrisis import columns, released
from mindgauge.records import RaterKind
from mindgauge.records.errors import DataError
from mindgauge.records.files import mapping, tables
from mindgauge.stats import rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from mindgauge.benchmarks import Released
    from mindgauge.records import Rating
    from mindgauge.records.files.folder import Readable

METHODS = ("General", "Rule-based", "PsyCrisis")
MEASURES = ("Pearson (system level)", "Spearman", "Kendall")
OTHER_LEVELS = ("Pearson (item level)", "Spearman (system level)", "Kendall (system level)")
"""What the table does not print: of the two that name no level, ours are at the level of single replies, the items."""
_SYSTEM_LEVEL = "(system level)"
FEWEST_SYSTEMS, FEWEST_REPLIES = 5, 3
WITHDRAWN = (
    "the published table is withdrawn and its data are not released; a file with totals or five dimensions of people and of "
    "this judge would do (label.total or label.RATER.…, judge.{method}.…)"
)
ITEM_LEVEL = "over single replies; the unit of the published figure is not said"


class _Totals(NamedTuple):
    """By reply: the model, people's mean total, and each judge's total. A reply is its row in a file, or its id in a run."""

    model: dict[int | str, str]
    people: dict[int | str, float]
    judges: dict[str, dict[int | str, float]]


def reproduce(data: Path) -> Iterator[RecomputedCell]:
    """Recompute what a file allows; a cell without what it needs says so.

    Raises:
        DataError: there is no such folder, or its table has no mapping, or one that does not fit.
        UsageError: the mapping maps something that is not known.
    """
    try:
        path = tables.find(data)
    except DataError:
        if not data.is_dir():
            raise
        yield from _items(Counter(), "no table here")
        yield from _agreement(_Totals({}, {}, {}))
        return
    mapped = mapping.beside(path)
    sheet = released.load_mapped(path, mapped)
    categorised = "category" in mapped
    counted = Counter(sample.tags.get("category", "") for sample in sheet.samples)
    yield from _items(counted, "" if categorised else "no column is mapped to category")
    yield from _agreement(_totals(path, mapped, sheet))


def _items(counted: Counter[str], lacking: str) -> Iterator[RecomputedCell]:
    for category in released.PUBLISHED:
        yield RecomputedCell("items", "messages", category, None if lacking else float(counted[category]), lacking)
    yield RecomputedCell("items", "messages", "total", None if lacking else float(counted.total()), lacking)


def _totals(path: Readable, mapped: dict[str, str], sheet: Released) -> _Totals:
    """Gather totals, as a column states them or else as the sum of five dimensions that all have a value."""
    _, read_from, rows = released.opened(path, mapped)
    row_totals = _summed(sheet.ratings, lambda rating: rating.provenance["source_row"])
    for label in (label for label in read_from.labels if label.criterion == columns.TOTAL):
        for row, cells in rows:
            cell = (cells[label.column] or "").strip()
            if cell in {str(total) for total in range(len(columns.DIMENSIONS) + 1)}:
                row_totals.setdefault((label.rater, label.kind), {})[row] = float(cell)
    return _by_side(row_totals, {reply.provenance["source_row"]: reply.model for reply in sheet.replies})


def of_run(records: Released) -> Iterator[RecomputedCell]:
    """Compute the agreement of one judge's totals with the mean of people's, over single replies and over models' means."""
    by_rater = _summed(records.ratings, lambda rating: rating.subject)
    totals = _by_side(by_rater, {reply.id: reply.model for reply in records.replies})
    (judge,) = totals.judges or [""]
    yield from (msgspec.structs.replace(cell, row="") for cell in _correlations(judge, totals, at_both_levels=True))


def _summed(
    ratings: Iterable[Rating], reply: Callable[[Rating], int | str]
) -> dict[tuple[str, RaterKind], dict[int | str, float]]:
    """Return each rater's totals, as far as all five dimensions have a value; of several verdicts on a reply their mean."""
    verdicts: dict[tuple[str, RaterKind, int | str, int], list[Rating]] = {}
    for rating in ratings:
        if rating.criterion in columns.DIMENSIONS and rating.value is not None:
            verdict = (rating.rater, rating.rater_kind, reply(rating), rating.run)
            verdicts.setdefault(verdict, []).append(rating)
    sums: dict[tuple[str, RaterKind], dict[int | str, list[float]]] = {}
    for (rater, kind, subject, _), parts in verdicts.items():
        if len(parts) == len(columns.DIMENSIONS):
            total = float(sum(part.value == "yes" for part in parts))
            sums.setdefault((rater, kind), {}).setdefault(subject, []).append(total)
    return {rater: {subject: fmean(of_runs) for subject, of_runs in totals.items()} for rater, totals in sums.items()}


def _by_side(
    row_totals: Mapping[tuple[str, RaterKind], dict[int | str, float]], model: dict[int | str, str]
) -> _Totals:
    people = [totals for (_, kind), totals in row_totals.items() if kind is RaterKind.PERSON]
    means = {row: float(np.mean([t[row] for t in people if row in t])) for row in {r for t in people for r in t}}
    judges = {rater.casefold(): totals for (rater, kind), totals in row_totals.items() if kind is RaterKind.MODEL}
    return _Totals(model, means, judges)


def _agreement(totals: _Totals) -> Iterator[RecomputedCell]:
    for method in METHODS:
        yield from _correlations(method, totals)


def _correlations(method: str, totals: _Totals, *, at_both_levels: bool = False) -> Iterator[RecomputedCell]:
    """Correlate a judge's totals with people's as the table prints it, or by each measure at both levels."""
    judge_totals = totals.judges.get(method.casefold(), {})
    rows = [row for row in judge_totals if row in totals.people and row in totals.model]
    for measure in (*MEASURES, *(OTHER_LEVELS if at_both_levels else ())):
        if not rows:
            note = "no reply has totals of people's and of this judge's" if at_both_levels else WITHDRAWN
            yield RecomputedCell("agreement", method, measure, None, note.format(method=method))
        elif measure.endswith(_SYSTEM_LEVEL):
            yield _by_system(method, measure, rows, judge_totals, totals)
        else:
            x, y = [judge_totals[row] for row in rows], [totals.people[row] for row in rows]
            yield _correlated(method, measure, x, y, f"{len(rows)} replies; {ITEM_LEVEL}")


def _by_system(
    method: str, measure: str, rows: list[int | str], judge_totals: dict[int | str, float], totals: _Totals
) -> RecomputedCell:
    models = sorted({totals.model[row] for row in rows})
    if len(models) < FEWEST_SYSTEMS:
        return RecomputedCell(
            "agreement", method, measure, None, f"needs {FEWEST_SYSTEMS} models, and here are {len(models)}"
        )
    model_rows = {model: [row for row in rows if totals.model[row] == model] for model in models}
    x = [float(np.mean([judge_totals[row] for row in model_rows[model]])) for model in models]
    y = [float(np.mean([totals.people[row] for row in model_rows[model]])) for model in models]
    return _correlated(method, measure, x, y, f"means of {len(models)} models")


def _correlated(method: str, measure: str, x: list[float], y: list[float], note: str) -> RecomputedCell:
    if len(x) < FEWEST_REPLIES or min(np.ptp(x), np.ptp(y)) == 0:
        return RecomputedCell(
            "agreement", method, measure, None, f"not defined: {note}, or all totals of one side are equal"
        )
    of_ranks = {"Spearman": rank.spearman_of_columns, "Kendall": rank.kendall_of_columns}
    coefficient = of_ranks.get(measure.partition(" ")[0], rank.pearson_of_columns)(np.array([x]), np.array([y]))
    return RecomputedCell("agreement", method, measure, float(coefficient[0]), note)
