"""A jury's ratings and its card, derived from its members' ratings: nothing is asked, and every member's own stay."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from mindgauge.analysis.frame import TIE
from mindgauge.analysis.reliability.card import Bound, ReliabilityCard, estimate_columns
from mindgauge.records import RaterKind, Status
from mindgauge.records.command_result import Tabular, first_of, noted
from mindgauge.records.english import named
from mindgauge.records.rounding import bounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import ValueScale


_SHOWN = ("icc_a1", "alpha", "kappa_quadratic", "kappa", "percent", "pearson", "bias", "mse", "system_icc_c1")


class Without(msgspec.Struct, frozen=True):
    """The ranking of systems by the mean jury without one judge, beside that by all."""

    judge: str
    tau: Bound
    """Kendall's tau-b between the two rankings, resampled over conversations."""
    first: str
    """The system that is first without this judge."""
    same_first: float | None
    """Share of resamples of conversations in which the same system is first with and without this judge."""


class JuryErrors(msgspec.Struct, frozen=True):
    """How far raters are from people's true value: mean squares, in squared steps of the scale; None where unknown.

    Each is first put on people's scale by a line fitted on other conversations. `constant` says people's mean each time,
    `average` is the mean of all members', `best` that of the member chosen on other conversations, `jury` that of the
    members' mean. `skill` is the share by which the jury's is below `constant`, `gain` that by which it is below `best`.
    `floored` says that people's own error is known, from subjects that several rated, and taken off.
    """

    constant: float | None
    average: float | None
    best: float | None
    jury: float | None
    skill: Bound
    gain: Bound
    floored: bool

    @property
    def follows(self) -> bool:
        """Whether the jury surely knows something of what people think; one that never errs does."""
        return self.skill.low > 0 if self.skill.low is not None else self.jury == 0


class JuryCard(msgspec.Struct, frozen=True, kw_only=True):
    """A panel on one criterion.

    `cards` are the members' and the juries' beside people, and, named `chosen`, that of the judge who follows people
    best on *other* conversations; empty where no person rated. `best` is the member that follows people best on the
    same conversations that it is shown on, which flatters it. `complete` counts subjects of which all members have a
    verdict, `incomplete` the others to which the criterion applies.
    """

    criterion: str
    members: list[str]
    sittings: int
    complete: int
    incomplete: int
    cards: list[ReliabilityCard]
    best: str
    chosen: dict[str, int]
    """How often each judge was the best on the other conversations, of the folds."""
    independent: Bound
    """Like how many independent judges the members err, given people's value; of judges that do not follow people it
    says nothing of what they are worth. Where people's own error is not `floored`, it is that many at least."""
    errors: JuryErrors
    """How far the members, and their mean, are from people's value."""
    first: str
    """The system that the mean jury puts first."""
    without: list[Without]
    means: dict[str, dict[str, float]]
    """Rater → system → mean value."""


class Panels(Tabular, msgspec.Struct, frozen=True):
    """The panels of some ratings, criterion by criterion."""

    source: str
    people: list[str]
    panels: list[JuryCard]
    notes: list[str]

    def summary(self) -> list[str]:
        """Say of each criterion how the members and their juries agree with people, the best first."""
        lines = []
        for panel in self.panels:
            cards = sorted(
                panel.cards, key=lambda card: -(card.agreement.value if card.agreement.value is not None else -2.0)
            )
            agreements = [
                f"{card.judge} {bounded(card.agreement.value, card.agreement.low, card.agreement.high)}"
                for card in cards[:3]
            ]
            lines.append(
                f"{panel.criterion}: {', '.join(agreements) or f'{len(panel.members)} judges, nobody to compare with'}"
            )
        members = list(dict.fromkeys(member for panel in self.panels for member in panel.members))
        whom = f"agreement with {named(self.people)}" if self.people else "without people"
        return [
            f"{self.source}: juries of {named(members)}, {whom}",
            *first_of(lines, 6),
            *noted(self.notes),
            ".table has every member and jury.",
        ]

    def _listed(self) -> list[dict[str, Any]]:
        return [
            {"criterion": panel.criterion, "rater": rater, "member": rater in panel.members}
            | {"n": card.n if card else None, "missing": card.missing if card else None}
            | estimate_columns({name: card.estimates.get(name, Bound(None)) for name in _SHOWN} if card else {})
            for panel in self.panels
            for cards in [{card.judge: card for card in panel.cards}]
            for rater in dict.fromkeys([*panel.means, *cards])
            for card in [cards.get(rater)]
        ]


_OK, _OUT = Status.OK.value, Status.NOT_APPLICABLE.value


class JuryMethod(StrEnum):
    """How a jury comes to its value."""

    MEAN = "mean"
    MEDIAN = "median"
    """The middle one; of an even number the worse of the two in the middle, so that it stays a level."""
    MAJORITY = "majority"
    """What most members say; a tie stays a tie, without a value."""
    MINIMUM = "minimum"
    """The worst that any member says."""
    WEIGHTED = "weighted"
    """The mean, weighted by how well each member follows people in other conversations."""

    @property
    def rater(self) -> str:
        """The jury's name as a rater."""
        return f"jury/{self.value}"

    def scale(self, scale: ValueScale) -> ValueScale:
        """Return the scale of the jury's values: the members' own, or, for means, all that lies between its ends."""
        between = self in {JuryMethod.MEAN, JuryMethod.WEIGHTED}
        return scale._replace(values=(scale.low, scale.high), words=(), levels=False) if between else scale


class Bench(NamedTuple):
    """Members' verdicts on one criterion.

    `rows` has the columns of `Ratings.frame`, numbers on `scale`. A jury sits as often as the member asked least often.
    """

    rows: pl.DataFrame
    members: list[str]
    scale: ValueScale
    sittings: int

    @classmethod
    def of(cls, rows: pl.DataFrame, members: Sequence[str], scale: ValueScale) -> Bench:
        """Number each member's repeats from 0 and keep as many as every member has.

        Args:
            rows: ratings on one criterion, by anybody, numbers on the scale.
            members: of the jury.
            scale: of the criterion.
        """
        member_rows = rows.filter(pl.col("rater").is_in(list(members)))
        member_rows = member_rows.with_columns(
            run=pl.col("run").fill_null(0).rank("dense").over("rater").cast(pl.Int64) - 1
        )
        last_run = member_rows.group_by("rater", maintain_order=True).agg(pl.col("run").max())["run"].min()
        sittings = 1 + (last_run if isinstance(last_run, int) else 0)
        return cls(member_rows.filter(pl.col("run") < sittings), list(members), scale, sittings)


def verdicts(
    bench: Bench, method: JuryMethod, quorum: int | None = None, weights: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return a jury's ratings of every subject that any member was asked about, one per sitting.

    There is a value where all members have one, or as many as the quorum. Else the first status that is in the way
    stands: a member that was not asked counts as failed. What does not apply to all members alike is a tie; what
    applies to none does not apply.

    Args:
        bench: the members' verdicts.
        method: the jury comes to its value.
        quorum: members that have to have a value; all if not given.
        weights: columns cluster, rater, weight; for `weighted` only.

    Raises:
        ValueError: classes without an order have only a majority, or weights are missing.
    """
    if not bench.scale.ordered and method is not JuryMethod.MAJORITY:
        raise ValueError(f"classes have no {method}; they have a majority")
    rows = bench.rows.with_columns(number=pl.when(pl.col("status").fill_null(_OK) == _OK).then("number"))
    if method is JuryMethod.WEIGHTED:
        if weights is None:
            raise ValueError("a weighted jury needs weights")
        rows = rows.join(weights, on=["cluster", "rater"], how="left")
    valued, k = pl.col("number").is_not_null(), len(bench.members)
    inapplicable = pl.col("status") == _OUT
    carried = [
        c for c in bench.rows.columns if c not in {"subject", "run", "rater", "rater_kind", "status", "value", "number"}
    ]
    jury_rows = rows.group_by("subject", "run", maintain_order=True).agg(
        *(pl.col(column).first() for column in carried),
        number=_value(method, falling=bench.scale.ordered and bench.scale.worst > bench.scale.best),
        enough=valued.sum() >= (quorum or k),
        applies_to_none=inapplicable.all() & (pl.len() == k),
        reason=pl.coalesce(
            pl.col("status").filter(~valued & ~inapplicable & (pl.col("status") != _OK)).first(),
            pl.when(inapplicable.any()).then(pl.lit(TIE)),
            pl.lit(Status.FAILED.value),
        ),
    )
    decided = pl.col("enough") & pl.col("number").is_not_null()
    status = (
        pl.when("applies_to_none").then(pl.lit(_OUT)).when(decided).then(pl.lit(_OK))
        .when("enough").then(pl.lit(TIE)).otherwise("reason")
    )  # fmt: skip
    jury_rows = jury_rows.with_columns(
        status=status, number=pl.when(decided).then("number"), rater=pl.lit(method.rater),
        rater_kind=pl.lit(RaterKind.PANEL.value),
    )  # fmt: skip
    return jury_rows.with_columns(value=_written(bench.scale, jury_rows["number"])).select(bench.rows.columns)


def _value(method: JuryMethod, *, falling: bool) -> pl.Expr:
    """Return a jury's value from its members' numbers; `falling`: of which the highest is the worst."""
    number = pl.col("number").drop_nulls()
    match method:
        case JuryMethod.MEAN:
            return number.mean()
        case JuryMethod.MEDIAN:
            return number.sort(descending=falling).get((number.len() - 1) // 2, null_on_oob=True)
        case JuryMethod.MINIMUM:
            return number.max() if falling else number.min()
        case JuryMethod.WEIGHTED:
            valued = pl.col("number").is_not_null()
            return (pl.col("number") * pl.col("weight")).sum() / pl.col("weight").filter(valued).sum()
        case JuryMethod.MAJORITY:
            modes = number.mode()
            return pl.when(modes.len() == 1).then(modes.first())


def _written(scale: ValueScale, numbers: pl.Series) -> pl.Series:
    if not scale.words:
        return numbers.cast(pl.String)
    words = {float(i): word for i, word in enumerate(scale.words)}
    return numbers.replace_strict(words, default=None, return_dtype=pl.String)


def weights(judged: pl.DataFrame, rated: pl.DataFrame, members: Sequence[str], clusters: pl.Series) -> pl.DataFrame:
    """Weight every member by how little its error varies, conversation by conversation, from all *other* conversations.

    A weight is 1 / mean square of judge minus people, after the member's bias is taken out, with one more observation
    at the members' mean: that keeps a weight finite where a judge made no error in the few conversations there are.

    Args:
        judged: the members' verdicts with a value: subject, cluster, rater, number.
        rated: people's: subject, number.
        members: of the jury.
        clusters: all conversations there are to weight for.

    Returns:
        Columns cluster, rater, weight; the weights of a conversation add up to 1.
    """
    people = rated.group_by("subject", maintain_order=True).agg(people=pl.col("number").mean())
    means = judged.group_by("subject", "cluster", "rater", maintain_order=True).agg(pl.col("number").mean())
    errors = means.join(people, on="subject").with_columns(error=pl.col("number") - pl.col("people"))
    names = clusters.unique().sort().to_list()
    place, column = {name: i for i, name in enumerate(names)}, {name: i for i, name in enumerate(members)}
    sums = np.zeros((3, len(names), len(members)))
    for cluster, rater, error in errors.select("cluster", "rater", "error").iter_rows():
        sums[:, place[cluster], column[rater]] += (1, error, error**2)
    n, total, squares = sums.sum(axis=1, keepdims=True) - sums
    spread = np.maximum(squares - total**2 / np.maximum(n, 1), 0)
    usual = (spread / np.maximum(n, 1)).mean(axis=1, keepdims=True)
    error = (spread + usual) / (n + 1)
    weight = np.where(usual > 0, 1 / np.where(usual > 0, error, 1), 1.0)
    weight /= weight.sum(axis=1, keepdims=True)
    return pl.DataFrame(
        {
            "cluster": np.repeat(names, len(members)).tolist(),
            "rater": list(members) * len(names),
            "weight": weight.ravel(),
        },
        {"cluster": clusters.dtype, "rater": pl.String, "weight": pl.Float64},
    )
