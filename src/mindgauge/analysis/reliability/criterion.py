"""The ratings on one criterion as what cards are made of: whose they are, and people beside whom every judge is put."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis import drawn
from mindgauge.analysis.reliability.pairs import numbered
from mindgauge.analysis.reliability.unsafe_levels import PeopleApart, UnsafeByPeople, people_apart
from mindgauge.records.errors import UsageError
from mindgauge.records.rounding import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mindgauge.analysis.reliability.pairs import Codes
    from mindgauge.analysis.reliability.ratings import Ratings
    from mindgauge.analysis.reliability.scale import ValueScale
    from mindgauge.analysis.reliability.seen import Dates


def valued(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that have a value."""
    return rows.filter(pl.col("number").is_not_null())


class RatedCriterion(NamedTuple):
    """The ratings on one criterion: `subject`, `cluster` and `system` are indices, `name` is the subject's own.

    `stated` holds judges' means on subjects of which their verdicts were not released, `declined` those of which they said that
    the criterion does not apply: subject (its index), rater, number (null).
    """

    name: str
    scale: ValueScale
    rows: pl.DataFrame
    systems: list[str]
    critical: tuple[str, ...]
    stated: pl.DataFrame
    declined: pl.DataFrame
    drawn: str = ""
    """How people's part was drawn, where it was with known probabilities."""
    left_out: str = ""
    """What of people's ratings is not among them, where nothing was drawn."""
    attributes: pl.DataFrame | None = None
    """What else is known of subjects (their index)."""
    dated: Mapping[str, Dates] = MappingProxyType({})
    """Rater → when it rated what people rated, as far as that is known."""
    public: bool = False
    """Whether people's ratings were released."""

    def named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with the systems' names in place of their indices."""
        return rows.with_columns(pl.col("system").replace_strict(dict(enumerate(self.systems)), return_dtype=pl.String))

    def by(self, *raters: str) -> pl.DataFrame:
        """Return what was given to some raters, missing verdicts included."""
        return self.rows.filter(pl.col("rater").is_in(raters))

    def valued(self, *raters: str) -> pl.DataFrame:
        """Return the values that some raters gave, with the systems' names."""
        return self.named(valued(self.by(*raters)))

    def known_of(self, judge: str, judge_rows: pl.DataFrame) -> pl.DataFrame:
        """Put what else is known of a judge's verdicts under its rows: subject, number (null where it gave none)."""
        others = (part.filter(pl.col("rater") == judge) for part in (self.stated, self.declined))
        return pl.concat([part.select("subject", "number") for part in (judge_rows, *others)])


def rated_criterion(ratings: Ratings, name: str, persons: Sequence[str]) -> RatedCriterion:
    """Return the ratings on one criterion; of what people rated only one draw, where that was drawn with known probabilities."""
    scale = ratings.scales[name]
    everything = ratings.frame.filter(pl.col("criterion") == name)
    applies = pl.col("status") != "not_applicable"
    rows = scale.numbered(everything.filter(applies))
    blank = {column: pl.col(column).fill_null("") for column in ("cluster", "system")}
    is_stock = pl.col("subject").is_in(list(ratings.stock))
    rows = rows.with_columns(name=pl.col("subject"), stock=is_stock, **blank)
    indices = {column: numbered(rows[column]) for column in ("subject", "cluster", "system")}
    rows = rows.with_columns(pl.Series(column, places) for column, (_, places) in indices.items())
    subjects = rows.select("name", "subject").unique("name")

    def by_index(verdicts: pl.DataFrame) -> pl.DataFrame:
        named = verdicts.rename({"subject": "name"}).join(subjects, on="name", maintain_order="left")
        return named.select("subject", "rater", "number")

    criterion = RatedCriterion(
        name, scale, rows, indices["system"][0], ratings.critical[name],
        by_index(ratings.stated.filter(pl.col("criterion") == name)),
        by_index(everything.filter(~applies).with_columns(number=pl.lit(None, pl.Float64))),
        attributes=subjects.join(ratings.attributes.drop("name", strict=False), left_on="name", right_on="subject").drop("name"),
        dated=ratings.dated, public=ratings.public,
    )  # fmt: skip
    part = drawn.alone(criterion.by(*persons), name)
    if not part.note:
        return criterion
    others = criterion.rows.filter(~pl.col("rater").is_in(persons))
    rows = pl.concat([others, part.rows])
    if drawn.is_drawn(part.rows):
        return criterion._replace(rows=rows, drawn=part.note)
    return criterion._replace(rows=rows, left_out=part.note)


class Compared(NamedTuple):
    """With whom judges are compared: the `reference`, and `everybody` of whom that is a part; who of these is independent."""

    reference: Sequence[str]
    everybody: Sequence[str]
    independent: Sequence[str]


class PeopleBeside(NamedTuple):
    """People whom all judges are compared with on a criterion: their `names`, and `independents` among them.

    `rows` are theirs, `rated` those with a value, of `categories` by the place of each (-1 for none), and `first` each
    one's first of a subject.
    """

    names: Sequence[str]
    independents: list[str]
    everybody: Sequence[str]
    rows: pl.DataFrame
    rated: pl.DataFrame
    categories: tuple[list[str], Codes]
    first: pl.DataFrame
    unsafe: UnsafeByPeople | None
    apart: PeopleApart
    """How far they are from each other."""
    subjects: pl.Series
    """The subjects that they were given, as one list."""
    selected: str
    """How these were selected, where they were not drawn with known probabilities."""

    @classmethod
    def of(cls, criterion: RatedCriterion, compared: Compared) -> PeopleBeside:
        """Read what they rated on a criterion."""
        rows = criterion.by(*compared.reference)
        rated = valued(rows)
        first = rated.sort("run", maintain_order=True).unique(["subject", "rater"], keep="first", maintain_order=True)
        independents = [rater for rater in compared.reference if rater in compared.independent]
        unsafe = UnsafeByPeople.of(criterion.named(rated), criterion.scale, independents, criterion.attributes)
        selections = [] if drawn.is_drawn(rows) else rows["selection"].drop_nulls().unique().to_list()
        return cls(
            compared.reference, independents, compared.everybody, rows, rated, numbered(rated["category"]), first, unsafe,
            people_apart(first, independents, criterion.scale), rows["subject"].unique().implode(), "; ".join(sorted(selections)),
        )  # fmt: skip

    @property
    def sharing(self) -> int:
        """How many independent people rated a subject that another rated, too; 1 where nobody did."""
        own = self.first.filter(pl.col("rater").is_in(self.independents))
        return max(1, own.filter(pl.len().over("subject") > 1)["rater"].n_unique())

    def share_of(self, planned: int) -> float | None:
        """Return which share of the planned replies two of them have rated, where any two did; None of no plan, or no reply.

        Raises:
            UsageError: they rated more than was planned.
        """
        total = self.rated["subject"].n_unique()
        if total > planned > 0:
            raise UsageError(
                f"--look-until {planned}: people have rated {count(total)} replies, and bounds hold at all looks only up to the number that was set before the first"
            )
        own = self.first.filter(pl.col("rater").is_in(self.independents))
        rated = own.filter(pl.len().over("subject") > 1)["subject"].n_unique() or total
        return rated / planned if planned and rated else None

    def beside(self, judge_rows: pl.DataFrame) -> pl.DataFrame:
        """Return a judge's rows on the subjects that people were given."""
        return judge_rows.filter(pl.col("subject").is_in(self.subjects))
