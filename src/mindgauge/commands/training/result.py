"""What `train` returns: the classifier's figures, calibration and decision, and how each training went."""

from __future__ import annotations

from typing import Any

import msgspec

from mindgauge.analysis.trained import TrainedFigure
from mindgauge.raters.classifiers.calibration import Abstention, Calibration
from mindgauge.raters.classifiers.form import Reads
from mindgauge.raters.classifiers.saved import Decision
from mindgauge.records.rounding import bounded, count, decimal
from mindgauge.records.tabular import Tabular, first_of, noted


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


class Trained(Tabular, msgspec.Struct, frozen=True, kw_only=True):
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

    def summary(self) -> list[str]:
        """Say what was trained on what, what it reached, how well calibrated it is, and how to use it."""
        figures = [
            f"{figure.name}: {bounded(figure.value, figure.low, figure.high)}, n {count(figure.n)} "
            f"(always the most frequent label: {decimal(figure.majority)})"
            for figure in self.figures
            if not figure.label
        ]
        calibration = self.calibration.get(self.tested)
        return [
            f"{self.kind} classifier of {self.criterion} ({self.rubric}), trained on {self.data}; tested: {self.tested}",
            *first_of(figures, 4),
            *([f"Calibration error: {decimal(calibration.ece)}, n {count(calibration.n)}"] if calibration else []),
            *noted(self.notes),
            f'{self.out}/card.md says what it must not be used for; as a judge: judge="classifier/{self.out}"',
        ]

    def _listed(self) -> list[dict[str, Any]]:
        rows = [msgspec.structs.asdict(figure) for figure in self.figures]
        return [row | {f"always {label}": value for label, value in row.pop("always").items()} for row in rows]
