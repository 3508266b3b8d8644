"""People's ratings of what was drawn with known probabilities: which they are, and what the statistics need of them.

Ratings of one draw stand for its frame. Those of two draws, and drawn ones and others, are never put together: their
weights are of different frames, or of none. Nor are ratings of what a person chose to read with judges' verdicts in sight
put together with any that were chosen otherwise: they would make a judge look better, and others' figures unsure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from mindgauge.records.drawn import IN_SIGHT, Drawn
from mindgauge.records.rounding import count, plural
from mindgauge.stats.sampling import DrawnSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS: dict[str, type[pl.DataType]] = {
    "probability": pl.Float64, "stratum": pl.String, "stratum_size": pl.Float64, "conversations": pl.Float64,
    "frame": pl.Float64, "draw": pl.String,
}  # fmt: skip


def unpacked(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Put `COLUMNS` in the place of a column that holds `Drawn` as JSON, null where there is none."""
    texts = rows[column].unique().drop_nulls().to_list()
    records = {text: msgspec.json.decode(text, type=Drawn) for text in texts}
    return rows.with_columns(
        pl.col(column)
        .replace_strict(
            {text: getattr(record, name) for text, record in records.items()}, default=None, return_dtype=kind
        )
        .alias(name)
        if records
        else pl.lit(None, kind).alias(name)
        for name, kind in COLUMNS.items()
    ).drop(column)


def is_drawn(rows: pl.DataFrame) -> bool:
    """Say whether all rows were drawn with known probabilities, in one draw."""
    if rows.is_empty() or "probability" not in rows.columns:
        return False
    return rows["probability"].null_count() == 0 and rows["draw"].n_unique() == 1


def alone(people: pl.DataFrame, criterion: str = "") -> tuple[pl.DataFrame, str]:
    """Keep what people rated of one draw, the one of the largest frame, where they rated any; else what was not in sight of verdicts.

    A note says what was drawn, and what is left out next to it.

    Args:
        people: people's rows: subject, selection and `COLUMNS`.
        criterion: that the note is about.
    """
    by_draw = people.drop_nulls("probability") if "probability" in people.columns else people.clear()
    if by_draw.is_empty():
        return _unswayed(people, criterion)
    frames = (
        by_draw.group_by("draw").agg(pl.col("frame").max(), n=pl.col("subject").n_unique()).sort("frame", "n", "draw")
    )
    first = frames["draw"][-1]
    rows = by_draw.filter(pl.col("draw").eq_missing(first))
    rest = people.join(rows.select("subject", "draw").unique(), on=["subject", "draw"], how="anti", nulls_equal=True)
    others = rest["subject"].n_unique()
    about = f"{criterion}: " if criterion else ""
    left_out = (
        f"; what people rated of {plural(others, 'other subject')}, without a probability or of another draw, is left out of these figures"
        if others
        else ""
    )
    return rows, f"{about}{described(rows)}{left_out}"


def _unswayed(people: pl.DataFrame, criterion: str) -> tuple[pl.DataFrame, str]:
    """Leave out what was rated with verdicts in sight, where anything was rated without them."""
    if "selection" not in people.columns:
        return people, ""
    swayed = pl.col("selection").eq_missing(pl.lit(IN_SIGHT))
    rest, others = people.filter(~swayed), people.filter(swayed)["subject"].n_unique()
    if not others or rest.is_empty():
        return people, ""
    about = f"{criterion}: " if criterion else ""
    return rest, f"{about}what people rated of {plural(others, 'subject')} {IN_SIGHT} is left out of these figures"


def described(rows: pl.DataFrame) -> str:
    """Say how many were drawn from how many, and that they are weighted."""
    subjects = rows.unique("subject")
    frame = subjects["frame"].max()
    strata = subjects.group_by("stratum").agg(n=pl.len(), size=pl.col("stratum_size").max()).sort("n", "stratum")
    parts = [
        f"{count(n)} of {count(int(size))}" if size else count(n) for n, size in strata.select("n", "size").iter_rows()
    ]
    frame_part = f" of {count(int(frame))}" if frame else ""  # type: ignore[arg-type]
    return (
        f"people rated {count(len(subjects))}{frame_part} replies that were drawn with known probabilities ({', '.join(parts)}); "
        "each counts for as many as it stands for"
    )


def sample(rows: pl.DataFrame) -> DrawnSample:
    """Return the sample that rows of one draw are, one subject a row, in their order: cluster and `COLUMNS`."""
    conversations = rows["conversations"].max()
    return DrawnSample.of(
        rows["probability"].to_numpy(), rows["stratum"].fill_null("").to_numpy().astype(str),
        np.unique(rows["cluster"].fill_null("").to_numpy().astype(str), return_inverse=True)[1]
        if rows["cluster"].dtype == pl.String
        else rows["cluster"].to_numpy(),
        rows["stratum_size"].to_numpy(), float(conversations or 0.0),  # type: ignore[arg-type]
    )  # fmt: skip


def weights(rows: pl.DataFrame, group: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
    """Return what each row's subject stands for, scaled so that it is 1 on average over subjects; 1 where nothing was drawn.

    With the `group` of each row, shape (n,), it is 1 on average over the subjects of each.
    """
    if "probability" not in rows.columns or rows.is_empty() or rows["probability"].null_count():
        return np.ones(len(rows))
    weight = 1 / rows["probability"].to_numpy()
    first = rows.select(pl.col("subject").is_first_distinct()).to_series().to_numpy()
    if group is None:
        return np.asarray(weight / weight[first].mean())
    sums, subjects = np.bincount(group[first], weight[first]), np.bincount(group[first])
    return np.asarray(weight * subjects[group] / sums[group])
