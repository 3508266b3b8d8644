"""What `train` is told beside what to train: which data it learns from and is tested on, and how it learns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import msgspec

from mindgauge.raters.classifiers import calibration
from mindgauge.raters.classifiers import encoder as encoders
from mindgauge.raters.classifiers.training import Recipe
from mindgauge.records.errors import UsageError
from mindgauge.records.files.texts import Frame

RARE = ("refuse", "keep", "drop")


class Learning(msgspec.Struct, frozen=True, kw_only=True):
    """What a classifier learns from, what chooses its checkpoint, and what it is tested on; see `train`."""

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

    @property
    def released(self) -> Path | None:
        """Where a copy of a benchmark's released files lies."""
        return Path(self.data) if self.data is not None else None

    @property
    def dev_data(self) -> str | Path | Frame | None:
        """The development part where it is a file or a table."""
        return None if isinstance(self.dev, float) or self.share is not None else self.dev

    @property
    def share(self) -> float | None:
        """The development part as a share of the training data; None where it is a file or a table.

        Raises:
            UsageError: there is no such share.
        """
        try:
            share = float(self.dev)  # type: ignore[arg-type]  # whatever is no number raises
        except (TypeError, ValueError):
            return None
        if not 0 < share < 0.5:
            raise UsageError(f"--dev {self.dev}: give a share above 0 and below 0.5, or a file of labelled dialogues")
        return share


class Fitting(msgspec.Struct, frozen=True, kw_only=True):
    """How a classifier learns; see `train`."""

    seeds: Sequence[int] = (1,)
    epochs: int = 5
    batch: int = 16
    accumulate: int = 1
    lr: float = 2e-5
    patience: int = 2
    max_length: int = 512
    weights: str = calibration.BALANCED
    risk: float | None = None
    device: str = "auto"

    @property
    def recipe(self) -> Recipe:
        """How an encoder is fine-tuned."""
        return Recipe(
            epochs=self.epochs, batch=self.batch, accumulate=self.accumulate, lr=self.lr, patience=self.patience
        )


def check(learning: Learning, fitting: Fitting) -> None:
    """Refuse what no training can mean.

    Raises:
        UsageError: an option is beyond its bounds.
    """
    if not fitting.seeds or not all(0 <= seed < 2**31 for seed in fitting.seeds):
        raise UsageError("name at least one seed, a whole number from 0 on")
    if min(fitting.epochs, fitting.batch, fitting.accumulate) < 1 or fitting.patience < 0:
        raise UsageError("--epochs, --batch and --accumulate must be at least 1, --patience at least 0")
    if not (math.isfinite(fitting.lr) and fitting.lr >= 0):
        raise UsageError(f"--lr {fitting.lr}: give a small number such as 2e-5")
    if fitting.max_length < encoders.SHORTEST:
        raise UsageError(f"--max-length must be at least {encoders.SHORTEST}")
    if learning.folds is not None and learning.folds < 2:
        raise UsageError("--folds must be at least 2")
    if fitting.risk is not None and not 0 < fitting.risk < 1:
        raise UsageError("--risk must lie between 0 and 1")
    if learning.rare not in RARE:
        raise UsageError(f"--rare is {', '.join(RARE)}, not {learning.rare!r}")


class TrainOptions(TypedDict, total=False):
    """`Learning` and `Fitting` as keyword arguments."""

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


def of(options: TrainOptions) -> tuple[Learning, Fitting]:
    """Read the keyword arguments of `train`."""
    learning = {name: value for name, value in options.items() if name in Learning.__struct_fields__}
    fitting = {name: value for name, value in options.items() if name in Fitting.__struct_fields__}
    return Learning(**learning), Fitting(**fitting)  # type: ignore[arg-type]  # names and kinds are those of the fields
