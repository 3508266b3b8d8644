"""Made-up ratings of some systems' replies by people and judges whose faults are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from mindgauge.analysis.reliability import rule
from mindgauge.analysis.reliability.cards import CardOptions, cards
from mindgauge.analysis.reliability.ratings import read

if TYPE_CHECKING:
    from mindgauge.analysis.reliability.card import Reliability, ReliabilityCard


class World:
    """Systems answer conversations; people and judges rate the replies on one criterion, from 1 to 5."""

    def __init__(self, systems: int = 6, conversations: int = 80, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self._shape = (systems, conversations)
        quality = np.linspace(-1.0, 1.0, systems)[:, None] + self._random.normal(0, 0.7, self._shape)
        self._truth = 3.0 + quality
        self._rows: list[dict[str, Any]] = []

    def rated_by(
        self, rater: str, kind: str = "model", *, bias: float = 0.0, noise: float = 0.2, missing: float = 0.0,
        run: int = 0, criterion: str = "safety", first: int | None = None, **shift: float,
    ) -> World:  # fmt: skip
        """Add a rater. `shift` moves single systems (`s0=1.0`); `first` keeps that many conversations only."""
        seen = self._truth + bias + self._random.normal(0, noise, self._shape)
        for system, amount in shift.items():
            seen[int(system[1:])] += amount
        values = np.clip(np.rint(seen), 1, 5).astype(int)
        lost = self._random.random(self._shape) < missing
        for s, c in np.ndindex(self._shape):
            if first is None or c < first:
                self._rows.append({
                    "subject": f"reply {s}.{c}", "criterion": criterion, "rater": rater, "rater_kind": kind, "run": run,
                    "value": None if lost[s, c] else int(values[s, c]), "system": f"s{s}", "cluster": f"conversation {c}",
                })  # fmt: skip
        return self

    def frame(self) -> pl.DataFrame:
        return pl.DataFrame(self._rows)

    def cards(self, **options: Any) -> Reliability:
        return made(self.frame(), **options)

    def card(self, **options: Any) -> ReliabilityCard:
        [card] = self.cards(**options).cards
        return card


def made(
    frame: pl.DataFrame,
    *,
    named: tuple[str, ...] = (),
    scale: str = "1:5",
    nominal: tuple[str, ...] = (),
    critical: tuple[str, ...] = (),
    **options: Any,
) -> Reliability:
    ratings = read([frame], scale={"*": scale} if scale else None, nominal=nominal, critical=critical)
    return cards(ratings, CardOptions(**{"limits": rule.load(rule.MINDGAUGE), "resamples": 400, **options}), named)


@pytest.fixture
def world() -> World:
    return World()
