"""The same rubric put in another order, or in other portions: what a judge is asked with, not what it is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mindgauge.raters.judge import Instrument, Mode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindgauge.records.rubric import Criterion, Rubric

REVERSED, ROTATED, BEST_FIRST = "criteria reversed", "criteria rotated", "best level first"
STRESS = "(stress: "
TOGETHER, APART = "all at once", "one at a time"


class Turned(Instrument, frozen=True, dict=True, kw_only=True):
    """An instrument in another order or mode; with it a model is a rater of its own."""

    version: str

    def rater(self, model: str) -> str:
        """Name the rater, with what was turned."""
        return f"{Instrument.rater(self, model)}{suffix(self.version)}"


def suffix(version: str) -> str:
    """Return what a rater's name ends with that works with a turned instrument."""
    return f" {STRESS}{version})"


def orders(instrument: Instrument) -> Iterator[Turned]:
    """Turn the order of the criteria, where they are put together, and that of the levels.

    In a chain of reasoning the order of the levels is part of the rule, so it stays.
    """
    rubric = instrument.rubric
    criteria = rubric.criteria
    if instrument.mode is Mode.JOINT and len(criteria) > 1:
        yield turned(instrument, REVERSED, rubric=_with(rubric, criteria[::-1]))
        half = (len(criteria) + 1) // 2
        if len(criteria) > 2:
            yield turned(instrument, ROTATED, rubric=_with(rubric, criteria[half:] + criteria[:half]))
    if not instrument.method.reasons:
        yield turned(instrument, BEST_FIRST, rubric=_with(rubric, tuple(map(_best_first, criteria))))


def turned(instrument: Instrument, version: str, **changes: object) -> Turned:
    """Return an instrument with some of it changed."""
    return Turned(**{**msgspec.structs.asdict(instrument), **changes}, version=version)


def _with(rubric: Rubric, criteria: tuple[Criterion, ...]) -> Rubric:
    return msgspec.structs.replace(rubric, criteria=criteria)


def _best_first(criterion: Criterion) -> Criterion:
    protocols = {name: texts[::-1] for name, texts in criterion.protocols.items()}
    return msgspec.structs.replace(criterion, levels=criterion.levels[::-1], protocols=protocols)
