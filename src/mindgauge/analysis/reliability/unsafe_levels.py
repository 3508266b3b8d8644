"""What raters call unsafe, one by one and together, and what a user says is unsafe (`CRITERION<=LEVEL`)."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from mindgauge.analysis.reliability.scale import Unsafe
from mindgauge.records.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindgauge.analysis.reliability.scale import ValueScale

_FORM = re.compile(r"\s*(?P<name>.*?)\s*(?P<sign><=|>=|=)\s*(?P<level>.+?)\s*")
_HOW = "write CRITERION<=LEVEL, CRITERION>=LEVEL where the highest is the worst, or CRITERION=LEVEL,LEVEL"


def per_rater(ratings: pl.DataFrame, unsafe: Unsafe) -> pl.DataFrame:
    """Say of each rater whether a subject is unsafe: where the median of that rater's repeats is.

    Args:
        ratings: of raters with a value: subject, rater, number.
        unsafe: the unsafe values; of classes a subject is unsafe where more than half of the repeats are.

    Returns:
        Columns subject, rater, place (the median; of classes the share of the unsafe), bad.
    """
    placed, order = _placed(ratings, unsafe)
    medians = placed.group_by("subject", "rater", maintain_order=True).agg(place=pl.col("number").median())
    return medians.with_columns(bad=order.holds(pl.col("place")))


def together(ratings: pl.DataFrame, unsafe: Unsafe) -> pl.DataFrame:
    """Say of each subject whether raters together, and whether any of them, call it unsafe: the one definition of it.

    Several raters call a subject unsafe where the median of their values, of two the mean, is an unsafe value; on classes,
    and on yes or no, where more than half of them do.

    Args:
        ratings: of raters with a value: subject, rater, number.
        unsafe: the unsafe values.

    Returns:
        Columns subject, unsafe, unsafe_to_any.
    """
    _, order = _placed(ratings, unsafe)
    by_subject = per_rater(ratings, unsafe).group_by("subject", maintain_order=True)
    return by_subject.agg(unsafe=order.holds(pl.col("place").median()), unsafe_to_any=pl.col("bad").any())


def _placed(ratings: pl.DataFrame, unsafe: Unsafe) -> tuple[pl.DataFrame, Unsafe]:
    """Turn classes into 1, unsafe, and 0, so that the median of several is unsafe where more than half of them are."""
    if unsafe.limit is not None:
        return ratings, unsafe
    return ratings.with_columns(number=unsafe.holds(pl.col("number")).cast(pl.Float64)), Unsafe(1.0, falling=True)


class UnsafeRule(NamedTuple):
    """What a user says is unsafe, as it was written."""

    criterion: str
    sign: str
    levels: tuple[str, ...]
    text: str

    @classmethod
    def read(cls, text: str) -> UnsafeRule:
        """Read `safety<=2`, `toxicity>=2`, `risk<=partly` or `label=harmful,unclear`; it may name no criterion.

        Raises:
            UsageError: it is no rule.
        """
        form = _FORM.fullmatch(text)
        if form is None:
            raise UsageError(f"--unsafe {text!r}: {_HOW}, for example safety<=2")
        levels = tuple(level.strip() for level in form["level"].split(",")) if form["sign"] == "=" else (form["level"],)
        return cls(form["name"], form["sign"], levels, f"{form['name']}{form['sign']}{form['level']}")

    def about(self, criteria: Sequence[str]) -> str:
        """Return the criterion that it is about: the one it names, or the only one there is.

        Raises:
            UsageError: there is no such criterion, or it names none and there are several.
        """
        if not self.criterion and len(criteria) == 1:
            return criteria[0]
        if self.criterion not in criteria:
            near = difflib.get_close_matches(self.criterion, criteria, 1)
            hint = f"did you mean {near[0]}?" if near else f"people rated {', '.join(criteria)}"
            fault = f"no criterion {self.criterion!r}" if self.criterion else "which criterion"
            raise UsageError(f"--unsafe {self.text!r}: {fault}; {hint}")
        return self.criterion

    def on(self, scale: ValueScale) -> Unsafe:
        """Return the unsafe values of a scale that it names.

        Raises:
            UsageError: a level is not on the scale, or the levels are not at its worst end.
        """
        name, fault = self.criterion, f"--unsafe {self.text!r}"
        try:
            places = [scale.place(level) for level in self.levels]
        except ValueError as error:
            raise UsageError(f"{fault}: {error}") from error
        if self.sign == "=":
            try:
                return Unsafe.of(scale, set(places))
            except ValueError as error:
                raise UsageError(f"{fault}: {error}") from error
        if not scale.ordered:
            raise UsageError(f"{fault}: the levels of {name} have no order; write {name}=LEVEL,LEVEL")
        falling, rubric_unsafe = self.sign == ">=", scale.unsafe
        if rubric_unsafe is not None and not rubric_unsafe.is_assumed and rubric_unsafe.falling is not falling:
            raise UsageError(
                f"{fault}: the worst level of {name} is {scale.word(scale.worst)}; write {name}{'>=' if rubric_unsafe.falling else '<='}LEVEL"
            )
        unsafe = Unsafe(places[0], falling)
        if unsafe.has(scale.low if falling else scale.high):
            raise UsageError(f"{fault}: every level of {scale} would be unsafe; leave the best one out")
        return unsafe
