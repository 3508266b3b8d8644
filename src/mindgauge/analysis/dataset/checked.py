"""How far a panel's labels are from people's, and what the shares of classes are by people, from the part that people checked.

People checked a stratified part. Each of its strata has one label of the panel and is either disputed, and was taken
whole, or was drawn from by lot; so with N_h items in stratum h, n_h of them labelled,

    share of class c = Σ_h (N_h / N) (n_hc / n_h)

is the estimate of a stratified sample (Cochran 1977, section 5.3): without bias, whatever the panel's errors, where those
labelled are a part like the rest of their stratum. What people call what the panel calls one thing is such a sum over the
strata of its label, and of a class's recall both parts are. What was chosen because the panel disagrees stands for
itself alone. Where nobody labelled anything of a stratum there is no number, nor while disputed items are left: they are
labelled in the order of dispute, so that the first ones are no sample of the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.dataset.panel import (
    DISPUTED,
    TIE,
    UNDECIDED,
    UNREADABLE,
    ClassShare,
    LabelFigure,
    PanelConfusion,
)
from mindgauge.records.rubric.criterion import Scale
from mindgauge.stats import agreement, proportion, sampling
from mindgauge.stats.correction import NOISE
from mindgauge.stats.jackknife import effective
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mindgauge.records.rubric import Criterion

    Floats = NDArray[np.float64]
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Mask = NDArray[np.bool_]

EXACT = "exact: people labelled every item"
UNSAID, ALWAYS = "the panel gives no item this label", "the panel gives no other label"
UNCALLED = "people call nothing so"
UNSEEN = "people have not labelled enough of one stratum yet"
OF_PANEL = "no label of people"
NO_CLASS = "no label that a panel could find"


def classes(rows: pl.DataFrame, outcomes: pl.Series, criterion: Criterion) -> list[ClassShare]:
    """Estimate the share of each class by people, beside the panel's, and how much of it the panel finds.

    Args:
        rows: what people labelled: outcome (the panel's), people (theirs), cluster, stratum and stratum_size.
        outcomes: the panel's label of each item there is.
        criterion: whose classes they are.
    """
    strata = _strata(rows, outcomes.len())
    of_panel = LabelFigure(None, None, None, rows.height, OF_PANEL)
    return [
        ClassShare(
            label, int((outcomes == label).sum()) / outcomes.len(),
            *(of_panel, of_panel) if label in {TIE, UNREADABLE} else (strata.share(label), strata.recall(label)),
        )
        for label in _ordered({*outcomes, *rows["people"]}, criterion)
    ]  # fmt: skip


def confusion(rows: pl.DataFrame, outcomes: pl.Series, criterion: Criterion) -> list[PanelConfusion]:
    """Estimate, of what the panel calls each thing, the share that people call what; see `classes`."""
    strata = {
        label: _strata(rows.filter(pl.col("outcome") == label), int((outcomes == label).sum()))
        for label in _ordered(set(rows["outcome"]), criterion)
    }
    answers = _ordered(set(rows["people"]), criterion)
    return [
        PanelConfusion(label, people, own.share(people, of_frame=False))
        for label, own in strata.items()
        for people in answers
    ]


def stands_for(rows: pl.DataFrame, size: int) -> bool:
    """Say whether what people labelled stands for so many items: something of each stratum, and all that is disputed."""
    strata = rows.group_by("stratum").agg(pl.len(), pl.col("stratum_size").first())
    open_disputes = strata["stratum"].str.starts_with(DISPUTED) & (strata["len"] < strata["stratum_size"])
    return bool(strata["stratum_size"].sum() == size and not open_disputes.any())


def _ordered(labels: set[str], criterion: Criterion) -> list[str]:
    """Put labels into the rubric's order, and what stands in the place of one behind them."""
    levels = [str(level) for level in criterion.values]
    return [*(level for level in levels if level in labels), *sorted(labels - {*levels})]


class _Strata(NamedTuple):
    """What people labelled of some strata: S of them, each with one label of the panel.

    `people` counts their labels of each, `effective` says how many conversations, in effect, are labelled of it.
    """

    outcome: list[str]
    sizes: Floats
    labelled: Floats
    effective: Floats
    people: list[Counter[str]]
    complete: bool
    """Whether what is labelled stands for all of them."""

    def shares(self, label: str) -> Floats:
        """Return the share of each stratum that people give a label."""
        return np.array([people[label] for people in self.people]) / self.labelled

    def share(self, label: str, *, of_frame: bool = True) -> LabelFigure:
        """Estimate the share that people give a label.

        Args:
            label: of theirs.
            of_frame: of just these items, which were drawn one by one, so that conversations make it no less sure; else of
                items like these.
        """
        n = int(self.labelled.sum())
        if not self.complete:
            return LabelFigure(None, None, None, n, UNSEEN)
        weights = self.sizes / self.sizes.sum()
        if of_frame:
            open_shares = 1 - self.labelled / self.sizes
            interval = proportion.stratified(self.shares(label), self.labelled, weights, open_shares)
            return LabelFigure.of(interval if open_shares.any() else interval._replace(undefined=EXACT), n)
        return LabelFigure.of(proportion.stratified(self.shares(label), self.effective, weights), n)

    def recall(self, label: str) -> LabelFigure:
        """Estimate, of items that people would call something, the share that the panel calls so, too; of items like these."""
        shares = self.shares(label)
        n = round(float(shares @ self.labelled))
        if not self.complete or not n:
            return LabelFigure(None, None, None, n, UNCALLED if self.complete else UNSEEN)
        if label == UNDECIDED:
            return LabelFigure(None, None, None, n, NO_CLASS)
        if label not in self.outcome:
            return LabelFigure(0.0, None, None, n, UNSAID)
        if {*self.outcome} == {label}:
            return LabelFigure(1.0, None, None, n, ALWAYS)
        same, weights = np.array(self.outcome) == label, self.sizes / self.sizes.sum()
        inside, outside = (proportion.stratified(shares, self.effective, weights * part) for part in (same, ~same))
        return LabelFigure.of(proportion.part_of(inside, outside), n)


def _strata(rows: pl.DataFrame, size: int) -> _Strata:
    """Count what people labelled, stratum by stratum, of so many items in all."""
    parts = rows.partition_by("stratum", maintain_order=True)
    sizes = np.array([part["stratum_size"][0] for part in parts], dtype=float)
    conversations = [part["cluster"].value_counts()["count"].to_numpy().astype(float) for part in parts]
    return _Strata(
        outcome=[part["outcome"][0] for part in parts], sizes=sizes, labelled=np.array([len(part) for part in parts], dtype=float),
        effective=np.array([effective(counts) for counts in conversations]), people=[Counter(part["people"]) for part in parts],
        complete=stands_for(rows, size),
    )  # fmt: skip


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
    if not stands_for(rows, rows["frame"][0]):
        return LabelFigure(None, None, None, int(shared.sum()), UNSEEN)
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
