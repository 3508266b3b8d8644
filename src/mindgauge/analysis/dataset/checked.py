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
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis import drawn
from mindgauge.records import Status, digest
from mindgauge.records.drawn import COLUMNS
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import bounded, decimal, plural
from mindgauge.records.rubric.criterion import Scale
from mindgauge.records.short_names import short_names
from mindgauge.stats import agreement, proportion, sampling
from mindgauge.stats.correction import NOISE
from mindgauge.stats.jackknife import effective
from mindgauge.stats.level import named as with_level

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from mindgauge.records.rounding import Kind
    from mindgauge.records.rubric import Criterion
    from mindgauge.stats.interval import Interval

    Floats = NDArray[np.float64]
    Codes = NDArray[np.intp]
    Mask = NDArray[np.bool_]


LABELS = ("gold", "gold_status", "panel_label", "panel_status", "panel_agreement")
"""The columns that items gain by labels; they are of those words, and of nothing made from them."""
TIE, UNREADABLE = "(tie)", "(unreadable)"
"""In the place of a label: no strict majority, and too few verdicts that can be read for one."""
UNDECIDED = "(undecided)"
"""In the place of people's label: they tie, could not tell, or handed it on."""
NO_LABELS = frozenset({TIE, UNREADABLE, UNDECIDED})


class LabelFigure(msgspec.Struct, frozen=True):
    """A figure with its interval, from n items; `note` says why there is no value, or no interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    note: str = ""

    @classmethod
    def of(cls, interval: Interval, n: int) -> Self:
        """Take an estimate."""
        return cls(interval.value, interval.low, interval.high, n, interval.undefined)

    def written(self, kind: Kind = "level") -> str:
        """Write it as a share or as a level, and why where there is none, or no interval."""
        number = "not known" if self.value is None else bounded(self.value, self.low, self.high, kind)
        return f"{number} ({self.note})" if self.note else number


class ClassShare(msgspec.Struct, frozen=True):
    """A class: the share of all items that the panel gives it, the one that people would, and how much of it the panel finds."""

    label: str
    panel: float
    people: LabelFigure
    """People's share of these items, as the check lets us say."""
    recall: LabelFigure
    """Of what people call it, the share that the panel does, too."""


class PanelConfusion(msgspec.Struct, frozen=True):
    """Of what the panel calls one thing, the share that people call another, or the same."""

    panel: str
    people: str
    share: LabelFigure


class LabelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Who labelled by what, how far people agree and the panel's members do, and how far the panel is from people."""

    rubric: str
    criterion: str
    judges: list[str]
    runs: int
    ties: int
    unreadable: int
    coefficient: str
    """Of both agreements: Fleiss' kappa of classes, Krippendorff's ordinal alpha of an order."""
    panel_agreement: LabelFigure
    people: list[str]
    people_agreement: LabelFigure
    """Before any discussion, weighted to all items."""
    gate: float
    passed: bool | None
    """None where the agreement could not be measured."""
    checked: int
    disputed: int
    """How many of those checked were chosen because the panel disagrees most."""
    gold: int
    undecided: int
    classes: list[ClassShare]
    confusion: list[PanelConfusion]

    @property
    def met(self) -> list[PanelConfusion]:
        """Return what was met of the confusion, and how often people say the same: with many classes most pairs never are."""
        return [cell for cell in self.confusion if cell.share.value != 0 or cell.panel == cell.people]

    @property
    def standing(self) -> str:
        """Say whether people agree as much as the gate asks for, and where so few labels leave it open."""
        if self.passed is None:
            return "not held against the gate"
        low = self.people_agreement.low
        if not self.passed or low is None or low >= self.gate:
            return f"{'reaches' if self.passed else 'below'} the gate of {self.gate:g}"
        chance = ", no better than chance: people labelled too few items, or too few groups of them" if low <= 0 else ""
        return f"reaches the gate of {self.gate:g}, but the interval goes down to {decimal(low)}{chance}"


DISPUTED, BY_LOT = "disputed", "by lot"
"""How the names of strata begin; a number follows."""
FEWEST = 2
"""Items that are drawn of each stratum at least: of one alone there is no interval."""


class PanelLabels(NamedTuple):
    """What a panel says of each item.

    `items` has a row for each id: `outcome` (the label, or why there is none), `panel_label`, `panel_agreement` (the share of
    all verdicts, unreadable ones included, that say the most frequent thing) and `panel_status`. `members` has a column
    for each judge beside the id: its own label, null where it has none.
    """

    items: pl.DataFrame
    members: pl.DataFrame
    judges: list[str]
    runs: int

    @property
    def names(self) -> list[str]:
        """The judges as people call them: a release names no address."""
        short = short_names(self.judges)
        return [short.get(judge, judge) for judge in self.judges]

    @property
    def draw(self) -> str:
        """A name that hangs on every label."""
        return digest("panel", *(f"{ident} {outcome}" for ident, outcome in self.items.select("id", "outcome").rows()))


def panel_labels(verdicts: pl.DataFrame, ids: Sequence[str]) -> PanelLabels:
    """Label items by strict majority: a judge by more than half of its runs, the panel by more than half of its judges.

    A verdict that cannot be read, or never came, is no class, and stays among those of which more than half are needed.

    Args:
        verdicts: a row each: id, rater, status, value (as text).
        ids: of all items.
    """
    word = (
        pl.when(pl.col("status") == Status.NOT_APPLICABLE.value).then("status").when(pl.col("status") == "ok").then("value")
    )  # fmt: skip
    votes = verdicts.group_by("id", "rater", word=word).len()
    repeats = votes.group_by("id", "rater").agg(pl.col("len").sum()).group_by("rater").agg(runs=pl.col("len").max())
    judges, total = repeats["rater"].sort().to_list(), int(repeats["runs"].sum())
    spoken = votes.drop_nulls("word").join(repeats, on="rater")
    own = spoken.filter(2 * pl.col("len") > pl.col("runs")).select("id", "rater", "word")
    majority = own.group_by("id", "word").len().filter(2 * pl.col("len") > len(judges)).select("id", panel_label="word")
    counts = spoken.group_by("id", "word").agg(pl.col("len").sum())
    sums = counts.group_by("id").agg(most=pl.col("len").max(), readable=pl.col("len").sum())
    items = (
        pl.DataFrame({"id": ids}, {"id": pl.String})
        .join(majority, on="id", how="left").join(sums, on="id", how="left")
        .with_columns(pl.col("most", "readable").fill_null(0))
        .with_columns(
            panel_agreement=pl.col("most") / total,
            outcome=pl.coalesce("panel_label", pl.when(2 * pl.col("readable") > total).then(pl.lit(TIE)).otherwise(pl.lit(UNREADABLE))),
        )
    )  # fmt: skip
    status = pl.when(pl.col("panel_label").is_not_null()).then(pl.lit("ok")).otherwise(pl.col("outcome").str.strip_chars("()"))  # fmt: skip
    items = items.select("id", "outcome", "panel_label", "panel_agreement", panel_status=status).sort("id")
    absent = [pl.lit(None, pl.String).alias(judge) for judge in judges if judge not in own["rater"].unique()]
    members = own.pivot("rater", index="id", values="word").with_columns(absent)
    members = items.select("id").join(members, on="id", how="left").select("id", *judges).sort("id")
    return PanelLabels(items, members, judges, int(repeats["runs"].max() or 0))  # type: ignore[arg-type]


def check(panel: PanelLabels, groups: pl.DataFrame, number: int, disputed: int, seed: int) -> pl.DataFrame:
    """Draw what people check: the most disputed items, and a part of the others by lot, as much of each label.

    Each label's disputed items are a stratum of their own, taken whole, so that they stand for themselves alone; what is
    drawn of a label's others stands for these. Strata are numbered by lot: a number does not tell the label.

    Args:
        panel: its labels.
        groups: id and group of each item.
        number: how many are drawn by lot.
        disputed: at most how many come first because verdicts differ most.
        seed: of the lot.

    Returns:
        A row for each, in the order of work: id and `records.drawn.COLUMNS`.

    Raises:
        UsageError: too few are drawn for each label to have an interval.
    """
    generator = np.random.default_rng(seed)
    items = panel.items.join(groups, on="id").sort("id")
    items = items.with_columns(lot=pl.Series(generator.permutation(items.height)))
    first = items.filter(pl.col("panel_agreement") < 1).sort("panel_agreement", "lot").head(min(disputed, items.height))
    rest = items.join(first, on="id", how="anti").sort("id")
    strata = sorted(rest.partition_by("outcome"), key=lambda stratum: str(stratum["outcome"][0]))
    sizes = [stratum.height for stratum in strata]
    places = sampling.draw(sizes, allocated(sizes, number), seed)
    parts = [(DISPUTED, part, part.height) for part in first.partition_by("outcome")]
    parts += [(BY_LOT, stratum[place], stratum.height) for stratum, place in zip(strata, places, strict=True)]
    names = generator.permutation(len(parts))
    conversations = effective(items.group_by("group").len()["len"].to_numpy().astype(float))
    rows = [
        part.with_columns(
            probability=pl.lit(part.height / size), stratum=pl.lit(f"{kind} {name + 1}"), stratum_size=pl.lit(size),
            frame=pl.lit(items.height), conversations=pl.lit(conversations), draw=pl.lit(panel.draw),
        )
        for (kind, part, size), name in zip(parts, names, strict=True)
    ]  # fmt: skip
    chosen = pl.concat(rows).with_columns(late=~pl.col("id").is_in(first["id"].to_list()))
    need = pl.when("late").then(1.0).otherwise("panel_agreement")
    return chosen.sort("late", need, "lot").select("id", *COLUMNS)


def allocated(sizes: Sequence[int], number: int) -> list[int]:
    """Share a number among strata alike; what a small one cannot take goes to the others.

    Raises:
        UsageError: a stratum would get fewer than `FEWEST`.
    """
    if number < FEWEST * len(sizes):
        raise UsageError(f"--number {number}: the panel gives {plural(len(sizes), 'label')}, ties and unreadable ones counted; draw {FEWEST * len(sizes)} or more, {FEWEST} of each")  # fmt: skip
    numbers = [0] * len(sizes)
    for rank, place in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        numbers[place] = min(sizes[place], (number - sum(numbers)) // (len(sizes) - rank))
    return numbers


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
