"""Training one classifier for each seed, and in cross-validation for each fold, so that a kill costs little.

A trial that is done is a JSON file of figures and logits; one under way is a checkpoint. The same plan goes on from
either.
"""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import msgspec

from mindgauge.raters.classifiers import form, pretrained, tfidf, training
from mindgauge.raters.classifiers.calibration import collapse
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.parts import DataSplit
from mindgauge.raters.classifiers.training import Recipe
from mindgauge.records.errors import UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from mindgauge.raters.classifiers.tfidf import Tfidf

    Floats = NDArray[np.float64]
    Progress = Callable[[str, int, int], None]

MODEL = "model"
"""The folder of a trial's weights."""


class ClassifierConfig(msgspec.Struct, frozen=True):
    """What is trained: an encoder by a recipe, or the baseline where there is no encoder."""

    encoder: str | None
    labels: tuple[str, ...]
    recipe: Recipe = Recipe()
    max_length: int = 512
    device: str = "auto"


class TrialSplits(msgspec.Struct, frozen=True):
    """What a trial learns from, what it is chosen by, and what it is tested on (perhaps nothing)."""

    train: DataSplit
    dev: DataSplit
    test: DataSplit | None


class Trial(msgspec.Struct, frozen=True):
    """One finished training.

    `dev` and `test` are logits, row by row; `test_last` those of an encoder's last epoch, whichever was kept.
    `collapsed` says why it came to nothing, if it did. `shortened` and `cut` count dialogues that were too long;
    `pieces` is in how many a step was computed in the end.
    """

    seed: int
    fold: int | None
    dev: list[list[float]]
    test: list[list[float]]
    test_last: list[list[float]]
    history: list[dict[str, float]]
    kept: int
    collapsed: str
    seconds: float
    device: str = "cpu"
    max_length: int = 0
    shortened: int = 0
    cut: int = 0
    pieces: int = 1

    @property
    def best(self) -> dict[str, float]:
        """The figures of what was kept."""
        return self.history[self.kept - 1]


def name(seed: int, fold: int | None) -> str:
    """Return the name of a trial's folder."""
    return f"seed-{seed}" if fold is None else f"seed-{seed}-fold-{fold}"


def run(
    folder: Path,
    kind: ClassifierConfig,
    parts: TrialSplits,
    weights: Floats,
    seed: int,
    fold: int | None,
    progress: Progress | None,
) -> Trial:
    """Train one classifier, or return what came of it earlier.

    Args:
        folder: where trials stand.
        kind: what is trained.
        parts: the samples.
        weights: shape (q,), what an example of each label weighs.
        seed: of everything random.
        fold: which fold of a cross-validation is tested; its weights are not kept.
        progress: called with the stage, and how many of its steps are done, of how many.

    Raises:
        DataError: there is nothing to learn.
        MindgaugeError: the memory does not suffice, or training diverged.
        UsageError: what an earlier command left is damaged.
    """
    place = folder / name(seed, fold)
    record = place / "trial.json"
    if record.is_file():
        (place / "checkpoint.pt").unlink(missing_ok=True)
        return _read(record)
    place.mkdir(parents=True, exist_ok=True)

    def told(step: int, steps: int) -> None:
        if progress is not None:
            progress(f"training {name(seed, fold)}", step, steps)

    if kind.encoder is None:
        trial = _baseline(place, parts, weights, seed, fold, told)
    else:
        with pretrained.enough():
            trial = _encoder(place, kind, parts, weights, seed, fold, told)
    private.write(record, msgspec.json.encode(trial))
    (place / "checkpoint.pt").unlink(missing_ok=True)
    return trial


def _read(record: Path) -> Trial:
    try:
        return msgspec.json.decode(bounds.content(record), type=Trial)
    except msgspec.DecodeError as error:
        raise UsageError(f"{record}: damaged; delete {record.parent}, and the same command trains it again") from error


def _baseline(
    place: Path, parts: TrialSplits, weights: Floats, seed: int, fold: int | None, progress: training.Told
) -> Trial:
    began = time.perf_counter()
    train, dev, test = (_dialogues(part) for part in (parts.train, parts.dev, parts.test))
    model, history = tfidf.fit(train, parts.train.codes, weights, (dev, parts.dev.codes), progress)
    logits = model.logits(dev)
    _keep(model, place, fold)
    return Trial(
        seed, fold, logits.tolist(), model.logits(test).tolist(), [], history, _largest(history),
        collapse(logits, parts.dev.codes), time.perf_counter() - began,
    )  # fmt: skip


def _encoder(
    place: Path,
    kind: ClassifierConfig,
    parts: TrialSplits,
    weights: Floats,
    seed: int,
    fold: int | None,
    progress: training.Told,
) -> Trial:
    import torch

    assert kind.encoder is not None
    began = time.perf_counter()
    torch.manual_seed(seed)
    encoder = Encoder.start(kind.encoder, kind.labels, kind.max_length, kind.device)
    train, dev, test = (encoder.encode(_dialogues(part)) for part in (parts.train, parts.dev, parts.test))
    learned = training.fit(
        encoder, (train, parts.train.codes), (dev, parts.dev.codes), weights, kind.recipe,
        seed=seed, checkpoint=place / "checkpoint.pt", progress=progress,
    )  # fmt: skip
    logits, tested = encoder.classify(dev), encoder.classify(test)
    _keep(encoder, place, fold)
    encoder.model.load_state_dict(learned.last)
    return Trial(
        seed, fold, logits.tolist(), tested.tolist(), encoder.classify(test).tolist(), learned.history, learned.epoch,
        collapse(logits, parts.dev.codes), time.perf_counter() - began, encoder.model.device.type,
        encoder.max_length, train.shortened + dev.shortened + test.shortened, train.cut + dev.cut + test.cut,
        learned.pieces,
    )  # fmt: skip


def _dialogues(part: DataSplit | None) -> list[form.Dialogue]:
    return [form.dialogue(sample) for sample in part.samples] if part is not None else []


def _largest(history: list[dict[str, float]]) -> int:
    figures = [(epoch["macro_f1"], epoch["log_likelihood"]) for epoch in history]
    return figures.index(max(figures)) + 1


def _keep(model: Tfidf | Encoder, place: Path, fold: int | None) -> None:
    if fold is None:
        (place / MODEL).mkdir(exist_ok=True)
        model.save(place / MODEL)


def choose(trials: Sequence[Trial]) -> Trial:
    """Return the trial that did best on its development part, a collapsed one only where all are."""
    return max(trials, key=lambda trial: (not trial.collapsed, trial.best["macro_f1"], trial.best["log_likelihood"]))


def move(folder: Path, trial: Trial, target: Path) -> None:
    """Put the chosen trial's weights where the classifier stands, and delete the others; once is enough.

    Raises:
        UsageError: they were put there by an earlier command, and are gone.
    """
    for path in sorted((folder / name(trial.seed, trial.fold) / MODEL).glob("*")):
        private.copy(path, target / path.name)
    if not (target / tfidf.WEIGHTS).is_file():
        raise UsageError(
            f"{target}: its {tfidf.WEIGHTS} is gone; delete the folder and train again, or choose another --out"
        )
    for other in folder.glob(f"*/{MODEL}"):
        shutil.rmtree(other)
