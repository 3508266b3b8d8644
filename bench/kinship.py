"""How often a judge is said to favour its kin, fairly or not; a part of coverage.py."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from counting import short, table
from mindgauge.analysis.reliability.favour import FAVOURS, NO_SIGN, favour
from mindgauge.stats.favour import FavourRatings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GAPS, SEVERITIES, SLOPES = (-1.0, -0.5, 0.0, 0.5, 1.0), (-1.0, 0.0, 1.0), (0.4, 0.8, 1.2)


class Study(NamedTuple):
    """A judge of one reply of its kin and two others in each conversation, on levels from 1 to 5.

    `gap` is by how many levels its kin write better, `fond` what it gives them for nothing, `style` what all judges and
    no person give them. The judge says 3 + severity + slope (truth - 3); `plainly`, severity + slope × truth. Other
    judges have severities of 0.4 and -0.4 and slopes of 0.9 and 0.7.
    """

    conversations: int
    persons: int
    gap: float = 0.0
    severity: float = 0.0
    slope: float = 1.0
    fond: float = 0.0
    style: float = 0.0
    controls: int = 2
    plainly: bool = False

    def rated(self, generator: np.random.Generator) -> FavourRatings:
        """Draw a study."""
        own, cluster = np.tile([True, False, False], self.conversations), np.repeat(np.arange(self.conversations), 3)
        n = len(own)
        truth = (
            3
            + self.gap * own
            + np.repeat(generator.normal(0, 0.5, self.conversations), 3)
            + generator.normal(0, 0.7, n)
        )
        people = _levels(truth[:, None] + generator.normal(0, 0.6, (n, self.persons)))
        shown = truth + self.style * own
        said = self.severity + self.slope * shown if self.plainly else 3 + self.severity + self.slope * (shown - 3)
        judge = _levels(said + self.fond * own + generator.normal(0, 0.5, n))
        others = [
            _levels(3 + severity + slope * (shown - 3) + generator.normal(0, 0.5, n))
            for severity, slope in ((0.4, 0.9), (-0.4, 0.7))[: self.controls]
        ]
        return FavourRatings(judge, people, np.stack(others, axis=1) if others else np.zeros((n, 0)), own, cluster)

    def outcomes(self, repetitions: int, generator: np.random.Generator) -> tuple[float, float]:
        """Return how often it is said to favour its kin, and how often there is no sign of it."""
        found = [favour(self.rated(generator), ["kin"], [], 4.0).outcome for _ in range(repetitions)]
        return found.count(FAVOURS) / repetitions, found.count(NO_SIGN) / repetitions


def _levels(seen: Floats) -> Floats:
    return np.asarray(np.clip(np.rint(seen), 1, 5))


def _plain(study: Study, repetitions: int, generator: np.random.Generator) -> float:
    """Return how often kin and others surely differ in judge minus people, by Student's t over conversations."""
    hits = 0
    for _ in range(repetitions):
        rated = study.rated(generator)
        apart = (rated.judge - rated.people.mean(axis=1)).reshape(-1, 3)
        each = apart[:, 0] - apart[:, 1:].mean(axis=1)
        hits += each.mean() > 2 * each.std(ddof=1) / np.sqrt(len(each))
    return hits / repetitions


SIZES = ((40, 1), (40, 2), (100, 1), (100, 2), (100, 3), (300, 3))


def kinship(repetitions: int, generator: np.random.Generator) -> Iterator[object]:
    """False accusations over a grid of quality gaps, severities and slopes; power; favours that are none."""
    rows = []
    for conversations, persons, plainly in [*((*size, False) for size in SIZES), (100, 2, True)]:
        found = []
        for gap, severity, slope in product(GAPS, SEVERITIES, SLOPES):
            study = Study(conversations, persons, gap, severity, slope, plainly=plainly)
            accused, clean = study.outcomes(repetitions, generator)
            found.append((accused, clean, gap, severity, slope, _plain(study, repetitions, generator)))
        accused, clean, *_, plain = np.array(found).T
        worst = max(found)
        rows.append([
            "severity + slope × truth" if plainly else "around the middle", str(conversations), str(persons),
            short(float(accused.mean())), f"{short(worst[0])} (gap {worst[2]:+g}, severity {worst[3]:+g}, slope {worst[4]:g})",
            short(float(np.mean(accused > 0.05))), short(float(clean.mean())), short(float(plain.mean())), short(float(plain.max())),
        ])  # fmt: skip
    yield table(
        f"An unbiased judge said to favour its kin, over {len(GAPS) * len(SEVERITIES) * len(SLOPES)} settings",
        ["judge's verdict", "conversations", "people", "accused, mean", "accused, most", "settings above .05", "no sign of it, mean",
         "by plain bias, mean", "by plain bias, most"],
        rows,
    )  # fmt: skip
    rows = []
    for conversations, persons in SIZES:
        row = [str(conversations), str(persons)]
        for gap, slope in ((0, 1), (0, 0.5), (1, 1), (-1, 1)):
            row.append(
                short(Study(conversations, persons, gap, slope=slope, fond=0.5).outcomes(2 * repetitions, generator)[0])
            )
        row.append(short(Study(conversations, persons, fond=1.0).outcomes(2 * repetitions, generator)[0]))
        row.append(short(Study(conversations, persons, style=0.5).outcomes(2 * repetitions, generator)[0]))
        row.append(short(Study(conversations, persons, fond=0.5, controls=0).outcomes(2 * repetitions, generator)[0]))
        rows.append(row)
    head = [
        "conversations", "people", "half a level", "… slope 0.5", "… kin a level better", "… kin a level worse", "a whole level",
        "what all judges see", "half a level, no other judge",
    ]  # fmt: skip
    yield table("How often a judge is said to favour its kin that gives them levels for nothing", head, rows)
