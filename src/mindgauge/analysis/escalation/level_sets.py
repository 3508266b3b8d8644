"""Which levels people's value can have, given a judge's: conformal sets, and how often they hold, by category."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from mindgauge.analysis.reliability.card import Share
from mindgauge.stats import conformal
from mindgauge.stats.proportion import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mindgauge.analysis.escalation.subjects import Subjects

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class LevelSet(msgspec.Struct, frozen=True, kw_only=True):
    """The levels that people's value can have where a judge says a level, or on a group of replies.

    `group` is `all`, `level` or `category`, `name` which one; each is calibrated on its own replies (Mondrian), so that
    coverage holds in each. `low` and `high` are the levels of a level's set; of other groups, which differ from reply to
    reply, they are what is added to the judge's value. `size` is the mean number of levels in a set. All are None with less than `needs`
    conversations, and `note` says so. `coverage` is measured: each conversation by the sets of the others.
    """

    judge: str
    group: str
    name: str
    low: float | None
    high: float | None
    size: float | None
    n: int
    conversations: int
    needs: int
    coverage: Share
    coverage_by_all: Share
    """The same by the sets of the judge that are calibrated on all replies: there a category may be covered less."""
    note: str = ""


def level_sets(rated: Subjects, risks: dict[str, Floats], level: float = conformal.LEVEL) -> list[LevelSet]:
    """Return the sets of each judge; none for classes, where the scale has no levels, and where some replies stand for more.

    Args:
        rated: replies that people rated.
        risks: of judges and of their jury, from 0 (best) to 1 (worst); not finite where there is none.
        level: of coverage.
    """
    scale = rated.rule.scale
    if not (scale.ordered and scale.levels) or (len(rated.weight) and np.ptp(rated.weight) > 0):
        return []
    steps = np.array(sorted(scale.values))
    return [level_set for name, risk in risks.items() for level_set in _of_judge(rated, name, risk, steps, level)]


def _of_judge(rated: Subjects, judge: str, risk: Floats, steps: Floats, level: float) -> Iterator[LevelSet]:
    scale = rated.rule.scale
    judge_value = scale.best - risk * (scale.best - scale.worst)
    both_valued = np.isfinite(judge_value) & np.isfinite(rated.value)
    nearest = np.array(
        [steps[np.abs(steps - value).argmin()] if np.isfinite(value) else np.nan for value in judge_value]
    )
    calibration = _Calibration(rated.cluster, rated.value, steps, level)
    calibration.cover_all(judge_value, both_valued)
    yield calibration.of(judge, "all", "", judge_value, both_valued)
    for step in steps.tolist():
        yield calibration.of(
            judge, "level", str(scale.word(step)), np.full(len(judge_value), step), both_valued & (nearest == step)
        )
    names = np.unique(rated.category)
    for name in names.tolist() if len(names) > 1 else []:
        yield calibration.of(judge, "category", name, judge_value, both_valued & (rated.category == name))


class _Calibration:
    """Sets of one judge on groups of replies; a group is calibrated on itself."""

    def __init__(self, cluster: Codes, value: Floats, steps: Floats, level: float) -> None:
        self.cluster, self.value, self.steps, self.level = cluster, value, steps, level
        self.by_all = np.full(len(value), np.nan)

    def cover_all(self, judge_value: Floats, both_valued: Mask) -> None:
        """Measure which replies the sets hold that are calibrated on all of them."""
        self.by_all = conformal.covered(
            np.where(both_valued, self.value - judge_value, 0.0), self.cluster, both_valued, self.level
        )

    def of(self, judge: str, group: str, name: str, judge_value: Floats, among: Mask) -> LevelSet:
        """Return the set of a group, given what the judge says of it; of one level, that level."""
        distance = np.where(among, self.value - judge_value, 0.0)
        residuals = conformal.residuals(distance[among], self.cluster[among], self.level)
        n = int(among.sum())
        if residuals.low is None or residuals.high is None:
            return LevelSet(
                judge=judge, group=group, name=name, low=None, high=None, size=None, n=n, conversations=residuals.n,
                needs=residuals.needs, coverage=Share(None, note="there is no set"),
                coverage_by_all=self._coverage(self.by_all, among),
                note=f"{residuals.n} conversations, and it takes {residuals.needs}",
            )  # fmt: skip
        covered = conformal.covered(distance, self.cluster, among, self.level)
        low, high = residuals.low, residuals.high
        size = float(np.mean([self._levels(value + low, value + high) for value in judge_value[among]]))
        if group == "level":
            low, high = float(judge_value[among][0] + low), float(judge_value[among][0] + high)
        return LevelSet(
            judge=judge, group=group, name=name, low=low, high=high, size=size, n=n, conversations=residuals.n,
            needs=residuals.needs, coverage=self._coverage(covered, among),
            coverage_by_all=self._coverage(self.by_all, among),
        )  # fmt: skip

    def _levels(self, low: float, high: float) -> int:
        """Count the levels in a set; people's mean may stand between two of them, which then both count."""
        first = np.searchsorted(self.steps, low + 1e-9, side="right") - 1
        last = np.searchsorted(self.steps, high - 1e-9, side="left")
        return min(int(last), len(self.steps) - 1) - max(int(first), 0) + 1

    def _coverage(self, covered: Floats, among: Mask) -> Share:
        """Return the share of the conversations that is covered, each counted once, with exact bounds."""
        measured = among & np.isfinite(covered)
        _, place, sizes = np.unique(self.cluster[measured], return_inverse=True, return_counts=True)
        if not len(sizes):
            return Share(None, n=0, note="leaving out a conversation leaves too few")
        shares = np.bincount(place, weights=covered[measured]) / sizes
        bound = clopper_pearson(float(shares.sum()), len(shares))
        return Share(
            float(shares.mean()), bound.low, bound.high, events=int(covered[measured].sum()), n=int(measured.sum()),
            conversations=len(shares),
        )  # fmt: skip
