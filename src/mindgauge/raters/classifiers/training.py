"""Fine-tuning an encoder: our own short loop, so that every step of it can be read and tested.

Weighted cross-entropy, AdamW without decay on biases and normalisations, linear schedule with warm-up, batches of like
length, gradients clipped at 1. After each epoch the development part is classified and a checkpoint is written; the
epoch that did best there is kept, and training stops when `patience` epochs have not done better.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mindgauge.raters.classifiers import encoder as tokens
from mindgauge.raters.classifiers import pretrained
from mindgauge.raters.classifiers.calibration import SelectionScore, standing
from mindgauge.records.errors import MindgaugeError, UsageError
from mindgauge.records.files import private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch
    from numpy.typing import NDArray

    from mindgauge.raters.classifiers.encoder import Encoder

    Codes = NDArray[np.intp]
    Floats = NDArray[np.float64]
    Told = Callable[[int, int], None]

NORM = 1.0
"""Gradients are clipped to this length."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How an encoder is fine-tuned. `batch` is the examples of one step, in `accumulate` pieces."""

    epochs: int = 5
    batch: int = 16
    accumulate: int = 1
    lr: float = 2e-5
    decay: float = 0.01
    warmup: float = 0.1
    patience: int = 2


class TrainingResult(msgspec.Struct, frozen=True):
    """What training came to: figures per epoch, the epoch kept (from 1), and the weights of the last one.

    `pieces` is in how many pieces the last step was computed: more than asked for where memory ran out.
    """

    history: list[dict[str, float]]
    epoch: int
    last: dict[str, Any]
    pieces: int


class Training:
    """The state of one training: what a checkpoint holds."""

    def __init__(self, encoder: Encoder, recipe: Recipe, steps: int) -> None:
        import torch
        from transformers import get_linear_schedule_with_warmup

        self.encoder = encoder
        self.recipe = recipe
        self.accumulate = recipe.accumulate
        parameters = [p for p in encoder.model.parameters() if p.requires_grad]
        groups = [
            {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.decay},
            {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=recipe.lr, fused=True)
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, math.ceil(recipe.warmup * steps), steps)
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Any] = {}
        self.best_epoch = 0

    def step(self, encoded: tokens.Encoded, codes: torch.Tensor, weights: torch.Tensor, rows: Codes) -> float:
        """Take one step on some rows and return their weighted mean loss.

        However many pieces the rows are cut into, the gradient is that of Σ w_i · loss_i / Σ w_i over all of them.
        Where memory runs out, smaller pieces are tried once.

        Raises:
            MindgaugeError: memory runs out again, or the loss is no number.
        """
        try:
            loss = self._gradients(encoded, codes, weights, rows)
        except RuntimeError as error:
            if not pretrained.ran_out(error):
                raise
            loss = None
        if loss is None:  # outside the handler: its error holds on to what the failed attempt had in memory
            if self.accumulate > self.recipe.accumulate or len(rows) <= self.accumulate:
                size = math.ceil(self.recipe.batch / self.accumulate)
                raise MindgaugeError(
                    f"out of memory, also with {size} dialogues at a time; raise --accumulate, lower --max-length, or "
                    "choose a smaller encoder"
                )
            self.accumulate *= 2
            return self.step(encoded, codes, weights, rows)
        if not math.isfinite(loss):
            raise MindgaugeError(f"the loss became {loss} in epoch {len(self.history) + 1}; lower --lr")
        self.optimizer.step()
        self.schedule.step()
        return loss

    def _gradients(self, encoded: tokens.Encoded, codes: torch.Tensor, weights: torch.Tensor, rows: Codes) -> float:
        import torch

        self.optimizer.zero_grad()
        total = weights[codes[rows]].sum()
        loss = 0.0
        for piece in np.array_split(rows, min(self.accumulate, len(rows))):
            with self.encoder.precision():
                logits = self.encoder.model(**self.encoder.tensors(encoded, piece)).logits
            share = torch.nn.functional.cross_entropy(logits.float(), codes[piece], weights, reduction="sum") / total
            share.backward()
            loss += float(share.detach())
        torch.nn.utils.clip_grad_norm_(self.encoder.model.parameters(), NORM)
        return loss

    def state(self) -> dict[str, Any]:
        """Return all that the next epoch depends on; its random numbers follow from the seed and its number."""
        return {
            "model": self.encoder.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "history": self.history,
            "best": self.best,
            "best_epoch": self.best_epoch,
            "accumulate": self.accumulate,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.encoder.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.history, self.best, self.best_epoch = state["history"], state["best"], state["best_epoch"]
        self.accumulate = state["accumulate"]

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or the last ones brought nothing."""
        epochs = len(self.history)
        return epochs >= self.recipe.epochs or epochs - self.best_epoch >= self.recipe.patience > 0


def fit(
    encoder: Encoder,
    train: tuple[tokens.Encoded, Codes],
    dev: tuple[tokens.Encoded, Codes],
    weights: Floats,
    recipe: Recipe,
    *,
    seed: int,
    checkpoint: Path,
    progress: Told | None = None,
) -> TrainingResult:
    """Fine-tune an encoder, from its checkpoint if there is one; it then has the weights of its best epoch.

    Args:
        encoder: as `Encoder.start` returns it; trained in place.
        train: n encoded dialogues and their labels, shape (n,).
        dev: the development part, likewise.
        weights: shape (q,), what an example of each label weighs.
        recipe: how to train.
        seed: of dropout and of the order of examples.
        checkpoint: the file that is replaced after each epoch.
        progress: hears how many steps are done, of how many.

    Raises:
        MindgaugeError: memory runs out, or the loss is no number.
        UsageError: the checkpoint is damaged.
    """
    import torch

    encoded, numbers = train
    device = encoder.model.device
    codes = torch.from_numpy(numbers).to(device)
    weighted = torch.tensor(weights, dtype=torch.float32, device=device)
    per_epoch = math.ceil(len(numbers) / recipe.batch)
    steps = per_epoch * recipe.epochs
    state = Training(encoder, recipe, steps)
    if checkpoint.is_file():
        _resume(state, checkpoint)
    while not state.finished:
        epoch = len(state.history)
        torch.manual_seed(seed * 1000 + epoch)
        encoder.model.train()
        losses = []
        batches = tokens.shuffled(encoded.lengths, recipe.batch, np.random.default_rng((seed, epoch)))
        for number, rows in enumerate(batches, 1):
            losses.append(state.step(encoded, codes, weighted, rows))
            if progress is not None:
                progress(epoch * per_epoch + number, steps)
        logits = encoder.classify(dev[0])
        if not np.isfinite(logits).all():
            raise MindgaugeError(f"the weights gave no numbers any more after epoch {epoch + 1}; lower --lr")
        reached = standing(logits, dev[1])
        if not state.best or reached > SelectionScore(**_figures(state.history[state.best_epoch - 1])):
            state.best = _copied(encoder)
            state.best_epoch = epoch + 1
        state.history.append({"epoch": epoch + 1, "loss": float(np.mean(losses)), **reached._asdict()})
        with private.written(checkpoint) as file:
            torch.save(state.state(), file)
    last = _copied(encoder)
    encoder.model.load_state_dict(state.best)
    return TrainingResult(state.history, state.best_epoch, last, state.accumulate)


def _resume(state: Training, checkpoint: Path) -> None:
    """Go on from a file of ours; nothing in it can be run (`weights_only`)."""
    import torch

    try:
        state.restore(torch.load(checkpoint, map_location=state.encoder.model.device, weights_only=True))
    except Exception as error:  # a damaged file raises anything
        if pretrained.ran_out(error):
            raise
        raise UsageError(f"{checkpoint}: damaged; delete it, and the same command starts this training anew") from error


def _copied(encoder: Encoder) -> dict[str, Any]:
    """Copy the weights out of the way of training: on a GPU its memory is dear."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in encoder.model.state_dict().items()}


def _figures(epoch: dict[str, float]) -> dict[str, float]:
    return {name: epoch[name] for name in SelectionScore._fields}
