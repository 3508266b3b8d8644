"""Training one classifier for each seed, and in cross-validation for each fold, so that a kill costs little.

A trial that is done is a JSON file of figures and logits, and the same plan goes on behind it. An encoder learns by
weighted cross-entropy, AdamW without decay on biases and normalisations, a linear schedule with warm-up and clipped
gradients, in the length-grouped batches of `transformers`.
"""

from __future__ import annotations

import math
import shutil
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mindgauge.raters.classifiers import encoder as encoders
from mindgauge.raters.classifiers import form, tfidf
from mindgauge.raters.classifiers.calibration import best, collapse, standing
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.parts import DataSplit
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import bounds, private

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Labelled = tuple[Sequence[form.Dialogue], Codes]
    Progress = Callable[[str, int, int], None]

DECAY, WARMUP, NORM = 0.01, 0.1, 1.0
"""Weight decay, the share of steps in which the rate rises, and the length to which gradients are clipped."""
MODEL = "model"
"""In a trial's folder: the folder of its weights."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """What is trained and how: an encoder, or the baseline where there is none.

    `batch` is the examples of one step, computed in `accumulate` pieces.
    """

    encoder: str | None = None
    epochs: int = 5
    batch: int = 16
    accumulate: int = 1
    lr: float = 2e-5
    patience: int = 2
    max_length: int = 512
    device: str = "auto"


class TrialSplits(msgspec.Struct, frozen=True):
    """What a trial learns from, what it is chosen by, and what it is tested on (perhaps nothing)."""

    train: DataSplit
    dev: DataSplit
    test: DataSplit | None

    @property
    def tested(self) -> DataSplit:
        """What its figures are on: the development part where there is no test part."""
        return self.dev if self.test is None else self.test


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One training: which epoch (of the baseline: which penalty) was kept, from 1, and what each reached.

    `collapsed` says why it came to nothing, if it did; `shortened` counts dialogues that were longer than `max_length`
    tokens. `dev` and `tested` are logits, row by row; an account of the training leaves them out.
    """

    seed: int
    fold: int | None
    kept: int
    history: list[dict[str, float]]
    collapsed: str
    seconds: float
    device: str
    max_length: int
    shortened: int
    dev: list[list[float]] = []
    tested: list[list[float]] = []


def run(
    folder: Path, recipe: Recipe, labels: Sequence[str], parts: TrialSplits, weights: Floats, seed: int,
    fold: int | None, progress: Progress | None,
) -> Trial:  # fmt: skip
    """Train one classifier, or return what came of it earlier.

    Args:
        folder: of trials.
        recipe: what is trained, and how.
        labels: q names.
        parts: the samples.
        weights: shape (q,), what an example of each label weighs.
        seed: of everything random.
        fold: which fold of a cross-validation is tested; its weights are not kept.
        progress: hears the stage, and how many of its steps are done, of how many.

    Raises:
        DataError: there is nothing to learn.
        MindgaugeError: the memory does not suffice, or training diverged.
        UsageError: what an earlier command left is damaged.
    """
    place = folder / _name(seed, fold)
    record = place / "trial.json"
    if record.is_file():
        try:
            return msgspec.json.decode(bounds.content(record), type=Trial)
        except msgspec.DecodeError as error:
            raise UsageError(f"{record}: damaged; delete {place}, and the same command trains it again") from error
    place.mkdir(parents=True, exist_ok=True)
    report = partial(progress, f"training {_name(seed, fold)}") if progress is not None else None
    subsets = (parts.train, parts.dev, parts.tested)
    train, dev, tested = ([form.dialogue(sample) for sample in subset.samples] for subset in subsets)
    began = time.perf_counter()
    model: tfidf.Tfidf | Encoder
    if recipe.encoder is None:
        model, history = tfidf.fit(train, parts.train.codes, weights, (dev, parts.dev.codes), report)
        device, longest, shortened = "cpu", 0, 0
    else:
        import torch

        torch.manual_seed(seed)
        with encoders.enough():
            model = Encoder.start(recipe.encoder, labels, recipe.max_length, recipe.device)
            history = fit(model, (train, parts.train.codes), (dev, parts.dev.codes), weights, recipe, seed, report)
        device, longest, shortened = model.model.device.type, model.max_length, model.shortened([*train, *dev, *tested])
    logits = model.logits(dev)
    if fold is None:
        (place / MODEL).mkdir(exist_ok=True)
        model.save(place / MODEL)
    trial = Trial(
        seed=seed, fold=fold, kept=best(history) + 1, history=history, collapsed=collapse(logits, parts.dev.codes),
        seconds=round(time.perf_counter() - began, 3), device=device, max_length=longest, shortened=shortened,
        dev=logits.tolist(), tested=model.logits(tested).tolist(),
    )  # fmt: skip
    private.write(record, msgspec.json.encode(trial))
    return trial


def _name(seed: int, fold: int | None) -> str:
    return f"seed-{seed}" if fold is None else f"seed-{seed}-fold-{fold}"


def choose(trials: Sequence[Trial]) -> Trial:
    """Return the trial that did best on its development part, a collapsed one only where all are."""
    sound = [trial for trial in trials if not trial.collapsed] or list(trials)
    return sound[best([trial.history[trial.kept - 1] for trial in sound])]


def move(folder: Path, trial: Trial, target: Path) -> None:
    """Put the chosen trial's weights where the classifier is opened, and delete the others; once is enough.

    Raises:
        UsageError: they were put there by an earlier command, and are gone.
    """
    for path in sorted((folder / _name(trial.seed, trial.fold) / MODEL).glob("*")):
        private.copy(path, target / path.name)
    if not (target / tfidf.WEIGHTS).is_file():
        raise UsageError(
            f"{target}: its {tfidf.WEIGHTS} is gone; delete the folder and train again, or choose another --out"
        )
    for other in folder.glob(f"*/{MODEL}"):
        shutil.rmtree(other)


def fit(
    encoder: Encoder, train: Labelled, dev: Labelled, weights: Floats, recipe: Recipe, seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, float]]:  # fmt: skip
    """Fine-tune an encoder, which then has the weights of its best epoch.

    Training stops when `patience` epochs have not done better on the development part.

    Args:
        encoder: as `Encoder.start` returns it; trained in place.
        train: n dialogues and their labels, shape (n,).
        dev: the development part, likewise.
        weights: shape (q,), what an example of each label weighs.
        recipe: how to train.
        seed: of dropout and of the order of examples.
        progress: hears how many steps are done, of how many.

    Returns:
        What each epoch came to.

    Raises:
        MindgaugeError: memory runs out, or the loss is no number.
    """
    import torch
    from transformers.trainer_pt_utils import get_length_grouped_indices

    model, history, best_weights = encoder.model, list[dict[str, float]](), {}
    lengths = [form.characters(turns) for turns in train[0]]
    per_epoch = math.ceil(len(lengths) / recipe.batch)
    optimizer, schedule = _prepared(model, recipe, per_epoch * recipe.epochs)
    while len(history) < recipe.epochs and not (history and 0 < recipe.patience <= len(history) - 1 - best(history)):
        epoch = len(history)
        torch.manual_seed(seed * 1000 + epoch)
        model.train()
        order = np.array(get_length_grouped_indices(lengths, recipe.batch))
        losses = []
        for start in range(0, len(order), recipe.batch):
            losses.append(gradients(encoder, train, order[start : start + recipe.batch], weights, recipe.accumulate))
            if not math.isfinite(losses[-1]):
                raise MindgaugeError(f"the loss became {losses[-1]} in epoch {epoch + 1}; lower --lr")
            torch.nn.utils.clip_grad_norm_(model.parameters(), NORM)
            optimizer.step()
            schedule.step()
            if progress is not None:
                progress(epoch * per_epoch + len(losses), per_epoch * recipe.epochs)
        logits = encoder.logits(dev[0])
        if not np.isfinite(logits).all():
            raise MindgaugeError(f"the weights gave no numbers any more after epoch {epoch + 1}; lower --lr")
        history.append({"epoch": epoch + 1, "loss": float(np.mean(losses)), **standing(logits, dev[1])})
        if best(history) == epoch:  # on a GPU memory is dear
            best_weights = {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}
    model.load_state_dict(best_weights)
    return history


def _prepared(model: Any, recipe: Recipe, steps: int) -> tuple[Any, Any]:
    """Return the optimizer of a model, and the schedule of its learning rate."""
    import torch
    from transformers import get_linear_schedule_with_warmup

    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.lr, fused=True)
    return optimizer, get_linear_schedule_with_warmup(optimizer, math.ceil(WARMUP * steps), steps)


def gradients(encoder: Encoder, train: Labelled, rows: Codes, weights: Floats, pieces: int) -> float:
    """Compute the gradients of one step and return the weighted mean loss of its rows.

    However many pieces the rows are cut into, the gradient is that of Σ w_i · loss_i / Σ w_i over all of them.
    """
    import torch

    label_weights = torch.tensor(weights, dtype=torch.float32, device=encoder.model.device)
    entropy = torch.nn.CrossEntropyLoss(label_weights, reduction="sum")
    encoder.model.zero_grad()
    loss = 0.0
    for piece in np.array_split(rows, min(pieces, len(rows))):
        codes = torch.from_numpy(train[1][piece]).to(encoder.model.device)
        with encoder.precision():
            logits = encoder.model(**encoder.tensors([train[0][i] for i in piece])).logits
        share = entropy(logits.float(), codes) / float(weights[train[1][rows]].sum())
        share.backward()
        loss += float(share.detach())
    return loss
