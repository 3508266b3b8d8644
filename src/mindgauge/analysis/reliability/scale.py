"""The scale of a criterion and its unsafe values: by its rubric, by the user, or, failing both, by the values themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from mindgauge.benchmarks.persons.dialogues import MOST_TURNS
from mindgauge.benchmarks.persons.persona import NEVER
from mindgauge.records.errors import DataError, UsageError
from mindgauge.records.ratings.long import lines
from mindgauge.records.rubric import Scale as Kind
from mindgauge.records.rubric.criterion import ASSUMED

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from mindgauge.records.rubric import Criterion

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
MANY = 20
"""More distinct values than this are a continuum: coefficients for categories are not computed."""


class Unsafe(NamedTuple):
    """The unsafe values of a scale: of an order those from its worst end up to a limit, else some of its classes.

    Values between levels, such as the median of two people, are unsafe up to the limit as well.
    """

    limit: float | None = None
    falling: bool = False
    """Whether the highest value is the worst."""
    classes: tuple[float, ...] = ()
    is_assumed: bool = False
    """Whether nobody said so: the worst two fifths of the scale."""

    @classmethod
    def of(cls, scale: ValueScale, values: Collection[float]) -> Unsafe:
        """Return some values of a scale as its unsafe ones.

        Raises:
            ValueError: of an order, they are not all values at one of its ends.
        """
        if not scale.ordered:
            return cls(classes=tuple(sorted(values)))
        falling = scale.low not in values
        unsafe = cls(min(values) if falling else max(values), falling)
        if {value for value in scale.values if unsafe.has(value)} != set(values) or len(values) == len(scale.values):
            raise ValueError("the unsafe levels of an order are the first ones or the last ones, and not all of them")
        return unsafe

    @classmethod
    def assumed(cls, scale: ValueScale, *, falling: bool = False) -> Unsafe:
        """Return the values that lie within the worst two fifths of an ordered scale; the worst level at least.

        A level takes up one step, so that 1 and 2 are two fifths of 1 to 5.
        """
        step = float(np.diff(scale.values).max(initial=0.0)) if scale.levels else 0.0
        depth = max(ASSUMED * (scale.high - scale.low + step) - step, 0.0)
        return cls(scale.high - depth if falling else scale.low + depth, falling, is_assumed=True)

    def has(self, number: float) -> bool:
        """Whether a value is unsafe."""
        if self.limit is None:
            return number in self.classes
        return number >= self.limit if self.falling else number <= self.limit

    def among(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say of each value whether it is unsafe; not where it is missing (NaN)."""
        if self.limit is None:
            return np.isin(numbers, self.classes)
        return np.asarray(numbers >= self.limit if self.falling else numbers <= self.limit)

    def holds(self, number: pl.Expr) -> pl.Expr:
        """Say of each value whether it is unsafe; null where it is missing."""
        if self.limit is None:
            return number.is_in(self.classes)
        return number >= self.limit if self.falling else number <= self.limit

    def levels(self, scale: ValueScale) -> list[float | str]:
        """Return the unsafe levels as they are written; of a continuum its worst value and the limit."""
        if self.limit is not None and not scale.levels:
            return [scale.word(value) for value in sorted((scale.high if self.falling else scale.low, self.limit))]
        return [scale.word(value) for value in scale.values if self.has(value)]

    def worst(self, scale: ValueScale) -> Unsafe | None:
        """Return the worst level alone; None where there is no such level."""
        if self.limit is None or not scale.levels:
            return None
        return Unsafe(scale.high if self.falling else scale.low, self.falling)


class ValueScale(NamedTuple):
    """The values of a criterion. `words` are given for word levels and classes; `values` are then their positions.

    `low` and `high` span the range that bias is measured against. With `levels` False the values are a continuum.
    The lowest value is the worst, if there is an order, unless `unsafe` says that the highest is.
    """

    values: tuple[float, ...]
    words: tuple[str, ...] = ()
    ordered: bool = True
    levels: bool = True
    unsafe: Unsafe | None = None
    """Which values are unsafe; None where nothing says so yet."""

    def numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return ratings with the places of words as their `number`; others have theirs."""
        if not self.words:
            return rows
        places = {word: float(place) for place, word in enumerate(self.words)}
        return rows.with_columns(number=pl.col("value").replace_strict(places, default=None, return_dtype=pl.Float64))

    @property
    def low(self) -> float:
        """The lowest value."""
        return self.values[0]

    @property
    def high(self) -> float:
        """The highest value."""
        return self.values[-1]

    @property
    def falling(self) -> bool:
        """Whether the highest value of an order is the worst."""
        return self.unsafe is not None and self.unsafe.falling

    @property
    def worst(self) -> float:
        """The worst value of an order."""
        return self.high if self.falling else self.low

    @property
    def best(self) -> float:
        """The best value of an order."""
        return self.low if self.falling else self.high

    @property
    def shown(self) -> list[float | str]:
        """The values as they are written."""
        return list(self.words) if self.words else [_short(value) for value in self.values]

    def __str__(self) -> str:
        if self.words:
            return (" < " if self.ordered else ", ").join(self.words)
        return f"{_short(self.low)}:{_short(self.high)}"

    def place(self, value: str) -> float:
        """Return the number of a value of the scale, as text.

        Raises:
            ValueError: it is not on the scale.
        """
        if self.words:
            number = float(self.words.index(value)) if value in self.words else None
        else:
            number = float(value) if _NUMBER.fullmatch(value) else None
        if number is None or not (number in self.values if self.levels else self.low <= number <= self.high):
            raise ValueError(f"{value!r} is not on the scale {self}")
        return number

    def word(self, value: float) -> float | str:
        """Write a value as its word, if it has one."""
        return self.words[int(value)] if self.words else _short(value)


def _short(value: float) -> float:
    return int(value) if float(value).is_integer() else round(float(value), 4)


def of_criterion(criterion: Criterion) -> ValueScale:
    """Return the scale of a rubric's criterion."""
    numbers = [v for v in criterion.values if isinstance(v, int | float)]
    ordered = criterion.scale is Kind.ORDINAL
    if ordered and len(numbers) == len(criterion.values):
        scale = ValueScale(tuple(sorted(float(v) for v in numbers)))
    else:
        scale = _worded(tuple(str(v) for v in criterion.values), ordered=ordered)
    if not criterion.unsafe:
        falling = ordered and scale.place(str(criterion.worst_first[0])) == scale.high
        return scale._replace(unsafe=Unsafe.assumed(scale, falling=falling)) if ordered else scale
    return scale._replace(unsafe=Unsafe.of(scale, [scale.place(str(value)) for value in criterion.unsafe]))


def _worded(words: tuple[str, ...], *, ordered: bool) -> ValueScale:
    return ValueScale(tuple(float(i) for i in range(len(words))), words, ordered)


def settle(
    rows: pl.DataFrame, criterion: str, text: str, rubric_scale: ValueScale | None, *, nominal: bool
) -> tuple[ValueScale, pl.Series, list[str]]:
    """Find a criterion's scale, the rows (column `row`) whose values are off it, and what was assumed.

    Raises:
        UsageError: the given scale cannot be read.
        DataError: numbers and words are mixed, or every value is off the scale.
    """
    valued = rows.filter(pl.col("value").is_not_null())
    notes: list[str] = []
    if text:
        scale = _given(text, valued)
    elif rubric_scale is not None:
        scale = rubric_scale
    elif valued.is_empty():
        return ValueScale((0.0, 1.0)), pl.Series(dtype=pl.UInt32), [f"{criterion}: no rating has a value"]
    else:
        scale = _observed(valued, criterion, nominal=nominal)
        if scale.ordered:
            notes.append(
                f"{criterion}: no scale given, so it is taken from the values ({scale}); set it with --scale LOW:HIGH"
            )
    off_scale = valued.filter(~_on(scale))["row"]
    if len(off_scale) and len(off_scale) == len(valued):
        raise DataError(
            f"{criterion}: not one value is on the scale {scale} (found {', '.join(map(str, valued['value'].unique().sort().head(5)))}); is --scale right?"
        )
    return scale, off_scale, notes


def _on(scale: ValueScale) -> pl.Expr:
    if scale.words:
        return pl.col("value").is_in(scale.words)
    number = pl.col("number")
    in_range = number.is_between(scale.low, scale.high) & number.is_not_null()
    return in_range & number.is_in(scale.values) if scale.levels else in_range


def _given(text: str, valued: pl.DataFrame) -> ValueScale:
    """Read `1:5` or `worst,middle,best`; between the bounds, values that are not whole belong if they occur."""
    if "," in text:
        words = tuple(word.strip() for word in text.split(","))
        if len(set(words)) < len(words) or not all(words):
            raise UsageError(f"--scale {text!r}: write each level once, worst to best, for example none,some,full")
        return _worded(words, ordered=True)
    low, colon, high = text.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = (0.0, 0.0)
    if not colon or not bounds[0] < bounds[1]:
        raise UsageError(
            f"--scale {text!r}: write LOW:HIGH, for example 1:5, or levels worst to best, for example none,some,full"
        )
    return _numbers(valued["number"].filter(valued["number"].is_between(*bounds)), *bounds)


def _observed(valued: pl.DataFrame, criterion: str, *, nominal: bool) -> ValueScale:
    words = valued.filter(pl.col("number").is_null())
    if nominal or len(words) == len(valued):
        classes = valued["value"].unique().sort().to_list()
        if len(classes) > MANY * 10:
            raise DataError(f"{criterion}: {len(classes)} different classes; these look like texts, not ratings")
        return _worded(tuple(classes), ordered=False)
    if words["value"].unique().to_list() == [NEVER] and (turns := _turns(valued)):
        scale = _worded((*map(str, range(1, turns + 1)), NEVER), ordered=True)
        return scale._replace(unsafe=Unsafe.of(scale, scale.values[:-1]))
    if len(words):
        raise DataError(
            f"{criterion}: numbers and words are mixed ({len(words)} of {len(valued)} values are words such as "
            f"{str(words['value'][0])[:40]!r}, {lines(words)}); leave those cells empty, or name the criterion with --nominal"
        )
    return _numbers(valued["number"], float(valued["number"].min()), float(valued["number"].max()))  # type: ignore[arg-type]


def _turns(valued: pl.DataFrame) -> int:
    """Return the highest of numbered turns; 0 where the numbers are none of turns, counted from 1."""
    numbers = valued["number"].drop_nulls()
    turns = numbers.cast(pl.Int64).cast(pl.String) == valued.filter(pl.col("number").is_not_null())["value"]
    return int(numbers.max()) if turns.all() and numbers.is_between(1, MOST_TURNS).all() else 0  # type: ignore[arg-type]


def _numbers(numbers: pl.Series, low: float, high: float) -> ValueScale:
    present = np.unique(numbers.drop_nulls().to_numpy())
    grid = (
        np.arange(low, high + 1)
        if low.is_integer() and high.is_integer() and high - low <= MANY
        else np.array([low, high])
    )
    values = np.union1d(present, grid)
    if len(values) > MANY:
        return ValueScale((low, high), levels=False)
    return ValueScale(tuple(float(v) for v in values))
