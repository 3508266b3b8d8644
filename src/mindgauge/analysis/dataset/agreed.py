"""How far people agree on what they labelled, and the judges of a panel: by the coefficient that the gate of annotation looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.dataset import checked
from mindgauge.analysis.dataset.labels import LabelFigure
from mindgauge.records.rubric.criterion import Scale
from mindgauge.stats import agreement, sampling
from mindgauge.stats.correction import NOISE
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mindgauge.records.rubric import Criterion

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

UNANIMOUS = "people say the same of every item"
FEW = "no interval: people labelled too few items, or too few groups of them"


def coefficient(criterion: Criterion) -> str:
    """Name the coefficient that is looked at."""
    return with_level("krippendorff_alpha" if criterion.scale is Scale.ORDINAL else "fleiss_kappa")


def among_members(members: pl.DataFrame, groups: Sequence[str], criterion: Criterion) -> LabelFigure:
    """Estimate how far a panel's judges agree, each by its own label; without one it says nothing.

    Args:
        members: a column for each judge.
        groups: of each item, which resamples keep together.
        criterion: that they label.
    """
    codes = _codes(members, criterion)
    ratings, levels = np.where(codes < 0, np.nan, codes), range(len(criterion.values))
    if criterion.scale is Scale.ORDINAL:
        interval = agreement.alpha(ratings, "ordinal", levels=levels, cluster=groups)
    else:
        interval = agreement.fleiss(ratings, levels=levels, cluster=groups)
    return LabelFigure.of(interval, int(_shared(codes).sum()))


def among_people(rows: pl.DataFrame, people: Sequence[str], criterion: Criterion) -> LabelFigure:
    """Estimate how far people agree on items like all of these, from a drawn part.

    Args:
        rows: what they labelled, with a column for each of them, cluster and `records.drawn.COLUMNS`.
        people: the columns.
        criterion: that they label.
    """
    codes = _codes(rows.select(people), criterion)
    shared = _shared(codes)
    if not checked.stands_for(rows, rows["frame"][0]):
        return LabelFigure(None, None, None, int(shared.sum()), checked.UNSEEN)
    if not shared.any():
        return LabelFigure(None, None, None, 0, "no item has labels of two people")
    counts = agreement.counts(codes[shared], len(criterion.values))
    sample = drawn.sample(_weighed(rows.filter(shared)))
    interval = sampling.statistic(_compute(counts, criterion), sample, correlation=True).interval
    unanimous = bool((counts.max(axis=1) == counts.sum(axis=1)).all())
    note = UNANIMOUS if interval.value is None and unanimous else interval.undefined
    return LabelFigure(
        interval.value, interval.low, interval.high, int(shared.sum()), FEW if note == sampling.FEW else note
    )


def reaches(figure: LabelFigure, gate: float) -> bool | None:
    """Say whether people agree as much as the gate asks for; None where that could not be measured."""
    if figure.value is None:
        return True if figure.note == UNANIMOUS else None
    return figure.value >= gate - NOISE


def _compute(counts: Floats, criterion: Criterion) -> Callable[[Floats], Floats]:
    """Return the coefficient as a function of weights."""
    if criterion.scale is not Scale.ORDINAL:
        return lambda weights: agreement.fleiss_kappa(counts, weights)
    places = np.arange(counts.shape[1], dtype=float)

    def alpha(weights: Floats) -> Floats:
        scaled = weights * len(counts) / weights.sum(axis=1, keepdims=True)  # it counts ratings
        return agreement.krippendorff_alpha(agreement.coincidences(counts, scaled), places, "ordinal")

    return alpha


def _codes(labels: pl.DataFrame, criterion: Criterion) -> Codes:
    """Return each label's place in the rubric's order, -1 where there is none, or it does not apply: shape (n, columns)."""
    places = {str(level): place for place, level in enumerate(criterion.values)}
    columns = [labels[name].replace_strict(places, default=-1, return_dtype=pl.Int64) for name in labels.columns]
    return np.stack([column.fill_null(-1).to_numpy().astype(np.intp) for column in columns], axis=1)


def _shared(codes: Codes) -> Mask:
    return np.asarray((codes >= 0).sum(axis=1) > 1)


def _weighed(rows: pl.DataFrame) -> pl.DataFrame:
    """Let what was labelled of each stratum stand for all of it, also where some of what was drawn is still open."""
    return rows.with_columns(probability=pl.len().over("stratum") / pl.col("stratum_size"))
