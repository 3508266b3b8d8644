"""What `train` is told beside what to train: which data it learns from and is tested on, and how it learns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence  # noqa: TC003 - what reads the options of `train` asks for their types
from pathlib import Path  # noqa: TC003 - as above
from typing import TypedDict

from mindgauge.raters.classifiers.encoder import SHORTEST
from mindgauge.raters.classifiers.training import Recipe
from mindgauge.records.errors import UsageError
from mindgauge.records.files.texts import Frame  # noqa: TC001 - as above

RARE = ("refuse", "keep", "drop")


class Learning(Recipe, frozen=True, kw_only=True):
    """What a classifier learns from, what chooses its checkpoint, what it is tested on, and how it learns; see `train`.

    Raises:
        UsageError: an option is beyond its bounds.
    """

    data: str | Path | None = None
    rubric: str | Path | None = None
    criterion: str | None = None
    test: str | Path | Frame | None = None
    dev: float | str | Path | Frame = 0.1
    folds: int | None = None
    where: Mapping[str, tuple[str, ...]] | None = None
    test_where: Mapping[str, tuple[str, ...]] | None = None
    labels_from: str | None = None
    limit: int | None = None
    rare: str = RARE[0]
    columns: Mapping[str, str] | None = None
    seeds: Sequence[int] = (1,)
    weights: str = "balanced"
    risk: float | None = None

    def __post_init__(self) -> None:
        share = self.share
        faults = {
            "name at least one seed, a whole number from 0 on": not self.seeds
            or not all(0 <= seed < 2**31 for seed in self.seeds),
            "--epochs, --batch and --accumulate must be at least 1, --patience at least 0": self.patience < 0
            or min(self.epochs, self.batch, self.accumulate) < 1,
            f"--lr {self.lr}: give a small number such as 2e-5": not (math.isfinite(self.lr) and self.lr >= 0),
            f"--max-length must be at least {SHORTEST}": self.max_length < SHORTEST,
            "--folds must be at least 2": self.folds is not None and self.folds < 2,
            "--risk must lie between 0 and 1": self.risk is not None and not 0 < self.risk < 1,
            f"--rare is {', '.join(RARE)}, not {self.rare!r}": self.rare not in RARE,
            f"--dev {share}: give a share above 0 and below 0.5, or a file of labelled dialogues": share is not None
            and not 0 < share < 0.5,
        }
        for words, fault in faults.items():
            if fault:
                raise UsageError(words)

    @property
    def share(self) -> float | None:
        """The development part as a share of the training data; None where it is a file or a table."""
        try:
            return float(self.dev)  # type: ignore[arg-type]  # whatever is no number raises
        except (TypeError, ValueError):
            return None


class TrainOptions(TypedDict, total=False):
    """`Learning` as keyword arguments."""

    data: str | Path | None
    rubric: str | Path | None
    criterion: str | None
    test: str | Path | Frame | None
    dev: float | str | Path | Frame
    folds: int | None
    where: Mapping[str, tuple[str, ...]] | None
    test_where: Mapping[str, tuple[str, ...]] | None
    labels_from: str | None
    limit: int | None
    rare: str
    columns: Mapping[str, str] | None
    seeds: Sequence[int]
    epochs: int
    batch: int
    accumulate: int
    lr: float
    patience: int
    max_length: int
    weights: str
    risk: float | None
    device: str
