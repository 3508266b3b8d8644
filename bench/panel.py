"""What three judges are worth together, where it is known; a part of coverage.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from counting import Grid, short, table
from mindgauge.stats import juries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Members(NamedTuple):
    """Three judges: x = severity + slope (truth + error); errors correlate, and so do two replies of a conversation.

    Truth has variance 1; noise has no truth in it. `levels` rounds all ratings to 1 to 5.
    """

    errors: tuple[float, float, float] = (0.6, 0.6, 0.6)
    correlation: float = 0.0
    severity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    slope: tuple[float, float, float] = (1.0, 1.0, 1.0)
    knows: bool = True
    levels: bool = False
    centre: float = 3.0

    @property
    def independent(self) -> float:
        """Like how many independent judges they err."""
        return 3 / (1 + 2 * self.correlation)

    def squares(self) -> tuple[float, float]:
        """Return the least squared error, beyond people's own, of the best judge and of the mean, on a continuum."""
        if not self.knows:
            return 1.0, 1.0
        slope, error = np.array(self.slope), np.array(self.errors)
        weight = slope / slope.sum()
        shared = self.correlation * np.outer(error, error) + (1 - self.correlation) * np.diag(error**2)
        best, mean = float((error**2).min()), float(weight @ shared @ weight)
        return best / (1 + best), mean / (1 + mean)

    def rated(self, generator: np.random.Generator, subjects: int, persons: int) -> juries.JuryRatings:
        """Let them and some persons rate subjects, two of each conversation."""
        truth = np.sqrt(0.3) * generator.normal(size=subjects // 2).repeat(2) + np.sqrt(0.7) * generator.normal(
            size=subjects
        )
        own, shared = generator.normal(size=(subjects, 3)), generator.normal(size=(subjects, 1))
        error = (np.sqrt(1 - self.correlation) * own + np.sqrt(self.correlation) * shared) * np.array(self.errors)
        known = truth[:, None] if self.knows else 0.0
        said = self.centre + np.array(self.severity) + np.array(self.slope) * (known + error)
        people = self.centre + truth[:, None] + generator.normal(0, 0.6, (subjects, persons))
        if self.levels:
            said, people = (np.clip(np.rint(seen), 1, 5) for seen in (said, people))
        gap = people - people.mean(axis=1, keepdims=True)
        squares = ((gap - gap.mean(axis=0)) ** 2).sum(axis=1)
        raters, cluster = np.full(subjects, float(persons)), np.arange(subjects) // 2
        return juries.JuryRatings(said, people.mean(axis=1), raters, squares, persons, cluster)


SETTINGS = {
    "independent": Members(),
    "of different skill": Members((0.4, 0.6, 0.9)),
    "of different severity and slope": Members(severity=(-1, 0, 1), slope=(0.5, 1, 1.2)),
    "errors correlate .5": Members(correlation=0.5),
    "errors correlate .9": Members(correlation=0.9),
    "copies": Members(correlation=1.0),
    "noise": Members((1, 1, 1), knows=False),
    "noise of one source": Members((1, 1, 1), correlation=0.5, knows=False),
    "independent, levels": Members(levels=True),
    "independent, levels, most at 5": Members(levels=True, centre=4.3),
    "of different severity, levels": Members(severity=(-1, 0, 1), levels=True),
    "copies, levels": Members(correlation=1.0, levels=True),
    "noise, levels": Members((1, 1, 1), knows=False, levels=True),
}


def panel(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """Like how many independent judges three err, whether they follow people, and what their mean gains."""
    grid = Grid("Three judges together: intervals", "judges", "people", "subjects")
    typical = []
    for name, members in SETTINGS.items():
        best, mean = members.squares()
        for persons in (1, 2, 3):
            for subjects in (40, 100, 400):
                row = (name, str(persons), str(subjects))
                seen = []
                for seed in range(repetitions):
                    found = juries.jury(members.rated(generator, subjects, persons), seed=seed)
                    errors = found.errors
                    if persons > 1 and members.correlation < 1:
                        grid.see(row, "number of independent judges", members.independent, found.independent)
                    if persons > 1 and not members.levels:
                        grid.see(row, "skill: 1 - jury / constant", 1 - mean, errors.skill)
                        grid.see(row, "gain: 1 - jury / best", 1 - mean / best, errors.gain)
                    follow = errors.skill.low is not None and errors.skill.low > 0
                    value = (found.independent.value, errors.gain.value)
                    seen.append([follow, *(np.nan if v is None else v for v in value)])
                _, independent, gain = np.nanmedian(np.array(seen, dtype=float), axis=0)
                follows = float(np.mean([row[0] for row in seen]))
                typical.append(
                    [*row, f"{members.independent:.2f}", f"{independent:.2f}", short(follows), f"{gain:.2f}"]
                )
    head = ["judges", "people", "subjects", "true m", "median m", "called to follow people", "median gain"]
    yield table("Three judges together: what is found", head, typical)
    yield grid
