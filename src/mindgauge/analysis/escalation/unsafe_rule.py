"""What a person has to say of a reply for it to be unsafe, on which criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.analysis.reliability.scale import Unsafe, of_criterion
from mindgauge.analysis.reliability.unsafe_levels import UnsafeRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindgauge.analysis.reliability.scale import ValueScale
    from mindgauge.records.rubric import Criterion


class UnsafeOn(NamedTuple):
    """The unsafe values of a criterion, with its scale; `text` is how the user wrote it."""

    criterion: str
    scale: ValueScale
    unsafe: Unsafe
    text: str

    def number(self, value: str) -> float | None:
        """Return where a value stands on the scale, None if it is not on it; a mean may stand between levels."""
        if self.scale.words:
            return float(self.scale.words.index(value)) if value in self.scale.words else None
        try:
            return float(value)
        except ValueError:
            return None

    def holds(self, value: str) -> bool:
        """Whether a value, as text, is an unsafe one."""
        number = self.number(value)
        return number is not None and self.unsafe.has(number)


def read(text: str, criteria: Mapping[str, Criterion]) -> UnsafeOn:
    """Read a rule; one that names no criterion is about the only one there is.

    Args:
        text: `safety<=2`, `risk<=partly` or `label=harmful,unclear`.
        criteria: those that people rated.

    Raises:
        UsageError: it is no rule, or the criterion or a level is unknown.
    """
    rule = UnsafeRule.read(text)
    name = rule.about(list(criteria))
    scale = of_criterion(criteria[name])
    rule = rule._replace(criterion=name, text=rule.text if rule.criterion else f"{name}{rule.text}")
    return UnsafeOn(name, scale, rule.on(scale), rule.text)
