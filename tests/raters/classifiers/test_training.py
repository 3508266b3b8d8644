"""The training loop: gradients, the epoch that is kept, and what it does where things go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mindgauge.raters.classifiers import calibration, form, training
from mindgauge.raters.classifiers.encoder import Encoder
from mindgauge.raters.classifiers.training import Recipe
from mindgauge.records import Message
from mindgauge.records.errors import MindgaugeError
from tests.on_use import OnUse
from tests.raters.classifiers import encoders

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch
else:
    torch = OnUse("torch")

LABELS = tuple(encoders.SAID)
QUICK = Recipe(epochs=4, batch=8, lr=5e-3)


def start(tiny: Path, *, dropout: bool = True) -> Encoder:
    torch.manual_seed(1)
    found = Encoder.start(str(tiny), LABELS, 48, "cpu")
    for module in found.model.modules():
        if isinstance(module, torch.nn.Dropout) and not dropout:
            module.p = 0.0
    return found


def part(each: int, seed: int) -> tuple[list[form.Dialogue], np.ndarray]:
    rows = encoders.rows(each, seed=seed)
    codes = np.array([LABELS.index(row["label"]) for row in rows])
    return [(Message("user", row["text"]),) for row in rows], codes


def fit(encoder: Encoder, recipe: Recipe = QUICK, progress: Callable[[int, int], None] | None = None) -> Any:
    return training.fit(encoder, part(40, 0), part(8, 1), np.ones(3), recipe, 3, progress)


def test_a_step_is_the_same_in_pieces(tiny: Path) -> None:
    """The gradient of a step is that of the weighted mean over all its examples, however it is cut."""
    found, losses = [], []
    dialogues, codes = part(6, 0)
    for pieces in (1, 3, 16):
        encoder = start(tiny, dropout=False)
        weights = np.array([2.0, 0.5, 1.0])
        losses.append(training.gradients(encoder, (dialogues, codes), np.arange(16), weights, pieces))
        found.append({name: parameter.grad for name, parameter in encoder.model.named_parameters()})
    logits = torch.from_numpy(start(tiny, dropout=False).logits(dialogues[:16]))
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(codes[:16]), torch.tensor(weights))
    assert losses == pytest.approx([float(expected)] * 3, rel=1e-5)
    for name, gradient in found[0].items():
        assert all(torch.allclose(gradient, other[name], atol=1e-6) for other in found[1:]), name


def test_biases_and_normalisations_do_not_decay(tiny: Path) -> None:
    encoder = start(tiny)
    decayed, kept = training._prepared(encoder.model, Recipe(), 10)[0].param_groups
    assert (decayed["weight_decay"], kept["weight_decay"]) == (0.01, 0.0)
    inside = {id(p) for p in kept["params"]}
    named = {name for name, p in encoder.model.named_parameters() if id(p) in inside}
    assert named == {n for n, _ in encoder.model.named_parameters() if n.endswith("bias") or "LayerNorm" in n}


def test_it_learns_keeps_the_best_epoch_and_is_the_same_again(tiny: Path) -> None:
    encoder, again = start(tiny), start(tiny)
    steps: list[tuple[int, int]] = []
    history = fit(encoder, progress=lambda *step: steps.append(step))
    best = history[calibration.best(history)]
    assert best["macro_f1"] > 0.6
    dialogues, codes = part(8, 1)
    assert {**best, **calibration.standing(encoder.logits(dialogues), codes)} == pytest.approx(best)
    assert steps[-1] == (15 * len(history), 60)
    assert fit(again) == history
    theirs = again.model.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in encoder.model.state_dict().items())


def test_training_stops_when_nothing_is_gained(tiny: Path) -> None:
    assert len(fit(start(tiny), Recipe(epochs=9, batch=60, lr=0.0, patience=2))) == 3
    assert len(fit(start(tiny), Recipe(epochs=4, batch=60, lr=0.0, patience=0))) == 4


def test_weights_that_became_no_numbers_end_training(tiny: Path) -> None:
    """The loss of the last step is that before it, so only the development part can tell."""
    encoder = start(tiny)

    def spoil(step: int, steps: int) -> None:
        if step == steps:
            with torch.no_grad():
                encoder.model.classifier.bias.fill_(float("inf"))

    with pytest.raises(MindgaugeError, match="the weights gave no numbers any more after epoch 2; lower --lr"):
        fit(encoder, Recipe(epochs=2, batch=8, lr=5e-3), spoil)


def test_a_loss_that_is_no_number_ends_training(tiny: Path) -> None:
    encoder = start(tiny)
    with torch.no_grad():
        encoder.model.classifier.bias.fill_(float("nan"))
    with pytest.raises(MindgaugeError, match="the loss became nan in epoch 1; lower --lr"):
        fit(encoder)
