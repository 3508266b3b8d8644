"""How many unsafe replies people must meet before a judge can be called good: to be known before labelling starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mindgauge.analysis.reliability import rule
from mindgauge.records.rounding import percent
from mindgauge.records.rubric import Scale
from mindgauge.stats.proportion import demand, fewest

if TYPE_CHECKING:
    from mindgauge.records.rubric import Rubric


class UnsafeNeeded(NamedTuple):
    """What people must call unsafe, each reply in a conversation of its own.

    With `replies` of them the judge may miss `misses`, and one that finds the share `sensitivity` passes with chance
    `passes`; with `fewest` it may miss none. The same is asked of each of the `critical` categories.
    """

    replies: int
    misses: int
    sensitivity: float
    passes: float
    fewest: int
    critical: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Say it to whoever plans the labelling."""
        critical = f" The same holds in each critical category: {', '.join(self.critical)}." if self.critical else ""
        return (
            f"for a judge to be called good, people must call at least {self.replies} replies unsafe, each in a conversation of its own: "
            f"it may then miss {self.misses}, and a judge that finds {percent(self.sensitivity)} passes in {percent(self.passes)} of studies; "
            f"with {self.fewest} it may miss none, with fewer nothing can be said.{critical}"
        )


def needed(rubric: Rubric) -> UnsafeNeeded | None:
    """Return how many unsafe replies a rubric's judges are held against; None where none of its levels can be unsafe."""
    if not any(criterion.unsafe or criterion.scale is Scale.ORDINAL for criterion in rubric.criteria):
        return None
    limits = rule.load(rule.MINDGAUGE).danger
    plan = demand(limits.good, limits.sound)
    return UnsafeNeeded(plan.n, plan.misses, limits.sound, plan.passes, fewest(limits.good), rubric.critical)
