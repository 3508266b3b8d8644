"""What `train` returns: the classifier's figures, calibration and decision, and how each training went."""

from __future__ import annotations

from typing import Any

import msgspec

from mindgauge.analysis.trained import TrainedFigure
from mindgauge.raters.classifiers.calibration import Abstention, Calibration
from mindgauge.raters.classifiers.form import Reads
from mindgauge.raters.classifiers.saved import Decision
from mindgauge.records.tabular import Tabular


class PartSummary(msgspec.Struct, frozen=True):
    """How many samples a part has, from how many dialogues, and of which labels."""

    name: str
    n: int
    dialogues: int
    labels: dict[str, int]


class TrialSummary(msgspec.Struct, frozen=True):
    """One training: which epoch (of the baseline: which penalty) was kept, and what it reached on development data."""

    seed: int
    fold: int | None
    kept: int
    history: list[dict[str, float]]
    collapsed: str
    seconds: float
    device: str
    shortened: int
    cut: int
    pieces: int


class Trained(msgspec.Struct, Tabular, frozen=True, kw_only=True):
    """A trained classifier and what it is worth."""

    out: str
    kind: str
    encoder: str | None
    data: str
    rubric: str
    criterion: str
    labels: list[str]
    reads: Reads
    tested: str
    """The part that the figures are on: `test`, `cross-validation` or, where there is neither, `development`."""
    parts: list[PartSummary]
    trials: list[TrialSummary]
    chosen: int
    """The seed whose classifier was saved."""
    figures: list[TrainedFigure]
    calibration: dict[str, Calibration]
    """By part; `…, before` are probabilities without a temperature. On development data they are cross-fitted."""
    abstention: dict[str, Abstention]
    """By part, where a risk was stated."""
    decision: Decision
    notes: list[str]

    def _listed(self) -> list[dict[str, Any]]:
        rows = [msgspec.structs.asdict(figure) for figure in self.figures]
        return [row | {f"always {label}": value for label, value in row.pop("always").items()} for row in rows]
