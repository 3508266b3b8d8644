"""The labels of a panel of models, by strict majority, and what of them people are to check."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
import numpy as np
import polars as pl

from mindgauge.records import Status, digest
from mindgauge.records.drawn import COLUMNS
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import bounded, decimal, plural
from mindgauge.records.short_names import short_names
from mindgauge.stats import sampling
from mindgauge.stats.jackknife import effective

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.records.rounding import Kind
    from mindgauge.stats.interval import Interval


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


def labels(verdicts: pl.DataFrame, ids: Sequence[str]) -> PanelLabels:
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
